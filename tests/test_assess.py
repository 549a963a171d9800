"""Evidence for a group, from a search to what it says."""

from __future__ import annotations

import json

import numpy as np
import pytest

import leftout
from leftout import MaxDisparityPartition, datasets, how_many, trust
from leftout.evidence.assess import assess
from leftout.explain import feature_losses
from leftout.files import write_whole
from leftout.groups.sizes import worst_tenth
from leftout.solvers import Alternating

QUICK = {"n_surrogates": 19, "n_restarts": 3, "splits": 3, "parts": 4}


ALONE = {"n_restarts": 0, "splits": 0, "parts": 0}


def search(**options):
    return MaxDisparityPartition(2, solver=Alternating(n_starts=8), random_state=0, **options)


@pytest.fixture(scope="module")
def planted():
    return datasets.make_planted(300, 8, 2, 30, random_state=0)


@pytest.fixture(scope="module")
def real(planted):
    return trust(MaxDisparityPartition(2, random_state=0), planted[0], **QUICK)


@pytest.fixture(scope="module")
def noise():
    X = np.random.default_rng(3).standard_normal((200, 6))
    return trust(search(), X, **QUICK)


def test_a_planted_group_is_a_distinct_group(real, planted):
    assert isinstance(real, leftout.Trust) and real.verdict == "A" and real.beyond_chance is True
    assert real.group_size == 30 == real.partition.sizes_[1]
    main = real.chance["copula"]
    assert real.p_value == main.p_value == 0.05 and real.p_gaussian is None
    # where tables with the same values decide, nine others are enough for their part
    assert real.chance["gaussian"].surrogates == 9
    assert real.held_out.agree
    assert real.held_out.gap.low > 0 and real.stability.jaccard_mean > 0.9
    group = real.partition.labels_ == 1
    assert np.sum(group & (planted[1] == 1)) > 27
    assert np.array_equal(real.membership.group, group) and real.membership.n_members > 20


def test_parts_of_the_loss(real, planted):
    parts, chance = real.parts, real.chance
    gaussian, copula = chance["gaussian"].mean, chance["copula"].mean
    want = [gaussian, copula - gaussian, real.searched - copula]
    assert [part.loss for part in parts.each().values()] == pytest.approx(want)
    assert parts.own.loss > parts.covariance.loss > parts.values.loss
    split = np.subtract(*feature_losses(planted[0], real.partition.labels_, 2)[::-1])
    own = real.searched / split.sum() * split - chance["copula"].by_feature
    first, second = np.argsort(-own)[:2]
    assert parts.own.carriers == [f"x{first}", f"x{second}"]
    assert (parts.covariance.p_value, parts.values.p_value, parts.own.p_value) == (None, 0.05, 0.05)


def test_noise_is_nothing_beyond_its_covariance(noise):
    assert noise.verdict == "D" and noise.beyond_chance is False
    assert noise.p_value > 0.05 and noise.p_gaussian > 0.05 and not noise.held_out.agree
    assert noise.p_gaussian == noise.chance["gaussian"].p_value
    assert noise.partition.sizes_[1] == noise.group_size == 20  # still the best partition


def test_rare_values_explain_a_loss():
    """A column that is one in 3% of the rows, and nothing else about these."""
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.standard_normal((300, 5)) * 0.2, np.arange(300) < 9])
    found = trust(search(), X, **QUICK)
    assert found.verdict == "C" and found.p_gaussian <= 0.05 < found.p_value
    assert found.parts.values.carriers == ["x5"]
    assert "rare or skewed values make the difference. " in found.verdict_says
    assert "rare or skewed values of x5" in found.verdict_says


def test_a_size_that_is_asked_for(planted):
    estimator = search(group_size=70)
    found = trust(estimator, planted[0], **QUICK)
    assert found.group_size == 70 == found.partition.sizes_[1]
    assert "70 of 300 rows" in found.summary() and estimator.group_size == 70
    assert trust(search(group_size=0.2), planted[0], n_surrogates=0, **ALONE).group_size == 60


def test_a_group_that_was_found_already(planted):
    found = search(group_size=30).fit(planted[0])
    (only,) = assess(search(), planted[0], n_surrogates=0, found=found, **ALONE)
    assert only.partition is found


@pytest.mark.parametrize(
    ("smallest", "rows", "d", "size"),
    [
        *((None, 1000, 3, 100), (None, 1000, 50, 100), (None, 1000, 51, 102), (None, 190, 3, 20)),
        *((None, 60, 3, 15), (None, 3, 1, 1), (150, 1000, 3, 150), (0.2, 1000, 3, 200)),
        *((5, 150, 3, 15), (None, 1_005, 3, 100)),
    ],
)
def test_the_worst_tenth(smallest, rows, d, size):
    assert worst_tenth(smallest, rows, d) == size


def test_a_default_minimum_is_not_that_of_a_given_size(planted):
    """Twenty rows are fewer than five for each column, a minimum that nobody asked for."""
    X = planted[0][:90]
    assert trust(search(), X, n_surrogates=2, **ALONE).group_size == 20


