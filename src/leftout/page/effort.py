"""How long an audit will take, in words: a rough guess from the size of the table."""

from __future__ import annotations

# Seconds on two cores until anything is there: libraries, and reading the table.
_START = 6.0
# Evidence is gathered on a part of the rows: about so many millions of cells cost time.
_MOST = 5.0


def seconds(rows: int, features: int) -> tuple[float, float]:
    """Of a quick look, and of a full audit: about 40 s for the demo, minutes for large tables."""
    cells, wide = rows * max(features, 1) / 1e6, 1.0 + features / 200.0
    quick = _START + 4.0 * cells * wide
    return quick, quick + 10.0 + 20.0 * min(1.0, 10.0 * cells) + 40.0 * min(cells, _MOST) * wide


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
