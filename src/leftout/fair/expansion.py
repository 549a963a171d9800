"""Two groups, whole eigendecompositions: solve inside the way the eigenspace goes.

All eigenpairs at one weight say how the leading eigenspace turns with the weight: as the graph of
``X(t)`` over itself, with ``X = t X_1 + t^2 X_2 + ...`` from the equation of invariant subspaces

    L_2 X - X L_1 + t (T_21 + T_22 X - X T_11 - X T_12 X) = 0,

``T`` the difference of the groups' second moments in the eigenbasis. Inside the span of the
eigenspace and of the first two terms the problem is small, and its solution so near that the terms
at its weight, with one more decomposition, usually find the optimum to the last digit.
"""

from __future__ import annotations

import numpy as np

from leftout.core.losses import Array
from leftout.fair import pair
from leftout.fair.leading import Leading, leading
from leftout.fair.objective import Answer, Objective
from leftout.fair.span import Span

_MOST_ROUNDS = 4
# Eigenvectors beyond d, in case they cross; and the terms, the eigenspace itself one of them.
_BEYOND, _TERMS = 2, 3
# The first round only has to find the neighbourhood.
_COARSE = 1e-4
# Below so many features, or with a larger part of them in the span, a direct search is faster.
_SMALL, _PART = 64, 0.55
_TINY = 1e-13


def pays(n: int, d: int) -> bool:
    """Whether the span is small enough to pay off."""
    return n > _SMALL and _TERMS * (d + _BEYOND) <= _PART * n


def solve(objective: Objective, w: float, pairs: Leading, tol: float) -> Answer | None:
    """The best projection, from all eigenpairs at the weight ``w``; None if it stays unproved."""
    n = len(objective.second[0])
    points: list[pair.Point] = []
    for round in range(_MOST_ROUNDS):
        points.append(pair.look(objective, w, pairs))
        span = Span(objective, _terms(objective, pairs))
        found = _inside(span.small, points, span.B, tol if round else max(tol, _COARSE))
        proved = span.prove(found, tol) if round else None
        if proved is not None:
            return proved
        w = float(found.weights[0])
        pairs = leading(objective.mix(found.weights), n)
        bound = objective.bound(found.weights, pairs.values)
        answer = found._replace(V=found.V @ span.B.T, bound=bound)
        if answer.enough(tol, objective.scale):
            return answer
    return None


def _inside(objective: Objective, known: list[pair.Point], B: Array, tol: float) -> Answer:
    """Solve between the last weight, whose eigenspace is in the span, and the nearest beyond."""
    last = known[-1]._replace(V=known[-1].V @ B)
    if last.slope > 0.0:
        beyond = min((point.w for point in known if point.slope <= 0.0), default=1.0)
    else:
        beyond = max((point.w for point in known if point.slope > 0.0), default=0.0)
    points = [last, pair.look(objective, beyond)]
    if (points[0].slope > 0.0) == (points[1].slope > 0.0):  # the span knows less than the features
        points += [pair.look(objective, w) for w in (0.0, 1.0)]
    return pair.solve(objective, points, tol)


def _terms(objective: Objective, pairs: Leading) -> Array:
    """The eigenspace and how it turns, side by side."""
    count = objective.d + _BEYOND
    values, V = pairs
    one, two = V[:, :count], V[:, count:]
    D = objective.second[0] - objective.second[1]
    gaps = values[None, :count] - values[count:, None]
    rate = np.divide(1.0, gaps, out=np.zeros_like(gaps), where=gaps > _TINY * values[0])
    D_one = D @ one
    X_1 = rate * (two.T @ D_one)
    first = two @ X_1
    X_2 = rate * (two.T @ (D @ first) - X_1 @ (one.T @ D_one))
    # directions matter, lengths do not: of the same length they lose no digits to each other
    parts = [part / (np.linalg.norm(part) or 1.0) for part in (first, two @ X_2)]
    return np.hstack([one, *parts])
