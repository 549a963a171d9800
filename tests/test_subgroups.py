"""Groups with a name, against every conjunction weighed one by one."""

from __future__ import annotations

import tracemalloc
from itertools import combinations, product

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive
import tolerances
from leftout import InputError, datasets, group_losses, named_groups
from leftout.data.columns import columns_of


def mixed(seed, m=160):
    """A raw table of several kinds, and what PCA sees of it."""
    rng = np.random.default_rng(seed)
    place = rng.choice(["a", "b", "c", "d"], m, p=[0.45, 0.3, 0.15, 0.1])
    own = rng.choice(["yes", "no"], m, p=[0.3, 0.7])
    x, y = rng.normal(size=(2, m))
    y = y + 1.5 * x * (place == "b")
    age = rng.integers(18, 80, m).astype(float)
    age[rng.random(m) < 0.25] = np.nan
    table = pd.DataFrame({"x": x, "place": place, "own": own, "y": y, "age": age})
    filled = table["age"].fillna(table["age"].median()) / 30
    X = np.column_stack([
        x, y, own == "yes", *(place == value for value in "abcd"), filled, table["age"].isna(),
        rng.normal(size=(m, 2)) * np.where(own == "yes", 1.5, 0.5)[:, None],
    ]).astype(float)  # fmt: skip
    return table, X


def by_column(found, table):
    """The rows of every condition that was looked at, column by column."""
    columns = {column.name: column for column in columns_of(table)}
    masks = {}
    for condition in found.conditions:
        masks.setdefault(condition.column, []).append(condition.holds(columns[condition.column]))
    return list(masks.values())


def same_list(found, want, M):
    """The same rows at the same places, but for those of equal worth."""
    got = [(group.worth, group.mask) for group in found]
    assert len(got) == len(want)
    slack = np.sqrt(len(M)) * tolerances.of_losses(M.T @ M / len(M), found.n_components)
    for (worth, mask), (other, rows) in zip(got, want, strict=True):
        assert abs(worth - other) <= slack + 1e-9 * abs(other)
        tied = [r for w, r in want if abs(w - other) <= 2 * slack + 1e-9 * abs(other)]
        assert (mask == rows).all() or any((mask == r).all() for r in tied)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("depth", [1, 2])
def test_the_top_is_that_of_every_name_weighed(seed, depth):
    table, X = mixed(seed)
    found = named_groups(X, table, n_components=3, depth=depth, distinct=False, min_group_size=20)
    want = naive.named(X, by_column(found, table), 3, 20, depth=depth)[:20]
    same_list(found, want, X)
    assert found.complete


@pytest.mark.parametrize("at_once", [1, 700, 20_000])
def test_blocks_in_parts_give_the_same_list(monkeypatch, at_once):
    table, X = mixed(5, 120)
    asked = {"n_components": 3, "min_group_size": 9, "depth": 3}
    for distinct in (True, False):
        whole = named_groups(X, table, distinct=distinct, **asked)
        with monkeypatch.context() as patched:
            patched.setattr("leftout.groups.subgroup_search._AT_ONCE", at_once)
            parts = named_groups(X, table, distinct=distinct, **asked)
        assert [group.condition for group in parts] == [group.condition for group in whole]
        assert parts.complete and parts.names == whole.names


def test_very_many_names_take_little_memory(monkeypatch):
    rng = np.random.default_rng(0)
    X, table = rng.normal(size=(300, 6)), pd.DataFrame(rng.normal(size=(300, 2)))
    monkeypatch.setattr("leftout.groups.subgroup_search._AT_ONCE", 1 << 18)
    tracemalloc.start()
    monkeypatch.setattr("leftout.groups.subgroups.BINS", 40)
    found = named_groups(X, table, n_components=2, top=1)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert found.complete and found.names > 100_000
    # at once, the moments of all boxes alone would take 820^2 * 21 numbers: 113 MB
    assert most < 60 * 2**20


def test_three_conditions_and_another_weight():
    table, X = mixed(7, 120)
    table = table[["place", "own", "age", "x"]]
    found = named_groups(
        X, table, n_components=2, depth=3, distinct=False, min_group_size=12, weight=0.3, top=12
    )
    same_list(found, naive.named(X, by_column(found, table), 2, 12, 0.3, 3)[:12], X)
    assert max(len(group.conditions) for group in found) == 3


