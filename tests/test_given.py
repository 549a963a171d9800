"""Audits of features that are given, beside a table that says who people are."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from click.testing import CliRunner
from sklearn.decomposition import PCA

from leftout import InputError, MaxDisparityPartition, audit, datasets, group_losses, known_groups
from leftout.cli.main import main

NAME = {"region": "north", "shift": "night"}


def described(seed, m=400):
    """Features with a planted tenth, rotated; a table of six columns, two of which name it."""
    rng = np.random.default_rng(seed)
    E, planted = datasets.make_planted(m, 10, 3, m // 10, random_state=seed)
    E = E @ np.linalg.qr(rng.normal(size=(10, 10)))[0]
    table = pd.DataFrame({
        "region": rng.choice(["north", "south", "east"], m),
        "shift": rng.choice(["day", "night"], m),
        "age": rng.integers(18, 70, m),
        "grade": rng.choice(list("ABCD"), m),
        "score": rng.normal(size=m).round(2),
        "member": rng.choice(["yes", "no"], m),
    })  # fmt: skip
    both = (table["region"] == "north") & (table["shift"] == "night") & (planted == 0)
    table.loc[both, "shift"] = "day"
    table.loc[planted == 1, list(NAME)] = list(NAME.values())
    return E, table, planted == 1


def names_it(found):
    """Whether the first that is said of the group are the two conditions that hold for it."""
    told = found.explanation.sentence
    held = {condition.text for condition in told.conditions}
    return held == {f"{column} = {value}" for column, value in NAME.items()} and told.f1 > 0.8


@pytest.mark.parametrize("seed", [0, 1])
def test_a_planted_group_is_named_in_the_words_of_the_table(seed):
    E, table, planted = described(seed)
    found = audit(table, features=E, n_components=3, quick=True)
    assert names_it(found), found.answer.who
    assert np.mean(planted[found.partition.labels_ == 1]) > 0.8
    search = MaxDisparityPartition(3, group_size=0.1, random_state=0).fit(E)
    assert np.array_equal(found.partition.labels_, search.labels_)  # nothing is scaled
    assert found.audited.to_dict() == {
        "name": "PCA", "rank": 3, "projection": True, "given": False, "origin": "this table",
        "text": "PCA of 3 components, fitted here on 10 features that were given, as they are.",
    }  # fmt: skip


E, TABLE, PLANTED = described(2)
QUICK = {"n_components": 3, "quick": True}


@pytest.fixture(scope="module")
def found():
    return audit(
        TABLE, features=E, n_components=3, sensitive=["grade"], n_restarts=1, n_surrogates=19
    )


def test_names_and_known_groups_are_told_in_the_table(found):
    first = found.named.groups[0]
    assert {condition.column for condition in first.conditions} == set(NAME)
    assert [group.labels for group in found.known.groups][:1] == [{"grade": "A"}]
    losses = group_losses(E, found.partition.labels_, 3)
    np.testing.assert_allclose(found.partition.losses_, losses, atol=1e-9)
    assert {fact.name for fact in found.columns} == set(TABLE.columns)


def test_one_column_beside_features_will_do():
    found = audit(TABLE[["shift"]], features=E, **QUICK)
    whole = audit(TABLE, features=E, **QUICK)
    assert np.array_equal(found.partition.labels_, whole.partition.labels_)
    assert found.explanation.sentence.text == "shift = night"


def test_several_groups_and_samples_take_features():
    found = audit(TABLE, features=E, n_groups=2, **QUICK)
    assert found.partition.n_groups_ == 2
    found = audit(TABLE, features=E, sample=200, **QUICK)
    assert np.array_equal(found.intake.X, E[found.intake.rows])


@pytest.mark.parametrize("kind", ["npy", "csv", "parquet"])
def test_files_of_features(kind, tmp_path):
    path, table = tmp_path / f"e.{kind}", tmp_path / "people.csv"
    TABLE.to_csv(table, index=False)
    if kind == "npy":
        np.save(path, E)
    else:
        frame = pd.DataFrame(E, columns=[f"e{j}" for j in range(10)])
        frame.to_csv(path, index=False) if kind == "csv" else frame.to_parquet(path)
    words = ["audit", str(table), "--features", str(path), "--components", "3", "--quick"]
    told = CliRunner().invoke(main, [*words, "--out", str(tmp_path / "out")])
    assert told.exit_code == 0, told.output
    assert "on 10 features that were given, as they are." in " ".join(told.output.split())
    again = audit(TABLE, features=path, **QUICK)
    groups = pd.read_csv(tmp_path / "out" / "groups.csv")
    assert np.array_equal(groups["group"], again.groups["group"])
    assert f"--features {path}" in (tmp_path / "out" / "audit.json").read_text()
    assert f"features={str(path)!r}" in again.settings.command


@pytest.mark.parametrize("as_frame", [pd.DataFrame, pl.DataFrame])
def test_frames_of_features_have_names(as_frame):
    found = audit(TABLE, features=as_frame({f"e{j}": E[:, j] for j in range(10)}), **QUICK)
    assert np.array_equal(found.intake.X, E)
    assert found.intake.feature_names == [f"e{j}" for j in range(10)]


def with_gap():
    gap = E.copy()
    gap[3, 2] = np.nan
    return gap


@pytest.mark.parametrize(
    "given, words",
    [
        (E[:-1], "399 rows, but the table has 400"),
        (with_gap(), "PCA needs every value finite"),
        (pd.DataFrame(E).astype(str) + "x", "PCA needs numbers"),
        ("absent.npy", "There is no file"),
        (np.ones(400), "array of shape \\(400,\\); one row"),
    ],
)
def test_refusals(given, words):
    with pytest.raises(InputError, match=words):
        audit(TABLE, features=given, **QUICK)


def test_an_array_of_objects_is_not_unpickled(tmp_path):
    np.save(tmp_path / "e.npy", np.array([[{}, 1]], dtype=object))
    with pytest.raises(InputError, match="cannot be read as an array of numbers"):
        audit(TABLE, features=tmp_path / "e.npy", **QUICK)


def test_the_loss_of_all_rows_is_that_of_what_is_given():
    elsewhere = PCA(3).fit(described(5)[0])
    known = known_groups(
        E, {"shift": TABLE["shift"]}, representation=elsewhere, permutations=19, random_state=0
    )
    (loss,) = group_losses(E, np.zeros(len(E)), representation=elsewhere)
    assert known.loss == pytest.approx(loss) and loss > 0.001
    assert known.overall["loss"] == known.loss
    assert known_groups(E, {"shift": TABLE["shift"]}, permutations=19).loss == 0.0
