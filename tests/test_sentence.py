"""The sentence is the best short description, says what it covers, and names no column too many."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive
from leftout import explain
from leftout.data.binning import bin_column
from leftout.data.columns import columns_of
from leftout.explain.sentence import _SentenceSearch
from test_binning import raw_tables


def conditions_of(table):
    """Every condition on few-valued columns that a sentence may use, from the cells."""
    found = []
    for column in columns_of(table):
        present = ~column.missing
        if column.categories is not None:
            bins = [column.values == code for code in range(len(column.categories))]
            bins = [rows for rows in bins if rows.any()] + ([~present] if not present.all() else [])
            found += bins + ([~rows for rows in bins] if len(bins) > 2 else [])
            continue
        values = np.unique(column.values[present])
        found += [
            (column.values >= low) & (column.values <= high)
            for place, low in enumerate(values)
            for high in values[place:]
        ]
        found += [~present, present] if not present.all() else []
    return [rows for rows in found if not rows.all()] or [np.ones(len(table), dtype=bool)]


@settings(max_examples=50)
@given(st.integers(0, 2**32 - 1))
def test_no_description_of_one_or_two_conditions_is_better(seed):
    """Columns of at most six values, where every cut point is looked at."""
    rng = np.random.default_rng(seed)
    m = int(rng.integers(12, 60))
    table = pd.DataFrame(
        {
            "n": rng.integers(0, 6, m).astype(float),
            "t": rng.choice(list("pqrs"), m),
            "b": rng.integers(0, 2, m),
        }
    )
    if seed % 2:
        table["n"] = table["n"].where(rng.random(m) < 0.8)
        table["t"] = table["t"].where(rng.random(m) < 0.8)
    group = rng.permutation(np.arange(m) < max(2, m // 3))
    found = explain.describe(table, group)
    gain = max(0.01, 2 / group.sum())
    for length in (1, 2):
        best = naive.best_f1(conditions_of(table), group, length)
        # what it may give up: half a condition for a second bound, a tenth for a negation
        least = best - gain * ((length - 1) + 0.6 * length)
        assert found.f1 - gain * (len(found.conditions) - 1) >= least - 1e-12


@settings(max_examples=60)
@given(raw_tables(least=8), st.integers(0, 2**32 - 1))
def test_what_it_covers_is_what_it_says(table, seed):
    if all(table[name].nunique(dropna=False) < 2 for name in table):
        return
    group = np.random.default_rng(seed).permutation(np.arange(len(table)) % 3 == 0)
    found = explain.describe(table, group)
    covered = found.covers(table)
    assert (found.covered, found.count) == (covered.sum(), (covered & group).sum())
    assert found.size == group.sum() and found.f1 == pytest.approx(naive.f1(covered, group))
    assert 1 <= len(found.conditions) <= 4 and len(found.alternatives) <= 3
    for both in found.alternatives:
        assert len({each.column for each in both}) == len(both) <= 2


def named(found):
    return {condition.column for condition in found.conditions}


def hidden(seed, joined, noise=0.0):
    """Thirty columns, two of which say who is in the group."""
    rng = np.random.default_rng(seed)
    m = 1500
    table = pd.DataFrame(
        rng.standard_normal((m, 22)).round(3), columns=[f"n{j}" for j in range(22)]
    )
    for j in range(7):
        table[f"c{j}"] = rng.choice(list("uvwxyz")[: rng.integers(3, 6)], m)
    table["income"] = rng.gamma(2.0, 10.0, m).round(1)
    part = table["c3"] == "v"
    if joined == "and":
        rule = part & (table["income"] >= 20.0)
    else:
        rule = (part & (rng.random(m) < 0.3)) | (table["income"] >= 45.0)
        table["c3"] = table["c3"].where(~part | rule, "u")
    rule = rule.to_numpy()
    return table, rule ^ (rng.random(m) < noise), rule


@pytest.mark.parametrize("joined", ["and", "or"])
@pytest.mark.parametrize("noise", [0.0, 0.01])
def test_a_hidden_rule_is_named_and_nothing_else(joined, noise):
    for seed in range(5):
        table, labels, rule = hidden(seed, joined, noise)
        found = explain.describe(table, labels)
        assert named(found) == {"c3", "income"}
        assert [len(both) for both in found.alternatives] == ([2] if joined == "and" else [1, 1])
        assert naive.f1(found.covers(table), rule) >= 0.99
    if not noise:
        assert found.f1 == 1.0 and "c3 = v" in found.text and "income >= " in found.text


def test_alternatives_of_one_and_two_conditions_are_found_most_covering_first():
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.integers(0, 4, (4000, 6)), columns=list("abcdef"))
    group = ((table["a"] == 1) & (table["b"] == 2)) | (table["c"] == 3)
    found = explain.describe(table, group.to_numpy())
    assert found.f1 == 1.0 and found.text == "c = 3 or (a = 1 and b = 2)"
    assert found.words == "c is 3, or a is 1 and b is 2"
    assert "covers 100% of the group; 100% of the" in str(found)
    group = (table["a"] == 1) | (table["b"] == 2) | (table["c"] == 3)
    text = explain.describe(table, group.to_numpy()).text
    assert sorted(text.split(" or ")) == ["a = 1", "b = 2", "c = 3"]


def test_thresholds_are_moved_to_the_very_value():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"x": rng.random(3000), "y": rng.random(3000)})
    group = (table["x"] >= 0.93713) & (table["x"] < 0.96121)
    found = explain.describe(table, group.to_numpy())
    assert found.f1 == 1.0 and named(found) == {"x"} and len(found.conditions) == 1
    low, high = found.conditions[0].low, found.conditions[0].high
    assert abs(low - 0.93713) < 0.002 and abs(high - 0.96121) < 0.002


def test_equals_come_before_everything_but():
    nation = np.where(np.arange(400) % 7 == 0, [f"n{k % 3}" for k in range(400)], "home")
    table = pd.DataFrame({"nation": nation, "foreign": (nation != "home").astype(int)})
    assert explain.describe(table, nation != "home").text == "foreign = 1"
    assert explain.describe(table[["nation"]], nation != "home").text == "nation != home"


def test_noise_is_described_badly_and_briefly():
    rng = np.random.default_rng(0)
    table, group = rng.standard_normal((600, 10)), rng.permutation(np.arange(600) < 60)
    found = explain.describe(table, group)
    assert found.f1 < 0.4


def test_wide_tables_keep_the_columns_that_tell(monkeypatch):
    monkeypatch.setattr("leftout.explain.sentence._COLUMNS", 4)
    rng = np.random.default_rng(2)
    table = rng.standard_normal((500, 30))
    group = (table[:, 17] > 0.8) | (table[:, 5] < -1.5)
    search = _SentenceSearch([bin_column(column, 16) for column in columns_of(table)], group)
    assert len(search.columns) == 4
    assert named(explain.describe(table, group)) == {"x5", "x17"}


def test_many_categories_keep_the_groups():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"id": np.arange(3000).astype(str), "k": rng.integers(0, 90, 3000)})
    group = (table["k"] == 77).to_numpy()
    found = explain.describe(table, group, categorical=["k"])
    assert found.text == "k = 77" and found.f1 == 1.0


def test_it_covers_rows_of_other_tables_whatever_their_columns_are_read_as():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"age": rng.integers(18, 80, 300), "z": rng.standard_normal(300)})
    young = explain.describe(table, table["age"] < 40)
    assert young.text == "age < 40"
    assert young.covers(pd.DataFrame({"age": [50, 70], "z": [1.0, 2.0]})).tolist() == [False] * 2
    assert young.covers(pd.DataFrame({"age": [39.0], "z": [1]})).tolist() == [True]
    assert young.covers(pd.DataFrame({"age": [np.nan] * 2, "z": [1, 2]})).tolist() == [False] * 2
    assert young.covers(table, categorical=["age"]).sum() == (table["age"] < 40).sum()
    with pytest.raises(ValueError, match="compares numbers, but the column 'age'"):
        young.covers(pd.DataFrame({"age": ["young", "old"]}))
    days = pd.DataFrame({"day": pd.date_range("2020-01-01", periods=300)})
    late = explain.describe(days, np.arange(300) >= 200)
    assert late.text == "day >= 2020-07-19" and late.f1 == 1.0
    with pytest.raises(ValueError, match="compares dates"):
        late.covers(days.astype(str))


@pytest.mark.parametrize(
    ("here", "there"),
    [
        ([True, False], [1, 0]),
        ([1, 0], [True, False]),
        ([1, 0], ["1", "0"]),
        (["1", "0"], [1.0, 0.0]),
        (["", "b"], ["", "c"]),
        ([4000000.25, 1000000.75], [4000000.25, 5.0]),
        (np.array([0.1, 0.2], dtype=np.float32), np.array([0.1, 0.3], dtype=np.float32)),
    ],
)
@pytest.mark.parametrize("third", [False, True])
def test_values_are_found_again_when_a_table_writes_them_differently(here, there, third):
    group = np.arange(60) % 3 == 0
    found = explain.describe(pd.DataFrame({"v": np.where(group, *here)}), group)
    cells = np.where(group, *there)
    if third:  # a third value makes numbers of what were two categories
        cells = np.append(cells, cells.dtype.type(2) if cells.dtype.kind != "b" else True)
    covered = found.covers(pd.DataFrame({"v": cells}))
    assert covered[:60].tolist() == group.tolist()


def test_nothing_is_not_zero():
    group = np.arange(60) % 3 == 0
    found = explain.describe(pd.DataFrame({"v": np.where(group, "", "b")}), group)
    assert found.text == "v = ''" and not found.covers(pd.DataFrame({"v": [0, 1, 2]})).any()


def test_what_is_known_and_what_tells_are_found_among_many():
    rng = np.random.default_rng(0)
    group = rng.random(1000) < 0.3
    zips = np.where(group | (rng.random(1000) < 0.2), rng.integers(0, 60, 1000).astype(str), None)
    assert explain.describe(pd.DataFrame({"zip": zips}), group).text == "zip is known"
    unique = {f"id{j}": rng.permutation(1000).astype(str) for j in range(70)}
    table = pd.DataFrame(unique | {"sex": np.where(group, "f", "m")})
    assert explain.describe(table, group).text == "sex = f"


def test_bad_input_gets_one_sentence():
    assert explain.describe(np.ones((10, 2)), np.arange(10) < 3) is None
    found = explain.describe(pd.DataFrame({"a": [0, 1, 2, 3]}), [0, 0, 1, 1])
    with pytest.raises(ValueError, match="has no column 'a'"):
        found.covers(pd.DataFrame({"b": [0, 1]}))


def test_two_pairs_of_conditions_make_one_sentence():
    rng = np.random.default_rng(0)
    a, b, c, d = (rng.integers(0, 3, 600) for _ in range(4))
    group = ((a == 1) & (b == 1)) | ((c == 1) & (d == 1))
    table = pd.DataFrame({"a": a, "b": b, "c": c, "d": d})
    found = explain.describe(table, group)
    assert found.f1 == 1.0 and np.array_equal(found.covers(table), group)
    first, second = sorted(found.text.split(" or "))
    assert (first, second) == ("(a = 1 and b = 1)", "(c = 1 and d = 1)")
    assert "a is 1 and b is 1" in found.words and ", or " in found.words


def test_values_of_one_column_are_said_together():
    jobs = np.repeat(["clerk", "cook", "driver", "nurse", "smith"], [300, 40, 50, 300, 30])
    table = pd.DataFrame({"job": jobs, "late": np.arange(720) % 9 == 0})
    group = np.isin(jobs, ["cook", "driver", "smith"])
    found = explain.describe(table, group)
    assert found.text == "job = driver or job = cook or job = smith"
    assert found.words == "job is driver, cook, or smith"
