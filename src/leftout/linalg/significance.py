"""What may be claimed of a figure: p-values by rank, effect sizes that matter, intervals.

In a large table every difference is clear: beside its p-value a claim needs an effect size.
"""

import math
from typing import NamedTuple, Self

import numpy as np
from scipy import special

from leftout.linalg.distinct import Distinct
from leftout.linalg.losses import Array
from leftout.text import number

# P-values up to this are called beyond chance, and intervals hold the figure with this confidence.
LEVEL, CONFIDENCE = 0.05, 0.95
# Beside its p-value, a claim needs a standardised difference, or one of shares, of this much.
STANDARDISED, POINTS = 0.1, 0.03
# Losses, in shares of them, and differences are right to about this.
_ROUNDING = 1e-9
# Smaller p-values are not told apart.
_LEAST = 1e-4


def describe_p(p: float) -> str:
    """A p-value with as many digits as keep it on its side of the level."""
    if p < _LEAST:
        return f"p < {number(_LEAST)}"
    digits = 2 if (float(f"{p:.2g}") <= LEVEL) == (p <= LEVEL) else 4
    return f"p = {number(p, digits=digits)}"


def can_tell(n_surrogates: int) -> bool:
    """Whether a p-value from this many surrogates can come down to the level."""
    return 1.0 / (1 + n_surrogates) <= LEVEL


def p_value(value: float, at_chance: Array) -> float:
    """Share of the values, this one and those at chance, that reach this one, up to rounding."""
    return (1 + reaching(value, at_chance)) / (1 + len(at_chance))


def reaching(value: float, others: Array) -> int:
    """How many of the others reach a value, up to rounding."""
    return int(np.sum(others >= value - _ROUNDING * abs(value)))


def standardised(values: Array) -> Array:
    """Each column less its mean and over its deviation; zero where it does not vary.

    All rows enter these alike, so that rows drawn from one law stay exchangeable.
    """
    mean, spread = values.mean(axis=0), values.std(axis=0)
    differ = spread > _ROUNDING * np.abs(mean)
    return np.where(differ, values - mean, 0.0) / np.where(differ, spread, 1.0)


def corrected_p_values(curves: Array) -> Array:
    """Rank of each of the first curve's standardised values among the other curves' largest ones.

    All curves, the first included, enter the means and deviations alike: at most a share ``p`` of
    curves drawn from one law have any value of a corrected p-value up to ``p``.
    """
    scaled = standardised(curves)
    highest = scaled[1:].max(axis=1)
    return np.array([p_value(value, highest) for value in scaled[0]])


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


class Interval(NamedTuple):
    """A figure and its 95% interval."""

    value: float
    low: float
    high: float

    @property
    def clear(self) -> int:
        """The sign of a difference whose interval does not hold zero; else 0."""
        return int(self.low > 0.0) - int(self.high < 0.0)


class Estimate(NamedTuple):
    """A figure with its standard error, and the degrees of freedom of that."""

    value: float
    error: float
    freedom: float

    @classmethod
    def of(
        cls, value: float, influence: Array, copies: Distinct | None = None, inflated: float = 1.0
    ) -> Self:
        """From what each row adds; rows that are copies of each other add once.

        Degrees of freedom are Satterthwaite's, for a sum of squares of unequal size.
        """
        if copies is not None:
            influence = np.bincount(copies.place, weights=influence).astype(np.float64)
        squares = influence**2
        total = float(squares.sum())
        freedom = total**2 / float(np.sum(squares**2)) - 1.0 if total > 0.0 else 1.0
        return cls(value, math.sqrt(inflated * total), max(freedom, 1.0))

    @classmethod
    def mean_of(cls, values: Array) -> Self:
        """The mean of some numbers; of one or none, its error is not known."""
        n = len(values)
        if n < 2:
            return cls(float(values[0]) if n else math.nan, math.nan, math.nan)
        return cls(float(values.mean()), math.sqrt(values.var(ddof=1) / n), n - 1.0)

    @property
    def interval(self) -> Interval:
        """With 95% confidence: Student's."""
        wide = float(special.stdtrit(self.freedom, 0.5 + CONFIDENCE / 2.0)) * self.error
        return Interval(self.value, self.value - wide, self.value + wide)

    def less(self, other: Self) -> Self:
        """The difference of two that are independent, with Welch's degrees of freedom."""
        a, b = self.error**2, other.error**2
        freedom = 1.0
        if a + b > 0.0:
            freedom = (a + b) ** 2 / (a**2 / self.freedom + b**2 / other.freedom)
        return type(self)(self.value - other.value, math.sqrt(a + b), freedom)

    @property
    def p_value(self) -> float | None:
        """Of no difference; None where nothing varies."""
        if not self.error > 0.0:
            return None
        return float(2.0 * special.stdtr(self.freedom, -abs(self.value) / self.error))
