"""Any table in, [0, 1] out: the encoder against plain versions of itself, and on tables of all
kinds."""

from __future__ import annotations

import os
import pickle
from contextlib import suppress
from datetime import date, datetime, timedelta
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

import paper_data
from leftout import InputError, TableEncoder
from leftout.data import encoding
from leftout.data.cleaning import MISSING, clean
from leftout.data.columns import column_of


@pytest.mark.filterwarnings("ignore:Can't check dok sparse matrix:UserWarning")
@parametrize_with_checks([TableEncoder(), TableEncoder(scaling="standard")])
def test_sklearn_contract(estimator, check):
    check(estimator)


@pytest.fixture
def people() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    m = 200
    return pd.DataFrame({
        "id": rng.permutation(m) + 1000,
        "age": rng.integers(18, 80, m),
        "income": np.where(rng.random(m) < 0.1, np.nan, rng.gamma(2.0, 10.0, m)),
        "price": [f"{x:,.2f} \u20ac" for x in rng.uniform(10, 9000, m)],
        "joined": rng.choice(["2020-01-31", "2021-02-28", "2024-12-01"], m),
        "town": rng.choice(["north", "south", "west", "?"], m),
        "owner": rng.random(m) < 0.5,
        "sex": rng.choice(["f", "m"], m),
        "code": rng.integers(1, 4, m),
        "same": "x",
        "nothing": None,
        "name": [f"person {i}" for i in range(m)],
    })  # fmt: skip


def test_every_column_becomes_what_it_should(people):
    encoder = TableEncoder(["code"]).set_output(transform="pandas")
    X = encoder.fit_transform(people)
    assert list(X.columns) == [
        "age", "income", "income is missing", "price", "joined", "town = north", "town = south",
        "town = west", "town is missing", "owner", "sex = m", "code = 1", "code = 2", "code = 3",
    ]  # fmt: skip
    kinds = {line.label: line.kind for line in encoder.columns_}
    assert {name: kinds[name] for name in encoder.dropped_} == {
        "id": "identifier", "same": "constant", "nothing": "constant", "name": "free text",
    }  # fmt: skip
    assert encoder.dropped_["same"] == "the same in every row"
    assert encoder.dropped_["nothing"] == "empty"
    assert encoder.sources_ == [name.split(" ")[0] for name in X.columns]

    def unit(values):
        return (values - values.min()) / (values.max() - values.min())

    np.testing.assert_allclose(X["age"], unit(people["age"]))
    np.testing.assert_allclose(
        X["income"], unit(people["income"].fillna(people["income"].median()))
    )
    gaps = people["income"].isna()
    np.testing.assert_allclose(X["income is missing"], gaps * X["income"].std() / gaps.std())
    price = people["price"].str.rstrip(" \u20ac").str.replace(",", "").astype(float)
    np.testing.assert_allclose(X["price"], unit(price))
    np.testing.assert_allclose(X["joined"], unit(pd.to_datetime(people["joined"])))
    np.testing.assert_array_equal(X["sex = m"], people["sex"] == "m")
    np.testing.assert_array_equal(X["owner"], people["owner"])
    gaps = people["town"] == "?"
    np.testing.assert_array_equal(X["town is missing"] > 0, gaps)
    # two values of a category are as far apart as the ends of a number; a missing one is between
    towns, known = X.filter(like="town =").to_numpy(), people["town"][~gaps].to_numpy()
    apart = np.linalg.norm(towns[~gaps][:, None] - towns[~gaps][None], axis=2)
    np.testing.assert_allclose(apart, np.where(known[:, None] == known[None], 0.0, 1.0))
    np.testing.assert_allclose(towns[gaps], np.tile(towns[~gaps].mean(axis=0), (gaps.sum(), 1)))
    assert kinds["joined"] == "date" and kinds["price"] == "number" and kinds["town"] == "category"
    assert kinds["owner"] == kinds["sex"] == "yes/no" and kinds["code"] == "code"
    how = {line.label: line.how for line in encoder.columns_}
    assert "with commas for thousands" in how["price"] and "year-month-day" in how["joined"]
    assert "median, and a missing indicator" in how["income"]
    assert "the average of all, and a missing indicator" in how["town"]


