"""The tables of docs/peers.md, from the numbers of one run."""

from __future__ import annotations

from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

PAGE = Path(__file__).parents[2] / "docs" / "peers.md"
START, END = "<!-- measured: begin -->", "<!-- measured: end -->"


class Tool(NamedTuple):
    """How people call it, what it answers, and what it needs to be told."""

    name: str
    answers: str
    needs: str


_ERROR = "an error for each row"
TOOLS = {
    "leftout_rows": Tool(
        "leftout (`trust`)",
        "which rows does a shared PCA leave out, and are they a group of their own?",
        "the table that PCA sees",
    ),
    "leftout_names": Tool(
        "leftout (`known_groups`)",
        "which values and pairs of values lose more than random groups of their size?",
        "that table, and columns that people know",
    ),
    "worst_residuals": Tool(
        "the worst tenth by residual",
        "which rows does PCA reproduce worst?",
        "the table; three lines of NumPy",
    ),
    "residual_tree": Tool(
        "PCA residual tree",
        "which cuts of columns tell where PCA's residuals are large?",
        f"{_ERROR}; twenty lines of scikit-learn",
    ),
    "fairlearn": Tool(
        "fairlearn (`MetricFrame`)",
        "how does any metric differ between groups?",
        f"{_ERROR} or predictions, and the columns that make the groups (here told both)",
    ),
    "aif360": Tool(
        "AIF360 (bias scan)",
        "which values of columns hold the most surplus of an outcome over what is expected?",
        "a yes-or-no outcome (here the tenth with the largest residuals), categories",
    ),
    "pysubgroup": Tool(
        "pysubgroup",
        "which conditions name rows with an unusual target?",
        f"a target ({_ERROR}), columns to search",
    ),
    "sliceline": Tool(
        "sliceline",
        "which conditions name rows with large errors?",
        f"{_ERROR}, categories",
    ),
    "divexplorer": Tool(
        "DivExplorer",
        "how far does every frequent pattern diverge from all rows?",
        f"an outcome ({_ERROR}), categories, a least support",
    ),
    "unsupervised_bias_detection": Tool(
        "unsupervised-bias-detection",
        "which cluster of similar rows fares worst?",
        f"{_ERROR}; all numbers or all categories; sizes and iterations",
    ),
}
_HEAD = """\
| tool | what it answers | what it needs | hidden: found | hidden: claimed, none there \
| named: found | named: claimed, none there | CPU s |
|---|---|---|---|---|---|---|---|"""


def measured_part(run: dict[str, Any]) -> str:
    """The measured part of the page."""
    lines = [_HEAD]
    for tool, about in TOOLS.items():
        result = run["tools"][tool]
        if "skipped" in result:
            cells = [f"skipped: {result['skipped']}", "", "", "", ""]
        else:
            cells = _cells(result["answers"])
        lines.append(f"| {' | '.join([*about, *cells])} |")
    versions = "; ".join(
        f"{about.name}: "
        + ", ".join(f"{name} {number}" for name, number in run["tools"][tool]["versions"].items())
        for tool, about in TOOLS.items()
        if "versions" in run["tools"][tool]
    )
    setting = (
        f"Measured on {run['date']} by `make peers`: {run['tables']} tables of each kind, "
        f"{run['rows']:,} rows, {run['features']} columns of numbers, {run['components']} "
        f"components, {run['group']} planted rows; Python {run['python']}, {run['machine']}, one "
        f"thread each; {run['seconds']:.0f} CPU seconds in all."
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
    return f"{false} of {len(without)} (planted: {true} of {len(planted)})"


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
    return f"{head}{START}\n\n{measured_part(run)}\n\n{END}{tail}"
