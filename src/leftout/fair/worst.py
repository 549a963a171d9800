"""The worst-off group under a given representation: of ``k`` rows, those whose loss is largest.

A representation ``0 <= F <= I`` keeps ``x'Fx`` of a row. With ``W`` the group's own components, a
row adds ``|Wx|^2 - x'Fx`` to the group's loss; so the best rows for given components are those of
the highest scores, and the best components for given rows are their own PCA. Climbs alternate the
two, in single precision and on a sample where there are many rows; what they end at is measured
exactly, on all rows. No larger group loses more: of its rows, the ``k`` with the highest scores do.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from math import comb
from typing import NamedTuple

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from numpy.typing import NDArray

from leftout.compiling import kernel
from leftout.fair.objective import leading
from leftout.linalg.losses import Array
from leftout.solvers.local_ascent import draw, kth_largest, orthonormalise

Rows = NDArray[np.intp]
Small = NDArray[np.float32]

# A climb ends when a pass gains less than this share, or would not come to the best so far with
# this many more gains like its last, or after this many passes.
_GAIN, _PATIENCE, _PASSES = 1e-3, 5.0, 50
# Climbs run on this many rows, or on so many that a group has this many for each component.
_SAMPLE, _EACH = 2048, 10
# Climbs come in lines of about so many, each on its own sample. One start in so many is fresh; the
# others take one of so many best ends, and replace one in so many of its directions. A climb is
# given up that will hardly come to the best but so many.
_LINE, _FRESH, _NEAR, _KICK, _WORTH = 25, 4, 8, 5, 16
# Groups that share more than this part of their rows are one.
_SAME = 0.9
# So many groups, with so many numbers in their moments, are listed instead of searched.
_LISTED, _NUMBERS = 5_000, 2_000_000


class WorstGroup(NamedTuple):
    """Some rows, and all that a game needs of them."""

    rows: Rows
    second: Array  # average second moments
    own: Array  # own components, as rows
    best: float  # average variance that these keep

    def loss(self, F: Array) -> float:
        return self.best - float(np.sum(F * self.second))


class SingleWorkspace(NamedTuple):
    """Rows for climbing, by falling reach: the most that each can add to a group's loss."""

    X: Small
    kept: Small
    reach: Small
    chance: Array  # cumulated reach


