"""The companion function, and files that appear whole or not at all."""

from __future__ import annotations

import json

import numpy as np
import pytest

import leftout
from leftout import MaxDisparityPartition, datasets, trust
from leftout.files import write_whole
from leftout.solvers import Alternating

QUICK = {"sizes": 5, "chance": 19, "runs": 4, "splits": 4}


@pytest.fixture(scope="module")
def planted():
    return datasets.make_planted(300, 8, 2, 60, random_state=0)


@pytest.fixture(scope="module")
def real(planted):
    return trust(MaxDisparityPartition(2, random_state=0), planted[0], **QUICK)


def test_a_planted_group_is_trusted(real, planted):
    assert isinstance(real, leftout.Trust)
    assert real.beyond_chance and real.p_value == real.profile.chance["copula"].p_value == 0.05
    assert real.chosen == "evidence" and real.group_size == real.profile.evidence_size
    assert real.partition.sizes_[1] == real.group_size and abs(real.group_size - 60) <= 12
    assert real.held_out.low > 0 and real.stability.mean > 0.9
    labels = real.partition.labels_
    assert np.sum(labels & planted[1]) / np.sum(labels | planted[1]) > 0.8
    text = real.summary()
    for words in (
        "unlikely to be chance: p = 0.05 over 5 sizes (19 copula",
        "groups found in chance tables keep",
        "4 runs",
    ):
        assert words in text
    assert "NOT" not in text


def test_noise_is_not(planted):
    X = np.random.default_rng(3).standard_normal((200, 6))
    found = trust(MaxDisparityPartition(2, random_state=0), X, **QUICK | {"kinds": ["copula"]})
    assert found.beyond_chance is False and found.p_value > 0.05
    assert "It may well be chance" in found.summary() and "not as a finding" in found.summary()
    assert found.partition.sizes_[1] == found.group_size  # still the best partition


def test_a_size_that_is_asked_for(planted):
    search = MaxDisparityPartition(2, random_state=0, group_size=7)
    found = trust(search, planted[0], group_size=70, **QUICK)
    assert found.group_size == 70 == found.partition.sizes_[1] and found.chosen == "given"
    assert 70 in found.profile.sizes
    place = found.profile.sizes.tolist().index(70)
    assert found.p_value == found.profile.main.p_values[place]
    assert "at this size" in found.summary() and search.group_size == 7


def test_as_plain_data(real, tmp_path):
    path = real.to_json(tmp_path / "trust.json")
    data = json.loads(path.read_text())
    assert data == json.loads(json.dumps(real.to_dict()))
    assert data["p_value"] == 0.05 and len(data["profile"]) == 5
    assert set(data["profile"][0]) == {"size", "disparity", "bound", "chance"}
    assert set(data["profile"][0]["chance"]["copula"]) == {"mean", "low", "high", "p_value"}
    assert data["stability"]["runs"] == 4 and len(data["stability"]["jaccard_matrix"]) == 4
    assert data["held_out"]["splits"] == 4
    assert [p.name for p in tmp_path.iterdir()] == ["trust.json"]


def test_parts_can_be_left_out(planted):
    search = MaxDisparityPartition(2, solver=Alternating(n_starts=4), random_state=0)
    found = trust(search, planted[0], group_size=0.2, sizes=3, chance=0, runs=1, splits=0)
    assert found.group_size == 60 and found.p_value is None and found.beyond_chance is None
    assert found.held_out is None and found.stability is None
    assert "Chance was not tested" in found.summary()
    json.dumps(found.to_dict())


def test_what_cannot_be_judged_is_said():
    X = np.random.default_rng(0).standard_normal((31, 20))
    search = MaxDisparityPartition(17, min_group_size=5, random_state=0)
    found = trust(search, X, sizes=3, chance=4, kinds="gaussian", runs=2, splits=2)
    assert found.held_out is None
    assert "could not be judged. Half of the rows, 15, have too few dim" in found.summary()


def test_unlucky_halves_are_passed_over():
    """Both ones of a rare column may be in the other half, and its dimension with them."""
    rng = np.random.default_rng(0)
    X = np.hstack([rng.standard_normal((60, 3)), np.zeros((60, 1))])
    X[:2, 3] = 5.0
    search = MaxDisparityPartition(3, min_group_size=5, random_state=0)
    found = trust(search, X, sizes=3, chance=4, kinds="copula", runs=0, splits=12)
    assert 2 <= len(found.held_out.disparities) < 12


def test_few_chance_tables_cannot_tell(planted):
    search = MaxDisparityPartition(2, solver=Alternating(n_starts=5), random_state=0)
    found = trust(search, planted[0], sizes=3, chance=18, kinds="copula", runs=0, splits=1)
    assert found.p_value == 1 / 19 and found.beyond_chance is None
    assert "takes 19 chance tables, and there were 18" in found.summary()
    assert "one split, so with no interval" in found.summary()


def test_seeds_of_a_part_do_not_depend_on_the_others(planted):
    search = MaxDisparityPartition(2, solver=Alternating(n_starts=5), random_state=0)
    options = {"sizes": 3, "chance": 3}
    alone = leftout.evidence.chance.profile(search, planted[0], kinds="gaussian", **options)
    found = trust(search, planted[0], runs=3, splits=2, **options)
    assert np.array_equal(alone.chance["gaussian"].curves, found.profile.chance["gaussian"].curves)


