"""Groups that have a name, and those that are known beforehand, coded as findings."""

from __future__ import annotations

from leftout.asking import asking
from leftout.auditing.findings import NOT_APPLICABLE, NOT_RUN, Finding, answer, more_tables
from leftout.evidence.telling import FEWEST_TABLES
from leftout.search.groups import KnownGroups
from leftout.search.names import NamedGroups
from leftout.tables.intake import Intake


def group_findings(
    named: NamedGroups | None, known: KnownGroups | None, intake: Intake, skipped: str = ""
) -> list[Finding]:
    """Is a group left out that can be named, or one that is known?"""
    return [_named(named, skipped), _known(known, intake, skipped)]


def _named(named: NamedGroups | None, skipped: str) -> Finding:
    code, title = "N001", "A group that can be named is left out"
    if named is None:
        return Finding(code, NOT_RUN, title, skipped)
    if not named.names:
        return Finding(code, NOT_APPLICABLE, title, named.told)
    if named.left_out is None:
        needs = (
            f"Whether a name stands out takes {FEWEST_TABLES} comparison tables. {more_tables()}"
        )
        return Finding(code, NOT_RUN, title, f"{named.told_leading} {needs}")
    return Finding(code, answer(named.left_out), title, named.told_leading)


def _known(known: KnownGroups | None, intake: Intake, skipped: str) -> Finding:
    code, title = "K001", "A known group is left out"
    if not intake.sensitive:
        detail = f"No column was named as sensitive. Name some: {asking('sensitive', ['A', 'B'])}."
        return Finding(code, NOT_APPLICABLE, title, detail)
    if known is None and skipped:
        return Finding(code, NOT_RUN, title, skipped)
    if known is None:
        detail = "No sensitive column has groups that could be compared."
        return Finding(code, NOT_APPLICABLE, title, detail)
    if not known.measured:
        return Finding(code, NOT_APPLICABLE, title, known.told)
    found = bool(known.left_out)
    detail = known.told if found else f"{known.told} {known.told_small}".strip()
    return Finding(code, answer(found), title, detail)
