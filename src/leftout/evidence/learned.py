"""A group that was found on some rows, as a rule for any row."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from leftout.core.losses import Array, Loss
from leftout.evidence.chance import Task, search_sizes
from leftout.representation.base import Representation
from leftout.solvers import Alternating, Means, Solver

# Climbs of each of the many searches, on the table, its parts and comparison tables alike. Of a
# profile at a single size they are a seventh of the starts.
_CLIMBS = 40
_STARTS = 7 * _CLIMBS
# Searches of larger tables climb on parts of so many rows, and which of them ends best shows only
# on the whole. One alone varies as much as comparison tables do (adult: from 0.651 to 0.661, where
# comparison tables have 0.643 and vary by 0.007), four hardly do (0.664 to 0.666).
_PART, _PARTS = 8192, 4


def searching(task: Task) -> Task:
    """The same task with the effort of a search that is repeated many times."""
    if isinstance(task.solver, Alternating) and task.solver.n_starts is None:
        starts = _STARTS * (_PARTS if len(task.X) > _PART else 1)
        return replace(task, solver=replace(task.solver, n_starts=starts))
    return task


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


class Learned(NamedTuple):
    """What is shared, the components of rest and group, and the score from which a row is left out.

    Scores are those of :meth:`leftout.core.problem.Problem.scores`.
    """

    loss: Loss
    shared: Representation
    own: Array  # (2, d, n): of the rest and of the group
    weight: float  # of a row's loss with the rest in its score
    cut: float

    def row_losses(self, X: Array) -> Array:
        """What rows would add to the loss of the rest and of the group, (2, rows)."""
        return self.shared.row_losses(self.loss, X, self.own)

    def left_out(self, losses: Array) -> NDArray[np.bool_]:
        """Which rows belong to the group, by what they add to the losses."""
        return self._scores(losses) > self.cut

    def highest(self, losses: Array, size: int) -> NDArray[np.bool_]:
        """The ``size`` rows that belong to it most."""
        chosen = np.zeros(losses.shape[1], dtype=bool)
        chosen[np.argsort(-self._scores(losses), kind="stable")[:size]] = True
        return chosen

    def _scores(self, losses: Array) -> Array:
        rest, group = losses
        return group + self.weight * rest


def learn(task: Task, X: Array, size: int, rng: np.random.Generator) -> Learned:
    """Search rows for a group of ``size``; refuses rows with too few dimensions."""
    posed = task.pose(X)
    problem, table = posed.problem, posed.table
    (found,) = search_sizes(task.solver, problem, [size], Means(rng=rng))
    own = problem.losses(found.labels)[1] if found.own is None else found.own
    scores = problem.rank(own, size).scores
    return Learned(
        loss=problem.loss,
        shared=posed.representation,
        own=np.stack([table.in_columns(W) for W in own]),
        weight=size / (len(X) - size),
        cut=float(scores[size - 1] + scores[size]) / 2.0,
    )
