"""The paper's three algorithms: greedy allocation, simulated annealing, sorting by residual.

They are searches for one group under the two losses that kernels are compiled for.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from leftout.checks import check_choice, check_count
from leftout.compiling import kernel
from leftout.errors import InputError
from leftout.linalg.losses import EXCESS, Array
from leftout.linalg.moments import merge, stack
from leftout.linalg.problem import Labels, Problem, labelled
from leftout.linalg.rank_one import (
    JOINS,
    REFRESH,
    TrackedSides,
    loss_after,
    move,
    sides_after,
    track,
    transfer,
)
from leftout.solvers.base import SearchResult, SolverContext, as_history
from leftout.text import number

# Proposals between two entries of annealing's history.
_STRIDE = 500
# Where sorted rows are cut.
SPLITS = ("half", "matched", "best")


@dataclass(frozen=True, kw_only=True)
class Greedy:
    """Algorithm 1: greedy allocation and reallocation, as with PCAs from scratch but by updates.

    Two random seed sets take in the other rows one by one (each row joins the side whose loss with
    it is the larger); then up to ``epochs`` sweeps in row order move a row to the other side
    whenever that raises the disparity and leaves its own side the minimum size.

    Parameters
    ----------
    epochs : int
        Most sweeps of the second stage.
    """

    epochs: int = 15

    def maximise(self, problem: Problem, means: SolverContext) -> SearchResult:
        _refuse_fixed_size(problem, "Greedy")
        check_count("epochs", self.epochs)
        rows = problem.rows()
        labels = allocate(problem, rows, means.rng)
        values, moves = [float(np.ptp(problem.losses(labels)[0]))], [0]
        sweeps, stopped = [labels.copy()], "max_epochs"
        for epoch in range(self.epochs):
            value, moved = sweep(problem, rows, labels)
            values.append(value)
            moves.append(moved)
            sweeps.append(labels.copy())
            now = number(value, digits=6)
            means.tell(f"epoch {epoch + 1}: disparity {now}, {moved} rows moved")
            if moved == 0:
                stopped = "local optimum"
                break
        found, history = higher_side(problem, labels), as_history(values, moves)
        same_side_up = np.array(sweeps) ^ np.int8(found[0] != labels[0])
        return SearchResult(labels=found, history=history, stopped=stopped, sweeps=same_side_up)


@dataclass(frozen=True, kw_only=True)
class Annealing:
    """Algorithm 3: random single moves, accepted uphill always and downhill while it is warm.

    Starts from stage 1 of :class:`Greedy`; the first temperature is the disparity there. Returns
    the best partition seen.

    Parameters
    ----------
    cooling : float
        Factor of the temperature after every proposal.
    t_min : float
        Temperature to stop at, in the units of the loss: it suits tables scaled to [0, 1].
    max_steps : int
        Most proposals. One that would leave a side too small is drawn again.
    """

    cooling: float = 0.999
    t_min: float = 1e-6
    max_steps: int = 10_000

    def maximise(self, problem: Problem, means: SolverContext) -> SearchResult:
        check_count("max_steps", self.max_steps)
        if not 0.0 < self.cooling < 1.0:
            raise InputError(
                f"cooling={self.cooling!r} would never cool; a factor between 0 and 1 is needed. "
                "Use 0.999, say."
            )
        _refuse_fixed_size(problem, "Annealing")
        rows, kept = problem.rows(), problem.norms_and_kept[1]
        loss, V, rng = problem.loss, problem.V, means.rng
        labels = allocate(problem, rows, rng)
        value = best = temperature = float(np.ptp(problem.losses(labels)[0]))
        best_labels = labels.copy()
        values, moves = [best], [0]
        step = accepted = since = 0
        # With both sides at their minimum there is no move to propose.
        stopped = "no move allowed" if problem.n_rows == 2 * problem.min_size else ""
        sides = track(loss, problem.split(labels), V)
        while not stopped:
            row = int(rng.integers(0, problem.n_rows))
            source = int(labels[row])
            if sides.count[source] <= problem.min_size:
                continue
            move = (sides, rows[row], kept[row], source, 1 - source)
            new = float(np.ptp(sides_after(*move)[0]))
            if new > value or rng.random() < np.exp((new - value) / temperature):
                transfer(*move)
                labels[row] = 1 - source
                value = new
                accepted, since = accepted + 1, since + 1
                if value > best:
                    best, best_labels = value, labels.copy()
            temperature *= self.cooling
            step += 1
            if temperature < self.t_min:
                stopped = "cold"
            elif step >= self.max_steps:
                stopped = "max_steps"
            if stopped or step % _STRIDE == 0:
                values.append(best)
                moves.append(accepted)
                means.tell(f"{step} proposals: best disparity {number(best, digits=6)}")
                accepted = 0
            if since == REFRESH or step % _STRIDE == 0:
                sides = track(loss, problem.split(labels), V)
                since = 0
        found, history = higher_side(problem, best_labels), as_history(values, moves)
        return SearchResult(labels=found, history=history, stopped=stopped)


@dataclass(frozen=True, kw_only=True)
class Sorting:
    """Algorithm 2: cut the rows, sorted by their residual under the shared PCA.

    The paper calls the cut at the half optimal for fixed components. It is not: the loss subtracts
    each group's own optimum, and even for plain residuals the best cut is not the middle.

    Parameters
    ----------
    split : {"half", "matched", "best"}
        At half of the rows, at ``group_size``, or at the best of all cuts.
    """

    split: str = "half"

    def maximise(self, problem: Problem, means: SolverContext) -> SearchResult:
        check_choice("split", self.split, SPLITS)
        norms, kept = problem.norms_and_kept
        order, size = np.argsort(kept - norms, kind="stable"), problem.group_size
        if self.split == "matched":
            if size is None:
                raise InputError(
                    "split='matched' cuts at the size of another solver's group, but group_size is "
                    "None. Give that size as group_size, or use split='half' or 'best'."
                )
            ends = [labelled(rows[:size], len(rows)) for rows in (order, order[::-1])]
            labels = max(ends, key=lambda each: float(np.diff(problem.losses(each)[0])[0]))
        elif size is not None:
            raise InputError(
                f"group_size={size} was given, but split={self.split!r} chooses the "
                "size itself. Use Sorting(split='matched'), or leave group_size=None."
            )
        else:
            cut = problem.n_rows // 2 if self.split == "half" else _best_cut(problem, order)
            labels = higher_side(problem, labelled(order[:cut], len(order)))
        losses, _ = problem.losses(labels)
        history = as_history([float(losses[1] - losses[0])], [int(labels.sum())])
        return SearchResult(labels=labels, history=history, stopped="sorted")


def _refuse_fixed_size(problem: Problem, name: str) -> None:
    """Stop a search that changes the group's size with every move."""
    if problem.group_size is not None:
        raise InputError(
            f"group_size={problem.group_size} was given, but {name} moves one row at a time, which "
            "changes the size with every move. Leave group_size=None, or use "
            "solver='alternating' or Sorting(split='matched')."
        )