class GroupSearch:
    """Rows about their origin, among which groups of ``size`` are looked for.

    Where all groups are few they are listed, and a search is exact.
    """

    def __init__(self, X: Array, d: int, size: int, n_jobs: int | None = None) -> None:
        self.X, self.d, self.size, self.n_jobs = X, d, size, n_jobs
        self.norms = np.einsum("ij,ij->i", X, X)
        self.single = X.astype(np.float32)
        m = len(X)
        self.sample = min(m, max(_SAMPLE, -(-_EACH * d * m // size)))
        self.every: list[WorstGroup] = []
        most = min(_LISTED, _NUMBERS // X.shape[1] ** 2)
        if m <= most and comb(m, size) <= most:
            rows = combinations(range(m), size)
            self.every = [self.group(np.array(each, dtype=np.intp)) for each in rows]

    def group(self, rows: Rows) -> WorstGroup:
        """The moments of some rows."""
        members = self.X[rows]
        second = members.T @ members / len(rows)
        pairs = leading(second, self.d)
        own = np.ascontiguousarray(pairs.vectors[:, : self.d].T)
        return WorstGroup(rows, second, own, float(pairs.values[: self.d].sum()))

    def kept(self, F: Array) -> Array:
        """What a representation keeps of each row."""
        return np.einsum("ij,ij->i", self.X @ F, self.X)

    def bound(self, F: Array) -> float:
        """Certified: no group's loss exceeds the mean of the longest reaches."""
        reach = self.norms - self.kept(F)
        return float(np.partition(reach, len(reach) - self.size)[-self.size :].mean())

    def search(
        self, F: Array, starts: Sequence[Array], climbs: int, rng: np.random.Generator, most: int
    ) -> list[WorstGroup]:
        """Groups with large losses under ``F``, worst first: at most so many, and apart.

        Climbs from the given components, and so many more from random rows and near where others
        ended.
        """
        if self.every:
            return sorted(self.every, key=lambda group: -group.loss(F))[:most]
        kept = self.kept(F)
        whole = self._slope(kept, None) if self.sample == len(self.X) else None
        lines = -(-climbs // _LINE)

        def run(line: int, rng: np.random.Generator) -> list[tuple[float, Small]]:
            slope = whole or self._slope(kept, rng)
            return _line(slope, self._size, self.d, starts[line::lines], climbs // lines, rng)

        tasks = list(enumerate(rng.spawn(lines)))
        if effective_n_jobs(self.n_jobs) == 1:
            each = [run(*task) for task in tasks]
        else:  # kernels let go of the interpreter lock, so threads do
            each = Parallel(self.n_jobs, prefer="threads")(delayed(run)(*task) for task in tasks)
        ends = sorted((end for line in each for end in line), key=_value)
        found = self._apart(ends, kept, most)
        found.sort(key=lambda group: -group.loss(F))  # on samples, the ends' order says less
        found[0] = self._settle(found[0], F, kept)
        return found

    @property
    def _size(self) -> int:
        return max(1, round(self.size * self.sample / len(self.X)))

    def _slope(self, kept: Array, rng: np.random.Generator | None) -> SingleWorkspace:
        index = None if rng is None else rng.choice(len(kept), self.sample, replace=False)
        reach = self.norms - kept if index is None else self.norms[index] - kept[index]
        order = np.argsort(-reach, kind="stable")
        rows = order if index is None else index[order]
        reach = reach[order]
        chance = np.cumsum(np.maximum(reach, 0.0))
        few = kept[rows].astype(np.float32), reach.astype(np.float32)
        return SingleWorkspace(self.single[rows], *few, chance)

    def _rows(self, W: Array | Small, kept: Array) -> Rows:
        """The best rows for a group's components, in their precision."""
        Z = (self.single if W.dtype == np.float32 else self.X) @ W.T
        scores = np.einsum("ij,ij->i", Z, Z) - kept
        place = len(scores) - self.size
        return np.sort(np.argpartition(scores, place)[place:]) if place else np.arange(self.size)

    def _apart(self, ends: list[tuple[float, Small]], kept: Array, most: int) -> list[WorstGroup]:
        found: list[WorstGroup] = []
        taken = np.zeros((most, len(self.X)), dtype=bool)
        for _, W in ends[: 2 * most]:
            rows = self._rows(W, kept)
            if taken[:, rows].sum(axis=1).max() <= _SAME * self.size:
                taken[len(found), rows] = True
                found.append(self.group(rows))
                if len(found) == most:
                    break
        return found

    def _settle(self, group: WorstGroup, F: Array, kept: Array) -> WorstGroup:
        """Alternate with exact components while the loss rises."""
        for _ in range(_PASSES):
            after = self.group(self._rows(group.own, kept))
            if after.loss(F) <= group.loss(F):
                break
            group = after
        return group


def _line(
    slope: SingleWorkspace,
    size: int,
    d: int,
    starts: Sequence[Array],
    climbs: int,
    rng: np.random.Generator,
) -> list[tuple[float, Small]]:
    """Where climbs end, best first: from the starts, from random rows, near one of the best."""
    ends = [_climb(slope, W.astype(np.float32), size, -np.inf) for W in starts]
    for turn in range(climbs):
        ends.sort(key=_value)
        if len(ends) < 2 or turn % _FRESH == 0:
            W = _directions(slope, d, turn // _FRESH, rng)
        else:
            near = ends[int(rng.integers(min(_NEAR, len(ends))))][1]
            W = np.linalg.qr(rng.standard_normal((d, d)))[0].astype(np.float32) @ near
            kicked = max(1, round(d / _KICK))
            W[:kicked] = _directions(slope, kicked, turn, rng)
        orthonormalise(W)
        floor = ends[_WORTH - 1][0] if len(ends) >= _WORTH else -np.inf
        ends.append(_climb(slope, W, size, floor))
    return ends


def _value(end: tuple[float, Small]) -> float:
    return -end[0]


def _directions(slope: SingleWorkspace, count: int, turn: int, rng: np.random.Generator) -> Small:
    """Random rows, the likelier the longer their reach; in every other turn, mixed in pairs."""
    rows = slope.X[draw(slope.chance, rng, count)]
    if turn % 2:
        rows += rng.choice([-1, 1], (count, 1)) * slope.X[draw(slope.chance, rng, count)]
    return rows


@kernel(fastmath={"reassoc", "contract", "nsz"})
def _score(slope: SingleWorkspace, W: Small, first: int, last: int, scores: Small) -> None:
    """Scores of the rows from ``first`` to ``last``."""
    Z = slope.X[first:last] @ W.T
    for i in range(last - first):
        value = -slope.kept[first + i]
        for j in range(W.shape[0]):
            value += Z[i, j] * Z[i, j]
        scores[first + i] = value


@kernel
def _climb(slope: SingleWorkspace, W: Small, size: int, floor: float) -> tuple[float, Small]:
    """Climb from components ``W`` to a group of ``size`` rows; its loss, and its components.

    Components are improved by orthogonal iteration, moments by the rows that move, and rows are
    passed over whose reach shows that they cannot be among the best.
    """
    c, n = slope.X.shape
    member = np.zeros(c, dtype=np.bool_)
    scores = np.empty(c, dtype=np.float32)
    second = np.zeros((n, n), dtype=np.float32)
    changed = np.empty(c, dtype=np.int64)
    best, reached, active = -np.inf, W, c
    for turn in range(_PASSES):
        _score(slope, W, 0, active, scores)
        cut = kth_largest(scores[:active], size)
        if active < c and slope.reach[active] > cut:
            _score(slope, W, active, c, scores)
            active = c
            cut = kth_largest(scores, size)
        ties = size - np.sum(scores[:active] > cut)
        moved, kept = 0, 0.0
        for i in range(c):
            chosen = i < active and scores[i] > cut
            if i < active and scores[i] == cut and ties > 0:
                chosen = True
                ties -= 1
            if chosen:
                kept += slope.kept[i]
            if chosen != member[i]:
                member[i] = chosen
                changed[moved] = i
                moved += 1
        rows = slope.X[changed[:moved]]
        signs = rows.copy()
        for i in range(moved):
            if not member[changed[i]]:
                for j in range(n):
                    signs[i, j] = -signs[i, j]
        second += rows.T @ signs
        # two steps of orthogonal iteration towards the leading eigenvectors
        W = W @ second @ second  # type: ignore[assignment]  # products of float32 are float32
        orthonormalise(W)
        WS, own = W @ second, 0.0
        for i in range(W.shape[0]):
            own += WS[i] @ W[i]
        value = (own - kept) / size
        gain = value - best
        if value > best:
            best, reached = value, W
        if turn > 0 and (gain <= _GAIN * abs(best) or value + _PATIENCE * gain <= floor):
            break
        # Rows far below the cut are left out of the next pass; their reach is checked there.
        while active > size and slope.reach[active - 1] < 0.9 * cut:
            active -= 1
    return best, reached
