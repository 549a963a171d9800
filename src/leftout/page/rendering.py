"""Pages from templates: whatever a table holds stays text."""

from __future__ import annotations

from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from leftout.data.files.limits import describe_size
from leftout.text import counted, shortened, shown

_HERE = Path(__file__).parent
# The report's look is the page's; what only the page has comes after it.
_STATIC = {
    "look.css": (_HERE.parent / "report" / "templates" / "page.css", "text/css"),
    "page.css": (_HERE / "static" / "page.css", "text/css"),
    "page.js": (_HERE / "static" / "page.js", "text/javascript"),
}


@cache
def static(name: str) -> tuple[bytes, str] | None:
    """A file of ours by its name, and its kind; None for any other name."""
    if name not in _STATIC:
        return None
    path, kind = _STATIC[name]
    return path.read_bytes(), kind


def rendered(template: str, **values: Any) -> str:
    return _environment().get_template(template).render(values)


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(_HERE / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_visible,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "size": describe_size, "counted": counted, "short": shortened, "when": _when,
        "percent": _percent,
    }  # fmt: skip
    return environment


def _visible(value: Any) -> Any:
    """Names and values may hold anything: what would hide or turn the text is written out."""
    if not isinstance(value, str) or isinstance(value, Markup) or "\n" in value:
        return value
    return shown(value)


def _when(stamp: str) -> str:
    """A time stamp in this machine's time, to the minute; nothing for one that is none."""
    try:
        return f"{datetime.fromisoformat(stamp).astimezone():%Y-%m-%d %H:%M}"
    except (TypeError, ValueError, OverflowError, OSError):
        return ""


def _percent(share: float) -> str:
    """A share; what is there is never 0 %, nor all if something lacks."""
    if 0.0 < share < 0.01:
        return "< 1 %"
    if 0.99 < share < 1.0:
        return "> 99 %"
    return f"{100 * share:.0f} %"
