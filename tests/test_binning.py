"""Conditions mean what they say, and every row is in one bin of every column."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leftout.data.binning import (
    Indicators,
    Span,
    between,
    between_dates,
    bin_column,
    starts_of,
)
from leftout.data.columns import columns_of


@st.composite
def raw_tables(draw, least=2):
    """Columns as they come: skewed, discrete, rounded, text, rare, with gaps."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    m = draw(st.integers(least, 80))
    kinds = {
        "skewed": np.exp(rng.standard_normal(m)),
        "whole": rng.poisson(rng.choice([0.3, 4.0]), m).astype(float),
        "rounded": np.round(rng.standard_normal(m), 1),
        "yes or no": rng.integers(0, 2, m),
        "text": rng.choice(["a", "b", "c = d", "e and f"], m),
        "rare": np.where(rng.random(m) < 0.1, "x", "y"),
        "constant": np.zeros(m),
    }
    names = draw(st.lists(st.sampled_from(sorted(kinds)), min_size=1, unique=True))
    table = pd.DataFrame({name: kinds[name] for name in names})
    for name in names:
        if draw(st.booleans()):
            table[name] = table[name].where(rng.random(m) < 0.8)
    return table


@given(raw_tables(), st.integers(2, 7))
def test_bins_part_the_rows_as_their_conditions_say(table, bins):
    for column in columns_of(table):
        binned = bin_column(column, bins)
        conditions = [binned.condition(code) for code in range(binned.n_bins)]
        rows = binned.codes == np.arange(binned.n_bins)[:, None]
        assert np.array_equal(rows.sum(axis=0), np.ones(len(table)))
        assert np.array_equal(rows, [condition.holds(column) for condition in conditions])
        assert len({condition.text for condition in conditions}) == binned.n_bins
        assert binned.n_bins <= bins + 1 or column.categories is not None


@given(raw_tables(), st.data())
def test_conditions_that_are_offered_hold_for_their_rows(table, data):
    for column in columns_of(table):
        binned = bin_column(column, 5)
        n = binned.n_known if column.categories is None else 1
        ends = [(i, j) for i in range(n) for j in range(i + 1, n + 1) if j - i < binned.n_known]
        spans = [Span(*end) for end in ends]
        if column.categories is not None:
            spans += [Span(code, code + 1, True) for code in range(binned.n_bins)]
        chosen = data.draw(st.lists(st.sampled_from(spans), unique=True)) if spans else []
        offered = binned.with_conditions(chosen)
        for place, span in enumerate(offered.spans):
            held = offered.condition(*span).holds(column)
            assert np.array_equal(offered.mask(place), held)
        # rows that no condition tells apart are in one bin
        signatures = {tuple(offered.mask(place)[i] for place in range(len(chosen)))
                      for i in range(len(table))}  # fmt: skip
        assert len(np.unique(offered.codes)) == len(signatures)


@given(raw_tables(), st.data())
def test_ranges_and_their_negations_say_what_they_cover(table, data):
    columns = columns_of(table)
    made = bin_column(columns[data.draw(st.integers(0, len(columns) - 1))], 5)
    codes, column = made.codes, made.column
    if column.categories is None and made.n_known:
        start = data.draw(st.integers(0, made.n_known - 1))
        stop = data.draw(st.integers(start + 1, made.n_known))
        if stop - start < made.n_known:
            said = made.condition(start, stop).holds(column)
            assert np.array_equal(said, (codes >= start) & (codes < stop))
        elif made.has_missing:
            assert np.array_equal(made.condition(0, made.n_known).holds(column), ~column.missing)
    one = data.draw(st.integers(0, made.n_bins - 1))
    if column.categories is not None or one == made.n_known:
        assert np.array_equal(made.condition(one, all_but=True).holds(column), codes != one)


def test_a_value_that_fills_a_bin_gets_one_and_the_others_share_what_is_left():
    values = np.concatenate([np.zeros(870), np.arange(1, 14).repeat(10)])
    made = bin_column(columns_of(pd.DataFrame({"credited": values}))[0], 5)
    assert [made.condition(code).text for code in range(made.n_bins)] == [
        "credited = 0",
        "1 <= credited < 4",
        "4 <= credited < 7",
        "7 <= credited < 11",
        "credited >= 11",
    ]
    assert np.bincount(made.codes).tolist() == [870, 30, 30, 40, 30]


def test_intervals_are_named_by_short_numbers_that_cut_the_same():
    assert between(0.123456, 0.1298765) == 0.129
    assert between(4.0, 5.0) == 5.0 and between(19.0, 25.0) == 25.0
    assert between(0.31, 0.39) == 0.39 and between(0.29, 0.31) == 0.3
    assert between(-0.2, 0.37) == 0.0 and between(-0.9, -0.37) == -0.4
    assert between(123.4, 987.6) == 900.0
    assert between(-np.inf, 2.5) == 2.5
    assert between(1.3e30, 2.1442167349680825e30) == 2e30  # floats as large are always whole
    assert between(7438781041043.0, 7438781041049.0) == 7438781041049.0


