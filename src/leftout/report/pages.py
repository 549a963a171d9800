"""The page and the short note, from templates."""

import base64
import hashlib
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from leftout.core.ranks import told_p
from leftout.evidence.parts import CALLED
from leftout.evidence.verdicts import VERDICTS
from leftout.fair.mitigation import told_gap
from leftout.report.alternatives import ALTERNATIVES
from leftout.report.figures import drawn
from leftout.report.gists import by_column, carriers, sections
from leftout.report.told_groups import told_groups
from leftout.wording import ROUNDING, counted, listed, number, shown

_TEMPLATES = Path(__file__).parent / "templates"
_DASH = "\u2013"


def page(data: Mapping[str, Any], figures: Mapping[str, Callable[[Any], Any]]) -> str:
    """The report: one HTML page with all that it needs."""
    several = told_groups(data) if len(data["groups"]) > 1 else []
    by_mark = {"": data, **{each["mark"]: each for each in several}}
    images = {}
    for name, draw in figures.items():
        what, dash, label = name.partition("-")
        if what in ALTERNATIVES:
            images[name] = drawn(name, draw, ALTERNATIVES[what](by_mark[dash + label]))
    more = {
        "answers": {finding["code"]: finding for finding in data["findings"]},
        "sections": sections(data, several),
        "part_names": CALLED,
        "carriers": carriers(data["parts"]),
        "by_column": by_column(data["parts"]),
        "verdicts": VERDICTS,
        "mark": "",
        "shared": data["pca"]["representation"]["name"],
        "told_groups": several,
    }
    return _rendered("page.html", {**data, **more}, images)


def reproduction(data: Mapping[str, Any], drawings: Mapping[str, Any]) -> str:
    """The page on the paper's tables and figures."""
    images = {name: drawn(name, each.draw, each.alternative) for name, each in drawings.items()}
    captions = {name: each.caption for name, each in drawings.items()}
    verdict_of = {line["pointer"]: line for line in data["verdicts"]}
    more = {"captions": captions, "verdict_of": verdict_of}
    return _rendered("reproduction.html", {**data, **more}, images)


def _rendered(template: str, data: Mapping[str, Any], images: Mapping[str, Markup]) -> str:
    script, style = _text("page.js"), _text("page.css")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return (
        _environment()
        .get_template(template)
        .render(data, figures=images, script=Markup(script), style=Markup(style), digest=digest)
    )


def brief(data: Mapping[str, Any]) -> str:
    """A note for notebooks: the verdict and the findings."""
    return _environment().get_template("brief.html").render(data)


def _text(name: str) -> str:
    return (_TEMPLATES / name).read_text(encoding="utf-8")


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(_TEMPLATES),
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
    return number(0.0 if abs(value) < ROUNDING else value, scale, digits)


def _tiny(value: float | None) -> str:
    return _DASH if value is None else told_gap(value)


def _count(value: int | None) -> str:
    return _DASH if value is None else f"{value:,}"


def _p(value: float | None) -> str:
    if value is None:
        return _DASH
    return told_p(value).removeprefix("p ").removeprefix("= ")


def _listed(words: list[Any]) -> str:
    return listed([str(word) for word in words])
