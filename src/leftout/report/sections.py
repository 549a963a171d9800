"""The folded sections of the page, each with a line on what it holds; and what tables need."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from leftout.evidence.decomposition import PART_NAMES
from leftout.linalg.significance import describe_p
from leftout.text import as_name, counted, listed, number, percent

Data = Mapping[str, Any]
_IN_GIST = 3
_STATUSES = ("found", "not found", "not applicable", "not run")
# Of smaller parts nobody needs to know who carries them.
_LARGE_PART = 0.1


def _findings(data: Data) -> str:
    statuses = [finding["status"] for finding in data["findings"]]
    return ", ".join(f"{statuses.count(each)} {each}" for each in _STATUSES if each in statuses)


def _who(data: Data) -> str:
    lines = data["explanation"]["alignment"][:_IN_GIST]
    if not lines:
        return "No column could be compared with the group."
    text = f"Most like {listed([line['text'] for line in lines])}"
    return f"{text}; the outcome" if data["explanation"]["outcome"] else text


def _names(data: Data) -> str:
    groups = data["named"]["groups"]
    if not groups:
        return "None was found."
    first = f"{groups[0]['condition']}, loss {number(groups[0]['loss'])}"
    return f"{counted(len(groups), 'group')}; first {first}"


def _real(data: Data) -> str:
    trust, held = data["trust"], data["trust"]["held_out"]
    if trust["verdict"] is None:
        return "Not tested." if trust["p_value"] is None else "Too few surrogate tables to say."
    text = f"{trust['verdict_name'].capitalize()}; copula surrogates: "
    text += describe_p(trust["p_value"])
    return text if held is None else f"{text}; halves share {percent(held['overlap'])}"


def _drivers(data: Data) -> str:
    parts: dict[str, float] = {}
    for line in data["explanation"]["disparity_by_feature"]:
        parts[line["column"]] = parts.get(line["column"], 0.0) + (line["share"] or 0.0)
    most = sorted(parts, key=lambda name: -parts[name])[:_IN_GIST]
    each = [f"{as_name(name)} {percent(parts[name])}" for name in most]
    return f"Of the disparity: {listed(each)}"


def _rules(data: Data) -> str:
    rules = data["explanation"]["leading_rules"]
    if not rules:
        return "No rule covers enough rows."
    return f"{counted(len(rules), 'rule')}; first {rules[0]['text']}"


def _harm(data: Data) -> str:
    if data["harm"] is not None and len(data["groups"]) == 1:
        return str(data["harm"]["told_brief"])
    if data["harm"] is not None:
        return "What components cost each group, and what mitigations give back"
    return "How far the prediction that is there errs on either side"


def _mitigation(data: Data) -> str:
    found = data["mitigation"]
    before, after = (max(found[key]) for key in ("losses_before", "losses_after"))
    larger = "largest" if len(data["groups"]) > 1 else "larger"
    return f"The {larger} loss goes from {number(before)} to {number(after)}"


def _typical(data: Data) -> str:
    found = data["explanation"]
    rows = "; rows of either side" if found["rows"] else ""
    return f"{counted(len(found['typical']), 'column')}, left-out group beside rest{rows}"


def _columns(data: Data) -> str:
    roles = [line["role"] for line in data["columns"]]
    each = [f"{roles.count(role)} {role}" for role in dict.fromkeys(roles)]
    return f"What each means, and was taken for: {', '.join(each)}"


# The sections in their order: what they are called in the contents, their titles where these say
# more, and what they hold.
_SECTIONS: dict[str, tuple[str, str, Callable[[Data], str]]] = {
    "findings": ("Findings", "", _findings),
    "who": ("Who they are", "", _who),
    "names": ("Subgroups", "", _names),
    "known": ("Known groups", "", lambda data: data["known"]["told_count"]),
    "real": ("Why, and does it replicate?", "", _real),
    "drivers": ("What drives it", "", _drivers),
    "rules": ("Rules", "", _rules),
    "harm": ("What it costs them", "", _harm),
    "mitigation": ("What can be done", "What can be done: Fair PCA", _mitigation),
    "typical": ("Typical values", "", _typical),
    "columns": ("The columns", "", _columns),
    "settings": (
        "Settings",
        "Settings, and how to repeat this",
        lambda data: f"The command, {counted(data['table']['rows'], 'row')}, versions",
    ),
    "glossary": ("Glossary", "", lambda data: "What the words mean"),
}
# Those that are there only if something else is, and those that several groups have in their own.
_NEED = {
    "names": ["named"], "known": ["known"], "harm": ["harm", "prediction"],
}  # fmt: skip
_OF_EACH = ("who", "real", "drivers", "rules", "typical")


class Section(NamedTuple):
    """A folded section of the page."""

    name: str
    called: str
    title: str
    gist: str
    template: str
    told: Data | None = None  # of several groups, the one that it is about


def sections(data: Data, told_groups: Sequence[Data]) -> list[Section]:
    """What the page holds; of several groups, each has a section of its own."""
    found = [
        Section(name, called, title or called, gist(data), f"{name}.html")
        for name, (called, title, gist) in _SECTIONS.items()
        if any(data[key] for key in _NEED.get(name, ["groups"]))
        and not (told_groups and name in _OF_EACH)
    ]
    found[1:1] = [  # after the findings
        Section(told["name"], told["title"], told["title"], told["gist"], "group.html", told)
        for told in told_groups
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
    "rows": 0, "of_rows": None, "notes": [], "chance": {}, "cross_fitted": None,
}  # fmt: skip


def ranked(known: Data | None) -> list[Any]:
    """Known groups: those left out first, then by what they lose; too small ones last."""
    groups = [] if known is None else known["groups"]
    return sorted(
        groups, key=lambda each: (each["too_small"], not each["left_out"], -(each["loss"] or 0.0))
    )


def group_sections(data: Data) -> list[dict[str, Any]]:
    """What is shown of each group; of one group, by the whole page."""
    return [_shown(data, group) for group in data["groups"]]


def _shown(data: Data, group: Data) -> dict[str, Any]:
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
