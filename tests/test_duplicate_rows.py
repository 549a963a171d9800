"""Equal rows are one row that weighs more, unless chance makes them equal."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

import naive
from leftout import MaxDisparityPartition, datasets, trust
from leftout.evidence import replication
from leftout.evidence.duplicate_rows import (
    Repeats,
    _without_dummies,
    find_repeats,
    odds_ratios,
    split,
)
from leftout.evidence.refit import SearchTask
from leftout.evidence.surrogates import SURROGATES, SurrogateTables, correlations
from leftout.linalg.distinct import agreeing_but_for_one, distinct_rows
from leftout.running import Steps
from leftout.solvers import Alternating

FEW = st.sampled_from([0.0, -0.0, 1.0, 0.5, -2.0, 1e300, 5e-324])
SMALL = arrays(np.float64, array_shapes(min_dims=2, max_dims=2, max_side=7), elements=FEW)


def repeated(X, seed=0, low=2, high=4):
    """Every row between ``low`` and ``high`` times, shuffled; and how often each is there."""
    rng = np.random.default_rng(seed)
    counts = rng.integers(low, high + 1, len(X))
    return np.repeat(X, counts, axis=0)[rng.permutation(counts.sum())], counts


@given(SMALL)
def test_distinct_rows_are_the_definitions(X):
    found = distinct_rows(X)
    first, counts, place = naive.distinct_rows(X)
    assert found.first.tolist() == first and found.counts.tolist() == counts
    assert found.place.tolist() == place
    assert found.n_distinct == len(np.unique(X, axis=0)) == len(pd.DataFrame(X).drop_duplicates())
    assert found.n_repeated == int(pd.DataFrame(X).duplicated().sum())
    assert np.array_equal(X[found.first][found.place], X)


@pytest.mark.parametrize("order", ["C", "F"])
def test_distinct_rows_of_many(order):
    rng = np.random.default_rng(0)
    people = rng.integers(0, 4, (3000, 6)).astype(float)
    X = np.asarray(people[rng.integers(0, 3000, 9000)], order=order)
    found = distinct_rows(X)
    _, first, place, counts = np.unique(
        X, axis=0, return_index=True, return_inverse=True, return_counts=True
    )
    by_first = np.argsort(first)
    assert np.array_equal(found.first, first[by_first])
    assert np.array_equal(found.counts, counts[by_first])
    assert np.array_equal(by_first[found.place], place.ravel())


@given(SMALL)
def test_rows_that_agree_on_all_columns_but_one(X):
    for j, names in enumerate(agreeing_but_for_one(X)):
        others = np.delete(X, j, axis=1)
        same = np.all(others[:, None] == others[None], axis=2)
        assert np.array_equal(names[:, None] == names[None], same)


@given(arrays(np.float64, (8, 3), elements=st.sampled_from([0.0, 1.0, 2.0])))
def test_odds_ratios_are_the_definitions(X):
    rows = distinct_rows(X)
    got = list(odds_ratios(X[rows.first], rows.counts))
    np.testing.assert_allclose(got, naive.odds_to_agree(X), rtol=1e-9)


def yes_or_no(seed, m, n, share=0.5):
    return (np.random.default_rng(seed).random((m, n)) < share).astype(float)


def by_chance():
    """Tables with equal rows that nobody copied."""
    rng = np.random.default_rng(0)
    yield "six questions", yes_or_no(0, 400, 6)
    yield "twelve questions", yes_or_no(1, 2000, 12, 0.4)
    yield "twenty rare ones", yes_or_no(2, 2000, 20, 0.1)
    kind = rng.random((2000, 1)) < 0.3
    yield "two kinds of people", (rng.random((2000, 12)) < np.where(kind, 0.8, 0.1)).astype(float)
    a, b, c, d = (rng.integers(0, k, 2000) for k in (8, 7, 6, 5))
    # one category follows from two others, and each is a column a level
    levels = np.hstack([np.eye(x.max() + 1)[x] for x in (a, b, c, d, (a + b) % 6)])
    yield "levels of categories", levels
    yield "without each first", levels[:, np.r_[1:8, 9:15, 16:21, 22:26, 27:32]]
    yield "and an age", np.column_stack([rng.integers(18, 70, 2000), levels])
    yield "nobody active", rng.exponential(size=(2000, 8)) * (rng.random((2000, 1)) < 0.5)


@pytest.mark.parametrize("X", [pytest.param(X, id=name) for name, X in by_chance()])
def test_equal_by_chance_is_not_copied(X):
    found = find_repeats(X)
    assert found.distinct.n_repeated == int(pd.DataFrame(X).duplicated().sum()) > 0
    assert not found.beyond_chance and found.copies is None


@pytest.mark.parametrize("high", [2, 4])
def test_copies_are_told_from_chance(mixed, high):
    rng = np.random.default_rng(3)
    age = rng.integers(18, 70, 240)
    for X in (mixed, np.column_stack([age, mixed[:, 2:4], yes_or_no(3, 240, 9)])):
        Y, counts = repeated(X, high=high)
        found = find_repeats(Y)
        assert found.beyond_chance and found.distinct.n_distinct == 240
        assert sorted(found.copies.counts) == sorted(counts)
    # a twentieth of the rows, and four rows
    assert find_repeats(np.vstack([mixed, mixed[:12]])).beyond_chance
    assert not find_repeats(np.vstack([mixed, mixed[:4]])).beyond_chance


def test_levels_become_one_column_again():
    a, b = np.array([0, 1, 2, 3, 1, 2]), np.array([0, 1, 0, 1, 0, 1])
    X = np.column_stack([np.eye(4)[a] * 0.7, [0.1, 0.2, 0.3, 0.4, 0.5, 0.6], np.eye(2)[b], a == 2])
    found = _without_dummies(X)
    assert found.shape == (6, 4)
    assert len(np.unique(np.column_stack([found[:, 0], a]), axis=0)) == 4
    assert found[:, 1].tolist() == [0, 1, 2, 3, 4, 5]
    assert len(np.unique(np.column_stack([found[:, 2], b]), axis=0)) == 2


@pytest.mark.parametrize("kind", SURROGATES)
@given(st.integers(0, 1000), st.integers(2, 4))
def test_tables_of_rows_that_repeat_equally_often(kind, seed, times):
    """Distinct rows as in the table, each as often, and what is kept without repeating is kept."""
    X = np.random.default_rng(seed).random((40, 4)) ** 2
    Y = np.repeat(X, times, axis=0)
    drawn = SurrogateTables(Y, find_repeats(Y).copies).law(kind).draw(np.random.default_rng(seed))
    found = distinct_rows(drawn)
    assert drawn.shape == Y.shape and found.counts.tolist() == [times] * 40
    if kind == "copula":
        assert np.array_equal(np.sort(drawn, axis=0), np.sort(Y, axis=0))
        return
    np.testing.assert_allclose(drawn.mean(axis=0), Y.mean(axis=0), rtol=1e-9)
    np.testing.assert_allclose(np.cov(drawn.T), np.cov(Y.T), atol=1e-12)


@pytest.mark.parametrize("kind", SURROGATES)
def test_tables_repeat_rows_as_often_as_the_table(mixed, kind):
    Y, counts = repeated(mixed, low=1, high=5)
    law = SurrogateTables(Y, find_repeats(Y).copies).law(kind)
    first, again, other = (law.draw(np.random.default_rng(seed)) for seed in (3, 3, 4))
    assert np.array_equal(first, again) and not np.array_equal(first, other)
    of_first, of_other = distinct_rows(first).counts, distinct_rows(other).counts
    assert sorted(of_first) == sorted(of_other) == sorted(counts)
    assert not np.array_equal(of_first, of_other)  # which row is repeated how often is drawn
    assert len(first) == len(Y)


def frequent_at_the_edge():
    """Rows repeat more often the larger their first columns are."""
    rng = np.random.default_rng(5)
    X = rng.standard_normal((300, 5)) @ (np.eye(5) + 0.5 * rng.standard_normal((5, 5)))
    X[:, 1] = X[:, 1] > 0.5
    return np.repeat(X, 1 + (X[:, 0] > 0) + 4 * (X[:, 0] > 1), axis=0)


def test_how_often_rows_occur_is_drawn_like_a_column():
    """Distinct rows as in the table, and frequent ones have the values they have there."""
    Y = frequent_at_the_edge()
    rows = find_repeats(Y).copies
    once = Y[rows.first]
    together = correlations(np.column_stack([once, rows.counts]))
    for kind in SURROGATES:
        drawn = [
            SurrogateTables(Y, rows).law(kind).draw(np.random.default_rng(seed))
            for seed in range(30)
        ]
        for table in drawn:
            found = distinct_rows(table)
            of_rows = np.column_stack([table[found.first], found.counts])
            assert sorted(found.counts) == sorted(rows.counts)
            if kind == "copula":
                assert np.array_equal(np.sort(of_rows, axis=0)[:, :-1], np.sort(once, axis=0))
                np.testing.assert_allclose(correlations(of_rows), together, atol=0.02)
            else:
                np.testing.assert_allclose(np.cov(table[found.first].T), np.cov(once.T), atol=1e-12)
        # values as often as in the table (bell-shaped ones nearly), not as in its distinct rows
        got = np.mean([table.mean(axis=0) for table in drawn], axis=0)
        of_table, of_distinct = Y.mean(axis=0), once.mean(axis=0)
        near = 0.02 if kind == "copula" else 0.25
        assert np.abs(got / of_table - 1.0)[0] < near < np.abs(of_distinct / of_table - 1.0)[0]


def test_correlations_of_copies_are_told_by_distinct_rows():
    """What is said to be missed is what is kept, however often rows occur."""
    Y = frequent_at_the_edge()
    task = SearchTask.of(MaxDisparityPartition(2, random_state=0), Y)
    assert np.array_equal(task.witnesses(Y), Y[find_repeats(Y).copies.first])
    for kind in SURROGATES:
        drawn = [
            task.witnesses(task.surrogates.law(kind).draw(rng)) for rng in task.rngs[0].spawn(3)
        ]
        R = np.mean([correlations(rows) for rows in drawn], axis=0)
        assert np.abs(R - correlations(task.witnesses(Y))).max() < 0.01
    assert np.abs(correlations(Y) - correlations(task.witnesses(Y))).max() > 0.05


def test_wide_tables_repeat_too():
    Y, counts = repeated(np.random.default_rng(0).standard_normal((30, 50)))
    for kind in SURROGATES:
        drawn = SurrogateTables(Y, find_repeats(Y).copies).law(kind).draw(np.random.default_rng(0))
        assert sorted(distinct_rows(drawn).counts) == sorted(counts)


@given(st.integers(0, 1000), st.lists(st.integers(1, 9), min_size=2, max_size=20))
def test_halves_keep_equal_rows_together(seed, counts):
    rng = np.random.default_rng(seed)
    X = np.repeat(np.arange(len(counts), dtype=float), counts)[:, None]
    X = X[rng.permutation(len(X))]
    sides = split(distinct_rows(X), rng)
    assert sorted(np.concatenate(sides).tolist()) == list(range(len(X)))
    assert not set(X[sides[0], 0]) & set(X[sides[1], 0])
    # nothing on the larger side would have fitted into the smaller one
    small, large = sorted(sides, key=len)
    room = len(X) // 2 - len(small)
    assert 0 <= room < distinct_rows(X[large]).counts.min()


def test_either_half_may_be_searched():
    rows = distinct_rows(np.repeat([[0.0], [1.0], [2.0]], [7, 1, 1], axis=0))
    sizes = {len(split(rows, np.random.default_rng(seed))[0]) for seed in range(20)}
    assert sizes == {2, 7}


@pytest.fixture(scope="module")
def copied():
    X, labels = datasets.make_planted(150, 6, 2, 30, random_state=0)
    counts = np.random.default_rng(0).integers(1, 4, 150)
    return np.repeat(X, counts, axis=0), np.repeat(labels, counts)


def in_halves(search, X, size, splits):
    task = SearchTask.of(search, X)
    reference = np.zeros(len(X), dtype=np.int8)
    return replication.cross_fit(task, [size], splits, Steps(splits, None), reference)[0]


@pytest.fixture
def halves(monkeypatch):
    """The halves of every split, and how many rows each search looks for among how many."""
    kept, sizes = [], []
    drawn, fit = SearchTask.halves, replication.fit_group_rule

    def keep(*args):
        kept.append(drawn(*args))
        return kept[-1]

    def note(task, X, each, *how):
        sizes.append((len(X), *each))
        return fit(task, X, each, *how)

    monkeypatch.setattr(SearchTask, "halves", keep)
    monkeypatch.setattr(replication, "fit_group_rule", note)
    return kept, sizes


def test_no_copy_is_searched_and_judged_in_one_split(halves, copied):
    X, (kept, sizes) = copied[0], halves
    search = MaxDisparityPartition(2, solver=Alternating(n_starts=2), random_state=0)
    found = in_halves(search, X, 60, 4)
    assert found.splits == len(kept) == 4 and len(sizes) == 16
    place = distinct_rows(X).place
    for searched, judged in kept:
        assert sorted([*searched, *judged]) == list(range(len(X)))
        assert abs(len(searched) - len(judged)) <= 3
        assert not set(place[searched]) & set(place[judged])
    wanted = {(rows, round(size * rows / len(X))) for rows, _ in sizes for size in (60, 30)}
    assert set(sizes) == wanted


def test_copies_say_it_once(copied, monkeypatch):
    """What equal rows add to a gap is one row's: it is added up before it is squared."""
    X, splits, judge = copied[0], [], replication._judge_apart

    def keep(*args):
        splits.append(judge(*args))
        return splits[-1]

    monkeypatch.setattr(replication, "_judge_apart", keep)
    search = MaxDisparityPartition(2, solver=Alternating(n_starts=2), random_state=0)
    found = in_halves(search, X, 60, 3)
    first, _, place = naive.distinct_rows(X)
    squares = []
    for row in range(len(first)):
        each = [i for i in range(len(X)) if place[i] == row]
        squares.append(
            sum(np.mean([influence[0, i] for _, influence, _ in splits]) for i in each) ** 2
        )
    assert found.error == pytest.approx(np.sqrt(1.2 * sum(squares)), rel=1e-9)
    freedom = sum(squares) ** 2 / sum(square**2 for square in squares) - 1
    assert found.freedom == pytest.approx(freedom, rel=1e-9)


