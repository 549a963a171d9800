"""The quick search for subgroups, against what all names weighed would list."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leftout import named_groups
from leftout.data.columns import columns_of
from leftout.groups.problem_setup import Rows, build_problem
from leftout.groups.subgroup_search import SubgroupQuery, SubgroupSearch, conditions_on
from test_subgroups import mixed


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 2), st.integers(1, 9))
def test_a_beam_lists_what_all_names_weighed_would(seed, depth, top):
    """Names that are not weighed would not have been lines: the same worths, and as much new."""
    table, X = mixed(seed, 200)
    rows = Rows.of(build_problem(X, 3, "excess", "global", 1, None).problem)
    search = SubgroupSearch(
        rows, conditions_on(columns_of(table), 4, 20), SubgroupQuery(20, 0.5, depth)
    )
    places = range(len(search.columns))
    every = [one for place in places for one in search.look((place,), 0.0)[0]]
    lines = search.listed(every, top)
    if depth == 2:
        (best,) = lines[0].subgroup.key
        blocks = [block for block in combinations(places, 2) if best[0] in block]
        longer = [one for block in blocks for one in search.look(block, 0.0)[0] if best in one.key]
        every += sorted(longer, key=lambda one: -one.quality)[:1]
        lines = search.listed(every, top)
    found = search.beam(top)
    assert [line.subgroup.size for line in found] == [line.subgroup.size for line in lines]
    for one, want in zip(found, lines, strict=True):
        assert one.subgroup.quality == pytest.approx(want.subgroup.quality, rel=1e-8)
        assert one.new == pytest.approx(want.new)


def test_a_beam_finds_no_more_than_the_exact_search():
    table, X = mixed(5, 300)
    rows = Rows.of(build_problem(X, 3, "excess", "global", 1, None).problem)
    found = named_groups(X, table, n_components=3, min_group_size=25)
    search = SubgroupSearch(rows, found.columns, SubgroupQuery(25, 0.5, 2))
    beam = search.beam(6)
    assert beam[0].subgroup.quality <= found[0].worth * (1 + 1e-9)
    for line in beam:
        one = line.subgroup
        assert search.quality(one.key) == pytest.approx(one.quality, rel=1e-9)
