"""Rows to sides by prices: what a general solver of assignments finds with rows copied to seats."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment

from leftout.linalg.assignment import assign


def by_seats(values, sizes):
    """The largest sum of values when each side has as many seats as its size."""
    seats = np.repeat(np.arange(len(sizes)), sizes)
    rows, chosen = linear_sum_assignment(values[:, seats], maximize=True)
    return values[rows, seats[chosen]].sum()


def case(seed):
    rng = np.random.default_rng(seed)
    m, sides = int(rng.integers(2, 60)), int(rng.integers(2, 7))
    m = max(m, sides)
    cuts = np.sort(rng.choice(np.arange(1, m), sides - 1, replace=False))
    sizes = np.diff([0, *cuts, m])
    values = rng.standard_normal((m, sides)) * rng.choice([1e-3, 1.0, 1e6], sides)
    if seed % 4 == 1:
        values = np.round(values)  # ties
    if seed % 4 == 2:
        values = values[rng.integers(m, size=m)]  # rows that repeat
    if seed % 4 == 3:
        values[:, 0] = values[:, -1]  # sides alike
    return values, sizes


@pytest.mark.parametrize("seed", range(200))
def test_the_assignment_is_that_of_rows_copied_to_seats(seed):
    values, sizes = case(seed)
    labels, prices = assign(values, sizes)
    assert np.bincount(labels, minlength=len(sizes)).tolist() == sizes.tolist()
    total, scale = values[np.arange(len(values)), labels].sum(), np.abs(values).max()
    assert total == pytest.approx(by_seats(values, sizes), rel=1e-12, abs=1e-12 * scale)
    # the prices prove it: nobody would rather be elsewhere
    net = values - prices
    assert prices[0] == 0.0
    assert np.all(net.max(axis=1) - net[np.arange(len(net)), labels] <= 1e-9 * scale)


@given(st.integers(0, 2**31), st.integers(0, 2**31))
def test_no_start_and_no_order_of_sides_changes_the_sum(seed, other):
    values, sizes = case(seed % 10_000)
    rng, at = np.random.default_rng(other), np.arange(len(values))
    scale = np.abs(values).max()
    total = values[at, assign(values, sizes).labels].sum()
    start = rng.standard_normal(len(sizes)) * scale
    again = assign(values, sizes, start).labels
    assert values[at, again].sum() == pytest.approx(total, rel=1e-12, abs=1e-12 * scale)
    order = rng.permutation(len(sizes))
    turned = order[assign(values[:, order], sizes[order]).labels]
    assert values[at, turned].sum() == pytest.approx(total, rel=1e-12, abs=1e-12 * scale)


def test_two_sides_are_a_cut_between_two_scores():
    values = np.array([[0.0, 5.0], [1.0, 3.0], [0.0, 4.0], [2.0, 2.5]])
    labels, prices = assign(values, [2, 2])
    assert labels.tolist() == [1, 0, 1, 0] and prices.tolist() == [0.0, (4.0 + 2.0) / 2]


def test_ties_go_by_index_and_the_start_is_left_as_it_was():
    start = np.array([0.0, 1.0, 2.0])
    labels, prices = assign(np.zeros((6, 3)), [1, 2, 3], start)
    again, _ = assign(np.zeros((6, 3)), [1, 2, 3], start)
    assert start.tolist() == [0.0, 1.0, 2.0] and labels.tolist() == again.tolist()
    assert prices.tolist() == [0.0, 0.0, 0.0]
    assert np.bincount(labels).tolist() == [1, 2, 3]