def test_dates_between_two_are_days_where_one_begins():
    def at(text):
        return float(np.datetime64(text, "us").astype(np.int64))

    for low, high, cut_at in (
        ("2013-09-29T23:11:05.4", "2013-10-01T05:12:33.123456", "2013-10-01"),
        ("2013-09-01", "2013-10-03", "2013-10-03"),
        ("2013-10-01T00:00:00", "2013-10-01T05:12:33", "2013-10-01T05:00"),
        ("2013-10-01T05:03", "2013-10-01T05:12:33.1", "2013-10-01T05:12"),
        ("2013-10-01T05:12:01", "2013-10-01T05:12:33.1", "2013-10-01T05:12:33"),
        ("2013-10-01T05:12:33", "2013-10-01T05:12:33.1", "2013-10-01T05:12:33.1"),
        ("1969-06-01T12:00", "1969-06-02T12:00", "1969-06-02"),
    ):
        assert between_dates(at(low), at(high)) == at(cut_at)
    stamps = pd.DataFrame({"when": pd.date_range("2020-01-01 07:31:17.5", periods=9, freq="35h")})
    conditions = [bin_column(columns_of(stamps)[0], 3).condition(place) for place in range(3)]
    assert [each.text for each in conditions] == [
        "when < 2020-01-05",
        "2020-01-05 <= when < 2020-01-10",
        "when >= 2020-01-10",
    ]


@given(st.floats(-1e6, 1e6), st.floats(1e-9, 1e3))
def test_between_is_between(low, step):
    high = low + step
    if high > low:
        assert low < between(low, high) <= high


def test_dates_missing_and_new_tables():
    table = pd.DataFrame(
        {"day": pd.date_range("2020-01-01", periods=40), "n": [1.0, np.nan, 3.0, 4.5] * 10}
    )
    columns = columns_of(table)
    each = [bin_column(column, 4) for column in columns]
    texts = [binned.condition(code).text for binned in each for code in range(binned.n_bins)]
    assert texts[0] == "day < 2020-01-11" and texts[3] == "day >= 2020-01-31"
    assert "n is missing" in texts
    # a condition on a column of two values holds in a table where it has three
    two, three = (pd.DataFrame({"k": values}) for values in ([0, 1, 1, 0], [0, 1, 2, 1]))
    made = bin_column(columns_of(two)[0], 5)
    assert made.condition(1).holds(columns_of(three)[0]).tolist() == [False, True, False, True]
    text = columns_of(pd.DataFrame({"k": ["1", "z", None, "0"]}))[0]
    assert made.condition(1).holds(text).tolist() == [True, False, False, False]
    number = bin_column(columns_of(three)[0], 5)
    assert number.condition(1).holds(columns_of(two)[0]).tolist() == [False, True, True, False]


@pytest.mark.parametrize("value", [np.nan, 3.0])
def test_columns_with_one_bin(value):
    made = bin_column(columns_of(pd.DataFrame({"c": [value] * 5}))[0], 5)
    assert made.n_bins == 1
    assert made.condition(0).text == ("c is missing" if value != value else "c = 3")


def one_by_one(weights, n_bins):
    """Where bins begin, value by value: the next joins if it brings the sum nearer to its part."""
    starts, stop, left = [], 0, sum(weights)
    while len(starts) < n_bins and stop < len(weights):
        starts.append(stop)
        part, taken = Fraction(left, n_bins - len(starts) + 1), weights[stop]
        stop += 1
        while stop < len(weights) and taken + weights[stop] - part <= part - taken:
            taken += weights[stop]
            stop += 1
        left -= taken
    return starts


@given(st.lists(st.integers(1, 9), min_size=3, max_size=40), st.integers(2, 9), st.data())
def test_intervals_have_about_equally_many_rows(counts, bins, data):
    values = np.repeat(np.arange(len(counts)) + 0.5, counts)
    column = columns_of(pd.DataFrame({"v": values}))[0]
    group = None
    if data.draw(st.booleans()):
        group = np.array(data.draw(st.lists(st.booleans(), min_size=len(values),
                                            max_size=len(values))))  # fmt: skip
        inside = [int(group[values == place + 0.5].sum()) for place in range(len(counts))]
        known = max(1, sum(inside))
        weights = [c * known + i * len(values) for c, i in zip(counts, inside, strict=True)]
    else:
        weights = counts
    starts = one_by_one(weights, bins) if len(counts) > bins else list(range(len(counts)))
    assert bin_column(column, bins, group).firsts.tolist() == [start + 0.5 for start in starts]


def made(table):
    """Columns cut, their indicators, and the rows of every bin one by one."""
    binned = [bin_column(column, 4) for column in columns_of(table)]
    rows = [c.condition(code).holds(c.column) for c in binned for code in range(c.n_bins)]
    return binned, Indicators.of(binned), np.array(rows).astype(int)


@given(raw_tables(), st.integers(0, 2**32 - 1))
def test_counts_are_those_of_the_rows(table, seed):
    rng = np.random.default_rng(seed)
    binned, table, rows = made(table)
    group = rng.random(rows.shape[1]) < 0.4
    assert table.n_bins == len(rows) == starts_of(binned)[-1]
    assert np.array_equal(table.counts(), rows.sum(axis=1))
    assert np.array_equal(table.counts(group), rows[:, group].sum(axis=1))
    assert np.array_equal(table.pairs(), rows @ rows.T)
    assert np.array_equal(table.pairs(group), rows[:, group] @ rows[:, group].T)


@given(raw_tables(), st.data())
def test_some_bins_are_counted_as_among_all(table, data):
    _, table, rows = made(table)
    places = st.lists(st.integers(0, len(rows) - 1), min_size=1, unique=True)
    some = np.array(sorted(data.draw(places)))
    assert np.array_equal(table.only(some).pairs(), rows[some] @ rows[some].T)
    assert np.array_equal(table.only(some).counts(), rows[some].sum(axis=1))
