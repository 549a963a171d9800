"""Names and known groups in comparison tables, against groups looked up by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive
import test_subgroups
from leftout import TableEncoder, named_groups
from leftout.checks import generator
from leftout.data.columns import columns_of
from leftout.evidence.subgroup_null import (
    Matched,
    RankMatch,
    SubgroupNullTest,
    subgroup_null_test,
)
from leftout.evidence.surrogates import SURROGATES, SurrogateTables
from leftout.groups.subgroup_search import conditions_on
from leftout.running import Steps


def raw(seed, m=240):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=m)
    gaps = rng.random(m) < 0.2
    return pd.DataFrame({
        "x": np.exp(x),
        "half": np.where(x + rng.normal(size=m) > 0, "yes", "no"),
        "town": rng.choice(["a", "b", "c", "d"], m, p=[0.4, 0.3, 0.2, 0.1]),
        "age": np.where(gaps, np.nan, rng.integers(18, 90, m)),
        "kind": np.where(rng.random(m) < 0.15, None, rng.choice(["u", "v", "w"], m)),
    })  # fmt: skip


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10**6))
def test_a_table_is_its_own_twin(seed):
    """In the table itself, conditions told by features hold for the rows they hold for."""
    table = raw(seed)
    X = TableEncoder().fit_transform(table)
    for binned in conditions_on(columns_of(table), 4, 10):
        np.testing.assert_array_equal(RankMatch.of(binned, X).within(X), binned.codes)


def test_ranks_are_matched_whatever_the_values():
    X = np.array([[1.0], [5.0], [3.0]])
    held = Matched.of(X, 0, np.array([False, True, False]))
    np.testing.assert_array_equal(held.within(np.array([[9.0], [7.0], [8.0]])), [1, 0, 0])


def test_values_too_rare_for_a_condition_are_one_bin():
    table = raw(3).assign(many=np.random.default_rng(0).choice([f"v{i}" for i in range(60)], 240))
    table.loc[:60, "many"] = "common"
    (binned,) = conditions_on(columns_of(table[["many"]]), 4, 30)
    assert binned.n_bins == 2 and len(binned.spans) == 2
    X = TableEncoder().fit_transform(table)
    np.testing.assert_array_equal(RankMatch.of(binned, X).within(X), binned.codes)


@pytest.fixture(scope="module")
def found():
    """A table, and its subgroups with what surrogates explain of them."""
    table, X = test_subgroups.mixed(5, 300)
    named = named_groups(X, table, n_components=3, top=4)
    return table, X, subgroup_null_test(X, named, tables=5, random_state=3, n_jobs=2)


def drawn(X, kind, tables=5, seed=3):
    """The surrogate tables that a seed stands for, one after the other."""
    rngs = dict(zip(("gaussian", "copula"), generator(seed).spawn(2), strict=True))
    law = SURROGATES[kind].of(X)
    return [law.draw(each) for each in rngs[kind].spawn(tables)]


def test_parts_are_what_surrogate_tables_lose(found):
    """A subgroup is where its conditions hold, which in each table are matched by rank."""
    _, X, named = found
    group, means = named[0], {}
    for kind in ("gaussian", "copula"):
        gaps = []
        for Y in drawn(X, kind):
            columns = [
                replace(binned, codes=RankMatch.of(binned, X).within(Y)) for binned in named.columns
            ]
            rows = np.logical_and.reduce([columns[c].mask(place) for c, place in group.key])
            gaps.append(naive.signed_disparity(Y, rows.astype(int), 3))
        means[kind] = np.mean(gaps)
    why = group.why
    assert why.covariance.loss == pytest.approx(means["gaussian"], rel=1e-8)
    assert why.covariance.loss + why.values.loss == pytest.approx(means["copula"], rel=1e-8)


def test_parts_add_up_to_the_difference(found):
    *_, named = found
    assert named.groups and named.tables == 5
    for group in named:
        parts = group.why.each().values()
        difference = group.loss - group.rest_loss
        assert group.why.total == pytest.approx(difference, rel=1e-9)
        assert sum(part.loss for part in parts) == pytest.approx(difference, rel=1e-9)
        assert all(1 / 6 <= part.p_value <= 1.0 for part in parts)


def test_threads_change_nothing(found):
    _, X, named = found
    plain = replace(named, groups=[replace(g, why=None) for g in named.groups])
    again = subgroup_null_test(X, plain, tables=5, random_state=3, n_jobs=1)
    assert [g.why for g in again] == [g.why for g in named]


def test_a_name_with_directions_of_its_own_goes_beyond_both():
    table, _ = test_subgroups.planted(1, 0.1, m=600)
    X = TableEncoder().fit_transform(table)
    named = subgroup_null_test(X, named_groups(X, table, top=3), n_jobs=2)
    why = named[0].why
    assert named[0].condition == "kind = rare and town = small"
    assert (why.covariance.p_value, why.own.p_value) == (0.05, 0.05) and why.own.share > 0.5
    assert why.covariance.beyond and why.own.beyond


def test_some_rows_stand_for_all(found):
    _, X, named = found
    part = subgroup_null_test(X, named, rows=np.arange(0, 300, 2), tables=2)
    assert [g.size for g in part] == [g.size for g in named]  # of all rows
    assert part[0].why.total == pytest.approx(named[0].loss - named[0].rest_loss)


def test_without_tables_nothing_is_said(found):
    _, X, named = found
    assert subgroup_null_test(X, named, tables=0) is named


def test_figures_stops_only_where_no_group_is_beyond(monkeypatch):
    """The first tables are those that all would begin with, and stopping never says yes."""
    table, _ = test_subgroups.mixed(7, 200)
    X = TableEncoder().fit_transform(table)
    work = SubgroupNullTest.of(X, named_groups(X, table, n_components=3, top=3))
    surrogates = SurrogateTables(work.X, None)

    def explained(tables=19):
        steps = Steps(19, None)
        rng = np.random.default_rng(2)
        return work.explained(surrogates, "copula", rng, tables, 1, steps), steps.done

    whole, counted = explained()
    assert counted == 19
    with monkeypatch.context() as patch:
        patch.setattr(SubgroupNullTest, "settled", staticmethod(lambda p_values, tables: True))
        few, counted = explained()
    assert counted == 19  # of a progress bar
    with monkeypatch.context() as patch:
        patch.setattr(SubgroupNullTest, "settled", staticmethod(lambda p_values, tables: False))
        all_of_them, _ = explained()
        first, _ = explained(4)
    np.testing.assert_allclose(few[0], first[0])
    np.testing.assert_array_equal(few[1], first[1])
    assert few[1].min() >= 1 / 5 > 0.05
    stopped = not np.array_equal(whole[0], all_of_them[0])
    assert not stopped or all_of_them[1].min() > 0.05


@pytest.mark.parametrize(
    ("reached", "tables", "settled"),
    [([2, 3], 6, True), ([1, 6], 6, False), ([0, 0], 12, False), ([2, 2], 12, True)],
)
def test_settled_once_two_tables_reach_every_group(reached, tables, settled):
    p_values = (1 + np.array(reached)) / (1 + tables)
    assert SubgroupNullTest.settled(p_values, tables) is settled
