"""Whom each mitigation leaves worst off: known lines, tiny tables, rows not seen."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from sklearn.decomposition import NMF, PCA

import known
from leftout import FairPCA, MaxDisparityPartition, datasets
from leftout.fair.assessment import afterwards


def loss(rows, V):
    """Average squared error beyond the best ``len(V)`` components of the rows, about the origin."""
    best = np.linalg.svd(rows, compute_uv=False)[: len(V)]
    return (np.sum(best**2) - np.sum((rows @ V.T) ** 2)) / len(rows)


@pytest.mark.parametrize("seed", range(3))
def test_the_worst_off_of_tiny_tables_are_those_of_all_groups(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(11, 4)) * [3.0, 2.0, 1.5, 1.0] + [5.0, 0.0, -1.0, 2.0]
    group = np.arange(11) < 3
    after = afterwards(X, group, 2, splits=0)
    centred = X - X.mean(axis=0)
    pca = np.linalg.svd(centred)[2][:2]
    fair = FairPCA(2).fit(X, groups=group).components_
    errors = [np.sum((centred - centred @ V.T @ V) ** 2) for V in (pca, fair)]
    for line, V in zip(after.lines, (pca, fair), strict=False):
        every = {rows: loss(centred[list(rows)], V) for rows in combinations(range(11), 3)}
        assert line.worst_loss == pytest.approx(max(every.values()), rel=1e-6)
        worst = set(max(every, key=every.get))
        assert set(np.flatnonzero(line.worst)) == worst
        assert line.shared == len(worst & {0, 1, 2}) / len(worst | {0, 1, 2})
        assert line.group_loss == pytest.approx(every[0, 1, 2], rel=1e-9)
    assert after.lines[0].error == 1.0
    assert after.lines[1].error == pytest.approx(errors[1] / errors[0])
    assert after.bound <= after.lines[2].worst_loss + 1e-9
    assert after.gain is None and after.holds is None and after.lines[2].held_out is None
    assert "On rows not seen" not in after.text


def test_the_projection_audited_may_be_given():
    X, planted = datasets.make_planted(300, 8, 2, 60, random_state=0)
    own = PCA(2).fit(X)
    ours, given = (afterwards(X, planted, 2, representation=one, splits=0) for one in (None, own))
    for one, other in zip(ours.lines, given.lines, strict=True):
        assert one.worst_loss == pytest.approx(other.worst_loss, rel=1e-6)
    elsewhere = PCA(2).fit(X[::3])
    moved = afterwards(X, planted, 2, representation=elsewhere, splits=0).lines[0]
    rows = X[planted == 1] - elsewhere.mean_
    assert moved.called == "PCA"
    assert moved.group_loss == pytest.approx(loss(rows, elsewhere.components_))
    with pytest.raises(ValueError, match=r"NMF, is no projection, so Fair PCA and MinimaxPCA"):
        afterwards(np.abs(X), planted, 2, representation=NMF(2, max_iter=2000).fit(np.abs(X)))


def test_weights_are_repeated_rows():
    X, planted = datasets.make_planted(300, 8, 2, 60, random_state=0)
    weights = np.random.default_rng(1).integers(1, 4, 300)
    weighted = afterwards(X, planted, 2, weights=weights / weights.mean(), splits=2)
    every = afterwards(*(np.repeat(each, weights, axis=0) for each in (X, planted)), 2, splits=2)
    for one, other in zip(weighted.lines[:2], every.lines, strict=False):
        assert one.group_loss == pytest.approx(other.group_loss, rel=1e-9)
        assert one.error == pytest.approx(other.error, rel=1e-9)
        # rows are not split, so groups weigh nearly the same
        assert one.worst_loss == pytest.approx(other.worst_loss, rel=0.02)
    assert weighted.bound == pytest.approx(every.bound, rel=0.05)
    share = np.average(planted, weights=weights)
    assert weighted.weight == pytest.approx(share) and weighted.size == round(share * 300)
    assert f"{round(100 * share)}% by weight" in weighted.text and every.weight is None


def test_where_nothing_is_lost_nothing_is_gained():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 2)) @ rng.normal(size=(2, 5))
    after = afterwards(np.vstack([X, X]), np.arange(160) < 16, 2)
    assert [(line.worst_loss, line.error) for line in after.lines] == [(0.0, 1.0)] * 3
    assert after.splits == 5 and after.gain == (0.0, 0.0, 0.0) and not after.holds
    assert not after.moved and after.advice == "Fair PCA"
    assert afterwards(X, np.arange(80) < 8, 2, splits=0).advice == "Fair PCA"


def test_few_rows_are_not_split():
    X = np.random.default_rng(0).normal(size=(12, 4))
    after = afterwards(X, np.arange(12) < 2, 2)
    assert (after.splits, after.gain) == (0, None)


@pytest.mark.parametrize("labels", [np.zeros(60, dtype=int), 2 * (np.arange(60) < 6)])
def test_samples_without_a_group_are_refused(labels):
    X = np.random.default_rng(0).normal(size=(60, 5))
    with pytest.raises(ValueError, match="None of the 60 rows"):
        afterwards(X, labels, 2)


@pytest.mark.parametrize("seed", range(3, 6))
def test_noise_is_not_sold_as_gain(seed):
    """In the sample MinimaxPCA is better on any table; on rows not seen it is not."""
    X = np.random.default_rng(seed).normal(size=(400, 8))
    found = MaxDisparityPartition(3, group_size=40, random_state=0).fit(X)
    after = afterwards(X, found.labels_, 3)
    shared, fair, every = after.lines
    assert every.worst_loss < min(shared.worst_loss, fair.worst_loss)
    assert after.splits in (5, 10)  # twice as many where five do not tell
    assert after.holds is False and after.advice != "MinimaxPCA"
    assert "which does not hold" in after.text
    assert every.held_out.low < every.held_out.value < every.held_out.high


def test_the_same_seed_says_the_same():
    X, planted = datasets.make_planted(200, 6, 2, 40, random_state=1)
    one, two = (afterwards(X, planted, 2, splits=2, random_state=5).to_dict() for _ in range(2))
    assert one == two


@pytest.mark.parametrize(
    ("worst", "gain", "advice"),
    [
        ((0.638, 0.717, 0.5742), (0.224, 0.147, 0.301), "MinimaxPCA"),
        ((0.638, 0.717, 0.5743), (0.224, 0.147, 0.301), "more components"),
        ((0.638, 0.717, 0.427), (0.224, -0.001, 0.449), "more components"),
        ((0.638, 0.717, 0.427), (0.1, 0.03, 0.17), "more components"),
        ((0.638, 0.5642, 0.5079), (0.224, 0.147, 0.301), "Fair PCA"),
        ((0.638, 0.5642, 0.427), None, "MinimaxPCA"),
    ],
)  # fmt: skip
def test_what_to_do_follows_from_the_numbers(worst, gain, advice):
    after = known.afterwards(worst, gain)
    assert after.advice == advice and after.brief_text.startswith(f"Use {advice}")
    shown = {"MinimaxPCA": worst, "Fair PCA": worst[1:2], "more components": worst[1:2]}[advice]
    assert all(f"{loss:.2f}" in after.brief_text for loss in shown)
    assert after.text.endswith(after.brief_text)
    assert known.audit(afterwards=after).answer.advice == after.brief_text


def test_the_numbers_are_told():
    after = known.afterwards()
    shared, fair, every = after.lines
    numbers = (shared.group_loss, fair.worst_loss, every.worst_loss, after.bound)
    assert all(f"{value:.3g}" in after.text for value in numbers)
    assert "22% (15 to 30), which holds" in after.text


def test_several_groups_are_mitigated_together():
    """Fair PCA is for both; the first has the size that is searched, the larger loss is told."""
    X, labels = datasets.make_planted(400, 10, 2, [60, 50], random_state=0)
    after = afterwards(X, labels, 2, splits=2)
    fair = FairPCA(2).fit(X, groups=labels)
    shared, mended, _ = after.lines
    assert (after.n_groups, after.size) == (2, int(np.sum(labels == 1)))
    assert shared.group_loss == pytest.approx(fair.baseline_losses_[1:].max())
    losses = getattr(fair, "rank_d_losses_", fair.losses_)
    assert mended.group_loss == pytest.approx(losses[1:].max())
    overlap = max(
        np.sum(mended.worst & (labels == g)) / np.sum(mended.worst | (labels == g)) for g in (1, 2)
    )
    assert mended.shared == pytest.approx(overlap) and after.splits == 2
    assert after.text.startswith("Under PCA the worst off of 2 groups lose ")
