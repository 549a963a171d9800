"""What was found in a sample, counted again on all rows: sentences, outcomes, alignments, groups.

Which known groups there are was decided on a sample, where they are held against random ones. What
each of them loses follows from sums, so it is the table's own figure.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import NamedTuple

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
from leftout.explain.alignment import Alignment, of_counts, ranked
from leftout.explain.sentence import Sentence, joined
from leftout.groups.known_result import KnownGroup, KnownGroups, OnAllRows
from leftout.groups.outcome import Outcome, Spread, of_means, of_shares_counted
from leftout.linalg.losses import Array
from leftout.linalg.moments import Moments, build, merge, stack
from leftout.linalg.problem import Labels

Counts = NDArray[np.int64]
Conditions = tuple[Condition, ...]
# Second moments of all groups have at most this many values, of which a chunk sends one each.
_MOST = 1 << 23


class Counted(NamedTuple):
    """Exact counts; of pairs, the rest comes first."""

    covered: Counts  # of each sentence: rows covered, and those of them in the group
    values: dict[str, Counts]  # of each category: (2, values), missing ones last
    gaps: dict[str, Counts]  # of numbers: (2, [known, missing])
    spreads: dict[str, tuple[Spread, Spread]]

    def merge(self, other: Counted) -> Counted:
        """Of both together."""
        return Counted(
            self.covered + other.covered,
            {name: each + other.values[name] for name, each in self.values.items()},
            {name: each + other.gaps[name] for name, each in self.gaps.items()},
            {
                name: (rest.merge(other.spreads[name][0]), group.merge(other.spreads[name][1]))
                for name, (rest, group) in self.spreads.items()
            },
        )


@dataclass(frozen=True)
class ExactCountPass:
    """Counts of one chunk, given with its rows' labels."""

    plan: EncodingPlan
    names: tuple[str, ...]
    sentences: tuple[Sentence, ...]

    def __call__(self, item: tuple[Chunk, Labels]) -> Counted:
        chunk, labels = item
        parts = (
            self.over(columns, labels[start - chunk.start :])
            for start, columns in self.plan.columns(chunk, self.names)
        )
        return reduce(Counted.merge, parts)

    def over(self, columns: dict[str, Column], labels: Labels) -> Counted:
        """Counts of a batch; ``labels`` of its rows, and maybe of more after it."""
        group = labels[: len(columns[self.names[0]])] == 1
        covered = np.zeros((len(self.sentences), 2), dtype=np.int64)
        for place, sentence in enumerate(self.sentences):
            holds = [c.holds(columns[c.column]) for c in sentence.conditions]
            rows = joined(holds, sentence.joined)
            covered[place] = rows.sum(), np.sum(rows & group)
        values, gaps, spreads = {}, {}, {}
        for name, column in columns.items():
            if column.categories is not None:
                n = len(self.plan.readers[name].like.categories or ())
                values[name] = _by_side(np.minimum(column.values, n), n + 1, group)
                continue
            known = np.isfinite(column.values)
            gaps[name] = _by_side(column.missing.astype(np.intp), 2, group)[:, :2]
            spreads[name] = (
                Spread.of(column.values[known & ~group]),
                Spread.of(column.values[known & group]),
            )
        return Counted(covered, values, gaps, spreads)


def _by_side(codes: NDArray[np.integer], n: int, group: NDArray[np.bool_]) -> Counts:
    """Rows of rest and group with each code; of the code -1 in the last place."""
    places = np.where(codes < 0, n, codes) + (n + 1) * group
    return np.bincount(places, minlength=2 * (n + 1)).reshape(2, n + 1).astype(np.int64)


