"""Pages from templates."""

from datetime import datetime
from pathlib import Path
from typing import Any

from leftout.data.sources import describe_size
from leftout.report.templating import environment
from leftout.text import percent, shortened

_TEMPLATES = environment(Path(__file__).parent / "templates")
_TEMPLATES.filters |= {
    "size": describe_size,
    "short": shortened,
    # in this machine's time, to the minute
    "when": lambda stamp: f"{datetime.fromisoformat(stamp).astimezone():%Y-%m-%d %H:%M}",
    # what is there is never 0%, nor all if something lacks
    "percent": lambda share: (
        "< 1%" if 0.0 < share < 0.01 else "> 99%" if 0.99 < share < 1.0 else percent(share)
    ),
}


def rendered(template: str, **values: Any) -> str:
    return _TEMPLATES.get_template(template).render(values)
