"""Nothing that people are handed counts or describes fewer rows than ``min_cell``.

Cells of a list (rules, known groups, values that look odd) are left out, and so is what would give
them away by subtraction. What an answer rests on (the sentence, shares, outcomes) keeps its words;
its counts are moved to the nearest that leave no cell of 1 to ``min_cell - 1`` rows, in the group
or in the rest. Done once, before anything is worded.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from leftout.data.conditions import Mask
from leftout.data.encoding import CategoricalEncoding, NumericEncoding, as_read
from leftout.data.preparation import PreparedTable
from leftout.explain import Explanation
from leftout.explain.sentence import Sentence
from leftout.groups.known import KnownGroup
from leftout.groups.outcome import Outcome
from leftout.linalg.significance import Interval

T = TypeVar("T")
RARE = "(rare)"


def kept(count: int, of: int, fewest: int) -> int:
    """The nearest count that leaves no small cell, itself or in what is left.

    Examples
    --------
    >>> [kept(count, 100, 10) for count in (0, 3, 7, 50, 93, 100)]
    [0, 0, 10, 50, 90, 100]
    >>> kept(8, 15, 10)
    15
    """
    if count in (0, of) or fewest <= count <= of - fewest:
        return count
    fits = [0, of] + [min(max(count, fewest), of - fewest)] * (of >= 2 * fewest)
    return min(fits, key=lambda other: abs(other - count))


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
    known, named = audit.known, audit.named
    if known is not None:
        known = replace(known, groups=_known(known.groups, known.n_rows, fewest))
    if named is not None:
        n = len(intake.rows)
        named = replace(named, groups=[
            replace(each, outcome=_outcome(each.outcome, each.size, n - each.size, fewest))
            for each in named.groups if each.size == kept(each.size, n, fewest)
        ])  # fmt: skip
    intake = replace(
        intake, facts=_facts(intake, fewest, rare),
        suspects=[each for each in intake.suspects if each.rows >= fewest],
    )  # fmt: skip
    after = audit.afterwards
    if after is not None:
        lines = [replace(e, who=_sentence(e.who, audit.intake, fewest)) for e in after.lines]
        after = replace(after, lines=lines)
    return replace(
        audit, left_out_groups=groups, known=known, named=named, afterwards=after, intake=intake
    )


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


def _facts(intake: PreparedTable, fewest: int, rare: Mapping[str, str]) -> list[Any]:
    """What is said of columns, without values and ends of scales that few rows have."""
    columns, made = {column.name: column for column in intake.searched}, []
    for fact in intake.facts:
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
                missing=kept(fact.missing, len(intake.rows), fewest),
            )  # fmt: skip
        )
    return made


def _explanation(
    group: Any, intake: PreparedTable, fewest: int, rare: Mapping[str, str]
) -> Explanation:
    told, sizes = group.explanation, group.left_out.sizes

    def fits(rule: Any) -> bool:
        of, rest = (sizes.group, sizes.rest)[:: 1 if rule.group else -1]
        inside, outside = rule.count, rule.covered - rule.count
        return inside == kept(inside, of, fewest) and outside == kept(outside, rest, fewest)

    outcomes = [
        _outcome(each, sizes.group, sizes.rest, fewest) for each in (*told.outcome, told.no_outcome)
    ]
    return replace(
        told, sentence=_sentence(told.sentence, intake, fewest, group.left_out.mask),
        outcome=[each for each in outcomes[:-1] if each is not None],
        no_outcome=outcomes[-1], rules=list(filter(fits, told.rules)),
        leading_rules=list(filter(fits, told.leading_rules)),
        typical=[_shares(line, sizes, fewest) for line in told.typical],
        alignment=[_shares(line, sizes, fewest) for line in told.alignment],
        disparity_by_feature=[
            each._replace(feature=rare.get(each.feature, each.feature))
            for each in told.disparity_by_feature
        ],
    )  # fmt: skip


def _sentence(
    sentence: Sentence | None, intake: PreparedTable, fewest: int, group: Mask | None = None
) -> Sentence | None:
    """A sentence without alternatives that cover too few rows; None if there is no other."""
    if sentence is None:
        return None
    columns = {column.name: column for column in intake.columns}
    masks = [[c.holds(columns[c.column]) for c in both] for both in sentence.alternatives]
    held = [np.logical_and.reduce(each) for each in masks]
    large = [place for place, each in enumerate(held) if each.sum() >= fewest]
    if len(large) < len(held):
        if not large or group is None:
            return None
        covered = np.logical_or.reduce([held[place] for place in large])
        share = sentence.n_rows / len(covered)  # of a table in parts, from the rows of a sample
        sentence = replace(
            sentence, alternatives=tuple(sentence.alternatives[place] for place in large),
            covered=round(share * covered.sum()), count=round(share * (covered & group).sum()),
        )  # fmt: skip
    count = kept(sentence.count, sentence.size, fewest)
    others = sentence.n_rows - sentence.size
    outside = kept(sentence.covered - sentence.count, others, fewest)
    return replace(sentence, count=count, covered=count + outside)


def _share(share: float, size: int, fewest: int) -> float:
    if not np.isfinite(share):  # nobody's value is known
        return share
    count = round(share * size)
    near = kept(count, size, fewest)
    return share if near == count else near / size


def _shares(line: T, sizes: Any, fewest: int) -> T:
    """A line with a value's share on either side; a value of too few rows has no name."""
    known: Any = line
    if known.left_out_share is None:
        return line
    shares = (known.left_out_share, known.rest_share)
    rows = [round(share * size) for share, size in zip(shares, sizes, strict=True)]
    made = [_share(share, size, fewest) for share, size in zip(shares, sizes, strict=True)]
    fixed: dict[str, Any] = {"left_out_share": made[0], "rest_share": made[1]}
    if hasattr(known, "contrast") and sum(rows) < fewest:
        fixed["contrast"] = RARE
    if hasattr(known, "left_out"):
        fixed |= {
            name: RARE for name, n in zip(("left_out", "rest"), rows, strict=True) if n < fewest
        }
    return replace(known, **fixed)


def _outcome(outcome: Outcome | None, size: int, rest: int, fewest: int) -> Outcome | None:
    """A rate on either side, and their difference, moved to counts that are not small."""
    if outcome is None or outcome.kind == "mean":
        return outcome
    moved = [
        _share(each.value, n, fewest) - each.value
        for each, n in ((outcome.left_out, size), (outcome.rest, rest))
    ]
    return replace(
        outcome, left_out=_moved(outcome.left_out, moved[0]), rest=_moved(outcome.rest, moved[1]),
        gap=_moved(outcome.gap, moved[0] - moved[1], -1.0),
        missing=kept(outcome.missing, size + rest, fewest),
    )  # fmt: skip


def _moved(each: Interval, by: float, least: float = 0.0) -> Interval:
    if not by:
        return each
    return Interval(*(float(np.clip(value + by, least, 1.0)) for value in each))


def _known(groups: Iterable[KnownGroup], n_rows: int, fewest: int) -> list[KnownGroup]:
    """Groups that are large enough; of a line of a table, no single one may be left out.

    The lines are all groups of the same columns, or those of them that share a value: what is left
    out of a line has to be enough rows together, or the line's total tells it.
    """
    groups = list(groups)
    hidden = {id(each) for each in groups if each.size != kept(each.size, n_rows, fewest)}
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
