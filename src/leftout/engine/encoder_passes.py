"""The encoder fitted by passes over chunks: what needs more than each column's own values.

A pass over columns with gaps finds their medians, their spreads, and gaps in common; another, where
categories become means of the target, its sums for each of their values.

The median of very many values is between two values of the sample, so close that few rows are
between them; the pass counts the rows below and keeps those between. Where it turns out not to be
between them, which is next to impossible, they are moved apart and the pass is made again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from leftout.data.columns import Column
from leftout.data.encoder import TableEncoder, with_gaps
from leftout.data.encoding import (
    CategoricalEncoding,
    Flag,
    Floats,
    NumericEncoding,
    as_read,
    coded,
    flags_of,
    missing_together,
)
from leftout.data.profiling.column_types import ColumnType
from leftout.data.roles import level_of, numbers_at
from leftout.engine.cells import Reader
from leftout.engine.chunks import Chunk
from leftout.engine.engines import Fold

# Standard errors of a sample's quantile that the median is looked for within.
_ERRORS = 6.0


class Between(NamedTuple):
    """Of one column: rows below a bracket, values in it (sorted), and sums about a centre."""

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

    def merge(self, other: MissingCounts) -> MissingCounts:
        between = {place: one.merge(other.between[place]) for place, one in self.between.items()}
        return MissingCounts(self.together + other.together, between)


@dataclass(frozen=True)
class MissingPass:
    """A pass over chunks for columns with gaps, by their places among those searched."""

    readers: dict[int, Reader]
    brackets: dict[int, tuple[float, float]]
    scales: dict[int, NumericEncoding]

    def __call__(self, chunk: Chunk) -> MissingCounts:
        k = len(self.readers)
        result = MissingCounts(
            np.zeros((k, k), dtype=np.int64),
            {place: Between(0, np.empty(0), 0.0, 0.0) for place in self.brackets},
        )
        for _, batch in chunk.batches([reader.raw for reader in self.readers.values()]):
            missing = np.empty((k, batch.num_rows), dtype=bool)
            between = {}
            for line, (place, cells) in enumerate(zip(self.readers, batch.columns, strict=True)):
                column = self.readers[place].column(cells)
                missing[line] = column.missing
                if place in self.brackets:
                    values: Any = column.numbers
                    known = values[~np.isnan(values)]
                    between[place] = _between(known, self.brackets[place], self.scales[place])
            result = result.merge(MissingCounts(missing_together(missing), between))
        return result


def _between(known: Floats, bracket: tuple[float, float], scale: NumericEncoding) -> Between:
    low, high = bracket
    inside = known[(known >= low) & (known <= high)]
    off = _unit(known, scale) - _unit(np.array([scale.median]), scale)
    return Between(int((known < low).sum()), inside, float(off.sum()), float(np.square(off).sum()))


def _unit(values: Floats, scale: NumericEncoding) -> Floats:
    half = scale.high / 2.0 - scale.low / 2.0
    return (values / 2.0 - scale.low / 2.0) / half if half > 0.0 else np.zeros(len(values))


def learn_by_passes(
    encoder: TableEncoder,
    names: list[str],
    columns: list[Column],
    kinds: list[ColumnType],
    y: Column | None,
    *,
    chunks: Sequence[Chunk],
    fold: Fold,
    readers: list[Reader],
    target: Reader | None = None,
) -> int:
    """Fit an encoder to columns that are tallies, and say how many features it has."""
    encoder.named(names)
    make = None
    if y is not None and target is not None:
        make = by_target(
            columns, kinds, y, encoder.positive, encoder.smooth,
            chunks=chunks, fold=fold, readers=readers, reader=target,
        )  # fmt: skip
    plans = encoder.planned(columns, kinds, y, make)
    flagged = with_gaps(plans)
    flags: list[Flag] = []
    if flagged:
        many = {
            place: becomes
            for place, becomes in flagged.items()
            if isinstance(becomes, NumericEncoding) and _tally(columns[place]).n_values is not None
        }
        brackets = {place: _bracket(columns[place], _ERRORS) for place in many}
        middles = {place: _median(columns[place].looked().numbers) for place in many}
        scales = {place: replace(many[place], median=middles[place]) for place in many}
        which = {place: readers[place] for place in flagged}
        while True:
            found = fold(MissingPass(which, brackets, scales), chunks, MissingCounts.merge)
            missed = [place for place in many if not _held(columns[place], found.between[place])]
            if not missed:
                break
            for place in missed:
                brackets[place] = (-np.inf, np.inf)
        n_rows = columns[0].n_rows
        spreads = {}
        for place in flagged:
            if place in many:
                between, column = found.between[place], columns[place]
                middle = _middle(column, between)
                becomes = replace(many[place], median=middle)
                plans[place] = replace(plans[place], becomes=becomes)
                spreads[place] = _spread_by_sums(becomes, scales[place], column, between)
            else:
                read = flagged[place].read(columns[place])
                spreads[place] = read.spread(_tally(columns[place]).counts)
        names = [column.name for column in columns]
        flags = flags_of(found.together, n_rows, spreads, names)
    encoder.settle(kinds, plans, flags)
    return len(encoder.features_)


def _tally(column: Column) -> Any:
    assert column.tally is not None
    return column.tally


def _median(values: Floats | None) -> float:
    assert values is not None
    return float(np.median(values[~np.isnan(values)] / 2.0)) * 2.0


def _bracket(column: Column, errors: float) -> tuple[float, float]:
    values: Any = column.looked().numbers
    known = np.sort(values[~np.isnan(values)])
    if len(known) == column.n_rows - column.n_missing:  # all of them
        return float(known[(len(known) - 1) // 2]), float(known[len(known) // 2])
    off = errors * np.sqrt(len(known)) / 2.0 + 1.0
    low, high = int(len(known) / 2.0 - off), int(np.ceil(len(known) / 2.0 + off))
    return (
        float(known[low]) if low >= 0 else -np.inf,
        float(known[high]) if high < len(known) else np.inf,
    )


def _ranks(column: Column) -> tuple[int, int]:
    n = column.n_rows - column.n_missing
    return (n - 1) // 2, n // 2


def _held(column: Column, between: Between) -> bool:
    low, high = _ranks(column)
    return between.below <= low and high < between.below + len(between.inside)


def _middle(column: Column, between: Between) -> float:
    places = np.array(_ranks(column)) - between.below
    low, high = np.sort(between.inside)[places] / 2.0
    return float(low + high)


def _spread_by_sums(
    becomes: NumericEncoding, scale: NumericEncoding, column: Column, between: Between
) -> float:
    """The same of very many numbers, by sums about a value near their median."""
    n, gaps = column.n_rows, column.n_missing
    centre = _unit(np.array([scale.median]), scale)[0]
    fill = _unit(np.array([becomes.median]), scale)[0] - centre
    mean = (between.total + gaps * fill) / n
    return float((between.squares + gaps * fill**2) / n - mean**2)


class TargetSums(NamedTuple):
    """Of each value, missing last: rows with a target, its sum and squares less a centre."""

    rows: NDArray[np.int64]
    total: Floats
    squares: Floats

    def merge(self, other: TargetSums) -> TargetSums:
        """Of the rows of both."""
        return TargetSums(
            self.rows + other.rows, self.total + other.total, self.squares + other.squares
        )


@dataclass(frozen=True)
class TargetMeanPass:
    """A pass over categories, by their places among the columns searched, and the target.

    ``level`` is the target's value whose rate counts; None for its mean. ``centre`` is near the
    mean, so that little is lost in the squares.
    """

    readers: dict[int, Reader]
    widths: dict[int, int]
    target: Reader
    level: Any
    centre: float

    def __call__(self, chunk: Chunk) -> dict[int, TargetSums]:
        found = {
            place: TargetSums(np.zeros(n + 1, dtype=np.int64), np.zeros(n + 1), np.zeros(n + 1))
            for place, n in self.widths.items()
        }
        names = [reader.raw for reader in (*self.readers.values(), self.target)]
        for _, batch in chunk.batches(names):
            y = numbers_at(self.target.column(batch.columns[-1]), self.level)
            known = np.isfinite(y)
            off = y[known] - self.centre
            for (place, reader), cells in zip(self.readers.items(), batch.columns, strict=False):
                n = self.widths[place]
                codes = reader.column(cells).values[known]
                codes = np.where(codes < 0, n, codes)
                rows = np.bincount(codes, minlength=n + 1).astype(np.int64)
                total, squares = (
                    np.bincount(codes, one, n + 1).astype(np.float64) for one in (off, off * off)
                )
                found[place] = found[place].merge(TargetSums(rows, total, squares))
        return found


def merged(one: dict[int, TargetSums], other: dict[int, TargetSums]) -> dict[int, TargetSums]:
    """Sums of the rows of both."""
    return {place: sums.merge(other[place]) for place, sums in one.items()}


def by_target(
    columns: list[Column],
    kinds: list[ColumnType],
    target: Column,
    positive: Any,
    smooth: float | str,
    *,
    chunks: Sequence[Chunk],
    fold: Fold,
    readers: list[Reader],
    reader: Reader,
) -> Callable[[Column], CategoricalEncoding]:
    """What makes a column's categories means of the target, learned in one pass."""
    read = {
        place: as_read(column, kind)
        for place, (column, kind) in enumerate(zip(columns, kinds, strict=True))
        if kind.read_as != "nothing"
    }
    words = {p: c for p, c in read.items() if c.words and len(coded(c)[0]) > 2}
    level = level_of(target, positive)
    y = numbers_at(target.looked(), level)
    centre = float(y[np.isfinite(y)].mean())
    made = {place: readers[place].as_read(words[place]) for place in words}
    widths = {place: len(column.categories or ()) for place, column in words.items()}
    sums = {}
    if words:
        sums = fold(TargetMeanPass(made, widths, reader, level, centre), chunks, merged)
    by_name = {column.name: (column, sums[place]) for place, column in words.items()}

    def make(column: Column) -> CategoricalEncoding:
        known, found = by_name[column.name]
        texts, _ = coded(known)
        there = known.times(np.where(known.values < 0, len(known.categories or ()), known.values))
        return CategoricalEncoding.by_means(texts, _means(found, there > 0, centre, smooth))

    return make


def _means(
    sums: TargetSums, present: NDArray[np.bool_], centre: float, smooth: float | str
) -> Floats:
    """Means of the target for values that occur, drawn to the mean of all, which is the last.

    As in scikit-learn's ``TargetEncoder`` (Micci-Barreca's empirical Bayes, or some rows' weight).
    """
    count, total, squares = sums
    n = count.sum()
    mean = total.sum() / n
    spread = squares.sum() / n - mean**2
    with np.errstate(divide="ignore", invalid="ignore"):
        own = total / count
        if smooth == "auto":
            within = np.maximum(squares - count * own**2, 0.0)
            weight = spread * count / (spread * count + within / count)
            means = np.where(np.isnan(weight), mean, weight * own + (1.0 - weight) * mean)
        else:
            means = (total + float(smooth) * mean) / (count + float(smooth))
    means = np.where(count > 0, means, mean)
    present = np.append(present, np.zeros(len(means) - len(present), dtype=bool))
    return np.append(means[present], mean) + centre
