"""One call from a table to a report: what it says is what its parts say, and it says it again."""

from __future__ import annotations

import json
import shlex
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import polars as pl
import pytest
from click.testing import CliRunner
from jsonschema import Draft202012Validator
from sklearn.base import clone

import leftout
import leftout.data.sources
import paper_data
from leftout import TableEncoder, audit, datasets
from leftout.auditing import group_selection
from leftout.auditing.answer import STATUSES
from leftout.auditing.findings import with_findings
from leftout.auditing.schema import schema
from leftout.cli import main
from leftout.data.preparation import proportional
from leftout.engine.run import run
from leftout.evidence.n_groups import ExtractedGroup, HowMany
from leftout.files import plain
from leftout.settings import Settings
from leftout.solvers import SearchResult
from leftout.solvers.base import as_history
from leftout.text import number

SCHEMA = schema()
FEW = {"n_surrogates": 19, "n_restarts": 5, "min_cell": 0}
ASKED = {"sensitive": ["sex"], "n_components": 3, "encoding": "target", "group_size": 60} | FEW


def planted_table(m=260, size=60, seed=0) -> pd.DataFrame:
    """Numbers with a planted group, and columns of other kinds that tell who it is."""
    X, group = datasets.make_planted(m, 6, 2, size, random_state=seed)
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(X, columns=[f"score {i}" for i in range(6)])
    table["town"] = np.where(group == 1, "Beeley", rng.choice(["Ayton", "Corby", "Dale"], m))
    table["sex"] = rng.choice(["f", "m"], m)
    table["paid"] = np.where(rng.random(m) < 0.1 + 0.7 * (group == 0), "yes", "no")
    table.loc[rng.random(m) < 0.1, "score 1"] = np.nan
    table["nr"] = np.arange(m)
    return table


@pytest.fixture(scope="module")
def table():
    return planted_table()


@pytest.fixture(scope="module")
def found(table, with_afterwards):
    with with_afterwards():
        return audit(table, target="paid", **ASKED)


def valid(data):
    errors = [
        f"{list(e.path)}: {e.message}" for e in Draft202012Validator(SCHEMA).iter_errors(data)
    ]
    assert not errors, errors[:5]


def test_json_follows_the_schema_and_agrees_with_the_parts(found, table):
    data = json.loads(found.json())
    valid(data)
    assert list(data)[:3] == ["schema_version", "leftout_version", "versions"]
    assert data["table"]["rows"] == len(table) and data["table"]["target"] == "paid"
    assert (
        data["table"]["features"] == len(data["table"]["feature_names"]) == found.intake.X.shape[1]
    )
    assert data["table"]["dropped"] == {"nr": "counts the rows, from 0 to 259"}
    assert data["partition"]["sizes"] == found.partition.sizes_.tolist()
    labels, X = found.partition.labels_, found.intake.X
    losses = leftout.group_losses(X, labels, 3)
    np.testing.assert_allclose(data["partition"]["losses"], losses, rtol=1e-9)
    assert data["partition"]["disparity"] == pytest.approx(losses[1] - losses[0])
    assert data["partition"]["disparity"] <= data["partition"]["bound"]
    assert data["mitigation"]["losses_before"] == pytest.approx(losses.tolist())
    parts = sum(
        line["disparity"] for line in data["groups"][0]["explanation"]["disparity_by_feature"]
    )
    assert parts == pytest.approx(data["partition"]["disparity"])
    assert {
        line["column"] for line in data["groups"][0]["explanation"]["disparity_by_feature"]
    } <= set(table)
    hidden = [
        line for line in data["groups"][0]["explanation"]["alignment"] if not line["searched"]
    ]
    assert [line["column"] for line in hidden] == ["sex"]


def test_whom_mitigation_leaves_worst_off(found, table):
    after, losses = found.afterwards, found.partition.losses_
    assert (after.size, after.rows, after.of_rows) == (60, len(table), len(table))
    assert after.lines[0].group_loss == pytest.approx(losses[1])
    assert after.lines[1].group_loss == pytest.approx(found.mitigation.losses_after[1])
    assert all(line.worst_loss >= line.group_loss - 1e-9 for line in after.lines)
    assert all((line.who is not None) == (line.shared <= 0.5) for line in after.lines)
    (told,) = (one for one in found.findings if one.code == "M002")
    assert (told.status == "found", told.detail) == (after.moved, after.text)
    assert found.answer.advice == after.brief_text
    quick = audit(table, target="paid", quick=True, **ASKED)
    (told,) = (one for one in quick.findings if one.code == "M002")
    assert quick.afterwards is None and told.status == "not run" and "quick" in told.detail
    assert quick.answer.advice.endswith("whether another group then loses as much was not tested.")


def test_names_and_known_groups_are_those_of_their_functions(found, table):
    intake, told = found.intake, json.loads(found.json())
    columns = [column for column in intake.searched if column.name in set(intake.encoder.sources_)]
    assert "town" in [column.name for column in columns]
    named = leftout.named_groups(intake.X, columns, n_components=3, target=intake.target)
    whys = [line.pop("why") for line in told["named"]["groups"]]
    assert all(whys) and told["named"]["tables"] == 19 and told["named"]["names"] > 100
    alone = [dict(line, why=None) for line in told["named"]["groups"]]
    assert alone == named.to_dict()["groups"]
    assert "town = Beeley" in told["named"]["groups"][0]["condition"]
    known = leftout.known_groups(intake.X, {"sex": table["sex"]}, n_components=3, permutations=199)
    assert (
        sorted(told["known"]["groups"], key=lambda line: line["text"]) == known.to_dict()["groups"]
    )
    assert told["known"]["columns"] == ["sex"]


