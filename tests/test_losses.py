"""Losses from moments answer to SVDs of the rows."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from sklearn.decomposition import NMF, PCA

import leftout
import naive
import tolerances
from leftout.linalg.losses import (
    CENTERINGS,
    LOSSES,
    Loss,
    mean_disparity,
    row_losses,
    row_reach,
    shared_pca,
)
from leftout.linalg.moments import build
from leftout.linalg.problem import Problem

COMBINATIONS = [(loss, centering) for loss in LOSSES for centering in CENTERINGS]


@st.composite
def tables(draw):
    """A generic table, labels with at least d + 2 rows a group, and d."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n = draw(st.integers(2, 6))
    d = draw(st.integers(1, n - 1))
    groups = draw(st.integers(1, 3))
    sizes = [draw(st.integers(d + 2, 12)) for _ in range(groups)]
    labels = rng.permutation(np.repeat(np.arange(groups), sizes))
    M = rng.random((len(labels), n)) @ rng.standard_normal((n, n))
    return M + draw(st.sampled_from([0.0, 3.0])), labels, d


def has_gaps(M, labels, d, centering):
    """Whether every projection in the definition is unique, so that there is one right answer."""
    X = naive.seen_by_pca(M, centering)
    for rows in (X, *(X[labels == g] for g in np.unique(labels))):
        if centering == "paper":
            rows = rows - rows.mean(axis=0)
        s = np.linalg.svd(rows, compute_uv=False) ** 2
        if len(s) > d and s[d - 1] - s[d] < 1e-4 * s[0]:
            return False
    return True


@pytest.mark.parametrize(("loss", "centering"), COMBINATIONS)
@given(case=tables())
def test_group_losses_are_the_definition(loss, centering, case):
    M, labels, d = case
    assume(has_gaps(M, labels, d, centering))
    got = leftout.group_losses(M, labels, d, loss=loss, centering=centering)
    want = naive.group_losses(M, labels, d, loss, centering)
    # the definition subtracts two energies, so its own rounding is a share of these
    energy = np.mean(np.sum(naive.seen_by_pca(M, centering) ** 2, axis=1))
    np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-11 * energy)
    gap = leftout.disparity(M, labels, d, loss=loss, centering=centering)
    assert gap == got.max() - got.min()


@pytest.mark.parametrize(("loss", "centering"), COMBINATIONS)
@given(case=tables())
def test_row_losses_sum_to_the_loss_and_stay_within_reach(loss, centering, case):
    M, labels, d = case
    X = naive.seen_by_pca(M, centering)
    rule = Loss.named(loss, centering)
    V = shared_pca(rule, build(X), d).components
    G = X[labels == 0]
    W = np.ascontiguousarray(naive.components(G, d, centering == "paper").T)
    kept = np.sum((G @ V.T) ** 2, axis=1)
    rows = row_losses(rule, G, kept, V, W)
    want = naive.group_loss(G, V.T, d, loss, centering)
    np.testing.assert_allclose(rows.mean(), want, rtol=1e-9, atol=1e-11 * np.mean(G**2))
    reach = row_reach(rule, np.sum(G**2, axis=1), kept)
    assert np.all(rows <= reach + 1e-9 * np.sum(G**2, axis=1))


@given(case=tables())
def test_excess_is_never_negative_nor_changed_by_rotation_or_duplication(case):
    M, labels, d = case
    assume(has_gaps(M, labels, d, "global"))
    losses = leftout.group_losses(M, labels, d)
    scale = np.mean((M - M.mean(axis=0)) ** 2)
    assert np.all(losses >= -1e-12 * scale)
    n = M.shape[1]
    turned = M @ np.linalg.qr(np.random.default_rng(n).standard_normal((n, n)))[0]
    order = np.random.default_rng(0).permutation(len(M))
    for other, names in (
        (turned, labels),
        (np.vstack([M, M]), np.tile(labels, 2)),
        (M[order], labels[order]),
        (M + 17.0, labels),
    ):
        np.testing.assert_allclose(
            leftout.group_losses(other, names, d), losses, rtol=1e-7, atol=1e-9 * scale
        )


@given(case=tables(), seed=st.integers(0, 1000))
def test_no_projection_lowers_the_weighted_sum_of_losses(case, seed):
    M, labels, d = case
    X = M - M.mean(axis=0)
    V = naive.shared_basis(M, d, "global")
    other = np.linalg.qr(np.random.default_rng(seed).standard_normal((M.shape[1], d)))[0]

    def total(basis):
        groups = [X[labels == g] for g in np.unique(labels)]
        return sum(len(G) * naive.group_loss(G, basis, d, "excess", "global") for G in groups)

    assert total(V) <= total(other) + 1e-9 * np.sum(X**2)


@pytest.mark.parametrize(
    ("loss", "centering"), [each for each in COMBINATIONS if each != ("excess", "paper")]
)
@pytest.mark.parametrize("seed", range(4))
def test_bound_is_never_below_the_best_partition(loss, centering, seed):
    rng = np.random.default_rng(seed)
    M, d = rng.random((9, 3)), 1 + seed % 2
    rule = Loss.named(loss, centering)
    moments = build(M, origin=M.mean(axis=0) if centering == "global" else 0.0)
    V = shared_pca(rule, moments, d).components
    problem = Problem(X=M, loss=rule, V=V, pooled=moments, min_size=2)
    for size in range(2, 8):
        best = naive.best_of_all_partitions(M, d, 2, size, loss, centering)
        assert problem.bound(size) >= best - 1e-9


