"""Losses before and after, in Python and on the command line."""

from __future__ import annotations

import gzip
import json

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

import paper_data
from leftout import FairPCA, TableEncoder, mitigate
from leftout.cli import main
from leftout.data.sources import read_table


def table(seed=0, m=150, n=6, k=2):
    rng = np.random.default_rng(seed)
    groups = np.arange(m) % k
    turns = [rng.normal(size=(n, n)) * rng.gamma(1.0, 1.0, n) for _ in range(k)]
    return np.stack([rng.normal(size=n) @ turns[g] for g in groups]), groups


@pytest.mark.parametrize("k", [2, 4])
def test_every_dimension_is_what_the_transformer_gives(k):
    X, groups = table(k=k)
    told = []
    found = mitigate(X, groups, 3, progress=lambda what, done, total: told.append((done, total)))
    assert [line.n_components for line in found.by_dimension] == [1, 2, 3, 4, 5]
    assert told[0] == (0, 5) and told[-1] == (5, 5)
    for line in found.by_dimension:
        fair = FairPCA(line.n_components).fit(X, groups=groups)
        np.testing.assert_allclose(line.losses_after, fair.losses_, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(line.losses_before, fair.baseline_losses_, rtol=1e-9)
        assert line.price == pytest.approx(fair.price_, abs=1e-12)
        assert line.rank == fair.n_components_ and line.gap <= 1e-9 * fair.max_loss_ + 1e-12
        assert (line.rank_d_losses is None) == (line.rank == line.n_components)
    assert found.by_dimension[2].to_dict().items() <= found.to_dict().items()


def test_which_dimensions():
    wide = np.random.default_rng(0).normal(size=(60, 40))
    numbers = [line.n_components for line in mitigate(wide, np.arange(60) % 2, 7).by_dimension]
    assert len(numbers) <= 13 and 7 in numbers and numbers[-1] == 39


def test_the_summary_says_who_gains_and_what_it_costs(tmp_path):
    X, groups = table()
    names = np.array(["north", "south"])[groups]
    found = mitigate(X, names, 2)
    text = found.summary()
    worst = found.fair.groups_[found.fair.baseline_losses_.argmax()]
    assert f"Worst off is {worst} (75 rows)" in text
    assert f"brings the largest loss to {found.fair.max_loss_:.3g}" in text
    assert f"gets below {found.fair.dual_bound_:.3g}" in text
    assert f"the price is {100 * found.price:.2f}".rstrip("0") in text
    assert "In return others lose more" in text
    data = json.loads(found.to_json(tmp_path / "fair.json").read_text())
    assert data == found.to_dict()
    assert {"losses_before", "losses_after", "max_loss_after", "gap", "by_dimension"} <= data.keys()
    assert "one group" in mitigate(X, ["all"] * 150, 2).summary()


def test_the_summary_of_many_groups_names_the_extra_dimensions():
    for seed in range(50):
        X, groups = table(seed, m=300, n=5, k=6)
        found = mitigate(X, groups, 2)
        if found.rank > 2:
            break
    text = found.summary()
    assert f"with {found.rank} dimensions" in text
    assert "With exactly 2 dimensions, the best found has a largest loss of " in text


def people():
    rng = np.random.default_rng(0)
    m = 120
    return pd.DataFrame({
        "id": np.arange(m),
        "age": rng.integers(18, 80, m),
        "income": np.where(rng.random(m) < 0.1, np.nan, rng.gamma(2.0, 10.0, m)),
        "city": rng.choice(["north", "south", "[red]west"], m),
        "owner": rng.random(m) < 0.5,
        "constant": 1.0,
        "nothing": np.nan,
        "sex": rng.choice(["f", "m"], m),
        "code": rng.integers(1, 4, m),
    })  # fmt: skip


def encoded(raw, **options):
    return TableEncoder(**options).set_output(transform="pandas").fit_transform(raw)


def test_columns_become_numbers_that_can_be_compared():
    raw = people()
    encoder = TableEncoder(["code"], drop=["sex"]).fit(raw)
    assert encoder.dropped_ == {
        "id": "counts the rows, from 0 to 119",
        "constant": "the same in every row",
        "nothing": "empty",
    }
    frame = encoded(raw, categorical=["code"], drop=["sex"])
    assert list(frame)[:2] == ["age", "income"] and "city = north" in frame
    assert frame["age"].min() == 0.0 and frame["age"].max() == 1.0
    cities = frame.filter(like="city = ")
    np.testing.assert_allclose((cities**2).sum(axis=1), 0.5)  # two cities are 1 apart
    owners = frame.filter(like="owner")
    assert owners.shape[1] == 1 and set(owners.iloc[:, 0]) == {0.0, 1.0}
    median = raw["income"].median()
    low, high = raw["income"].min(), raw["income"].max()
    filled = frame["income"][raw["income"].isna()]
    np.testing.assert_allclose(filled, (median - low) / (high - low))
    codes = [name for name in frame if name.startswith("code")]
    assert codes == ["code = 1", "code = 2", "code = 3"] and "code" in encoded(raw)


def test_columns_that_cannot_be_projected():
    raw = people()[["age", "income"]]
    with pytest.raises(ValueError, match="No column is left to project"):
        encoded(people()[["id", "constant"]])
    for infinite in (
        np.where(raw["age"] > 50, np.inf, raw["age"]),
        np.where(raw["age"] > 50, np.inf, 1),
    ):
        with pytest.raises(ValueError, match="'age' holds infinite values"):
            encoded(raw.assign(age=infinite))
    hardly = encoded(raw.assign(hardly=np.where(raw["age"] > 50, 3.0, np.nan)))
    assert "hardly" not in hardly and "hardly is missing" in hardly


def call(*arguments):
    return CliRunner().invoke(main, ["fair", *map(str, arguments)])


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "people.csv"
    people().assign(name=[f"person {i}" for i in range(120)]).to_csv(path, index=False)
    return path


def test_the_command_tells_and_writes(file, tmp_path):
    result = call(file, "--groups-col", "sex", "--components", 2, "--out", tmp_path / "out")
    assert result.exit_code == 0, result.stderr
    text = " ".join(result.stdout.split())
    assert "Fair PCA for the groups of sex." in text and "brings the largest loss to" in text
    assert "Across numbers of components" in text
    data = json.loads((tmp_path / "out" / "fair.json").read_text())
    assert data["groups"] == ["f", "m"] and data["n_components"] == 2
    assert result.stderr == ""  # progress is for people who watch


def test_the_command_speaks_json(file):
    result = call(file, "--groups-col", "city,owner", "--json", "--quiet")
    assert result.exit_code == 0 and result.stderr == ""
    data = json.loads(result.stdout)
    assert data["groups_col"] == ["city", "owner"] and len(data["groups"]) == 6
    assert "city = [red]west / owner = True" in data["groups"]
    assert [line["n_components"] for line in data["by_dimension"]] == [1, 2, 3, 4]


def test_names_of_groups_are_text_and_numbers_say_of_what(file):
    text = " ".join(call(file, "--groups-col", "city", "--quiet", "--components", 2).stdout.split())
    assert "[red]west" in text
    text = " ".join(call(file, "--groups-col", "code", "--quiet", "--components", 2).stdout.split())
    assert "Worst off is code = " in text


def test_numbers_and_dates_are_cut_into_bands(file):
    raw = people()
    raw["since"] = pd.date_range("2001-01-01", periods=120).strftime("%Y-%m-%d")
    raw["name"] = [f"person {i}" if i % 2 else "somebody" for i in range(120)]
    raw.to_csv(file, index=False)
    for column, groups in (
        ("since", ["2001-01-31 <= since < 2001-03-02", "2001-03-02 <= since < 2001-04-01",
                   "since < 2001-01-31", "since >= 2001-04-01"]),
        ("name", ["name is one of 60 other values", "somebody"]),
        ("code", ["code = 1", "code = 2", "code = 3"]),
    ):  # fmt: skip
        result = call(file, "--groups-col", column, "--json", "--quiet")
        data = json.loads(result.stdout)
        assert data["groups"] == groups and sum(data["sizes"]) == 120
        assert ("'name' has 61 values" in result.stderr) == (column == "name")
    ages = json.loads(call(file, "--groups-col", "age", "--json", "--quiet").stdout)["groups"]
    assert len(ages) == 4 and all("age" in group for group in ages)


def test_missing_groups_are_a_group(file, tmp_path):
    raw = people()
    raw.loc[:40, "sex"] = None
    raw.to_csv(file, index=False)
    data = json.loads(call(file, "--groups-col", "sex", "--json", "--quiet").stdout)
    assert data["groups"] == ["f", "m", "missing"] and data["sizes"][2] == 41


def test_every_kind_of_file(tmp_path):
    raw = people()
    raw.to_csv(tmp_path / "a.csv.gz", index=False)
    raw.to_csv(tmp_path / "b.csv", sep=";", index=False)
    raw.to_csv(tmp_path / "c.tsv", sep="\t", index=False)
    raw.to_parquet(tmp_path / "d.parquet")
    raw.to_feather(tmp_path / "e.feather")
    raw.to_excel(tmp_path / "f.xlsx", index=False)
    for path in sorted(tmp_path.iterdir()):
        read = read_table(path)
        assert list(read.columns) == list(raw.columns), path.name
        np.testing.assert_allclose(read["income"], raw["income"])
        assert read["sex"].tolist() == raw["sex"].tolist()
    (tmp_path / "q.csv").write_text("a,b\n1,?\n2,x\n")
    assert read_table(tmp_path / "q.csv")["b"].isna().tolist() == [True, False]


BAD = {
    "no file": (None, "There is no file"),
    "a folder": ("folder", "is a folder"),
    "an unknown kind": ("a.docx", "of a kind that is not known"),
    "an empty file": ("empty.csv", "is empty; a table"),
    "a header only": ("header.csv", "has no rows"),
    "ragged rows": ("ragged.csv", "cannot be read as a .csv table: .*line 3"),
    "a field too many": ("shifted.csv", "4 fields in its first row but 3 names"),
    "binary": ("binary.csv", "holds binary data"),
    "not gzip": ("fake.csv.gz", "Not a gzipped file"),
    "not parquet": ("fake.parquet", "cannot be read as a .parquet table"),
    "not excel": ("fake.xlsx", "is not an Excel workbook"),
}


@pytest.mark.parametrize("kind", BAD)
def test_files_that_are_no_tables_get_one_sentence(kind, tmp_path):
    name, message = BAD[kind]
    (tmp_path / "folder").mkdir()
    (tmp_path / "a.docx").write_text("x")
    (tmp_path / "empty.csv").write_text("")
    (tmp_path / "header.csv").write_text("sex,age\n")
    (tmp_path / "ragged.csv").write_text("sex,age\nf,1\nf,1,2,3\n")
    (tmp_path / "shifted.csv").write_text("a,b,sex\n1,2,m,9\n1,2,f,5\n")
    (tmp_path / "binary.csv").write_bytes(bytes(range(256)) * 9)
    for fake in ("fake.csv.gz", "fake.parquet", "fake.xlsx"):
        (tmp_path / fake).write_bytes(b"not at all")
    result = call(tmp_path / (name or "nothing.csv"), "--groups-col", "sex", "--quiet")
    assert result.exit_code == 2 and result.stdout == ""
    assert pd.Series(result.stderr).str.contains(message).all(), result.stderr
    assert "Traceback" not in result.stderr and len(result.stderr.splitlines()) <= 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--groups-col", "sexx"], "Did you mean 'sex'?"),
        (["--groups-col", ""], "--groups-col names no column"),
        (["--groups-col", "constant"], "at least two groups are needed"),
        (["--groups-col", "name"], "'name' has one group (120 rare values); at least two groups"),
        (
            ["--groups-col", "age,income,city,code,sex,owner"],
            "combinations, too many to be groups (at most",
        ),
        (["--groups-col", "sex", "--components", "many"], "--components cannot be 'many': give"),
        (["--groups-col", "sex", "--components", "99"], "--components 99 is out of range"),
        (["--groups-col", "sex", "--components", "1.5"], "or a number of components (9)"),
        (["--groups-col", "sex", "--drop", "nobody"], "--drop names the column 'nobody'"),
        ([], "Missing option '--groups-col'"),
    ],
)
def test_options_that_make_no_sense_get_one_sentence(file, arguments, message):
    result = call(file, "--quiet", *arguments)
    assert result.exit_code == 2 and result.stdout == ""
    assert message in result.stderr and "Traceback" not in result.stderr