def test_what_components_cost_is_measured(only, table):
    only("costs")
    asked = {"n_components": 3, "group_size": 60, "n_surrogates": 0, "n_restarts": 0}
    found = audit(table, target="paid", positive="no", **asked)
    data = json.loads(found.json())
    valid(data)
    mask, intake = found.partition.left_out_.mask, found.intake
    paid = table["paid"].to_numpy()
    alone = leftout.harm(intake.X, paid, mask, 3, positive="no", models="logistic")
    assert found.harm.figures == alone.figures and data["harm"]["costs"] == plain(alone.costs)
    assert found.harm.target == "paid = no" and found.harm.sizes == {
        "left-out group": 60, "rest": 200,
    }  # fmt: skip
    assert 'id="harm"' in found.html() and "hat costs the left-out group" in found.html()
    brief = found.to_dict()["harm"]
    assert brief["extra_cost"] == plain(alone.extra_cost)
    assert brief["fair_return"] == plain(alone.fair_return)


def test_models_do_not_see_columns_that_leak(only, table):
    """A column that is the outcome by another name made every error 0.0%."""
    only("costs")
    told = table.assign(mark=np.where(table["paid"] == "yes", 70, 40) + np.arange(260) % 20)
    asked = {
        "n_components": 3,
        "group_size": 60,
        "n_surrogates": 0,
        "n_restarts": 0,
        "target": "paid",
    }
    found = audit(told, **asked)
    assert [line.column for line in found.intake.leaks] == ["mark"] == found.harm.leaks
    assert found.harm.at("rest", "all columns").value > 0.05
    X, sources = found.intake.X, np.array(found.intake.encoder.sources_)
    mask, paid = found.partition.left_out_.mask, table["paid"].to_numpy()
    alone = leftout.harm(X[:, sources != "mark"], paid, mask, 3, models="logistic")
    assert found.harm.figures == alone.figures and alone.leaks == []
    said = "Models did not see mark, which alone tells the target."
    answers = {finding.code: finding.detail for finding in found.findings}
    assert answers["P001"].endswith(said) and "not in models" in answers["T002"]
    data = json.loads(found.json())
    valid(data)
    assert data["harm"]["leaks"] == ["mark"] and said in found.html()
    few = told[["score 0", "score 1", "mark", "paid"]].dropna()
    found = audit(few, **asked | {"n_components": 2, "group_size": 40})
    assert found.harm is None
    (answer,) = (finding for finding in found.findings if finding.code == "P001")
    assert answer.status == "not run" and answer.detail == (
        "Without what gives the target away (mark), 2 features are left for 2 components. Ask for "
        "fewer (n_components)."
    )


def test_costs_that_cannot_be_measured_end_nothing(only, table):
    only("costs")
    asked = {"n_components": 3, "group_size": 60, "n_surrogates": 0, "n_restarts": 0}
    few = table["paid"].where(np.arange(len(table)) % 8 == 0)
    for given, said, status in (
        ({"target": few.rename("few")}, "20 are needed on each side", "not run"),
        ({"target": "paid", "encoding": "target"}, "predictions would have seen it", "not run"),
        ({}, "No target was given", "not applicable"),
    ):
        found = audit(table, **given, **asked)
        valid(json.loads(found.json()))
        page = found.html()
        assert found.harm is None and 'id="harm"' not in page
        assert "depends on what is built on it" in page and found.to_dict()["harm"] is None
        answers = {finding.code: finding for finding in found.findings}
        for code in ("P001", "P002"):
            assert answers[code].status == status and said in answers[code].detail


def guessed(table, rows=None):
    """The table with a model's answers, wrong in every third of some rows, here those of a town."""
    rows = (table["town"] == "Beeley").to_numpy() if rows is None else rows
    turned = rows & (np.arange(len(table)) % 3 == 0)
    other = np.where(table["paid"] == "yes", "no", "yes")
    return table.assign(model=np.where(turned, other, table["paid"])), turned


QUICK = {"n_components": 3, "group_size": 60, "n_surrogates": 0, "n_restarts": 0}


def test_a_prediction_is_kept_out_and_compared(only, table):
    only("costs")
    without = audit(table, target="paid", sensitive=["sex"], **QUICK)
    more, wrong = guessed(table, without.partition.left_out_.mask)
    found = audit(more, target="paid", prediction="model", sensitive=["sex"], **QUICK)
    assert np.array_equal(found.partition.labels_, without.partition.labels_)
    assert np.array_equal(found.intake.X, without.intake.X)
    assert [line.role for line in found.columns if line.name == "model"] == ["prediction"]
    assert "model" not in [column.name for column in found.intake.columns]
    assert "model" not in [line.column for line in found.explanation.alignment]
    mask, told = found.partition.left_out_.mask, found.prediction
    for side, rows in (("left-out group", mask), ("rest", ~mask)):
        assert told.sizes[side] == rows.sum()
        assert told.measures[side]["error"].value == pytest.approx(wrong[rows].mean())
    assert told.gap.value == pytest.approx(wrong[mask].mean() - wrong[~mask].mean())
    assert told.target == "paid = yes" and told.prediction == "model"
    answers = {finding.code: finding for finding in found.findings}
    assert answers["P003"].status == "found" and answers["P003"].detail == told.text
    data = json.loads(found.json())
    valid(data)
    assert (
        data["groups"][0]["prediction"] == plain(told) and data["settings"]["prediction"] == "model"
    )
    assert "The prediction that is there</h3>" in found.html()


