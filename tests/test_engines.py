"""Whoever folds, and whoever finishes first: one tree, the same digits; what was done is kept."""

from __future__ import annotations

import os

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leftout import InputError
from leftout.engine import engines as states
from leftout.engine.engines import Local, Passes, state_folder

FILES = {"a.parquet": "12 bytes", "b.parquet": "30 bytes"}


def written(a, b):
    return f"({a}{b})"


def naive_tree(items):
    """Neighbours in pairs, then pairs of neighbours."""
    level = [str(item) for item in items]
    while len(level) > 1:
        pairs = [level[i : i + 2] for i in range(0, len(level), 2)]
        level = [written(*pair) if len(pair) == 2 else pair[0] for pair in pairs]
    return level[0]


@given(st.integers(1, 200))
def test_results_are_merged_by_one_tree(n):
    assert Local().fold(str, range(n), written) == naive_tree(range(n))


def test_local_tells_how_far_it_is():
    told = []
    assert Local().fold(abs, [-1, -2, -3], max, lambda *at: told.append(at)) == 3
    assert told == [(1, 3), (2, 3), (3, 3)]


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    return tmp_path / "leftout" / "unfinished"


def passes(calls, files=FILES, rest="settings"):
    folder = state_folder(files, {"settings": rest})

    def function(item):
        calls.append(item)
        if item == 13:
            raise KeyboardInterrupt
        return np.array([item, item**2])

    def run(*stages):
        work = Passes(Local(), folder)
        return [work.fold(function, stage, np.add).tolist() for stage in stages]

    return Passes(Local(), folder), run


def test_a_stopped_run_goes_on_where_it_was(home):
    calls = []
    _, run = passes(calls)
    with pytest.raises(KeyboardInterrupt):
        run([1, 2, 3], [4, 5], [6, 13])
    assert home.stat().st_mode & 0o077 == 0
    calls.clear()
    state, run = passes(calls)
    assert run([1, 2, 3], [4, 5], [6, 7]) == [[6, 14], [9, 41], [13, 85]]
    assert calls == [6, 7]
    state.end()
    assert not list(home.iterdir())


@pytest.mark.parametrize(
    "files, rest",
    [
        (FILES, "others"),
        ({"c.parquet": "1"}, "settings"),
        (FILES | {"b.parquet": "31 bytes"}, "settings"),
    ],
)
def test_another_question_or_a_changed_file_begins_anew(files, rest):
    calls = []
    passes([])[1]([1, 2])
    assert passes(calls, files, rest)[1]([1, 2]) == [[3, 5]] and calls == [1, 2]


def test_half_of_a_result_is_computed_again():
    calls = []
    state, run = passes([])
    run([1, 2], [3])
    whole = (state.folder / "0001.pickle").read_bytes()
    for cut in (0, 1, len(whole) // 2, len(whole) - 1):
        (state.folder / "0001.pickle").write_bytes(whole[:cut])
        calls.clear()
        assert passes(calls)[1]([1, 2], [3]) == [[3, 5], [3, 9]] and calls == [1, 2]


def test_a_full_disk_is_one_sentence_and_nothing_half_written(monkeypatch):
    whole = states.write_whole

    def full(path, content):
        if path.name == "0002.pickle":
            raise OSError(28, os.strerror(28))
        return whole(path, content)

    monkeypatch.setattr(states, "write_whole", full)
    state, run = passes([])
    with pytest.raises(InputError, match=r"cannot be kept in '.*': No space left on device"):
        run([1, 2], [3, 4])
    assert [path.name for path in state.folder.iterdir()] == ["0001.pickle"]
