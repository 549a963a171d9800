from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

import naive
from leftout.linalg import moments as mm
from leftout.linalg.moments import cell_moments


def naive_moments(X, labels, n_groups, origin):
    shifted = X - origin
    rows = [shifted[labels == g] for g in range(n_groups)]
    return (
        np.array([len(r) for r in rows]),
        np.array([sum(r, np.zeros(X.shape[1])) for r in rows]),
        np.array([sum((np.outer(x, x) for x in r), np.zeros((X.shape[1],) * 2)) for r in rows]),
    )


@st.composite
def grouped(draw):
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    m, n, groups = draw(st.integers(1, 12)), draw(st.integers(1, 4)), draw(st.integers(1, 3))
    return rng.standard_normal((m, n)), rng.integers(0, groups, m), groups, rng.random(n)


def assert_same(found, expected):
    for part, wanted in zip(found[:4], expected, strict=False):
        assert_allclose(part, wanted, rtol=1e-12, atol=1e-12)


@given(grouped())
def test_build_is_the_definition(case):
    X, labels, groups, origin = case
    built = mm.build(X, labels, n_groups=groups, origin=origin)
    assert_same(built, naive_moments(X, labels, groups, origin))


@given(grouped(), st.integers(0, 12))
def test_merging_sites_equals_pooling(case, cut):
    X, labels, groups, origin = case
    parts = (
        mm.build(X[s], labels[s], n_groups=groups, origin=origin)
        for s in (slice(None, cut), slice(cut, None))
    )
    assert_same(mm.merge(*parts), naive_moments(X, labels, groups, origin))


@given(grouped())
def test_recentring_equals_building_about_the_new_origin(case):
    X, labels, groups, origin = case
    moved = mm.recentre(mm.build(X, labels, n_groups=groups), origin)
    assert_same(moved, naive_moments(X, labels, groups, origin))


@given(grouped())
def test_without_undoes_merge_and_pooled_forgets_groups(case):
    X, labels, groups, _ = case
    whole = mm.build(X)
    first = mm.build(X[labels == 0])
    assert_same(mm.without(whole, first), mm.build(X[labels != 0]))
    assert_same(mm.pooled(mm.build(X, labels, n_groups=groups)), whole)


def test_blocks_change_nothing(monkeypatch):
    X = np.random.default_rng(0).standard_normal((50, 3))
    labels = np.arange(50) % 2
    whole = mm.build(X, labels, n_groups=2)
    monkeypatch.setattr(mm, "_BLOCK", 21)
    assert_same(mm.build(X, labels, n_groups=2), whole)


def test_mean_far_from_zero_keeps_its_digits():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((500, 3))
    near, far = mm.build_about_mean(X), mm.build_about_mean(X + 1e6)
    # the data itself loses digits at 1e6; about zero, all but two would be gone
    assert_allclose(far.second, near.second, rtol=1e-8)
    assert_allclose(far.origin, near.origin + 1e6, rtol=1e-12)


def test_merge_refuses_other_origins():
    X = np.ones((2, 2))
    with pytest.raises(ValueError, match=r"different origins .*recentre\(b, a.origin\)"):
        mm.merge(mm.build(X), mm.build(X, origin=1.0))


def test_blocks_cover_every_row_once():
    covered = [i for block in mm.blocks(2_500_000, 2) for i in (block.start, block.stop)]
    assert covered[0] == 0 and covered[-1] == 2_500_000
    assert_array_equal(covered[1:-1:2], covered[2::2])


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


@given(grouped(), st.integers(0, 2**32 - 1))
def test_weights_count_rows_as_often_as_they_are_repeated(case, seed):
    X, labels, groups, origin = case
    weights = np.random.default_rng(seed).integers(0, 4, len(X))
    rows = mm.times_roots(X, origin, weights.astype(float))
    found = mm.build_weighted(rows, weights.astype(float), labels, n_groups=groups)
    again, sides = naive.repeated(weights, X, labels)
    assert_same(found[:3], naive_moments(again, sides, groups, origin))
