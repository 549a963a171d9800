"""Left-out groups that were found on some rows, as a rule for any row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from leftout.groups.problem_setup import SearchProblem
from leftout.linalg.assignment import assign
from leftout.linalg.losses import Array, Loss
from leftout.linalg.partition import Partition, row_values, side_weights
from leftout.linalg.problem import Labels, Problem
from leftout.representation.base import Representation


class GroupRule(NamedTuple):
    """What is shared, the components of the rest and of each group, and where a group begins.

    With ``a_j`` and ``b`` what a row adds to the loss of group ``j`` and of the rest under their
    components, of ``g`` groups of ``k_j`` rows and a rest of ``r``, its score for the group is
    ``a_j + g k_j / r b``: what the mean disparity gains from its being there rather than in the
    rest, times ``g k_j``. It belongs to the group whose offset its score exceeds by most in units
    of ``g k_j``, or to the rest.
    """

    loss: Loss
    shared: Representation
    own: Array  # (sides, d, n), the rest first
    sizes: NDArray[np.intp]  # of all sides
    offsets: Array  # of each group

    @classmethod
    def of(cls, posed: SearchProblem, found: Partition) -> GroupRule:
        """Of a partition that a search has found."""
        return cls(
            loss=posed.problem.loss,
            shared=posed.representation,
            own=np.stack([posed.table.in_columns(W) for W in found.own]),
            sizes=found.sizes,
            offsets=score_offsets(posed.problem, found.own, found.sizes),
        )

    def row_losses(self, X: Array) -> Array:
        """What rows would add to the loss of each side: (sides, rows)."""
        return self.shared.row_losses(self.loss, X, self.own)

    def scores(self, losses: Array) -> Array:
        """How far rows lean to each group, from such losses: (groups, rows)."""
        return losses[1:] + (_units(self.sizes) / self.sizes[0])[:, None] * losses[0]

    def predict(self, losses: Array) -> NDArray[np.intp]:
        """The side of each row, whatever sizes that makes."""
        beyond = (self.scores(losses) - self.offsets[:, None]) / _units(self.sizes)[:, None]
        return np.argmax(np.vstack([np.zeros(losses.shape[1]), beyond]), axis=0)

    def highest(self, losses: Array, sizes: Sequence[int]) -> Labels:
        """The side of each row where groups have these sizes: the rows of the highest scores."""
        if len(sizes) > 1:
            every = [losses.shape[1] - sum(sizes), *sizes]
            return assign(losses.T * side_weights(every), every).labels
        labels = np.zeros(losses.shape[1], dtype=np.int8)
        labels[np.argsort(-self.scores(losses)[0], kind="stable")[: sizes[0]]] = 1
        return labels


def score_offsets(problem: Problem, own: Array, sizes: NDArray[np.intp]) -> Array:
    """What a row's score must exceed, group by group: half-way between the last in and the next.

    Of several groups these are the prices of their places (:mod:`leftout.linalg.assignment`).
    """
    if len(sizes) == 2:
        size = int(sizes[1])
        ranked = problem.rank(own, size).scores
        return np.array([(ranked[size - 1] + ranked[size]) / 2.0])
    prices = assign(row_values(problem, own, sizes.tolist()), sizes.tolist()).prices
    return prices[1:] * _units(sizes)


def _units(sizes: NDArray[np.intp]) -> Array:
    return (len(sizes) - 1) * sizes[1:].astype(np.float64)
