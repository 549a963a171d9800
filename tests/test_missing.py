"""Values that are declared missing: against tables that have nothing in their places."""

from __future__ import annotations

import datetime as dt

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leftout.data.cleaning import clean
from leftout.data.columns import column_of, columns_of
from leftout.data.dictionary import Missing
from leftout.data.encoding import encode_column
from leftout.data.profiling.column_types import infer_column_types
from leftout.errors import InputError
from leftout.text import shortest


def assert_same(column, other):
    assert (column.name, column.categories, column.dates) == (
        other.name,
        other.categories,
        other.dates,
    )
    assert np.array_equal(column.values, other.values, equal_nan=column.categories is None)
    assert (column.levels is None) == (other.levels is None)
    assert column.levels is None or column.levels.tolist() == other.levels.tolist()


def cut(cells, gone):
    """The oracle: the table as somebody would have it who left these cells empty."""
    return column_of(pd.Series([None if gone(cell) else cell for cell in cells]), "a")


def applied(given, cells, name="a"):
    return Missing.of(given, [name]).apply(column_of(pd.Series(cells), name))


NUMBERS = st.sampled_from([0, 1, 2, 3, -1, 98, 999, 0.5, 999.5, float(np.float32(999999.4)), 1e8])


@given(st.lists(NUMBERS, min_size=1), st.lists(NUMBERS, min_size=1, max_size=3))
def test_numbers_are_missing_where_they_equal_a_value(cells, values):
    column = applied(values, [float(cell) for cell in cells])
    oracle = pd.Series([np.nan if cell in values else cell for cell in cells], dtype=float)
    assert_same(column, column_of(oracle, "a"))
    assert_same(Missing.of(values, ["a"]).apply(column), column)


WORDS = st.sampled_from(["a", "b", " a", "none", "", "007", "7", "7.0", "x=1", "1,5", "999"])


@given(st.lists(WORDS, min_size=1), st.sampled_from(["a", "none", "x=1", "007"]))
def test_texts_are_missing_where_they_are_a_value(cells, value):
    column = applied({"a": value}, cells)
    oracle = cut(cells, lambda cell: cell.strip() == value)
    assert_same(clean(column), clean(oracle))
    assert_same(Missing.of({"a": value}, ["a"]).apply(column), column)


@given(st.lists(st.text(max_size=4)), st.text(max_size=12))
def test_any_text_is_read_or_refused(names, text):
    names = list(dict.fromkeys(["a", *names]))
    column = column_of(pd.Series(["1", "2", None, text]), "a")
    for given_ in (text, [text], {"a": text}, {None: [text]}):
        try:
            missing = Missing.of(given_, names)
            once = missing.apply(column)
            missing.describe([column])
        except InputError:
            continue
        assert_same(missing.apply(once), once)


@pytest.mark.parametrize(
    ("cells", "value", "left"),
    [
        ([1.0, 2.0, 3.0, 999.0], "999", [1, 2, 3, None]),
        (["1,5", "2,5", "3", "999,0"], 999, [1.5, 2.5, 3, None]),
        (["1,5", "2,5", "3", "none", "999,0"], ["none", 999], [1.5, 2.5, 3, None, None]),
        (["1.000", "2.500,5", "7", "1"], 1, [1000, 2500.5, 7, None]),
        (["$5", "$6", "$7", "$999"], 999, [5, 6, 7, None]),
        ([" 5", "6 ", "7", " -1 "], -1, [5, 6, 7, None]),
    ],
)
def test_numbers_as_text(cells, value, left):
    raw = column_of(pd.Series(cells), "a")
    missing = Missing.of(value, ["a"])
    column = clean(missing.apply(raw))
    expected = [np.nan if cell is None else cell for cell in left]
    assert np.array_equal(column.values, expected, equal_nan=True)
    # new rows are read like those that a plan was made of
    plan = encode_column(column, infer_column_types([column])[0])
    again, once = plan.becomes.read(missing.apply(raw)), plan.becomes.read(column)
    assert all(map(np.array_equal, again, once))


def test_codes_are_compared_by_text():
    codes = applied(7, ["007", "x", "7", "7.0"])
    assert codes.categories == ("007", "7.0", "x") and codes.values.tolist() == [0, 2, -1, 1]
    shades = pd.Series(pd.Categorical(["1", "1.0", "2"]))
    assert Missing.of(1, ["a"]).apply(column_of(shades, "a")).categories == ("1.0", "2")


