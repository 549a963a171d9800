"""Tables of hundreds of features take short cuts, and get the same numbers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import naive
from leftout import MaxDisparityPartition
from leftout.explain.explanation import _rank
from leftout.groups.problem_setup import build_problem
from leftout.linalg import bounds
from leftout.linalg.losses import CENTERINGS, WIDE
from leftout.solvers import Alternating, SolverContext
from paper.scores import feature_scores

D, SIZE = 4, 60


def table(m, n):
    """A falling spectrum, and a quarter of the rows with directions of their own."""
    rng = np.random.default_rng(5)
    X = rng.standard_normal((m, n)) / np.arange(1, n + 1)
    X[: m // 4] += rng.standard_normal((m // 4, 3)) @ rng.standard_normal((3, n)) / np.sqrt(n)
    return X + rng.random(n)


@pytest.fixture(scope="module", params=[(260, 330), (330, 240)], ids=["more columns", "more rows"])
def X(request):
    return table(*request.param)


@pytest.fixture
def labels(X):
    return (np.random.default_rng(2).permutation(len(X)) < SIZE).astype(np.int8)


def posed_on(X, centering="global"):
    return build_problem(X, D, "excess", centering, 20, None)


@pytest.mark.parametrize("centering", ["global", "none"])
def test_losses_in_principal_axes_are_the_definitions(X, labels, centering):
    posed = posed_on(X, centering)
    losses, own = posed.problem.losses(labels)
    np.testing.assert_allclose(losses, naive.group_losses(X, labels, D, "excess", centering))
    np.testing.assert_allclose(losses, posed.problem.losses_of(posed.problem.split(labels))[0])
    np.testing.assert_allclose(losses, posed.problem.losses(labels, own)[0])
    V, want = posed.table.in_columns(posed.problem.V), naive.shared_basis(X, D, centering)
    np.testing.assert_allclose(V.T @ V, want @ want.T, atol=1e-10)


def test_leading_axes_hold_nearly_all(X):
    problem = posed_on(X).problem
    narrow = problem.narrow()
    assert D < narrow.X.shape[1] < problem.X.shape[1] and narrow.narrow() is narrow
    left = [np.sum(p.norms_and_kept[0] - p.norms_and_kept[1]) for p in (narrow, problem)]
    assert 0.8 * left[1] <= left[0] < left[1]
    few = posed_on(X[:, :WIDE]).problem
    assert few.leading is None and few.narrow() is few


def test_a_search_of_leading_axes_ends_in_all_of_them(X):
    found = MaxDisparityPartition(D, group_size=SIZE, random_state=0).fit(X)
    assert found.disparity_ == pytest.approx(naive.signed_disparity(X, found.labels_, D), rel=1e-9)
    problem = replace(posed_on(X).problem, group_size=SIZE)
    everywhere = replace(problem, leading=None)
    result = Alternating().maximise(everywhere, SolverContext(rng=np.random.default_rng(0)))
    rest, group = everywhere.losses(result.labels)[0]
    assert found.disparity_ >= 0.999 * (group - rest)
    assert found.disparity_ <= found.bound_
    (again,) = Alternating().profile(problem, [SIZE], SolverContext(rng=np.random.default_rng(0)))
    own = naive.components(problem.X[again.labels == 1], D, about_mean=False).T
    np.testing.assert_allclose(again.own[1].T @ again.own[1], own.T @ own, atol=1e-8)


def test_bound_by_either_product(X, monkeypatch):
    problem = posed_on(X).problem
    ceiling = bounds.Ceiling(
        X=problem.rows(problem.by_reach[:200]),
        r=problem.reach[problem.by_reach],
        size=SIZE,
        d=D,
    )
    T, cap = np.eye(problem.X.shape[1]), float(ceiling.r[100])
    by_rows = ceiling.value(cap, T)
    monkeypatch.setattr(bounds, "WIDE", X.size)
    assert by_rows == pytest.approx(ceiling.value(cap, T), rel=1e-12)


@pytest.mark.parametrize("centering", CENTERINGS)
def test_feature_scores(X, labels, centering):
    scores = feature_scores(X, np.stack([labels, 1 - labels]), D, centering=centering)
    seen, own = naive.seen_by_pca(X, centering), centering == "paper"
    want = [naive.feature_scores(seen[labels == side], D, own) for side in (0, 1)]
    np.testing.assert_allclose(scores.total, naive.feature_scores(seen, D, own), atol=1e-9)
    np.testing.assert_allclose(scores.left_out, np.mean(want, axis=0), atol=1e-9)
    np.testing.assert_allclose(scores.difference, np.abs(want[1] - want[0]), atol=1e-9)


def test_dimensions_that_a_wide_table_varies_in():
    rng = np.random.default_rng(0)
    X = 1.0 + rng.standard_normal((90, 7)) @ rng.standard_normal((7, WIDE + 50))
    assert (_rank(X, "global"), _rank(X, "none"), _rank(X, "paper")) == (7, 8, 7)
