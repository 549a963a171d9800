"""What people know of a table's columns: a kind, a label, labels of values, a note."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from leftout.checks import is_missing
from leftout.data.cleaning import MISSING, clean, unique
from leftout.data.columns import Column, find
from leftout.data.frames import as_frame
from leftout.data.missing import number_of, same, text_of
from leftout.data.profiling.column_types import COLUMN_KINDS
from leftout.data.sources import called, fetch, read_table, short
from leftout.errors import InputError
from leftout.text import quoted, shortened

Record = dict[str, Any]

_FACTS = ("kind", "label", "values", "note")
# Kinds of columns whose numbers are codes of categories.
CATEGORICAL = ("code", "category")


@dataclass(frozen=True)
class ColumnEntry:
    """What is known of one column; ``values`` are its values' labels."""

    kind: str = ""
    label: str = ""
    values: dict[str, str] = field(default_factory=dict)
    note: str = ""


@dataclass(frozen=True)
class Dictionary:
    """What people know of a table's columns.

    Examples
    --------
    >>> from leftout.data.columns import column_of
    >>> known = Dictionary.of([{"column": "sex", "label": "sex at birth", "values": "1=m; 2=f"}])
    >>> known.apply(column_of([1, 2, 2, 9], "sex")).categories
    ('m', 'f', '9')
    >>> known["sex"].label
    'sex at birth'
    """

    entries: dict[str, ColumnEntry] = field(default_factory=dict)

    @classmethod
    def of(cls, given: Any) -> Dictionary:
        """A dictionary from what people keep it in.

        Parameters
        ----------
        given : None, path, mapping, list of mappings or data frame
            A line for each column, with the fields ``column``, ``kind``, ``label``, ``values`` and
            ``note``, or some of them; or a mapping of columns to such facts, or to a label alone.
            Values are a mapping, or text such as ``1=yes; 0=no``.
        """
        if isinstance(given, Dictionary):
            return given
        entries: dict[str, ColumnEntry] = {}
        for record in [] if given is None else _records(given):
            name = text_of(record.pop("column"))
            if name in entries:
                raise InputError(
                    f"The dictionary has two lines about the column {quoted(name)}. Keep one."
                )
            entries[name] = _entry(name, record)
        return cls(entries)

    def __getitem__(self, name: str) -> ColumnEntry:
        return self.entries.get(name, ColumnEntry())

    def checked(self, names: Iterable[Any]) -> Dictionary:
        """The same for a table with such columns; refuses others."""
        known = list(names)
        entries = {
            str(find(known, name, "The dictionary")): entry for name, entry in self.entries.items()
        }
        return Dictionary(entries)

    @property
    def kinds(self) -> dict[str, str]:
        """The kinds that columns are said to be of."""
        return {name: known.kind for name, known in self.entries.items() if known.kind}

    def apply(self, column: Column, name: str | None = None) -> Column:
        """The column with its values' labels for categories; ``name`` it has in the table.

        Numbers with labels, or that are said to be codes, become categories, unless they are said
        to be numbers; the numbers that they stand for are kept. Raw text is cleaned first, so that
        a column is the same before and after cleaning.
        """
        entry = self[column.name if name is None else name]
        if not entry.values and entry.kind not in CATEGORICAL:
            return column
        made = column
        if column.categories is not None and column.levels is None:
            made = replace(clean(column), name=column.name)
        if made.categories is None:
            if entry.kind == "number":
                return column
            made = made.as_categories()
        return _renamed(made, _labelled(made, entry.values))

    def renamed(self, columns: Sequence[Column], names: Sequence[str]) -> list[Column]:
        """Columns of these ``names`` in the table by their labels; not those that share one."""
        labels = [shortened(self[name].label or name) for name in names]
        used = [
            label if labels.count(label) == 1 else column.name
            for column, label in zip(columns, labels, strict=True)
        ]
        pairs = zip(columns, unique(used), strict=True)
        return [replace(column, name=name) for column, name in pairs]


def _labelled(column: Column, values: dict[str, str]) -> list[str]:
    """Each category's label, or its own text where it has none: by its text, then its number."""
    texts = [text.strip() for text in column.categories or ()]
    numbers = column.levels
    if numbers is None:
        numbers = np.array([number_of(text) for text in texts])
    labels = [values.get(text) for text in texts]
    for value, label in values.items():
        for place in np.flatnonzero(same(numbers, number_of(value))):
            labels[place] = labels[place] or label
    return [text if label is None else label for text, label in zip(texts, labels, strict=True)]


