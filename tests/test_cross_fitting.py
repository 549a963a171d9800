"""Losses of fixed groups on rows held out, and their intervals."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import stats
from sklearn.decomposition import PCA

import naive
from leftout import group_losses
from leftout.groups.cross_fitting import _between, _freedom, cross_fitted, influences
from leftout.groups.problem_setup import build_problem


class Folds:
    """In place of a generator: a permutation that makes these folds."""

    def __init__(self, folds):
        self.folds = np.asarray(folds)

    def permutation(self, m):
        assert m == len(self.folds)
        return self.folds


def table(m, n, seed, share=0.4):
    """Rows with eigenvalues apart, and a group with a direction and a mean of its own."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((m, n)) * np.linspace(2.0, 0.5, n) + 5.0
    mask = rng.random(m) < share
    X[mask, n - 1] *= 3.0
    X[mask, 0] += 1.0
    return X @ np.linalg.qr(rng.standard_normal((n, n)))[0], mask


def fitted(X, masks, d, folds, **options):
    folds = np.asarray(folds)
    problem = build_problem(X, d, **options).problem
    return cross_fitted(problem, masks, rng=Folds(folds), folds=int(folds.max()) + 1)


def numbers(found):
    return [[each.in_sample, each.held_out, *each.loss] for each in found]


@given(st.integers(0, 2**32 - 1), st.integers(3, 6), st.integers(1, 2), st.integers(2, 7))
def test_held_out_and_in_sample_are_the_definitions(seed, n, d, n_folds):
    X, mask = table(60, n, seed)
    other = ~mask
    other[:10] = True
    folds = np.random.default_rng(seed).integers(0, n_folds, 60)
    folds[0] = n_folds - 1
    for group, found in zip((mask, other), fitted(X, [mask, other], d, folds), strict=True):
        wanted = naive.cross_fitted_loss(X, group, folds, d, "global")
        scale = np.mean(np.sum(X**2, axis=1))
        assert_allclose(found.held_out, wanted, atol=1e-10 * scale)
        wanted = group_losses(X, group, d)[1]
        assert_allclose(found.in_sample, wanted, atol=1e-10 * scale)


@pytest.mark.parametrize(("seed", "weighted"), [(0, False), (1, False), (2, True), (3, True)])
def test_influences_are_derivatives_by_the_rows_weights(seed, weighted):
    X, mask = table(80, 5, seed)
    d, step, drawn = 2, 1e-4, 0.5 + np.random.default_rng(seed).random(80)
    counts = drawn / drawn.mean() if weighted else np.ones(80)
    seen = X - np.average(X, axis=0, weights=counts)
    axes = naive.components(seen * np.sqrt(counts)[:, None], 5, about_mean=False)
    rows = seen @ axes
    W = naive.components((rows * np.sqrt(counts)[:, None])[mask], d, about_mean=False).T
    options = {"weights": counts} if weighted else {}
    values = ((rows[mask] @ W.T) ** 2).sum(axis=1) - (rows[mask, : len(W)] ** 2).sum(axis=1)
    variances = np.average(rows**2, axis=0, weights=counts)
    found = influences(rows, mask, values, variances, W, **options)

    def moved(row, by):
        weights = counts.copy()
        weights[row] *= 1.0 + by
        return naive.weighted_loss(X, mask, weights, d, "global")

    slopes = [(moved(row, step) - moved(row, -step)) / (2 * step) for row in range(80)]
    assert_allclose(found, 80 * np.array(slopes), rtol=1e-5, atol=1e-5 * np.abs(found).max())
    assert_allclose(found.sum(), 0.0, atol=1e-9 * np.abs(found).sum())


