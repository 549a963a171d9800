"""How often each value of a column occurs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from leftout.compiling import kernel

Floats = NDArray[np.float64]
Tabulated = tuple[Floats, NDArray[np.int64], NDArray[np.int32]]

# Whole numbers up to this range are counted rather than sorted.
_COUNTED = 1 << 16


@dataclass(frozen=True)
class Tally:
    """How many rows of a table each value of a column stands for, where the rows are elsewhere.

    A column is judged, cleaned and encoded by its distinct values and by how often each occurs; so
    a table that is larger than memory is known by columns in which each value is there once. What
    needs several columns at once looks at rows of a sample, the same of every column.

    Attributes
    ----------
    n_rows : int
        Rows of the table.
    counts : array of shape (n,)
        Rows that have each value; 0 for one that is there only because the sample has it.
    looked : array
        Of each row of the sample, the place of its value.
    spaced : array
        The same of rows that are evenly spaced in the table.
    n_values : int or None
        Nearly so many different values occur, where they are too many to be all there.
    ruled_out : frozenset of str
        Ways of writing numbers and dates that a text does not follow which is not there.
    spaces : bool
        Whether a text that is not there has a space in it.
    """

    n_rows: int
    counts: NDArray[np.int64]
    looked: NDArray[np.intp]
    spaced: NDArray[np.intp]
    n_values: int | None = None
    ruled_out: frozenset[str] = frozenset()
    spaces: bool = False


def tabulate(values: Floats) -> Tabulated:
    """Sorted distinct values, how often each occurs, and each row's place among them.

    NaN is not a value; its place is -1. Whole numbers of a small range are counted, others sorted.
    """
    values = np.ascontiguousarray(values)
    counted = _counted(values)
    if counted is not None:
        return counted
    known, codes = ~np.isnan(values), np.full(len(values), -1, dtype=np.int32)
    distinct, codes[known], counts = np.unique(
        values[known], return_inverse=True, return_counts=True
    )
    return distinct, counts, codes


@kernel
def _counted(values: Floats) -> Tabulated | None:
    low, high = np.inf, -np.inf
    for value in values:
        if value == value:
            if value != np.floor(value):
                return None
            low, high = min(low, value), max(high, value)
    if not 0 <= high - low < _COUNTED:
        return None
    tally = np.zeros(int(high - low) + 1, dtype=np.int64)
    for value in values:
        if value == value:
            tally[int(value - low)] += 1
    found = np.flatnonzero(tally)
    place = np.empty(len(tally), dtype=np.int32)
    for code, offset in enumerate(found):
        place[offset] = code
    codes = np.full(len(values), -1, dtype=np.int32)
    for row, value in enumerate(values):
        if value == value:
            codes[row] = place[int(value - low)]
    return found + np.float64(low), tally[found], codes


def median(values: Floats, counts: NDArray[np.int64]) -> float:
    """The median of values that occur so often, at least one of them once.

    Examples
    --------
    >>> import numpy as np
    >>> median(np.array([4.0, 1.0, 2.0]), np.array([1, 2, 1]))
    1.5
    """
    order = np.argsort(values)
    last = np.cumsum(counts[order])
    middle = np.array([(last[-1] - 1) // 2, last[-1] // 2])
    low, high = values[order][np.searchsorted(last, middle, side="right")] / 2.0
    return float(low + high)  # of two huge ones, too
