"""Sentences from one half of the rows, judged on the other."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import leftout
from leftout import MaxDisparityPartition, datasets
from leftout.data.columns import columns_of
from leftout.errors import InputError
from leftout.explain import replication
from leftout.explain.replication import sentence_replicates


def described(m=480, size=120, seed=0):
    """A planted group that the town tells of, and the search that found it."""
    X, planted = datasets.make_planted(m, 6, 2, size, random_state=seed)
    rng = np.random.default_rng(seed)
    table = pd.DataFrame({
        "town": np.where(planted == 1, "Beeley", rng.choice(["Ayton", "Corby"], m)),
        "age": rng.integers(18, 90, m),
    })  # fmt: skip
    found = MaxDisparityPartition(2, group_size=size, random_state=0).fit(X)
    return found, X, table


def test_losses_are_those_of_the_other_half():
    """The halves, their sentences and what they cover, anew; losses by their definition."""
    found, X, table = described()
    told = sentence_replicates(found, X, columns_of(table), np.random.default_rng(3))
    order = np.random.default_rng(3).permutation(480)
    halves = [np.sort(order[:240]), np.sort(order[240:])]
    for half, other in zip(told.halves, halves[::-1], strict=True):
        assert half.sentence == "town = Beeley"
        covered = (table["town"].to_numpy() == "Beeley")[other]
        assert half.rows == covered.sum()
        losses = leftout.group_losses(X[other], covered.astype(int), 2)
        assert half.loss == pytest.approx(losses[1], rel=1e-9)
        assert half.p_value == 0.01 and half.random < half.loss / 5
    assert told.permutations == 99 and told.p_value == 0.01 and told.holds
    each = [half.sentence for half in told.halves]
    assert told.told.startswith(f"Found on half of the rows, {each[0]}: the {told.halves[0].rows} ")
    assert f"; {each[1]}: the {told.halves[1].rows} rows" in told.told


def test_random_groups_lose_what_random_rows_of_that_size_lose():
    found, X, table = described()
    told = sentence_replicates(found, X, columns_of(table), np.random.default_rng(3))
    order = np.random.default_rng(3).permutation(480)
    other, rng = np.sort(order[240:]), np.random.default_rng(0)
    size = told.halves[0].rows
    drawn = []
    for _ in range(200):
        labels = rng.permutation(np.arange(240) < size).astype(int)
        drawn.append(leftout.group_losses(X[other], labels, 2)[1])
    error = np.std(drawn) * np.sqrt(1 / 200 + 1 / 99)
    assert abs(told.halves[0].random - np.mean(drawn)) < 5 * error


def test_columns_that_tell_nothing_come_back_by_accident_only():
    """On 40 tables whose raw columns have nothing to do with what is searched, p is even."""
    p_values = []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((320, 5)) * [3.0, 2.0, 1.0, 1.0, 1.0]
        table = pd.DataFrame({n: rng.choice(list(n), 320) for n in ("xy", "pqr")})
        found = MaxDisparityPartition(2, group_size=80, random_state=0).fit(X)
        told = sentence_replicates(found, X, columns_of(table), rng)
        p_values += [half.p_value for half in told.halves]
    # of 80, nine or more once in a hundred times
    assert len(p_values) == 80 and np.sum(np.array(p_values) <= 0.05) <= 8
    assert 0.35 < np.mean(p_values) < 0.65 and max(p_values) > 0.8


def test_the_larger_p_value_counts():
    halves = [
        replication.HalfReplication(sentence="a", rows=9, loss=0.5, random=0.1, p_value=p)
        for p in (0.01, 0.06)
    ]
    assert replication.Replication(halves=halves, permutations=99).p_value == 0.06
    assert not replication.Replication(halves=halves, permutations=99).holds
    assert replication.Replication(halves=halves[:1], permutations=99).holds
    assert not replication.Replication(halves=halves[:1], permutations=18).holds


def test_halves_that_are_too_small_say_nothing():
    found, X, table = described(40, 8)
    with pytest.raises(InputError, match="of the other's 20 rows; to judge it takes 5 inside"):
        sentence_replicates(found, X, columns_of(table), np.random.default_rng(0))
    # no dimension is left out of a half
    flat = np.zeros((60, 3))
    flat[:30, 0], flat[0, 1], flat[1, 2] = np.arange(30), 1.0, 1.0
    found = MaxDisparityPartition(2, group_size=6, min_group_size=1, random_state=0).fit(flat)
    raw = columns_of(pd.DataFrame({"a": np.arange(60) % 4}))
    with pytest.raises(InputError):
        sentence_replicates(found, flat, raw, np.random.default_rng(0))


def test_nothing_that_varies_describes_nobody():
    found, X, _ = described()
    table = columns_of(pd.DataFrame({"one": ["x"] * 480}))
    with pytest.raises(InputError):
        sentence_replicates(found, X, table, np.random.default_rng(0))


def test_the_same_generator_gives_the_same_answer():
    found, X, table = described(400, 100)
    columns = columns_of(table)
    first, second = (
        sentence_replicates(found, X, columns, np.random.default_rng(5), 19) for _ in range(2)
    )
    assert first == second and first.permutations == 19
