"""Columns that copy an earlier one: the same numbers, or the same values by other names.

Candidates come from two products of matrices, of standardised columns and of what random pairs of
rows have in common; each is then compared on all rows.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from leftout.data.columns import Column
from leftout.data.profiling.relations import Floats, Ints, Relation

# Correlation of numbers, and share of rows whose values go together, from which on it is a copy.
_SAME, _TOGETHER = 0.99, 0.99
# Share of the rows with a value in either column that have one in both.
_BOTH = 0.9
# So few rows must not make a correlation; that of ranks may be a little smaller.
_HANDFUL, _RANKS = 3, 0.95
# Values that go together by accident must be off by at least so many rows, and ten times as often.
_BY_CHANCE, _OFTENER = 10.0, 10.0
# Candidates are at least so much alike on some of the rows, less where cells are missing.
_NEAR, _NEAR_WITH_GAPS, _NEAR_NAMES = 0.985, 0.88, 0.8
# Multiplications for all candidates, and the fewest and most rows that are compared.
_EFFORT, _LEAST, _MOST = 2e10, 800, 8_000


def copies(columns: Sequence[Column]) -> list[Relation]:
    """Columns that copy an earlier one, in their order: each once, and never of a copy.

    Numbers, dates and indicators copy each other where they correlate by 0.99 or more, reversed or
    not; categories and codes, where each value of one goes with one value of the other in 99% of
    the rows, both ways, beyond chance. A tenth of the cells may be missing in one alone.

    Examples
    --------
    >>> import numpy as np
    >>> from leftout.data.columns import columns_of
    >>> rng = np.random.default_rng(0)
    >>> metres = rng.normal(1.7, 0.1, 200)
    >>> table = columns_of(np.column_stack([metres, rng.random(200), -39.4 * metres]))
    >>> [relation.text for relation in copies(table)]
    ['x2 copies x0, in reverse: correlation -1.']
    """
    found: list[Relation] = []
    candidates = _candidates(columns)
    is_copy = np.zeros(len(columns), dtype=bool)
    for later, column in enumerate(columns):
        for earlier in np.flatnonzero(candidates[later, :later] & ~is_copy[:later]).tolist():
            likeness = _likeness(column, columns[earlier])
            if likeness is not None:
                found.append(Relation(column.name, columns[earlier].name, "copy", *likeness))
                is_copy[later] = True
                break
    return found


def _candidates(columns: Sequence[Column]) -> NDArray[np.bool_]:
    """Which pairs of columns nearly correlate, or nearly go together, on some of the rows."""
    n_rows = len(columns[0]) if columns else 0
    size = int(np.clip(_EFFORT / max(len(columns), 1) ** 2, _LEAST, _MOST))
    rng = np.random.default_rng(0)
    rows = np.sort(rng.choice(n_rows, min(n_rows, size), replace=False))
    left, right = rng.integers(0, max(n_rows, 1), (2, size))
    is_other = left != right
    numbers = np.zeros((len(columns), len(rows)), dtype=np.float32)
    names = np.zeros((len(columns), np.count_nonzero(is_other)), dtype=np.float32)
    gaps = np.zeros(len(columns), dtype=bool)
    for place, column in enumerate(columns):
        values = _numbers(column.take(rows))
        if values is not None:
            numbers[place], gaps[place] = _unit(values), np.isnan(values).any()
        shared = column.values[left] == column.values[right]
        names[place] = _unit(shared[is_other].astype(float))
    least = np.where(gaps[:, None] | gaps, _NEAR_WITH_GAPS, _NEAR)
    return (np.abs(numbers @ numbers.T) >= least) | (names @ names.T >= _NEAR_NAMES)


def _numbers(column: Column) -> Floats | None:
    """A column as numbers, NaN where missing; two names are numbers, too. None if infinite."""
    values = column.numbers
    if values is None and len(column.categories or ()) == 2:
        values = np.array([0.0, 1.0, np.nan])[column.values]
    return None if values is None or np.isinf(values).any() else values


def _unit(values: Floats) -> Floats:
    """Numbers less their mean, of length 1 (or 0), and 0 where missing."""
    known = ~np.isnan(values)
    # in parts of the largest, of which squares and sums are small enough
    scaled = values / max(np.abs(values[known]).max(initial=0.0), np.finfo(float).tiny)
    off = np.where(known, scaled - scaled[known].mean() if known.any() else 0.0, 0.0)
    size = np.linalg.norm(off)
    return off / size if size > 1e-13 * np.sqrt(len(off)) else np.zeros(len(off))


def _likeness(column: Column, other: Column) -> tuple[str, float] | None:
    """How a column copies another where both are known: a measure, and its strength."""
    known = ~(column.missing | other.missing)
    either = ~(column.missing & other.missing)
    if not known.any() or known.sum() < _BOTH * either.sum():
        return None
    pair = column.take(np.flatnonzero(known)), other.take(np.flatnonzero(known))
    return _same_numbers(*pair) or _same_names(*pair)


def _same_numbers(column: Column, other: Column) -> tuple[str, float] | None:
    """Whether two columns without gaps correlate, and not by a handful of rows."""
    a, b = _numbers(column), _numbers(other)
    if a is None or b is None:
        return None
    r = _correlation(a, b)
    off_most_frequent = [len(x) - np.unique(x, return_counts=True)[1].max() for x in (a, b)]
    if abs(r) < _SAME or min(off_most_frequent) <= _HANDFUL:
        return None
    # a few rows, or marks such as -99 in the same rows, are no reason to correlate
    return ("r", r) if abs(_correlation(rankdata(a), rankdata(b))) >= _RANKS else None


def _correlation(a: Floats, b: Floats) -> float:
    """The correlation of numbers without gaps, 0 where one never changes."""
    return float(np.clip(_unit(a) @ _unit(b), -1.0, 1.0))


def _same_names(a: Column, b: Column) -> tuple[str, float] | None:
    """Whether values of columns without gaps go together, both ways, beyond chance.

    Two indicators are compared as numbers alone. So are two numbers of the same order (squares of a
    number, say, are something else to PCA), and numbers with fractions, which are no codes:
    unemployment and GDP of a few years go together, and are two things.
    """
    if max(a.n_values, b.n_values) < 3 or min(a.n_values, b.n_values) < 2:
        return None
    left, right = a.codes().astype(np.int64), b.codes()
    if a.categories is None and b.categories is None:
        if any((each.values != np.floor(each.values)).any() for each in (a, b)):
            return None
        if abs(_correlation(rankdata(left), rankdata(right))) >= _SAME:
            return None
    width = int(right.max()) + 1
    pairs, counts = np.unique(left * width + right, return_counts=True)
    one, other = pairs // width, pairs % width
    together = min(_agreement(one, other, counts), _agreement(other, one, counts))
    return ("one-to-one", together) if together >= _TOGETHER else None


def _agreement(one: Ints, other: Ints, counts: Ints) -> float:
    """Share of rows where a value goes with what it most often goes with; 0 if chance gives that.

    The row that shows what a value goes with shows nothing else: by chance, the others of it are
    off as often as they do not have the most frequent value.
    """
    best = np.zeros(one.max() + 1, dtype=np.int64)
    np.maximum.at(best, one, counts)
    n, off = counts.sum(), counts.sum() - best.sum()
    most = np.bincount(other, weights=counts).max()
    by_chance = (n - len(best)) * (1.0 - most / n)
    if by_chance < _BY_CHANCE or off * _OFTENER > by_chance:
        return 0.0
    return float(1.0 - off / n)
