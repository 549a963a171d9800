"""Many features: solve inside the span of the eigenspaces seen so far, prove it with a new one.

A projection inside a subspace is a projection, so a solution there is feasible; whether it is
optimal, the full dual at its weights decides. If not, the eigenvectors found there join the
subspace, in which the dual is then exact at one more point: each round about squares the error.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from leftout.core.losses import Array
from leftout.fair import many, pair
from leftout.fair.leading import Leading, leading
from leftout.fair.objective import Answer, Objective
from leftout.fair.span import Span

_MOST_ROUNDS = 20
# The subspace pays off up to this part of all features; more groups take more decompositions.
_PART, _PART_OF_MANY = 0.35, 0.6
# The first round only has to find the neighbourhood; from such a gap the next is likely the last.
_COARSE, _NEAR = 1e-5, 1e-3


class Seen(NamedTuple):
    """Leading eigenpairs of the groups' second moments at some weights."""

    weights: Array
    pairs: Leading
    slope: float  # first group's loss minus the second's

    @classmethod
    def at(cls, objective: Objective, weights: Array, pairs: Leading) -> Seen:
        return cls(weights, pairs, pair.slope(objective, pairs.vectors[:, : objective.d])[0])


def extra_rank(k: int) -> int:
    """How many dimensions beyond ``d`` the best answer for ``k`` groups may need."""
    return int(np.floor(np.sqrt(2.0 * k + 0.25) - 1.5))


def width(d: int, k: int) -> int:
    """How many eigenvectors are worth having: those that may tie at the optimum, and some more."""
    return d + extra_rank(k) + 2


def solve(objective: Objective, seen: list[Seen], tol: float) -> Answer:
    """The best answer; ``seen`` are the eigenpairs at each group's own and some common weights."""
    columns = width(objective.d, len(seen[0].weights))
    part = _PART if len(seen[0].weights) == 2 else _PART_OF_MANY
    if columns * len(seen) > part * objective.second.shape[1]:
        return _inside(objective, seen, tol)
    span = Span(objective, np.hstack([one.pairs.vectors[:, :columns] for one in seen]))
    gap = np.inf
    for round in range(_MOST_ROUNDS):
        found = _inside(span.small, seen, tol if round else max(tol, _COARSE), span.B)
        near = gap <= _NEAR * abs(float(found.losses.max()))
        proved = span.prove(found, tol) if near else None
        if proved is not None:
            return proved
        pairs = leading(objective.mix(found.weights), columns)
        bound = objective.bound(found.weights, pairs.values)
        answer = found._replace(V=found.V @ span.B.T, bound=bound)
        gap = answer.gap
        if answer.enough(tol, objective.scale):
            return answer
        seen = [*seen, Seen.at(objective, found.weights, pairs)]
        if span.B.shape[1] + columns > objective.second.shape[1]:
            break
        span.add(pairs.vectors[:, :columns])
    return _inside(objective, seen, tol)


def _inside(objective: Objective, seen: list[Seen], tol: float, B: Array | None = None) -> Answer:
    """The best answer in the coordinates of ``B``, or in the features where there is none."""
    if len(seen[0].weights) > 2:
        best = max(seen, key=lambda one: objective.bound(one.weights, one.pairs.values))
        return many.solve(objective, best.weights, tol)
    rising = [one for one in seen if one.slope > 0.0]
    falling = [one for one in seen if one.slope <= 0.0]
    ends = [max(rising, key=_first)] if rising else []
    ends += [min(falling, key=_first)] if falling else []
    return pair.solve(objective, [_point(objective, end, B) for end in ends], tol)


def _first(one: Seen) -> float:
    return float(one.weights[0])


def _point(objective: Objective, one: Seen, B: Array | None) -> pair.Point:
    """What is known of two groups' dual there; its curve only if all eigenpairs are."""
    values, vectors = one.pairs
    if B is None and len(values) == len(vectors):
        return pair.look(objective, _first(one), one.pairs)
    V = vectors[:, : objective.d].T
    value = objective.bound(one.weights, values)
    return pair.Point(_first(one), value, one.slope, np.nan, V if B is None else V @ B)
