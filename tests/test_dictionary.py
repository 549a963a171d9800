"""What people know of columns: the files they keep it in, and what becomes of values."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import leftout
from leftout.data.cleaning import clean
from leftout.data.columns import column_of, columns_of
from leftout.data.conditions import Condition
from leftout.data.dictionary import Dictionary
from leftout.data.encoding import encode_column
from leftout.data.profiling.column_types import infer_column_types
from leftout.data.roles import as_numbers
from leftout.errors import InputError
from leftout.running import collected_warnings

SEX = {"sex": {"kind": "code", "label": "sex at birth", "values": {"1": "m", "2": "f"}},
       "age": {"label": "age, years"}, "note": {"note": "as told"}}  # fmt: skip
QUOTED = "column,kind,label,values,note\nsex,code,sex at birth,1=m; 2=f,\n"
FILES = {
    "wide": QUOTED + 'age,,"age, years",,\nnote,,,,as told\n',
    "semicolons": " Column ;LABEL;values;Kind;note\r\nage;age, years;;;\r\n"
                  'sex;sex at birth;"1=m; 2=f"; Code;\r\nnote;;;;as told\r\n',
    "tabs": "column\tkind\tlabel\tvalues\tnote\nsex\tcode\tsex at birth\t1=m; 2=f\t\n"
            "age\t\tage, years\t\t\nnote\t\t\t\tas told\n",
}  # fmt: skip


@pytest.mark.parametrize("content", FILES.values(), ids=FILES)
@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_every_shape_of_csv(content, encoding, tmp_path):
    path = tmp_path / "about.csv"
    path.write_bytes(content.encode(encoding))
    known = Dictionary.of(path)
    expected = Dictionary.of(SEX)
    assert known == expected and known.kinds == {"sex": "code"} and known["note"].note == "as told"
    assert known["sex"].values == {"1": "m", "2": "f"} and known["age"].label == "age, years"
    assert Dictionary.of(str(path)) == expected


def test_every_other_thing_people_keep_it_in(tmp_path):
    lines = [{"column": name} | facts for name, facts in SEX.items()]
    table = pd.DataFrame(lines).assign(values=["1=m; 2=f", None, None])
    for name, content in {"a": SEX, "b": lines}.items():
        (tmp_path / f"{name}.json").write_text(json.dumps(content), encoding="utf-8")
    table.to_parquet(tmp_path / "c.parquet")
    table.to_csv(tmp_path / "d.csv.gz", index=False)
    given_ = [SEX, lines, table, pl.from_pandas(table), *sorted(tmp_path.iterdir())]
    for each in given_:
        assert Dictionary.of(each) == Dictionary.of(SEX), each
    assert Dictionary.of(None) == {}


def test_the_demos_own():
    table = leftout.datasets.load_demo()
    known = Dictionary.of(leftout.datasets.demo_dictionary()).checked(list(table))
    labels = {name: known[name].label for name in table}
    assert all(label != name for name, label in labels.items()) and len(labels) == 56
    assert labels["emp"] == "years in the line of work"
    assert known["unver"].values == {"0": "no", "1": "yes"}


def test_facts_that_are_there_and_that_are_not():
    known = Dictionary.of(SEX).checked(["sex", "age ", "note", "x"])
    assert known.kinds == {"sex": "code"}
    assert known["age "].label == "age, years" and known["x"].label == ""
    assert known["note"].note == "as told" and known["x"].note == ""
    assert known["sex"].values == {"1": "m", "2": "f"} and known["x"].values == {}


LABELS = {
    "1=yes; 0=no": {"1": "yes", "0": "no"},
    "1=a=b; 2=c;": {"1": "a=b", "2": "c"},
    " 1 = yes, always ;; 0 = no \n": {"1": "yes, always", "0": "no"},
    "10:30=early; 22:00=late": {"10:30": "early", "22:00": "late"},
}


@pytest.mark.parametrize(("text", "values"), LABELS.items())
def test_values_as_text(text, values):
    assert Dictionary.of({"a": {"values": text}})["a"].values == values


REFUSED = {
    "no column": ([{"name": "a"}], "has .*'name'.*a line is needed that names it under 'column'"),
    "an empty name": ([{"column": "", "label": "x"}], "that names it under 'column'"),
    "a kind": ({"a": {"kind": "numbr"}}, "'a' is of the kind 'numbr'; it must be one of number"),
    "two lines": (
        [{"column": "a", "label": "x"}, {"column": "a", "note": "y"}],
        "two lines about the column 'a'",
    ),
    "a label twice": ({"a": {"values": "1=x; 2=x"}}, "a label of its own for each value"),
    "a value twice": ({"a": {"values": "1=x; 1=y"}}, "values of 'a' in the dictionary"),
    "a swap": ({"a": {"values": "1=2; 2=1"}}, "the value '1' of 'a' as '2', which is another"),
    "a mark for missing cells": ({"a": {"values": "n=None"}}, "or stands for a missing cell"),
    "no label": ({"a": {"values": "1=x; 2"}}, "a label of its own for each value"),
    "a list of values": ({"a": {"values": [1, 2]}}, "a label of its own for each value"),
    "values on their own": (
        {"a": {"1": "x"}},
        "has .*'a': {'1': 'x'}.*any of kind, label, values, note",
    ),
    "a number": ({"a": 1}, "has .*'a': 1.*for each column a line is needed"),
    "a label alone": ({"a": "x"}, "has .*'a': 'x'.*for each column a line is needed"),
    "something else": (5, "The dictionary has 5; for each column"),
    "a list of texts": (["a"], "has 'a'; for each"),
    "an array": (np.zeros((2, 2)), "The dictionary has"),
    "a frame": (pd.DataFrame({"a": [1]}), "has .*{'a': 1}"),
}


@pytest.mark.parametrize(("given_", "text"), REFUSED.values(), ids=REFUSED)
def test_refusals(given_, text):
    with pytest.raises(InputError, match=text):
        Dictionary.of(given_)


BAD = {
    "no header": (
        "a.csv",
        b"name,label\na,x\n",
        "has .*a line is needed that names it under 'column'",
    ),
    "nothing": ("a.csv", b"", "is empty"),
    "too many fields": ("a.csv", b"column,label\na,x,y\n", "3 fields in its first row but 2 names"),
    "half a gzip": ("a.csv.gz", b"\x1f\x8b\x08\x00", "Compressed file ended"),
    "no JSON": ("a.json", b"{", "cannot be read"),
    "deep JSON": ("a.json", b"[" * 100_000, "cannot be read"),
    "a JSON number": ("a.json", b"5", "The dictionary has 5"),
}


@pytest.mark.parametrize(("name", "content", "text"), BAD.values(), ids=BAD)
def test_files_that_are_refused(name, content, text, tmp_path):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=text):
        Dictionary.of(tmp_path / name)


@pytest.mark.parametrize("path", ["nowhere.csv", "a\0b.csv", ".", "x" * 5000])
def test_paths_that_are_none(path):
    with pytest.raises(InputError, match="no file|is a folder|not a path"):
        Dictionary.of(path)


def test_names_that_the_table_does_not_have():
    with pytest.raises(
        InputError, match="The dictionary names the column 'sex'.*Did you mean 'Sex'"
    ):
        Dictionary.of(SEX).checked(["Sex", "age", "note"])
    known = Dictionary.of({7: {"label": "seven"}}).checked([6, 7])
    assert known["7"].label == "seven"


def applied(cells, values, kind=None, raw=False):
    facts = {"values": values} | ({"kind": kind} if kind else {})
    column = column_of(pd.Series(cells), "a")
    return Dictionary.of({"a": facts}).apply(column if raw else clean(column))


def words(column):
    return [None if code < 0 else column.categories[code] for code in column.values]


CELLS = st.one_of(
    st.lists(st.sampled_from([0, 1, 2, 3, 10, 0.5]), min_size=1),
    st.lists(st.sampled_from(["a", " a", "b ", "01", "1", "1.0", "c", ""]), min_size=1),
    st.lists(st.sampled_from(["1", "2", " 3", "10"]), min_size=1),
    st.lists(st.sampled_from(["1,5", "2", "3,0"]), min_size=1),
    st.lists(st.booleans(), min_size=1),
)
VALUES = st.dictionaries(
    st.sampled_from(["0", "1", "2", "3", "1.5", "a", "b", "True"]),
    st.sampled_from(["yes", "no", "maybe", "a", "c", "2", "10"]),
    min_size=1,
)


def naive_label(text, values):
    """The label of one value, by its text, else by its number."""
    if text in values:
        return values[text]
    try:
        number = {"True": 1.0, "False": 0.0}[text] if text in ("True", "False") else float(text)
    except ValueError:
        return text
    equal = [label for value, label in values.items() if value.replace(".", "").isdigit()
             and float(value) == number]  # fmt: skip
    return equal[0] if equal else text


@given(CELLS, VALUES)
def test_labels_against_one_cell_at_a_time(cells, values):
    try:
        column = applied(cells, values)
    except InputError:
        return
    before = clean(column_of(pd.Series(cells), "a"))
    texts = [None if gap else before.show(v) if before.categories is None else before.categories[v]
             for v, gap in zip(before.values, before.missing, strict=True)]  # fmt: skip
    assert words(column) == [None if t is None else naive_label(t, values) for t in texts]


@given(CELLS, VALUES, st.sampled_from([None, "code", "category", "number", "date"]))
def test_twice_is_once_and_raw_is_clean(cells, values, kind):
    known = {"a": {"values": values} | ({"kind": kind} if kind else {})}
    try:
        dictionary = Dictionary.of(known)
    except InputError:
        return
    raw = column_of(pd.Series(cells), "a")
    learned = dictionary.apply(clean(raw))
    if learned.categories is None:  # a number, which stays as it came
        assert kind == "number" and dictionary.apply(raw) is raw
        return
    for column in (dictionary.apply(learned), dictionary.apply(raw)):
        assert column.categories == learned.categories
        assert np.array_equal(column.values, learned.values)
        assert (column.levels is None) == (learned.levels is None)
        assert column.levels is None or np.array_equal(column.levels, learned.levels)
    plan = encode_column(learned, infer_column_types([learned])[0])
    if plan.becomes is not None:
        again, once = plan.becomes.read(dictionary.apply(raw)), plan.becomes.read(learned)
        assert all(map(np.array_equal, again, once))


@given(st.text(max_size=20), st.text(max_size=20))
def test_any_text_is_read_or_refused(text, other):
    for given_ in (
        {text: {"label": other}},
        {"a": {"values": text, "kind": other}},
        {"a": {"values": {text: other}}},
    ):
        try:
            dictionary = Dictionary.of(given_)
        except InputError:
            continue
        once = dictionary.apply(column_of(pd.Series([text, other, "1"]), "a"))
        again = dictionary.apply(once)
        assert words(again) == words(once) if once.categories is not None else again is once


@given(st.binary(max_size=60), st.sampled_from(["a.csv", "a.json"]))
def test_any_file_is_read_or_refused(tmp_path_factory, content, name):
    path = tmp_path_factory.mktemp("any") / name
    for start in (b"", b"column,label\n", b'[{"column": '):
        path.write_bytes(start + content)
        try:
            with collected_warnings():
                Dictionary.of(path)
        except InputError:
            continue


def test_two_numbers_keep_their_levels():
    column = applied([0, 1, 1, np.nan], {"1": "yes", "0": "no"})
    assert column.categories == ("no", "yes") and column.levels.tolist() == [0.0, 1.0]
    assert not column.words and [column.value(0), column.value(1)] == ["no", "yes"]
    half = applied([0, 1, 1], {1: "yes"})
    assert half.categories == ("0", "yes") and [half.value(0), half.value(1)] == [0.0, "yes"]
    assert as_numbers(column, "yes")[:3].tolist() == [0.0, 1.0, 1.0]
    assert as_numbers(column, 0)[:3].tolist() == [1.0, 0.0, 0.0]
    truth = applied([True, False], {"1": "yes", "False": "no"})
    assert truth.categories == ("no", "yes") and truth.levels.tolist() == [0.0, 1.0]


def test_new_rows_may_hold_further_values():
    dictionary = Dictionary.of({"a": {"values": {1: "yes", 0: "no"}}})
    learned = dictionary.apply(column_of([0.0, 1.0, 1.0], "a"))
    plan = encode_column(learned, infer_column_types([learned])[0])
    assert plan.how == "no is 0, yes is 1"
    new = dictionary.apply(column_of([1.0, 0.0, 2.0, 1.0], "a"))
    assert plan.becomes.read(new)[0][:, 0].tolist() == [1.0, 0.0, 1.0, 1.0]
    plan = encode_column(new, infer_column_types([new])[0])
    two = plan.becomes.read(dictionary.apply(column_of([1.0, 0.0], "a")))[0]
    assert np.array_equal(two, plan.becomes.read(new)[0][:2])


def test_numbers_become_categories_unless_they_are_said_to_be_numbers():
    cells = [1.0, 2.0, 3.0, 2.0]
    assert applied(cells, {"1.0": "one", "02": "two"}).categories == ("one", "two", "3")
    assert applied(cells, {1: "one"}, "number").categories is None
    coded = applied(cells, {}, "code")
    assert coded.categories == ("1", "2", "3") and coded.levels.tolist() == [1.0, 2.0, 3.0]
    assert coded.declared
    single = applied(np.float32([0.1, 0.2, 0.3]).astype(float), {0.1: "low"})
    assert single.categories == ("low", "0.2", "0.3")
    days = applied(["2020-01-31", "2020-02-01", "2020-03-01"], {"2020-01-31": "first"})
    assert days.categories == ("first", "2020-02-01", "2020-03-01") and not days.dates


def test_a_label_that_is_a_value_too_is_that_value():
    both = applied(["f", "female", "m"], {"f": "female"})
    assert both.categories == ("female", "m") and both.values.tolist() == [0, 0, 1]
    none = applied([0, 5, 88, 88], {88: "0"})
    assert none.categories == ("0", "5") and none.levels.tolist() == [0.0, 5.0]
    assert none.values.tolist() == [0, 1, 0, 0]


def test_a_label_that_looks_like_a_number_is_found_again():
    column = applied([1, 2, 3, 1], {1: "2019", 2: "2020"})
    condition = Condition("a", "=", "a = 2019", column.value(0))
    assert condition.value == "2019"
    assert condition.holds(column).tolist() == [True, False, False, True]


def test_text_that_begins_alike_keeps_apart():
    long = ["x" * 200 + end for end in "ab"]
    column = applied([1, 2, 2], dict(zip("12", long, strict=True)))
    assert len(set(column.categories)) == 2 and max(map(len, column.categories)) < 130


def test_columns_are_called_by_their_labels():
    table = pd.DataFrame({"a": [1.0, 2], "b": [1.0, 2], "c": [3.0, 4], "d": [1.0, 2], "e": [1, 2]})
    columns = columns_of(table)
    labels = {"a": "income", "b": "income", "c": "d", "e": "y" * 300}
    known = Dictionary.of({name: {"label": label} for name, label in labels.items()})
    names = [column.name for column in known.checked(list(table)).renamed(columns, list(table))]
    assert names[:4] == ["a", "b", "c", "d"]
    assert len(names[4]) < 130 and names[4].startswith("yyy")
    renamed = known.renamed(columns, list(table))
    assert all(c.values is o.values for c, o in zip(renamed, columns, strict=True))


def test_long_names():
    name = "n" * 200
    known = Dictionary.of({name: {"label": "short", "values": "1=a; 2=b"}}).checked([name])
    column = clean(column_of([1.0, 2.0], name))
    assert known.apply(column, name).categories == ("a", "b")
    assert [column.name for column in known.renamed([column], [name])] == ["short"]


def test_nothing_is_touched_where_nothing_is_said():
    column = column_of(["1", " 2"], "b")
    assert Dictionary.of(SEX).apply(column) is column
    labelled = Dictionary.of({"b": {"label": "just a name"}, "c": {"kind": "date"}})
    assert labelled.apply(column) is column
