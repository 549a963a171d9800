"""Pages from templates."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Any

from leftout.data.sources import describe_size
from leftout.report.templating import environment
from leftout.text import percent, shortened

_TEMPLATES = environment(Path(__file__).parent / "templates")


def rendered(template: str, **values: Any) -> str:
    return _TEMPLATES.get_template(template).render(values)


def _when(stamp: str) -> str:
    """A time stamp in this machine's time, to the minute."""
    return f"{datetime.fromisoformat(stamp).astimezone():%Y-%m-%d %H:%M}"


def _percent(share: float) -> str:
    """A share; what is there is never 0%, nor all if something lacks."""
    if 0.0 < share < 0.01 or 0.99 < share < 1.0:
        return "< 1%" if share < 0.5 else "> 99%"
    return percent(share)


_TEMPLATES.filters |= {
    "size": describe_size, "short": shortened, "when": _when, "percent": _percent,
}  # fmt: skip
