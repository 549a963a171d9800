"""From a nearly best representation to an exact one, and to exactly ``d`` dimensions."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import naive
from leftout.fair import rounding
from leftout.fair.dual import many_groups, rounded
from leftout.fair.objective import Objective, Seen, leading
from test_dual import objective_of, orthonormal, solved


@given(st.integers(0, 10_000), st.integers(1, 6), st.integers(2, 9))
def test_extreme_points_keep_the_losses_and_few_fractions(seed, k, t):
    rng = np.random.default_rng(seed)
    second = np.stack([(lambda A: A @ A.T)(rng.normal(size=(t, t))) for _ in range(k)])
    turn = np.linalg.qr(rng.normal(size=(t, t)))[0]
    shares = rng.uniform(0.05, 0.95, t)
    shares *= min(1.0, (t - 0.01) / shares.sum())
    G = (turn * shares) @ turn.T
    found, vectors = rounding.extreme(second, G)
    after = (vectors * found) @ vectors.T
    assert np.trace(after) == pytest.approx(np.trace(G), abs=1e-8)
    change = np.einsum("gij,ij->g", second, after - G)
    np.testing.assert_allclose(change, change[0], atol=1e-6)
    assert change[0] >= -1e-6
    fractions = np.sum((found > 0.0) & (found < 1.0))
    assert fractions * (fractions + 1) // 2 <= k
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(len(found)), atol=1e-9)


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
    n = 30
    rng = np.random.default_rng(2)
    second = np.stack(
        [np.cov(rng.normal(size=(n, 60)) * rng.gamma(1, 1, (n, 1))) for _ in range(6)]
    )
    objective = Objective(second, naive.own_best(second, 20), 20)
    even = np.full(6, 1 / 6)
    answer = many_groups(objective, [Seen(even, leading(objective.mix(even), n))], 1e-9)
    V, losses = rounded(objective, answer)
    assert V.shape == (20, n) and orthonormal(V)
    assert answer.bound - 1e-9 <= losses.max() <= objective.losses(answer.V[:20]).max() + 1e-12
