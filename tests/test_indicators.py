"""Counts of pairs are those of the rows in which both hold."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leftout.data.binning import bin_column
from leftout.data.columns import columns_of
from leftout.data.indicators import Indicators, starts_of
from test_binning import raw_tables


def made(table):
    """Columns cut, their indicators, and the rows of every bin one by one."""
    binned = [bin_column(column, 4) for column in columns_of(table)]
    rows = [c.condition(code).holds(c.column) for c in binned for code in range(c.n_bins)]
    return binned, Indicators.of(binned), np.array(rows).astype(int)


@pytest.mark.parametrize("block", [1 << 21, 1])
@given(raw_tables(), st.integers(0, 2**32 - 1))
def test_counts_are_those_of_the_rows(block, table, seed):
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("leftout.data.indicators._ROWS", block)
        patched.setattr("leftout.data.indicators._FEWEST", 7)
        rng = np.random.default_rng(seed)
        binned, table, rows = made(table)
        group = rng.random(rows.shape[1]) < 0.4
        assert table.n_bins == len(rows) == starts_of(binned)[-1]
        assert np.array_equal(table.counts(), rows.sum(axis=1))
        assert np.array_equal(table.counts(group), rows[:, group].sum(axis=1))
        assert np.array_equal(table.pairs(), rows @ rows.T)
        assert np.array_equal(table.pairs(group), rows[:, group] @ rows[:, group].T)
        masks = rng.random((3, len(group))) < 0.5
        assert np.array_equal(table.meet(masks), masks.astype(int) @ rows.T)


@given(raw_tables(), st.data())
def test_some_bins_are_counted_as_among_all(table, data):
    _, table, rows = made(table)
    places = st.lists(st.integers(0, len(rows) - 1), min_size=1, unique=True)
    left, right = (np.array(sorted(data.draw(places))) for _ in range(2))
    found = table.only(left).pairs(other=table.only(right))
    assert np.array_equal(found, rows[left] @ rows[right].T)
    assert np.array_equal(table.only(left).counts(), rows[left].sum(axis=1))


@pytest.mark.parametrize("block", [1, 3, 1024])
def test_pairs_that_are_asked_for(block, monkeypatch):
    monkeypatch.setattr("leftout.data.indicators.BLOCK", block)
    rng = np.random.default_rng(0)
    _, table, rows = made(rng.integers(0, 4, (50, 3)))
    first, second = rng.integers(0, len(rows), (2, 20))
    group = rng.random(50) < 0.5
    want = (rows[first] & rows[second])[:, group].sum(axis=1)
    assert np.array_equal(table.of_pairs(first, second, group), want)
