"""Nothing that people are handed counts or describes fewer rows than ``min_cell``.

What is one of a list (rules, known groups, values that look odd) is left out where it, or what it
leaves of its side, is a small cell; so is what would give it away by subtraction. What an answer
rests on is told in bounds. No figure is changed: what is told is so.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import compress
from operator import not_
from typing import Any

import numpy as np

from leftout.data.columns import Column
from leftout.data.conditions import Mask
from leftout.data.encoding import CategoricalEncoding, NumericEncoding, as_read
from leftout.data.preparation import PreparedTable
from leftout.explain import Explanation
from leftout.explain.alignment import Alignment
from leftout.explain.sentence import Sentence
from leftout.groups.known import KnownGroup
from leftout.groups.outcome import Outcome
from leftout.text import bounds_of, counted, rows_between

RARE = "(rare)"


def small(count: int, of: int, fewest: int) -> bool:
    """Whether a count, or what it leaves, is of fewer rows, and of some.

    Examples
    --------
    >>> small(34, 34, 10), small(30, 34, 10)
    (False, True)
    """
    low, high = bounds_of(count, of, fewest)
    return low < high


def few(line: Outcome | Alignment, fewest: int) -> bool:
    """Whether its shares tell a small cell of either side."""
    return any(small(cell, sum(side), fewest) for side in line.cells for cell in side)


def without_small_cells(audit: Any) -> Any:
    """An audit whose parts count and describe no fewer rows than its settings say."""
    fewest = audit.settings.min_cell
    if fewest < 2:
        return audit
    rare, intake = rare_features(audit.intake, fewest), audit.intake
    groups = [
        replace(each, explanation=_explanation(each, intake, fewest, rare))
        for each in audit.left_out_groups
    ]
    known, named, n = audit.known, audit.named, len(intake.rows)
    if known is not None:
        known = replace(known, groups=_known(known.groups, known.n_rows, fewest))
    if named is not None:
        named = replace(named, groups=[
            replace(each, outcome=_outcome(each.outcome, n, fewest)) for each in named.groups
            if not small(each.size, n, fewest)
        ])  # fmt: skip
    after = audit.afterwards
    if after is not None:
        lines = [
            each if each.who is None
            else replace(each, who=of_enough_rows(each.who, intake.columns, each.worst, fewest))
            for each in after.lines
        ]  # fmt: skip
        after = replace(after, lines=lines)
    intake = replace(
        intake, facts=_facts(intake, audit.n_rows, fewest, rare),
        suspects=[s for s in intake.suspects if not small(s.rows, audit.n_rows, fewest)],
    )  # fmt: skip
    lost = {
        "O001": audit.intake.target is not None,
        "T004": len(intake.suspects) < len(audit.intake.suspects),
        "T007": [each.strays for each in intake.facts] != [e.strays for e in audit.intake.facts],
    }
    return replace(
        audit, left_out_groups=groups, known=known, named=named, afterwards=after, intake=intake,
        untold=frozenset(code for code in lost if lost[code]),
    )  # fmt: skip


def rare_features(intake: PreparedTable, fewest: int) -> dict[str, str]:
    """Features that are called after a value of fewer rows, and what to call them instead."""
    found: dict[str, str] = {}
    if fewest < 2:
        return found
    for plan, column in zip(intake.encoder.columns_, intake.searched, strict=True):
        if isinstance(plan.becomes, CategoricalEncoding):
            counts = as_read(column, plan).category_counts
            for value, count in zip(plan.becomes.like.categories or (), counts, strict=False):
                if count < fewest:
                    found[f"{plan.label} = {value}"] = f"{plan.label} = {RARE}"
    return found


def _facts(intake: PreparedTable, n_rows: int, fewest: int, rare: Mapping[str, str]) -> list[Any]:
    """What is said of columns, without values and ends of scales that few rows have."""
    columns, made = {column.name: column for column in intake.searched}, []
    for fact in intake.facts:
        count, why = int(fact.missing), fact.why
        missing = rows_between(*bounds_of(count, n_rows, fewest))
        if missing != count:
            why = why.replace(f"missing in {counted(count, 'row')}", f"missing in {missing} rows")
        how, plan, column = fact.how, fact.becomes, columns.get(fact.label)
        if isinstance(plan, NumericEncoding) and column is not None and column.numbers is not None:
            ends = [int(np.sum(column.numbers == end)) for end in (plan.low, plan.high)]
            if min(ends) < fewest:
                how = re.sub("^.* (to .*, scaled|is 0, .* is 1)", "scaled", how)
        if any(name.startswith(f"{fact.label} = ") for name in rare):
            how = re.sub("^.* is 0, .* is 1", "one is 0, the other is 1", how)
        made.append(
            replace(
                fact,
                how=how,
                features=tuple(rare.get(each, each) for each in fact.features),
                strays=tuple(each for each in fact.strays if each[1] >= fewest),
                missing=missing,
                why=why,
            )
        )
    return made


def _explanation(
    group: Any, intake: PreparedTable, fewest: int, rare: Mapping[str, str]
) -> Explanation:
    told, sizes = group.explanation, group.left_out.sizes

    def fits(rule: Any) -> bool:
        outside = rule.covered - rule.count
        return not (small(rule.count, sizes.group, fewest) or small(outside, sizes.rest, fewest))

    n = sizes.group + sizes.rest
    outcome = [_outcome(each, n, fewest) for each in told.outcome]
    # a share of known values tells how many are missing
    hidden = {
        line.column for line in told.alignment if line.kind == "missing" and few(line, fewest)
    }
    untold = [
        few(line, fewest) or bool(line.cells) and line.column in hidden for line in told.alignment
    ]
    alignment = [list(compress(told.alignment, chosen)) for chosen in (map(not_, untold), untold)]
    sentence = told.sentence
    if sentence is not None:
        sentence = of_enough_rows(sentence, intake.columns, group.left_out.mask, fewest)
    return replace(
        told, sentence=sentence, alignment=alignment[0], untold=alignment[1],
        outcome=[] if None in outcome else outcome,
        no_outcome=_outcome(told.no_outcome, n, fewest), rules=list(filter(fits, told.rules)),
        leading_rules=list(filter(fits, told.leading_rules)),
        disparity_by_feature=[
            each._replace(feature=rare.get(each.feature, each.feature))
            for each in told.disparity_by_feature
        ],
    )  # fmt: skip


def of_enough_rows(
    sentence: Sentence, columns: Sequence[Column], group: Mask, fewest: int
) -> Sentence:
    """A sentence without alternatives that cover too few rows; of none that is left, no words."""
    by_name = {column.name: column for column in columns}
    masks = [[c.holds(by_name[c.column]) for c in both] for both in sentence.alternatives]
    held = [np.logical_and.reduce(each) for each in masks]
    large = [place for place, each in enumerate(held) if each.sum() >= fewest]
    sentence = replace(sentence, min_cell=fewest)
    if len(large) == len(held):
        return sentence
    if not large or len(group) != len(held[0]):
        return replace(sentence, alternatives=())
    covered = np.logical_or.reduce([held[place] for place in large])
    return replace(
        sentence, alternatives=tuple(sentence.alternatives[place] for place in large),
        covered=int(covered.sum()), count=int((covered & group).sum()),
    )  # fmt: skip


def _outcome(outcome: Outcome | None, n_rows: int, fewest: int) -> Outcome | None:
    """An outcome, if no side of it has a small cell."""
    if outcome is None or few(outcome, fewest):
        return None
    missing = rows_between(*bounds_of(int(outcome.missing), n_rows, fewest))
    return replace(outcome, missing=missing)


def _known(groups: Iterable[KnownGroup], n_rows: int, fewest: int) -> list[KnownGroup]:
    """Groups that are large enough; of a line of a table, no single one may be left out.

    The lines are all groups of the same columns, or those of them that share a value: what is left
    out of a line has to be enough rows together, or the line's total tells it.
    """
    groups = list(groups)
    hidden = {id(each) for each in groups if small(each.size, n_rows, fewest)}
    lines: dict[Any, list[KnownGroup]] = defaultdict(list)
    for each in groups:
        columns = tuple(sorted(each.labels))
        lines[columns].append(each)
        for column in columns if len(columns) > 1 else ():
            lines[columns, column, each.labels[column]].append(each)
    again = True
    while again:
        again = False
        for line in lines.values():
            out = [each for each in line if id(each) in hidden]
            shown = sorted((e for e in line if id(e) not in hidden), key=lambda each: each.size)
            if out and shown and (len(out) < 2 or sum(each.size for each in out) < fewest):
                hidden.add(id(shown[0]))
                again = True
    return [each for each in groups if id(each) not in hidden]
