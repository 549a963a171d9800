"""Comparison tables where the group is, the three parts of a loss, and the four verdicts."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import naive
import tolerances
from leftout import MaxDisparityPartition, datasets
from leftout.evidence.evidence_text import VERDICTS, verdict
from leftout.evidence.loss_parts import LossParts
from leftout.evidence.null_test import (
    NullTest,
    mean_rank_correlation,
    sizes_beside,
    split_by_feature,
    winsorize,
)
from leftout.evidence.refit import NullTask
from leftout.evidence.surrogates import SURROGATES, correlations
from leftout.explain import disparity_by_feature
from leftout.groups.problem_setup import build_problem
from leftout.running import Steps
from leftout.solvers import Alternating


@pytest.fixture(scope="module")
def planted():
    return datasets.make_planted(200, 6, 2, 20, random_state=0)


@pytest.fixture(scope="module")
def beside(planted):
    search = MaxDisparityPartition(2, solver=Alternating(n_starts=8), random_state=0)
    return NullTest.of(NullTask.of(search, planted[0]), [20])


def compared(beside, kind="copula", asked=99, fixed=False, seed=1):
    table = beside.search_table(np.random.default_rng(0), Steps(1, None))
    rng, needs = np.random.default_rng(seed), [asked] if fixed else None
    (found,) = beside.compared(kind, table, asked, rng, Steps(1, None), needs)
    return table, found


@pytest.mark.parametrize("centering", ["global", "none"])
def test_a_split_is_the_definitions_and_sums_to_the_disparity(planted, centering):
    X, labels = planted[0] + 0.4, planted[1].astype(np.int8)
    (found,) = split_by_feature(build_problem(X, 2, "excess", centering, 20, None), labels, 2)
    rest, group = naive.feature_losses(X, labels, 2, centering=centering)
    within = tolerances.of_rows(naive.seen_by_pca(X, centering), 2)
    np.testing.assert_allclose(found, group - rest, rtol=0, atol=within)
    theirs = disparity_by_feature(X, labels, 2, centering=centering)
    np.testing.assert_allclose(found, theirs, rtol=0, atol=within)
    want = naive.signed_disparity(X, labels, 2, centering=centering)
    assert found.sum() == pytest.approx(want, rel=0, abs=within)


@pytest.mark.parametrize(
    ("shape", "loss", "centering"),
    [((30, 50), "excess", "global"), ((60, 4), "projection_gap", "paper")],
)
def test_what_is_not_in_columns_is_not_split(shape, loss, centering):
    X = np.random.default_rng(0).standard_normal(shape)
    labels = (np.arange(len(X)) < 8).astype(np.int8)
    assert split_by_feature(build_problem(X, 2, loss, centering, 8, None), labels, 2) is None


@pytest.mark.parametrize(
    ("size", "rows", "d", "want"),
    [
        (20, 200, 2, [10, 20, 50]),
        (20, 200, 9, [18, 20, 50]),  # fewer would not do for nine components
        (20, 200, 12, [20, 50]),
        (80, 200, 2, [40, 80, 100]),  # not beyond half
        (120, 200, 2, [60, 120]),
    ],
)
def test_sizes_beside(size, rows, d, want):
    assert sizes_beside(size, rows, d).tolist() == want


def test_a_search_beside_is_one_at_the_groups_size(beside, planted):
    X, group = planted
    found = beside.search_table(np.random.default_rng(0), Steps(1, None))
    best = MaxDisparityPartition(2, group_size=20, random_state=0).fit(X)
    within = tolerances.of_rows(naive.seen_by_pca(X, "global"), 2)
    (disparity,) = found.disparities
    assert disparity <= best.disparity_ + within
    assert disparity == pytest.approx(naive.signed_disparity(X, best.labels_, 2), rel=0.02)
    close = found.diagnostics
    assert close.by_feature.sum() == pytest.approx(disparity, rel=0, abs=within)
    spread = np.linalg.svd(X - X.mean(axis=0), compute_uv=False) ** 2
    assert found.residual == pytest.approx(spread[2:].sum() / spread.sum())
    np.testing.assert_allclose(close.correlations, np.corrcoef(X.T), atol=1e-12)
    assert beside.sizes == [20] and beside.others == (10, 50)
    assert close.at_sizes[0] > disparity > close.at_sizes[1]


def test_rank_correlation_is_spearmans(mixed):
    R = np.abs(stats.spearmanr(mixed).statistic)
    pairs = [R[i, j] for i in range(7) for j in range(i)]
    assert mean_rank_correlation(mixed) == pytest.approx(np.mean(pairs))
    assert mean_rank_correlation(mixed[:, :1]) == 0.0


@pytest.mark.parametrize("kind", SURROGATES)
def test_compared_with_tables_of_a_kind(beside, planted, kind):
    table, found = compared(beside, kind, asked=12, fixed=True)
    laws, rngs = beside.task.law(kind), np.random.default_rng(1).spawn(12)
    drawn = [laws.draw(rng) for rng in rngs]
    assert found.kind == kind and found.sizes.tolist() == [10, 20, 50] and found.surrogates == 12
    assert np.isfinite(found.curves[:, 1]).all()
    # the first nine are looked at closely
    assert np.isfinite(found.curves[:9]).all() and np.isnan(found.curves[9:, [0, 2]]).all()
    above = sum(value >= table.disparities[0] for value in found.curves[:, 1])
    assert found.p_value == found.p_values[1] == (1 + above) / 13
    assert np.isnan(found.p_values[[0, 2]]).all()
    R = np.mean([correlations(X) for X in drawn[:9]], axis=0)
    assert found.miss == pytest.approx(np.abs(R - correlations(planted[0])).max())
    ranks = np.mean([mean_rank_correlation(X) for X in drawn[:9]])
    assert found.ranks_miss == pytest.approx(mean_rank_correlation(planted[0]) - ranks)
    shares = [np.linalg.svd(X - X.mean(axis=0), compute_uv=False) ** 2 for X in drawn]
    left = np.mean([s[2:].sum() / s.sum() for s in shares])
    assert found.residual == pytest.approx(left / table.residual)
    assert found.by_feature.sum() == pytest.approx(found.mean_at(20))


def test_no_more_tables_than_needed(beside):
    _, clear = compared(beside)
    assert clear.surrogates == 19 and clear.p_value == 0.05
    _, fixed = compared(beside, asked=25, fixed=True)
    assert fixed.surrogates == 25
    assert np.array_equal(fixed.curves[:19, 1], clear.curves[:, 1])  # the same tables
    _, few = compared(beside, asked=5)
    assert few.surrogates == 5 and few.p_value == 1 / 6


def test_noise_needs_few_tables():
    X = np.random.default_rng(0).standard_normal((150, 6))
    search = MaxDisparityPartition(2, solver=Alternating(n_starts=8), random_state=0)
    _, found = compared(NullTest.of(NullTask.of(search, X), [20]))
    assert 9 <= found.surrogates < 99 and found.p_value > 0.05


def test_tails_are_drawn_in(mixed):
    drawn = winsorize(mixed)
    for j, column in enumerate(mixed.T):
        if len(set(column.tolist())) > 20:
            low, high = np.quantile(column, [0.02, 0.98])
            want = [min(max(value, low), high) for value in column]
        else:
            want = column.tolist()
        assert drawn[:, j].tolist() == want
    changed = np.any(drawn != mixed, axis=0)
    assert not changed[3] and changed[0] and changed[1]  # 3 is a yes or no


SPLIT = np.array([0.5, 0.25, 0.125, 0.125])
CLOUD = np.array([0.25, 0.125, 0.0, 0.0])
VALUES = np.array([0.25, 0.25, 0.0625, 0.0])


def parts(names=("a", "b", "c", "d"), p_cloud=0.02, p_values=0.3):
    return LossParts.of(
        1.0, SPLIT, (0.375, CLOUD), (0.5625, VALUES), list(names), p_cloud, p_values
    )


def test_parts_by_hand():
    found = parts()
    assert found.losses.tolist() == [0.375, 0.1875, 0.4375] and found.total == 1.0
    assert found.by_feature.tolist() == [
        [0.25, 0.125, 0.0, 0.0],
        [0.0, 0.125, 0.0625, 0.0],
        [0.25, 0.0, 0.0625, 0.125],
    ]
    assert (found.cloud.p_value, found.values.p_value, found.own.p_value) == (0.02, 0.3, 0.3)
    assert (found.cloud.share, found.values.share, found.own.share) == (0.375, 0.1875, 0.4375)
    assert [(each.column, each.loss) for each in found.own.columns] == [
        *(("a", 0.25), ("d", 0.125), ("c", 0.0625), ("b", 0.0)),
    ]
    assert found.values.carriers == ["b", "c"] and found.own.carriers == ["a", "d"]
    assert found.told == (
        "Searched alike, they lose 1 more than the rest: 0.375 any cloud of this spread, 0.188 "
        "rare or uneven values (b and c) and 0.438 a structure of their own (a and d)."
    )
    assert found.told_shares == (
        "Of the loss, 44 % is structure of its own; any cloud shows 38 %; rare or uneven values of "
        "b and c add 19 %."
    )
    data = json.loads(json.dumps(found.to_dict()))
    assert data["total"] == 1.0 and data["values"]["loss"] == 0.1875
    assert data["values"]["columns"][0] == {"column": "b", "loss": 0.125}


def test_features_of_one_column_are_added():
    found = parts().named(["age", "town", "town", "age"])
    assert [(each.column, each.loss) for each in found.values.columns] == [
        *(("town", 0.1875), ("age", 0.0)),
    ]
    assert [(each.column, each.loss) for each in found.own.columns] == [
        *(("age", 0.375), ("town", 0.0625)),
    ]
    assert found.losses.tolist() == parts().losses.tolist()
    assert "rare or uneven values (town)" in found.told


def test_a_part_may_be_below_zero():
    found = LossParts.of(0.5, SPLIT / 2, (0.375, CLOUD), (0.5625, VALUES), list("abcd"), None, 0.9)
    assert found.own.loss == -0.0625 and found.own.share == -0.125 and found.total == 0.5
    # a small part is not pinned on columns, nor is the cloud's; rare values are those of these rows
    assert [each.column for each in found.values.columns[:2]] == ["b", "c"]
    assert found.values.carriers == ["c", "d"]
    assert found.told == (
        "Searched alike, they lose 0.5 more than the rest: 0.375 any cloud of this spread, 0.188 "
        "rare or uneven values (c and d) and -0.0625 a structure of their own."
    )


@pytest.mark.parametrize(
    ("losses", "says"),
    [
        ((0.60, 0.33, 0.03), "Most of the loss, 62 %, is what any cloud shows; rare or uneven "
         "values of b add 34 %; 3 % is structure of its own."),
        ((0.1, 0.1, 0.8), "Most of the loss, 80 %, is structure of its own; any cloud shows 10 %; "
         "rare or uneven values of b add 10 %."),
        # a part below zero is no part, and what is left is all of it
        ((1.1, -0.02, -0.08), "All of the loss is what any cloud shows."),
        ((0.7, 0.4, -0.1), "Most of the loss, 70 %, is what any cloud shows; rare or uneven "
         "values of b add 40 %."),
        ((-0.2, 0.1, 0.05), ""),
    ],
)  # fmt: skip
def test_the_sentence_follows_the_shares(losses, says):
    by_feature = np.outer(losses, [0.0, 1.0])
    found = LossParts(losses=np.array(losses), by_feature=by_feature, names=["a", "b"],
                  p_cloud=None, p_values=0.05)  # fmt: skip
    assert found.told_shares == says


def test_parts_without_columns():
    found = LossParts.of(1.0, None, (0.375, None), (0.5625, None), ["a"], None, 0.05)
    assert found.by_feature is None and found.own.columns == found.own.carriers == []
    assert found.losses.tolist() == [0.375, 0.1875, 0.4375]
    assert found.told.endswith("0.188 rare or uneven values and 0.438 a structure of their own.")


@given(st.integers(0, 1000), st.integers(1, 8))
def test_parts_sum_to_the_disparity(seed, n):
    rng = np.random.default_rng(seed)
    split, cloud, values = rng.standard_normal((3, n))
    names = rng.choice(["a", "b", "c"], n).tolist()
    found = LossParts.of(
        split.sum(), split, (cloud.sum(), cloud), (values.sum(), values), names, 0.5, 0.5
    )
    size = 8 * n * tolerances.EPS * np.abs([split, cloud, values]).sum()
    assert found.total == pytest.approx(split.sum(), rel=0, abs=size)
    np.testing.assert_allclose(found.by_feature.sum(axis=0), split, rtol=0, atol=size)
    np.testing.assert_allclose(found.by_feature.sum(axis=1), found.losses, rtol=0, atol=size)
    for part in found.each().values():
        assert sum(each.loss for each in part.columns) == pytest.approx(part.loss, rel=0, abs=size)
        assert part.columns == sorted(part.columns, key=lambda each: -each.loss)


@pytest.mark.parametrize(
    ("p_values", "p_cloud", "overlap", "letter"),
    [
        *((0.05, None, 0.5, "A"), (0.05, None, 0.499, "B"), (0.0501, 0.05, 0.9, "C")),
        *((0.0501, 0.0501, 0.9, "D"), (0.0501, 0.05, None, "C"), (0.01, 0.9, 0.5, "A")),
        *((0.01, 0.9, 0.0, "B"), (0.9, 0.9, 0.0, "D")),
        *((None, 0.01, 0.9, None), (0.2, None, 0.9, None), (0.01, 0.01, None, None)),
    ],
)
def test_verdict_on_both_sides_of_every_threshold(p_values, p_cloud, overlap, letter):
    found = verdict(p_values, p_cloud, overlap)
    assert found is VERDICTS[letter] if letter else found is None


def test_what_verdicts_say():
    assert {letter: one.says for letter, one in VERDICTS.items()} == {
        "A": "Tables with the same values rarely lose as much, and halves of the table agree on "
        "most of the rows.",
        "B": "Tables with the same values rarely lose as much, but halves of the table point to "
        "different rows: who belongs is uncertain.",
        "C": "Tables with the same values lose as much, bell-shaped ones do not: rare or uneven "
        "values make the difference.",
        "D": "Any cloud with these correlations has an edge that loses as much: nothing marks a "
        "group.",
    }
