"""Do runs from other starts agree, and who belongs by the votes of subsamples?"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone

import naive
from leftout import MaxDisparityPartition, datasets
from leftout.checks import generator
from leftout.errors import InputError
from leftout.evidence import replication
from leftout.evidence.refit import SearchTask
from leftout.evidence.replication import (
    Membership,
    Stability,
    fit_with_seeds,
    pairwise_jaccard,
    subsamples,
)
from leftout.linalg.distinct import distinct_rows
from leftout.running import Steps
from leftout.solvers import Alternating, Sorting


def jaccard(a, b):
    union = np.sum((a == 1) | (b == 1))
    return np.sum((a == 1) & (b == 1)) / union if union else 1.0


@given(st.integers(0, 10_000), st.integers(2, 5), st.integers(1, 12))
def test_pairwise_jaccard_from_the_definition(seed, runs, m):
    labels = np.random.default_rng(seed).integers(0, 2, (runs, m))
    J = pairwise_jaccard(labels)
    for i, a in enumerate(labels):
        for j, b in enumerate(labels):
            assert J[i, j] == pytest.approx(jaccard(a, b))


@pytest.fixture(scope="module")
def planted():
    return datasets.make_planted(300, 8, 2, 60, random_state=0)[0]


def fitted(search, X, runs):
    """How the groups of a search with several seeds agree."""
    fits = fit_with_seeds(search, X, runs, Steps(runs, None))
    return Stability(
        labels=np.array([fit.labels_ for fit in fits], dtype=np.int8),
        disparities=np.array([fit.disparity_ for fit in fits]),
    )


def test_runs_agree_on_a_planted_group(planted):
    found = fitted(MaxDisparityPartition(2, group_size=60, random_state=0), planted, 5)
    assert found.labels.shape == (5, 300) and found.jaccard_matrix.shape == (5, 5)
    assert found.jaccard_mean > 0.95 and found.agrees
    assert found.jaccard_low <= found.jaccard_mean <= found.jaccard_high
    assert found.nearly_equal == 1


def test_jobs_and_repeats_change_nothing(planted):
    results = [
        fitted(
            MaxDisparityPartition(
                2, group_size=60, solver=Alternating(n_starts=3), random_state=0, n_jobs=jobs
            ),
            planted,
            4,
        )
        for jobs in (1, 2, 1)
    ]
    for other in results[1:]:
        assert np.array_equal(results[0].labels, other.labels)


def test_two_groups_that_fare_alike_are_told_apart():
    """Two planted groups along directions of their own; a group of one's size finds either."""
    rng = np.random.default_rng(0)
    X = 0.05 * rng.standard_normal((400, 6))
    X[:, 0] += rng.standard_normal(400)
    for place, column in ((slice(0, 40), 4), (slice(40, 80), 5)):
        X[place, 0] *= 0.1
        X[place, column] += np.tile([2.0, -2.0], 20) + 0.01 * rng.standard_normal(40)
    search = MaxDisparityPartition(1, group_size=40, solver=Alternating(n_starts=1), random_state=0)
    found = fitted(search, X, 16)
    best = found.labels[found.disparities > 0.9 * found.disparities.max()]
    assert {int(each[:80].reshape(2, 40).sum(axis=1).argmax()) for each in best} == {0, 1}
    assert found.nearly_equal >= 2 and "this is one of them" in found.several_text
    assert found.to_dict()["nearly_equal"] == found.nearly_equal


def test_each_fit_is_that_of_its_seed(planted):
    search = MaxDisparityPartition(2, min_group_size=40, solver="greedy", random_state=0, n_jobs=2)
    fits = fit_with_seeds(search, planted, 3, Steps(3, None))
    rngs = generator(0).spawn(3)
    for found, rng in zip(fits, rngs, strict=True):
        one = clone(search).set_params(random_state=rng).fit(planted)
        assert np.array_equal(found.epoch_labels_, one.epoch_labels_)
        assert found.history_["disparity"].tolist() == one.history_["disparity"].tolist()
        assert found.disparity_ == one.disparity_ and found.n_jobs == 2


def test_the_best_run_of_a_group_stands_for_it():
    labels = np.zeros((4, 20), dtype=np.int8)
    labels[0, :6], labels[1, :5], labels[2, 10:14], labels[3, 9:14] = 1, 1, 1, 1
    for disparities, count in (
        ([0.3, 0.5, 0.9, 0.7], 1), ([0.3, 0.86, 0.9, 0.7], 2), ([0.3, 0.85, 0.9, 0.9], 1),
    ):  # fmt: skip
        found = Stability(labels=labels, disparities=np.array(disparities))
        assert found.nearly_equal == count


