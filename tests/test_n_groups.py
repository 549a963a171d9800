"""One group of several from a core: against a slow version, and on mixes of two groups."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import naive
from leftout import datasets
from leftout.evidence import n_groups
from leftout.evidence.n_groups import AtChance, GrownGroup, grow, grown
from leftout.evidence.refit import search_sizes
from leftout.evidence.surrogates import Gaussian
from leftout.groups.problem_setup import build_problem
from leftout.solvers import Alternating, SolverContext

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
        found = search_sizes(SOLVER, problem, GRID, SolverContext(rng=rng))
        groups = [GrownGroup.of(problem, each.labels, each.own) for each in found]
        curves.append([group.disparity for group in groups])
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
    assert group.disparity == pytest.approx(naive.signed_disparity(X, group.labels, D))
    G = naive.seen_by_pca(X, "global")[group.labels == 1]
    W = naive.components(G, D, about_mean=False)
    assert group.share == pytest.approx(np.sum((G @ W) ** 2) / np.sum(G**2))


def test_chance_at_every_size(table):
    *_, chance, curves = table
    assert chance.sizes.tolist() == list(range(15, 121))
    for place, size in enumerate(GRID):
        at = chance.place(size)
        assert chance.disparities[at] == pytest.approx(curves[:, place].mean())
        assert chance.deviations[at] == pytest.approx(curves[:, place].std())
    scaled = (curves - curves.mean(axis=0)) / curves.std(axis=0)
    assert chance.highest == pytest.approx(scaled.max())
    for place, size in enumerate(GRID):
        limit = curves[:, place].mean() + scaled.max() * curves[:, place].std()
        assert chance.stands_out(size, 1.001 * limit)
        assert not chance.stands_out(size, 0.999 * limit)


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
    assert one.share > mix.share + 0.1
    rng = np.random.default_rng(0)
    for cores in ([mixed, pure], [pure, mixed], [mixed]):  # of the last, halves are tried
        found = grow(SOLVER, problem, cores, chance, rng)
        inside = np.bincount(planted[found.labels == 1], minlength=3)
        assert inside.max() > 0.9 * found.size and inside[0] < inside.max()


def test_a_few_odd_rows_are_not_taken_for_the_group(table):
    """Described best of all, but with hardly any evidence."""
    problem, _, planted, chance, _ = table
    large = GrownGroup.of(problem, (planted == 1).astype(np.int8))
    few = np.isin(np.arange(300), np.flatnonzero(planted == 2)[:15]).astype(np.int8)
    odd = replace(GrownGroup.of(problem, few), share=0.99, disparity=1.1 * chance.disparities[0])
    assert n_groups._best_described([odd, large], chance) is large
    better = replace(odd, disparity=large.disparity * 60 / 15)
    assert n_groups._best_described([large, better], chance) is better


def test_two_groups_need_more_evidence_than_one(table):
    """Halves of one group pay for chance twice; the parts of a mix are worth it."""
    problem, _, planted, chance, _ = table
    rows = np.flatnonzero(planted == 1)
    for whole, parts, more in (
        (rows, (rows[:30], rows[30:]), False),
        (np.flatnonzero(planted), (rows, np.flatnonzero(planted == 2)), True),
    ):
        groups = [
            GrownGroup.of(problem, np.isin(np.arange(300), part).astype(np.int8))
            for part in (whole, *parts)
        ]
        assert all(chance.stands_out(part.size, part.disparity) for part in groups[1:])
        assert n_groups._more_than_one(problem, groups[0], groups[1:], chance) is more


def test_a_pure_group_is_not_split(table):
    problem, _, planted, chance, _ = table
    for label in (1, 2):
        core = (planted == label).astype(np.int8)
        whole = grown(problem, core, chance)
        found = grow(SOLVER, problem, [core], chance, np.random.default_rng(0))
        np.testing.assert_array_equal(found.labels, whole.labels)


def test_groups_as_small_as_their_components_are_left_whole():
    X = np.random.default_rng(0).standard_normal((40, 6))
    problem = posed(X)
    chance = AtChance.of(np.array([5]), np.array([[0.0], [0.0]]))
    core = (np.arange(40) < 5).astype(np.int8)
    found = grow(SOLVER, problem, [core], chance, np.random.default_rng(0))
    assert isinstance(found, GrownGroup) and found.size == 5
