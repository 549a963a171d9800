"""A figure and what is known of it."""

from __future__ import annotations

from typing import NamedTuple

LEVEL = 0.95


class Interval(NamedTuple):
    """A figure and its 95 % interval."""

    value: float
    low: float
    high: float

    @property
    def clear(self) -> int:
        """The sign of a difference whose interval does not hold zero; else 0."""
        return int(self.low > 0.0) - int(self.high < 0.0)
