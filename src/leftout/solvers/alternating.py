"""Our own search, the default: alternate between the group's rows and the group's components."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import permutations
from operator import attrgetter

import numpy as np
from joblib import Parallel, delayed

from leftout.checks import check_count
from leftout.linalg.assignment import Partition, assign, row_values
from leftout.linalg.losses import Array
from leftout.linalg.problem import MARGIN, Problem
from leftout.linalg.rank_one import exchange, track
from leftout.running import one_thread
from leftout.solvers.base import SearchResult, SolverContext, as_history
from leftout.solvers.local_ascent import (
    ROWS,
    affordable,
    chances,
    lay_out,
    line,
    part_of,
    spanned,
)
from leftout.solvers.paper import higher_side, sweep
from leftout.solvers.streaming import STREAMED_ABOVE, search_passes
from leftout.text import number

# Independent lines of descent, one for this many climbs and no more than this many. Fixed numbers:
# the answer may not depend on the number of jobs.
_PER_LINE, _LINES = 40, 4
# On a part of a table they are cheap beside passes over the whole, and which of them ends best
# shows only there: so many at least where a size is searched for its own sake, each on a part of
# its own.
_LINES_ON_PARTS = 4
# Most passes with exact components; with several groups, on tables of more values than this fewer.
_PASSES, LARGE, _LARGE_PASSES = 50, 1 << 22, 12
# Exact ascents under losses that climbs do not rise under: as many as fit in so many
# multiplications, and no more than this.
_EXACT_WORK, _EXACT_STARTS = 6e9, 200
# Ends that share so many of the rows that either has (Jaccard) are the same group.
_SAME_ROWS = 0.9
# Rounds of exact exchanges.
_ROUNDS = 10
# Where the size is free: other sizes get this part of the starts, and are searched only if the
# best components so far promise a disparity there of at least (ratio of sizes)^_DOUBT of the best.
_SHARE, _DOUBT = 16, 0.25
# In a profile: the part of the starts that the first and the last size get, and each of the others.
_PROFILE_ENDS, _PROFILE_SHARE = 7, 40
# Sizes nearer to the best than this share of it are left to the exchanges.
_FINEST = 0.1

_value = attrgetter("value")


@dataclass(frozen=True, kw_only=True)
class Alternating:
    """Alternate between the best rows for given components and the best components for given rows.

    For fixed components of the group and the rest, the best group of ``k`` rows is the ``k`` with
    the highest scores (:meth:`leftout.linalg.problem.Problem.scores`); for a fixed group, the best
    components are its own PCA. The search climbs from many starts: a quarter of them from random
    rows, the others from the best found so far with one of its directions replaced by a random
    row. The best ends are finished with exact eigenpairs, and single exchanges of rows near the cut
    close the search. Only the disparity of an actual partition is ever compared or returned. Under
    ``projection_gap`` a group's own PCA need not maximise its loss, so there the search also sweeps
    over all rows, as :class:`Greedy` does.

    It stops at a ``"local optimum"`` when no exchange near the cut helps, or after ``"max_rounds"``
    of them. Tables of more than four million values are searched in samples and a few passes
    (:mod:`leftout.solvers.streaming`), without exchanges: it stops at a ``"local optimum"`` of the
    two steps above, when a pass brings too little ``"gain"``, or after ``"max_passes"``. A size
    that is free is the smallest there.

    A wide table is searched in its leading axes (:meth:`leftout.linalg.problem.Problem.narrow`):
    climbs are cheap there, and can be more; passes with exact eigenpairs in all axes end it.

    When the size is free, the search starts at the smallest allowed (where the optimum sat on every
    table we met) and goes up, until the certified bound shows that no larger group can win.

    Parameters
    ----------
    n_starts : int or None
        Climbs at the first size, and one less the rounds of exchanges (at most ten). None: 200,
        fewer on large tables, where each takes longer. From 80 on, and with None, as many again
        where starts disagree: where the two best ends are not the same group.
    """

    n_starts: int | None = None

    def maximise(self, problem: Problem, means: SolverContext) -> SearchResult:
        if self.n_starts is not None:
            check_count("n_starts", self.n_starts)
        if _passed_over(problem):
            return search_passes(problem, means, self.n_starts)
        narrow, size = problem.narrow(), problem.group_size
        best = search(narrow, size or problem.min_size, self.n_starts, means)
        means.tell(f"group of {best.size}: disparity {number(best.value, digits=6)}")
        if size is None:
            best = self._other_sizes(narrow, best, means)
        done = True
        if problem.loss.compiled and problem.weights is None:  # kernels sweep and exchange
            if size is None and not (problem.loss.own_is_best or len(problem.X) > ROWS):
                best = _sweep_rows(narrow, best)
            rounds = _ROUNDS if self.n_starts is None else min(self.n_starts - 1, _ROUNDS)
            best, done = exchange_rows(narrow, best, size is None, rounds)
        stopped = "local optimum" if done else "max_rounds"
        return as_result(_widened(problem, best, size or best.size), stopped)

    def profile(
        self, problem: Problem, sizes: Sequence[int], means: SolverContext
    ) -> list[SearchResult]:
        """Best groups of several sizes, in rising order, for far less than a search at each.

        A good group of one size is near a good group of the next: each size starts from the
        components of the one before and adds a few climbs of its own, the smallest and the largest
        more than a few; on the way back, each is offered the components of the one after.
        ``problem.group_size`` is not looked at.
        """
        if _passed_over(problem):
            starts = None if self.n_starts is None else max(1, self.n_starts // _PROFILE_ENDS)
            tasks = [replace(problem, group_size=int(size)) for size in sizes]
            return [search_passes(task, means, starts) for task in tasks]
        found: list[Partition] = []
        narrow = problem.narrow()
        for size in sizes:
            start = found[-1].own if found else None
            share = _PROFILE_ENDS if size in (sizes[0], sizes[-1]) else _PROFILE_SHARE
            found.append(search(narrow, size, self.n_starts, means, start, share))
        for place in range(len(sizes) - 2, -1, -1):
            found[place] = offered(narrow, found[place], found[place + 1].own, means)
        ends = [_widened(problem, *end) for end in zip(found, sizes, strict=True)]
        return [as_result(end, "max_starts") for end in ends]

    def _other_sizes(self, problem: Problem, best: Partition, means: SolverContext) -> Partition:
        """The best of all sizes: up from the smallest by doubling, then around the best so far."""
        source, sizes, last = best, [problem.min_size], problem.n_rows - problem.min_size
        while sizes[-1] < last:
            sizes.append(min(2 * sizes[-1], last))
        tried, untried = set(sizes[:1]), sizes[1:]
        while untried:
            for size in untried:
                if problem.bound(size) <= best.value:
                    continue
                # Components found at one size say the more about another the nearer it is.
                near = min(size, source.size) / max(size, source.size)
                part, part_size = part_of(problem, size, means.rng)
                if part.best_under(source.own, part_size) >= near**_DOUBT * best.value:
                    found = search(problem, size, self.n_starts, means, source.own, _SHARE)
                    means.tell(f"group of {size}: disparity {number(found.value, digits=6)}")
                    best = max(best, found, key=_value)
            source = best
            tried.update(untried)
            below = sorted(size for size in tried if size < best.size)
            above = sorted(size for size in tried if size > best.size)
            middles = {(best.size + other) // 2 for other in below[-1:] + above[:1]} - tried
            apart = _FINEST * best.size
            untried = sorted(size for size in middles if abs(size - best.size) >= apart)
        return best


def _passed_over(problem: Problem) -> bool:
    """Whether a table is searched by passes, which score rows by quadratic forms."""
    simple = problem.kept is None and problem.weights is None
    return problem.X.size > STREAMED_ABOVE and simple


def as_result(found: Partition, stopped: str) -> SearchResult:
    """What a search found, and the way to it."""
    history = as_history(*zip(*found.trail, strict=True))
    return SearchResult(labels=found.labels, own=found.own, history=history, stopped=stopped)


def search(
    problem: Problem,
    size: int,
    n_starts: int | None,
    means: SolverContext,
    start: Array | None = None,
    share: int = 1,
) -> Partition:
    """Best group of ``size`` rows that climbs find: from ``start``, and one in ``share`` starts.

    Climbs are on a part of the table, followed by exact passes over the whole. Where starts
    disagree, there are as many climbs again, unless few were asked for. Climbs rise under
    ``excess``; under other losses its group is one start of exact ascents, random rows' are others.
    """
    guide = problem.under_excess()
    part, part_size = part_of(guide, size, means.rng)
    slope, whole = lay_out(part), part is guide
    n_climbs = (affordable(slope) if n_starts is None else n_starts) // share
    if start is None:
        n_climbs = max(n_climbs, 1)
    if not whole and share == 1 and n_starts is None:
        n_climbs = max(n_climbs, _LINES_ON_PARTS * _PER_LINE)
    lines = min(max(n_climbs // _PER_LINE, 1), _LINES if whole else 2 * _LINES)
    climbs = [n_climbs // lines + (i < n_climbs % lines) for i in range(lines)]

    def climbed(place: int, count: int, rng: np.random.Generator) -> tuple[Partition, bool]:
        """Where a line ends on the whole, and whether its starts agree; each on a part of its own.

        A line on all rows has no ends to compare with but its own.
        """
        here = slope, part_size
        if place and not whole:
            other, other_size = part_of(guide, size, rng)
            here = lay_out(other), other_size
        _, own, agree = line(*here, count, rng, start)
        return ascend(guide, own, size), agree and whole and lines == 1

    def ends() -> list[tuple[Partition, bool]]:
        tasks = zip(range(lines), climbs, means.rng.spawn(lines), strict=True)
        parallel = Parallel(means.n_jobs, prefer="threads")  # kernels let go of the interpreter
        with one_thread():
            return list(parallel(delayed(climbed)(*task) for task in tasks))

    found, agreed = map(list, zip(*ends(), strict=True))
    looked = share == 1 and start is None and (lines > 1 or n_starts is None)
    if looked and not any(agreed) and not _same_best(found):
        found += [end for end, _ in ends()]
    best = max(found, key=_value)
    if guide is problem:
        return best
    guided = Partition.of(problem, best.labels)
    best, chance = ascend(problem, guided.own, size, guided), chances(slope)
    for _ in range(_exact_starts(problem, n_starts) // share):
        own = spanned(slope, chance, means.rng).astype(np.float64)
        best = max(best, ascend(problem, own, size), key=_value)
    return best


def _exact_starts(problem: Problem, n_starts: int | None) -> int:
    """How many ascents are affordable: of ten passes, with two eigendecompositions each."""
    m, n = problem.X.shape
    fit = _EXACT_WORK / (10 * (20 * n**3 + 4 * m * n * problem.d))
    return int(np.clip(fit, 1, _EXACT_STARTS if n_starts is None else n_starts))


def _same_best(ends: list[Partition]) -> bool:
    """Whether the two best ends are about the same group."""
    if len(ends) < 2:
        return False
    one, other = sorted(ends, key=lambda end: -end.value)[:2]
    both = int(np.sum(one.labels & other.labels))
    return both >= _SAME_ROWS * int(np.sum(one.labels | other.labels))


def offered(problem: Problem, found: Partition, own: Array, means: SolverContext) -> Partition:
    """What was found at a size, or what a climb from another size's components reaches there."""
    part, size = part_of(problem, found.size, means.rng)
    if problem.loss.own_is_best:
        value, own, _ = line(lay_out(part), size, 0, means.rng, own)
        if value <= found.value:
            return found
    return max(found, ascend(problem, own, found.size), key=_value)


