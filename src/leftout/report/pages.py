"""The page and the short note, from templates."""

import base64
import hashlib
import re
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from jinja2 import Environment
from markupsafe import Markup

from leftout.evidence.verdict import VERDICTS
from leftout.fair.mitigation import describe_gap
from leftout.groups.decomposition import PART_NAMES
from leftout.linalg.significance import describe_p
from leftout.report import environment
from leftout.text import ZERO_LOSS, as_name, counted, number, percent

Data = Mapping[str, Any]
_TEMPLATES = Path(__file__).parent / "templates"
_DASH = "\u2013"
# What regulations ask for in a record to file, and the method with its references.
_CITED = tomllib.loads((Path(__file__).parent / "annex.toml").read_text(encoding="utf-8"))


def page(data: Data, to_file: bool = False) -> str:
    """The report: one HTML page with all that it needs; with a record ``to_file``."""
    return rendered("page.html", _shown(data, to_file))


def first_screen(data: Data) -> str:
    """The answer below its headline: cards, lines, the bar of three parts, the table of costs."""
    return _templates().get_template("screen.html").render(_shown(data, linked=False))


def _shown(data: Data, to_file: bool = False, linked: bool = True) -> dict[str, Any]:
    """What templates are given; ``linked``: words lead to the glossary, which is there."""
    each = [group_section(data, group) for group in data["groups"]]
    several = each if len(each) > 1 else []
    whole = {**data, **({} if several else each[0]), "findings": data["findings"]}
    more = {
        "annex": to_file,
        "linked": linked,
        "answers": {finding["code"]: finding for finding in data["findings"]},
        "part_names": PART_NAMES,
        "verdicts": VERDICTS,
        "shared": data["pca"]["representation"]["name"],
        "several": several,
    }
    return whole | more


def rendered(template: str, data: Data, *folders: Path) -> str:
    """A page with its style and script; ``folders`` may have further templates."""
    script, style = ((_TEMPLATES / f"page.{kind}").read_text("utf-8") for kind in ("js", "css"))
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    more = {"script": Markup(script), "style": Markup(style), "digest": digest}
    return _templates(*folders).get_template(template).render(data, **more)


def brief(data: Data) -> str:
    """A note for notebooks: the verdict and the findings."""
    return _templates().get_template("brief.html").render(data)


def annex(data: Data) -> str:
    """The record to file as the text of annex.md."""
    return _templates().get_template("annex.md").render(data)


def _templates(*folders: Path) -> Environment:
    templates = environment(_TEMPLATES, *folders)
    templates.globals["cited"] = _CITED
    templates.filters |= {
        "percent": _or_dash(percent),
        "number": _or_dash(loss_cell),
        "tiny": _or_dash(describe_gap),
        "count": _or_dash("{:,}".format),
        "p": _or_dash(p_cell),
        "markdown": markdown,
        "as_name": as_name,
    }
    return templates


def _or_dash(text: Callable[..., str]) -> Callable[..., str]:
    """A filter that shows a dash where a value is not known."""
    return lambda value, *more, **named: _DASH if value is None else text(value, *more, **named)


def markdown(text: str) -> str:
    """The cell of a table: names and values may hold anything, and nothing of them is markup."""
    return " ".join(re.sub(r"[\\`*_\[\]<>|]", r"\\\g<0>", text).split())


def loss_cell(value: float, digits: int = 3, scale: float | None = None) -> str:
    """A number, and zero where it is zero but for rounding."""
    return number(0.0 if abs(value) < ZERO_LOSS else value, scale, digits)


def p_cell(value: float) -> str:
    """A p-value under a head that says so."""
    return describe_p(value).removeprefix("p ").removeprefix("= ")


# What a section shows where no evidence was gathered.
_NO_EVIDENCE: dict[str, Any] = {
    "p_value": None, "verdict": None, "verdict_name": None, "parts": None, "held_out": None,
    "rows": 0, "of_rows": None, "notes": [], "chance": {},
}  # fmt: skip


def group_section(data: Data, group: Data) -> dict[str, Any]:
    """What is shown of a group; of one group, by the whole page."""
    trust, found = group["trust"] or _NO_EVIDENCE, group["left_out"]
    alone = len(data["groups"]) == 1
    verdict = f"; {trust['verdict_name']}" if trust["verdict_name"] else ""
    partition = {
        "disparity": found["disparity"], "group_size": found["size"], "bound": found["bound"],
    }  # fmt: skip
    return {
        "name": f"group-{group['label']}",
        "title": f"Left-out group {group['label']}",
        "gist": f"{counted(found['size'], 'row')}{verdict}: {group['answer']['who']}",
        "lines": {"What": group["answer"]["fact"], **group["answer"]["lines"]},
        "explanation": group["explanation"],
        "trust": trust,
        "parts": trust["parts"],
        "answers": {finding["code"]: finding for finding in group["findings"]},
        "findings": group["findings"],
        "partition": data["partition"] if alone else partition,
        "costs": group["costs"],
        "prediction": group["prediction"],
    }
