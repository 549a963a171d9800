"""Passes over a table answer to the slow way: score every row, sort them all."""

from __future__ import annotations

import math
import pickle
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

import leftout.linalg.moments as mm
import leftout.linalg.top_k as cutting
import naive
from leftout import MaxDisparityPartition, datasets
from leftout.groups.problem_setup import build_problem
from leftout.linalg.losses import LOSSES, Loss, row_losses, row_reach, shared_pca, summarise
from leftout.linalg.passes import Along, InMemory, Sums, fold, moments_and_rows
from leftout.linalg.problem import Problem
from leftout.linalg.top_k import Cut, RowForm, ThresholdGuess, highest, reach_form, score_form
from leftout.solvers import Alternating, SolverContext, alternating, streaming
from leftout.solvers.streaming import search_passes


class Parts:
    """A table in parts, each sent to where it is worked on: what any engine does."""

    def __init__(self, X, ends):
        self.parts = np.split(X, ends)
        self.starts = [0, *ends]
        self.n_rows, self.n_features = X.shape
        self.passes = 0

    def run(self, one):
        self.passes += 1
        sent = pickle.dumps(one)
        done = [
            pickle.loads(sent).over(part.copy(), start)
            for part, start in zip(self.parts, self.starts, strict=True)
            if len(part)
        ]
        return fold(done, one.merge)

    def take(self, places):
        assert (np.diff(places) > 0).all()
        return np.concatenate(self.parts)[places]


def slow_highest(X, form, size):
    """Labels, moments and cut by sorting the scores of all rows."""
    rows = X - form.origin
    scores = [float(x @ form.M @ x) for x in rows]
    order = sorted(range(len(X)), key=lambda i: (-scores[i], i))
    labels = np.zeros(len(X), dtype=np.int8)
    labels[order[:size]] = 1
    group = rows[labels == 1]
    return (
        labels,
        group.sum(axis=0),
        group.T @ group,
        [scores[i] for i in order[size - 1 : size + 1]],
    )


