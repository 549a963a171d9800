"""The search for several groups: peel them off one by one, then refine all of them together.

Refining repeats exact steps, rows to sides by prices and components from moments, and ends at
partitions that no such step raises. So it also starts from elsewhere: each group is searched anew
among the rows that the others leave, the rows of two groups are split between them from random
starts, groups of different sizes exchange these, and tables so small that it costs nothing are
refined from random partitions as well.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from leftout.linalg.assignment import Partition, among, assign, row_values
from leftout.linalg.losses import Array
from leftout.linalg.problem import MARGIN, Labels, Problem
from leftout.solvers.alternating import LARGE, Alternating, as_result, exchange_rows, refine
from leftout.solvers.base import SearchResult, Solver, SolverContext, as_history
from leftout.solvers.local_ascent import affordable, lay_out
from leftout.text import number

# Peeling a table of up to so many rows takes this part of a single search's starts for each group,
# since each is searched anew, from so many starts, for so many rounds.
_ROWS, _PART, _STARTS, _ANEW = 8192, 2, 8, 2
# Random starts from which the rows of two groups are split between them, and steps from each; the
# best goes on.
_SPLITS, _SPLIT_STEPS, _LAST_STEPS = 8, 6, 50
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
    Several are peeled off and refined; then groups are searched anew, pairs of them split anew,
    sizes exchanged where they are given, and rows.

    Parameters
    ----------
    solver : Solver
        What finds one group; of several, each is peeled off by it, and all are then refined.
    problem : Problem
        Of the whole table; of several groups its ``group_size`` is not looked at.
    n_groups : int
        Left-out groups, without the rest.
    sizes : sequence of int, or None
        Of the groups; None leaves them free.
    means : SolverContext

    Returns
    -------
    SearchResult
        Labels by falling loss from 1; 0 for the rest.
    """
    if n_groups == 0:
        return SearchResult(
            labels=np.zeros(len(problem.X), dtype=np.int8),
            own=problem.V[None],
            history=as_history([], []),
            stopped="no group is more than surrogate tables show",
        )
    if n_groups == 1:
        return solver.maximise(problem, means)
    peeled = peel(_with_part(solver, problem), problem, n_groups, sizes, means)
    first = Partition.of(problem, peeled, n_groups + 1)
    together = refine(problem, first).after(first)
    means.tell(f"together: disparity {number(together.value, digits=6)}")
    best = apart = anew(solver, problem, together, sizes, means).after(together)
    while True:
        other = split_anew(problem, best, means.rng)
        if sizes is not None:
            other = sizes_exchanged(problem, other)
        if other.value <= best.value:
            break
        best = anew(solver, problem, other, sizes, means)
    best, (end, done) = best.after(apart), exchanged(problem, best, sizes is None)
    for start in _random(problem, end, sizes is None, means.rng):
        other, settled = exchanged(problem, refine(problem, start), sizes is None)
        if other.value > end.value:
            end, done = other, settled
    return as_result(end.after(best).by_falling_loss(), "local optimum" if done else "max_rounds")


def _with_part(solver: Solver, problem: Problem) -> Solver:
    """The solver with fewer starts, where a table is not searched in parts."""
    free = isinstance(solver, Alternating) and solver.n_starts is None
    if not free or len(problem.X) > _ROWS:
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


def anew(
    solver: Solver,
    problem: Problem,
    best: Partition,
    sizes: Sequence[int] | None,
    means: SolverContext,
) -> Partition:
    """Each group searched anew, among the rows that the others leave, while that helps."""
    if not isinstance(solver, Alternating):
        return best
    few = replace(solver, n_starts=_STARTS)
    for _ in range(_ANEW):
        before = best.value
        for group in range(1, len(best.losses)):
            left = np.isin(best.labels, (0, group))
            size = None if sizes is None else int(best.sizes[group])
            found = few.maximise(among(problem, left, size), means).labels
            labels = best.labels.copy()
            labels[left] = np.where(found == 1, group, 0)
            if not np.array_equal(labels, best.labels):
                best = _better(problem, best, labels)
        if best.value <= before:
            break
    return best


def _better(problem: Problem, best: Partition, labels: Labels) -> Partition:
    """The best so far, or where refining other labels of as many sides ends."""
    end = refine(problem, Partition.of(problem, labels, len(best.losses)))
    return end if end.value > best.value else best


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
            found = task.rank(own, most).labels(most, len(found))
        labels[np.flatnonzero(left)[found == 1]] = group + 1
        means.tell(f"group {done + 1} of {n_groups}: {int(found.sum())} rows")
    return labels


def split_anew(problem: Problem, found: Partition, rng: np.random.Generator) -> Partition:
    """The rows of every two groups split between them from random starts, while that helps.

    Two groups that each hold rows of both are often a partition that no single step raises.
    """
    best = found
    if _is_large(problem):
        return best
    for pair in combinations(range(1, len(found.losses)), 2):
        inside = np.isin(best.labels, pair)
        task, sizes = among(problem, inside, None), best.sizes[list(pair)]
        starts = rng.integers(len(task.X), size=(_SPLITS, 2 * task.d))
        ends = [_split(task, sizes, _spanned(task, rows), _SPLIT_STEPS) for rows in starts]
        _, _, own = max(ends, key=lambda end: end[0])
        total, split, _ = _split(task, sizes, own, _LAST_STEPS)
        if total > sizes @ best.losses[list(pair)]:
            labels = best.labels.copy()
            labels[inside] = np.asarray(pair, dtype=np.int8)[split]
            best = _better(problem, best, labels)
    return best


def _spanned(task: Problem, rows: NDArray[np.intp]) -> Array:
    """Components of two groups, each spanned by half of some rows."""
    halves = task.rows(rows).reshape(2, task.d, -1)
    return np.linalg.qr(halves.swapaxes(1, 2))[0].swapaxes(1, 2)


def _split(
    task: Problem, sizes: NDArray[np.intp], own: Array, steps: int
) -> tuple[float, Labels, Array]:
    """:func:`refine` for two groups without a rest: what they lose in total, rows, components."""
    best = (-np.inf, np.empty(0, dtype=np.int8), own)
    for _ in range(steps):
        labels = assign(task.row_losses(own).T, sizes.tolist()).labels
        losses, own = task.losses(labels)
        if sizes @ losses <= best[0]:
            break
        best = float(sizes @ losses), labels, own
    return best


def sizes_exchanged(problem: Problem, found: Partition) -> Partition:
    """Two groups exchange their sizes and all are refined: the best of all pairs, or as it was.

    Rows to sides keeps each group's size, so it never learns that a group's directions deserve the
    size of another's.
    """
    best = found
    for one, other in combinations(range(1, len(found.losses)), 2):
        sizes = found.sizes.tolist()
        if sizes[one] == sizes[other]:
            continue
        sizes[one], sizes[other] = sizes[other], sizes[one]
        labels = assign(row_values(problem, found.own, sizes), sizes).labels
        best = _better(problem, best, labels)
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
