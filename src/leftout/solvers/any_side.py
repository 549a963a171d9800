"""The paper's greedy search for several groups: a row may go to any side.

With two sides the paper compares the losses of both; with more, the rest is the side that loses
least, and what is raised is the mean of the others' losses beyond its. For two sides that is the
paper's disparity.
"""

from __future__ import annotations

import numpy as np

from leftout.checks import check_count
from leftout.compiling import kernel
from leftout.core.losses import Array, Loss
from leftout.core.problem import Labels, Problem
from leftout.core.several import Sides as Partition
from leftout.core.several import split
from leftout.core.spectra import IntArray
from leftout.core.tracking import JOINS, LEAVES, REFRESH, Sides, loss_after, loss_now, move, track
from leftout.solvers.base import Means, SearchResult, as_history
from leftout.solvers.greedy import Greedy
from leftout.solvers.moves import kept_by, seen_moments
from leftout.wording import number


def seed_size(problem: Problem, n_sides: int) -> int:
    """Rows each side starts from: five per feature as far as rows allow, never below minimum."""
    m, n = problem.X.shape
    return max(problem.min_size, min(5 * n, m // (2 * n_sides)))


def greedy(solver: Greedy, problem: Problem, n_groups: int, means: Means) -> SearchResult:
    """Allocate rows to sides, then move single rows while that raises the value."""
    check_count("epochs", solver.epochs)
    n_sides = n_groups + 1
    rows = problem.rows()
    labels = allocate(problem, rows, n_sides, means.rng)
    values, moves = [spread(Partition.of(problem, labels, n_sides).losses)], [0]
    sweeps, stopped = [labels.copy()], "max_epochs"
    for epoch in range(solver.epochs):
        value, moved = sweep(problem, rows, labels, n_sides)
        values.append(value)
        moves.append(moved)
        sweeps.append(labels.copy())
        means.tell(f"epoch {epoch + 1}: disparity {number(value, digits=6)}, {moved} rows moved")
        if moved == 0:
            stopped = "local optimum"
            break
    order = np.argsort(-Partition.of(problem, labels, n_sides).losses, kind="stable")
    place = np.empty(n_sides, dtype=np.int8)
    place[order] = [*range(1, n_sides), 0]  # by falling loss, the rest last
    return SearchResult(
        labels=place[labels],
        history=as_history(values, moves),
        stopped=stopped,
        sweeps=place[np.array(sweeps)],
    )


def allocate(problem: Problem, rows: Array, n_sides: int, rng: np.random.Generator) -> Labels:
    """Seeds from the head of one random order; every other row joins the side that it makes worst.

    That is, the side whose loss with the row is the largest, under the PCA of all rows so far.
    """
    order = rng.permutation(problem.n_rows)
    seeds = seed_size(problem, n_sides)
    done = n_sides * seeds
    labels = np.zeros(problem.n_rows, dtype=np.int8)
    labels[order[:done]] = np.repeat(np.arange(n_sides), seeds)
    while done < len(order):
        seen, batch = order[:done], order[done : done + REFRESH]
        moments = seen_moments(problem, rows, seen, labels, n_sides)
        sides = track(problem.loss, moments, problem.V)
        kept = problem.norms_and_kept[1]
        _allocate(problem.loss, sides, rows, kept, problem.V, problem.refit, batch, labels)
        done += REFRESH
    return labels


def sweep(problem: Problem, rows: Array, labels: Labels, n_sides: int) -> tuple[float, int]:
    """One sweep over all rows; labels change in place."""
    kept = problem.norms_and_kept[1]
    row, moved = 0, 0
    while row < problem.n_rows:
        sides = track(problem.loss, split(problem, labels, n_sides), problem.V)
        value, row, more = _sweep(
            problem.loss, sides, rows, kept, problem.V, labels, problem.min_size, row
        )
        moved += more
    return value, moved


@kernel
def spread(losses: Array) -> float:
    """The mean of all losses but the lowest, minus the lowest."""
    lowest = losses.min()
    return (losses.sum() - lowest) / (losses.size - 1) - lowest


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
) -> None:
    """Let each row join the side whose loss with it is the largest.

    Under the union's PCA (``refit``), or under a representation that keeps ``given`` of each row.
    """
    d, n = V.shape
    union = np.int64(sides.count.size - 1)
    for i in order:
        x, kept = X[i], given[i]
        if refit:
            move(loss, sides, union, x, 0.0, JOINS)
            V = sides.vectors[union, n - d :]
            y = V @ x
            kept = y @ y
        best, pick = -np.inf, 0
        for side in range(union):
            if refit:
                sides.kept[side] = kept_by(loss, sides, side, V)
            value = loss_after(loss, sides, side, V, x, kept, JOINS)
            if value > best:
                best, pick = value, side
        labels[i] = pick
        move(loss, sides, np.int64(pick), x, kept, JOINS)


@kernel
def _sweep(
    loss: Loss,
    sides: Sides,
    X: Array,
    kept: Array,
    V: Array,
    labels: Labels,
    min_size: int,
    row: int,
) -> tuple[float, int, int]:
    """Rows in order from ``row``, each moved to the side that raises the value most, if one does.

    Returns the value, the row to go on from and the number of moves, at most REFRESH of them.
    """
    n_sides = sides.count.size
    losses = np.empty(n_sides)
    for side in range(n_sides):
        losses[side] = loss_now(loss, sides, side, V)
    value = spread(losses)
    moved = 0
    while row < X.shape[0] and moved < REFRESH:
        x, a = X[row], np.int64(labels[row])
        if sides.count[a] > min_size:
            trial = losses.copy()
            trial[a] = loss_after(loss, sides, a, V, x, kept[row], LEAVES)
            best, pick = value, np.int64(-1)
            for b in range(n_sides):
                if b != a:
                    trial[b] = loss_after(loss, sides, b, V, x, kept[row], JOINS)
                    after = spread(trial)
                    if after > best:
                        best, pick = after, np.int64(b)
                    trial[b] = losses[b]
            if pick >= 0:
                move(loss, sides, a, x, kept[row], LEAVES)
                move(loss, sides, pick, x, kept[row], JOINS)
                losses[a] = loss_now(loss, sides, a, V)
                losses[pick] = loss_now(loss, sides, pick, V)
                labels[row] = pick
                value = spread(losses)
                moved += 1
        row += 1
    return value, row, moved
