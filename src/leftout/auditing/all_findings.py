"""All that an audit asks, coded: of its group, or of each of several and once for all of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from leftout.auditing.answer import answer_of
from leftout.auditing.findings import (
    NOT_RUN,
    Finding,
    answer,
    findings,
    mitigation_finding,
    moved_finding,
    questions,
)
from leftout.auditing.group_result import GroupResult
from leftout.auditing.groups import group_findings
from leftout.auditing.harm import Costs, JudgedPrediction, harm_findings, prediction_finding
from leftout.auditing.reading import table_findings
from leftout.auditing.readings import readings_finding
from leftout.auditing.result import Audit
from leftout.data.preparation import PreparedTable
from leftout.downstream.outcomes import GROUP
from leftout.errors import parameter_label
from leftout.evidence.n_groups import HowMany
from leftout.linalg.monte_carlo import describe_p
from leftout.text import listed

_ALONE = (
    "Looked at where there is one left-out group only: halves would have to agree on which is "
    "which."
)


def with_findings(
    found: Audit, paid: Costs, guessed: Sequence[JudgedPrediction], skipped: str
) -> Audit:
    """The audit with its questions and their answers.

    ``guessed``: of each group, or nothing yet; ``skipped``: why there is no evidence, if there is
    none.
    """
    intake = found.intake
    of_names = group_findings(found.named, found.known, intake, skipped)
    of_table = table_findings(intake, found.other_reading, found.repeats, found.blanks)
    of_table.append(readings_finding(found.readings, skipped))
    if found.several is None:
        of_group = findings(
            found.partition, found.trust, found.stability, found.explanation, found.returns,
            found.mitigation, intake, skipped, found.no_returns,
        )  # fmt: skip
        of_group.append(moved_finding(found.afterwards, skipped or found.no_afterwards))
        of_costs = _of_costs(paid, guessed[0] if guessed else JudgedPrediction(), intake, skipped)
        return replace(found, findings=[*of_group, *of_names, *of_costs, *of_table])
    groups = []
    for place, each in enumerate(found.several.groups):
        harm = None if paid.harm is None else paid.harm.of(f"{GROUP} {each.label}")
        guess = guessed[place] if guessed else JudgedPrediction()
        said = answer_of(
            each.left_out, each.explanation, found.mitigation, trust=each.trust, named=found.named,
            harm=harm, sampled=found.n_rows < intake.n_rows, label=each.label,
        )  # fmt: skip
        told = replace(each, answer=said, harm=harm, prediction=guess.compared)
        asked = one_groups_findings(told, intake, paid.why, guess, skipped)
        groups.append(replace(told, findings=asked))
    of_all = [
        count_finding(groups, found.several.counted, skipped),
        mitigation_finding(found.mitigation),
        moved_finding(found.afterwards, skipped or found.no_afterwards, several=True),
    ]
    return replace(
        found,
        several=replace(found.several, groups=groups),
        findings=[*of_all, *of_names, *of_table],
    )


def one_groups_findings(
    group: GroupResult, intake: PreparedTable, why: str, guessed: JudgedPrediction, skipped: str
) -> list[Finding]:
    """The questions about one of several groups; ``why``: what kept costs from being measured."""
    stability = None if group.trust is None else group.trust.stability
    asked = questions(
        group.partition, group.trust, stability, group.explanation, None, intake, skipped or _ALONE
    )
    return [*asked, *_of_costs(Costs(group.harm, why), guessed, intake, skipped)]


def _of_costs(
    paid: Costs, guessed: JudgedPrediction, intake: PreparedTable, skipped: str
) -> list[Finding]:
    """What components cost, and whether a prediction that is there errs more."""
    predicted = prediction_finding(*guessed, skipped, intake.prediction is not None)
    return [*harm_findings(*paid, intake, skipped), predicted]


def count_finding(groups: Sequence[GroupResult], counted: HowMany | None, skipped: str) -> Finding:
    """Are all of the groups more than comparison tables show?"""
    code, title = "G001", "All left-out groups go beyond comparison tables"
    said = "" if counted is None else f"Counted one by one: {counted.summary()} "
    weighed = [each for each in groups if each.trust is not None and each.trust.p_value is not None]
    if len(weighed) < len(groups) or any(_beyond(each) is None for each in groups):
        why = (
            skipped
            or "That takes 19 comparison tables. Repeat with "
            f"{parameter_label('n_surrogates', 99)}."
        )
        return Finding(code, NOT_RUN, title, f"{said}{why}")
    each = [
        f"group {one.label} {'does' if _beyond(one) else 'does not'} "
        f"({describe_p(one.trust.p_value)})"
        for one in groups
        if one.trust is not None and one.trust.p_value is not None
    ]
    detail = (
        f"{said}Each group is held to what the one of its size and rank loses in comparison "
        f"tables that are searched for as many: {listed(each)}."
    )
    return Finding(code, answer(all(_beyond(one) for one in groups)), title, detail)


def _beyond(group: GroupResult) -> bool | None:
    return None if group.trust is None else group.trust.beyond_chance