def test_a_prediction_that_came_beside_the_table(only, table):
    only("predictions")
    more, wrong = guessed(table)
    named = audit(more, target="paid", prediction="model", **QUICK)
    for given, seen in (
        (more["model"], table),
        (more["model"].to_numpy(), more),  # an equal column of the table is the prediction, too
        (pl.Series("model", more["model"]), table),
    ):
        found = audit(seen, target="paid", prediction=given, **QUICK)
        assert "model" not in found.encoder.sources_
        assert found.prediction.measures == named.prediction.measures
    part = audit(
        more, target="paid", prediction=more["model"], sample=150, **QUICK | {"group_size": 40}
    )
    rows, mask = part.intake.rows, part.partition.left_out_.mask
    assert part.prediction.measures["rest"]["error"].value == pytest.approx(
        wrong[rows[~mask]].mean()
    )
    perfect = audit(table, target="paid", prediction=table["paid"].to_numpy(), **QUICK)
    assert perfect.prediction.gap.value == 0.0
    roles = {line.name: line.role for line in perfect.columns}
    assert roles["paid"] == "target" and roles["prediction"] == "prediction"


def test_probabilities_and_numbers_are_predictions(only, table):
    only("predictions")
    rng = np.random.default_rng(0)
    chance = np.where(table["paid"] == "yes", 0.7, 0.2) + rng.random(260) / 4
    found = audit(table.assign(p=chance), target="paid", positive="yes", prediction="p", **QUICK)
    mask = found.partition.left_out_.mask
    wrong = (chance > 0.5) != (table["paid"] == "yes")
    assert found.prediction.probabilities
    assert found.prediction.measures["rest"]["error"].value == pytest.approx(wrong[~mask].mean())
    numbers = table.assign(income=rng.gamma(2, 2, 260), guess=rng.gamma(2, 2, 260))
    found = audit(numbers, target="income", prediction="guess", **QUICK)
    mask, off = found.partition.left_out_.mask, (numbers["guess"] - numbers["income"]).abs()
    error = found.prediction.measures["left-out group"]["error"].value
    assert found.prediction.kind == "number" and error == pytest.approx(off[mask].mean())


@pytest.mark.parametrize("positive", ["0", "1"])
def test_a_prediction_in_the_words_of_the_target(only, table, positive):
    """Codes that a dictionary has labels for, in the target's column, mean the same in both."""
    only("predictions")
    more, wrong = guessed(table)
    coded = more.assign(**{name: (more[name] == "yes").astype(int) for name in ("paid", "model")})
    words = [{"column": "paid", "label": "was paid", "values": "0=not at all; 1=all of it"}]
    found = audit(
        coded, target="paid", positive=positive, prediction="model", dictionary=words, **QUICK
    )
    mask, told = found.partition.left_out_.mask, found.prediction
    counts = {"0": "not at all", "1": "all of it"}[positive]
    assert told.target == f"was paid = {counts}" and not told.probabilities
    assert told.measures["left-out group"]["error"].value == pytest.approx(wrong[mask].mean())
    rate = (coded["model"][mask] == int(positive)).mean()
    assert told.measures["left-out group"]["mean_prediction"].value == pytest.approx(rate)


def test_predictions_that_cannot_be_compared_end_nothing(only, table):
    more, _ = guessed(table)
    few = more["model"].where(np.arange(260) % 5 == 0)
    for stages, model, said in (
        ("costs", few, "20 are needed on each side"),
        (
            "predictions",
            more["model"].where(np.arange(260) != 7, "maybe"),
            "maybe, which is no class of the target",
        ),
        ("predictions", more["model"].where(np.arange(260) < 0), "known target"),
    ):
        only(stages)
        found = audit(more.assign(model=model), target="paid", prediction="model", **QUICK)
        valid(json.loads(found.json()))
        (answer,) = (finding for finding in found.findings if finding.code == "P003")
        assert found.prediction is None and answer.status == "not run" and said in answer.detail
        assert (found.harm is not None) == (stages == "costs")  # which is measured all the same
        assert "The prediction that is there</h3>" not in found.html()
    found = audit(more.drop(columns="model"), target="paid", **QUICK)
    (answer,) = (finding for finding in found.findings if finding.code == "P003")
    assert answer.status == "not applicable" and "prediction='COLUMN'" in answer.detail


