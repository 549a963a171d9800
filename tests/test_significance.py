"""P-values by rank, from their definitions."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leftout.linalg.significance import corrected_p_values, p_value


@given(st.lists(st.integers(0, 4), min_size=1, max_size=8), st.integers(0, 4))
def test_p_value_counts(values, value):
    want = (1 + sum(v >= value for v in values)) / (1 + len(values))
    assert p_value(value, np.array(values)) == want


@given(st.integers(0, 10_000), st.integers(2, 10), st.integers(1, 5))
def test_the_smallest_corrected_p_value_from_its_definition(seed, curves, sizes):
    D = np.random.default_rng(seed).random((curves, sizes))
    highest = [
        max((D[b, k] - np.mean(D[:, k])) / np.std(D[:, k]) for k in range(sizes))
        for b in range(curves)
    ]
    want = (1 + sum(h >= highest[0] - 1e-9 for h in highest[1:])) / curves
    assert corrected_p_values(D).min() == pytest.approx(want)


def test_the_smallest_corrected_p_value_is_uniform_for_curves_of_one_law():
    rng = np.random.default_rng(0)
    p = [
        corrected_p_values(np.cumsum(rng.standard_normal((20, 6)), axis=1)).min()
        for _ in range(2000)
    ]
    counts = np.bincount(np.rint(20 * np.array(p)).astype(int), minlength=21)[1:]
    assert np.all(np.abs(counts - 100) < 45)  # 20 equally likely values, 4.6 standard deviations
