"""Left-out groups and the rest: what a partition is worth, and which rows go to which side.

With groups ``A_1 .. A_g``, the rest ``B`` and the shared components of the whole table, a partition
is worth the mean of ``loss(A_j) - loss(B)``, each weighted by the size ``k_j`` of its group. With
``K`` the sum of these sizes, that is for components held fixed a sum over rows: of ``a_ij / K`` for
a row in group ``j``, where ``a_ij`` is what it adds to that group's total loss, and of
``-b_i / (m - K)`` for a row in the rest.

So for given sizes the best rows are the answer of a transportation problem.
With ``v_ij`` the value of row ``i`` on side ``j`` and ``k_j`` the rows that side ``j`` takes, the
sum of ``v_ij`` over all rows is to be as large as the sizes allow. The dual has one price ``p_j`` a
side: least is the sum over rows of ``max_j (v_ij - p_j)`` plus the sum of ``k_j p_j``. So a row
goes where its value less the price is largest, and prices are right when the sizes fit.

One price at a time has an exact answer: ``k_j`` rows prefer side ``j`` when its price lies between
the ``k_j``-th and the next of what it offers beyond the other sides. A few rounds of that fit all
sizes, or nearly: rows that tie, and corners where no single price helps, are left over. These are
moved along the cheapest paths from sides with too many rows to sides with too few. An assignment by
prices is best for the sizes that it has, and stays best along cheapest paths: the end is exact.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse import csgraph

from leftout.linalg.losses import Array, mean_disparity
from leftout.linalg.moments import without
from leftout.linalg.problem import Labels, Problem

_ROUNDS = 30


@dataclass(frozen=True)
class Partition:
    """The rest (0) and some groups (from 1), with the losses and the components of each."""

    labels: Labels
    losses: Array
    own: Array  # (sides, d, n)
    trail: tuple[tuple[float, int], ...] = ()  # value and rows that moved, after each step so far
    weights: Array | None = None  # of the rows, where they count differently

    @classmethod
    def of(
        cls,
        problem: Problem,
        labels: Labels,
        n_sides: int = 2,
        own: Array | None = None,
        before: Self | None = None,
    ) -> Self:
        """Losses, and components if these are not known; a step from the partition ``before``."""
        losses, own = problem.losses(labels, own, n_sides)
        return cls(labels, losses, own, weights=problem.weights).after(before)

    def after(self, before: Self | None) -> Self:
        """The partition as one step from another, whose trail it goes on with."""
        moved = int(np.sum(self.labels != (0 if before is None else before.labels)))
        return replace(self, trail=(*(before.trail if before else ()), (self.value, moved)))

    @property
    def disparities(self) -> Array:
        return self.losses[1:] - self.losses[0]

    @property
    def value(self) -> float:
        """The mean of the disparities, weighted by the groups' sizes: what a search raises."""
        return float(mean_disparity(self.losses, self.sizes.astype(np.float64)))

    @cached_property
    def sizes(self) -> NDArray[Any]:
        """Rows of each side, or what these count together."""
        return np.bincount(self.labels, self.weights, len(self.losses))

    @property
    def size(self) -> int:
        """Rows of the first group, which may be the only one."""
        return round(float(self.sizes[1]))

    def reordered(self, order: Sequence[int] | NDArray[np.intp]) -> Self:
        """The partition with its sides in another order."""
        labels = np.argsort(order).astype(np.int8)[self.labels]
        return replace(self, labels=labels, losses=self.losses[order], own=self.own[order])


def row_values(problem: Problem, own: Array, sizes: Sequence[int]) -> Array:
    """What each row is worth on each side while components stay as they are: (rows, sides)."""
    return problem.row_losses(own).T * side_weights(sizes)


def side_weights(sizes: Sequence[int]) -> Array:
    """What a unit of loss counts on each side: ``-1 / (m - K)``, and ``1 / K`` in any group."""
    rest, *groups = sizes
    return np.array([-1.0 / rest, *(1.0 / sum(groups) for _ in groups)])