def test_a_prediction_needs_a_target_and_one_part(table):
    more, _ = guessed(table)
    for given, said in (
        ({}, "prediction='model' was given without the target that it predicts. Give that"),
        ({"target": "model"}, "'model' is said to be target and prediction"),
        ({"target": "paid", "drop": ["model"]}, "'model' is said to be prediction and dropped"),
        (
            {"target": "paid", "sensitive": ["model"]},
            "'model' is said to be prediction and sensitive",
        ),
        ({"target": "paid", "prediction": "modle"}, "modle"),
        ({"target": "paid", "prediction": [1, 0]}, "The prediction has 2 values for 260 rows"),
    ):
        with pytest.raises(leftout.InputError, match=said):
            audit(more, **{"prediction": "model"} | given, **QUICK)


def test_a_section_on_the_prediction_alone(only, table):
    only("costs")
    more, _ = guessed(table)
    found = audit(more, target="paid", prediction="model", encoding="target", **QUICK)
    page = found.html()
    assert found.harm is None and found.prediction is not None
    assert 'id="harm"' in page and 'href="#harm"' in page
    assert page.count("<section") == page.count("</section>")


def test_advice_is_what_an_audit_can_take(only, table):
    only("costs")
    rare = table.assign(paid=np.where(table["nr"] < 3, "late", table["paid"]))
    found = audit(rare, target="paid", positive="late", **QUICK)
    (answer,) = (finding for finding in found.findings if finding.code == "P001")
    assert answer.status == "not run" and "3 rows with a known target have the class late" in (
        answer.detail
    )
    assert (
        answer.detail.endswith("Join it with another class, or choose another target.")
        and "folds needs one" in answer.detail
    )


def test_sensitive_columns_without_groups_end_nothing(only, table):
    only("subgroups")
    asked = {"n_components": 3, "group_size": 60, "n_surrogates": 0, "n_restarts": 0}
    plain = table.drop(columns=["paid", "nr"]).assign(one="x")
    less = audit(plain, sensitive=["one"], **asked)
    valid(json.loads(less.json()))
    assert less.known is None and 'id="known"' not in less.html()
    assert any("Known groups were not compared. The known column 'one'" in n for n in less.notes)
    answers = {finding.code: finding.status for finding in less.findings}
    assert (answers["K001"], answers["N001"]) == ("not applicable", "not run")
    few = audit(plain.assign(rare=["y"] + ["x"] * 259), sensitive=["rare"], min_cell=0, **asked)
    valid(json.loads(few.json()))
    assert "too small" in few.html() and few.known.measured == []


def test_the_papers_preset_is_the_first_answer(table):
    paper = audit(table, target="paid", sensitive=["sex"], preset="paper", n_restarts=0)
    valid(json.loads(paper.json()))
    assert paper.settings.quick and paper.named is paper.known is paper.harm is None
    assert 'id="names"' not in paper.html()
    detail = {finding.code: finding.detail for finding in paper.findings}["N001"]
    assert detail == "The paper's preset does not look at this. Audit without it."


def test_the_groups_are_one_line_a_row(found, table):
    groups = found.groups
    columns = ["row", "group", "score", "belongs", "membership", "readings"]
    assert list(groups.columns) == columns and len(groups) == len(table)
    assert groups["row"].tolist() == list(range(len(table)))
    left_out = groups["group"] == "left out"
    np.testing.assert_array_equal(left_out, found.partition.labels_ == 1)
    assert groups["score"][left_out].mean() > groups["score"][~left_out].mean()
    read = pd.read_csv(pd.io.common.StringIO(found.csv()))
    assert read["group"].tolist() == groups["group"].tolist()
    belongs = found.trust.membership
    np.testing.assert_array_equal(belongs.group, left_out)
    np.testing.assert_array_equal(groups["membership"], belongs.shares)
    assert set(groups["belongs"][~left_out]) == {"rest"}
    member = groups["belongs"] == "member"
    np.testing.assert_array_equal(member, left_out & (groups["membership"] >= 0.8))
    assert member.sum() == belongs.n_members
    data = found.to_dict()["groups"][0]["trust"]["membership"]
    assert data["n_members"] + data["n_borderline"] == left_out.sum()


def test_findings_say_what_was_looked_at(found, table):
    answers = {finding.code: finding.status for finding in found.findings}
    assert set(answers.values()) <= set(STATUSES)
    for code in ("D001", "C001", "V001", "H001", "H002", "B001", "S001", "E001", "M001"):
        assert answers[code] == "found", code
    assert answers["O001"] == "found" and answers["C002"] == "not run"
    assert found.trust.verdict == "A"
    assert answers["A001"] == "not found"  # sex was drawn apart from all else
    numbers = table.drop(columns=["paid", "town", "sex"])
    less = audit(numbers, n_components=2, group_size=60, n_surrogates=5, n_restarts=2)
    answers = {finding.code: finding for finding in less.findings}
    for code, words in {
        "C001": "takes 19 surrogates, and there were 5",
        "C002": "in 5 Gaussian surrogates",
        "V001": "What explains the loss was not tested",
        "S001": "Needs 5 runs, got 2",
        "S002": "Needs 5 runs, got 2",
    }.items():
        assert answers[code].status == "not run" and words in answers[code].detail
    for code in ("A001", "O001", "T002"):
        assert answers[code].status == "not applicable"
    assert "was not tested" in less.summary() and less.trust.beyond_chance is None
    valid(less.to_dict())


