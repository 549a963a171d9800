"""A large table as its search sees it: samples, which stay, and pools, which passes bring home."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, cast

import numpy as np

from leftout.linalg.losses import Array, Loss
from leftout.linalg.moments import Moments, SparseRows, build, scaled
from leftout.linalg.passes import AllRows, InMemory, Places
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
# _FEWEST values. Where that is less than LEAST times the group, there is the even sample.
_POOL, SMALLEST_POOL, _SMALL_POOL = 5, 3, 8192


@dataclass(frozen=True, kw_only=True)
class Whole:
    """A :class:`~leftout.linalg.problem.Problem` whose rows may be anywhere."""

    table: AllRows
    loss: Loss
    V: Array
    pooled: Moments
    min_size: int
    group_size: int | None = None
    sparse: Problem | None = None  # the problem itself, where its rows are sparse

    @classmethod
    def of(cls, problem: Problem) -> Whole:
        return cls(
            table=InMemory(problem.X),
            loss=problem.loss,
            V=problem.V,
            pooled=problem.pooled,
            min_size=problem.min_size,
            group_size=problem.group_size,
            sparse=problem if isinstance(problem.X, SparseRows) else None,
        )

    def form(self, own: Array, size: int) -> RowForm:
        weight = size / (self.table.n_rows - size)
        return RowForm(score_form(self.loss, self.V, own, weight), self.pooled.origin)

    @property
    def axes(self) -> Array | None:
        """Directions that the coordinates of parts are in, where these are few."""
        return None if self.sparse is None else self.sparse.axes

    @property
    def n_coordinates(self) -> int:
        return self.table.n_features if self.axes is None else len(self.axes)

    def to_part(self, own: Array) -> Array:
        """Components of the table in coordinates of its parts."""
        if self.axes is None:
            return own
        return np.stack([np.linalg.qr(self.axes @ W.T)[0].T for W in own])

    def from_part(self, own: Array) -> Array:
        """Components of a part in the table's columns."""
        return own if self.axes is None else own @ self.axes

    def part_of(self, places: Places, rate: float) -> Problem:
        """:meth:`part` on the rows of some places."""
        if self.sparse is None or self.axes is None:
            return self.part(self.table.take(places), rate)
        X: Any = self.sparse.X
        A, (count, total, second, origin, _) = self.axes, self.pooled
        few = Moments(count, total @ A.T, A @ second @ A.T, np.zeros(len(A)))
        return Problem(
            X=X.some(places, origin) @ A.T,
            loss=self.loss,
            V=np.ascontiguousarray(self.V @ A.T),
            pooled=scaled(few, rate),
            min_size=self.min_size,
        )

    def part(self, rows: Array, rate: float) -> Problem:
        """The problem on some rows, as if the table had ``rate`` times its rows."""
        origin = self.pooled.origin
        return Problem(
            X=np.ascontiguousarray(rows - origin),
            loss=self.loss,
            V=self.V,
            pooled=scaled(self.pooled, rate)._replace(origin=np.zeros_like(origin)),
            min_size=self.min_size,
        )


class Short(NamedTuple):
    """Rows about the origin in single precision, in units of their spread: squares fit."""

    rows: Single
    unit: float  # of a score

    @classmethod
    def of(cls, rows: Array, pooled: Moments) -> Short:
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
    """The rows of a table that a search looks at more than once."""

    def __init__(self, whole: Whole, rng: np.random.Generator) -> None:
        table = whole.table
        m = table.n_rows
        even, apart = drawn(rng, m, whole.n_coordinates)
        self.whole, self.rate, self.rate_apart = whole, len(even) / m, len(apart) / m
        self._long: tuple[int, Problem] | None = None
        self.latest: Problem | None = None  # the last pool
        if whole.sparse is not None:  # all rows are scored at once: nothing to guess
            self.even = whole.part_of(even, self.rate)
            return
        both = np.union1d(even, apart)
        rows = table.take(both)  # in one reading
        away = rows[np.searchsorted(both, apart)] - whole.pooled.origin
        self.apart = Short.of(away, whole.pooled)
        rows = rows[np.searchsorted(both, even)]
        self.even = whole.part(rows, self.rate)

    def highest(self, own: Array, size: int) -> Chosen:
        """The rows of the highest scores under the components of rest and group."""
        sparse, m = self.whole.sparse, self.whole.table.n_rows
        if sparse is None:
            form = self.whole.form(own, size)
            return highest(self.whole.table, form, size, self.guess(form))
        ranking, X = sparse.rank(own, size), cast(Any, sparse.X)
        group = build(X.some(np.sort(ranking.rows[:size])), origin=self.whole.pooled.origin)
        cut = float(ranking.scores[size - 1]), float(ranking.scores[size])
        return Chosen(ranking.labels(size, m), group, cut)

    def guess(self, form: RowForm) -> ThresholdGuess:
        return self.apart.guess(form, self.rate_apart)

    def size(self, size: int) -> int:
        """A group's size in the even sample."""
        return min(max(1, round(self.rate * size)), len(self.even.X) - 1)

    def pool_rows(self, size: int) -> int:
        """How many rows the pool of a group has; 0 where it is a group for the even sample."""
        m, n = self.whole.table.n_rows, self.whole.n_coordinates
        rows = min(max(_POOL * size, _SMALL_POOL), _FEWEST // n, m - 1)
        return rows if rows >= SMALLEST_POOL * size else 0

    def pool(self, form: RowForm, count: int) -> tuple[Problem, Inside]:
        """The ``count`` rows of the highest scores, in one pass if the guess is right."""
        guess, width, low = self.guess(form), WIDTH, np.inf
        while True:
            low = guess.bracket(count, width)[0]
            found = self.whole.table.run(Cut(form, low, np.inf)).together()
            if len(found.places) >= count:
                break
            width *= 4.0
        best = np.sort(np.lexsort((found.places, -found.scores))[:count])
        places = found.places[best]
        rows = self.whole.table.take(places) if found.rows is None else found.rows[best]
        return self.whole.part(rows, 1.0), Inside(places, found.scores[best], None)

    def longest(self, count: int) -> Problem:
        """The rows of the longest reach."""
        sparse = self.whole.sparse
        if sparse is not None and (self._long is None or self._long[0] < count):
            self._long = count, self.whole.part_of(np.sort(sparse.by_reach[:count]), 1.0)
        if self._long is None or self._long[0] < count:
            reach = RowForm(reach_form(self.whole.loss, self.whole.V), self.whole.pooled.origin)
            self._long = count, self.pool(reach, count)[0]
        return self._long[1]

    def bound(self, size: int) -> float:
        """No group of this size has a larger disparity: see ``Problem.bound``, which only falls."""
        if self.whole.sparse is not None:
            return self.whole.sparse.bound(size)
        if self._long is None:
            return np.inf
        part = self._long[1]
        return part.bound(min(size, len(part.X)))


def drawn(rng: np.random.Generator, n_rows: int, n_features: int) -> tuple[Places, Places]:
    """Places of the even sample, and of the one that guesses; whoever passes may take both."""
    even = min(n_rows, int(np.clip(n_rows // _EVEN, _FEWEST // n_features, _MOST // n_features)))
    return _drawn(rng, n_rows, even), _drawn(rng, n_rows, min(n_rows, _APART))


def _drawn(rng: np.random.Generator, n_rows: int, count: int) -> Places:
    return np.sort(rng.choice(n_rows, count, replace=False)).astype(np.intp)
