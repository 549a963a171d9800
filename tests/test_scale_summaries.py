"""Summaries of chunks, merged in whatever way, are those of the whole."""

from __future__ import annotations

from collections import Counter as Tally
from functools import reduce

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leftout.data.cells import median
from leftout.data.cleaning import MISSING, WAYS
from leftout.data.columns import Column
from leftout.data.conditions import Condition
from leftout.data.encoder_passes import MissingCounts, MissingPass, TargetMeanPass
from leftout.engine import column_counts
from leftout.engine.cells import values_of
from leftout.engine.chunks import listed
from leftout.engine.column_counts import ColumnCounter, ColumnCounts
from leftout.engine.encoding_plan import plan
from leftout.engine.engines import Local
from leftout.engine.exact_counts import GroupSums
from leftout.engine.profile_pass import ProfilePass, TableProfile
from leftout.linalg.moments import merge as merge_moments
from leftout.settings import Reading


@pytest.fixture(autouse=True, scope="module")
def few():
    """So little room that values of small tables are too many."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(column_counts, "MOST_WHOLE", 16)
        patch.setattr(column_counts, "MOST_DISTINCT", 8)
        patch.setattr(column_counts, "MOST_TEXTS", 8)
        yield


def cut(values, places):
    edges = [0, *sorted(place % (len(values) + 1) for place in places), len(values)]
    return [values[low:high] for low, high in zip(edges, edges[1:], strict=False)]


def assert_equal(one, other):
    """The same, field by field, down to the last array."""
    if isinstance(one, dict):
        assert one.keys() == other.keys()
        for key in one:
            assert_equal(one[key], other[key])
    elif isinstance(one, tuple):
        for a, b in zip(one, other, strict=True):
            assert_equal(a, b)
    elif isinstance(one, np.ndarray):
        np.testing.assert_array_equal(one, other)
    elif isinstance(one, pa.Table):
        assert one.to_pydict() == other.to_pydict()
    else:
        assert one == other


def counted(values, kind=pa.float64()):  # noqa: B008 - it is frozen
    counter = ColumnCounter(ColumnCounts.none(kind))
    for part in cut(values, [3, 11]):
        counter.add(values_of("x", pa.array(part, kind), kind))
    return counter.done()


def pairs(table):
    return zip(*table.to_pydict().values(), strict=True)


reals = st.one_of(
    st.floats(allow_nan=True, allow_infinity=True), st.integers(-30, 30).map(float),
    st.sampled_from([np.nan, 0.0, -0.0, 999.0]),
)  # fmt: skip
places = st.lists(st.integers(0, 200), max_size=4)


@settings(deadline=None, max_examples=80)
@given(values=st.lists(reals, max_size=120), places=places)
def test_numbers_merged_are_the_whole(values, places):
    values = np.array(values, dtype=np.float64)
    whole = counted(values)
    assert_equal(reduce(lambda a, b: a.merge(b), map(counted, cut(values, places))), whole)
    known = np.sort(values[~np.isnan(values)])
    assert (whole.n_rows, whole.n_missing) == (len(values), np.isnan(values).sum())
    assert whole.whole == all(np.isfinite(known) & (known == np.floor(known)))
    tally = Tally(known.tolist())
    for part in (whole.kept, whole.ends):
        assert all(tally[value] == count for value, count in pairs(part))
    rising = sorted(tally)
    few = rising if len(rising) <= 32 else rising[:16] + rising[-16:]
    assert whole.outermost["value"].to_pylist() == few
    if not whole.level:
        assert whole.kept["value"].to_pylist() == rising
    most = column_counts.MOST_WHOLE if whole.whole else column_counts.MOST_DISTINCT
    assert len(whole.kept) <= most


@settings(deadline=None, max_examples=60)
@given(
    values=st.lists(st.integers(-(2**63), 2**63 - 1) | st.integers(0, 40), min_size=1, max_size=90),
    places=places,
)
def test_whole_numbers_merged_are_the_whole(values, places):
    values = np.array(values, dtype=np.int64)
    whole = counted(values, pa.int64())
    parts = [counted(part, pa.int64()) for part in cut(values, places)]
    assert_equal(reduce(lambda a, b: a.merge(b), parts), whole)
    ends = whole.outermost["value"].to_pylist()
    assert (ends[0], ends[-1]) == (values.min(), values.max())


def of_texts(values, stored):
    counter = ColumnCounter(ColumnCounts.none(pa.large_string(), marks=frozenset(["none"])))
    for part in cut(values, [5, 17]):
        cells = pa.array(part, pa.large_string())
        counter.add(cells if stored else cells.dictionary_encode())
    return counter.done()


written = st.one_of(
    st.integers(-99, 99).map(str), st.floats(0, 99).map(lambda x: f"{x:.2f} $"),
    st.sampled_from(["01", "1,5", "1,234", "none", "?", " a b", "True", "2020-01-02", "3.4.2020"]),
    st.text(max_size=4), st.none(),
)  # fmt: skip


@settings(deadline=None, max_examples=80)
@given(values=st.lists(written, max_size=80), places=places, stored=st.booleans())
def test_texts_merged_are_the_whole(values, places, stored):
    whole = of_texts(values, True)
    parts = [of_texts(part, stored) for part in cut(values, places)]
    assert_equal(reduce(lambda a, b: a.merge(b), parts), whole)
    tally = Tally(value for value in values if value is not None)
    assert whole.n_missing == values.count(None) and whole.n_rows == len(values)
    assert all(tally[text] == count for text, count in pairs(whole.kept))
    left = tally.keys() - set(whole.kept["value"].to_pylist())
    gone = {text.strip() for text in left} - {*MISSING, "none"}
    assert whole.gone.ruled_out == {
        how for how in (*WAYS, "plain", "whole", "truth")
        if any(not column_counts.follows([text], how) for text in gone)
    }  # fmt: skip
    assert whole.gone.spaces == any(" " in text for text in gone)


@given(st.lists(st.tuples(st.floats(-1e6, 1e6), st.integers(1, 5)), min_size=1, max_size=30))
def test_a_median_of_counts_is_that_of_rows(pairs):
    values, counts = np.array(pairs).T
    counts = counts.astype(np.int64)
    assert median(values, counts) == pytest.approx(np.median(np.repeat(values, counts)), rel=1e-15)


@settings(deadline=None, max_examples=25)
@given(st.integers(0, 10_000), places)
def test_moments_by_group_merged_are_the_whole(seed, places):
    rng, m = np.random.default_rng(seed), 90
    X, codes = rng.normal(size=(m, 3)), rng.integers(-1, 3, (2, m)).astype(np.int32)
    columns = {name: Column(name, codes[i], ("a", "b", "c")) for i, name in enumerate("xy")}
    is_ = {
        name: [Condition(name, "=", "", value) for value in "ab"]
        + [Condition(name, "missing", "")] for name in "xy"
    }  # fmt: skip
    ways = (
        tuple((each,) for each in is_["x"]),
        tuple((one, other) for one in is_["x"] for other in is_["y"]),
    )
    sums = GroupSums(None, ways, X.mean(axis=0))

    def over(rows):
        return sums.over(X[rows], {name: column.take(rows) for name, column in columns.items()})

    parts = [over(part) for part in cut(np.arange(m), places)]
    merged, whole = reduce(merge_moments, parts), over(np.arange(m))
    for one, other in zip(merged[:4], whole[:4], strict=True):
        np.testing.assert_allclose(one, other, rtol=0.0, atol=1e-11)
    for place, code in enumerate((0, 1, -1)):
        rows = X[codes[0] == code] - X.mean(axis=0)
        assert whole.count[place] == len(rows)
        np.testing.assert_allclose(whole.second[place], rows.T @ rows, rtol=0.0, atol=1e-11)
    both = X[(codes[0] == 1) & (codes[1] == -1)] - X.mean(axis=0)
    np.testing.assert_allclose(whole.total[3 + 3 + 2], both.sum(axis=0), rtol=0.0, atol=1e-11)


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """Numbers with gaps, a category and a target, in one file of many row groups."""
    rng, m = np.random.default_rng(0), 600
    gaps = np.where(rng.random((3, m)) < 0.2, np.nan, rng.lognormal(size=(3, m)))
    gaps[1] = np.where(np.isnan(gaps[0]), np.nan, gaps[1])
    columns = {"a": gaps[0], "b": gaps[1], "c": gaps[2], "y": rng.normal(size=m)}
    columns["town"] = rng.choice(["x", "y", "z", "?"], m)
    folder = tmp_path_factory.mktemp("table")
    pq.write_table(pa.table(columns), folder / "t.parquet", row_group_size=37)
    return listed(folder), columns


def test_passes_merged_in_any_tree_are_the_same(table):
    chunks, columns = table
    asked = []

    def fold(function, items, merge):
        asked.append((function, merge))
        return Local().fold(function, items, merge)

    plan(chunks, fold, Reading(target="y", encoding="target"))
    kinds = {type(getattr(each, "one", each)) for each, _ in asked}
    assert kinds == {ProfilePass, MissingPass, TargetMeanPass}
    for function, merge in asked:
        parts = [function(chunk) for chunk in chunks]
        left, right = reduce(merge, parts), reduce(lambda a, b: merge(b, a), parts[::-1])
        if isinstance(left, TableProfile):
            assert_equal(left.columns, right.columns)
            assert left.rows.to_pandas().equals(right.rows.to_pandas())
        elif isinstance(left, MissingCounts):
            np.testing.assert_array_equal(left.together, right.together)
            missing = np.isnan([columns["a"], columns["b"], columns["c"]]).astype(int)
            np.testing.assert_array_equal(left.together[:3, :3], missing @ missing.T)
            for place, one in left.between.items():
                np.testing.assert_array_equal(one.inside, right.between[place].inside)
                assert one.below == right.between[place].below
        else:
            for place, sums in left.items():
                np.testing.assert_array_equal(sums.rows, right[place].rows)
                np.testing.assert_allclose(sums.total, right[place].total, rtol=1e-12, atol=1e-9)


def test_a_wrong_bracket_costs_a_pass_and_changes_nothing(table, monkeypatch):
    from leftout.data import encoder_passes as gaps

    chunks, columns = table
    passes = []

    def fold(function, items, merge):
        passes.append(type(getattr(function, "one", function)))
        return Local().fold(function, items, merge)

    right = plan(chunks, fold, sample=50)
    usual = passes.count(MissingPass)
    monkeypatch.setattr(gaps, "_bracket", lambda column: (1e5, 1e6))
    wrong = plan(chunks, fold, sample=50)
    assert passes.count(MissingPass) == 2 * usual + 1
    pairs = zip(right.encoder.plans_[:4], wrong.encoder.plans_, strict=False)
    assert all(one == other for one, other in pairs)
    assert right.encoder.flags_ == wrong.encoder.flags_
    known = columns["a"][~np.isnan(columns["a"])]
    assert right.encoder.plans_[0].becomes.median == np.median(known)
