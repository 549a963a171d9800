"""The answer in the order in which people ask: what is lost, who, why, how sure, at what cost.

Each line is worded where its numbers are; here is which of them are said, and in which order. Page,
terminal, ``summary()`` and audit.json all show these lines.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from leftout.auditing.group_result import FOUND, NOT_FOUND, Answer, Finding, GroupResult
from leftout.data.conditions import Mask
from leftout.downstream.outcomes import SHARED
from leftout.downstream.result import Harm
from leftout.evidence.evidence_text import Trust
from leftout.explain import Explanation
from leftout.explain.sentence import Sentence
from leftout.fair.assessment import Afterwards
from leftout.fair.mitigation import Mitigation
from leftout.groups.left_out import LeftOut, describe_points
from leftout.groups.subgroups import NamedGroup, NamedGroups
from leftout.text import as_name, counted, listed, number

# Findings that would change what a reader does, most serious first: under which status they are
# said with the answer, and how that begins where the detail does not say it; so many at the most.
_MIND = {
    "A002": (FOUND, "A searched column stands for a sensitive one."),
    "T005": (FOUND, ""),
    "R001": (NOT_FOUND, ""),
    "S001": (NOT_FOUND, "Searches from other starts find other groups."),
    "T007": (FOUND, ""),
    "T001": (FOUND, ""),
    "T002": (FOUND, ""),
    "S003": (NOT_FOUND, "The group is another when the target is kept out of the encoding."),
    "B001": (NOT_FOUND, "Who belongs is uncertain."),
    "T004": (FOUND, "Values may stand for something else."),
}
_MOST_MIND = 4
# Said where Fair PCA for the group is, and nobody has searched again: in full,
# leftout.fair.mitigation.NOT_FOR_OTHERS.
OTHERS_LOSE = "Under Fair PCA another group may lose as much."
# Names that cover less of the group than this fail; so many are said.
_COVER, _MOST_NAMES = 0.5, 3
# Each further name must cover so much of the group anew, and each condition be worth this much of
# F1: shorter names are read more easily.
_NEW, _LENGTH = 0.05, 0.02


def answer_of(
    groups: Sequence[GroupResult],
    mended: Mitigation,
    *,
    named: NamedGroups | None = None,
    harm: Harm | None = None,
    findings: Sequence[Finding] = (),
    sampled: bool = False,
    mask: Mask | None = None,
    after: Afterwards | None = None,
) -> Answer:
    """Put together what was found; of several groups, every line has a clause for each.

    ``mask``: the one group among the rows that names are known for, where these are not all;
    ``after``: whom mitigation leaves worst off, where that was searched.
    """
    who = [_who(each, named, each.left_out.mask if mask is None else mask) for each in groups]
    said = list(findings)
    if len(groups) > 1:
        who = [f"Group {each.label}: {text}" for each, text in zip(groups, who, strict=True)]
        said += [
            replace(finding, detail=f"Group {each.label}: {finding.detail}")
            for each in groups
            for finding in each.findings
        ]
    return Answer(
        fact=headline([each.left_out for each in groups], sampled),
        who=" ".join(who),
        why=_why(groups),
        returns=_returns(groups),
        cost=_cost(groups, mended, harm, after),
        mind=cautions(said),
    )


def cautions(findings: Sequence[Finding]) -> list[str]:
    """Findings that would change what a reader does, most serious first."""
    order = list(_MIND)
    serious = [f for f in findings if f.code in _MIND and _MIND[f.code][0] == f.status]
    serious.sort(key=lambda f: order.index(f.code))
    return [f"{_MIND[f.code][1]} {f.detail}".lstrip() for f in serious[:_MOST_MIND]]


def headline(groups: Sequence[LeftOut], sampled: bool = False) -> str:
    """What is lost by each group and by the rest, in one sentence: a fact, whatever explains it."""
    first, sizes = groups[0], [f"{group.size:,}" for group in groups]
    rows = f"{listed(sizes)} of {first.n_rows:,} {'sampled ' * sampled}rows"
    lost = [describe_points(max(group.points.group, 0.0)) for group in groups]
    rest = describe_points(max(first.points.rest, 0.0)).split()[0]
    if len(groups) == 1:
        if first.disparity <= 0.0:
            return f"No group of {rows} loses more than the rest."
        return (
            f"By sharing one {first.shared}, {rows} lose {lost[0]} of their variance, the rest "
            f"{rest}."
        )
    if len(set(sizes)) == 1:
        rows = f"{sizes[0]}{rows.removeprefix(listed(sizes))} each"
    return (
        f"By sharing one {first.shared}, {counted(len(groups), 'left-out group')} of {rows} lose "
        f"{listed([each.split()[0] for each in lost])} points of their variance, the rest {rest}."
    )


def covering(named: NamedGroups | None, group: Mask) -> tuple[list[NamedGroup], Mask]:
    """The names that cover the group, each with something new, and all that they cover.

    In turn the name that adds most to the F1 of all of them together, while any does; of a name of
    several conditions it must be more.
    """
    chosen: list[NamedGroup] = []
    covered = np.zeros(len(group), dtype=bool)
    size = int(group.sum())
    left = [] if named is None else list(named.groups)
    best = 0.0
    while left and len(chosen) < _MOST_NAMES:
        scored = [(_f1(covered | each.mask, group), each) for each in left]
        f1, name = max(scored, key=lambda one: one[0] - _LENGTH * len(one[1].conditions))
        if f1 <= best or np.sum(group & name.mask & ~covered) < _NEW * size:
            break
        best, covered = f1, covered | name.mask
        chosen.append(name)
        left.remove(name)
    return chosen, covered


def _f1(covered: Mask, group: Mask) -> float:
    return 2.0 * float(np.sum(covered & group)) / float(covered.sum() + group.sum())


def _who(found: GroupResult, named: NamedGroups | None, group: Mask) -> str:
    """Names that cover half of the group or a sentence that describes it, whichever fits better."""
    told = found.explanation
    names, covered = covering(named, group)
    sentence, inside = told.sentence, int(np.sum(covered & group))
    cover = bool(names) and inside >= _COVER * group.sum()
    if sentence is not None and sentence.describes:
        if not cover or sentence.f1 > _f1(covered, group):
            return _described(sentence, told)
    if cover:
        conditions = joined([name.condition for name in names])
        return named_so(conditions, inside / group.sum(), inside / covered.sum())
    if sentence is not None:
        return f"No short description fits; the closest: {_described(sentence, told)}"
    return "Nobody that columns could name."


def named_so(conditions: str, recall: float, precision: float) -> str:
    """What names the group, how much of it that is, and how much of what is named is in it."""
    return f"{conditions}: {100 * recall:.0f} % of the group, {100 * precision:.0f} % of all named."


def _described(sentence: Sentence, told: Explanation) -> str:
    """The same of a sentence, with the columns in it that lower the loss."""
    text = named_so(sentence.text, sentence.recall, sentence.precision)
    return f"{text} {sentence.told_off(told.by_column())}".rstrip()


def joined(conditions: list[str]) -> str:
    """Names of groups that are one together: a; b; or c."""
    *others, last = conditions
    return "; ".join([*others, f"or {last}"]) if others else last


def _why(groups: Sequence[GroupResult]) -> str:
    alone, weighed = len(groups) == 1, [each.trust for each in groups if each.trust is not None]
    if len(weighed) < len(groups):
        return f"What explains the {'loss' if alone else 'losses'} was not looked at."
    if alone:
        return weighed[0].verdict_says
    each = (
        f"group {group.label}: {_verdict(trust)}"
        for group, trust in zip(groups, weighed, strict=True)
    )
    return f"G{'; '.join(each)[1:]}."


def _verdict(trust: Trust) -> str:
    """What explains the loss of one of several groups, in a few words."""
    name = trust.verdict_name or "not tested"
    if trust.verdict == "C" and trust.parts is not None:
        columns = [as_name(column) for column in trust.parts.values.carriers]
        name += f", in {listed(columns)}" if columns else ""
    return name


def _returns(groups: Sequence[GroupResult]) -> str:
    """The gap on rows that were not searched, and who nearly always comes back."""
    weighed = [(each, each.trust) for each in groups if each.trust is not None]
    gaps = [(each, one.held_out) for each, one in weighed if one.held_out is not None]
    sure = [(each, one.membership) for each, one in weighed if one.membership is not None]
    if len(groups) == 1:
        said = [*(held.told_gap for _, held in gaps), *(who.told_short for _, who in sure)]
        return " ".join(said) or "Whether it comes back was not looked at."
    said = []
    if gaps:
        each = [
            f"group {group.label} {'loses ' * (group is groups[0])}"
            f"{number(gap.value, digits=2)} ({number(gap.low, gap.value, 2)} to "
            f"{number(gap.high, gap.value, 2)})"
            for group, gap in ((group, held.gap) for group, held in gaps)
        ]
        said.append(f"On rows not searched, {listed(each)} more than the rest.")
    if sure:
        each = [f"{who.n_members:,} of group {group.label}" for group, who in sure]
        said.append(f"Nearly always back: {listed(each)}.")
    return " ".join(said) or "Whether they come back was not looked at."


def _cost(
    groups: Sequence[GroupResult], mended: Mitigation, harm: Harm | None, after: Afterwards | None
) -> str:
    """The outcome on both sides, what a model pays, what Fair PCA gives back, and what to use."""
    said, alone = [], len(groups) == 1
    for group in groups:
        told = group.explanation
        outcomes = [*told.outcome[:1]]
        if alone and told.no_outcome is not None and told.no_outcome.notable:
            outcomes.append(told.no_outcome)
        of = "" if alone else f"Group {group.label}: "
        said += [f"{of}{outcome.brief}." for outcome in outcomes]
    if harm is None:
        labels = [each.label for each in groups]
        helps = f"Fair PCA with as many components brings {mended.here.told_losses(labels)}."
    else:
        helps = harm.told_brief if alone else describe_errors(groups, harm)
    return " ".join([*said, helps, OTHERS_LOSE if after is None else after.told_brief])


def describe_errors(groups: Sequence[GroupResult], harm: Harm) -> str:
    """What models get wrong for each group and the rest, from each kind of features."""
    unit, err = ("", "err by") if harm.kind == "number" else (" %", "mispredict")
    sides = [*(each.harm.group for each in groups if each.harm is not None), harm.rest]

    def errors(variant: str) -> str:
        found = (harm.figure(harm.at(side, variant).value) for side in sides)
        *each, rest = (text.removesuffix(unit) for text in found)
        return f"{listed(each)}{unit} (rest {rest})"

    others = [f"{seen} {errors(seen)}" for seen in harm.variants if seen != SHARED]
    parts = f"{counted(harm.n_components, 'component')} {err} {errors(SHARED)}"
    return f"{', '.join([parts, *others])}."
