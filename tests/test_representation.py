"""A representation that is given: losses by the definition, searches, bounds, refusals."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.decomposition import NMF, PCA, IncrementalPCA, KernelPCA, TruncatedSVD
from sklearn.exceptions import ConvergenceWarning
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import naive
from leftout import (
    FairPCA,
    InputError,
    MaxDisparityPartition,
    MinimaxPCA,
    explain,
    group_losses,
    known_groups,
    named_groups,
)
from leftout.groups.cross_fitting import cross_fitted
from leftout.groups.problem_setup import build_problem
from leftout.representation.base import as_representation


class Autoencoder(TransformerMixin, BaseEstimator):
    """One hidden layer, written with scikit-learn's regressor."""

    def __init__(self, width=2):
        self.width = width

    def fit(self, X, y=None):
        self.n_features_in_ = X.shape[1]
        net = MLPRegressor(
            hidden_layer_sizes=(self.width,), activation="tanh", max_iter=50, n_iter_no_change=100
        )
        with pytest.warns(ConvergenceWarning):  # any weights will do
            self.net_ = net.set_params(random_state=0).fit(X, X)
        return self

    def transform(self, X):
        return np.tanh(X @ self.net_.coefs_[0] + self.net_.intercepts_[0])

    def inverse_transform(self, Z):
        return Z @ self.net_.coefs_[1] + self.net_.intercepts_[1]


class Projected(BaseEstimator):
    """A projection that does not say what its components are."""

    def __init__(self, components, mean):
        self.components, self.mean = components, mean

    def transform(self, X):
        return (X - self.mean) @ self.components.T

    def inverse_transform(self, Z):
        return Z @ self.components + self.mean


def rows(seed, m=40, n=5, offset=3.0):
    rng = np.random.default_rng(seed)
    X = np.abs(rng.normal(size=(m, n)) @ rng.normal(size=(n, n)) + offset)
    return X, (rng.random(m) < 0.4).astype(int)


def case(kind, X, other):
    """What is given, the same as a transformer, its rank and its origin."""
    fitted = {
        "PCA": lambda: PCA(2).fit(X),
        "elsewhere": lambda: PCA(2).fit(other),
        "whitened": lambda: PCA(2, whiten=True).fit(other),
        "incremental": lambda: IncrementalPCA(2).fit(other),
        "TruncatedSVD": lambda: TruncatedSVD(2, random_state=0).fit(other),
        "FairPCA": lambda: FairPCA(2).fit(other, groups=np.arange(len(other)) % 2),
        "MinimaxPCA": lambda: MinimaxPCA(2, max_rounds=2, random_state=0).fit(other),
        "fractions": lambda: FairPCA(2).fit(other, groups=np.arange(len(other)) % 5),
        "NMF": lambda: NMF(2, max_iter=2000, tol=1e-3).fit(other),
        "KernelPCA": lambda: KernelPCA(2, kernel="rbf", fit_inverse_transform=True).fit(other),
        "autoencoder": lambda: Autoencoder().fit(other),
    }[kind]()
    if kind == "TruncatedSVD":
        origin = np.zeros(X.shape[1])
    else:
        origin = getattr(fitted, "mean_", X.mean(axis=0))
    return fitted, fitted, 2, origin


PROJECTIONS = [
    "PCA", "elsewhere", "whitened", "incremental", "TruncatedSVD", "FairPCA", "MinimaxPCA",
]  # fmt: skip
OTHERS = ["fractions", "NMF", "KernelPCA", "autoencoder"]


@pytest.mark.parametrize("kind", PROJECTIONS + OTHERS)
@settings(max_examples=8)
@given(seed=st.integers(0, 10**6))
def test_losses_are_those_of_the_definition(kind, seed):
    X, labels = rows(seed)
    representation, estimator, d, origin = case(kind, X, rows(seed + 1)[0])
    expected = naive.given_losses(X, labels, estimator, d, origin)
    scale = np.mean(np.sum((X - origin) ** 2, axis=1))
    found = group_losses(X, labels, representation=representation)
    np.testing.assert_allclose(found, expected, atol=1e-9 * scale, rtol=1e-9)
    by_feature = explain.feature_losses(X, labels, representation=representation)
    np.testing.assert_allclose(by_feature.sum(axis=1), expected, atol=1e-9 * scale)
    if kind in PROJECTIONS:
        assert (found >= -1e-9 * scale).all()
    fitted = MaxDisparityPartition(representation=representation, group_size=8, random_state=0)
    fitted.fit(X)
    expected = naive.given_losses(X, fitted.labels_, estimator, d, origin)
    np.testing.assert_allclose(fitted.losses_, expected, atol=1e-9 * scale)
    adds = fitted.loss_samples(X)
    for side in (0, 1):
        rows_of = adds[fitted.labels_ == side, side]
        assert rows_of.mean() == pytest.approx(expected[side], abs=1e-9 * scale)
    assert fitted.n_components_ == d
    if kind != "fractions":  # weights that all come out as 1 are a projection, too
        assert hasattr(fitted, "components_") == (kind in PROJECTIONS)


