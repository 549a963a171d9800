"""What sites that may not share rows agree on: how each column becomes numbers, and which groups.

A plan is made from one site's table and sent to the others as JSON that people can read: for each
column its kind, its range, its levels and what a gap becomes; for each attribute, what holds for
the rows of a group. Encoded by one plan, moments of all sites add.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leftout.checks import Refusal
from leftout.tables.bands import banded
from leftout.tables.cleaning import read_alike
from leftout.tables.columns import Column, columns_of
from leftout.tables.conditions import Condition
from leftout.tables.encoder import TableEncoder
from leftout.tables.encoding import ColumnEncoding, Floats, Numbers, Plan, Words
from leftout.tables.flags import Flag
from leftout.tables.intake import take_in
from leftout.tables.judging.kinds import Kind
from leftout.tables.reading import Source
from leftout.tables.said.declared import Declared
from leftout.tables.said.dictionary import Dictionary
from leftout.tables.said.entries import Entry
from leftout.tables.said.missing import Missing
from leftout.tables.said.reading import Reading
from leftout.tables.said.values import Written
from leftout.wording import shown

_FORMAT = "leftout plan 1"
# Bands that numbers and dates are cut into where they are known groups.
_BANDS = 4
# What a fitted encoder consists of.
_LEARNED = (
    "plans_", "flags_", "declared_", "feature_names_in_", "n_features_in_", "features_", "sources_",
    "flagged_", "kinds_", "encoding_", "dropped_", "target_encoded_",
)  # fmt: skip


@dataclass(frozen=True)
class Attribute:
    """A column of known groups: how its cells are read, and what holds for the rows of each."""

    name: str
    words: bool
    dates: bool
    written: str | None
    groups: tuple[str, ...]
    conditions: tuple[Condition, ...]

    def codes(self, column: Column) -> NDArray[np.intp]:
        """The group of each row; one beyond the last for values that the plan does not know."""
        read = read_alike(column, self.words, self.dates, self.written)
        codes = np.full(len(column), len(self.groups))
        for place, condition in reversed(list(enumerate(self.conditions))):
            codes[condition.holds(read)] = place
        return codes


@dataclass(frozen=True)
class Agreed:
    """A plan: the encoder of the searched columns, and attributes that say known groups."""

    encoder: TableEncoder
    attributes: tuple[Attribute, ...]

    @classmethod
    def on(cls, source: Source, smallest: int, reading: Reading) -> Agreed:
        """Learn from a table."""
        intake = take_in(source, reading, rng=np.random.default_rng(0))
        attributes = []
        for column in intake.hidden:
            groups = banded(column, _BANDS, smallest)
            attributes.append(
                Attribute(
                    intake.called(column.name), column.words, column.dates, column.written,
                    groups.labels, groups.conditions,
                )
            )  # fmt: skip
        return cls(intake.encoder, tuple(attributes))

    def read(self, table: Any) -> tuple[Floats, list[NDArray[np.intp]]]:
        """A table's rows as numbers, and each row's group in every attribute."""
        raw = {column.name: column for column in columns_of(table)}
        lacking = [
            str(name)
            for name in (*self.encoder.feature_names_in_, *(a.name for a in self.attributes))
            if str(name) not in raw
        ]
        if lacking:
            raise Refusal(
                f"The plan needs the column {lacking[0]!r}, which the table does not have. Rename "
                "the table's columns as in the plan, or agree on another plan."
            )
        meant = self.encoder.declared_.alike([raw[each.name] for each in self.attributes])
        codes = [a.codes(column) for a, column in zip(self.attributes, meant, strict=True)]
        X = np.asarray(self.encoder.transform(table), dtype=np.float64)
        return X, codes

    @property
    def features(self) -> list[str]:
        return [str(name) for name in self.encoder.get_feature_names_out()]

    def json(self) -> str:
        """The text of a plan file."""
        learned = {name: packed(getattr(self.encoder, name)) for name in _LEARNED}
        data = {"format": _FORMAT, "attributes": packed(self.attributes), "encoder": learned}
        return json.dumps(data, indent=1) + "\n"

    @property
    def digest(self) -> str:
        """What tells this plan from any other."""
        return hashlib.sha256(self.json().encode()).hexdigest()

    @classmethod
    def of(cls, path: str | os.PathLike[str]) -> Agreed:
        """Read a plan file."""
        try:
            data = json.loads(Path(path).read_text())
            if not isinstance(data, dict) or data.get("format") != _FORMAT:
                raise ValueError(f"its first line should say {_FORMAT!r}")
            encoder = TableEncoder()
            for name in _LEARNED:
                setattr(encoder, name, unpacked(data["encoder"][name]))
            return cls(encoder, unpacked(data["attributes"]))
        except OSError as error:
            raise Refusal(
                f"The plan {os.fspath(path)!r} cannot be read: {error.strerror}."
            ) from error
        except (ValueError, KeyError, TypeError) as error:
            raise Refusal(
                f"{os.fspath(path)!r} is not a plan ({shown(str(error))}). Make one with: leftout "
                "plan TABLE --out PLAN"
            ) from error


# What a plan consists of, besides numbers and text.
_KNOWN: dict[str, Any] = {
    kind.__name__: kind
    for kind in (
        Attribute, ColumnEncoding, Condition, Declared, Dictionary, Entry, Flag, Kind, Missing,
        Numbers, Plan, Words, Written,
    )
}  # fmt: skip


def packed(data: Any) -> Any:
    """A plan's parts as JSON knows them; what is not a list or a text says what it ``is``."""
    if isinstance(data, np.ndarray):
        if data.dtype == object:
            return {"is": "names", "values": [str(name) for name in data]}
        return {"is": "array", "values": data.tolist(), "shape": list(data.shape)}
    if isinstance(data, np.generic):
        return data.item()
    kind = type(data).__name__
    if kind in _KNOWN and is_dataclass(data):
        return {"is": kind} | {
            f.name: packed(getattr(data, f.name)) for f in fields(data) if f.init
        }
    if kind in _KNOWN:  # a named tuple
        return {"is": kind} | {name: packed(value) for name, value in data._asdict().items()}
    if isinstance(data, Mapping):
        return {"is": "mapping", "values": [[packed(k), packed(v)] for k, v in data.items()]}
    if isinstance(data, frozenset):
        return {"is": "set", "values": sorted(data)}
    if isinstance(data, tuple):
        return {"is": "tuple", "values": [packed(value) for value in data]}
    if isinstance(data, list):
        return [packed(value) for value in data]
    if data is None or isinstance(data, str | int | float | bool):
        return str(data) if isinstance(data, str) else data
    raise TypeError(f"A plan cannot hold {type(data).__name__}.")


def unpacked(data: Any) -> Any:
    """The reverse of :func:`packed`."""
    if isinstance(data, list):
        return [unpacked(value) for value in data]
    if not isinstance(data, dict):
        return data
    kind = data["is"]
    if kind in _KNOWN:
        given = {name: unpacked(value) for name, value in data.items() if name != "is"}
        return _KNOWN[kind](**given)
    values = data["values"]
    if kind == "names":
        return np.array(values, dtype=object)
    if kind == "array":
        return np.array(values, dtype=np.float64).reshape(data["shape"])
    if kind == "mapping":
        return {unpacked(key): unpacked(value) for key, value in values}
    made = [unpacked(value) for value in values]
    return frozenset(made) if kind == "set" else tuple(made)
