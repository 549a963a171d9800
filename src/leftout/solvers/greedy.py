"""The paper's Algorithm 1: greedy allocation, then single moves that raise the disparity."""

from dataclasses import dataclass

import numpy as np

from leftout.checks import check_count
from leftout.core.problem import Problem
from leftout.solvers.base import Means, SearchResult, as_history, refuse_fixed_size
from leftout.solvers.moves import allocate, disparity_of, higher_side, sweep
from leftout.wording import number


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
            means.tell(
                f"epoch {epoch + 1}: disparity {number(value, digits=6)}, {moved} rows moved"
            )
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
