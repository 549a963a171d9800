"""The form: a table's columns, what people chose, and that as a command line."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from leftout.errors import InputError
from leftout.page.store import Entry
from leftout.settings import AUDIT, DEMO, ON_PAGE
from leftout.text import listed

AUTO, OUTCOME, NONE = "auto", "outcome", "none"
# What a column can be, as people read it, and what then becomes of it; as guessed, what it looks
# like says that.
ROLES = {
    AUTO: ("as guessed", None),
    OUTCOME: ("outcome", "not searched; compared between the left-out group and the rest"),
    "sensitive": ("sensitive", "not searched; compared with the left-out group afterwards"),
    "drop": ("leave out", "left out"),
    "codes": ("codes or categories", "an indicator for each value"),
    "numbers": ("numbers", "scaled from its smallest to its largest value"),
    "prediction": ("a model's prediction", "not searched; its errors are compared"),
}
_LISTS = {
    "categorical": "codes", "numeric": "numbers", "drop": "drop", "sensitive": "sensitive",
}  # fmt: skip
QUICK, FULL = "quick", "full"
# What an answer to the third question makes of a column.
_PROTECTED = {"yes": "sensitive", "no": AUTO}


@dataclass(frozen=True)
class Columns:
    """What a look at a table found."""

    rows: int
    judged_on: int
    notes: list[str]
    columns: list[dict[str, Any]]

    @classmethod
    def of(cls, path: Path) -> Columns:
        return cls(**json.loads(path.read_text(encoding="utf-8")))

    def __len__(self) -> int:
        return len(self.columns)

    def name(self, place: int) -> str:
        return str(self.columns[place]["name"])


def presets(before: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The choices to begin with: none but those that somebody made before. Guesses are asked."""
    begun = {"roles": {}, "protected": {}, "none": False, "positive": "", "effort": FULL}
    return dict(before or begun)


def usual(entry: Entry, name: str) -> str:
    """What a setting is if nobody asks for anything else."""
    demo = DEMO.get(name) if entry.file is None else None
    return demo or AUDIT[name].text


def changed(
    choices: Mapping[str, Any], form: Mapping[str, str], columns: Columns
) -> tuple[dict[str, Any], list[str]]:
    """Choices after a form was sent, and what was wrong with it, a sentence each."""
    given = _with_outcome(choices, form, columns)
    asked = dict(choices.get("protected", {}))
    for key, answer in form.items():
        place = key.removeprefix("protected-")
        if answer in _PROTECTED and place != key and asked.get(place) != answer:
            asked[place], given[f"role-{place}"] = answer, _PROTECTED[answer]
    roles, wrong = _roles(choices.get("roles", {}), given, columns)
    new = {**choices, "roles": roles, "protected": asked}
    outcome = of_role(new, OUTCOME)
    new["none"] = not outcome and (form.get(OUTCOME) == NONE or bool(choices.get("none")))
    if "effort" in form:
        new["effort"] = form["effort"]
    for name, setting in ON_PAGE.items():
        if name in form:
            text = form[name].strip()
            try:
                new[name] = text if not text or setting.read(text) else text
            except InputError as error:
                wrong.append(f"{setting.page} {error}")
    values = [] if not outcome else columns.columns[outcome[0]]["levels"]
    same = outcome == of_role(choices, OUTCOME)
    good = form.get(f"positive-{outcome[0]}") if outcome else ""
    good = choices.get("positive", "") if good is None and same else good
    new["positive"] = good if good in values else ""
    new["effort"] = QUICK if new.get("effort") == QUICK else FULL
    return new, wrong


