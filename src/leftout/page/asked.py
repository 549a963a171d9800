"""What people chose in the form, as the words of a command line and as a call in Python."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from leftout.checks import Refusal
from leftout.page.columns import Columns
from leftout.page.store import Entry
from leftout.wording import shortened

AUTO, OUTCOME = "auto", "outcome"
# What a column can be, as people read it; as an option, and as a parameter.
ROLES = {
    AUTO: "as guessed",
    OUTCOME: "outcome",
    "sensitive": "sensitive",
    "drop": "leave out",
    "codes": "codes or categories",
    "numbers": "numbers",
    "prediction": "a model's prediction",
}
# What becomes of a column in a role; in any other, what it looks like.
BECOMES = {
    OUTCOME: "not searched; compared between the left-out group and the rest",
    "sensitive": "not searched; compared with the left-out group afterwards",
    "drop": "left out",
    "codes": "a yes-or-no column for each value",
    "numbers": "scaled from its smallest to its largest value",
    "prediction": "not searched; its errors are compared",
}
_LISTS = {
    "categorical": "codes", "numeric": "numbers", "drop": "drop", "sensitive": "sensitive",
}  # fmt: skip
_COUNT, _SHARE = r"\d{1,9}", r"\d{1,2}(?:\.\d{1,6})?%|0?\.\d{1,9}"


class Field(NamedTuple):
    """A setting besides the columns: how it is called, what it is usually, and what it takes."""

    option: str
    parameter: str
    label: str
    usual: str
    takes: str
    hint: str
    value: Callable[[str], Any] = int


def _size(text: str) -> Any:
    if text == "evidence":
        return text
    return int(text) if text.isdigit() else _share(text)


def _share(text: str) -> float:
    return float(text[:-1]) / 100.0 if text.endswith("%") else float(text)


FIELDS = {
    "size": Field("--size", "group_size", "Size of the left-out group", "10%",
                  f"{_COUNT}|{_SHARE}|evidence", "10%, 200 or evidence", _size),
    "dims": Field("--dims", "n_components", "Components of the PCA", "0.8",
                  rf"{_COUNT}|0?\.\d{{1,9}}", "a share of variance (0.8), or a number (9)", _size),
    "min_size": Field("--min-size", "min_group_size", "Fewest rows of a group", "",
                      f"{_COUNT}|{_SHARE}", "200 or 5%; by default 5 per feature", _size),
    "sample": Field("--sample", "sample", "Audit a sample of so many rows", "", _COUNT,
                    "by default all rows"),
    "missing": Field("--missing", "missing", "Values that stand for nothing", "", r"[^\0]{1,1000}",
                     "999, or COLUMN=-1", str),
    "chance": Field("--chance", "chance", "Comparison tables, at most", "99", r"\d{1,4}",
                    "0 to 9999"),
    "runs": Field("--runs", "runs", "Searches from other starts", "30", r"\d{1,3}", "0 to 999"),
    "rows": Field("--rows", "rows", "Actual rows to show of either side", "0", r"\d{1,3}",
                  "a row may be a person"),
    "seed": Field("--seed", "random_state", "Seed", "0", r"\d{1,9}", "of samples and tables"),
}  # fmt: skip
_DEMO = {"runs": "10"}
QUICK, FULL = "quick", "full"
_DEMO_TARGET = ("approve", "1")


def presets(columns: Columns, before: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The choices to begin with: our guesses, unless somebody chose before."""
    if before:
        return dict(before)
    roles = {
        str(place): line["guess"]
        for place, line in enumerate(columns.columns)
        if line["guess"] != AUTO
    }
    outcome = next((int(place) for place, role in roles.items() if role == OUTCOME), None)
    values = [] if outcome is None else columns.columns[outcome]["levels"]
    return {"roles": roles, "positive": values[-1] if values else "", "effort": FULL}


def usual(entry: Entry, name: str) -> str:
    """What a setting is if nobody asks for anything else."""
    return _DEMO.get(name, FIELDS[name].usual) if entry.file is None else FIELDS[name].usual


def changed(
    choices: Mapping[str, Any], form: Mapping[str, str], columns: Columns
) -> tuple[dict[str, Any], list[str]]:
    """Choices after a form was sent, and what was wrong with it, a sentence each."""
    roles, wrong = _roles(choices.get("roles", {}), form, len(columns))
    new = {**choices, "roles": roles}
    for name in ("positive", "effort"):
        if name in form:
            new[name] = form[name]
    for name, field in FIELDS.items():
        if name in form:
            text = form[name].strip()
            if text and not re.fullmatch(field.takes, text):
                wrong.append(f"{field.label} cannot be {shortened(text)!r}: {field.hint}.")
            else:
                new[name] = text
    outcome = of_role(new, OUTCOME)
    values = [] if not outcome else columns.columns[outcome[0]]["levels"]
    if new.get("positive") not in values:
        mean = bool(outcome) and columns.columns[outcome[0]]["kind"] == "number"
        new["positive"] = "" if not values or mean else values[-1]
    new["effort"] = QUICK if new.get("effort") == QUICK else FULL
    return new, wrong


