"""MinimaxPCA: the game against every group, against all groups enumerated and a convex program."""

from __future__ import annotations

import pickle
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import naive
from leftout import FairPCA, MaxDisparityPartition, MinimaxPCA, datasets, group_losses
from leftout.fair.dual import many_groups
from leftout.fair.game import Game
from leftout.fair.objective import Objective, Seen, leading
from leftout.fair.worst import GroupSearch

ESTIMATORS = [
    MinimaxPCA(random_state=0, max_rounds=3),
    MinimaxPCA(1, centering="none", trade_off=0.5, max_rounds=3, random_state=0),
]


def searched(estimator):
    """Repeated rows are other rows to a search, which ends at another group that is as bad."""
    kinds = [f"check_sample_weight_equivalence_on_{kind}_data" for kind in ("dense", "sparse")]
    return dict.fromkeys(kinds, "a search on a few rows ends elsewhere on their copies")


@pytest.mark.filterwarnings("ignore:Can't check dok sparse matrix:UserWarning")
@parametrize_with_checks(ESTIMATORS, expected_failed_checks=searched)
def test_sklearn_contract(estimator, check):
    check(estimator)


def rows(seed, m, n):
    rng = np.random.default_rng(seed)
    return rng.standard_t(4, size=(m, n)) @ (rng.normal(size=(n, n)) * rng.gamma(1.0, 1.0, n))


def moments(X, groups, d):
    second = np.stack([X[list(g)].T @ X[list(g)] / len(g) for g in groups])
    return second, naive.own_best(second, d)


@pytest.mark.parametrize("seed", range(12))
def test_the_dual_does_not_mind_that_groups_overlap(seed):
    rng = np.random.default_rng(seed)
    k, n = int(rng.integers(2, 31)), int(rng.integers(3, 9))
    d = int(rng.integers(1, n))
    X = rows(seed, 40, n)
    X /= np.sqrt(np.mean(np.sum(X**2, axis=1)))
    groups = [rng.choice(40, int(rng.integers(n, 20)), replace=False) for _ in range(k)]
    second, best = moments(X, groups, d)
    objective, even = Objective(second, best, d), np.full(k, 1.0 / k)
    answer = many_groups(objective, [Seen(even, leading(objective.mix(even), n))], 1e-9)
    assert answer.losses.max() - answer.bound <= 1e-7
    assert answer.bound == pytest.approx(naive.fair_optimum(second, best, d), abs=2e-7)
    F = (answer.V.T * answer.occupation) @ answer.V
    values = np.linalg.eigvalsh(F)
    assert values.min() > -1e-9 and values.max() < 1 + 1e-9 and values.sum() == pytest.approx(d)


def every_group(X, d, size):
    """Moments of all groups of a size."""
    return moments(X, list(combinations(range(len(X)), size)), d)


def under(second, best, F):
    """Losses of groups under a representation."""
    return best - np.einsum("gij,ij->g", second, F)


def tiny(seed):
    """A table small enough for all of its groups; components, and the groups' size."""
    rng = np.random.default_rng(seed)
    m, n = int(rng.integers(7, 13)), int(rng.integers(3, 5))
    d, size = int(rng.integers(1, n)), int(rng.integers(2, 4))
    X = rows(seed, m, n)
    X -= X.mean(axis=0)
    return X / np.sqrt(np.mean(np.sum(X**2, axis=1))), d, size


