"""The folded sections of the page, each with a line on what it holds; and what tables need."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from leftout.groups.decomposition import PART_NAMES
from leftout.text import as_name, counted

Data = Mapping[str, Any]
# Of smaller parts nobody needs to know who carries them.
_LARGE_PART = 0.1


# The sections in their order: what they are called in the contents, their titles where these say
# more, and what they hold.
_SECTIONS = {
    "findings": ("Findings", "", "Each question that the audit asks, and its answer."),
    "who": ("Who they are", "", "Columns that the group looks like, and its outcome."),
    "names": ("Subgroups", "", "The subgroups that lose most, by conditions on columns."),
    "known": ("Known groups", "", "Groups of the sensitive columns, beside random groups."),
    "real": ("Why, and does it replicate?", "", "The search in surrogates and on held-out rows."),
    "drivers": ("What drives it", "", "What each column adds to the disparity."),
    "rules": ("Rules", "", "Conditions under which rows are left out far more often."),
    "harm": ("What it costs them", "", "Errors of predictions for each side."),
    "mitigation": (
        "What can be done", "What can be done: Fair PCA", "Losses before and after mitigation.",
    ),
    "typical": ("Typical values", "", "The left-out group beside the rest, column by column."),
    "columns": ("The columns", "", "What each column was taken for, and what became of it."),
    "settings": (
        "Settings", "Settings, and how to repeat this", "The command, the table and the versions.",
    ),
    "annex": ("A record to file", "", "What was done and found, beside what regulations ask for."),
    "glossary": ("Glossary", "", "What the words mean."),
}  # fmt: skip
# Those that are there only if something else is, and those that several groups have in their own.
_NEED = {
    "names": ["named"], "known": ["known"], "harm": ["harm", "prediction"],
    "annex": ["annex"],
}  # fmt: skip
_OF_EACH = ("who", "real", "drivers", "rules", "typical")


class Section(NamedTuple):
    """A folded section of the page."""

    name: str
    called: str
    title: str
    gist: str
    template: str
    group: Data | None = None  # of several groups, the one that it is about


def sections(data: Data, several: Sequence[Data]) -> list[Section]:
    """What the page holds; of several groups, each has a section of its own."""
    found = [
        Section(name, called, title or called, gist, f"{name}.html")
        for name, (called, title, gist) in _SECTIONS.items()
        if any(data.get(key) for key in _NEED.get(name, ["groups"]))
        and not (several and name in _OF_EACH)
    ]
    found[1:1] = [  # after the findings
        Section(each["name"], each["title"], each["title"], each["gist"], "group.html", each)
        for each in several
    ]
    return found


def carriers(parts: Data | None) -> dict[str, list[str]]:
    """The few columns that carry each part; the covariance's are none's in particular."""
    if parts is None:
        return {}
    large = {key: key != "covariance" and parts[key]["share"] > _LARGE_PART for key in PART_NAMES}
    return {key: list(map(as_name, parts[key]["carriers"] * large[key])) for key in PART_NAMES}


# What a section shows where no evidence was gathered.
_NO_EVIDENCE: dict[str, Any] = {
    "p_value": None, "verdict": None, "verdict_name": None, "parts": None, "held_out": None,
    "rows": 0, "of_rows": None, "notes": [], "chance": {},
}  # fmt: skip


def ranked(known: Data | None) -> list[Any]:
    """Known groups: those left out first, then by what they lose; too small ones last."""
    groups = [] if known is None else known["groups"]
    return sorted(
        groups, key=lambda each: (each["too_small"], not each["left_out"], -(each["loss"] or 0.0))
    )


def group_section(data: Data, group: Data) -> dict[str, Any]:
    """What is shown of a group; of one group, by the whole page."""
    trust, found = group["trust"] or _NO_EVIDENCE, group["left_out"]
    alone = len(data["groups"]) == 1
    partition = {
        "disparity": found["disparity"], "group_size": found["size"], "bound": found["bound"],
    }  # fmt: skip
    return {
        "name": f"group-{group['label']}",
        "title": f"Left-out group {group['label']}",
        "gist": _gist(group),
        "lines": {"What": group["answer"]["fact"], **group["answer"]["lines"]},
        "explanation": group["explanation"],
        "trust": trust,
        "parts": trust["parts"],
        "carriers": carriers(trust["parts"]),
        "answers": {finding["code"]: finding for finding in group["findings"]},
        "findings": group["findings"],
        "partition": data["partition"] if alone else partition,
        "costs": group["costs"],
        "prediction": group["prediction"],
    }


def _gist(group: Data) -> str:
    name = (group["trust"] or _NO_EVIDENCE)["verdict_name"]
    verdict = f"; {name}" if name else ""
    return f"{counted(group['left_out']['size'], 'row')}{verdict}: {group['answer']['who']}"