@pytest.mark.parametrize("seed", range(4))
def test_lines_say_something_new(seed):
    table, X = mixed(seed)
    found = named_groups(X, table, n_components=3, min_group_size=20)
    columns = by_column(found, table)
    ranked, shorter = [], []
    for length in (1, 2):
        for chosen in combinations(columns, length):
            for masks in product(*chosen):
                rows = np.logical_and.reduce(masks)
                if 20 <= rows.sum() <= len(rows) - 20:
                    ranked.append((worth_of(X, rows, 3), rows))
                    allowed = [
                        mask for mask in masks if length > 1 and mask.sum() <= len(mask) - 20
                    ]
                    shorter.append([worth_of(X, mask, 3) for mask in allowed])
    order = sorted(range(len(ranked)), key=lambda i: -ranked[i][0])
    ranked, shorter = [ranked[i] for i in order], [shorter[i] for i in order]
    want = naive.telling(ranked, shorter, 20)
    assert len(found) == len(want)
    covered = np.zeros(len(X), dtype=bool)
    for group, (marginal, _) in zip(found, want, strict=True):
        assert group.worth * group.new == pytest.approx(marginal, rel=1e-8)
        assert group.new == 1 - (group.mask & covered).sum() / group.size >= 0.5
        covered |= group.mask


def worth_of(X, rows, d, weight=0.5):
    return rows.sum() ** weight * naive.signed_disparity(X, rows.astype(int), d)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 6))
def test_losses_are_those_of_the_group(seed, d):
    table, X = mixed(seed, 130)
    found = named_groups(X, table, n_components=d, top=3)
    for group in found:
        rest, loss = group_losses(X, group.mask, d)
        assert group.loss == pytest.approx(loss, rel=1e-9, abs=1e-12)
        assert group.rest_loss == pytest.approx(rest, rel=1e-9, abs=1e-12)
        columns = {column.name: column for column in columns_of(table)}
        rows = np.logical_and.reduce([c.holds(columns[c.column]) for c in group.conditions])
        np.testing.assert_array_equal(rows, group.mask)


def planted(seed, share, m=2000):
    """Thirty columns of several kinds; the rows of two conditions have directions of their own."""
    rng = np.random.default_rng(seed)
    p = np.sqrt(share)
    kind = np.where(rng.random(m) < p, "rare", rng.choice(["a", "b", "c"], m))
    town = np.where(rng.random(m) < p, "small", rng.choice(["e", "f"], m))
    group = (kind == "rare") & (town == "small")
    base, own = (np.sign(rng.normal(size=(m, 4)) @ rng.normal(size=(4, 24))) for _ in range(2))
    noise = 0.3 * rng.normal(size=(m, 24))
    numbers = pd.DataFrame(np.where(group[:, None], own, base) + noise)
    words = {f"word{i}": rng.choice(["u", "v", "w"], m, p=[0.5, 0.3, 0.2]) for i in range(4)}
    return numbers.add_prefix("number").assign(kind=kind, town=town, **words), group


@pytest.mark.parametrize("share", [0.05, 0.1])
def test_a_planted_conjunction_is_named_first(share):
    from leftout import TableEncoder

    table, group = planted(3, share)
    found = named_groups(TableEncoder().fit_transform(table), table, top=3)
    assert found[0].condition == "kind = rare and town = small"
    np.testing.assert_array_equal(found[0].mask, group)


def test_known_numbers():
    """Two hundred rows along two axes, forty of which point elsewhere."""
    town = np.repeat(["Ashford", "Beeley"], [160, 40])
    t = np.tile([1.0, -1.0], 100)
    X = np.zeros((200, 3))
    X[:160, 0], X[160:, 1] = 3 * t[:160], 2 * t[160:]
    table = pd.DataFrame({"town": town, "sign": np.where(t > 0, "plus", "minus")})
    found = named_groups(X, table, n_components=1, target=town == "Ashford")
    first = found[0]
    assert (first.condition, first.size, first.share) == ("town = Beeley", 40, 0.2)
    assert (first.loss, first.rest_loss) == pytest.approx((4.0, 0.0))
    assert first.worth == pytest.approx(4 * np.sqrt(40)) and first.new == 1.0
    assert first.covers == 1.0 and found.covers == 1.0
    assert first.cross_fitted.value == pytest.approx(4.0, abs=0.05)
    assert first.outcome.left_out.value == 0.0 and first.outcome.rest.value == 1.0
    line = found.table.iloc[0]
    assert (line["condition"], line["size"], line["loss"]) == ("town = Beeley", 40, first.loss)
    assert line["outcome_gap"] == -1.0
    told = found.to_dict()["groups"][0]
    assert "mask" not in told and told["condition"] == "town = Beeley" and told["size"] == 40
    assert found.text.startswith("The first name covers 100% of the worst-represented tenth.")