def test_whole_numbers_are_told_apart_and_fractions_are_single():
    large = applied(99_999_999, [99_999_998.0, 99_999_999.0, 5.0, 100_000_000.0])
    assert large.missing.tolist() == [False, True, False, False]
    single = np.array([1, 2, 3, 999999.4], dtype=np.float32).astype(float)
    assert applied(999999.4, single).missing.tolist() == [False, False, False, True]
    assert applied(999999.0, single).missing.sum() == 0
    assert applied(np.inf, [1.0, 2.0, 3.0, np.inf]).missing.tolist() == [False] * 3 + [True]


DAYS = [dt.date(2020, 1, 31), dt.date(1900, 1, 1), dt.date(2021, 2, 3)]


@pytest.mark.parametrize("value", ["1900-01-01", DAYS[1], pd.Timestamp(DAYS[1]), "1900/01/01",
                                   np.datetime64("1900-01-01", "ns"), "01.01.1900"])  # fmt: skip
@pytest.mark.parametrize(
    "cells",
    [
        pd.to_datetime(pd.Series(DAYS)),
        pl.Series(DAYS),
        pd.Series(["2020-01-31", "1900-01-01", "2021-02-03"]),
        pd.Series(["31.01.2020", "01.01.1900", "03.02.2021"]),
        pd.Series(["2020-01-31 10:00", "1900-01-01 00:00", "2021-02-03 11:30"]),
    ],
    ids=["pandas", "polars", "text", "German", "times"],
)
def test_dates(cells, value):
    column = clean(Missing.of([value], ["a"]).apply(column_of(cells, "a")))
    assert column.dates and column.missing.tolist() == [False, True, False]


def test_dates_keep_being_read_as_they_were():
    # a year that is no date hides that others are
    late = pd.Series(["2020-04-03", "2020-06-05", "9999-12-31"])
    column = clean(Missing.of("9999-12-31", ["a"]).apply(column_of(late, "a")))
    assert column.dates and column.missing.tolist() == [False, False, True]
    # new rows of which nothing tells that: they stay text, for the plan to read
    learned = clean(column_of(pd.Series(["13/04/2020", "05/06/2020", "01/01/1900"]), "a"))
    plan = encode_column(learned, infer_column_types([learned])[0])
    new = column_of(pd.Series(["05/06/2020", "01/01/1900"]), "a")
    column = Missing.of("1900-01-01", ["a"]).apply(new)
    assert column.categories == ("05/06/2020",)
    assert plan.becomes.read(column)[0][0, 0] == 1.0


def test_times_are_exact():
    hours = pd.to_datetime(pd.Series(["2020-01-01 10:00", "2020-01-01 11:00", "2020-01-02 00:00"]))
    for value, gone in [("2020-01-01 10:00", [1, 0, 0]), ("2020-01-01", [1, 1, 0])]:
        assert applied(value, hours).missing.tolist() == [bool(each) for each in gone]


def test_yes_and_no_are_words():
    yes = pd.Series([True, False, None])
    assert applied(1, yes).categories == ("False", "True")
    left = applied("true", yes)
    assert left.categories == ("False",) and left.values.tolist() == [-1, 0, -1]
    assert left.levels.tolist() == [0.0]


def test_two_values_left_are_yes_or_no():
    column = applied("9", [1.0, 2.0, 9.0, 2.0])
    assert column.categories == ("1", "2") and column.levels.tolist() == [1.0, 2.0]
    assert column.values.tolist() == [0, 1, -1, 1]
    codes = columns_of(pd.DataFrame({"a": [1, 2, 3, 9]}), categorical=["a"])[0]
    left = Missing.of(9, ["a"]).apply(codes)
    assert left.categories == ("1", "2", "3") and left.levels.tolist() == [1.0, 2.0, 3.0]


NAMES = ["review", "a=b", "a", "date", "review=x", 7]