def test_a_size_that_evidence_chose_is_paid_for(only, monkeypatch, table):
    """The p-value is that of all sizes among which it was chosen, and says so."""
    only("evidence")
    chose = ExtractedGroup(size=60, disparity=0.5, chance=0.2, p_value=0.04, tables=39, n_sizes=15)
    counted = HowMany(looked=[chose])
    monkeypatch.setattr(group_selection, "how_many", lambda *args, **asked: counted)
    evidence = audit(
        table, n_components=3, group_size="evidence", n_surrogates=19, n_restarts=0
    ).trust
    assert evidence.group_size == 60
    assert evidence.p_value == 0.04 and evidence.over_sizes == 15
    assert "(p = 0.04 over 15 sizes)" in evidence.chance_text
    assert evidence.chance["copula"].p_value != 0.04


def test_comparisons_are_with_what_was_searched_alike(found):
    """The group may come from a longer search than surrogates are given."""
    evidence = found.trust
    assert evidence.searched == found.to_dict()["groups"][0]["trust"]["searched"]
    assert evidence.parts.total == pytest.approx(evidence.searched)
    group = SimpleNamespace(disparity=2 * evidence.searched)
    longer = replace(evidence, partition=SimpleNamespace(left_out_groups_=[group]))
    said = f"One search of the table finds a loss {number(evidence.searched)} above the rest's; in "
    for kind in ("copula", "gaussian"):
        assert longer.against_text(kind).startswith(said)
        assert longer.against_text(kind).endswith(
            f" The group's, from a longer search, is {number(2 * evidence.searched)}."
        )


def test_a_better_group_that_another_start_finds_is_taken(monkeypatch, found, table):
    """The audit is about the best group it has seen, in everything that it says."""
    poor = found.partition.labels_.astype(np.int8)
    poor[np.flatnonzero(poor == 1)[:10]] = 0
    poor[np.flatnonzero(found.partition.labels_ == 0)[:10]] = 1
    assert found.stability.disparities.max() <= found.partition.disparity_ * (1 + 1e-6)

    def missed(search, posed, X, plan, wide):
        size = plan.size
        result = SearchResult(labels=poor, history=as_history([0.0], [0]), stopped="early")
        return (
            clone(search)
            .set_params(group_size=size)
            ._fit_problem(X, posed.resized(1, size), result)
        )

    monkeypatch.setattr(group_selection, "find_groups", missed)
    answers = []
    again = run(table, Settings(target="paid", **ASKED), listener=answers.append)
    assert answers[0].partition.disparity_ == again.partition.disparity_  # from the first answer on
    assert again.partition.disparity_ == pytest.approx(found.stability.disparities.max(), rel=1e-9)
    assert again.partition.stopped_ == "another start"
    assert again.trust.disparity == again.partition.disparity_
    assert again.answer.fact == found.answer.fact


def test_the_paragraph_answers_in_order(found):
    text = found.summary()
    pieces = [
        "The PCA keeps",
        "of 60 of 260 rows",
        "town is Beeley",
        "They are a distinct group",
        "the gap in excess squared error",
        "The target paid is yes for",
        "Use ",
    ]
    places = [text.index(piece) for piece in pieces]
    assert places == sorted(places) and places[0] == 0
    assert str(found) == text and found.answer.text == text
    assert found.headline() in repr(found)


def test_a_note_for_notebooks(found):
    note = found._repr_html_()
    assert len(note) < 15_000 and "<script" not in note and "not found" in note
    assert found.headline() in note


def test_noise_is_the_edge_of_a_cloud():
    rng = np.random.default_rng(3)
    X = rng.standard_normal((300, 6)) @ rng.standard_normal((6, 6))
    found = audit(X, n_components=2, **FEW)
    answers = {finding.code: finding.status for finding in found.findings}
    assert answers["C001"] == answers["C002"] == answers["V001"] == "not found"
    assert (
        found.trust.verdict == "D" and "There is nothing beyond the covariance" in found.summary()
    )
    assert "of that of 30 of 300 rows, a tenth;" in found.headline()


def same(a, b):
    for data in (a, b):
        data["created"] = None
    assert a == b


def test_the_same_again_whatever_the_threads(found, table, with_afterwards, only):
    with with_afterwards():
        again = audit(table, target="paid", n_jobs=2, **ASKED)
    same(found.to_dict(), again.to_dict())
    only("evidence")
    other = audit(table, target="paid", random_state=1, **ASKED).to_dict()
    assert other["groups"][0]["trust"] != again.to_dict()["groups"][0]["trust"]
    assert other["partition"] == again.to_dict()["partition"]


def test_rows_that_do_not_count_make_no_sample(table, only):
    only()
    weights = np.where(np.arange(len(table)) % 5 == 0, 0, 1)
    found = audit(table.assign(w=weights), weights="w", **FEW)
    assert f" of {weights.sum():,} rows" in found.headline() and not found.sampled
    assert "sampled rows" in audit(table, sample=200, **FEW).headline()


