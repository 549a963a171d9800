"""The worst-off group under a given representation: of ``k`` rows, those whose loss is largest.

A representation ``0 <= F <= I`` keeps ``x'Fx`` of a row. With ``W`` the group's own components, a
row adds ``|Wx|^2 - x'Fx`` to the group's loss; so the best rows for given components are those of
the highest scores, and the best components for given rows are their own PCA. That is the search for
a left-out group whose rest loses nothing, and its climbs are the same kernels
(:mod:`leftout.solvers.local_ascent`): here in single precision, on a sample where there are many
rows, and from starts that keep many groups apart. What they end at is measured exactly, on all
rows. No larger group loses more: of its rows, the ``k`` with the highest scores do.
"""

from collections.abc import Sequence
from itertools import combinations
from math import comb
from typing import NamedTuple

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray

from leftout.fair.objective import leading
from leftout.linalg.losses import Array
from leftout.linalg.problem import n_nearest, top_mean
from leftout.linalg.top_k import Single
from leftout.solvers.local_ascent import (
    MOST_PASSES,
    SMALL_GAIN,
    AscentWorkspace,
    chances,
    climb,
    draw,
    orthonormalise,
)

Rows = NDArray[np.intp]

# Climbs run on this many rows, or on so many that a group has this many for each component.
_SAMPLE, _EACH = 2048, 10
# Climbs come in lines of about so many, each on its own sample. One start in so many is fresh; the
# others take one of so many best ends, and replace one in so many of its directions. A climb is
# given up that will hardly come to the best but so many.
_LINE, _FRESH, _NEAR, _KICK, _WORTH = 25, 4, 8, 5, 16
# Groups that share more than this part of their rows are one.
_SAME = 0.9
# So many groups, with so many numbers in their moments, are enumerated instead of searched.
_ENUMERATED, _NUMBERS = 5_000, 2_000_000


class WorstGroup(NamedTuple):
    """Some rows, and all that a game needs of them."""

    rows: Rows
    second: Array  # average second moments
    own: Array  # own components, as rows
    best: float  # average variance that these keep

    def loss(self, F: Array) -> float:
        return self.best - float(np.sum(F * self.second))


