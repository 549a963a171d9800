"""Answers as they come: to a function, and as lines of JSON to programs that run an audit."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest
from click.testing import CliRunner

from leftout.cli import main
from leftout.engine.run import run
from leftout.settings import Settings
from test_audit import planted_table

FEW = ("--components", "3", "--surrogates", "3", "--restarts", "2")


@pytest.fixture
def file(tmp_path):
    planted_table().to_csv(tmp_path / "table.csv", index=False)
    return tmp_path / "table.csv"


def test_each_part_is_told_when_it_is_there():
    told = []
    settings = Settings(target="paid", n_components=3, n_surrogates=3, n_restarts=2)
    whole = run(planted_table(), settings, listener=told.append)
    have = [(found.named, found.harm, found.trust) for found in told]
    assert [[part is not None for part in parts] for parts in have] == [
        [False, False, False], [True, False, False], [True, True, False], [True, True, True],
    ]  # fmt: skip
    assert all(found.headline() == whole.headline() for found in told)
    last, end = dict(told[-1].answer.lines), dict(whole.answer.lines)
    # what helps is known when mitigations are compared, at the very end
    assert last.pop("What helps") and end.pop("What helps")
    assert last == end
    unseen = {finding.detail for finding in told[1].findings if finding.status == "not run"}
    assert "Not looked at yet." in unseen
    costs = {finding.code: finding for finding in told[2].findings}["P001"]
    assert costs in whole.findings


def test_lines_of_json_tell_progress_answers_and_the_end(file, tmp_path):
    words = ["audit", str(file), "--target", "paid", *FEW, "--out", str(tmp_path / "out")]
    result = CliRunner().invoke(main, [*words, "--events", "--called", "our people.csv"])
    assert result.exit_code == 0, result.stderr
    lines = [json.loads(line) for line in result.stdout.splitlines()]
    kinds = [line["event"] for line in lines]
    assert kinds.count("progress") >= 10 and kinds.count("answer") == 4 and kinds[-1] == "done"
    shares = [line["share"] for line in lines if line["event"] == "progress"]
    assert shares == sorted(shares) and shares[-1] == 1.0
    answers = [line for line in lines if line["event"] == "answer"]
    assert list(answers[0]["lines"]) == ["Who", "Cost", "What helps"]
    first = lines.index(answers[0])
    assert lines[first - 1]["share"] < 0.5
    done, written = lines[-1], json.loads((tmp_path / "out" / "audit.json").read_text())
    assert done["headline"] == written["answer"]["fact"] == answers[0]["headline"]
    assert done["lines"] == written["answer"]["lines"]
    assert done["verdict"] == written["groups"][0]["trust"]["verdict_name"]
    assert done["files"] == ["report.html", "audit.json", "groups.csv"]
    assert written["table"]["source"] == written["file"]["name"] == "our people.csv"
    command = f"leftout audit 'our people.csv' --target paid {' '.join(FEW)}"
    assert written["settings"]["command"] == command


def test_an_audit_that_nobody_listens_to_ends(file, tmp_path):
    command = [sys.executable, "-m", "leftout", "audit", str(file), "--events", "--out", "out"]
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(command, cwd=tmp_path, stdout=write, stderr=subprocess.PIPE)
    os.close(write)
    assert done.returncode == 1 and done.stderr == b""
    assert not (tmp_path / "out").exists()
