"""Left-out groups and the rest: what a partition is worth, and what each row on each side.

With groups ``A_1 .. A_g``, the rest ``B`` and the shared components of the whole table, a partition
is worth the mean of ``loss(A_j) - loss(B)``. For components held fixed that is a sum over rows: of
``a_ij / (g k_j)`` for a row in group ``j``, where ``a_ij`` is what it adds to that group's total
loss, and of ``-b_i / (m - sum of k)`` for a row in the rest.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from leftout.linalg.losses import Array
from leftout.linalg.moments import without
from leftout.linalg.problem import Labels, Problem


@dataclass(frozen=True)
class Partition:
    """The rest (0) and some groups (from 1), with the losses and the components of each."""

    labels: Labels
    losses: Array
    own: Array  # (sides, d, n)

    @classmethod
    def of(
        cls, problem: Problem, labels: Labels, n_sides: int, own: Array | None = None
    ) -> Partition:
        """Losses and components, if these are not known already."""
        return cls(labels, *problem.losses(labels, own, n_sides))

    @property
    def disparities(self) -> Array:
        """Each group's loss minus the rest's."""
        return self.losses[1:] - self.losses[0]

    @property
    def value(self) -> float:
        """The mean of the groups' losses minus the rest's: what a search raises."""
        return float(self.losses[1:].mean() - self.losses[0])

    @property
    def total(self) -> float:
        """What all groups together lose beyond the rest: disparities weighted by sizes."""
        return float(self.sizes[1:] @ self.disparities)

    @cached_property
    def sizes(self) -> NDArray[np.intp]:
        return np.bincount(self.labels, minlength=len(self.losses))

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
    """What a unit of loss counts on each side: ``-1 / (m - sum k)`` and ``1 / (g k_j)``."""
    counts = np.asarray(sizes, dtype=np.float64)
    return np.concatenate([[-1.0 / counts[0]], 1.0 / ((len(counts) - 1) * counts[1:])])


def among(problem: Problem, left: NDArray[np.bool_], size: int | None) -> Problem:
    """The search for one group among the rows that are left, under the shared components."""
    pooled = without(problem.pooled, problem.moments_of(~left))
    kept = problem.kept_of(left)
    return replace(problem, X=problem.X[left], kept=kept, pooled=pooled, group_size=size)
