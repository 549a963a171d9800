"""What an encoder needs of all rows of a column: numbers that add up from block to block."""

from __future__ import annotations

from itertools import islice
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from leftout.data.columns import Column

Floats = NDArray[np.float64]
# Different texts among numbers that are kept with their counts.
_STRAYS = 1000


class TargetSums(NamedTuple):
    """Of each value, missing last: rows with a target, its sum and squares less a centre."""

    rows: NDArray[np.int64]
    total: Floats
    squares: Floats

    @classmethod
    def of(cls, codes: NDArray[np.integer], y: Floats, n_values: int) -> TargetSums:
        """Of rows with these codes, -1 for missing, and numbers of a target, NaN where it is."""
        known = np.isfinite(y)
        codes, y = codes[known], y[known]
        codes = np.where(codes < 0, n_values, codes)
        count, total, squares = (np.bincount(codes, w, n_values + 1) for w in (None, y, y * y))
        return cls(count.astype(np.int64), total.astype(np.float64), squares.astype(np.float64))

    def merge(self, other: TargetSums) -> TargetSums:
        """Of the rows of both."""
        return TargetSums(
            self.rows + other.rows, self.total + other.total, self.squares + other.squares
        )

    def means(self, smooth: float | str) -> Floats:
        """Means for each value, drawn to the mean of all, which is one more at last.

        As in scikit-learn's ``TargetEncoder`` (Micci-Barreca's empirical Bayes, or some rows'
        weight).
        """
        count, total, squares = self
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
        return np.append(np.where(count > 0, means, mean), mean)


class ColumnSummary(NamedTuple):
    """What an encoder needs of all rows of a column.

    Attributes
    ----------
    n_rows, n_missing : int
    low, high : float
        The smallest and the largest number; infinite where there is none.
    counts : array
        Rows of each of the sample's categories and, at last, of any other.
    strays : dict
        Texts among numbers, with their cells.
    declared : array
        Cells of each value that somebody has declared missing.
    sums : TargetSums or None
        Of a target, by category.
    """

    n_rows: int
    n_missing: int
    low: float
    high: float
    counts: NDArray[np.int64]
    strays: dict[str, int]
    declared: NDArray[np.int64]
    sums: TargetSums | None

    @classmethod
    def of(
        cls,
        column: Column,
        like: Column,
        declared: NDArray[np.int64] | None = None,
        y: Floats | None = None,
    ) -> ColumnSummary:
        """Of a column that was read like another one; ``y`` are numbers of a target."""
        low, high, sums, counts = np.inf, -np.inf, None, np.zeros(0, dtype=np.int64)
        if like.words:
            n = len(like.categories or ())
            counts = np.bincount(np.minimum(column.values, n) + 1, minlength=n + 2)[1:]
            if y is not None:
                known = np.where(column.values < n, column.values, -1)
                rows = column.values < n  # any other value is as good as none
                sums = TargetSums.of(known[rows], y[rows], n)
        else:
            numbers: Any = column.numbers
            if not np.isnan(numbers).all():
                low, high = float(np.nanmin(numbers)), float(np.nanmax(numbers))
        return cls(
            len(column), column.n_missing, low, high, counts, dict(column.strays),
            np.zeros(0, dtype=np.int64) if declared is None else declared, sums,
        )  # fmt: skip

    def merge(self, other: ColumnSummary) -> ColumnSummary:
        """Of the rows of both."""
        strays = self.strays | {
            text: self.strays.get(text, 0) + n for text, n in other.strays.items()
        }
        sums = self.sums
        if sums is not None and other.sums is not None:
            sums = sums.merge(other.sums)
        return ColumnSummary(
            self.n_rows + other.n_rows,
            self.n_missing + other.n_missing,
            min(self.low, other.low),
            max(self.high, other.high),
            self.counts + other.counts,
            dict(islice(strays.items(), _STRAYS)),
            self.declared + other.declared,
            sums,
        )
