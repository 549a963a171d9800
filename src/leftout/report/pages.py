"""The page and the short note, from templates."""

import base64
import hashlib
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from leftout.evidence.evidence_text import VERDICTS
from leftout.evidence.loss_parts import PART_NAMES
from leftout.fair.mitigation import describe_gap
from leftout.linalg.significance import describe_p
from leftout.report.figures import ALTERNATIVES, drawn
from leftout.report.sections import by_column, carriers, group_sections, sections
from leftout.text import ZERO_LOSS, counted, listed, number, shown

_TEMPLATES = Path(__file__).parent / "templates"
_DASH = "\u2013"


def page(data: Mapping[str, Any], figures: Mapping[str, Callable[[Any], Any]]) -> str:
    """The report: one HTML page with all that it needs."""
    several = group_sections(data) if len(data["groups"]) > 1 else []
    by_mark = {"": data, **{each["mark"]: each for each in several}}
    images = {}
    for name, draw in figures.items():
        what, dash, label = name.partition("-")
        if what in ALTERNATIVES:
            images[name] = drawn(name, draw, ALTERNATIVES[what](by_mark[dash + label]))
    more = {
        "answers": {finding["code"]: finding for finding in data["findings"]},
        "sections": sections(data, several),
        "part_names": PART_NAMES,
        "carriers": carriers(data["parts"]),
        "by_column": by_column(data["parts"]),
        "verdicts": VERDICTS,
        "mark": "",
        "shared": data["pca"]["representation"]["name"],
        "told_groups": several,
    }
    return rendered("page.html", {**data, **more}, images)


def rendered(
    template: str, data: Mapping[str, Any], images: Mapping[str, Markup], *folders: Path
) -> str:
    """A page with its style, script and figures; ``folders`` may have further templates."""
    script, style = _text("page.js"), _text("page.css")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return (
        _environment(*folders)
        .get_template(template)
        .render(data, figures=images, script=Markup(script), style=Markup(style), digest=digest)
    )


def brief(data: Mapping[str, Any]) -> str:
    """A note for notebooks: the verdict and the findings."""
    return _environment().get_template("brief.html").render(data)


def _text(name: str) -> str:
    return (_TEMPLATES / name).read_text(encoding="utf-8")


@cache
def _environment(*folders: Path) -> Environment:
    environment = Environment(
        loader=FileSystemLoader([_TEMPLATES, *folders]),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_visible,
        keep_trailing_newline=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "percent": _percent, "number": _number, "tiny": _tiny, "count": _count,
        "p": _p, "listed": _listed, "counted": counted,
    }  # fmt: skip
    return environment


def _visible(value: Any) -> Any:
    """Names and values may hold anything: what would hide or turn the text is written out.

    A number and its per cent sign stay on one line.
    """
    if not isinstance(value, str) or isinstance(value, Markup):
        return value
    return shown(value).replace(" %", "\u00a0%")


def _percent(share: float | None, digits: int = 0) -> str:
    return _DASH if share is None else f"{round(100 * share, digits) + 0.0:.{digits}f} %"


def _number(value: float | None, digits: int = 3, scale: float | None = None) -> str:
    if value is None:
        return _DASH
    return number(0.0 if abs(value) < ZERO_LOSS else value, scale, digits)


def _tiny(value: float | None) -> str:
    return _DASH if value is None else describe_gap(value)


def _count(value: int | None) -> str:
    return _DASH if value is None else f"{value:,}"


def _p(value: float | None) -> str:
    if value is None:
        return _DASH
    return describe_p(value).removeprefix("p ").removeprefix("= ")


def _listed(words: list[Any]) -> str:
    return listed([str(word) for word in words])
