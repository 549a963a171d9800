"""Counts and moments by group, merged in whatever way, are those of the whole."""

from __future__ import annotations

from functools import reduce

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from leftout.data.columns import Column
from leftout.data.conditions import Condition
from leftout.engine.exact_counts import CountPass, GroupCounts
from leftout.explain.sentence import Sentence

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
    said = Sentence(
        conditions=(Condition("x", "range", "", low=0.3),), joined=(), covered=0, count=0, size=0,
        n_rows=m,
    )  # fmt: skip
    one = CountPass(None, (said,), "y", levels)

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
    assert whole.covered.tolist() == [[np.sum(hit & (labels == side)) for side in (0, 1)]]
    rows = [codes == level for level in levels or ()] + [codes >= 0, codes > -2]
    assert whole.values.tolist() == [
        [np.sum(each & (labels == side)) for side in (0, 1)] for each in rows
    ]