@st.composite
def whole_numbers(draw):
    """Small whole numbers, whose scores are exact and often tie."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    m, n = draw(st.integers(2, 60)), draw(st.integers(1, 4))
    X = rng.integers(-2, 3, (m, n)).astype(float)
    M = rng.integers(-3, 4, (n, n)).astype(float)
    form = RowForm(M + M.T, rng.integers(-1, 2, n).astype(float))
    return X, form, draw(st.integers(1, m - 1)), rng


@given(whole_numbers(), st.integers(1, 7), st.integers(0, 3), st.booleans())
def test_the_highest_are_those_of_a_sort_whatever_the_blocks_and_the_guess(
    case, step, kind, carried
):
    X, form, size, rng = case
    scores = np.sort(form.scores(X))[::-1]
    guess = [
        ThresholdGuess(scores, 1.0),
        ThresholdGuess(scores[:1] + 100.0, 0.5),  # far above the cut
        ThresholdGuess(np.full(5, scores[-1] - 100.0), 0.9),  # far below it
        ThresholdGuess(np.sort(rng.permutation(scores)[:5])[::-1], min(5, len(X)) / len(X)),
    ][kind]
    labels, total, second, cut = slow_highest(X, form, size)
    with pytest.MonkeyPatch.context() as patch:
        if not carried:
            patch.setattr(cutting, "_CARRIED", 0)
        by_columns = InMemory(np.asfortranarray(X))
        for table in (InMemory(X), by_columns, Parts(X, list(range(step, len(X), step)))):
            found = highest(table, form, size, guess)
            assert_array_equal(found.labels, labels)
            assert found.cut == tuple(cut)
            assert found.group.count[0] == size
            assert_array_equal(found.group.total[0], total)
            assert_array_equal(found.group.second[0], second)


@pytest.mark.parametrize("scale", [1e-30, 1e-20, 1.0, 1e15, 1e30])
@pytest.mark.parametrize("tails", [False, True])
def test_single_precision_never_decides(scale, tails):
    """Rows whose squares vanish or overflow in single precision, and rows a million times longer"""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((3000, 6))
    if tails:
        X *= np.exp(4.0 * rng.standard_normal((3000, 1)))
    X = scale * (X + 3.0)
    M = rng.standard_normal((6, 6))
    form = RowForm(M + M.T, np.full(6, 3.0 * scale))
    labels, _, _, _ = slow_highest(X, form, 300)
    sample = np.sort(form.scores(X[::10]))[::-1]
    found = highest(InMemory(X), form, 300, ThresholdGuess(sample, 0.1))
    assert_array_equal(found.labels, labels)


@given(st.integers(0, 2**32 - 1), st.sampled_from([1e-6, 1e-3, 1.0, 10.0]), st.sampled_from("CF"))
def test_rows_said_to_be_above_or_below_are(seed, spread, order):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 40))
    X = rng.standard_normal((200, n)) * np.exp(spread * rng.standard_normal((200, 1)).clip(-3, 3))
    X = np.asarray(X, order=order)
    M = rng.standard_normal((n, n)) * rng.random(n)
    form = RowForm(M + M.T, rng.standard_normal(n))
    scores = form.scores(X)
    low, high = np.sort(rng.choice(scores, 2))
    sides = form.sides(X, float(low), float(high))
    assert (scores[sides == 1] > high).all()
    assert (scores[sides == 0] < low).all()
    if spread < 1.0:  # and hardly any is left to be scored again
        between = (scores >= low) & (scores <= high)
        assert np.sum(sides == 2) <= np.sum(between) + 10


def test_equal_rows_score_the_same_wherever_they_stand():
    rng = np.random.default_rng(0)
    X = np.repeat(rng.standard_normal((7, 13)), 100, axis=0)[rng.permutation(700)]
    form = RowForm(np.cov(rng.standard_normal((13, 50))), rng.standard_normal(13))
    assert len(np.unique(form.scores(X))) == 7


@pytest.mark.parametrize("loss", LOSSES)
def test_forms_are_the_losses_of_rows(mixed, loss):
    rule = Loss.named(loss, "global")
    table = summarise(mixed, "global")
    V = shared_pca(rule, table.moments, 3).components
    rng = np.random.default_rng(0)
    own = np.stack([np.linalg.qr(rng.standard_normal((7, 3)))[0].T for _ in range(2)])
    rows = mixed - table.mean
    kept = np.sum((rows @ V.T) ** 2, axis=1)
    rest, group = (row_losses(rule, rows, kept, V, W) for W in own)
    scores = RowForm(score_form(rule, V, own, 0.25), table.mean).scores(mixed)
    scale = np.sum(rows**2, axis=1).max()
    assert_allclose(scores, group + 0.25 * rest, atol=1e-13 * scale)
    reach = RowForm(reach_form(rule, V), table.mean).scores(mixed)
    norms = np.sum(rows**2, axis=1)
    assert_allclose(reach, row_reach(rule, norms, kept), atol=1e-13 * scale)


def moments_of(table):
    """Moments of all rows about their mean."""
    first = table.take(np.arange(min(mm.FIRST, table.n_rows)))
    return moments_and_rows(table, first, np.empty(0, dtype=np.intp))[0]


@given(st.integers(1, 40), st.integers(0, 2**32 - 1))
def test_moments_by_passes_are_those_of_the_table(step, seed):
    X = np.random.default_rng(seed).standard_normal((40, 3)) + 1e3
    whole = mm.build_about_mean(X)
    for table in (InMemory(X), Parts(X, list(range(step, 40, step)))):
        found = moments_of(table)
        for ours, theirs in zip(found[:4], whole[:4], strict=True):
            assert_allclose(ours, theirs, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("asked", [0, 1, 3])
def test_one_reading_serves_two_passes(asked):
    X = np.random.default_rng(3).standard_normal((60, 3))
    table = Parts(X, [7, 40])
    along = Along(table, Sums(np.zeros(3)))
    cut = Cut(RowForm(np.eye(3), np.zeros(3)), np.inf, 2.0)
    lengths = np.square(X).sum(axis=1)
    for _ in range(asked):
        assert along.run(cut).above.count[0] == np.sum(lengths > 2.0)
    assert_allclose(along.found.second[0], X.T @ X)
    assert along.found is along.found and table.passes == max(asked, 1)


def test_the_mean_of_a_large_table_keeps_its_digits():
    X = np.random.default_rng(0).random((300_000, 15))
    assert X.size > mm.SUMMED_AT_ONCE
    exact = np.array([math.fsum(column) for column in X.T]) / len(X)
    assert_allclose(mm.build_about_mean(X).origin, exact, rtol=2e-15)


def test_merging_is_by_a_tree_of_neighbours():
    assert fold("a", lambda a, b: a + b) == "a"
    assert fold("abcdefg", lambda a, b: f"({a}{b})") == "(((ab)(cd))((ef)g))"
    with pytest.raises(ValueError, match="without a row"):
        fold([], lambda a, b: a + b)


def posed(X, d, *, size=None, min_size=10, loss="excess", centering="global"):
    rule = Loss.named(loss, centering)
    table = summarise(X, centering)
    V = shared_pca(rule, table.moments, d).components
    return Problem(X=X, loss=rule, V=V, pooled=table.moments, min_size=min_size, group_size=size)


def search(problem, table=None):
    return search_passes(problem, SolverContext(rng=np.random.default_rng(0)), table=table)


@pytest.fixture
def small_samples(monkeypatch):
    """Samples and pools as of a table a thousand times as large."""
    monkeypatch.setattr(streaming, "_FEWEST", 1 << 11)
    monkeypatch.setattr(streaming, "_APART", 200)
    monkeypatch.setattr(streaming, "_SMALL_POOL", 60)
    monkeypatch.setattr(streaming, "_MEMBERS", 20)


@pytest.mark.parametrize("size", [20, 400, 1900])
@pytest.mark.parametrize(("loss", "centering"), [("excess", "global"), ("excess", "none"),
                                                 ("projection_gap", "paper")])  # fmt: skip
def test_what_passes_find_is_a_partition_of_all_rows(small_samples, size, loss, centering):
    X = np.random.default_rng(0).random((2000, 6)) ** 3
    whole = posed(X, 2, size=size, loss=loss, centering=centering)
    found = search(whole)
    assert found.labels.sum() == size
    value = naive.signed_disparity(X, found.labels, 2, loss, centering)
    assert_allclose(found.history["disparity"][-1], value, rtol=1e-9)
    assert found.stopped in ("local optimum", "gain", "max_passes")
    assert (np.diff(found.history["disparity"]) > 0).all()
    assert_array_equal(found.sides.count, [2000 - size, size])
    shifted = X - whole.pooled.origin
    assert_allclose(
        found.sides.second[1], shifted[found.labels == 1].T @ shifted[found.labels == 1]
    )
    form = RowForm(
        score_form(whole.loss, whole.V, found.own, size / (2000 - size)), whole.pooled.origin
    )
    scores = np.sort(form.scores(X))[::-1]
    assert scores[size - 1] >= found.offset >= scores[size]
    short = search_passes(whole, SolverContext(rng=np.random.default_rng(0)), last_pass=False)
    assert_array_equal(short.labels, found.labels)
    assert short.offset == (found.offset if found.stopped == "local optimum" else None)


@pytest.mark.parametrize("scale", [1e-25, 1e25])
def test_the_unit_of_a_table_changes_nothing(small_samples, scale):
    X = np.random.default_rng(6).standard_t(4, (2000, 6))
    for size in (20, 400, None):
        found, scaled = search(posed(X, 2, size=size)), search(posed(scale * X, 2, size=size))
        assert_array_equal(scaled.labels, found.labels)


@pytest.mark.parametrize("size", [20, 400, None])
def test_the_same_rows_wherever_they_are(small_samples, monkeypatch, size):
    X = np.random.default_rng(1).standard_t(4, (2000, 6))
    whole = posed(X, 2, size=size)
    found = search(whole)
    for ends in ([700], list(range(9, 2000, 9))):
        table = Parts(X, ends)
        elsewhere = replace(whole, X=X[:0], pooled=moments_of(table))
        again = search(elsewhere, table)
        assert_array_equal(again.labels, found.labels)
        assert_allclose(again.offset, found.offset, rtol=1e-9)
        assert table.passes <= 25
    monkeypatch.setattr(mm, "_BLOCK", 77)
    assert_array_equal(search(whole).labels, found.labels)


def test_the_search_of_large_tables_keeps_up_with_that_of_small_ones(monkeypatch):
    X = np.random.default_rng(2).standard_normal((3000, 8)) ** 3
    for size in (30, 300, None):
        estimator = MaxDisparityPartition(3, group_size=size, random_state=0)
        exact = estimator.fit(X).disparity_
        with monkeypatch.context() as patch:
            patch.setattr(alternating, "STREAMED_ABOVE", 1000)
            found = estimator.fit(X)
            assert found.disparity_ >= 0.97 * exact
            assert_allclose(
                found.disparity_, naive.signed_disparity(X, found.labels_, 3), rtol=1e-9
            )
            again = MaxDisparityPartition(3, group_size=size, random_state=0, n_jobs=2).fit(X)
            assert_array_equal(again.labels_, found.labels_)
            assert found.predict(X).sum() == found.sizes_[1]


def test_a_free_size_is_the_smallest(small_samples):
    X = np.random.default_rng(4).standard_t(4, (4000, 6))
    found = search(posed(X, 2, min_size=20))
    assert_array_equal(found.labels, search(posed(X, 2, min_size=20, size=20)).labels)


@pytest.mark.parametrize("seed", range(3))
def test_two_in_a_hundred_are_found_among_many(seed):
    X, planted = datasets.make_planted(150_000, 30, 6, 3000, random_state=seed)
    assert X.size > streaming.STREAMED_ABOVE
    found = MaxDisparityPartition(6, group_size=3000, random_state=seed).fit(X)
    both = np.sum((found.labels_ == 1) & (planted == 1))
    assert both / np.sum((found.labels_ == 1) | (planted == 1)) >= 0.93
    assert Alternating().n_starts is None and found.stopped_ != "max_rounds"


@pytest.mark.parametrize(("asked", "climbs"), [(None, 72), (240, 240), (7, 12)])
def test_starts_are_the_climbs_of_all_lines_together(asked, climbs, monkeypatch):
    """Not of each line: a search of comparison tables would take twelve times as long."""
    done = []

    def line(slope, size, count, rng, own):
        done.append(count)
        return 0.0, np.stack([slope.V, slope.V]).astype(np.float64)

    monkeypatch.setattr(streaming, "line", line)
    X = np.random.default_rng(6).random((150_000, 30))
    search_passes(posed(X, 3, size=60_000), SolverContext(rng=np.random.default_rng(0)), asked)
    assert sum(done) == climbs
    done.clear()
    starts = None if asked is None else 7 * asked  # a profile climbs once in seven starts
    problem = build_problem(X, 3, "excess", "global", 10, None).problem
    Alternating(n_starts=starts).profile(
        problem, [60_000], SolverContext(rng=np.random.default_rng(0))
    )
    assert sum(done) == climbs


@pytest.mark.parametrize("size", [3_000, 350_000])
def test_many_equal_rows_at_the_cut(size):
    """A table of five kinds of rows: whole kinds tie, and are cut by their places."""
    rng = np.random.default_rng(5)
    kinds = rng.integers(0, 2, (5, 8)).astype(float)
    X = kinds[rng.integers(0, 5, 600_000)]
    found = MaxDisparityPartition(2, group_size=size, random_state=0).fit(X)
    assert found.sizes_[1] == size
    cut = kinds[(X[found.labels_ == 1][:, None] == kinds).all(axis=2).any(axis=0)]
    for kind in cut:  # of a kind that is cut, the first rows are in the group
        of_kind = found.labels_[(X == kind).all(axis=1)]
        assert (np.diff(of_kind) <= 0).all()


def test_a_pass_is_small_enough_to_be_sent():
    form = RowForm(np.eye(50), np.zeros(50))
    assert len(pickle.dumps(Cut(form, 0.0, 1.0))) < 50_000
    assert len(pickle.dumps(Sums(np.zeros(50)))) < 5_000


def test_a_lazy_array_is_refused():
    dask = pytest.importorskip("dask.array")
    X = dask.from_array(np.random.default_rng(0).random((100, 4)))
    with pytest.raises(ValueError, match=r"Dask Array.*\.compute\(\)"):
        MaxDisparityPartition(2).fit(X)
