"""The tables of docs/peers.md, from the numbers of one run."""

from __future__ import annotations

from pathlib import Path
from statistics import median
from typing import Any

PAGE = Path(__file__).parents[2] / "docs" / "peers.md"
START, END = "<!-- measured: begin -->", "<!-- measured: end -->"
# In the order of the page: the name people know it by.
TOOLS = {
    "leftout_rows": "leftout, rows (`trust`)",
    "leftout_names": "leftout, names (`known_groups`)",
    "worst_residuals": "the worst tenth by residual",
    "residual_tree": "PCA residual tree",
    "fairlearn": "fairlearn, told the two columns",
    "aif360": "AIF360 (bias scan)",
    "pysubgroup": "pysubgroup",
    "sliceline": "sliceline",
    "divexplorer": "DivExplorer",
    "unsupervised_bias_detection": "unsupervised-bias-detection",
}
_HEAD = """\
| | hidden: found | hidden: claims without | named: found | named: claims without | CPU s |
|---|---|---|---|---|---|"""


def told(run: dict[str, Any]) -> str:
    """The measured part of the page."""
    lines = [_HEAD]
    for tool, name in TOOLS.items():
        result = run["tools"][tool]
        if "skipped" in result:
            lines.append(f"| {name} | skipped: {result['skipped']} | | | | |")
        else:
            lines.append(f"| {name} | {' | '.join(_cells(result['answers']))} |")
    versions = "; ".join(
        f"{name}: " + ", ".join(f"{k} {v}" for k, v in run["tools"][tool]["versions"].items())
        for tool, name in TOOLS.items()
        if "versions" in run["tools"][tool]
    )
    setting = (
        f"Measured on {run['date']} by `make peers`: {run['tables']} tables of each kind, "
        f"{run['rows']:,} rows, {run['features']} columns of numbers, {run['components']} "
        f"components, {run['group']} planted rows; Python {run['python']}, {run['machine']}, one "
        f"thread; {run['seconds']:.0f} CPU seconds in all."
    )
    return "\n".join([*_wrapped(setting), "", *lines, "", *_wrapped(f"Versions. {versions}.")])


def _cells(answers: list[dict[str, Any]]) -> list[str]:
    cells = []
    for kind in ("hidden", "named"):
        planted = [a for a in answers if _kind(a) == kind]
        without = [a for a in answers if _kind(a) == f"{kind}_none"]
        cells += [_found(planted), _claims(planted, without)]
    seconds = [a["seconds"] for a in answers if a["asked"]]
    return [*cells, _seconds(median(seconds))]


def _kind(answer: dict[str, Any]) -> str:
    return str(answer["table"]).rpartition("-")[0]


def _found(answers: list[dict[str, Any]]) -> str:
    values = sorted(a["jaccard"] for a in answers if a["asked"])
    if not values:
        return "not asked"
    return f"{median(values):.2f} ({values[0]:.2f} to {values[-1]:.2f})"


def _claims(planted: list[dict[str, Any]], without: list[dict[str, Any]]) -> str:
    """How often a group is claimed where there is none, and where there is one."""
    if not without or not without[0]["asked"]:
        return "not asked"
    if without[0]["claims"] is None:
        return "has none"
    false, true = (sum(a["claims"] for a in answers) for answers in (without, planted))
    return f"{false} of {len(without)} (with one: {true})"


def _seconds(value: float) -> str:
    return f"{value:.1f}" if value >= 1 else f"{value:.2f}" if value >= 0.01 else "below 0.01"


def _wrapped(text: str, width: int = 100) -> list[str]:
    lines = [""]
    for word in text.split():
        if lines[-1] and len(lines[-1]) + 1 + len(word) > width:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".strip()
    return lines


def written(page: str, run: dict[str, Any]) -> str:
    """The page with the measured part of this run."""
    head, start, rest = page.partition(START)
    _, end, tail = rest.partition(END)
    if not start or not end:
        raise ValueError(f"The page needs the lines {START!r} and {END!r} around its numbers.")
    return f"{head}{START}\n\n{told(run)}\n\n{END}{tail}"
