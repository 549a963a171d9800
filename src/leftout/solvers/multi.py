"""The search for several groups: peel them off one by one, then refine all of them together.

Refining repeats exact steps, rows to sides by prices and components from moments, and ends at
partitions that no such step raises. So it also starts from elsewhere: the rows of two sides, the
rest's too, are split between them anew, and tables so small that it costs nothing are refined from
random partitions as well.
"""

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from leftout.linalg.assignment import Partition, among, side_weights
from leftout.linalg.losses import Array
from leftout.linalg.problem import MARGIN, Labels, Problem
from leftout.solvers.alternating import LARGE, Alternating, as_result, exchange_rows, refine
from leftout.solvers.base import SearchResult, Solver, SolverContext, as_history
from leftout.solvers.local_ascent import affordable, lay_out
from leftout.text import number

# Peeling a table of so many rows takes this part of a single search's starts for each group, since
# splits go on from there.
_FEWEST, _ROWS, _PART = 1024, 8192, 4
# Random starts from which the rows of two sides are split between them, more of them on tables of
# few rows, and steps from each; the best goes on. All pairs have so many turns, if each helps.
_SPLITS, _SPLIT_STEPS, _LAST_STEPS, _TURNS, _CLIMBS = (4, 16), 4, 50, 4, 8
# Tables of up to so many rows are refined from so many random partitions, too.
_TINY, _RANDOM = 64, 12
# Rounds of exchanges, and on tables of more rows than this how many, with how many rows of a side
# for each other side.
_ROUNDS, _SMALL, _FEW = 10, 256, (3, 2)


def maximise(
    solver: Solver,
    problem: Problem,
    n_groups: int,
    sizes: Sequence[int] | None,
    means: SolverContext,
) -> SearchResult:
    """The best partition into ``n_groups`` groups and the rest that a search finds.

    One group is the solver's own search, and no group the partition in which all rows are the rest.
    Several, of given ``sizes`` or free ones, are peeled off by the solver and refined; then pairs
    of sides are split anew, and rows exchanged. Their labels are from 1 by falling loss.
    """
    if n_groups == 0:
        rest, history = np.zeros(len(problem.X), dtype=np.int8), as_history([], [])
        why = "no group is more than surrogate tables show"
        return SearchResult(labels=rest, own=problem.V[None], history=history, stopped=why)
    if n_groups == 1:
        return solver.maximise(problem, means)
    peeled = peel(_with_part(solver, problem), problem, n_groups, sizes, means)
    first = Partition.of(problem, peeled, n_groups + 1)
    together = refine(problem, first).after(first)
    means.tell(f"together: disparity {number(together.value, digits=6)}")
    best = split_anew(problem, together, means.rng).after(together)
    end, done = exchanged(problem, best, sizes is None)
    for start in _random(problem, end, sizes is None, means.rng):
        other, settled = exchanged(problem, refine(problem, start), sizes is None)
        if other.value > end.value:
            end, done = other, settled
    falling = [0, *(1 + np.argsort(-end.losses[1:], kind="stable"))]
    stopped = "local optimum" if done else "max_rounds"
    return as_result(end.after(best).reordered(falling), stopped)


