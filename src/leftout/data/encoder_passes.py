"""What an encoder learns from several columns at once, or from all rows of one, by passes.

A pass is a function of a block of rows, and a way to merge what two blocks gave: memory is one
block, chunks of files are many, and the encoder is the same. One pass counts gaps that columns have
in common (flags of them that say nearly the same become one); another, where categories become
means of the target, its sums for each of their values.

The median of very many values is between two values of a sample, so close that few rows are between
them; the pass counts the rows below and keeps those between. Where it turns out not to be between
them, which is next to impossible, they are moved apart and the pass is made again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from leftout.data.columns import Column
from leftout.data.encoding import (
    CategoricalEncoding,
    ColumnEncoder,
    Floats,
    NumericEncoding,
    TargetSums,
    coded,
)
from leftout.data.roles import level_of, numbers_at

T = TypeVar("T")
# Flags whose correlation (phi) is as large as this say the same.
SAME_INDICATOR = 0.95
# Rows of flags that are multiplied at a time.
_AT_ONCE = 1 << 16
# Standard errors of a sample's quantile that the median is looked for within.
_ERRORS = 6.0


class ColumnPass(Protocol[T]):
    """What to do with a block of columns as they are read, by their places among those searched.

    The target is only there for passes that are ``of_target``.
    """

    @property
    def of_target(self) -> bool: ...

    @property
    def places(self) -> Sequence[int]: ...

    def over(self, columns: Mapping[int, Column], target: Column | None) -> T: ...

    def merge(self, a: T, b: T) -> T: ...


class ColumnRows(Protocol):
    """The rows that an encoder learns from, wherever they are."""

    def run(self, one: ColumnPass[T]) -> T:
        """A pass over all blocks, merged in their order."""
        ...


@dataclass(frozen=True)
class OneBlock:
    """Columns whose rows are in memory."""

    columns: Mapping[int, Column]
    target: Column | None = None

    def run(self, one: ColumnPass[T]) -> T:
        return one.over({place: self.columns[place] for place in one.places}, self.target)


class Flag(NamedTuple):
    """One feature that says where columns are missing: their mean, times a weight."""

    places: tuple[int, ...]  # of the columns, the first gives it its place
    name: str
    weight: float

    def of(self, missing: Mapping[int, NDArray[np.bool_]]) -> Floats:
        """Of each row, the share of these columns that is missing, weighed."""
        gaps = np.stack([missing[place] for place in self.places])
        return np.asarray(self.weight * gaps.mean(axis=0))


class Between(NamedTuple):
    """Of one column: rows below a bracket, values in it, and sums about a centre."""

    below: int
    inside: Floats
    total: float
    squares: float

    def merge(self, other: Between) -> Between:
        return Between(
            self.below + other.below,
            np.concatenate([self.inside, other.inside]),
            self.total + other.total,
            self.squares + other.squares,
        )


class MissingCounts(NamedTuple):
    """Rows in which two columns are missing at once, and what is between brackets."""

    together: NDArray[np.int64]
    between: dict[int, Between]


@dataclass(frozen=True)
class MissingPass:
    """The pass over columns with gaps; of those of very many values, values within brackets."""

    places: tuple[int, ...]
    brackets: dict[int, tuple[float, float]]
    scales: dict[int, NumericEncoding]
    of_target: bool = False

    def over(self, columns: Mapping[int, Column], target: Column | None) -> MissingCounts:
        missing = np.stack([columns[place].missing for place in self.places])
        between = {place: self._between(place, columns[place]) for place in self.brackets}
        return MissingCounts(_missing_together(missing), between)

    def merge(self, a: MissingCounts, b: MissingCounts) -> MissingCounts:
        between = {place: one.merge(b.between[place]) for place, one in a.between.items()}
        return MissingCounts(a.together + b.together, between)

    def _between(self, place: int, column: Column) -> Between:
        values: Any = column.numbers
        known, scale = values[~np.isnan(values)], self.scales[place]
        low, high = self.brackets[place]
        inside = known[(known >= low) & (known <= high)]
        off = scale.unit(known) - scale.unit(scale.median)
        below = int((known < low).sum())
        return Between(below, inside, float(off.sum()), float(np.square(off).sum()))


def _missing_together(missing: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Rows in which two columns are missing at once, of the gaps of all columns, one in a line."""
    together = np.zeros((len(missing), len(missing)), dtype=np.int64)
    for start in range(0, missing.shape[1], _AT_ONCE):
        part = missing[:, start : start + _AT_ONCE].astype(np.float32)
        together += np.rint(part @ part.T).astype(np.int64)
    return together


