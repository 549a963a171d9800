"""Single moves that raise the disparity: what greedy, annealing, sorting and alternating share."""

import numpy as np

from leftout.compiling import kernel
from leftout.core.losses import EXCESS, Array, Loss
from leftout.core.moments import Moments, build, pooled, stack
from leftout.core.problem import Labels, Problem
from leftout.core.spectra import IntArray
from leftout.core.tracking import (
    JOINS,
    REFRESH,
    Sides,
    gap_after,
    loss_after,
    loss_now,
    move,
    track,
    transfer,
)

UNION = 2


def seed_size(problem: Problem) -> int:
    """Rows each side starts from: five per feature as far as rows allow, never below minimum."""
    m, n = problem.X.shape
    return max(problem.min_size, min(5 * n, m // 4))


def allocate(problem: Problem, rows: Array, rng: np.random.Generator) -> Labels:
    """Stage 1: seeds from the head of one random order, every other row in that order."""
    order = rng.permutation(problem.n_rows)
    done = 2 * seed_size(problem)
    labels = np.full(problem.n_rows, UNION, dtype=np.int8)
    labels[order[: done // 2]], labels[order[done // 2 : done]] = 0, 1
    while done < len(order):
        seen, batch = order[:done], order[done : done + REFRESH]
        moments = seen_moments(problem, rows, seen, labels, 2)
        _allocate(
            problem.loss,
            track(problem.loss, moments, problem.V),
            rows,
            problem.norms_and_kept[1],
            problem.V,
            problem.refit,
            batch,
            labels,
            UNION,
        )
        done += REFRESH
    return labels


def seen_moments(
    problem: Problem, rows: Array, seen: IntArray, labels: Labels, n_sides: int
) -> Moments:
    """Moments of each side's rows so far, and of all of them."""
    moments = build(rows[seen], labels[seen], n_groups=n_sides)
    if problem.kept is not None:
        kept = np.bincount(labels[seen], problem.kept[seen], minlength=n_sides)
        moments = moments._replace(kept=kept.astype(np.float64))
    return stack(moments, pooled(moments))


def higher_side(problem: Problem, labels: Labels) -> int:
    """The side with the higher loss."""
    return int(np.argmax(problem.losses(labels)[0]))


def disparity_of(problem: Problem, labels: Labels) -> float:
    """Absolute difference of the two sides' losses."""
    losses, _ = problem.losses(labels)
    return float(abs(losses[1] - losses[0]))


def sweep(problem: Problem, rows: Array, labels: Labels) -> tuple[float, int]:
    """One sweep over all rows; labels change in place."""
    reach, kept = problem.reach, problem.norms_and_kept[1]
    row, moved = 0, 0
    while row < problem.n_rows:
        sides = track(problem.loss, problem.split(labels), problem.V)
        value, row, more = _sweep(
            problem.loss, sides, rows, reach, kept, problem.V, labels, problem.min_size, row
        )
        moved += more
    return value, moved


@kernel
def _allocate(
    loss: Loss,
    sides: Sides,
    X: Array,
    given: Array,
    V: Array,
    refit: bool,
    order: IntArray,
    labels: Labels,
    union: int,
) -> None:
    """Let each row join the side whose loss it makes the larger.

    Under the union's PCA (``refit``), or under a representation that keeps ``given`` of each row.
    """
    d, n = V.shape
    losses = np.empty(2)
    for i in order:
        x, kept = X[i], given[i]
        if refit:
            move(loss, sides, union, x, 0.0, JOINS)
            V = sides.vectors[union, n - d :]
            y = V @ x
            kept = y @ y
        for group in range(2):
            if refit:
                sides.kept[group] = kept_by(loss, sides, group, V)
            losses[group] = loss_after(loss, sides, group, V, x, kept, JOINS)
        labels[i] = 0 if losses[0] > losses[1] else 1
        move(loss, sides, np.int64(labels[i]), x, kept, JOINS)


@kernel
def kept_by(loss: Loss, sides: Sides, group: int, V: Array) -> float:
    """``<P, second moments>`` of a group from its eigenpairs."""
    overlap = V @ sides.vectors[group].T
    kept = 0.0
    for i in range(V.shape[0]):
        for j in range(V.shape[1]):
            kept += sides.values[group, j] * overlap[i, j] ** 2
    if loss.own_mean:
        y = V @ sides.total[group]
        kept += (y @ y) / max(sides.count[group], 1.0)
    return kept


@kernel
def _most_after(sides: Sides, losses: Array, source: int, reach: float, kept: float) -> float:
    """An upper bound on the disparity once a row has left ``source``, under ``excess``.

    A row changes the sum of the top eigenvalues by 0 to ``|x|^2`` and what is kept by ``|Vx|^2``.
    So a side's total loss falls by at most ``reach`` and rises by at most ``kept`` when the row
    leaves; when it joins, it is the other way round.
    """
    n_left, n_joined = sides.count[source] - 1.0, sides.count[1 - source] + 1.0
    left = losses[source] * (n_left + 1.0)
    joined = losses[1 - source] * (n_joined - 1.0)
    return max(
        (joined + reach) / n_joined - (left - reach) / n_left,
        (left + kept) / n_left - (joined - kept) / n_joined,
    )


@kernel
def _sweep(
    loss: Loss,
    sides: Sides,
    X: Array,
    reach: Array,
    kept: Array,
    V: Array,
    labels: Labels,
    min_size: int,
    row: int,
) -> tuple[float, int, int]:
    """Rows in order from ``row``, each moved if that raises the disparity, up to REFRESH moves.

    Returns the disparity, the row to go on from and the number of moves; labels change in place.
    Most rows are ruled out by a bound, without solving for an eigenvalue.
    """
    losses = np.empty(2)
    for side in range(2):
        losses[side] = loss_now(loss, sides, side, V)
    disparity = abs(losses[1] - losses[0])
    moved = 0
    while row < X.shape[0] and moved < REFRESH:
        x = X[row]
        source = np.int64(labels[row])
        hopeless = sides.count[source] <= min_size
        if loss.kind == EXCESS and not hopeless:
            most = _most_after(sides, losses, source, reach[row], kept[row])
            hopeless = most < (1.0 - 1e-12) * disparity
        if not hopeless:
            value = abs(gap_after(loss, sides, source, V, x, kept[row]))
            if value > disparity:
                disparity = value
                transfer(loss, sides, source, x, kept[row])
                labels[row] = 1 - source
                moved += 1
                for side in range(2):
                    losses[side] = loss_now(loss, sides, side, V)
        row += 1
    return disparity, row, moved