def test_weights_reach_costs_and_whom_a_mitigation_leaves_worst_off(table, with_afterwards, only):
    only("costs")
    weights = np.random.default_rng(3).integers(1, 5, len(table))
    guess = np.where(np.arange(len(table)) % 3 == 0, "no", "yes")
    asked = {"target": "paid", "prediction": "guess", "n_components": 3, "group_size": 0.2}
    with with_afterwards():
        found = audit(table.assign(guess=guess, w=weights), weights="w", **asked, **FEW)
    group, paid = found.partition.labels_ == 1, table["paid"] == "yes"
    for side, rows in (("left-out group", group), ("rest", ~group)):
        rate = np.average(paid[rows], weights=weights[rows])
        assert found.harm.at(side, "shared PCA", "base_rate").value == pytest.approx(rate)
        wrong = np.average(guess[rows] != table["paid"][rows], weights=weights[rows])
        assert found.prediction.measures[side]["error"].value == pytest.approx(wrong)
    share = np.average(group, weights=weights)
    assert found.afterwards.weight == pytest.approx(share)
    assert f"{round(100 * share)}% by weight" in found.afterwards.text
    valid(found.to_dict())


def test_frames_of_all_kinds_give_the_same(only, found, table):
    only()
    other = audit(pl.from_pandas(table), target="paid", **ASKED)
    a, b = found.to_dict(), other.to_dict()
    np.testing.assert_array_equal(found.partition.labels_, other.partition.labels_)
    assert a["groups"][0]["explanation"]["sentence"] == b["groups"][0]["explanation"]["sentence"]
    target = table["paid"].to_numpy()
    apart = audit(table.drop(columns="paid"), target=target, **ASKED)
    assert apart.to_dict()["partition"] == a["partition"]
    assert apart.explanation.outcome[0].gap == found.explanation.outcome[0].gap


def test_the_command_repeats_the_run(tmp_path, table):
    file = tmp_path / "my table.csv"
    table.rename(columns={"town": "home town"}).to_csv(file, index=False)
    options = ["--target", "paid=no", "--sensitive", "sex", "--drop", "score 5",
               "--components", "2", "--min-size", "40", "--size", "25%", "--surrogates", "3",
               "--restarts", "2", "--sample", "200",
               "--seed", "7", "--rows", "1", "--min-cell", "0", "--quiet"]  # fmt: skip
    results = []
    for words in (["audit", str(file), *options, "--jobs", "1"], None):
        if words is None:
            words = shlex.split(results[0]["settings"]["command"])[1:] + ["--jobs", "2"]
        result = CliRunner().invoke(main, [*words, "--out", str(tmp_path / "out")])
        assert result.exit_code == 0, result.stderr
        results.append(json.loads((tmp_path / "out" / "audit.json").read_text()))
        valid(results[-1])
    assert results[0]["table"]["rows"] == 200 and results[0]["table"]["positive"] == "no"
    assert results[0]["partition"]["group_size"] == 50
    assert len(results[0]["groups"][0]["explanation"]["rows"]["left_out"]) == 1
    same(*results)
    call = audit(table, target="paid", group_size=60, quick=True).settings.command
    assert call == "leftout.audit(table, target='paid', group_size=60, quick=True)"


def test_json_on_stdout(tmp_path, table):
    table.to_csv(tmp_path / "t.csv", index=False)
    result = CliRunner().invoke(
        main,
        ["audit", str(tmp_path / "t.csv"), "--json", "--quiet", "--size", "60", "--quick", "--out",
         str(tmp_path / "out")],
    )  # fmt: skip
    data = json.loads(result.stdout)
    assert data["partition"]["group_size"] == 60 and len(data["files"]) == 3
    assert [finding["code"] for finding in data["findings"]][0] == "D001"


def test_a_sample_keeps_the_shares_of_the_target(table):
    rng = np.random.default_rng(0)
    strata = rng.choice([0, 0, 0, 1, 2], 5000)
    for size in (10, 333, 4999):
        rows = proportional(strata, size, np.random.default_rng(1))
        assert len(set(rows.tolist())) == size and (np.diff(rows) > 0).all()
        expected = size * np.bincount(strata) / 5000
        assert np.abs(np.bincount(strata[rows], minlength=3) - expected).max() <= 1.0
    # drawn at random: each row is as likely as any other
    often = np.zeros(60)
    for seed in range(600):
        often[proportional(np.arange(60) % 3, 20, np.random.default_rng(seed))] += 1
    assert abs(often.mean() - 200) < 1e-9 and often.std() < 20


def test_large_tables_are_trusted_on_a_part(only, monkeypatch, table):
    only("evidence")
    monkeypatch.setattr("leftout.auditing.group_selection.evidence_rows", lambda n_features: 150)
    found = audit(table, target="paid", n_components=3, rows=1, group_size=0.2, **FEW)
    data = found.to_dict()
    valid(data)
    assert (
        data["groups"][0]["trust"]["rows"]
        == 150
        < data["groups"][0]["trust"]["of_rows"]
        == len(table)
    )
    assert sum(data["partition"]["sizes"]) == len(found.groups) == len(table)
    assert data["partition"]["group_size"] == 52 and found.trust.group_size == 30
    assert len(found.trust.membership.shares) == len(table)
    assert found.trust.membership.group.sum() == 52
    assert any("150 of them" in note for note in found.notes)
    details = {finding.code: finding.detail for finding in found.findings}
    assert "on 150 of the rows" in details["C001"]
    row = data["groups"][0]["explanation"]["rows"]["left_out"][0]
    assert row["values"]["town"] == table["town"][row["row"]]
    given = audit(table, n_components=3, group_size=61, min_group_size=50, **FEW)
    assert given.partition.sizes_[1] == 61 and given.trust.group_size == round(61 * 150 / 260)