@pytest.mark.parametrize("smooth", ["auto", 0.0, 5.0])
def test_categories_become_the_targets_mean(people, smooth):
    rng = np.random.default_rng(1)
    y = rng.integers(0, 2, len(people)) + (people["town"] == "west")
    y = np.where(y > 0, "yes", "no")
    encoder = TableEncoder(["code"], encoding="target", smooth=smooth)
    X = pd.DataFrame(encoder.fit_transform(people, y), columns=encoder.get_feature_names_out())
    hits = pd.Series(y == "yes")
    for name in ("town", "code"):
        groups = hits.groupby(people[name])
        count, mean = groups.transform("count"), groups.transform("mean")
        weight = smooth
        if (
            smooth == "auto"
        ):  # variance within the category over variance of all, an empirical Bayes
            weight = groups.transform(lambda v: v.var(ddof=0)) / hits.astype(float).var(ddof=0)
        expected = (count * mean + weight * hits.mean()) / (count + weight)
        spread = expected.max() - expected.min()
        np.testing.assert_allclose(X[name], (expected - expected.min()) / spread, atol=1e-12)
    assert encoder.target_encoded_ == ["town", "code"] and "sex = m" in X
    how = {line.label: line.how for line in encoder.columns_}
    assert "mean of target = yes" in how["town"]


def test_the_papers_encoding():
    reason = paper_data.missing()
    if reason:
        pytest.skip(reason)
    source, raw = paper_data.SOURCES["students"], paper_data.sample("students")
    features = raw.columns.drop([source.target, *source.categories])
    ours = TableEncoder(
        list(source.categories), numeric=features, encoding="target", positive=source.positive,
        smooth=0.0,
    )  # fmt: skip
    X = ours.set_output(transform="pandas").fit_transform(
        raw.drop(columns=source.target), raw[source.target]
    )
    expected = paper_data.encode("students", raw)
    np.testing.assert_allclose(X[list(expected.columns)], expected, atol=1e-12)


def test_targets_of_every_kind(people):
    rng = np.random.default_rng(2)
    towns = people[["town", "age"]]
    several = rng.choice(["a", "b", "b", "c"], len(people))
    by = {
        positive: TableEncoder(positive=positive, encoding="target").fit_transform(towns, several)
        for positive in ("b", None)
    }
    np.testing.assert_array_equal(by["b"], by[None])  # of several, the most frequent counts
    other = TableEncoder(positive="a", encoding="target").fit_transform(towns, several)
    assert not np.array_equal(other, by["b"])
    number = rng.normal(size=len(people))
    number[:50] = np.nan
    town = TableEncoder(smooth=0.0, encoding="target").fit_transform(towns, number)[:, 0]
    means = pd.Series(number).groupby(people["town"]).mean()
    scaled = (means - means.min()) / (means.max() - means.min())
    np.testing.assert_allclose(town, people["town"].map(scaled), atol=1e-12)
    free = TableEncoder().fit_transform(towns)
    assert free.shape[1] == 5
    np.testing.assert_array_equal(TableEncoder().fit_transform(towns, number), free)


