"""How long an audit will take, in words: a rough guess from the size of the table."""

from __future__ import annotations

# Seconds on two cores until anything is there: libraries, and reading the table.
_START = 6.0


def seconds(rows: int, features: int) -> tuple[float, float]:
    """Of a quick look, and of a full audit."""
    cells = rows * max(features, 1) / 1e6
    wide = features / 100.0
    quick = _START + 12.0 * cells * (1.0 + wide)
    full = quick + 20.0 + 14.0 * min(cells, 5.0) * (8.0 + 4.0 * wide)
    return quick, full


def told(time: float) -> str:
    """A time as people say it, with as many digits as it deserves.

    >>> told(7.0), told(34.0), told(95.0), told(700.0), told(9000.0)
    ('about 10 s', 'about 30 s', 'about 2 minutes', 'about 12 minutes', 'about 2.5 hours')
    """
    if time < 55.0:
        return f"about {max(10, 10 * round(time / 10))} s"
    if time < 5400.0:
        minutes = max(1, round(time / 60))
        return f"about {minutes} minute" + "s" * (minutes != 1)
    return f"about {round(time / 1800) / 2:g} hours"
