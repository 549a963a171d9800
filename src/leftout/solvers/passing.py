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
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from leftout.core.cutting import (
    WIDTH,
    Cut,
    Form,
    Guess,
    Inside,
    Single,
    highest,
    reach_form,
    score_form,
)
from leftout.core.losses import Array, Loss, basis_loss, evaluate, own_components
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
# The even sample: one in so many rows, within these numbers of values. Another, of so many rows,
# guesses where a cut will be: what was found in a sample lies better in it than elsewhere.
_EVEN, _FEWEST, _MOST, _APART = 24, 1 << 21, 1 << 23, 1 << 14
# A pool has so many times the rows of the group and not fewer than _SMALL_POOL, but not more than
# _FEWEST values. Where that is less than _LEAST times the group, there is the even sample.
_POOL, _LEAST, _SMALL_POOL = 5, 3, 8192
# Lines of climbs, climbs in each, and the rows they are on.
_LINES, _CLIMBS, _ROWS = 3, 8, 4096
# Starts in the even sample are for groups of so many rows at least.
_MEMBERS = 512
# Turns in a sample for every start, and in a sample or pool for the best; passes over the table,
# and the share of the disparity that makes another worth it.
_FIRST, _TURNS, _PASSES, _IN_POOLS, _GAIN = 2, 12, 4, 2, 2e-4
# Steps go on in the direction of the last, so much further; more, where gains grow.
_NEAR, _FAR = 1.0, 2.0
# Where the size is free, another is looked at in a sample if the components at hand promise a
# disparity there of (ratio of sizes)^_DOUBT of the best; sizes nearer to it than _FINEST are not.
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
    places: Places  # of its rows, in the table or part that it was found in; rising
    cut: tuple[float, float] = (np.nan, np.nan)  # see `Chosen`, where all rows were looked at

    @classmethod
    def of(cls, loss: Loss, V: Array, pooled: Moments, group: Moments, places: Places) -> Group:
        sides = stack(without(pooled, group), group)
        own = own_components(loss, sides, len(V))
        losses = evaluate(loss, sides, V, own)
        return cls(len(places), sides, own, float(losses[1] - losses[0]), places)

    def beyond(self, loss: Loss, before: Group | None, times: float) -> Array:
        """Components of a point further on the way from the group before.

        Each step goes a little in the direction of the last. Going further saves most of them.
        """
        if before is None:
            return self.own
        count, total, second, origin = self.sides
        total = total + times * (total - before.sides.total)
        second = second + times * (second - before.sides.second)
        return own_components(loss, Moments(count, total, second, origin), self.own.shape[1])


class Way(NamedTuple):
    """The best group on a way up, and the way."""

    best: Group
    trail: tuple[tuple[float, int], ...]
    stopped: str


def _rise(
    step: Callable[[Array], Group],
    loss: Loss,
    own: Array,
    turns: int,
    gain: float = 0.0,
    best: Group | None = None,
) -> Way:
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
                return Way(best, tuple(trail), "gain")
            last = more
        elif own is best.own:
            return Way(best._replace(cut=now.cut), tuple(trail), "local optimum")
        else:  # too far: from the best, without a run-up
            own = best.own
    assert best is not None
    return Way(best, tuple(trail), "max_passes")


def _moved(a: Group, b: Group) -> int:
    """Rows that are in one of two groups."""
    at = np.searchsorted(a.places, b.places)
    both = int(np.sum(a.places[np.minimum(at, a.size - 1)] == b.places))
    return a.size + b.size - 2 * both


def _in_part(part: Problem, size: int) -> Callable[[Array], Group]:
    """The step to the best rows of a part; nobody asks for digits there."""
    weight = size / (float(part.pooled.count[0]) - size)
    short = part.X.astype(np.float32)

    def step(own: Array) -> Group:
        scores = _quick(short, score_form(part.loss, part.V, own, weight))
        index = np.sort(np.argpartition(scores, len(scores) - size)[len(scores) - size :])
        return Group.of(part.loss, part.V, part.pooled, build(part.X[index]), index)

    return step


def _quick(short: Single, M: Array) -> Single:
    scores: Single = np.einsum("ij,ij->i", short @ M.astype(np.float32), short)
    return scores


