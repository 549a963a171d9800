"""Chance tables keep what they promise to keep."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from leftout.evidence import correlation_matching, surrogates
from leftout.evidence.correlation_matching import find_dummy_blocks
from leftout.evidence.surrogates import SURROGATES, Copula, Gaussian, correlations


def dummies(seed=0, m=500):
    """Categories as columns of 0 and 1: no gaussian has their correlations."""
    rng = np.random.default_rng(seed)
    Z = rng.standard_normal((m, 3)) @ np.array([[1.0, 0.6, 0.0], [0.0, 0.8, 0.5], [0.0, 0.0, 0.8]])
    kinds = [np.digitize(Z[:, 0], [-0.5, 0.6, 1.4]), np.digitize(Z[:, 1], [-0.2, 1.0])]
    columns = [k == level for k in kinds for level in np.unique(k)]
    return np.column_stack([*columns, np.exp(Z[:, 2])]).astype(float)


@given(st.integers(0, 1000), st.integers(3, 40), st.integers(2, 12))
def test_gaussian_keeps_mean_and_covariance(seed, m, n):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((m, n)) @ rng.standard_normal((n, n)) + 10.0
    drawn = Gaussian.of(X).draw(rng)
    assert drawn.shape == X.shape and not np.allclose(drawn, X)
    if n < m:
        np.testing.assert_allclose(drawn.mean(axis=0), X.mean(axis=0), rtol=1e-9)
        scale = np.abs(np.cov(X.T)).max()
        np.testing.assert_allclose(np.cov(drawn.T), np.cov(X.T), rtol=0, atol=1e-9 * scale)


def test_gaussian_of_wide_tables_too():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((20, 50))
    drawn = Gaussian.of(X).draw(rng)
    np.testing.assert_allclose(np.cov(drawn.T), np.cov(X.T), atol=1e-10)


@pytest.mark.parametrize("kind", SURROGATES)
def test_seeds_decide(mixed, kind):
    law = SURROGATES[kind].of(mixed)
    first, again, other = (law.draw(np.random.default_rng(seed)) for seed in (3, 3, 4))
    assert np.array_equal(first, again) and not np.array_equal(first, other)


@pytest.mark.parametrize("name", ["mixed", "dummies"])
def test_copula_keeps_every_value_and_all_correlations(mixed, name):
    X = mixed if name == "mixed" else dummies()
    law = Copula.of(X)
    drawn = [law.draw(np.random.default_rng(seed)) for seed in range(60)]
    for table in drawn:
        assert np.array_equal(np.sort(table, axis=0), np.sort(X, axis=0))
    misses = np.mean([correlations(table) for table in drawn], axis=0) - correlations(X)
    assert np.abs(misses).max() <= 0.03
    # and no row is copied
    assert not np.any(np.all(drawn[0][:, None, -1:] == X[None, :, -1:], axis=2).all(axis=1))


def test_a_category_is_drawn_in_one_piece():
    """Every row is in one level of each, as in the table."""
    X = dummies()
    law = Copula.of(X)
    assert law.miss > 0.1  # no gaussian has these correlations
    assert [block.columns.tolist() for block in law.blocks] == [[0, 1, 2, 3], [4, 5, 6], [7]]
    for seed in range(10):
        drawn = law.draw(np.random.default_rng(seed))
        assert np.all(drawn[:, :4].sum(axis=1) == 1.0) and np.all(drawn[:, 4:7].sum(axis=1) == 1.0)


def test_redrawing_and_swapping_are_what_match_dummies(monkeypatch):
    X = dummies()

    def missed():
        drawn = Copula.of(X).draw(np.random.default_rng(0))
        return np.abs(correlations(drawn) - correlations(X)).max()

    assert missed() < 0.002
    monkeypatch.setattr(correlation_matching, "_SWAP_ROUNDS", 0)
    assert 0.002 < missed() < 0.08
    monkeypatch.setattr(surrogates, "_GOOD_ENOUGH", 1.0)
    assert missed() > 0.08


@pytest.mark.parametrize("name", ["mixed", "dummies"])
def test_numbers_of_few_values_need_no_sorting(mixed, name, monkeypatch):
    """Which rows have which value is the same: tables are, bit by bit."""
    X = mixed if name == "mixed" else dummies()
    X = np.column_stack([X, np.digitize(X[:, -1], np.quantile(X[:, -1], [0.1, 0.5, 0.6, 0.9]))])
    quick = [Copula.of(X).draw(np.random.default_rng(seed)) for seed in range(5)]
    few = [int(block.columns[0]) for block in find_dummy_blocks(X) if block.steps is not None]
    assert few == [j for j, column in enumerate(X.T) if 2 < len(np.unique(column)) <= 8] and few
    monkeypatch.setattr(correlation_matching, "FEW_VALUES", 0)
    assert all(block.steps is None for block in find_dummy_blocks(X))
    for seed, table in enumerate(quick):
        assert np.array_equal(table, Copula.of(X).draw(np.random.default_rng(seed)))


@pytest.mark.parametrize("name", ["mixed", "dummies"])
def test_correlations_come_out_on_average(mixed, name):
    X = mixed if name == "mixed" else dummies()
    law = Copula.of(X)
    drawn = [correlations(law.draw(np.random.default_rng(seed))) for seed in range(40)]
    # right to a few thousandths in a single table
    misses = np.abs(np.array(drawn) - correlations(X)).max(axis=(1, 2))
    assert misses.max() <= 0.02 and np.median(misses) <= 0.005


def test_copula_survives_constant_columns_and_duplicates(mixed):
    X = np.column_stack([mixed, np.full(240, 1e6 + 0.1), mixed[:, 0], mixed[:, 3]])
    drawn = Copula.of(X).draw(np.random.default_rng(0))
    assert np.array_equal(np.sort(drawn, axis=0), np.sort(X, axis=0))
    assert correlations(X)[7, :7].tolist() == [0.0] * 7


def test_correlations_are_numpys(mixed):
    np.testing.assert_allclose(correlations(mixed), np.corrcoef(mixed.T), atol=1e-12)


def test_series_against_the_bivariate_normal():
    """Two yes-or-no columns: their correlation follows from a bivariate normal probability."""
    m = 2000
    shares = (0.05, 0.4)
    X = np.zeros((m, 2))
    for j, share in enumerate(shares):
        X[: int(m * share), j] = 1.0
    scaled = np.sort(surrogates._standardised(X).T, axis=1)
    series = surrogates._Series.of(scaled)
    cuts = [stats.norm.ppf(1 - share) for share in shares]
    for rho in (-0.8, -0.3, 0.0, 0.5, 0.9, 0.99):
        both = stats.multivariate_normal.cdf([-c for c in cuts], cov=[[1, rho], [rho, 1]])
        p, q = shares
        want = (both - p * q) / np.sqrt(p * (1 - p) * q * (1 - q))
        R = np.array([[1.0, rho], [rho, 1.0]])
        assert series(R)[0, 1] == pytest.approx(want, abs=2e-3)


def test_series_is_exact_at_the_ends_and_solved(mixed):
    scaled = np.sort(surrogates._standardised(mixed).T, axis=1)
    series = surrogates._Series.of(scaled)
    ones = np.ones((7, 7))
    np.testing.assert_allclose(series(ones), scaled @ scaled.T / 240, atol=1e-10)
    np.testing.assert_allclose(series(-ones), scaled @ scaled[:, ::-1].T / 240, atol=1e-10)
    target = correlations(mixed)
    np.testing.assert_allclose(series(series.solve(target)), target, atol=1e-5)
