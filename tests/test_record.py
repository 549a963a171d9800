"""audit.json: what it holds of two groups, cell by cell."""

from __future__ import annotations

import json

from jsonschema import Draft202012Validator

import known
import known_several
from golden import leaves, same
from leftout.auditing.schema import schema


def test_the_data():
    data = json.loads(known_several.audit().json())
    Draft202012Validator(schema()).validate(data)
    aside = ("versions", "leftout_version", "settings", "columns", "table")
    same("data", leaves({key: data[key] for key in data if key not in aside}))


def test_one_group_is_a_list_of_one():
    data = json.loads(known.audit().json())
    (group,) = data["groups"]
    assert (group["label"], group["name"]) == (1, "left out")
    losses = group["left_out"]["losses"]
    assert (losses["rest"], losses["group"]) == tuple(data["partition"]["losses"])
    assert group["answer"] == data["answer"] and group["findings"] == data["findings"]
    assert data["counted"] is None and data["partition"]["chosen"] == "evidence"
    assert data["answer"]["cost"].partition(".")[0] in data["harm"]["brief_text"]
    assert (data["readings"]["robust_in_group"], data["readings"]["needed"]) == (513, 4)
    assert group["trust"]["stability"]["runs"] == 6 and data["table"]["distinct_rows"] == 9_990


def test_nothing_was_weighed():
    data = json.loads(known.bare().json())
    assert data["groups"][0]["trust"] is None
    for key in ("harm", "named", "known", "file"):
        assert data[key] is None
    assert "scale" not in data