@pytest.mark.parametrize("seed", range(50))
def test_tiny_tables_reach_the_optimum_over_all_groups(seed):
    X, d, size = tiny(seed)
    second, best = every_group(X, d, size)
    optimum = naive.fair_optimum(second, best, d)
    searching, rng = GroupSearch(X, d, size), np.random.default_rng(seed)
    pca = np.diag(np.arange(X.shape[1]) < d).astype(float)
    game = Game(searching, 1.0, searching.search(pca, [], 0, rng, 3), rng)
    relaxed, stopped = game.play(60, 1e-7)
    values = np.linalg.eigvalsh(relaxed.F)
    assert values.min() > -1e-9 and values.max() < 1 + 1e-9 and values.sum() == pytest.approx(d)
    worst = under(second, best, relaxed.F).max()
    assert relaxed.value == pytest.approx(worst, abs=1e-9) and stopped == "gap"
    # the convex program is right to about 1e-7
    assert abs(worst - optimum) < 1e-6 and worst - game.bound < 1e-8
    fair = MinimaxPCA(d, group_size=size, random_state=0).fit(X)
    losses = under(second, best, fair.components_.T @ fair.components_)
    assert fair.lower_bound_ <= min(optimum + 1e-7, worst + 1e-12)
    assert fair.worst_loss_ == pytest.approx(losses.max(), abs=1e-9)
    assert losses.max() <= fair.bound_ + 1e-9


@pytest.mark.parametrize("trade_off", [0.3, 1.0])
def test_a_search_comes_to_what_enumeration_finds(monkeypatch, trade_off):
    """Bounds of a search without the list are valid; what it says is nearly always true."""
    missed, above = [], []
    for seed in range(20):
        X, d, size = tiny(seed)
        pca = np.diag(np.arange(X.shape[1]) < d).astype(float)
        games = []
        for most in (5_000, 0):
            with monkeypatch.context() as patched:
                patched.setattr("leftout.fair.worst._ENUMERATED", most)
                table, rng = GroupSearch(X, d, size), np.random.default_rng(seed)
            assert bool(table.every) == (most > 0)
            found = table.search(pca, [], 40, rng, 3)
            game = Game(table, trade_off, found, rng)
            games.append((found[0].loss(pca), game.play(20, 1e-4)[0].F, game))
        (listed, _, exact), (searched, F, game) = games
        missed.append(listed - searched)
        assert game.bound <= exact.bound + 1e-9
        above.append(exact.search(F, 0) - exact.bound)
    assert min(missed) > -1e-9 and np.mean(np.array(missed) < 1e-9) >= 0.9
    assert min(above) > -1e-9 and np.mean(np.array(above) < 0.01) >= 0.9


@pytest.fixture(scope="module")
def planted():
    """A table with two groups apart from the rest."""
    return datasets.make_planted(300, 8, 2, [40, 30], random_state=0)


@pytest.fixture(scope="module")
def fitted(planted):
    return MinimaxPCA(2, random_state=0).fit(planted[0])


def loss(X, mask, components, d):
    """By the definition, about the mean of the table."""
    G = (X - X.mean(axis=0))[mask]
    own = np.linalg.svd(G, compute_uv=False)[:d]
    return (np.sum(own**2) - np.sum((G @ components.T) ** 2)) / len(G)


def test_what_is_reported_is_what_the_definition_says(planted, fitted):
    X, _ = planted
    pca = PCA(2).fit(X)
    assert fitted.worst_group_.sum() == fitted.baseline_worst_group_.sum() == 30
    assert fitted.worst_loss_ == pytest.approx(loss(X, fitted.worst_group_, fitted.components_, 2))
    assert fitted.baseline_worst_loss_ == pytest.approx(
        loss(X, fitted.baseline_worst_group_, pca.components_, 2)
    )
    assert fitted.lower_bound_ <= fitted.worst_loss_ <= 0.9 * fitted.baseline_worst_loss_
    assert fitted.worst_loss_ <= fitted.bound_
    assert fitted.gap_ == pytest.approx(fitted.worst_loss_ - fitted.lower_bound_)
    of_groups = [loss(X, mask, fitted.components_, 2) for mask in fitted.groups_]
    assert max(of_groups) <= fitted.worst_loss_ + 1e-9
    assert len(fitted.groups_) == len(fitted.group_weights_) >= 2
    assert 0.9 < fitted.group_weights_.sum() < 1 + 1e-9
    kept = np.var(fitted.transform(X), axis=0) / np.var(X, axis=0).sum()
    np.testing.assert_allclose(fitted.explained_variance_ratio_, kept, rtol=1e-9)
    price = pca.explained_variance_ratio_.sum() - kept.sum()
    assert fitted.price_ == pytest.approx(price) and price > 0
    assert fitted.n_rounds_ == len(fitted.history_) > 0
    assert fitted.stopped_ in ("gap", "max_rounds")


