"""Audits of several left-out groups: planned, put together, and refused where they must be."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from jsonschema import Draft202012Validator

import leftout
from leftout import InputError, datasets
from leftout.auditing import group_selection
from leftout.auditing.presets import settled
from leftout.auditing.schema import schema
from leftout.data import column_reader
from leftout.errors import asked_by
from leftout.evidence.n_groups import ExtractedGroup, HowMany
from leftout.running import collected_warnings
from leftout.settings import Settings, as_option

SCHEMA = schema()
ASKED = {"target": "paid", "n_components": 2, "n_groups": 2, "group_size": [30, 50]}


@pytest.fixture(scope="module")
def table():
    X, group = datasets.make_planted(260, 8, 2, [30, 50], random_state=0)
    rng = np.random.default_rng(0)
    table = pd.DataFrame(X, columns=[f"score {i}" for i in range(8)])
    table["town"] = np.array(["Ayton", "Beeley", "Corby"])[group]
    rates = np.array([0.7, 0.2, 0.45])[group]
    table["paid"] = np.where(rng.random(260) < rates, "yes", "no")
    table["guess"] = np.where(rng.random(260) < 0.2 + 0.5 * (group == 2), "yes", "no")
    return table


@pytest.fixture(scope="module")
def found(table):
    few = {"n_surrogates": 0, "n_restarts": 0, "sensitive": ["town"], "prediction": "guess"}
    few["min_cell"] = 0  # every number from its definition
    return leftout.audit(table, positive="yes", **ASKED, **few)


def test_each_group_is_told_beside_the_rest(found, table):
    """Every number of the first audit.json that belongs to a group, from its definition."""
    data = json.loads(found.json())
    errors = [
        f"{list(e.path)}: {e.message}" for e in Draft202012Validator(SCHEMA).iter_errors(data)
    ]
    assert not errors, errors[:5]
    labels, X = found.partition.labels_, found.intake.X
    losses = leftout.group_losses(X, labels, 2)
    assert data["partition"]["sizes"] == np.bincount(labels).tolist()
    assert sorted(data["partition"]["sizes"]) == [30, 50, 180]
    np.testing.assert_allclose(data["partition"]["losses"], losses)
    paid = (table["paid"] == "yes").to_numpy()
    wrong = (table["guess"] != table["paid"]).to_numpy()
    rest = labels == 0
    for label, group in enumerate(data["groups"], start=1):
        inside, left_out = labels == label, group["left_out"]
        assert (group["label"], group["name"]) == (label, f"left out {label}")
        np.testing.assert_allclose(left_out["disparity"], losses[label] - losses[0])
        outcome = group["explanation"]["outcome"][0]
        np.testing.assert_allclose(outcome["left_out"]["value"], paid[inside].mean())
        np.testing.assert_allclose(outcome["rest"]["value"], paid[rest].mean())
        gap = group["prediction"]["gap"]["value"]
        np.testing.assert_allclose(gap, wrong[inside].mean() - wrong[rest].mean())
        assert f"left-out group {label}" in group["costs"][0]
        by_feature = group["explanation"]["disparity_by_feature"]
        np.testing.assert_allclose(
            sum(line["disparity"] for line in by_feature), left_out["disparity"]
        )
        assert group["trust"]["held_out"] is not None and group["trust"]["p_value"] is None
    first, second = (group["left_out"]["losses"]["group"] for group in data["groups"])
    assert first > second


def test_fair_pca_is_of_all_sides(found):
    mended = found.mitigation
    assert mended.names() == ["rest", "the left-out group 1", "the left-out group 2"]
    np.testing.assert_allclose(mended.losses_before, found.partition.losses_)
    assert mended.gap <= 1e-6 and "the gap to the best possible is" in found.html()


def test_what_is_written_of_each_row(found):
    rows = found.groups
    called = np.array(["rest", "left out 1", "left out 2"])[found.partition.labels_]
    assert (rows["group"] == called).all()
    scored = found.partition.score_samples(
        pd.DataFrame(found.intake.X, columns=found.encoder.get_feature_names_out())
    )
    assert (rows[["score_1", "score_2"]].to_numpy() == scored).all()


def test_the_first_paragraph_names_each_group(found):
    text = found.summary()
    assert text.startswith("The PCA keeps ")
    assert "Group 1: " in text and "Group 2: " in text
    codes = [finding.code for finding in found.findings]
    assert codes[:2] == ["G001", "M001"] and len(codes) == len(set(codes))
    assert found.findings[0].status == "not run"


def plan(**asked):
    """The plan for 500 rows, where nothing is searched."""
    search = leftout.MaxDisparityPartition(3)
    X = pd.DataFrame(np.zeros((500, 4)))
    return group_selection.plan_groups(search, 3, X, Settings(**asked), None, 500)


PLANS = {
    "a tenth each": ({"n_groups": 2}, [50, 50], "tenth"),
    "half is the rest's": ({"n_groups": 8}, [31] * 8, "given"),
    "one size for all": ({"n_groups": 3, "group_size": 40}, [40, 40, 40], "given"),
    "a list": ({"n_groups": 2, "group_size": [40, 0.2]}, [40, 100], "given"),
    "free": ({"n_groups": 2, "group_size": None}, None, "free"),
}


@pytest.mark.parametrize("name", PLANS)
def test_how_large_groups_are(name):
    asked, sizes, chosen = PLANS[name]
    made = plan(**asked)
    assert (made.sizes, made.chosen, made.n_groups) == (sizes, chosen, asked["n_groups"])


def counted(*sizes):
    looked = [
        ExtractedGroup(size=size, disparity=0.5, chance=0.3, p_value=0.025, tables=39, n_sizes=8)
        for size in sizes
    ]
    looked.append(
        ExtractedGroup(size=20, disparity=0.3, chance=0.3, p_value=0.4, tables=9, n_sizes=8)
    )
    return HowMany(looked=looked)


COUNTS = {
    "none": ((), [50], "tenth", "No number of groups goes beyond"),
    "one": ((70,), [70], "evidence", "1 left-out group is more than surrogates show"),
    "two": ((70, 110), [70, 110], "evidence", "2 left-out groups are more than"),
}


@pytest.mark.parametrize("name", COUNTS)
def test_groups_are_as_many_and_as_large_as_counted(monkeypatch, name):
    """Where one group or none is counted, the audit is that of one group, and says why."""
    sizes, expected, chosen, said = COUNTS[name]
    monkeypatch.setattr(group_selection, "how_many", lambda *_, **__: counted(*sizes))
    with collected_warnings() as notes:
        made = plan(n_groups="auto")
    assert (made.n_groups, made.sizes, made.chosen) == (len(expected), expected, chosen)
    assert (made.counted is not None) == (len(sizes) > 1)
    assert any(said in note for note in notes)


REFUSED = {
    "preset": ({"preset": "paper"}, "it is a protocol for one left-out group"),
    "encoding": ({"target": "paid", "encoding": "target"}, "looked at for one group alone"),
    "evidence": ({"group_size": "evidence"}, "that sizes one left-out group"),
    "many": ({"n_groups": 10}, "up to 9 left-out groups and the rest"),
    "quick": (
        {"n_groups": "auto", "quick": True},
        "groups are counted by surrogate tables, 19 of them",
    ),
    "few tables": (
        {"n_groups": "auto", "n_surrogates": 18},
        "groups are counted by surrogate tables, 19 of them",
    ),
    "list": ({"n_groups": "auto", "group_size": [10, 20]}, "is a list, one size for each"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_made_for_one_group_is_refused(name):
    asked, why = REFUSED[name]
    with asked_by(as_option), pytest.raises(InputError, match="--groups") as error:
        settled(Settings(**{"n_groups": 2} | asked))
    assert why in str(error.value)


def test_tables_in_parts_are_searched_for_one_group(tmp_path, table, monkeypatch):
    monkeypatch.setattr(column_reader, "SCHEMA_ROWS", 50)
    for place in range(2):
        table.to_csv(tmp_path / f"{place}.csv", index=False)
    with pytest.raises(InputError, match="passed over in parts is searched for one left-out group"):
        leftout.audit(str(tmp_path / "*.csv"), engine="local", n_groups=2)
