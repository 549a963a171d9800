"""Every solver on every loss and centring; the fast ones answer to the slow."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from sklearn.base import clone

import naive
import tolerances
from leftout import MaxDisparityPartition, datasets
from leftout.groups.problem_setup import build_problem
from leftout.linalg.assignment import Partition
from leftout.linalg.losses import CENTERINGS, LOSSES, Loss, shared_pca, summarise
from leftout.linalg.problem import MARGIN, Problem
from leftout.linalg.rank_one import (
    JOINS,
    LEAVES,
    loss_after,
    sides_after,
    track,
    transfer,
)
from leftout.solvers import (
    Alternating,
    Annealing,
    Greedy,
    SolverContext,
    Sorting,
    alternating,
    local_ascent,
)
from leftout.solvers.alternating import ascend
from leftout.solvers.local_ascent import climb, kth_largest, lay_out, orthonormalise
from leftout.solvers.paper import _most_after, seed_size

COMBINATIONS = [each for each in product(LOSSES, CENTERINGS) if each != ("excess", "paper")]
FREE = [
    Alternating(n_starts=20),
    Greedy(),
    Annealing(max_steps=300),
    Sorting(),
    Sorting(split="best"),
]
FIXED = [Alternating(n_starts=20), Sorting(split="matched")]


def problem(M, d, min_size, *, size=None, loss="excess", centering="global"):
    rule = Loss.named(loss, centering)
    moments = summarise(M, centering).moments
    V = shared_pca(rule, moments, d).components
    return Problem(X=M, loss=rule, V=V, pooled=moments, min_size=min_size, group_size=size)


def run(solver, task, seed=0, n_jobs=None):
    return solver.maximise(task, SolverContext(rng=np.random.default_rng(seed), n_jobs=n_jobs))


def moves_of(result):
    """(epoch, row) of every accepted move, in order."""
    steps = zip(result.sweeps[:-1], result.sweeps[1:], strict=True)
    return [(e, int(i)) for e, (a, b) in enumerate(steps) for i in np.flatnonzero(a != b)]


@pytest.fixture
def table():
    rng = np.random.default_rng(11)
    return rng.random((40, 5)) @ rng.standard_normal((5, 5)) + rng.random(5)


@pytest.mark.parametrize(("loss", "centering"), COMBINATIONS)
def test_single_moves_are_evaluated_exactly(table, loss, centering):
    d, rng = 2, np.random.default_rng(0)
    task = problem(table, d, 5, loss=loss, centering=centering)
    labels = (rng.random(40) < 0.4).astype(np.int8)
    sides = track(task.loss, task.split(labels), task.V)
    rows, kept = task.rows(), task.norms_and_kept[1]

    def gap(labels):
        return naive.signed_disparity(table, labels, d, loss, centering)

    losses = sides.losses
    np.testing.assert_allclose(losses[1] - losses[0], gap(labels), rtol=1e-9)
    for i in rng.permutation(40)[:12]:
        source = int(labels[i])
        move = (sides, rows[i], kept[i], source, 1 - source)
        after, count = sides_after(*move)
        labels[i] = 1 - source
        assert count.tolist() == np.bincount(labels).tolist()
        np.testing.assert_allclose(after[1] - after[0], gap(labels), rtol=1e-9, atol=1e-12)
        transfer(*move)  # and the state follows
        np.testing.assert_allclose(losses, after, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("centering", ["global", "none"])
def test_no_move_exceeds_its_bound(mixed, centering):
    task = problem(mixed, 3, 5, centering=centering)
    rounding = tolerances.of_rows(naive.seen_by_pca(mixed, centering), 3)
    ruled_out = 0
    for size in (20, 60):
        labels = np.zeros(240, dtype=np.int8)
        labels[task.by_reach[:size]] = 1
        sides = track(task.loss, task.split(labels), task.V)
        losses = sides.losses
        for i in range(0, 240, 3):
            source, kept = int(labels[i]), task.norms_and_kept[1][i]
            most = _most_after(sides, source, task.reach[i], kept)
            trial = labels.copy()
            trial[i] = 1 - source
            after = abs(naive.signed_disparity(mixed, trial, 3, "excess", centering))
            assert after <= most + rounding
            ruled_out += most < abs(losses[1] - losses[0])
    assert ruled_out > 20  # and the bound is worth having


@pytest.mark.parametrize(("loss", "centering"), COMBINATIONS)
def test_groups_of_no_or_one_row(table, loss, centering):
    d = 1 if centering == "paper" else 2  # two rows about their mean have one component
    task = problem(table, d, 1, loss=loss, centering=centering)
    labels = np.zeros(40, dtype=np.int8)
    labels[3] = 1
    sides = track(task.loss, task.split(labels), task.V)
    rows, kept = task.rows(), task.norms_and_kept[1]
    args = (sides, np.int64(1))
    want = naive.group_loss(
        naive.seen_by_pca(table, centering)[[3, 5]], task.V.T, d, loss, centering
    )
    np.testing.assert_allclose(loss_after(*args, rows[5], kept[5], JOINS), want, rtol=1e-9)
    assert not np.isfinite(loss_after(*args, rows[3], kept[3], LEAVES))


@pytest.mark.parametrize(("loss", "centering"), COMBINATIONS)
@pytest.mark.parametrize("seed", range(9))
def test_greedy_accepts_the_moves_of_greedy_from_scratch(loss, centering, seed):
    """5 combinations x 9 tables; the test below adds real rows."""
    rng = np.random.default_rng(seed)
    m, n = int(rng.integers(24, 40)), int(rng.integers(3, 7))
    M, d = rng.random((m, n)) @ rng.standard_normal((n, n)), int(rng.integers(1, n))
    task = problem(M, d, 5, loss=loss, centering=centering)
    found = run(Greedy(epochs=6), task, seed)
    seeds = seed_size(task)
    labels, moves = naive.greedy(
        M, d, 5, np.random.default_rng(seed), seeds, epochs=6, loss=loss, centering=centering
    )
    assert moves_of(found) == moves
    assert np.array_equal(found.labels, labels) or np.array_equal(found.labels, 1 - labels)


def test_greedy_on_students_accepts_the_moves_of_greedy_from_scratch(students):
    M = np.random.default_rng(0).permutation(students)[:300]
    task = problem(M, 9, 75)
    found = run(Greedy(epochs=2), task)
    _, moves = naive.greedy(M, 9, 75, np.random.default_rng(0), seed_size(task), epochs=2)
    assert len(moves) > 20
    assert moves_of(found) == moves


def test_greedy_across_refreshes_of_its_eigenpairs():
    """More moves than one stretch of updates: the seams must not show."""
    rng = np.random.default_rng(2)
    M = rng.random((700, 4)) @ rng.standard_normal((4, 4))
    task = problem(M, 2, 20)
    found = run(Greedy(epochs=2), task)
    _, moves = naive.greedy(M, 2, 20, np.random.default_rng(0), seed_size(task), epochs=2)
    assert moves_of(found) == moves


@pytest.mark.parametrize("solver", FREE, ids=repr)
@pytest.mark.parametrize(("loss", "centering"), COMBINATIONS)
def test_result_is_a_valid_partition(solver, loss, centering, mixed):
    task = problem(mixed, 3, 30, loss=loss, centering=centering)
    found = run(solver, task)
    sizes = np.bincount(found.labels, minlength=2)
    assert sizes.sum() == 240 and sizes.min() >= 30
    value = naive.signed_disparity(mixed, found.labels, 3, loss, centering)
    assert value >= 0.0  # the left-out group is the one with the larger loss
    np.testing.assert_allclose(found.history["disparity"][-1], value, rtol=1e-9)
    assert value <= task.bound(int(sizes[1])) + 1e-9
    assert found.stopped


@pytest.mark.parametrize("solver", FIXED, ids=repr)
@pytest.mark.parametrize(("loss", "centering"), COMBINATIONS)
@pytest.mark.parametrize("size", [30, 77, 200])
def test_group_size_is_kept(solver, loss, centering, size, mixed):
    found = run(solver, problem(mixed, 3, 30, size=size, loss=loss, centering=centering))
    assert found.labels.sum() == size


@pytest.mark.parametrize("solver", FREE, ids=repr)
def test_same_seed_same_answer(solver, mixed):
    first, again = (run(solver, problem(mixed, 3, 30), seed=4) for _ in range(2))
    np.testing.assert_array_equal(first.labels, again.labels)
    np.testing.assert_array_equal(first.history, again.history)


def test_jobs_do_not_change_the_answer(mixed):
    for size in (None, 60):
        task = problem(mixed, 3, 30, size=size)
        one, two = (run(Alternating(n_starts=24), task, n_jobs=jobs) for jobs in (1, 2))
        np.testing.assert_array_equal(one.labels, two.labels)
        np.testing.assert_array_equal(one.history, two.history)


@pytest.mark.parametrize("solver", [Greedy(), Annealing(), Alternating()], ids=repr)
def test_search_never_falls_below_where_it_was(solver, mixed):
    values = run(solver, problem(mixed, 3, 30)).history["disparity"]
    rounding = tolerances.of_rows(naive.seen_by_pca(mixed, "global"), 3)
    assert np.all(np.diff(values) >= -rounding)


def test_greedy_stops_at_a_local_optimum(mixed):
    task = problem(mixed, 3, 30)
    found = run(Greedy(), task)
    assert found.stopped == "local optimum" and found.history["moves"][-1] == 0
    value = naive.signed_disparity(mixed, found.labels, 3)
    rounding = tolerances.of_rows(naive.seen_by_pca(mixed, "global"), 3)
    for i in range(0, 240, 7):
        trial = found.labels.copy()
        trial[i] = 1 - trial[i]
        if np.bincount(trial).min() >= 30:
            assert abs(naive.signed_disparity(mixed, trial, 3)) <= value + rounding
    assert run(Greedy(epochs=1), task).stopped == "max_epochs"
    assert len(found.sweeps) == len(found.history)


def test_annealing_says_why_it_stopped(mixed):
    assert run(Annealing(max_steps=40), problem(mixed, 3, 30)).stopped == "max_steps"
    assert run(Annealing(cooling=0.5), problem(mixed, 3, 30)).stopped == "cold"
    even = run(Annealing(), problem(mixed, 3, 120))
    assert even.stopped == "no move allowed" and even.labels.sum() == 120


@pytest.mark.parametrize(("loss", "centering"), COMBINATIONS)
def test_best_cut_is_the_best_of_all_cuts(loss, centering):
    rng = np.random.default_rng(5)
    M = np.exp(rng.standard_normal((60, 4)))
    found = run(Sorting(split="best"), problem(M, 2, 8, loss=loss, centering=centering))
    X, V = naive.seen_by_pca(M, centering), naive.shared_basis(M, 2, centering)
    order = np.argsort(-np.sum((X - X @ V @ V.T) ** 2, axis=1))
    gaps = []
    for cut in range(8, 53):
        labels = np.zeros(60, dtype=int)
        labels[order[:cut]] = 1
        gaps.append(abs(naive.signed_disparity(M, labels, 2, loss, centering)))
    np.testing.assert_allclose(found.history["disparity"][-1], max(gaps), rtol=1e-9)


def test_half_takes_the_larger_residuals(mixed):
    found = run(Sorting(), problem(mixed, 3, 30))
    X, V = naive.seen_by_pca(mixed, "global"), naive.shared_basis(mixed, 3, "global")
    residual = np.sum((X - X @ V @ V.T) ** 2, axis=1)
    top = (residual >= np.sort(residual)[120]).astype(int)
    assert np.array_equal(found.labels, top) or np.array_equal(found.labels, 1 - top)


TINY_TABLES = 24


def tiny_table(seed):
    rng = np.random.default_rng(seed)
    m, n = int(rng.integers(7, 11)), int(rng.integers(2, 5))
    M = rng.standard_normal((m, n)) @ rng.standard_normal((n, n))
    if seed % 4 == 0:
        M = np.round(M)  # ties
    return M, int(rng.integers(1, n)), int(rng.integers(2, m // 3 + 1))


def test_alternating_finds_the_global_optimum_of_tiny_tables():
    found_all = 0
    for seed in range(TINY_TABLES):
        M, d, min_size = tiny_table(seed)
        best = naive.best_of_all_partitions(M, d, min_size)
        found = run(Alternating(), problem(M, d, min_size), seed)
        value = naive.signed_disparity(M, found.labels, d)
        assert value <= best * (1 + 1e-9) + 1e-12
        found_all += value >= best * (1 - 1e-9)
    assert found_all >= 0.95 * TINY_TABLES


def test_alternating_beats_the_papers_search(students):
    task = problem(students, 9, 180)
    ours, theirs = (run(s, task).history["disparity"][-1] for s in (Alternating(), Greedy()))
    assert ours >= 0.675 > 0.6 > theirs


def test_a_table_is_searched_in_part_but_answered_for_whole(monkeypatch, mixed):
    """With parts forced on a small table, sizes and values still refer to all of it."""
    whole = [run(Alternating(), problem(mixed, 3, 10, size=k)) for k in (10, 60)]
    monkeypatch.setattr(local_ascent, "ROWS", 120)
    for exact, size in zip(whole, (10, 60), strict=True):
        found = run(Alternating(), problem(mixed, 3, 10, size=size))
        assert found.labels.sum() == size
        value = naive.signed_disparity(mixed, found.labels, 3)
        np.testing.assert_allclose(found.history["disparity"][-1], value, rtol=1e-9)
        assert value >= 0.85 * exact.history["disparity"][-1]


@pytest.mark.parametrize("size", [5, 40, 110])
def test_ranking_finds_the_best_rows(mixed, size):
    task = problem(mixed, 3, 5)
    labels = np.zeros(240, dtype=np.int8)
    labels[:50] = 1
    _, own = task.losses(labels)
    scores = task.scores(own, size)
    want = np.argsort(-scores, kind="stable")[: size + MARGIN]
    ranked = task.rank(own, size)
    np.testing.assert_array_equal(ranked.rows, want)
    np.testing.assert_allclose(ranked.scores, scores[want], rtol=1e-12)


def test_scores_are_the_gain_for_fixed_components(mixed):
    """Swapping two rows changes the linearised disparity by the difference of their scores."""
    task = problem(mixed, 3, 5)
    labels = np.zeros(240, dtype=np.int8)
    labels[:50] = 1
    _, own = task.losses(labels)
    rest, group = task.row_losses(own)

    def frozen(labels):
        return group[labels == 1].mean() - rest[labels == 0].mean()

    scores, swapped = task.scores(own, 50), labels.copy()
    swapped[[0, 100]] = 0, 1
    gain = frozen(swapped) - frozen(labels)
    np.testing.assert_allclose(gain, (scores[100] - scores[0]) / 50, rtol=1e-9)


@pytest.mark.parametrize("values", [0, 1 << 16])
def test_climbing_rises_and_its_estimate_is_the_disparity(values, mixed, monkeypatch):
    monkeypatch.setattr(local_ascent, "_SMALL", values)  # in single precision, and in double
    task = problem(mixed, 3, 40)
    slope = lay_out(task)
    W = slope.X[:3].copy()
    orthonormalise(W)
    start = np.stack([slope.V, W])
    few, _ = climb(slope, start, 40, 1e-12, 2, -np.inf)
    many, own = climb(slope, start, 40, 1e-12, 200, -np.inf)
    assert many >= few
    labels = task.rank(own, 40).labels(240)
    value = naive.signed_disparity(mixed, labels, 3)
    np.testing.assert_allclose(value, many * slope.unit**2, rtol=1e-3)


def test_orthonormalise_drops_dependent_rows():
    W = np.array([[3.0, 0.0, 0.0], [1.0, 1.0, 0.0], [2.0, 5.0, 0.0]])
    orthonormalise(W)
    np.testing.assert_allclose(W, [[1, 0, 0], [0, 1, 0], [0, 0, 0]], atol=1e-12)


@pytest.mark.parametrize("k", [1, 3, 20, 39, 40])
def test_kth_largest(k):
    for values in (np.random.default_rng(k).random(40), np.arange(40.0) // 7, np.zeros(40)):
        assert kth_largest(values, k) == np.sort(values)[-k]


@pytest.mark.parametrize("solver", [Greedy(), Annealing()], ids=repr)
def test_solvers_of_single_moves_refuse_a_fixed_size(solver, mixed):
    with pytest.raises(ValueError, match=r"group_size=50 .*one row at a time.*'alternating'"):
        run(solver, problem(mixed, 3, 30, size=50))


def test_sorting_refuses_what_makes_no_sense(mixed):
    with pytest.raises(ValueError, match=r"split='matched'.*group_size is None"):
        run(Sorting(split="matched"), problem(mixed, 3, 30))
    with pytest.raises(ValueError, match=r"group_size=50 .*split='half' chooses"):
        run(Sorting(), problem(mixed, 3, 30, size=50))
    with pytest.raises(ValueError, match=r"split='hafl' is not known.*Did you mean 'half'\?"):
        run(Sorting(split="hafl"), problem(mixed, 3, 30))


def test_starts_that_disagree_are_followed_by_more(monkeypatch):
    """Where the best ends are one group nothing changes; elsewhere the better of two searches."""
    import leftout.solvers.alternating as ascending

    counts = []
    climbing = ascending.line

    def line(slope, size, climbs, *more):
        counts.append(climbs)
        return climbing(slope, size, climbs, *more)

    monkeypatch.setattr(ascending, "line", line)
    X, _ = datasets.make_planted(300, 8, 2, 60, random_state=0)
    MaxDisparityPartition(2, group_size=60, random_state=0).fit(X)
    assert sum(counts) == 200
    counts.clear()
    # nothing but noise: many groups lose about as much
    X = np.random.default_rng(0).standard_normal((600, 30))
    noise = [
        MaxDisparityPartition(12, group_size=60, random_state=0, solver=Alternating(n_starts=n))
        for n in (80, 79)
    ]
    more, _ = (search.fit(X) for search in noise)
    assert counts == [40, 40, 40, 40, 79]
    monkeypatch.setattr(ascending, "_same_best", lambda ends: True)
    assert more.disparity_ >= clone(more).fit(X).disparity_


def test_a_size_takes_what_its_neighbour_offers():
    X, labels = datasets.make_planted(300, 8, 2, 60, random_state=0)
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


@pytest.mark.parametrize("seed", range(3))
def test_a_loss_that_climbs_do_not_rise_under_is_searched_as_well_as_by_plain_ascents(seed):
    rng = np.random.default_rng(seed)
    rare = rng.random((600, 8)) < 0.4 * rng.random(8)
    X = np.column_stack([rng.random((600, 6)), rare, rng.lognormal(size=(600, 3)) / 8.0])
    search = MaxDisparityPartition(
        4, group_size=60, loss="projection_gap", centering="paper", random_state=0
    )
    problem = search._build_problem(X).problem
    starts = [
        np.linalg.svd(problem.rows(rng.choice(600, 20)), full_matrices=False)[2][:4]
        for _ in range(40)
    ]
    plain = max(ascend(problem, np.stack([problem.V, W]), 60).value for W in starts)
    assert search.fit(X).disparity_ >= plain
