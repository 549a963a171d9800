"""Conditions mean what they say, and every row has one item of every column."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leftout.explain.items import Items
from leftout.tables.columns import columns_of
from leftout.tables.cuts import between, between_dates, cut


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
def test_items_of_a_column_part_the_rows_as_their_conditions_say(table, bins):
    columns = columns_of(table)
    items = Items(columns, bins)
    for place, column in enumerate(columns):
        of_column = np.flatnonzero(items.column_of == place)
        rows = items.cuts[place].codes == np.arange(len(of_column))[:, None]
        assert np.array_equal(rows.sum(axis=0), np.ones(len(table)))
        said = np.array([items.condition(item).holds(column) for item in of_column])
        assert np.array_equal(rows, said)
        assert len({items.condition(item).text for item in of_column}) == len(of_column)
        assert len(of_column) <= bins + 1 or column.categories is not None
        assert np.array_equal(items.count()[of_column], rows.sum(axis=1))


@given(raw_tables(), st.data())
def test_ranges_and_their_negations_say_what_they_cover(table, data):
    columns = columns_of(table)
    made = cut(columns[data.draw(st.integers(0, len(columns) - 1))], 5)
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
        assert np.array_equal(made.other_than(one).holds(column), codes != one)


def test_a_value_that_fills_a_bin_gets_one_and_the_others_share_what_is_left():
    values = np.concatenate([np.zeros(870), np.arange(1, 14).repeat(10)])
    items = Items(columns_of(pd.DataFrame({"credited": values})), 5)
    assert [items.condition(i).text for i in range(len(items))] == [
        "credited = 0",
        "1 <= credited < 4",
        "4 <= credited < 7",
        "7 <= credited < 11",
        "credited >= 11",
    ]
    assert items.count().tolist() == [870, 30, 30, 40, 30]


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
    conditions = [cut(columns_of(stamps)[0], 3).condition(place) for place in range(3)]
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
    items = Items(columns, 4)
    texts = [items.condition(i).text for i in range(len(items))]
    assert texts[0] == "day < 2020-01-11" and texts[3] == "day >= 2020-01-31"
    assert "n is missing" in texts
    # a condition on a column of two values holds in a table where it has three
    two, three = (pd.DataFrame({"k": values}) for values in ([0, 1, 1, 0], [0, 1, 2, 1]))
    made = cut(columns_of(two)[0], 5)
    assert made.condition(1).holds(columns_of(three)[0]).tolist() == [False, True, False, True]
    text = columns_of(pd.DataFrame({"k": ["1", "z", None, "0"]}))[0]
    assert made.condition(1).holds(text).tolist() == [True, False, False, False]
    number = cut(columns_of(three)[0], 5)
    assert number.condition(1).holds(columns_of(two)[0]).tolist() == [False, True, True, False]


@pytest.mark.parametrize("value", [np.nan, 3.0])
def test_columns_with_one_item(value):
    items = Items(columns_of(pd.DataFrame({"c": [value] * 5})), 5)
    assert len(items) == 1
    assert items.condition(0).text == ("c is missing" if value != value else "c = 3")