@pytest.mark.parametrize("kind", PROJECTIONS + OTHERS)
def test_tiny_tables_have_their_best_group_below_the_bound(kind):
    hits = 0
    for seed in range(6):
        X, _ = rows(seed, m=11, n=4)
        representation, estimator, d, origin = case(kind, X, rows(seed + 50, m=30, n=4)[0])
        best = naive.best_of_all_under(X, estimator, d, origin, 4)
        found = MaxDisparityPartition(representation=representation, group_size=4, random_state=0)
        value = found.fit(X).disparity_
        scale = np.sum((X - origin) ** 2, axis=1).max()
        assert value <= best + 1e-9 * scale
        assert found.bound_ >= best - 1e-9 * scale
        hits += value >= best - 1e-9 * scale
    assert hits >= 5


@pytest.mark.parametrize("solver", ["greedy", "annealing", "sorting"])
@pytest.mark.parametrize("kind", ["elsewhere", "NMF"])
def test_every_solver_takes_one(kind, solver):
    X, _ = rows(3)
    representation, estimator, d, origin = case(kind, X, rows(4)[0])
    found = MaxDisparityPartition(
        representation=representation, min_group_size=8, solver=solver, random_state=0
    ).fit(X)
    rest, group = naive.given_losses(X, found.labels_, estimator, d, origin)
    assert found.disparity_ == pytest.approx(group - rest, abs=1e-9)
    assert 0 <= found.disparity_ <= found.bound_ + 1e-9


