"""Has anything changed since an audit, beyond what two samples of one table would differ by?"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from leftout import __version__
from leftout.auditing.baseline import Baseline, Spread
from leftout.data.columns import Column
from leftout.data.sources import Source, short
from leftout.errors import InputError, parameter_label
from leftout.explain.alignment import holm, independence_p
from leftout.files import Serializable, restored, write_whole
from leftout.linalg.losses import Array
from leftout.linalg.significance import LEVEL, Estimate, Interval, describe_p
from leftout.report import pages
from leftout.settings import Reading
from leftout.text import counted, number, points

_OWN_ROWS = (
    "The new side is an audit.json, which has no rows: each side is judged by its own group. To "
    "hold the new rows to the old group, give the new table instead."
)
_OTHER_SCALE = (
    "Nothing was tested: each audit has scaled its columns by its own rows. Give the new table."
)


@dataclass(frozen=True, kw_only=True)
class Change(Serializable):
    """One figure then and now.

    Attributes
    ----------
    what : str
    of : {"group", "rows", "column"}
    then, now, difference : Interval or None
        With 95 % intervals; of a column the share of rows that meet the condition that has changed
        most.
    share : bool
        Whether these are shares of rows.
    p_value : float or None
        None where it was not tested.
    corrected : float or None
        For all that was looked at.
    changed : bool
        Beyond noise.
    worse : bool
        Changed, and not for the better.
    """

    also = ("changed", "worse", "shown", "text")

    what: str
    of: str
    then: Interval
    now: Interval
    difference: Interval
    share: bool
    p_value: float | None
    corrected: float | None = None

    @property
    def changed(self) -> bool:
        return self.corrected is not None and self.corrected <= LEVEL

    @property
    def worse(self) -> bool:
        return self.changed and (self.share or self.difference.value > 0.0)

    def figure(self, value: float, unit: str = "%") -> str:
        """A figure, or a difference, as people read it."""
        return f"{points(value)}{unit}" if self.share else number(value, self.then.value)

    @property
    def shown(self) -> str:
        """The difference with its interval."""
        value, low, high = (self.figure(each, "") for each in self.difference)
        return f"{value} ({low} to {high}{' points' * self.share})"

    @property
    def text(self) -> str:
        """In a sentence."""
        p = "not tested" if self.corrected is None else f"{describe_p(self.corrected)}, corrected"
        return (
            f"{self.what}: {self.figure(self.then.value)} then, {self.figure(self.now.value)} now, "
            f"a difference of {self.shown} ({p})."
        )


@dataclass(frozen=True, kw_only=True)
class Comparison(Serializable):
    """What has changed since an audit.

    Attributes
    ----------
    old, new : str
        What is compared.
    rows : list of int
        Rows then and now.
    changes : list of Change
        Each figure then and now: of the old group, of the rows that are represented worst, and of
        columns, those that carry most of the loss first.
    sentences : list of str
        What halves of the old table say of its group.
    notes : list of str
    created, leftout_version : str
    """

    also = ("changed", "leftout_version", "text")

    old: str
    new: str
    rows: tuple[int, int]
    changes: list[Change]
    sentences: list[str]
    notes: list[str]
    created: str

    @property
    def leftout_version(self) -> str:
        return __version__

    @property
    def changed(self) -> bool:
        """Whether anything has, beyond noise."""
        return any(each.changed for each in self.changes)

    @property
    def text(self) -> str:
        """In a sentence or two."""
        different = [each for each in self.changes if each.changed]
        if not any(each.p_value is not None for each in self.changes):
            return "Nothing could be tested."
        if not different:
            looked = counted(len(self.changes), "figure")
            return f"Nothing has changed beyond noise ({looked} looked at)."
        return " ".join(["Changed beyond noise.", *(each.text for each in different)])

    def summary(self) -> str:
        """What has changed, in a paragraph."""
        return self.text

    def __repr__(self) -> str:
        return f"<Comparison: {self.text}>"

    def html(self) -> str:
        """A page that needs nothing else."""
        return pages.rendered("compare.html", self.to_dict())

    def to_html(self, path: str | os.PathLike[str]) -> Path:
        """Write :meth:`html`; the file appears whole or not at all."""
        return write_whole(path, self.html())


def compare(
    old: Any,
    new: Any,
    *,
    missing: Any = None,
    dictionary: Any = None,
    sheet: str | None = None,
) -> Comparison:
    """Compare a new table with an audit of an old one.

    Parameters
    ----------
    old : Audit, or path of an audit.json
    new : Audit, path of an audit.json, table or its path
    missing, dictionary, sheet
        As for :func:`leftout.audit`, of a new table.
    """
    then, before = audited(old)
    asked, record = then["settings"], _is_record(new)
    if dictionary is None and _is_audit(old):
        dictionary = old.settings.dictionary
    if dictionary is None and asked["dictionary"] is not None and not (record or _is_audit(new)):
        raise InputError(
            "The old table was read with a dictionary, and the new one would be without it. "
            f"Give it, too: {parameter_label('dictionary', 'FILE')}."
        )
    reading = Reading(missing=missing or asked["missing"] or None, dictionary=dictionary)
    notes: list[str] = []
    if record:
        now, after = audited(new)
        name, n_rows = _called(now), now["table"]["rows"]
        changes, notes = _of_records(then, before, now, after)
    else:
        X, columns, name = _rows_of(before, then, new, reading, sheet)
        n_rows = len(X)
        changes = _of_rows(before, X, columns)
    return Comparison(
        old=_called(then), new=name, rows=(then["table"]["rows"], n_rows),
        changes=_corrected(changes), notes=notes,
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        sentences=[
            " or ".join(" and ".join(each.text for each in both) for both in rule.sentence)
            for rule in before.rules
            if rule.sentence is not None
        ],
    )  # fmt: skip


def _called(data: Mapping[str, Any]) -> str:
    return f"{data['table']['source'] or 'a table in memory'}, audited {data['created'][:10]}"


def _is_record(given: Any) -> bool:
    path = isinstance(given, str | os.PathLike) and os.fspath(given).endswith(".json")
    return path or isinstance(given, Mapping) and "schema_version" in given


def _is_audit(given: Any) -> bool:
    return hasattr(given, "intake")


def audited(given: Any) -> tuple[Mapping[str, Any], Baseline]:
    """The record of an audit, and what others are compared with."""
    if _is_audit(given):
        data, baseline = given.to_dict(), given.baseline
    else:
        data = given if isinstance(given, Mapping) else _read(given)
        baseline = data["baseline"] and restored(Baseline, data["baseline"])
    if baseline is None:
        raise InputError(
            "This audit holds nothing to compare with: that takes a table in memory, without "
            "weights or a preset, a projection such as PCA, and a group of more rows than "
            f"{parameter_label('min_cell')}. Audit the table so, and compare with that."
        )
    return data, baseline


def _read(path: str | os.PathLike[str]) -> Mapping[str, Any]:
    try:
        data = json.loads(Path(path).read_bytes())
    except (OSError, ValueError) as error:
        raise InputError(
            f"{os.fspath(path)!r} cannot be read as an audit.json: {short(error)}. Give one that "
            "leftout audit has written."
        ) from error
    if not isinstance(data, dict) or "baseline" not in data:
        raise InputError(
            f"{os.fspath(path)!r} is no audit.json of this version of leftout, which holds what a "
            "new table is compared with. Audit the old table again."
        )
    return data


def _rows_of(
    before: Baseline, then: Mapping[str, Any], new: Any, reading: Reading, sheet: str | None
) -> tuple[Array, dict[str, Column], str]:
    """Features of the new rows as the old audit has encoded them, their columns, and a name."""
    if before.encoding is None:
        if not _is_audit(new) or new.intake.feature_names != then["table"]["feature_names"]:
            raise InputError(
                "The old audit was of features that were given, or that a pipeline made. Audit "
                "the new table with the same, and hold that to the old one: "
                f"{parameter_label('baseline')}."
            )
        intake = new.intake
        return intake.X, {column.name: column for column in intake.telling}, _called(new.to_dict())
    if _is_audit(new):
        columns, name = before.encoding.cleaned(new.intake.columns), _called(new.to_dict())
    else:
        source = Source.of(new, sheet)
        columns = before.encoding.read(source.table, reading)
        name = source.name or "a table in memory"
    return before.encoding.encode(columns), {column.name: column for column in columns}, name


_WORDS = {
    "gap": ("Loss of the old group beyond the rest's", "group", False),
    "share": ("Rows in the old group, by its rule", "group", True),
    "error": ("Squared error of the tenth that is represented worst", "rows", False),
    "covered": ("Of the rows represented worst, under the old group's sentence", "rows", True),
}


def _change(name: str, then: Estimate, now: Estimate, several: bool, tested: bool = True) -> Change:
    """A figure then and now."""
    kind, _, label = name.partition(" ")
    what, of, share = _WORDS[kind]
    if several and label:
        what = what.replace("the old group", f"the old group {label}")
    gap = now.less(then)
    return Change(
        what=what, of=of, share=share, then=then.interval, now=now.interval,
        difference=gap.interval, p_value=gap.p_value if tested else None,
    )  # fmt: skip


def _of_rows(before: Baseline, X: Array, columns: Mapping[str, Column]) -> list[Change]:
    """The old rules on new rows, and columns whose values are spread otherwise."""
    now, several = before.judge(X, columns), "gap 2" in before.figures
    found = [_change(name, then, now[name], several) for name, then in before.figures.items()]
    drifts = (_drift(each, columns[each.column]) for each in before.columns)
    return found + [each for each in drifts if each is not None]


def _drift(spread: Spread, column: Column) -> Change | None:
    """How a column's values are spread then and now, told by what has changed most."""
    counts = np.stack([spread.then, spread.now(column)])
    if not spread.conditions:
        return None
    sizes = counts.sum(axis=1, keepdims=True)
    shares = counts / sizes
    pooled = counts.sum(axis=0) / sizes.sum()
    with np.errstate(invalid="ignore", divide="ignore"):
        moved = np.abs(shares[1] - shares[0]) / np.sqrt(pooled * (1.0 - pooled))
    most = int(np.nanargmax(np.append(moved[:-1], 0.0)[: len(spread.conditions)]))
    then, now = (_share(shares[side, most], int(sizes[side, 0])) for side in (0, 1))
    return Change(
        what=f"Rows where {spread.conditions[most].words}", of="column", share=True,
        then=then.interval, now=now.interval, difference=now.less(then).interval,
        p_value=independence_p(counts[:, counts.any(axis=0)]),
    )  # fmt: skip