@pytest.mark.parametrize(
    ("given", "everywhere", "columns"),
    [
        (None, [], {}),
        ("", [], {}),
        ("999", ["999"], {}),
        (999.0, ["999"], {}),
        ("999,review=-1, date = 1900-01-01", ["999"], {"review": ["-1"], "date": ["1900-01-01"]}),
        ("a=b=3", [], {"a=b": ["3"]}),
        ("a=c=3", [], {"a": ["c=3"]}),
        ("review=x=2,review=y=2", [], {"review=x": ["2"], "review": ["y=2"]}),
        ("7=1,7", ["7"], {"7": ["1"]}),
        (["x, y", "review=1,5", -1], ["x, y", "-1"], {"review": ["1,5"]}),
        ({"review": [999, 998], None: "x=1", 7: 2.5}, ["x=1"], {"review": ["999", "998"],
                                                                 "7": ["2.5"]}),
        (np.array([998, 999]), ["998", "999"], {}),
        ("999,999", ["999"], {}),
    ],
)  # fmt: skip
def test_what_people_write(given, everywhere, columns):
    missing = Missing.of(given, NAMES)
    values = dict(missing.values)
    assert list(values.pop(None, ())) == everywhere
    assert {name: list(texts) for name, texts in values.items()} == columns
    assert bool(missing) == bool(everywhere or columns)


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ("reviw=1", "^missing names the column 'reviw', .*Did you mean 'review'"),
        ({"Review": 1}, "Did you mean 'review'"),
        ("review=", "holds '', which is not a value"),
        ({"review": None}, "holds None, which is not a value"),
        ({"review": [float("nan")]}, "holds nan, which is not a value"),
        ([[1, 2]], r"holds \[1, 2\], which is not a value"),
        ("review=5", "value 5 of the column 'review', but no row holds it. Correct the value"),
        ("town=Basle", "value Basle of the column 'town', but no row holds it"),
        ("date=1900-01-01", "value 1900-01-01 of the column 'date', but no row"),
        ("empty=1", "no row holds it"),
        ("777", "^missing names the value 777, but no column holds it. Correct"),
    ],
)
def test_refusals(given, text):
    table = {
        "review": [2.0, 999.0, 3.0, 3.0],
        "town": ["Basel >", "Bonn", "Cork", None],
        "date": pd.to_datetime(["2020-01-31", "2021-02-01", "2020-02-01", "2021-03-01"]),
        "empty": [None] * 4,
    }
    columns = columns_of(pd.DataFrame(table))
    with pytest.raises(InputError, match=text):
        Missing.of(given, list(table)).describe(columns)


def test_counts_by_value_and_column():
    cells = {
        "a": [1, 2, 3, 999, 999],
        "b": [5, 999, 7, 8, -1],
        "c": ["x", "none", "3,5", "none", "999,0"],
    }
    columns = columns_of(pd.DataFrame(cells))
    missing = Missing.of("999,none,b=-1,c=x", list(cells))
    # by column, its own values first
    assert list(map(missing.cells, columns)) == [[2, 0], [1, 1, 0], [1, 1, 2]]
    assert Missing.of("999,b=-1", list(cells)).describe(columns[:2]) == (
        "999 was declared missing: 2 cells of a and 1 cell of b; "
        "-1 was declared missing: 1 cell of b"
    )
    gained = [missing.apply(c).missing.sum() for c in columns]
    assert gained == [2, 2, 4]


def test_long_names_and_columns_that_nothing_is_said_of():
    name = "n" * 200
    missing = Missing.of({name: 9}, [name, "b"])
    column = column_of(pd.Series([1.0, 2.0, 3.0, 9.0]), name)
    assert missing.apply(column).missing.sum() == 1
    other = column_of([1.0, 9.0], "b")
    assert missing.apply(other) is other
    assert Missing.of(None, ["b"]).apply(other) is other


@given(st.lists(st.sampled_from([1.0, 2.0, 3.5, 9.0, 99.0]), min_size=2))
def test_new_rows_are_encoded_like_the_same_rows(cells):
    missing = Missing.of("9,99", ["a"])
    for raw in (pd.Series(cells), pd.Series([f" {shortest(cell)}" for cell in cells])):
        column = column_of(raw, "a")
        learned = clean(missing.apply(column))
        plan = encode_column(learned, infer_column_types([learned])[0])
        if plan.becomes is not None:
            again, once = plan.becomes.read(missing.apply(column)), plan.becomes.read(learned)
            assert all(map(np.array_equal, again, once))