def test_an_output_folder_that_cannot_be_is_refused(file, tmp_path):
    (tmp_path / "taken").write_text("x")
    result = call(file, "--groups-col", "sex", "--out", tmp_path / "taken" / "deeper", "--quiet")
    assert result.exit_code == 2 and "Nothing can be written to" in result.stderr


def test_hostile_names_are_text(tmp_path):
    raw = people().rename(columns={"sex": "[/close]"})
    raw["[/close]"] = np.where(raw["[/close]"] == "f", "[/x]f", "[red]m")
    raw.to_csv(tmp_path / "hostile.csv", index=False)
    result = call(
        tmp_path / "hostile.csv", "--groups-col", "[/close]", "--quiet", "--components", 1
    )
    assert result.exit_code == 0, result.stderr
    text = " ".join(result.stdout.split())
    assert "The groups, with 1 component " in text and "[red]m" in text and "[/x]f" in text


def test_a_group_called_missing_is_not_the_missing_ones(file):
    raw = people()
    raw["sex"] = np.where(np.arange(120) % 3 == 0, "missing", np.where(np.arange(120) % 3, "f", ""))
    raw.loc[:40, "sex"] = None
    raw.to_csv(file, index=False)
    data = json.loads(call(file, "--groups-col", "sex", "--json", "--quiet").stdout)
    assert data["groups"] == ["(missing)", "f", "missing"] and data["sizes"][0] == 41


def test_the_summary_of_edge_cases():
    X, groups = table(k=3)
    assert "no group loses anything" in mitigate(X, groups, 6).summary()


def test_the_papers_tables_run_through_the_command():
    reason = paper_data.missing()
    if reason:
        pytest.skip(reason)
    path = paper_data.FOLDER / paper_data.SOURCES["students"].file
    result = call(
        path, "--groups-col", "Daytime/evening attendance", "--components", 9, "--drop", "Target",
        "--json", "--quiet",
    )  # fmt: skip
    data = json.loads(result.stdout)
    assert data["sizes"] == [483, 3941] and data["gap"] < 1e-9
    assert data["losses_after"][0] == pytest.approx(data["losses_after"][1], abs=1e-10)
    with gzip.open(path, "rt") as file:
        assert file.readline()  # the table is as it was
