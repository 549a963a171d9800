"""Known groups: losses by the definition, random groups of their sizes, and any kind of column."""

from __future__ import annotations

import json
import warnings
from itertools import combinations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leftout import InputError, KnownGroups, MaxDisparityPartition, group_losses, known_groups
from leftout.checks import generator
from leftout.data.binning import strata
from leftout.data.columns import column_of


def people(seed=0, m=240, n=5):
    """A table whose rows of sex f and town a spread along an axis of their own."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(m, n)) * np.linspace(3.0, 1.0, n) + 7.0
    known = pd.DataFrame({"sex": rng.choice(["f", "m"], m), "town": rng.choice(list("abc"), m)})
    apart = (known["sex"] == "f") & (known["town"] == "a")
    X[apart.to_numpy()] = 7.0 + (X[apart.to_numpy()] - 7.0)[:, ::-1]
    return X, known


def naive_p_values(X, masks, d, permutations, seed):
    """Every permutation by itself, from the definition."""
    rngs = generator(seed).spawn(2)[0].spawn(permutations)
    L = [[group_losses(X, mask, d)[1] for mask in masks]]
    for rng in rngs:
        order, line = rng.permutation(len(X)), []
        for mask in masks:
            moved = np.zeros(len(X), dtype=bool)
            moved[order[mask]] = True
            line.append(group_losses(X, moved, d)[1])
        L.append(line)
    L = np.array(L)
    Z = (L - L.mean(axis=0)) / L.std(axis=0)
    corrected = [np.mean(Z.max(axis=1) >= z - 1e-9) for z in Z[0]]
    alone = [np.mean(L[:, g] >= L[0, g] - 1e-9) for g in range(len(masks))]
    return L, np.array(alone), np.array(corrected)


def test_p_values_are_those_of_the_definition():
    X, known = people()
    found = known_groups(X, known, n_components=2, permutations=39, random_state=3)
    assert len(found.groups) == 2 + 3 + 6 and found.measured == found.groups
    masks = [group.mask for group in found.groups]
    L, alone, corrected = naive_p_values(X, masks, 2, 39, 3)
    frame = found.by_group
    np.testing.assert_allclose(frame["loss"], L[0], rtol=1e-9)
    np.testing.assert_allclose(frame["random"], L[1:].mean(axis=0), rtol=1e-9)
    np.testing.assert_allclose(frame["random_high"], np.quantile(L[1:], 0.95, axis=0), rtol=1e-9)
    np.testing.assert_allclose(frame["p_alone"], alone)
    np.testing.assert_allclose(frame["p_value"], corrected)
    assert found.left_out[0].text == "sex = f and town = a"
    assert frame.loc[("f", "a"), "p_value"] == 1 / 40


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 3), st.sampled_from([0.5, 0.8, 1, 3]))
def test_losses_are_those_of_the_group_against_the_rest(seed, depth, n_components):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(60, 4)) @ rng.normal(size=(4, 4)) + 1e3 * rng.normal(size=4)
    known = {name: rng.integers(0, 3, 60) for name in "abc"}
    found = known_groups(
        X, known, n_components=n_components, depth=depth, permutations=0, min_group_size=2
    )
    assert {len(group.conditions) for group in found.groups} == set(range(1, depth + 1))
    for group in found.groups:
        want = np.logical_and.reduce([
            known[name] == int(label) for name, label in group.labels.items()
        ])  # fmt: skip
        assert np.array_equal(group.mask, want) and group.size == want.sum() > 0
        assert group.too_small == (group.size < 2 or group.size > 58)
        if not group.too_small:
            rest, loss = group_losses(X, want, n_components)
            scale = 1e-9 * np.abs(X - X.mean(axis=0)).max() ** 2
            assert group.loss == pytest.approx(loss, rel=1e-9, abs=scale)
            assert group.rest_loss == pytest.approx(rest, rel=1e-9, abs=scale)


def test_shares_of_variance_are_those_of_a_search():
    X, _ = people()
    search = MaxDisparityPartition(2, group_size=80, random_state=0).fit(X)
    found = known_groups(X, {"side": search.labels_}, n_components=2, permutations=0)
    frame = found.by_group
    np.testing.assert_allclose(frame["retained"], search.retained_, rtol=1e-9)
    np.testing.assert_allclose(frame["retained_own"], search.retained_own_, rtol=1e-9)
    np.testing.assert_allclose(frame["loss"], search.losses_, rtol=1e-9)
    np.testing.assert_allclose(frame["rest_loss"], search.losses_[::-1], rtol=1e-9)
    assert frame["p_value"].isna().all() and frame["random"].isna().all()
    assert "not compared with random groups" in found.summary()


def test_results_do_not_depend_on_threads_or_the_order_of_rows_alone():
    X, known = people()
    one, two = (known_groups(X, known, permutations=49, n_jobs=jobs).by_group for jobs in (1, 2))
    pd.testing.assert_frame_equal(one, two)
    other = known_groups(X, known, permutations=49, random_state=1).by_group
    assert not np.allclose(one["random"], other["random"])


def test_every_group_has_its_place_in_the_table():
    X, known = people()
    found = known_groups(X, known, n_components=2, permutations=19)
    assert isinstance(found, KnownGroups)
    frame = found.by_group
    assert list(frame.index.names) == ["sex", "town"]
    assert frame.index[:5].tolist() == [("f", ""), ("m", ""), ("", "a"), ("", "b"), ("", "c")]
    assert frame.loc[("f", ""), "size"] == (known["sex"] == "f").sum()
    assert frame.loc[("m", "c"), "size"] == ((known["sex"] == "m") & (known["town"] == "c")).sum()
    assert frame["share"].iloc[:2].sum() == pytest.approx(1.0)
    assert list(frame) == [
        "size", "share", "retained", "retained_own", "loss", "rest_loss", "random", "random_high",
        "p_value", "p_alone", "cross_fitted", "low", "high", "too_small",
    ]  # fmt: skip
    told = found.overall
    assert (told["rows"], told["n_components"], told["groups"], told["too_small"]) == (
        240,
        2,
        11,
        0,
    )
    gaps = found.difference()
    towns = frame.loc[""]["loss"]
    assert list(gaps.index) == ["sex", "town", "sex and town"]
    assert gaps["town"] == pytest.approx(towns.max() - towns.min())
    alone = known_groups(X, known["sex"], n_components=2, permutations=19).by_group
    assert alone.index.name == "sex" and alone.index.tolist() == ["f", "m"]
    data = json.loads(json.dumps(found.to_dict()))
    assert data["groups"][5]["text"] == "sex = f and town = a"
    assert data["groups"][5]["size"] == frame["size"].iloc[5] and "rows" not in data["groups"][5]
    assert data["columns"] == ["sex", "town"] and data["permutations"] == 19


def test_words_say_who_loses_more_than_random_groups():
    X, known = people()
    found = known_groups(X, known, n_components=2, permutations=99)
    text, (first, *_) = found.summary(), found.left_out
    assert str(found) == text
    assert f"Of 11 groups of sex and town, {len(found.left_out)} lose more than the rest" in text
    assert f"sex = f and town = a ({first.size} rows, loss {first.loss:.1f}" in text
    rng = np.random.default_rng(5)
    noise = known_groups(X, {"coin": rng.integers(0, 2, 240)}, permutations=99)
    assert "Of 2 groups of coin, none loses more than the rest and clearly more than" in str(noise)
    few = known_groups(X, {"coin": rng.integers(0, 2, 240)}, permutations=9)
    assert "No p-value comes down to 0.05" in few.summary()


def test_groups_that_are_too_small_are_listed():
    X, known = people()
    known["town"] = np.where(np.arange(240) < 7, "rare", known["town"])
    found = known_groups(X, known["town"], n_components=2, permutations=19)
    line = found.by_group.loc["rare"]
    assert line["size"] == 7 and line["too_small"] and np.isnan(line["loss"])
    assert found.smallest == 30 and not found.by_group.loc["a", "too_small"]
    assert "1 other group is too small to say: fewer than 30 rows" in found.summary()
    assert known_groups(X, known["town"], min_group_size=5, permutations=0).measured[-1].size == 7
    most = known_groups(X, {"rare": known["town"] == "rare"}, permutations=19)
    assert most.by_group["too_small"].all() and "No group of rare is large enough" in str(most)
    assert known_groups(X[:40], known["sex"][:40], permutations=0).smallest == 10


def test_wide_tables_are_looked_at_in_leading_axes():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(260, 230)) * np.geomspace(1.0, 1e-3, 230)
    sex = rng.choice(["f", "m"], 260)
    found = known_groups(X, sex, n_components=3, permutations=19)
    f, m = group_losses(X, sex, 3)
    np.testing.assert_allclose(found.by_group["loss"], [f, m], rtol=1e-9)
    random = naive_p_values(X, [sex == "f", sex == "m"], 3, 19, 0)[0][1:].mean(axis=0)
    np.testing.assert_allclose(found.by_group["random"], random, rtol=0.02)
    assert (found.by_group["random"] != random).all()
    wider = known_groups(X[:100], sex[:100], n_components=3, permutations=19).by_group
    np.testing.assert_allclose(wider["loss"], group_losses(X[:100], sex[:100], 3), rtol=1e-9)


def test_all_dimensions_leave_nobody_out():
    X, known = people()
    with pytest.raises(InputError, match="leave out at least one of its dimensions"):
        known_groups(X, known, n_components=5, permutations=39)


CALLED = {
    "numbers": (np.arange(240.0) / 7.0, ["< 8.5", "8.5 to < 17.1", "17.1 to < 25.7", ">= 25.7"]),
    "few numbers": (np.arange(240) % 3 + 1.5, ["1.5", "2.5", "3.5"]),
    "yes and no": (np.arange(240) % 2 == 0, ["False", "True"]),
    "dates": (
        pd.date_range("2001-01-01", periods=240),
        ["< 2001-03-02", "2001-03-02 to < 2001-05-01", "2001-05-01 to < 2001-06-30",
         ">= 2001-06-30"],
    ),
    "dates as text": (
        pd.date_range("2001-01-01", periods=240).strftime("%Y-%m-%d"),
        ["< 2001-03-02", "2001-03-02 to < 2001-05-01", "2001-05-01 to < 2001-06-30",
         ">= 2001-06-30"],
    ),
    "mixed": (np.array([1, "a", None, True] * 60, dtype=object), ["1", "True", "a", "missing"]),
    "numbers and gaps": (np.where(np.arange(240) < 60, np.nan, np.arange(240) % 3),
                         ["0", "1", "2", "missing"]),
    "a value called missing": (
        np.array(["missing", "b", None] * 80, dtype=object), ["b", "missing", "(missing)"]
    ),
    "signs": (np.array(["<5", "a and b"] * 120), ["<5", "a and b"]),
    "infinite": (np.where(np.arange(240) < 80, np.inf, np.arange(240) % 2), ["0", "1", "inf"]),
}  # fmt: skip


@pytest.mark.parametrize("kind", CALLED)
def test_every_kind_of_column_has_groups(kind):
    values, labels = CALLED[kind]
    X, _ = people()
    found = known_groups(X, {"what": values}, n_components=2, permutations=19)
    assert found.by_group.index.tolist() == labels
    assert found.by_group["size"].sum() == 240 and not found.notes
    column = column_of(values, "what")
    for group in found.groups:
        if kind != "dates as text":
            assert np.array_equal(group.conditions[0].holds(column), group.mask), group.text


def test_rare_values_are_one_group():
    X, _ = people(m=1200)
    rng = np.random.default_rng(0)
    town = np.where(np.arange(1200) < 700, "big", [f"t{i}" for i in rng.integers(0, 500, 1200)])
    town = np.where(np.arange(1200) < 60, None, town)
    values = len(set(town) - {None})
    with pytest.warns(UserWarning, match=f"'town' has {values} values: 1 of them, which at"):
        found = known_groups(X, {"town": town}, n_components=2, permutations=19)
    assert found.by_group.index.tolist() == ["big", f"other values ({values - 1})", "missing"]
    assert found.by_group["size"].tolist() == [640, 500, 60] and len(found.notes) == 1
    other = found.groups[1]
    assert other.text == f"town is one of {values - 1} other values"
    assert np.array_equal(other.conditions[0].holds(column_of(town, "town")), other.mask)
    assert other.conditions[0].to_dict()["values"] == ["big"]
    with pytest.warns(UserWarning, match="'v' has 60 values: 50 of them"):
        many = strata(column_of([f"v{i % 60}" for i in range(6000)], "v"), 4, 30)
    assert len(many.labels) == 51 and many.labels[-1] == "other values (10)"


def test_a_column_of_one_group_is_left_aside_or_refused():
    X, known = people()
    with pytest.raises(InputError, match=r"'one' has a single group \(x in every row\)"):
        known_groups(X, {"one": ["x"] * 240})
    with pytest.raises(InputError, match=r"'none' has a single group \(missing in every row\)"):
        known_groups(X, {"none": [None] * 240})
    with pytest.raises(InputError, match="All 2 known columns have a single group"):
        known_groups(X, {"one": ["x"] * 240, "none": [np.nan] * 240})
    with pytest.raises(InputError, match=r"'id' has a single group \(rare values \(240\) in every"):
        known_groups(X, {"id": [f"p{i}" for i in range(240)]})
    with pytest.warns(UserWarning, match="'one' has a single group .* and is left aside"):
        found = known_groups(X, {"one": ["x"] * 240, "sex": known["sex"]}, permutations=0)
    assert found.columns == ["sex"] and len(found.notes) == 1


def test_columns_come_in_any_kind_of_table():
    X, known = people()
    want = known_groups(X, known, permutations=0).by_group
    for given_ in (
        pl.DataFrame(known.to_dict("list")),
        {name: known[name].tolist() for name in known},
        [column_of(known[name]) for name in known],
    ):
        pd.testing.assert_frame_equal(known_groups(X, given_, permutations=0).by_group, want)
    array = known_groups(X, known.to_numpy(), permutations=0)
    assert array.columns == ["x0", "x1"]
    for one in (known["sex"].tolist(), known["sex"].to_numpy(), pd.Series(list(known["sex"]))):
        found = known_groups(X, one, permutations=0)
        assert found.columns == ["group"] and found.by_group.index.tolist() == ["f", "m"]
    assert known_groups(X, pl.Series("s", known["sex"]), permutations=0).columns == ["s"]
    twice = known.set_axis(["a", "a"], axis=1)
    with pytest.raises(InputError, match="several columns named 'a'"):
        known_groups(X, twice, permutations=0)


@pytest.mark.parametrize(
    ("columns", "options", "message"),
    [
        (["f", "m"], {}, "'group' has 2 rows, but X has 240"),
        ({"a": ["f", "m"] * 120, "b": ["f"]}, {}, "'b' has 1 row, but X has 240"),
        ({}, {}, "No known column was passed"),
        (["f", "m"] * 120, {"depth": 4}, "give 1, 2 or 3"),
        (["f", "m"] * 120, {"permutations": -1}, "give an int from 0"),
        (["f", "m"] * 120, {"bands": 1}, "bands=1 is too few"),
        (["f", "m"] * 120, {"folds": 0}, "folds=0 is too few; give an int from 2"),
        (["f", "m"] * 120, {"min_group_size": 0}, "min_group_size=0 is neither"),
        (["f", "m"] * 120, {"n_components": 9}, "n_components=9 is out of range"),
        ("sex", {}, "where a table is needed"),
        ([["a"], ["b", "c"]] * 120, {}, "rows of different lengths"),
        (None, {}, "where a table is needed"),
        (np.zeros((240, 2, 2)), {}, "where a table is needed"),
    ],
)
def test_what_cannot_be_used_gets_a_sentence(columns, options, message):
    X, _ = people()
    with pytest.raises(InputError, match=message):
        known_groups(X, columns, **options)


def test_rows_in_another_order_are_refused():
    X, known = people()
    frame, other = pd.DataFrame(X), pd.DataFrame(known)[::-1]
    for columns in (other, other.iloc[:, 0], dict(other)):
        with pytest.raises(InputError, match="have the rows of X in another order"):
            known_groups(frame, columns, permutations=0)
    same = known_groups(frame, other.loc[frame.index], permutations=0).by_group
    pd.testing.assert_frame_equal(same, known_groups(X, known, permutations=0).by_group)
    unlike = other.set_index(np.arange(1000, 1000 + len(other)))  # an index that says nothing of X
    known_groups(frame, unlike, permutations=0)


def test_many_columns_do_not_take_all_memory():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4))
    known = {f"c{i}": rng.integers(0, 4, 300) for i in range(9)}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = known_groups(X, known, n_components=2, permutations=5, min_group_size=10)
    pairs = list(combinations(known, 2))
    assert len(found.groups) == 9 * 4 + len(pairs) * 16
    for group in found.groups[::25]:
        if not group.too_small:
            assert group.loss == pytest.approx(group_losses(X, group.mask, 2)[1], rel=1e-9)


def test_progress_comes_to_its_end():
    X, known = people()
    told = []
    known_groups(X, known, permutations=20, progress=lambda *step: told.append(step[1:]))
    assert told[0] == (0, 4) and told[-1] == (4, 4)


def test_weights_count_rows_as_often_as_they_are_repeated():
    """Whether a loss is more than that of random groups is a question about rows, not copies."""
    X, known = people(3)
    weights = np.random.default_rng(0).integers(1, 4, len(X))
    again = known.loc[np.repeat(known.index, weights)].reset_index(drop=True)
    options = {"n_components": 2, "min_group_size": 25}
    found = known_groups(X, known, sample_weight=weights, permutations=99, **options)
    want = known_groups(np.repeat(X, weights, axis=0), again, permutations=0, **options)
    some = ~found.by_group["too_small"]
    for name in ("share", "retained", "retained_own", "loss", "rest_loss"):
        np.testing.assert_allclose(
            found.by_group[name][some], want.by_group[name][some], rtol=1e-9, atol=1e-12
        )
    plain = known_groups(X, known, permutations=99, **options)
    assert found.by_group["size"].tolist() == plain.by_group["size"].tolist()
    assert found.by_group["random"].max() > 2.0 * want.by_group["loss"].min() > 0.0
    assert {group.text for group in found.left_out} == {group.text for group in plain.left_out}
    with pytest.raises(InputError, match=r"Found 1 weights of 0 in sample_weight; here each row"):
        known_groups(X, known, sample_weight=np.arange(len(X)))


def test_random_groups_take_their_rows_weights_along():
    X, known = people(4, m=120)
    weights = np.random.default_rng(0).integers(1, 4, 120)
    found = known_groups(
        X, known["sex"], n_components=2, permutations=19, sample_weight=weights, random_state=5
    )
    rngs = generator(5).spawn(2)[0].spawn(19)
    masks = [(known["sex"] == value).to_numpy() for value in ("f", "m")]
    losses = []
    for rng in rngs:
        order = rng.permutation(120)
        moved = np.zeros((2, 120), dtype=bool)
        for mask, line in zip(masks, moved, strict=True):
            line[order] = mask
        losses.append([group_losses(X, line, 2, sample_weight=weights)[1] for line in moved])
    np.testing.assert_allclose(found.by_group["random"], np.mean(losses, axis=0), rtol=1e-8)
