"""Fair PCA of two groups: its dual is a concave function of one weight.

The slope is the difference of the losses, so the maximum is where they are equal. It falls smoothly
except where the d-th and the (d+1)-th eigenvalue cross: there it jumps, and the answer is a
subspace between those on either side of the jump.
"""

from __future__ import annotations

from operator import attrgetter
from typing import NamedTuple

import numpy as np

from leftout.fair.objective import (
    EIGENVALUE_ROUNDING,
    FairAnswer,
    Objective,
    Seen,
    leading,
    projection,
    root,
)
from leftout.linalg.losses import Array

# The most looks, and the slope (a share of the variance) from which an answer is tried.
_MOST_LOOKS, _FLAT = 100, 1e-7
_EPS = float(np.finfo(float).eps)


class _Point(NamedTuple):
    """The dual of two groups at one weight ``w`` of the first."""

    w: float
    value: float
    slope: float  # loss of the first group minus loss of the second
    V: Array

    @classmethod
    def of(cls, objective: Objective, seen: Seen) -> _Point:
        V = seen.pairs.components(objective.d)
        apart = -float(np.diff(objective.losses(V))[0])
        return cls(
            float(seen.weights[0]), objective.bound(seen.weights, seen.pairs.values), apart, V
        )

    @property
    def weights(self) -> Array:
        return np.array([self.w, 1.0 - self.w])


_value, _weight = attrgetter("value"), attrgetter("w")


def two_groups(objective: Objective, seen: list[Seen], tol: float) -> FairAnswer:
    """The projection of ``d`` dimensions whose larger loss is smallest.

    Keeps a bracket of two weights between which the slope changes sign, and stops when the mixture
    of their subspaces that makes the losses equal is proved good enough. The next weight is where
    the slope should vanish, by the secant (an end that stays again being counted half), or, after
    a step that met a slope as steep as before, where the tangents of the value meet.
    """
    points = [_Point.of(objective, one) for one in seen]
    rising = [point for point in points if point.slope > 0.0]
    falling = [point for point in points if point.slope <= 0.0]
    if not rising or not falling:  # even its own best projection leaves a group the larger loss
        end = min(points, key=_weight) if falling else max(points, key=_weight)
        return projection(objective, end.V, end.weights, end.value)
    left, right = max(rising, key=_weight), min(falling, key=_weight)
    best, scale = max(points, key=_value), objective.scale
    widths, jumped, last = [right.w - left.w], False, None
    stale = {True: 1.0, False: 1.0}  # of the left end, of the right
    for _ in range(_MOST_LOOKS):
        meet = _tangents(left, right)
        rise = left.value + left.slope * (meet - left.w) - best.value
        hidden = 10.0 * max(tol * abs(best.value), EIGENVALUE_ROUNDING * scale)
        if rise <= hidden or min(left.slope, -right.slope) < _FLAT * scale:
            answer = _mixture(objective, left, right, best)
            if answer.enough(tol, scale):
                return answer
        up, down = stale[True] * left.slope, -stale[False] * right.slope
        w = meet if jumped else left.w + (right.w - left.w) * up / (up + down)
        if len(widths) > 3 and widths[-1] > 0.5 * widths[-4]:
            w = 0.5 * (left.w + right.w)
        if not left.w < w < right.w:
            break
        weights = np.array([w, 1.0 - w])
        point = _Point.of(objective, Seen(weights, leading(objective.mix(weights), objective.d)))
        best = max(best, point, key=_value)
        jumped = abs(point.slope) > 0.5 * min(left.slope, -right.slope)
        side = point.slope > 0.0
        left, right = (point, right) if side else (left, point)
        stale = {side: 1.0, not side: stale[not side] * (0.5 if side is last else 1.0)}
        last = side
        widths.append(right.w - left.w)
    return _mixture(objective, left, right, best)


def _tangents(left: _Point, right: _Point) -> float:
    """Where the tangents at two points meet."""
    rise = (right.value - left.value) - (right.slope * right.w - left.slope * left.w)
    return rise / (left.slope - right.slope)


def _mixture(objective: Objective, left: _Point, right: _Point, best: _Point) -> FairAnswer:
    V = between(objective, left.V, right.V)
    return projection(objective, V, best.weights, best.value)


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