def test_the_list_does_not_depend_on_threads_or_seeds():
    table, X = mixed(2, 300)
    lists = [
        [(g.condition, g.worth) for g in named_groups(X, table, random_state=seed, n_jobs=jobs)]
        for seed, jobs in ((0, 1), (1, 2))
    ]
    assert lists[0] == lists[1]


def test_order_of_rows_does_not_matter():
    table, X = mixed(3, 200)
    order = np.random.default_rng(0).permutation(200)
    here, there = named_groups(X, table), named_groups(X[order], table.iloc[order])
    assert [g.condition for g in here] == [g.condition for g in there]
    for a, b in zip(here, there, strict=True):
        np.testing.assert_array_equal(a.mask[order], b.mask)


def test_a_budget_ends_the_search_and_says_so(monkeypatch):
    table, X = mixed(1, 400)
    asked = {"n_components": 3, "min_group_size": 20, "distinct": False}
    whole = named_groups(X, table, **asked)
    monkeypatch.setattr("leftout.groups.subgroup_search.BUDGET", 1.0)
    cut = named_groups(X, table, **asked)
    assert whole.complete and not cut.complete
    assert cut.names < whole.names and "before the search had to end" in cut.text


def test_names_for_the_same_rows_are_told_by_the_easiest():
    table, X = mixed(4, 200)
    table["zone"] = (table["own"] == "yes").map({True: 9.0, False: 1.0}) + (table["x"] > 0)
    table["again"] = table["own"]
    found = named_groups(X, table, distinct=False)
    keys = [group.mask.tobytes() for group in found]
    assert len(set(keys)) == len(keys)
    mine = [g.condition for g in found if (g.mask == (table["own"] == "yes")).all()]
    assert mine in ([], ["own = yes"])


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"depth": 4}, "depth=4 is not a number of conditions; give 1, 2 or 3."),
        ({"top": 0}, "top=0 is not a count; give an int from 1."),
        ({"weight": -1}, "weight=-1 is not a share; give a number from 0 to 1."),
        ({"min_group_size": 150}, "min_group_size=150 asks for 150 of 200 rows"),
        ({"positive": 1}, "positive=1 is a value of a target, but none is given."),
        ({"target": "nothing"}, "target names the column 'nothing', but the table has no such"),
    ],
)
def test_bad_input_gets_one_sentence(changed, message):
    table, X = mixed(0, 200)
    with pytest.raises(InputError) as refused:
        named_groups(X, table, **changed)
    assert message in str(refused.value)


def test_tables_without_a_name():
    """Columns that say nothing, or too much, offer no condition; nothing crashes."""
    X, _ = datasets.make_planted(120, 6, 2, 30, random_state=0)
    for table in (
        pd.DataFrame({"same": ["a"] * 120}),
        pd.DataFrame({"id": [f"row {i}" for i in range(120)]}),
        pd.DataFrame({"nothing": [None] * 120}),
    ):
        found = named_groups(X, table)
        assert len(found) == 0 and len(found.table) == 0 and found.covers == 0.0
        assert found.text.startswith("No condition on a column holds for 30 rows")
    few = pd.DataFrame({"when": pd.date_range("2020-01-01", periods=120), "two": [0, 1] * 60})
    assert {c.column for c in named_groups(X, few).conditions} == {"when", "two"}
    with pytest.raises(InputError, match="The raw table has 60 rows, but X has 120"):
        named_groups(X, few[:60])


def test_weights_rank_names_as_repeated_rows_do():
    table, X = mixed(0)
    weights = np.random.default_rng(0).integers(1, 4, len(X))
    again, rows = table.loc[np.repeat(table.index, weights)], np.repeat(X, weights, axis=0)
    options = {"n_components": 2, "min_group_size": 0.2, "distinct": False}
    found = named_groups(X, table[["place", "own"]], sample_weight=9.0 * weights, **options)
    want = named_groups(rows, again[["place", "own"]].reset_index(drop=True), **options)
    names = [group.condition for group in want]
    assert [group.condition for group in found] == names and len(names) > 1
    for one, other in zip(found, want, strict=True):
        assert one.size == one.mask.sum()
        assert one.share == pytest.approx(other.share, rel=1e-9)
        assert one.loss == pytest.approx(other.loss, rel=1e-9)
        assert one.rest_loss == pytest.approx(other.rest_loss, rel=1e-9, abs=1e-12)
        # worth is in rows of average weight
        assert one.worth == pytest.approx(other.worth * np.sqrt(len(X) / len(rows)), rel=1e-9)
