"""Whose files these are: what others made is neither removed nor run, and rows are not sent."""

from __future__ import annotations

import ast
import io
import os
import pickle
import re
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from click.testing import CliRunner

import leftout
from leftout.cli import main
from leftout.data.column_summary import ColumnSummary
from leftout.engine.state import PassState, packed, unpacked
from leftout.linalg.moments import Moments
from scaling import stored

ROOT = Path(__file__).resolve().parents[1]
SOURCES = sorted(Path(leftout.__file__).parent.rglob("*.py"))


def test_nothing_is_offered_that_sends_sums_of_few_rows(tmp_path):
    """Second moments at a feature that one row has are that row."""
    assert {"plan", "moments"}.isdisjoint(main.commands)
    (tmp_path / "one.npz").write_bytes(b"PK")
    asked = CliRunner().invoke(main, ["audit", str(tmp_path / "one.npz")])
    assert asked.exit_code == 2 and "kind" in asked.stderr, asked.output
    claim = re.compile("moments TABLE|sites that|leftout plan", re.IGNORECASE)
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md"), *SOURCES]
    assert not [str(path) for path in pages if claim.search(path.read_text())]


def called(node):
    """What a call is of, as it is written."""
    return ast.unparse(node.func)


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.name))
def test_no_source_runs_what_a_file_holds(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import | ast.ImportFrom):
            modules = {getattr(node, "module", None) or "", *(each.name for each in node.names)}
            assert {"pickle", "cloudpickle", "dill", "marshal", "shelve"}.isdisjoint(modules)
        if isinstance(node, ast.Call):
            assert called(node) not in {"exec", "eval", "compile", "__import__", "joblib.load"}
            assert not called(node).endswith("read_pickle")
            if called(node) in {"np.load", "numpy.load"}:
                given = {each.arg: ast.unparse(each.value) for each in node.keywords}
                assert given.get("allow_pickle") == "False"


