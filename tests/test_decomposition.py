"""The three parts of a loss, by hand."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tolerances
from leftout.groups.decomposition import LossParts

SPLIT = np.array([0.5, 0.25, 0.125, 0.125])


GAUSSIAN = np.array([0.25, 0.125, 0.0, 0.0])


COPULA = np.array([0.25, 0.25, 0.0625, 0.0])


def parts(names=("a", "b", "c", "d"), p_gaussian=0.02, p_values=0.3):
    return LossParts.of(
        (0.375, 0.5625, 1.0), (GAUSSIAN, COPULA, SPLIT), list(names), p_gaussian, p_values
    )


def losses(found):
    return [part.loss for part in found.each().values()]


def test_parts_by_hand():
    found = parts()
    assert losses(found) == [0.375, 0.1875, 0.4375] and found.total == 1.0
    assert (found.covariance.p_value, found.values.p_value, found.own.p_value) == (0.02, 0.3, 0.3)
    assert (found.covariance.share, found.values.share, found.own.share) == (0.375, 0.1875, 0.4375)
    assert found.values.carriers == ["b", "c"] and found.own.carriers == ["a", "d"]
    assert found.text == (
        "Of the loss, 44% is structure of its own; covariance alone explains 38%; rare or skewed "
        "values of b and c add 19%."
    )
    data = json.loads(json.dumps(found.to_dict()))
    assert data["total"] == 1.0 and data["values"]["loss"] == 0.1875
    assert data["values"]["carriers"] == ["b", "c"]


def test_features_of_one_column_are_added():
    found = parts(["age", "town", "town", "age"])
    assert found.values.carriers == ["town"] and found.own.carriers == ["age", "town"]
    assert losses(found) == losses(parts())
    assert "rare or skewed values of town" in found.text


def test_a_part_may_be_below_zero():
    found = LossParts.of(
        (0.375, 0.5625, 0.5), (GAUSSIAN, COPULA, SPLIT / 2), list("abcd"), None, 0.9
    )
    assert found.own.loss == -0.0625 and found.own.share == -0.125 and found.total == 0.5
    # rare values are those of these rows
    assert found.values.carriers == ["c", "d"]


@pytest.mark.parametrize(
    ("losses", "says"),
    [
        ((0.60, 0.33, 0.03), "Most of the loss, 62%, is what covariance alone explains; rare or "
         "skewed values of b add 34%; 3% is structure of its own."),
        ((0.1, 0.1, 0.8), "Most of the loss, 80%, is structure of its own; covariance alone "
         "explains 10%; rare or skewed values of b add 10%."),
        # a part below zero is no part, and what is left is all of it
        ((1.1, -0.02, -0.08), "All of the loss is what covariance alone explains."),
        ((0.7, 0.4, -0.1), "Most of the loss, 70%, is what covariance alone explains; rare or "
         "skewed values of b add 40%."),
        ((-0.2, 0.1, 0.05), ""),
    ],
)  # fmt: skip
def test_the_sentence_follows_the_shares(losses, says):
    disparities = np.cumsum(losses)
    found = LossParts.of(
        disparities, np.outer(disparities, [0.0, 1.0]), ["a", "b"], p_gaussian=None, p_values=0.05
    )
    assert found.text == says


def test_parts_without_columns():
    found = LossParts.of((0.375, 0.5625, 1.0), (GAUSSIAN, COPULA, None), ["a"], None, 0.05)
    assert found.covariance.carriers == found.values.carriers == found.own.carriers == []
    assert losses(found) == [0.375, 0.1875, 0.4375]
    assert found.text.endswith("rare or skewed values add 19%.")


@given(st.integers(0, 1000), st.integers(1, 8))
def test_parts_sum_to_the_disparity(seed, n):
    rng = np.random.default_rng(seed)
    split, gaussian, copula = rng.standard_normal((3, n))
    names = rng.choice(["a", "b", "c"], n).tolist()
    splits = (gaussian, copula, split)
    found = LossParts.of([each.sum() for each in splits], splits, names, 0.5, 0.5)
    size = 8 * n * tolerances.EPS * np.abs([split, gaussian, copula]).sum()
    assert found.total == pytest.approx(split.sum(), rel=0, abs=size)
    assert sum(losses(found)) == pytest.approx(found.total, rel=0, abs=size)
    own = {name: (split - copula)[np.array(names) == name].sum() for name in set(names)}
    gained = sum(max(part, 0.0) for part in own.values())
    leading = sorted(own, key=lambda name: -own[name])[:2]
    assert found.own.carriers == [name for name in leading if own[name] > 0.1 * gained]
