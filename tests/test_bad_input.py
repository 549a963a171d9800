"""Whatever is wrong with a file or an option: exit code 2, one sentence, nothing written."""

from __future__ import annotations

import gzip
import os
import re
import resource
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from leftout.cli import main

RNG = np.random.default_rng(0)
GOOD = pd.DataFrame(
    {
        "a": RNG.normal(size=80),
        "b": RNG.normal(size=80),
        "c": RNG.choice(["x", "y", "z"], 80),
        "d": RNG.integers(0, 9, 80),
        "t": RNG.choice(["no", "yes"], 80),
        "one": 1,
    }
)
CSV = GOOD.to_csv(index=False)
LINES = CSV.splitlines()


def wide():
    return ",".join(f"v{i}" for i in range(10_000)) + "\n" + (",".join("1" * 10_000) + "\n") * 30


def excel(path, header):
    pd.DataFrame([header, *GOOD.to_numpy().tolist()]).to_excel(path, index=False, header=False)


# What is in the file, and what is said of it.
FILES = {
    "an empty file": ("t.csv", "", "'t.csv' is empty"),
    "nothing but blank lines": ("t.csv", "\n \n\n", "'t.csv' is empty"),
    "a header only": ("t.csv", "a,b,c\n", "has no rows and 3 columns"),
    "a row with fields missing": ("t.csv", CSV + "1,2\n", "2 field.s. in line 82 where .* has 6"),
    "a row with fields too many": ("t.csv", CSV + "1,2,3,4,5,6,7\n", "line 82"),
    "more fields than names": ("t.csv", "a,b\n1,2,3\n4,5,6\n", "3 fields in its first row but 2"),
    "binary": ("t.csv", bytes(range(256)) * 40, "holds binary data"),
    "half of UTF-16": ("t.csv", CSV.encode("utf-16")[:-1], "table: 'utf-16-le' codec"),
    "binary without zeros": ("t.csv", bytes(range(1, 256)) * 40, "holds binary data"),
    "an unnamed column": ("t.csv", GOOD.to_csv(), "column 1 has no name"),
    "an unnamed last column": ("t.csv", "a,b,\n1,2,3\n4,5,6\n", "column 3 has no name"),
    "an open quotation mark": ("t.csv", LINES[0] + '\n"' + "\n".join(LINES[1:]), "t.csv"),
    "one row": ("t.csv", "\n".join(LINES[:2]), "Found 1 row"),
    "few rows": ("t.csv", "\n".join(LINES[:9]), "Found 8 rows"),
    "one column": ("t.csv", GOOD[["a"]].to_csv(index=False), "has rank 1"),
    "one column that varies": ("t.csv", GOOD[["a", "one"]].to_csv(index=False), "has rank 1"),
    "all constant": ("t.csv", "a,b\n" + "1,2\n" * 50, "No column is left to project"),
    "all missing": ("t.csv", "a,b\n" + "?,NA\n" * 50, "No column is left to project"),
    "nothing but identifiers": (
        "t.csv", "id,name\n" + "".join(f"{i},n{i}\n" for i in range(60)), "No column is left",
    ),
    "infinite values": ("t.csv", CSV + "inf,1,x,1,no,1\n", "'a' holds infinite values"),
    "10,000 columns": ("t.csv", wide(), "10,000 columns; an audit takes at most 5,000"),
    "a gzip file that is none": ("t.csv.gz", b"not at all", "[Nn]ot a gzipped file"),
    "half a gzip file": ("t.csv.gz", gzip.compress(CSV.encode())[:500], "t.csv.gz"),
    "a gzip file of nothing": ("t.csv.gz", gzip.compress(b""), "is empty"),
    "no Parquet": ("t.parquet", b"PAR1 not at all PAR1", "cannot be read as a .parquet table"),
    "no Feather": ("t.feather", b"ARROW1 not at all", "cannot be read as a .feather table"),
    "no Excel": ("t.xlsx", b"PK not at all", "is not an Excel workbook"),
    "an old Excel": ("t.xls", b"\xd0\xcf\x11\xe0", "of a kind that is not known"),
    "Excel, a column unnamed": ("t.xlsx", ["a", None, "c", "d", "t", "one"], "column 2 has no"),
    "a document": ("t.docx", b"x", "of a kind that is not known"),
    "no suffix": ("table", CSV, "of a kind that is not known"),
    "JSON": ("t.json", b"[]", "of a kind that is not known"),
}  # fmt: skip

