"""A prediction that is there already: does it err more on those who are left out? Coded, too."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from leftout.asking import asking
from leftout.auditing.findings import NOT_APPLICABLE, NOT_RUN, Finding, answer
from leftout.checks import Refusal
from leftout.downstream.comparing import Compared, compare_prediction
from leftout.search.one_of import NEITHER
from leftout.search.partition import MaxDisparityPartition
from leftout.tables.conditions import Mask
from leftout.tables.intake import Intake

# Known groups on which its errors are told, of the first.
MOST_KNOWN = 20


class Judged(NamedTuple):
    """How good the prediction is on each side, or why that is not told."""

    compared: Compared | None = None
    why: str = ""


def judged(
    found: MaxDisparityPartition, intake: Intake, also: dict[str, Mask], random_state: Any
) -> Judged:
    """Compare the prediction with the target, for group and rest, and for groups ``also``."""
    guess, target, mask = intake.prediction, intake.target, found.left_out_.mask
    if guess is None or target is None:
        return Judged()
    sides = np.flatnonzero(found.labels_ != NEITHER)
    if len(sides) < len(mask):  # one of several groups
        guess, target, mask = guess.take(sides), target.take(sides), mask[sides]
        also = {name: each[sides] for name, each in also.items()}
    try:
        return Judged(
            compare_prediction(
                guess,
                target,
                mask,
                positive=intake.positive,
                also=also,
                random_state=random_state,
            )
        )
    except Refusal as error:
        return Judged(why=str(error))


def prediction_finding(
    found: Compared | None, why: str, skipped: str = "", asked: bool = False
) -> Finding:
    """Does the prediction that is there err more on the group than on the rest?"""
    code = "P003"
    title = "The prediction that is there errs more on the group than on the rest"
    if found is not None:
        return Finding(code, answer(found.errs_more), title, found.told)
    if why:
        return Finding(code, NOT_RUN, title, why)
    if skipped and asked:
        return Finding(code, NOT_RUN, title, skipped)
    detail = f"No prediction was given. Name its column: {asking('prediction', 'COLUMN')}."
    return Finding(code, NOT_APPLICABLE, title, detail)