def test_chance_that_is_no_fair_comparison_is_doubted():
    """Nearly equal columns that are not gaussian: their difference is lost in redrawing."""
    rng = np.random.default_rng(0)
    Z = np.round(np.exp(rng.standard_normal((300, 4))), 1)
    X = np.hstack([Z, Z + 0.02 * rng.exponential(size=(300, 4))])
    search = MaxDisparityPartition(4, solver=Alternating(n_starts=5), random_state=0)
    found = trust(search, X, sizes=3, chance=4, kinds="copula", runs=0, splits=0)
    assert abs(found.profile.main.residual - 1) > 0.1 and "with care" in found.summary()


@pytest.mark.parametrize("seed", range(3))
def test_wide_noise_is_chance(seed):
    X = np.random.default_rng(seed).standard_normal((40, 60))
    search = MaxDisparityPartition(
        8, min_group_size=8, solver=Alternating(n_starts=8), random_state=seed
    )
    found = trust(search, X, sizes=3, chance=19, kinds="copula", runs=0, splits=0)
    assert found.p_value > 0.05 and found.profile.main.residual == pytest.approx(1.0, abs=0.1)


def test_the_estimators_own_size(planted):
    search = MaxDisparityPartition(2, group_size=50, solver=Alternating(n_starts=5), random_state=0)
    options = {"sizes": 3, "chance": 2, "runs": 0, "splits": 0}
    assert trust(search, planted[0], **options).group_size == 50
    assert trust(search, planted[0], group_size="evidence", **options).chosen == "evidence"


AT_LEAST_50 = MaxDisparityPartition(2, min_group_size=50)


@pytest.mark.parametrize(
    ("estimator", "options", "error", "text"),
    [
        (AT_LEAST_50, {"group_size": 20}, ValueError, "at least 50"),
        (AT_LEAST_50, {"sizes": [20, 60]}, ValueError, "at least 50"),
        (MaxDisparityPartition(2, solver="greedy"), {}, ValueError, "chooses the size itself"),
        (MaxDisparityPartition(0.0), {}, ValueError, "n_components=0.0 is neither"),
        (MaxDisparityPartition(2), {"group_size": 300}, ValueError, "asks for 300 of 300 rows"),
        ("search", {}, ValueError, "where a MaxDisparityPartition is needed"),
    ],
)
def test_refusals_come_first(planted, estimator, options, error, text):
    told = []
    with pytest.raises(error, match=text):
        trust(estimator, planted[0], progress=lambda *step: told.append(step), **options)
    assert told == []


def test_evidence_needs_chance(planted):
    with pytest.raises(ValueError, match="no chance tables were asked for"):
        trust(MaxDisparityPartition(2), planted[0], chance=0)
    with pytest.raises(ValueError, match=r"leftout\.trust"):
        MaxDisparityPartition(2, group_size="evidence").fit(planted[0])
    for options in ({"runs": -1}, {"splits": 1.5}):
        with pytest.raises(ValueError, match="is not a whole number"):
            trust(MaxDisparityPartition(2), planted[0], **options)


def test_steps_are_counted_to_the_end(planted, capsys):
    told = []
    options = {"sizes": 3, "chance": 3, "runs": 2, "splits": 2}
    search = MaxDisparityPartition(2, solver=Alternating(n_starts=2), random_state=0)
    trust(search, planted[0], progress=lambda *step: told.append(step), **options)
    assert told[-1][1] == told[-1][2] == 2 + 6 + 4 + 2
    trust(search, planted[0], progress=True, **options)
    lines = capsys.readouterr().err.splitlines()
    assert lines[-1] == "leftout: runs, 14 of 14 steps"


@pytest.mark.parametrize("jobs", [1, 2])
def test_an_interrupt_comes_through(planted, jobs):
    def interrupt(what, done, total):
        if done == 4:
            raise KeyboardInterrupt

    search = MaxDisparityPartition(2, solver=Alternating(n_starts=2), n_jobs=jobs)
    with pytest.raises(KeyboardInterrupt):
        trust(search, planted[0], progress=interrupt, **QUICK)


def test_files_appear_whole_or_not_at_all(tmp_path, monkeypatch):
    path = write_whole(tmp_path / "a.txt", "first")
    assert path.read_text() == "first" and oct(path.stat().st_mode & 0o777) in ("0o644", "0o664")

    def fail(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("leftout.files.os.replace", fail)
    with pytest.raises(KeyboardInterrupt):
        write_whole(path, b"second")
    assert path.read_text() == "first" and [p.name for p in tmp_path.iterdir()] == ["a.txt"]
    with pytest.raises(FileNotFoundError, match="Create it first"):
        write_whole(tmp_path / "none" / "a.txt", "x")


def test_held_out_rows_are_judged_by_at_most_39_chance_tables(monkeypatch):
    X, _ = datasets.make_planted(60, 4, 1, 15, random_state=0)
    search = MaxDisparityPartition(1, min_group_size=10, random_state=0)
    monkeypatch.setattr("leftout.evidence.trusting._doubts", lambda profile: ["A doubt."])
    for tables, judged in ((5, 5), (41, 39)):
        found = trust(
            search, X, group_size=15, sizes=1, chance=tables, kinds="gaussian", runs=0, splits=2
        )
        assert found.profile.main.surrogates == tables and len(found.held_out.chance) == judged
        assert found.notes == ["A doubt."]  # once
