"""The whole explanation, from the public surface; hostile names are only ever text."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from known import compare_outcome
from leftout import MaxDisparityPartition, datasets, explain, trust
from leftout.explain.alignment import align
from leftout.explain.rules import find_rules

HOSTILE = [
    'say "hi", <b>bold</b>',
    "<script>alert('x')</script>",
    "[bold red]markup[/] [/nothing]",
    "$x_1^2$ and 50% of it",
    "\U0001f600 emoji \U0001f468\u200d\U0001f469\u200d\U0001f467",
    "n" * 200,
    "tab\tline\nescape\x1b[2J \u202etfel-ot-thgir",
    7,
    "=cmd|'/c calc'!A0",
]


@pytest.fixture(scope="module")
def planted():
    return datasets.make_planted(300, 9, 2, 60, random_state=0)


@pytest.fixture(scope="module")
def raw(planted):
    """A raw table beside the matrix: who they are, a hidden attribute, an outcome, gaps."""
    X, labels = planted
    rng = np.random.default_rng(1)
    table = pd.DataFrame(X, columns=[f"f{j}" for j in range(9)])
    table["town"] = np.where(labels == 1, "north", rng.choice(["south", "east"], 300))
    table["age"] = rng.integers(18, 80, 300).astype(float)
    table.loc[:9, "age"] = np.nan
    table["faith"] = np.where(rng.random(300) < 0.3 + 0.5 * labels, "a", "b")
    table["passed"] = (rng.random(300) < 0.9 - 0.5 * labels).astype(int)
    return table


@pytest.fixture(scope="module")
def found(planted):
    return MaxDisparityPartition(2, group_size=60, random_state=0).fit(planted[0])


@pytest.fixture(scope="module")
def told(found, planted, raw):
    return explain.group(
        found, planted[0], raw, target="passed", sensitive=["faith"], what_if=2, rows=1
    )


def test_every_part_is_there_and_agrees_with_the_part_alone(told, found, planted, raw):
    X, _ = planted
    labels = found.labels_
    searched = raw.drop(columns=["passed", "faith"])
    assert told.sentence.text == "town = north" and told.sentence.f1 > 0.9
    assert told.sentence == explain.describe(searched, labels)
    parts = told.disparity_by_feature
    assert sum(part.disparity for part in parts) == pytest.approx(found.disparity_, rel=1e-12)
    assert sum(part.rest_loss for part in parts) == pytest.approx(found.losses_[0], rel=1e-9)
    assert sum(part.left_out_loss for part in parts) == pytest.approx(found.losses_[1], rel=1e-9)
    assert {part.feature for part in parts} == {f"x{j}" for j in range(9)}
    alone = find_rules(searched, labels)
    assert [r.text for r in told.rules] == [r.text for r in alone][:50]
    names = {line.column for line in told.alignment}
    assert "faith" in names and "passed" not in names
    assert [line.column for line in told.alignment if not line.searched] == ["faith"]
    assert told.alignment == align(raw.drop(columns="passed"), labels, sensitive=["faith"])
    assert all(part.column == part.feature for part in parts)  # an array has no names to tell by
    assert told.outcome == compare_outcome(raw["passed"], labels, name="passed")
    assert told.outcome[0].gap.high < 0
    shown = told.rows["left_out"][0]["values"]
    assert shown["town"] == "north" and not {"passed", "faith"} & set(shown)


def test_the_summary_says_it_in_words(told):
    text = told.summary()
    for words in (
        "The group, in a sentence: town = north: covers ",
        "Features: the disparity of ",
        " and 6 more.",
        "Looks like: town = north: 9",
        "Kept out of the search: faith = a: ",
        " corrected).",
        "Outcome: passed = 1: ",
        "What if (sensitivity, not causation): ",
    ):
        assert words in text
    assert "nan" not in text and str(told) == text
    assert repr(told) == "<Explanation of a left-out group: town = north>"


def test_plain_data_and_json(told, tmp_path):
    data = told.to_dict()
    for key in (
        "sentence", "disparity_by_feature", "rules",
        "alignment", "what_if", "outcome", "rows",
    ):  # fmt: skip
        assert key in data
    path = told.to_json(tmp_path / "explanation.json")
    assert json.loads(path.read_text(encoding="utf-8")) == data
    parts = data["disparity_by_feature"]
    assert sum(part["share"] for part in parts) == pytest.approx(1.0, abs=1e-12)


def test_what_trust_found_is_explained(planted, raw):
    search = MaxDisparityPartition(2, group_size=60, random_state=0)
    verdict = trust(search, planted[0], n_surrogates=0, n_restarts=4, splits=0)
    told = explain.group(verdict, planted[0], raw, target="passed", what_if=0)
    assert told.what_if == [] and "What if" not in told.summary()
    assert explain.group(verdict, planted[0], what_if=0).outcome == []


def test_what_if_searches_again(found, planted):
    X, _ = planted
    lines = explain.group(found, X, what_if=3).what_if
    parts = explain.feature_losses(X, found.labels_, 2)
    order = np.argsort(-(parts[1] - parts[0]))[:3]
    assert [line.feature for line in lines] == [f"x{j}" for j in order]
    for line, place in zip(lines, order, strict=True):
        without = np.delete(X, place, axis=1)
        again = MaxDisparityPartition(2, group_size=60, random_state=3).fit(without)
        assert line.without == pytest.approx(again.disparity_, rel=0.02)
        assert line.gone == 1 - line.without / found.disparity_
        assert 0 < line.overlap <= 1
    two = MaxDisparityPartition(2, group_size=60, random_state=0, n_jobs=2).fit(X)
    assert explain.group(two, X, what_if=3).what_if == lines


def test_a_feature_that_carries_the_group_takes_its_disparity_along():
    """Forty rows vary along the last column, which the shared PCA drops."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((400, 5)) * [5, 4, 0.1, 0.1, 0.1]
    X[:40, 4] = rng.choice([-3, 3], 40)
    found = MaxDisparityPartition(2, group_size=40, random_state=0).fit(X)
    first = explain.group(found, X, what_if=1).what_if[0]
    assert first.feature == "x4" and first.gone > 0.9


