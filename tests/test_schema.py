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
    assert not Draft202012Validator(SCHEMA).is_valid({**data, "headline": 3})


def test_the_command_prints_it():
    printed = json.loads(CliRunner().invoke(main, ["schema"]).stdout)
    Draft202012Validator.check_schema(printed)
    assert printed == json.loads(json.dumps(SCHEMA))


def test_it_tells_people_what_keys_hold():
    settings = SCHEMA["$defs"]["Settings"]["properties"]
    assert list(settings) == list(Settings().to_dict())
    assert settings["n_surrogates"]["type"] == "integer"
    assert "comparison tables" in settings["n_surrogates"]["description"]
    member = SCHEMA["$defs"]["Membership"]["properties"]
    assert "shares" not in member and "80 %" in member["n_members"]["description"]
