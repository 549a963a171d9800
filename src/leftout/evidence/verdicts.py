"""What comparison tables and halves of the rows say together: four verdicts.

What is lost is a fact whatever the verdict: it says what explains the loss, not whether it is
accident.
"""

from __future__ import annotations

from dataclasses import dataclass

from leftout.core.ranks import LEVEL
from leftout.evidence.holdout import SAME_GROUP

_RARELY = "Tables with the same values rarely lose as much"


@dataclass(frozen=True)
class Verdict:
    """One of four: its letter, its name, what it says, and the part of the loss it is about."""

    letter: str
    name: str
    says: str
    part: str | None = None


VERDICTS = {
    verdict.letter: verdict
    for verdict in (
        Verdict(
            "A",
            "a group of its own",
            f"{_RARELY}, and halves of the table agree on most of the rows.",
            "own",
        ),
        Verdict(
            "B",
            "a pattern, no sharp group",
            f"{_RARELY}, but halves of the table point to different rows: who belongs is "
            "uncertain.",
            "own",
        ),
        Verdict(
            "C",
            "unusual values",
            "Tables with the same values lose as much, bell-shaped ones do not: rare or uneven "
            "values make the difference.",
            "values",
        ),
        Verdict(
            "D",
            "edge of the cloud",
            "Any cloud with these correlations has an edge that loses as much: nothing marks a "
            "group.",
        ),
    )
}


def verdict(p_values: float | None, p_cloud: float | None, overlap: float | None) -> Verdict | None:
    """Which of the four it is; None where that was not tested.

    Parameters
    ----------
    p_values, p_cloud : float or None
        P-values against tables with the same values, and against bell-shaped ones.
    overlap : float or None
        Jaccard similarity of the groups that halves of the rows name.

    Examples
    --------
    >>> verdict(0.05, None, 0.5).name, verdict(0.06, 0.05, 0.9).name
    ('a group of its own', 'unusual values')
    """
    if p_values is None:
        return None
    if p_values <= LEVEL:
        return None if overlap is None else VERDICTS["A" if overlap >= SAME_GROUP else "B"]
    if p_cloud is None:
        return None
    return VERDICTS["C" if p_cloud <= LEVEL else "D"]
