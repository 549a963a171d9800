"""A bracketed root, as exact as its function.

SciPy's solvers leave a reference cycle for every call, and collecting these took as long as the
eigenvalues of a small matrix.
"""

from collections.abc import Callable

from leftout.checks import Refusal

_EPS = 2.3e-16
_MOST_STEPS = 300


def root(function: Callable[[float], float], low: float, high: float, noise: float = 0.0) -> float:
    """Where a function vanishes between two arguments at which its signs are opposite.

    Values up to ``noise`` are rounding, and as good as zero.

    The secant through the bracket's ends, an end that stays again being counted half (the
    Illinois rule), and the middle whenever three steps have not halved the bracket.

    Examples
    --------
    >>> round(root(lambda x: x * x - 2.0, 0.0, 2.0), 10)
    1.4142135624
    """
    at_low, at_high = function(low), function(high)
    if min(abs(at_low), abs(at_high)) <= noise:
        return low if abs(at_low) <= abs(at_high) else high
    if (at_low > 0.0) == (at_high > 0.0):
        raise Refusal(f"The function has one sign at {low} and {high}: {at_low}, {at_high}.")
    rising = at_high > 0.0
    widths, last = [high - low], None
    for _ in range(_MOST_STEPS):
        least = 2.0 * _EPS * max(abs(low), abs(high))
        if high - low <= 2.0 * least:
            break
        x = low - at_low * (high - low) / (at_high - at_low)
        if len(widths) > 3 and widths[-1] > 0.5 * widths[-4]:
            x = low + 0.5 * (high - low)
        x = min(max(x, low + least), high - least)  # a step beside the root closes the bracket
        here = function(x)
        if abs(here) <= noise:
            return x
        above = (here > 0.0) == rising
        if above:
            high, at_high = x, here
            at_low *= 0.5 if last is above else 1.0
        else:
            low, at_low = x, here
            at_high *= 0.5 if last is above else 1.0
        last = above
        widths.append(high - low)
    return low + 0.5 * (high - low)
