"""The alternating search of a large table: on samples first, then in a few passes over all rows.

Two kinds of samples. Of a large group an even sample holds enough rows to climb on; what is found
there is carried on by passes over the table, each of which takes the rows of the highest scores.
Of a small group it does not: there the longest rows (:func:`leftout.linalg.losses.row_reach`) give
the starts, and each pass brings home a pool, the rows of the highest scores and some times as many
as the group has. Together with the moments of the whole table a pool is enough to compare
partitions of the whole table, so the search goes on in the pool until the next pass.

Whatever is drawn is drawn by place, and what is compared or returned is the disparity of an actual
partition of all rows: the answer does not depend on where the rows are, nor on who passes over
them.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, Self, cast

import numpy as np

from leftout.linalg.losses import WIDE, Array, Loss, own_components
from leftout.linalg.moments import Moments, SparseRows, build, stack, without
from leftout.linalg.passes import AllRows, InMemory, Places
from leftout.linalg.problem import Problem, labelled
from leftout.linalg.top_k import (
    WIDTH,
    Cut,
    Inside,
    RowForm,
    Single,
    ThresholdGuess,
    highest,
    reach_form,
    score_form,
)
from leftout.running import one_thread
from leftout.solvers.base import SearchResult, SolverContext, as_history
from leftout.solvers.local_ascent import lay_out, line, part_of
from leftout.text import number

# Tables of more values than this are passed over.
STREAMED_ABOVE = 1 << 22
# The even sample: one in so many rows, within these numbers of values. Another, of so many rows,
# guesses where a cut will be: what was found in a sample lies better in it than elsewhere.
_EVEN, _FEWEST, _MOST, _APART = 24, 1 << 21, 1 << 23, 1 << 14
# A pool has so many times the rows of the group and not fewer than _SMALL_POOL, but not more than
# _FEWEST values. Where that is less than _LEAST times the group, there is the even sample.
_POOL, _LEAST, _SMALL_POOL = 5, 3, 8192
# Lines of climbs, climbs in each, and the rows they are on; up to _EFFORT times as many lines where
# a pass over the table costs less, in proportion to this number of values.
_LINES, _CLIMBS, _ROWS, _EFFORT, _VALUES = 3, 6, 4096, 4, 1 << 26
# Starts in the even sample are for groups of so many rows at least.
_MEMBERS = 512
# Turns in a sample for every start, and in a sample or pool for the best; passes over the table,
# and the share of the disparity that makes another worth it.
_FIRST, _TURNS, _PASSES, _IN_POOLS, _GAIN = 2, 12, 4, 2, 2e-4
# Steps go on in the direction of the last, so much further; more, where gains grow.
_NEAR, _FAR = 1.0, 2.0
# Disparities nearer than this are the same.
_ROUNDING = 1e-12


class SingleRows(NamedTuple):
    """Rows about the origin in single precision, in units of their spread: squares fit."""

    rows: Single
    unit: float  # of a score

    @classmethod
    def of(cls, rows: Array, pooled: Moments) -> Self:
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


def sample_places(rng: np.random.Generator, n_rows: int, n_features: int) -> tuple[Places, Places]:
    """Places of the even sample, and of the one that guesses; whoever passes may take both."""
    even = min(n_rows, int(np.clip(n_rows // _EVEN, _FEWEST // n_features, _MOST // n_features)))
    drawn = [rng.choice(n_rows, count, replace=False) for count in (even, min(n_rows, _APART))]
    first, second = (np.sort(places).astype(np.intp) for places in drawn)
    return first, second


class StreamedGroup(NamedTuple):
    """A left-out group and what follows from its moments."""

    size: int
    sides: Moments  # of rest and group
    own: Array
    value: float
    places: Places  # of its rows, in the table or part that it was found in; rising
    cut: tuple[float, float] = (np.nan, np.nan)  # see `Chosen`, where all rows were looked at
    near: bool = False  # whether the components are known to a few digits only

    @classmethod
    def of(
        cls, problem: Problem, group: Moments, places: Places, near: Array | None = None
    ) -> Self:
        """Some rows of a table or part; where components are ``near``, theirs to a few digits."""
        sides = stack(without(problem.pooled, group), group)
        own = own_components(problem.loss, sides, problem.d, near)
        losses, _ = problem.losses_of(sides, own)
        value = float(losses[1] - losses[0])
        return cls(len(places), sides, own, value, places, near=near is not None)

    def beyond(self, loss: Loss, before: Self | None, times: float) -> Array:
        """Components of a point further on the way from the group before.

        Each step goes a little in the direction of the last. Going further saves most of them.
        """
        if before is None:
            return self.own
        total = self.sides.total + times * (self.sides.total - before.sides.total)
        second = self.sides.second + times * (self.sides.second - before.sides.second)
        further = self.sides._replace(total=total, second=second)
        return own_components(loss, further, self.own.shape[1], self.own if self.near else None)


class AscentPath(NamedTuple):
    """The best group on a way up, and the way."""

    best: StreamedGroup
    trail: tuple[tuple[float, int], ...]
    stopped: str


def _ascend(
    step: Callable[[Array], StreamedGroup],
    loss: Loss,
    own: Array,
    turns: int,
    gain: float = 0.0,
    best: StreamedGroup | None = None,
) -> AscentPath:
    """Alternate while the true disparity rises: the best rows, their components, and so on."""
    trail: list[tuple[float, int]] = []
    last = np.inf
    for _ in range(turns):
        now = step(own)
        if best is None or now.value > best.value:
            trail.append((now.value, now.size if best is None else _moved(best, now)))
            more = np.inf if best is None else now.value - best.value
            own, best = now.beyond(loss, best, _FAR if more > last else _NEAR), now
            if more <= gain * abs(now.value):
                return AscentPath(best, tuple(trail), "gain")
            last = more
        elif own is best.own:
            best = now if now.value >= (1.0 - _ROUNDING) * best.value else best
            return AscentPath(best._replace(cut=now.cut), tuple(trail), "local optimum")
        else:  # too far: from the best, without a run-up
            own = best.own
    assert best is not None
    return AscentPath(best, tuple(trail), "max_passes")


def _moved(a: StreamedGroup, b: StreamedGroup) -> int:
    """Rows that are in one of two groups."""
    at = np.searchsorted(a.places, b.places)
    both = int(np.sum(a.places[np.minimum(at, a.size - 1)] == b.places))
    return a.size + b.size - 2 * both


class _StreamingSearch:
    """One search of a large table for a group of a given size, and the rows it looks at again.

    Rows are those of the problem where they are sparse, else those of the table.
    """

    def __init__(
        self,
        problem: Problem,
        table: AllRows,
        size: int,
        n_starts: int | None,
        rng: np.random.Generator,
    ) -> None:
        self.problem, self.table, self.size, self.rng = problem, table, size, rng
        m, n = table.n_rows, table.n_features
        # where a pass costs less, so many times as many lines of climbs; of wide rows, it does
        self.effort = int(np.clip(_VALUES // (n * m), 1, 1 if n > WIDE else _EFFORT))
        self.climbs = _CLIMBS if n_starts is None else max(1, n_starts // (_LINES * self.effort))
        self.sparse = isinstance(problem.X, SparseRows)
        # directions that the coordinates of parts are in, where these are few
        self.axes = problem.axes if self.sparse else None
        n_coordinates = n if self.axes is None else len(self.axes)
        # rows of a pool; 0 where groups are for the even sample
        rows = min(max(_POOL * size, _SMALL_POOL), _FEWEST // n_coordinates, m - 1)
        self.pool_rows = rows if rows >= _LEAST * size else 0
        even, apart = sample_places(rng, m, n_coordinates)
        self.rate, self.rate_apart = len(even) / m, len(apart) / m
        if self.sparse:  # all rows are scored at once: nothing to guess
            self.even = self._sparse_part(even, self.rate)
            return
        both = np.union1d(even, apart)
        taken = table.take(both)  # in one reading
        away = taken[np.searchsorted(both, apart)] - problem.pooled.origin
        self.apart = SingleRows.of(away, problem.pooled)
        self.even = self._part(taken[np.searchsorted(both, even)], self.rate)

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

    def run(self) -> AscentPath:
        """The best group, from all rows."""
        size, even = self.size, self.even
        few = min(max(1, round(self.rate * size)), len(even.X) - 1)
        if not self.pool_rows:
            starts = self.starts(even, few, _LINES)
            return self.ascend(self.from_part(self.in_part(even, few, starts, _FIRST).own))
        long = self.longest()
        starts = [self.in_part(long, size, self.starts(long, size, _LINES), _TURNS).own]
        many = min(max(few, _MEMBERS), len(even.X) // 4)
        starts += [self.in_part(even, many, self.starts(even, many, 1), _FIRST).own]
        ends = [self.step(self.from_part(start)) for start in starts]
        best = max(ends, key=lambda group: group.value)
        path = self.ascend(best.own, best)
        return path._replace(trail=((best.value, size), *path.trail))

    def from_part(self, own: Array) -> Array:
        """Components of a part in the table's columns."""
        return own if self.axes is None else own @ self.axes

    def longest(self) -> Problem:
        """The rows of the longest reach."""
        problem = self.problem
        if self.sparse:
            return self._sparse_part(np.sort(problem.by_reach[: self.pool_rows]), 1.0)
        reach = RowForm(reach_form(problem.loss, problem.V), problem.pooled.origin)
        return self.pool(reach)[0]

    def pool(self, form: RowForm) -> tuple[Problem, Inside]:
        """The rows of the highest scores, in one pass if the guess is right."""
        guess, width, low, count = self.guess(form), WIDTH, np.inf, self.pool_rows
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

    def form(self, own: Array) -> RowForm:
        """Scores of rows under the components of rest and group."""
        problem, weight = self.problem, self.size / (self.table.n_rows - self.size)
        return RowForm(score_form(problem.loss, problem.V, own, weight), problem.pooled.origin)

    def guess(self, form: RowForm) -> ThresholdGuess:
        return self.apart.guess(form, self.rate_apart)

    def starts(self, part: Problem, size: int, lines: int) -> list[Array]:
        """Components where lines of climbs end, each on some of the part's rows."""
        ends, guide = [], part.under_excess()
        for rng in self.rng.spawn(lines * self.effort):
            rows, few = part_of(guide, size, rng, _ROWS)
            climbs = self.climbs * max(1, _ROWS // len(rows.X))
            ends.append(line(lay_out(rows), few, climbs, rng, None)[1])
        return ends

    def in_part(
        self, part: Problem, size: int, starts: Sequence[Array], turns: int
    ) -> StreamedGroup:
        """The best group of a part that lies up from the starts; nobody asks for digits there."""
        weight = size / (float(part.pooled.count[0]) - size)
        short = SingleRows.of(part.X, part.pooled)

        def step(own: Array) -> StreamedGroup:
            scores = short.scores(score_form(part.loss, part.V, own, weight))
            index = np.sort(np.argpartition(scores, len(scores) - size)[len(scores) - size :])
            return StreamedGroup.of(part, build(part.X[index]), index)

        paths = [_ascend(step, part.loss, own, self.effort * _FIRST) for own in starts]
        best = max((path.best for path in paths), key=lambda group: group.value)
        return _ascend(step, part.loss, best.own, turns, _GAIN, best).best

    def ascend(self, own: Array, best: StreamedGroup | None = None) -> AscentPath:
        """Up by passes over all rows; more of them where a score takes few products."""
        d, n = self.problem.V.shape
        passes = _PASSES + round(2.0 * (1.0 - min(2 * d, 2 * (n - d), n) / n))
        if self.sparse:
            passes = _TURNS
        elif self.pool_rows:
            passes = _IN_POOLS
        return _ascend(self.step, self.problem.loss, own, passes, _GAIN, best)

    def step(self, own: Array) -> StreamedGroup:
        """The step to the best rows of all, by a pass."""
        problem, size = self.problem, self.size
        if self.sparse:
            ranking, X = problem.rank(own, size), cast(Any, problem.X)
            places = np.sort(ranking.rows[:size])
            group = build(X.some(places), origin=problem.pooled.origin)
            return StreamedGroup.of(problem, group, places, own)._replace(cut=ranking.cut)
        form = self.form(own)
        if self.pool_rows:
            pool, inside = self.pool(form)
            found = _settled(pool, self.in_part(pool, size, [own], _TURNS))
            scores = np.sort(inside.scores)[::-1]
            cut = float(scores[size - 1]), float(scores[size])
            return found._replace(places=inside.places[found.places], cut=cut)
        chosen = highest(self.table, form, size, self.guess(form))
        places = np.flatnonzero(chosen.labels)
        return StreamedGroup.of(problem, chosen.group, places)._replace(cut=chosen.cut)

    def offset(self, path: AscentPath, last_pass: bool) -> float | None:
        """Half way between the lowest score in the group and the highest outside of it."""
        cut, own = path.best.cut, path.best.own
        if self.sparse:
            cut = self.problem.rank(own, self.size).cut
        elif path.stopped != "local optimum":  # that cut is by the components before
            if not last_pass:
                return None
            form = self.form(own)
            cut = highest(self.table, form, self.size, self.guess(form)).cut
        return (cut[0] + cut[1]) / 2.0


def _settled(pool: Problem, found: StreamedGroup) -> StreamedGroup:
    """A group in a pool after one more step, with all digits: equal rows by their places."""
    weight = found.size / (float(pool.pooled.count[0]) - found.size)
    form = RowForm(score_form(pool.loss, pool.V, found.own, weight), pool.pooled.origin)
    index = np.sort(np.argsort(-form.scores(pool.X), kind="stable")[: found.size])
    exact = StreamedGroup.of(pool, build(pool.X[index]), index)
    return exact if exact.value >= (1.0 - _ROUNDING) * found.value else found


def search_passes(
    problem: Problem,
    means: SolverContext,
    n_starts: int | None = None,
    *,
    table: AllRows | None = None,
    last_pass: bool = True,
) -> SearchResult:
    """The left-out group of a large table: of ``problem.group_size`` rows, or of the fewest.

    Of very many rows the few that are furthest out lose most, so where the size is free it is the
    smallest that is allowed.

    ``table``: its rows, where they are not the problem's. ``n_starts``: climbs of all lines
    together. It stops at a ``"local optimum"``, when a pass brings a ``"gain"`` that is too small
    to go on for, or after ``"max_passes"``. Unless it was a local optimum, the offset takes one
    pass more: without ``last_pass`` it is left to the caller.
    """
    rows = InMemory(problem.X) if table is None else table
    size = problem.group_size or problem.min_size
    with one_thread():
        search = _StreamingSearch(problem, rows, size, n_starts, means.rng)
        path = search.run()
        best = path.best
        if best.near:  # now to all digits
            best = best._replace(own=own_components(problem.loss, best.sides, problem.d))
        means.tell(f"group of {best.size}: disparity {number(best.value, digits=6)}")
        return SearchResult(
            labels=labelled(best.places, problem.n_rows),
            own=best.own,
            history=as_history(*zip(*path.trail, strict=True)),
            stopped=path.stopped,
            sides=best.sides,
            offset=search.offset(path._replace(best=best), last_pass),
        )
