"""Profiles, chance and the evidence size."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import naive
from leftout import MaxDisparityPartition, chance, datasets
from leftout.evidence.chance import Profile, profile
from leftout.evidence.null_test import Chance, NullDiagnostics, NullTest, SearchOutcome
from leftout.groups.problem_setup import build_problem
from leftout.linalg.assignment import Partition
from leftout.linalg.significance import overall_p_value, p_value
from leftout.solvers import Alternating, SolverContext, Sorting, alternating


@pytest.fixture(scope="module")
def planted():
    return datasets.make_planted(300, 8, 2, 60, random_state=0)


@pytest.fixture(scope="module")
def found(planted):
    search = MaxDisparityPartition(2, random_state=0)
    return profile(search, planted[0], sizes=6, n_surrogates=19)


@given(st.lists(st.integers(0, 4), min_size=1, max_size=8), st.integers(0, 4))
def test_p_value_counts(values, value):
    want = (1 + sum(v >= value for v in values)) / (1 + len(values))
    assert p_value(value, np.array(values)) == want


@given(st.integers(0, 10_000), st.integers(2, 10), st.integers(1, 5))
def test_overall_p_value_from_its_definition(seed, curves, sizes):
    D = np.random.default_rng(seed).random((curves, sizes))
    highest = [
        max((D[b, k] - np.mean(D[:, k])) / np.std(D[:, k]) for k in range(sizes))
        for b in range(curves)
    ]
    want = (1 + sum(h >= highest[0] - 1e-9 for h in highest[1:])) / curves
    assert overall_p_value(D) == pytest.approx(want)


def test_overall_p_value_is_uniform_for_curves_of_one_law():
    rng = np.random.default_rng(0)
    p = [overall_p_value(np.cumsum(rng.standard_normal((20, 6)), axis=1)) for _ in range(2000)]
    counts = np.bincount(np.rint(20 * np.array(p)).astype(int), minlength=21)[1:]
    assert np.all(np.abs(counts - 100) < 45)  # 20 equally likely values, 4.6 standard deviations


def test_profile_of_a_planted_group(found, planted):
    X, labels = planted
    assert found.sizes.tolist() == [40, 52, 68, 88, 115, 150]
    assert np.all(found.disparities <= found.bounds) and np.all(np.diff(found.disparities) < 0)
    assert found.n_components == 2 and found.n_rows == 300
    for kind in ("copula", "gaussian"):
        at = found.chance[kind]
        assert at.curves.shape == (19, 6) and at.p_value == 0.05
        assert np.all(at.low <= at.mean) and np.all(at.mean <= at.high)
        for i, size in enumerate(found.sizes):
            assert at.p_values[i] == p_value(found.disparities[i], at.curves[:, i]), size
        assert at.miss <= 0.03
    assert found.main is found.chance["copula"]
    assert 40 <= found.evidence_size <= 68
    group = MaxDisparityPartition(2, group_size=found.evidence_size, random_state=0).fit(X).labels_
    assert labels[group == 1].mean() > 0.9


def test_evidence_is_total_loss_beyond_chance(found):
    beyond = found.sizes * (found.disparities - found.main.mean)
    assert found.evidence.tolist() == beyond.tolist()
    first, last = found.evidence_range
    near = [k for k, b in zip(found.sizes, beyond, strict=True) if b >= 0.9 * beyond.max()]
    assert (first, last) == (near[0], near[-1])
    # the smallest size within one standard error, found between the grid's sizes
    peak = int(np.argmax(beyond))
    enough = beyond[peak] - found.sizes[peak] * found.main.curves[:, peak].std()
    first = next(i for i in range(6) if beyond[i] >= enough)
    assert found.sizes[max(first - 1, 0)] <= found.evidence_size <= found.sizes[first]


@pytest.mark.parametrize("spread", [0.0, 0.05, 0.25])
def test_evidence_weighs_loss_by_rows(monkeypatch, spread):
    """Disparity beyond chance is largest for few rows, the total at 45 of them.

    The size is the smallest whose total is within one standard error of that.
    """

    def beyond(k):
        return 1.0 / (1.0 + (np.asarray(k) / 45.0) ** 2)  # k times this peaks at 45

    sizes = np.array([10, 20, 40, 60, 80])
    flat = Chance(
        kind="copula",
        sizes=sizes,
        curves=1.0 + spread * np.array([[-1.0], [1.0]]) * np.ones(5),
        p_values=np.ones(5),
        p_value=1,
        miss=0,
        residual=1,
    )
    found = Profile(
        sizes=sizes,
        disparities=1.0 + beyond(sizes),
        bounds=np.full(5, 9.0),
        chance={"copula": flat},
        evidence_size=None,
        n_rows=200,
        n_components=2,
    )
    monkeypatch.setattr(chance, "disparities_at", lambda solver, problem, k, rng: 1.0 + beyond(k))
    total = sizes * beyond(sizes)
    enough = total.max() - sizes[total.argmax()] * spread
    want = next(k for k in range(10, 81) if k * beyond(k) >= enough)
    # to the next of nine sizes between two of the grid
    assert want <= chance._evidence_size(None, None, found, None) <= 1.1 * want
    # a better group on the second look may move the peak
    monkeypatch.setattr(
        chance, "disparities_at", lambda solver, problem, k, rng: 1.0 + beyond(k) + (k > 79)
    )
    assert chance._evidence_size(None, None, found, None) == 80


def test_a_size_takes_what_its_neighbour_offers(planted):
    X, labels = planted
    problem = build_problem(X, 2, "excess", "global", 20, None).problem
    own = problem.losses(labels.astype(np.int8))[1]
    rng = np.random.default_rng(0)
    poor = np.zeros(300, dtype=np.int8)
    poor[rng.choice(300, 50, replace=False)] = 1
    found = Partition.of(problem, poor)
    means = SolverContext(rng=rng)
    better = alternating.offered(problem, found, own, means)
    assert better.size == 50 and better.value > 2 * found.value
    assert alternating.offered(problem, better, found.own, means).value >= better.value


def test_jobs_and_repeats_change_nothing(planted):
    X = planted[0]
    results = [
        profile(MaxDisparityPartition(2, random_state=5, n_jobs=jobs), X, sizes=3, n_surrogates=4)
        for jobs in (None, 2, 1)
    ]
    for other in results[1:]:
        assert np.array_equal(results[0].disparities, other.disparities)
        for kind in results[0].chance:
            assert np.array_equal(results[0].chance[kind].curves, other.chance[kind].curves)


def test_shared_work_loses_nothing_on_tiny_tables():
    hits = total = 0
    for seed in range(6):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((10, 4)) @ rng.standard_normal((4, 4))
        problem = build_problem(X, 2, "excess", "global", 2, None).problem
        sizes = [2, 3, 4, 5]
        results = Alternating().profile(problem, sizes, SolverContext(rng=rng))
        for size, result in zip(sizes, results, strict=True):
            value = naive.signed_disparity(X, result.labels, 2)
            best = naive.best_of_all_partitions(X, 2, 2, size)
            assert result.labels.sum() == size and value <= best * (1 + 1e-9)
            hits += value >= best * (1 - 1e-9)
            total += 1
    assert hits >= 0.9 * total


@pytest.mark.parametrize(
    ("loss", "centering"),
    [("excess", "global"), ("projection_gap", "global"), ("projection_gap", "paper")],
)
def test_profile_under_every_loss(planted, loss, centering):
    search = MaxDisparityPartition(
        2, loss=loss, centering=centering, solver=Alternating(n_starts=20), random_state=0
    )
    result = profile(search, planted[0] + 0.5, sizes=3, n_surrogates=3, kinds=["gaussian"])
    assert np.all(result.disparities <= result.bounds)
    assert result.main.kind == "gaussian" and result.evidence_size in range(40, 151)


@dataclass
class Recorder:
    """A solver that notes what it is asked."""

    asked: list = field(default_factory=list)

    def profile(self, problem, sizes, means):
        self.asked.append((problem.X.shape, problem.d, tuple(sizes)))
        return Alternating(n_starts=2).profile(problem, sizes, means)

    def maximise(self, problem, means):
        raise AssertionError


def test_table_and_surrogates_get_the_same_search(planted):
    solver = Recorder()
    profile(
        MaxDisparityPartition(0.7, solver=solver, random_state=0),
        planted[0],
        sizes=3,
        n_surrogates=4,
    )
    assert len(solver.asked) == 1 + 4 + 4 + 2  # table, two kinds, the evidence size
    assert len(set(solver.asked[:-1])) == 1


def test_solvers_without_a_profile(planted):
    search = MaxDisparityPartition(2, solver=Sorting(split="matched"), random_state=0)
    result = profile(search, planted[0], sizes=[50, 60], n_surrogates=3, kinds=["copula"])
    for size, value in zip(result.sizes, result.disparities, strict=True):
        one = search.set_params(group_size=int(size)).fit(planted[0])
        assert value == pytest.approx(one.disparity_, rel=1e-12)
    with pytest.raises(ValueError, match="chooses the size itself"):
        profile(MaxDisparityPartition(2, solver="greedy"), planted[0], sizes=3, n_surrogates=0)


def test_without_chance_there_is_no_evidence_size(planted):
    result = profile(MaxDisparityPartition(2, random_state=0), planted[0], sizes=3, n_surrogates=0)
    assert result.chance == {} and result.main is None and result.evidence_size is None
    assert result.evidence is None and result.evidence_range is None


def test_one_size(planted):
    search = MaxDisparityPartition(2, solver=Alternating(n_starts=2), random_state=0)
    assert profile(search, planted[0], sizes=[33], n_surrogates=2).evidence_size == 33


def test_sizes_that_have_no_components_of_their_own(planted):
    rule = {"loss": "projection_gap", "centering": "paper"}
    search = MaxDisparityPartition(3, **rule, solver=Alternating(n_starts=2))
    with pytest.raises(ValueError, match="which needs at least 4 rows"):
        profile(search, planted[0], sizes=[3, 50], n_surrogates=2)


def test_kinds_by_name_and_once(planted):
    search = MaxDisparityPartition(2, solver=Alternating(n_starts=2), random_state=0)
    one = profile(search, planted[0], sizes=2, n_surrogates=2, kinds="copula")
    twice = profile(search, planted[0], sizes=2, n_surrogates=2, kinds=["copula", "copula"])
    assert list(one.chance) == list(twice.chance) == ["copula"]
    assert np.array_equal(one.main.curves, twice.main.curves)


def test_wide_tables():
    X = np.random.default_rng(0).standard_normal((40, 60))
    search = MaxDisparityPartition(5, min_group_size=8, solver=Alternating(n_starts=4))
    result = profile(search, X, sizes=3, n_surrogates=3)
    assert np.isfinite(result.disparities).all() and result.sizes.tolist() == [8, 13, 20]


def test_progress_counts_every_step(planted):
    told = []
    chance.profile(
        MaxDisparityPartition(2, solver=Alternating(n_starts=2), random_state=0),
        planted[0],
        sizes=3,
        n_surrogates=3,
        progress=lambda *step: told.append(step),
    )
    assert [done for _, done, _ in told] == sorted(done for _, done, _ in told)
    assert {total for *_, total in told} == {8} and told[-1][1] == 8
    assert {what for what, *_ in told} >= {
        "the table",
        "tables with the same values",
        "evidence size",
    }


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"n_surrogates": -1}, "n_surrogates=-1 is not a whole number"),
        ({"kinds": ["coupla"]}, "Did you mean 'copula'"),
        ({"sizes": 0}, "not a number of sizes"),
        ({"sizes": [0, 10]}, "Choose sizes from 1 to 299"),
        ({"sizes": [10, 300]}, "Choose sizes from 1 to 299"),
        ({"sizes": [0.5]}, "neither a number of sizes"),
    ],
)
def test_bad_options_get_one_sentence(planted, options, text):
    with pytest.raises(ValueError, match=text):
        profile(MaxDisparityPartition(2), planted[0], **options)


def test_chance_tables_are_measured_against_the_table(monkeypatch):
    """What they leave over what is left of the table; the largest miss of a correlation."""
    X, _ = datasets.make_planted(120, 5, 2, 30, random_state=0)
    left = iter([0.2, 0.6])
    close = NullDiagnostics(None, np.eye(5), 0.0, np.empty(0))
    monkeypatch.setattr(
        NullTest, "_drawn", lambda *_: SearchOutcome(np.zeros(2), next(left), close)
    )
    found = profile(
        MaxDisparityPartition(2, random_state=0), X, sizes=2, n_surrogates=2, kinds="copula"
    )
    spread = np.linalg.svd(X - X.mean(axis=0), compute_uv=False) ** 2
    assert found.main.residual == pytest.approx(0.4 * spread.sum() / spread[2:].sum())
    assert found.main.miss == pytest.approx(np.abs(np.corrcoef(X.T) - np.eye(5)).max())
    assert found.main.p_value == found.main.p_values[0] == 1 / 3
