"""The alternating search at one size, on a table in memory: many climbs, then exact passes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs

from leftout.linalg.losses import Array
from leftout.linalg.problem import Labels, Problem
from leftout.running import one_thread
from leftout.solvers.base import SolverContext
from leftout.solvers.local_ascent import affordable, lay_out, line

# Starts run on at most this many rows; the whole table has the last word.
ROWS = 8192
# Independent lines of descent, one for this many climbs and no more than this many. Fixed numbers:
# the answer may not depend on the number of jobs.
_PER_LINE, _LINES = 40, 4
# On a part of a table they are cheap beside passes over the whole, and which of them ends best
# shows only there: so many at least where a size is searched for its own sake, each on a part of
# its own.
_LINES_ON_PARTS = 4
_PASSES = 50
# Ends that share so many of the rows that either has (Jaccard) are the same group.
_SAME_ROWS = 0.9


@dataclass(frozen=True)
class AscentResult:
    """A partition, the components of its sides, and the way there."""

    problem: Problem
    labels: Labels
    own: Array
    value: float
    trail: tuple[tuple[float, int], ...]
    agreed: bool | None = None  # whether starts ended in it alike; None: nobody has looked

    @cached_property
    def size(self) -> int:
        return int(self.labels.sum())

    @cached_property
    def _row_losses(self) -> Array:
        return self.problem.row_losses(self.own)

    def promise(self, size: int, rng: np.random.Generator) -> float:
        """Disparity of the best group of another size under these components."""
        part, size = part_of(self.problem, size, rng)
        whole = part is self.problem
        rest, group = self._row_losses if whole else part.row_losses(self.own)
        weight = size / (part.n_rows - size)
        chosen = np.partition(group + weight * rest, len(rest) - size)[len(rest) - size :]
        return float(chosen.mean() - part.total_loss(self.own[0]) / (part.n_rows - size))


def search(
    problem: Problem,
    size: int,
    n_starts: int | None,
    means: SolverContext,
    start: Array | None = None,
    share: int = 1,
) -> AscentResult:
    """Best group of ``size`` rows that climbs find: from ``start``, and one in ``share`` starts.

    Climbs rise under ``excess``. Under other losses its group is a good one already, and competes
    with what climbs under the loss itself find, where kernels know it.
    """
    found = []
    if problem.loss.compiled:
        found = [_climb_many(problem, size, n_starts, means, start, share)]
        if problem.loss.own_is_best:
            return found[0]
    guide = _climb_many(problem.under_excess(), size, n_starts, means, start, share)
    guided = evaluated(problem, guide.labels, None)
    ends = [*found, guided, ascend(problem, guided.own, size, guided)]
    return max(ends, key=lambda end: end.value)


def _climb_many(
    problem: Problem,
    size: int,
    n_starts: int | None,
    means: SolverContext,
    start: Array | None,
    share: int,
) -> AscentResult:
    """Climbs on a part of the table, exact passes there, then over the whole.

    Where starts disagree, as many climbs again; unless few were asked for.
    """
    part, part_size = part_of(problem, size, means.rng)
    slope = lay_out(part)
    n_climbs = (affordable(slope) if n_starts is None else n_starts) // share
    if start is None:
        n_climbs = max(n_climbs, 1)
    if part is not problem and share == 1 and n_starts is None:
        n_climbs = max(n_climbs, _LINES_ON_PARTS * _PER_LINE)
    lines = min(max(n_climbs // _PER_LINE, 1), _LINES if part is problem else 2 * _LINES)
    climbs = [n_climbs // lines + (i < n_climbs % lines) for i in range(lines)]

    def climbed() -> tuple[list[AscentResult], bool]:
        """Where each line ends, and whether the starts of a single one agree."""
        rngs = means.rng.spawn(lines)
        tasks = [(part, slope, part_size, *each, start) for each in zip(climbs, rngs, strict=True)]
        if part is not problem:
            return _on_parts(problem, size, tasks), False
        with one_thread():
            if effective_n_jobs(means.n_jobs) == 1:
                ends = [line(*task) for task in tasks]
            else:  # kernels let go of the interpreter lock, so threads do
                ends = Parallel(means.n_jobs, prefer="threads")(delayed(line)(*t) for t in tasks)
            return [ascend(part, own, part_size) for _, own, _ in ends], lines == 1 and ends[0][2]

    found, agreed = climbed()
    if share > 1 or start is not None or (lines == 1 and n_starts is not None):
        return max(found, key=lambda end: end.value)
    agreed = agreed or _same_best(found)
    if not agreed:
        found += climbed()[0]
        agreed = _same_best(found)
    return replace(max(found, key=lambda end: end.value), agreed=agreed)


def _same_best(ends: list[AscentResult]) -> bool:
    """Whether the two best ends are about the same group."""
    if len(ends) < 2:
        return False
    one, other = sorted(ends, key=lambda end: -end.value)[:2]
    both = int(np.sum(one.labels & other.labels))
    return both >= _SAME_ROWS * (one.size + other.size - both)


def _on_parts(problem: Problem, size: int, tasks: list[Any]) -> list[AscentResult]:
    """Lines of climbs on parts of a table, each brought to its end on the whole."""
    ends = []
    for place, (part, slope, part_size, climbs, rng, start) in enumerate(tasks):
        if place:
            part, part_size = part_of(problem, size, rng)
            slope = lay_out(part)
        with one_thread():
            _, own, _ = line(part, slope, part_size, climbs, rng, start)
            ends.append(ascend(problem, own, size))
    return ends


def offered(
    problem: Problem, found: AscentResult, own: Array, means: SolverContext
) -> AscentResult:
    """What was found at a size, or what a climb from another size's components reaches there."""
    part, size = part_of(problem, found.size, means.rng)
    if not problem.loss.compiled:
        return max(found, ascend(problem, own, found.size), key=lambda end: end.value)
    value, own, _ = line(part, lay_out(part), size, 0, means.rng, own)
    if value <= found.value:
        return found
    return max(found, ascend(problem, own, found.size), key=lambda end: end.value)


