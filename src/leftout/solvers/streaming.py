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

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from leftout.linalg.losses import WIDE, Array, Loss, own_components
from leftout.linalg.moments import Moments, build, stack, without
from leftout.linalg.passes import AllRows, InMemory, Places
from leftout.linalg.problem import Labels, Problem
from leftout.linalg.top_k import RowForm, score_form
from leftout.running import one_thread
from leftout.solvers.base import SearchResult, SolverContext, as_history
from leftout.solvers.local_ascent import lay_out, line, part_of
from leftout.solvers.sampling import Samples, SingleRows
from leftout.text import number

# Tables of more values than this are passed over.
STREAMED_ABOVE = 1 << 22
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
    ) -> StreamedGroup:
        """Some rows of a table or part; where components are ``near``, theirs to a few digits."""
        sides = stack(without(problem.pooled, group), group)
        own = own_components(problem.loss, sides, problem.d, near)
        losses, _ = problem.losses_of(sides, own)
        value = float(losses[1] - losses[0])
        return cls(len(places), sides, own, value, places, near=near is not None)

    def beyond(self, loss: Loss, before: StreamedGroup | None, times: float) -> Array:
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


def _in_part(part: Problem, size: int) -> Callable[[Array], StreamedGroup]:
    """The step to the best rows of a part; nobody asks for digits there."""
    weight = size / (float(part.pooled.count[0]) - size)
    short = SingleRows.of(part.X, part.pooled)

    def step(own: Array) -> StreamedGroup:
        scores = short.scores(score_form(part.loss, part.V, own, weight))
        index = np.sort(np.argpartition(scores, len(scores) - size)[len(scores) - size :])
        return StreamedGroup.of(part, build(part.X[index]), index)

    return step


@dataclass(frozen=True)
class _StreamingSearch:
    """One search of a large table, for a group of a given size."""

    samples: Samples
    size: int
    means: SolverContext
    climbs: int

    @property
    def problem(self) -> Problem:
        return self.samples.problem

    def starts(self, part: Problem, size: int, lines: int) -> list[Array]:
        """Components where lines of climbs end, each on some of the part's rows."""
        ends, guide = [], part.under_excess()
        for rng in self.means.rng.spawn(lines * _effort(self.samples.table)):
            rows, few = part_of(guide, size, rng, _ROWS)
            climbs = self.climbs * max(1, _ROWS // len(rows.X))
            ends.append(line(lay_out(rows), few, climbs, rng, None)[1])
        return ends

    def in_part(
        self, part: Problem, size: int, starts: Sequence[Array], turns: int
    ) -> StreamedGroup:
        """The best group of a part that lies up from the starts."""
        step, first = _in_part(part, size), _effort(self.samples.table) * _FIRST
        paths = [_ascend(step, part.loss, own, first) for own in starts]
        best = max((path.best for path in paths), key=lambda group: group.value)
        return _ascend(step, part.loss, best.own, turns, _GAIN, best).best

    def run(self) -> AscentPath:
        """The best group, from all rows."""
        samples, size = self.samples, self.size
        even, few = samples.even, samples.size(size)
        rows = samples.pool_rows(size)
        if not rows:
            starts = self.starts(even, few, _LINES)
            start = self.in_part(even, few, starts, _FIRST)
            return self.ascend(samples.from_part(start.own))
        long = samples.longest(rows)
        starts = [self.in_part(long, size, self.starts(long, size, _LINES), _TURNS).own]
        many = min(max(few, _MEMBERS), len(even.X) // 4)
        starts += [self.in_part(even, many, self.starts(even, many, 1), _FIRST).own]
        ends = [self.step(samples.from_part(start)) for start in starts]
        best = max(ends, key=lambda group: group.value)
        path = self.ascend(best.own, best)
        return path._replace(trail=((best.value, size), *path.trail))

    def ascend(self, own: Array, best: StreamedGroup | None = None) -> AscentPath:
        """Up by passes over all rows; more of them where a score takes few products."""
        d, n = self.problem.V.shape
        passes = _PASSES + round(2.0 * (1.0 - min(2 * d, 2 * (n - d), n) / n))
        if self.samples.sparse:
            passes = _TURNS
        elif self.samples.pool_rows(self.size):
            passes = _IN_POOLS
        return _ascend(self.step, self.problem.loss, own, passes, _GAIN, best)

    def step(self, own: Array) -> StreamedGroup:
        """The step to the best rows of all, by a pass."""
        problem, samples, size = self.problem, self.samples, self.size
        rows = samples.pool_rows(size)
        if rows and not samples.sparse:
            pool, inside = samples.pool(samples.form(own, size), rows)
            group = _settled(pool, self.in_part(pool, size, [own], _TURNS))
            scores = np.sort(inside.scores)[::-1]
            cut = float(scores[size - 1]), float(scores[size])
            return group._replace(places=inside.places[group.places], cut=cut)
        found = samples.highest(own, size)
        places, near = np.flatnonzero(found.labels), own if samples.sparse else None
        return StreamedGroup.of(problem, found.group, places, near)._replace(cut=found.cut)

    def offset(self, path: AscentPath, last_pass: bool) -> float | None:
        """Half path between the lowest score in the group and the highest outside of it."""
        cut, group = path.best.cut, path.best
        if path.stopped == "local optimum" and not self.samples.sparse:
            return (cut[0] + cut[1]) / 2.0
        if not last_pass:
            return None
        return self.samples.highest(group.own, group.size).offset  # that cut is by those before


def _effort(table: AllRows) -> int:
    """How many times as many lines of climbs a table affords."""
    most = 1 if table.n_features > WIDE else _EFFORT  # there, rows cost less
    return int(np.clip(_VALUES // (table.n_features * table.n_rows), 1, most))


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
    climbs = _CLIMBS if n_starts is None else max(1, n_starts // (_LINES * _effort(rows)))
    with one_thread():
        samples = Samples(problem, rows, means.rng)
        search = _StreamingSearch(samples, problem.group_size or problem.min_size, means, climbs)
        path = search.run()
        best = path.best
        if best.near:  # now to all digits
            best = best._replace(own=own_components(problem.loss, best.sides, problem.d))
        means.tell(f"group of {best.size}: disparity {number(best.value, digits=6)}")
        labels: Labels = np.zeros(problem.n_rows, dtype=np.int8)
        labels[best.places] = 1
        return SearchResult(
            labels=labels,
            own=best.own,
            history=as_history(*zip(*path.trail, strict=True)),
            stopped=path.stopped,
            sides=best.sides,
            offset=search.offset(path._replace(best=best), last_pass),
        )
