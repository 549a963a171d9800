"""What a table is taken for: a target has no say in it, and doubts are named."""

from __future__ import annotations

import gzip

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator

import leftout
import paper_data
from leftout import MaxDisparityPartition
from leftout.data.cleaning import clean_all
from leftout.data.columns import columns_of
from leftout.data.preparation import prepare_table
from leftout.data.roles import as_numbers
from leftout.data.sources import Source
from leftout.errors import InputError
from leftout.running import collected_warnings
from leftout.settings import Reading


def taken(table, sample=None, **options):
    with collected_warnings():
        return prepare_table(
            Source.of(table), Reading(**options), sample=sample, rng=np.random.default_rng(0)
        )


def named(name: str) -> tuple[pd.DataFrame, str]:
    if name == "demo":
        return leftout.datasets.load_demo(), "approve"
    file, target = {
        "students": ("students_dropout.csv.gz", "Target"),
        "adult": ("adult.csv.gz", "income"),
    }[name]
    path = paper_data.FOLDER / file
    if not path.exists():
        pytest.skip(f"{path.name} is not there")
    with gzip.open(path) as opened:
        return pd.read_csv(opened), target


@pytest.mark.parametrize("name", ["students", "adult", "demo"])
def test_naming_a_target_changes_neither_encoding_nor_group(name):
    table, target = named(name)
    table = table[:4000]
    with_target = taken(table, target=target, sample=1500)
    without = taken(table, drop=[target], sample=1500)
    np.testing.assert_array_equal(with_target.rows, without.rows)
    np.testing.assert_array_equal(with_target.X, without.X)
    np.testing.assert_array_equal(taken(table.drop(columns=target), sample=1500).X, without.X)
    search = MaxDisparityPartition(5, group_size=0.1, random_state=0)
    labels = [search.fit(one.X).labels_.copy() for one in (with_target, without)]
    np.testing.assert_array_equal(*labels)
    # but where it is asked for, the target is part of it
    if any(kind.kind == "category" for kind in with_target.encoder.columns_):
        inside = taken(table, target=target, sample=1500, encoding="target")
        assert inside.X.shape != without.X.shape


def test_an_audit_finds_the_same_rows_whatever_the_target():
    rng = np.random.default_rng(0)
    X, _ = leftout.datasets.make_planted(300, 6, 2, 50, random_state=0)
    table = pd.DataFrame(X, columns=list("abcdef")).assign(
        town=rng.choice(list("xyz"), 300), outcome=rng.choice(["no", "yes"], 300)
    )
    small = {"n_surrogates": 19, "n_restarts": 2, "n_components": 3, "group_size": 60}
    found = [
        leftout.audit(table, target="outcome", **small),
        leftout.audit(table, drop=["outcome"], **small),
        leftout.audit(table.drop(columns="outcome"), **small),
        leftout.audit(table.drop(columns="outcome"), target=table["outcome"], **small),
    ]
    for other in found[1:]:
        np.testing.assert_array_equal(other.partition.labels_, found[0].partition.labels_)
        assert other.trust.p_value == found[0].trust.p_value


def test_labels_and_missing_values_reach_every_text():
    rng = np.random.default_rng(3)
    m = 240
    table = pd.DataFrame(rng.normal(size=(m, 2)), columns=["a", "b"])
    table["occ"] = np.repeat([1, 2, 3], [100, 100, 40])  # one component tells 1 from 2
    table["rev"] = np.where(rng.random(m) < 0.1, 999, rng.integers(0, 4, m))
    book = [
        {"column": "occ", "label": "way of living", "values": {1: "own", 2: "rent", 3: "tent"}},
        {"column": "rev", "label": "reviews", "note": "from the file"},
    ]
    found = leftout.audit(
        table,
        dictionary=book,
        missing="rev=999",
        n_surrogates=19,
        n_restarts=2,
        n_components=1,
        group_size=40,
    )
    columns = {column.name: column for column in found.columns}
    assert columns["occ"].label == "way of living" and columns["rev"].label == "reviews"
    assert columns["rev"].missing == (table["rev"] == 999).sum()
    assert columns["rev"].note == "from the file"
    assert "way of living = tent" in found.encoder.get_feature_names_out()
    assert "way of living = tent" in found.explanation.sentence.text
    assert any("way of living = tent" in rule.text for rule in found.explanation.rules)
    assert "way of living = tent" in found.html() and "occ =" not in found.html()
    np.testing.assert_array_equal(found.encoder.transform(table), found.intake.X)
    cells = (table["rev"] == 999).sum()
    assert any(f"{cells} cells of rev" in note for note in found.notes)


