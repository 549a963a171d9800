"""All groups together: rows to sides by prices, components from moments, until nothing rises."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from leftout.compiling import kernel
from leftout.core.assignment import assign
from leftout.core.losses import Array, Loss
from leftout.core.problem import MARGIN, Labels, Problem
from leftout.core.several import Sides, row_values, split
from leftout.core.tracking import JOINS, LEAVES, loss_after, loss_now, move, track
from leftout.core.tracking import Sides as Tracked

_PASSES = 50
# Exchanges look at so many rows of a side for each other side; on larger tables at few, few times.
_SMALL, _ROUNDS, _FEW_ROUNDS, _FEW = 256, 10, 3, 2
_LARGE, _LARGE_PASSES = 1 << 22, 12


def refine(problem: Problem, found: Sides) -> Sides:
    """Rows to sides and components in turn, at the sizes there are, while the value rises."""
    prices = None
    n_sides = len(found.losses)
    for _ in range(_LARGE_PASSES if problem.X.size > _LARGE else _PASSES):
        sizes = found.sizes.tolist()
        labels, prices = assign(row_values(problem, found.own, sizes), sizes, prices)
        if np.array_equal(labels, found.labels):
            break
        better = Sides.of(problem, labels, n_sides)
        if better.value <= found.value:
            break
        found = better
    return found


def sizes_exchanged(problem: Problem, found: Sides) -> Sides:
    """Two groups exchange their sizes and all are refined: the best of all pairs, or as it was.

    Rows to sides keeps each group's size, so it never learns that a group's directions deserve the
    size of another's. Taken is only what raises the total loss, too: the mean of disparities alone
    would always rather have a small group of a large one's extreme rows, whatever becomes of the
    others.
    """
    best, n_sides = found, len(found.losses)
    for one, other in combinations(range(1, n_sides), 2):
        sizes = found.sizes.tolist()
        if sizes[one] == sizes[other]:
            continue
        sizes[one], sizes[other] = sizes[other], sizes[one]
        labels = assign(row_values(problem, found.own, sizes), sizes).labels
        end = refine(problem, Sides.of(problem, labels, n_sides))
        if end.value > best.value and end.total > found.total:
            best = end
    return best


def exchanged(problem: Problem, found: Sides, free: bool) -> tuple[Sides, bool]:
    """Exact swaps (and single moves where sizes are free) near the cuts, until none helps."""
    if problem.leading is not None or problem.X.size > _LARGE:
        return found, False
    n_sides = len(found.losses)
    for _ in range(_ROUNDS if len(problem.X) <= _SMALL else _FEW_ROUNDS):
        near = _near_the_cuts(problem, found)
        labels = found.labels.copy()
        labels[near] = _exchange(
            problem.loss,
            track(problem.loss, split(problem, found.labels, n_sides), problem.V),
            problem.rows(near),
            problem.norms_and_kept[1][near],
            problem.V,
            found.labels[near],
            free,
            problem.min_size,
        )
        if np.array_equal(labels, found.labels):
            return found, True
        better = Sides.of(problem, labels, n_sides)
        if better.value <= found.value:
            return found, True
        found = refine(problem, better)
    return found, False


def _near_the_cuts(problem: Problem, found: Sides) -> np.ndarray:
    """The rows of each side that lose least by going to each other side."""
    sizes = found.sizes.tolist()
    net = row_values(problem, found.own, sizes)
    net -= assign(net, sizes).prices
    margin = MARGIN if len(problem.X) <= _SMALL else _FEW
    chosen = []
    for side in range(len(sizes)):
        rows = np.flatnonzero(found.labels == side)
        for other in range(len(sizes)):
            if other != side:
                lost = net[rows, side] - net[rows, other]
                chosen.append(rows[np.argsort(lost, kind="stable")[:margin]])
    return np.unique(np.concatenate(chosen))


@kernel
def _value(losses: Array) -> float:
    total = 0.0
    for side in range(1, losses.size):
        total += losses[side]
    return total / (losses.size - 1) - losses[0]


@kernel
def _moved_value(
    loss: Loss, sides: Tracked, losses: Array, V: Array, x: Array, kept: float, a: int, b: int
) -> float:
    """The value once ``x`` has moved from side ``a`` to side ``b``."""
    trial = losses.copy()
    trial[a] = loss_after(loss, sides, a, V, x, kept, LEAVES)
    trial[b] = loss_after(loss, sides, b, V, x, kept, JOINS)
    return _value(trial)


@kernel
def _go(
    loss: Loss, sides: Tracked, losses: Array, V: Array, x: Array, kept: float, a: int, b: int
) -> None:
    """Move ``x`` from side ``a`` to side ``b``, in place."""
    move(loss, sides, a, x, kept, LEAVES)
    move(loss, sides, b, x, kept, JOINS)
    losses[a] = loss_now(loss, sides, a, V)
    losses[b] = loss_now(loss, sides, b, V)


@kernel
def _exchange(
    loss: Loss,
    sides: Tracked,
    X: Array,
    kept: Array,
    V: Array,
    labels: Labels,
    free: bool,
    min_size: int,
) -> Labels:
    """Moves (where sizes are free) and swaps that raise the value; returns the labels."""
    labels = labels.copy()
    n_sides = sides.count.size
    losses = np.empty(n_sides)
    for side in range(n_sides):
        losses[side] = loss_now(loss, sides, side, V)
    value = _value(losses)
    # Undone moves leave roundings behind: a gain must stand clear of them.
    least = 1e-11 * abs(value)
    if free:
        for i in range(labels.size):
            a = np.int64(labels[i])
            best, pick = value + least, -1
            if sides.count[a] > min_size:
                for b in range(n_sides):
                    if b != a:
                        after = _moved_value(loss, sides, losses, V, X[i], kept[i], a, b)
                        if after > best:
                            best, pick = after, b
            if pick >= 0:
                _go(loss, sides, losses, V, X[i], kept[i], a, np.int64(pick))
                labels[i] = pick
                value = best
    for i in range(labels.size):
        a = np.int64(labels[i])
        for b in range(n_sides):
            if b == a:
                continue
            _go(loss, sides, losses, V, X[i], kept[i], a, b)
            best, pick = value + least, -1
            for j in range(labels.size):
                if labels[j] == b:
                    after = _moved_value(loss, sides, losses, V, X[j], kept[j], b, a)
                    if after > best:
                        best, pick = after, j
            if pick < 0:
                _go(loss, sides, losses, V, X[i], kept[i], b, a)
            else:
                _go(loss, sides, losses, V, X[pick], kept[pick], b, a)
                labels[i], labels[pick] = b, a
                value = best
                break
    return labels
