"""The paper's Algorithm 3: simulated annealing from the greedy allocation."""

from dataclasses import dataclass

import numpy as np

from leftout.checks import Refusal, check_count
from leftout.compiling import kernel
from leftout.core.losses import Array, Loss
from leftout.core.problem import Labels, Problem
from leftout.core.tracking import REFRESH, Sides, gap_after, track, transfer
from leftout.solvers.base import Means, SearchResult, as_history, refuse_fixed_size
from leftout.solvers.moves import allocate, disparity_of, higher_side
from leftout.wording import number

# Proposals between two entries of the history.
_STRIDE = 500


@dataclass(frozen=True, kw_only=True)
class Annealing:
    """Random single moves, accepted uphill always and downhill while it is warm.

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

    def maximise(self, problem: Problem, means: Means) -> SearchResult:
        check_count("max_steps", self.max_steps)
        if not 0.0 < self.cooling < 1.0:
            raise Refusal(
                f"cooling={self.cooling!r} would never cool; a factor between 0 and 1 is needed. "
                "Use 0.999, say."
            )
        refuse_fixed_size(problem, "Annealing")
        rows, kept = problem.rows(), problem.norms_and_kept[1]
        labels = allocate(problem, rows, means.rng)
        value = best = temperature = disparity_of(problem, labels)
        best_labels = labels.copy()
        values, moves = [best], [0]
        step = mark = accepted = 0
        # With both sides at their minimum there is no move to propose.
        stopped = "no move allowed" if problem.n_rows == 2 * problem.min_size else ""
        while not stopped:
            sides = track(problem.loss, problem.split(labels), problem.V)
            limit = min(mark + _STRIDE, self.max_steps)
            value, best, temperature, step, more = _anneal(
                problem.loss, sides, rows, kept, problem.V, labels, best_labels, problem.min_size,
                means.rng, value, best, temperature, self.cooling, self.t_min, step, limit,
            )  # fmt: skip
            accepted += more
            if temperature < self.t_min:
                stopped = "cold"
            elif step >= self.max_steps:
                stopped = "max_steps"
            if stopped or step >= mark + _STRIDE:
                values.append(best)
                moves.append(accepted)
                means.tell(f"{step} proposals: best disparity {number(best, digits=6)}")
                mark, accepted = step, 0
        side = higher_side(problem, best_labels)
        return SearchResult(
            labels=(best_labels == side).astype(np.int8),
            history=as_history(values, moves),
            stopped=stopped,
        )


@kernel
def _anneal(
    loss: Loss,
    sides: Sides,
    X: Array,
    kept: Array,
    V: Array,
    labels: Labels,
    best_labels: Labels,
    min_size: int,
    rng: np.random.Generator,
    value: float,
    best: float,
    temperature: float,
    cooling: float,
    t_min: float,
    step: int,
    limit: int,
) -> tuple[float, float, float, int, int]:
    """Proposals up to ``limit``, the end of warmth or REFRESH moves; labels change in place."""
    moved = 0
    while step < limit and temperature >= t_min and moved < REFRESH:
        row = rng.integers(0, X.shape[0])
        source = np.int64(labels[row])
        if sides.count[source] <= min_size:
            continue
        new = abs(gap_after(loss, sides, source, V, X[row], kept[row]))
        if new > value or rng.random() < np.exp((new - value) / temperature):
            transfer(loss, sides, source, X[row], kept[row])
            labels[row] = 1 - source
            value = new
            moved += 1
            if value > best:
                best = value
                for i in range(labels.size):
                    best_labels[i] = labels[i]
        temperature *= cooling
        step += 1
    return value, best, temperature, step, moved