def _with_outcome(
    choices: Mapping[str, Any], form: Mapping[str, str], columns: Columns
) -> dict[str, str]:
    """The form with the answer to the first question as the role of a column."""
    answer, before = form.get(OUTCOME, ""), of_role(choices, OUTCOME)
    answer = form.get("other", "") if answer == "other" else answer
    if answer != NONE and not (re.fullmatch(r"\d{1,5}", answer) and int(answer) < len(columns)):
        return dict(form)
    if [int(answer)] == before if answer != NONE else not before:
        return dict(form)  # not changed here: the table of columns may have been
    taken = {f"role-{place}": AUTO for place in before}
    return {**form, **taken, **({} if answer == NONE else {f"role-{int(answer)}": OUTCOME})}


def _roles(
    before: Mapping[str, str], form: Mapping[str, str], columns: Columns
) -> tuple[dict[str, str], list[str]]:
    """Roles by the column's place; what only one column can be, the one chosen last is."""
    roles, wrong = dict(before), []
    for key, role in form.items():
        if re.fullmatch(r"role-\d{1,5}", key) and role in ROLES and int(key[5:]) < len(columns):
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


def _chosen(entry: Entry, columns: Columns) -> dict[str, Any]:
    """What was chosen, and what the form begins with, by the names of an audit's parameters.

    Columns are lists of names, other settings texts as people write them; a flag is True.
    """
    chosen = entry.choices
    given: dict[str, Any] = {}
    for place in of_role(chosen, OUTCOME):
        given["target"] = columns.name(place)
        if chosen.get("positive"):
            given["positive"] = chosen["positive"]
    for place in of_role(chosen, "prediction"):
        given["prediction"] = columns.name(place)
    for parameter, role in _LISTS.items():
        names = [columns.name(place) for place in of_role(chosen, role)]
        if names:
            given[parameter] = names
    for name in ON_PAGE:
        text = chosen.get(name) or usual(entry, name)
        if text:
            given[name] = text
    return given | ({"quick": True} if chosen.get("effort") == QUICK else {})


def settings(entry: Entry, columns: Columns) -> dict[str, Any]:
    """The settings of an audit that were chosen, as plain data."""
    given = _chosen(entry, columns)
    read = {name: ON_PAGE[name].read(given[name]) for name in ON_PAGE if name in given}
    return given | read | {"command": command(entry, columns)}


def command(entry: Entry, columns: Columns) -> str:
    """The command line that does the same."""
    given = _chosen(entry, columns)
    said = ["leftout", "demo"] if entry.file is None else ["leftout", "audit", entry.name]
    if "positive" in given:
        given["target"] += f"={given.pop('positive')}"
    for name, value in given.items():
        if value != usual(entry, name):
            option = AUDIT[name].option
            for each in value if isinstance(value, list) else [value]:
                said += [option] if each is True else [option, each]
    return shlex.join(said)


def about(entry: Entry, columns: Columns) -> str:
    """What tells an audit from others of the same table."""
    given = _chosen(entry, columns)
    outcome = f"{given['target']} = {given['positive']}" if given.get("positive") else ""
    said = [
        "quick look" if given.get("quick") else "full audit",
        f"outcome {outcome or given['target']}" if "target" in given
        else "no outcome" if entry.choices.get("none") else "outcome not said yet",
        *(f"protected: {listed(given[name])}" for name in ("sensitive",) if name in given),
        *(f"{ON_PAGE[name].option} {entry.choices[name]}" for name in ON_PAGE
          if entry.choices.get(name)),
    ]  # fmt: skip
    return ", ".join(said)


def check(entry: Entry, columns: Columns) -> None:
    """Refuse choices that say nothing to search, or leave a question open."""
    outcome = of_role(entry.choices, OUTCOME)
    if not outcome and not entry.choices.get("none"):
        raise InputError("The first question is open. Say what the outcome is, or that none is.")
    if not outcome and entry.file is None:
        raise InputError("The demo compares an outcome. Choose one: approved is what was decided.")
    if outcome and not entry.choices.get("positive"):
        line = columns.columns[outcome[0]]
        if line["levels"] and line["kind"] != "number":
            raise InputError(
                f"The second question is open. Say which value of {columns.name(outcome[0])!r} is "
                "good, and start."
            )