def test_a_search_finds_no_group_that_was_missed(planted, fitted):
    X, labels = planted
    found = MaxDisparityPartition(representation=fitted, group_size=30, random_state=1).fit(X)
    assert found.losses_[1] <= 1.01 * fitted.worst_loss_
    np.testing.assert_allclose(
        group_losses(X, labels, representation=fitted),
        [loss(X, labels == g, fitted.components_, 2) for g in range(3)],
        rtol=1e-9,
    )
    expected = loss(X, fitted.worst_group_, fitted.components_, 2)
    losses = group_losses(X, fitted.worst_group_, representation=fitted)
    assert losses[1] == pytest.approx(expected)


def test_the_trade_off_goes_from_ordinary_pca_to_the_worst_group(planted):
    X, _ = planted
    line = [MinimaxPCA(2, trade_off=t, random_state=0).fit(X) for t in (0, 0.3, 0.7, 1)]
    plain = PCA(2).fit(X)
    np.testing.assert_allclose(np.abs(line[0].components_), np.abs(plain.components_), atol=1e-9)
    assert line[0].price_ == pytest.approx(0.0, abs=1e-12)
    assert line[0].worst_loss_ == line[0].baseline_worst_loss_
    worst = np.array([fair.worst_loss_ for fair in line])
    price = np.array([fair.price_ for fair in line])
    assert (worst[1:] <= 1.02 * worst[:-1]).all() and worst[-1] < 0.9 * worst[0]
    assert (price[1:] >= price[:-1] - 0.02 * price[-1]).all()
    variance = np.var(X, axis=0).sum()
    for t, fair in zip((0, 0.3, 0.7, 1), line, strict=True):
        value = t * fair.worst_loss_ + (1 - t) * variance * fair.price_
        assert fair.lower_bound_ <= value + 1e-9
        assert fair.gap_ == pytest.approx(value - fair.lower_bound_, abs=1e-9)


def test_named_groups_are_protected_whatever_their_size(planted, fitted):
    X, _ = planted
    small = np.argsort(np.sum((X - fitted.inverse_transform(fitted.transform(X))) ** 2, axis=1))
    labels = np.where(np.isin(np.arange(len(X)), small[-6:]), "few", "most")
    fair = MinimaxPCA(2, random_state=0).fit(X, groups=labels)
    for name, value in fair.named_losses_.items():
        assert value == pytest.approx(loss(X, labels == name, fair.components_, 2), abs=1e-9)
        assert value <= fair.worst_loss_ + 1e-9
    assert list(fair.named_losses_) == ["few", "most"] and fitted.named_losses_ == {}
    before = loss(X, labels == "few", fitted.components_, 2)
    assert before > 1.2 * fitted.worst_loss_ and fair.named_losses_["few"] < 0.95 * before
    assert (
        fair.baseline_worst_loss_ >= loss(X, labels == "few", PCA(2).fit(X).components_, 2) - 1e-9
    )
    assert fair.lower_bound_ >= fitted.lower_bound_ * 0.97  # more groups to please


def test_groups_are_routed_as_metadata(planted):
    X, labels = planted
    with sklearn.config_context(enable_metadata_routing=True):
        fair = MinimaxPCA(2, max_rounds=2, random_state=0).set_fit_request(groups=True)
        pipe = make_pipeline(StandardScaler(), fair)
        pipe.fit(X, groups=labels)
        assert list(pipe[1].named_losses_) == [0, 1, 2]


