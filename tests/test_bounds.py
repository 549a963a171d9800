"""The certificate: proved, so it may never be beaten; searched for, so it should be tight."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive
import tolerances
from leftout import MaxDisparityPartition
from leftout.groups.problem_setup import build_problem
from leftout.linalg import bounds
from leftout.linalg.bounds import certified_bound, exceeding, top_sum_bounds, top_sums
from leftout.linalg.losses import CENTERINGS, LOSSES, Loss
from leftout.linalg.moments import cell_moments
from leftout.linalg.passes import InMemory
from leftout.solvers import Alternating, SolverContext
from leftout.solvers.base import silent


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


def test_findings_to_the_formula(mixed):
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


def ceiling_of(table, sample, loss, V, mean, size):
    one = exceeding(table.n_rows, sample, loss, V, mean, size)
    return one.ceiling(table.run(one), size)


def posed_table(seed, m=3000, n=12, d=3, loss="excess"):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((m, n)) * np.linspace(2.0, 0.3, n) + rng.random(n)
    X[: m // 20] += 2.0 * rng.standard_normal((m // 20, 3)) @ rng.standard_normal((3, n))
    return X, build_problem(X, d, loss, "global", 1, None)


@settings(max_examples=25)
@given(st.integers(0, 10_000), st.integers(5, 1500), st.integers(50, 3000))
def test_no_group_exceeds_it_whatever_the_sample(seed, size, some):
    X, posed = posed_table(seed)
    V, mean = posed.problem.V, posed.table.mean
    sample = X[np.sort(np.random.default_rng(seed).choice(len(X), some, replace=False))]
    bound = ceiling_of(InMemory(X), sample, Loss.named("excess", "global"), V, mean, size)
    means = SolverContext(rng=np.random.default_rng(0), n_jobs=1, tell=silent)
    found = Alternating(n_starts=2).maximise(posed.resized(1, size).problem, means)
    losses, _ = posed.problem.losses(found.labels)
    assert bound >= (losses[1] - losses[0]) * (1 - 1e-12)


@pytest.mark.parametrize("size", [20, 150, 600])
@pytest.mark.parametrize("loss", ["excess", "projection_gap"])
def test_with_all_rows_for_a_sample_it_is_as_good_as_in_memory(size, loss):
    X, posed = posed_table(1, loss=loss)
    rule, V, mean = Loss.named(loss, "global"), posed.problem.V, posed.table.mean
    bound = ceiling_of(InMemory(X), X, rule, V, mean, size)
    assert bound <= 1.02 * certified_bound(posed.problem, size)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 9), st.data())
def test_no_cells_largest_eigenvalues_exceed_the_bound(seed, n, data):
    d = data.draw(st.integers(1, n))
    rng = np.random.default_rng(seed)
    scale = rng.gamma(0.5, 1.0, n)
    Z = rng.normal(size=(50, n)) @ (rng.normal(size=(n, n)) * scale)
    S = cell_moments(rng.integers(0, 4, 50), 4, Z)
    exact, most = top_sums(S, d), top_sum_bounds(S, d)
    assert (exact <= most + 1e-9 * (Z**2).sum()).all()
    for one, sum_ in zip(S, exact, strict=True):
        want = np.sort(np.linalg.eigvalsh(one))[n - d :].sum()
        assert sum_ == pytest.approx(want, abs=1e-12 * np.trace(one))


def test_a_bound_is_exact_where_axes_are_its_own():
    S = np.diag([5.0, 1.0, 3.0])[None]
    assert top_sum_bounds(S, 2)[0] == top_sums(S, 2)[0] == 8.0
    assert top_sum_bounds(S, 3)[0] == top_sums(S, 3)[0] == 9.0


@given(st.integers(0, 10_000), st.integers(1, 3))
def test_bounds_hold_for_every_group_of_a_weight(seed, d):
    """Also for the groups of the repeated rows, which may split a row's copies."""
    rng = np.random.default_rng(seed)
    X, weights = table(seed, 7), rng.integers(1, 3, 7)
    (again,) = naive.repeated(weights, X)
    total = len(again)
    for k in (2, 3):
        whole = build_problem(again, d, "excess", "global", 1, k).problem
        unit = weights / weights.mean()
        task = build_problem(X, d, "excess", "global", 1, None, weights=unit).problem
        size = k * 7 / total  # in rows of average weight
        bound = certified_bound(task, size)
        best = naive.best_of_all_partitions(again, d, 1, k)
        centred = again - again.mean(axis=0)
        rounding = tolerances.of_rows(centred, d) + 2e-12 * np.sum(centred**2, axis=1).max()
        assert best <= bound + rounding
        assert bound <= task.bound(size) + rounding
        assert task.bound(size) == pytest.approx(whole.bound(k), rel=1e-9, abs=rounding)
