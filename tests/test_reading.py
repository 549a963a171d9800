"""One table in many files: the same columns, the same labels; and what is said of odd files."""

from __future__ import annotations

import datetime as dt
import gzip
import hashlib
import os

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from leftout import InputError, MaxDisparityPartition, TableEncoder, audit
from leftout.cli import main
from leftout.data.cleaning import MISSING, clean_all
from leftout.data.columns import columns_of
from leftout.data.formats import _CODED
from leftout.data.sources import Source, read_table
from leftout.running import collected_warnings

ROWS = 120
rng = np.random.default_rng(3)
MIXED = pd.DataFrame(
    {
        "income": np.round(rng.normal(2000, 300, ROWS), 2),
        "children": rng.integers(0, 6, ROWS),
        "town": rng.choice(["K\u00f6ln", "M\u00fcnchen", "Stra\u00dfe; am Fluss, 5", "Ulm"], ROWS),
        "member": rng.choice(["yes", "no"], ROWS),
        "since": pd.Timestamp("2019-12-30") + pd.to_timedelta(rng.integers(0, 900, ROWS), unit="D"),
        "score": np.where(rng.random(ROWS) < 0.1, np.nan, rng.integers(-40, 90, ROWS) / 4),
        "post code": [f"{code:05d}" for code in rng.integers(1, 8, ROWS) * 2997],
        "remark": np.where(rng.random(ROWS) < 0.2, None, rng.choice(["a", "b", "c"], ROWS)),
    }
)


def text(**how):
    return MIXED.to_csv(index=False, date_format="%Y-%m-%d", **how)


def excel(path):
    MIXED.to_excel(path, index=False)


FILES = {
    "comma": ("t.csv", text().encode()),
    "semicolons": ("t.csv", text(sep=";").encode()),
    "tabs": ("t.tsv", text(sep="\t").encode()),
    "tabs in a .csv": ("t.csv", text(sep="\t").encode()),
    "bars": ("t.txt", text(sep="|").encode()),
    "decimal commas": ("t.csv", text(sep=";", decimal=",").encode()),
    "all in quotes": ("t.csv", text(quoting=1).encode()),
    "lines of Windows": ("t.csv", text(lineterminator="\r\n").encode()),
    "spaces": ("t.csv", text(sep="|").replace("|", "| ").encode()),
    "UTF-8 with a mark": ("t.csv", text().encode("utf-8-sig")),
    "UTF-16": ("t.csv", text().encode("utf-16")),
    "UTF-16, big end first": ("t.csv", b"\xfe\xff" + text().encode("utf-16-be")),
    "Latin-1": ("t.csv", text().encode("latin-1")),
    "gzipped": ("t.csv.gz", gzip.compress(text(sep=";").encode("cp1252"))),
    "Parquet": ("t.parquet", MIXED.to_parquet),
    "Parquet with zones": (
        "t.parquet", MIXED.assign(since=MIXED["since"].dt.tz_localize("UTC")).to_parquet,
    ),
    "Parquet of categories": ("t.parquet", MIXED.astype({"town": "category"}).to_parquet),
    "nullable Parquet": ("t.parquet", MIXED.convert_dtypes().to_parquet),
    "Feather": ("t.feather", MIXED.to_feather),
    "Excel": ("t.xlsx", excel),
}  # fmt: skip


@pytest.fixture(scope="module")
def expected():
    columns = clean_all(columns_of(MIXED))
    return columns, labels_of(MIXED)


def labels_of(table):
    X = TableEncoder().fit_transform(table)
    return MaxDisparityPartition(2, min_group_size=30, random_state=0).fit(X).labels_


def written(folder, name, content):
    path = folder / name
    if callable(content):
        content(path)
    else:
        path.write_bytes(content)
    return path


@pytest.mark.parametrize("kind", FILES)
def test_every_file_gives_the_same_columns_and_labels(kind, tmp_path, expected):
    path = written(tmp_path, *FILES[kind])
    with collected_warnings() as notes:
        table = read_table(path)
    guessed = kind in ("Latin-1", "gzipped")
    said = [f"'{path.name}' is not UTF-8 text; it was read as Windows-1252."]
    assert notes == (said if guessed else [])
    for column, other in zip(clean_all(columns_of(table)), expected[0], strict=True):
        assert (column.name, column.dates) == (other.name, other.dates)
        assert column.categories == other.categories
        np.testing.assert_array_equal(column.values, other.values)
        np.testing.assert_array_equal(column.levels, other.levels)
    np.testing.assert_array_equal(labels_of(table), expected[1])


NAMES = st.text(st.characters(categories=["L", "N"], include_characters=" .;,|'\"-"), max_size=5)
CELLS = st.one_of(
    st.none(),
    st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=6),
    st.integers(-(10**6), 10**6).map(str),
    st.sampled_from(["007", "1,5", "2.25", "-03", "1e5", "yes", "", "NA", '"', ";", "\u00fc"]),
)


