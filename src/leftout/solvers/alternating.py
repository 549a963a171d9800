"""Our own search, the default: alternate between the group's rows and the group's components."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from leftout.checks import check_count
from leftout.linalg.problem import MARGIN, Problem
from leftout.linalg.rank_one import exchange, track
from leftout.solvers.alternating_ascent import (
    ROWS,
    AscentResult,
    ascend,
    evaluated,
    offered,
    search,
)
from leftout.solvers.base import SearchResult, SolverContext, as_history
from leftout.solvers.greedy import higher_side, sweep
from leftout.solvers.sampling import Whole
from leftout.solvers.streaming import STREAMED_ABOVE, profile_passes, search_passes
from leftout.text import number

# Rounds of exact exchanges.
_ROUNDS = 10
# Where the size is free: other sizes get this part of the starts, and are searched only if the
# best components so far promise a disparity there of at least (ratio of sizes)^_DOUBT of the best.
_SHARE, _DOUBT = 16, 0.25
# In a profile: the part of the starts that the first and the last size get, and each of the others.
_PROFILE_ENDS, _PROFILE_SHARE = 7, 40
# Sizes nearer to the best than this share of it are left to the exchanges.
_FINEST = 0.1


@dataclass(frozen=True, kw_only=True)
class Alternating:
    """Alternate between the best rows for given components and the best components for given rows.

    For fixed components of the group and the rest, the best group of ``k`` rows is the ``k`` with
    the highest scores (:meth:`leftout.linalg.problem.Problem.scores`); for a fixed group, the best
    components are its own PCA. The search climbs from many starts: a quarter of them from random
    rows, the others from the best found so far with one of its directions replaced by a random
    row. The best ends are finished with exact eigenpairs, and single exchanges of rows near the cut
    close the search. Only the disparity of an actual partition is ever compared or returned. Under
    ``projection_gap`` a group's own PCA need not maximise its loss, so there the search also sweeps
    over all rows, as :class:`Greedy` does.

    It stops at a ``"local optimum"`` when no exchange near the cut helps, or after ``"max_rounds"``
    of them. Tables of more than four million values are searched in samples and a few passes
    (:mod:`leftout.solvers.streaming`), without exchanges: it stops at a ``"local optimum"`` of the
    two steps above, when a pass brings too little ``"gain"``, or after ``"max_passes"``.

    A wide table is searched in its leading axes (:meth:`leftout.linalg.problem.Problem.narrow`):
    climbs are cheap there, and can be more; passes with exact eigenpairs in all axes end it.

    When the size is free, the search starts at the smallest allowed (where the optimum sat on every
    table we met) and goes up, until the certified bound shows that no larger group can win.

    Parameters
    ----------
    n_starts : int or None
        Climbs at the first size, and one less the rounds of exchanges (at most ten). None: 200,
        fewer on large tables, where each takes longer. From 80 on, and with None, as many again
        where starts disagree: where the two best ends are not the same group.
    """

    n_starts: int | None = None

    def maximise(self, problem: Problem, means: SolverContext) -> SearchResult:
        if self.n_starts is not None:
            check_count("n_starts", self.n_starts)
        if _passed_over(problem):
            return search_passes(Whole.of(problem), means, self.n_starts)
        best, stopped, agreed = self._maximised(problem.narrow(), means)
        return replace(_result(_widened(problem, best), stopped), agreed=agreed)

    def _maximised(
        self, problem: Problem, means: SolverContext
    ) -> tuple[AscentResult, str, bool | None]:
        first = problem.group_size or problem.min_size
        best = search(problem, first, self.n_starts, means)
        agreed = best.agreed
        means.tell(f"group of {first}: disparity {number(best.value, digits=6)}")
        if problem.group_size is None:
            best = self._other_sizes(problem, best, means)
        if not problem.loss.compiled:  # kernels sweep and exchange
            return best, "local optimum", agreed
        free = problem.group_size is None
        if free and not (problem.loss.own_is_best or len(problem.X) > ROWS):
            best = _sweep_rows(problem, best)
        rounds = _ROUNDS if self.n_starts is None else min(self.n_starts - 1, _ROUNDS)
        best, done = _exchange_rows(problem, best, rounds)
        return best, "local optimum" if done else "max_rounds", agreed

    def profile(
        self, problem: Problem, sizes: Sequence[int], means: SolverContext
    ) -> list[SearchResult]:
        """Best groups of several sizes, in rising order, for far less than a search at each.

        A good group of one size is near a good group of the next: each size starts from the
        components of the one before and adds a few climbs of its own, the smallest and the largest
        more than a few; on the way back, each is offered the components of the one after.
        ``problem.group_size`` is not looked at.
        """
        if _passed_over(problem):
            starts = None if self.n_starts is None else max(1, self.n_starts // _PROFILE_ENDS)
            return profile_passes(Whole.of(problem), sizes, means, starts)
        found: list[AscentResult] = []
        narrow = problem.narrow()
        for size in sizes:
            start = found[-1].own if found else None
            share = _PROFILE_ENDS if size in (sizes[0], sizes[-1]) else _PROFILE_SHARE
            found.append(search(narrow, size, self.n_starts, means, start, share))
        for place in range(len(sizes) - 2, -1, -1):
            found[place] = offered(narrow, found[place], found[place + 1].own, means)
        return [_result(_widened(problem, end), "max_starts") for end in found]

    def _other_sizes(
        self, problem: Problem, best: AscentResult, means: SolverContext
    ) -> AscentResult:
        """Look for a better size: up from the smallest by doubling, then around the best so far."""
        sizes, last = [problem.min_size], problem.n_rows - problem.min_size
        while sizes[-1] < last:
            sizes.append(min(2 * sizes[-1], last))
        tried, untried = set(sizes[:1]), sizes[1:]
        while untried:
            best = self._best_size(problem, best, untried, means)
            tried.update(untried)
            size = best.size
            below, above = [t for t in tried if t < size], [t for t in tried if t > size]
            middles = {(size + other) // 2 for other in sorted(below)[-1:] + sorted(above)[:1]}
            untried = [t for t in middles - tried if abs(t - size) >= _FINEST * size]
        return best

    def _best_size(
        self, problem: Problem, best: AscentResult, sizes: list[int], means: SolverContext
    ) -> AscentResult:
        """The best of ``best`` and of what other sizes may offer."""
        source = best
        for size in sorted(sizes):
            if problem.bound(size) <= best.value:
                continue
            # Components found at one size say the more about another the nearer it is.
            near = min(size, source.size) / max(size, source.size)
            if source.promise(size, means.rng) >= near**_DOUBT * best.value:
                found = search(problem, size, self.n_starts, means, source.own, _SHARE)
                means.tell(f"group of {size}: disparity {number(found.value, digits=6)}")
                best = max(best, found, key=lambda end: end.value)
        return best


def _passed_over(problem: Problem) -> bool:
    """Whether a table is searched by passes, which score rows by quadratic forms."""
    return problem.X.size > STREAMED_ABOVE and problem.kept is None


def _result(found: AscentResult, stopped: str) -> SearchResult:
    return SearchResult(
        labels=found.labels,
        own=found.own,
        history=as_history(*zip(*found.trail, strict=True)),
        stopped=stopped,
    )


def _widened(problem: Problem, found: AscentResult) -> AscentResult:
    """What was found in the leading axes of a problem, brought to its end in all of them."""
    if found.own.shape[2] == problem.X.shape[1]:
        return found
    own = np.zeros((2, problem.d, problem.X.shape[1]))
    own[:, :, : found.own.shape[2]] = found.own
    return ascend(problem, own, found.size)


def _exchange_rows(problem: Problem, best: AscentResult, rounds: int) -> tuple[AscentResult, bool]:
    """Exact single moves and swaps among the rows nearest to the cut, until none helps."""
    for _ in range(rounds):
        near = _near_the_cut(problem, best)
        labels = best.labels.copy()
        labels[near] = exchange(
            problem.loss,
            track(problem.loss, problem.split(best.labels), problem.V),
            problem.rows(near),
            problem.norms_and_kept[1][near],
            problem.V,
            best.labels[near],
            problem.group_size is None,
            problem.min_size,
        )
        if np.array_equal(labels, best.labels):
            return best, True
        found = evaluated(problem, labels, best)
        if found.value <= best.value:
            return best, True
        best = ascend(problem, found.own, found.size, found)
    return best, False


def _sweep_rows(problem: Problem, best: AscentResult) -> AscentResult:
    """Single moves of every row, for losses under which alternating need not rise.

    A group's own components maximise its loss only under ``excess`` about a fixed origin; under the
    others a partition can be locally best without being a set of highest scores.
    """
    rows, labels = problem.rows(), best.labels.copy()
    for _ in range(_ROUNDS):
        if sweep(problem, rows, labels)[1] == 0:
            break
    found = evaluated(problem, higher_side(problem, labels), best)
    return found if found.value > best.value else best


def _near_the_cut(problem: Problem, found: AscentResult) -> np.ndarray:
    """The members with the lowest scores and the others with the highest."""
    members = np.flatnonzero(found.labels)
    scores = problem.scores(found.own, found.size, members)
    inside = members[np.argsort(scores, kind="stable")[:MARGIN]]
    ranked = problem.rank(found.own, found.size).rows
    return np.concatenate([inside, ranked[found.labels[ranked] == 0][:MARGIN]])
