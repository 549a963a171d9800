"""What people chose in the form, as the words of a command line and as a call in Python.

How long an audit will take, in words: a rough guess from the size of the table.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from typing import Any

from leftout.errors import InputError
from leftout.page.columns import Columns
from leftout.page.store import Entry
from leftout.settings import ON_PAGE

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
_DEMO = {"n_restarts": "10"}
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
    demo = _DEMO.get(name) if entry.file is None else None
    return demo or ON_PAGE[name].text


def changed(
    choices: Mapping[str, Any], form: Mapping[str, str], columns: Columns
) -> tuple[dict[str, Any], list[str]]:
    """Choices after a form was sent, and what was wrong with it, a sentence each."""
    roles, wrong = _roles(choices.get("roles", {}), form, len(columns))
    new = {**choices, "roles": roles}
    for name in ("positive", "effort"):
        if name in form:
            new[name] = form[name]
    for name, setting in ON_PAGE.items():
        if name in form:
            text = form[name].strip()
            try:
                new[name] = text if not text or setting.read(text) else text
            except InputError as error:
                wrong.append(f"{setting.page} {error}")
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
    for name, setting in ON_PAGE.items():
        value = chosen.get(name) or usual(entry, name)
        if value != usual(entry, name):
            said += [setting.option, value]
    return [*said, "--quick"] if chosen.get("effort") == QUICK else said


def _target(entry: Entry, columns: Columns) -> tuple[str, str] | None:
    outcome = of_role(entry.choices, OUTCOME)
    return (columns.name(outcome[0]), entry.choices.get("positive", "")) if outcome else None


def check(entry: Entry, columns: Columns) -> None:
    """Refuse choices that say nothing to search."""
    if entry.file is None and _target(entry, columns) is None:
        raise InputError("The demo compares an outcome. Choose one: approved is what was decided.")


def command(entry: Entry, columns: Columns) -> str:
    """The command line that does the same."""
    return shlex.join(["leftout", *words(entry, columns, called=False)])


def call(entry: Entry, columns: Columns) -> str:
    """The Python that does the same."""
    chosen, given = entry.choices, []
    table = repr(entry.name)
    if entry.file is None:
        table = "leftout.datasets.load_demo()"
        given.append(("dictionary", "leftout.datasets.demo_dictionary()"))
    elif entry.sheet is not None:
        given.append(("sheet", repr(entry.sheet)))
    target = _target(entry, columns)
    if target is not None:
        given += [("target", repr(target[0]))]
        given += [("positive", repr(target[1]))] if target[1] else []
    for place in of_role(chosen, "prediction"):
        given.append(("prediction", repr(columns.name(place))))
    for parameter, role in _LISTS.items():
        names = [columns.name(place) for place in of_role(chosen, role)]
        given += [(parameter, repr(names))] if names else []
    for name, setting in ON_PAGE.items():
        value = chosen.get(name) or usual(entry, name)
        if value != setting.text:
            given.append((name, repr(setting.read(value))))
    if chosen.get("effort") == QUICK:
        given.append(("quick", "True"))
    lines = [f"    {table},", *(f"    {name}={value}," for name, value in given)]
    lines = ["import leftout", "", "found = leftout.audit(", *lines, ")"]
    return "\n".join([*lines, 'found.to_html("report.html")'])


# Seconds on two cores until anything is there: libraries, and reading the table.
_START = 6.0
# Evidence is gathered on a part of the rows: about so many millions of cells cost time.
_MOST = 5.0


def estimated_seconds(rows: int, features: int) -> tuple[float, float]:
    """Of a quick look, and of a full audit: about 40 s for the demo, minutes for large tables."""
    cells, wide = rows * max(features, 1) / 1e6, 1.0 + features / 200.0
    quick = _START + 4.0 * cells * wide
    return quick, quick + 10.0 + 20.0 * min(1.0, 10.0 * cells) + 40.0 * min(cells, _MOST) * wide


def describe_seconds(time: float) -> str:
    """A time as people say it, with as many digits as it deserves.

    >>> [describe_seconds(time) for time in (7.0, 34.0, 95.0, 9000.0)]
    ['about 10 s', 'about 30 s', 'about 2 minutes', 'about 2.5 hours']
    """
    if time < 55.0:
        return f"about {max(10, 10 * round(time / 10))} s"
    if time < 5400.0:
        minutes = max(1, round(time / 60))
        return f"about {minutes} minute" + "s" * (minutes != 1)
    return f"about {round(time / 1800) / 2:g} hours"