def test_a_row_that_is_most_of_the_table(copied):
    """It never fits into a half, and a half that is one row cannot be searched."""
    X = np.vstack([copied[0][:60], np.repeat(copied[0][:1], 300, axis=0)])
    search = MaxDisparityPartition(
        2, min_group_size=10, solver=Alternating(n_starts=4), random_state=0
    )
    assert SearchTask.of(search, X).repeats.beyond_chance
    found = trust(search, X, n_surrogates=2, n_restarts=0, splits=2, parts=6)
    assert found.held_out is None
    assert found.notes[0].startswith(
        "Halves of the rows: could not be searched. Half of the rows, 180, have too few dimensions"
    )
    # a part without that row can be, and has a vote
    assert found.membership is not None and np.isfinite(found.membership.shares).all()


def test_the_table_itself_is_searched_as_before(copied, monkeypatch):
    """Repeated rows change chance tables, not the table's own profile."""
    X = np.repeat(np.unique(copied[0], axis=0), 2, axis=0)
    solver = Alternating(n_starts=8)
    search = MaxDisparityPartition(2, group_size=60, solver=solver, random_state=0)
    options = {"n_surrogates": 12, "n_restarts": 0, "splits": 0, "parts": 0}
    found = trust(search, X, **options)
    monkeypatch.setattr(
        "leftout.evidence.refit.find_repeats",
        lambda X: Repeats(distinct=distinct_rows(X), beyond_chance=False),
    )
    without = trust(search, X, **options)
    assert found.searched == without.searched
    for kind in SURROGATES:
        assert found.chance[kind].mean > without.chance[kind].mean


def test_trust_says_that_rows_repeat(copied):
    X, labels = copied
    search = MaxDisparityPartition(2, solver=Alternating(n_starts=8), random_state=0)
    search.set_params(group_size=60)
    found = trust(search, X, n_surrogates=19, n_restarts=0, splits=3, parts=2)
    text = f"Equal rows: {find_repeats(X).text}"
    assert found.notes == [text] and text in found.summary()
    assert f"{len(X) - 150} of {len(X)} rows repeat an earlier one (150 are distinct)" in text
    # and the planted group is found
    assert found.verdict == "A" and found.p_value == 0.05
    group = found.partition.labels_
    assert np.sum(group & labels) / np.sum(group | labels) > 0.8


def test_trust_is_silent_of_rows_that_are_equal_by_chance():
    X = yes_or_no(0, 200, 8)
    search = MaxDisparityPartition(2, solver=Alternating(n_starts=4), random_state=0)
    found = trust(search, X, n_surrogates=2, n_restarts=0, splits=2, parts=0)
    repeats = find_repeats(X)
    assert repeats.distinct.n_distinct == len(np.unique(X, axis=0)) and not repeats.copies
    assert not any("repeat" in note for note in found.notes)
