"""Who is left out under other readings of the table, and columns scaled in three ways."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks import readings  # noqa: E402
from leftout import InputError, MaxDisparityPartition, TableEncoder, audit, datasets  # noqa: E402
from leftout.auditing.readings import OneReading, Readings  # noqa: E402


def mixed(seed=0, m=400):
    """Numbers of very different units, a category of three and one of two values, gaps."""
    rng = np.random.default_rng(seed)
    X, planted = datasets.make_planted(m, 7, 2, m // 10, random_state=seed)
    table = pd.DataFrame(X * [1, 10, 100, 1, 1, 1, 1000], columns=list("abcdefg"))
    table["town"] = rng.choice(["A", "B", "C"], m)
    table["yes"] = rng.choice(["no", "yes"], m)
    table.loc[rng.random(m) < 0.1, "b"] = np.nan
    return table, planted


def test_scaling_is_what_scikit_learn_does():
    table, _ = mixed()
    table = table.drop(columns="b")
    encoder = TableEncoder(scaling="standard").set_output(transform="pandas")
    found = encoder.fit_transform(table)
    numbers = list("acdefg")
    np.testing.assert_allclose(
        found[numbers], StandardScaler().fit_transform(table[numbers]), atol=1e-9
    )
    ones = OneHotEncoder(sparse_output=False).fit_transform(table[["town"]])
    np.testing.assert_allclose(found[[f"town = {t}" for t in "ABC"]], ones)
    assert set(found["yes = yes"]) == {0.0, 1.0}
    np.testing.assert_allclose(encoder.transform(table.iloc[5:9]), found.iloc[5:9], atol=1e-12)
    plain = TableEncoder(scaling="none").set_output(transform="pandas").fit_transform(table)
    np.testing.assert_allclose(plain[numbers], table[numbers], rtol=1e-9, atol=1e-9)
    usual = TableEncoder().set_output(transform="pandas").fit_transform(table)
    assert usual[numbers].min().min() == 0.0 and usual[numbers].max().max() == 1.0


def test_an_unknown_scaling_is_refused():
    table, _ = mixed()
    for call in (
        lambda: TableEncoder(scaling="robust").fit(table),
        lambda: audit(table, scaling="robust", quick=True),
    ):
        with pytest.raises(InputError, match="scaling='robust'"):
            call()


def test_an_audit_scales_as_asked():
    table, _ = mixed()
    found = audit(table, scaling="standard", quick=True)
    assert found.settings.to_dict()["scaling"] == "standard"
    spread = found.intake.X[:, [found.intake.feature_names.index(name) for name in "acd"]].std(0)
    np.testing.assert_allclose(spread, 1.0)


def counts(lines, counts, group, of_rows):
    each = [OneReading(name, 3, 7, overlap) for name, overlap in lines]
    group = np.array(group, dtype=bool)
    return Readings(lines=each, counts=np.array(counts), group=group, of_rows=of_rows)


def test_robust_members_are_left_out_in_most_readings():
    found = counts([("x", 0.25), ("y", 0.5)], [3, 3, 2, 1, 0, 0], [1, 1, 1, 0, 0, 0], 6)
    assert (found.n_readings, found.needed, found.members.tolist()) == (
        3,
        3,
        [True] * 2 + [False] * 4,
    )
    assert found.holds
    assert found.text == (
        "The table was read in 3 reasonable ways. 2 rows are left out in at least 3 of them; the "
        "group has 3: under other readings those left out are the same people. Rows shared with "
        "the group when one choice is made otherwise: x (25%); y (50%)."
    )
    assert found.brief == (
        "Read in 3 ways, 2 of the group's 3 rows are left out in all of them; it changes most with "
        "x, where both share 25% of their rows."
    )
    other = counts([("x", 0.1)] * 4, [5, 1, 1, 4, 0], [1, 1, 1, 0, 0], 50)
    assert other.needed == 4 and not other.holds
    assert "of the group's 3 sampled rows are left out in at least 4 of them" in other.brief
    assert "2 rows of 5 looked at are left out in at least 4 of them" in other.text
    told = other.to_dict()
    assert (told["robust"], told["robust_in_group"], told["rows"]) == (2, 1, 5)


def test_each_choice_is_made_otherwise_by_itself():
    table, planted = mixed()
    found = audit(table, n_surrogates=0, n_restarts=2)
    told = found.readings
    assert {line.choice for line in told.lines} == {
        "one component fewer", "one component more", "columns scaled to unit variance",
        "gaps filled without saying so",
    }  # fmt: skip
    by_choice = {line.choice: line for line in told.lines}
    # by hand
    d, size = found.partition.n_components_, int(found.partition.sizes_[1])
    search = MaxDisparityPartition(d + 1, group_size=size, random_state=0)
    mask, group = search.fit(found.intake.X).labels_ == 1, found.partition.labels_ == 1
    shared = np.sum(mask & group) / np.sum(mask | group)
    assert by_choice["one component more"].overlap == pytest.approx(shared)
    assert found.groups["readings"].tolist() == told.counts.tolist()
    finding = next(each for each in found.findings if each.code == "R001")
    assert finding.detail == told.text
    assert found.to_dict()["readings"]["n_readings"] == 5


def test_a_pipeline_is_read_as_it_is():
    table, _ = mixed(m=200)
    numbers = table[list("acdefg")]
    pipeline = make_pipeline(StandardScaler(), PCA(2))
    found = audit(numbers, pipeline=pipeline, n_surrogates=0, n_restarts=0)
    assert found.readings is None


def test_quick_audits_do_not_read_otherwise():
    found = audit(mixed()[0], quick=True)
    finding = next(each for each in found.findings if each.code == "R001")
    assert found.readings is None and finding.status == "not run"
    assert "readings" not in found.groups


def test_robust_members_are_planted_and_noise_has_few():
    members, planted, of_group, holds = readings.looked_at(2, planted=True)
    assert planted >= 0.8 * members and of_group > 0.5 and holds
    assert not readings.looked_at(2, planted=False)[3]
