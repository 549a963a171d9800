"""Many features: solve inside the span of a few directions, and prove it for all of them.

A projection inside a subspace is a projection, so a solution there is feasible; whether it is
optimal, the full dual at its weights decides. There are two ways to choose the directions.

:func:`solve` takes the eigenspaces seen so far. If they are not enough, the eigenvectors found at
the solution's weights join them, and the dual is exact at one more point: each round about squares
the error.

:func:`follow` knows all eigenpairs at one weight of two groups, and with them how the leading
eigenspace turns with the weight: as the graph of ``X(t)`` over itself, with
``X = t X_1 + t^2 X_2 + ...`` from the equation of invariant subspaces

    L_2 X - X L_1 + t (T_21 + T_22 X - X T_11 - X T_12 X) = 0,

``T`` the difference of the groups' second moments in the eigenbasis. The eigenspace and the first
two terms hold a solution so near that the terms at its weight, one decomposition later, usually
hold the optimum to the last digit.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from leftout.core.losses import Array
from leftout.fair import many, pair
from leftout.fair.objective import ROUNDING, Answer, Leading, Objective, leading, majorised

_MOST_ROUNDS, _MOST_FOLLOWED = 20, 4
# The subspace pays off up to this part of all features; more groups take more decompositions.
_PART, _PART_OF_MANY = 0.35, 0.6
# The first round only has to find the neighbourhood; from such a gap the next is likely the last.
_COARSE, _COARSE_FOLLOWED, _NEAR = 1e-5, 1e-4, 1e-3
# A proof without new eigenpairs may cost this many times the tolerance.
_ROOM = 10.0
# Eigenvectors beyond d, in case they cross; and the terms, the eigenspace itself one of them.
_BEYOND, _TERMS = 2, 3
# Measured on one core: terms pay off above the first number of features, up to this part of them
# in the span; above the second number, not for less than one component to 25 features.
_SMALL, _PART_OF_TERMS, _LARGE, _VERY_FEW = 64, 0.55, 128, 25
_TINY = 1e-13


class Span:
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

    def in_features(self, found: Answer, columns: int) -> tuple[Answer, Leading]:
        """The answer with what all features prove at its weights, and the eigenpairs there."""
        pairs = leading(self.objective.mix(found.weights), columns)
        bound = self.objective.bound(found.weights, pairs.values)
        return found._replace(V=found.V @ self.B.T, bound=bound), pairs

    def prove(self, found: Answer, tol: float) -> Answer | None:
        """The answer in features, if the span's own eigenpairs prove it without new ones."""
        objective, d = self.objective, self.objective.d
        values, turn = leading(self.small.mix(found.weights), d)
        ritz = Leading(values[:d], self.B @ turn[:, :d])
        slack = max(_ROOM * tol * abs(float(found.losses.max())), ROUNDING * objective.scale) / d
        if not majorised(objective.mix(found.weights), ritz, values[d - 1], slack):
            return None
        bound = objective.bound(found.weights, values) - d * slack
        return found._replace(V=found.V @ self.B.T, bound=bound)


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
    k, n = objective.second.shape[:2]
    columns = width(objective.d, k)
    if columns * len(seen) > (_PART if k == 2 else _PART_OF_MANY) * n:
        return _inside(objective, seen, tol)
    span = Span(objective, np.hstack([one.pairs.vectors[:, :columns] for one in seen]))
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
        gap, seen = answer.gap, [*seen, Seen.at(objective, found.weights, pairs)]
        if span.B.shape[1] + columns > n:
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


def follows(n: int, d: int) -> bool:
    """Whether :func:`follow` is the faster way for two groups."""
    quickly_found = n > _LARGE and _VERY_FEW * (d + _BEYOND) <= n
    return n > _SMALL and _TERMS * (d + _BEYOND) <= _PART_OF_TERMS * n and not quickly_found


def follow(objective: Objective, w: float, pairs: Leading, tol: float) -> Answer | None:
    """The best projection, from all eigenpairs at the weight ``w``; None if it stays unproved."""
    points: list[pair.Point] = []
    for round in range(_MOST_FOLLOWED):
        points.append(pair.look(objective, w, pairs))
        span = Span(objective, _terms(objective, pairs))
        found = _ahead(span, points, tol if round else max(tol, _COARSE_FOLLOWED))
        proved = span.prove(found, tol) if round else None
        if proved is not None:
            return proved
        answer, pairs = span.in_features(found, len(pairs.values))
        if answer.enough(tol, objective.scale):
            return answer
        w = float(found.weights[0])
    return None


def _ahead(span: Span, known: list[pair.Point], tol: float) -> Answer:
    """Solve between the last weight, whose eigenspace is in the span, and the nearest beyond."""
    last = known[-1]._replace(V=known[-1].V @ span.B)
    if last.slope > 0.0:
        beyond = min((point.w for point in known if point.slope <= 0.0), default=1.0)
    else:
        beyond = max((point.w for point in known if point.slope > 0.0), default=0.0)
    points = [last, pair.look(span.small, beyond)]
    if (points[0].slope > 0.0) == (points[1].slope > 0.0):  # the span knows less than the features
        points += [pair.look(span.small, w) for w in (0.0, 1.0)]
    return pair.solve(span.small, points, tol)


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
