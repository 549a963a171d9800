"""Counts and moments by group, merged in whatever way, are those of the whole."""

from __future__ import annotations

from functools import reduce

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from leftout.data.columns import Column
from leftout.data.conditions import Condition
from leftout.engine.exact_counts import CountPass, GroupCounts, GroupSums
from leftout.explain.sentence import Sentence
from leftout.linalg.moments import merge as merge_moments

places = st.lists(st.integers(0, 200), max_size=4)


def cut(values, places):
    edges = [0, *sorted(place % (len(values) + 1) for place in places), len(values)]
    return [values[low:high] for low, high in zip(edges, edges[1:], strict=False) if low < high]


@settings(deadline=None, max_examples=25)
@given(st.integers(0, 10_000), places, st.sampled_from([None, [1, 2]]))
def test_counts_merged_are_the_whole(seed, places, levels):
    rng, m = np.random.default_rng(seed), 60
    labels, codes = rng.integers(0, 2, m), rng.integers(-1, 3, m).astype(np.int32)
    target = Column("y", codes, ("a", "b", "c"))
    if levels is None:
        target = Column("y", np.where(codes < 0, np.nan, codes + rng.normal(size=m)))
    columns = {"x": Column("x", rng.normal(size=m)), "y": target}
    when = Condition("x", "range", "", low=0.3)
    said = Sentence(alternatives=((when,),), covered=0, count=0, size=0, n_rows=m)
    one = CountPass(None, said, "y", levels)

    def over(rows):
        return one.over({name: each.take(rows) for name, each in columns.items()}, labels[rows])

    whole = over(np.arange(m))
    merged = reduce(GroupCounts.merge, [over(part) for part in cut(np.arange(m), places)])
    np.testing.assert_array_equal(merged.covered, whole.covered)
    np.testing.assert_array_equal(merged.values, whole.values)
    for spread, other, side in zip(merged.numbers, whole.numbers, (0, 1), strict=False):
        numbers = target.values[(labels == side) & ~target.missing]
        assert spread.n == other.n == len(numbers)
        np.testing.assert_allclose([spread.mean, other.mean], numbers.mean(), atol=1e-12)
        np.testing.assert_allclose(spread.squares, other.squares, atol=1e-10)
    hit = columns["x"].values >= 0.3
    assert whole.covered.tolist() == [np.sum(hit & (labels == side)) for side in (0, 1)]
    rows = [codes == level for level in levels or ()] + [codes >= 0, codes > -2]
    assert whole.values.tolist() == [
        [np.sum(each & (labels == side)) for side in (0, 1)] for each in rows
    ]


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
