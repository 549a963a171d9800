"""Answers as they come: to a function, and as lines of JSON to the page."""

from __future__ import annotations

import json
from dataclasses import asdict

import pytest

from leftout.engine.run import run
from leftout.page import worker
from leftout.page.uploads import Limits
from leftout.settings import Settings
from test_audit import planted_table

FEW = {"n_components": 3, "n_surrogates": 3, "n_restarts": 2, "min_cell": 0}


@pytest.fixture
def file(tmp_path):
    planted_table().to_csv(tmp_path / "table.csv", index=False)
    return tmp_path / "table.csv"


def test_each_part_is_told_when_it_is_there():
    told = []
    settings = Settings(target="paid", **FEW)
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


def test_lines_of_json_tell_progress_answers_and_the_end(file, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    settings = {"target": "paid", "command": "leftout audit 'our people.csv' --target paid", **FEW}
    limits = asdict(Limits())
    worker.main(
        {"file": file.name, "name": "our people.csv", "limits": limits, "settings": settings}
    )
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    kinds = [line["event"] for line in lines]
    assert kinds.count("progress") >= 10 and kinds.count("answer") == 5 and kinds[-1] == "answer"
    shares = [line["share"] for line in lines if line["event"] == "progress"]
    assert shares == sorted(shares) and shares[-1] == 1.0
    answers = [line for line in lines if line["event"] == "answer"]
    assert list(answers[0]["lines"]) == ["Who", "Cost", "What helps"]
    first = lines.index(answers[0])
    assert lines[first - 1]["share"] < 0.5
    done, written = lines[-1], json.loads((tmp_path / "result" / "audit.json").read_text())
    assert done["headline"] == written["answer"]["fact"] == answers[0]["headline"]
    assert done["lines"] == written["answer"]["lines"]
    assert done["verdict"] == written["groups"][0]["trust"]["verdict_name"]
    files = sorted(path.name for path in (tmp_path / "result").iterdir())
    assert files == ["answer.html", "audit.json", "groups.csv", "report.html"]
    assert written["table"]["source"] == written["file"]["name"] == "our people.csv"
    assert written["settings"]["command"] == settings["command"]
