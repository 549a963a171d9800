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
from leftout.core.losses import Array, Loss, basis_loss_by_feature, own_components, side_losses
from leftout.core.problem import Labels, Problem
from leftout.core.ranks import p_value
from leftout.core.several import Sides, row_values, side_weights, split
from leftout.evidence.beside import CALLED, mean_rank_correlation, mean_split
from leftout.evidence.chance import Task, residual_share
from leftout.evidence.learned import quick
from leftout.evidence.looks import FEWEST, most_tables, settled
from leftout.evidence.profiles import Chance
from leftout.evidence.surrogates import Surrogate, correlations
from leftout.running import Steps, in_turn, one_thread
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
    mean: Array
    V: Array
    own: Array  # (sides, d, n), the rest first
    sizes: list[int]  # of all sides
    prices: Array

    def row_losses(self, X: Array) -> Array:
        """What rows would add to the loss of each side: (sides, rows)."""
        return side_losses(self.loss, X - self.mean, self.V, self.own)

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
        mean=table.mean,
        V=table.in_columns(problem.V),
        own=np.stack([table.in_columns(W) for W in found.own]),
        sizes=every,
        prices=assign(row_values(problem, found.own, every), every).prices,
    )


def split_groups_by_feature(posed: Posed, labels: Labels, n_sides: int) -> Array | None:
    """Each group's disparity to the rest, split over features; None where rows are in no columns.

    Shape (groups, n).
    """
    problem = posed.problem
    if posed.table.back is not None or not problem.loss.own_is_best:
        return None
    moments = split(problem, labels, n_sides)
    own = own_components(problem.loss, moments, problem.d)
    rest, *groups = (
        basis_loss_by_feature(problem.loss, S, problem.V, W) / count
        for S, W, count in zip(moments.second, own, moments.count, strict=True)
    )
    return np.stack(groups) - rest


class Found(NamedTuple):
    """What a search finds in a table."""

    disparities: Array  # of each group to the rest
    residual: float  # share of the variance that the shared components leave
    closer: Closer | None


class Closer(NamedTuple):
    """What the first few tables are also asked."""

    by_feature: Array | None  # (groups, n)
    correlations: Array
    rank_correlation: float


@dataclass(frozen=True)
class Together:
    """A table, the sizes of its groups, and how to search comparison tables for as many."""

    task: Task
    sizes: list[int]

    def table(self, rng: np.random.Generator) -> Found:
        """The table itself, searched as comparison tables are."""
        with one_thread():
            return self._searched(self.task.X, self.task.posed, rng, closely=True)

    def compared(
        self,
        kind: str,
        law: Surrogate,
        table: Found,
        asked: int,
        rng: np.random.Generator,
        steps: Steps,
        undecided: NDArray[np.bool_] | None = None,
    ) -> list[Chance]:
        """Search tables of a kind until the answer is settled for each group that is undecided.

        A group's figures are those of the tables up to the one that settled it. Of groups that are
        decided already, only what a few tables show is needed.
        """
        g = len(self.sizes)
        needed = np.full(g, most_tables(asked))
        if undecided is not None:
            needed[~undecided] = min(asked, FEWEST)
        open_ = np.ones(g, dtype=bool) if undecided is None else undecided.copy()
        found: list[Found] = []
        rngs = rng.spawn(int(needed.max()))
        while len(found) < needed.max():
            ahead = rngs[len(found) : min(len(found) + FEWEST, int(needed.max()))]
            tasks = [(law, each, len(found) + place < FEWEST) for place, each in enumerate(ahead)]
            with one_thread():
                n_jobs = self.task.estimator.n_jobs
                for one in in_turn(self._drawn, tasks, n_jobs, steps, CALLED[kind]):
                    found.append(one)
                    values = np.array([each.disparities for each in found])
                    for group in np.flatnonzero(open_):
                        if settled(table.disparities[group], values[:, group], asked):
                            needed[group], open_[group] = len(found), False
                    if len(found) >= needed.max():
                        break
        return [self._told(kind, table, found[: needed[group]], group) for group in range(g)]

    def _told(self, kind: str, table: Found, found: Sequence[Found], group: int) -> Chance:
        values = np.array([one.disparities[group] for one in found])
        close = [one.closer for one in found if one.closer is not None]
        assert table.closer is not None
        R = np.mean(np.stack([one.correlations for one in close]), axis=0)
        p = p_value(float(table.disparities[group]), values)
        splits = [None if one.by_feature is None else one.by_feature[group] for one in close]
        return Chance(
            kind=kind,
            sizes=np.array([self.sizes[group]], dtype=np.intp),
            curves=values[:, None],
            p_values=np.array([p]),
            p_value=float(p),
            miss=float(np.abs(R - table.closer.correlations).max()),
            residual=float(np.mean([one.residual for one in found]) / table.residual),
            ranks_miss=table.closer.rank_correlation
            - float(np.mean([one.rank_correlation for one in close])),
            by_feature=mean_split(splits, float(values.mean())),
        )

    def _drawn(self, law: Surrogate, rng: np.random.Generator, closely: bool) -> Found:
        X = law.draw(rng)
        return self._searched(X, self.task.pose(X), rng, closely)

    def _searched(self, X: Array, posed: Posed, rng: np.random.Generator, closely: bool) -> Found:
        found = search_groups(self.task.solver, posed.problem, self.sizes, rng)
        disparities, residual = found.losses[1:] - found.losses[0], residual_share(posed)
        if not closely:
            return Found(disparities, residual, None)
        by_feature = split_groups_by_feature(posed, found.labels, len(found.losses))
        return Found(
            disparities, residual, Closer(by_feature, correlations(X), mean_rank_correlation(X))
        )
