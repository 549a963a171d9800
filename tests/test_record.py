"""audit.json: what it holds of two groups, cell by cell, and what its summary takes of it."""

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
    first = data["groups"][0]["details"]
    of_first = ("explanation", "prediction", "held_out")
    assert {key: data[key] for key in of_first} == {key: first[key] for key in of_first}
    aside = ("versions", "leftout_version", "settings", "columns", "table", *of_first)
    same("data", leaves({key: data[key] for key in data if key not in aside}))


def test_one_group_is_told_at_the_top_level():
    data = json.loads(known.audit().json())
    (group,) = data["groups"]
    assert group["details"] is None and (group["label"], group["name"]) == (1, "left out")
    assert (group["loss"], group["rest_loss"]) == tuple(data["partition"]["losses"][::-1])
    assert group["answer"] == data["answer"] and group["parts"] == data["parts"]
    for key in ("p_value", "p_gaussian", "verdict", "verdict_says", "cross_fitted", "membership"):
        assert group[key] == data["trust"][key]
    assert data["answer"]["why"] == data["trust"]["verdict_says"]
    assert data["counted"] is None and data["partition"]["chosen"] == "evidence"
    assert data["harm"]["told_brief"] in data["answer"]["cost"]
    assert (data["readings"]["robust_in_group"], data["readings"]["needed"]) == (513, 4)
    assert data["stability"]["runs"] == 6 and data["table"]["distinct_rows"] == 9_990


def test_nothing_was_weighed():
    data = json.loads(known.bare().json())
    evidence = {key: value for key, value in data["trust"].items() if value not in (None, [], {})}
    assert evidence == {"rows": 10_010, "of_rows": 10_010}
    for key in ("parts", "held_out", "stability", "returns", "harm", "named_search", "file"):
        assert data[key] is None
    assert data["profile"] == data["named"] == data["known"] == []
    assert "scale" not in data


def test_the_short_data():
    found = known.audit()
    whole, brief = json.loads(found.json()), json.loads(json.dumps(found.brief()))
    for key, value in brief.items():
        where = dict.fromkeys(("sentence", "outcome"), "explanation")
        evidence = ("p_value", "beyond_chance", "verdict", "cross_fitted", "membership")
        where |= dict.fromkeys(evidence, "trust")
        full = whole[where[key]][key] if key in where else whole[key]
        full = full[:6] if key == "named" else full
        if key == "groups":
            full = [{k: v for k, v in group.items() if k != "details"} for group in full]
        assert value == (
            full if key not in ("table", "mitigation", "harm") else {k: full[k] for k in value}
        )
    assert brief.keys() > {
        "partition", "findings", "named", "p_value", "outcome", "headline", "notes", "answer",
        "verdict", "parts",
    }  # fmt: skip