# Options on a good table, and what is said of them.
OPTIONS = {
    "an unknown target": (["--target", "tt"], "no such column.*Did you mean 't'"),
    "an unknown value of the target": (["--target", "t=maybe"], "not a value of the target 't'"),
    "a target with one value": (["--target", "one"], "takes 1 value"),
    "a target that is dropped": (["--target", "t", "--drop", "t"], "to be target and dropped"),
    "an unknown column to drop": (["--drop", "a,q"], "--drop names the column 'q'"),
    "all columns dropped": (["--drop", "a,b,c,d,t,one"], "No column is left to search"),
    "an unknown prediction": (["--target", "t", "--prediction", "p"], "--prediction names the"),
    "a prediction of nothing": (["--prediction", "a"], "was given without the target that"),
    "a prediction that is dropped": (
        ["--target", "t", "--prediction", "a", "--drop", "a"], "to be prediction and dropped",
    ),
    "an unknown sensitive column": (["--sensitive", "age"], "--sensitive names the column 'age'"),
    "an unknown categorical column": (["--categorical", "D"], "Did you mean 'd'"),
    "too many components": (["--components", "99"], "--components 99 is out of range"),
    "no components": (["--components", "0"], "--components cannot be '0': give"),
    "components in words": (["--components", "many"], "--components cannot be 'many': give"),
    "a share above one": (["--components", "1.5"], "--components cannot be '1.5': give"),
    "a minimum that is too large": (["--min-size", "60"], "groups of at least 60 rows need 120"),
    "a minimum of nothing": (["--min-size", "0"], "--min-size cannot be '0': give"),
    "a size that is too large": (["--size", "80"], "asks for 80 of 80 rows"),
    "a size below the minimum": (["--size", "5", "--min-size", "10"], "side needs at least 10"),
    "a size in words": (["--size", "big"], "--size cannot be 'big': give"),
    "a size of 150%": (["--size", "150%"], "--size cannot be '150%': give"),
    "a group too many": (["--groups", "10"], "up to 9 left-out.*--groups 9 or less"),
    "as many as there are, in haste": (["--groups", "auto", "--quick"], "groups are counted by"),
    "evidence without tables": (["--size", "evidence", "--surrogates", "0"], "sizes are compared"),
    "evidence in haste": (["--size", "evidence", "--quick"], "sizes are compared"),
    "chance below zero": (["--surrogates", "-1"], "Invalid value for '--surrogates'"),
    "runs below zero": (["--restarts", "-1"], "Invalid value for '--restarts'"),
    "an unknown preset": (["--preset", "papr"], "Invalid value for '--preset'"),
    "a sample of nothing": (["--sample", "0"], "Invalid value for '--sample'"),
    "a sample of few rows": (["--sample", "9"], "Found 9 rows"),
    "a seed below zero": (["--seed", "-1"], "Invalid value for '--seed'"),
    "an unknown option": (["--dimms", "3"], "No such option"),
}  # fmt: skip


def refused(result, words, folder):
    assert result.exit_code == 2, result.output
    assert result.stdout == "" and "Traceback" not in result.stderr
    told = " ".join(result.stderr.split())
    assert re.search(words, told), told
    sentence = told.split("Error: ")[1]
    assert sentence.endswith((".", "?", ")", "'")) and len(sentence) < 420
    assert not folder.exists()


