"""Evidence for several groups: each beside the rest, by the slow and obvious definitions."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

import leftout
from explaining import explained
from leftout import InputError, MaxDisparityPartition, datasets, group_losses, trust
from leftout.evidence.assess import assess
from leftout.evidence.null_test import NullTest
from leftout.evidence.refit import SearchTask, search_groups

SIZES = [40, 80]


@pytest.fixture(scope="module")
def planted():
    return datasets.make_planted(400, 9, 2, SIZES, random_state=0)


@pytest.fixture(scope="module")
def search():
    return MaxDisparityPartition(2, n_groups=2, group_size=SIZES, random_state=0)


@pytest.fixture(scope="module")
def found(planted, search):
    return search.fit(planted[0])


@pytest.fixture(scope="module")
def weighed(planted, search, found):
    asked = {"n_surrogates": 19, "n_restarts": 5, "splits": 3, "parts": 3}
    return assess(search, planted[0], found=found, **asked)


def test_a_group_stands_beside_the_rest(planted, found):
    """Rows of the other group are on neither side, and the rest is the rows of no group."""
    X, _ = planted
    losses = group_losses(X, found.labels_, 2)
    for label, other in ((1, 2), (2, 1)):
        group = found.left_out_groups_[label - 1]
        assert (group.mask == (found.labels_ == label)).all()
        assert (group.beside == (found.labels_ != other)).all()
        np.testing.assert_allclose(group.losses, losses[[label, 0]])
        assert list(group.sizes) == [SIZES[label - 1], 280]
        assert group.disparity == found.disparities_[label - 1]
        assert group.bound == found.bound_[label - 1]
    first, second = found.left_out_groups_
    assert first.size != second.size


def test_each_planted_group_is_a_distinct_group(weighed, found):
    assert [each.verdict for each in weighed] == ["A", "A"]
    assert [each.group_size for each in weighed] == SIZES
    for label, each in enumerate(weighed, start=1):
        assert each.disparity == found.disparities_[label - 1]
        assert (each.membership.group == (found.labels_ == label)).all()
        np.testing.assert_allclose(each.parts.total, each.searched)
        # searched as comparison tables are, from fewer starts: the same group but for a few rows
        np.testing.assert_allclose(each.searched, found.disparities_[label - 1], rtol=1e-3)
        assert each.held_out.gap.low > 0.0 and each.held_out.splits == 3
        assert each.stability.jaccard_mean > 0.9 and len(each.stability.labels) == 5
    first, second = (each.membership.shares for each in weighed)
    assert first[found.labels_ == 1].mean() > 0.5 > first[found.labels_ == 2].mean()
    assert second[found.labels_ == 2].mean() > 0.5 > second[found.labels_ == 1].mean()
    assert (first + second <= 1.0).all()  # a search puts a row into one group


def test_evidence_from_a_part_is_told_of_all_rows(planted, search):
    """Of a table with names, and without a word on these."""
    whole = pd.DataFrame(planted[0]).add_prefix("x")
    found, part = clone(search).fit(whole), whole.iloc[::2].reset_index(drop=True)
    asked = {"n_surrogates": 0, "n_restarts": 0, "splits": 1, "parts": 2}
    weighed = assess(search, part, found=found, everyone=whole, **asked)
    for label, each in enumerate(weighed, start=1):
        assert each.group_size == SIZES[label - 1] // 2
        assert (each.membership.group == (found.labels_ == label)).all()
        # every search of a part names as many of all rows
        assert each.membership.shares.sum() == pytest.approx(found.sizes_[label])


def test_comparison_tables_are_searched_for_as_many_groups(planted):
    """A group is held to the one of its size, of equal sizes to the one of its rank."""
    X, _ = planted
    task = SearchTask.of(MaxDisparityPartition(2, random_state=0), X)
    law = task.surrogates.law("gaussian")
    for sizes in ([60, 60], [40, 80]):
        rng = np.random.default_rng(5)
        Y = law.draw(rng)
        sides = search_groups(task.null_solver, task.pose(Y).problem, sizes, rng)
        assert np.bincount(sides.labels).tolist() == [400 - sum(sizes), *sizes]
        np.testing.assert_allclose(sides.losses, group_losses(Y, sides.labels, 2), atol=1e-9)
        if sizes[0] == sizes[1]:
            assert sides.losses[1] >= sides.losses[2]
        drawn = NullTest(task, sizes)._draw("gaussian", 0, np.random.default_rng(5))
        np.testing.assert_allclose(drawn.disparities, sides.losses[1:] - sides.losses[0])
        np.testing.assert_allclose(drawn.by_feature.sum(axis=1), drawn.disparities)


def test_an_explanation_stands_beside_the_rest(planted, found):
    """Losses and columns are compared with label 0, sentences with all other rows."""
    X, group = planted
    table = pd.DataFrame(np.column_stack([X, group])).add_prefix("c")
    for label in (1, 2):
        told = explained(found, X, table, label=label)
        parts = sum(line.disparity for line in told.disparity_by_feature)
        np.testing.assert_allclose(parts, found.disparities_[label - 1])
        rest, mine = (group[found.labels_ == side] for side in (0, label))
        line = next(line for line in told.alignment if line.column == "c9")
        np.testing.assert_allclose(line.means, (mine.mean(), rest.mean()))
        covered = (group == label).sum()
        assert told.sentence.text == f"c9 = {label}" and told.sentence.covered == covered


def test_costs_stand_beside_the_rest(planted):
    """A cost is a difference of the errors told, for each group and for the rest."""
    X, group = planted
    own = np.linalg.svd(X[group == 2])[2][0]
    y = np.random.default_rng(0).random(400) < 1.0 / (1.0 + np.exp(-4.0 * X @ own))
    asked = {"models": "logistic", "repeats": 1, "folds": 3, "bootstrap": 99}
    names = np.array(["rest", "first", "second"])
    found = leftout.harm(X, y, names[group], 2, rest="rest", **asked)
    assert found.rest == "rest" and {cost.side for cost in found.costs} == {"first", "second"}
    for label in ("first", "second"):
        one = found.of(label)
        cost = one.cost()
        for side, mine in ((one.group, cost.cost), ("rest", cost.rest_cost)):
            errors = [one.at(side, variant).value for variant in ("shared PCA", "all columns")]
            np.testing.assert_allclose(mine.value, errors[0] - errors[1])
        np.testing.assert_allclose(cost.extra_cost.value, cost.cost.value - cost.rest_cost.value)
    with pytest.raises(InputError, match="'nobody' is none of the labels"):
        leftout.harm(X, y, names[group], 2, rest="nobody")


def test_trust_of_several_groups_is_a_list(planted, search):
    alone = {"n_surrogates": 0, "n_restarts": 0, "splits": 0, "parts": 0}
    weighed = trust(search, planted[0], **alone)
    assert [each.group_size for each in weighed] == SIZES
