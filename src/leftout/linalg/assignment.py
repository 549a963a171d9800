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

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

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

    @classmethod
    def of(
        cls,
        problem: Problem,
        labels: Labels,
        n_sides: int = 2,
        own: Array | None = None,
        before: Partition | None = None,
    ) -> Partition:
        """Losses, and components if these are not known; a step from the partition ``before``."""
        found = cls(labels, *problem.losses(labels, own, n_sides))
        moved = int(np.sum(labels != (0 if before is None else before.labels)))
        return replace(found, trail=(*(before.trail if before else ()), (found.value, moved)))

    @property
    def disparities(self) -> Array:
        """Each group's loss minus the rest's."""
        return self.losses[1:] - self.losses[0]

    @property
    def value(self) -> float:
        """The mean of the disparities, weighted by the groups' sizes: what a search raises."""
        return float(mean_disparity(self.losses, self.sizes.astype(np.float64)))

    @cached_property
    def sizes(self) -> NDArray[np.intp]:
        return np.bincount(self.labels, minlength=len(self.losses))

    @property
    def size(self) -> int:
        """Rows of the first group, which may be the only one."""
        return int(self.sizes[1])

    def reordered(self, order: Sequence[int] | NDArray[np.intp]) -> Partition:
        """The partition with its sides in another order."""
        place = np.argsort(order).astype(np.int8)
        return Partition(place[self.labels], self.losses[order], self.own[order])

    def by_falling_loss(self) -> Partition:
        """The groups in the order of their losses, the largest first."""
        return self.reordered(
            np.concatenate([[0], 1 + np.argsort(-self.losses[1:], kind="stable")])
        )


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
    """The assignment with the largest sum of values; ties go by index.

    Parameters
    ----------
    values : array of shape (m, sides)
    sizes : sequence of int
        Rows of each side, from 1; they add up to ``m``.
    prices : array of shape (sides,), optional
        Where to start from; the answer is as good from anywhere.

    Notes
    -----
    The prices returned lie in the middle of those that are right: a row of values unseen goes to
    the side where its value less the price is largest.

    Examples
    --------
    >>> labels, prices = assign(np.array([[0.0, 3.0], [0.0, 2.0], [0.0, -1.0]]), [2, 1])
    >>> labels.tolist(), prices.tolist()
    ([1, 0, 0], [0.0, 2.5])
    """
    wanted = np.asarray(sizes, dtype=np.intp)
    p = _fitted(values, wanted, np.zeros(len(wanted)) if prices is None else prices.copy())
    labels = np.argmax(values - p, axis=1).astype(np.int8)
    moving = _Moving(values, labels, p)
    moving.settle(wanted)
    return Assignment(labels, moving.middle_prices())


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


class _Moving:
    """An assignment that is best for the sizes it has, moved to other sizes."""

    def __init__(self, values: Array, labels: NDArray[np.int8], prices: Array) -> None:
        self.values, self.labels, self.prices = values, labels, prices
        self.sides = values.shape[1]
        # what the sum of values loses by the cheapest row that moves from one side to another
        self.costs = np.full((self.sides, self.sides), np.inf)
        self.rows: list[NDArray[np.intp]] = [np.empty(0, dtype=np.intp)] * self.sides
        for side in range(self.sides):
            self._look(side)

    def _look(self, side: int) -> None:
        self.rows[side] = rows = np.flatnonzero(self.labels == side)
        if len(rows):
            values = self.values[rows]
            self.costs[side] = (values[:, [side]] - values).min(axis=0)
        else:
            self.costs[side] = np.inf

    def reduced(self) -> sparse.csr_array:
        """Costs less what the prices say, as a graph of the sides; never negative."""
        costs = np.maximum(self.costs - (self.prices[:, None] - self.prices), 0.0)
        return csgraph.csgraph_from_dense(costs, null_value=np.inf)

    def settle(self, sizes: NDArray[np.intp]) -> None:
        """Move rows along cheapest paths until each side has its size."""
        while True:
            excess = np.bincount(self.labels, minlength=self.sides) - sizes
            if not excess.any():
                return
            source = int(np.argmax(excess > 0))
            lengths, before = self._nearest(source)
            lacking = np.flatnonzero(excess < 0)
            target = int(lacking[np.argmin(lengths[lacking])])
            self.prices = self.prices - np.minimum(lengths, lengths[target])
            path = [target]
            while path[-1] != source:
                path.append(int(before[path[-1]]))
            steps = list(zip(path[:0:-1], path[-2::-1], strict=True))
            movers = [self._cheapest(*step) for step in steps]
            count = min(excess[source], -excess[target], *(len(rows) for rows in movers))
            for (_, to), rows in zip(steps, movers, strict=True):
                self.labels[rows[:count]] = to
            for side in path:
                self._look(side)

    def _nearest(self, source: int) -> tuple[Array, NDArray[np.intp]]:
        """Shortest paths from a side: their lengths, and the side before each."""
        lengths, before = csgraph.dijkstra(self.reduced(), indices=source, return_predecessors=True)
        return lengths, before

    def _cheapest(self, side: int, to: int) -> NDArray[np.intp]:
        """The rows of a side that move to another at the least cost."""
        rows = self.rows[side]
        return rows[self.values[rows, side] - self.values[rows, to] <= self.costs[side, to]]

    def middle_prices(self) -> Array:
        """Half-way between the highest and the lowest prices that keep every row in its place.

        Prices are right where no ``p_a - p_b`` exceeds the cost of moving from ``a`` to ``b``: the
        highest are the lengths of shortest paths to the first side, the lowest those from it.
        """
        lengths = csgraph.floyd_warshall(self.reduced())
        return self.prices - self.prices[0] + (lengths[:, 0] - lengths[0]) / 2.0
