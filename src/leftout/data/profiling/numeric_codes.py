"""Whole numbers that may be codes: what their name, their shape and the other columns say.

A code (of a county, an occupation, a course) stands in no order, so that its neighbours have
nothing in common. That is measured: the means of other columns, taken along the sorted values, rise
and fall smoothly for a quantity and jump for a code.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from leftout.data.cells import value_counts
from leftout.data.columns import LARGEST_EXACT, Column
from leftout.data.profiling.column_names import MAYBE_NAMED, name_says
from leftout.data.profiling.sentinels import ordinary
from leftout.text import listed

Floats = NDArray[np.float64]

# Points from which a code is suspected, under a name that says so and any other.
SUSPECTED, UNNAMED = 3, 4
# Points of what other columns say; a name's are in naming, each oddity of shape has one.
ROUGH, SMOOTH = 2, -1
# Of the jumps between neighbours that values in no order would show: many, and hardly any.
ROUGHNESS, SMOOTHNESS = 0.6, 0.3
# Values of a code that is read as a category without being told so: each costs a feature.
FEW = 12
# Values are told apart by rows of their own, signals from noise by standard errors.
_ROWS, _SIGNAL = 5, 4.0
# Rows and other columns that are looked at.
_SAMPLE, _OTHERS = 5_000, 50
# Of the places between the lowest and the highest value, codes leave more than this empty.
_FILLED = 0.6
# Of the rows, so many must be at values that occur often, for those to be all that is looked at.
_MOST = 0.8


@dataclass(frozen=True)
class Evidence:
    """For whole numbers being a code, in points; and what it consists of."""

    name: int
    shape: tuple[str, ...]
    roughness: float  # NaN where nothing could be measured
    n_values: int

    @property
    def rough(self) -> bool:
        return self.roughness >= ROUGHNESS

    @property
    def score(self) -> int:
        relation = ROUGH * self.rough + SMOOTH * (self.roughness < SMOOTHNESS)
        return self.name + len(self.shape) + relation

    @property
    def suspected(self) -> bool:
        return self.score >= (SUSPECTED if self.name > 0 else UNNAMED)

    @property
    def strong(self) -> bool:
        """Whether name, shape and the other columns all say so, of few values."""
        return bool(self.name >= MAYBE_NAMED and self.shape and self.rough) and self.n_values <= FEW

    @property
    def told(self) -> list[str]:
        """What speaks for a code, in a few words each."""
        named = ["a name that codes have"] if self.name > 0 else []
        jumps = ["other columns jump between neighbours"] if self.rough else []
        return [*self.shape, *named, *jumps]


class Others:
    """The other columns of a table as standard scores, on some of its rows; made when needed."""

    def __init__(self, columns: Sequence[Column]) -> None:
        self._columns = columns
        self._scores: Floats | None = None
        self._owners: NDArray[np.intp] = np.empty(0, dtype=np.intp)

    def von_neumann_ratio(self, place: int, odd: Floats) -> float:
        """How much the others' means jump along a column's values, of which some are odd."""
        if self._scores is None:
            self._owners, self._scores = _scores(self._columns)
        values = _seen(self._columns[place]).values
        places = np.where(np.isin(values, odd), -1, value_counts(values)[2])
        return von_neumann_ratio(places, self._scores[:, self._owners != place])


def evenly(n_all: int, most: int = _SAMPLE) -> NDArray[np.intp]:
    """All places, or as many of them as are looked at, evenly spread."""
    return np.unique(np.linspace(0, n_all - 1, min(n_all, most)).astype(np.intp))


def _seen(column: Column) -> Column:
    """A column of the rows that are looked at."""
    return column.take(evenly(len(column)) if column.tally is None else column.tally.spaced)


def evidence(column: Column, others: Others, place: int) -> Evidence | None:
    """What speaks for whole numbers being a code; None where they cannot be one."""
    (distinct, counts), n_values = column.present, column.n_values
    if not _could_be(distinct, n_values, column.n_rows - column.n_missing):
        return None
    name = name_says(column.name)
    usual = ordinary(column)
    shape = _shape(distinct, counts, usual, n_values) if usual.sum() > 2 else ()
    # the slowest to find out, and of no use where it cannot change the answer
    needed = name + len(shape) + ROUGH >= (SUSPECTED if name > 0 else UNNAMED)
    rough = others.von_neumann_ratio(place, distinct[~usual]) if needed else np.nan
    return Evidence(name, shape, rough, n_values)


def _could_be(distinct: Floats, n_values: int, n_known: int) -> bool:
    return bool(
        3 <= n_values <= n_known / 2
        and max(-distinct[0], distinct[-1]) < LARGEST_EXACT
        and (distinct == np.floor(distinct)).all()
    )


def _shape(
    distinct: Floats, counts: NDArray[np.int64], usual: NDArray[np.bool_], n_values: int
) -> tuple[str, ...]:
    """What the values themselves have of codes, in a few words each."""
    found = []
    rest = distinct[usual]
    often = usual & (counts >= _ROWS)  # counts of things have gaps where they are rare
    each = n_values / len(distinct)  # where not all are there, one stands for several
    mostly = counts[often].sum() >= _MOST * counts.sum()
    if _has_gaps(distinct[often] if mostly else rest, each):
        found.append("gaps between them")
    low, high = int(rest[0]), int(rest[-1])
    years = 1800 <= low and high <= 2200
    if len(rest) > 4 and low >= 100 and len(str(low)) == len(str(high)) and not years:
        found.append(f"all of {len(str(low))} digits")
    marks = distinct[~usual]
    if len(marks) and (np.abs(marks) < 100).all():
        found.append(f"{listed([str(int(mark)) for mark in marks])} after a gap")
    return tuple(found)


def _has_gaps(values: Floats, each: float) -> bool:
    if len(values) < 4:
        return False
    step = float(np.gcd.reduce(np.diff(values).astype(np.int64)))
    return bool(each * len(values) < _FILLED * ((values[-1] - values[0]) / step + 1.0))


def von_neumann_ratio(places: NDArray[np.int32], scores: Floats) -> float:
    """How much means of other columns jump along sorted values: 0 in order, about 1 in none.

    It is the ratio of von Neumann, of squared steps between neighbours to the variance, both less
    what the sampling of rows adds, over all columns that differ between the values at all; scaled
    such that a straight line is 0 however few values there are. NaN if there is nothing to measure.

    Parameters
    ----------
    places : array of shape (n_rows,)
        Each row's place among the sorted values, -1 for none. Values of few rows do not count.
    scores : array of shape (n_rows, n_columns)
        Other columns, each with mean 0 and variance 1.

    Examples
    --------
    >>> import numpy as np
    >>> from leftout.data.profiling.numeric_codes import von_neumann_ratio
    >>> places = np.repeat(np.arange(6), 50)
    >>> noise = np.random.default_rng(0).normal(size=300)
    >>> ordered, jumping = places + noise, np.array([4, 0, 3, 5, 1, 2])[places] + noise
    >>> [round(von_neumann_ratio(places, y[:, None] / y.std()), 1) for y in (ordered, jumping)]
    [-0.0, 1.3]
    """
    tally = np.bincount(places + 1)[1:]
    often = tally >= _ROWS
    n_values = int(often.sum())
    if n_values < 3 or not scores.shape[1]:
        return np.nan
    rows = np.flatnonzero(np.append(often, False)[places])
    rows = rows[np.argsort(places[rows], kind="stable")]
    sizes = tally[often].astype(np.float64)[:, None]
    starts = np.concatenate([[0], np.cumsum(tally[often])[:-1]])
    taken = scores[rows]
    means = np.add.reduceat(taken, starts, axis=0) / sizes
    squares = np.einsum("ij,ij->j", taken, taken) - (sizes * means**2).sum(axis=0)
    within = np.maximum(squares, 0.0) / max(len(rows) - n_values, 1)
    noise = within / sizes
    jumps = (np.diff(means, axis=0) ** 2 - noise[1:] - noise[:-1]).mean(axis=0) / 2.0
    between = means.var(axis=0, ddof=1) - noise.mean(axis=0)
    error = noise.mean(axis=0) * np.sqrt(2.0 / (n_values - 1))
    told = (between > 1e-9) & (between >= _SIGNAL * error)
    if not told.any():
        return np.nan
    ratio = float(jumps[told].sum() / between[told].sum())
    line = 6.0 / (n_values * (n_values + 1))
    return round((ratio - line) / (1.0 - line), 6)  # sums differ in the last digits by row order


def _scores(columns: Sequence[Column]) -> tuple[NDArray[np.intp], Floats]:
    """Some of the columns as standard scores, gaps 0, and which they are."""
    owners, scores = [], []
    for place in evenly(len(columns), _OTHERS):
        column, seen = columns[place], _seen(columns[place])
        if column.categories is not None and column.levels is None:
            if not column.categories:
                continue
            common = column.times(column.values, 1).argmax()
            values = np.where(seen.values < 0, np.nan, seen.values == common)
        else:
            numbers = seen.numbers
            assert numbers is not None
            values = numbers
        known = np.isfinite(values)
        largest = np.abs(values[known]).max(initial=0.0)
        if not 0.0 < largest:
            continue
        values = np.where(known, values / largest, 0.0)  # squares of huge ones overflow
        mean = values[known].mean()
        spread = values[known].std()
        if spread > 1e-9:
            owners.append(place)
            scores.append(np.where(known, (values - mean) / spread, 0.0))
    if not scores:
        return np.empty(0, dtype=np.intp), np.empty((len(_seen(columns[0])), 0))
    return np.array(owners, dtype=np.intp), np.ascontiguousarray(np.column_stack(scores))
