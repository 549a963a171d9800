"""Moments of many groups at once, and the most that each can lose."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from leftout.core.boxes import cell_moments, highest_sums, span_moments
from leftout.core.tridiagonal import top_sums


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 9), st.data())
def test_no_boxs_largest_eigenvalues_exceed_the_ceiling(seed, n, data):
    d = data.draw(st.integers(1, n - 1))
    rng = np.random.default_rng(seed)
    scale = rng.gamma(0.5, 1.0, n)
    Z = rng.normal(size=(50, n)) @ (rng.normal(size=(n, n)) * scale)
    packed = cell_moments(rng.integers(-1, 4, 50), 4, np.ascontiguousarray(Z))
    exact, most = top_sums(packed, n, d), highest_sums(packed, n, d)
    assert (exact <= most + 1e-9 * (Z**2).sum()).all()


def test_a_ceiling_is_exact_where_axes_are_its_own():
    packed = np.array([[5.0, 0.0, 1.0, 0.0, 0.0, 3.0]])  # the diagonal 5, 1, 3
    assert highest_sums(packed, 3, 2)[0] == top_sums(packed, 3, 2)[0] == 8.0


def test_cells_add_up_to_what_rows_give():
    rng = np.random.default_rng(0)
    Z, codes = rng.normal(size=(30, 4)), rng.integers(-1, 3, 30)
    packed = cell_moments(codes, 3, Z)
    for cell in range(3):
        S = Z[codes == cell].T @ Z[codes == cell]
        np.testing.assert_allclose(packed[cell], S[np.tril_indices(4)], rtol=1e-12, atol=1e-12)


def test_conditions_have_the_moments_of_their_rows_in_any_axes():
    rng = np.random.default_rng(1)
    Z = rng.normal(size=(40, 5))
    codes = np.stack([rng.integers(0, 3, 40), rng.integers(3, 7, 40)])
    held = np.zeros((3, 7), dtype=bool)
    held[0, [0, 2]] = held[1, 1] = held[2, [3, 5, 6]] = True
    values, axes = np.linalg.eigh(Z.T @ Z)
    whole = np.zeros(15)
    whole[np.cumsum(np.arange(1, 6)) - 1] = values
    axis = np.array([0, 0, 1])
    packed = span_moments(codes, np.array([0, 3, 7]), axis, held, Z @ axes, whole)
    most = highest_sums(packed, 5, 2)
    for c in range(3):
        rows = (Z @ axes)[held[c][codes[axis[c]]]]
        S = rows.T @ rows
        np.testing.assert_allclose(packed[c], S[np.tril_indices(5)], rtol=1e-10, atol=1e-10)
        assert np.linalg.eigvalsh(S)[-2:].sum() <= most[c] + 1e-9
