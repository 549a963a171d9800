"""FairPCA as people use it."""

from __future__ import annotations

import pickle
import warnings
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import sklearn
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import leftout
import naive
import paper_data
import tolerances
from leftout import FairPCA, MaxDisparityPartition, datasets
from leftout.fair.estimator import warn_if_open

ESTIMATORS = [FairPCA(), FairPCA(1, centering="none")]


@pytest.mark.filterwarnings("ignore:Can't check dok sparse matrix:UserWarning")
@parametrize_with_checks(ESTIMATORS)
def test_sklearn_contract(estimator, check):
    check(estimator)


def table(seed=0, m=240, n=7, k=2):
    rng = np.random.default_rng(seed)
    groups = np.sort(rng.integers(0, k, m))
    groups[:k] = np.arange(k)
    turns = [rng.normal(size=(n, n)) * rng.gamma(1.0, 1.0, n) for _ in range(k)]
    X = np.stack([rng.normal(size=n) @ turns[g] for g in groups]) + rng.normal(size=n)
    return X, groups


def fractional():
    """A table whose optimum needs more dimensions than asked."""
    for seed in range(100):
        X, groups = table(seed, k=6, n=5)
        fair = FairPCA(2).fit(X, groups=groups)
        if fair.n_components_ > 2:
            return X, groups, fair
    raise AssertionError("no such table")


@pytest.mark.parametrize("centering", ["global", "none"])
@pytest.mark.parametrize("k", [2, 3])
def test_losses_are_what_the_definition_says(centering, k):
    X, groups = table(k=k)
    fair = FairPCA(3, centering=centering).fit(X, groups=groups)
    second = naive.averages(X, groups, centering)
    best = naive.own_best(second, 3)
    rounding = tolerances.of_losses(second, 3)
    np.testing.assert_allclose(
        fair.baseline_losses_, naive.group_losses(X, groups, 3, centering=centering), rtol=1e-9
    )
    F = (fair.components_.T * fair.component_weights_) @ fair.components_
    np.testing.assert_allclose(fair.losses_, best - np.einsum("gij,ij->g", second, F), rtol=1e-9)
    assert fair.max_loss_ == fair.losses_.max()
    assert fair.gap_ == pytest.approx(fair.max_loss_ - fair.dual_bound_, rel=1e-9, abs=rounding)
    assert 0 <= fair.gap_ <= 1e-9
    np.testing.assert_allclose(fair.components_ @ fair.components_.T, np.eye(3), atol=1e-12)
    assert fair.sizes_.tolist() == np.bincount(groups).tolist()
    assert fair.groups_.tolist() == list(range(k))
    assert fair.group_weights_.sum() == pytest.approx(1.0)
    seen = naive.seen_by_pca(X, centering)
    kept = np.sum((seen @ fair.components_.T) ** 2) / np.sum(seen**2)
    assert fair.explained_variance_ratio_.sum() == pytest.approx(kept)
    assert (np.diff(fair.explained_variance_ratio_) <= 1e-12).all()
    shared = naive.shared_basis(X, 3, centering)
    assert fair.price_ == pytest.approx(np.sum((seen @ shared) ** 2) / np.sum(seen**2) - kept)
    variances = np.trace(second, axis1=1, axis2=2)
    np.testing.assert_allclose(fair.retained_, (best - fair.losses_) / variances)
    np.testing.assert_allclose(fair.baseline_retained_, (best - fair.baseline_losses_) / variances)
    assert fair.max_loss_ == pytest.approx(naive.fair_optimum(second, best, 3), rel=1e-6)


def test_one_group_is_ordinary_pca():
    X, _ = table()
    fair, plain = FairPCA(3).fit(X), PCA(3).fit(X)
    np.testing.assert_allclose(np.abs(fair.components_), np.abs(plain.components_), atol=1e-10)
    np.testing.assert_allclose(
        fair.explained_variance_ratio_, plain.explained_variance_ratio_, rtol=1e-10
    )
    np.testing.assert_allclose(np.abs(fair.transform(X)), np.abs(plain.transform(X)), atol=1e-9)
    rounding = tolerances.of_losses(naive.averages(X, np.zeros(len(X))), 3)
    np.testing.assert_allclose(fair.losses_, 0.0, atol=rounding)
    assert fair.groups_.tolist() == [0] and fair.price_ == pytest.approx(0.0, abs=1e-12)
    same = FairPCA(3).fit(X, groups=["everybody"] * len(X))
    np.testing.assert_array_equal(same.components_, fair.components_)
    assert same.groups_.tolist() == ["everybody"]