def test_new_rows_are_encoded_alike(people):
    encoder = TableEncoder(["code"])
    X = encoder.fit_transform(people)
    np.testing.assert_array_equal(encoder.transform(people), X)
    np.testing.assert_array_equal(clone(encoder).fit(people).transform(people[5:9]), X[5:9])
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(encoder)).transform(people), X)
    new = people[:4].copy()
    new["age"] = [5, 500, np.nan, 30]
    new["town"] = ["east", "north", None, "south"]
    new["code"] = ["1", "9", "2", "x"]
    new["price"] = ["12.50", "cheap", None, "1,000.00"]
    Z = pd.DataFrame(encoder.transform(new), columns=encoder.get_feature_names_out())
    assert Z["age"].tolist()[:2] == [0.0, 1.0] and Z["age"][2] == pytest.approx(
        (people["age"].median() - people["age"].min()) / np.ptp(people["age"])
    )
    assert Z.filter(like="town").loc[0].tolist() == [0.0] * 4 and Z["town is missing"][2] > 0
    assert (Z.filter(like="code = ").to_numpy() > 0).sum(axis=1).tolist() == [1, 0, 1, 0]
    assert Z["price"].between(0, 1).all()
    with pytest.raises(ValueError, match="feature names"):
        encoder.transform(people.rename(columns={"age": "years"}))


def test_all_kinds_of_frames_agree(people):
    people = people.drop(columns=["nothing"])
    X = TableEncoder(["code"]).fit_transform(people)
    for frame in (pl.from_pandas(people), pa.Table.from_pandas(people, preserve_index=False)):
        np.testing.assert_allclose(TableEncoder(["code"]).fit_transform(frame), X, atol=1e-12)
    array = TableEncoder().fit(people.to_numpy(dtype=object))
    assert (
        array.transform(people.to_numpy(dtype=object)).shape[1]
        == TableEncoder().fit_transform(people).shape[1]
    )
    assert array.get_feature_names_out()[0] == "x1"


@pytest.mark.parametrize(
    ("texts", "values"),
    [
        (["1", "2.5", "-3e2"], [1, 2.5, -300]),
        (["1,5", "2", "-0,25"], [1.5, 2, -0.25]),
        (["1,234", "22", "1,234,567.5"], [1234, 22, 1234567.5]),
        (["1.234,5", "2,5", "7"], [1234.5, 2.5, 7]),
        (["$5", "$ 7.5", "-$1"], [5, 7.5, -1]),
        (["5%", "0.05"], None),  # of what?
        (["$5", "\u20ac7"], None),
        (["0,125", "2,500", "7"], [0.125, 2.5, 7]),
        (["1,234", "-5678", "7"], [1234, -5678, 7]),
        (["1 234 567", "12"], [1234567, 12]),
        (["1'234,5", "12"], [1234.5, 12]),
        ([str(2**62), str(2**62 + 1)], None),  # floats do not tell them apart
        (["02134", "10001"], None),  # post codes
        (["1", "two"], None),
        (["1_000", "2"], None),
        (["nan", "inf"], None),
    ],
)
def test_numbers_as_people_write_them(texts, values):
    found = clean(column_of(texts + texts))
    if values is None:
        assert found.categories is not None and found.levels is None
    else:
        assert found.numbers.tolist() == [*values, *values]


@pytest.mark.parametrize(
    ("texts", "first"),
    [
        (["2024-03-01", "2023-12-31"], "2024-03-01"),
        (["2024-03-01 12:30:00", "2023-12-31T00:00:00"], "2024-03-01T12:30:00"),
        (["2024-03-01T12:00:00+02:00", "2023-12-31T00:00:00Z"], "2024-03-01T10:00:00"),
        (["31.12.2023", "01.03.2024"], "2023-12-31"),
        (["12/31/2023", "03/01/2024"], "2023-12-31"),
        (["31/12/2023", "01/03/2024"], "2023-12-31"),
        (["2024-13-01", "2023-12-31"], None),
        (["2024", "2023-12-31"], None),
    ],
)
def test_dates_as_people_write_them(texts, first):
    found = clean(column_of(texts))
    assert found.dates == (first is not None)
    if first is not None:
        assert found.values[0] == np.datetime64(first, "us").astype(np.int64)


