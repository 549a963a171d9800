"""One group of several, from a core: the rows that go along its directions, beyond chance.

The size with most evidence (:mod:`leftout.evidence.chance`) may be that of two groups: such a mix
drops the weakest direction of one for the strongest of the other, and loses more in total than
either. So groups are grown with their directions held. With components fixed, ``D(k)`` the
disparity of the ``k`` rows that gain most and ``N(k)`` that of comparison tables, the group is as
large as ``k D(k)`` exceeds the most that any group of up to ``k`` rows loses at chance, ``j N(j)``,
by as much as anywhere, up to one standard error. Components are learned from these rows, and so on
until the rows stay.

Cores of many sizes grow to few groups. Mixes are told by what their own components leave of them:
taken is the group that its own keep the largest share of, if it has half of the evidence of any (a
mix of two has hardly more than both, so one of them has as much; a few odd rows have not). If that
is a mix nevertheless, its own components leave out a part of it. So it is searched for a half that
they leave out, rows go to the half whose components keep more of them, and both are cores as well:
one is taken where together they have more evidence than the whole.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import PchipInterpolator

from leftout.linalg.losses import Array
from leftout.linalg.moments import build
from leftout.linalg.monte_carlo import standardised
from leftout.linalg.problem import Labels, Problem
from leftout.solvers import Solver, SolverContext

_ROUNDS, _SPLITS = 20, 4


@dataclass(frozen=True)
class AtChance:
    """What groups of each size lose in comparison tables."""

    sizes: NDArray[np.intp]  # every one from the smallest of the grid to the largest
    disparities: Array
    deviations: Array
    highest: float  # deviations by which any comparison table exceeds the mean, at any size

    @classmethod
    def of(cls, grid: NDArray[np.intp], curves: Array) -> AtChance:
        """From curves over a grid of sizes, (tables, sizes)."""
        sizes = np.arange(grid[0], grid[-1] + 1)
        mean, deviation = curves.mean(axis=0), curves.std(axis=0)
        if len(grid) > 1:
            known, at = np.log(grid), np.log(sizes)
            mean = PchipInterpolator(known, mean)(at)
            deviation = np.interp(at, known, deviation)
        return cls(sizes, mean, deviation, float(standardised(curves).max()))

    def place(self, size: int) -> int:
        return size - int(self.sizes[0])

    def stands_out(self, size: int, disparity: float) -> bool:
        """Whether a group of some size exceeds chance by more than any comparison table does."""
        at = self.place(size)
        return bool(disparity - self.disparities[at] > self.highest * self.deviations[at])

    def beyond(self, disparities: Array) -> Array:
        """Total losses beyond chance, for disparities at every size.

        Chance has what its best group of up to that size has: large groups at chance lose less and
        less in total, and rows that lose nothing are no evidence.
        """
        return self.sizes * disparities - np.maximum.accumulate(self.sizes * self.disparities)

    def enough(self, disparities: Array) -> int:
        """The smallest size whose total beyond chance is within a standard error of the largest."""
        beyond = self.beyond(disparities)
        peak = int(np.argmax(beyond))
        least = beyond[peak] - self.sizes[peak] * self.deviations[peak]
        return int(self.sizes[np.argmax(beyond >= least)])


@dataclass(frozen=True)
class GrownGroup:
    """Some rows (labels 1; 0 for the rest), and what they lose."""

    labels: Labels
    disparity: float
    own: Array  # (2, d, n): components of the rest and of the group
    share: float  # of the group's variation that its own components keep

    @classmethod
    def of(cls, problem: Problem, labels: Labels, own: Array | None = None) -> GrownGroup:
        (rest, group), own = problem.losses(labels, own)
        rows = problem.rows(labels == 1)
        kept = np.sum((rows @ own[1].T) ** 2) / np.sum(rows**2)
        return cls(labels, float(group - rest), own, float(kept))

    @property
    def size(self) -> int:
        return int(self.labels.sum())


def grown(problem: Problem, core: Labels, chance: AtChance) -> GrownGroup:
    """The group that a core is part of."""
    labels, k = core, chance.sizes
    for _ in range(_ROUNDS):
        size = int(labels.sum())
        rest, group = problem.row_losses(problem.losses(labels)[1])
        order = np.argsort(-(group + size / (problem.n_rows - size) * rest), kind="stable")
        inside = np.cumsum(group[order])[k - 1] / k
        outside = (rest.sum() - np.cumsum(rest[order])[k - 1]) / (problem.n_rows - k)
        before, labels = labels, np.zeros_like(core)
        labels[order[: chance.enough(inside - outside)]] = 1
        if np.array_equal(labels, before):
            break
    return GrownGroup.of(problem, labels)


def grow(
    solver: Solver,
    problem: Problem,
    cores: Sequence[Labels],
    chance: AtChance,
    rng: np.random.Generator,
) -> GrownGroup:
    """The group, of those that cores grow to, that its own components describe best."""
    best = _best_described([grown(problem, core, chance) for core in cores], chance)
    for _ in range(_SPLITS):
        halves = [grown(problem, half, chance) for half in _halves(solver, problem, best, rng)]
        if not _more_than_one(problem, best, halves, chance):
            break
        best = _best_described(halves, chance)
    return best


def _best_described(groups: Sequence[GrownGroup], chance: AtChance) -> GrownGroup:
    """Of those with half of the evidence of any, the one that its own components keep most of."""
    evidence = [_evidence(group, chance) for group in groups]
    least = min(max(evidence), max(evidence) / 2.0)
    enough = [group for group, has in zip(groups, evidence, strict=True) if has >= least]
    return max(enough, key=lambda group: group.share)


def _halves(
    solver: Solver, problem: Problem, group: GrownGroup, rng: np.random.Generator
) -> list[Labels]:
    """The part of a group that its own components leave out, and the other."""
    size = group.size // 2
    if size <= problem.d:
        return []
    rows = np.flatnonzero(group.labels)
    X = problem.X[rows]
    pooled = build(X, origin=problem.pooled.origin)
    inside = replace(
        problem, X=X, V=group.own[1], kept=None, refit=False, pooled=pooled, group_size=size
    )
    found = solver.maximise(inside, SolverContext(rng=rng)).labels
    for _ in range(_ROUNDS):  # each row to the half that its components keep more of
        rest, left_out = inside.row_losses(inside.losses(found)[1])
        before, found = found, (left_out > rest).astype(np.int8)
        if np.array_equal(found, before) or not problem.d < found.sum() < len(rows) - problem.d:
            found = before
            break
    halves = [np.zeros_like(group.labels), np.zeros_like(group.labels)]
    for half, side in zip(halves, (1, 0), strict=True):
        half[rows[found == side]] = 1
    return halves


def _more_than_one(
    problem: Problem, whole: GrownGroup, halves: Sequence[GrownGroup], chance: AtChance
) -> bool:
    """Whether both halves stand out and, without the rows they share, have more evidence."""
    if not halves or not all(chance.stands_out(half.size, half.disparity) for half in halves):
        return False
    one, other = sorted(halves, key=lambda group: group.share)
    apart = one.labels & ~other.labels & 1
    if apart.sum() < chance.sizes[0]:
        return False
    parts = [GrownGroup.of(problem, apart.astype(np.int8)), other]
    return sum(_evidence(part, chance) for part in parts) > _evidence(whole, chance)


def _evidence(group: GrownGroup, chance: AtChance) -> float:
    at = chance.place(group.size)
    return float(chance.beyond(np.full(len(chance.sizes), group.disparity))[at])