def test_the_smallest_group_may_be_half(planted):
    found = trust(search(min_group_size=150), planted[0], n_surrogates=3, **ALONE)
    assert found.group_size == 150


def test_the_size_with_the_most_evidence():
    X, labels = datasets.make_planted(300, 8, 2, 60, random_state=0)
    estimator = MaxDisparityPartition(2, random_state=0)
    (found,) = how_many(estimator, X, n_surrogates=19, most=1, sizes=15).looked
    assert found.counts and 35 <= found.size <= 65
    assert found.p_value == 0.05 and found.n_sizes == 15
    group = estimator.set_params(group_size=found.size).fit(X).labels_ == 1
    assert labels[group].mean() > 0.95


def test_without_evidence_there_is_no_evidence_size():
    X = np.random.default_rng(3).standard_normal((200, 6))
    (found,) = how_many(search(), X, n_surrogates=99, most=1, sizes=15).looked
    assert not found.counts and found.p_value > 0.05


def test_as_plain_data(real, tmp_path):
    path = real.to_json(tmp_path / "trust.json")
    data = json.loads(path.read_text(), parse_constant=pytest.fail)  # no NaN
    assert data == real.to_dict()
    assert (data["p_value"], data["p_gaussian"], data["verdict"]) == (0.05, None, "A")
    assert data["verdict_says"] == real.verdict_says and data["beyond_chance"] is True
    assert data["parts"]["own"]["loss"] == real.parts.own.loss
    assert data["held_out"]["gap"] == real.held_out.gap._asdict()
    assert data["membership"]["n_members"] == real.membership.n_members
    assert "shares" not in data["membership"]
    assert data["chance"]["copula"]["mean"] == real.chance["copula"].mean
    assert data["chance"]["copula"]["surrogates"] == 19
    assert data["stability"]["runs"] == 3 and len(data["stability"]["jaccard_matrix"]) == 3
    assert data["held_out"]["splits"] == 3 and len(data["held_out"]["gaps"]) == 3
    assert [p.name for p in tmp_path.iterdir()] == ["trust.json"]


def test_what_is_left_out_is_said(planted):
    found = trust(search(), planted[0], n_surrogates=0, **ALONE)
    assert found.p_value is found.p_gaussian is found.beyond_chance is found.verdict is None
    assert found.held_out is found.membership is found.stability is found.parts is None
    assert found.verdict_name is None and found.chance == {}
    _, verdict, tables = found.summary().splitlines()
    assert verdict == (
        "Verdict: Not tested. What explains the loss was not tested: that takes 19 "
        "surrogates of each kind, and halves of the rows."
    )
    assert tables == (
        "Surrogates: The table was not compared with copula surrogates (same values and "
        "correlations)."
    )
    json.dumps(found.to_dict(), allow_nan=False)


def test_halves_that_were_not_searched_say_nothing(planted):
    found = trust(search(), planted[0], n_surrogates=19, **ALONE)
    assert found.beyond_chance is True and found.verdict is None
    assert "halves of the table point" not in found.summary()


def test_few_tables_cannot_tell(planted):
    found = trust(search(), planted[0], n_surrogates=5, **ALONE | {"splits": 1})
    assert found.p_value == found.p_gaussian == 1 / 6
    assert found.beyond_chance is None and found.verdict is None
    assert found.parts.total == pytest.approx(found.searched)  # these need no test
    says = "To judge takes 19 surrogates, and there were 5: p is never below 0.17."
    assert found.chance_text == says and says in found.summary()


def test_what_cannot_be_judged_is_said():
    X = np.random.default_rng(0).standard_normal((31, 20))
    estimator = MaxDisparityPartition(17, min_group_size=5, random_state=0)
    found = trust(estimator, X, n_surrogates=4, n_restarts=2, splits=2, parts=2)
    assert found.held_out is None and found.membership is not None
    assert "could not be searched. Half of the rows, 15, have too few dim" in found.summary()


def test_unlucky_halves_are_passed_over():
    """Both ones of a rare column may be in the other half, and its dimension with them."""
    rng = np.random.default_rng(0)
    X = np.hstack([rng.standard_normal((60, 3)), np.zeros((60, 1))])
    X[:2, 3] = 5.0
    estimator = MaxDisparityPartition(3, min_group_size=5, random_state=0)
    found = trust(estimator, X, n_surrogates=0, n_restarts=0, splits=12, parts=0)
    assert 1 <= found.held_out.splits < 12 and np.isfinite(found.held_out.gaps).all()


def same(a, b):
    """Whether two answers are the same, in all that they say and hold."""
    assert a.to_dict() == b.to_dict() and a.summary() == b.summary()
    assert np.array_equal(a.partition.labels_, b.partition.labels_)
    assert np.array_equal(a.membership.shares, b.membership.shares)
    for kind, chance in a.chance.items():
        assert np.array_equal(chance.disparities, b.chance[kind].disparities)