class Samples:
    """The rows of a table that a search looks at more than once."""

    def __init__(self, whole: Whole, rng: np.random.Generator) -> None:
        table = whole.table
        m, n = table.n_rows, table.n_features
        count = min(m, int(np.clip(m // _EVEN, _FEWEST // n, _MOST // n)))
        apart = min(m, _APART)
        self.whole, self.rate, self.rate_apart = whole, count / m, apart / m
        self.even = whole.part(table.take(_drawn(rng, m, count)), self.rate)
        self.apart = (table.take(_drawn(rng, m, apart)) - whole.pooled.origin).astype(np.float32)
        self._long: tuple[int, Problem] | None = None
        self.latest: Problem | None = None  # the last pool

    def guess(self, form: Form) -> Guess:
        scores = np.sort(_quick(self.apart, form.M))[::-1]
        return Guess(scores.astype(np.float64), self.rate_apart)

    def size(self, size: int) -> int:
        """A group's size in the even sample."""
        return min(max(1, round(self.rate * size)), len(self.even.X) - 1)

    def pool_rows(self, size: int) -> int:
        """How many rows the pool of a group has; 0 where it is a group for the even sample."""
        m, n = self.whole.table.n_rows, self.whole.table.n_features
        rows = min(max(_POOL * size, _SMALL_POOL), _FEWEST // n, m - 1)
        return rows if rows >= _LEAST * size else 0

    def pool(self, form: Form, count: int) -> tuple[Problem, Inside]:
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
        if self._long is None or self._long[0] < count:
            reach = Form(reach_form(self.whole.loss, self.whole.V), self.whole.pooled.origin)
            self._long = count, self.pool(reach, count)[0]
        return self._long[1]

    def bound(self, size: int) -> float:
        """No group of this size has a larger disparity: see ``Problem.bound``, which only falls."""
        if self._long is None:
            return np.inf
        part = self._long[1]
        return part.bound(min(size, len(part.X)))


def _drawn(rng: np.random.Generator, n_rows: int, count: int) -> Places:
    return np.sort(rng.choice(n_rows, count, replace=False)).astype(np.intp)


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
                climbs = self.climbs * max(1, _ROWS // len(rows.X))
                ends.append(line(rows, lay_out(rows), few, climbs, rng, own)[1])
        return ends

    def in_part(self, part: Problem, size: int, starts: Sequence[Array], turns: int) -> Group:
        """The best group of a part that lies up from the starts."""
        step = _in_part(part, size)
        ways = [_rise(step, part.loss, own, _FIRST) for own in starts]
        best = max((way.best for way in ways), key=lambda group: group.value)
        return _rise(step, part.loss, best.own, turns, _GAIN, best).best

    def at(self, size: int, own: Array | None = None, lines: int = _LINES) -> Way:
        """The best group of a size, from all rows."""
        even, few = self.samples.even, self.samples.size(size)
        rows = self.samples.pool_rows(size)
        if not rows:
            starts = self.starts(even, few, lines, own)
            start = self.in_part(even, few, starts, _FIRST)
            return self.rise(size, start.own)
        long = self.samples.longest(rows)
        starts = [self.in_part(long, size, self.starts(long, size, lines, own), _TURNS).own]
        many = min(max(few, _MEMBERS), len(even.X) // 4)
        starts += [self.in_part(even, many, self.starts(even, many, 1, own), _FIRST).own]
        starts += [] if own is None else [own]
        step = self.step(size)
        best = max((step(start) for start in starts), key=lambda group: group.value)
        way = self.rise(size, best.own, best)
        return way._replace(trail=((best.value, size), *way.trail))

    def rise(self, size: int, own: Array, best: Group | None = None) -> Way:
        """Up by passes over all rows; more of them where a score takes few products."""
        d, n = self.whole.V.shape
        passes = _PASSES + round(2.0 * (1.0 - min(2 * d, 2 * (n - d), n) / n))
        if self.samples.pool_rows(size):
            passes = _IN_POOLS
        return _rise(self.step(size), self.whole.loss, own, passes, _GAIN, best)

    def step(self, size: int) -> Callable[[Array], Group]:
        """The step to the best rows of all, by a pass."""
        whole, samples = self.whole, self.samples
        rows = samples.pool_rows(size)

        def by_moments(own: Array) -> Group:
            form = whole.form(own, size)
            found = highest(whole.table, form, size, samples.guess(form))
            places = np.flatnonzero(found.labels)
            group = Group.of(whole.loss, whole.V, whole.pooled, found.group, places)
            return group._replace(cut=found.cut)

        def by_pool(own: Array) -> Group:
            pool, inside = samples.pool(whole.form(own, size), rows)
            samples.latest = pool
            found = self.in_part(pool, size, [own], _TURNS)
            scores = np.sort(inside.scores)[::-1]
            cut = float(scores[size - 1]), float(scores[size])
            return found._replace(places=inside.places[found.places], cut=cut)

        return by_pool if rows else by_moments

    def offset(self, way: Way) -> float:
        """Half way between the lowest score in the group and the highest outside of it."""
        cut, group = way.best.cut, way.best
        if way.stopped != "local optimum":  # that cut is by the components before
            form = self.whole.form(group.own, group.size)
            cut = highest(self.whole.table, form, group.size, self.samples.guess(form)).cut
        return (cut[0] + cut[1]) / 2.0

    def free(self) -> Way:
        """The best group of any size: up from the smallest by doubling, then around the best.

        Other sizes are looked at in the last pool, whose partitions are those of the table, and
        larger ones in the even sample; only what is better there is looked for in all rows.
        """
        first, last = self.whole.min_size, self.whole.table.n_rows - self.whole.min_size
        way = self.at(first)
        sizes = [first]
        while sizes[-1] < last:
            sizes.append(min(2 * sizes[-1], last))
        tried, untried = {first}, sizes[1:]
        while untried:
            for size in untried:
                way = self.better(way, size)
            tried.update(untried)
            best = way.best.size
            below, above = [t for t in tried if t < best], [t for t in tried if t > best]
            middles = {(best + other) // 2 for other in sorted(below)[-1:] + sorted(above)[:1]}
            untried = sorted(t for t in middles - tried if abs(t - best) >= _FINEST * best)
        return way

    def better(self, way: Way, size: int) -> Way:
        """The way so far, or a better one to a group of another size."""
        best, part, few = way.best, self.samples.latest, size
        if self.samples.bound(size) <= best.value:
            return way
        if part is None or _LEAST * size > len(part.X):
            part, few = self.samples.even, self.samples.size(size)
        near = min(size, best.size) / max(size, best.size)
        if _promise(part, few, best.own) < near**_DOUBT * best.value:
            return way
        there = self.in_part(part, few, [best.own], _FIRST)
        if there.value <= best.value:
            return way
        found = self.rise(size, there.own)
        return max(way, found, key=lambda way: way.best.value)


def _promise(part: Problem, size: int, own: Array) -> float:
    """Disparity of the best group of a size in a part under components of another."""
    rest = float(part.pooled.count[0]) - size
    scores = _quick(part.X.astype(np.float32), score_form(part.loss, part.V, own, size / rest))
    chosen = np.partition(scores, len(scores) - size)[len(scores) - size :]
    return (
        float(chosen.mean()) - basis_loss(part.loss, part.pooled.second[0], part.V, own[0]) / rest
    )


def search_passes(whole: Whole, means: Means, n_starts: int | None = None) -> SearchResult:
    """The left-out group of a large table; of ``whole.group_size`` rows, if that is given.

    It stops at a ``"local optimum"``, when a pass brings a ``"gain"`` that is too small to go on
    for, or after ``"max_passes"``.
    """
    with one_thread():
        search = _search(whole, means, n_starts)
        way = search.free() if whole.group_size is None else search.at(whole.group_size)
        means.tell(f"group of {way.best.size}: disparity {number(way.best.value, digits=6)}")
        return replace(_result(whole, way), offset=search.offset(way))


def profile_passes(
    whole: Whole, sizes: Sequence[int], means: Means, n_starts: int | None = None
) -> list[SearchResult]:
    """The best groups of several sizes, in rising order, each from the components before."""
    with one_thread():
        search, own, found = _search(whole, means, n_starts), None, []
        for size in sizes:
            way = search.at(size, own, _LINES if own is None else 1)
            own = way.best.own
            found.append(_result(whole, way))
        return found


def _search(whole: Whole, means: Means, n_starts: int | None) -> _Search:
    climbs = _CLIMBS if n_starts is None else max(1, n_starts // _LINES)
    return _Search(whole, Samples(whole, means.rng), means, climbs)


def _result(whole: Whole, way: Way) -> SearchResult:
    labels: Labels = np.zeros(whole.table.n_rows, dtype=np.int8)
    labels[way.best.places] = 1
    return SearchResult(
        labels=labels,
        own=way.best.own,
        history=as_history(*zip(*way.trail, strict=True)),
        stopped=way.stopped,
        sides=way.best.sides,
    )
