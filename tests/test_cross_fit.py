"""Halves of the rows, searched apart and judged on each other."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

import naive
import tolerances
from leftout import MaxDisparityPartition, datasets
from leftout.evidence.refit import SearchTask
from leftout.evidence.replication import HeldOut, cross_fit, gap_of
from leftout.groups.partition import GroupRule
from leftout.linalg.losses import EXCESS, Loss
from leftout.representation.base import Representation
from leftout.running import Steps
from leftout.solvers import Alternating, Sorting


@pytest.fixture(scope="module")
def planted():
    return datasets.make_planted(400, 8, 2, 80, random_state=0)[0]


def held_out(search, X, group_size, splits):
    reference = np.zeros(len(X), dtype=np.int8)
    task = SearchTask.of(search, X)
    return cross_fit(task, [group_size], splits, Steps(splits, None), reference)[0]


@pytest.fixture
def halves(monkeypatch):
    """The halves of every split, as they are drawn."""
    kept, drawn = [], SearchTask.halves

    def keep(*args):
        kept.append(drawn(*args))
        return kept[-1]

    monkeypatch.setattr(SearchTask, "halves", keep)
    return kept


@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize(
    ("loss", "centering"),
    [("excess", "global"), ("excess", "none"), ("projection_gap", "paper")],
)
def test_halves_are_judged_by_the_definition(planted, halves, loss, centering, wide):
    X = planted[:121] + 0.3
    if wide:
        X = np.hstack([X, 0.1 * np.random.default_rng(1).standard_normal((121, 140))])
    size, core, d, splits = 24, 12, 2, 2
    options = {"loss": loss, "centering": centering, "min_group_size": 4}
    search = MaxDisparityPartition(d, solver=Sorting(split="matched"), **options)
    found = held_out(search, X, group_size=size, splits=splits)

    def labels_of(rows, k):
        return search.set_params(group_size=k).fit(rows).labels_

    gaps, added, overlaps = [], np.zeros(len(X)), []
    for pair in halves:
        whole, each, named = naive.judged_apart(X, pair, labels_of, size, d, loss, centering)
        _, _, inner = naive.judged_apart(X, pair, labels_of, core, d, loss, centering)
        gaps.append(whole)
        added += each / splits
        overlaps.append([naive.jaccard(*named), naive.jaccard(*inner)])
    within = tolerances.of_rows(naive.seen_by_pca(X, centering), d)
    np.testing.assert_allclose(found.gaps, gaps, rtol=0, atol=within)
    assert found.overlaps.tolist() == overlaps and found.group_size == 12
    squares = added**2
    # errors are differences of losses, each as exact as they are
    assert found.error == pytest.approx(np.sqrt(1.2 * squares.sum()), rel=1e-9)
    assert found.freedom == pytest.approx(squares.sum() ** 2 / np.sum(squares**2) - 1, rel=1e-6)


def test_rows_of_a_half_are_searched_or_judged(planted, halves):
    X = planted[:61]
    search = MaxDisparityPartition(1, min_group_size=5, random_state=0)
    held_out(search, X, group_size=16, splits=4)
    for searched, judged in halves:
        assert sorted([*searched, *judged]) == list(range(61)) and len(searched) == 30
    assert len({frozenset(searched.tolist()) for searched, _ in halves}) == 4


def one_column(sizes, cut):
    """Losses of a row (x, y): y with the rest's components, x with the group's."""
    own = np.array([[[0.0, 1.0]], [[1.0, 0.0]]])
    shared = Representation(
        name="PCA", rank=1, n_features=2, origin=np.zeros(2), components=np.zeros((1, 2))
    )
    return GroupRule(
        Loss(EXCESS, own_mean=False), shared, own, np.array(sizes), np.array([float(cut)])
    )


def test_gap_of_rows_by_hand():
    """Squares of x are lost by the group, those of y by the rest."""
    learned = one_column([2, 1], cut=3.0)
    X = np.array([[2.0, 1.0], [3.0, 0.0], [1.0, 1.0], [0.0, 2.0], [1.0, 0.0]])
    losses = learned.row_losses(X)
    assert losses.tolist() == [[1, 0, 1, 4, 0], [4, 9, 1, 0, 1]]
    assert learned.scores(losses).tolist() == [[4.5, 9, 1.5, 2, 1]]
    assert learned.predict(losses).tolist() == [1, 1, 0, 0, 0]
    assert learned.highest(losses, [3]).tolist() == [1, 1, 0, 1, 0]
    gap, added = gap_of(learned, losses)
    assert gap == pytest.approx(6.5 - 5 / 3)
    group, rest = np.sqrt(2) / 2, -np.sqrt(3 / 2) / 3
    want = [-2.5 * group, 2.5 * group, -2 / 3 * rest, 7 / 3 * rest, -5 / 3 * rest]
    assert added.tolist() == pytest.approx(want)
    # squares are the variances of the two means
    variance = np.var([4, 9], ddof=1) / 2 + np.var([1, 4, 0], ddof=1) / 3
    assert np.sum(added**2) == pytest.approx(variance)


@pytest.mark.parametrize("cut", [-1.0, 20.0])
def test_nobody_on_a_side_is_no_gap(cut):
    learned = one_column([2, 1], cut)
    gap, added = gap_of(learned, learned.row_losses(np.array([[2.0, 1.0], [3.0, 0.0]])))
    assert gap == 0.0 and added.tolist() == [0.0, 0.0]


def test_equal_scores_are_ranked_by_place():
    learned = one_column([2, 1], 0.0)
    losses = learned.row_losses(np.array([[1.0, 0.0], [2.0, 0.0], [1.0, 0.0], [1.0, 0.0]]))
    assert learned.highest(losses, [2]).tolist() == [1, 1, 0, 0]


def held(gaps, overlaps, error=0.05, freedom=30.0):
    return HeldOut(
        group_size=20,
        gaps=np.array(gaps),
        overlaps=np.array(overlaps),
        error=error,
        freedom=freedom,
    )


def test_interval_is_students():
    found = held([[0.8, 1.0], [0.7, 1.1]], [[0.2, 0.3]] * 2)
    half = stats.t.ppf(0.975, 30) * 0.05
    assert found.gap == pytest.approx((0.9, 0.9 - half, 0.9 + half))
    # hardly any rows that it rests on: as for two
    few = held([[0.8, 1.0]], [[0.2, 0.3]], freedom=0.4)
    assert few.gap.high == pytest.approx(0.9 + stats.t.ppf(0.975, 1) * 0.05)


@pytest.mark.parametrize(
    ("overlaps", "says"),
    [
        (
            [[0.62, 0.31], [0.7, 0.35]],
            "Groups of halves of the table, searched apart, share 66% of the rows that either "
            "leaves out (2 splits): one group.",
        ),
        (
            [[0.25, 0.5]],
            "Groups, of half the size, of halves of the table, searched apart, share 50% of the "
            "rows that either leaves out (1 split): one group.",
        ),
        (
            [[0.48, 0.2]],
            "Groups of halves of the table, searched apart, share 48% of the rows that either "
            "leaves out (1 split): different rows.",
        ),
    ],
)
def test_what_is_said_of_halves(overlaps, says):
    found = held([[0.8, 1.02]], overlaps)
    assert found.overlap_text == says and found.agree == says.endswith("one group.")
    assert found.gap_text == (
        "On rows not searched, such groups lose 0.91 (0.81 to 1.01) more than the rest."
    )
    data = found.to_dict()
    assert data["overlap"] == found.overlap and data["splits"] == len(overlaps)


def test_a_planted_group_returns(planted):
    search = MaxDisparityPartition(2, random_state=0)
    found = held_out(search, planted, group_size=80, splits=3)
    assert found.group_size == 40 and found.gaps.shape == found.overlaps.shape == (3, 2)
    assert found.gap.low > 0 and found.overlap > 0.8


def test_noise_does_not_agree():
    X = np.random.default_rng(0).standard_normal((300, 8))
    found = held_out(MaxDisparityPartition(2, random_state=0), X, group_size=30, splits=3)
    assert not found.agree and found.gap.low > 0  # which says nothing: they were chosen by it


def test_jobs_change_nothing(planted):
    one, two = (
        held_out(
            MaxDisparityPartition(2, random_state=1, n_jobs=jobs, solver=Alternating(n_starts=8)),
            planted,
            group_size=80,
            splits=2,
        )
        for jobs in (1, 2)
    )
    assert np.array_equal(one.gaps, two.gaps) and np.array_equal(one.overlaps, two.overlaps)
    assert (one.error, one.freedom) == (two.error, two.freedom)


@pytest.mark.parametrize(("rows", "starts"), [(8192, 140), (8193, 560)])
def test_large_tables_are_searched_on_four_parts(rows, starts):
    """Climbs on parts of 8,192 rows: on larger tables one part alone is not the same for all."""
    X = np.random.default_rng(0).standard_normal((rows, 3))
    assert SearchTask.of(MaxDisparityPartition(1, random_state=0), X).solver.n_starts == starts
    asked = SearchTask.of(MaxDisparityPartition(1, solver=Alternating(n_starts=9)), X)
    assert asked.solver.n_starts == 9
