"""A pass for categories that become means of the target: its sums for each of their values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from leftout.scale.chunks import Chunk
from leftout.scale.reading import Reader
from leftout.tables.columns import Column
from leftout.tables.encoding import Floats, Words, as_read, coded
from leftout.tables.judging.kinds import Kind
from leftout.tables.targets import level_of


class Sums(NamedTuple):
    """Of each value, missing last: rows with a target, its sum and squares less a centre."""

    rows: NDArray[np.int64]
    total: Floats
    squares: Floats

    def merge(self, other: Sums) -> Sums:
        """Of the rows of both."""
        return Sums(self.rows + other.rows, self.total + other.total, self.squares + other.squares)


@dataclass(frozen=True)
class MeansPass:
    """A pass over categories, by their places among the columns searched, and the target.

    ``level`` is the target's value whose rate counts; None for its mean. ``centre`` is near the
    mean, so that little is lost in the squares.
    """

    readers: dict[int, Reader]
    widths: dict[int, int]
    target: Reader
    level: Any
    centre: float

    def __call__(self, chunk: Chunk) -> dict[int, Sums]:
        found = {
            place: Sums(np.zeros(n + 1, dtype=np.int64), np.zeros(n + 1), np.zeros(n + 1))
            for place, n in self.widths.items()
        }
        names = [reader.raw for reader in (*self.readers.values(), self.target)]
        for _, batch in chunk.batches(names):
            y = numbers_of(self.target.column(batch.columns[-1]), self.level)
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
                found[place] = found[place].merge(Sums(rows, total, squares))
        return found


def numbers_of(target: Column, level: Any) -> Floats:
    """The target as numbers: 1 for the value that counts, or as they are; NaN where not known."""
    if level is None:
        return np.where(np.isfinite(target.values), target.values, np.nan)
    return np.where(target.missing, np.nan, (target.values == level).astype(np.float64))


def merged(one: dict[int, Sums], other: dict[int, Sums]) -> dict[int, Sums]:
    """Sums of the rows of both."""
    return {place: sums.merge(other[place]) for place, sums in one.items()}


def by_target(
    columns: list[Column],
    kinds: list[Kind],
    target: Column,
    positive: Any,
    smooth: float | str,
    *,
    chunks: Sequence[Chunk],
    fold: Callable[..., Any],
    readers: list[Reader],
    reader: Reader,
) -> Callable[[Column], Words]:
    """What makes a column's categories means of the target, learned in one pass."""
    read = {
        place: as_read(column, kind)
        for place, (column, kind) in enumerate(zip(columns, kinds, strict=True))
        if kind.read_as != "nothing"
    }
    words = {p: c for p, c in read.items() if c.words and len(coded(c)[0]) > 2}
    level = level_of(target, positive)
    y = numbers_of(target.looked(), level)
    centre = float(y[np.isfinite(y)].mean())
    made = {place: readers[place].as_read(words[place]) for place in words}
    widths = {place: len(column.categories or ()) for place, column in words.items()}
    sums = {}
    if words:
        sums = fold(MeansPass(made, widths, reader, level, centre), chunks, merged)
    by_name = {column.name: (column, sums[place]) for place, column in words.items()}

    def make(column: Column) -> Words:
        known, found = by_name[column.name]
        texts, _ = coded(known)
        there = known.times(np.where(known.values < 0, len(known.categories or ()), known.values))
        return Words.by_means(texts, _means(found, there > 0, centre, smooth))

    return make


def _means(sums: Sums, present: NDArray[np.bool_], centre: float, smooth: float | str) -> Floats:
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