def test_share_of_variance_chooses_the_components_as_the_search_does():
    X, groups = table()
    fair = FairPCA(0.8).fit(X, groups=groups)
    found = MaxDisparityPartition(0.8, group_size=60, random_state=0).fit(X)
    assert fair.n_components_ == found.n_components_
    assert FairPCA(0.999999).fit(X, groups=groups).n_components_ <= 7


def test_coordinates_and_back():
    X, groups = table()
    fair = FairPCA(3).fit(X, groups=groups)
    Z = fair.transform(X)
    np.testing.assert_allclose(Z, (X - X.mean(axis=0)) @ fair.components_.T, atol=1e-10)
    errors = np.sum((X - fair.inverse_transform(Z)) ** 2, axis=1)
    for g in (0, 1):
        own = naive.components(X[groups == g] - X.mean(axis=0), 3, about_mean=False)
        rows = X[groups == g] - X.mean(axis=0)
        least = np.sum((rows - rows @ own @ own.T) ** 2) / len(rows)
        assert errors[groups == g].mean() - least == pytest.approx(fair.losses_[g], rel=1e-8)
    np.testing.assert_array_equal(clone(fair).fit_transform(X, groups=groups), Z)
    with pytest.raises(ValueError, match="Found 2 coordinates per row, but there are 3 components"):
        fair.inverse_transform(Z[:, :2])


def test_more_dimensions_than_asked_keep_the_promise_of_the_losses():
    X, groups, fair = fractional()
    d, extra = 2, int(np.floor(np.sqrt(2 * 6 + 0.25) - 1.5))
    assert d < fair.n_components_ <= d + extra
    weights = fair.component_weights_
    assert weights.sum() == pytest.approx(d) and (weights > 0).all() and (weights <= 1).all()
    assert fair.rank_d_components_.shape == (d, X.shape[1])
    assert fair.rank_d_losses_.max() > fair.max_loss_
    errors = np.sum((X - fair.inverse_transform(fair.transform(X))) ** 2, axis=1)
    second = naive.averages(X, groups)
    least = np.trace(second, axis1=1, axis2=2) - naive.own_best(second, d)
    measured = np.array([errors[groups == g].mean() for g in range(6)]) - least
    np.testing.assert_allclose(measured, fair.losses_, atol=1e-9)
    fair.fit(X, groups=groups > 2)  # what no longer holds goes away
    assert not hasattr(fair, "rank_d_losses_") and not hasattr(fair, "rank_d_components_")
    assert fair.n_components_ == d


@given(st.integers(0, 1000), st.integers(2, 3))
def test_what_does_not_matter_does_not_matter(seed, k):
    X, groups = table(seed, m=60, n=5, k=k)
    rng = np.random.default_rng(seed)
    fair = FairPCA(2).fit(X, groups=groups)

    def same(other, factor=1.0, order=slice(None)):
        np.testing.assert_allclose(
            other.losses_[order], factor * fair.losses_, rtol=1e-6, atol=1e-9 * factor
        )

    order = rng.permutation(len(X))
    same(FairPCA(2).fit(X[order], groups=groups[order]))
    same(FairPCA(2).fit(X + 7.0, groups=groups))
    same(FairPCA(2).fit(X @ np.linalg.qr(rng.normal(size=(5, 5)))[0], groups=groups))
    same(FairPCA(2).fit(np.vstack([X, X]), groups=np.tile(groups, 2)))
    same(FairPCA(2).fit(1000.0 * X, groups=groups), factor=1e6)
    names = np.array(["c", "b", "a"])[groups]
    same(FairPCA(2).fit(X, groups=names), order=slice(None, None, -1))


