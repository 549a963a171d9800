"""What people read of several left-out groups, with known, unequal numbers."""

from __future__ import annotations

import json

import jsonschema
import numpy as np

import cells
import known_several
from leftout import report
from leftout.auditing.figures import figures_of
from leftout.auditing.schema import schema
from leftout.cli import terminal
from leftout.evidence.stability import Membership
from test_reading import leaves, nothing, on_terminal, same, versionless

SCHEMA = schema()


def page_of(found):
    data = json.loads(found.json()) | {"versions": {"python": "0.0"}}
    return report.page(data, dict.fromkeys(figures_of(found), nothing))


def page_lines(found):
    return [*map(versionless, cells.Page(page_of(found)).lines)]


def test_the_page_of_two_groups():
    same("page_several", page_lines(known_several.audit()))


def test_the_terminal_on_two_groups():
    found = known_several.audit()
    lines = on_terminal(terminal.show_audit, found)
    assert len(lines) <= 40
    same("terminal_several", lines)
    full = on_terminal(terminal.show_audit, found, True)
    assert [line for line in full if line.startswith("Left-out group")] == [
        "Left-out group 1. town = Beeley and age >= 40: 88 % of the group, 75 % of all named.",
        "Left-out group 2. heat = oil: 80 % of the group, 89 % of all named.",
    ]


def test_the_data_of_two_groups():
    data = json.loads(known_several.audit().json())
    jsonschema.validate(data, SCHEMA)
    kept = ("headline", "summary", "partition", "groups", "counted", "findings")
    data["groups"] = [
        group | {"details": {key: group["details"][key] for key in ("harm", "findings")}}
        for group in data["groups"]
    ]
    same("data_several", leaves({key: data[key] for key in kept}))


def test_whoever_swaps_two_groups_is_seen():
    """Numbers of one group never stand under another's name."""
    found, swapped = known_several.audit(), known_several.audit(swapped=True)
    for read in (page_lines, lambda one: on_terminal(terminal.show_audit, one)):
        assert read(found) != read(swapped)
    heads = [line for line in page_lines(found) if "left-out group 1" in line or "group 2" in line]
    others = [
        line for line in page_lines(swapped) if "left-out group 1" in line or "group 2" in line
    ]
    assert heads != others


def test_the_rows_of_two_groups():
    found = known_several.audit()
    labels, scores = found.partition.labels_, found.scores
    rows = found.groups
    assert list(rows) == [
        "row", "group", "score_1", "score_2", "belongs", "membership_1", "membership_2",
    ]  # fmt: skip
    called = np.array(["rest", "left out 1", "left out 2"])
    assert (rows["group"] == called[labels]).all()
    assert (rows["score_1"] == scores[:, 0]).all() and (rows["score_2"] == scores[:, 1]).all()
    for label, sure in ((1, 747), (2, 419)):
        inside = rows["belongs"][rows["group"] == f"left out {label}"]
        assert (inside == "member").sum() == sure
        belongs = found.left_out_groups[label - 1].trust.membership
        assert isinstance(belongs, Membership)
        assert (rows[f"membership_{label}"] == belongs.shares).all()
