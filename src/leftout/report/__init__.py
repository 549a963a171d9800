"""What people read of an audit: a page that needs nothing else, and a short note for notebooks.

Everything comes from the dict that ``audit.json`` holds, through templates that escape it.
"""

from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from leftout.text import counted, listed, shown


@cache
def environment(*folders: Path) -> Environment:
    """Templates that escape what they are given, and fail on what is not there."""
    made = Environment(
        loader=FileSystemLoader(folders),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_visible,
        keep_trailing_newline=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {"counted": counted, "listed": lambda words: listed(list(map(str, words)))}
    return made


def _visible(value: Any) -> Any:
    """Names and values may hold anything: what would hide or turn the text is written out."""
    if not isinstance(value, str) or isinstance(value, Markup):
        return value
    return shown(value)