def _renamed(column: Column, names: list[str]) -> Column:
    """The column with other names of its categories; those that are called the same are one."""
    distinct = {name: code for code, name in enumerate(dict.fromkeys(names))}
    levels = column.levels
    if levels is not None:  # of several that are one, the number of the one called so before
        first = {name: code for code, name in reversed(list(enumerate(names)))}
        first |= {name: code for code, name in enumerate(column.categories or ()) if name in first}
        levels = levels[[first[name] for name in distinct]]
    made = column.recoded([distinct[name] for name in names], distinct, levels)
    return replace(made, declared=True)


def _entry(name: str, record: Record) -> ColumnEntry:
    """What a line says of a column."""
    kind = str(record.get("kind", "")).strip().casefold()
    if kind and kind not in COLUMN_KINDS:
        raise InputError(
            f"The dictionary says that {quoted(name)} is of the kind {quoted(record['kind'])}; it "
            f"must be one of {', '.join(COLUMN_KINDS)}."
        )
    label, note = (str(record.get(key, "")).strip() for key in ("label", "note"))
    return ColumnEntry(kind, label, _values(record.get("values", {}), name), note)


def _values(given: Any, name: str) -> dict[str, str]:
    """Values and their labels, from a mapping or from text such as ``1=yes; 0=no``."""
    pairs = [("", "")]
    if isinstance(given, Mapping):
        pairs = [(text_of(value), str(label).strip()) for value, label in given.items()]
    elif isinstance(given, str):
        parts = (part.partition("=") for part in given.split(";") if part.strip())
        pairs = [(value.strip(), label.strip()) for value, _, label in parts]
    values = [shortened(value) for value, _ in pairs]
    labels = unique([shortened(label) for _, label in pairs])
    distinct = len(set(values)) == len(set(label for _, label in pairs)) == len(pairs)
    if not distinct or not all(value and label for value, label in pairs):
        raise InputError(
            f"The values of {quoted(name)} in the dictionary are {quoted(given)}; a label of its "
            "own for each value is needed, written like 1=yes; 0=no."
        )
    for value, label in zip(values, labels, strict=True):
        if label in MISSING or label in values and label != value:
            raise InputError(
                f"The dictionary labels the value {quoted(value)} of {quoted(name)} as "
                f"{quoted(label)}, which is another value, or stands for a missing cell. Name it "
                "in other words."
            )
    return dict(zip(values, labels, strict=True))


def _records(given: Any) -> list[Record]:
    """Lines with a ``column`` and facts about it, fields in lower case, without blank cells."""
    if isinstance(given, str | os.PathLike):
        given = _in_file(os.fspath(given))
    if isinstance(given, Mapping):
        return [_folded(_under(name, facts)) for name, facts in given.items()]
    frame = as_frame(given)
    if frame is None and not isinstance(given, list | tuple):
        raise InputError(
            f"The dictionary is {type(given).__name__}; a path to CSV or JSON, a mapping by "
            "columns, a list of mappings or a data frame is needed."
        )
    return [_folded(line) for line in (given if frame is None else frame.iter_rows(named=True))]


def _under(name: Any, facts: Any) -> Record:
    """Facts that stand under a column's name; a text alone is its label."""
    facts = {"label": facts} if isinstance(facts, str) else facts
    if not isinstance(facts, Mapping) or facts and not set(facts) & set(_FACTS):
        raise InputError(
            f"The dictionary has {quoted(facts)} for the column {quoted(str(name))}; a label, or "
            f"an object with any of {', '.join(_FACTS)} is needed. Value labels go under 'values'."
        )
    return {**facts, "column": name}


def _folded(line: Any) -> Record:
    record = {}
    if isinstance(line, Mapping):
        for key, cell in line.items():
            if not is_missing(cell) and cell != "":
                record[str(key).strip().casefold()] = cell
    if "column" not in record:
        raise InputError(
            f"The dictionary has the line {quoted(line)}; a field named 'column' that names a "
            f"column of the table, and any of {', '.join(_FACTS)} are needed."
        )
    return record


def _in_file(path: str) -> Any:
    """The table or the JSON in a file."""
    if not path.lower().endswith(".json"):
        return read_table(path)
    data, _ = fetch(path)
    try:
        return json.loads(data)
    except (ValueError, RecursionError) as error:
        raise InputError(
            f"The dictionary {called(path)} cannot be read: {short(error)}. Correct it."
        ) from error
