"""Cells of every kind that frames have, in memory and in files: the same columns, or refused."""

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

from leftout import audit
from leftout.checks import is_missing
from leftout.data.cleaning import clean
from leftout.data.columns import column_of, columns_of, natural

UTC = dt.UTC
TOKYO = dt.timezone(dt.timedelta(hours=9))
MOMENTS = [dt.datetime(2020, 1, 1, 3, tzinfo=UTC), None, dt.datetime(2021, 7, 1, 12, tzinfo=UTC)]
SHOWN = ["2020-01-01 03:00:00", None, "2021-07-01 12:00:00"]


def shown(column):
    pairs = zip(column.values, column.missing, strict=True)
    return [None if missing else column.show(value) for value, missing in pairs]


def elsewhere(zone):
    return [None if when is None else when.astimezone(zone) for when in MOMENTS]


BERLIN = pd.Series(pd.to_datetime(MOMENTS, utc=True)).dt.tz_convert("Europe/Berlin")
ZONED = {
    "pandas, UTC": pd.Series(pd.to_datetime(MOMENTS, utc=True)),
    "pandas, Berlin": BERLIN,
    "pandas, offset": BERLIN.dt.tz_convert(TOKYO),
    "pandas, objects of several zones": pd.Series(
        [MOMENTS[0], None, elsewhere(TOKYO)[2]], dtype=object
    ),
    "pandas of arrow": BERLIN.astype(pd.ArrowDtype(pa.timestamp("us", "Europe/Berlin"))),
    "polars": pl.Series(elsewhere(UTC)).dt.convert_time_zone("Asia/Tokyo"),
    "pyarrow": pa.chunked_array([pa.array(MOMENTS, pa.timestamp("ms", "Asia/Tokyo"))]),
    "pyarrow, offset": pa.chunked_array([pa.array(MOMENTS, pa.timestamp("ns", "+09:00"))]),
    "text": pd.Series([None if when is None else when.isoformat() for when in elsewhere(TOKYO)]),
    "text of several zones": pd.Series(list(BERLIN.astype(str).where(BERLIN.notna(), None))),
}


@pytest.mark.parametrize("kind", ZONED)
def test_the_same_moment_in_any_zone(kind):
    column = clean(column_of(ZONED[kind], "t"))
    assert column.dates and shown(column) == SHOWN


DAYS = [dt.date(2020, 1, 31), None, dt.date(1850, 5, 5)]
SAME = {
    "dates": (
        ["2020-01-31", None, "1850-05-05"],
        [
            pd.Series(DAYS, dtype=object),
            pd.Series(DAYS, dtype=pd.ArrowDtype(pa.date32())),
            pl.Series(DAYS),
            pa.chunked_array([pa.array(DAYS)]),
        ],
    ),
    "durations": (
        ["90", None, "0.5"],
        [
            pd.Series(pd.to_timedelta([90, None, 0.5], unit="s")),
            pl.Series([dt.timedelta(seconds=90), None, dt.timedelta(seconds=0.5)]),
            pa.chunked_array([pa.array([90_000, None, 500], pa.duration("ms"))]),
        ],
    ),
    "times of day": (
        ["3723.25", None, "0"],
        [
            pd.Series([dt.time(1, 2, 3, 250_000), None, dt.time(0)], dtype=object),
            pl.Series([dt.time(1, 2, 3, 250_000), None, dt.time(0)]),
            pa.chunked_array([pa.array([dt.time(1, 2, 3, 250_000), None, dt.time(0)])]),
        ],
    ),
    "decimals": (
        ["1.5", None, "-20.25"],
        [
            pd.Series([Decimal("1.5"), None, Decimal("-20.25")], dtype=object),
            pl.Series([Decimal("1.50"), None, Decimal("-20.25")]),
            pa.chunked_array([pa.array([Decimal("1.5"), None, Decimal("-20.25")])]),
            pd.Series(
                [Decimal("1.5"), None, Decimal("-20.25")],
                dtype=pd.ArrowDtype(pa.decimal128(8, 2)),
            ),
        ],
    ),
    "whole numbers with gaps": (
        ["1", None, "7"],
        [
            pd.Series([1, None, 7], dtype="Int64"),
            pd.Series([1, None, 7], dtype=pd.ArrowDtype(pa.int16())),
            pd.Series(pd.arrays.SparseArray([1.0, np.nan, 7.0])),
            pl.Series([1, None, 7]),
            pa.chunked_array([pa.array([1, None, 7])]),
        ],
    ),
    "yes or no": (
        ["True", None, "False"],
        [
            pd.Series([True, None, False], dtype="boolean"),
            pd.Series([True, None, False], dtype=object),
            pd.Series([True, None, False], dtype=pd.ArrowDtype(pa.bool_())),
            pl.Series([True, None, False]),
            pa.chunked_array([pa.array([True, None, False])]),
        ],
    ),
    "text": (
        ["\u00fc", None, "a"],
        [
            pd.Series(["\u00fc", None, "a"]),
            pd.Series(["\u00fc", None, "a"], dtype=object),
            pd.Series(["\u00fc", None, "a"], dtype="string"),
            pd.Series(["\u00fc", None, "a"], dtype=pd.ArrowDtype(pa.string())),
            pl.Series(["\u00fc", None, "a"]),
            pa.chunked_array([pa.array(["\u00fc", None, "a"])]),
            pa.chunked_array([pa.array(["\u00fc", None, "a"]).dictionary_encode()]),
            pd.Series(["\u00fc", None, "a"], dtype="category"),
            pd.Series(["\u00fc".encode(), None, b"a"], dtype=object),
            pl.Series(["\u00fc".encode(), None, b"a"]),
            pa.chunked_array([pa.array(["\u00fc".encode(), None, b"a"])]),
        ],
    ),
}