def test_many_features_need_no_matrix_of_their_size():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 40_000)) * np.geomspace(3.0, 0.01, 40_000)  # n x n takes 13 GB
    groups = np.arange(30) % 2
    fair = FairPCA(4).fit(X, groups=groups)
    assert fair.gap_ <= 1e-9 * fair.max_loss_ and fair.components_.shape == (4, 40_000)
    np.testing.assert_allclose(fair.components_ @ fair.components_.T, np.eye(4), atol=1e-10)
    rows = X - X.mean(axis=0)
    for g in (0, 1):
        G = rows[groups == g]
        own = np.linalg.svd(G, compute_uv=False)[:4]
        loss = (np.sum(own**2) - np.sum((G @ fair.components_.T) ** 2)) / len(G)
        assert loss == pytest.approx(fair.losses_[g], rel=1e-8)


def test_tables_and_labels_of_every_kind():
    X, groups = table()
    fair = FairPCA(3).fit(X, groups=groups)
    names = [f"c{j}" for j in range(X.shape[1])]
    words = np.array(["east", "west"])[groups]
    frame = pd.DataFrame(X, columns=names)
    for data, labels in (
        (frame, pd.Series(words)),
        (frame, pd.Series(words, dtype="category")),
        (frame, pd.Series(words, dtype="string")),
        (pl.DataFrame(X, schema=names), pl.Series(words)),
        (pa.table(dict(zip(names, X.T, strict=True))), pa.array(words)),
        (X, groups.astype(bool)),
        (X, groups.astype(float)),
        (X, list(words)),
        (X, groups.astype(np.uint8)),
        (X, groups * 10**12),
    ):
        other = FairPCA(3).fit(data, groups=labels)
        np.testing.assert_allclose(other.losses_, fair.losses_, rtol=1e-9)
        assert len(other.groups_) == 2
    unused = pd.Categorical(words, categories=["east", "north", "west"])
    assert FairPCA(3).fit(X, groups=unused).groups_.tolist() == ["east", "west"]


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (lambda g: g[:-1], "one label per row is needed"),
        (lambda g: g[:, None], "one label per row is needed"),
        (lambda g: np.where(g, np.nan, 1.0), "missing labels; every row needs a group"),
        (lambda g: [None, *g[1:]], "1 missing labels"),
        (lambda g: pd.Series(np.where(g, "a", None), dtype="string"), "missing labels"),
    ],
)
def test_labels_that_cannot_be_groups_are_refused(labels, message):
    X, groups = table()
    given = labels(groups)
    if isinstance(given, list):
        given = np.array(given, dtype=object)
    with pytest.raises(ValueError, match=message):
        FairPCA(2).fit(X, groups=given)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_components": 0}, "n_components=0 is out of range; choose from 1 to 7"),
        ({"n_components": 8}, "n_components=8 is out of range; choose from 1 to 7"),
        ({"n_components": 1.5}, "neither a number of components"),
        ({"n_components": "all"}, "neither a number of components"),
        ({"n_components": True}, "neither a number of components"),
        ({"centering": "globe"}, "Did you mean 'global'"),
        ({"tol": 0.0}, "tol=0.0 is not a tolerance"),
        ({"tol": "small"}, "tol='small' is not a tolerance"),
    ],
)
def test_options_that_make_no_sense_are_refused(options, message):
    X, groups = table()
    with pytest.raises(ValueError, match=message):
        FairPCA(**options).fit(X, groups=groups)


def test_tables_that_cannot_be_projected_are_refused():
    X, groups = table()
    for bad, message in ((np.nan, "contains NaN"), (np.inf, "contains infinity")):
        broken = X.copy()
        broken[3, 2] = bad
        with pytest.raises(ValueError, match=f"{message}: 1 of 1680 values, the first in row 3"):
            FairPCA(2).fit(broken, groups=groups)
        with pytest.raises(ValueError, match=message):
            FairPCA(2).fit(X, groups=groups).transform(broken)
    for data in (np.ones_like(X), 1e200 * X, 1e-200 * X):
        with pytest.raises(ValueError, match="There is no variance to represent"):
            FairPCA(2).fit(data, groups=groups)
    with pytest.raises(ValueError, match="1 sample"):
        FairPCA(1).fit(X[:1], groups=groups[:1])