def test_every_doubt_is_named():
    rng = np.random.default_rng(0)
    m = 600
    table = pd.DataFrame(rng.normal(size=(m, 5)), columns=list("abcde"))
    table["copy"] = 3.0 - 2.0 * table["a"]
    table["outcome"] = rng.choice(["no", "yes"], m)
    flips = rng.random(m) < 0.01
    table["text"] = (table["outcome"] == "yes") ^ flips
    table["sex"] = rng.choice(["f", "m"], m)
    table["title"] = table["sex"].map({"f": "Ms", "m": "Mr"})
    table["visits"] = np.where(rng.random(m) < 0.05, 999, rng.integers(0, 5, m))
    found = taken(table, target="outcome", sensitive=["sex"])
    assert [(line.column, line.of) for line in found.copies] == [("copy", "a")]
    assert [(line.column, line.of) for line in found.leaks] == [("text", "outcome")]
    assert [(line.column, line.of) for line in found.proxies] == [("title", "sex")]
    assert [(one.column, one.value) for one in found.suspects] == [("visits", "999")]
    assert "copy" in found.dropped and "copy" not in found.encoder.sources_
    roles = {fact.name: fact.role for fact in found.facts}
    assert [roles[name] for name in ("a", "copy", "outcome", "sex")] == [
        "searched", "left out", "target", "sensitive",
    ]  # fmt: skip


def test_what_is_said_twice_is_refused():
    table = pd.DataFrame({"a": np.arange(40) % 7, "b": np.arange(40) % 5})
    with pytest.raises(InputError, match="read as codes, and as numbers"):
        taken(table, categorical=["a"], numeric=["a"])
    with pytest.raises(InputError, match="Did you mean 'target'"):
        taken(table, encoding="targets")


def test_marks_that_columns_share_make_no_copies():
    rng = np.random.default_rng(0)
    gone = rng.random(500) < 0.15
    table = pd.DataFrame({
        "income": np.where(gone, -99999, rng.normal(3000, 400, 500).round()),
        "rent": np.where(gone, -99999, rng.normal(900, 90, 500).round()),
        "pica": np.where(gone, 2, rng.integers(0, 2, 500)),
        "sugar": np.where(gone, 2, rng.random(500) < 0.02),
    })  # fmt: skip
    table["again"] = table["income"] * 2
    found = taken(table)
    assert [(line.column, line.of) for line in found.copies] == [("again", "income")]
    assert {one.column for one in found.suspects} >= {"income", "rent"}


def test_a_word_among_numbers_is_named():
    cells = [str(n) for n in range(7, 40)] * 3 + ["none"] * 4
    table = pd.DataFrame({"t": cells, "x": np.arange(len(cells)) % 11})
    found = taken(table)
    assert [(one.column, one.value, one.rows) for one in found.suspects] == [("t", "none", 4)]
    read = taken(table, missing="t=none")
    kinds = {fact.name: (fact.kind, fact.missing) for fact in read.facts}
    assert kinds["t"] == ("number", 4) and not read.suspects


def test_the_encoder_takes_the_table_that_was_audited():
    rng = np.random.default_rng(1)
    table = pd.DataFrame(rng.normal(size=(60, 4)), columns=list("abcd"))
    table["copy"], table["outcome"] = table["a"], rng.choice(["no", "yes"], 60)
    found = taken(table, target="outcome", sensitive=["d"])
    np.testing.assert_array_equal(found.encoder.transform(table), found.X)
    with pytest.raises(ValueError, match="feature names"):
        found.encoder.transform(table.drop(columns="b"))


def test_a_targets_value_is_meant_by_its_name_or_its_label():
    rng = np.random.default_rng(2)
    table = pd.DataFrame(rng.normal(size=(60, 3)), columns=list("abc"))
    table["stat"] = rng.choice(["Y", "N"], 60)
    book = {"stat": {"label": "paid back", "values": {"Y": "yes", "N": "no"}}}
    for positive in ("Y", "yes"):
        assert taken(table, target="stat", positive=positive, dictionary=book).positive == "yes"