def test_a_turn_of_tied_components_has_a_standard_error_of_one():
    rows = np.random.default_rng(0).standard_normal((400, 2))
    mask = np.arange(400) < 100
    W, values = np.array([[0.0, 1.0]]), rows[mask, 1] ** 2 - rows[mask, 0] ** 2
    tied, floor, wide = (
        influences(rows, mask, values, np.array(variances), W)
        for variances in ([1.0, 1.0], [1.0, 1.0 - 1e-9], [2.0, 1.0])
    )
    assert_allclose(tied, floor, rtol=1e-6)
    across = np.mean(rows[mask, 0] * rows[mask, 1])
    # a gap of 1/20, the root of 1 / 400, in place of none; and of 1
    assert_allclose((tied - wide) / (rows[:, 0] * rows[:, 1]), -2.0 * across * (20.0 - 1.0))


@given(st.integers(0, 2**32 - 1))
def test_order_rotation_and_place_change_nothing(seed):
    X, mask = table(70, 4, seed)
    rng = np.random.default_rng(seed)
    folds = np.arange(70) % 5
    before = numbers(fitted(X, [mask], 2, folds))
    order = rng.permutation(70)
    turned = X[order] @ np.linalg.qr(rng.standard_normal((4, 4)))[0] + rng.random(4)
    after = numbers(fitted(turned, [mask[order]], 2, folds[order]))
    assert_allclose(after, before, rtol=1e-6, atol=1e-8)


def test_scale_is_squared():
    X, mask = table(90, 4, 3)
    folds = np.arange(90) % 10
    once, thrice = (numbers(fitted(X * by, [mask], 2, folds)) for by in (1.0, 3.0))
    assert_allclose(thrice, 9.0 * np.array(once), rtol=1e-9)


def test_what_is_said_of_a_group_does_not_depend_on_others():
    X, mask = table(90, 4, 0)
    alone, beside = (
        cross_fitted(build_problem(X, 2).problem, masks, rng=np.random.default_rng(1))
        for masks in ([mask], [~mask, mask, mask | (np.arange(90) < 20)])
    )
    assert alone[0] == beside[1]


def test_known_numbers():
    X, mask = table(300, 6, 7, share=0.15)
    (found,) = fitted(X, [mask], 2, np.arange(300) % 10)
    wanted = [0.867453345799, 0.402676921974, 0.647296092408, -0.655014800350, 2.527104856533]
    assert_allclose(numbers([found])[0], wanted, rtol=1e-8)


def test_the_loss_is_between_and_its_interval_leans_upwards():
    X, mask = table(300, 6, 7, share=0.15)
    (found,) = fitted(X, [mask], 2, np.arange(300) % 10)
    value, low, high = found.loss
    assert_allclose(value, (10 * found.in_sample + 9 * found.held_out) / 19, rtol=1e-12)
    assert found.held_out < value < found.in_sample
    assert low < value < high
    assert high - value > value - low


def test_zero_is_held_where_own_components_are_of_no_use():
    psi = np.tile([0.1, -0.1], 200)
    useful, useless = (_between(1.0, held, psi, 100, 10) for held in (0.01, -0.01))
    assert useful.loss.low > 0.2
    assert useless.loss.low == 0.0 < useless.loss.value < useless.loss.high
    assert _between(1.0, -3.0, psi, 100, 10).loss.low < -0.8


def test_the_ends_of_an_interval():
    psi = np.tile([1.0, -1.0], 200)  # a standard error of 1/20
    t = stats.t.ppf(0.975, 99)
    value, low, high = _between(0.5, 0.3, psi, 100, 10).loss
    reach = t * np.hypot(0.05, 0.1 * 0.1)
    lean = reach**2 / (4 * 0.5)
    assert_allclose([value, low], [(5.0 + 2.7) / 19, (5.0 + 2.7) / 19 - reach])
    assert_allclose(high, value + lean + np.hypot(reach, lean))
    # next to nothing: at most about as far again
    _, low, high = _between(1e-9, 1e-9, psi, 100, 10).loss
    assert_allclose([low, high], [-t / 20, (1 + np.sqrt(2)) * t / 20], atol=1e-8)
    # without optimism, and a loss far from zero: Student's interval
    assert_allclose(_between(1e6, 1e6, psi, 100, 10).loss, [1e6, 1e6 - t / 20, 1e6 + t / 20])


