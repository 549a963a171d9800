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
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from leftout.linalg.losses import WIDE, Array, Loss, evaluate, own_components
from leftout.linalg.moments import Moments, build, stack, without
from leftout.linalg.passes import AllRows, InMemory, Places
from leftout.linalg.problem import Labels, Problem
from leftout.linalg.top_k import RowForm, score_form
from leftout.running import one_thread
from leftout.solvers.base import SearchResult, SolverContext, as_history, other_sizes
from leftout.solvers.local_ascent import lay_out, line, part_of
from leftout.solvers.sampling import SMALLEST_POOL, Samples, SingleRows
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
# Where the size is free, another is looked at in a sample if the components at hand promise a
# disparity there of (ratio of sizes)^_DOUBT of the best; sizes nearer to it than _FINEST are not.
_DOUBT, _FINEST = 0.125, 0.1


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
        cls,
        loss: Loss,
        V: Array,
        pooled: Moments,
        group: Moments,
        places: Places,
        near: Array | None = None,
    ) -> StreamedGroup:
        sides = stack(without(pooled, group), group)
        own = own_components(loss, sides, len(V), near)
        losses = evaluate(loss, sides, V, own)
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
        return StreamedGroup.of(part.loss, part.V, part.pooled, build(part.X[index]), index)

    return step


