"""A column of any rows is read like its sample, and summaries of blocks add up to the whole."""

from __future__ import annotations

from collections import Counter
from functools import reduce

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leftout.data.column_reader import (
    TARGET,
    ColumnReader,
    SummaryPass,
    sampled,
    sampled_places,
    target_scale,
)
from leftout.data.columns import Column, column_of
from leftout.data.conditions import Condition
from leftout.data.declarations import ColumnDeclarations
from leftout.engine.exact_counts import GroupSums
from leftout.linalg.moments import merge as merge_moments

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
    y = np.array([0.0, 1.0, 0.0, *rng.integers(0, 2, m)])
    sample = {
        "x": Column("x", np.array([0.0, 1.0, 2.0])),
        "w": column_of(np.array(["a", "b", "c"], dtype=object), "w"),
    }
    target = Column("y", y[:3])
    readers = tuple(ColumnReader.of(name, column, NONE) for name, column in sample.items())
    one = SummaryPass(readers, ColumnReader.of(TARGET, target, NONE), *target_scale(target, None))

    def over(rows):
        cells = column_of(words[rows], "w")
        return one.over({"x": Column("x", numbers[rows]), "w": cells, TARGET: Column("y", y[rows])})

    x, w = over(np.arange(m + 3))
    merged = reduce(one.merge, [over(part) for part in cut(np.arange(m + 3), places)])
    assert merged[0][:4] == x[:4] == (
        m + 3, np.isnan(numbers).sum(), np.nanmin(numbers), np.nanmax(numbers)
    )  # fmt: skip
    times = Counter(words)
    np.testing.assert_array_equal(w.counts, [times["a"], times["b"], times["c"], times["new"]])
    assert w.n_missing == times["?"]
    np.testing.assert_array_equal(merged[1].counts, w.counts)
    np.testing.assert_array_equal(merged[1].sums.rows, w.sums.rows)
    np.testing.assert_allclose(merged[1].sums.total, w.sums.total, atol=1e-12)
    level, centre = target_scale(target, None)
    expected = [((y == level) - centre)[words == name].sum() for name in ("a", "b", "c", "?")]
    np.testing.assert_allclose(w.sums.total, expected, atol=1e-12)


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
    read = ColumnReader.of("x", sample, NONE).column(column_of(CELLS[name][::-1], "x"))
    np.testing.assert_array_equal(read.values, sample.values[::-1])
    assert (read.categories, read.dates) == (sample.categories, sample.dates)


def test_values_that_a_sample_has_not_come_after_its_own():
    like = column_of(np.array(["b", "d"], dtype=object), "x")
    read = ColumnReader.of("x", like, NONE).column(column_of(np.array(list("abcd"), object), "x"))
    assert read.categories == ("b", "d", "a", "c") and read.values.tolist() == [2, 0, 3, 1]
    like = column_of(np.array([3.0, 8.0]), "x")
    read = ColumnReader.of("x", like, NONE).column(column_of(np.array([8.0, 5.0, 3.0]), "x"))
    assert read.numbers.tolist() == [8.0, 5.0, 3.0]
    like = Column("x", np.array([1.0, 2.0, 3.0]))
    read = ColumnReader.of("x", like, NONE).column(column_of(np.array(["4", "z"], object), "x"))
    np.testing.assert_array_equal(read.numbers, [4.0, np.nan])
    assert read.strays == (("z", 1),)


@pytest.mark.parametrize("name", CELLS)
def test_a_sample_is_the_column_of_its_rows(name):
    rows = np.array([0, 3, 4])
    found = sampled(column_of(CELLS[name], "x"), rows)
    alone = column_of(CELLS[name][rows], "x")
    np.testing.assert_array_equal(found.values, alone.values)
    assert (found.categories, found.dates) == (alone.categories, alone.dates)


def test_the_sample_is_the_same_every_time_and_all_of_a_small_table():
    assert sampled_places(30).tolist() == list(range(30))
    some = sampled_places(30, 10)
    assert len(set(some.tolist())) == 10 and (np.diff(some) > 0).all()
    np.testing.assert_array_equal(some, sampled_places(30, 10))


@settings(deadline=None, max_examples=25)
@given(st.integers(0, 10_000), places)
def test_moments_by_group_merged_are_the_whole(seed, places):
    rng, m = np.random.default_rng(seed), 90
    X, codes = rng.normal(size=(m, 3)), rng.integers(-1, 3, (2, m)).astype(np.int32)
    columns = {name: Column(name, codes[i], ("a", "b", "c")) for i, name in enumerate("xy")}
    is_ = {
        name: [Condition(name, "=", "", value) for value in "ab"]
        + [Condition(name, "missing", "")] for name in "xy"
    }  # fmt: skip
    ways = (
        tuple((each,) for each in is_["x"]),
        tuple((one, other) for one in is_["x"] for other in is_["y"]),
    )
    sums = GroupSums(None, ways, X.mean(axis=0))

    def over(rows):
        return sums.over(X[rows], {name: column.take(rows) for name, column in columns.items()})

    parts = [over(part) for part in cut(np.arange(m), places)]
    merged, whole = reduce(merge_moments, parts), over(np.arange(m))
    for one, other in zip(merged[:4], whole[:4], strict=True):
        np.testing.assert_allclose(one, other, rtol=0.0, atol=1e-11)
    for place, code in enumerate((0, 1, -1)):
        rows = X[codes[0] == code] - X.mean(axis=0)
        assert whole.count[place] == len(rows)
        np.testing.assert_allclose(whole.second[place], rows.T @ rows, rtol=0.0, atol=1e-11)
    both = X[(codes[0] == 1) & (codes[1] == -1)] - X.mean(axis=0)
    np.testing.assert_allclose(whole.total[3 + 3 + 2], both.sum(axis=0), rtol=0.0, atol=1e-11)