def _best_cut(problem: Problem, order: np.ndarray) -> int:
    """The cut with the largest disparity, of all."""
    cut = best = problem.min_size
    last, value = problem.n_rows - cut, -np.inf
    while cut <= last:
        stop = min(cut + REFRESH, last + 1)
        labels = labelled(order[:cut], len(order))
        sides = track(problem.loss, problem.split(labels), problem.V)
        for row in order[cut:stop]:
            if np.ptp(sides.losses) > value:
                best, value = cut, float(np.ptp(sides.losses))
            transfer(sides, problem.rows(row), problem.norms_and_kept[1][row], 0, 1)
            cut += 1
    return best


def seed_size(problem: Problem) -> int:
    """Rows each side starts from: five per feature as far as rows allow, never below minimum."""
    m, n = problem.X.shape
    return max(problem.min_size, min(5 * n, m // 4))


def allocate(problem: Problem, rows: Array, rng: np.random.Generator) -> Labels:
    """Stage 1: seeds from the head of one random order, every other row in that order."""
    order = rng.permutation(problem.n_rows)
    seeds = seed_size(problem)
    done = 2 * seeds
    labels = np.zeros(problem.n_rows, dtype=np.int8)
    labels[order[seeds:done]] = 1
    kept = problem.norms_and_kept[1]
    while done < len(order):
        seen, batch = order[:done], order[done : done + REFRESH]
        parts = [problem.moments_of(seen[labels[seen] == side]) for side in (0, 1)]
        sides = track(problem.loss, stack(*parts, merge(*parts)), problem.V)
        _allocate(sides, rows, kept, problem.refit, batch, labels)
        done += REFRESH
    return labels


def sweep(problem: Problem, rows: Array, labels: Labels) -> tuple[float, int]:
    """One sweep over all rows; labels change in place."""
    reach, kept = problem.reach, problem.norms_and_kept[1]
    row, moved = 0, 0
    while row < problem.n_rows:
        sides = track(problem.loss, problem.split(labels), problem.V)
        value, row, more = _sweep(sides, rows, reach, kept, labels, problem.min_size, row)
        moved += more
    return value, moved


def higher_side(problem: Problem, labels: Labels) -> Labels:
    """The labels with 1 for the side of the higher loss."""
    return (labels == np.argmax(problem.losses(labels)[0])).astype(np.int8)


@kernel
def _allocate(
    sides: TrackedSides,
    X: Array,
    given: Array,
    refit: bool,
    order: NDArray[np.int64],
    labels: Labels,
) -> None:
    """Let each row join the side whose loss with it is the larger; the second of equal ones.

    Under the PCA of all rows so far, which come after the two sides (``refit``), or under a
    representation that keeps ``given`` of each row.
    """
    d, n = sides.V.shape
    union = np.int64(2)
    for i in order:
        x, kept = X[i], given[i]
        if refit:
            move(sides, union, x, 0.0, JOINS)
            for j in range(d):
                for column in range(n):
                    sides.V[j, column] = sides.vectors[union, n - d + j, column]
            y = sides.V @ x
            kept = y @ y
        best, pick = -np.inf, np.int64(0)
        for side in range(union):
            if refit:
                sides.kept[side] = _kept_by(sides, side)
            value = loss_after(sides, side, x, kept, JOINS)
            if value >= best:
                best, pick = value, np.int64(side)
        labels[i] = pick
        move(sides, pick, x, kept, JOINS)


@kernel(inline="always")
def _kept_by(sides: TrackedSides, group: int) -> float:
    """``<P, second moments>`` of a group from its eigenpairs."""
    V = sides.V
    overlap = V @ sides.vectors[group].T
    kept = 0.0
    for i in range(V.shape[0]):
        for j in range(V.shape[1]):
            kept += sides.values[group, j] * overlap[i, j] ** 2
    if sides.loss.own_mean:
        y = V @ sides.total[group]
        kept += (y @ y) / max(sides.count[group], 1.0)
    return kept


@kernel(inline="always")
def _most_after(sides: TrackedSides, source: int, reach: float, kept: float) -> float:
    """An upper bound on the disparity once a row has left ``source``, under ``excess``.

    A row changes the sum of the top eigenvalues by 0 to ``|x|^2`` and what is kept by ``|Vx|^2``.
    So a side's total loss falls by at most ``reach`` and rises by at most ``kept`` when the row
    leaves; when it joins, it is the other way round.
    """
    n_left, n_joined = sides.count[source] - 1.0, sides.count[1 - source] + 1.0
    left = sides.losses[source] * (n_left + 1.0)
    joined = sides.losses[1 - source] * (n_joined - 1.0)
    return max(
        (joined + reach) / n_joined - (left - reach) / n_left,
        (left + kept) / n_left - (joined - kept) / n_joined,
    )


@kernel
def _sweep(
    sides: TrackedSides,
    X: Array,
    reach: Array,
    kept: Array,
    labels: Labels,
    min_size: int,
    row: int,
) -> tuple[float, int, int]:
    """Rows in order from ``row``, each moved to the other side where that raises the disparity.

    Returns the disparity, the row to go on from and the number of moves, at most REFRESH; labels
    change in place. Most rows are ruled out by a bound, without an eigenvalue.
    """
    value, moved = abs(sides.losses[1] - sides.losses[0]), 0
    while row < X.shape[0] and moved < REFRESH:
        x, a = X[row], np.int64(labels[row])
        hopeless = sides.count[a] <= min_size
        if sides.loss.kind == EXCESS and not hopeless:
            hopeless = _most_after(sides, a, reach[row], kept[row]) < (1.0 - 1e-12) * value
        if not hopeless:
            losses, _ = sides_after(sides, x, kept[row], a, 1 - a)
            after = abs(losses[1] - losses[0])
            if after > value:
                transfer(sides, x, kept[row], a, 1 - a)
                labels[row] = 1 - a
                value = after
                moved += 1
        row += 1
    return value, row, moved