@dataclass(frozen=True)
class _StreamingSearch:
    """One search of a large table."""

    samples: Samples
    means: SolverContext
    climbs: int

    @property
    def problem(self) -> Problem:
        return self.samples.problem

    @property
    def effort(self) -> int:
        table = self.samples.table
        most = 1 if table.n_features > WIDE else _EFFORT  # there, rows cost less
        return int(np.clip(_VALUES // (table.n_features * table.n_rows), 1, most))

    def starts(self, part: Problem, size: int, lines: int) -> list[Array]:
        """Components where lines of climbs end, each on some of the part's rows."""
        ends, guide = [], part.under_excess()
        for rng in self.means.rng.spawn(lines * self.effort):
            rows, few = part_of(guide, size, rng, _ROWS)
            climbs = self.climbs * max(1, _ROWS // len(rows.X))
            ends.append(line(lay_out(rows), few, climbs, rng, None)[1])
        return ends

    def in_part(
        self, part: Problem, size: int, starts: Sequence[Array], turns: int
    ) -> StreamedGroup:
        """The best group of a part that lies up from the starts."""
        step = _in_part(part, size)
        paths = [_ascend(step, part.loss, own, self.effort * _FIRST) for own in starts]
        best = max((path.best for path in paths), key=lambda group: group.value)
        return _ascend(step, part.loss, best.own, turns, _GAIN, best).best

    def at(self, size: int) -> AscentPath:
        """The best group of a size, from all rows."""
        even, few = self.samples.even, self.samples.size(size)
        rows = self.samples.pool_rows(size)
        if not rows:
            starts = self.starts(even, few, _LINES)
            start = self.in_part(even, few, starts, _FIRST)
            return self.ascend(size, self.samples.from_part(start.own))
        long = self.samples.longest(rows)
        starts = [self.in_part(long, size, self.starts(long, size, _LINES), _TURNS).own]
        many = min(max(few, _MEMBERS), len(even.X) // 4)
        starts += [self.in_part(even, many, self.starts(even, many, 1), _FIRST).own]
        starts = [self.samples.from_part(start) for start in starts]
        step = self.step(size)
        best = max((step(start) for start in starts), key=lambda group: group.value)
        path = self.ascend(size, best.own, best)
        return path._replace(trail=((best.value, size), *path.trail))

    def ascend(self, size: int, own: Array, best: StreamedGroup | None = None) -> AscentPath:
        """Up by passes over all rows; more of them where a score takes few products."""
        d, n = self.problem.V.shape
        passes = _PASSES + round(2.0 * (1.0 - min(2 * d, 2 * (n - d), n) / n))
        if self.samples.sparse:
            passes = _TURNS
        elif self.samples.pool_rows(size):
            passes = _IN_POOLS
        return _ascend(self.step(size), self.problem.loss, own, passes, _GAIN, best)

    def step(self, size: int) -> Callable[[Array], StreamedGroup]:
        """The step to the best rows of all, by a pass."""
        problem, samples = self.problem, self.samples
        rows = samples.pool_rows(size)

        def by_moments(own: Array) -> StreamedGroup:
            found = samples.highest(own, size)
            places = np.flatnonzero(found.labels)
            near = own if samples.sparse else None
            rule = (problem.loss, problem.V, problem.pooled)
            return StreamedGroup.of(*rule, found.group, places, near)._replace(cut=found.cut)

        def by_pool(own: Array) -> StreamedGroup:
            pool, inside = samples.pool(samples.form(own, size), rows)
            samples.latest = pool
            found = _settled(pool, self.in_part(pool, size, [own], _TURNS))
            scores = np.sort(inside.scores)[::-1]
            cut = float(scores[size - 1]), float(scores[size])
            return found._replace(places=inside.places[found.places], cut=cut)

        return by_pool if rows and not samples.sparse else by_moments

    def offset(self, path: AscentPath, last_pass: bool) -> float | None:
        """Half path between the lowest score in the group and the highest outside of it."""
        cut, group = path.best.cut, path.best
        if path.stopped == "local optimum" and not self.samples.sparse:
            return (cut[0] + cut[1]) / 2.0
        if not last_pass:
            return None
        return self.samples.highest(group.own, group.size).offset  # that cut is by those before

    def exact(self, path: AscentPath) -> AscentPath:
        """The path's end with its best group's components to all digits."""
        best, loss, V = path.best, self.problem.loss, self.problem.V
        if not best.near:
            return path
        own = own_components(loss, best.sides, len(V))
        losses = evaluate(loss, best.sides, V, own)
        return path._replace(best=best._replace(own=own, value=float(losses[1] - losses[0])))

    def free(self) -> AscentPath:
        """The best group of any size: up from the smallest by doubling, then around the best.

        Other sizes are looked at in the last pool, whose partitions are those of the table, and
        larger ones in the even sample; only what is better there is looked for in all rows.
        """
        least = self.problem.min_size
        path, sizes = self.at(least), other_sizes(least, self.samples.table.n_rows, _FINEST)
        untried = next(sizes)
        while untried:
            for size in untried:
                path = self.better(path, size)
            untried = sizes.send(path.best.size)
        return path

    def better(self, path: AscentPath, size: int) -> AscentPath:
        """The path so far, or a better one to a group of another size."""
        best, part, few = path.best, self.samples.latest, size
        if self.samples.bound(size) <= best.value:
            return path
        if part is None or SMALLEST_POOL * size > len(part.X):
            part, few = self.samples.even, self.samples.size(size)
        near, own = min(size, best.size) / max(size, best.size), self.samples.to_part(best.own)
        if part.best_under(own, few) < near**_DOUBT * best.value:
            return path
        there = self.in_part(part, few, [own], _FIRST)
        if there.value <= best.value:
            return path
        found = self.ascend(size, self.samples.from_part(there.own))
        return max(path, found, key=lambda path: path.best.value)


def _settled(pool: Problem, found: StreamedGroup) -> StreamedGroup:
    """A group in a pool after one more step, with all digits: equal rows by their places."""
    weight = found.size / (float(pool.pooled.count[0]) - found.size)
    form = RowForm(score_form(pool.loss, pool.V, found.own, weight), pool.pooled.origin)
    index = np.sort(np.argsort(-form.scores(pool.X), kind="stable")[: found.size])
    exact = StreamedGroup.of(pool.loss, pool.V, pool.pooled, build(pool.X[index]), index)
    return exact if exact.value >= (1.0 - _ROUNDING) * found.value else found


def search_passes(
    problem: Problem,
    means: SolverContext,
    n_starts: int | None = None,
    *,
    table: AllRows | None = None,
    last_pass: bool = True,
) -> SearchResult:
    """The left-out group of a large table; of ``problem.group_size`` rows, if that is given.

    ``table``: its rows, where they are not the problem's. ``n_starts``: climbs of all lines
    together. It stops at a ``"local optimum"``, when a pass brings a ``"gain"`` that is too small
    to go on for, or after ``"max_passes"``. Unless it was a local optimum, the offset takes one
    pass more: without ``last_pass`` it is left to the caller.
    """
    with one_thread():
        search, size = _search(problem, table, means, n_starts), problem.group_size
        path = search.exact(search.free() if size is None else search.at(size))
        means.tell(f"group of {path.best.size}: disparity {number(path.best.value, digits=6)}")
        return replace(_result(path, problem.n_rows), offset=search.offset(path, last_pass))


def _search(
    problem: Problem, table: AllRows | None, means: SolverContext, n_starts: int | None
) -> _StreamingSearch:
    rows = InMemory(problem.X) if table is None else table
    search = _StreamingSearch(Samples(problem, rows, means.rng), means, _CLIMBS)
    if n_starts is None:
        return search
    return replace(search, climbs=max(1, n_starts // (_LINES * search.effort)))


def _result(path: AscentPath, n_rows: int) -> SearchResult:
    labels: Labels = np.zeros(n_rows, dtype=np.int8)
    labels[path.best.places] = 1
    return SearchResult(
        labels=labels,
        own=path.best.own,
        history=as_history(*zip(*path.trail, strict=True)),
        stopped=path.stopped,
        sides=path.best.sides,
    )