def _with_part(solver: Solver, problem: Problem) -> Solver:
    """The solver with fewer starts, where they take time and a table is not searched in parts."""
    free = isinstance(solver, Alternating) and solver.n_starts is None
    if not free or not _FEWEST < len(problem.X) <= _ROWS:
        return solver
    return Alternating(n_starts=max(affordable(lay_out(problem.narrow())) // _PART, 1))


def _random(
    problem: Problem, best: Partition, free: bool, rng: np.random.Generator
) -> list[Partition]:
    """Random partitions of a tiny table, of the sizes found; half of others where free."""
    m, n_sides = len(problem.X), len(best.losses)
    starts = []
    for turn in range(_RANDOM if m <= _TINY else 0):
        labels = best.labels
        if free and turn % 2:
            least = np.repeat(np.arange(n_sides), problem.min_size)
            more = rng.integers(n_sides, size=m - len(least))
            labels = np.concatenate([least, more]).astype(np.int8)
        starts.append(Partition.of(problem, rng.permutation(labels), n_sides))
    return starts


def peel(
    solver: Solver,
    problem: Problem,
    n_groups: int,
    sizes: Sequence[int] | None,
    means: SolverContext,
) -> Labels:
    """Labels from 1 for the groups, in the order of ``sizes``; 0 for the rest.

    Large groups come first: a small one is easily found inside of a large one, whose most extreme
    rows lose more than a small group as a whole, but not the other way round. Where sizes are free,
    a group that leaves too few rows for the others is cut to its rows of highest scores.
    """
    labels = np.zeros(len(problem.X), dtype=np.int8)
    order = np.arange(n_groups) if sizes is None else np.argsort(-np.asarray(sizes), kind="stable")
    for done, group in enumerate(order):
        left = labels == 0
        size = None if sizes is None else int(sizes[group])
        task = among(problem, left, size)
        found = solver.maximise(task, means).labels
        most = task.n_rows - (n_groups - done) * problem.min_size
        if size is None and found.sum() > most:
            own = task.losses(found)[1]
            found = task.rank(own, most).labels(len(found))
        labels[np.flatnonzero(left)[found == 1]] = group + 1
        means.tell(f"group {done + 1} of {n_groups}: {int(found.sum())} rows")
    return labels


def split_anew(
    problem: Problem, found: Partition, rng: np.random.Generator, turns: int = _TURNS
) -> Partition:
    """The rows of every two sides split between them anew and all refined, while that helps.

    A group and the rest by a search for it; two groups from random starts, since where each holds
    rows of both no single step may raise the value, and from each other's components: rows to sides
    keeps a group's size, so it never learns that its directions deserve the size of another's.
    """
    best = found
    pairs = () if turns == 0 or _is_large(problem) else combinations(range(len(found.losses)), 2)
    for pair in map(list, pairs):
        inside = np.isin(best.labels, pair)
        task, sizes = among(problem, inside, None), best.sizes[pair]
        weights = side_weights(best.sizes.tolist())[pair]
        if pair[0] == 0:  # one group: searched as any other
            one, few = replace(task, group_size=int(sizes[1])), Alternating(n_starts=_CLIMBS)
            tried = [few.maximise(one, SolverContext(rng=rng)).labels]
        else:
            count = int(np.clip(_ROWS // len(problem.X), *_SPLITS))
            # by reach, so that the order of the rows changes nothing
            rows = task.by_reach[rng.integers(len(task.X), size=(count, 2 * task.d))]
            # components of two groups, each spanned by half of some rows
            spanning = task.rows(rows).reshape(count, 2, task.d, -1).swapaxes(2, 3)
            starts = np.linalg.qr(spanning)[0].swapaxes(2, 3)
            ends = [_split(task, sizes, weights, own, _SPLIT_STEPS) for own in starts]
            own = max(ends, key=lambda end: end[0])[2]
            tried = [_split(task, sizes, weights, own, _LAST_STEPS)[1]]
            if sizes[0] != sizes[1]:
                tried.append(_split(task, sizes, weights, best.own[pair[::-1]], 1)[1])
        for split in tried:
            labels = best.labels.copy()
            labels[inside] = np.asarray(pair, dtype=np.int8)[split]
            end = refine(problem, Partition.of(problem, labels, len(best.losses)))
            best = end if end.value > best.value else best
    return best if best.value <= found.value else split_anew(problem, best, rng, turns - 1)


def _split(
    task: Problem, sizes: NDArray[np.intp], weights: Array, own: Array, steps: int
) -> tuple[float, Labels, Array]:
    """:func:`refine` for two sides alone: their weighted loss in total, rows, components."""
    best = (-np.inf, np.empty(0, dtype=np.int8), own)
    for _ in range(steps):
        first, other = weights[:, None] * task.row_losses(own)
        labels = np.ones(len(first), dtype=np.int8)
        labels[np.argsort(other - first, kind="stable")[: sizes[0]]] = 0
        losses, own = task.losses(labels)
        if (value := float(weights * sizes @ losses)) <= best[0]:
            break
        best = value, labels, own
    return best


def exchanged(problem: Problem, found: Partition, free: bool) -> tuple[Partition, bool]:
    """Exact swaps (and single moves where sizes are free) near the cuts, until none helps."""
    if _is_large(problem):
        return found, False
    few = len(problem.X) > _SMALL
    return exchange_rows(problem, found, free, *(_FEW if few else (_ROUNDS, MARGIN)))


def _is_large(problem: Problem) -> bool:
    """Whether only peeling and a few passes are affordable."""
    return problem.leading is not None or problem.X.size > LARGE
