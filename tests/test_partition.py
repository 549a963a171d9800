"""The estimator people use."""

from __future__ import annotations

import pickle
import warnings
from itertools import product

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.decomposition import NMF, PCA
from sklearn.utils.estimator_checks import parametrize_with_checks

import leftout
import naive
import tolerances
from leftout import MaxDisparityPartition, datasets
from leftout.groups.sizes import check_size
from leftout.linalg.losses import CENTERINGS, LOSSES
from leftout.solvers import SOLVERS, Alternating, Greedy

ESTIMATORS = [MaxDisparityPartition(solver=name) for name in SOLVERS]
ESTIMATORS += [MaxDisparityPartition(n_groups=2)]
QUICK = Alternating(n_starts=12)


def not_by_weight(estimator):
    """Sizes are shares of rows that weigh as much, and only the default search takes weights."""
    failed = [f"check_sample_weight_equivalence_on_{kind}_data" for kind in ("dense", "sparse")]
    if estimator.solver != "alternating" or estimator.n_groups != 1:
        failed.append("check_sample_weights_not_overwritten")
    return dict.fromkeys(failed, "refused, or sizes are counted in rows")


# the contract's tables are tiny: the default minimum size is cut, and so are all dimensions
@pytest.mark.filterwarnings("ignore:The default minimum group size:UserWarning")
@pytest.mark.filterwarnings("ignore:More than 0.8 of the variance:UserWarning")
@pytest.mark.filterwarnings("ignore:Can't check dok sparse matrix:UserWarning")
@parametrize_with_checks(ESTIMATORS, expected_failed_checks=not_by_weight)
def test_sklearn_contract(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def fitted(request):
    X, _ = datasets.make_planted(300, 8, 2, 60, random_state=1)
    return X + 0.5, MaxDisparityPartition(2, min_group_size=40, random_state=0).fit(X + 0.5)


def test_fitted_attributes_agree_with_each_other(fitted):
    X, found = fitted
    assert found.labels_.shape == (300,) and set(found.labels_) == {0, 1}
    assert found.sizes_.tolist() == np.bincount(found.labels_).tolist()
    np.testing.assert_allclose(found.losses_, naive.group_losses(X, found.labels_, 2), rtol=1e-9)
    assert found.disparity_ == found.losses_[1] - found.losses_[0] > 0
    assert found.disparity_ <= found.bound_
    assert found.n_components_ == 2 and found.components_.shape == (2, 8)
    np.testing.assert_allclose(found.mean_, X.mean(axis=0), rtol=1e-12)
    assert found.history_["disparity"][-1] == pytest.approx(found.disparity_, rel=1e-12)
    assert found.stopped_ == "local optimum"
    assert not hasattr(found, "epoch_labels_")


def test_bound_is_settled_before_an_estimator_travels(fitted):
    X, found = fitted
    again = clone(found).fit(X)
    assert again._uncertified is not None  # a bound is only computed when somebody reads it
    copy = pickle.loads(pickle.dumps(again))
    assert copy._uncertified is None and copy.bound_ == again.bound_ == found.bound_
    with pytest.raises(AttributeError):
        MaxDisparityPartition().bound_  # noqa: B018


def test_shared_pca_is_scikit_learns(fitted):
    from sklearn.decomposition import PCA

    X, found = fitted
    pca = PCA(2, svd_solver="full").fit(X)
    np.testing.assert_allclose(
        found.components_.T @ found.components_, pca.components_.T @ pca.components_, atol=1e-9
    )
    np.testing.assert_allclose(
        found.explained_variance_ratio_, pca.explained_variance_ratio_, rtol=1e-9
    )


def test_retained_shares_are_the_definition(fitted):
    X, found = fitted
    centred, V = X - X.mean(axis=0), naive.shared_basis(X, 2, "global")
    for side in (0, 1):
        G = centred[found.labels_ == side]
        W = naive.components(G, 2, about_mean=False)
        for got, basis in ((found.retained_, V), (found.retained_own_, W)):
            np.testing.assert_allclose(got[side], np.sum((G @ basis) ** 2) / np.sum(G**2))
    assert np.all(found.retained_own_ >= found.retained_)


@pytest.mark.parametrize(
    ("loss", "centering"), sorted({*product(LOSSES, CENTERINGS)} - {("excess", "paper")})
)
def test_losses_under_every_choice(loss, centering, mixed):
    found = MaxDisparityPartition(
        3, min_group_size=30, loss=loss, centering=centering, solver=QUICK, random_state=0
    ).fit(mixed)
    want = naive.group_losses(mixed, found.labels_, 3, loss, centering)
    np.testing.assert_allclose(found.losses_, want, rtol=1e-8)
    gap = leftout.disparity(mixed, found.labels_, 3, loss=loss, centering=centering)
    assert found.disparity_ == pytest.approx(gap, rel=1e-9)
    agreement = np.mean(found.predict(mixed) == found.labels_)
    # elsewhere the best partition need not be a set of highest scores
    assert agreement > (0.99 if loss == "excess" else 0.5)


def test_new_rows_of_the_planted_kind_are_predicted():
    X, planted = datasets.make_planted(600, 10, 2, 120, random_state=3)
    half = np.arange(600) % 2 == 0
    found = MaxDisparityPartition(2, group_size=int(planted[half].sum()), random_state=0)
    found.fit(X[half])
    new = found.predict(X[~half])
    assert np.mean(new == planted[~half]) > 0.97
    scores = found.score_samples(X[~half])
    np.testing.assert_array_equal(new, scores > found.offset_)
    assert scores[planted[~half] == 1].min() > np.median(scores[planted[~half] == 0])


def test_fit_predict_and_refit(mixed):
    search = MaxDisparityPartition(3, min_group_size=30, solver=QUICK, random_state=0)
    labels = search.fit_predict(mixed)
    np.testing.assert_array_equal(labels, search.labels_)
    np.testing.assert_array_equal(labels, clone(search).fit(mixed).labels_)
    again = pickle.loads(pickle.dumps(search))
    np.testing.assert_array_equal(again.predict(mixed), search.predict(mixed))


@pytest.mark.parametrize("seed", [np.random.RandomState(1), np.random.default_rng(1), None])
def test_every_kind_of_random_state(mixed, seed):
    found = MaxDisparityPartition(3, min_group_size=30, solver=QUICK, random_state=seed).fit(mixed)
    assert found.sizes_.min() >= 30


def test_n_jobs_changes_nothing(mixed):
    one, two = (
        MaxDisparityPartition(3, min_group_size=30, random_state=5, n_jobs=jobs).fit(mixed)
        for jobs in (None, 2)
    )
    np.testing.assert_array_equal(one.labels_, two.labels_)
    assert one.disparity_ == two.disparity_


def test_invariances(mixed):
    """Rows in another order, rotated, moved: the same people. Duplicated: the same, twice."""
    rng = np.random.default_rng(0)
    search = MaxDisparityPartition(3, group_size=1 / 6, random_state=0)
    base = search.fit(mixed)
    labels, value = base.labels_, base.disparity_
    order = rng.permutation(240)
    turn = np.linalg.qr(rng.standard_normal((7, 7)))[0]
    moved = clone(search).fit(mixed[order])
    assert moved.disparity_ == pytest.approx(value, rel=1e-6)
    np.testing.assert_array_equal(moved.labels_, labels[order])
    turned = clone(search).fit(mixed @ turn + 3.0)
    assert turned.disparity_ == pytest.approx(value, rel=1e-6)
    np.testing.assert_array_equal(turned.labels_, labels)
    twice = clone(search).fit(np.vstack([mixed, mixed]))
    assert twice.disparity_ >= value * (1 - 1e-9)
    assert leftout.disparity(np.vstack([mixed, mixed]), np.tile(labels, 2), 3) == pytest.approx(
        value
    )


@pytest.mark.parametrize(
    "make", [pd.DataFrame, pl.DataFrame, pa.table], ids=["pandas", "polars", "pyarrow"]
)
def test_tables_of_every_make(make, mixed):
    columns = {f"column {j}": mixed[:, j] for j in range(7)}
    columns["column 3"] = columns["column 3"] > 0  # booleans are numbers
    columns["column 2"] = columns["column 2"].astype(int)
    table = make(columns)
    search = MaxDisparityPartition(3, min_group_size=30, solver=QUICK, random_state=0)
    found = clone(search).fit(table)
    assert found.feature_names_in_.tolist() == list(columns)
    np.testing.assert_array_equal(found.labels_, clone(search).fit(mixed).labels_)
    np.testing.assert_array_equal(found.predict(table), found.predict(make(columns)))
    renamed = make({name.upper(): column for name, column in columns.items()})
    with pytest.raises(ValueError, match="feature names should match"):
        found.predict(renamed)


def test_more_columns_than_rows():
    rng = np.random.default_rng(0)
    X = rng.random((40, 90))
    found = MaxDisparityPartition(3, min_group_size=8, solver=QUICK, random_state=0).fit(X)
    assert found.components_.shape == (3, 90)
    assert found.group_components_.shape == (2, 3, 90)
    np.testing.assert_allclose(found.losses_, naive.group_losses(X, found.labels_, 3), rtol=1e-9)
    np.testing.assert_array_equal(found.predict(X), found.labels_)
    direct = MaxDisparityPartition(3, min_group_size=8, solver=QUICK, random_state=0)
    # the same rows padded to fewer columns than rows would be another table; rotate instead
    turned = X @ np.linalg.qr(rng.standard_normal((90, 90)))[0]
    assert direct.fit(turned).disparity_ == pytest.approx(found.disparity_, rel=0.05)


def test_greedy_keeps_its_labels_per_epoch(mixed):
    found = MaxDisparityPartition(3, min_group_size=30, solver=Greedy(), random_state=0).fit(mixed)
    assert len(found.epoch_labels_) == len(found.history_)
    np.testing.assert_array_equal(found.epoch_labels_[-1], found.labels_)
    changes = np.sum(found.epoch_labels_[1:] != found.epoch_labels_[:-1], axis=1)
    np.testing.assert_array_equal(changes, found.history_["moves"][1:])


def test_input_is_left_as_it_was(mixed):
    before = mixed.copy()
    MaxDisparityPartition(3, min_group_size=30, solver=QUICK, random_state=0).fit(mixed)
    np.testing.assert_array_equal(mixed, before)


@pytest.mark.parametrize("order", ["C", "F"])
def test_memory_layout_does_not_matter(mixed, order):
    search = MaxDisparityPartition(3, min_group_size=30, solver=QUICK, random_state=0)
    found = search.fit(np.array(mixed, order=order))
    assert found.disparity_ == pytest.approx(clone(search).fit(mixed).disparity_, rel=1e-12)


def test_verbose_speaks_on_stderr(mixed, capsys):
    MaxDisparityPartition(3, min_group_size=30, solver=QUICK, random_state=0, verbose=1).fit(mixed)
    out, err = capsys.readouterr()
    assert out == "" and "leftout: group of 30: disparity" in err


@pytest.mark.parametrize(
    ("size", "strength", "least"),
    [(150, 1.0, 0.94), (400, 1.0, 0.97), (150, 0.4, 0.82), (400, 0.4, 0.90), (800, 0.4, 0.93)],
)
def test_planted_groups_are_recovered(size, strength, least):
    X, planted = datasets.make_planted(2000, 30, 5, size, strength, random_state=8)
    found = MaxDisparityPartition(5, group_size=size, random_state=0, solver=QUICK).fit(X)
    both = np.sum(found.labels_ & planted) / np.sum(found.labels_ | planted)
    assert both >= least


def test_integer_column_names_and_python_objects(mixed):
    search = MaxDisparityPartition(3, min_group_size=30, solver=QUICK, random_state=0)
    plain = clone(search).fit(mixed)
    numbered = clone(search).fit(pd.DataFrame(mixed))
    objects = clone(search).fit(pd.DataFrame(mixed, columns=list("abcdefg")).astype(object))
    sparse = clone(search).fit(pd.DataFrame(mixed, columns=list("abcdefg")).astype("Sparse[float]"))
    for found in (numbered, objects, sparse):
        np.testing.assert_array_equal(found.labels_, plain.labels_)
    assert not hasattr(numbered, "feature_names_in_")


def test_refitting_forgets_what_the_new_solver_does_not_keep(mixed):
    search = MaxDisparityPartition(3, min_group_size=30, solver="greedy", random_state=0).fit(mixed)
    assert hasattr(search, "epoch_labels_")
    assert not hasattr(search.set_params(solver=QUICK).fit(mixed), "epoch_labels_")


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("rows", [5000, 9000])
def test_tables_where_most_rows_lie_in_the_shared_plane(rows, seed):
    """Residuals of nothing but rounding: the group keeps its size all the same."""
    rng = np.random.default_rng(seed)
    half = np.zeros((rows // 2, 8))
    half[:, :2] = 5 * rng.standard_normal((rows // 2, 2))
    half[:4] = 0
    half[:4, 2:] = rng.standard_normal((4, 6))
    X = np.vstack([half, -half]) @ np.linalg.qr(rng.standard_normal((8, 8)))[0]
    found = MaxDisparityPartition(2, group_size=500, random_state=0, solver=QUICK).fit(X)
    assert found.sizes_.tolist() == [rows - 500, 500]
    rounding = tolerances.of_rows(naive.seen_by_pca(X, "global"), 2)
    gap = leftout.disparity(X, found.labels_, 2)
    assert abs(found.disparity_) == pytest.approx(gap, rel=1e-6, abs=rounding)


@pytest.mark.parametrize("size", [1, 9, 6000, 11_990, 11_999])
def test_every_size_in_a_table_searched_in_parts(size):
    X, _ = datasets.make_planted(12_000, 6, 2, 500, random_state=0)
    search = MaxDisparityPartition(2, group_size=size, random_state=0, solver=QUICK)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # the largest sizes are not left out
        found = search.fit(X)
    assert found.sizes_[1] == size
    np.testing.assert_allclose(
        abs(found.disparity_), leftout.disparity(X, found.labels_, 2), rtol=1e-6, atol=1e-9
    )


@pytest.mark.parametrize(("rows", "size"), [(300, 1), (300, 40), (2000, 100)])
def test_other_losses_do_at_least_as_well_as_the_group_of_the_default(rows, size):
    X, _ = datasets.make_planted(rows, 10, 2, 40, random_state=1)
    options = {"group_size": size, "random_state": 0, "solver": QUICK}
    default = MaxDisparityPartition(2, **options).fit(X)
    found = MaxDisparityPartition(2, loss="projection_gap", **options).fit(X)
    assert found.disparity_ >= 0.99 * naive.signed_disparity(
        X, default.labels_, 2, "projection_gap"
    )


def test_the_group_as_a_value_is_that_of_the_attributes():
    """Unequal sides, so that each number can be told from the other side's."""
    X, _ = datasets.make_planted(200, 6, 2, 50, random_state=0)
    found = MaxDisparityPartition(2, group_size=50, random_state=0).fit(X)
    group = found.left_out_
    assert (group.sizes.group, group.sizes.rest) == (50, 150) == (group.size, 200 - group.size)
    for name in ("sizes", "losses", "retained", "retained_own"):
        rest, left_out = getattr(found, f"{name}_").tolist()
        assert rest != left_out
        assert (getattr(group, name).group, getattr(group, name).rest) == (left_out, rest)
    assert np.array_equal(group.mask, found.labels_ == 1)
    own, components = (
        naive.components(X[group.mask] - X.mean(axis=0), 2, False),
        found.group_components_[1],
    )
    np.testing.assert_allclose(components.T @ components, own @ own.T, atol=1e-9)
    assert np.array_equal(found.score_samples(X) > found.offset_, group.mask)
    assert group.bound == found.bound_ >= group.disparity == found.disparity_


@pytest.mark.parametrize(("share", "rows"), [(0.09, 9), (0.094, 9), (0.096, 10), (0.001, 1)])
def test_a_share_of_the_rows_is_the_nearest_number_of_them(share, rows):
    assert check_size("group_size", share, 100) == rows


def weighted_case(seed, m=240, most=4):
    """A planted group that is told apart, weights, and the share of the weight that it has."""
    X, planted = datasets.make_planted(m, 10, 2, m // 5, strength=4.0, random_state=seed)
    weights = np.random.default_rng(seed).integers(1, most + 1, m)
    return X, planted, weights, float(weights[planted == 1].sum() / weights.sum())


@pytest.mark.parametrize("seed", range(4))
def test_whole_weights_find_the_group_of_repeated_rows(seed):
    X, _, weights, share = weighted_case(seed)
    (again,) = naive.repeated(weights, X)
    search = MaxDisparityPartition(2, group_size=share, random_state=0, solver=QUICK)
    by_weight, by_rows = clone(search).fit(X, sample_weight=weights), clone(search).fit(again)
    labels = by_weight.labels_
    # but for copies on both sides of the cut, which no row can be
    assert np.sum(np.repeat(labels, weights) != by_rows.labels_) <= weights.max()
    np.testing.assert_allclose(by_weight.mean_, again.mean(axis=0), atol=1e-12)
    np.testing.assert_allclose(by_weight.components_, by_rows.components_, atol=1e-9)
    np.testing.assert_allclose(
        by_weight.explained_variance_ratio_, by_rows.explained_variance_ratio_, rtol=1e-9
    )
    sides = np.repeat(labels, weights)
    np.testing.assert_allclose(by_weight.losses_, naive.group_losses(again, sides, 2), rtol=1e-9)
    assert by_weight.sizes_.tolist() == np.bincount(labels).tolist()
    shares = np.bincount(labels, weights) / weights.sum()
    np.testing.assert_allclose(by_weight.weighted_sizes_ / len(X), shares, rtol=1e-9)
    assert abs(shares[1] - share) <= weights.max() / weights.sum()
    assert by_weight.disparity_ <= by_weight.bound_
    assert np.array_equal(by_weight.predict(X), labels)
    assert np.array_equal(by_weight.score_samples(X) > by_weight.offset_, labels == 1)
    for got, own in zip(by_weight.retained_, (0, 1), strict=True):
        rows = (again - again.mean(axis=0))[sides == own]
        V = naive.shared_basis(again, 2, "global")
        assert got == pytest.approx(np.sum((rows @ V) ** 2) / np.sum(rows**2), rel=1e-9)


@pytest.mark.parametrize("options", [{}, {"group_size": 0.1}, {"centering": "none"}])
def test_weights_have_no_unit_and_equal_ones_say_nothing(options):
    X, _, weights, _ = weighted_case(5)
    search = MaxDisparityPartition(2, random_state=0, solver=QUICK, **options)
    found = clone(search).fit(X, sample_weight=weights)
    other = clone(search).fit(X, sample_weight=3.7e9 * weights)
    assert np.array_equal(found.labels_, other.labels_)
    assert other.disparity_ == pytest.approx(found.disparity_, rel=1e-12)
    plain, equal = clone(search).fit(X), clone(search).fit(X, sample_weight=np.full(len(X), 2.5))
    assert np.array_equal(plain.labels_, equal.labels_)
    assert (plain.disparity_, plain.bound_) == (equal.disparity_, equal.bound_)
    assert plain.weighted_sizes_.tolist() == plain.sizes_.tolist()


def test_rows_of_weight_zero_are_labelled_as_new_rows_are():
    X, planted, weights, share = weighted_case(6)
    weights[::7] = 0
    some = weights > 0
    search = MaxDisparityPartition(2, group_size=share, random_state=0, solver=QUICK)
    found, alone = (
        clone(search).fit(X, None, weights),
        clone(search).fit(X[some], None, weights[some]),
    )
    assert np.array_equal(found.labels_[some], alone.labels_)
    assert np.array_equal(found.labels_[~some], alone.predict(X[~some]))
    assert set(found.labels_[~some]) == {0, 1} and found.sizes_.sum() == len(X)
    assert found.disparity_ == alone.disparity_ and found.bound_ == alone.bound_


@pytest.mark.parametrize(("rows", "more"), [(9000, 0), (300, 260)])
def test_weights_on_a_part_of_a_table_and_in_its_leading_axes(rows, more):
    """More rows than climbs run on, or more columns than are searched at once."""
    X, _, weights, share = weighted_case(7, m=rows)
    X = np.hstack([X, 0.01 * np.random.default_rng(0).standard_normal((rows, more))])
    search = MaxDisparityPartition(2, group_size=share, random_state=0, solver=QUICK)
    found = clone(search).fit(X, sample_weight=weights)
    again, labels = naive.repeated(weights, X, found.labels_)
    assert found.disparity_ == pytest.approx(naive.signed_disparity(again, labels, 2), rel=1e-9)
    assert found.disparity_ >= 0.99 * clone(search).fit(again).disparity_


@pytest.mark.parametrize("fitted", [PCA(2), NMF(2, init="nndsvda", max_iter=500)])
def test_weights_under_a_given_representation(fitted):
    X = np.random.default_rng(0).random((150, 6)) ** 3
    weights = np.random.default_rng(1).integers(1, 4, 150)
    fitted = fitted.fit(X)
    search = MaxDisparityPartition(representation=fitted, group_size=0.2, random_state=0)
    found = search.set_params(solver=QUICK).fit(X, sample_weight=weights)
    sides = np.repeat(found.labels_, weights)
    want = leftout.group_losses(np.repeat(X, weights, axis=0), sides, representation=fitted)
    np.testing.assert_allclose(found.losses_, want, rtol=1e-9)
    assert found.disparity_ <= found.bound_
