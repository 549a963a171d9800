"""What is told of all rows, merged in whatever way, is that of the whole."""

from __future__ import annotations

from functools import reduce

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from leftout.data.columns import Column
from leftout.data.conditions import Condition
from leftout.engine.work import ToldRows
from leftout.explain.sentence import Sentence

places = st.lists(st.integers(0, 200), max_size=4)


def cut(values, places):
    edges = [0, *sorted(place % (len(values) + 1) for place in places), len(values)]
    return [values[low:high] for low, high in zip(edges, edges[1:], strict=False) if low < high]


@settings(deadline=None, max_examples=25)
@given(st.integers(0, 10_000), places, st.booleans(), st.booleans())
def test_parts_merged_are_the_whole(seed, places, numbers, with_target):
    rng, m = np.random.default_rng(seed), 60
    codes = rng.integers(-1, 3, m).astype(np.int32)
    target = Column("y", codes, ("a", "b", "c"))
    if numbers:
        target = Column("y", np.where(codes < 0, np.nan, codes + rng.normal(size=m)))
    columns = {"x": Column("x", rng.normal(size=m)), "y": target}
    high, low = Condition("x", "range", "", low=0.3), Condition("x", "range", "", high=-0.8)
    sizes = {"covered": 0, "count": 0, "size": 0, "n_rows": m}
    said = Sentence(alternatives=((high,), (low,)), **sizes)
    one = ToldRows(said, "y" if with_target else None)

    def over(rows):
        return one.over({name: each.take(rows) for name, each in columns.items()})

    merged = reduce(one.merge, [over(part) for part in cut(np.arange(m), places)])
    x = columns["x"].values
    wanted = [(x >= 0.3) | (x < -0.8), *([target.values] if with_target else [])]
    assert len(merged) == len(wanted)
    for found, whole in zip(merged, wanted, strict=True):
        np.testing.assert_array_equal(found, whole)
