"""What was found in a sample, counted again on all rows: sentences and outcomes.

Which sentences there are was decided on a sample. What holds for how many rows follows from sums.
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
from leftout.explain.sentence import Sentence, joined
from leftout.groups.outcome import Outcome, Spread, of_means, of_shares_counted
from leftout.linalg.problem import Labels

Counts = NDArray[np.int64]
Conditions = tuple[Condition, ...]


class GroupCounts(NamedTuple):
    """Counts of rows of the rest and of the group, in this order."""

    covered: Counts  # of each sentence: (sentences, 2)
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
    sentences: tuple[Sentence, ...]
    target: str | None
    levels: Sequence[Any] | None  # the target's values whose rates count; None: its mean does

    def __call__(self, item: tuple[Chunk, Labels]) -> GroupCounts:
        chunk, labels = item
        names = {each.column for sentence in self.sentences for each in sentence.conditions}
        names |= set() if self.target is None else {self.target}
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
        covered = np.zeros((len(self.sentences), 2), dtype=np.int64)
        for place, sentence in enumerate(self.sentences):
            holds = [each.holds(columns[each.column]) for each in sentence.conditions]
            hit = joined(holds, sentence.joined)
            covered[place] = [np.sum(hit & side) for side in sides]
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
    target = intake.target
    sentences = (
        ()
        if explanation.sentence is None
        else (explanation.sentence, *explanation.sentence.shorter)
    )
    if not sentences and target is None:
        return explanation
    items = [(c, np.ascontiguousarray(labels[c.start : c.start + c.n_rows])) for c in chunks]
    levels = None if target is None else levels_of(target, intake.positive)
    one = CountPass(plan, sentences, None if target is None else target.name, levels)
    counted = fold(one, items, GroupCounts.merge)
    size = int(labels.sum(dtype=np.int64))
    exact = [
        replace(
            each, covered=int(hits.sum()), count=int(hits[1]), size=size, n_rows=len(labels),
            shorter=(),
        )
        for each, hits in zip(sentences, counted.covered, strict=True)
    ]  # fmt: skip
    explanation = replace(
        explanation, sentence=replace(exact[0], shorter=tuple(exact[1:])) if exact else None
    )
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
