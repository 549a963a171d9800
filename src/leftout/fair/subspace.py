"""Many features: solve inside the span of a few directions, and prove it for all of them.

A projection inside a subspace is a projection, so a solution there is feasible; whether it is
optimal, the full dual at its weights decides. The directions are the eigenspaces seen so far; if
they are not enough, the eigenvectors found at the solution's weights join them, and the dual is
exact at one more point: each round about squares the error.
"""

from typing import NamedTuple

import numpy as np

from leftout.fair import many, pair
from leftout.fair.objective import (
    EIGENVALUE_ROUNDING,
    FairAnswer,
    Leading,
    Objective,
    leading,
    majorised,
)
from leftout.linalg.losses import Array

_MOST_ROUNDS = 20
# Measured on one core: for two groups the subspace pays off above this number of features, and up
# to this part of them; more groups take more decompositions.
_SMALL, _PART, _PART_OF_MANY = 128, 0.3, 0.6
# The first round only has to find the neighbourhood; from such a gap the next is likely the last.
_COARSE, _NEAR = 1e-5, 1e-3
# A proof without new eigenpairs may cost this many times the tolerance.
_ROOM = 10.0


class Subspace:
    """An orthonormal basis ``B`` of some directions, and the problem inside their span."""

    def __init__(self, objective: Objective, directions: Array) -> None:
        self.objective = objective
        self.B = np.linalg.qr(directions)[0]
        self.small = objective.within(self.B)

    def add(self, directions: Array) -> None:
        """Take in more directions; what is known of the others stays."""
        for _ in range(2):  # once more for the digits that the first time loses
            directions = np.linalg.qr(directions - self.B @ (self.B.T @ directions))[0]
        SN = [S @ directions for S in self.objective.second]
        self.small = self.small._replace(second=np.stack([
            np.block([[old, self.B.T @ new], [new.T @ self.B, directions.T @ new]])
            for old, new in zip(self.small.second, SN, strict=True)
        ]))  # fmt: skip
        self.B = np.hstack([self.B, directions])

    def in_features(self, found: FairAnswer, columns: int) -> tuple[FairAnswer, Leading]:
        """The answer with what all features prove at its weights, and the eigenpairs there."""
        pairs = leading(self.objective.mix(found.weights), columns)
        bound = self.objective.bound(found.weights, pairs.values)
        return found._replace(V=found.V @ self.B.T, bound=bound), pairs

    def prove(self, found: FairAnswer, tol: float) -> FairAnswer | None:
        """The answer in features, if the span's own eigenpairs prove it without new ones."""
        objective, d = self.objective, self.objective.d
        values, turn = leading(self.small.mix(found.weights), d)
        ritz = Leading(values[:d], self.B @ turn[:, :d])
        slack = (
            max(_ROOM * tol * abs(float(found.losses.max())), EIGENVALUE_ROUNDING * objective.scale)
            / d
        )
        if not majorised(objective.mix(found.weights), ritz, values[d - 1], slack):
            return None
        bound = objective.bound(found.weights, values) - d * slack
        return found._replace(V=found.V @ self.B.T, bound=bound)


class Seen(NamedTuple):
    """Leading eigenpairs of the groups' second moments at some weights."""

    weights: Array
    pairs: Leading


def width(d: int, k: int) -> int:
    """How many eigenvectors are worth having: those that may tie at the optimum, and two more."""
    return d + int(np.floor(np.sqrt(2.0 * k + 0.25) - 1.5)) + 2


def solve(objective: Objective, seen: list[Seen], tol: float) -> FairAnswer:
    """The best answer; ``seen`` are the eigenpairs at each group's own and some common weights."""
    k, n = objective.second.shape[:2]
    columns = width(objective.d, k)
    part = _PART_OF_MANY if k > 2 else _PART * (n > _SMALL)
    if columns * len(seen) > part * n:
        return _inside(objective, seen, tol)
    span = Subspace(objective, np.hstack([one.pairs.vectors[:, :columns] for one in seen]))
    gap = np.inf
    for round in range(_MOST_ROUNDS):
        found = _inside(span.small, seen, tol if round else max(tol, _COARSE), span.B)
        near = gap <= _NEAR * abs(float(found.losses.max()))
        proved = span.prove(found, tol) if near else None
        if proved is not None:
            return proved
        answer, pairs = span.in_features(found, columns)
        if answer.enough(tol, objective.scale):
            return answer
        gap, seen = answer.gap, [*seen, Seen(found.weights, pairs)]
        if span.B.shape[1] + columns > n:
            break
        span.add(pairs.vectors[:, :columns])
    return _inside(objective, seen, tol)


def _inside(
    objective: Objective, seen: list[Seen], tol: float, B: Array | None = None
) -> FairAnswer:
    """The best answer in the coordinates of ``B``, or in the features where there is none."""
    if len(seen[0].weights) > 2:
        best = max(seen, key=lambda one: objective.bound(one.weights, one.pairs.values))
        return many.solve(objective, best.weights, tol)
    return pair.solve(objective, [_point(objective, one, B) for one in seen], tol)


def _point(objective: Objective, one: Seen, B: Array | None) -> pair.Point:
    """What is known of two groups' dual there; its curve only if all eigenpairs are."""
    w, (values, vectors) = float(one.weights[0]), one.pairs
    if B is None and len(values) == len(vectors):
        return pair.look(objective, w, one.pairs)
    V = vectors[:, : objective.d] if B is None else B.T @ vectors[:, : objective.d]
    slope, _ = pair.slope(objective, V)
    return pair.Point(w, objective.bound(one.weights, values), slope, np.nan, V.T)
