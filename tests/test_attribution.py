"""Splits over features add up, and scores are what the paper defines."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import naive
from leftout import MaxDisparityPartition, disparity, explain, group_losses
from leftout.linalg.losses import CENTERINGS, LOSSES
from paper.scores import feature_scores


@st.composite
def tables(draw):
    seed = draw(st.integers(0, 2**32 - 1))
    rng = np.random.default_rng(seed)
    n = draw(st.integers(2, 7))
    m = draw(st.integers(4 * n, 60))
    X = rng.standard_normal((m, n)) @ rng.standard_normal((n, n))
    X = (X + draw(st.sampled_from([0.0, 3.0, -10.0]))) * 10.0 ** draw(st.integers(-3, 3))
    n_groups = draw(st.integers(2, 3))
    labels = rng.permutation(np.arange(m) % n_groups)
    return X, labels, draw(st.integers(1, n - 1))


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("centering", CENTERINGS)
@given(table=tables())
def test_parts_are_the_definition_and_sum_to_losses_and_disparity(table, loss, centering):
    X, labels, d = table
    rule = {"loss": loss, "centering": centering}
    parts = explain.feature_losses(X, labels, d, **rule)
    energy = np.sum(naive.seen_by_pca(X, centering) ** 2) / len(X)
    scale = max(energy, 1e-300)
    want = naive.feature_losses(X, labels, d, **rule)
    assert np.abs(parts - want).max() <= 1e-9 * scale
    losses = group_losses(X, labels, d, **rule)
    assert np.abs(parts.sum(axis=1) - losses).max() <= 1e-12 * scale
    gap = np.ptp(parts.sum(axis=1))
    assert abs(gap - disparity(X, labels, d, **rule)) <= 1e-12 * scale


def test_a_part_may_be_negative():
    X = np.random.default_rng(1).standard_normal((60, 5)) * [3, 2, 1, 1, 1]
    parts = explain.feature_losses(X, np.arange(60) < 20, 2)
    assert (parts < 0).any() and (parts.sum(axis=1) >= 0).all()


@given(table=tables(), centering=st.sampled_from(CENTERINGS))
def test_scores_are_the_definition_and_sum_to_100(table, centering):
    X, labels, d = table
    labels = (labels == 1).astype(int)
    scores = feature_scores(X, labels, d, centering=centering)
    rows = naive.seen_by_pca(X, centering)
    about_mean = centering == "paper"
    for got, chosen in (
        (scores.total, rows),
        (scores.left_out, rows[labels == 1]),
        (scores.rest, rows[labels == 0]),
    ):
        assert abs(got.sum() - 100.0) < 1e-9
        assert got.min() >= 0.0
        values = np.linalg.svd(chosen - about_mean * chosen.mean(axis=0), compute_uv=False)
        if d < len(values) and values[d - 1] - values[d] > 1e-6 * values[0]:
            assert np.abs(got - naive.feature_scores(chosen, d, about_mean)).max() < 1e-6
    assert np.allclose(scores.difference, np.abs(scores.left_out - scores.rest))


def test_scores_are_averages_over_runs_and_so_are_differences():
    rng = np.random.default_rng(0)
    X, runs = (
        rng.standard_normal((50, 4)),
        rng.permuted(np.tile(np.arange(50) < 20, (3, 1)), axis=1),
    )
    each = [feature_scores(X, run, 2) for run in runs]
    both = feature_scores(X, runs, 2)
    assert both.runs == 3 and each[0].runs == 1
    for name in ("total", "left_out", "rest", "difference"):
        assert np.allclose(getattr(both, name), np.mean([getattr(s, name) for s in each], axis=0))
    # differences of opposite signs do not cancel
    assert both.difference.sum() > np.abs(both.left_out - both.rest).sum() + 1e-6


def test_rows_that_do_not_vary_have_no_scores():
    X = np.vstack([np.diag([1.0, 2.0, 3.0]), -np.diag([1.0, 2.0, 3.0]), np.zeros((4, 3))])
    scores = feature_scores(X, [0] * 6 + [1] * 4, 1, centering="none")
    assert np.isnan(scores.left_out).all() and abs(scores.rest.sum() - 100) < 1e-9


def test_students_split_to_the_digit(students):
    found = MaxDisparityPartition(9, group_size=200, random_state=0).fit(students)
    parts = explain.feature_losses(students, found.labels_, 9)
    assert abs((parts[1] - parts[0]).sum() - found.disparity_) < 1e-12
    assert np.abs(parts - naive.feature_losses(students, found.labels_, 9)).max() < 1e-12


def test_labels_are_checked():
    X = np.random.default_rng(0).standard_normal((20, 3))
    with pytest.raises(ValueError, match="1 \\(or True\\) for the rows of the left-out group"):
        feature_scores(X, ["a", "b"] * 10, 1)
    with pytest.raises(ValueError, match="All 20 rows have the label"):
        feature_scores(X, np.ones(20), 1)
    with pytest.raises(ValueError, match="one label per row"):
        feature_scores(X, np.ones(7), 1)
