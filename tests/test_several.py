"""More than one left-out group: against enumeration, against peeling, and against itself."""

from __future__ import annotations

import pickle
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment
from sklearn.base import clone

import leftout
import naive
import tolerances
from leftout import MaxDisparityPartition, datasets
from leftout.groups.problem_setup import build_problem
from leftout.linalg.assignment import Partition, assign, row_values
from leftout.linalg.losses import CENTERINGS, LOSSES
from leftout.solvers import Alternating, Annealing, SolverContext, Sorting
from leftout.solvers.alternating import refine
from leftout.solvers.multi import exchanged, peel, split_anew

QUICK = Alternating(n_starts=12)


def tiny(seed):
    rng = np.random.default_rng(seed)
    m, n = int(rng.integers(6, 10)), int(rng.integers(2, 5))
    M = rng.standard_normal((m, n)) @ rng.standard_normal((n, n))
    if seed % 4 == 0:
        M = np.round(4 * M)  # ties
    d = min(int(rng.integers(1, n)), np.linalg.matrix_rank(M - M.mean(axis=0)) - 1)
    return M, d, rng.integers(1, m // 3 + 1, 2).tolist()


TABLES = 100


def test_the_optimum_of_tiny_tables_is_found_and_never_exceeded():
    hits = 0
    for seed in range(TABLES):
        M, d, sizes = tiny(seed)
        best = naive.best_two_groups(M, d, [sizes])
        found = MaxDisparityPartition(
            d, n_groups=2, group_size=sizes, solver=QUICK, random_state=seed
        ).fit(M)
        assert sorted(found.sizes_[1:]) == sorted(sizes)
        value = naive.value_of_groups(M, found.labels_, d)
        rounding = tolerances.of_rows(naive.seen_by_pca(M, "global"), d)
        assert found.disparity_ == pytest.approx(value, rel=1e-9, abs=rounding)
        assert value <= best + rounding
        hits += value >= best - rounding
    assert hits >= 0.95 * TABLES


def test_the_optimum_of_tiny_tables_whose_sizes_are_free():
    hits, tables = 0, 20
    for seed in range(tables):
        M, d, _ = tiny(seed)
        m = len(M)
        allowed = [(a, b) for a in range(1, m - 1) for b in range(a, m - a)]
        best = naive.best_two_groups(M, d, allowed)
        found = MaxDisparityPartition(
            d, n_groups=2, min_group_size=1, solver=QUICK, random_state=seed
        ).fit(M)
        rounding = tolerances.of_rows(naive.seen_by_pca(M, "global"), d)
        value = naive.value_of_groups(M, found.labels_, d)
        assert value <= best + rounding
        hits += value >= best - rounding
    assert hits >= 0.9 * tables


@pytest.mark.parametrize("sizes", [[20, 35], [30, 30, 30], [12, 40, 25, 18]])
@pytest.mark.parametrize("seed", range(3))
def test_refining_never_falls_below_peeling(mixed, sizes, seed):
    problem = build_problem(mixed, 3, "excess", "global", 10, None).problem
    means = SolverContext(rng=np.random.default_rng(seed))
    peeled = Partition.of(problem, peel(QUICK, problem, len(sizes), sizes, means), len(sizes) + 1)
    together = refine(problem, peeled)
    swapped, _ = exchanged(problem, together, free=False)
    assert peeled.value <= together.value <= swapped.value
    assert swapped.value == pytest.approx(naive.value_of_groups(mixed, swapped.labels, 3), rel=1e-9)
    assert swapped.sizes[1:].tolist() == sizes
    moved, _ = exchanged(problem, together, free=True)
    assert moved.value >= together.value and moved.sizes.min() >= 10
    found = MaxDisparityPartition(
        3, n_groups=len(sizes), group_size=sizes, solver=QUICK, random_state=seed
    ).fit(mixed)
    assert np.all(np.diff(found.history_["disparity"]) >= 0.0)
    assert found.history_["disparity"][-1] == pytest.approx(found.disparity_, rel=1e-9)


def planted_sides(seed, strength):
    X, planted = datasets.make_planted(400, 12, 3, [40, 100], strength, random_state=seed)
    problem = build_problem(X, 3, "excess", "global", 10, None).problem
    return X, problem, Partition.of(problem, planted.astype(np.int8), 3)


@pytest.mark.parametrize("seed", range(4))
def test_groups_exchange_their_sizes_where_that_raises_the_value(seed):
    """40 strong rows at the size of 100, 100 others at theirs: refining keeps the sizes."""
    X, problem, right = planted_sides(seed, [1.5, 1.0])
    labels = np.where(right.labels == 1, 2, 0).astype(np.int8)
    labels[np.flatnonzero(right.labels == 2)[:40]] = 1
    labels[np.flatnonzero(right.labels == 0)[:60]] = 2
    wrong = Partition.of(problem, labels, 3)
    rng = np.random.default_rng(seed)
    better = split_anew(problem, wrong, rng)
    assert sorted(better.sizes) == sorted(wrong.sizes) == [40, 100, 260]
    assert better.value >= right.value > wrong.value
    assert better.value == pytest.approx(naive.value_of_groups(X, better.labels, 3), rel=1e-9)
    assert split_anew(problem, better, rng) is better


@pytest.mark.parametrize("seed", range(4))
def test_a_small_group_does_not_take_a_large_one_s_extreme_rows(seed):
    """Then its own disparity is larger, but the rows left out lose less on average."""
    X, problem, right = planted_sides(seed, 1.0)
    start = refine(problem, right)
    swapped = [260, 100, 40]
    # each at the other's size, rows copied to seats
    values = problem.row_losses(start.own).T * [-1 / 260, 1 / 100, 1 / 40]
    seats = np.repeat(np.arange(3), swapped)
    labels = seats[linear_sum_assignment(values[:, seats], maximize=True)[1]].astype(np.int8)
    extreme = Partition.of(problem, labels, 3)
    assert extreme.disparities.mean() > start.disparities.mean()
    assert extreme.value < start.value
    assert split_anew(problem, start, np.random.default_rng(seed)).sizes.tolist() == [260, 40, 100]


@pytest.mark.parametrize("seed", range(4))
def test_two_groups_that_each_hold_rows_of_both_are_parted(seed):
    """Refining alone often keeps them mixed."""
    X, problem, right = planted_sides(seed, 1.0)
    rng = np.random.default_rng(seed)
    labels = right.labels.copy()
    labels[labels > 0] = rng.permutation(labels[labels > 0])
    mixed = Partition.of(problem, labels, 3)
    parted = split_anew(problem, mixed, rng)
    assert parted.sizes.tolist() == mixed.sizes.tolist()
    assert parted.value >= right.value > mixed.value
    assert parted.value == pytest.approx(naive.value_of_groups(X, parted.labels, 3), rel=1e-9)
    assert np.mean(parted.labels == right.labels) > 0.95
    assert split_anew(problem, parted, rng) is parted


@pytest.mark.parametrize("labels", [[0, 1, 1, 2, 2, 2], [1, 2, 3, 0, 0, 1], [0, 0, 1, 1, 1, 1]])
def test_the_value_weighs_each_group_by_its_size(labels):
    M = np.random.default_rng(0).standard_normal((6, 3))
    problem = build_problem(M, 1, "excess", "global", 1, None).problem
    found = Partition.of(problem, np.array(labels, dtype=np.int8), max(labels) + 1)
    assert found.value == pytest.approx(naive.value_of_groups(M, np.array(labels), 1))
    if max(labels) == 1:
        assert found.value == found.disparities[0]  # to the bit


@given(st.integers(0, 2**31))
def test_parts_of_a_group_lose_no_less_than_it_does_as_one(seed):
    """Each part has the best components for itself: so groups are never worth less apart."""
    rng = np.random.default_rng(seed)
    M = rng.standard_normal((30, 4)) * rng.choice([0.1, 1.0, 3.0], 4)
    labels = np.repeat(np.arange(4), [12, 9, 6, 3])
    M = M[rng.permutation(30)]
    apart = naive.value_of_groups(M, labels, 2)
    whole = naive.value_of_groups(M, np.minimum(labels, 1), 2)
    problem = build_problem(M, 2, "excess", "global", 1, None).problem
    assert Partition.of(problem, labels.astype(np.int8), 4).value == pytest.approx(apart)
    assert apart >= whole - 1e-12


@pytest.mark.parametrize("sizes", [[3, 2, 4], [2, 2, 5], [4, 3, 2], [3, 2, 2, 2]])
def test_rows_to_sides_are_best_under_given_sizes_and_components(sizes):
    """Of all ways to seat the rows, by what each side's rows lose under components held fixed."""
    rng = np.random.default_rng(sum(sizes) + sizes[0])
    X, d = rng.standard_normal((9, 4)), 2
    M, V = X - X.mean(axis=0), naive.shared_basis(X, d, "global")
    problem = build_problem(X, d, "excess", "global", 1, None).problem
    own = Partition.of(problem, np.repeat(np.arange(len(sizes), dtype=np.int8), sizes), len(sizes))
    bases = [naive.components(G, d, False) for G in np.split(M, np.cumsum(sizes)[:-1])]
    losses = [np.sum((M @ W) ** 2 - (M @ V) ** 2, axis=1) for W in bases]  # (sides, rows)

    def value(labels):
        each = [losses[side][labels == side].mean() for side in range(len(sizes))]
        return naive.mean_disparity(each, sizes)

    seats = np.repeat(range(len(sizes)), sizes).tolist()
    best = max(value(np.array(labels)) for labels in set(permutations(seats)))
    labels = assign(row_values(problem, own.own, sizes), sizes).labels
    assert np.bincount(labels).tolist() == sizes
    assert value(labels) == pytest.approx(best)


@pytest.fixture(scope="module")
def three():
    X, planted = datasets.make_planted(500, 16, 3, [40, 70, 100], random_state=2)
    search = MaxDisparityPartition(3, n_groups=3, group_size=[70, 40, 100], random_state=0)
    return X + 0.5, planted, search.fit(X + 0.5)


def test_fitted_attributes_agree_with_each_other(three):
    X, planted, found = three
    assert found.n_groups_ == 3 and set(found.labels_) == {0, 1, 2, 3}
    assert found.sizes_.tolist() == np.bincount(found.labels_).tolist()
    assert sorted(found.sizes_[1:]) == [40, 70, 100]
    np.testing.assert_allclose(found.losses_, naive.group_losses(X, found.labels_, 3), rtol=1e-9)
    assert np.all(np.diff(found.losses_[1:]) <= 0.0)  # labels by falling loss
    np.testing.assert_array_equal(found.disparities_, found.losses_[1:] - found.losses_[0])
    assert found.disparity_ == pytest.approx(
        np.average(found.disparities_, weights=found.sizes_[1:])
    )
    assert found.bound_.shape == (3,) and np.all(found.bound_ >= found.disparities_)
    for group, size in enumerate(found.sizes_[1:]):
        alone = MaxDisparityPartition(3, group_size=int(size), random_state=0).fit(X)
        assert found.bound_[group] == alone.bound_
    assert found.group_components_.shape == (4, 3, 16)
    centred, V = X - X.mean(axis=0), naive.shared_basis(X, 3, "global")
    for side in range(4):
        G = centred[found.labels_ == side]
        W = naive.components(G, 3, about_mean=False)
        own = found.group_components_[side]
        np.testing.assert_allclose(own.T @ own, W @ W.T, atol=1e-8)
        for got, basis in ((found.retained_, V), (found.retained_own_, W)):
            np.testing.assert_allclose(got[side], np.sum((G @ basis) ** 2) / np.sum(G**2))
    for group in (1, 2, 3):  # every planted group is one of the found
        held = [np.mean(planted[found.labels_ == label] == group) for label in range(1, 4)]
        assert max(held) > 0.9


def test_each_group_as_a_value(three):
    _, _, found = three
    groups = found.left_out_groups_
    assert len(groups) == 3
    for label, group in enumerate(groups, 1):
        np.testing.assert_array_equal(group.mask, found.labels_ == label)
        assert (group.sizes.group, group.sizes.rest) == (found.sizes_[label], found.sizes_[0])
        assert (group.losses.group, group.losses.rest) == (found.losses_[label], found.losses_[0])
        assert group.share == found.sizes_[label] / 500 and group.n_rows == 500
        assert group.disparity == found.disparities_[label - 1]
        assert group.bound == found.bound_[label - 1]
    np.testing.assert_array_equal(found.left_out_.mask, groups[0].mask)


def test_rows_are_predicted_by_what_they_are_worth(three):
    """Scores and offsets are values and prices; on the rows of fit they repeat the labels."""
    X, _, found = three
    losses, sizes = found.loss_samples(X), found.sizes_
    for side in range(4):
        assert losses[found.labels_ == side, side].mean() == pytest.approx(found.losses_[side])
    scores = found.score_samples(X)
    assert scores.shape == (500, 3)
    for j in range(3):
        want = losses[:, j + 1] + sum(sizes[1:]) / sizes[0] * losses[:, 0]
        np.testing.assert_allclose(scores[:, j], want)
    assert np.mean(found.predict(X) == found.labels_) > 0.99
    np.testing.assert_array_equal(np.bincount(found.predict(X)), sizes)
    rest = found.predict(X) == 0
    np.testing.assert_array_equal(rest, np.all(scores <= found.offset_, axis=1))


def test_new_rows_go_to_the_group_they_are_like():
    X, planted = datasets.make_planted(1200, 16, 3, [100, 200], random_state=3)
    half = np.arange(1200) % 2 == 0
    sizes = np.bincount(planted[half])[1:].tolist()
    found = MaxDisparityPartition(3, n_groups=2, group_size=sizes, random_state=0).fit(X[half])
    names = [np.bincount(planted[half][found.labels_ == label]).argmax() for label in range(3)]
    assert sorted(names) == [0, 1, 2]
    assert np.mean(np.array(names)[found.predict(X[~half])] == planted[~half]) > 0.95


def test_invariances(mixed):
    """Rows in another order, rotated, moved: the same groups. Duplicated: the same, twice."""
    rng = np.random.default_rng(0)
    search = MaxDisparityPartition(3, n_groups=2, group_size=[40, 24], random_state=0)
    base = search.fit(mixed)
    order, turn = rng.permutation(240), np.linalg.qr(rng.standard_normal((7, 7)))[0]
    for X, labels in (
        (mixed[order], base.labels_[order]),
        (mixed @ turn + 3.0, base.labels_),
        (1e3 * mixed, base.labels_),
    ):
        again = clone(search).fit(X)
        np.testing.assert_array_equal(again.labels_, labels)
    twice = np.vstack([mixed, mixed])
    found = clone(search).set_params(group_size=[80, 48]).fit(twice)
    assert found.disparity_ >= base.disparity_ * (1 - 1e-9)
    assert naive.value_of_groups(twice, np.tile(base.labels_, 2), 3) == pytest.approx(
        base.disparity_
    )


def test_same_seed_same_answer_whatever_the_jobs(mixed):
    search = MaxDisparityPartition(3, n_groups=3, min_group_size=20, random_state=5)
    one, two = (clone(search).set_params(n_jobs=jobs).fit(mixed) for jobs in (None, 2))
    np.testing.assert_array_equal(one.labels_, two.labels_)
    assert one.sizes_.min() >= 20
    copy = pickle.loads(pickle.dumps(one))
    np.testing.assert_array_equal(copy.predict(mixed), one.predict(mixed))
    np.testing.assert_array_equal(copy.bound_, two.bound_)


@pytest.mark.parametrize(
    ("loss", "centering"),
    [(a, b) for a in LOSSES for b in CENTERINGS if (a, b) != ("excess", "paper")],
)
@pytest.mark.filterwarnings("ignore:No group of .* was found whose loss exceeds:UserWarning")
def test_every_loss_and_centring(loss, centering, mixed):
    found = MaxDisparityPartition(
        3,
        n_groups=3,
        min_group_size=20,
        solver=QUICK,
        loss=loss,
        centering=centering,
        random_state=0,
    ).fit(mixed)
    assert found.sizes_.min() >= 20 and found.sizes_.sum() == 240 and len(found.sizes_) == 4
    want = naive.group_losses(mixed, found.labels_, 3, loss, centering)
    np.testing.assert_allclose(found.losses_, want, rtol=1e-8)
    assert np.all(np.diff(found.losses_[1:]) <= 1e-12)


def test_more_columns_than_rows_and_wide_tables():
    rng = np.random.default_rng(0)
    for m, n in ((60, 90), (230, 240)):
        X = rng.random((m, n))
        found = MaxDisparityPartition(
            3, n_groups=2, group_size=[8, 12], solver=QUICK, random_state=0
        ).fit(X)
        assert found.group_components_.shape == (3, 3, n)
        np.testing.assert_allclose(
            found.losses_, naive.group_losses(X, found.labels_, 3), rtol=1e-8
        )
        assert np.mean(found.predict(X) == found.labels_) > 0.98


def test_tables_searched_in_parts():
    X, planted = datasets.make_planted(9000, 12, 2, [300, 700], random_state=0)
    found = MaxDisparityPartition(
        2, n_groups=2, group_size=[300, 700], solver=QUICK, random_state=0
    ).fit(X)
    np.testing.assert_allclose(found.losses_, naive.group_losses(X, found.labels_, 2), rtol=1e-8)
    assert found.disparity_ >= naive.value_of_groups(X, planted, 2)
    for label in (1, 2):
        assert np.mean(planted[found.labels_ == label] != 0) > 0.8


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"n_groups": 0}, "n_groups=0 is not a number of left-out groups: give an int from 1"),
        ({"n_groups": 2.5}, "n_groups=2.5 is not a number of left-out groups"),
        ({"n_groups": True}, "n_groups=True is not a number of left-out groups"),
        ({"n_groups": "many"}, "n_groups='many' is not a number of left-out groups.* or 'auto'"),
        ({"n_groups": 2, "group_size": [10, 20, 30]}, "has 3 sizes, but n_groups=2 asks for 2"),
        ({"n_groups": 3, "group_size": [10]}, "has 1 size, but n_groups=3 asks for 3"),
        ({"n_groups": 2, "group_size": [120, 120]}, "groups of 120, 120 of 240 rows.* at most 239"),
        ({"n_groups": 2, "group_size": 0.6}, "groups of 144, 144 of 240 rows"),
        ({"n_groups": 2, "group_size": [10, 0]}, "neither a number of rows"),
        ({"n_groups": 2, "group_size": [10, "x"]}, "neither a number of rows"),
        ({"n_groups": 2, "group_size": [10, 30], "min_group_size": 20}, "at least 20"),
        ({"n_groups": 3, "min_group_size": 80}, "4 sides of at least 80 rows need 320"),
        (
            {"n_groups": "auto", "group_size": [10, 30]},
            "counts the groups, but group_size is a list",
        ),
        (
            {"n_groups": 2, "solver": "greedy"},
            "Greedy is one of the paper's.* n_groups=2 was asked",
        ),
        ({"n_groups": "auto", "solver": Annealing()}, "searches, which are for one left-out group"),
        ({"n_groups": 2, "solver": Sorting()}, "Use solver='alternating'"),
    ],
)
def test_what_cannot_be_searched_is_refused(options, says, mixed):
    with pytest.raises(leftout.InputError, match=says):
        MaxDisparityPartition(3, **options).fit(mixed)


