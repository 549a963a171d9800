"""The verdict of an audit in a sentence, and the whole in a paragraph."""

from collections.abc import Mapping, Sequence

from leftout.auditing.findings import FOUND, NOT_APPLICABLE, NOT_FOUND, Finding
from leftout.evidence.trusting import Trust
from leftout.search.left_out import LeftOut

# What the paragraph says, in this order: findings, and under which answers.
_SAID = {
    "D001": None,
    "E001": None,
    "C001": None,
    "O001": {FOUND, NOT_FOUND},
    "S003": {NOT_FOUND},
    "N001": {FOUND},
    "K001": {FOUND},
    "T001": {FOUND},
    "T002": {FOUND},
    "P001": {FOUND},
    "M001": {FOUND},
    "P002": {FOUND},
}


def headline(group: LeftOut, trust: Trust | None, sampled: bool = False) -> str:
    """Is anybody left out? One sentence that says no more than was tested."""
    rows = f"{group.size:,} of {group.n_rows:,} {'sampled ' * sampled}rows"
    if group.disparity <= 0.0:
        return f"No group of {rows} loses more than the rest."
    if trust is None or trust.beyond_chance is None:
        return f"{rows} are represented worst; whether by more than chance was not tested."
    if not trust.beyond_chance:
        return (
            f"No left-out group beyond chance: the {rows} that are represented worst lose no more "
            "than chance gives."
        )
    text = f"{rows} are left out: chance tables rarely show as much"
    holds = None if trust.held_out is None else trust.held_out.holds
    if holds is None:
        return f"{text}."
    if holds:
        return f"{text}, and it holds on rows the search had not seen."
    return f"{text}, but on rows the search had not seen it is no more than chance."


def paragraph(
    headline: str, findings: Sequence[Finding], shorter: Mapping[str, str] | None = None
) -> str:
    """What was found, in the order in which people ask: the headline, then details of findings.

    Some have ``shorter`` words for it, by their codes; what two of them share is said once.
    """
    short = shorter or {}
    by_code = {finding.code: finding for finding in findings}
    said = [
        short.get(code, by_code[code].detail)
        for code, answers in _SAID.items()
        if code in by_code
        and (
            by_code[code].status != NOT_APPLICABLE
            if answers is None
            else by_code[code].status in answers
        )
    ]
    return " ".join([headline, *dict.fromkeys(said)])
