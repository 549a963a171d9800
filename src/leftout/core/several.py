"""Several left-out groups: what their partition is worth, and what each row is worth on each side.

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

from leftout.core.losses import Array, top_components_of_rows
from leftout.core.moments import Moments, stack, without
from leftout.core.problem import Labels, Problem


@dataclass(frozen=True)
class Sides:
    """A partition into the rest (0) and some groups (from 1), with the components of each."""

    labels: Labels
    losses: Array
    own: Array  # (sides, d, n)

    @classmethod
    def of(cls, problem: Problem, labels: Labels, n_sides: int) -> Sides:
        """Measured from moments or, on wide tables, from the rows of each side: these are few."""
        if problem.leading is None:
            losses, own = problem.losses_of(split(problem, labels, n_sides))
            return cls(labels, losses, own)
        rows = [np.flatnonzero(labels == side) for side in range(n_sides)]
        own = np.stack([top_components_of_rows(problem.rows(side), problem.d) for side in rows])
        each = [problem.row_losses(own[[side]], index)[0].mean() for side, index in enumerate(rows)]
        return cls(labels, np.array(each), own)

    @property
    def value(self) -> float:
        """The mean of the groups' losses minus the rest's: what a search raises."""
        return worth(self.losses)

    @property
    def total(self) -> float:
        """What all groups together lose beyond the rest: disparities weighted by sizes."""
        return float(self.sizes[1:] @ (self.losses[1:] - self.losses[0]))

    @cached_property
    def sizes(self) -> NDArray[np.intp]:
        return np.bincount(self.labels, minlength=len(self.losses))

    def by_falling_loss(self) -> Sides:
        """The same partition with its groups in the order of their losses, the largest first."""
        order = np.concatenate([[0], 1 + np.argsort(-self.losses[1:], kind="stable")])
        place = np.empty(len(order), dtype=np.int8)
        place[order] = np.arange(len(order))
        return Sides(place[self.labels], self.losses[order], self.own[order])


def worth(losses: Array) -> float:
    """The mean of the groups' disparities to the rest, which comes first."""
    return float(losses[1:].mean() - losses[0])


def split(problem: Problem, labels: Labels, n_sides: int) -> Moments:
    """Moments of the rest and of each group; the rest is what the groups leave."""
    groups = [problem.moments_of(labels == side) for side in range(1, n_sides)]
    rest = problem.pooled
    for group in groups:
        rest = without(rest, group)
    return stack(rest, *groups)


def row_values(problem: Problem, own: Array, sizes: Sequence[int]) -> Array:
    """What each row is worth on each side while components stay as they are: (rows, sides)."""
    weights = side_weights(sizes)
    return problem.row_losses(own).T * weights


def side_weights(sizes: Sequence[int]) -> Array:
    """What a unit of loss counts on each side: ``-1 / (m - sum k)`` and ``1 / (g k_j)``."""
    counts = np.asarray(sizes, dtype=np.float64)
    return np.concatenate([[-1.0 / counts[0]], 1.0 / ((len(counts) - 1) * counts[1:])])


def among(problem: Problem, left: NDArray[np.bool_], size: int | None) -> Problem:
    """The search for one group among the rows that are left, under the shared components."""
    pooled = without(problem.pooled, problem.moments_of(~left))
    kept = problem.kept_of(left)
    return replace(problem, X=problem.X[left], kept=kept, pooled=pooled, group_size=size)
