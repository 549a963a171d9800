"""Eigenvalues under a rank-one change, by the secular equation.

Everything here works in *normal form*: the matrix ``diag(poles) + w w'`` with ``poles`` ascending.
Its eigenvalues ``mu_0 <= mu_1 <= ...`` interlace the poles and solve

    f(mu) = 1 + sum_j w_j^2 / (poles_j - mu) = 0,    poles_k <= mu_k <= poles_{k+1}.

A row that joins a group adds ``+z z'`` to its second moments, which is the normal form already; a
row that leaves adds ``-z z'``, which is the normal form of the negated matrix.

References
----------
Bunch, Nielsen, Sorensen (1978), Rank-one modification of the symmetric eigenproblem.
Gu, Eisenstat (1994), A stable and efficient algorithm for the rank-one modification of the
symmetric eigenproblem.
"""

import numpy as np
from numpy.typing import NDArray

from leftout.compiling import kernel

Array = NDArray[np.float64]

EPS = float(np.finfo(np.float64).eps)
# Sums over poles may be reordered for speed; nothing else about IEEE arithmetic is given up.
_SUMS = {"reassoc", "contract", "nsz"}
_MAX_STEPS = 80
# Convergence is quadratic: a relative step of 1e-9 leaves an error far below rounding.
_SMALL_STEP = 1e-9


@kernel(fastmath=_SUMS)
def _half(distance: Array, weights: Array, tau: float) -> tuple[float, float]:
    """Sum of ``weights / (distance - tau)`` and its slope.

    The distances come ready made: reordering may not merge ``(pole - anchor) - tau``.
    """
    total = slope = 0.0
    for j in range(distance.size):
        inverse = 1.0 / (distance[j] - tau)
        term = weights[j] * inverse
        total += term
        slope += term * inverse
    return total, slope


@kernel
def secular_root(
    poles: Array, weights: Array, reach: float, k: int, distance: Array
) -> tuple[int, float]:
    """Solve for the ``k``-th eigenvalue of ``diag(poles) + w w'``.

    ``weights`` are the squares of ``w``, none of them zero, ``reach`` is their sum, ``distance``
    working space. Returns ``(anchor, tau)``: the eigenvalue is ``poles[anchor] + tau``, measured
    from the nearer pole so that its distance to both neighbours keeps its digits. The first step
    freezes all terms of ``f`` but those of the two poles around the root; every later one replaces
    each half of ``f`` by one pole with the same value and slope. This converges quadratically and
    is kept inside a bracket: O(n) work per step, two to four steps.
    """
    last = poles.size - 1
    # The last root has no pole above it, but it cannot lie further up than the whole weight.
    gap = reach * (1.0 + 8.0 * EPS) if k == last else poles[k + 1] - poles[k]
    if not gap > 0.0:
        return k, 0.0
    anchor, low, high, tau = k, 0.0, gap, 0.5 * gap
    for j in range(poles.size):
        distance[j] = poles[j] - poles[anchor]
    # the two halves of f - 1: the poles up to the k-th, and those above it
    below, slope_below = _half(distance[: k + 1], weights[: k + 1], tau)
    above, slope_above = _half(distance[k + 1 :], weights[k + 1 :], tau)
    value = 1.0 + below + above
    if value >= 0.0:
        high = tau
    elif k == last:
        low = tau
    else:  # f rises from -inf to +inf between the poles: the root is nearer to the upper one
        anchor, low, high, tau = k + 1, -0.5 * gap, 0.0, -0.5 * gap
        for j in range(poles.size):
            distance[j] = poles[j] - poles[anchor]

    for iteration in range(_MAX_STEPS):
        left = distance[k] - tau
        s = weights[k] if iteration == 0 else slope_below * left * left
        c = value - s / left
        if k == last:
            step = left + s / c if c > 0.0 else np.inf
        else:
            right = distance[k + 1] - tau
            t = weights[k + 1] if iteration == 0 else slope_above * right * right
            c -= t / right
            # the root eta of c + s / (left - eta) + t / (right - eta), with left < 0 < right
            a = c * (left + right) + s + t
            b = left * right * c + s * right + t * left
            root = np.sqrt(max(a * a - 4.0 * b * c, 0.0))
            if a > 0.0:
                step = 2.0 * b / (a + root)
            else:
                step = (a - root) / (2.0 * c) if c != 0.0 else 0.0
        new = tau + step
        if low < new < high:
            small = abs(step) <= _SMALL_STEP * abs(new)
        else:
            new, small = 0.5 * (low + high), False
        tau = new
        if small:
            break
        below, slope_below = _half(distance[: k + 1], weights[: k + 1], tau)
        above, slope_above = _half(distance[k + 1 :], weights[k + 1 :], tau)
        value = 1.0 + below + above
        if abs(value) <= 2.0 * EPS * (1.0 + abs(below) + abs(above)):
            break
        if value < 0.0:
            low = tau
        else:
            high = tau
    return anchor, tau