def among(problem: Problem, left: NDArray[np.bool_], size: int | None) -> Problem:
    """The search for one group among the rows that are left, under the shared components."""
    pooled = without(problem.pooled, problem.moments_of(~left))
    kept = problem.kept_of(left)
    return replace(problem, X=problem.X[left], kept=kept, pooled=pooled, group_size=size)


class Assignment(NamedTuple):
    """The side of each row, and what a place on each side costs; on the first it is free."""

    labels: NDArray[np.int8]
    prices: Array


def assign(values: Array, sizes: Sequence[int], prices: Array | None = None) -> Assignment:
    """The assignment with the largest sum of values, of shape (m, sides); ties go by index.

    Sizes are from 1 and add up to ``m``. Whatever prices it starts from, the answer is as good; its
    own lie in the middle of those that are right: a row of values unseen goes to the side where its
    value less the price is largest.

    Examples
    --------
    >>> labels, prices = assign(np.array([[0.0, 3.0], [0.0, 2.0], [0.0, -1.0]]), [2, 1])
    >>> labels.tolist(), prices.tolist()
    ([1, 0, 0], [0.0, 2.5])
    """
    wanted = np.asarray(sizes, dtype=np.intp)
    sides = len(wanted)
    p = _fitted(values, wanted, np.zeros(sides) if prices is None else prices.copy())
    labels = np.argmax(values - p, axis=1).astype(np.int8)
    while (excess := np.bincount(labels, minlength=sides) - wanted).any():
        source, lacking = int(np.argmax(excess > 0)), np.flatnonzero(excess < 0)
        costs = _moving_costs(values, labels)
        graph = _reduced(costs, p)
        lengths, before = csgraph.dijkstra(graph, indices=source, return_predecessors=True)
        target = int(lacking[np.argmin(lengths[lacking])])
        p = p - np.minimum(lengths, lengths[target])
        path = [target]
        while path[-1] != source:
            path.append(int(before[path[-1]]))
        steps = list(zip(path[:0:-1], path[-2::-1], strict=True))
        movers = []
        for a, b in steps:
            rows = np.flatnonzero(labels == a)
            movers.append(rows[values[rows, a] - values[rows, b] <= costs[a, b]])
        count = min(excess[source], -excess[target], *map(len, movers))
        for (_, b), rows in zip(steps, movers, strict=True):
            labels[rows[:count]] = b
    # prices are right where no p_a - p_b exceeds the cost of moving from a to b: the highest are
    # the lengths of shortest paths to the first side, the lowest those from it
    lengths = csgraph.floyd_warshall(_reduced(_moving_costs(values, labels), p))
    return Assignment(labels, p - p[0] + (lengths[:, 0] - lengths[0]) / 2.0)


def _fitted(values: Array, sizes: NDArray[np.intp], prices: Array) -> Array:
    """Prices at which the sizes fit, or nearly: one after the other, each right for itself."""
    m, sides = values.shape
    for _ in range(_ROUNDS):
        net = values - prices
        if np.array_equal(np.bincount(net.argmax(axis=1), minlength=sides), sizes):
            break
        for side in range(1, sides):
            net[:, side] = -np.inf
            offers = values[:, side] - net.max(axis=1)
            last = m - int(sizes[side])
            next_best, worst_taken = np.partition(offers, [last - 1, last])[last - 1 : last + 1]
            prices[side] = (next_best + worst_taken) / 2.0
            net[:, side] = values[:, side] - prices[side]
    return prices


def _moving_costs(values: Array, labels: NDArray[np.int8]) -> Array:
    """What the sum of values loses by the cheapest row that moves from one side to another."""
    costs = np.full((values.shape[1], values.shape[1]), np.inf)
    for side in np.unique(labels):
        rows = values[labels == side]
        costs[side] = (rows[:, [side]] - rows).min(axis=0)
    return costs


def _reduced(costs: Array, prices: Array) -> sparse.csr_array:
    """Costs less what the prices say, as a graph of the sides; never negative."""
    less = np.maximum(costs - (prices[:, None] - prices), 0.0)
    return csgraph.csgraph_from_dense(less, null_value=np.inf)
