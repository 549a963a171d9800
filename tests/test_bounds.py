"""The certificate: proved, so it may never be beaten; searched for, so it should be tight."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import naive
import tolerances
from leftout import MaxDisparityPartition
from leftout.groups.problem_setup import build_problem
from leftout.linalg import bounds
from leftout.linalg.bounds import certified_bound
from leftout.linalg.losses import CENTERINGS, LOSSES


def top(matrix, d):
    return np.sort(np.linalg.eigvalsh(matrix))[::-1][:d].sum()


def table(seed, m=10, n=4):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((m, n)) @ rng.standard_normal((n, n))
    if seed % 3 == 0:
        X = np.round(X)
    X[0] *= 1.0 + 5.0 * (seed % 2)
    return X + rng.random(n)


@given(st.integers(0, 10_000), st.integers(1, 3), st.integers(2, 8))
def test_theorem_for_any_weights_and_matrix(seed, d, k):
    rng = np.random.default_rng(seed)
    X = naive.seen_by_pca(table(seed), "global")
    V = naive.components(X, d, about_mean=False)
    r = np.sum((X - X @ V @ V.T) ** 2, axis=1)
    w = rng.random(10) * (rng.random(10) < 0.7)
    T = np.linalg.qr(rng.standard_normal((4, 4)))[0] * np.sqrt(rng.random(4))
    Z = X @ T
    terms = np.sort(r - w * np.sum(Z**2, axis=1))[::-1]
    ceiling = (terms[:k].sum() + top(Z.T @ (w[:, None] * Z), d)) / k
    best = max(naive.group_loss(X[list(g)], V, d, "excess", "global")
               for g in list(combinations(range(10), k))[:: 1 + k * (10 - k) // 8])  # fmt: skip
    assert best <= ceiling + tolerances.of_rows(X, d)


@pytest.mark.parametrize(
    ("loss", "centering"), sorted({*product(LOSSES, CENTERINGS)} - {("excess", "paper")})
)
@pytest.mark.parametrize("seed", range(8))
def test_never_below_the_enumerated_optimum(loss, centering, seed):
    X = table(seed)
    d = 1 + seed % 3
    rounding = tolerances.of_rows(naive.seen_by_pca(X, centering), d)
    for size in range(d + 1, 10 - d):
        problem = build_problem(X, d, loss, centering, d + 1, None).problem
        best = naive.best_of_all_partitions(X, d, 1, size, loss, centering)
        assert certified_bound(problem, size) >= best - rounding


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("limit", [1, 40, 1 << 21])
def test_never_below_when_few_rows_may_be_touched(monkeypatch, seed, limit):
    monkeypatch.setattr(bounds, "_VALUES", limit)
    X = table(seed)
    problem = build_problem(X, 2, "excess", "global", 1, None).problem
    rounding = tolerances.of_rows(naive.seen_by_pca(X, "global"), 2)
    for size in (3, 5):
        best = naive.best_of_all_partitions(X, 2, 1, size)
        assert best - rounding <= certified_bound(problem, size) <= problem.bound(size) + 1e-7


def test_answers_to_the_formula(mixed):
    """The compact evaluation is the theorem's formula, for the weights it chooses."""
    problem = build_problem(mixed, 3, "excess", "global", 40, None).problem
    X, k = problem.rows(), 40
    order = problem.by_reach
    ceiling = bounds.Ceiling(X=X[order], r=problem.reach[order], size=k, d=3)
    rng = np.random.default_rng(0)
    for cap in np.quantile(problem.reach, [0.1, 0.5, 0.9, 0.99]):
        T = np.linalg.qr(rng.standard_normal((7, 7)))[0] * np.sqrt(rng.random(7))
        lengths = np.sum((X @ T) ** 2, axis=1)
        w = np.clip((problem.reach - cap) / lengths, 0.0, 1.0)
        terms = np.sort(problem.reach - w * lengths)[::-1]
        want = (terms[:k].sum() + top(T.T @ (X.T * w) @ X @ T, 3)) / k
        assert ceiling.value(cap, T) == pytest.approx(want, rel=1e-10)


def test_tighter_than_the_mean_residual(students):
    for size in (180, 500, 1000):
        found = MaxDisparityPartition(9, group_size=size, random_state=0).fit(students)
        problem = build_problem(students, 9, "excess", "global", 180, None).problem
        assert found.disparity_ < found.bound_ < 0.8 * problem.bound(size)


def test_exact_where_one_direction_is_dropped():
    X = np.tile(np.diag([3.0, 2.0, 1.0]), (20, 1))  # the rows (0, 2, 0) lose 4 each
    problem = build_problem(X, 1, "excess", "none", 5, None).problem
    assert certified_bound(problem, 20) == pytest.approx(4.0, rel=1e-9)