def _roles(
    before: Mapping[str, str], form: Mapping[str, str], n_columns: int
) -> tuple[dict[str, str], list[str]]:
    """Roles by the column's place; what only one column can be, the one chosen last is."""
    roles, wrong = dict(before), []
    for key, role in form.items():
        if re.fullmatch(r"role-\d{1,5}", key) and role in ROLES and int(key[5:]) < n_columns:
            roles[str(int(key[5:]))] = role
    for single in (OUTCOME, "prediction"):
        those = [place for place, role in roles.items() if role == single]
        fresh = [place for place in those if before.get(place) != single]
        if len(fresh) > 1:
            wrong.append(f"Only one column can be the {single}; the first that you chose is.")
        for place in those:
            if place != (fresh or those)[0]:
                roles[place] = AUTO
    return {place: role for place, role in roles.items() if role != AUTO}, wrong


def of_role(choices: Mapping[str, Any], role: str) -> list[int]:
    """Places of the columns that play a role, in order."""
    roles = choices.get("roles", {})
    return sorted(int(place) for place, each in roles.items() if each == role)


def words(entry: Entry, columns: Columns, called: bool = True) -> list[str]:
    """The command line's words; with ``called``, for the file as it is called here."""
    chosen = entry.choices
    if entry.file is None:
        said = ["demo"]
    elif called:
        said = ["audit", entry.file, "--called", entry.name]
    else:
        said = ["audit", entry.name]
    if entry.sheet is not None:
        said += ["--sheet", entry.sheet]
    target = _target(entry, columns)
    if target is not None and not (entry.file is None and target == _DEMO_TARGET):
        said += ["--target", target[0] + (f"={target[1]}" if target[1] else "")]
    for place in of_role(chosen, "prediction"):
        said += ["--prediction", columns.name(place)]
    for option, role in _LISTS.items():
        for place in of_role(chosen, role):
            said += [f"--{option}", columns.name(place)]
    for name, field in FIELDS.items():
        value = chosen.get(name) or usual(entry, name)
        if value != usual(entry, name):
            said += [field.option, value]
    return [*said, "--quick"] if chosen.get("effort") == QUICK else said


def _target(entry: Entry, columns: Columns) -> tuple[str, str] | None:
    outcome = of_role(entry.choices, OUTCOME)
    return (columns.name(outcome[0]), entry.choices.get("positive", "")) if outcome else None


def check(entry: Entry, columns: Columns) -> None:
    """Refuse choices that say nothing to search."""
    if entry.file is None and _target(entry, columns) is None:
        raise Refusal("The demo compares an outcome. Choose one: approved is what was decided.")


def command(entry: Entry, columns: Columns) -> str:
    """The command line that does the same."""
    return shlex.join(["leftout", *words(entry, columns, called=False)])


def call(entry: Entry, columns: Columns) -> str:
    """The Python that does the same."""
    chosen, given = entry.choices, []
    head, table = ["import leftout", ""], repr(entry.name)
    if entry.file is None:
        table = "leftout.datasets.load_demo()"
        given.append(("dictionary", "leftout.datasets.demo_dictionary()"))
    elif entry.sheet is not None:
        head.insert(1, "from leftout.tables.reading import read_table")
        table = f"read_table({entry.name!r}, sheet={entry.sheet!r})"
    target = _target(entry, columns)
    if target is not None:
        given += [("target", repr(target[0]))]
        given += [("positive", repr(target[1]))] if target[1] else []
    for place in of_role(chosen, "prediction"):
        given.append(("prediction", repr(columns.name(place))))
    for parameter, role in _LISTS.items():
        names = [columns.name(place) for place in of_role(chosen, role)]
        given += [(parameter, repr(names))] if names else []
    for name, field in FIELDS.items():
        value = chosen.get(name) or usual(entry, name)
        if value != field.usual:
            given.append((field.parameter, repr(field.value(value))))
    if chosen.get("effort") == QUICK:
        given.append(("quick", "True"))
    lines = [f"    {table},", *(f"    {name}={value}," for name, value in given)]
    return "\n".join([*head, "found = leftout.audit(", *lines, ")", 'found.to_html("report.html")'])