def test_rows_are_counted_in_the_table_even_in_a_sample(table):
    indexed = table.set_index(pd.Index([f"r{i}" for i in range(len(table))]))
    found = audit(indexed, target="paid", sample=120, group_size=30, quick=True, rows=2, min_cell=0)
    assert len(found.groups) == 120 and found.groups.index[0] == f"r{found.groups['row'].iloc[0]}"
    for row in found.explanation.rows["left_out"]:
        assert row["values"]["town"] == table["town"][row["row"]]
    with pytest.raises(ValueError, match="sample=0"):
        audit(table, sample=0)


def test_the_papers_preset():
    reason = paper_data.missing()
    if reason:
        pytest.skip(reason)
    source = paper_data.SOURCES["students"]
    found = audit(
        paper_data.FOLDER / source.file, target="Target", positive="Graduate",
        categorical=source.categories, n_components=9, preset="paper", n_restarts=3, n_jobs=-1,
    )  # fmt: skip
    data = found.to_dict()
    valid(data)
    assert data["table"]["rows"] == 2000 and data["settings"]["centering"] == "paper"
    assert 2.0 < found.partition.disparity_ < 6.0  # the published range
    assert found.partition.disparity_ == pytest.approx(found.stability.disparities.max())
    assert found.trust is None and found.partition.epoch_labels_ is not None
    answers = {finding.code: finding.status for finding in found.findings}
    for code in ("C001", "C002", "V001", "H001", "H002", "B001", "S001", "N001", "P001"):
        assert answers[code] == "not run", code
    assert "preset='paper'" in found.settings.command
    assert "What explains the loss was not tested." in found.html()


def test_the_encoder_serves_new_rows(found, table):
    assert isinstance(found.encoder, TableEncoder)
    X = found.encoder.transform(table.drop(columns=["paid", "sex"]))
    np.testing.assert_array_equal(X, found.intake.X)
    assert (found.partition.predict(X) == found.partition.labels_).mean() > 0.95


def test_progress_moves_forward_to_the_end(table):
    seen = []
    audit(table, n_components=3, progress=lambda *step: seen.append(step), **FEW)
    done = [step[1] for step in seen]
    assert done == sorted(done) and done[-1] == seen[-1][2] and len({step[2] for step in seen}) == 1
    stages = list(dict.fromkeys(step[0].split(":")[0] for step in seen))
    assert stages == [
        "reading and encoding", "who is left out", "who are they", "what can be done",
        "which subgroups are left out", "what does it cost them", "why, and does it replicate",
        "done",
    ]  # fmt: skip


def test_odd_tables_are_audited(table, with_afterwards):
    quick = {"n_surrogates": 0, "n_restarts": 0, "group_size": 8, "min_cell": 0}
    rng = np.random.default_rng(0)
    for odd in (
        pd.DataFrame(rng.random((60, 2)) < 0.5, columns=["a", "b"]),
        pd.DataFrame(rng.standard_normal((20, 22))),
        pd.DataFrame({"a": list("xyz") * 30, "b": list("pqpqr") * 18}),
        pd.DataFrame({"when": pd.date_range("2020", periods=90), "x": rng.random(90)}),
    ):
        with with_afterwards():
            valid(audit(odd, **quick | {"group_size": max(5, len(odd) // 12)}).to_dict())
    quick["quick"] = True
    mean = audit(table.assign(income=rng.gamma(2, 2, 260)), target="income", **quick)
    (outcome,) = mean.explanation.outcome
    told = "{} on average in the group, {} in the rest".format(*outcome.sides())
    assert outcome.kind == "mean" and told in " ".join(f.detail for f in mean.findings)
    gaps = table.assign(paid=table["paid"].where(rng.random(260) < 0.8))
    assert audit(gaps, target="paid", **quick).explanation.outcome[0].missing > 0
    several = table.assign(paid=rng.choice(["a", "b", "b", "c"], 260))
    found = audit(several, target="paid", **quick)
    assert found.intake.positive == "b" and any("takes 3 values" in note for note in found.notes)


def test_components_of_equal_variance_are_said():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"t": [f"v{i % 10}" for i in range(300)], "a": rng.random(300)})
    found = audit(table, group_size=30, quick=True)
    valid(found.to_dict())
    assert any("not unique" in note for note in found.notes)
    parts = sum(line.disparity for line in found.explanation.disparity_by_feature)
    assert parts == pytest.approx(found.partition.disparity_)


def test_a_target_that_is_given_apart_is_kept_apart(table):
    quick = {"quick": True, "group_size": 30, "min_cell": 0}
    for target, sample in (
        (table["paid"], None),
        (table["paid"].to_numpy(), 150),
        (pl.Series("paid", table["paid"]), None),
    ):
        found = audit(table, target=target, sample=sample, **quick)
        assert "paid" not in found.encoder.sources_
        assert found.explanation.outcome[0].gap.value < 1.0
    other = table.assign(target=np.random.default_rng(0).random(260))
    found = audit(other, target=table["paid"].to_numpy(), **quick)
    assert "target" in found.encoder.sources_ and found.intake.target.name == "paid"
    found = audit(other.drop(columns="paid"), target=table["paid"].to_numpy(), **quick)
    assert "target" in found.encoder.sources_ and found.intake.target.name == "target (2)"


def test_unknown_outcomes_are_called_so(table):
    known = table.assign(paid=np.where(table["nr"] < 2, table["paid"], None))
    known.loc[:1, "paid"] = ["yes", "no"]
    found = audit(known, target="paid", group_size=60, quick=True)
    assert "nan" not in found.summary() and "nan %" not in found.html()


def test_a_description_of_everybody_is_no_description(found):
    sentence = replace(found.explanation.sentence, covered=260, count=200, size=200, n_rows=260)
    told = replace(found.explanation, sentence=sentence)
    partition = clone(found.partition).set_params(group_size=200).fit(found.intake.X)
    group = replace(found.left_out_groups[0], partition=partition, explanation=told)
    answers = with_findings(replace(found, left_out_groups=[group]), "").findings
    assert sentence.f1 > 0.8 and {f.code: f.status for f in answers}["E001"] == "not found"


def test_sensitive_columns_without_values_were_not_compared(table):
    found = audit(table.assign(blank=None), sensitive=["blank"], group_size=60, quick=True)
    assert {f.code: f.status for f in found.findings}["A001"] == "not applicable"


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        ('"a,b,c,d";x\n1;2\n3;4\n', ["a,b,c,d", "x"]),
        ("name, first;income, eur\nx, y;2\nz, q;4\n", ["name, first", "income, eur"]),
        ("a\tb\n1,5\t2\n2,5\t3\n", ["a", "b"]),
        ("a|b\n1|2\n", ["a", "b"]),
        ("\ufeffa,b\n1,2\n", ["a", "b"]),
        ("a, b\n1, ?\n2, 3\n", ["a", "b"]),
    ],
)
def test_separators_are_told_from_what_they_separate(tmp_path, text, columns):
    (tmp_path / "t.csv").write_text(text, encoding="utf-8")
    assert list(leftout.data.sources.read_table(tmp_path / "t.csv").columns) == columns


