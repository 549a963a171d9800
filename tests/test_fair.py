"""Fair PCA's mathematics, against a semidefinite program and against itself."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import naive
import tolerances
from leftout.fair import faces, many, pair, solve, solve_fair, subspace
from leftout.fair import objective as objectives
from leftout.fair.objective import Objective, leading
from leftout.linalg.losses import Loss
from leftout.linalg.moments import build

EXCESS = Loss.named("excess", "none")
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
    return solve_fair(EXCESS, moments_of(objective), objective.d, tol, **options)


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


def test_the_slope_and_the_curve_are_derivatives():
    objective = objective_of(5, "normal", 2)
    h = 1e-5
    left, here, right = (pair.look(objective, 0.4 + step) for step in (-h, 0.0, h))
    assert here.slope == pytest.approx((right.value - left.value) / (2 * h), rel=1e-6)
    assert here.curve == pytest.approx((right.slope - left.slope) / (2 * h), rel=1e-6)
    losses = objective.losses(here.V)
    assert here.slope == pytest.approx(losses[0] - losses[1], abs=1e-12)


def test_the_way_between_two_subspaces_passes_equal_losses():
    objective = objective_of(3, "normal", 2)
    ends = [pair.look(objective, w).V for w in (0.0, 1.0)]
    V = pair.between(objective, *ends)
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
    filled, free = many.occupations(values, d, 10.0**digits)
    assert filled.sum() == pytest.approx(d, abs=1e-6)
    assert (filled > 0).all() and (free > 0).all()
    np.testing.assert_allclose(filled + free, 1.0, rtol=1e-12)
    assert (np.diff(filled) <= 1e-9).all()


def test_the_barriers_newton_step_uses_its_own_derivatives():
    objective = objective_of(8, "normal", 3)
    unit = objective._replace(second=objective.second / objective.scale)
    w, mu, h = np.array([0.2, 0.5, 0.3]), 0.01, 1e-5

    def value(x):
        return many.look(unit, x, mu).value

    steps = h * np.eye(3)
    gradient = [(value(w + e) - value(w - e)) / (2 * h) for e in steps]
    state = many.look(unit, w, mu)
    kept = unit.kept(state.vectors.T, state.filled)
    np.testing.assert_allclose(gradient, kept - unit.best - mu / w, rtol=1e-5, atol=1e-7)
    after, decrement = many._newton(unit, state)
    assert after.value < state.value
    assert state.value - after.value == pytest.approx(decrement / 2, rel=0.5)


@given(st.integers(0, 10_000), st.integers(1, 6), st.integers(2, 9))
def test_extreme_points_keep_the_losses_and_few_fractions(seed, k, t):
    rng = np.random.default_rng(seed)
    second = np.stack([(lambda A: A @ A.T)(rng.normal(size=(t, t))) for _ in range(k)])
    turn = np.linalg.qr(rng.normal(size=(t, t)))[0]
    shares = rng.uniform(0.05, 0.95, t)
    shares *= min(1.0, (t - 0.01) / shares.sum())
    G = (turn * shares) @ turn.T
    found, vectors = faces.extreme(second, G)
    after = (vectors * found) @ vectors.T
    assert np.trace(after) == pytest.approx(np.trace(G), abs=1e-8)
    change = np.einsum("gij,ij->g", second, after - G)
    np.testing.assert_allclose(change, change[0], atol=1e-6)
    assert change[0] >= -1e-6
    fractions = np.sum((found > 0.0) & (found < 1.0))
    assert fractions * (fractions + 1) // 2 <= k
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(len(found)), atol=1e-9)


@pytest.mark.parametrize(("n", "count"), [(5, 2), (150, 3), (150, 40), (450, 4)])
def test_leading_eigenpairs_are_the_leading_ones(n, count):
    rng = np.random.default_rng(n)
    X = rng.normal(size=(2 * n, n)) * np.linspace(2.0, 0.1, n)
    values, vectors = leading(X.T @ X, count)
    expected = np.linalg.eigvalsh(X.T @ X)[::-1]
    np.testing.assert_allclose(values[:count], expected[:count], rtol=1e-10)
    V = vectors[:, :count]
    np.testing.assert_allclose(X.T @ (X @ V), V * values[:count], atol=1e-8 * expected[0])


def test_an_eigenvector_that_lanczos_misses_is_missed_by_nobody(monkeypatch):
    X = np.random.default_rng(1).normal(size=(900, 450)) * np.linspace(2.0, 0.1, 450)
    second = X.T @ X
    real = objectives.eigsh

    def forgetful(matrix, k, **options):
        values, vectors = real(matrix, k=k + 1, **options)
        keep = np.argsort(-values)[[0, 1, *range(3, k + 1)]]
        return values[keep], vectors[:, keep]

    monkeypatch.setattr(objectives, "eigsh", forgetful)
    assert objectives._lanczos(second, 5) is None
    np.testing.assert_allclose(
        leading(second, 5).values[:5], np.linalg.eigvalsh(second)[::-1][:5], rtol=1e-10
    )


@pytest.mark.parametrize(("k", "n", "d"), [(2, 420, 4), (2, 160, 5), (3, 160, 2), (4, 220, 3)])
def test_the_subspace_gives_what_all_features_give(k, n, d, monkeypatch):
    rng = np.random.default_rng(k * n)
    second = []
    for _ in range(k):
        X = rng.normal(size=(2 * n, n)) * rng.permutation(np.geomspace(3.0, 0.1, n))
        second.append(X.T @ X / len(X))
    second = np.stack(second)
    objective = Objective(second, naive.own_best(second, d), d)
    whole = []
    real = subspace._inside

    def spy(*args, **options):
        whole.append(len(args) < 4)
        return real(*args, **options)

    monkeypatch.setattr(subspace, "_inside", spy)
    inside = solved(objective)
    assert whole and not any(whole)
    monkeypatch.setattr(subspace, "_PART", 0.0)
    monkeypatch.setattr(subspace, "_PART_OF_MANY", 0.0)
    everything = solved(objective)
    assert whole[-1]
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
    monkeypatch.setattr(subspace, "_SMALL", 0)
    monkeypatch.setattr(subspace, "_PART", 0.5)
    inside = solved(objective)
    # both are above the optimum, by no more than they say
    apart = max(inside.answer.gap, direct.answer.gap) + tolerances.of_losses(second, d)
    assert abs(inside.losses.max() - direct.losses.max()) <= apart
    for found in (inside, direct):
        assert abs(found.losses[0] - found.losses[1]) <= 1e-10 * found.losses.max()
        assert found.answer.gap <= 1e-9 * found.losses.max()
        assert orthonormal(found.answer.V) and truly_bounded(objective, found.answer)


@pytest.mark.parametrize("power", [1, 3, 9])
@pytest.mark.parametrize("place", [1e-12, 0.3, 0.999])
def test_roots_are_found_wherever_they_are(power, place):
    def function(x):
        return np.sign(x - place) * abs(x - place) ** power

    assert objectives.root(function, 0.0, 1.0) == pytest.approx(place, rel=1e-9)
    assert objectives.root(lambda x: -function(x), 0.0, 1.0) == pytest.approx(place, rel=1e-9)
    with pytest.raises(ValueError, match="one sign"):
        objectives.root(lambda x: 1.0, 0.0, 1.0)


def test_rounding_improves_on_cutting_off():
    found = [
        (objective, solved(objective))
        for objective in (objective_of(seed, "normal", 6, largest=8) for seed in range(300, 330))
    ]
    rounds = [(o, f) for o, f in found if f.rank_d is not None]
    assert rounds  # some need more dimensions than asked
    for objective, mended in rounds:
        cut = mended.answer.V[np.argsort(-mended.answer.occupation)[: objective.d]]
        assert mended.rank_d_losses.max() <= objective.losses(cut).max() + 1e-12
    starts = [
        min(
            o.losses(f.answer.V[np.argsort(-f.answer.occupation)[: o.d]]).max(),
            o.losses(np.linalg.eigh(o.mix(f.answer.weights))[1][:, -o.d :].T).max(),
        )
        for o, f in rounds
    ]
    gained = [start - f.rank_d_losses.max() for start, (_, f) in zip(starts, rounds, strict=True)]
    assert min(gained) >= -1e-12 and np.mean(np.array(gained) > 1e-3) > 0.5


def test_rounding_turns_a_few_of_many_directions():
    objective = objective_of(1, "normal", 4)
    n = 30
    rng = np.random.default_rng(2)
    second = np.stack(
        [np.cov(rng.normal(size=(n, 60)) * rng.gamma(1, 1, (n, 1))) for _ in range(6)]
    )
    objective = Objective(second, naive.own_best(second, 20), 20)
    answer = many.solve(objective, np.full(6, 1 / 6), 1e-9)
    V, losses = solve.rounded(objective, answer)
    assert V.shape == (20, n) and orthonormal(V)
    assert answer.bound - 1e-9 <= losses.max() <= objective.losses(answer.V[:20]).max() + 1e-12
