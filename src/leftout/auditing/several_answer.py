"""The answer where several groups are left out: one clause for each of them on every line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from leftout.auditing.answer import OTHERS_LOSE, Answer, cautions, describe_fair
from leftout.auditing.findings import Finding
from leftout.auditing.group_result import GroupResult
from leftout.downstream.outcomes import SHARED
from leftout.downstream.result import Harm
from leftout.fair.afterwards import Afterwards
from leftout.fair.mitigation import Mitigation
from leftout.groups.left_out import LeftOut, describe_points
from leftout.text import as_name, counted, listed, number


def several_answer(
    groups: Sequence[GroupResult],
    sampled: bool,
    mended: Mitigation,
    harm: Harm | None,
    findings: Sequence[Finding],
    after: Afterwards | None = None,
) -> Answer:
    """Put together what was found of each group."""
    return Answer(
        fact=several_headline([each.left_out for each in groups], sampled),
        who=" ".join(f"Group {each.label}: {each.answer.who}" for each in groups),
        why=_why(groups),
        returns=_returns(groups),
        cost=_cost(groups, mended, harm, after),
        mind=cautions([*findings, *_of_each(groups)]),
    )


def _of_each(groups: Sequence[GroupResult]) -> list[Finding]:
    """The groups' findings, with the group in each detail."""
    return [
        replace(finding, detail=f"Group {each.label}: {finding.detail}")
        for each in groups
        for finding in each.findings
    ]


def several_headline(groups: Sequence[LeftOut], sampled: bool = False) -> str:
    """What is lost by each group, and by the rest, in one sentence."""
    first = groups[0]
    of_rows = f"{first.n_rows:,} {'sampled ' * sampled}rows"
    sizes = [f"{group.size:,}" for group in groups]
    rows = f"of {listed(sizes)} of {of_rows}"
    if len(set(sizes)) == 1:
        rows = f"of {sizes[0]} of {of_rows} each"
    *points, rest = [
        describe_points(max(share, 0.0))
        for share in [*(group.points.group for group in groups), first.points.rest]
    ]
    lost = listed([each.split()[0] for each in points])
    return (
        f"By sharing one {first.shared}, {counted(len(groups), 'left-out group')} {rows} lose "
        f"{lost} points of their variance, the rest {rest.split()[0]}."
    )


def _why(groups: Sequence[GroupResult]) -> str:
    if any(each.trust is None for each in groups):
        return "What explains the losses was not looked at."
    return f"{_capital('; '.join(_verdict(each) for each in groups))}."


def _verdict(group: GroupResult) -> str:
    assert group.trust is not None
    name = group.trust.verdict_name or "not tested"
    if group.trust.verdict == "C" and group.trust.parts is not None:
        columns = [as_name(column) for column in group.trust.parts.values.carriers]
        name += f", in {listed(columns)}" if columns else ""
    return f"group {group.label}: {name}"


def _returns(groups: Sequence[GroupResult]) -> str:
    evidence = [each.trust for each in groups]
    gaps = [None if one is None or one.held_out is None else one.held_out.gap for one in evidence]
    said = []
    each = [
        f"group {group.label} {'loses ' * (group is groups[0])}{number(gap.value, digits=2)} "
        f"({number(gap.low, gap.value, 2)} to {number(gap.high, gap.value, 2)})"
        for group, gap in zip(groups, gaps, strict=True)
        if gap is not None
    ]
    if each:
        said.append(f"On rows not searched, {listed(each)} more than the rest.")
    sure = [
        f"{one.membership.n_members:,} of group {group.label}"
        for group, one in zip(groups, evidence, strict=True)
        if one is not None and one.membership is not None
    ]
    if sure:
        said.append(f"Nearly always back: {listed(sure)}.")
    return " ".join(said) or "Whether they come back was not looked at."


def _cost(
    groups: Sequence[GroupResult], mended: Mitigation, harm: Harm | None, after: Afterwards | None
) -> str:
    said = [
        f"Group {each.label}: {each.explanation.outcome[0].brief}."
        for each in groups
        if each.explanation.outcome
    ]
    labels = [each.label for each in groups]
    helps = describe_fair(mended, labels) if harm is None else describe_errors(groups, harm)
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


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
