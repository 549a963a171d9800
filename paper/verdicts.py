"""The numbers that the paper reports, and whether they are reproduced: one rule for all of them.

- ``reproduced``: it lies within the range of ours over runs and samples, up to its own rounding (a
  published bound: all of ours keep it);
- ``same direction``: it lies outside, but on the same side of its counterpart as the median of ours
  (a loss above the other group's, a disparity above another method's); of a bound, the median of
  ours keeps it;
- ``not reproduced``: neither;
- ``not run``: nothing was measured that it could be compared with.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

REPRODUCED, SAME, NOT, NOT_RUN = "reproduced", "same direction", "not reproduced", "not run"
STATUSES = (REPRODUCED, SAME, NOT, NOT_RUN)


@cache
def published() -> dict[str, Any]:
    """All numbers, as they stand in the paper's text, tables and figures."""
    text = (Path(__file__).parent / "published.json").read_text(encoding="utf-8")
    data: dict[str, Any] = json.loads(text)
    return data


def numbers(data: Any, pointer: str = "") -> Iterator[tuple[str, float]]:
    """Every number in plain data, with its JSON pointer (RFC 6901)."""
    if isinstance(data, dict):
        for key, value in data.items():
            escaped = key.replace("~", "~0").replace("/", "~1")
            yield from numbers(value, f"{pointer}/{escaped}")
    elif isinstance(data, list):
        for place, value in enumerate(data):
            yield from numbers(value, f"{pointer}/{place}")
    elif isinstance(data, int | float) and not isinstance(data, bool):
        yield pointer, data


@cache
def by_pointer() -> dict[str, float]:
    """The published numbers, in the paper's order."""
    return dict(numbers(published()))


@dataclass(frozen=True)
class Against:
    """A counterpart: what a number is larger or smaller than, as published and in ours."""

    words: str
    published: float
    ours: float


@dataclass(frozen=True)
class Ours:
    """What we measured for a published number, under one formula."""

    values: NDArray[np.float64]
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

    verdict: str
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
        status = NOT if ours.absent else NOT_RUN
        return Verdict(status, ours.absent or "Nothing came out to compare.")
    low, median, high = (float(q) for q in np.quantile(values, [0.0, 0.5, 1.0]))
    least, middle, most = (_shown(q, line.decimals) for q in (low, median, high))
    spread = (
        f"ours is {least}" if low == high else f"ours run from {least} to {most}, median {middle}"
    )
    spread += f" ({ours.over})."

    def verdict(status: str, reason: str) -> Verdict:
        return Verdict(status, reason, low, median, high)

    if line.bound:
        kept = values >= line.published
        status = REPRODUCED if kept.all() else SAME if median >= line.published else NOT
        return verdict(status, f"{100 * np.mean(kept):.0f}% of ours are above: {spread}")
    rounding = 0.5 * 10.0**-line.decimals if line.decimals else 0.0
    slack = rounding + 1e-12 * abs(line.published)
    if low - slack <= line.published <= high + slack:
        return verdict(REPRODUCED, f"{'Equal' if low == high else 'Inside'}: {spread}")
    outside = f"{'Above' if line.published > high else 'Below'} all of ours: {spread}"
    other = ours.against
    if other is None or np.isnan(other.ours):
        return verdict(NOT, outside)
    theirs, mine = np.sign(line.published - other.published), np.sign(median - other.ours)
    if theirs and theirs == mine:
        return verdict(SAME, f"{outside} In both it is {_THAN[mine]} {other.words}.")
    said = f"As published it is {_THAN[theirs]} {other.words}; ours is {_THAN[mine].split()[0]}."
    return verdict(NOT, f"{outside} {said}")


_THAN = {1.0: "larger than", -1.0: "smaller than", 0.0: "equal to"}


def _shown(value: float, digits: int) -> str:
    if digits == 0:
        return f"{value:,.6g}" if value != round(value) else f"{value:,.0f}"
    return f"{value:.{digits}f}"