def test_labels_may_be_anything_that_sorts():
    M = np.random.default_rng(0).random((20, 4))
    numbers = np.arange(20) % 3
    names = np.array(["c", "a", "b"])[numbers]
    by_number = leftout.group_losses(M, numbers, 2)
    np.testing.assert_allclose(leftout.group_losses(M, names, 2), by_number[[1, 2, 0]])


def test_one_group_loses_nothing():
    M = np.random.default_rng(0).random((20, 4))
    assert leftout.disparity(M, np.zeros(20), 2) == 0.0
    rounding = tolerances.of_rows(naive.seen_by_pca(M, "global"), 2)
    np.testing.assert_allclose(leftout.group_losses(M, np.zeros(20), 2), [0.0], atol=rounding)


@pytest.mark.parametrize(("loss", "centering"), COMBINATIONS)
def test_more_columns_than_rows(loss, centering):
    rng = np.random.default_rng(0)
    M, labels = rng.standard_normal((24, 40)) * np.geomspace(3.0, 0.3, 40) + 1.0, np.arange(24) % 2
    got = leftout.group_losses(M, labels, 3, loss=loss, centering=centering)
    np.testing.assert_allclose(got, naive.group_losses(M, labels, 3, loss, centering), rtol=1e-9)
    parts = leftout.explain.feature_losses(M, labels, 3, loss=loss, centering=centering)
    assert parts.shape == (2, 40)
    np.testing.assert_allclose(parts.sum(axis=1), got, rtol=1e-9)
    # all that 24 rows have is kept by 24 components, and by more
    everything = leftout.group_losses(M, labels, 30, loss=loss, centering=centering)
    np.testing.assert_allclose(everything, 0.0, atol=1e-9)


def test_a_constant_wide_table_is_told_by_its_columns():
    with pytest.raises(ValueError, match="all 9 columns are constant"):
        leftout.group_losses(np.ones((4, 9)), [0, 0, 1, 1], 1)


def test_a_wide_table_needs_no_matrix_of_its_columns():
    X = np.random.default_rng(0).standard_normal((20, 40_000))  # n x n takes 13 GB
    assert leftout.group_losses(X, np.arange(20) % 2, 3).shape == (2,)


def test_disparities_are_weighted_by_the_sizes_of_groups():
    losses, count = np.array([0.3, 1.7, 0.9]), np.array([50.0, 7.0, 20.0])
    assert mean_disparity(losses, count) == pytest.approx(naive.mean_disparity(losses, count))
    pair = losses[[0, 1]], count[[0, 1]]
    assert mean_disparity(*pair) == losses[1] - losses[0]  # of one group to the bit


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("centering", ["global", "none"])
@given(case=tables(), seed=st.integers(0, 2**32 - 1), unit=st.sampled_from([1.0, 1e-9, 7e12]))
def test_weights_are_repeated_rows_in_any_unit(loss, centering, case, seed, unit):
    M, labels, d = case
    weights = np.random.default_rng(seed).integers(1, 5, len(M))
    again, sides = naive.repeated(weights, M, labels)
    assume(has_gaps(again, sides, d, centering))
    options = {"loss": loss, "centering": centering}
    got = leftout.group_losses(M, labels, d, sample_weight=unit * weights, **options)
    energy = np.mean(np.sum(naive.seen_by_pca(again, centering) ** 2, axis=1))
    for want in (
        naive.group_losses(again, sides, d, loss, centering),
        leftout.group_losses(again, sides, d, **options),
    ):
        np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-11 * energy)
    gap = leftout.disparity(M, labels, d, sample_weight=weights, **options)
    assert gap == pytest.approx(np.ptp(got), rel=1e-9, abs=1e-11 * energy)


def test_rows_of_weight_zero_are_in_no_loss():
    X, labels = leftout.datasets.make_planted(120, 6, 2, 30, random_state=0)
    weights = np.random.default_rng(0).integers(0, 3, 120)
    some = weights > 0
    names = np.where(some, labels, labels + 2)  # groups of which no row counts are none
    got = leftout.group_losses(X, names, 2, sample_weight=weights)
    alone = leftout.group_losses(X[some], labels[some], 2, sample_weight=weights[some])
    assert got.tolist() == alone.tolist()
    equal = leftout.group_losses(X, labels, 2, sample_weight=np.full(120, 3))
    assert equal.tolist() == leftout.group_losses(X, labels, 2).tolist()


def test_weights_are_a_definition_of_their_own_where_they_are_not_whole():
    X, labels = leftout.datasets.make_planted(120, 6, 2, 30, random_state=0)
    weights = np.random.default_rng(0).random(120)
    got = leftout.group_losses(X, labels, 2, sample_weight=weights)
    want = [naive.weighted_loss(X, labels == side, weights, 2) for side in (0, 1)]
    np.testing.assert_allclose(got, want, rtol=1e-9)


@pytest.mark.parametrize("fitted", [PCA(2), NMF(2, init="nndsvda", max_iter=500)])
def test_weights_count_what_a_given_representation_keeps(fitted):
    X = np.random.default_rng(0).random((60, 5))
    labels, weights = np.arange(60) % 3, np.random.default_rng(1).integers(1, 4, 60)
    fitted = fitted.fit(X)
    again, sides = naive.repeated(weights, X, labels)
    got = leftout.group_losses(X, labels, representation=fitted, sample_weight=weights)
    want = leftout.group_losses(again, sides, representation=fitted)
    np.testing.assert_allclose(got, want, rtol=1e-9)