def _share(share: float, n: int) -> Estimate:
    return Estimate(value=share, error=float(np.sqrt(share * (1.0 - share) / n)), freedom=n - 1.0)


def _of_records(
    then: Mapping[str, Any], before: Baseline, now: Mapping[str, Any], after: Baseline
) -> tuple[list[Change], list[str]]:
    """Two audits, each by its own rules: tested where one representation has seen both."""
    told = [each["pca"]["representation"] for each in (then, now)]
    same = all(each["origin"] == "given" for each in told) and told[0]["text"] == told[1]["text"]
    found = [
        _change(name, before.figures[name], after.figures[name], False, same)
        for name in ("gap 1", "error")
    ]
    found[0] = replace(found[0], what="Loss of each audit's own group beyond the rest's")
    return found, [_OWN_ROWS, *([] if same else [_OTHER_SCALE])]


def _corrected(changes: Sequence[Change]) -> list[Change]:
    """Holm's correction, of figures and of columns apart: either may take half of the level."""
    made = []
    for columns in (False, True):
        part = [each for each in changes if (each.of == "column") == columns]
        tested = [each.p_value for each in part if each.p_value is not None]
        fixed = iter(np.minimum(1.0, 2.0 * holm(np.array(tested))).tolist())
        made += [
            each if each.p_value is None else replace(each, corrected=next(fixed)) for each in part
        ]
    return made
