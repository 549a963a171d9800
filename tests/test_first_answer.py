"""The first answer: soon there, told once, and the same group as in the end, whatever the seed."""

from __future__ import annotations

import io
import json

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from rich.console import Console

import known
import leftout
import paper_data
from leftout import audit
from leftout.cli import main, terminal
from leftout.cli.commands import _announced
from leftout.engine.run import run
from leftout.settings import Settings
from test_audit import planted_table, valid

UNSEEN = {"C001", "C002", "V001", "H001", "H002", "B001", "S001", "S002", "N001"}
FEW = {"n_components": 3, "n_surrogates": 3, "n_restarts": 2, "min_cell": 0}


@pytest.fixture(scope="module")
def table():
    return planted_table()


def test_a_quick_audit_stops_at_the_first_answer(table):
    asked = {"target": "paid", "sensitive": ["sex"], "n_components": 3, "min_cell": 0}
    found = audit(table, quick=True, **asked)
    data = json.loads(found.json())
    valid(data)
    assert found.trust is found.stability is found.named is found.known is found.harm is None
    assert data["named"] is data["known"] is data["groups"][0]["trust"] is None
    assert data["settings"]["quick"] is True and data["partition"]["chosen"] == "tenth"
    answers = {finding.code: finding for finding in found.findings}
    for code in UNSEEN | {"K001", "P001", "P002"}:
        assert answers[code].status == "not run", code
        assert answers[code].detail == "Not looked at in a quick audit. Audit again without it."
    assert answers["P003"].status == "not applicable"
    for code in ("D001", "E001", "O001", "M001"):
        assert answers[code].status == "found", code
    text = found.summary()
    assert "of that of 26 of 260 rows, a tenth;" in text
    assert "town is Beeley" in found.answer.who
    assert "What explains the loss was not tested. Whether it replicates was not tested." in text
    assert "Fair PCA with as many components brings the group's loss from" in found.answer.advice
    assert list(found.groups.columns) == ["row", "group", "score"]
    assert "<html" in found.html() and "quick=True" in found.settings.command


def test_a_prediction_is_not_compared_in_haste(table):
    more = table.assign(model=table["paid"])
    found = audit(more, target="paid", prediction="model", n_components=3, quick=True)
    answers = {finding.code: finding for finding in found.findings}
    assert found.prediction is None and answers["P003"].status == "not run"
    assert "quick audit" in answers["P003"].detail
    assert "model" not in found.encoder.sources_


def test_the_first_answer_is_told_once_and_is_that_of_the_end(table):
    seen = []
    stages = []

    def listener(found):
        seen.append((found, list(stages)))

    settings = Settings(target="paid", sensitive=["sex"], **FEW)
    whole = run(table, settings, listener=listener, progress=lambda what, *_: stages.append(what))
    early, before = seen[0]
    assert len(seen) == 4
    assert not any("which subgroups are left out" in what for what in before)
    assert any("which subgroups are left out" in what for what in stages)
    np.testing.assert_array_equal(early.partition.labels_, whole.partition.labels_)
    assert early.trust is None and whole.trust is not None
    assert early.headline() == whole.headline()
    assert early.mitigation.to_dict() == whole.mitigation.to_dict()
    assert str(early.explanation.sentence) == str(whole.explanation.sentence)
    quick = audit(table, target="paid", sensitive=["sex"], quick=True, **FEW)
    a, b = (json.loads(each.json()) for each in (early, quick))
    # a whole audit searches from other starts first, and learns what to compare with last
    further = {"S001", "S002"}
    for data in (a, b):
        del data["created"], data["settings"]
        for told in (data, data["groups"][0]):
            told["findings"] = [each for each in told["findings"] if each["code"] not in further]
    assert (a.pop("baseline"), b.pop("baseline") is None) == (None, False)
    assert a == b
    # what is quick has no second answer
    never = []
    run(table, Settings(quick=True, n_components=3), listener=never.append)
    assert never == []


def test_sizes_that_need_evidence_are_not_for_haste(table):
    with pytest.raises(leftout.InputError, match="sizes are compared by surrogate tables"):
        audit(table, group_size="evidence", quick=True)
    with pytest.raises(leftout.InputError, match="sizes are compared by surrogate tables"):
        audit(table, group_size="evidence", n_surrogates=0)


