"""The paper's Algorithm 1: greedy allocation, then single moves that raise the disparity."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit

from leftout.checks import check_count
from leftout.losses import EXCESS, Array
from leftout.moments import build, pooled, stack
from leftout.problem import Labels, Problem
from leftout.sides import (
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
from leftout.solvers.base import Means, SearchResult, as_history, refuse_fixed_size
from leftout.spectra import OPTIONS, IntArray

UNION = 2


@dataclass(frozen=True, kw_only=True)
class Greedy:
    """Greedy allocation and reallocation, exactly as with PCAs from scratch but by updates.

    Two random seed sets take in the other rows one by one (each row joins the side whose loss it
    makes the larger); then up to ``epochs`` sweeps in row order move a row to the other side
    whenever that raises the disparity and leaves both sides their minimum size.

    Parameters
    ----------
    epochs : int
        Most sweeps of the second stage.
    """

    epochs: int = 15

    def maximise(self, problem: Problem, means: Means) -> SearchResult:
        check_count("epochs", self.epochs)
        refuse_fixed_size(problem, "Greedy")
        rows = problem.rows()
        labels = allocate(problem, rows, means.rng)
        values, moves = [disparity_of(problem, labels)], [0]
        sweeps = [labels.copy()]
        stopped = "max_epochs"
        for epoch in range(self.epochs):
            value, moved = sweep(problem, rows, labels)
            values.append(value)
            moves.append(moved)
            sweeps.append(labels.copy())
            means.tell(f"epoch {epoch + 1}: disparity {value:.6g}, {moved} rows moved")
            if moved == 0:
                stopped = "local optimum"
                break
        side = higher_side(problem, labels)
        return SearchResult(
            labels=(labels == side).astype(np.int8),
            history=as_history(values, moves),
            stopped=stopped,
            sweeps=(np.array(sweeps) == side).astype(np.int8),
        )


def seed_size(problem: Problem) -> int:
    """Rows each side starts from: five a feature, as far as rows allow, and never below minimum."""
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
        moments = build(rows[seen], labels[seen], n_groups=2)
        moments = stack(moments, pooled(moments))
        _allocate(
            *problem.loss,
            track(problem.loss, moments, problem.V),
            rows,
            batch,
            labels,
            problem.d,
            UNION,
        )
        done += REFRESH
    return labels


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
            *problem.loss, sides, rows, reach, kept, problem.V, labels, problem.min_size, row
        )
        moved += more
    return value, moved


@njit(**OPTIONS)
def _allocate(
    kind: int,
    own_mean: bool,
    sides: Sides,
    X: Array,
    order: IntArray,
    labels: Labels,
    d: int,
    union: int,
) -> None:
    """Let each row join the side whose loss it makes the larger, under the union's PCA."""
    n = X.shape[1]
    losses = np.empty(2)
    for i in order:
        x = X[i]
        move(own_mean, sides, union, x, 0.0, JOINS)
        V = sides.vectors[union, n - d :]
        y = V @ x
        kept = y @ y
        for group in range(2):
            sides.kept[group] = _kept(own_mean, sides, group, V)
            losses[group] = loss_after(kind, own_mean, sides, group, V, x, kept, JOINS)
        labels[i] = 0 if losses[0] > losses[1] else 1
        move(own_mean, sides, np.int64(labels[i]), x, kept, JOINS)


@njit(**OPTIONS)
def _kept(own_mean: bool, sides: Sides, group: int, V: Array) -> float:
    """``<P, second moments>`` of a group from its eigenpairs."""
    overlap = V @ sides.vectors[group].T
    kept = 0.0
    for i in range(V.shape[0]):
        for j in range(V.shape[1]):
            kept += sides.values[group, j] * overlap[i, j] ** 2
    if own_mean:
        y = V @ sides.total[group]
        kept += (y @ y) / max(sides.count[group], 1.0)
    return kept


@njit(**OPTIONS)
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


@njit(**OPTIONS)
def _sweep(
    kind: int,
    own_mean: bool,
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
        losses[side] = loss_now(kind, own_mean, sides, side, V)
    disparity = abs(losses[1] - losses[0])
    bounded = kind == EXCESS and not own_mean
    moved = 0
    while row < X.shape[0] and moved < REFRESH:
        x = X[row]
        source = np.int64(labels[row])
        hopeless = sides.count[source] <= min_size
        if bounded and not hopeless:
            most = _most_after(sides, losses, source, reach[row], kept[row])
            hopeless = most < (1.0 - 1e-12) * disparity
        if not hopeless:
            value = abs(gap_after(kind, own_mean, sides, source, V, x, kept[row]))
            if value > disparity:
                disparity = value
                transfer(own_mean, sides, source, x, kept[row])
                labels[row] = 1 - source
                moved += 1
                for side in range(2):
                    losses[side] = loss_now(kind, own_mean, sides, side, V)
        row += 1
    return disparity, row, moved