@pytest.fixture(scope="module")
def labelled():
    return datasets.make_planted(120, 6, 2, 24, random_state=0)


def asked(task, group, parts=5, seed=0):
    rngs = np.random.default_rng(seed).spawn(parts)
    labels = group.astype(int)
    found = subsamples(task, [labels.sum()], rngs, Steps(1, None), labels, task.X, labels)
    return None if found is None else found[0]


@pytest.fixture
def parts(monkeypatch):
    """The rows of every part, and how many are looked for in it."""
    kept, fit = [], replication.fit_group_rule

    def keep(task, X, sizes, *how):
        kept.append((X, *sizes))
        return fit(task, X, sizes, *how)

    monkeypatch.setattr(replication, "fit_group_rule", keep)
    return kept


def test_votes_counted_by_hand(labelled, parts):
    X, labels = labelled
    search = MaxDisparityPartition(2, solver=Sorting(split="matched"), min_group_size=4)
    found = asked(SearchTask.of(search, X), labels.astype(bool))
    votes = np.zeros(120)
    for rows, size in parts:
        assert len(rows) == 96 and size == 19
        assert distinct_rows(np.vstack([X, rows])).n_distinct == 120  # all are rows of the table
        _, score = naive.rule(rows, search.set_params(group_size=19).fit(rows).labels_, 2)
        for i in sorted(range(120), key=lambda i: -score(X[i]))[:24]:
            votes[i] += 1
    assert len(parts) == found.parts == 5
    assert found.shares.tolist() == (votes / 5).tolist()
    assert set(votes) - {0.0, 5.0}  # some rows are left out of some parts only


def test_members_and_those_at_the_border():
    group = np.array([1, 1, 1, 1, 1, 0, 0], dtype=bool)
    shares = np.array([1.0, 0.8, 0.79, 0.5, 0.49, 0.9, 0.0])
    found = Membership(shares=shares, group=group, parts=16)
    assert found.members.tolist() == [True, True] + 5 * [False]
    assert (found.n_members, found.n_borderline) == (2, 3)
    assert found.named().tolist() == ["member"] * 2 + ["borderline"] * 3 + ["rest"] * 2
    assert found.text == (
        "2 of 5 rows are members: left out in at least 80% of 16 searches on 80% of the rows; 3 "
        "are borderline."
    )
    alone = Membership(shares=shares[[0, 4]], group=group[:2], parts=16)
    assert alone.text.endswith("; 1 is borderline.")
    counts = {"parts": 16, "n_members": 2, "n_borderline": 3}
    assert found.to_dict() == counts | {"text": found.text}


def test_planted_rows_are_members(labelled):
    X, labels = labelled
    search = MaxDisparityPartition(2, solver=Alternating(n_starts=8), random_state=0)
    found = asked(SearchTask.of(search, X), labels.astype(bool))
    assert found.members[labels == 1].mean() > 0.8 and found.shares[labels == 0].mean() < 0.05


def test_copies_stay_together(labelled, parts):
    X = np.repeat(labelled[0], 3, axis=0)
    group = np.repeat(labelled[1], 3).astype(bool)
    search = MaxDisparityPartition(2, solver=Alternating(n_starts=4), random_state=0)
    found = asked(SearchTask.of(search, X), group, parts=4)
    for rows, size in parts:
        assert set(distinct_rows(rows).counts.tolist()) == {3} and len(rows) < len(X)
        assert size == round(72 * len(rows) / 360)
    assert len({len(rows) for rows, _ in parts}) > 1
    assert np.array_equal(found.shares[0::3], found.shares[1::3])


def test_parts_with_too_few_dimensions_have_no_vote(labelled, monkeypatch):
    X, labels = labelled
    search = MaxDisparityPartition(2, solver=Alternating(n_starts=2), random_state=0)
    task, group = SearchTask.of(search, X), labels.astype(bool)
    calls, fit = [], replication.fit_group_rule

    def refuse(every):
        def refused(*args):
            calls.append(1)
            if every or len(calls) == 2:
                raise InputError("Too few dimensions.")
            return fit(*args)

        return refused

    monkeypatch.setattr(replication, "fit_group_rule", refuse(every=False))
    assert asked(task, group).parts == 4
    monkeypatch.setattr(replication, "fit_group_rule", refuse(every=True))
    assert asked(task, group) is None
