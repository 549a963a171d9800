"""What was found in a sample, counted again on all rows: the sentence, and the outcome.

Which sentence it is was decided on a sample. Whether it covers a row, and what the row's outcome
is, are a byte and a number: of all rows these fit into memory, beside the labels.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leftout.data.columns import Column
from leftout.data.preparation import PreparedTable
from leftout.data.roles import levels_of
from leftout.engine.chunks import Chunk
from leftout.engine.encoding_plan import EncodingPlan
from leftout.engine.engines import Fold
from leftout.explain import Explanation
from leftout.explain.sentence import Sentence
from leftout.groups.outcome import outcomes, without_outcome
from leftout.linalg.problem import Labels

# Of some rows, which the sentence covers, and then the values of the target: either may not be.
Told = list[NDArray[Any]]


@dataclass(frozen=True)
class ToldRows:
    """The rows of a chunk: whether the sentence covers them, and their value of the target."""

    plan: EncodingPlan
    sentence: Sentence | None
    target: str | None

    def __call__(self, chunk: Chunk) -> Told:
        told = [] if self.sentence is None else self.sentence.conditions
        names = {each.column for each in told} | ({self.target} if self.target else set())
        batches = self.plan.columns(chunk, sorted(names))
        return reduce(self.merge, (self.over(columns) for _, columns in batches))

    def over(self, columns: dict[str, Column]) -> Told:
        """Of the rows of a batch."""
        told = [] if self.sentence is None else [self.sentence.holds(columns)]
        return told if self.target is None else [*told, columns[self.target].values]

    def merge(self, a: Told, b: Told) -> Told:
        """Of one stretch of rows, then of the next."""
        return [np.concatenate(both) for both in zip(a, b, strict=True)]


def with_exact_counts(
    explanation: Explanation,
    intake: PreparedTable,
    plan: EncodingPlan,
    chunks: Sequence[Chunk],
    labels: Labels,
    fold: Fold,
) -> Explanation:
    """The explanation of a sample, with the counts of all rows."""
    target, sentence, group = intake.target, explanation.sentence, labels == 1
    if sentence is None and target is None:
        return explanation
    one = ToldRows(plan, sentence, None if target is None else target.name)
    told = fold(one, chunks, one.merge)
    if sentence is not None:
        hit = told[0]
        exact = replace(
            sentence, covered=int(hit.sum()), count=int((hit & group).sum()),
            size=int(group.sum()), n_rows=len(labels),
        )  # fmt: skip
        explanation = replace(explanation, sentence=exact)
    if target is None:
        return explanation
    everyone, levels = replace(target, values=told[-1]), levels_of(target, intake.positive)
    return replace(
        explanation,
        outcome=outcomes(everyone, group, levels),
        no_outcome=without_outcome(everyone, group, levels),
    )
