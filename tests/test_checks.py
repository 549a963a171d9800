"""Bad input gets one clear sentence: what was found, what is needed, what to do."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse

import leftout
from leftout import MaxDisparityPartition
from leftout.solvers import Alternating, Annealing, Greedy

GOOD = np.random.default_rng(0).random((60, 4))
QUICK = Alternating(n_starts=4)
OWN_MEANS = {"loss": "projection_gap", "centering": "paper"}


def fit(X=GOOD, **options):
    settings = {"min_group_size": 10, "solver": QUICK, "random_state": 0, **options}
    return MaxDisparityPartition(**settings).fit(X)


def with_cell(value):
    X = GOOD.copy()
    X[7, 2] = value
    return X


REFUSALS = {
    "NaN": ({"X": with_cell(np.nan)}, r"contains NaN: 1 of 240 values.*row 7, column 2.*Fill"),
    "infinity": ({"X": with_cell(np.inf)}, r"contains infinity: 1 of 240.*row 7, column 2"),
    "NaN, named": (
        {"X": pd.DataFrame(with_cell(np.nan), columns=list("abcd"))},
        r"row 7, column 'c'",
    ),
    "null in polars": (
        {"X": pl.DataFrame({"a": [1, None] * 30, "b": range(60), "c": GOOD[:, 0]})},
        r"contains NaN: 30 of 180 values.*column 'a'",
    ),
    "text column": (
        {"X": pd.DataFrame({"a": GOOD[:, 0], "city": ["x"] * 60, "b": GOOD[:, 1]})},
        r"columns that are not numbers \('city'\).*Encode",
    ),
    "dates": (
        {"X": pd.DataFrame({"a": GOOD[:, 0], "day": pd.Timestamp("2026-01-01")})},
        r"not numbers \('day'\)",
    ),
    "text array": ({"X": np.full((60, 3), "x")}, r"Found text in X.*Encode"),
    "text objects": ({"X": np.full((60, 3), "x", dtype=object)}, r"Found text in X"),
    "one column": ({"X": GOOD[:, :1]}, r"1 feature\(s\).*minimum of 2.*Add columns"),
    "one row": ({"X": GOOD[:1]}, r"1 sample.*at least 2 rows"),
    "no rows": ({"X": GOOD[:0]}, r"0 sample\(s\)"),
    "too few rows": (
        {"min_group_size": 31},
        r"60 rows, but two groups of at least 31 rows need 62.*to 30 or less",
    ),
    "constant": ({"X": np.ones((60, 4))}, r"no variance.*all 4 columns are constant"),
    "huge": ({"X": GOOD * 1e160}, r"vary too little or too much"),
    "minute": ({"X": GOOD * 1e-170}, r"vary too little or too much"),
    "masked": ({"X": np.ma.masked_greater(GOOD, 0.99)}, r"contains NaN"),
    "date array": (
        {"X": np.full((60, 3), np.datetime64("2026-01-01"))},
        r"array of datetime64\[D\].*Convert dates",
    ),
    "structured": ({"X": np.zeros(60, dtype=[("a", float), ("b", float)])}, r"fields to columns"),
    "complex": ({"X": GOOD + 1j}, r"Complex data not supported.*X\.real"),
    "ragged": ({"X": [[1.0, 2.0]] * 30 + [[1.0]] * 30}, r"rows of different lengths"),
    "names of two levels": (
        {"X": pd.DataFrame(GOOD, columns=pd.MultiIndex.from_product([["a", "b"], [1, 2]]))},
        r"several levels.*Join",
    ),
    "missing object": (
        {"X": pd.DataFrame({"a": [None, *range(59)], "b": GOOD[:, 0]}, dtype=object)},
        r"contains NaN: 1 of 120 values.*row 0, column 'a'",
    ),
    "own means of few rows": (
        {**OWN_MEANS, "min_group_size": 2, "n_components": 2},
        r"needs at least 3 rows, but a side may have 2\. Raise min_group_size or group_size",
    ),
    "excess about own means": (
        {"centering": "paper"},
        r"goes with loss='projection_gap', but loss='excess' was asked for\. Use loss=",
    ),
    "rank one": ({"X": np.outer(np.arange(60.0), np.ones(4))}, r"rank 1.*nobody is left out"),
    "n_components at rank": ({"n_components": 4}, r"n_components=4.*rank 4.*from 1 to 3"),
    "n_components above a deficient rank": (
        {"X": np.hstack([GOOD, GOOD]), "n_components": 5},
        r"n_components=5.*rank 4.*from 1 to 3",
    ),
    "n_components 0": ({"n_components": 0}, r"n_components=0 is out of range"),
    "n_components 1.0": ({"n_components": 1.0}, r"n_components=1.0 is neither"),
    "n_components text": ({"n_components": "mle"}, r"n_components='mle' is neither"),
    "n_components True": ({"n_components": True}, r"n_components=True is neither"),
    "n_components NaN": ({"n_components": np.nan}, r"n_components=nan is neither"),
    "group_size too large": ({"group_size": 55}, r"group_size=55 asks for 55 of 60.*from 10 to 50"),
    "group_size too small": ({"group_size": 0.1}, r"group_size=0.1 asks for 6 of 60 rows"),
    "group_size 0": ({"group_size": 0}, r"group_size=0 is neither"),
    "group_size all rows": (
        {"group_size": 60, "min_group_size": None},
        r"asks for 60 of 60 rows.*from 1 to 59\.$",
    ),
    "min_group_size text": ({"min_group_size": "few"}, r"min_group_size='few' is neither"),
    "n_groups 0": (
        {"n_groups": 0},
        "n_groups=0 is not a number of left-out groups: give an int from",
    ),
    "unknown loss": ({"loss": "exces"}, r"loss='exces' is not known.*Did you mean 'excess'\?"),
    "unknown centering": (
        {"centering": "globl"},
        r"centering='globl'.*'global', 'none', 'paper'.*Did you mean 'global'\?",
    ),
    "unknown solver": ({"solver": "greddy"}, r"solver='greddy'.*Did you mean 'greedy'\?"),
    "nothing like it": ({"solver": "xyz"}, r"solver='xyz' is not known; it must be one of"),
    "solver class": ({"solver": Greedy}, r"solver is the class Greedy.*solver=Greedy\(\)"),
    "solver None": ({"solver": None}, r"solver=None is not known"),
    "greedy with group_size": (
        {"solver": "greedy", "group_size": 20},
        r"Greedy moves one row at a time.*Leave group_size=None",
    ),
    "no starts": ({"solver": Alternating(n_starts=0)}, r"n_starts=0 is not a count.*from 1"),
    "half a start": ({"solver": Alternating(n_starts=1.5)}, r"n_starts=1.5 is not a count"),
    "no epochs": ({"solver": Greedy(epochs=0)}, r"epochs=0 is not a count"),
    "no steps": ({"solver": Annealing(max_steps=-1)}, r"max_steps=-1 is not a count"),
    "no cooling": ({"solver": Annealing(cooling=1.0)}, r"cooling=1.0 would never cool"),
    "matched without group_size": (
        {"solver": leftout.solvers.Sorting(split="matched")},
        r"group_size is None",
    ),
}


WEIGHTS = {
    "missing": ([np.nan, *[1] * 59], r"^Found 1 missing among the weights.*row 0;.*give 0"),
    "infinite": ([1, np.inf, *[1] * 58], r"^Found 1 infinite among.*row 1;.*number from 0"),
    "negative": ([1] * 58 + [-1, -2], r"^Found 2 negative among the weights.*the first in row 58;"),
    "all zero": ([0] * 60, r"^All 60 weights in sample_weight are zero; some must be above it\."),
    "too few": ([1] * 59, r"^Found weights of shape \(59,\) in sample_weight for 60 rows; one"),
    "two columns": (np.ones((60, 2)), r"^Found weights of shape \(60, 2\).*one-dimensional"),
    "text": (["heavy"] * 60, r"^Found weights that are no numbers in sample_weight; each row"),
    "gaps of pandas": (pd.Series([1, pd.NA] * 30, dtype="Int64"), r"^Found 30 missing among"),
    "dates": (pd.date_range("2026-01-01", periods=60), r"that are no numbers"),
}
ONLY_BY_DEFAULT = {
    "several groups": {"n_groups": 2},
    "the paper's loss": {"loss": "projection_gap"},
    "the paper's solver": {"solver": "greedy"},
}


@pytest.mark.parametrize("name", WEIGHTS)
def test_refusal_of_weights(name):
    weights, message = WEIGHTS[name]
    labels = np.arange(60) % 2
    for ask in (
        lambda: MaxDisparityPartition(2, solver=QUICK).fit(GOOD, sample_weight=weights),
        lambda: leftout.disparity(GOOD, labels, 2, sample_weight=weights),
    ):
        with pytest.raises(leftout.InputError, match=message):
            ask()


@pytest.mark.parametrize("name", ONLY_BY_DEFAULT)
def test_refusal_of_searches_by_weight(name):
    search = MaxDisparityPartition(2, min_group_size=10, **ONLY_BY_DEFAULT[name])
    with pytest.raises(
        leftout.InputError, match=r"one left-out group, by the solver 'alternating'"
    ):
        search.fit(GOOD, sample_weight=np.arange(1, 61))


def test_refusal_of_weights_elsewhere():
    X = sparse.random_array((50_000, 100), density=0.01, rng=0)
    with pytest.raises(leftout.InputError, match=r"sparse table \(50,000 x 100\) stays sparse"):
        MaxDisparityPartition(2).fit(X, sample_weight=np.arange(50_000))
    with pytest.raises(leftout.InputError, match="count every row once, but sample_weight was"):
        labels, weights = np.arange(60) % 2, np.arange(60)
        leftout.disparity(GOOD, labels, 2, sample_weight=weights, **OWN_MEANS)


@pytest.mark.parametrize("name", REFUSALS)
def test_refusal(name):
    options, message = REFUSALS[name]
    with pytest.raises(ValueError, match=message) as caught:
        fit(**options)
    assert str(caught.value).count("\n") == 0


def test_lazy_frames_are_refused():
    with pytest.raises(ValueError, match=r"LazyFrame.*\.collect\(\)"):
        fit(X=pl.DataFrame(GOOD).lazy())


def test_labels_that_do_not_fit():
    with pytest.raises(ValueError, match=r"labels of shape \(59,\) for 60 rows"):
        leftout.group_losses(GOOD, np.zeros(59), 2)
    with pytest.raises(ValueError, match="1 missing labels"):
        leftout.group_losses(GOOD, np.r_[np.nan, np.zeros(59)], 2)
    with pytest.raises(ValueError, match="2 missing labels"):
        leftout.group_losses(GOOD, np.array([None, np.nan, *"ab" * 29], dtype=object), 2)
    with pytest.raises(ValueError, match="1 missing labels"):
        leftout.group_losses(GOOD, np.array(["NaT"] + ["2026-01-01"] * 59, dtype="M8[D]"), 2)
    mixed = leftout.group_losses(GOOD, np.array([*"a" * 30, *[1] * 30], dtype=object), 2)
    np.testing.assert_array_equal(mixed, leftout.group_losses(GOOD, np.repeat([1, 0], 30), 2))
    with pytest.raises(ValueError, match=r"n_components=5 is out of range; choose from 1 to 4"):
        leftout.group_losses(GOOD, np.zeros(60), 5)
    with pytest.raises(ValueError, match=r"Did you mean 'projection_gap'\?"):
        leftout.disparity(GOOD, np.zeros(60), 2, loss="projection")


def test_warns_when_the_default_minimum_is_cut():
    with pytest.warns(UserWarning, match=r"5 x 4 features = 20 rows.*quarter of the 60 rows.*15"):
        assert fit(min_group_size=None, n_components=2).sizes_.min() == 15
    large = np.random.default_rng(1).random((80, 4))  # where it fits, silence
    assert fit(large, min_group_size=None, n_components=2).sizes_.min() >= 20


def test_a_named_size_is_not_held_to_the_default_minimum():
    assert fit(min_group_size=None, group_size=3).sizes_[1] == 3


def test_warns_when_the_shared_projection_is_not_unique():
    rng = np.random.default_rng(0)
    axes = np.linalg.qr(rng.standard_normal((60, 4)) - 0.0)[0]
    axes -= axes.mean(axis=0)
    X = np.linalg.qr(axes)[0] * [3.0, 2.0, 2.0, 1.0]
    with pytest.warns(UserWarning, match=r"Eigenvalues 2 and 3 of the table are equal"):
        fit(X, n_components=2)
    fit(X, n_components=3)


def test_warns_when_a_share_takes_every_dimension():
    with pytest.warns(
        UserWarning, match=r"More than 0.99 of the variance takes all 4 dim.*using 3"
    ):
        assert fit(n_components=0.99).n_components_ == 3


def test_share_is_exceeded_by_as_few_components_as_possible(mixed):
    found = fit(mixed, n_components=0.7)
    ratio = np.cumsum(found.explained_variance_ratio_)
    assert ratio[-1] > 0.7 and (len(ratio) == 1 or ratio[-2] <= 0.7)


def test_warns_when_no_group_of_the_size_is_left_out():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((30, 3))
    with pytest.warns(UserWarning, match="its disparity is negative. Choose a smaller group_size"):
        fit(X, n_components=1, group_size=29, min_group_size=1)