def part_of(
    problem: Problem, size: int, rng: np.random.Generator, rows: int | None = None
) -> tuple[Problem, int]:
    """The part of a table that starts run on, and the group's size there.

    A group is made of rows of long reach, so only the longest are candidates; where these are still
    many, a sample of them, with everything else in proportion.
    """
    m, rows = len(problem.X), ROWS if rows is None else rows
    count = min(m, max(rows // 4, 8 * size))
    if m <= rows:
        return problem, size
    index = problem.by_reach[:count]
    rate = min(1.0, rows / count)
    if rate < 1.0:
        index = rng.choice(index, rows, replace=False)
    part = problem.part(np.sort(index), rate)
    return part, min(max(1, round(rate * size)), len(index) - 1, part.n_rows - 1)


def ascend(
    problem: Problem, own: Array, size: int, best: AscentResult | None = None
) -> AscentResult:
    """Alternate with exact components while the true disparity rises."""
    for _ in range(_PASSES):
        labels = problem.rank(own, size).labels(size, len(problem.X))
        if best is not None and np.array_equal(labels, best.labels):
            return best
        found = evaluated(problem, labels, best)
        if best is not None and found.value <= best.value:
            return best
        best, own = found, found.own
    assert best is not None
    return best


def evaluated(problem: Problem, labels: Labels, before: AscentResult | None) -> AscentResult:
    """A partition with its losses, appended to the trail that led to it."""
    losses, own = problem.losses(labels)
    value = float(losses[1] - losses[0])
    if before is None:
        return AscentResult(problem, labels, own, value, ((value, int(labels.sum())),))
    moved = int(np.sum(labels != before.labels))
    return AscentResult(problem, labels, own, value, (*before.trail, (value, moved)))
