"""Columns drawn in one piece, and swaps, by the definition: do squares of misses come down?"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leftout.evidence import correlation_matching
from leftout.evidence.correlation_matching import (
    DummyBlock,
    find_dummy_blocks,
    swap_values,
)
from leftout.evidence.surrogates import correlations

COLUMNS = [np.array([0, 2, 3]), np.array([1]), np.array([4])]  # a category and two numbers


def category_and_numbers(seed, m=24):
    """Values, and correlations to reach."""
    rng = np.random.default_rng(seed)
    kind = rng.permutation(np.arange(m) % 3)
    X = np.column_stack([kind == 0, rng.standard_normal(m), kind == 1, kind == 2, rng.random(m)])
    return X, correlations(rng.permuted(X, axis=0))


def missed(X, target, start):
    """What is missed, in standard units of the table at the start; not within a category."""
    Z = (X - start.mean(axis=0)) / start.std(axis=0)
    misses = target - Z.T @ Z / len(Z)
    np.fill_diagonal(misses, 0.0)
    return Z, misses


def plainly(X, target, pairs):
    X, start = X.copy(), X
    for t, (a, b) in enumerate(pairs):
        own = COLUMNS[t % 3]
        after = X.copy()
        after[np.ix_([a, b], own)] = X[np.ix_([b, a], own)]
        others = np.setdiff1d(np.arange(5), own)
        before_, after_ = (
            np.sum(missed(each, target, start)[1][np.ix_(own, others)] ** 2) for each in (X, after)
        )
        if after_ < before_:
            X = after
    return X


@pytest.mark.parametrize("seed", range(12))
def test_a_swap_is_made_where_it_helps(seed):
    X, target = category_and_numbers(seed)
    pairs = np.random.default_rng([seed, 1]).integers(len(X), size=(300, 2))
    want = plainly(X, target, pairs)
    Z, misses = missed(X, target, X)
    got = X.copy()
    columns, first = np.concatenate(COLUMNS), np.array([0, 3, 4, 5])
    correlation_matching._swap(Z.astype(np.float32), misses, columns, first, got, pairs)
    assert not np.array_equal(want, X)
    np.testing.assert_array_equal(got, want)


@given(st.integers(0, 1000))
def test_values_stay_and_misses_come_down(seed):
    """Categories stay whole; misses are kept in step."""
    X, target = category_and_numbers(seed)
    Z, misses = missed(X, target, X)
    single, before, now = Z.astype(np.float32), misses.copy(), X.copy()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(correlation_matching, "_FEWEST_PAIRS", 100)
        swap_values(single, misses, COLUMNS, now, np.random.default_rng(seed))
    assert np.sum(misses**2) <= np.sum(before**2)
    for own in COLUMNS:
        assert sorted(map(tuple, now[:, own])) == sorted(map(tuple, X[:, own]))
    Z, again = missed(now, target, X)
    for own in COLUMNS:
        again[np.ix_(own, own)] = before[np.ix_(own, own)]
    np.testing.assert_allclose(misses, again, rtol=0, atol=1e-5)
    np.testing.assert_allclose(single, Z, rtol=0, atol=1e-5)
    assert np.sum(misses**2) == pytest.approx(np.sum(again**2), abs=1e-5)


def test_blocks():
    """Levels that exclude each other, wherever they stand; unknown ones; and what is a number."""
    kind = np.array([0, 2, 1, 0, 2, 3, 3, 1])
    levels = [np.where(kind == 3, 0.3, kind == level) for level in range(3)]
    three = np.array([0.0, 1.0, 2.0, 0.0, 1.0, 1.0, 2.0, 0.0])
    other = np.array([1.0, 1.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0])
    X = np.column_stack([levels[0], three, levels[1], other, 1.0 - other, levels[2], np.ones(8)])
    found = find_dummy_blocks(X)
    assert [block.columns.tolist() for block in found] == [[0, 2, 5], [1], [3, 4], [6]]
    category, number, both, constant = found
    assert category.sizes.tolist() == [2, 2, 2] and both.sizes.tolist() == [4, 4]
    assert kind[category.by_level].tolist() == [0, 0, 1, 1, 2, 2, 3, 3]
    assert number.sizes is None and three[number.by_level].tolist() == sorted(three)
    assert constant.sizes is None and constant.steps is None


@given(st.integers(0, 1000))
def test_levels_take_rows_in_turn(seed):
    rng = np.random.default_rng(seed)
    sizes = 1 + rng.multinomial(26, [0.2, 0.5, 0.1, 0.2])[:3]
    block = DummyBlock(np.arange(3), np.arange(30), sizes, None)
    latent = rng.standard_normal((3, 30))
    order = block.ordered(latent)
    assert sorted(order) == list(range(30))
    rest = list(range(30))
    for level, size in enumerate(sizes):
        taken = sorted(rest, key=lambda row: -latent[level, row])[:size]
        start = 30 - len(rest)
        assert sorted(order[start : start + size]) == sorted(taken)
        rest = [row for row in rest if row not in taken]
