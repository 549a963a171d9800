"""The paper's Algorithm 2: sort the rows by their residual and cut."""

from dataclasses import dataclass

import numpy as np

from leftout.checks import check_choice
from leftout.errors import InputError
from leftout.linalg.problem import Labels, Problem
from leftout.linalg.rank_one import REFRESH, track, transfer
from leftout.solvers.base import SearchResult, SolverContext, as_history
from leftout.solvers.greedy import higher_side

SPLITS = ("half", "matched", "best")


@dataclass(frozen=True, kw_only=True)
class Sorting:
    """Cut the rows, sorted by their residual under the shared PCA.

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
        order = np.argsort(kept - norms, kind="stable")
        if self.split == "matched":
            labels = self._matched(problem, order)
        elif problem.group_size is not None:
            raise InputError(
                f"group_size={problem.group_size} was given, but split={self.split!r} chooses the "
                "size itself. Use Sorting(split='matched'), or leave group_size=None."
            )
        else:
            cut = problem.n_rows // 2 if self.split == "half" else _best_cut(problem, order)
            labels = higher_side(problem, _head(order, cut))
        losses, _ = problem.losses(labels)
        return SearchResult(
            labels=labels,
            history=as_history([float(losses[1] - losses[0])], [int(labels.sum())]),
            stopped="sorted",
        )

    def _matched(self, problem: Problem, order: np.ndarray) -> Labels:
        if problem.group_size is None:
            raise InputError(
                "split='matched' cuts at the size of another solver's group, but group_size is "
                "None. Give that size as group_size, or use split='half' or 'best'."
            )
        ends = [_head(order, problem.group_size), _head(order[::-1], problem.group_size)]
        return max(ends, key=lambda labels: float(np.diff(problem.losses(labels)[0])[0]))


def _head(order: np.ndarray, size: int) -> Labels:
    labels = np.zeros(len(order), dtype=np.int8)
    labels[order[:size]] = 1
    return labels


def _best_cut(problem: Problem, order: np.ndarray) -> int:
    """The cut with the largest disparity, of all."""
    cut = best = problem.min_size
    last, value = problem.n_rows - cut, -np.inf
    while cut <= last:
        stop = min(cut + REFRESH, last + 1)
        sides = track(problem.loss, problem.split(_head(order, cut)), problem.V)
        for row in order[cut:stop]:
            if np.ptp(sides.losses) > value:
                best, value = cut, float(np.ptp(sides.losses))
            x, kept = problem.rows(row), problem.norms_and_kept[1][row]
            transfer(sides, x, kept, 0, 1)
            cut += 1
    return best