@pytest.mark.parametrize("positive", ["2", "2.0", 2, "2e0"])
def test_a_targets_number_may_be_written_in_several_ways(positive):
    rng = np.random.default_rng(2)
    table = pd.DataFrame(rng.normal(size=(60, 3)), columns=list("abc"))
    table["stat"] = rng.choice([1, 2, 3], 60)
    for more in ({}, {"categorical": ["stat"]}):
        found = taken(table, target="stat", positive=positive, **more)
        twos = as_numbers(found.target, found.positive)
        assert np.array_equal(twos == 1.0, table["stat"] == 2)


def test_means_of_codes_are_doubted():
    rng = np.random.default_rng(3)
    table = pd.DataFrame(rng.normal(size=(80, 3)), columns=list("abc"))
    table["status"] = rng.choice([1, 2, 7], 80)
    with collected_warnings() as notes:
        prepare_table(Source.of(table), Reading(target="status"), rng=np.random.default_rng(0))
    assert any("status looks like codes, but its mean is compared" in note for note in notes)


def test_categories_by_a_target_need_one():
    table = pd.DataFrame({"a": np.arange(40) % 7, "b": np.arange(40) % 5})
    with pytest.raises(InputError, match="without the target whose means"):
        leftout.audit(table, encoding="target")


WEIGHTS = {
    "two values": (np.arange(60) % 2 + 1.0, np.arange(60) % 2 + 1.0),
    "yes or no": (np.arange(60) % 3 > 0, np.arange(60) % 3 > 0),
    "one value": (np.full(60, 3), None),
    "text": ([f"{1000 * k:,}" for k in range(1, 61)], np.arange(1, 61)),
}
NO_WEIGHTS = {
    "words": (["heavy"] * 60, "weights that are no numbers in weights='w'"),
    "dates": (pd.date_range("2026-01-01", periods=60), "that are no numbers"),
    "all zero": (np.zeros(60), r"All 60 weights in weights='w' are zero"),
    "a word among numbers": ([*map(str, range(59)), "many"], "Found 1 missing among the weights"),
}


@pytest.mark.parametrize("name", WEIGHTS)
def test_weights_are_read_as_numbers_are(name):
    column, want = WEIGHTS[name]
    table = pd.DataFrame({"x": np.arange(60.0) ** 2, "y": np.arange(60.0) % 7, "w": column})
    found = taken(table, weights="w")
    assert found.feature_names == ["x", "y"]
    if want is None:
        assert found.weights is None and len(found.rows) == 60
    else:
        some = np.asarray(want)[np.asarray(want) > 0].astype(float)
        got = np.ones(len(some)) if found.weights is None else found.weights
        np.testing.assert_allclose(got, some / some.mean(), rtol=1e-12)
        assert len(found.rows) == len(some)


@pytest.mark.parametrize("name", NO_WEIGHTS)
def test_columns_that_are_no_weights_are_refused(name):
    column, message = NO_WEIGHTS[name]
    table = pd.DataFrame({"x": np.arange(60.0) ** 2, "y": np.arange(60.0) % 7, "w": column})
    with pytest.raises(InputError, match=message):
        taken(table, weights="w")


def test_weights_beside_the_table_are_refused():
    table = pd.DataFrame({"x": np.arange(60.0) ** 2, "y": np.arange(60.0) % 7})
    with pytest.raises(InputError, match=r"weights names a column, but got ndarray\. Put the"):
        taken(table, weights=np.ones(60))


def test_copies_of_copies():
    rng = np.random.default_rng(5)
    m = 2000
    code = rng.integers(1, 9, m)
    table = pd.DataFrame({
        "words": np.array(list(" hgfedcba"))[code],
        "noisy": code + 0.1 * rng.normal(size=m),
        "code": code,
        "like": 2.0 * code,
        "x": rng.normal(size=m),
    })  # fmt: skip
    table["y"] = table["x"] + 0.12 * rng.normal(size=m)
    table["z"] = table["y"] + 0.12 * rng.normal(size=m)  # like y, but hardly like x
    found = {line.column: line.of for line in taken(table).copies}
    assert found == {"code": "words", "like": "words", "y": "x"}
    assert abs(np.corrcoef(table["x"], table["z"])[0, 1]) < 0.99