def test_features_that_repeat_others_can_be_left_out(planted):
    X, _ = planted
    rng = np.random.default_rng(0)
    dummies = np.column_stack([X[:, :3], np.eye(3)[rng.integers(0, 3, 300)]])
    twice = np.column_stack([X[:, :2], X[:, :1]])
    for table, share in ((dummies, 0.95), (twice, 1)):
        found = MaxDisparityPartition(share, group_size=60, random_state=0).fit(table)
        lines = explain.group(found, table, what_if=6).what_if
        assert all(np.isfinite(line.without) for line in lines)
    assert min(line.without for line in lines) >= 0.0


def test_features_that_were_made_from_one_column_go_together(planted, raw):
    """Indicators of one column, named as scikit-learn names them; age is in no feature."""
    X, labels = planted
    frame = raw[[f"f{j}" for j in range(9)]].rename(columns={"f0": "num__f0"})
    for value in ("north", "south", "east"):
        frame[f"town_{value}"] = (raw["town"] == value).astype(float)
    found = MaxDisparityPartition(2, group_size=60, random_state=0).fit(frame)
    told = explain.group(found, frame, raw, target="passed", what_if=10)
    sources = {part.feature: part.column for part in told.disparity_by_feature}
    assert [sources[name] for name in frame] == [*(f"f{j}" for j in range(9)), *["town"] * 3]
    town = sum(part.disparity for part in told.disparity_by_feature if part.column == "town")
    assert told.by_column()["town"] == pytest.approx(town)
    assert sum(told.by_column().values()) == pytest.approx(found.disparity_)
    assert {line.column for line in told.alignment if not line.searched} == {"age", "faith"}
    assert not any("age" in rule.text or "faith" in rule.text for rule in told.rules)
    without = {line.feature: line.without for line in told.what_if}["town"]
    again = MaxDisparityPartition(2, group_size=60, random_state=1).fit(frame.iloc[:, :9])
    assert without == pytest.approx(again.disparity_, rel=0.02)
    with pytest.raises(ValueError, match="sensitive names 'f3', which is a feature of X"):
        explain.group(found, frame, raw, sensitive=["f3"])


def test_rows_in_another_order_are_refused(planted, raw):
    frame = pd.DataFrame(planted[0]).add_prefix("v")
    found = MaxDisparityPartition(2, group_size=60, random_state=0).fit(frame)
    with pytest.raises(ValueError, match="rows of X in another order"):
        explain.group(found, frame, raw[::-1], what_if=0)
    renamed = raw.set_axis(range(1000, 1300))  # other labels say nothing
    assert explain.group(found, frame, renamed, what_if=0).sentence.text == "town = north"
    with pytest.raises(ValueError, match="disparity in this X is .* Pass the table that"):
        explain.group(found, 2 * frame, raw)


def test_of_many_outcomes_the_widest_gaps_are_told(found, planted, raw):
    many = np.where(found.labels_ == 1, "z", np.array(list("abcde"))[np.arange(300) % 5])
    told = explain.group(found, planted[0], raw, target=many, what_if=0)
    lines = [line for line in told.summary().splitlines() if line.startswith("Outcome")]
    assert len(told.outcome) == 6 and lines[0].startswith("Outcome: target = z: 100.0%")
    assert len(lines) == 3


def test_a_target_given_as_values_is_part_of_no_sentence(found, planted, raw):
    told = explain.group(found, planted[0], raw, target=raw["passed"], what_if=0)
    assert told.outcome[0].target == "passed"
    assert "passed" not in {line.column for line in told.alignment}
    told = explain.group(found, planted[0], raw, target=list(raw["town"] == "north"), what_if=0)
    assert told.outcome[0].positive == "True" and told.outcome[0].left_out.value > 0.9


