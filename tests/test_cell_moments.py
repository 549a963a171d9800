"""Moments of many groups at once, and the most that each can lose."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leftout.linalg.cell_moments import cell_moments, top_sum_bounds, top_sums


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 9), st.data())
def test_no_cells_largest_eigenvalues_exceed_the_bound(seed, n, data):
    d = data.draw(st.integers(1, n))
    rng = np.random.default_rng(seed)
    scale = rng.gamma(0.5, 1.0, n)
    Z = rng.normal(size=(50, n)) @ (rng.normal(size=(n, n)) * scale)
    S = cell_moments(rng.integers(0, 4, 50), 4, Z)
    exact, most = top_sums(S, d), top_sum_bounds(S, d)
    assert (exact <= most + 1e-9 * (Z**2).sum()).all()
    for one, sum_ in zip(S, exact, strict=True):
        want = np.sort(np.linalg.eigvalsh(one))[n - d :].sum()
        assert sum_ == pytest.approx(want, abs=1e-12 * np.trace(one))


def test_a_bound_is_exact_where_axes_are_its_own():
    S = np.diag([5.0, 1.0, 3.0])[None]
    assert top_sum_bounds(S, 2)[0] == top_sums(S, 2)[0] == 8.0
    assert top_sum_bounds(S, 3)[0] == top_sums(S, 3)[0] == 9.0


@pytest.mark.parametrize("n_cells", [6, 70_000])
def test_cells_add_up_to_what_rows_give(n_cells):
    rng = np.random.default_rng(0)
    Z, codes = rng.normal(size=(60, 4)), rng.integers(0, 5, 60)  # the last cells are empty
    found = cell_moments(codes, n_cells, Z)
    for cell in range(6):
        rows = Z[codes == cell]
        np.testing.assert_allclose(found[cell], rows.T @ rows, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("parts", [1, 2, 3])
def test_the_largest_cell_is_what_the_others_leave(parts):
    rng = np.random.default_rng(1)
    Z, codes = rng.normal(size=(80, 3)), rng.choice(6, 80, p=[0.4, 0.1, 0.0, 0.2, 0.2, 0.1])
    want = cell_moments(codes, 6, Z)
    known = want.reshape(parts, -1, 3, 3).sum(axis=1)
    np.testing.assert_allclose(cell_moments(codes, 6, Z, known), want, rtol=1e-10, atol=1e-12)
    # its rows are not looked at
    spared = np.array([part * 6 // parts + np.bincount(codes, minlength=6)
                       .reshape(parts, -1)[part].argmax() for part in range(parts)])  # fmt: skip
    Z[np.isin(codes, spared)] = np.nan
    assert np.isfinite(cell_moments(codes, 6, Z, known)).all()