@kernel
def top_change(values: Array, z: Array, sign: float, d: int) -> float:
    """Change of the sum of the ``d`` largest eigenvalues when ``sign z z'`` is added.

    ``values`` are the eigenvalues before, ascending, and ``z`` the row in their eigenbasis. Every
    root is measured from its own pole, so the change keeps its digits however small it is beside
    the sum itself. The roots of the ``d`` largest or of the ``n - d`` others are solved for,
    whichever are fewer (the trace gives the rest): O(n min(d, n - d)) per step.
    """
    n = values.size
    poles, w, reach = np.empty(n), np.empty(n), 0.0
    for j in range(n):
        i = j if sign > 0 else n - 1 - j
        poles[j], w[j] = sign * values[i], z[i] * z[i]
        reach += w[j]
    if not reach > 0.0:
        return 0.0
    # A weight of zero has no root of its own; one this small moves no eigenvalue by a rounding.
    floor = EPS * EPS * reach
    for j in range(n):
        w[j] = max(w[j], floor)
    # In normal form the largest eigenvalues come last when a row joins and first when it leaves.
    start, stop = (n - d, n) if sign > 0 else (0, d)
    complement = 2 * d > n
    if complement:
        start, stop = (0, n - d) if sign > 0 else (d, n)
    change, distance = 0.0, np.empty(n)
    for k in range(start, stop):
        anchor, tau = secular_root(poles, w, reach, k, distance)
        change += (poles[anchor] - poles[k]) + tau
    if complement:
        change = reach - change
    return sign * change


@kernel(fastmath=_SUMS)
def _unit_vectors(weights: Array, gaps: Array) -> Array:
    """Rows ``weights / gaps``, scaled to length one."""
    n = weights.size
    vectors = np.empty((n, n))
    for i in range(n):
        total = 0.0
        for j in range(n):
            ratio = weights[j] / gaps[i, j]
            vectors[i, j] = ratio
            total += ratio * ratio
        total = 1.0 / np.sqrt(total)
        for j in range(n):
            vectors[i, j] *= total
    return vectors


@kernel(inline="always")
def _moved_pairs(p: Array, w: Array) -> tuple[Array, Array]:
    """Eigenpairs of ``diag(p) + w w'`` with distinct poles and no weight of zero; vectors as rows.

    The vectors come from weights recomputed out of the roots (Gu and Eisenstat), which keeps them
    orthogonal even where roots crowd a pole.
    """
    n = p.size
    weights, roots, distance = np.empty(n), np.empty(n), np.empty(n)
    reach = 0.0
    for j in range(n):
        weights[j] = w[j] * w[j]
        reach += weights[j]
    gaps = np.empty((n, n))  # gaps[i, j] = p_j - root_i, each with full relative accuracy
    for i in range(n):
        anchor, tau = secular_root(p, weights, reach, i, distance)
        base = p[anchor]
        roots[i] = base + tau
        for j in range(n):
            gaps[i, j] = (p[j] - base) - tau
    # the w for which these roots are exact: their vectors are orthogonal
    for j in range(n):
        weights[j] = -gaps[n - 1, j]
    for i in range(n - 1):
        lower, upper = p[i], p[i + 1]
        for j in range(n):
            weights[j] *= gaps[i, j] / (p[j] - (upper if j <= i else lower))
    for j in range(n):
        weights[j] = np.copysign(np.sqrt(abs(weights[j])), w[j])
    return roots, _unit_vectors(weights, gaps)


@kernel
def rank_one(values: Array, vectors: Array, z: Array, sign: float) -> tuple[Array, Array]:
    """Eigenpairs after ``sign x x'`` is added to a matrix whose eigenpairs are given.

    Eigenvalues ascend, eigenvectors are rows, and ``z`` is ``vectors @ x``. Poles that tie are set
    apart and weights of zero raised, both by less than the rounding of the matrix, so that every
    pole has a root of its own. O(n^2) for the roots and one n x n matrix product.
    """
    n = values.size
    poles, w, before, reach = np.empty(n), np.empty(n), np.empty((n, n)), 0.0
    for j in range(n):
        i = j if sign > 0 else n - 1 - j
        poles[j], w[j] = sign * values[i], z[i]
        reach += z[i] * z[i]
        for column in range(n):
            before[j, column] = vectors[i, column]
    if not reach > 0.0:
        return values.copy(), vectors.copy()
    apart, floor = 8.0 * EPS * max(abs(poles[0]), abs(poles[n - 1]), reach), EPS * np.sqrt(reach)
    for j in range(n):
        w[j] = np.copysign(max(abs(w[j]), floor), w[j])
        if j > 0:
            poles[j] = max(poles[j], poles[j - 1] + apart)
    roots, inner = _moved_pairs(poles, w)
    after = inner @ before
    for j in range(n):
        i = j if sign > 0 else n - 1 - j
        w[i] = sign * roots[j]
        for column in range(n):
            before[i, column] = after[j, column]
    return w, before