class Payload:
    """Makes a folder when it is unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.mkdir, (str(self.path),)


def forge(folder, ran):
    """Put payloads in the place of results, in whatever way they might be read."""
    objects = io.BytesIO()
    np.savez(objects, text=np.array([Payload(ran)], dtype=object), allow_pickle=True)
    results = [path for path in folder.iterdir() if path.stem.isdigit()]
    assert results
    for path in results:
        path.with_suffix(".npz").write_bytes(objects.getvalue())
        path.with_suffix(".pickle").write_bytes(pickle.dumps(Payload(ran)))


def test_an_archive_with_forged_results_runs_nothing(tmp_path, monkeypatch):
    """Also where they got to be where ours are, under the very settings."""
    here, ran = tmp_path / "here", tmp_path / "ran"
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "own"))
    stored(tmp_path / "data", 600, files=1)
    here.mkdir()
    shutil.copy2(tmp_path / "data" / "part-0.parquet", here / "survey.parquet")
    monkeypatch.chdir(here)
    words = "audit survey.parquet --engine local --components 3 --quick".split()
    with monkeypatch.context() as patch:
        patch.setattr(PassState, "end", lambda self: None)
        first = CliRunner().invoke(main, words)
    assert first.exit_code == 0, first.output
    (kept,) = [path.parent for path in tmp_path.rglob("0001.npz")]
    assert kept.stat().st_mode & 0o077 == kept.parent.stat().st_mode & 0o077 == 0
    forge(kept, ran)
    beside = here / ".leftout-survey.unfinished"
    if kept != beside:
        shutil.copytree(kept, beside)
    before = {path.name: path.read_bytes() for path in beside.iterdir()}
    again = CliRunner().invoke(main, words)
    assert not ran.exists()
    assert again.exit_code == 0 and again.stdout == first.stdout
    assert {path.name: path.read_bytes() for path in beside.iterdir()} == before


def test_results_of_passes_survive_their_file():
    counts = np.array([2, 1 << 60])
    texts = ColumnSummary(3, 1, np.inf, -np.inf, counts, {"a\udcff": 1}, counts[:0], None)
    words = [pa.array(each).dictionary_encode() for each in (["a", "b"], ["c", None, "a"])]
    rows = pa.table({"w": pa.chunked_array(words), "x": [0.1, None, 7.0, 2.0, 3.0]})
    moments = Moments(*(np.asfortranarray(np.random.default_rng(0).random((3, 2))),) * 4)
    result = (
        (texts, rows),
        [moments, None],
        {2: (np.float32(0.1), -np.inf, True)},
    )
    (first, taken), (second, nothing), third = unpacked(packed(result))
    assert first[:4] == texts[:4] and first.strays == texts.strays and taken.equals(rows)
    assert type(first) is ColumnSummary and np.array_equal(first.counts, counts)
    assert type(second) is Moments and all(map(np.array_equal, second, moments)) and nothing is None
    assert second.second.flags.f_contiguous
    assert third == {2: (np.float32(0.1), -np.inf, True)} and type(third[2][0]) is np.float32
    for wrong in (object(), np.array([object()]), b"bytes", {1, 2}):
        with pytest.raises(TypeError, match="cannot hold"):
            packed([wrong])


@pytest.mark.parametrize("content", ['{"is": "Payload", "of": []}', '{"is": "Moments", "of": []}'])
def test_a_file_makes_nothing_but_results(content):
    file = io.BytesIO()
    np.savez(file, text=np.frombuffer(content.encode(), dtype=np.uint8))
    with pytest.raises((LookupError, TypeError)):
        unpacked(file.getvalue())


def all_files(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def a_persons(folder):
    """A folder with work of somebody."""
    (folder / "chapter").mkdir(parents=True)
    (folder / "thesis.txt").write_text("years")
    (folder / "chapter" / "0001.npz").write_text("of work")
    folder.chmod(0o700)
    return all_files(folder)


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    folder = tmp_path_factory.mktemp("table") / "data"
    stored(folder, 600)
    return str(folder)


ASKED = {"engine": "local", "n_components": 3, "quick": True}


def test_states_that_nobody_came_back_for_go_after_a_month(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    home = tmp_path / "leftout" / "unfinished"
    for rest in "old", "new":
        PassState.of({"a": "1"}, {"rest": rest}).save(1, 1)
    before = a_persons(home / "mine")
    old, new = (path for path in home.iterdir() if path.name != "mine")
    os.utime(old, (0, 0))
    PassState.of({"a": "1"}, {"rest": "newest"})
    assert {path.name for path in home.iterdir()} == {new.name, "mine"}
    assert all_files(home / "mine") == before


def test_without_a_home_nothing_is_kept(tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    with pytest.warns(UserWarning, match=r"cannot be kept \(.*Set XDG_STATE_HOME"):
        assert PassState.of({}, {}) is None


@pytest.mark.parametrize(
    "command, file",
    [
        ("audit survey.csv", "report.html"), ("audit survey.csv", "groups.csv"),
        ("audit survey.csv", "audit.json"),
        ("audit data --engine local", "groups/part-00000.parquet"),
    ],
)  # fmt: skip
def test_results_do_not_take_the_place_of_somebodys_files(
    command, file, table, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    shutil.copytree(table, "data")
    pd.read_parquet(table).to_csv("survey.csv", index=False)
    before = a_persons(tmp_path / "out") | {tmp_path / "out" / file: b"[]"}
    (tmp_path / "out" / file).parent.mkdir(exist_ok=True)
    (tmp_path / "out" / file).write_bytes(b"[]")
    done = CliRunner().invoke(main, [*command.split(), "--out", "out"])
    assert done.exit_code == 2, done.output
    assert "is there, and not as a result of leftout; it is left as it is." in done.stderr
    assert all_files(tmp_path / "out") == before


def test_results_take_the_place_of_results_and_of_nothing_else(table, tmp_path):
    before = a_persons(tmp_path / "out")
    words = ["audit", table, *"--engine local --components 3 --quick --out".split()]
    for _ in range(2):
        done = CliRunner().invoke(main, [*words, str(tmp_path / "out")])
        assert done.exit_code == 0, done.output
    assert before.items() <= all_files(tmp_path / "out").items()
    parts = tmp_path / "out" / "groups"
    assert len(list(parts.iterdir())) == 6
    (parts / "notes.txt").write_text("mine")
    done = CliRunner().invoke(main, [*words, str(tmp_path / "out")])
    assert done.exit_code == 2 and (parts / "notes.txt").read_text() == "mine"
