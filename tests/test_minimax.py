"""MinimaxPCA: the game against every group, against all groups enumerated and a convex program."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

import naive
from leftout import MinimaxPCA
from leftout.fair import many
from leftout.fair.objective import Objective


def rows(seed, m, n):
    rng = np.random.default_rng(seed)
    return rng.standard_t(4, size=(m, n)) @ (rng.normal(size=(n, n)) * rng.gamma(1.0, 1.0, n))


def moments(X, groups, d):
    second = np.stack([X[list(g)].T @ X[list(g)] / len(g) for g in groups])
    return second, naive.own_best(second, d)


@pytest.mark.parametrize("seed", range(50))
def test_the_dual_does_not_mind_that_groups_overlap(seed):
    rng = np.random.default_rng(seed)
    k, n = int(rng.integers(2, 31)), int(rng.integers(3, 9))
    d = int(rng.integers(1, n))
    X = rows(seed, 40, n)
    X /= np.sqrt(np.mean(np.sum(X**2, axis=1)))
    groups = [rng.choice(40, int(rng.integers(n, 20)), replace=False) for _ in range(k)]
    second, best = moments(X, groups, d)
    answer = many.solve(Objective(second, best, d), np.full(k, 1.0 / k), 1e-9)
    assert answer.losses.max() - answer.bound <= 1e-7
    assert answer.bound == pytest.approx(naive.fair_optimum(second, best, d), abs=2e-7)
    F = (answer.V.T * answer.occupation) @ answer.V
    values = np.linalg.eigvalsh(F)
    assert values.min() > -1e-9 and values.max() < 1 + 1e-9 and values.sum() == pytest.approx(d)


def every_group(X, d, size):
    """Moments of all groups of a size."""
    return moments(X, list(combinations(range(len(X)), size)), d)


@pytest.mark.parametrize("seed", range(20))
def test_tiny_tables_reach_the_optimum_over_all_groups(seed):
    rng = np.random.default_rng(seed)
    m, n = int(rng.integers(7, 11)), int(rng.integers(3, 5))
    d, size = int(rng.integers(1, n)), int(rng.integers(2, 4))
    X = rows(seed, m, n)
    X -= X.mean(axis=0)
    X /= np.sqrt(np.mean(np.sum(X**2, axis=1)))
    second, best = every_group(X, d, size)
    optimum = naive.fair_optimum(second, best, d)
    fair = MinimaxPCA(d, group_size=size, tol=1e-7, max_rounds=200, random_state=0).fit(X)
    assert fair.lower_bound_ <= optimum + 1e-6
    P = fair.components_.T @ fair.components_
    losses = best - np.einsum("gij,ij->g", second, P)
    assert fair.worst_loss_ == pytest.approx(losses.max(), abs=1e-6)
    assert fair.lower_bound_ == pytest.approx(optimum, abs=1e-6)
    assert losses.max() <= fair.bound_ + 1e-9
