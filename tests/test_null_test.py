"""The same search in the table and in comparison tables, by the definitions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest
from scipy import stats

import naive
import tolerances
from leftout import MaxDisparityPartition, datasets, trust
from leftout.evidence.null_test import (
    NullTest,
    mean_rank_correlation,
    split_by_feature,
    winsorize,
)
from leftout.evidence.refit import SearchTask
from leftout.evidence.surrogates import SURROGATES
from leftout.explain import feature_losses
from leftout.groups.problem_setup import build_problem
from leftout.running import Steps
from leftout.solvers import Alternating, Sorting


@pytest.fixture(scope="module")
def planted():
    return datasets.make_planted(200, 6, 2, 20, random_state=0)


@pytest.fixture(scope="module")
def beside(planted):
    search = MaxDisparityPartition(2, solver=Alternating(n_starts=8), random_state=0)
    return NullTest(SearchTask.of(search, planted[0]), [20])


def compared(beside, kind="copula", asked=99, fixed=False, seed=1):
    table = beside.search_table(np.random.default_rng(0), Steps(1, None))
    rng, needs = np.random.default_rng(seed), [asked] if fixed else None
    (found,) = beside.compare(kind, table, asked, rng, Steps(1, None), needs)
    return table, found


@pytest.mark.parametrize("centering", ["global", "none"])
def test_a_split_is_the_definitions_and_sums_to_the_disparity(planted, centering):
    X, labels = planted[0] + 0.4, planted[1].astype(np.int8)
    (found,) = split_by_feature(build_problem(X, 2, "excess", centering, 20, None), labels, 2)
    rest, group = naive.feature_losses(X, labels, 2, centering=centering)
    within = tolerances.of_rows(naive.seen_by_pca(X, centering), 2)
    np.testing.assert_allclose(found, group - rest, rtol=0, atol=within)
    theirs = np.subtract(*feature_losses(X, labels, 2, centering=centering)[::-1])
    np.testing.assert_allclose(found, theirs, rtol=0, atol=within)
    want = naive.signed_disparity(X, labels, 2, centering=centering)
    assert found.sum() == pytest.approx(want, rel=0, abs=within)


@pytest.mark.parametrize(
    ("shape", "loss", "centering"),
    [((30, 50), "excess", "global"), ((60, 4), "projection_gap", "paper")],
)
def test_what_is_not_in_columns_is_not_split(shape, loss, centering):
    X = np.random.default_rng(0).standard_normal(shape)
    labels = (np.arange(len(X)) < 8).astype(np.int8)
    assert split_by_feature(build_problem(X, 2, loss, centering, 8, None), labels, 2) is None


def test_a_search_beside_is_one_at_the_groups_size(beside, planted):
    X, group = planted
    found = beside.search_table(np.random.default_rng(0), Steps(1, None))
    best = MaxDisparityPartition(2, group_size=20, random_state=0).fit(X)
    within = tolerances.of_rows(naive.seen_by_pca(X, "global"), 2)
    (disparity,) = found.disparities
    assert disparity <= best.disparity_ + within
    assert disparity == pytest.approx(naive.signed_disparity(X, best.labels_, 2), rel=0.02)
    assert found.by_feature.sum() == pytest.approx(disparity, rel=0, abs=within)
    spread = np.linalg.svd(X - X.mean(axis=0), compute_uv=False) ** 2
    assert found.residual == pytest.approx(spread[2:].sum() / spread.sum())
    assert found.rank_correlation == mean_rank_correlation(X)


def test_rank_correlation_is_spearmans(mixed):
    R = np.abs(stats.spearmanr(mixed).statistic)
    pairs = [R[i, j] for i in range(7) for j in range(i)]
    assert mean_rank_correlation(mixed) == pytest.approx(np.mean(pairs))
    assert mean_rank_correlation(mixed[:, :1]) == 0.0


@pytest.mark.parametrize("kind", SURROGATES)
def test_compared_with_tables_of_a_kind(beside, planted, kind):
    table, found = compared(beside, kind, asked=12, fixed=True)
    laws, rngs = beside.task.surrogates.law(kind), np.random.default_rng(1).spawn(12)
    drawn = [laws.draw(rng) for rng in rngs]
    assert found.surrogates == 12
    above = sum(value >= table.disparities[0] for value in found.disparities)
    assert found.p_value == (1 + above) / 13
    ranks = np.mean([mean_rank_correlation(X) for X in drawn[:9]])
    assert found.ranks_miss == pytest.approx(mean_rank_correlation(planted[0]) - ranks)
    shares = [np.linalg.svd(X - X.mean(axis=0), compute_uv=False) ** 2 for X in drawn]
    left = np.mean([s[2:].sum() / s.sum() for s in shares])
    assert found.residual == pytest.approx(left / table.residual)
    assert found.by_feature.sum() == pytest.approx(found.mean)


def test_no_more_tables_than_needed(beside):
    _, clear = compared(beside)
    assert clear.surrogates == 19 and clear.p_value == 0.05
    _, fixed = compared(beside, asked=25, fixed=True)
    assert fixed.surrogates == 25
    assert np.array_equal(fixed.disparities[:19], clear.disparities)  # the same tables
    _, few = compared(beside, asked=5)
    assert few.surrogates == 5 and few.p_value == 1 / 6


def test_noise_needs_few_tables():
    X = np.random.default_rng(0).standard_normal((150, 6))
    search = MaxDisparityPartition(2, solver=Alternating(n_starts=8), random_state=0)
    _, found = compared(NullTest(SearchTask.of(search, X), [20]))
    assert 9 <= found.surrogates < 99 and found.p_value > 0.05


def test_tails_are_winsorised(mixed):
    drawn = winsorize(mixed)
    for j, column in enumerate(mixed.T):
        if len(set(column.tolist())) > 20:
            low, high = np.quantile(column, [0.02, 0.98])
            want = [min(max(value, low), high) for value in column]
        else:
            want = column.tolist()
        assert drawn[:, j].tolist() == want
    changed = np.any(drawn != mixed, axis=0)
    assert not changed[3] and changed[0] and changed[1]  # 3 is a yes or no


@dataclass
class Recorder:
    """A solver that notes what it is asked."""

    asked: ClassVar[list] = []

    def profile(self, problem, sizes, means):
        self.asked.append((problem.X.shape, problem.d, tuple(sizes)))
        return Alternating(n_starts=2).profile(problem, sizes, means)

    def maximise(self, problem, means):
        return Alternating(n_starts=2).maximise(problem, means)


def test_table_and_surrogates_get_the_same_search(planted):
    search = MaxDisparityPartition(0.7, group_size=20, solver=Recorder(), random_state=0)
    trust(search, planted[0], n_surrogates=4, n_restarts=0, splits=0, parts=0)
    # the table, and two kinds of surrogates
    assert len(Recorder.asked) == 1 + 4 + 4 and len(set(Recorder.asked)) == 1


def test_solvers_without_a_search_over_sizes(planted):
    solver = Sorting(split="matched")
    search = MaxDisparityPartition(2, group_size=20, solver=solver, random_state=0)
    found = trust(search, planted[0], n_surrogates=3, n_restarts=0, splits=0)
    assert found.searched == pytest.approx(found.disparity, rel=1e-12)


def test_a_size_that_has_no_components_of_its_own(planted):
    rule = {"loss": "projection_gap", "centering": "paper"}
    search = MaxDisparityPartition(3, group_size=3, **rule, solver=Alternating(n_starts=2))
    with pytest.raises(ValueError, match="which needs at least 4 rows"):
        trust(search, planted[0], n_surrogates=2)