@pytest.mark.parametrize(
    "texts",
    [
        ["31/12/2020", "01/02/2021", "03/04/2021"],  # alone, the second could be month and day
        ["1,234", "2,5", "3,75"],  # alone, the first could be a thousand
        ["209.175", "1.000,5", "12"],
        ["1.50", "2.0", "abc"],
        ["5%", "10%", "many"],
        ["2020-01-01", "1.2.2020", "x"],
    ],
)
def test_rows_are_read_alike_alone_and_together(texts):
    table = pd.DataFrame({"a": texts * 8})
    for y in (None, [0, 1, 1] * 8):
        encoder = TableEncoder().fit(table, y)
        whole = encoder.transform(table)
        for row in range(3):
            np.testing.assert_array_equal(encoder.transform(table[row : row + 1]), whole[[row]])


def test_what_somebody_calls_a_category_is_one(people):
    digits = pd.DataFrame({
        "a": list("123") * 9,
        "b": pd.Categorical([1, 2, 3] * 9),
        "c": [1, 2, 3] * 9,
        "d": pd.to_datetime(["2020-01-01", "2021-01-01", "2022-01-01"] * 9),
    })  # fmt: skip
    kinds = [line.kind for line in TableEncoder().fit(digits).columns_]
    assert kinds == ["number", "code", "number", "date"]
    kinds = [line.kind for line in TableEncoder(list("abcd")).fit(digits).columns_]
    assert kinds == ["code"] * 3 + ["category"]
    long = "n" * 300
    named = TableEncoder([long]).fit(digits.rename(columns={"a": long}))
    assert named.columns_[0].kind == "code"


def test_words_that_end_in_id_are_no_identifiers():
    numbers = np.random.default_rng(0).permutation(np.arange(0, 300, 3)) * 1.0
    names = ["paid", "Madrid", "covid", "id", "customer_id", "userId", "Kunden-Nr"]
    encoder = TableEncoder().fit(pd.DataFrame(dict.fromkeys(names, numbers)))
    assert list(encoder.dropped_) == ["id", "customer_id", "userId", "Kunden-Nr"]


def test_numbers_far_outside_are_cut():
    table = pd.DataFrame({"a": [1e-300, 2e-300, 5e-300], "b": [1, 2, 4]})
    encoder = TableEncoder().fit(table)
    new = pd.DataFrame({"a": [1e300, -1e300, np.inf], "b": [9, -9, 2]})
    np.testing.assert_allclose(encoder.transform(new), [[1, 1], [0, 0], [1, 1 / 3]])


def test_masked_and_arrow_cells_are_missing():
    masked = np.ma.array(np.arange(24.0).reshape(8, 3) % 5, mask=False)
    masked[0, 1] = np.ma.masked
    encoder = TableEncoder().fit(masked)
    assert [line.missing for line in encoder.columns_] == [0, 1, 0]
    table = dict({
        "decimal": pa.array([Decimal("1.5"), None, Decimal("3")], pa.decimal128(5, 2)),
        "day": pa.array([date(2020, 1, 1), None, date(2021, 1, 1)]),
    })  # fmt: skip
    table = pa.table(table).to_pandas(types_mapper=pd.ArrowDtype)
    assert [line.missing for line in TableEncoder().fit(table).columns_] == [1, 1]


def test_marks_for_missing_cells():
    cells = [*MISSING, " ? ", "a", "b", "c", " a"]
    found = clean(column_of(cells))
    assert found.missing.sum() == len(MISSING) + 1 and found.categories == ("a", "b", "c")
    numbers = clean(column_of([*MISSING, "1", "2", "3"]))
    assert numbers.numbers[len(MISSING) :].tolist() == [1, 2, 3] and numbers.missing.sum() == len(
        MISSING
    )


def test_long_names_and_values_are_cut_and_stay_apart():
    long = "x" * 1_000_000
    table = pd.DataFrame(
        {long: [long + "a", long + "b", "c"] * 20, long + "2": range(60), "n": [1.5, 2, 7] * 20}
    )
    encoder = TableEncoder().fit(table)
    names = encoder.get_feature_names_out().tolist()
    assert len(set(names)) == len(names) == 4 and max(map(len, names)) < 400
    assert encoder.transform(table).shape == (60, 4)


