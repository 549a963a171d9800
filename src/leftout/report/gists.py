"""What a folded section of the page holds, in a line; and what its tables need beyond the dict."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from leftout.core.ranks import told_p
from leftout.evidence.parts import CALLED, Carrier, Part
from leftout.wording import counted, listed, number, unambiguous

_NAMED = 3
_STATUSES = ("found", "not found", "not applicable", "not run")
# Of smaller parts nobody needs to know who carries them.
_SHARE = 0.1
Data = Mapping[str, Any]


def _findings(data: Data) -> str:
    statuses = [finding["status"] for finding in data["findings"]]
    return ", ".join(f"{statuses.count(each)} {each}" for each in _STATUSES if each in statuses)


def _who(data: Data) -> str:
    lines = data["explanation"]["alignment"][:_NAMED]
    if not lines:
        return "No column could be compared with the group."
    text = f"Most like {listed([line['text'] for line in lines])}"
    return f"{text}; the outcome" if data["explanation"]["outcome"] else text


def _names(data: Data) -> str:
    groups = data["named"]
    if not groups:
        return "None was found."
    first = f"{groups[0]['condition']}, loss {number(groups[0]['loss'])}"
    return f"{counted(len(groups), 'group')}; first {first}"


def _known(data: Data) -> str:
    return str(data["known_search"]["told_count"])


def _real(data: Data) -> str:
    trust, held = data["trust"], data["held_out"]
    if trust["verdict"] is None:
        return "Not tested." if trust["p_value"] is None else "Too few comparison tables to say."
    text = f"{trust['verdict_name'].capitalize()}; tables with the same values: "
    text += told_p(trust["p_value"])
    return text if held is None else f"{text}; halves share {100 * held['overlap']:.0f} %"


def _drivers(data: Data) -> str:
    lines = data["explanation"]["disparity_by_feature"]
    parts: dict[str, float] = {}
    for line in lines:
        parts[line["column"]] = parts.get(line["column"], 0.0) + (line["share"] or 0.0)
    most = sorted(parts, key=lambda name: -parts[name])[:_NAMED]
    each = [f"{unambiguous(name)} {100 * parts[name]:.0f} %" for name in most]
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
        return "What components cost each group, and what Fair PCA gives back"
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


def _algorithms(data: Data) -> str:
    if not data["comparison"]:
        return "Not compared."
    best = max(data["comparison"], key=lambda line: line["disparity"])
    solvers = counted(len(data["comparison"]), "algorithm")
    return f"{solvers}; {best['solver']} finds most, {number(best['disparity'])}"


def _columns(data: Data) -> str:
    roles = [line["role"] for line in data["columns"]]
    each = [f"{roles.count(role)} {role}" for role in dict.fromkeys(roles)]
    return f"What each means, and was taken for: {', '.join(each)}"


def _settings(data: Data) -> str:
    return f"The command, {counted(data['table']['rows'], 'row')}, versions"


def _glossary(data: Data) -> str:
    return "What the words mean"


GISTS: dict[str, Callable[[Data], str]] = {
    "findings": _findings,
    "who": _who,
    "names": _names,
    "known": _known,
    "real": _real,
    "drivers": _drivers,
    "rules": _rules,
    "harm": _harm,
    "mitigation": _mitigation,
    "typical": _typical,
    "algorithms": _algorithms,
    "columns": _columns,
    "settings": _settings,
    "glossary": _glossary,
}
# Those that all groups share, where there are several.
_SHARED = (
    "findings", "names", "known", "harm", "mitigation", "columns", "settings", "glossary",
)  # fmt: skip
# Sections that are there only if something else is.
_NEED = {"names": "named_search", "known": "known_search"}


def gists(data: Data) -> dict[str, str]:
    """One line for each section."""
    if len(data["groups"]) > 1:
        shared = [name for name in _SHARED if data[_NEED.get(name, "findings")] is not None]
        each = {f"group-{group['label']}": _group(group) for group in data["groups"]}
        return {name: GISTS[name](data) for name in shared} | each
    there = (name for name in GISTS if data[_NEED.get(name, "findings")] is not None)
    return {name: GISTS[name](data) for name in there}


def _group(group: Data) -> str:
    verdict = f"; {group['verdict_name']}" if group["verdict_name"] else ""
    return f"{counted(group['rows'], 'row')}{verdict}: {group['answer']['who']}"


def carriers(parts: Data | None) -> dict[str, list[str]]:
    """The few columns that carry each part; any cloud's are none's in particular."""
    found: dict[str, list[str]] = {}
    if parts is None:
        return found
    for key in CALLED:
        part = parts[key]
        columns = [Carrier(**line) for line in part["columns"]]
        named = Part(**{**part, "columns": columns}).carriers
        large = key != "cloud" and part["share"] > _SHARE
        found[key] = [unambiguous(name) for name in named] if large else []
    return found


def by_column(parts: Data | None) -> Sequence[dict[str, Any]]:
    """What each column adds to every part, most together first."""
    found: dict[str, dict[str, Any]] = {}
    if parts is None:
        return []
    for key in CALLED:
        for line in parts[key]["columns"]:
            found.setdefault(line["column"], {"column": line["column"]})[key] = line["loss"]
    lines = [{**line, "together": sum(line[key] for key in CALLED)} for line in found.values()]
    return sorted(lines, key=lambda line: -line["together"])
