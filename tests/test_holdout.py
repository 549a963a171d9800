from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

import naive
from leftout import MaxDisparityPartition, datasets, holdout
from leftout.evidence.chance import Task
from leftout.evidence.holdout import HeldOut, held_out
from leftout.solvers import Alternating, Sorting


@pytest.fixture(scope="module")
def planted():
    return datasets.make_planted(400, 8, 2, 80, random_state=0)[0]


@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize(("loss", "centering"), [("excess", "global"), ("projection_gap", "none")])
def test_one_split_is_fit_predict_and_the_definition(planted, loss, centering, wide):
    X = planted
    if wide:
        X = np.hstack([X[:120], 0.1 * np.random.default_rng(1).standard_normal((120, 240))])
    half, size = len(X) // 2, len(X) // 10
    search = MaxDisparityPartition(
        2, solver=Sorting(split="matched"), loss=loss, centering=centering, min_group_size=2
    )
    got, share = holdout._one_split(
        Task.of(search, X), X[:half], X[half:], size, np.random.default_rng(0)
    )
    labels = search.set_params(group_size=size).fit(X[:half]).predict(X[half:])
    want = naive.signed_disparity(X[half:], labels, 2, loss, centering)
    assert got == pytest.approx(want, rel=1e-9) and share == labels.mean()


def test_a_planted_group_returns(planted):
    search = MaxDisparityPartition(2, random_state=0)
    found = held_out(search, planted, group_size=80, splits=6, chance=9)
    assert found.group_size == 40 and len(found.disparities) == 6 and len(found.chance) == 9
    assert found.low > 0 and found.p_value == 0.1
    assert abs(found.shares.mean() - 0.2) < 0.05
    as_share = held_out(search, planted, group_size=0.2, splits=6, chance=0)
    assert np.array_equal(as_share.disparities, found.disparities)
    assert as_share.p_value is None and as_share.to_dict()["chance"]["mean"] is None


def test_jobs_change_nothing(planted):
    results = [
        held_out(
            MaxDisparityPartition(2, random_state=1, n_jobs=jobs),
            planted,
            group_size=80,
            splits=2,
            chance=3,
        )
        for jobs in (1, 2)
    ]
    assert np.array_equal(results[0].disparities, results[1].disparities)
    assert np.array_equal(results[0].chance, results[1].chance)


def test_interval_is_the_corrected_t():
    values = np.array([0.2, 0.3, 0.25, 0.4])
    found = HeldOut(group_size=5, disparities=values, shares=values, chance=np.array([0.1, 0.5]))
    half = stats.t.ppf(0.975, 3) * values.std(ddof=1) * np.sqrt(1 / 4 + 1)
    assert found.low == pytest.approx(values.mean() - half)
    assert found.high == pytest.approx(values.mean() + half)
    assert found.p_value == 2 / 3
    one = HeldOut(group_size=5, disparities=values[:1], shares=values[:1], chance=np.empty(0))
    assert np.isnan(one.low) and one.to_dict()["low"] is None


def test_nobody_on_a_side_is_no_gap(monkeypatch, planted):
    search = MaxDisparityPartition(2, solver=Alternating(n_starts=2), random_state=0)
    task = Task.of(search, planted)
    far = planted[200:] * 1e-6  # nothing to gain for any of these
    assert holdout._one_split(task, planted[:200], far, 40, np.random.default_rng(0))[0] == 0.0


def test_bad_options(planted):
    search = MaxDisparityPartition(2)
    with pytest.raises(ValueError, match="splits=0 is not a count"):
        held_out(search, planted, group_size=80, splits=0)
    with pytest.raises(ValueError, match="group_size='evidence' is neither"):
        held_out(search, planted, group_size="evidence")


def test_no_row_is_searched_and_judged_in_one_split(monkeypatch):
    halves = []

    def keep(task, searched, judged, size, rng):
        halves.append([set(half[:, 0].tolist()) for half in (searched, judged)])
        return 0.5, 0.25

    monkeypatch.setattr("leftout.evidence.holdout._one_split", keep)
    X, _ = datasets.make_planted(61, 4, 1, 15, random_state=0)
    search = MaxDisparityPartition(1, min_group_size=10, random_state=0)
    found = holdout.held_out(search, X, group_size=16, splits=4, chance=2)
    assert found.disparities.tolist() == [0.5] * 4 and found.shares.tolist() == [0.25] * 4
    assert found.chance.tolist() == [0.5] * 2 and found.group_size == 8
    for searched, judged in halves[:4]:
        assert not searched & judged and searched | judged == set(X[:, 0].tolist())
        assert (len(searched), len(judged)) == (30, 31)
    assert len({frozenset(searched) for searched, _ in halves[:4]}) == 4
