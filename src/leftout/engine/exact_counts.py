"""What was found in a sample, counted again on all rows: the sentence, and the outcome.

Which sentences there are was decided on a sample. Whether they cover a row, and what its outcome
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
from leftout.explain.sentence import Sentence, joined
from leftout.groups.outcome import outcomes, without_outcome
from leftout.linalg.problem import Labels

# An array for each sentence, of the rows that it covers, and one of the target's values.
Told = list[NDArray[Any]]


@dataclass(frozen=True)
class ToldRows:
    """The rows of a chunk: which sentences cover them, and their value of the target, if any."""

    plan: EncodingPlan
    sentences: tuple[Sentence, ...]
    target: str | None

    def __call__(self, chunk: Chunk) -> Told:
        names = {name for sentence in self.sentences for name in sentence.columns}
        names |= set() if self.target is None else {self.target}
        batches = self.plan.columns(chunk, sorted(names))
        return reduce(self.merge, (self.over(columns) for _, columns in batches))

    def over(self, columns: dict[str, Column]) -> Told:
        """Of the rows of a batch."""
        told: Told = [
            joined([each.holds(columns[each.column]) for each in sentence.conditions],
                   sentence.joined)
            for sentence in self.sentences
        ]  # fmt: skip
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
    target, first, group = intake.target, explanation.sentence, labels == 1
    sentences = () if first is None else (first, *first.shorter)
    if not sentences and target is None:
        return explanation
    one = ToldRows(plan, sentences, None if target is None else target.name)
    told = fold(one, chunks, one.merge)
    exact = [
        replace(
            each, covered=int(hit.sum()), count=int((hit & group).sum()), size=int(group.sum()),
            n_rows=len(labels), shorter=(),
        )
        for each, hit in zip(sentences, told, strict=False)
    ]  # fmt: skip
    if exact:
        sentence = replace(exact[0], shorter=tuple(exact[1:]))
        explanation = replace(explanation, sentence=sentence)
    if target is None:
        return explanation
    everyone, levels = replace(target, values=told[-1]), levels_of(target, intake.positive)
    return replace(
        explanation,
        outcome=outcomes(everyone, group, levels),
        no_outcome=without_outcome(everyone, group, levels),
    )
