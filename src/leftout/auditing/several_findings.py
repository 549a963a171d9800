"""What is asked of each of several groups, and what is asked once for all of them: coded."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from leftout.asking import asking
from leftout.auditing.findings import NOT_RUN, Finding, answer, questions
from leftout.auditing.harm import harm_findings
from leftout.auditing.one_group import GroupAudit
from leftout.auditing.prediction import Judged, prediction_finding
from leftout.core.ranks import told_p
from leftout.evidence.counting import HowMany
from leftout.fair.mitigation import Mitigation, told_gap
from leftout.tables.intake import Intake
from leftout.wording import listed, number, points

_ALONE = (
    "Looked at where there is one left-out group only: halves would have to agree on which is "
    "which."
)


def one_groups_findings(
    group: GroupAudit, intake: Intake, why: str, guessed: Judged, skipped: str
) -> list[Finding]:
    """The questions about one of several groups; ``why``: what kept costs from being measured."""
    stability = None if group.trust is None else group.trust.stability
    asked = questions(
        group.partition, group.trust, stability, group.explanation, None, intake, skipped or _ALONE
    )
    return [
        *asked,
        *harm_findings(group.harm, why, intake, skipped),
        prediction_finding(*guessed, skipped, intake.prediction is not None),
    ]


def count_finding(groups: Sequence[GroupAudit], counted: HowMany | None, skipped: str) -> Finding:
    """Are all of the groups more than comparison tables show?"""
    code, title = "G001", "All left-out groups go beyond comparison tables"
    said = "" if counted is None else f"Counted one by one: {counted.summary()} "
    weighed = [each for each in groups if each.trust is not None and each.trust.p_value is not None]
    if len(weighed) < len(groups) or any(_beyond(each) is None for each in groups):
        why = skipped or f"That takes 19 comparison tables. Repeat with {asking('chance', 99)}."
        return Finding(code, NOT_RUN, title, f"{said}{why}")
    each = [
        f"group {one.label} {'does' if _beyond(one) else 'does not'} ({told_p(one.trust.p_value)})"
        for one in groups
        if one.trust is not None and one.trust.p_value is not None
    ]
    detail = (
        f"{said}Each group is held to what the one of its size and rank loses in comparison "
        f"tables that are searched for as many: {listed(each)}."
    )
    return Finding(code, answer(all(_beyond(one) for one in groups)), title, detail)


def _beyond(group: GroupAudit) -> bool | None:
    return None if group.trust is None else group.trust.beyond_chance


def mended_finding(mended: Mitigation) -> Finding:
    """Does Fair PCA of all sides lower the largest loss?"""
    here = mended.here
    before, after = here.losses_before, here.losses_after
    lower = float(np.max(after)) < float(np.max(before)) * (1.0 - 1e-9)
    more = f" (in {here.rank} dimensions)" * (here.rank > here.n_components)
    return Finding(
        "M001",
        answer(lower),
        "Fair PCA lowers the largest loss",
        f"Fair PCA of all {len(before)} sides{more} brings the groups' losses from "
        f"{listed([number(loss) for loss in before[1:]])} to "
        f"{listed([number(loss) for loss in after[1:]])} and the rest's from {number(before[0])} "
        f"to {number(after[0])}, and keeps {points(max(here.price, 0.0))} percentage points less "
        f"of the table's variance; the gap to the best possible is {told_gap(here.gap)}.",
    )
