"""The search for several groups: peel them off, then refine all of them together.

Refining repeats exact steps (:mod:`leftout.solvers.joint`) and ends at partitions that no such step
raises. So it also starts from elsewhere: each group is searched anew among the rows that the others
leave, groups of different sizes exchange them, and tables so small that it costs nothing are
refined from random partitions as well.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from leftout.core.problem import Labels, Problem
from leftout.core.several import Sides
from leftout.solvers.alternating import Alternating
from leftout.solvers.annealing import Annealing
from leftout.solvers.any_side import greedy
from leftout.solvers.base import Means, SearchResult, Solver, as_history, refuse_fixed_size
from leftout.solvers.climbing import affordable, lay_out
from leftout.solvers.greedy import Greedy
from leftout.solvers.joint import exchanged, refine, sizes_exchanged
from leftout.solvers.peeling import peel, searched_anew
from leftout.solvers.sorting import Sorting
from leftout.wording import number

# Peeling a table of up to so many rows takes this part of a single search's starts for each group,
# since each is searched anew, from so many starts, for so many rounds.
_ROWS, _PART, _STARTS, _ANEW = 8192, 2, 8, 2
# Tables of up to so many rows are refined from so many random partitions, too.
_TINY, _RANDOM = 64, 12


def maximise_several(
    solver: Solver, problem: Problem, n_groups: int, sizes: Sequence[int] | None, means: Means
) -> SearchResult:
    """The best partition into ``n_groups`` groups and the rest that a search finds.

    Parameters
    ----------
    solver : Solver
        What finds one group. The paper's solvers are left as they are: greedy lets a row go to any
        side, annealing and sorting peel; what others peel off is refined.
    problem : Problem
        Of the whole table; ``group_size`` is not looked at.
    n_groups : int
        Left-out groups, without the rest.
    sizes : sequence of int, or None
        Of the groups; None leaves them free.
    means : Means

    Returns
    -------
    SearchResult
        Labels by falling loss from 1; 0 for the rest.
    """
    if isinstance(solver, Greedy):
        if sizes is not None:
            refuse_fixed_size(replace(problem, group_size=int(sizes[0])), "Greedy")
        return greedy(solver, problem, n_groups, means)
    if isinstance(solver, Annealing | Sorting):
        found = Sides.of(problem, peel(solver, problem, n_groups, sizes, means), n_groups + 1)
        return _result([found], "peeled")
    return _Search(solver, problem, n_groups, sizes, means).run()


class _Search:
    def __init__(
        self,
        solver: Solver,
        problem: Problem,
        n_groups: int,
        sizes: Sequence[int] | None,
        means: Means,
    ) -> None:
        self.solver, self.problem, self.means = solver, problem, means
        self.n_groups, self.sizes = n_groups, sizes

    def run(self) -> SearchResult:
        peeled = peel(self._with_part(), self.problem, self.n_groups, self.sizes, self.means)
        trail = [self._measured(peeled)]
        trail.append(refine(self.problem, trail[0]))
        self.means.tell(f"together: disparity {number(trail[-1].value, digits=6)}")
        trail.append(anew(self.solver, self.problem, trail[-1], self.sizes, self.means))
        if self.sizes is not None:
            trail.append(self._with_sizes_exchanged(trail[-1]))
        best, done = exchanged(self.problem, trail[-1], self.sizes is None)
        for start in self._random(best):
            end, settled = exchanged(self.problem, refine(self.problem, start), self.sizes is None)
            if end.value > best.value:
                best, done = end, settled
        trail.append(best)
        return _result(trail, "local optimum" if done else "max_rounds")

    def _measured(self, labels: Labels) -> Sides:
        return Sides.of(self.problem, labels, self.n_groups + 1)

    def _with_part(self) -> Solver:
        """The solver with fewer starts, where a table is not searched in parts."""
        solver = self.solver
        if not isinstance(solver, Alternating) or solver.n_starts is not None:
            return solver
        if len(self.problem.X) > _ROWS:
            return solver
        return replace(solver, n_starts=max(affordable(lay_out(self.problem.narrow())) // _PART, 1))

    def _with_sizes_exchanged(self, best: Sides) -> Sides:
        """Groups exchange sizes, and are searched anew where that helped, until it does not."""
        while (other := sizes_exchanged(self.problem, best)).value > best.value:
            best = anew(self.solver, self.problem, other, self.sizes, self.means)
        return best

    def _random(self, best: Sides) -> list[Sides]:
        """Random partitions of a tiny table, of the sizes found; half of others where free."""
        m, least = len(self.problem.X), self.problem.min_size
        if m > _TINY:
            return []
        starts = []
        for turn in range(_RANDOM):
            labels = best.labels
            if self.sizes is None and turn % 2:
                labels = np.repeat(np.arange(self.n_groups + 1, dtype=np.int8), least)
                more = self.means.rng.integers(self.n_groups + 1, size=m - len(labels))
                labels = np.concatenate([labels, more]).astype(np.int8)
            starts.append(self._measured(self.means.rng.permutation(labels)))
        return starts


def anew(
    solver: Solver, problem: Problem, best: Sides, sizes: Sequence[int] | None, means: Means
) -> Sides:
    """Each group searched anew, among the rows that the others leave, while that helps."""
    if not isinstance(solver, Alternating):
        return best
    few, n_sides = replace(solver, n_starts=_STARTS), len(best.losses)
    for _ in range(_ANEW):
        before = best.value
        for group in range(1, n_sides):
            labels = searched_anew(few, problem, best.labels, group, sizes, means)
            if not np.array_equal(labels, best.labels):
                other = refine(problem, Sides.of(problem, labels, n_sides))
                best = max(best, other, key=lambda found: found.value)
        if best.value <= before:
            break
    return best


def _result(trail: list[Sides], stopped: str) -> SearchResult:
    end = trail[-1].by_falling_loss()
    before = [np.zeros_like(end.labels), *(found.labels for found in trail[:-1])]
    moved = [int(np.sum(found.labels != last)) for found, last in zip(trail, before, strict=True)]
    return SearchResult(
        labels=end.labels,
        own=end.own,
        history=as_history([found.value for found in trail], moved),
        stopped=stopped,
    )