def test_codes_in_a_file_keep_their_zeros(tmp_path):
    (tmp_path / "t.csv").write_text("zip,n,day\n01234,1.5,01/02/2020\n12345,0.25,03/02/2020\n")
    table = leftout.data.sources.read_table(tmp_path / "t.csv")
    assert table["zip"].tolist() == ["01234", "12345"] and table["n"].tolist() == [1.5, 0.25]


def test_commands_with_odd_names(tmp_path, table):
    odd = table.rename(columns={"score 5": "a,b", "score 4": "x=y"})
    file = tmp_path / "t.csv"
    odd.assign(done=np.arange(260) % 3 > 0).to_csv(file, index=False)
    quick = ["--size", "60", "--quick", "--quiet"]
    for options in (["--drop", "a,b"], ["--target", "done=true"], ["--target", "nr=5.0"]):
        out = tmp_path / "out"
        result = CliRunner().invoke(main, ["audit", str(file), *options, *quick, "--out", str(out)])
        assert result.exit_code == 0, result.stderr
        first = json.loads((out / "audit.json").read_text())
        words = shlex.split(first["settings"]["command"])[1:]
        assert CliRunner().invoke(main, [*words, "--out", str(out)]).exit_code == 0
        same(first, json.loads((out / "audit.json").read_text()))
    command = audit(str(file), drop=["a,b", "nr"], group_size=60, quick=True).settings.command
    assert command.startswith("leftout.audit(") and "drop=['a,b', 'nr']" in command


def test_names_of_very_many_columns_have_one_condition(only, monkeypatch):
    only("subgroups")
    rng = np.random.default_rng(0)
    many = pd.DataFrame(rng.standard_normal((60, 9)), columns=[f"c{i}" for i in range(9)])
    depths = []
    for wide in (9, 8):
        monkeypatch.setattr("leftout.auditing.stages.WIDE", wide)
        found = audit(many, n_components=5, group_size=15, n_surrogates=0, n_restarts=0)
        depths.append(found.named.depth)
    assert depths == [2, 1]
    assert "the subgroups that one condition describes and that lose most" in found.html()


def test_full_effort_weighs_evidence_on_all_rows(only, monkeypatch):
    only("evidence")
    X, _ = datasets.make_planted(210, 6, 2, 40, random_state=0)
    asked = {"n_components": 2, "n_surrogates": 0, "n_restarts": 2}
    assert group_selection.evidence_rows(X.shape[1]) == 5_000
    monkeypatch.setattr(group_selection, "evidence_rows", lambda n_features: 200)
    sampled, whole = (leftout.audit(X, effort=effort, **asked) for effort in ("auto", "full"))
    assert sampled.trust.rows == 200 and whole.trust.rows == 210
    assert any("200 of them" in note for note in sampled.notes)
    assert not any("of them" in note for note in whole.notes)
    assert np.array_equal(sampled.partition.labels_, whole.partition.labels_)
    with pytest.raises(leftout.InputError, match="effort"):
        leftout.audit(X, effort="most")
