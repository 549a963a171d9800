"""When a difference is large enough to be claimed: in a large table every difference is clear.

A figure and what is known of it.
"""

from __future__ import annotations

import math
from typing import NamedTuple

# Beside its p-value, a claim needs a standardised difference, or one of shares, of this much.
STANDARDISED, POINTS = 0.1, 0.03
# Differences are right to about this.
_ROUNDING = 1e-9


def matters(standardised: float | None, points: float | None = None) -> bool:
    """Whether a difference reaches either threshold; what is not known does not.

    Examples
    --------
    >>> matters(0.1), matters(-0.09), matters(0.02, -0.03), matters(0.02, 0.029)
    (True, False, True, False)
    """
    return any(
        size is not None and abs(size) >= least - _ROUNDING
        for size, least in ((standardised, STANDARDISED), (points, POINTS))
    )


def exceeds(points: float) -> bool:
    """Whether a difference of shares is more than the threshold."""
    return abs(points) > POINTS + _ROUNDING


def describe_small(largest: str = "") -> str:
    """What to say where differences, or the one there is, are clear and none matters."""
    start = f"Differences are clear but small (largest: {largest})"
    if not largest:
        start = "The difference is clear but small"
    return (
        f"{start}: below both {STANDARDISED:g} standard deviations and {100 * POINTS:g} percentage "
        "points."
    )


def of_shares(a: float, b: float) -> float:
    """The standardised difference of two shares, over the root of their mean variance.

    Examples
    --------
    >>> round(of_shares(0.5, 0.3), 3), of_shares(1.0, 1.0), of_shares(1.0, 0.0)
    (0.417, 0.0, inf)
    """
    return over_spread(a - b, a * (1.0 - a), b * (1.0 - b))


def over_spread(gap: float, a: float, b: float) -> float:
    """A difference of means over the root of the mean of the two sides' variances."""
    spread = math.sqrt((a + b) / 2.0)
    if spread > 0.0 or not gap:
        return float(gap / spread) if gap else 0.0
    return math.nan if math.isnan(gap) else math.copysign(math.inf, gap)


CONFIDENCE = 0.95


class Interval(NamedTuple):
    """A figure and its 95 % interval."""

    value: float
    low: float
    high: float

    @property
    def clear(self) -> int:
        """The sign of a difference whose interval does not hold zero; else 0."""
        return int(self.low > 0.0) - int(self.high < 0.0)
