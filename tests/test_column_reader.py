"""A column of any rows is read like its sample, and summaries of blocks add up to the whole."""

from __future__ import annotations

from collections import Counter
from functools import reduce

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leftout.data.column_reader import (
    ColumnDeclarations,
    ColumnReader,
    SummaryPass,
    sampled_places,
)
from leftout.data.columns import Column, column_of

NONE = ColumnDeclarations.of([])
places = st.lists(st.integers(0, 200), max_size=4)


def cut(values, places):
    edges = [0, *sorted(place % (len(values) + 1) for place in places), len(values)]
    return [values[low:high] for low, high in zip(edges, edges[1:], strict=False) if low < high]


@settings(deadline=None, max_examples=40)
@given(
    numbers=st.lists(st.integers(-5, 5).map(float) | st.just(np.nan), min_size=4, max_size=60),
    seed=st.integers(0, 1000),
    places=places,
)
def test_summaries_merged_are_the_whole(numbers, seed, places):
    rng, m = np.random.default_rng(seed), len(numbers)
    numbers = np.array([0.0, 1.0, 2.0, *numbers])
    words = np.array(["a", "b", "c", *rng.choice(["a", "b", "new", "?"], m)], dtype=object)
    sample = {
        "x": Column("x", np.array([0.0, 1.0, 2.0])),
        "w": column_of(np.array(["a", "b", "c"], dtype=object), "w"),
    }
    one = SummaryPass(tuple(ColumnReader(name, column, NONE) for name, column in sample.items()))

    def over(rows):
        return one.over({"x": Column("x", numbers[rows]), "w": column_of(words[rows], "w")})

    x, w = over(np.arange(m + 3))
    merged = reduce(one.merge, [over(part) for part in cut(np.arange(m + 3), places)])
    assert merged[0][:4] == x[:4] == (
        m + 3, np.isnan(numbers).sum(), np.nanmin(numbers), np.nanmax(numbers)
    )  # fmt: skip
    times = Counter(words)
    np.testing.assert_array_equal(w.counts, [times["a"], times["b"], times["c"], times["new"]])
    assert w.n_missing == times["?"]
    np.testing.assert_array_equal(merged[1].counts, w.counts)


CELLS = {
    "numbers": np.array([1.5, 2.5, np.nan, 7.0] * 3),
    "two numbers": np.array([0.0, 1.0, np.nan, 1.0] * 3),
    "texts": np.array(["b", "a", None, "?"] * 3, dtype=object),
    "written": np.array(["1,5", "2,5", "", "7,0"] * 3, dtype=object),
    "truths": np.array([True, False, None, True] * 3, dtype=object),
    "dates": np.array(
        ["2020-01-02", "2021-02-03", "NaT", "2020-01-02"] * 3, dtype="datetime64[us]"
    ),
}


@pytest.mark.parametrize("name", CELLS)
def test_a_column_is_read_like_its_sample(name):
    raw = column_of(CELLS[name], "x")
    (sample,), _ = NONE.columns_and_types([raw])
    read = ColumnReader("x", sample, NONE).column(column_of(CELLS[name][::-1], "x"))
    np.testing.assert_array_equal(read.values, sample.values[::-1])
    assert (read.categories, read.dates) == (sample.categories, sample.dates)


def test_values_that_a_sample_has_not_come_after_its_own():
    like = column_of(np.array(["b", "d"], dtype=object), "x")
    read = ColumnReader("x", like, NONE).column(column_of(np.array(list("abcd"), object), "x"))
    assert read.categories == ("b", "d", "a", "c") and read.values.tolist() == [2, 0, 3, 1]
    like = column_of(np.array([3.0, 8.0]), "x")
    read = ColumnReader("x", like, NONE).column(column_of(np.array([8.0, 5.0, 3.0]), "x"))
    assert read.numbers.tolist() == [8.0, 5.0, 3.0]
    like = Column("x", np.array([1.0, 2.0, 3.0]))
    read = ColumnReader("x", like, NONE).column(column_of(np.array(["4", "z"], object), "x"))
    np.testing.assert_array_equal(read.numbers, [4.0, np.nan])
    assert read.strays == (("z", 1),)


@pytest.mark.parametrize("name", CELLS)
def test_a_sample_is_the_column_of_its_rows(name):
    rows = np.array([0, 3, 4])
    found = column_of(CELLS[name], "x").take(rows).tidied()
    alone = column_of(CELLS[name][rows], "x")
    np.testing.assert_array_equal(found.values, alone.values)
    assert (found.categories, found.dates) == (alone.categories, alone.dates)


def test_the_sample_is_the_same_every_time_and_all_of_a_small_table():
    assert sampled_places(30).tolist() == list(range(30))
    some = sampled_places(30, 10)
    assert len(set(some.tolist())) == 10 and (np.diff(some) > 0).all()
    np.testing.assert_array_equal(some, sampled_places(30, 10))