@st.composite
def tables(draw):
    width, height = draw(st.integers(1, 4)), draw(st.integers(1, 8))
    name = NAMES.map(lambda text: f"n{text}".strip())
    names = draw(st.lists(name, min_size=width, max_size=width, unique=True))
    cells = [draw(st.lists(CELLS, min_size=height, max_size=height)) for _ in names]
    return pd.DataFrame(dict(zip(names, cells, strict=True)), dtype=object)


def plainly(table):
    """Cells as text without spaces around them, None where there is nothing."""
    bare = [[None if cell is None else cell.strip() for cell in table[name]] for name in table]
    return [[None if cell in MISSING else cell for cell in column] for column in bare]


@settings(max_examples=150)
@given(table=tables(), sep=st.sampled_from(",;\t|"), encoding=st.sampled_from(["utf-8", "utf-16"]))
def test_random_tables_are_read_back(tmp_path_factory, table, sep, encoding):
    """All in quotes, so that nothing but the quotes says what a cell is."""
    path = tmp_path_factory.mktemp("t") / ("t.tsv" if sep == "\t" else "t.csv")
    table.to_csv(path, index=False, sep=sep, quoting=1, encoding=encoding)
    try:
        with collected_warnings():
            read = read_table(path)
    except InputError as error:  # a single column of nothing has no lines
        assert "no rows" in str(error) or "field(s)" in str(error) and table.shape[1] == 1
        return
    assert list(read.columns) == list(table.columns)
    if table.shape[1] > 1:
        for name, cells in zip(table, plainly(table), strict=True):
            same = clean_all(columns_of(read[[name]]))[0]
            other = clean_all(columns_of(pd.DataFrame({name: pd.Series(cells, dtype=object)})))[0]
            assert same.categories == other.categories and same.dates == other.dates
            np.testing.assert_array_equal(same.values, other.values)


@settings(max_examples=60)
@given(table=tables())
def test_random_tables_are_read_back_from_parquet(tmp_path_factory, table):
    path = tmp_path_factory.mktemp("t") / "t.parquet"
    table.to_parquet(path)
    for column, other in zip(columns_of(read_table(path)), columns_of(table), strict=True):
        assert (column.name, column.categories) == (other.name, other.categories)
        np.testing.assert_array_equal(column.values, other.values)


@given(st.lists(st.sampled_from([b"0", b"1", b"7", b",", b"\n", b".", b"-", b"+", b'"', b"x"])))
def test_codes_are_found_wherever_a_field_begins(parts):
    import re

    data = b"a\n" + b"".join(parts)
    assert bool(_CODED.search(data)) == bool(re.search(rb'[,;\t|"\r\n ][+-]?0\d', data))


REPEATED = {
    "pandas": lambda: pd.DataFrame([[1, 2, 3], [4, 5, 6], [7, 8, 0]], columns=["a", "b", "a"]),
    "pyarrow": lambda: pa.table([[1, 4, 7], [2, 5, 8], [3, 6, 0]], names=["a", "b", "a"]),
}


@pytest.mark.parametrize("kind", REPEATED)
def test_repeated_names_are_refused(kind):
    with pytest.raises(InputError, match="The table has several columns named 'a'; every column"):
        columns_of(REPEATED[kind]())


def planted(names):
    table = pd.DataFrame(np.random.default_rng(0).normal(size=(80, 4)).round(3))
    return table.set_axis(names, axis=1)


def test_repeated_names_in_files_are_refused(tmp_path):
    REPEATED["pandas"]().to_excel(tmp_path / "t.xlsx", index=False)
    REPEATED["pandas"]().to_csv(tmp_path / "t.csv", index=False)
    pq.write_table(REPEATED["pyarrow"](), tmp_path / "t.parquet")
    for path in sorted(tmp_path.iterdir()):
        with pytest.raises(InputError, match="has several columns named 'a'"):
            read_table(path)


def read_table_quietly(path, sheet=None):
    with collected_warnings():
        return read_table(path, sheet)


def test_sheets_by_name(tmp_path):
    with pd.ExcelWriter(tmp_path / "t.xlsx") as book:
        for sheet, value in (("2023", 1), ("2024", 2), ("notes", 3)):
            pd.DataFrame({"a": [value, 5]}).to_excel(book, sheet_name=sheet, index=False)
    source = Source.of(tmp_path / "t.xlsx")
    assert source.table["a"].tolist() == [1, 5]
    assert source.notes == (
        "'t.xlsx' has 3 sheets; the first, '2023', was read, and not '2024' and 'notes'.",
    )
    named = Source.of(tmp_path / "t.xlsx", "2024")
    assert named.table["a"].tolist() == [2, 5] and named.notes == ()
    with pytest.raises(InputError, match="no sheet '2025'; it has '2023', '2024' and 'notes'"):
        read_table(tmp_path / "t.xlsx", sheet="2025")
    written(tmp_path, "t.csv", b"a,b\n1,2\n")
    with pytest.raises(InputError, match="'t.csv' has no sheets: only Excel files do"):
        read_table(tmp_path / "t.csv", sheet="2023")
    with pytest.raises(InputError, match="the table is in memory"):
        Source.of(named.table, sheet="2023")
    command = ["audit", str(tmp_path / "t.xlsx"), "--sheet", "2025", "--out", str(tmp_path / "o")]
    result = CliRunner().invoke(main, command)
    assert result.exit_code == 2 and "has no sheet '2025'" in result.stderr


