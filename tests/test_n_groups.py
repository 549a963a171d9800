"""One group of several from a core: against a slow version, and on mixes of two groups."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import naive
from leftout import datasets
from leftout.evidence.n_groups import AtChance, best_described, grown, kept_share
from leftout.evidence.refit import search_sizes
from leftout.evidence.surrogates import Gaussian
from leftout.groups.problem_setup import build_problem
from leftout.linalg.assignment import Partition
from leftout.solvers import Alternating

SOLVER = Alternating(n_starts=20)
GRID = np.array([15, 30, 60, 120])
D = 3


def posed(X):
    return build_problem(X, D, "excess", "global", 1, None).problem


@pytest.fixture(scope="module")
def table():
    X, planted = datasets.make_planted(300, 12, D, [60, 40], random_state=3)
    law, rng = Gaussian.of(X), np.random.default_rng(0)
    curves = []
    for _ in range(6):
        problem = posed(law.draw(rng))
        curves.append([each.value for each in search_sizes(SOLVER, problem, GRID, rng)])
    return posed(X), X, planted, AtChance.of(GRID, np.array(curves)), np.array(curves)


def grown_slowly(M, core, sizes, mean, deviation):
    """From the definitions, size by size."""
    X, V = naive.seen_by_pca(M, "global"), naive.shared_basis(M, D, "global")
    m, labels = len(X), core
    while True:
        W = [naive.components(X[labels == side], D, about_mean=False) for side in (0, 1)]
        b, a = (np.sum((X @ w) ** 2, axis=1) - np.sum((X @ V) ** 2, axis=1) for w in W)
        k = np.sum(labels)
        order = sorted(range(m), key=lambda i: -(a[i] + k / (m - k) * b[i]))
        beyond = []
        for place, size in enumerate(sizes):
            disparity = np.mean(a[order[:size]]) - np.mean(b[order[size:]])
            at_chance = max(sizes[j] * mean[j] for j in range(place + 1))
            beyond.append(size * disparity - at_chance)
        peak = int(np.argmax(beyond))
        least = beyond[peak] - sizes[peak] * deviation[peak]
        size = next(s for s, value in zip(sizes, beyond, strict=True) if value >= least)
        after = np.isin(np.arange(m), order[:size]).astype(np.int8)
        if np.array_equal(after, labels):
            return labels
        labels = after


@pytest.mark.parametrize("seed", range(4))
def test_a_core_grows_as_in_the_slow_version(table, seed):
    problem, X, planted, chance, _ = table
    rows = np.random.default_rng(seed).permutation(np.flatnonzero(planted == 1 + seed % 2))
    core = np.isin(np.arange(300), rows[:20]).astype(np.int8)
    group = grown(problem, core, chance)
    want = grown_slowly(X, core, chance.sizes, chance.disparities, chance.deviations)
    np.testing.assert_array_equal(group.labels, want)
    assert group.size > 20 and np.mean(planted[group.labels == 1] == 1 + seed % 2) > 0.9
    assert group.value == pytest.approx(naive.signed_disparity(X, group.labels, D))
    G = naive.seen_by_pca(X, "global")[group.labels == 1]
    W = naive.components(G, D, about_mean=False)
    assert kept_share(problem, group) == pytest.approx(np.sum((G @ W) ** 2) / np.sum(G**2))


def test_chance_at_every_size(table):
    *_, chance, curves = table
    assert chance.sizes.tolist() == list(range(15, 121))
    for place, size in enumerate(GRID):
        at = chance.place(size)
        assert chance.disparities[at] == pytest.approx(curves[:, place].mean())
        assert chance.deviations[at] == pytest.approx(curves[:, place].std())


def test_rows_that_lose_nothing_are_no_evidence():
    """At chance large groups lose less in total: 20 x 1 and 40 x 0.25."""
    curves = np.array([[1.0, 0.24], [1.0, 0.26]])
    chance = AtChance.of(np.array([20, 40]), curves)
    disparities = 60.0 / chance.sizes  # the same total at every size
    np.testing.assert_allclose(chance.beyond(disparities), 40.0)
    assert chance.enough(disparities) == 20


def test_a_mix_of_two_groups_is_told_from_either(table):
    problem, _, planted, chance, _ = table
    some = [np.flatnonzero(planted == group)[:25] for group in (1, 2)]
    mixed, pure = (np.isin(np.arange(300), rows).astype(np.int8) for rows in
                   (np.concatenate(some), some[1]))  # fmt: skip
    mix, one = grown(problem, mixed, chance), grown(problem, pure, chance)
    inside = np.bincount(planted[mix.labels == 1], minlength=3)
    assert inside[1:].min() > 10  # it stays a mix
    assert kept_share(problem, one) > kept_share(problem, mix) + 0.1
    for groups in ([mix, one], [one, mix]):
        assert best_described(problem, groups, chance) is one
    inside = np.bincount(planted[one.labels == 1], minlength=3)
    assert inside.max() > 0.9 * one.size and inside[0] < inside.max()


def test_a_few_odd_rows_are_not_taken_for_the_group(table):
    """Described best of all, but with hardly any evidence."""
    problem, _, planted, chance, _ = table
    large = Partition.of(problem, (planted == 1).astype(np.int8))
    few = np.isin(np.arange(300), np.flatnonzero(planted == 2)[:15]).astype(np.int8)
    small = Partition.of(problem, few)

    def losing(disparity):
        return replace(small, losses=np.array([0.0, disparity]))

    assert kept_share(problem, small) > kept_share(problem, large)
    odd = losing(1.1 * chance.disparities[0])
    assert best_described(problem, [odd, large], chance) is large
    better = losing(large.value * 60 / 15)
    assert best_described(problem, [large, better], chance) is better
