"""Two groups: the dual is a concave function of one weight.

Its slope is the difference of the losses, so its maximum is where they are equal. The slope falls
smoothly except where the d-th and the (d+1)-th eigenvalue cross: there it jumps, and the answer is
a mixture of the two subspaces on either side of the jump.
"""

from operator import attrgetter
from typing import NamedTuple

import numpy as np

from leftout.fair.objective import (
    EIGENVALUE_ROUNDING,
    FairAnswer,
    Leading,
    Objective,
    leading,
    projection,
    root,
)
from leftout.linalg.losses import Array

_MOST_STEPS = 100
_value, _weight = attrgetter("value"), attrgetter("w")
_EPS = float(np.finfo(float).eps)


class Point(NamedTuple):
    """The dual at one weight ``w`` of the first group."""

    w: float
    value: float
    slope: float  # loss of the first group minus loss of the second
    curve: float  # derivative of the slope; nan where unknown, infinite where eigenvalues tie
    V: Array

    @property
    def weights(self) -> Array:
        return np.array([self.w, 1.0 - self.w])


def slope(objective: Objective, V: Array) -> tuple[float, Array]:
    """Difference of the losses under the columns of ``V``, and ``D V``."""
    DV = (objective.second[0] - objective.second[1]) @ V
    return float(objective.best[0] - objective.best[1] - np.sum(DV * V)), DV


def look(objective: Objective, w: float, pairs: Leading | None = None) -> Point:
    """Evaluate the dual: one eigendecomposition, unless all eigenpairs are known already.

    With ``D`` the difference of the second moments, the second derivative of the sum of the top
    eigenvalues is ``2 sum |v_i' D v_j|^2 / (l_i - l_j)`` over kept ``i`` and dropped ``j``.
    """
    d = objective.d
    weights = np.array([w, 1.0 - w])
    values, vectors = pairs or leading(objective.mix(weights), len(objective.second[0]))
    V, dropped = vectors[:, :d], vectors[:, d:]
    slope_here, DV = slope(objective, V)
    coupling = dropped.T @ DV
    coupling *= coupling
    with np.errstate(divide="ignore", invalid="ignore"):
        coupling /= values[None, :d] - values[d:, None]
    value = objective.bound(weights, values)
    return Point(w, value, slope_here, -2.0 * float(coupling.sum()), V.T)


def solve(objective: Objective, points: list[Point], tol: float) -> FairAnswer:
    """The projection of ``d`` dimensions whose larger loss is smallest.

    ``points`` hold the answer's weight between them. Keeps a bracket of two, between which the
    slope changes sign, and stops when the mixture of their subspaces that makes the losses equal
    is proved good enough.
    """
    rising = [point for point in points if point.slope > 0.0]
    falling = [point for point in points if point.slope <= 0.0]
    if not rising or not falling:  # even its own best projection leaves a group the larger loss
        end = min(points, key=_weight) if falling else max(points, key=_weight)
        return projection(objective, end.V, end.weights, end.value)
    left, right = max(rising, key=_weight), min(falling, key=_weight)
    best, widths = max(points, key=_value), [right.w - left.w]
    for _ in range(_MOST_STEPS):
        slow = len(widths) > 3 and widths[-1] > 0.5 * widths[-4]
        w = 0.5 * (left.w + right.w) if slow else _next(left, right)
        if not left.w < w < right.w:
            break
        point = look(objective, w)
        best = max(best, point, key=_value)
        left, right = (point, right) if point.slope > 0.0 else (left, point)
        widths.append(right.w - left.w)
        if _promising(left, right, best, tol, objective.scale):
            answer = _mixture(objective, left, right, best)
            if answer.enough(tol, objective.scale):
                return answer
    return _mixture(objective, left, right, best)


def _mixture(objective: Objective, left: Point, right: Point, best: Point) -> FairAnswer:
    V = between(objective, left.V, right.V)
    return projection(objective, V, best.weights, best.value)


def _promising(left: Point, right: Point, best: Point, tol: float, scale: float) -> bool:
    """Whether the dual can hardly rise: by its tangents, or by its curvature at the best point."""
    w = _tangents(left, right)
    rise = left.value + left.slope * (w - left.w) - best.value
    if best.curve < 0.0:
        rise = min(rise, best.slope**2 / -best.curve)
    return rise <= 10.0 * max(tol * abs(best.value), EIGENVALUE_ROUNDING * scale)


def _next(left: Point, right: Point) -> float:
    """Where the slope should vanish: by its smooth model, or at the jump that it cannot explain."""
    width, drop = right.w - left.w, right.slope - left.slope
    curves = [drop / width if np.isnan(end.curve) else end.curve for end in (left, right)]
    smooth = 0.5 * sum(curves) * width
    if abs(drop - smooth) < 0.5 * abs(drop):
        return left.w + width * _root(left, right, width, *curves)
    return _tangents(left, right)


def _tangents(left: Point, right: Point) -> float:
    """Where the tangents at two points meet."""
    rise = (right.value - left.value) - (right.slope * right.w - left.slope * left.w)
    return rise / (left.slope - right.slope)


def _root(left: Point, right: Point, width: float, left_curve: float, right_curve: float) -> float:
    """Root in [0, 1] of the quartic with the slopes, their derivatives, and the right integral."""
    a, b, a1, b1 = left.slope, right.slope, width * left_curve, width * right_curve
    cubic = 2.0 * (a - b) + a1 + b1
    square = 3.0 * (b - a) - 2.0 * a1 - b1
    area = 0.5 * (a + b) + (a1 - b1) / 12.0
    bubble = 30.0 * ((right.value - left.value) / width - area)

    def model(t: float) -> float:
        return a + t * (a1 + t * (square + t * cubic)) + bubble * (t * (1.0 - t)) ** 2

    if model(1.0) >= 0.0:  # rounding
        return 0.5
    return root(model, 0.0, 1.0, noise=1e-9 * min(a, -b))


def between(objective: Objective, left: Array, right: Array) -> Array:
    """The subspace with equal losses on the shortest way from one subspace to another.

    Along the geodesic, principal vector by principal vector turned by its share of the angle, the
    difference of the losses changes sign; in between it is zero. Two optimal subspaces at an
    eigenvalue crossing have only optimal ones between them.
    """
    turn, cosines, back = np.linalg.svd(left @ right.T)
    start = turn.T @ left
    away = back @ right - cosines[:, None] * start
    sines = np.linalg.norm(away, axis=1)
    angles = np.arctan2(sines, cosines)
    away /= np.where(sines > 0.0, sines, 1.0)[:, None]
    D = objective.second[0] - objective.second[1]
    start_D, away_D = start @ D, away @ D
    quadratics = [
        np.einsum("in,in->i", a, b)
        for a, b in ((start_D, start), (start_D, away), (away_D, away))
    ]  # fmt: skip
    head = float(objective.best[0] - objective.best[1])

    def difference(t: float) -> float:
        c, s = np.cos(t * angles), np.sin(t * angles)
        first, mixed, last = quadratics
        return head - float(np.sum(c * (c * first + 2.0 * s * mixed) + s * s * last))

    if difference(0.0) <= 0.0:
        t = 0.0
    elif difference(1.0) >= 0.0:
        t = 1.0
    else:
        t = root(difference, 0.0, 1.0, noise=_EPS * float(np.abs(quadratics).sum()))
    V = np.cos(t * angles)[:, None] * start + np.sin(t * angles)[:, None] * away
    return np.ascontiguousarray(np.linalg.qr(V.T)[0].T)