def with_exact_counts(
    told: Explanation,
    intake: PreparedTable,
    plan: EncodingPlan,
    chunks: Sequence[Chunk],
    labels: Labels,
    fold: Fold,
) -> Explanation:
    """The explanation of a sample, with the counts of all rows."""
    target = intake.target
    sentences = () if told.sentence is None else (told.sentence, *told.sentence.shorter)
    names = [column.name for column in intake.columns if column.name in plan.readers]
    items = [(c, np.ascontiguousarray(labels[c.start : c.start + c.n_rows])) for c in chunks]
    counted = fold(ExactCountPass(plan, tuple(names), sentences), items, Counted.merge)
    outcome, lacking = _outcomes(target, intake, counted)
    return replace(
        told,
        sentence=_sentence(told.sentence, counted.covered, labels),
        alignment=_alignment(told.alignment, {c.name: c for c in intake.columns}, counted),
        outcome=outcome,
        no_outcome=lacking,
    )


def _sentence(found: Sentence | None, covered: Counts, labels: Labels) -> Sentence | None:
    if found is None:
        return None
    size, n_rows = int(labels.sum(dtype=np.int64)), len(labels)
    exact = [
        replace(each, covered=int(all_), count=int(inside), size=size, n_rows=n_rows, shorter=())
        for each, (all_, inside) in zip((found, *found.shorter), covered, strict=True)
    ]
    return replace(exact[0], shorter=tuple(exact[1:]))


def _outcomes(
    target: Column | None, intake: PreparedTable, counted: Counted
) -> tuple[list[Outcome], Outcome | None]:
    """The outcome on both sides, and how often either has none."""
    if target is None:
        return [], None
    name = target.name
    levels = levels_of(target, intake.positive)
    if levels is None and name in counted.spreads:
        rest, group = counted.spreads[name]
        sizes = counted.gaps[name].sum(axis=1)
        gaps = [int(size) - side.n for size, side in zip(sizes, (rest, group), strict=True)]
        found = [of_means(name, (group, rest), sum(gaps))]
    else:
        counts = counted.values[name]
        known, sizes = counts[:, :-1].sum(axis=1), counts.sum(axis=1)
        gaps = counts[:, -1].tolist()
        found = [
            Outcome(
                kind="rate",
                positive=value_of(target, level),
                **of_shares_counted(name, _pairs(counts[:, int(level)], known), sum(gaps)),
            )
            for level in levels or ()
        ]
    if not sum(gaps):
        return found, None
    parts = of_shares_counted(name, _pairs(np.array(gaps), sizes), sum(gaps))
    return found, Outcome(kind="missing", positive=None, **parts)


def _pairs(hits: Counts, sizes: Counts) -> list[tuple[int, int]]:
    """Hits and rows of the group, then of the rest."""
    return [(int(hits[side]), int(sizes[side])) for side in (1, 0)]


def _alignment(
    lines: list[Alignment], columns: dict[str, Column], counted: Counted
) -> list[Alignment]:
    """Categories and missing cells counted on all rows; of numbers, means and spreads are."""
    exact = []
    for line in lines:
        column = columns[line.column]
        made = [line]
        if line.kind == "number" and line.means is not None and line.column in counted.spreads:
            rest, group = counted.spreads[line.column]
            spreads = [float(np.sqrt(s.squares / max(s.n, 1))) for s in (group, rest)]
            made = [replace(line, means=(group.mean, rest.mean), spreads=(spreads[0], spreads[1]))]
        elif line.kind == "category" and line.column in counted.values:
            names = [column.show(code) for code in range(len(column.categories or ()))]
            found = of_counts(line.column, line.kind, counted.values[line.column][:, :-2], names)
            made = [replace(each, searched=line.searched) for each in found]
        elif line.kind == "missing":
            counts = counted.gaps.get(line.column)
            if counts is None:
                values = counted.values[line.column]
                counts = np.column_stack([values[:, :-1].sum(axis=1), values[:, -1]])
            found = of_counts(line.column, line.kind, counts, ["known", "missing"])
            made = [
                replace(each, searched=line.searched, known_differ=line.known_differ)
                for each in found
            ]
        exact += made
    return ranked(exact)


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