def test_small_groups_and_all_dimensions():
    X, groups = table()
    alone = groups * 0
    alone[5] = 1
    fair = FairPCA(3).fit(X, groups=alone)  # one row: its own PCA keeps all of it
    row = X[5] - X.mean(axis=0)
    assert fair.losses_[1] == pytest.approx(
        np.sum((row - fair.components_.T @ (fair.components_ @ row)) ** 2), rel=1e-9
    )
    assert fair.losses_[0] == pytest.approx(fair.losses_[1], abs=1e-10) and fair.gap_ <= 1e-9
    few = groups * 0
    few[:3] = 1
    fair = FairPCA(5).fit(X, groups=few)  # fewer rows than components
    assert fair.losses_[0] == pytest.approx(fair.losses_[1], abs=1e-10) and fair.gap_ <= 1e-9
    for k, labels in ((2, groups), (3, np.arange(len(X)) % 3)):
        every = FairPCA(7).fit(X, groups=labels)
        np.testing.assert_allclose(every.losses_, np.zeros(k), atol=1e-10)
        np.testing.assert_allclose(every.inverse_transform(every.transform(X)), X, atol=1e-9)
    flat = X.copy()
    flat[:, 4:] = flat[:, :3]  # rank 4
    for labels in (groups, np.arange(len(X)) % 3):
        at_rank = FairPCA(4).fit(flat, groups=labels)
        np.testing.assert_allclose(at_rank.losses_, 0.0, atol=1e-10)
        assert at_rank.n_components_ == 4
    own = FairPCA(2).fit(X[:12], groups=np.arange(12))  # every row its own group
    assert own.gap_ <= 1e-6 * own.max_loss_


def test_it_lives_in_pipelines_and_names_its_columns():
    X, groups = table()
    frame = pd.DataFrame(X, columns=[f"c{j}" for j in range(X.shape[1])])
    y = X[:, 0] > X[:, 0].mean()
    pipe = make_pipeline(StandardScaler(), FairPCA(3), LogisticRegression())
    pipe.fit(frame, y, fairpca__groups=groups)
    assert pipe[1].groups_.tolist() == [0, 1] and pipe.predict(frame).shape == y.shape
    assert pipe[:-1].get_feature_names_out().tolist() == ["fairpca0", "fairpca1", "fairpca2"]
    fair = FairPCA(2).set_output(transform="pandas").fit(frame, groups=groups)
    out = fair.transform(frame)
    assert list(out) == ["fairpca0", "fairpca1"] and out.index.equals(frame.index)
    again = pickle.loads(pickle.dumps(fair))
    pd.testing.assert_frame_equal(again.transform(frame), out)
    with pytest.raises(ValueError, match="feature names"):
        fair.transform(frame.rename(columns={"c0": "other"}))
    with pytest.raises(ValueError, match="7 features"):
        FairPCA(2).fit(X).transform(X[:, :5])


def test_groups_are_routed_as_metadata():
    X, groups = table()
    y = X[:, 0] > X[:, 0].mean()
    with sklearn.config_context(enable_metadata_routing=True):
        fair = FairPCA(3).set_fit_request(groups=True)
        pipe = make_pipeline(StandardScaler(), fair, LogisticRegression())
        pipe.fit(X, y, groups=groups)
        assert pipe[1].groups_.tolist() == [0, 1]
        np.testing.assert_array_equal(
            clone(fair).fit_transform(X, groups=groups),
            clone(fair).fit(X, groups=groups).transform(X),
        )
        with pytest.raises(sklearn.exceptions.UnsetMetadataPassedError):
            make_pipeline(StandardScaler(), FairPCA(3)).fit(X, groups=groups)


def test_a_found_group_is_mended():
    X, _ = datasets.make_planted(400, 12, 3, 100, random_state=0)
    found = MaxDisparityPartition(3, group_size=100, random_state=0).fit(X)
    fair = FairPCA(3).fit(X, groups=found.labels_)
    np.testing.assert_allclose(fair.baseline_losses_, found.losses_, rtol=1e-9)
    assert leftout.disparity(X, found.labels_, 3) == pytest.approx(found.disparity_)
    assert abs(fair.losses_[1] - fair.losses_[0]) < 1e-10 < found.disparity_
    assert found.losses_[0] < fair.max_loss_ < found.losses_[1]


