"""Each setting is declared once: the signature, the options, the page and the guide follow."""

from __future__ import annotations

import inspect
import os
import re
from dataclasses import fields
from pathlib import Path

import pytest

import leftout
from leftout.cli.commands import audit as command
from leftout.errors import InputError, asked_by, parameter_label
from leftout.settings import AUDIT, EXECUTION, NAMES, ON_PAGE, SETTINGS, Settings, as_option

GUIDE = Path(__file__).parents[1] / "docs" / "guide" / "audit.md"


def test_the_signature_has_every_setting_with_its_default():
    given = inspect.signature(leftout.audit).parameters
    declared = {**AUDIT, **{name: each for name, each in EXECUTION.items() if each.in_python}}
    assert set(given) == {"table", *declared}
    for name, setting in declared.items():
        assert given[name].default == setting.default, name
        assert given[name].kind is inspect.Parameter.KEYWORD_ONLY
    described = set(re.findall(r"^    ([a-z_, ]+) : ", leftout.audit.__doc__, flags=re.MULTILINE))
    described |= set(re.findall(r"^    ([a-z]+) : names", leftout.audit.__doc__, re.MULTILINE))
    assert {name for line in described for name in line.split(", ")} >= {"table", *declared}


def test_the_command_has_every_option_with_its_default():
    options = {option.name: option for option in command.params if option.name != "tables"}
    declared = {name: each for name, each in {**AUDIT, **EXECUTION}.items() if each.option}
    assert set(options) == set(declared)
    for name, setting in declared.items():
        assert options[name].opts == [setting.option]
        assert options[name].help[1:] == f"{setting.help[1:]}."
    context = command.make_context("audit", ["t.csv"])
    given = Settings(**{name: context.params[name] for name in AUDIT if name in context.params})
    assert {name: value or None for name, value in given.asked().items()} == dict.fromkeys(
        (name for name, setting in AUDIT.items() if setting.takes == NAMES), None
    )


def test_a_default_reads_as_itself():
    for name, setting in SETTINGS.items():
        if setting.text and name in AUDIT:
            assert setting.read(setting.text) == setting.default, name


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("n_components", "9", 9), ("n_components", " 0.6", 0.6), ("group_size", "5%", 0.05),
        ("group_size", "150,5%", [150, 0.05]), ("group_size", "evidence", "evidence"),
        ("n_groups", "3", 3), ("n_groups", "auto", "auto"), ("min_group_size", ".25", 0.25),
        ("missing", "999,a=-1", "999,a=-1"), ("missing", "", None), ("n_surrogates", "0", 0),
        ("trust_types", "a.B, c.D", ["a.B", "c.D"]),
    ],
)  # fmt: skip
def test_what_people_write(name, text, value):
    assert SETTINGS[name].read(text) == value


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("n_components", "many"), ("n_components", "1.5"), ("n_components", "-2"),
        ("group_size", "0"), ("group_size", "100%"), ("group_size", "nan"), ("group_size", "3,x"),
        ("min_group_size", "evidence"), ("n_groups", "0"), ("n_groups", "2.5"), ("n_groups", ""),
        ("n_restarts", "1000"), ("n_restarts", "-1"), ("rows", "9" * 50), ("rows", "9" * 5000),
        ("sample", "0"), ("sample", "\u0661"), ("missing", "\0"),
    ],
)  # fmt: skip
def test_what_is_none_of_it_is_one_sentence(name, text):
    with pytest.raises(InputError, match="^cannot be '.*: give .*\\.$") as error:
        SETTINGS[name].read(text)
    assert len(str(error.value)) < 250


def test_json_has_every_setting():
    assert list(Settings().to_dict()) == [each.name for each in fields(Settings)]


def test_every_parameter_is_asked_for_in_its_own_words():
    with asked_by(as_option):
        for name, setting in {**AUDIT, **EXECUTION}.items():
            asked = parameter_label(name)
            assert asked == (setting.option or {"positive": "--target COL=VALUE"}.get(name, name))


def line(name, setting):
    """A setting's line in the guide's table."""
    first, *others = (setting.metavar or _shown(setting)).split("|")
    option = "" if not setting.option else f"`{f'{setting.option} {first}'.strip()}`"
    option += "".join(f", `{other}`" for other in others[:-1])
    option += "".join(f" or `{other}`" for other in others[-1:])
    called = f"`{name}`" if setting.in_python else ""
    more = f" ({setting.guide})" if setting.guide else ""
    return f"| {option} | {called} | {setting.help}{more} |"


def _shown(setting):
    return "|".join(setting.takes) if isinstance(setting.takes, tuple) else setting.text


def test_the_guide_has_every_setting():
    lines = [line(name, setting) for name, setting in {**AUDIT, **EXECUTION}.items()]
    head = "| option | Python | what it does |\n|---|---|---|\n"
    before, _, after = GUIDE.read_text(encoding="utf-8").partition(head)
    table, _, after = after.partition("\n\n")
    if os.environ.get("LEFTOUT_GOLDEN") == "write":
        table = "\n".join(lines)
        GUIDE.write_text(f"{before}{head}{table}\n\n{after}", encoding="utf-8")
    assert table.splitlines() == lines


def test_the_page_asks_for_what_it_can_read():
    for name, setting in ON_PAGE.items():
        assert setting.valid and setting.option, name
