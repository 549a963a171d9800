"""Several groups at once, searched many times: in comparison tables, halves and parts of a table.

Every search is the same: groups of the sizes found are peeled off, the larger first, refined
together, and each searched anew among the rows that the others leave. So the ``j``-th group is held
to what the ``j``-th group of comparison tables loses: of equal sizes, the one with the largest loss
first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from leftout.core.assignment import assign
from leftout.core.losses import Array, Loss
from leftout.core.problem import Labels, Problem
from leftout.core.several import Sides, row_values, side_weights
from leftout.evidence.beside import Closer, Found, Tables, split_by_feature
from leftout.evidence.chance import Task, residual_share
from leftout.evidence.learned import quick, searching
from leftout.representation.base import Representation
from leftout.search.pose import Posed
from leftout.solvers import Means, Solver
from leftout.solvers.joint import refine
from leftout.solvers.peeling import peel
from leftout.solvers.several import anew


def search_groups(
    solver: Solver, problem: Problem, sizes: Sequence[int], rng: np.random.Generator
) -> Sides:
    """Groups of these sizes; those of equal size by falling loss."""
    smallest = max(1, min(*sizes, len(problem.X) - sum(sizes)))
    problem = replace(problem, min_size=smallest, group_size=None)
    means = Means(rng=rng)
    labels = peel(quick(solver), problem, len(sizes), sizes, means)
    found = refine(problem, Sides.of(problem, labels, len(sizes) + 1))
    found = anew(solver, problem, found, sizes, means)
    order = np.arange(len(sizes) + 1)
    for size in set(sizes):
        places = 1 + np.flatnonzero(np.asarray(sizes) == size)
        order[places] = places[np.argsort(-found.losses[places], kind="stable")]
    place = np.argsort(order).astype(np.int8)
    return Sides(place[found.labels], found.losses[order], found.own[order])


def in_proportion(sizes: Sequence[int], part: int, whole: int) -> list[int]:
    """Sizes of the same groups among fewer rows; at least one row each, and one for the rest."""
    each = [max(1, round(size * part / whole)) for size in sizes]
    while sum(each) >= part and max(each) > 1:
        each[int(np.argmax(each))] -= 1
    return each


def matched(labels: Labels, reference: NDArray[np.integer], n_groups: int) -> Labels:
    """The labels with each group called like the one of ``reference`` that it shares most with.

    One to one, so that the Jaccard similarities add up to as much as they can.

    Examples
    --------
    >>> matched(np.array([1, 1, 2, 2, 0], np.int8), np.array([2, 2, 1, 0, 0]), 2).tolist()
    [2, 2, 1, 1, 0]
    """
    return _called(labels, reference, n_groups)[labels]


def _called(labels: Labels, reference: NDArray[np.integer], n_groups: int) -> Labels:
    """What each side is called, by the rows that it shares; the rest is the rest."""
    similar = np.zeros((n_groups, n_groups))
    for a in range(n_groups):
        for b in range(n_groups):
            mine, theirs = labels == a + 1, reference == b + 1
            similar[a, b] = np.sum(mine & theirs) / max(1, int(np.sum(mine | theirs)))
    _, place = linear_sum_assignment(similar, maximize=True)
    return np.concatenate([[0], 1 + place]).astype(np.int8)


def as_in(
    problem: Problem, found: Sides, reference: NDArray[np.integer], sizes: Sequence[int]
) -> Sides:
    """Groups in the order of those of ``reference`` that they share most rows with, and as large.

    Where sizes differ, a search of fewer rows may well find the larger group's directions in a
    group of the smaller size, and the other way round: who a group is, its directions say. So these
    are kept, and rows are assigned anew.
    """
    order = np.argsort(_called(found.labels, reference, len(sizes)), kind="stable")
    if (order == np.arange(len(order))).all():
        return found
    every = [len(found.labels) - sum(sizes), *sizes]
    labels = assign(row_values(problem, found.own[order], every), every).labels
    return refine(problem, Sides.of(problem, labels, len(every)))


class LearnedGroups(NamedTuple):
    """Groups that were found on some rows, as a rule for any row."""

    loss: Loss
    shared: Representation
    own: Array  # (sides, d, n), the rest first
    sizes: list[int]  # of all sides
    prices: Array

    def row_losses(self, X: Array) -> Array:
        """What rows would add to the loss of each side: (sides, rows)."""
        return self.shared.row_losses(self.loss, X, self.own)

    def placed(self, losses: Array) -> Labels:
        """The side of each row, by the prices that the rows learned from settled."""
        values = losses.T * side_weights(self.sizes)
        return np.argmax(values - self.prices, axis=1).astype(np.int8)

    def sized(self, losses: Array, sizes: Sequence[int]) -> Labels:
        """The side of each row where the groups have these sizes."""
        every = [losses.shape[1] - sum(sizes), *sizes]
        return assign(losses.T * side_weights(every), every).labels


def learn_groups(
    task: Task,
    X: Array,
    reference: NDArray[np.integer],
    sizes: Sequence[int],
    rng: np.random.Generator,
) -> LearnedGroups:
    """Search rows for groups of these sizes, called like those of ``reference`` among them.

    Refuses rows with too few dimensions.
    """
    posed = task.pose(X)
    problem, table = posed.problem, posed.table
    found = as_in(problem, search_groups(task.solver, problem, sizes, rng), reference, sizes)
    every = found.sizes.tolist()
    return LearnedGroups(
        loss=problem.loss,
        shared=posed.representation,
        own=np.stack([table.in_columns(W) for W in found.own]),
        sizes=every,
        prices=assign(row_values(problem, found.own, every), every).prices,
    )


@dataclass(frozen=True)
class Together(Tables):
    """A table, the sizes of its groups, and how to search comparison tables for as many."""

    sizes: list[int]

    def _with(self, task: Task) -> Together:
        return Together(searching(task), self.sizes)

    def _sizes_at(self, group: int) -> tuple[NDArray[np.intp], int]:
        return np.array([self.sizes[group]], dtype=np.intp), 0

    def _searched(self, X: Array, posed: Posed, rng: np.random.Generator, closely: bool) -> Found:
        found = search_groups(self.task.solver, posed.problem, self.sizes, rng)
        disparities, residual = found.losses[1:] - found.losses[0], residual_share(posed)
        if not closely:
            return Found(disparities, residual, None)
        split = split_by_feature(posed, found.labels, len(found.losses))
        return Found(disparities, residual, Closer.of(self.task.witnesses(X), split))
