"""Rules are all of mlxtend's, and redundant ones are pruned."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mlxtend.frequent_patterns import apriori, association_rules

import naive
import paper_data
from leftout.data.binning import bin_column
from leftout.data.columns import columns_of
from leftout.explain import rules
from leftout.explain.rules import find_rules
from test_binning import raw_tables


def theirs(table, labels, min_support, min_confidence, *, categorical=(), low_memory=False):
    """mlxtend's rules with the group as consequent and at most two antecedents, by their names."""
    columns = columns_of(table, categorical=categorical)
    rows = {}
    for column in columns:
        binned = bin_column(column, 5)
        for condition in map(binned.condition, range(binned.n_bins)):
            rows[condition.text] = condition.holds(column)
    frame = pd.DataFrame(rows | {1: labels == 1})
    frequent = apriori(
        frame, min_support=min_support, use_colnames=True, max_len=3, low_memory=low_memory
    )
    if not len(frequent):
        return {}
    with np.errstate(all="ignore"):  # of metrics that nobody asked for
        found = association_rules(frequent, metric="confidence", min_threshold=min_confidence)
    result = {}
    for rule in found.itertuples():
        if rule.consequents == {1}:
            result[rule.antecedents] = (rule.support, rule.confidence, rule.lift)
    return result


def ours(found):
    return {
        frozenset(c.text for c in r.antecedents): (r.support, r.confidence, r.lift) for r in found
    }


def same(got, want):
    assert set(got) == set(want)
    for key, numbers in want.items():
        assert np.allclose(got[key], numbers, rtol=1e-12, atol=0)


@settings(max_examples=60)
@given(raw_tables(least=6), st.integers(0, 2**32 - 1), st.sampled_from([0.02, 0.1, 0.3]))
def test_all_rules_of_random_tables_are_mlxtends(table, seed, min_support):
    labels = np.random.default_rng(seed).permutation(np.arange(len(table)) % 3 == 0).astype(int)
    found = find_rules(table, labels, min_support=min_support, min_confidence=0.0, prune=False)
    same(ours(found), theirs(table, labels, min_support, 0.0))


@pytest.fixture(scope="module")
def raw_students():
    if reason := paper_data.missing():
        pytest.skip(reason)
    return paper_data.sample("students").drop(columns="Target")


def test_all_rules_of_students_are_mlxtends(raw_students):
    categorical = paper_data.SOURCES["students"].categories
    labels = (raw_students["Curricular units 1st sem (credited)"] >= 3).to_numpy().astype(int)
    labels[np.random.default_rng(0).random(len(labels)) < 0.02] = 1
    found = find_rules(
        columns_of(raw_students, categorical=categorical), labels, min_support=0.04,
        min_confidence=0.05, prune=False,
    )  # fmt: skip
    want = theirs(raw_students, labels, 0.04, 0.05, categorical=categorical)
    assert len(want) > 100
    same(ours(found), want)


def by_hand(table, labels, found):
    """Every rule's numbers, from the rows."""
    columns = {c.name: c for c in columns_of(table)}
    for rule in found:
        rows = np.all([c.holds(columns[c.column]) for c in rule.antecedents], axis=0)
        inside = labels == 1
        assert (rule.covered, rule.count) == (rows.sum(), (rows & inside).sum())
        assert rule.lift == pytest.approx(rule.confidence / inside.mean(), rel=1e-12)


@settings(max_examples=60)
@given(raw_tables(least=8), st.integers(0, 2**32 - 1))
def test_pruned_rules_are_what_is_left_of_all(table, seed):
    labels = np.random.default_rng(seed).permutation(np.arange(len(table)) % 2)
    everything = find_rules(table, labels, min_support=0.02, prune=False)
    pruned = find_rules(table, labels, min_support=0.02)
    by_hand(table, labels, pruned)
    assert set(ours(pruned)) <= set(ours(everything))
    columns = {c.name: c for c in columns_of(table)}

    def rows(rule):
        return np.all([c.holds(columns[c.column]) for c in rule.antecedents], axis=0)

    def better_than_halves(rule):
        if len(rule.antecedents) == 1:
            return True
        halves = [c.holds(columns[c.column]) for c in rule.antecedents]
        inside = labels == 1
        return all(rule.confidence > (h & inside).sum() / h.sum() for h in halves)

    kept = [r for r in everything if better_than_halves(r) and r.covered < len(table)]
    covered = {rows(rule).tobytes() for rule in kept}
    seen = [rows(rule).tobytes() for rule in pruned]
    assert len(seen) == len(set(seen)) and set(seen) == covered
    # of rules on the same rows, one with a single antecedent is kept if there is one
    single = {rows(r).tobytes() for r in kept if len(r.antecedents) == 1}
    for rule, key in zip(pruned, seen, strict=True):
        assert len(rule.antecedents) == 1 or key not in single


