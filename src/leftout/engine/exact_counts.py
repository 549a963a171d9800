"""What was found in a sample, counted again on all rows: the sentence, outcomes, known groups.

Which sentence and known groups there are was decided on a sample, where these are held against
random groups. What holds for how many rows, and what a known group loses, follows from sums.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from leftout.data.columns import Column
from leftout.data.conditions import Condition
from leftout.data.preparation import PreparedTable
from leftout.data.roles import levels_of, value_of
from leftout.engine.chunks import Chunk
from leftout.engine.encoding_plan import EncodingPlan
from leftout.engine.engines import Fold
from leftout.explain import Explanation
from leftout.explain.sentence import Sentence
from leftout.groups.known import KnownGroup, KnownGroups, OnAllRows
from leftout.groups.outcome import Outcome, Spread, of_means, of_shares_counted
from leftout.linalg.losses import Array
from leftout.linalg.moments import Moments, build, merge, stack
from leftout.linalg.problem import Labels

Counts = NDArray[np.int64]
Conditions = tuple[Condition, ...]
# Second moments of all groups have at most this many values, of which a chunk sends one each.
_MOST = 1 << 23


class GroupCounts(NamedTuple):
    """Counts of rows of the rest and of the group, in this order."""

    covered: Counts  # by the sentence: (2,)
    values: Counts  # rows of each value of a target that counts, with any, and all: (values + 2, 2)
    numbers: tuple[Spread, ...]  # of a target whose mean counts

    def merge(self, other: GroupCounts) -> GroupCounts:
        """Of both together."""
        return GroupCounts(
            self.covered + other.covered,
            self.values + other.values,
            tuple(a.merge(b) for a, b in zip(self.numbers, other.numbers, strict=True)),
        )


@dataclass(frozen=True)
class CountPass:
    """Counts of one chunk, given with its rows' labels."""

    plan: EncodingPlan
    sentence: Sentence | None
    target: str | None
    levels: Sequence[Any] | None  # the target's values whose rates count; None: its mean does

    def __call__(self, item: tuple[Chunk, Labels]) -> GroupCounts:
        chunk, labels = item
        told = [] if self.sentence is None else self.sentence.conditions
        names = {each.column for each in told} | ({self.target} if self.target else set())
        return reduce(
            GroupCounts.merge,
            (
                self.over(columns, labels[start - chunk.start :])
                for start, columns in self.plan.columns(chunk, sorted(names))
            ),
        )

    def over(self, columns: dict[str, Column], labels: Labels) -> GroupCounts:
        """Counts of a batch; ``labels`` of its rows, and maybe of more after it."""
        group = labels[: len(next(iter(columns.values())))] == 1
        sides = (~group, group)
        covered = np.zeros(2, dtype=np.int64)
        if self.sentence is not None:
            hit = self.sentence.holds(columns)
            covered = np.array([np.sum(hit & side) for side in sides])
        rows = [np.ones(len(group), dtype=bool)]
        numbers: tuple[Spread, ...] = ()
        if self.target is not None:
            column = columns[self.target]
            known = np.isfinite(column.values) if self.levels is None else ~column.missing
            rows = [*(column.values == level for level in self.levels or ()), known, *rows]
            if self.levels is None:
                numbers = tuple(Spread.of(column.values[known & side]) for side in sides)
        values = np.array([[np.sum(hit & side) for side in sides] for hit in rows])
        return GroupCounts(covered, values, numbers)


def with_exact_counts(
    explanation: Explanation,
    intake: PreparedTable,
    plan: EncodingPlan,
    chunks: Sequence[Chunk],
    labels: Labels,
    fold: Fold,
) -> Explanation:
    """The explanation of a sample, with the counts of all rows."""
    target, sentence = intake.target, explanation.sentence
    if sentence is None and target is None:
        return explanation
    items = [(c, np.ascontiguousarray(labels[c.start : c.start + c.n_rows])) for c in chunks]
    levels = None if target is None else levels_of(target, intake.positive)
    one = CountPass(plan, sentence, None if target is None else target.name, levels)
    counted = fold(one, items, GroupCounts.merge)
    if sentence is not None:
        inside = int(counted.covered[1])
        exact = replace(
            sentence, covered=int(counted.covered.sum()), count=inside,
            size=int(labels.sum(dtype=np.int64)), n_rows=len(labels),
        )  # fmt: skip
        explanation = replace(explanation, sentence=exact)
    if target is None:
        return explanation
    outcome, lacking = _outcomes(target, levels, counted)
    return replace(explanation, outcome=outcome, no_outcome=lacking)


def _outcomes(
    target: Column, levels: Sequence[Any] | None, counted: GroupCounts
) -> tuple[list[Outcome], Outcome | None]:
    """The outcome on both sides, and how often either has none."""
    *hits, known, sizes = counted.values
    missing = int((sizes - known).sum())

    def shares(rows: Counts, of: Counts) -> dict[str, Any]:
        pairs = [(int(rows[side]), int(of[side])) for side in (1, 0)]
        return of_shares_counted(target.name, pairs, missing)

    if levels is None:
        found = [of_means(target.name, counted.numbers[::-1], missing)]
    else:
        found = [
            Outcome(kind="rate", positive=value_of(target, level), **shares(rows, known))
            for level, rows in zip(levels, hits, strict=True)
        ]
    if not missing:
        return found, None
    return found, Outcome(kind="missing", positive=None, **shares(sizes - known, sizes))


@dataclass(frozen=True)
class GroupSums:
    """The pass that takes moments of groups; those of one way to part the rows do not overlap."""

    plan: EncodingPlan
    ways: tuple[tuple[Conditions, ...], ...]
    origin: Array

    def __call__(self, chunk: Chunk) -> Moments:
        names = sorted({c.column for way in self.ways for group in way for c in group})
        both = zip(self.plan.blocks(chunk), self.plan.columns(chunk, names), strict=True)
        return reduce(merge, (self.over(rows, columns) for (_, rows), (_, columns) in both))

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
    plan: EncodingPlan,
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