@pytest.mark.parametrize(
    "rows, known",
    [(0, False), (1, False), (2, False), (3, False), (4, True), (59, True), (60, True)],
)
def test_few_rows_and_nearly_all(rows, known):
    X, _ = table(60, 4, 0)
    mask = np.arange(60) < rows
    (found,) = fitted(X, [mask], 2, np.arange(60) % 10)
    assert np.isfinite(numbers([found])).all() == known
    assert np.isnan(numbers([found])).all() != known
    if rows == 60:
        assert_allclose(numbers([found]), 0.0, atol=1e-10)


def test_a_fold_may_hold_none_or_most_of_a_group():
    X, _ = table(60, 4, 0)
    mask = np.arange(60) < 12
    folds = np.where(mask, np.arange(60) % 2, 2 + np.arange(60) % 3)
    (found,) = fitted(X, [mask], 2, folds)
    assert_allclose(found.held_out, naive.cross_fitted_loss(X, mask, folds, 2), rtol=1e-9)
    lopsided = np.where(np.arange(60) < 10, 0, 1 + np.arange(60) % 3)
    (found,) = fitted(X, [mask], 2, lopsided)
    assert np.isnan(found.loss.value)


def test_more_columns_than_rows():
    rng = np.random.default_rng(0)
    X, mask = rng.standard_normal((40, 60)), np.arange(40) < 20
    folds = np.arange(40) % 5
    (found,) = fitted(X, [mask], 3, folds)
    assert_allclose(found.held_out, naive.cross_fitted_loss(X, mask, folds, 3), rtol=1e-9)


def test_constant_and_repeated_columns():
    X, mask = table(80, 3, 0)
    wide = np.column_stack([X, X[:, 0], np.ones(80)])
    problem = build_problem(wide, 2).problem
    (found,) = cross_fitted(problem, [mask], rng=np.random.default_rng(0), folds=100)
    assert np.isfinite(numbers([found])).all()


def test_freedom_of_a_variance():
    normal = np.random.default_rng(0).standard_normal(100_000)
    assert_allclose(_freedom(normal, 10**6), 100_000, rtol=0.05)
    assert _freedom(normal, 50) == 49
    one = np.zeros(1000)
    one[0] = 5.0
    assert_allclose(_freedom(one, 500), 2.0, rtol=0.01)
    assert _freedom(np.ones(30), 20) == 19
    assert _freedom(np.zeros(30), 20) == 19


def test_intervals_hold_the_loss_of_a_large_table():
    def drawn(m, rng):
        X = rng.standard_normal((m, 6)) * [2.0, 1.5, 1.0, 1.0, 0.5, 0.5]
        mask = X[:, 5] > 0.4
        X[mask, 4] *= 4.0
        return X, mask

    X, mask = drawn(400_000, np.random.default_rng(0))
    truth = group_losses(X, mask, 2)[1]
    inside = 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        X, mask = drawn(500, rng)
        _, low, high = cross_fitted(build_problem(X, 2).problem, [mask], rng=rng)[0].loss
        inside += low <= truth <= high
    assert 180 <= inside <= 199


@pytest.mark.parametrize("representation", [None, PCA(2)])
def test_weights_count_rows_as_often_as_they_are_repeated(representation):
    """Copies in one fold; the interval is that of the rows, not of their copies."""
    X, mask = table(90, 5, 0)
    weights, folds = np.random.default_rng(0).integers(1, 4, 90), np.arange(90) % 5
    if representation is not None:
        representation.fit(X)
    again, copied, apart = naive.repeated(weights, X, mask, folds)
    options = {"representation": representation}
    (by_weight,) = fitted(X, [mask], 2, folds, weights=weights / weights.mean(), **options)
    (by_rows,) = fitted(again, [copied], 2, apart, **options)
    assert_allclose(by_weight.in_sample, by_rows.in_sample, rtol=1e-9)
    assert_allclose(by_weight.held_out, by_rows.held_out, rtol=1e-9)
    assert_allclose(by_weight.loss.value, by_rows.loss.value, rtol=1e-9)
    assert by_weight.loss.high - by_weight.loss.low > by_rows.loss.high - by_rows.loss.low
