"""How many comparison tables are enough?

A p-value by rank needs many tables only where it is near the level. So tables are drawn one by one,
and looked at until the answer is settled:

- "no" as soon as 4 of the first 19, 5 of the first 39 or 11 of the first 99 reach the table's
  value: p could hardly come down to the level any more;
- "yes" after 19 or 39 of which none does, if the table stands clear of the highest of them, by 1.5
  or 1 standard deviations;
- after 99, as soon as the 90 % interval of what ever more tables would give for p (Clopper and
  Pearson's) does not hold the level; after 399 in any case.

Without these rules, 99 tables would decide. Where p-values are uniform (a simulation of 6,000),
that is the same decision in 98 of 100 cases, for 33 tables on average, and as many false alarms.
"""

from __future__ import annotations

import numpy as np
from scipy import stats

from leftout.core.interval import Interval
from leftout.core.losses import Array
from leftout.core.ranks import LEVEL, reaching

# Parts of a loss are means over this many tables at least.
FEWEST = 9
# Looks, and how many tables that reach the value end the drawing up to each.
_TOO_MANY = {19: 4, 39: 5, 99: 11}
# Standard deviations by which the value exceeds all others, so that no more are drawn.
_CLEAR = {19: 1.5, 39: 1.0}
_LAST_LOOK = max(_TOO_MANY)
# Where the p-value is near the level, so many times as many tables are drawn, and one more each.
_FURTHER = 4
_CONFIDENCE = 0.9


def most_tables(asked: int) -> int:
    """How many tables are drawn at the most, where ``asked`` are to decide: 399 for 99."""
    return asked if asked < _LAST_LOOK else _FURTHER * (asked + 1) - 1


def settled(value: float, others: Array, asked: int) -> bool:
    """Whether the tables so far are enough.

    Parameters
    ----------
    value : float
        The table's.
    others : array
        Those of comparison tables, in the order in which they were drawn.
    asked : int
        Tables that are to decide if nothing is clear before; 99 for all looks.

    Examples
    --------
    >>> settled(1.0, np.linspace(0.0, 2.0, 9), 99), settled(1.0, np.linspace(0.0, 0.9, 19), 99)
    (True, False)
    """
    n, above = len(others), reaching(value, others)
    if n >= most_tables(asked):
        return True
    if n < FEWEST:
        return False
    look = next((look for look in _TOO_MANY if n <= look), None)
    if look is not None and above >= _TOO_MANY[look]:
        return True
    if n in _CLEAR and not above:
        values = np.append(others, value)
        return bool(value - others.max() >= _CLEAR[n] * values.std())
    if n >= max(asked, _LAST_LOOK):
        _, low, high = drawing_interval(above, n)
        return not low < LEVEL < high
    return False


def drawing_interval(above: int, n: int) -> Interval:
    """The p-value of ``above`` of ``n`` tables, and its 90 % interval, were ever more drawn.

    Examples
    --------
    >>> p, low, high = drawing_interval(2, 99)
    >>> p, round(low, 3), round(high, 3)
    (0.03, 0.004, 0.062)
    """
    tail = (1.0 - _CONFIDENCE) / 2.0
    low = stats.beta.ppf(tail, above, n - above + 1) if above else 0.0
    high = stats.beta.ppf(1.0 - tail, above + 1, n - above) if above < n else 1.0
    return Interval((1 + above) / (1 + n), float(low), float(high))
