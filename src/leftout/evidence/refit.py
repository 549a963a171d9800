"""Repeated searches: of halves and parts of a table, of comparison tables, from other starts.

A single group is searched at its size. Several are peeled off, the larger first, refined together,
and each searched anew among the rows that the others leave; so the ``j``-th group is held to what
the ``j``-th group of another table loses: of equal sizes, the one with the largest loss first. What
another search calls its groups is settled by the rows that they share with those of the table, one
to one, among the rows that it has seen.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from leftout.evidence.chance import NullTask, search_sizes
from leftout.groups.partition import GroupRule
from leftout.linalg.assignment import assign
from leftout.linalg.losses import Array
from leftout.linalg.partition import Partition, row_values
from leftout.linalg.problem import Labels, Problem
from leftout.solvers import Alternating, Solver, SolverContext
from leftout.solvers.multi import anew, peel, refine

# Climbs of each of the many searches, on the table, its parts and comparison tables alike. Of a
# profile at a single size they are a seventh of the starts.
_CLIMBS = 40
_STARTS = 7 * _CLIMBS
# Searches of larger tables climb on parts of so many rows, and which of them ends best shows only
# on the whole. One alone varies as much as comparison tables do (adult: from 0.651 to 0.661, where
# comparison tables have 0.643 and vary by 0.007), four hardly do (0.664 to 0.666).
_PART, _PARTS = 8192, 4


def with_effort(task: NullTask, smallest: int | None = None) -> NullTask:
    """A task with the effort of a search that is repeated many times.

    ``smallest``: the fewest rows that a side will have, where that may be below the task's own.
    """
    solver, posed = task.solver, task.posed
    if isinstance(solver, Alternating) and solver.n_starts is None:
        solver = replace(solver, n_starts=_STARTS * (_PARTS if len(task.X) > _PART else 1))
    if smallest is not None:
        posed = posed.resized(max(1, min(task.smallest, smallest)), None)
    return replace(task, solver=solver, posed=posed)


def fewer(solver: Solver) -> Solver:
    """A solver with a quarter of that effort: for pictures."""
    if isinstance(solver, Alternating):
        return replace(solver, n_starts=max(1, (solver.n_starts or _STARTS) // 4))
    return solver


def quick(solver: Solver) -> Solver:
    """A solver of a single size with the same effort."""
    if isinstance(solver, Alternating) and solver.n_starts is None:
        return replace(solver, n_starts=_CLIMBS)
    return solver


def search_groups(
    solver: Solver, problem: Problem, sizes: Sequence[int], rng: np.random.Generator
) -> Partition:
    """Groups of these sizes; those of equal size by falling loss."""
    means = SolverContext(rng=rng)
    if len(sizes) == 1:
        (one,) = search_sizes(solver, problem, list(sizes), means)
        return Partition.of(problem, one.labels, 2, one.own)
    smallest = max(1, min(*sizes, len(problem.X) - sum(sizes)))
    problem = replace(problem, min_size=smallest, group_size=None)
    labels = peel(quick(solver), problem, len(sizes), sizes, means)
    found = refine(problem, Partition.of(problem, labels, len(sizes) + 1))
    found = anew(solver, problem, found, sizes, means)
    order = np.arange(len(sizes) + 1)
    for size in set(sizes):
        places = 1 + np.flatnonzero(np.asarray(sizes) == size)
        order[places] = places[np.argsort(-found.losses[places], kind="stable")]
    return found.reordered(order)


def fit_group_rule(
    task: NullTask,
    X: Array,
    sizes: Sequence[int],
    rng: np.random.Generator,
    reference: NDArray[np.integer] | None = None,
) -> GroupRule:
    """Search rows for groups of these sizes; refuses rows with too few dimensions.

    Several are called like those of ``reference``, the groups of the rows.
    """
    posed = task.pose(X)
    found = search_groups(task.solver, posed.problem, sizes, rng)
    if reference is not None and len(sizes) > 1:
        found = _as_in(posed.problem, found, reference, sizes)
    return GroupRule.of(posed, found)


def in_proportion(sizes: Sequence[int], part: int, whole: int) -> list[int]:
    """Sizes of the same groups among fewer rows; at least one row each, and one for the rest."""
    each = [max(1, round(size * part / whole)) for size in sizes]
    while sum(each) >= part and max(each) > 1:
        each[int(np.argmax(each))] -= 1
    return each


def matched(labels: Labels, reference: NDArray[np.integer], n_groups: int) -> Labels:
    """What each side is called: like the group of ``reference`` that it shares most rows with.

    One to one, so that the Jaccard similarities add up to as much as they can; the rest is the
    rest.

    Examples
    --------
    >>> labels = np.array([1, 1, 2, 2, 0], np.int8)
    >>> matched(labels, np.array([2, 2, 1, 0, 0]), 2)[labels].tolist()
    [2, 2, 1, 1, 0]
    """
    similar = np.zeros((n_groups, n_groups))
    for a in range(n_groups):
        for b in range(n_groups):
            similar[a, b] = jaccard(labels == a + 1, reference == b + 1)
    _, place = linear_sum_assignment(similar, maximize=True)
    return np.concatenate([[0], 1 + place]).astype(np.int8)


def jaccard(a: NDArray[np.bool_], b: NDArray[np.bool_]) -> float:
    """Rows in both of two groups, over the rows in either."""
    return float(np.sum(a & b)) / max(1, int(np.sum(a | b)))


def _as_in(
    problem: Problem, found: Partition, reference: NDArray[np.integer], sizes: Sequence[int]
) -> Partition:
    """Groups in the order of those of ``reference`` that they share most rows with, and as large.

    Where sizes differ, a search of fewer rows may well find the larger group's directions in a
    group of the smaller size, and the other way round: who a group is, its directions say. So these
    are kept, and rows are assigned anew.
    """
    order = np.argsort(matched(found.labels, reference, len(sizes)), kind="stable")
    if (order == np.arange(len(order))).all():
        return found
    every = [len(found.labels) - sum(sizes), *sizes]
    labels = assign(row_values(problem, found.own[order], every), every).labels
    return refine(problem, Partition.of(problem, labels, len(every)))