@settings(max_examples=60)
@given(raw_tables(least=8), st.integers(0, 2**32 - 1), st.integers(1, 9), st.booleans())
def test_listed_rules_are_those_that_add(table, seed, limit, prune):
    labels = np.random.default_rng(seed).permutation(np.arange(len(table)) % 3 == 0)
    found = find_rules(table, labels, min_support=0.02, prune=prune)
    columns = {c.name: c for c in columns_of(table)}
    rows = [[c.holds(columns[c.column]) for c in rule.antecedents] for rule in found]
    want = [found[place] for place in naive.adding(rows, labels, limit)]
    got = found.that_add(limit)
    assert list(got) == want and list(got.that_add(limit)) == want


def test_a_list_of_rules_does_not_say_one_thing_over_and_over():
    """Of 100 rows 40 are left out: 27 of 30 from abroad, whatever else they are, 10 of 20 late."""
    abroad, late, old = (np.zeros(100, dtype=bool) for _ in range(3))
    abroad[:30], late[30:50], old[:14], old[33:50] = True, True, True, True
    labels = np.zeros(100, dtype=bool)
    labels[:27] = labels[33:43] = labels[97:] = True
    table = pd.DataFrame({"abroad": abroad, "late": late, "old": old})
    found = find_rules(table, labels)
    assert [(rule.text, rule.count, rule.covered) for rule in found] == [
        ("abroad = True and old = True", 14, 14),  # 10 points surer than abroad alone
        ("abroad = True", 27, 30),  # 13 of its 27 are new
        ("old = True", 24, 31),
        ("late = True", 10, 20),
    ]
    listed = [(rule.text, rule.count, rule.covered) for rule in found.that_add()]
    assert listed == [("abroad = True and old = True", 14, 14), ("late = True", 10, 20)]
    assert [r.text for r in found.that_add(1)] == ["abroad = True and old = True"]


def test_rules_fall_in_lift_and_meet_the_floors():
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.integers(0, 4, (500, 6)), columns=list("abcdef"))
    labels = ((table["a"] == 1) & (table["b"] > 1)).to_numpy()
    found = find_rules(table, labels)
    assert (np.diff(found.lift) <= 0).all() and (found.lift >= 1).all()
    assert (found.support >= 0.01).all()
    best = found[0]
    assert best.confidence == 1.0 and {c.column for c in best.antecedents} == {"a", "b"}
    strict = find_rules(table, labels, min_confidence=0.9, min_support=0.05)
    assert (strict.confidence >= 0.9).all() and (strict.support >= 0.05).all()
    with pytest.raises(IndexError):
        found[len(found)]


def test_copies_of_columns_take_no_place_of_others():
    rng = np.random.default_rng(0)
    a, b = rng.integers(0, 2, (2, 300))
    table = pd.DataFrame(
        {f"a{j}": a for j in range(30)}
        | {f"b{j}": b for j in range(30)}
        | {f"z{j}": rng.integers(0, 3, 300) for j in range(4)}
    )
    labels = (a & b) | (rng.random(300) < 0.05)
    found = find_rules(table, labels)
    assert not any("a1 " in r.text for r in found)


def test_of_very_many_rules_the_surest_are_kept(monkeypatch):
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.integers(0, 3, (300, 6)))
    labels = rng.random(300) < 0.3
    every = list(find_rules(table, labels, prune=False))
    monkeypatch.setattr(rules, "_MOST", 40)
    few = list(find_rules(table, labels, prune=False))
    assert len(few) == 40 < len(every) and set(few) < set(every)
    pairs = [r for r in every if len(r.antecedents) == 2]
    least = min(r.confidence for r in few if len(r.antecedents) == 2)
    assert all(r in few for r in pairs if r.confidence > least)
    assert all(r in few for r in every if len(r.antecedents) == 1)


def test_what_holds_for_everybody_is_no_rule():
    table = pd.DataFrame({"k": [1] * 40, "v": np.arange(40) % 4})
    labels = np.arange(40) % 4 == 0
    assert "k = 1" not in {r.text for r in find_rules(table, labels)}
    assert "k = 1" in {r.text for r in find_rules(table, labels, prune=False)}


def test_bad_input_gets_one_sentence():
    table = np.arange(20.0).reshape(10, 2)
    labels = np.arange(10) < 3
    with pytest.raises(ValueError, match="one label per row"):
        find_rules(table, labels[:5])
    assert len(find_rules(table, labels.astype(object)))
