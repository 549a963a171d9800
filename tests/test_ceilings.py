"""The bound of rows that are elsewhere: never below what a group of that size loses."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leftout.groups.problem_setup import build_problem
from leftout.linalg.bounds import certified_bound
from leftout.linalg.losses import Loss
from leftout.linalg.passes import InMemory
from leftout.linalg.streaming_bound import exceeding
from leftout.solvers import Alternating, SolverContext
from leftout.solvers.base import silent


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