def test_a_target_has_no_say_in_what_its_neighbours_are():
    """Numbers that only the target shows to be codes stay what they are without it."""
    rng = np.random.default_rng(0)
    m = 600
    table = pd.DataFrame(rng.normal(size=(m, 3)), columns=list("abc"))
    table["county"] = rng.choice([1, 3, 4, 11, 19, 23, 40], m)
    jumps = dict(zip([1, 3, 4, 11, 19, 23, 40], [5, 0, 4, 1, 5, 0, 3], strict=True))
    table["outcome"] = table["county"].map(jumps) + 0.1 * rng.normal(size=m)
    named = [
        taken(table, target="outcome"),
        taken(table, drop=["outcome"]),
        taken(table, sensitive=["outcome"]),
        taken(table.drop(columns="outcome")),
    ]
    for other in named[1:]:
        np.testing.assert_array_equal(other.X, named[0].X)
        assert other.encoder.columns_ == named[0].encoder.columns_
    seen = taken(table)  # searched, it shows them, and that is as it should be
    assert seen.X.shape[1] == named[0].X.shape[1] + 1 + 6


def test_flags_are_found_under_names_that_are_taken():
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(200, 3)), columns=["a is missing", "a", "b"])
    table.loc[:40, "a"] = np.nan
    found = taken(table)
    names = found.encoder.get_feature_names_out().tolist()
    assert names == ["a is missing", "a", "a is missing (2)", "b"]
    spread = found.X.var(axis=0)
    assert found.indicator_share == pytest.approx(spread[2] / spread.sum())


def with_strays(cells, odd, rows=(3,)):
    cells = [*cells]
    for row in rows:
        cells[row] = odd
    return cells


_NUMBERS = np.random.default_rng(1).normal(size=569).round(4)


@pytest.mark.parametrize(
    ("cells", "odd", "kind"),
    [
        (map(str, _NUMBERS), "n.k.", "number"),
        ([str(20 + row % 34) for row in range(400)], "ca. 24", "number"),
        (_NUMBERS.tolist(), "none", "number"),  # numbers and a text in one object column
        ([f"{value:.2f}".replace(".", ",") for value in _NUMBERS], "-", "number"),
        (map(str, pd.date_range("2020-01-01", periods=300).date), "soon", "date"),
        ([f"{value:05d}" for value in range(1000, 99000, 700)], "n.k.", "identifier"),  # codes
        (["low", "high", "no"] * 50, "7", "category"),
    ],
)
def test_a_few_odd_cells_leave_a_column_what_it_is(cells, odd, kind):
    cells = with_strays(cells, odd)
    table = pd.DataFrame({"x": cells, "y": np.arange(len(cells)) ** 0.5})
    (fact,) = [fact for fact in taken(table).facts if fact.name == "x"]
    assert fact.kind == kind
    if kind in ("number", "date"):
        assert (fact.missing, fact.strays) == (1, ((odd, 1),))


def test_how_many_odd_cells_are_few():
    def strays(n, odd):
        table = pd.DataFrame({"x": [*map(str, range(n - odd)), *["?!"] * odd]})
        return clean_all(columns_of(table))[0].strays

    assert strays(20, 2) and not strays(20, 3)  # a tenth at most
    assert strays(300, 3) and not strays(300, 4)  # three, or
    assert strays(1_000, 10) and not strays(1_000, 11)  # one of a hundred
    coded = with_strays(map(str, range(250, 850)), "V57")
    assert clean_all(columns_of(pd.DataFrame({"x": coded})))[0].strays
    coded[7], coded[9] = "V58", "E909"
    assert not clean_all(columns_of(pd.DataFrame({"x": coded})))[0].strays


def test_odd_cells_are_told_and_read_alike(tmp_path):
    table = pd.DataFrame(
        {f"x{place}": _NUMBERS[place : place + 300] for place in range(0, 200, 40)}
    )
    table["age"] = with_strays([str(20 + row % 34) for row in range(300)], "ca. 24")
    table.loc[[5, 6], "age"] = "n.k."
    path = tmp_path / "t.csv"
    table.to_csv(path, index=False)
    expected = (
        "age holds numbers but for 3 cells: 'ca. 24', 'n.k.' (2 times). These cells count as "
        "missing. Correct them in the table; or, to keep what is written as categories: "
        "categorical=['age']."
    )
    asked = {"quick": True, "min_cell": 0}
    audits = [leftout.audit(path, **asked), leftout.audit(table.to_numpy(), **asked),
              leftout.audit(path, engine="local", **asked)]  # fmt: skip
    for found in audits:
        (told,) = [one.detail for one in found.findings if one.code == "T007"]
        assert told.replace("x5", "age") == expected
        assert "no numbers count as missing" in found.summary()
        np.testing.assert_allclose(found.intake.X, audits[0].intake.X)
    again = audits[0].encoder.transform(table)
    np.testing.assert_allclose(again, audits[0].intake.X)


