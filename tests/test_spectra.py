"""Rank-one changes answer to LAPACK, on spectra chosen to be hard."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leftout.linalg.spectra import rank_one, secular_root, top_change

TINY = 1e-13


@st.composite
def change(draw):
    """Eigenvalues (ascending), a row in their basis, a sign: with ties, zeros, tiny and huge."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n = draw(st.integers(1, 12))
    values = rng.exponential(size=n) * 10.0 ** draw(st.integers(-3, 3))
    z = rng.standard_normal(n) * 10.0 ** draw(st.integers(-3, 3))
    kind = draw(st.sampled_from(["plain", "tied", "nearly tied", "zero", "graded", "sparse row"]))
    if kind == "tied":
        values = np.round(values)
    elif kind == "nearly tied":
        values = np.repeat(values, 3)[:n] * (1 + 1e-15 * rng.standard_normal(n))
    elif kind == "zero":
        values[rng.random(n) < 0.5] = 0.0
    elif kind == "graded":
        values = values * 10.0 ** rng.integers(-20, 1, n)
        z = z * 10.0 ** rng.integers(-20, 1, n)
    elif kind == "sparse row":
        z[rng.random(n) < 0.5] = 0.0
    return np.sort(values), z, draw(st.sampled_from([1.0, -1.0])), draw(st.integers(1, n))


@settings(max_examples=200)
@given(change())
def test_top_change_is_lapacks(case):
    values, z, sign, d = case
    after = np.linalg.eigvalsh(np.diag(values) + sign * np.outer(z, z))
    scale = max(values.max(), z @ z)
    assert abs(top_change(values, z, sign, d) - (after[-d:].sum() - values[-d:].sum())) <= (
        len(values) * TINY * scale
    )


@settings(max_examples=200)
@given(change())
def test_rank_one_gives_eigenpairs(case):
    values, z, sign, _ = case
    n = len(values)
    basis = np.linalg.qr(np.random.default_rng(n).standard_normal((n, n)))[0]
    before = basis.T @ np.diag(values) @ basis
    x = basis.T @ z
    new, vectors = rank_one(values, basis, z, sign)
    scale = max(values.max(), z @ z)
    assert np.all(np.diff(new) >= 0)
    np.testing.assert_allclose(vectors @ vectors.T, np.eye(n), atol=n * TINY)
    rebuilt = vectors.T @ np.diag(new) @ vectors
    np.testing.assert_allclose(rebuilt, before + sign * np.outer(x, x), atol=n * TINY * scale)


@settings(max_examples=200)
@given(change())
def test_change_keeps_its_digits_beside_a_large_sum(case):
    """The change depends on differences of eigenvalues alone, however large they are themselves."""
    values, z, sign, d = case
    z = z / max(np.linalg.norm(z), 1e-300)
    whole = np.round(np.minimum(values, 1e6))  # sums with 2**40 below are then exact
    near, far = top_change(whole, z, sign, d), top_change(whole + 2.0**40, z, sign, d)
    assert abs(near - far) <= 1e-13 * len(values)


def test_many_moves_in_a_row_do_not_drift():
    rng = np.random.default_rng(3)
    X = rng.standard_normal((200, 9)) * np.linspace(3, 0.1, 9)
    S = X.T @ X
    values, vectors = np.linalg.eigh(S)
    vectors = np.ascontiguousarray(vectors.T)
    for x, sign in zip(X[:128], [1.0, -1.0] * 64, strict=True):
        values, vectors = rank_one(values, vectors, vectors @ x, sign)
        S = S + sign * np.outer(x, x)
    np.testing.assert_allclose(vectors.T @ np.diag(values) @ vectors, S, atol=1e-11 * values[-1])


@pytest.mark.parametrize("k", [0, 1, 2])
def test_secular_root_is_accurate_near_a_pole(k):
    poles, w = np.array([0.0, 1.0, 1.5]), np.array([1e-9, 1.0, 0.3])
    weights = w * w
    anchor, tau = secular_root(poles, weights, weights.sum(), k, np.empty(3))
    terms = weights / ((poles - poles[anchor]) - tau)
    assert abs(1.0 + terms.sum()) <= 1e-12 * (1.0 + np.abs(terms).sum())


def test_no_change_at_all():
    values = np.array([1.0, 2.0])
    assert top_change(values, np.zeros(2), 1.0, 1) == 0.0
    new, vectors = rank_one(values, np.eye(2), np.zeros(2), -1.0)
    np.testing.assert_array_equal(new, values)
    np.testing.assert_array_equal(vectors, np.eye(2))
