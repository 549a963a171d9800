"""Sparse tables: what is found in them is what is found in the same table as an array."""

from __future__ import annotations

from unittest import mock

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.decomposition import NMF, PCA, TruncatedSVD

import naive
from leftout import (
    FairPCA,
    InputError,
    MaxDisparityPartition,
    audit,
    disparity,
    group_losses,
    trust,
)
from leftout.auditing import given as given_features
from leftout.data import matrix
from leftout.linalg import moments as rows_of
from leftout.linalg.moments import SparseRows


def planted(m, n, size, seed=0, filled=0.05):
    """A sparse table in which the first rows fill columns that the others leave empty."""
    rng = np.random.default_rng(seed)
    X = sparse.lil_array(sparse.random_array((m, n), density=filled, rng=rng))
    for column in range(2):
        X[:size, n - 1 - column] = rng.choice([0.0, 4.0], (size, 1))
    return sparse.csr_array(X)


@pytest.fixture(scope="module")
def large():
    """More values than become an array, and the same rows as an array."""
    X = planted(42_000, 101, 4_000)
    assert X.shape[0] * X.shape[1] > matrix.SUMMED_AT_ONCE
    return X, X.toarray()


def shared(kind, X):
    """What is given as the representation, fitted on rows without a planted one."""
    half = X[X.shape[0] // 2 :]
    return {
        "none": None,
        "pca": PCA(3, svd_solver="full").fit(half.toarray()),
        "svd": TruncatedSVD(3, random_state=0).fit(half),
    }[kind]


KINDS = ["none", "pca", "svd"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("form", [sparse.csr_array, sparse.csc_matrix, sparse.coo_array])
def test_small_tables_are_searched_as_arrays(kind, form):
    X = planted(300, 12, 40)
    search = MaxDisparityPartition(3, representation=shared(kind, X), group_size=40, random_state=0)
    ours, theirs = search.fit(form(X)).__dict__.copy(), search.fit(X.toarray()).__dict__
    for name in ("labels_", "losses_", "group_components_", "offset_"):
        np.testing.assert_array_equal(ours[name], theirs[name])
    np.testing.assert_array_equal(search.predict(form(X)), search.predict(X.toarray()))


@pytest.mark.parametrize(("kind", "centering"), [("none", "global"), ("svd", "none")])
def test_large_tables_are_searched_as_they_are(large, kind, centering):
    X, dense = large
    options = {
        "n_components": 3,
        "representation": shared(kind, X),
        "centering": centering,
        "group_size": 4_000,
        "random_state": 0,
    }
    with mock.patch.object(SparseRows, "__getitem__", autospec=True) as read:
        most = []
        read.side_effect = lambda self, index: (
            most.append(self.X[index].shape[0]) or self.X[index].toarray()
        )
        found = MaxDisparityPartition(**options).fit(X)
        found.bound_  # noqa: B018
        scores = found.score_samples(X)
    assert max(most) < 25_000  # never the whole table
    theirs = MaxDisparityPartition(**options).fit(dense)
    assert found.disparity_ >= 0.999 * theirs.disparity_
    assert naive.jaccard(found.labels_ == 1, theirs.labels_ == 1) > 0.99
    rule = {"representation": options["representation"], "centering": centering}
    np.testing.assert_allclose(found.losses_, group_losses(dense, found.labels_, 3, **rule), 1e-9)
    assert found.bound_ >= found.disparity_
    assert found.bound_ == pytest.approx(theirs.bound_, rel=1e-9)
    np.testing.assert_allclose(scores, found.score_samples(dense), rtol=1e-9, atol=1e-9)
    assert np.mean(found.predict(X) == found.labels_) > 0.999
    np.testing.assert_array_equal(found.predict(X[:50]), found.predict(dense[:50]))
    np.testing.assert_allclose(found.mean_, theirs.mean_, atol=1e-12)
    for side in (0, 1):
        mean = found.loss_samples(X)[found.labels_ == side, side].mean()
        assert mean == pytest.approx(found.losses_[side], rel=1e-9)


def test_sizes_are_free_and_small_groups_are_found(large):
    X, dense = large
    free = {"n_components": 3, "min_group_size": 2_000, "random_state": 0}
    ours, theirs = (MaxDisparityPartition(**free).fit(table) for table in (X, dense))
    assert ours.disparity_ >= 0.99 * theirs.disparity_
    few = {"n_components": 3, "group_size": 60, "random_state": 0}
    ours, theirs = (MaxDisparityPartition(**few).fit(table) for table in (X, dense))
    assert ours.disparity_ >= 0.95 * theirs.disparity_
    rule = {"n_components": 3, "group_size": 4_000, "loss": "projection_gap", "random_state": 0}
    ours, theirs = (MaxDisparityPartition(**rule).fit(table) for table in (X, dense))
    assert ours.disparity_ >= 0.99 * theirs.disparity_


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10_000), st.sampled_from(["global", "none", "paper"]), st.booleans())
def test_losses_of_known_groups(seed, centering, far):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 8))
    X = sparse.random_array((60, n), density=0.3, rng=rng).toarray()
    if far and centering == "global":  # digits to lose
        X[:, 0] += 1e4
    labels, d = rng.integers(0, 3, 60), int(rng.integers(1, n))
    loss = "projection_gap" if centering == "paper" else "excess"
    # as if it were large, and few of its values filled
    with mock.patch.object(matrix, "SUMMED_AT_ONCE", 0), mock.patch.object(rows_of, "_COSTLY", 0):
        got = group_losses(sparse.csc_array(X), labels, d, loss=loss, centering=centering)
    want = naive.group_losses(X, labels, d, loss, centering)
    energy = np.mean(np.sum(naive.seen_by_pca(X, centering) ** 2, axis=1))
    np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-11 * energy)