@pytest.mark.parametrize(
    ("table", "words"),
    [
        (pd.DataFrame({"a": [1, 1, 1]}), "No column is left"),
        (pd.DataFrame({"a": [None, None]}), "No column is left"),
        (pd.DataFrame({"a": [1.0, np.inf, 2.0]}), "infinite"),
        (pd.DataFrame({"a": [1.0]}), "1 row"),
        (pd.DataFrame({"a": []}), "0 rows"),
        (pl.DataFrame({"a": [1, 2]}).lazy(), "LazyFrame"),
    ],
)  # fmt: skip
def test_refusals(table, words):
    with pytest.raises((ValueError, TypeError), match=words):
        TableEncoder().fit(table)


def test_parameters_are_checked(people):
    for encoder, y, words in (
        (TableEncoder(["nobody"]), None, "no such column"),
        (TableEncoder(drop=["agee"]), None, "Did you mean 'age'"),
        (TableEncoder(encoding="targets"), None, "Did you mean 'target'"),
        (TableEncoder(encoding="target"), None, "pass them as y"),
        (TableEncoder(encoding="target", smooth=-1), people["sex"], "smooth=-1"),
        (TableEncoder(encoding="target"), people["sex"][:9], "9 values for 200 rows"),
        (TableEncoder(encoding="target"), people["same"], "at least two are needed"),
        (
            TableEncoder(encoding="target", positive="q"),
            people["sex"],
            "is not a value of the target",
        ),
    ):
        with pytest.raises(ValueError, match=words):
            encoder.fit(people, y)


def test_of_many_values_the_rare_ones_share_a_column(monkeypatch):
    monkeypatch.setattr(encoding, "LEVELS", 5)
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {"word": rng.choice([f"w{i}" for i in range(40)], 2000, p=np.arange(40) / 780)}
    )
    encoder = TableEncoder().set_output(transform="pandas")
    X = encoder.fit_transform(table)
    common = sorted(table["word"].value_counts().index[:5])
    assert list(X.columns) == [f"word = {word}" for word in common] + ["word = (other)"]
    np.testing.assert_array_equal((X > 0).sum(axis=1), 1)
    assert "of the 5 most frequent, one for the others" in encoder.columns_[0].how


# What cells people's tables hold. A column draws from one of these, now and then from two.
CELLS = {
    "whole": st.integers(-(10**20), 10**20),
    "small": st.integers(0, 3),
    "float": st.floats(allow_nan=True, allow_infinity=False, width=64),
    "wild": st.floats(),
    "text": st.text(max_size=6),
    "word": st.sampled_from(["a", "b", "?", "NA", "", " a", "<b>", "=1+1", "\u202e"]),
    "number text": st.sampled_from(["1", "2,5", "1,000", "-3.5e3", "$4", "007", "12%", "1.2.3"]),
    "date text": st.sampled_from(["2020-01-01", "31.12.2020", "1/2/2020", "2020", "2020-99-99"]),
    "bool": st.booleans(),
    "time": st.datetimes(datetime(1700, 1, 1), datetime(2200, 1, 1)),
    "date": st.dates(date(1700, 1, 1), date(2200, 1, 1)),
    "odd": st.sampled_from([Decimal("1.5"), timedelta(1), (1, 2), b"x", float("nan"), pd.NA]),
    "missing": st.none(),
}  # fmt: skip


@st.composite
def tables(draw):
    rows = draw(st.integers(1, 12))
    names = draw(
        st.lists(
            st.text(max_size=3) | st.sampled_from(["id", "a", "A"]),
            min_size=1,
            max_size=4,
            unique=True,
        )
    )
    columns = {}
    for name in names:
        kinds = draw(st.lists(st.sampled_from(sorted(CELLS)), min_size=1, max_size=2))
        cell = st.one_of([CELLS[kind] for kind in kinds] + [st.none()] * draw(st.booleans()))
        columns[name] = draw(st.lists(cell, min_size=rows, max_size=rows))
    y = draw(st.none() | st.lists(st.sampled_from([0, 1, "x"]), min_size=rows, max_size=rows))
    table = pd.DataFrame({name: pd.Series(v, dtype=object) for name, v in columns.items()})
    kind = draw(st.sampled_from(["as drawn", "inferred", "nullable"]))
    if kind == "inferred":
        table = table.infer_objects()
    if kind == "nullable":
        with suppress(OverflowError, RuntimeWarning):  # older pandas, of huge numbers
            table = table.convert_dtypes()
    return table, y, draw(st.sampled_from([2, 100]))