def ascend(problem: Problem, own: Array, size: int, best: Partition | None = None) -> Partition:
    """Alternate with exact components while the true disparity rises, for one group of a size.

    Or for the groups of the partition ``best``, at the sizes that they have.
    """
    sizes = [len(problem.X) - size, size] if best is None else best.sizes.tolist()
    prices = None
    for _ in range(_LARGE_PASSES if len(sizes) > 2 and problem.X.size > LARGE else _PASSES):
        if len(sizes) == 2:
            labels = problem.rank(own, size).labels(len(problem.X))
        else:
            labels, prices = assign(row_values(problem, own, sizes), sizes, prices)
        if best is not None and np.array_equal(labels, best.labels):
            return best
        found = Partition.of(problem, labels, len(sizes), before=best)
        if best is not None and found.value <= best.value:
            return best
        best, own = found, found.own
    assert best is not None
    return best


def refine(problem: Problem, found: Partition) -> Partition:
    """Rows to sides and components in turn, at the sizes there are, while the value rises."""
    return ascend(problem, found.own, found.size, found)


def _widened(problem: Problem, found: Partition, size: int) -> Partition:
    """What was found in the leading axes of a problem, brought to its end in all of them."""
    if found.own.shape[2] == problem.X.shape[1]:
        return found
    own = np.zeros((2, problem.d, problem.X.shape[1]))
    own[:, :, : found.own.shape[2]] = found.own
    return ascend(problem, own, size)


