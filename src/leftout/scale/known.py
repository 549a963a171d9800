"""Known groups on all rows: their losses from moments by group, in one pass.

Which groups there are was decided on a sample, where they are held against random ones. What each
of them loses follows from sums, so it is the table's own figure.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from leftout.core.losses import Array
from leftout.core.moments import Moments, build, merge, stack
from leftout.scale.chunks import Chunk
from leftout.scale.planning import Plan
from leftout.scale.rows import Fold
from leftout.search.groups import KnownGroup, KnownGroups, OnAllRows
from leftout.tables.columns import Column
from leftout.tables.conditions import Condition

Conditions = tuple[Condition, ...]
# Second moments of all groups have at most this many values, of which a chunk sends one each.
_MOST = 1 << 23


@dataclass(frozen=True)
class GroupSums:
    """The pass that takes moments of groups; those of one way to part the rows do not overlap."""

    plan: Plan
    ways: tuple[tuple[Conditions, ...], ...]
    origin: Array

    def __call__(self, chunk: Chunk) -> Moments:
        names = sorted({c.column for way in self.ways for group in way for c in group})
        whole: Moments | None = None
        both = zip(self.plan.blocks(chunk), self.plan.columns(chunk, names), strict=True)
        for (start, rows), (at, columns) in both:
            assert start == at
            part = self.over(rows, dict(zip(names, columns, strict=True)))
            whole = part if whole is None else merge(whole, part)
        assert whole is not None  # chunks without rows are not listed
        return whole

    def over(self, rows: Array, columns: dict[str, Column]) -> Moments:
        """Moments of every group, those of the first way first."""
        found = []
        for way in self.ways:
            labels = np.full(len(rows), len(way))  # whoever is in none
            for place, conditions in enumerate(way):
                holds = [each.holds(columns[each.column]) for each in conditions]
                labels[np.logical_and.reduce(holds)] = place
            made = build(rows, labels, n_groups=len(way) + 1, origin=self.origin)
            count, total, second = (sums[:-1] for sums in made[:3])
            found.append(Moments(count, total, second, made.origin))
        return stack(*found)


def on_all_rows(
    known: KnownGroups,
    plan: Plan,
    chunks: Sequence[Chunk],
    fold: Fold,
    pooled: Moments,
    V: Array,
) -> KnownGroups:
    """Known groups of a sample, with what they lose on all rows; as they are, if they are many."""
    ways: dict[tuple[str, ...], list[KnownGroup]] = {}
    for group in known.measured:
        ways.setdefault(tuple(group.labels), []).append(group)
    groups = [group for way in ways.values() for group in way]
    if not 0 < len(groups) * V.shape[1] ** 2 <= _MOST:
        return known
    parts = tuple(tuple(group.conditions for group in way) for way in ways.values())
    sums = fold(GroupSums(plan, parts, pooled.origin), chunks, merge)
    exact = {id(group): _figures(sums, at, pooled, V) for at, group in enumerate(groups)}
    return replace(
        known, groups=[replace(group, all_rows=exact.get(id(group))) for group in known.groups]
    )


def _figures(sums: Moments, at: int, pooled: Moments, V: Array) -> OnAllRows:
    size, everyone = float(sums.count[at]), float(pooled.count[0])
    variance, kept, own = _shares(sums.second[at], V)
    _, rest_kept, rest_own = _shares(pooled.second[0] - sums.second[at], V)
    return OnAllRows(
        size=int(size),
        share=size / everyone,
        retained=kept / (variance or np.nan),
        retained_own=own / (variance or np.nan),
        loss=(own - kept) / size,
        rest_loss=(rest_own - rest_kept) / (everyone - size),
    )


def _shares(second: Array, V: Array) -> tuple[float, float, float]:
    """Variance of some rows, and what the shared components and their own keep of it."""
    kept = np.einsum("ij,jk,ik->", V, second, V)
    own = np.linalg.eigvalsh(second)[-len(V) :].sum()
    return float(np.trace(second)), float(kept), float(own)
