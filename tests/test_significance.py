"""P-values by rank, from their definitions."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from leftout.linalg.distinct import distinct_rows
from leftout.linalg.significance import Estimate, corrected_p_values, p_value


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


def test_errors_are_those_of_a_mean():
    rng = np.random.default_rng(0)
    a, b = rng.normal(0.0, 1.0, 80), rng.normal(0.4, 3.0, 50)
    one, two = map(Estimate.mean_of, (a, b))
    welch = stats.ttest_ind(b, a, equal_var=False)
    assert two.less(one).p_value == pytest.approx(welch.pvalue)
    assert two.less(one).interval[1:] == pytest.approx(welch.confidence_interval())
    assert one.interval[1:] == pytest.approx(stats.ttest_1samp(a, 0.0).confidence_interval())
    added = (a - a.mean()) / np.sqrt(80 * 79)  # what each row adds to the mean
    assert Estimate.of(one.value, added)[:2] == pytest.approx(one[:2])
    copies = distinct_rows(np.repeat(a, 2)[:, None])
    assert Estimate.of(one.value, np.repeat(added / 2.0, 2), copies)[:2] == pytest.approx(one[:2])
    assert np.isnan(Estimate.mean_of(a[:1]).interval[1:]).all()
    same = Estimate(value=1.0, error=0.0, freedom=1.0)
    assert same.less(same).p_value is None