def fit_flags(
    plans: list[ColumnEncoder], columns: Sequence[Column], rows: ColumnRows
) -> tuple[list[ColumnEncoder], list[Flag]]:
    """The flags of columns with gaps; plans of columns of very many values get their medians."""
    flagged = {
        place: plan.becomes
        for place, plan in enumerate(plans)
        if plan.becomes is not None and plan.becomes.flagged and plan.told.missing
    }
    if not flagged:
        return plans, []
    many = {
        place: becomes
        for place, becomes in flagged.items()
        if isinstance(becomes, NumericEncoding)
        and (tally := columns[place].tally) is not None
        and tally.n_values is not None
    }
    brackets = {place: _bracket(columns[place]) for place in many}
    while True:
        found = rows.run(MissingPass(tuple(flagged), brackets, many))
        missed = [place for place in many if not _held(columns[place], found.between[place])]
        if not missed:
            break
        brackets |= dict.fromkeys(missed, (-np.inf, np.inf))
    plans, spreads = list(plans), {}
    for place, becomes in flagged.items():
        column = columns[place]
        if place not in many:
            tally = column.tally
            spreads[place] = becomes.read(column).spread(None if tally is None else tally.counts)
            continue
        between, scale = found.between[place], many[place]
        at = np.array(_middle_ranks(column)) - between.below
        low, high = np.sort(between.inside)[at] / 2.0  # of two huge ones, too
        plans[place] = replace(plans[place], becomes=replace(scale, median=float(low + high)))
        fill = float(scale.unit(float(low + high)) - scale.unit(scale.median))
        n, gaps = column.n_rows, column.n_missing
        mean = (between.total + gaps * fill) / n
        spreads[place] = float((between.squares + gaps * fill**2) / n - mean**2)
    names = [column.name for column in columns]
    return plans, _flags_of(found.together, columns[0].n_rows, spreads, names)


def _bracket(column: Column) -> tuple[float, float]:
    """Two values of a sample that the median of all rows is between, but for bad luck."""
    values: Any = column.looked().numbers
    known = np.sort(values[~np.isnan(values)])
    if len(known) == column.n_rows - column.n_missing:  # all of them
        return float(known[(len(known) - 1) // 2]), float(known[len(known) // 2])
    off = _ERRORS * np.sqrt(len(known)) / 2.0 + 1.0
    low, high = int(len(known) / 2.0 - off), int(np.ceil(len(known) / 2.0 + off))
    return (
        float(known[low]) if low >= 0 else -np.inf,
        float(known[high]) if high < len(known) else np.inf,
    )


def _middle_ranks(column: Column) -> tuple[int, int]:
    n = column.n_rows - column.n_missing
    return (n - 1) // 2, n // 2


def _held(column: Column, between: Between) -> bool:
    low, high = _middle_ranks(column)
    return between.below <= low and high < between.below + len(between.inside)


def _flags_of(
    together: NDArray[np.int64], n_rows: int, spreads: Mapping[int, float], names: Sequence[str]
) -> list[Flag]:
    """The flags of columns with gaps, of which ``together`` has a line and a place each.

    A column joins the first flag before it whose first column's gaps are nearly its own, and a flag
    varies no more than any of its columns does (``spreads``, by their places among all columns).
    """
    places, share = list(spreads), together / n_rows
    alone = np.diag(share)
    covariance = share - np.outer(alone, alone)
    sizes = np.sqrt(np.diag(covariance))
    sizes[sizes == 0.0] = 1.0
    every = np.diag(together)
    equal = (together == every) & (together == every[:, None])
    alike = equal | (covariance / np.outer(sizes, sizes) >= SAME_INDICATOR)
    groups: list[list[int]] = []
    for here in range(len(places)):
        home = next((group for group in groups if alike[group[0], here]), None)
        if home is None:
            groups.append([here])
        else:
            home.append(here)
    flags = []
    for group in groups:
        members = tuple(places[here] for here in group)
        spread = float(covariance[np.ix_(group, group)].mean())
        weight = min(1.0, float(np.sqrt(min(spreads[place] for place in members) / spread)))
        flags.append(Flag(members, _missing_name([names[place] for place in members]), weight))
    return flags


def _missing_name(names: Sequence[str]) -> str:
    if len(names) == 1:
        return f"{names[0]} is missing"
    others = names[1] if len(names) == 2 else f"{len(names) - 1} others"
    return f"{names[0]} and {others} are missing"


@dataclass(frozen=True)
class TargetMeanPass:
    """The pass over categories of so many values each (``widths``, by their places), and a target.

    ``level`` is the target's value whose rate counts; None for its mean. ``centre`` is near the
    mean, so that little is lost in the squares.
    """

    widths: dict[int, int]
    level: Any
    centre: float
    of_target: bool = True

    @property
    def places(self) -> tuple[int, ...]:
        return tuple(self.widths)

    def over(self, columns: Mapping[int, Column], target: Column | None) -> dict[int, TargetSums]:
        assert target is not None
        off = numbers_at(target, self.level) - self.centre
        return {
            place: TargetSums.of(columns[place].values, off, n) for place, n in self.widths.items()
        }

    def merge(self, a: dict[int, TargetSums], b: dict[int, TargetSums]) -> dict[int, TargetSums]:
        return {place: sums.merge(b[place]) for place, sums in a.items()}


def fit_target_means(
    columns: Mapping[int, Column],
    target: Column,
    positive: Any,
    smooth: float | str,
    rows: ColumnRows,
) -> dict[str, CategoricalEncoding]:
    """Means of the target, by the names of columns (as they are read) that become such."""
    words = {
        place: column
        for place, column in columns.items()
        if column.words and not column.ordered and len(coded(column)[0]) > 2
    }
    if not words:
        return {}
    level = level_of(target, positive)
    y = numbers_at(target.looked(), level)
    centre = float(y[np.isfinite(y)].mean())
    widths = {place: len(column.categories or ()) for place, column in words.items()}
    found = rows.run(TargetMeanPass(widths, level, centre))
    result = {}
    for place, column in words.items():
        *means, mean = found[place].means(smooth)
        here = np.unique(column.values)
        places = [*here[here >= 0], *here[here < 0]]  # what is missing stands last
        known = np.array([*(means[code] for code in places), mean])
        result[column.name] = CategoricalEncoding.by_means(coded(column)[0], known + centre)
    return result