def test_one_dimension_more(planted, fitted):
    X, _ = planted
    more = MinimaxPCA(2, extra=1, random_state=0).fit(X)
    assert (more.n_asked_, more.n_components_) == (2, 3) and more.components_.shape == (3, 8)
    assert more.worst_loss_ == pytest.approx(loss(X, more.worst_group_, more.components_, 2))
    assert more.worst_loss_ < fitted.worst_loss_ and more.price_ < fitted.price_
    assert more.worst_loss_ <= 1.04 * fitted.lower_bound_
    assert more.lower_bound_ == pytest.approx(fitted.lower_bound_, rel=0.05)
    most = MinimaxPCA(7, extra=5, random_state=0).fit(X)  # no more than there are
    assert most.n_components_ == 8 and most.worst_loss_ <= 1e-9
    most = MinimaxPCA(1, extra=6, random_state=0).fit(X)  # better than any group's own
    assert most.worst_loss_ < 0 < most.lower_bound_ and most.gap_ == 0


def test_where_nobody_loses_it_is_ordinary_pca(planted):
    X, _ = planted
    flat = X @ np.diag([1, 1, 0, 0, 0, 0, 0, 0])
    for table, options in ((X, {"group_size": 300}), (flat, {}), (X, {"n_components": 8})):
        fair = MinimaxPCA(**{"n_components": 2, "random_state": 0, **options}).fit(table)
        assert fair.worst_loss_ == pytest.approx(0, abs=1e-9)
        assert fair.price_ == pytest.approx(0, abs=1e-9) and fair.gap_ < 1e-9


def test_it_lives_in_pipelines_and_names_its_columns(planted, fitted):
    X, _ = planted
    frame = pd.DataFrame(X, columns=[f"c{j}" for j in range(X.shape[1])])
    named = clone(fitted).set_output(transform="pandas").fit(frame)
    out = named.transform(frame)
    assert list(out) == named.get_feature_names_out().tolist() == ["minimaxpca0", "minimaxpca1"]
    np.testing.assert_allclose(out, (X - X.mean(axis=0)) @ named.components_.T, atol=1e-9)
    again = pickle.loads(pickle.dumps(named))
    pd.testing.assert_frame_equal(again.transform(frame), out)
    errors = np.sum((X - fitted.inverse_transform(fitted.transform(X))) ** 2, axis=1)
    G = (X - X.mean(axis=0))[fitted.worst_group_]
    least = np.sum(np.linalg.svd(G, compute_uv=False)[2:] ** 2) / len(G)
    assert errors[fitted.worst_group_].mean() - least == pytest.approx(fitted.worst_loss_)
    share = MinimaxPCA(0.5, trade_off=0, random_state=0).fit(X)
    assert share.n_components_ == FairPCA(0.5).fit(X).n_components_
    y = X[:, 0] > X[:, 0].mean()
    pipe = make_pipeline(
        StandardScaler(), MinimaxPCA(max_rounds=2, random_state=0), LogisticRegression()
    )
    grid = {"minimaxpca__n_components": [1, 2], "minimaxpca__trade_off": [0, 1.0]}
    search = GridSearchCV(pipe, grid, cv=2).fit(frame, y)
    assert search.best_params_.keys() == grid.keys() and search.predict(frame).shape == y.shape
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_components": 9}, "n_components=9 is out of range; choose from 1 to 8"),
        ({"n_components": 1.5}, "neither a number of components"),
        ({"group_size": 0}, "group_size=0 is neither a number of rows"),
        ({"group_size": 1.5}, "group_size=1.5 is neither a number of rows"),
        ({"group_size": None}, "group_size=None is neither a number of rows"),
        ({"group_size": 301}, "group_size=301 asks for more rows than the 300 of the table"),
        ({"trade_off": 1.1}, "trade_off=1.1 is not a share; give a number from 0 to 1"),
        ({"trade_off": "worst"}, "trade_off='worst' is not a share"),
        ({"extra": -1}, "extra=-1 is not a whole number"),
        ({"extra": 0.5}, "extra=0.5 is not a whole number"),
        ({"centering": "paper"}, "centering='paper'"),
        ({"max_rounds": 0}, "max_rounds=0 is not a count"),
        ({"tol": 0.0}, "tol=0.0 is not a tolerance"),
    ],
)
def test_options_that_make_no_sense_are_refused(planted, options, message):
    with pytest.raises(ValueError, match=message):
        MinimaxPCA(**{"n_components": 2, **options}).fit(planted[0])