def test_a_default_minimum_that_is_cut_says_so(mixed):
    with pytest.warns(
        UserWarning, match="35 rows, is more than an eighth of the 240 rows; using 30"
    ):
        MaxDisparityPartition(3, n_groups=3, solver=QUICK, random_state=0).fit(mixed)


@pytest.fixture(scope="module")
def two_planted():
    return datasets.make_planted(300, 9, 2, [40, 60], random_state=0)


def test_groups_are_counted_and_then_searched(two_planted):
    X, planted = two_planted
    search = MaxDisparityPartition(2, n_groups="auto", solver=QUICK, random_state=0)
    found = clone(search).fit(X)
    count = found.how_many_
    assert count.n_groups == 2 == len(count.sizes) and found.n_groups_ == 2
    assert sorted(found.sizes_[1:]) == sorted(count.sizes)
    assert [each.counts for each in count.looked] == [True, True, False]
    for label in (1, 2):
        assert np.mean(planted[found.labels_ == label] != 0) > 0.8
    for each in count.looked[:2]:
        assert each.p_value <= 0.05 and each.disparity > each.chance and each.tables >= 19
    first, second, last = count.looked
    said = count.summary()
    assert said.startswith("2 left-out groups are more than surrogates show: ")
    assert f"{first.size} rows" in said and f"{second.size} rows" in said
    assert said.endswith(f"The next is not (p = {last.p_value:.2g}).")
    alone = leftout.how_many(search, X)  # the same by the other door, and whatever the jobs
    assert alone.to_dict() == count.to_dict()
    jobs = leftout.how_many(clone(search).set_params(n_jobs=2), X)
    assert jobs.to_dict() == count.to_dict()
    assert not hasattr(clone(found).set_params(n_groups=1).fit(X), "how_many_")