@pytest.mark.parametrize("shape", [(60, 8), (300, 220), (40, 70)])
def test_the_tables_own_pca_given_is_the_same_as_none(shape):
    rng = np.random.default_rng(1)
    X = rng.normal(size=shape) * rng.gamma(1.0, 1.0, shape[1])
    X[:10] *= 2.0
    options = {"group_size": 10, "random_state": 0}
    own = MaxDisparityPartition(3, **options).fit(X)
    pca = PCA(3, svd_solver="full").fit(X)
    found = MaxDisparityPartition(representation=pca, **options).fit(X)
    assert np.array_equal(own.labels_, found.labels_)
    np.testing.assert_allclose(found.losses_, own.losses_, rtol=1e-9, atol=1e-9)
    assert found.bound_ == pytest.approx(own.bound_, rel=1e-6)
    np.testing.assert_allclose(found.retained_, own.retained_, rtol=1e-9)
    np.testing.assert_allclose(found.score_samples(X), own.score_samples(X), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("kind", ["elsewhere", "NMF"])
def test_several_groups_take_one(kind):
    X, _ = rows(5, m=80)
    representation, estimator, d, origin = case(kind, X, rows(6)[0])
    found = MaxDisparityPartition(
        representation=representation, n_groups=2, group_size=[8, 12], random_state=0
    ).fit(X)
    expected = naive.given_losses(X, found.labels_, estimator, d, origin)
    np.testing.assert_allclose(found.losses_, expected, atol=1e-9)


@pytest.mark.parametrize("kind", ["elsewhere", "fractions", "autoencoder"])
def test_known_and_named_groups_take_one(kind):
    X, labels = rows(7, m=200, n=5)
    representation, estimator, d, origin = case(kind, X, rows(8, m=200)[0])
    expected = naive.given_losses(X, labels, estimator, d, origin)
    known = known_groups(X, {"side": labels}, representation=representation, permutations=19)
    assert [group.loss for group in known.groups] == pytest.approx(expected, abs=1e-9)
    assert [group.rest_loss for group in known.groups] == pytest.approx(expected[::-1], abs=1e-9)
    table = pd.DataFrame({"side": np.where(labels, "left", "right"), "x": X[:, 0] > 3})
    named = named_groups(X, table, representation=representation, depth=1)
    for group in named:
        rest, loss = naive.given_losses(X, group.mask.astype(int), estimator, d, origin)
        assert (group.loss, group.rest_loss) == pytest.approx((loss, rest), abs=1e-9)
        assert group.worth == pytest.approx(group.size**0.5 * (loss - rest), abs=1e-9)
    best = max(
        mask.sum() ** 0.5 * np.diff(naive.given_losses(X, mask.astype(int), estimator, d, origin))
        for mask in (labels == 1, labels == 0, X[:, 0] > 3, X[:, 0] <= 3)
        if 30 <= mask.sum() <= 170
    )
    if best > 0:
        assert named[0].worth == pytest.approx(best, abs=1e-9)


@pytest.mark.parametrize("kind", ["elsewhere", "NMF"])
def test_cross_fitted_losses_keep_what_is_given(kind):
    X, labels = rows(9, m=60)
    representation, estimator, d, origin = case(kind, X, rows(10)[0])
    rng = np.random.default_rng(0)
    folds = np.random.default_rng(0).permutation(60) % 5
    mask = labels == 1
    problem = build_problem(X, d, representation=representation).problem
    (found,) = cross_fitted(problem, [mask], rng=rng, folds=5)
    made = estimator.inverse_transform(estimator.transform(X))
    losses = []
    for row in np.flatnonzero(mask):
        W = naive.components(X[mask & (folds != folds[row])] - origin, d, about_mean=False)
        x = X[row] - origin
        own = np.sum((x - x @ W @ W.T) ** 2)
        losses.append(np.sum((X[row] - made[row]) ** 2) - own)
    assert found.held_out == pytest.approx(np.mean(losses), abs=1e-9)
    assert found.loss.low <= found.loss.value <= found.loss.high


def test_a_pipeline_is_audited_on_what_its_last_step_sees():
    X, _ = rows(11, m=80)
    table = pd.DataFrame(X * [1, 10, 100, 1000, 1], columns=list("abcde"))
    pipeline = make_pipeline(StandardScaler(), PCA(2)).fit(table)
    options = {"group_size": 10, "random_state": 0}
    found = MaxDisparityPartition(representation=pipeline, **options).fit(table)
    inside = MaxDisparityPartition(representation=pipeline[-1], **options)
    inside.fit(pipeline[:-1].transform(table))
    assert np.array_equal(found.labels_, inside.labels_)
    assert np.array_equal(found.predict(table), inside.predict(pipeline[:-1].transform(table)))


def test_a_clone_keeps_the_fitted_representation_and_pickles():
    X, _ = rows(12)
    for fitted in (PCA(2).fit(X), NMF(2, max_iter=2000, tol=1e-3).fit(X)):
        search = MaxDisparityPartition(representation=fitted, group_size=8, random_state=0)
        assert clone(search).representation is fitted
        search.fit(X)
        again = pickle.loads(pickle.dumps(search))
        assert np.array_equal(again.predict(X), search.predict(X))


def test_names_of_features_are_passed_on():
    X = pd.DataFrame(rows(13)[0], columns=list("abcde"))
    fitted = NMF(2, max_iter=2000, tol=1e-3).fit(X)  # would warn of an array
    assert MaxDisparityPartition(representation=fitted, group_size=8).fit(X).disparity_ > 0


def test_refusals():
    X, labels = rows(15)
    bad = [
        (PCA(2), "not fitted"),
        (PCA(2).fit(X[:, :4]), "has 4 features, but the table has 5"),
        (PCA(5).fit(X), "nothing is left out"),
        (StandardScaler, "a fitted transformer"),
        ("pca", "a fitted transformer"),
        (np.eye(5)[:2], "a fitted transformer"),
    ]
    for representation, words in bad:
        for call in (
            lambda r=representation: group_losses(X, labels, representation=r),
            lambda r=representation: MaxDisparityPartition(representation=r, group_size=8).fit(X),
        ):
            with pytest.raises(InputError, match=words):
                call()
    with pytest.raises(InputError, match="audited by the loss 'excess'"):
        MaxDisparityPartition(
            representation=PCA(2).fit(X), group_size=8, loss="projection_gap"
        ).fit(X)

    class Strange(Projected):
        n_features_in_ = 5

        def inverse_transform(self, Z):
            return Z

    strange = Strange(np.eye(5)[:2], 0.0)
    with pytest.raises(InputError, match="must have the shape of X"):
        group_losses(X, labels, representation=strange)


def test_as_representation_says_what_it_is():
    X, _ = rows(16)
    assert as_representation(PCA(2).fit(X)).name == "PCA"
    assert as_representation(TruncatedSVD(2).fit(X)).origin.tolist() == [0.0] * 5
