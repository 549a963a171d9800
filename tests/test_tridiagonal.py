"""Eigenvalues without vectors, against LAPACK's."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leftout.core.tridiagonal import top_sums


def packed(S: np.ndarray) -> np.ndarray:
    return S[np.tril_indices(len(S))]


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 9), st.sampled_from([1e-60, 1.0, 1e60]), st.data())
def test_sums_of_the_largest_eigenvalues_are_lapacks(seed, n, scale, data):
    d = data.draw(st.integers(1, n))
    rng = np.random.default_rng(seed)
    rank = data.draw(st.integers(0, n))
    several = []
    for _ in range(3):
        X = rng.normal(size=(rank, n)) * rng.gamma(0.3, 1.0, n)
        several.append(scale * (X.T @ X))
    several.append(scale * rng.normal() * np.eye(n))  # equal ones, of either sign
    found = top_sums(np.stack([packed(S) for S in several]), n, d)
    for S, sum_ in zip(several, found, strict=True):
        exact = np.linalg.eigvalsh(S)
        assert sum_ == pytest.approx(exact[n - d :].sum(), rel=0, abs=1e-13 * n * abs(exact).max())


@pytest.mark.parametrize("n", [20, 55])
def test_larger_matrices_too(n):
    rng = np.random.default_rng(n)
    X = rng.normal(size=(2 * n, n)) * np.geomspace(1.0, 1e-6, n)
    S = X.T @ X
    for d in (1, n // 3, n):
        exact = np.linalg.eigvalsh(S)[n - d :].sum()
        assert top_sums(packed(S)[None], n, d)[0] == pytest.approx(exact, rel=1e-13)


def test_a_matrix_that_falls_apart_and_one_that_is_tridiagonal():
    S = np.zeros((4, 4))
    S[:2, :2], S[2:, 2:] = [[2.0, 1.0], [1.0, 2.0]], [[5.0, -4.0], [-4.0, 5.0]]
    assert top_sums(packed(S)[None], 4, 2)[0] == pytest.approx(12.0)  # 9 and 3
    S = np.diag([1.0, 1.0], 1) + np.diag([1.0, 1.0], -1)  # 0 and the roots of 2
    assert top_sums(packed(S)[None], 3, 1)[0] == pytest.approx(np.sqrt(2.0))


def test_only_matrices_that_are_there():
    assert top_sums(np.empty((0, 6)), 3, 2).shape == (0,)
