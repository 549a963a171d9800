"""Is a published number reproduced? One rule for all of them.

- ``reproduced``: it lies within the range of ours over runs and samples, up to its own rounding (a
  published bound: all of ours keep it);
- ``same direction``: it lies outside, but on the same side of its counterpart as the median of ours
  (a loss above the other group's, a disparity above another method's); of a bound, the median of
  ours keeps it;
- ``not reproduced``: neither;
- ``not run``: nothing was measured that it could be compared with.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

REPRODUCED, SAME, NOT, NOT_RUN = "reproduced", "same direction", "not reproduced", "not run"
STATUSES = (REPRODUCED, SAME, NOT, NOT_RUN)


@dataclass(frozen=True)
class Against:
    """A counterpart: what a number is larger or smaller than, as published and in ours."""

    words: str
    published: float
    ours: float


@dataclass(frozen=True)
class Ours:
    """What we measured for a published number, under one formula."""

    values: Array
    over: str  # what the values are of: "300 runs on 10 samples"
    against: Against | None = None
    absent: str = ""  # why there are no values


@dataclass(frozen=True)
class Line:
    """A published number and ours, by formula."""

    pointer: str
    words: str
    published: float
    decimals: int = 0  # that it is published with
    bound: bool = False  # the published number is a lower bound
    ours: dict[str, Ours] = field(default_factory=dict)
    given: bool = False  # a setting, or fixed by one: a run cannot miss it


@dataclass(frozen=True)
class Verdict:
    """What became of a published number under one formula."""

    status: str
    reason: str
    low: float | None = None
    median: float | None = None
    high: float | None = None


def judge(line: Line, ours: Ours | None) -> Verdict:
    """The verdict on one number under one formula."""
    if ours is None:
        return Verdict(NOT_RUN, "Its data set was not part of this run.")
    values = ours.values[~np.isnan(ours.values)]
    if not len(values):
        return Verdict(
            NOT if ours.absent else NOT_RUN, ours.absent or "Nothing came out to compare."
        )
    low, median, high = (float(q) for q in np.quantile(values, [0.0, 0.5, 1.0]))
    spread = _spread(low, median, high, line, ours)

    def verdict(status: str, reason: str) -> Verdict:
        return Verdict(status, reason, low, median, high)

    if line.bound:
        kept = values >= line.published
        share = f"{100 * np.mean(kept):.0f} % of ours are above: {spread}."
        status = REPRODUCED if kept.all() else SAME if median >= line.published else NOT
        return verdict(status, share)
    rounding = 0.5 * 10.0**-line.decimals if line.decimals else 0.0
    slack = rounding + 1e-12 * abs(line.published)
    if low - slack <= line.published <= high + slack:
        return verdict(REPRODUCED, f"{'Equal' if low == high else 'Inside'}: {spread}.")
    where = "Above all of ours" if line.published > high else "Below all of ours"
    other = ours.against
    if other is None or np.isnan(other.ours):
        return verdict(NOT, f"{where}: {spread}.")
    theirs, mine = np.sign(line.published - other.published), np.sign(median - other.ours)
    if theirs and theirs == mine:
        return verdict(SAME, f"{where}: {spread}. In both it is {_THAN[mine]} {other.words}.")
    return verdict(
        NOT,
        f"{where}: {spread}. As published it is {_THAN[theirs]} {other.words}; ours is "
        f"{_THAN[mine].removesuffix(' than').removesuffix(' to')}.",
    )


_THAN = {1.0: "larger than", -1.0: "smaller than", 0.0: "equal to"}


def _spread(low: float, median: float, high: float, line: Line, ours: Ours) -> str:
    digits = line.decimals
    if low == high:
        return f"ours is {_shown(low, digits)} ({ours.over})"
    return (
        f"ours run from {_shown(low, digits)} to {_shown(high, digits)}, median "
        f"{_shown(median, digits)} ({ours.over})"
    )


def _shown(value: float, digits: int) -> str:
    if digits == 0:
        return f"{value:,.6g}" if value != round(value) else f"{value:,.0f}"
    return f"{value:.{digits}f}"
