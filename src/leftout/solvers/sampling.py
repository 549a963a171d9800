"""A large table as its search sees it: samples, which stay, and pools, which passes bring home."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple, cast

import numpy as np

from leftout.linalg.losses import Array
from leftout.linalg.moments import Moments, SparseRows, build
from leftout.linalg.passes import AllRows, Places
from leftout.linalg.problem import Problem
from leftout.linalg.top_k import (
    WIDTH,
    Chosen,
    Cut,
    Inside,
    RowForm,
    Single,
    ThresholdGuess,
    highest,
    reach_form,
    score_form,
)

# The even sample: one in so many rows, within these numbers of values. Another, of so many rows,
# guesses where a cut will be: what was found in a sample lies better in it than elsewhere.
_EVEN, _FEWEST, _MOST, _APART = 24, 1 << 21, 1 << 23, 1 << 14
# A pool has so many times the rows of the group and not fewer than _SMALL_POOL, but not more than
# _FEWEST values. Where that is less than _LEAST times the group, there is the even sample.
_POOL, _LEAST, _SMALL_POOL = 5, 3, 8192


class SingleRows(NamedTuple):
    """Rows about the origin in single precision, in units of their spread: squares fit."""

    rows: Single
    unit: float  # of a score

    @classmethod
    def of(cls, rows: Array, pooled: Moments) -> SingleRows:
        unit = float(np.trace(pooled.second[0]) / pooled.count[0]) / rows.shape[1]
        short = np.empty(rows.shape, np.float32)  # the only new array
        return cls(np.divide(rows, np.sqrt(unit), out=short, casting="same_kind"), unit)

    def scores(self, M: Array) -> Single:
        """Scores of the rows in that unit, to the six digits that a sample needs."""
        scores: Single = np.einsum("ij,ij->i", self.rows @ M.astype(np.float32), self.rows)
        return scores

    def guess(self, form: RowForm, rate: float) -> ThresholdGuess:
        """Where a cut of the table will be, of which these rows are a share of ``rate``."""
        scores = np.sort(self.scores(form.M))[::-1]
        return ThresholdGuess(self.unit * scores.astype(np.float64), rate)


class Samples:
    """The rows of a table, wherever these are, that a search looks at more than once.

    Parameters
    ----------
    problem : Problem
        Its rows count where they are sparse; else those of the table.
    table : AllRows
    rng : Generator
    """

    def __init__(self, problem: Problem, table: AllRows, rng: np.random.Generator) -> None:
        self.problem, self.table = problem, table
        self.sparse = isinstance(problem.X, SparseRows)
        # directions that the coordinates of parts are in, where these are few
        self.axes = problem.axes if self.sparse else None
        self.n_coordinates = table.n_features if self.axes is None else len(self.axes)
        m = table.n_rows
        even, apart = sample_places(rng, m, self.n_coordinates)
        self.rate, self.rate_apart = len(even) / m, len(apart) / m
        if self.sparse:  # all rows are scored at once: nothing to guess
            self.even = self._sparse_part(even, self.rate)
            return
        both = np.union1d(even, apart)
        rows = table.take(both)  # in one reading
        away = rows[np.searchsorted(both, apart)] - problem.pooled.origin
        self.apart = SingleRows.of(away, problem.pooled)
        self.even = self._part(rows[np.searchsorted(both, even)], self.rate)

    def form(self, own: Array, size: int) -> RowForm:
        """Scores of rows for groups of a size, under the components of rest and group."""
        problem, weight = self.problem, size / (self.table.n_rows - size)
        return RowForm(score_form(problem.loss, problem.V, own, weight), problem.pooled.origin)

    def from_part(self, own: Array) -> Array:
        """Components of a part in the table's columns."""
        return own if self.axes is None else own @ self.axes

    def _part(self, rows: Array, rate: float) -> Problem:
        """The problem on some rows, as if the table had ``rate`` times its rows."""
        away = np.ascontiguousarray(rows - self.problem.pooled.origin)
        return self.problem.part(away, rate)

    def _sparse_part(self, places: Places, rate: float) -> Problem:
        """:meth:`_part` on some rows of a sparse table, in coordinates of its axes."""
        problem, A, X = self.problem, self.axes, cast(Any, self.problem.X)
        if A is None:
            return self._part(X[places], rate)
        count, total, second, origin, _ = problem.pooled
        few = Moments(count, total @ A.T, A @ second @ A.T, np.zeros(len(A)))
        narrow = replace(problem, V=np.ascontiguousarray(problem.V @ A.T), pooled=few)
        return narrow.part(X.some(places, origin) @ A.T, rate)

    def highest(self, own: Array, size: int) -> Chosen:
        """The rows of the highest scores under the components of rest and group."""
        problem, m = self.problem, self.table.n_rows
        if not self.sparse:
            form = self.form(own, size)
            return highest(self.table, form, size, self.guess(form))
        ranking, X = problem.rank(own, size), cast(Any, problem.X)
        group = build(X.some(np.sort(ranking.rows[:size])), origin=problem.pooled.origin)
        return Chosen(ranking.labels(m), group, ranking.cut)

    def guess(self, form: RowForm) -> ThresholdGuess:
        return self.apart.guess(form, self.rate_apart)

    def size(self, size: int) -> int:
        """A group's size in the even sample."""
        return min(max(1, round(self.rate * size)), len(self.even.X) - 1)

    def pool_rows(self, size: int) -> int:
        """How many rows the pool of a group has; 0 where it is a group for the even sample."""
        n, last = self.n_coordinates, self.table.n_rows - 1
        rows = min(max(_POOL * size, _SMALL_POOL), _FEWEST // n, last)
        return rows if rows >= _LEAST * size else 0

    def pool(self, form: RowForm, count: int) -> tuple[Problem, Inside]:
        """The ``count`` rows of the highest scores, in one pass if the guess is right."""
        guess, width, low = self.guess(form), WIDTH, np.inf
        while True:
            low = guess.bracket(count, width)[0]
            found = self.table.run(Cut(form, low, np.inf)).together()
            if len(found.places) >= count:
                break
            width *= 4.0
        best = np.sort(np.lexsort((found.places, -found.scores))[:count])
        places = found.places[best]
        rows = self.table.take(places) if found.rows is None else found.rows[best]
        return self._part(rows, 1.0), Inside(places, found.scores[best], None)

    def longest(self, count: int) -> Problem:
        """The rows of the longest reach."""
        problem = self.problem
        if self.sparse:
            return self._sparse_part(np.sort(problem.by_reach[:count]), 1.0)
        reach = RowForm(reach_form(problem.loss, problem.V), problem.pooled.origin)
        return self.pool(reach, count)[0]


def sample_places(rng: np.random.Generator, n_rows: int, n_features: int) -> tuple[Places, Places]:
    """Places of the even sample, and of the one that guesses; whoever passes may take both."""
    even = min(n_rows, int(np.clip(n_rows // _EVEN, _FEWEST // n_features, _MOST // n_features)))
    first, second = (
        np.sort(rng.choice(n_rows, count, replace=False)).astype(np.intp)
        for count in (even, min(n_rows, _APART))
    )
    return first, second