def test_losses_and_disparity_of_large_tables(large):
    X, dense = large
    labels = np.arange(len(dense)) % 3
    for kind in KINDS:
        rule = {"representation": shared(kind, X)}
        ours, theirs = (group_losses(table, labels, 3, **rule) for table in (X, dense))
        np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-12)
        assert disparity(X, labels, 3, **rule) == pytest.approx(np.ptp(theirs), rel=1e-6)


def test_the_callers_matrix_stays_as_it_is():
    rows, columns = np.array([0, 0, 0, 1]), np.array([3, 1, 3, 0])
    X = sparse.csr_matrix((50_000, 100))
    X = X + sparse.coo_matrix((np.ones(4), (rows, columns)), shape=X.shape)
    twice = sparse.csr_matrix(
        (np.ones(4), np.array([3, 1, 3, 0]), np.r_[0, 3, np.full(49_999, 4)]), shape=X.shape
    )
    before = twice.data.copy(), twice.indices.copy()
    labels = np.arange(50_000) % 2
    np.testing.assert_allclose(group_losses(twice, labels, 1), group_losses(X, labels, 1))
    np.testing.assert_array_equal(twice.data, before[0])
    np.testing.assert_array_equal(twice.indices, before[1])


def test_refusals(large):
    X, _ = large
    search = MaxDisparityPartition(3, random_state=0)
    holed = X.copy()
    holed.data[5] = np.nan
    with pytest.raises(InputError, match="contains NaN: 1 of 4242000 values, the first in row"):
        search.fit(holed)
    with pytest.raises(InputError, match=r"6,000 columns; more than 5,000 are too many"):
        search.fit(sparse.csr_array((7_000, 6_000)))
    with pytest.raises(InputError, match="no variance"):
        search.fit(sparse.csr_array(X.shape))
    with pytest.raises(InputError, match="Complex"):
        search.fit(X.astype(complex))
    with pytest.raises(InputError, match="one left-out group, by the solver 'alternating'"):
        MaxDisparityPartition(3, solver="greedy").fit(X)
    with pytest.raises(InputError, match="one left-out group, by the solver 'alternating'"):
        MaxDisparityPartition(3, n_groups=2).fit(X)
    with pytest.raises(InputError, match="NMF, is no projection"):
        parts = NMF(2, max_iter=2000, random_state=0).fit(abs(X[:200].toarray()))
        MaxDisparityPartition(representation=parts).fit(X)
    with pytest.raises(InputError, match="has 12 features, but the table has 101"):
        small = TruncatedSVD(3).fit(planted(300, 12, 40))
        MaxDisparityPartition(representation=small).fit(X)
    with pytest.raises(ValueError, match="features"):
        search.fit(X).predict(X[:, :50])
    with pytest.raises(InputError, match=r"1,000,000 x 100 values, which has to become an array"):
        trust(search, sparse.csr_array((1_000_000, 100)))
    with pytest.raises(InputError, match="has to become an array"):
        audit(pd.DataFrame({"a": [1, 2] * 20}), features=sparse.csr_array((1_000_000, 100)))


def test_others_take_sparse_tables_that_fit():
    X = planted(300, 12, 40)
    labels = np.arange(300) < 40
    ours, theirs = (FairPCA(3).fit(table, groups=labels) for table in (X, X.toarray()))
    np.testing.assert_array_equal(ours.components_, theirs.components_)
    features, names = given_features._matrix(X, 300)
    np.testing.assert_array_equal(features, X.toarray())
    assert names[:2] == ["x0", "x1"]