def test_tables_and_groups_that_cannot_be_used_are_refused(planted, fitted):
    X, labels = planted
    broken = X.copy()
    broken[3, 2] = np.nan
    with pytest.raises(ValueError, match="contains NaN: 1 of 2400 values, the first in row 3"):
        MinimaxPCA(2).fit(broken)
    with pytest.raises(ValueError, match="There is no variance to represent"):
        MinimaxPCA(2).fit(np.ones_like(X))
    with pytest.raises(ValueError, match="Found 1 sample, but PCA needs at least 2 rows"):
        MinimaxPCA(1).fit(X[:1])
    with pytest.raises(ValueError, match="one label per row is needed"):
        MinimaxPCA(2).fit(X, groups=labels[:-1])
    with pytest.raises(ValueError, match="Found 3 coordinates per row"):
        fitted.inverse_transform(X[:, :3])


def test_weights_count_rows_as_often_as_they_are_repeated():
    """Its losses are those of repeated rows; the game finds about the same worst group."""
    X, planted = datasets.make_planted(240, 8, 2, 60, random_state=0)
    weights = np.random.default_rng(0).integers(0, 4, 240)
    again, sides = naive.repeated(weights, X, planted)
    game = MinimaxPCA(2, group_size=0.2, random_state=0)
    found = clone(game).fit(X, groups=planted, sample_weight=5.0 * weights)
    plain = clone(game).fit(again, groups=sides)
    np.testing.assert_allclose(found.mean_, again.mean(axis=0), atol=1e-12)
    assert found.worst_group_.shape == (240,) and found.groups_.shape[1] == 240
    assert not found.worst_group_[weights == 0].any()
    share = weights[found.worst_group_].sum() / weights.sum()
    assert abs(share - 0.2) <= 3 / weights.sum()
    worst = np.repeat(found.worst_group_, weights).astype(int)
    losses = group_losses(again, worst, representation=found)
    assert found.worst_loss_ == pytest.approx(losses[1], rel=1e-9)
    named = group_losses(again, sides, representation=found)
    np.testing.assert_allclose(list(found.named_losses_.values()), named, rtol=1e-9, atol=1e-12)
    assert found.lower_bound_ <= found.worst_loss_ <= found.bound_
    assert found.worst_loss_ == pytest.approx(plain.worst_loss_, rel=0.1)
    equal, none = (clone(game).fit(X, sample_weight=w) for w in (np.full(240, 2.0), None))
    assert np.array_equal(equal.components_, none.components_)


@pytest.mark.parametrize("seed", [4, 8, 20])
def test_no_worst_group_of_unequal_weights_loses_less_than_is_proved(seed):
    """Groups of nearly one size differ: those that prove the bound may lose more than the last."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((120, 6)) * rng.lognormal(0.0, 1.0, 6)
    weights = rng.lognormal(0.0, 1.0, 120)
    found = MinimaxPCA(2, random_state=0).fit(X, sample_weight=weights)
    assert found.lower_bound_ <= found.worst_loss_ * (1.0 + 1e-9)
    worst = found.worst_group_.astype(int)
    losses = group_losses(X, worst, representation=found, sample_weight=weights)
    assert found.worst_loss_ == pytest.approx(losses[1], rel=1e-9)