@pytest.fixture(scope="module")
def credit():
    """The credit table as the literature uses it: scaled, each group about its own mean."""
    reason = paper_data.missing()
    if reason:
        pytest.skip(reason)
    raw = pd.read_csv(paper_data.FOLDER / paper_data.SOURCES["credit"].file)
    X = raw.drop(columns=["ID", "default payment next month", "EDUCATION"]).to_numpy(float)
    X = (X - X.mean(axis=0)) / X.std(axis=0, ddof=1)
    return X, raw


def each_about_its_mean(X, labels):
    X = X.copy()
    for g in np.unique(labels):
        X[labels == g] -= X[labels == g].mean(axis=0)
    return X


@pytest.mark.parametrize(
    ("d", "loss"), [(2, 0.0221942), (5, 0.0503315), (10, 0.2836284), (15, 0.0080516)]
)
def test_credit_reaches_the_known_optima(credit, d, loss):
    X, raw = credit
    higher = raw["EDUCATION"].isin([1, 2]).to_numpy()
    fair = FairPCA(d).fit(each_about_its_mean(X, higher), groups=higher)
    assert fair.max_loss_ == pytest.approx(loss, abs=5e-8)
    assert abs(fair.losses_[0] - fair.losses_[1]) < 1e-10 and fair.gap_ < 1e-9
    assert fair.components_.shape == (d, 22)
    assert np.linalg.matrix_rank(fair.components_) == d


@pytest.mark.parametrize("d", [2, 7, 12])
def test_credit_by_education_and_sex(credit, d):
    X, raw = credit
    labels = (raw["EDUCATION"].clip(1, 4).astype(str) + "/" + raw["SEX"].astype(str)).to_numpy()
    X = each_about_its_mean(X, labels)
    fair = FairPCA(d).fit(X, groups=labels)
    k = len(fair.groups_)
    assert k == 8 and fair.gap_ <= 1e-6
    assert d <= fair.n_components_ <= d + int(np.floor(np.sqrt(2 * k + 0.25) - 1.5))
    second = naive.averages(X, labels, "none")
    optimum = naive.fair_optimum(second, naive.own_best(second, d), d)
    assert fair.max_loss_ == pytest.approx(optimum, rel=1e-6)


def test_the_papers_three_settings(students):
    raw = paper_data.sample("students")
    found = MaxDisparityPartition(9, group_size=180, random_state=0, n_jobs=-1).fit(students)
    grade = raw["Curricular units 2nd sem (grade)"]
    settings = {
        "found": found.labels_,
        "daytime": (raw["Daytime/evening attendance"] == 1).to_numpy(),
        "unpaid": ((grade < grade.median()) & (raw["Tuition fees up to date"] == 0)).to_numpy(),
    }
    for labels in settings.values():
        fair = FairPCA(9).fit(students, groups=labels)
        assert fair.n_components_ == 9 and fair.gap_ <= 1e-9
        assert abs(fair.losses_[0] - fair.losses_[1]) < 1e-10
        low, high = np.sort(fair.baseline_losses_)
        assert low < fair.max_loss_ < high  # never both below: one group pays
        assert 0.0 < fair.price_ < 0.1


def of_variances(*groups):
    """Rows of groups with these variances along the axes."""
    parts = [np.diag(np.sqrt(np.asarray(v, float) * len(v))) for v in groups]
    X = np.vstack([half for part in parts for half in (part, -part)])
    return X, np.repeat(np.arange(len(parts)), [2 * len(part) for part in parts])


def test_ties_along_the_axes_do_not_stop_the_search():
    X, groups = of_variances([2, 0, 2, 1, 0, 2], [0, 2, 3, 2, 2, 0])
    fair = FairPCA(3).fit(X, groups=groups)
    assert fair.gap_ <= 1e-9
    rng = np.random.default_rng(0)
    for _ in range(60):
        n, k = int(rng.integers(2, 7)), int(rng.integers(2, 6))
        variances = rng.integers(0, 3, (k, n))
        variances[0, 0] = 1
        X, groups = of_variances(*variances)
        d = int(rng.integers(1, n + 1))
        assert FairPCA(d).fit(X, groups=groups).gap_ <= 1e-9


