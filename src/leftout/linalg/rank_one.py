"""Groups kept current while single rows move, by rank-one updates of their eigenpairs.

A move of one row costs two secular equations instead of two PCAs, and gives the same number.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from leftout.compiling import kernel
from leftout.errors import InputError
from leftout.linalg.losses import EXCESS, Array, Loss, kept_by, mean_disparity, scatter
from leftout.linalg.moments import Moments
from leftout.linalg.spectra import rank_one, top_change

Labels = NDArray[np.int8]

# Rounding grows with the number of updates in a row. Kernels stop after this many moves, and their
# caller starts them again from moments taken afresh: a few per cent of the time.
REFRESH = 256
# Floats, because Numba compiles a kernel anew for every integer constant it is called with.
JOINS, STAYS, LEAVES = 1.0, 0.0, -1.0


class TrackedSides(NamedTuple):
    """Moments of some groups as their eigenpairs, and their losses; changed in place by moves."""

    loss: Loss
    V: Array  # (d, n), the shared components
    count: Array  # type: ignore[assignment]  # not tuple.count  (g,)
    total: Array  # (g, n)
    values: Array  # (g, n), eigenvalues of the scatter, ascending
    vectors: Array  # (g, n, n), eigenvectors as rows
    kept: Array  # (g,), <P, second moments>
    losses: Array  # (g,), average losses


def track(loss: Loss, moments: Moments, V: Array) -> TrackedSides:
    """Start to follow groups from their moments."""
    if not loss.compiled:
        raise InputError(
            "Searches that move single rows, and those for several groups, are compiled for the "
            "losses 'excess' and 'projection_gap', but another was asked for. Use n_groups=1 with "
            "solver='alternating', Sorting(split='matched') or a solver of your own."
        )
    values, vectors = np.linalg.eigh(scatter(loss, moments))
    kept = kept_by(moments, V).copy()
    count, total, losses = moments.count.copy(), moments.total.copy(), np.empty(len(kept))
    vectors = np.ascontiguousarray(vectors.transpose(0, 2, 1))
    sides = TrackedSides(loss, V.copy(), count, total, values, vectors, kept, losses)
    for group in range(len(losses)):
        losses[group] = loss_after(sides, group, total[group], 0.0, STAYS)
    return sides


@kernel(inline="always")
def _in_eigenbasis(sides: TrackedSides, group: int, x: Array, sign: float) -> Array:
    """The ``z`` for which the scatter changes by ``sign z z'`` when ``x`` joins or leaves."""
    count = sides.count[group]
    u = x.copy()
    if sides.loss.own_mean:
        # An empty group's mean is wherever its first row is; one row alone leaves no scatter.
        alone = count == 0.0 or count + sign == 0.0
        scale = 0.0 if alone else np.sqrt(count / (count + sign))
        for j in range(u.size):
            u[j] = scale * (x[j] - sides.total[group, j] / max(count, 1.0))
    return sides.vectors[group] @ u


@kernel
def loss_after(sides: TrackedSides, group: int, x: Array, kept: float, sign: float) -> float:
    """Average loss of a group once ``x`` has joined or left (sign); ``kept`` is ``|Vx|^2``.

    :func:`leftout.linalg.losses.evaluate` from eigenpairs. ``excess`` needs only the eigenvalues,
    O(n^2). ``projection_gap`` needs the vectors, too, and the second moments, which are the scatter
    and ``total total' / count`` where that is about the group's own mean.
    """
    loss, V = sides.loss, sides.V
    d, n = V.shape
    count = sides.count[group] + sign
    if count == 0.0:
        return np.nan
    kept = sides.kept[group] + sign * kept
    values, vectors, total = sides.values[group], sides.vectors[group], sides.total[group]
    own = cross = 0.0
    if loss.kind == EXCESS:
        if sign != STAYS:
            own = top_change(values, _in_eigenbasis(sides, group, x, sign), sign, d)
        for j in range(n - d, n):
            own += values[j]
        return (own - kept) / count
    if sign != STAYS:
        values, vectors = rank_one(values, vectors, _in_eigenbasis(sides, group, x, sign), sign)
        total = total + sign * x
    mean_v = V @ total
    for i in range(n - d, n):
        along = vectors[i] @ total if loss.own_mean else 0.0
        overlap = V @ vectors[i]
        own += values[i] + along * along / count
        cross += values[i] * (overlap @ overlap) + along * (overlap @ mean_v) / count
    return (kept + own - 2.0 * cross) / count


