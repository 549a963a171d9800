"""The paper's Algorithm 3: simulated annealing from the greedy allocation."""

from dataclasses import dataclass

import numpy as np

from leftout.checks import check_count
from leftout.errors import InputError
from leftout.linalg.problem import Problem
from leftout.linalg.rank_one import REFRESH, sides_after, track, transfer
from leftout.solvers.base import SearchResult, SolverContext, as_history, refuse_fixed_size
from leftout.solvers.greedy import allocate, higher_side
from leftout.text import number

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

    def maximise(self, problem: Problem, means: SolverContext) -> SearchResult:
        check_count("max_steps", self.max_steps)
        if not 0.0 < self.cooling < 1.0:
            raise InputError(
                f"cooling={self.cooling!r} would never cool; a factor between 0 and 1 is needed. "
                "Use 0.999, say."
            )
        refuse_fixed_size(problem, "Annealing")
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
        return SearchResult(
            labels=higher_side(problem, best_labels),
            history=as_history(values, moves),
            stopped=stopped,
        )