def test_all_dimensions_are_proved():
    X, groups = table(k=3)
    rounding = tolerances.of_losses(naive.averages(X, groups), 7)  # no group loses anything
    assert FairPCA(7).fit(X, groups=groups).gap_ <= rounding


def test_columns_of_all_scales_never_fare_worse_than_ordinary_pca():
    rng = np.random.default_rng(1)
    for k in (2, 3, 6):
        groups = np.r_[np.arange(k), rng.integers(0, k, 400 - k)]
        X = rng.normal(size=(400, 10)) * [1e4, 1e3, 1e2, 10, 5, 1, 1, 0.5, 0.3, 0.1]
        for g in range(k):
            X[groups == g] *= rng.exponential(1, 10) + 0.3
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            fair = FairPCA(9).fit(X, groups=groups)
        assert fair.max_loss_ <= fair.baseline_losses_.max()
        if hasattr(fair, "rank_d_losses_"):
            assert fair.max_loss_ <= fair.rank_d_losses_.max()


def test_a_gap_that_stays_open_is_told():
    with pytest.warns(ConvergenceWarning, match="stayed at 0.1 .20% of it., above the tolerance"):
        warn_if_open(0.1, 0.5, 1e-9, 1.0)
    warn_if_open(1e-13, 1e-6, 1e-9, 1.0)  # rounding


def test_labels_at_the_ends_of_their_type():
    X, groups = table()
    fair = FairPCA(3).fit(X, groups=groups)
    for labels in (
        np.where(groups, 100, -100).astype(np.int8),
        np.where(groups, 2**62, -(2**62)),
        (np.uint64(2**64 - 3) + groups.astype(np.uint64)),
        np.iinfo(np.int64).min + groups,
    ):
        other = FairPCA(3).fit(X, groups=labels)
        assert other.groups_.tolist() == np.unique(labels).tolist()
        assert other.groups_.dtype == np.asarray(labels).dtype
        np.testing.assert_allclose(other.losses_, fair.losses_, rtol=1e-9)


def test_any_share_is_a_share():
    X, groups = table()
    share = FairPCA(Fraction(4, 5)).fit(X, groups=groups)
    assert share.n_components_ == FairPCA(0.8).fit(X, groups=groups).n_components_


@given(st.integers(0, 2**32 - 1), st.integers(1, 3), st.sampled_from([1.0, 3.7e9]))
def test_weights_are_repeated_rows_in_any_unit(seed, k, unit):
    X, groups = table(seed % 1000, m=90, k=k)
    weights = np.random.default_rng(seed).integers(0, 4, 90)
    weights[:k] += 1  # no group without a row that counts
    again, sides = naive.repeated(weights, X, groups)
    found = FairPCA(2).fit(X, groups=groups, sample_weight=unit * weights)
    want = FairPCA(2).fit(again, groups=sides)
    scale = want.variance_
    np.testing.assert_allclose(found.mean_, want.mean_, atol=1e-9 * np.sqrt(scale))
    for name in ("losses_", "baseline_losses_", "max_loss_", "dual_bound_", "price_"):
        np.testing.assert_allclose(
            getattr(found, name), getattr(want, name), rtol=1e-9, atol=2e-9 * scale
        )
    assert found.sizes_.tolist() == np.bincount(groups[weights > 0]).tolist()


def test_components_by_weight_are_those_of_repeated_rows():
    X, groups = datasets.make_planted(300, 9, 3, 80, random_state=0)
    weights = np.random.default_rng(0).integers(1, 5, 300)
    again, sides = naive.repeated(weights, X, groups)
    found = FairPCA(3).fit(X, groups=groups, sample_weight=weights)
    want = FairPCA(3).fit(again, groups=sides)
    np.testing.assert_allclose(
        found.components_.T @ found.components_, want.components_.T @ want.components_, atol=1e-9
    )
    equal = FairPCA(3).fit(X, groups=groups, sample_weight=np.full(300, 0.3))
    plain = FairPCA(3).fit(X, groups=groups)
    assert np.array_equal(equal.components_, plain.components_)