def test_what_is_said_to_be_numbers_is_read_as_numbers_in_any_case():
    texts = [f"{1 + row % 10:02d}" for row in range(60)]
    cells = {"zeros": texts, "mixed": ["low", "3", "4", "5"] * 15,
             "declared": pd.Categorical([str(1 + row % 7) for row in range(60)]),
             "y": np.arange(60) ** 0.5}  # fmt: skip
    table = pd.DataFrame(cells)
    found = taken(table, numeric=["zeros", "mixed", "declared"])
    kinds = {fact.name: (fact.kind, fact.missing) for fact in found.facts}
    assert kinds["zeros"] == kinds["declared"] == ("number", 0)
    assert kinds["mixed"] == ("number", 15)
    place = found.encoder.features_.index("zeros")
    np.testing.assert_allclose(found.X[:, place], (np.array(texts, dtype=float) - 1) / 9)
    np.testing.assert_allclose(found.encoder.transform(table[["zeros", "mixed", "declared", "y"]]),
                               found.X)  # fmt: skip
    with pytest.raises(InputError, match="none of its cells is one"):
        taken(table.assign(zeros="a"), numeric=["zeros"])


def test_labels_in_a_sensitive_column_are_categories():
    rng = np.random.default_rng(4)
    table = pd.DataFrame(rng.normal(size=(200, 4)), columns=list("abcd"))
    table["label"], table["age"] = np.arange(200) % 10, 20 + np.arange(200) % 40
    found = taken(table, sensitive=["label", "age"])
    label, age = found.hidden
    assert label.categories == tuple(map(str, range(10))) and age.categories is None
    kinds = {fact.name: (fact.kind, fact.why) for fact in found.facts}
    assert kinds["label"] == ("category", "10 values of a sensitive column")
    assert taken(table, sensitive=["label"], numeric=["label"]).hidden[0].categories is None


@pytest.mark.parametrize("what", ["sensitive", "drop", "categorical"])
def test_values_are_no_names_of_columns(what):
    table = pd.DataFrame(np.random.default_rng(4).normal(size=(50, 3)), columns=list("abc"))
    sides = pd.DataFrame({"sex": ["f", "m"] * 25})
    for given in (sides, sides["sex"], sides.to_numpy()):
        with pytest.raises(InputError, match=f"{what} names the column .* has no such column"):
            taken(table, **{what: given})
    assert taken(table, drop=pd.Index(["a"])).dropped == {"a": "asked for"}


def test_sizes_may_be_per_cent():
    table = pd.DataFrame(np.random.default_rng(4).normal(size=(120, 4)), columns=list("abcd"))
    for size, rows in (("10%", 20), ("25 %", 30), ("30", None), ("x%", None)):
        if rows is None:
            with pytest.raises(InputError, match="or '10%'"):
                leftout.audit(table, quick=True, group_size=size)
            continue
        assert leftout.audit(table, quick=True, group_size=size).partition.sizes_[1] == rows
    assert MaxDisparityPartition(2, group_size="25%").fit(table).sizes_[1] == 30


def test_a_notebook_shows_the_headline_once():
    table = pd.DataFrame(np.random.default_rng(4).normal(size=(120, 4)), columns=list("abcd"))
    found = leftout.audit(table, quick=True)
    assert found._repr_html_().count(found.headline()) == 1


def test_tab_completion_shows_what_people_use():
    shown = {name for name in dir(MaxDisparityPartition) if not name.startswith("_")}
    own = {"fit", "fit_predict", "predict", "score_samples", "loss_samples", "bound_", "left_out_",
           "left_out_groups_", "set_fit_request"}  # fmt: skip
    assert shown - {name for name in dir(BaseEstimator) if not name.startswith("_")} == own
