"""Fair PCA's dual, against a semidefinite program and against itself."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import naive
import tolerances
from leftout.fair import dual
from leftout.fair.dual import solve_fair
from leftout.fair.objective import Objective, Seen, leading
from leftout.linalg.moments import build

TABLES = ("normal", "diagonal", "tied", "duplicated", "deficient")


def group(rng, kind, n):
    """One group's rows: of a kind that makes eigenvalues cross, tie or vanish."""
    m = int(rng.integers(n, 3 * n))
    if kind == "diagonal":
        return np.diag(rng.uniform(0.0, 2.0, n))
    if kind == "tied":
        return np.diag(rng.integers(0, 3, n).astype(float))
    if kind == "deficient":
        return rng.normal(size=(max(1, n // 2), n))
    X = rng.normal(size=(m, n)) @ (rng.normal(size=(n, n)) * rng.gamma(1.0, 1.0, n))
    if kind == "duplicated":
        X[:, n // 2 :] = X[:, : n - n // 2]
    return X / np.sqrt(np.mean(X**2))


def objective_of(seed, kind, k, largest=12):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(3, largest + 1))
    d = int(rng.integers(1, n))
    second = []
    for _ in range(k):
        X = group(rng, kind, n)
        second.append(X.T @ X / len(X))
    second = np.stack(second)
    return Objective(second, naive.own_best(second, d), d)


def moments_of(objective, counts=None):
    """Moments of groups with these averages."""
    k, n = objective.second.shape[:2]
    count = np.arange(1.0, k + 1.0) if counts is None else np.asarray(counts, float)
    empty = build(np.zeros((1, n)), n_groups=k)
    return empty._replace(count=count, second=count[:, None, None] * objective.second)


def solved(objective, tol=1e-9, **options):
    return solve_fair(moments_of(objective), objective.d, tol, **options)


def truly_bounded(objective, answer):
    """Whether the weights prove the bound that is reported."""
    values = np.linalg.eigvalsh(objective.mix(answer.weights))[::-1]
    rounding = tolerances.of_losses(objective.second, objective.d)
    return answer.bound <= objective.bound(answer.weights, values) + rounding


def orthonormal(V):
    return np.allclose(V @ V.T, np.eye(len(V)), atol=1e-12)


@pytest.mark.parametrize("kind", TABLES)
@pytest.mark.parametrize("seed", range(12))
def test_two_groups_reach_the_optimum_with_a_certificate(seed, kind):
    objective = objective_of(seed, kind, 2)
    found = solved(objective)
    assert found.answer.gap <= 1e-9 and truly_bounded(objective, found.answer)
    assert abs(found.losses[0] - found.losses[1]) <= 1e-10
    assert found.answer.V.shape == (objective.d, objective.second.shape[1])
    assert orthonormal(found.answer.V) and found.rank_d is None
    optimum = naive.fair_optimum(objective.second, objective.best, objective.d)
    assert found.losses.max() == pytest.approx(optimum, rel=1e-6, abs=1e-7)
    assert found.losses.max() <= optimum + 1e-6 * max(optimum, 0.1)


@pytest.mark.parametrize("kind", TABLES)
@pytest.mark.parametrize(("seed", "k"), [(s, k) for s in range(3) for k in (3, 4, 6)])
def test_more_groups_reach_the_optimum_within_the_rank_bound(seed, k, kind):
    objective = objective_of(100 + seed, kind, k, largest=9)
    found = solved(objective)
    assert found.answer.gap <= 1e-8 and truly_bounded(objective, found.answer)
    extra = int(np.floor(np.sqrt(2 * k + 0.25) - 1.5))
    assert objective.d <= len(found.answer.V) <= objective.d + extra
    assert orthonormal(found.answer.V)
    assert found.answer.occupation.sum() == pytest.approx(objective.d, abs=1e-9)
    if found.rank_d is None:
        assert len(found.answer.V) == objective.d
    else:
        assert found.rank_d.shape[0] == objective.d and orthonormal(found.rank_d)
        assert found.rank_d_losses.max() >= found.losses.max() - 1e-9
        np.testing.assert_allclose(objective.losses(found.rank_d), found.rank_d_losses, atol=1e-9)
    optimum = naive.fair_optimum(objective.second, objective.best, objective.d)
    assert found.losses.max() == pytest.approx(optimum, rel=1e-6, abs=1e-7)


@given(st.integers(0, 10_000), st.sampled_from(TABLES), st.integers(2, 4))
def test_no_projection_lowers_every_loss_below_standard_pcas(seed, kind, k):
    objective = objective_of(seed, kind, k)
    found = solved(objective)
    shares = moments_of(objective).count / moments_of(objective).count.sum()
    rng = np.random.default_rng(seed)
    tried = [found.answer.V[: objective.d], found.baseline]
    for _ in range(5):
        turn = np.linalg.qr(rng.normal(size=objective.second.shape[1:]))[0]
        tried.append(turn[:, : objective.d].T)
        tried.append(np.linalg.qr(found.baseline.T + 0.01 * turn[:, : objective.d])[0].T)
    slack = 1e-12 * objective.scale
    for V in tried:
        losses = objective.losses(V)
        assert shares @ losses >= shares @ found.baseline_losses - slack
        assert not (losses < found.baseline_losses - slack).all()
    assert found.losses.max() <= found.baseline_losses.max() + slack
    assert found.losses.min() >= -slack


@given(st.integers(0, 10_000), st.sampled_from(TABLES), st.integers(2, 5))
def test_no_weights_prove_more_and_no_projection_loses_less(seed, kind, k):
    objective = objective_of(seed, kind, k)
    found = solved(objective)
    rng = np.random.default_rng(seed)
    for w in rng.dirichlet(np.ones(k), 5):
        values = np.linalg.eigvalsh(objective.mix(w))[::-1]
        assert objective.bound(w, values) <= found.losses.max() + 1e-12 * objective.scale
    for _ in range(5):
        V = np.linalg.qr(rng.normal(size=objective.second.shape[1:]))[0][:, : objective.d].T
        assert objective.losses(V).max() >= found.answer.bound - 1e-12 * objective.scale


def test_the_slope_is_the_derivative_of_the_dual():
    objective = objective_of(5, "normal", 2)
    h = 1e-5

    def look(w):
        weights = np.array([w, 1.0 - w])
        seen = Seen(weights, leading(objective.mix(weights), objective.d))
        return dual._Point.of(objective, seen)

    left, here, right = (look(0.4 + step) for step in (-h, 0.0, h))
    assert here.slope == pytest.approx((right.value - left.value) / (2 * h), rel=1e-6)
    losses = objective.losses(here.V)
    assert here.slope == pytest.approx(losses[0] - losses[1], abs=1e-12)


@pytest.mark.parametrize("kind", TABLES)
def test_two_groups_are_two_of_many(kind):
    """The search over one weight, and the barrier over the simplex, end at the same losses."""
    for seed in range(20, 26):
        objective = objective_of(seed, kind, 2)
        seen = [
            Seen(w, leading(objective.mix(w), objective.second.shape[1]))
            for w in (*np.eye(2), np.full(2, 0.5))
        ]
        one, other = (
            solve(objective, seen, 1e-11) for solve in (dual.two_groups, dual.many_groups)
        )
        np.testing.assert_allclose(one.losses, other.losses, atol=1e-9 * objective.scale)
        assert one.V.shape == other.V.shape == (objective.d, objective.second.shape[1])


def test_the_way_between_two_subspaces_passes_equal_losses():
    objective = objective_of(3, "normal", 2)
    ends = [leading(S, objective.d).vectors[:, : objective.d].T for S in objective.second[::-1]]
    V = dual.between(objective, *ends)
    losses = objective.losses(V)
    assert orthonormal(V) and losses[0] == pytest.approx(losses[1], abs=1e-12)


def test_a_crossing_is_mixed_exactly():
    # one dimension of two, each the whole of one group: eigenvalues cross at equal weights
    second = np.stack([np.diag([1.0, 0.0]), np.diag([0.0, 1.0])])
    found = solved(Objective(second, np.ones(2), 1))
    rounding = tolerances.of_losses(second, 1)
    np.testing.assert_allclose(found.losses, [0.5, 0.5], atol=rounding)
    np.testing.assert_allclose(np.abs(found.answer.V), np.sqrt(0.5), atol=rounding)
    assert found.answer.gap <= rounding


@given(st.lists(st.floats(0, 10), min_size=2, max_size=12), st.integers(1, 11), st.integers(-8, 0))
def test_occupations_fill_what_they_should(values, d, digits):
    d = min(d, len(values) - 1)
    values = np.sort(values)[::-1]
    filled, free = dual.occupations(values, d, 10.0**digits)
    assert filled.sum() == pytest.approx(d, abs=1e-6)
    assert (filled > 0).all() and (free > 0).all()
    np.testing.assert_allclose(filled + free, 1.0, rtol=1e-12)
    assert (np.diff(filled) <= 1e-9).all()


def test_the_barriers_newton_step_uses_its_own_derivatives():
    objective = objective_of(8, "normal", 3)
    unit = objective._replace(second=objective.second / objective.scale)
    w, mu, h = np.array([0.2, 0.5, 0.3]), 0.01, 1e-5

    def value(x):
        return dual.look(unit, x, mu).value

    steps = h * np.eye(3)
    gradient = [(value(w + e) - value(w - e)) / (2 * h) for e in steps]
    state = dual.look(unit, w, mu)
    kept = unit.best - unit.losses(state.vectors.T, state.filled)
    np.testing.assert_allclose(gradient, kept - unit.best - mu / w, rtol=1e-5, atol=1e-7)
    after, decrement = dual._newton(unit, state)
    assert after.value < state.value
    assert state.value - after.value == pytest.approx(decrement / 2, rel=0.5)


@pytest.mark.parametrize(("k", "n", "d"), [(2, 420, 4), (2, 160, 5), (3, 160, 2), (4, 220, 3)])
def test_the_subspace_gives_what_all_features_give(k, n, d, monkeypatch):
    rng = np.random.default_rng(k * n)
    second = []
    for _ in range(k):
        X = rng.normal(size=(2 * n, n)) * rng.permutation(np.geomspace(3.0, 0.1, n))
        second.append(X.T @ X / len(X))
    second = np.stack(second)
    objective = Objective(second, naive.own_best(second, d), d)
    sizes = []
    name = "two_groups" if k == 2 else "many_groups"
    real = getattr(dual, name)

    def spy(problem, *rest):
        sizes.append(problem.second.shape[1])
        return real(problem, *rest)

    monkeypatch.setattr(dual, name, spy)
    inside = solved(objective)
    assert sizes and max(sizes) < n
    monkeypatch.setattr(dual, "_PART", 0.0)
    monkeypatch.setattr(dual, "_PART_OF_MANY", 0.0)
    everything = solved(objective)
    assert sizes[-1] == n
    assert inside.losses.max() == pytest.approx(everything.losses.max(), rel=1e-9)
    assert inside.answer.gap <= 1e-9 * inside.losses.max() + 1e-13 * objective.scale
    assert orthonormal(inside.answer.V) and truly_bounded(objective, inside.answer)


@pytest.mark.parametrize("seed", range(6))
def test_two_groups_give_the_same_in_a_subspace_and_in_all_features(seed, monkeypatch):
    rng = np.random.default_rng(seed)
    n, d = 90, 4 + seed
    second = []
    for _ in range(2):
        X = rng.normal(size=(2 * n, n)) * rng.permutation(np.geomspace(3.0, 0.1, n))
        second.append(X.T @ X / len(X))
    second = np.stack(second)
    objective = Objective(second, naive.own_best(second, d), d)
    direct = solved(objective)
    monkeypatch.setattr(dual, "_SMALL", 0)
    monkeypatch.setattr(dual, "_PART", 0.5)
    inside = solved(objective)
    # both are above the optimum, by no more than they say
    apart = max(inside.answer.gap, direct.answer.gap) + tolerances.of_losses(second, d)
    assert abs(inside.losses.max() - direct.losses.max()) <= apart
    for found in (inside, direct):
        assert abs(found.losses[0] - found.losses[1]) <= 1e-10 * found.losses.max()
        assert found.answer.gap <= 1e-9 * found.losses.max()
        assert orthonormal(found.answer.V) and truly_bounded(objective, found.answer)
