"""Groups kept current while single rows move, by rank-one updates of their eigenpairs.

A move of one row costs two secular equations instead of two PCAs, and gives the same number.
"""

from typing import NamedTuple

import numpy as np

from leftout.checks import Refusal
from leftout.compiling import kernel
from leftout.core.losses import EXCESS, Array, Loss, scatter
from leftout.core.moments import Moments
from leftout.core.spectra import rank_one, top_change

# Rounding grows with the number of updates in a row. Kernels stop after this many moves, and their
# caller starts them again from moments taken afresh: a few per cent of the time.
REFRESH = 256
# Floats, because Numba compiles a kernel anew for every integer constant it is called with.
JOINS, LEAVES = 1.0, -1.0


class Sides(NamedTuple):
    """Moments of some groups as their eigenpairs, changed in place by :func:`move`."""

    count: Array  # type: ignore[assignment]  # not tuple.count  (g,)
    total: Array  # (g, n)
    values: Array  # (g, n), eigenvalues of the scatter, ascending
    vectors: Array  # (g, n, n), eigenvectors as rows
    kept: Array  # (g,), <P, second moments>


def track(loss: Loss, moments: Moments, V: Array) -> Sides:
    """Start to follow groups from their moments."""
    if not loss.compiled:
        raise Refusal(
            "Searches that move single rows, and those for several groups, are compiled for the "
            "losses 'excess' and 'projection_gap', but another was asked for. Use n_groups=2 with "
            "solver='alternating', Sorting(split='matched') or a solver of your own."
        )
    values, vectors = np.linalg.eigh(scatter(loss, moments))
    kept = moments.kept
    if kept is None:
        kept = np.array([np.sum((V @ S) * V) for S in moments.second])
    vectors = np.ascontiguousarray(vectors.transpose(0, 2, 1))
    return Sides(moments.count.copy(), moments.total.copy(), values, vectors, kept.copy())


@kernel
def _in_eigenbasis(loss: Loss, sides: Sides, group: int, x: Array, sign: float) -> Array:
    """The ``z`` for which the scatter changes by ``sign z z'`` when ``x`` joins or leaves."""
    count = sides.count[group]
    u = x.copy()
    if loss.own_mean:
        # An empty group's mean is wherever its first row is; one row alone leaves no scatter.
        alone = count == 0.0 or count + sign == 0.0
        scale = 0.0 if alone else np.sqrt(count / (count + sign))
        for j in range(u.size):
            u[j] = scale * (x[j] - sides.total[group, j] / max(count, 1.0))
    return sides.vectors[group] @ u


@kernel
def _loss(
    loss: Loss,
    count: float,
    total: Array,
    kept: float,
    values: Array,
    vectors: Array,
    V: Array,
) -> float:
    """Average loss from eigenpairs: :func:`leftout.core.losses.evaluate` in other words.

    The scatter is ``sum of values w w'`` and the second moments add ``total total' / count`` to it
    where the scatter is about the group's own mean, which it is not under ``excess``.
    """
    d, n = V.shape
    own = cross = 0.0
    if loss.kind == EXCESS:
        for i in range(n - d, n):
            own += values[i]
        return (own - kept) / count
    mean_v = V @ total
    for i in range(n - d, n):
        along = vectors[i] @ total if loss.own_mean else 0.0
        overlap = V @ vectors[i]
        own += values[i] + along * along / count
        cross += values[i] * (overlap @ overlap) + along * (overlap @ mean_v) / count
    return (kept + own - 2.0 * cross) / count


@kernel
def loss_now(loss: Loss, sides: Sides, group: int, V: Array) -> float:
    """Average loss of a group as it stands."""
    return _loss(
        loss,
        sides.count[group],
        sides.total[group],
        sides.kept[group],
        sides.values[group],
        sides.vectors[group],
        V,
    )


@kernel
def loss_after(
    loss: Loss,
    sides: Sides,
    group: int,
    V: Array,
    x: Array,
    kept: float,
    sign: float,
) -> float:
    """Average loss of a group once ``x`` has joined or left (sign); ``kept`` is ``|Vx|^2``.

    ``excess`` needs only the eigenvalues, O(n^2); ``projection_gap`` needs the vectors.
    """
    d, n = V.shape
    count = sides.count[group] + sign
    if count == 0.0:
        return np.nan
    kept = sides.kept[group] + sign * kept
    z = _in_eigenbasis(loss, sides, group, x, sign)
    values = sides.values[group]
    if loss.kind == EXCESS:
        own = top_change(values, z, sign, d)
        for j in range(n - d, n):
            own += values[j]
        return (own - kept) / count
    values, vectors = rank_one(values, sides.vectors[group], z, sign)
    total = sides.total[group] + sign * x
    return _loss(loss, count, total, kept, values, vectors, V)


@kernel
def move(loss: Loss, sides: Sides, group: int, x: Array, kept: float, sign: float) -> None:
    """Let ``x`` join or leave (sign) a group, in place."""
    z = _in_eigenbasis(loss, sides, group, x, sign)
    values, vectors = rank_one(sides.values[group], sides.vectors[group], z, sign)
    sides.values[group], sides.vectors[group] = values, vectors
    sides.count[group] += sign
    sides.kept[group] += sign * kept
    sides.total[group] += sign * x


@kernel
def gap_now(loss: Loss, sides: Sides, V: Array) -> float:
    """Loss of side 1 minus loss of side 0."""
    gap = 0.0
    for group in range(2):
        gap = loss_now(loss, sides, group, V) - gap
    return gap


@kernel
def gap_after(loss: Loss, sides: Sides, source: int, V: Array, x: Array, kept: float) -> float:
    """The same once ``x`` has moved from ``source`` to the other side."""
    gap = 0.0
    for group in range(2):
        sign = LEAVES if group == source else JOINS
        gap = loss_after(loss, sides, group, V, x, kept, sign) - gap
    return gap


@kernel
def transfer(loss: Loss, sides: Sides, source: int, x: Array, kept: float) -> None:
    """Move ``x`` from ``source`` to the other side, in place."""
    move(loss, sides, source, x, kept, LEAVES)
    move(loss, sides, 1 - source, x, kept, JOINS)
