"""Raw columns of any kind of table, and text that shows every character."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from leftout.data.cleaning import clean
from leftout.data.columns import column_of, columns_of, find, names_of
from leftout.data.frames import value_counts
from leftout.errors import InputError
from leftout.text import shortest, shown, unambiguous

CELLS = {
    "age": [18, 40, None, 65],
    "colour": ["red", None, "blue", "red"],
    "member": [True, False, True, None],
    "score": [0.5, float("nan"), 2.25, 7.0],
    "code": [1, 0, 1, 1],
    "joined": [dt.date(2020, 1, 31), None, dt.date(2021, 2, 1), dt.date(2019, 5, 5)],
}


@pytest.mark.parametrize(
    "make",
    [
        lambda: pd.DataFrame(CELLS).assign(joined=pd.to_datetime(CELLS["joined"])),
        lambda: pl.DataFrame(CELLS, strict=False),
        lambda: pa.table(CELLS),
        lambda: pd.DataFrame(CELLS).convert_dtypes().assign(joined=pd.to_datetime(CELLS["joined"])),
    ],
    ids=["pandas", "polars", "pyarrow", "nullable pandas"],
)
def test_every_kind_of_frame_gives_the_same_columns(make):
    age, colour, member, score, code, joined = columns_of(make())
    assert [c.name for c in (age, colour, member)] == ["age", "colour", "member"]
    assert age.categories is None and np.isnan(age.values[2]) and age.values[1] == 40
    assert colour.categories == ("blue", "red") and colour.values.tolist() == [1, -1, 0, 1]
    assert member.categories == ("False", "True") and member.values.tolist() == [1, 0, 1, -1]
    assert score.categories is None and score.missing.tolist() == [False, True, False, False]
    assert code.categories == ("0", "1") and code.values.tolist() == [1, 0, 1, 1]
    assert joined.dates and joined.missing.tolist() == [False, True, False, False]
    assert joined.show(joined.values[0]) == "2020-01-31"


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_frames_of_numbers_alone(make):
    cells = {"a": [1, None, 3, 4], "b": [1.5, 2.5, None, 4.0], "c": [1, 2, 3, 4]}
    tables = [make(cells)]
    if make is pd.DataFrame:
        tables.append(tables[0].convert_dtypes())
    for table in tables:
        a, b, c = columns_of(table)
        assert np.array_equal(a.values, [1, np.nan, 3, 4], equal_nan=True)
        assert np.array_equal(b.values, [1.5, 2.5, np.nan, 4], equal_nan=True)
        assert c.values.tolist() == [1, 2, 3, 4]


def test_arrays_lists_and_mixed_objects():
    assert [c.name for c in columns_of([[1, 2.5], [3, 4.5], [5, 6.0]])] == ["x0", "x1"]
    mixed = np.array([[1, "a"], [None, "b"], [3.5, None], [4, "a"]], dtype=object)
    number, text = columns_of(mixed)
    assert number.categories is None and number.missing.tolist() == [False, True, False, False]
    assert text.categories == ("a", "b") and text.values.tolist() == [0, 1, -1, 0]
    dates = columns_of(np.array([["2020-01-01"], ["NaT"], ["2021-06-01"]], dtype="datetime64[D]"))
    assert dates[0].dates and dates[0].missing.tolist() == [False, True, False]
    assert columns_of(np.array([[True], [False]]))[0].categories == ("False", "True")
    odd = pd.DataFrame({"o": [1, "z", None, float("nan")]}, dtype=object)
    assert columns_of(odd)[0].categories == ("1", "z")
    for make in (np.array, pd.Series):  # a mark for a missing number that refuses to be compared
        signal = column_of(make([Decimal("1.5"), Decimal("sNaN"), Decimal(3), 4], dtype=object))
        assert signal.values[2] == 3 and signal.missing.tolist() == [False, True, False, False]


def test_numbers_that_are_codes():
    table = pd.DataFrame({"course": [33, 171, 9, 33, np.nan], "x": [1.5, 2, 3, 4, 5]})
    course, x = columns_of(table, categorical=["course"])
    assert course.categories == ("9", "33", "171") and course.values.tolist() == [1, 2, 0, 1, -1]
    assert course.codes().tolist() == [1, 2, 0, 1, 3] and x.categories is None
    assert x.codes().tolist() == [0, 1, 2, 3, 4]
    only = columns_of(table, drop=["x"])
    assert [c.name for c in only] == ["course"] and only[0].categories is None


def test_names_that_are_numbers_and_names_that_are_not_there():
    table = pd.DataFrame([[1, 2, 3], [4, 5, 6], [7, 8, 9]], columns=[0, 1, "2"])
    assert names_of(table) == ["0", "1", "2"]
    with pytest.raises(InputError, match="several columns named '1'"):  # 1 and "1"
        columns_of(table.rename(columns={"2": "1"}))
    assert columns_of(table, categorical=[1])[1].categories == ("2", "5", "8")
    assert find([0, 1], "1", "drop") == 1
    with pytest.raises(ValueError, match="drop names the column 'aeg'.*Did you mean 'age'"):
        columns_of(pd.DataFrame({"age": [1, 2]}), drop=["aeg"])
    with pytest.raises(ValueError, match="where a table is needed"):
        columns_of(np.arange(3))
    with pytest.raises(ValueError, match="LazyFrame"):
        columns_of(pl.LazyFrame({"a": [1]}))
    with pytest.raises(ValueError, match="where one column is needed"):
        column_of(np.eye(2))


def test_one_column_from_a_series():
    assert column_of(pd.Series(["a", None], name="y")).name == "y"
    assert column_of(pl.Series("z", [1, 2, 3])).values.tolist() == [1, 2, 3]
    assert column_of([True, False], "w").categories == ("False", "True")


_ANY_NUMBER = st.one_of(
    st.sampled_from([0.0, 1.0, 2.0, -3.0, np.nan, np.inf, -np.inf, 1e300, 0.1]),
    st.floats(allow_nan=True),
    st.integers(-5, 70_000).map(float),
)
_SMALL_NUMBER = st.one_of(st.integers(0, 1001).map(float), st.sampled_from([0.0, -0.0, 3.0, 0.5]))


@given(
    st.one_of(
        hnp.arrays(np.float64, st.integers(0, 40), elements=elements)
        for elements in (_ANY_NUMBER, _SMALL_NUMBER, st.integers(0, 9).map(float))
    )
)
def test_tabulate_is_unique(values):
    distinct, counts, codes = value_counts(values)
    known = values[~np.isnan(values)]
    want, inverse, times = np.unique(known, return_inverse=True, return_counts=True)
    assert np.array_equal(distinct, want) and np.array_equal(counts, times)
    assert (
        np.array_equal(codes[~np.isnan(values)], inverse) and (codes[np.isnan(values)] == -1).all()
    )


@pytest.mark.parametrize(
    ("value", "text"),
    [(1.0, "1"), (-0.5, "-0.5"), (0.1, "0.1"), (np.float64(np.float32(0.8)), "0.8"),
     (4000000.25, "4000000.25"), (1e20, "1e+20"), (1e300, "1e+300"), (np.inf, "inf"),
     (123456.789, "123456.789")],
)  # fmt: skip
def test_numbers_are_short(value, text):
    assert shortest(value) == text


def test_text_shows_every_character():
    assert shown("a\nb\x1b[31m\u202e\u200b") == "a\\nb\\x1b[31m\\u202e\\u200b"
    family = "\U0001f468\u200d\U0001f469\u200d\U0001f467"
    assert shown(family) == family
    assert shown("<script>alert('x')</script>, \"y\"") == "<script>alert('x')</script>, \"y\""
    assert unambiguous("Mother's qualification") == "Mother's qualification"
    assert unambiguous("a and b") == "'a and b'" and unambiguous("") == "''"
    assert unambiguous("x >= 3") == "'x >= 3'" and unambiguous("brand") == "brand"
    assert unambiguous('it\'s = "q"') == "'it\\'s = \"q\"'"
    assert unambiguous("n" * 200) == "n" * 200
    assert unambiguous("a\nb") == "'a\\nb'" and unambiguous("a\\nb") == "a\\nb"


def test_text_stays_text_and_categories_stay_categories():
    zips = np.array([["01"], ["02"], ["10"]], dtype=object)
    assert columns_of(zips)[0].categories == ("01", "02", "10")
    codes = pd.DataFrame({"c": pd.Categorical([1, 2, 3, 1])})
    assert columns_of(codes)[0].categories == ("1", "2", "3")
    sizes = ["low", "mid", "high"]
    ordered = pd.DataFrame({"s": pd.Categorical(sizes, categories=sizes, ordered=True)})
    assert columns_of(pl.DataFrame({"s": pl.Series(sizes, dtype=pl.Enum(sizes))}))[
        0
    ].categories == tuple(sorted(sizes))
    assert set(columns_of(ordered)[0].categories) == set(sizes)


def test_numbers_that_floats_do_not_tell_apart_are_identifiers():
    for table in (
        pd.DataFrame({"id": 2**60 + np.arange(6), "x": np.arange(6.0)}),
        (2**60 + np.arange(6))[:, None],
    ):
        assert len(columns_of(table)[0].categories) == 6
    both = pd.DataFrame({"v": [0.1, float(np.float32(0.1)), 0.1, 0.3]})
    assert len(set(columns_of(both, categorical=["v"])[0].categories)) == 3


def test_masked_cells_and_time_zones():
    masked = np.ma.array([[1.0, 5.0], [2.0, 6.0], [3.0, 7.0]], mask=[[0, 1], [0, 0], [1, 0]])
    a, b = columns_of(masked)
    assert a.missing.tolist() == [False, False, True] and b.missing.tolist() == [True, False, False]
    tokyo = pd.DataFrame({"t": pd.date_range("2020-01-01", periods=3, tz="Asia/Tokyo")})
    column = columns_of(tokyo)[0]
    assert column.show(column.values[0]) == "2019-12-31 15:00:00"
    stamps = columns_of(
        pd.DataFrame({"t": pd.to_datetime(["2020-01-01 15:30", "2020-01-02 00:00"])})
    )
    assert stamps[0].show(stamps[0].values[0]) == "2020-01-01 15:30:00"
    named = columns_of(tokyo, categorical="t")[0]
    assert named.categories[0] == "2019-12-31 15:00:00"


@pytest.mark.parametrize(
    ("table", "words"),
    [
        (pd.DataFrame({"a": []}), "0 rows and 1 columns"),
        (pd.DataFrame(index=range(3)), "3 rows and 0 columns"),
        (pl.DataFrame(), "0 rows and 0 columns"),
        ([[1, 2], [3]], "rows of different lengths"),
    ],
)
def test_tables_that_are_none(table, words):
    with pytest.raises(ValueError, match=words):
        columns_of(table)
    with pytest.raises(ValueError, match="drop names all 1 columns"):
        columns_of(pd.DataFrame({"a": [1, 2]}), drop=["a"])
    with pytest.raises(ValueError, match="at least one value"):
        column_of([])


def test_odd_cells_are_categories():
    huge = pd.DataFrame({"h": [10**400, 1, None]}, dtype=object)
    assert len(columns_of(huge)[0].categories) == 2
    assert columns_of(pd.DataFrame({"ab": [1, 2, 3], "c": [4, 5, 6]}), drop="ab")[0].name == "c"
    assert len(columns_of(pd.DataFrame({"c": [4, 5, 6]}), drop=None, categorical=None)) == 1


def test_categories_are_sorted_as_they_read():
    spaced = clean(column_of(pd.Series([" b", "a", "c "]), "x"))
    assert spaced.categories == ("a", "b", "c") and spaced.values.tolist() == [1, 0, 2]