def call(folder, *arguments):
    return CliRunner().invoke(main, ["audit", *map(str, arguments), "--out", str(folder)])


@pytest.mark.parametrize("kind", FILES)
def test_files_that_are_no_tables(kind, tmp_path):
    name, content, words = FILES[kind]
    path = tmp_path / name
    if isinstance(content, list):
        excel(path, content)
    else:
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    refused(call(tmp_path / "out", path), words, tmp_path / "out")
    assert [each.name for each in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize("kind", OPTIONS)
def test_options_that_make_no_sense(kind, tmp_path):
    options, words = OPTIONS[kind]
    (tmp_path / "t.csv").write_text(CSV)
    refused(call(tmp_path / "out", tmp_path / "t.csv", *options), words, tmp_path / "out")


def test_paths_that_lead_nowhere(tmp_path):
    (tmp_path / "t.csv").write_text(CSV)
    (tmp_path / "folder.csv").mkdir()
    for path, words in (
        ("nothing.csv", "There is no file"),
        ("folder.csv", "has no Parquet or CSV files in it"),
        ("x" * 400 + ".csv", "not a path to a file|There is no file"),
    ):
        refused(call(tmp_path / "out", tmp_path / path), words, tmp_path / "out")


def test_a_file_that_may_not_be_read(tmp_path):
    (tmp_path / "t.csv").write_text(CSV)
    (tmp_path / "t.csv").chmod(0)
    if os.access(tmp_path / "t.csv", os.R_OK):
        pytest.skip("this user may read everything")
    refused(call(tmp_path / "out", tmp_path / "t.csv"), "cannot be read", tmp_path / "out")


QUICK = ["--surrogates", "0", "--restarts", "0", "--size", "20", "--quiet"]


def test_folders_that_cannot_be_written_to(tmp_path):
    table = tmp_path / "t.csv"
    table.write_text(CSV)
    (tmp_path / "file").write_text("x")
    for folder in ("file/deeper", "/proc/nowhere", "/dev/null/x"):
        result = call(tmp_path / folder, table, *QUICK)
        assert result.exit_code == 2 and result.stdout == ""
        assert "Nothing can be written to" in result.stderr
    result = call(tmp_path / "file", table, *QUICK)
    assert result.exit_code == 2 and "is a file" in result.stderr
    (tmp_path / "out" / "audit.json").mkdir(parents=True)
    result = call(tmp_path / "out", table, *QUICK)
    assert result.exit_code == 2 and "not as a result of leftout" in result.stderr
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["audit.json"]
    assert result.stdout == ""  # before anything is computed


@pytest.mark.skipif(sys.platform == "win32", reason="no limits of file sizes there")
def test_a_full_disk_is_noticed_before_anything_is_computed(tmp_path):
    (tmp_path / "t.csv").write_text(CSV)
    limit = 1 << 16
    result = subprocess.run(
        [sys.executable, "-m", "leftout", "audit", "t.csv", *QUICK],
        cwd=tmp_path, capture_output=True, text=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)),
    )  # fmt: skip
    assert result.returncode == 2 and result.stdout == ""
    assert "Nothing can be written to 'leftout-t': File too large" in result.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["t.csv"]


def test_a_disk_that_is_full_in_the_end(tmp_path, monkeypatch):
    (tmp_path / "t.csv").write_text(CSV)
    synced = []

    def full(handle):
        synced.append(handle)
        if len(synced) == 2:
            raise OSError(28, "No space left on device")

    monkeypatch.setattr("leftout.files.os.fsync", full)
    result = call(tmp_path / "out", tmp_path / "t.csv", *QUICK)
    assert result.exit_code == 2 and "No space left on device" in result.stderr
    assert "their own PCA would keep" in " ".join(
        result.stdout.split()
    )  # what was computed is not lost
    assert [path.name for path in tmp_path.iterdir()] == ["t.csv"]