def test_no_group_more_than_comparison_tables_show():
    X = np.random.default_rng(0).standard_normal((200, 6)) * [3, 2, 1, 1, 1, 1]
    found = MaxDisparityPartition(2, n_groups="auto", solver=QUICK, random_state=0).fit(X)
    assert found.n_groups_ == 0 and found.how_many_.n_groups == 0
    assert "No left-out group is more than surrogates" in found.how_many_.summary()
    assert not found.labels_.any() and not found.predict(X).any()
    assert found.sizes_.tolist() == [200] and found.disparity_ == 0.0
    assert found.disparities_.shape == (0,) and found.bound_.shape == (0,)
    assert found.score_samples(X).shape == (200, 0) and found.left_out_groups_ == []
    assert found.losses_[0] == pytest.approx(0.0, abs=1e-12)
    with pytest.raises(leftout.InputError, match="there is none to tell of.*n_groups=1"):
        found.left_out_  # noqa: B018


def test_at_most_so_many_are_counted_and_of_a_size_that_is_given(two_planted):
    X, _ = two_planted
    search = MaxDisparityPartition(2, solver=QUICK, random_state=0)
    count = leftout.how_many(search, X, most=1, n_surrogates=19)
    assert len(count.looked) == 1 and count.n_groups == 1
    sized = clone(search).set_params(group_size=40)
    assert set(leftout.how_many(sized, X, n_surrogates=19).sizes) == {40}
    with pytest.raises(leftout.InputError, match="n_surrogates=9 surrogates cannot tell"):
        leftout.how_many(search, X, n_surrogates=9)


def test_later_comparison_tables_are_peeled_alike(two_planted, monkeypatch):
    """The second group is held to tables off which a group of the first one's size was peeled."""
    from leftout.evidence import n_groups

    peeled = []
    peel_one = n_groups._peeled
    monkeypatch.setattr(
        n_groups,
        "_peeled",
        lambda left, group: (peeled.append(group.size), peel_one(left, group))[1],
    )
    X, _ = two_planted
    count = leftout.how_many(MaxDisparityPartition(2, solver=QUICK, random_state=0), X)
    first, second, last = count.looked
    # the table's own, and those before it in each comparison table that was looked at, or begun
    assert peeled.count(first.size) >= 1 + second.tables + last.tables
    assert peeled.count(second.size) >= 1 + last.tables
