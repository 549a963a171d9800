"""The schema of audit.json is made of the results' types: it fits, and refuses anything else."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner
from jsonschema import Draft202012Validator

import known
import known_several
from leftout.auditing.schema import schema
from leftout.cli import main
from leftout.settings import Settings

SCHEMA = schema()
MADE = {"full": known.audit, "bare": known.bare, "several": known_several.audit}


@pytest.mark.parametrize("name", MADE)
def test_every_audit_fits(name):
    data = json.loads(MADE[name]().json())
    Draft202012Validator(SCHEMA).validate(data)
    for key in ("answer", "settings", "partition"):
        less = {**data, key: dict(list(data[key].items())[1:])}
        more = {**data, key: {**data[key], "new": 1}}
        assert not Draft202012Validator(SCHEMA).is_valid(less)
        assert not Draft202012Validator(SCHEMA).is_valid(more)
    assert not Draft202012Validator(SCHEMA).is_valid({**data, "created": 3})


TYPED = {"type", "enum", "anyOf", "$ref"}


def objects_of(schema, path):
    """Every schema of an object in a schema, with where it is."""
    if isinstance(schema, dict):
        if schema.get("type") == "object":
            yield path, schema
        for key, inner in schema.items():
            yield from objects_of(inner, f"{path}.{key}")
    elif isinstance(schema, list):
        for inner in schema:
            yield from objects_of(inner, path)


def test_every_object_says_its_keys():
    """So that a key that nobody described is no part of an audit.json that fits."""
    for path, each in objects_of(SCHEMA, "audit"):
        if "properties" in each:
            assert each["properties"] and each["additionalProperties"] is False, path
        else:
            assert each["additionalProperties"], path
        anything = [key for key, of in each.get("properties", {}).items() if not TYPED & {*of}]
        assert not anything or path.endswith(".Settings"), path  # as people gave them
    kept = SCHEMA["$defs"]["Condition"]
    assert kept["required"] == ["column", "op", "text"] and "low" in kept["properties"]


@pytest.mark.parametrize(
    "path",
    [
        "groups.0", "groups.0.left_out", "groups.0.explanation", "groups.0.trust",
        "groups.0.explanation.sentence.alternatives.0.0",
        "groups.0.explanation.rules.0.antecedents.0", "groups.0.explanation.leading_rules.0",
        "groups.0.explanation.alignment.0",
        "groups.0.explanation.disparity_by_feature.0",
        "groups.0.trust.stability",
        "groups.0.trust.chance.copula", "mitigation", "mitigation.by_dimension.0", "named", "known",
        "named.groups.0.conditions.0", "known.groups.0.conditions.0",
    ],
)  # fmt: skip
def test_a_key_that_nobody_described_does_not_fit(path):
    data = json.loads(known.audit().json())
    inner = data
    for step in path.split("."):
        inner = inner[int(step) if step.isdigit() else step]
    inner["undescribed"] = None
    assert not Draft202012Validator(SCHEMA).is_valid(data)


def test_the_command_prints_it():
    printed = json.loads(CliRunner().invoke(main, ["schema"]).stdout)
    Draft202012Validator.check_schema(printed)
    assert printed == json.loads(json.dumps(SCHEMA))


def test_it_tells_people_what_keys_hold():
    settings = SCHEMA["$defs"]["Settings"]["properties"]
    assert list(settings) == list(Settings().to_dict())
    assert settings["n_surrogates"]["type"] == "integer"
    assert "surrogate tables" in settings["n_surrogates"]["description"]
    member = SCHEMA["$defs"]["Membership"]["properties"]
    assert "shares" not in member and "80%" in member["n_members"]["description"]