class GroupSearch:
    """Rows about their origin, among which groups of ``size`` are looked for.

    Where all groups are few they are enumerated, and a search is exact. Rows that have ``weights``
    have the roots of these as factors, and groups weigh about ``size``.
    """

    def __init__(
        self, X: Array, d: int, size: int, n_jobs: int | None = None, weights: Array | None = None
    ) -> None:
        self.X, self.d, self.size, self.n_jobs, self.weights = X, d, size, n_jobs, weights
        self.norms = np.einsum("ij,ij->i", X, X)
        self.single = X.astype(np.float32)
        m = len(X)
        self.sample = min(m, max(_SAMPLE, -(-_EACH * d * m // size)))
        self.every: list[WorstGroup] = []
        most = min(_ENUMERATED, _NUMBERS // X.shape[1] ** 2)
        if weights is None and m <= most and comb(m, size) <= most:
            self.every = [self.group(np.array(rows)) for rows in combinations(range(m), size)]

    def group(self, rows: Rows) -> WorstGroup:
        """The moments of some rows."""
        members = self.X[rows]
        second = members.T @ members / self.weight(rows)
        pairs = leading(second, self.d)
        best = float(pairs.values[: self.d].sum())
        return WorstGroup(rows, second, pairs.components(self.d), best)

    def weight(self, rows: Rows) -> float:
        """What some rows weigh together."""
        return len(rows) if self.weights is None else float(self.weights[rows].sum())

    def kept(self, F: Array) -> Array:
        """What a representation keeps of each row."""
        return np.einsum("ij,ij->i", self.X @ F, self.X)

    def bound(self, F: Array) -> float:
        """Certified: no group's loss exceeds the mean of the longest reaches."""
        reach = self.norms - self.kept(F)
        if self.weights is not None:
            reach /= self.weights
            order = np.argsort(-reach)
            return top_mean(reach[order], self.size, self.weights[order])
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
        whole = self._workspace(kept, None) if self.sample == len(self.X) else None
        lines = -(-climbs // _LINE)

        def run(line: int, rng: np.random.Generator) -> list[tuple[float, Single]]:
            slope = whole or self._workspace(kept, rng)
            size = max(1, round(self.size * self.sample / len(self.X)))
            return _line(slope, size, starts[line::lines], climbs // lines, rng)

        tasks = list(enumerate(rng.spawn(lines)))
        # threads, since kernels let go of the interpreter lock
        each = Parallel(self.n_jobs, prefer="threads")(delayed(run)(*task) for task in tasks)
        ends = sorted((end for line in each for end in line), key=lambda end: -end[0])
        found = self._apart(ends, kept, most)
        found.sort(key=lambda group: -group.loss(F))  # on samples, the ends' order says less
        for _ in range(MOST_PASSES):  # with exact components, while the loss rises
            after = self.group(self._rows(found[0].own, kept))
            if after.loss(F) <= found[0].loss(F):
                break
            found[0] = after
        return found

    def _workspace(self, kept: Array, rng: np.random.Generator | None) -> AscentWorkspace:
        """All rows, or a sample of them, by falling reach: the most each can add to a loss."""
        m = len(kept)
        index = np.arange(m) if rng is None else rng.choice(m, self.sample, replace=False)
        reach = self.norms[index] - kept[index]
        weights = np.empty(0) if self.weights is None else self.weights[index]
        if len(weights):
            reach /= weights
        order = np.argsort(-reach, kind="stable")
        rows, n = index[order], self.X.shape[1]
        none = np.zeros((n, n), dtype=np.float32)
        return AscentWorkspace(
            X=self.single[rows], kept=kept[rows].astype(np.float32),
            reach=reach[order].astype(np.float32), V=none[: self.d], n_rows=np.inf, second=none,
            all_kept=0.0, weights=weights[order[: len(weights)]].astype(np.float32),
        )  # fmt: skip

    def _rows(self, W: Array | Single, kept: Array) -> Rows:
        """The best rows for a group's components, in their precision."""
        Z = (self.single if W.dtype == np.float32 else self.X) @ W.T
        scores = np.einsum("ij,ij->i", Z, Z) - kept
        if self.weights is not None:
            order = np.argsort(-(scores / self.weights), kind="stable")
            return np.sort(order[: n_nearest(self.weights[order], self.size)])
        place = len(scores) - self.size
        return np.sort(np.argpartition(scores, place)[place:]) if place else np.arange(self.size)

    def _apart(self, ends: list[tuple[float, Single]], kept: Array, most: int) -> list[WorstGroup]:
        found: list[WorstGroup] = []
        taken = np.zeros((most, len(self.X)), dtype=bool)
        for _, W in ends[: 2 * most]:
            rows = self._rows(W, kept)
            if taken[:, rows].sum(axis=1).max() <= _SAME * len(rows):
                taken[len(found), rows] = True
                found.append(self.group(rows))
                if len(found) == most:
                    break
        return found


def _line(
    slope: AscentWorkspace,
    size: int,
    starts: Sequence[Array],
    climbs: int,
    rng: np.random.Generator,
) -> list[tuple[float, Single]]:
    """Where climbs end: from the starts, from random rows, near one of the best ends."""
    d = len(slope.V)
    chance = chances(slope)

    def climbed(W: Single, floor: float) -> tuple[float, Single]:
        own = np.stack([slope.V, W])
        value, own = climb(slope, own, size, SMALL_GAIN, MOST_PASSES, floor)
        return value, own[1]

    def directions(count: int, mixed: bool) -> Single:
        """Random rows, the likelier the longer their reach, or sums and differences of two."""
        rows = slope.X[draw(chance, rng, count)]
        if mixed:
            rows += rng.choice([-1, 1], (count, 1)) * slope.X[draw(chance, rng, count)]
        return rows

    ends = [climbed(W.astype(np.float32), -np.inf) for W in starts]
    for turn in range(climbs):
        ends.sort(key=lambda end: -end[0])
        if len(ends) < 2 or turn % _FRESH == 0:
            W = directions(d, turn // _FRESH % 2 == 1)
        else:
            near = ends[int(rng.integers(min(_NEAR, len(ends))))][1]
            # random rows first, then as many directions of the end as are left: random ones
            W = rng.standard_normal((d, d), dtype=np.float32) @ near
            kicked = max(1, round(d / _KICK))
            W[:kicked] = directions(kicked, turn % 2 == 1)
        orthonormalise(W)
        ends.append(climbed(W, ends[_WORTH - 1][0] if len(ends) >= _WORTH else -np.inf))
    return ends