def test_the_fingerprint_is_of_the_bytes_read(tmp_path):
    path = written(tmp_path, "t.csv.gz", gzip.compress(b"a,b\n1,2\n3,4\n"))
    os.utime(path, (1_700_000_000, 1_700_000_000))
    data = path.read_bytes()
    file = Source.of(str(path)).file
    assert (file.name, file.bytes) == ("t.csv.gz", len(data))
    assert file.sha256 == hashlib.sha256(data).hexdigest()
    assert file.modified == "2023-11-14T22:13:20+00:00"
    assert dt.datetime.fromisoformat(file.modified).timestamp() == 1_700_000_000
    memory = Source.of(pd.DataFrame({"a": [1]}))
    assert (memory.file, memory.path, memory.name, memory.notes) == (None, None, None, ())
    assert Source(memory.table, "x/y.csv").name == "y.csv" and Source.of(memory) is memory


@pytest.mark.parametrize("address", ["https://x.org/t.csv?key=1", "s3://bucket/t.csv"])
def test_addresses_are_refused(address):
    scheme = address.partition("://")[0]
    with pytest.raises(InputError, match=f"not from {scheme}:// addresses. Download the file"):
        read_table(address)


def test_large_whole_numbers_with_gaps_stay_apart(tmp_path):
    table = pa.table({"id": [2**60, 2**60 + 1, None, 2**60 + 2], "x": [1.5, 2.0, 3.0, 4.0]})
    pq.write_table(table, tmp_path / "t.parquet")
    for each in (table, read_table(tmp_path / "t.parquet")):
        ids = columns_of(each)[0]
        assert ids.categories == tuple(str(2**60 + i) for i in range(3))
        assert ids.values.tolist() == [0, 1, -1, 2]


def test_the_same_table_gives_the_same_audit_from_every_source(tmp_path):
    rng, n = np.random.default_rng(3), 120
    table = pd.DataFrame({
        "whole": rng.integers(0, 9, n).astype(str), "real": rng.normal(size=n).round(3).astype(str),
        "truth": rng.choice(["True", "False"], n), "yes": rng.choice(["yes", "no"], n),
        "two": rng.choice(["1", "2"], n), "mixed": rng.choice(["1", "2.50", "3"], n),
        "comma": [f"{value:.2f}".replace(".", ",") for value in rng.random(n)],
        "money": [f"${value:,}" for value in rng.integers(500, 90_000, n)],
        "day": pd.date_range("2020-01-01", periods=n).astype(str),
        "town": rng.choice(["A", "B", "None", "C "], n),
        "long": (10**17 + rng.integers(0, 9, n)).astype(str),
        "stray": rng.integers(18, 60, n).astype(str), "empty": "",
    })  # fmt: skip
    for row, name in enumerate(("whole", "real", "truth", "two", "day")):
        table.loc[[row, row + 7], name] = ["", "NA"]
    table.loc[4, "stray"] = "n.k."
    path = tmp_path / "t.csv"
    table.to_csv(path, index=False)
    read = pd.read_csv(path)
    read.to_feather(tmp_path / "t.feather")
    pl.from_pandas(read).write_parquet(tmp_path / "polars.parquet")
    sources = [
        path, read.convert_dtypes(), read.astype({"town": "category"}), read.to_numpy(),
        pd.read_csv(path, dtype_backend="pyarrow"), pd.read_csv(path, dtype=str),
        pl.read_csv(path, infer_schema_length=None, try_parse_dates=True), pa_csv.read_csv(path),
        *(tmp_path / f"{name}" for name in ("t.feather", "polars.parquet")),
    ]  # fmt: skip
    audits = [audit(source, quick=True) for source in sources]
    audits.append(audit(path, quick=True, engine="local"))
    first = audits[0]
    assert len(first.intake.X.T) > len(table.columns)
    for other in audits[1:]:
        np.testing.assert_allclose(other.intake.X, first.intake.X, atol=1e-12)
        ours, theirs = ([(c.kind, c.role, c.missing) for c in a.columns] for a in (other, first))
        assert ours == theirs
        assert (other.partition.labels_ == first.partition.labels_).all()