def test_json_keeps_infinities_and_broken_text(found, planted, tmp_path):
    table = pd.DataFrame({"inf": np.where(found.labels_ == 1, np.inf, 0.0)})
    broken = [["\ud800", "ok"][k % 2] for k in range(300)]
    table["broken"] = pd.Series(broken, dtype=object)
    told = explain.group(found, planted[0], table, what_if=0)
    path = told.to_json(tmp_path / "told.json")
    data = json.loads(path.read_text(encoding="utf-8"))
    assert data["sentence"]["alternatives"][0][0]["value"] == "inf"
    assert any("\\ud800" in rule["text"] for rule in data["rules"])


def test_wide_tables_are_explained_by_the_columns_that_tell(monkeypatch, found, planted, raw):
    monkeypatch.setattr("leftout.explain.explanation.RULE_COLUMNS", 3)
    told = explain.group(found, planted[0], raw, what_if=0)
    assert "of 13 columns, rules use the 3 that tell most" in told.summary()
    assert "town = north" in {rule.text for rule in told.rules}


def test_progress_counts_to_the_end(found, planted):
    calls = []
    explain.group(found, planted[0], what_if=2, progress=lambda *step: calls.append(step))
    assert calls[-1][1] == calls[-1][2] == 6 and {total for _, _, total in calls} == {6}


def test_hostile_names_and_values_are_text_everywhere(planted, tmp_path):
    X, labels = planted
    table = pd.DataFrame(X, columns=HOSTILE)
    rng = np.random.default_rng(0)
    for name in HOSTILE[:3]:
        table[f"{name} (value)"] = np.where(labels == 1, rng.choice(HOSTILE[3:7], 300), name)
    found = MaxDisparityPartition(2, group_size=60, random_state=0).fit(X)
    frame = pd.DataFrame(X, columns=[str(name) for name in HOSTILE])
    named = MaxDisparityPartition(2, group_size=60, random_state=0).fit(frame)
    told = explain.group(named, frame, table, target="7", what_if=2, rows=2)
    text = f"{told.summary()} {[rule.text for rule in told.rules]} {told.sentence}"
    assert "\x1b[2J" not in text and "\u202e" not in text
    for piece in ("[bold red]markup[/]", "<b>bold</b>", "$x_1^2$", "\\x1b[2J", "\\u202e"):
        assert piece in text
    path = told.to_json(tmp_path / "told.json")
    data = json.loads(path.read_text(encoding="utf-8"))
    features = {part["feature"] for part in data["disparity_by_feature"]}
    assert features == {str(name) for name in HOSTILE}
    assert "\x1b" not in told.summary() and "\n\n" not in told.summary()
    # whatever it says can be applied again
    assert told.sentence.covers(table).sum() == told.sentence.covered
    assert found.labels_.tolist() == named.labels_.tolist()


def test_bad_input_gets_one_sentence(found, planted, raw):
    X, _ = planted
    for arguments, options, kind, words in (
        ((found, X[:50]), {}, ValueError, "300 rows and 9 features, but this one has 50 and 9"),
        ((X, X), {}, ValueError, "Found ndarray where a fitted MaxDisparityPartition"),
        ((object(), X), {}, ValueError, "Found object where a fitted MaxDisparityPartition"),
        ((found, X, raw[:20]), {}, ValueError, "raw table has 20 rows, but X has 300"),
        ((found, X, raw), {"target": "pased"}, ValueError, "Did you mean 'passed'"),
        ((found, X, raw), {"target": [1, 0]}, ValueError, "2 values for 300 rows"),
        ((found, X, raw), {"sensitive": ["fait"]}, ValueError, "Did you mean 'faith'"),
        ((found, X, raw), {"drop": list(raw.columns)}, ValueError, "Nothing is left to describe"),
        ((found, X[:, :4], raw), {}, ValueError, "but this one has 300 and 4"),
        ((found, X, raw), {"what_if": -1}, ValueError, "what_if=-1 is not a whole number"),
        ((found, X, raw), {"rows": 0.5}, ValueError, "rows=0.5 is not a whole number"),
    ):
        with pytest.raises(kind, match=words):
            explain.group(*arguments, **options)
    with pytest.raises(Exception, match="not fitted"):
        explain.group(MaxDisparityPartition(), X)


def test_a_raw_table_that_does_not_vary_has_no_sentence(found, planted):
    told = explain.group(found, planted[0], pd.DataFrame({"c": [1] * 300}), what_if=0)
    assert told.sentence is None and told.alignment == []
    assert len(told.rules) == 0
    assert "nothing describes the group" in told.summary() and told.to_dict()["sentence"] is None


def test_what_if_leaves_out_one_feature(planted, found, monkeypatch):
    X, _ = planted
    searched, fit = [], MaxDisparityPartition.fit

    def keep(search, table, sample_weight=None):
        searched.append(table)
        result = fit(search, table, sample_weight=sample_weight)
        result.disparity_ = 0.25
        result.labels_ = found.labels_ * (np.cumsum(found.labels_) <= 15)  # of 60
        return result

    monkeypatch.setattr(MaxDisparityPartition, "fit", keep)
    for line, table in zip(explain.group(found, X, what_if=2).what_if, searched, strict=True):
        assert np.array_equal(table, np.delete(X, int(line.feature[1:]), axis=1))
        assert (line.disparity, line.without) == (found.disparity_, 0.25)
        assert line.overlap == 15 / 60
