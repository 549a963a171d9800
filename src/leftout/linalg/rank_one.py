"""Groups kept current while single rows move, by rank-one updates of their eigenpairs.

A move of one row costs two secular equations instead of two PCAs, and gives the same number.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from leftout.compiling import kernel
from leftout.errors import InputError
from leftout.linalg.losses import EXCESS, Array, Loss, scatter
from leftout.linalg.moments import Moments
from leftout.linalg.spectra import rank_one, top_change

Labels = NDArray[np.int8]

# Rounding grows with the number of updates in a row. Kernels stop after this many moves, and their
# caller starts them again from moments taken afresh: a few per cent of the time.
REFRESH = 256
# Floats, because Numba compiles a kernel anew for every integer constant it is called with.
JOINS, LEAVES = 1.0, -1.0


class TrackedSides(NamedTuple):
    """Moments of some groups as their eigenpairs, changed in place by :func:`move`."""

    count: Array  # type: ignore[assignment]  # not tuple.count  (g,)
    total: Array  # (g, n)
    values: Array  # (g, n), eigenvalues of the scatter, ascending
    vectors: Array  # (g, n, n), eigenvectors as rows
    kept: Array  # (g,), <P, second moments>


def track(loss: Loss, moments: Moments, V: Array) -> TrackedSides:
    """Start to follow groups from their moments."""
    if not loss.compiled:
        raise InputError(
            "Searches that move single rows, and those for several groups, are compiled for the "
            "losses 'excess' and 'projection_gap', but another was asked for. Use n_groups=1 with "
            "solver='alternating', Sorting(split='matched') or a solver of your own."
        )
    values, vectors = np.linalg.eigh(scatter(loss, moments))
    kept = moments.kept
    if kept is None:
        kept = np.array([np.sum((V @ S) * V) for S in moments.second])
    vectors = np.ascontiguousarray(vectors.transpose(0, 2, 1))
    return TrackedSides(moments.count.copy(), moments.total.copy(), values, vectors, kept.copy())


@kernel
def _in_eigenbasis(loss: Loss, sides: TrackedSides, group: int, x: Array, sign: float) -> Array:
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
    """Average loss from eigenpairs: :func:`leftout.linalg.losses.evaluate` in other words.

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
def losses_now(loss: Loss, sides: TrackedSides, V: Array) -> Array:
    """Average loss of every group as it stands."""
    losses = np.empty(sides.count.size)
    for group in range(losses.size):
        losses[group] = _loss(
            loss,
            sides.count[group],
            sides.total[group],
            sides.kept[group],
            sides.values[group],
            sides.vectors[group],
            V,
        )
    return losses


@kernel
def loss_after(
    loss: Loss,
    sides: TrackedSides,
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
def move(loss: Loss, sides: TrackedSides, group: int, x: Array, kept: float, sign: float) -> None:
    """Let ``x`` join or leave (sign) a group, in place."""
    z = _in_eigenbasis(loss, sides, group, x, sign)
    values, vectors = rank_one(sides.values[group], sides.vectors[group], z, sign)
    sides.values[group], sides.vectors[group] = values, vectors
    sides.count[group] += sign
    sides.kept[group] += sign * kept
    sides.total[group] += sign * x


@kernel
def losses_after(
    loss: Loss, sides: TrackedSides, losses: Array, V: Array, x: Array, kept: float, a: int, b: int
) -> Array:
    """Average losses once ``x`` has moved from group ``a`` to group ``b``; now they are given."""
    after = losses.copy()
    for group in (a, b):  # one call, since Numba compiles what is called for each
        after[group] = loss_after(loss, sides, group, V, x, kept, LEAVES if group == a else JOINS)
    return after


@kernel
def transfer(
    loss: Loss, sides: TrackedSides, losses: Array, V: Array, x: Array, kept: float, a: int, b: int
) -> None:
    """Move ``x`` from group ``a`` to group ``b``; groups and their losses change in place."""
    for group in (a, b):
        move(loss, sides, group, x, kept, LEAVES if group == a else JOINS)
    losses[:] = losses_now(loss, sides, V)


@kernel
def mean_gap(losses: Array) -> float:
    """The mean of the groups' losses minus the rest's, which comes first."""
    total = 0.0
    for side in range(1, losses.size):
        total += losses[side]
    return total / (losses.size - 1) - losses[0]


@kernel
def exchange(
    loss: Loss,
    sides: TrackedSides,
    X: Array,
    kept: Array,
    V: Array,
    labels: Labels,
    free: bool,
    min_size: int,
) -> Labels:
    """Moves (where sizes are free) and swaps of rows that raise the mean gap; returns the labels.

    A swap is looked for from either side of it, but from the group's alone where there is one.
    """
    labels = labels.copy()
    losses = losses_now(loss, sides, V)
    n_sides = losses.size
    value = mean_gap(losses)
    # Undone moves leave roundings behind: a gain must stand clear of them.
    least = 1e-11 * abs(value)
    if free:
        for i in range(labels.size):
            a = np.int64(labels[i])
            best, pick = value + least, np.int64(-1)
            if sides.count[a] > min_size:
                for b in range(n_sides):
                    if b != a:
                        after = losses_after(loss, sides, losses, V, X[i], kept[i], a, b)
                        if mean_gap(after) > best:
                            best, pick = mean_gap(after), np.int64(b)
            if pick >= 0:
                transfer(loss, sides, losses, V, X[i], kept[i], a, pick)
                labels[i] = pick
                value = best
    for i in range(labels.size):
        a = np.int64(labels[i])
        if n_sides == 2 and a == 0:
            continue
        for b in range(n_sides):
            if b == a:
                continue
            transfer(loss, sides, losses, V, X[i], kept[i], a, b)
            best, pick = value + least, np.int64(-1)
            for j in range(labels.size):
                if labels[j] == b:
                    after = losses_after(loss, sides, losses, V, X[j], kept[j], b, a)
                    if mean_gap(after) > best:
                        best, pick = mean_gap(after), np.int64(j)
            back = i if pick < 0 else pick
            transfer(loss, sides, losses, V, X[back], kept[back], b, a)
            if pick >= 0:
                labels[i], labels[pick] = b, a
                value = best
                break
    return labels
