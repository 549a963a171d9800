"""Is a published number reproduced? One rule for all of them.

- ``reproduced``: it lies within the range of ours over runs and samples, up to its own rounding (a
  published bound: all of ours keep it);
- ``same direction``: it lies outside, but on the same side of its counterpart as the median of ours
  (a loss above the other group's, a disparity above another method's);
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
    values = ours.values
    if not len(values):
        return Verdict(NOT, ours.absent)
    low, median, high = (float(q) for q in np.quantile(values, [0.0, 0.5, 1.0]))
    spread = _spread(low, median, high, line, ours.over)
    rounding = 0.5 * 10.0**-line.decimals if line.decimals else 0.0
    slack = rounding + 1e-12 * abs(line.published)
    above = low >= line.published - slack
    if above if line.bound else above_or_in(low, high, line.published, slack):
        how = f"All of ours are above: {spread}." if line.bound else f"Inside: {spread}."
        return Verdict(REPRODUCED, f"Equal: {spread}." if low == high else how, low, median, high)
    where = "Not all of ours are above" if line.bound else _outside(low, high, line.published)
    if ours.against is None:
        return Verdict(NOT, f"{where}: {spread}.", low, median, high)
    other = ours.against
    theirs, mine = np.sign(line.published - other.published), np.sign(median - other.ours)
    if np.isnan(mine):
        return Verdict(NOT, f"{where}: {spread}.", low, median, high)
    if theirs and theirs == mine:
        text = f"{where}: {spread}. In both it is {_than(mine)} {other.words}."
        return Verdict(SAME, text, low, median, high)
    text = f"{where}: {spread}. As published it is {_than(theirs)} {other.words}, in ours"
    return Verdict(NOT, f"{text} {_than(mine)}.", low, median, high)


def above_or_in(low: float, high: float, value: float, slack: float) -> bool:
    return low - slack <= value <= high + slack


def _outside(low: float, high: float, value: float) -> str:
    return "Above all of ours" if value > high else "Below all of ours"


def _than(sign: float) -> str:
    return {1: "larger than", -1: "smaller than", 0: "equal to"}[int(sign)]


def _spread(low: float, median: float, high: float, line: Line, over: str) -> str:
    digits = max(line.decimals, 0)
    if low == high:
        return f"ours is {_shown(low, digits)} ({over})"
    return (
        f"ours run from {_shown(low, digits)} to {_shown(high, digits)}, median "
        f"{_shown(median, digits)} ({over})"
    )


def _shown(value: float, digits: int) -> str:
    if digits == 0:
        return f"{value:,.6g}" if value != round(value) else f"{value:,.0f}"
    return f"{value:.{digits}f}"