@pytest.mark.parametrize("kind", SAME)
def test_cells_of_one_meaning_make_one_column(kind):
    cells, each = SAME[kind]
    for place, series in enumerate(each):
        column = column_of(series, "x")
        values = [None if m else v for v, m in zip(column.values, column.missing, strict=True)]
        if column.categories is not None:
            read = [None if v is None else column.categories[v] for v in values]
        else:
            read = shown(column)
        if kind == "whole numbers with gaps":  # two values are categories
            assert column.levels.tolist() == [1.0, 7.0]
        assert read == cells, (place, type(series))
        if kind == "dates":
            assert column.dates


def test_whatever_else_cells_are_they_become_categories():
    column = column_of(pd.Series([pd.Period("2020-03"), None, pd.Period("2020-01")]), "x")
    assert column.categories == ("2020-01", "2020-03")


NESTED = {
    "lists": pd.DataFrame({"x": [[1], [2], None], "y": [1, 2, 3]}),
    "arrays": pd.DataFrame({"x": [np.ones(2), np.ones(3), None], "y": [1, 2, 3]}),
    "tuples": pd.DataFrame({"x": [(1, 2), (3,), None], "y": [1, 2, 3]}),
    "lists after text": pd.DataFrame({"x": ["a"] * 200 + [["b"]], "y": range(201)}),
    "dicts": pd.DataFrame({"x": [{"k": 1}, {"k": 2}, None], "y": [1, 2, 3]}),
    "polars lists": pl.DataFrame({"x": [[1], [2], [1]], "y": [1, 2, 3]}),
    "polars structs": pl.DataFrame({"x": [{"k": 1}, {"k": 2}, {"k": 1}], "y": [1, 2, 3]}),
    "pyarrow lists": pa.table({"x": [[1], [2], None], "y": [1, 2, 3]}),
    "pyarrow structs": pa.table({"x": [{"k": 1}, {"k": 2}, None], "y": [1, 2, 3]}),
}


@pytest.mark.parametrize("kind", NESTED)
def test_cells_that_hold_many_values_are_read_as_text(kind):
    x, y = columns_of(NESTED[kind])
    assert x.levels is None and len(x.categories) == x.n_values >= 2
    assert x.n_missing == (kind not in ("lists after text", "polars lists", "polars structs"))
    assert [c.name for c in columns_of(NESTED[kind], drop=["x"])] == ["y"]


def test_a_column_of_lists_is_left_out_by_name(tmp_path):
    table = pd.DataFrame(np.random.default_rng(0).normal(size=(80, 3)), columns=list("abc"))
    table["x"] = [[i] for i in range(80)]
    table.to_parquet(tmp_path / "t.parquet")
    quick = {"group_size": 20, "n_surrogates": 0, "n_restarts": 0}
    found = audit(tmp_path / "t.parquet", **quick).intake
    assert found.dropped.keys() == {"x"} and found.feature_names == ["a", "b", "c"]
    assert audit(tmp_path / "t.parquet", drop="x", **quick).intake.dropped == {"x": "asked for"}


class Shout(str):
    def __str__(self):
        return f"{self.upper()}!"


def naive(cells):
    """Categories and codes cell by cell."""
    texts = [None if is_missing(cell) else str(cell) for cell in cells]
    labels = sorted({text for text in texts if text is not None}, key=natural)
    return tuple(labels), [-1 if text is None else labels.index(text) for text in texts]


@given(
    st.lists(
        st.sampled_from(
            ["a", "b", "1", "", "True", "NA", None, float("nan"), pd.NA, pd.NaT, True, 1, 1.0, -0.0]
            + [0.0, Decimal("1.0"), Decimal("1.00"), Decimal("sNaN"), Shout("a"), np.str_("b")]
        ),
        min_size=1,
        max_size=12,
    )
)
def test_categories_are_those_of_each_cell(cells):
    column = column_of(pd.Series([*cells, "z"], dtype=object), "x")
    assert (column.categories, column.values.tolist()) == naive([*cells, "z"])


def test_dates_among_numbers_are_neither():
    cells = pd.Series([dt.date(2000, 1, 1), 0.0, 2.0**63, np.nan], dtype=object)
    column = column_of(cells, "when")
    assert column.categories == ("0.0", "9.223372036854776e+18", "2000-01-01")
    assert column.missing.tolist() == [False, False, False, True]