def exchange_rows(
    problem: Problem, found: Partition, free: bool, rounds: int, margin: int = MARGIN
) -> tuple[Partition, bool]:
    """Exact swaps (and single moves where sizes are free) near the cuts, until none helps.

    Of any number of groups. Also whether none was left.
    """
    n_sides = len(found.losses)
    for _ in range(rounds):
        near = _near_the_cuts(problem, found, margin)
        labels = found.labels.copy()
        sides = track(problem.loss, problem.split(found.labels, n_sides), problem.V)
        rows, kept = problem.rows(near), problem.norms_and_kept[1][near]
        labels[near] = exchange(sides, rows, kept, found.labels[near], free, problem.min_size)
        if np.array_equal(labels, found.labels):
            return found, True
        better = Partition.of(problem, labels, n_sides, before=found)
        if better.value <= found.value:
            return found, True
        found = refine(problem, better)
    return found, False


def _sweep_rows(problem: Problem, best: Partition) -> Partition:
    """Single moves of every row, for losses under which alternating need not rise.

    A group's own components maximise its loss only under ``excess`` about a fixed origin; under the
    others a partition can be locally best without being a set of highest scores.
    """
    rows, labels = problem.rows(), best.labels.copy()
    for _ in range(_ROUNDS):
        if sweep(problem, rows, labels)[1] == 0:
            break
    found = Partition.of(problem, higher_side(problem, labels), before=best)
    return found if found.value > best.value else best


def _near_the_cuts(problem: Problem, found: Partition, margin: int) -> np.ndarray:
    """The rows of each side that lose least by going to each other side."""
    values = row_values(problem, found.own, found.sizes.tolist())
    chosen = []
    for side, other in permutations(range(len(found.losses)), 2):
        rows = np.flatnonzero(found.labels == side)
        lost = values[rows, side] - values[rows, other]
        chosen.append(rows[np.argsort(lost, kind="stable")[:margin]])
    return np.unique(np.concatenate(chosen))