def test_jobs_change_nothing_and_seeds_decide(planted):
    one = trust(search(n_jobs=1), planted[0], **QUICK)
    same(one, trust(search(n_jobs=2), planted[0], **QUICK))
    same(one, trust(search(n_jobs=1), planted[0], **QUICK))
    other = trust(search().set_params(random_state=1), planted[0], **QUICK)
    assert not np.array_equal(other.held_out.gaps, one.held_out.gaps)


def test_seeds_of_a_part_do_not_depend_on_the_others(planted, real):
    alone = trust(MaxDisparityPartition(2, random_state=0), planted[0], **QUICK | {"n_restarts": 0})
    assert np.array_equal(alone.held_out.gaps, real.held_out.gaps)
    assert np.array_equal(alone.membership.shares, real.membership.shares)
    without = trust(
        MaxDisparityPartition(2, random_state=0), planted[0], **QUICK | {"splits": 0, "parts": 0}
    )
    assert np.array_equal(without.stability.labels, real.stability.labels)
    mine, theirs = (one.chance["copula"].disparities for one in (without, real))
    assert np.array_equal(mine, theirs)


def test_heavy_tails_are_winsorised():
    """Heavy-tailed factors: rank correlations are larger in the table than beside it."""
    rng = np.random.default_rng(3)
    A = rng.standard_normal((6, 6)) * np.geomspace(1.0, 0.3, 6)
    X = rng.standard_t(2.5, (400, 6)) @ A
    X[:40] = rng.standard_normal((40, 6)) @ rng.standard_normal((6, 6)) * 3.0
    found = trust(search(), X, n_surrogates=19, **ALONE)
    assert found.chance["copula"].ranks_miss > 0.03 and found.p_value <= 0.05
    assert found.p_winsorized is not None and "columns have heavy tails" in found.notes[0]
    assert f"{found.chance['copula'].ranks_miss:.2f} larger in the table" in found.summary()


def test_tables_that_are_no_fair_comparison_are_doubted():
    """Nearly equal columns that are not gaussian: their difference is lost in redrawing."""
    rng = np.random.default_rng(0)
    Z = np.round(np.exp(rng.standard_normal((300, 4))), 1)
    X = np.hstack([Z, Z + 0.02 * rng.exponential(size=(300, 4))])
    found = trust(search().set_params(n_components=4), X, n_surrogates=4, **ALONE)
    assert abs(found.chance["copula"].residual - 1) > 0.1 and "with care" in found.summary()


@pytest.mark.parametrize("seed", range(3))
def test_wide_noise_is_explained(seed):
    X = np.random.default_rng(seed).standard_normal((40, 60))
    estimator = MaxDisparityPartition(
        8, min_group_size=8, solver=Alternating(n_starts=8), random_state=seed
    )
    found = trust(estimator, X, n_surrogates=19, **ALONE)
    assert found.p_value > 0.05 and found.chance["copula"].residual == pytest.approx(1.0, abs=0.1)


@pytest.mark.parametrize(
    ("estimator", "options", "text"),
    [
        (MaxDisparityPartition(2, min_group_size=50, group_size=20), {}, "at least 50"),
        (MaxDisparityPartition(2, solver="greedy"), {}, "chooses the size itself"),
        (MaxDisparityPartition(0.0), {}, "n_components=0.0 is neither"),
        (MaxDisparityPartition(2, group_size=300), {}, "asks for 300 of 300 rows"),
        (MaxDisparityPartition(2), {"n_restarts": -1}, "n_restarts=-1 is not a whole number"),
        (MaxDisparityPartition(2), {"splits": 1.5}, "splits=1.5 is not a whole number"),
        (MaxDisparityPartition(2), {"parts": -1}, "parts=-1 is not a whole number"),
        ("search", {}, "where a MaxDisparityPartition is needed"),
    ],
)
def test_refusals_come_first(planted, estimator, options, text):
    told = []
    with pytest.raises(ValueError, match=text):
        trust(estimator, planted[0], progress=lambda *step: told.append(step), **options)
    assert told == []


def test_an_estimator_has_no_evidence(planted):
    with pytest.raises(ValueError, match=r"leftout\.audit"):
        MaxDisparityPartition(2, group_size="evidence").fit(planted[0])


def test_steps_never_go_back_or_beyond(planted, capsys):
    told = []
    options = {"n_surrogates": 30, "n_restarts": 2, "splits": 2, "parts": 3}
    trust(search(), planted[0], progress=lambda *step: told.append(step), **options)
    done = [each for _, each, _ in told]
    assert done == sorted(done) and {total for *_, total in told} == {1 + 19 + 19 + 2 + 2 + 3}
    # the Gaussian surrogates were nine
    assert done[-1] == 1 + 19 + 9 + 2 + 2 + 3
    whats = list(dict.fromkeys(what for what, *_ in told))
    assert whats[:3] == ["the table", "copula surrogates", "gaussian surrogates"]
    assert whats[3:] == ["halves", "subsamples", "restarts"]
    trust(search(), planted[0], progress=True, n_surrogates=3, **ALONE | {"splits": 2})
    assert capsys.readouterr().err.splitlines()[-1] == "leftout: halves, 9 of 9 steps"


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
