"""Sets of rows as bits."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leftout.explain import bits


@pytest.fixture(autouse=True, scope="module")
def words_wrap_around():
    """As they should; NumPy warns of it where kernels run uncompiled."""
    with np.errstate(over="ignore"):
        yield


@given(st.integers(0, 2**32 - 1), st.integers(1, 300), st.integers(1, 9))
def test_bits_are_sets(seed, m, n):
    rng = np.random.default_rng(seed)
    A = rng.random((n, m)) < rng.random((n, 1))
    B = rng.random((3, m)) < 0.4
    packed, others = (np.concatenate([bits.of_mask(row) for row in M]) for M in (A, B))
    assert np.array_equal(bits.meet(packed, others), A.astype(int) @ B.T.astype(int))
    assert np.array_equal(bits.meet_each_other(packed), A.astype(int) @ A.T.astype(int))
    unpacked = np.unpackbits(packed.astype("<u8").view(np.uint8), axis=1, bitorder="little")
    assert np.array_equal(unpacked[:, :m], A) and not unpacked[:, m:].any()


def test_long_sets_cross_the_stretches():
    rng = np.random.default_rng(0)
    A = rng.random((4, 40_000)) < 0.3
    packed = np.concatenate([bits.of_mask(row) for row in A])
    for counts in (bits.meet(packed, packed), bits.meet_each_other(packed)):
        assert np.array_equal(counts, A.astype(int) @ A.T.astype(int))


@given(st.integers(0, 2**32 - 1), st.integers(1, 150), st.integers(1, 6))
def test_sets_that_add_have_half_of_their_rows_new(seed, m, limit):
    rng = np.random.default_rng(seed)
    A, inside = rng.random((5, m)) < 0.5, rng.random(m) < 0.5
    packed = np.concatenate([bits.of_mask(row) for row in A])
    first, second = rng.integers(0, 5, (2, 12))
    sets = A[first] & A[second] & inside
    chosen = bits.adding(
        packed, first, second, sets.sum(axis=1), bits.of_mask(inside)[0].copy(), limit
    )
    want = np.zeros(12, dtype=bool)
    for k, rows in enumerate(sets):
        before = sets[want].any(axis=0)
        want[k] = want.sum() < limit and np.sum(rows & ~before) >= np.sum(rows & before)
    assert np.array_equal(chosen, want)


@given(st.integers(0, 2**32 - 1), st.integers(1, 150))
def test_repeats_are_equal_intersections(seed, m):
    rng = np.random.default_rng(seed)
    A = rng.random((5, m)) < 0.5
    A[3] = A[0]
    packed = np.concatenate([bits.of_mask(row) for row in A])
    first, second = rng.integers(0, 5, 30), rng.integers(-1, 5, 30)
    sets = [A[i] if j < 0 else A[i] & A[j] for i, j in zip(first, second, strict=True)]
    kin = np.array([rows.sum() for rows in sets])
    again = bits.repeats(packed, first, second, kin)
    seen, want = set(), []
    for rows in sets:
        want.append(rows.tobytes() in seen)
        seen.add(rows.tobytes())
    assert again.tolist() == want
