"""Whose files these are: what others made is neither removed nor run, and rows are not sent."""

from __future__ import annotations

import ast
import os
import pickle
import re
import shutil
from pathlib import Path

import pandas as pd
import pytest
from click.testing import CliRunner

import leftout
from leftout.cli import main
from leftout.data import column_reader
from leftout.engine.engines import Local, Passes, state_folder
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
            allowed = {"pickle"} if path.match("engine/engines.py") else set()
            never = {"pickle", "cloudpickle", "dill", "marshal", "shelve"} - allowed
            assert never.isdisjoint(modules)
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


def test_an_archive_with_forged_results_runs_nothing(tmp_path, monkeypatch):
    """They are beside the table, under the very name and settings; ours are in a folder of ours."""
    here, ran = tmp_path / "here", tmp_path / "ran"
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "own"))
    stored(tmp_path / "data", 600, files=1)
    here.mkdir()
    shutil.copy2(tmp_path / "data" / "part-0.parquet", here / "survey.parquet")
    monkeypatch.chdir(here)
    words = "audit survey.parquet --engine local --components 3 --quick".split()
    with monkeypatch.context() as patch:
        patch.setattr(Passes, "end", lambda *_: None)
        first = CliRunner().invoke(main, words)
    assert first.exit_code == 0, first.output
    (kept,) = [path.parent for path in tmp_path.rglob("0001.pickle")]
    assert kept.stat().st_mode & 0o077 == kept.parent.stat().st_mode & 0o077 == 0
    for place in (here / "leftout" / "unfinished" / kept.name, here / ".leftout-survey.unfinished"):
        shutil.copytree(kept, place)
        for path in place.iterdir():
            path.write_bytes(pickle.dumps(Payload(ran)))
    before = all_files(here / "leftout")
    again = CliRunner().invoke(main, words)
    assert not ran.exists()
    assert again.exit_code == 0 and again.stdout == first.stdout
    assert all_files(here / "leftout") == before


def test_a_folder_that_others_may_write_to_keeps_nothing(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    home = tmp_path / "leftout" / "unfinished"
    home.mkdir(parents=True)
    for mode in (0o777, 0o720):
        home.chmod(mode)
        with pytest.warns(UserWarning, match="others may write to .*Set XDG_STATE_HOME"):
            assert state_folder({}, {}) is None


def all_files(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def a_persons(folder):
    """A folder with work of somebody."""
    (folder / "chapter").mkdir(parents=True)
    (folder / "thesis.txt").write_text("years")
    (folder / "chapter" / "0001.pickle").write_text("of work")
    folder.chmod(0o700)
    return all_files(folder)


@pytest.fixture(autouse=True)
def larger_than_the_sample(monkeypatch):
    """Tables of 600 rows are passed over in parts."""
    monkeypatch.setattr(column_reader, "SCHEMA_ROWS", 300)


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
        Passes(Local(), state_folder({"a": "1"}, {"rest": rest})).fold(abs, [1], max)
    before = a_persons(home / "mine")
    old, new = (path for path in home.iterdir() if path.name != "mine")
    os.utime(old, (0, 0))
    state_folder({"a": "1"}, {"rest": "newest"})
    assert {path.name for path in home.iterdir()} == {new.name, "mine"}
    assert all_files(home / "mine") == before


def test_without_a_home_nothing_is_kept(tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    with pytest.warns(UserWarning, match=r"cannot be kept \(.*Set XDG_STATE_HOME"):
        assert state_folder({}, {}) is None


@pytest.mark.parametrize(
    "command, file",
    [
        ("audit survey.csv", "report.html"), ("audit survey.csv", "groups.csv"),
        ("audit survey.csv", "audit.json"), ("audit data --engine local", "groups.parquet"),
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
    assert len(pd.read_parquet(tmp_path / "out" / "groups.parquet")) == 600
