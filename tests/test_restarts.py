"""Do runs from other starts agree?"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leftout import MaxDisparityPartition, datasets, restarts
from leftout.evidence.restarts import pairwise_jaccard
from leftout.solvers import Alternating


def jaccard(a, b):
    union = np.sum((a == 1) | (b == 1))
    return np.sum((a == 1) & (b == 1)) / union if union else 1.0


@given(st.integers(0, 10_000), st.integers(2, 5), st.integers(1, 12))
def test_pairwise_jaccard_from_the_definition(seed, runs, m):
    labels = np.random.default_rng(seed).integers(0, 2, (runs, m))
    J = pairwise_jaccard(labels)
    for i, a in enumerate(labels):
        for j, b in enumerate(labels):
            want = max(jaccard(a, b), jaccard(a, 1 - b), jaccard(1 - a, b))
            assert J[i, j] == pytest.approx(want)
    np.testing.assert_allclose(pairwise_jaccard(1 - labels[:1]), 1.0)
    swapped = labels.copy()
    swapped[0] = 1 - swapped[0]
    two = np.stack([labels[0], swapped[0]])
    assert pairwise_jaccard(two)[0, 1] == 1.0  # a partition and the same with its sides renamed


@pytest.fixture(scope="module")
def planted():
    return datasets.make_planted(300, 8, 2, 60, random_state=0)[0]


def test_runs_agree_on_a_planted_group(planted):
    search = MaxDisparityPartition(2, group_size=60, random_state=0)
    found = restarts.agreement(search, planted, n_restarts=5)
    assert found.labels.shape == (5, 300) and found.jaccard.shape == (5, 5)
    assert found.mean > 0.95 and found.low <= found.mean <= found.high
    np.testing.assert_allclose(found.consensus, found.labels.mean(axis=0))
    assert found.consensus.sum() == pytest.approx(60)
    assert len(found.groups) == found.n_nearly_equal == 1
    assert found.groups[0].disparity == found.disparities.max()
    assert sorted(found.groups[0].runs.tolist()) == list(range(5))
    assert found.epochs is None


def test_jobs_and_repeats_change_nothing(planted):
    results = [
        restarts.agreement(
            MaxDisparityPartition(
                2, group_size=60, solver=Alternating(n_starts=3), random_state=0, n_jobs=jobs
            ),
            planted,
            n_restarts=4,
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
    found = restarts.agreement(search, X, n_restarts=16)
    best = [group for group in found.groups if group.disparity > 0.9 * found.disparities.max()]
    assert len(best) >= 2 and found.n_nearly_equal >= 2
    assert sum(len(group.runs) for group in found.groups) == 16
    for group in best[:2]:
        sides = np.bincount(np.flatnonzero(group.labels) // 40, minlength=10)
        assert sides[:2].max() > 30
    assert "jaccard_matrix" in found.to_dict()


def test_epochs_of_greedy(planted):
    search = MaxDisparityPartition(2, min_group_size=40, solver="greedy", random_state=0)
    found = restarts.agreement(search, planted, n_restarts=3)
    one = MaxDisparityPartition(
        2,
        min_group_size=40,
        solver="greedy",
        random_state=np.random.default_rng(np.random.RandomState(0).randint(2**31 - 1)).spawn(3)[0],
    ).fit(planted)
    assert np.array_equal(found.epoch_labels[0], one.epoch_labels_)
    assert found.epochs[0].tolist() == one.history_["disparity"].tolist()


def test_too_few_runs(planted):
    for runs, text in ((1, "nothing to compare"), (0, "at least 2"), ("x", "not a whole number")):
        with pytest.raises(ValueError, match=text):
            restarts.agreement(MaxDisparityPartition(2), planted, n_restarts=runs)


def test_the_best_run_of_a_group_stands_for_it():
    labels = np.zeros((4, 20), dtype=np.int8)
    labels[0, :6], labels[1, :5], labels[2, 10:14], labels[3, 9:14] = 1, 1, 1, 1
    first, second = restarts.distinct(labels, np.array([0.3, 0.5, 0.9, 0.7]))
    assert (first.disparity, second.disparity) == (0.9, 0.5)
    assert (first.runs.tolist(), second.runs.tolist()) == ([2, 3], [0, 1])
    assert np.array_equal(first.labels, labels[2]) and np.array_equal(second.labels, labels[1])