def test_a_size_by_the_evidence_says_how_it_came_about():
    X, planted = leftout.datasets.make_planted(300, 6, 2, 60, random_state=0)
    found = audit(X, n_components=2, group_size="evidence", n_surrogates=19, n_restarts=0)
    data = found.to_dict()
    valid(data)
    assert data["partition"]["chosen"] == "evidence"
    assert 30 <= data["partition"]["group_size"] <= 75
    (said,) = [note for note in found.notes if note.startswith("Size: over 15 sizes")]
    assert "p = 0.05" in said and "the smallest with about as much evidence as any" in said
    answers = {finding.code: finding for finding in found.findings}
    assert "(p = 0.05 over 15 sizes)" in answers["C001"].detail
    noise = np.random.default_rng(5).standard_normal((200, 5)) * [3, 2, 1, 1, 1]
    none = audit(noise, n_components=2, group_size="evidence", n_surrogates=19, n_restarts=0)
    assert none.to_dict()["partition"]["chosen"] == "tenth"
    assert none.partition.sizes_[1] == 20
    assert any("none has the most evidence" in note for note in none.notes)


def test_the_group_does_not_depend_on_the_seed():
    """On the paper's students, by path: no row is drawn, so every seed has the same rows."""
    if paper_data.missing():
        pytest.skip(paper_data.missing())
    path = paper_data.FOLDER / paper_data.SOURCES["students"].file
    found = [audit(path, quick=True, random_state=seed) for seed in range(3)]
    size = found[0].partition.sizes_[1]
    assert size == round(0.1 * len(found[0].intake.rows))
    for other in found[1:]:
        np.testing.assert_array_equal(other.partition.labels_, found[0].partition.labels_)
        assert other.summary() == found[0].summary()
        assert other.csv() == found[0].csv()


@pytest.mark.parametrize("size", [0.1, 40, None])
def test_the_whole_answer_has_one_group_for_every_seed(table, size):
    found = [audit(table, group_size=size, random_state=seed, **FEW) for seed in (0, 1, 20_261_117)]
    for other in found[1:]:
        np.testing.assert_array_equal(other.partition.labels_, found[0].partition.labels_)
        assert other.answer.fact == found[0].answer.fact
    gaps = [each.trust.held_out.gap.value for each in found]
    assert len(set(gaps)) == 3  # halves are drawn anew


def written(found, full=False, width=100):
    console = Console(file=io.StringIO(), width=width, legacy_windows=False)
    terminal.show_audit(console, found, full)
    return console.file.getvalue()


def test_a_terminal_says_it_in_few_lines():
    """With four cautions, as many as there can be."""
    found = known.audit()
    text = written(found)
    assert len(text.splitlines()) <= 48
    plain = " ".join(text.split())
    for line in (found.answer.fact, *found.answer.lines.values(), *found.answer.mind):
        assert line in plain
    for note in (*found.notes, *found.trust.notes):
        assert f"Note: {note}" in plain
    assert plain.endswith("The report has all tables; --full prints the findings.")
    whole = written(found, full=True)
    assert "The report has all tables" not in whole
    for finding in found.findings:
        assert finding.code in whole and finding.code not in text


def test_a_bare_audit_is_shorter_still():
    text = written(known.bare())
    assert len(text.splitlines()) <= 25
    assert "Why: What explains the loss was not tested." in text
    assert "Does it replicate: Whether it replicates was not tested." in text


def test_quick_and_full_on_the_command_line(tmp_path, table):
    file, out = tmp_path / "t.csv", tmp_path / "out"
    table.to_csv(file, index=False)
    words = [
        "audit",
        str(file),
        "--target",
        "paid",
        "--components",
        "3",
        "--quick",
        "--out",
        str(out),
    ]
    short = CliRunner().invoke(main, words)
    assert short.exit_code == 0, short.stderr
    data = json.loads((out / "audit.json").read_text())
    valid(data)
    assert data["groups"][0]["trust"] is None and data["settings"]["quick"] is True
    assert data["settings"]["command"] == " ".join(["leftout", *words[:7]])
    assert "Findings" not in short.stdout and data["answer"]["fact"] in " ".join(
        short.stdout.split()
    )
    whole = CliRunner().invoke(main, [*words, "--full"])
    assert whole.exit_code == 0 and "Findings" in whole.stdout
    again = json.loads((out / "audit.json").read_text())
    assert again["settings"]["command"] == data["settings"]["command"]
    rows = pd.read_csv(out / "groups.csv")
    assert list(rows.columns) == ["row", "group", "score"]
    brief = CliRunner().invoke(main, [*words, "--json"])
    assert json.loads(brief.stdout)["answer"] == data["answer"]


def test_whoever_waits_is_told_the_first_answer(capsys):
    found = known.bare()
    announce = _announced()
    for _ in range(2):  # once
        announce(found)
    said = capsys.readouterr()
    assert said.out == "" and said.err.startswith(f"{found.answer.fact} {found.answer.who}\n")
    assert said.err.count(found.answer.fact) == 1
