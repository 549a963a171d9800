"""What was found in a sample, counted again on all rows: sentences, outcomes, alignments."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from leftout.core.problem import Labels
from leftout.explain import Explanation
from leftout.explain.alignment import Alignment, of_counts, ranked
from leftout.explain.sentence import Sentence, joined
from leftout.scale.chunks import Chunk
from leftout.scale.planning import Plan
from leftout.scale.rows import Fold
from leftout.search.outcome import Outcome, Spread, of_means, of_shares_counted
from leftout.tables.columns import Column
from leftout.tables.intake import Intake
from leftout.tables.targets import levels_of, value_of

Counts = NDArray[np.int64]


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
class Recount:
    """Counts of one chunk, given with its rows' labels."""

    plan: Plan
    names: tuple[str, ...]
    sentences: tuple[Sentence, ...]

    def __call__(self, item: tuple[Chunk, Labels]) -> Counted:
        chunk, labels = item
        whole: Counted | None = None
        for start, columns in self.plan.columns(chunk, self.names):
            first = start - chunk.start
            group = labels[first : first + len(columns[0])] == 1
            part = self._counted(dict(zip(self.names, columns, strict=True)), group)
            whole = part if whole is None else whole.merge(part)
        assert whole is not None
        return whole

    def _counted(self, columns: dict[str, Column], group: NDArray[np.bool_]) -> Counted:
        covered = np.zeros((len(self.sentences), 2), dtype=np.int64)
        for place, sentence in enumerate(self.sentences):
            holds = [c.holds(columns[c.column]) for c in sentence.conditions]
            rows = joined(holds, sentence.joined)
            covered[place] = rows.sum(), np.sum(rows & group)
        values, gaps, spreads = {}, {}, {}
        for name, column in columns.items():
            if column.categories is not None:
                values[name] = _by_side(column.values, len(column.categories), group)
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


def recounted(
    told: Explanation,
    intake: Intake,
    plan: Plan,
    chunks: Sequence[Chunk],
    labels: Labels,
    fold: Fold,
) -> Explanation:
    """The explanation of a sample, with the counts of all rows."""
    target = intake.target
    sentences = () if told.sentence is None else (told.sentence, *told.sentence.shorter)
    names = [column.name for column in intake.columns if column.name in plan.readers]
    items = [(c, np.ascontiguousarray(labels[c.start : c.start + c.n_rows])) for c in chunks]
    counted = fold(Recount(plan, tuple(names), sentences), items, Counted.merge)
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
    target: Column | None, intake: Intake, counted: Counted
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
            found = of_counts(line.column, line.kind, counted.values[line.column][:, :-1], names)
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
