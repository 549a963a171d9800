"""The alternating search of a large table: on samples first, then in a few passes over all rows.

Two kinds of samples. Of a large group an even sample holds enough rows to climb on; what is found
there is carried on by passes over the table, each of which takes the rows of the highest scores.
Of a small group it does not: there the longest rows (:func:`leftout.core.losses.row_reach`) give
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

from leftout.core.cutting import Cut, Form, Guess, highest, reach_form, score_form
from leftout.core.losses import Array, Loss, evaluate, own_components
from leftout.core.moments import Moments, build, stack, without
from leftout.core.passes import AllRows, InMemory, Places
from leftout.core.problem import Labels, Problem
from leftout.running import one_thread
from leftout.solvers.ascending import part_of
from leftout.solvers.base import Means, SearchResult, as_history
from leftout.solvers.climbing import lay_out, line
from leftout.wording import number

# Tables of more values than this are passed over.
LARGE = 1 << 22
# The even sample: one in so many rows, within these numbers of values.
_EVEN, _FEWEST, _MOST = 24, 1 << 21, 1 << 23
# A pool has so many times the rows of the group; fewer where they would be more than _FEWEST
# values, and where that leaves less than _LEAST times the group, it is left to the even sample.
_POOL, _LEAST, _SMALL_POOL = 8, 3, 8192
# Lines of climbs, climbs in each, and the rows they are on.
_LINES, _CLIMBS, _ROWS = 3, 8, 4096
# Groups in the even sample have at least so many rows.
_MEMBERS = 512
# Turns in a sample or a pool; passes over the table, and the gain from which another is worth it.
_TURNS, _PASSES, _GAIN = 8, 4, 2e-4
# See `Alternating`.
_DOUBT, _FINEST = 0.25, 0.1


@dataclass(frozen=True, kw_only=True)
class Whole:
    """A :class:`~leftout.core.problem.Problem` whose rows may be anywhere."""

    table: AllRows
    loss: Loss
    V: Array
    pooled: Moments
    min_size: int
    group_size: int | None = None

    @classmethod
    def of(cls, problem: Problem) -> Whole:
        return cls(
            table=InMemory(problem.X),
            loss=problem.loss,
            V=problem.V,
            pooled=problem.pooled,
            min_size=problem.min_size,
            group_size=problem.group_size,
        )

    def form(self, own: Array, size: int) -> Form:
        weight = size / (self.table.n_rows - size)
        return Form(score_form(self.loss, self.V, own, weight), self.pooled.origin)

    def part(self, rows: Array, rate: float) -> Problem:
        """The problem on some rows, as if the table had ``rate`` times its rows."""
        count, total, second, origin = self.pooled
        pooled = Moments(rate * count, rate * total, rate * second, np.zeros_like(origin))
        return Problem(
            X=np.ascontiguousarray(rows - origin),
            loss=self.loss,
            V=self.V,
            pooled=pooled,
            min_size=self.min_size,
        )


class Group(NamedTuple):
    """A left-out group and what follows from its moments."""

    size: int
    sides: Moments  # of rest and group
    own: Array
    value: float
    places: Places  # of its rows, in the table or part that it was found in

    @classmethod
    def of(cls, loss: Loss, V: Array, pooled: Moments, group: Moments, places: Places) -> Group:
        sides = stack(without(pooled, group), group)
        own = own_components(loss, sides, len(V))
        losses = evaluate(loss, sides, V, own)
        return cls(len(places), sides, own, float(losses[1] - losses[0]), places)

    def beyond(self, loss: Loss, before: Group | None) -> Array:
        """Components of where the way from the group before leads: as far again beyond this one.

        Each step goes a little in the direction of the last. Going further saves most of them.
        """
        if before is None:
            return self.own
        count, total, second, origin = self.sides
        _, total_before, second_before, _ = before.sides
        ahead = Moments(count, 2.0 * total - total_before, 2.0 * second - second_before, origin)
        return own_components(loss, ahead, self.own.shape[1])


class Way(NamedTuple):
    """The best group on a way up, and the way."""

    best: Group
    trail: tuple[tuple[float, int], ...]
    stopped: str


def _rise(
    step: Callable[[Array], Group], loss: Loss, own: Array, turns: int, gain: float = 0.0
) -> Way:
    """Alternate while the true disparity rises: the best rows, their components, and so on."""
    best = before = None
    trail: list[tuple[float, int]] = []
    for _ in range(turns):
        now = step(own)
        moved = now.size if best is None else _moved(best.places, now.places)
        trail.append((now.value, moved))
        if best is None or now.value > best.value:
            little = best is not None and now.value - best.value <= gain * abs(now.value)
            best, before = now, best
            own = best.beyond(loss, before)
            if little:
                return Way(best, tuple(trail), "gain")
        elif own is best.own:
            return Way(best, tuple(trail[:-1]), "local optimum")
        else:  # too far: from the best, without a run-up
            trail.pop()
            own = best.own
    assert best is not None
    return Way(best, tuple(trail), "max_passes")


def _moved(a: Places, b: Places) -> int:
    return len(a) + len(b) - 2 * len(np.intersect1d(a, b, assume_unique=True))


def _in_part(part: Problem, size: int) -> Callable[[Array], Group]:
    """The step to the best rows of a part."""
    weight = size / (float(part.pooled.count[0]) - size)

    def step(own: Array) -> Group:
        scores = _quick(part.X, score_form(part.loss, part.V, own, weight))
        index = np.sort(np.argpartition(scores, len(scores) - size)[len(scores) - size :])
        return Group.of(part.loss, part.V, part.pooled, build(part.X[index]), index)

    return step


def _quick(X: Array, M: Array) -> Array:
    scores: Array = np.einsum("ij,ij->i", X @ M, X)
    return scores


class Samples:
    """The rows of a table that a search looks at more than once."""

    def __init__(self, whole: Whole, rng: np.random.Generator) -> None:
        table = whole.table
        m, n = table.n_rows, table.n_features
        count = min(m, int(np.clip(m // _EVEN, _FEWEST // n, _MOST // n)))
        places = np.sort(rng.choice(m, count, replace=False)).astype(np.intp)
        self.whole, self.rng, self.rate = whole, rng, count / m
        self.even = whole.part(table.take(places), self.rate)
        self._long: tuple[int, Problem] | None = None

    def guess(self, form: Form) -> Guess:
        return Guess(np.sort(_quick(self.even.X, form.M))[::-1], self.rate)

    def size(self, size: int) -> int:
        """A group's size in the even sample."""
        return min(max(1, round(self.rate * size)), len(self.even.X) - 1)

    def pool_rows(self, size: int) -> int:
        """How many rows the pool of a group has; 0 where it is a group for the even sample."""
        n = self.whole.table.n_features
        rows = min(max(_POOL * size, _SMALL_POOL), _FEWEST // n)
        small = self.rate * size < _MEMBERS * _POOL and rows >= _LEAST * size
        return rows if small and rows < self.whole.table.n_rows else 0

    def pool(self, form: Form, count: int) -> tuple[Problem, Places]:
        """At least about ``count`` rows of the highest scores, in one pass, by falling score."""
        guess, width = self.guess(form), 4.0
        low = guess.bracket(count, width)[0]
        found = self.whole.table.run(Cut(form, low, np.inf))
        while len(found.places) < count and low > -np.inf:
            width *= 4.0
            low = guess.bracket(count, width)[0]
            found = self.whole.table.run(Cut(form, low, np.inf))
        best = np.sort(np.lexsort((found.places, -found.scores))[:count])
        places = found.places[best]
        rows = self.whole.table.take(places) if found.rows is None else found.rows[best]
        return self.whole.part(rows, 1.0), places

    def longest(self, count: int) -> Problem:
        """The rows of the longest reach."""
        if self._long is None or self._long[0] < count:
            reach = Form(reach_form(self.whole.loss, self.whole.V), self.whole.pooled.origin)
            self._long = count, self.pool(reach, count)[0]
        return self._long[1]


@dataclass(frozen=True)
class _Search:
    """One search of a large table."""

    whole: Whole
    samples: Samples
    means: Means
    climbs: int

    def starts(self, part: Problem, size: int, lines: int, own: Array | None) -> list[Array]:
        """Components where lines of climbs end, each on some of the part's rows."""
        ends = []
        guides = [part] if part.loss.own_is_best else [part, part.under_excess()]
        for rng in self.means.rng.spawn(lines):
            for guide in guides:
                rows, few = part_of(guide, size, rng, _ROWS)
                ends.append(line(rows, lay_out(rows), few, self.climbs, rng, own)[1])
        return ends

    def in_part(
        self, part: Problem, size: int, starts: Sequence[Array], turns: int = _TURNS
    ) -> Group:
        """The best group of a part that lies up from the starts."""
        step = _in_part(part, size)
        ways = [_rise(step, part.loss, own, turns) for own in starts]
        return max((way.best for way in ways), key=lambda group: group.value)

    def at(self, size: int, own: Array | None = None, lines: int = _LINES) -> Way:
        """The best group of a size, from all rows."""
        even, few = self.samples.even, self.samples.size(size)
        rows = self.samples.pool_rows(size)
        if not rows:
            starts = self.starts(even, few, lines, own)
            start = self.in_part(even, few, starts).own
            return self.passes(size, start)
        long = self.samples.longest(rows)
        starts = [self.in_part(long, size, self.starts(long, size, lines, own)).own]
        many = min(max(few, _MEMBERS), len(even.X) // 4)
        starts += [self.in_part(even, many, self.starts(even, many, 1, own)).own]
        starts += [] if own is None else [own]
        ways = [self.in_pools(size, rows, start, 1) for start in starts]
        best = max(ways, key=lambda way: way.best.value)
        return self.in_pools(size, rows, best.best.own, _PASSES)

    def passes(self, size: int, own: Array) -> Way:
        """Up by passes over the whole table."""
        whole = self.whole

        def step(own: Array) -> Group:
            form = whole.form(own, size)
            found = highest(whole.table, form, size, self.samples.guess(form))
            places = np.flatnonzero(found.labels)
            return Group.of(whole.loss, whole.V, whole.pooled, found.group, places)

        return _rise(step, whole.loss, own, _PASSES, _GAIN)

    def in_pools(self, size: int, rows: int, own: Array, passes: int) -> Way:
        """Up in pools, each brought home by a pass over the whole table."""

        def step(own: Array) -> Group:
            pool, places = self.samples.pool(self.whole.form(own, size), rows)
            found = self.in_part(pool, size, [own], 4 * _TURNS)
            return found._replace(places=places[found.places])

        return _rise(step, self.whole.loss, own, passes, _GAIN)


def search_passes(whole: Whole, means: Means, n_starts: int | None = None) -> SearchResult:
    """The left-out group of a large table; of ``whole.group_size`` rows, if that is given.

    It stops at a ``"local optimum"``, when a pass brings a ``"gain"`` that is too small to go on
    for, or after ``"max_passes"``.
    """
    with one_thread():
        climbs = _CLIMBS if n_starts is None else max(1, n_starts // _LINES)
        search = _Search(whole, Samples(whole, means.rng), means, climbs)
        way = search.at(whole.group_size or whole.min_size)
        means.tell(f"group of {way.best.size}: disparity {number(way.best.value, digits=6)}")
        return _result(search, way)


def _result(search: _Search, way: Way) -> SearchResult:
    whole, group = search.whole, way.best
    labels: Labels = np.zeros(whole.table.n_rows, dtype=np.int8)
    labels[group.places] = 1
    form = whole.form(group.own, group.size)
    cut = highest(whole.table, form, group.size, search.samples.guess(form)).cut
    return SearchResult(
        labels=labels,
        own=group.own,
        history=as_history(*zip(*way.trail, strict=True)),
        stopped=way.stopped,
        sides=group.sides,
        offset=(cut[0] + cut[1]) / 2.0,
    )