@kernel(inline="always")
def move(sides: TrackedSides, group: int, x: Array, kept: float, sign: float) -> None:
    """Let ``x`` join or leave (sign) a group, in place; its loss stays as it was."""
    z = _in_eigenbasis(sides, group, x, sign)
    values, vectors = rank_one(sides.values[group], sides.vectors[group], z, sign)
    sides.count[group] += sign
    sides.kept[group] += sign * kept
    for i in range(values.size):  # by elements: Numba takes seconds to compile slices that are set
        sides.total[group, i] += sign * x[i]
        sides.values[group, i] = values[i]
        for j in range(values.size):
            sides.vectors[group, i, j] = vectors[i, j]


@kernel
def sides_after(sides: TrackedSides, x: Array, kept: float, a: int, b: int) -> tuple[Array, Array]:
    """Average losses and numbers of rows once ``x`` has moved from group ``a`` to group ``b``."""
    losses, count = sides.losses.copy(), sides.count.copy()
    for group in (a, b):  # one call, since Numba compiles what is called for each
        sign = LEAVES if group == a else JOINS
        losses[group] = loss_after(sides, group, x, kept, sign)
        count[group] += sign
    return losses, count


@kernel
def transfer(sides: TrackedSides, x: Array, kept: float, a: int, b: int) -> None:
    """Move ``x`` from group ``a`` to group ``b``; groups and their losses change in place."""
    for group in (a, b):
        move(sides, group, x, kept, LEAVES if group == a else JOINS)
        sides.losses[group] = loss_after(sides, group, x, 0.0, STAYS)


def exchange(
    sides: TrackedSides, X: Array, kept: Array, labels: Labels, free: bool, min_size: int
) -> Labels:
    """Moves (where sizes are free) and swaps that raise :func:`mean_disparity`; returns the labels.

    The rest comes first. A swap is looked for from either side of it, but from the group's alone
    where there is one.
    """
    labels, n_sides = labels.copy(), len(sides.losses)
    value = mean_disparity(sides.losses, sides.count)
    # Undone moves leave roundings behind: a gain must stand clear of them.
    least = 1e-11 * abs(value)

    def value_after(row: int, a: int, b: int) -> float:
        return float(mean_disparity(*sides_after(sides, X[row], kept[row], a, b)))

    for i, a in enumerate(labels.tolist() if free else ()):
        if sides.count[a] > min_size:
            values = [-np.inf if b == a else value_after(i, a, b) for b in range(n_sides)]
            pick = int(np.argmax(values))
            if values[pick] > value + least:
                transfer(sides, X[i], kept[i], a, pick)
                labels[i], value = pick, values[pick]
    for i in range(len(labels)):
        a = int(labels[i])
        for b in range(n_sides):
            if b == a or (n_sides == 2 and a == 0):
                continue
            transfer(sides, X[i], kept[i], a, b)
            others = np.flatnonzero(labels == b)
            values = [value_after(j, b, a) for j in others.tolist()]
            pick = int(np.argmax(values)) if values else -1
            helps = pick >= 0 and values[pick] > value + least
            back = int(others[pick]) if helps else i
            transfer(sides, X[back], kept[back], b, a)
            if helps:
                labels[i], labels[back], value = b, a, values[pick]
                break
    return labels
