"""P-values by rank: how high one value stands among those that chance gives."""

import numpy as np

from leftout.linalg.losses import Array
from leftout.text import number

# P-values up to this are called beyond chance.
LEVEL = 0.05
# Losses are right to about this share of them.
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


def overall_p_value(curves: Array) -> float:
    """Rank of the first curve's largest standardised value among all curves' largest ones.

    All curves, the first included, enter the means and deviations alike: were they drawn from the
    same law, each would be the highest with the same probability.
    """
    highest = standardised(curves).max(axis=1)
    return p_value(highest[0], highest[1:])


def corrected_p_values(curves: Array) -> Array:
    """Rank of each of the first curve's standardised values among the other curves' largest ones.

    The smallest of them is :func:`overall_p_value`: at most a share ``p`` of curves drawn from one
    law have any value of a corrected p-value up to ``p``.
    """
    scaled = standardised(curves)
    highest = scaled[1:].max(axis=1)
    return np.array([p_value(value, highest) for value in scaled[0]])