REFUSED = ("No column is left", "infinite", "1 row", "at least two", "several columns named")


# ``make tables`` draws 10,000
@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([0.0, 5e-324], [0.0, 1.0]),
        ([0.0, 5e-324, 1e-323], [0.0, 0.5, 1.0]),
        ([-1.5e308, 0.0, 1.5e308], [0.0, 0.5, 1.0]),
        ([-1.7e308, 1.7e308], [0.0, 1.0]),
    ],
)
def test_ranges_at_the_ends_of_what_a_float_holds(values, expected):
    found = TableEncoder().fit_transform(pd.DataFrame({"a": values * 3}))
    assert found.ravel().tolist() == expected * 3


@settings(max_examples=int(os.environ.get("LEFTOUT_TABLES", "400")))
@given(drawn=tables())
def test_any_table_is_encoded_or_refused(drawn):
    table, y, levels = drawn
    encoder = TableEncoder()
    try:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(encoding, "LEVELS", levels)
            X = encoder.fit_transform(table, y)
    except ValueError as error:  # a clear refusal, one of ours
        assert any(words in str(error) for words in REFUSED), error
        return
    assert X.shape == (len(table), len(encoder.get_feature_names_out()))
    assert np.isfinite(X).all() and X.min() >= 0.0 and X.max() <= 1.0
    assert len(encoder.columns_) == table.shape[1] and len(encoder.sources_) == X.shape[1]
    np.testing.assert_array_equal(encoder.transform(table), X)


@pytest.mark.parametrize("scaling", ["minmax", "standard", "none"])
@pytest.mark.parametrize("seed", range(3))
def test_weights_learn_what_repeated_rows_do(scaling, seed):
    rng = np.random.default_rng(seed)
    m = 150
    table = pd.DataFrame(
        {
            "income": np.where(rng.random(m) < 0.2, np.nan, rng.gamma(2.0, 1000.0, m)),
            "age": rng.integers(18, 90, m),
            "sex": rng.choice(["f", "m", None], m, p=[0.5, 0.4, 0.1]),
            "town": rng.choice([f"town {i}" for i in range(130)], m),
            "grade": pd.Categorical(rng.choice(["a", "b", None], m), ["a", "b", "c"], ordered=True),
        }
    )
    table["rent"] = table["income"] / 3.0  # missing where income is
    weights = rng.integers(0, 4, m)
    again = table.loc[np.repeat(table.index, weights)].reset_index(drop=True)
    encoder = TableEncoder(numeric=["age", "income", "rent"], categorical=["town"], scaling=scaling)
    by_weight, by_rows = clone(encoder), clone(encoder).fit(again)
    made = by_weight.fit_transform(table, sample_weight=1e6 * weights)
    assert by_weight.get_feature_names_out().tolist() == by_rows.get_feature_names_out().tolist()
    np.testing.assert_allclose(made, by_rows.transform(table), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(by_weight.transform(table), made, rtol=1e-12)
    plain, equal = clone(encoder).fit_transform(table), clone(encoder)
    assert np.array_equal(equal.fit_transform(table, sample_weight=np.full(m, 7)), plain)


def test_weights_and_means_of_a_target_do_not_go_together():
    table = pd.DataFrame({"town": list("abc") * 20, "x": range(60)})
    encoder = TableEncoder(encoding="target")
    with pytest.raises(InputError, match="encoding='target' counts every row once"):
        encoder.fit(table, np.arange(60) % 2, sample_weight=np.arange(60))
