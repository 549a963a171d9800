"""What an audit leaves as it found it: other threads, the process, the machine."""

from __future__ import annotations

import csv
import json
import os
import shutil
import subprocess
import sys
import threading
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import matplotlib
import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from numba.core import event
from threadpoolctl import threadpool_info

import leftout
from leftout import audit, datasets
from leftout.cli import main
from leftout.compiling import saying_so
from leftout.running import Steps, collected_warnings, imap_ordered, one_thread, warn

QUICK = {"n_components": 2, "n_surrogates": 3, "n_restarts": 2, "group_size": 30}


def table_of(seed, m=160):
    X, group = datasets.make_planted(m, 6, 2, 30, random_state=seed)
    table = pd.DataFrame(X, columns=[f"x{i}" for i in range(6)])
    return table.assign(kind=np.where(group == 1, "a", "b"), done=np.arange(m) % 3)


def plain(found):
    data = json.loads(found.json())
    data["created"] = None
    return data


def test_two_audits_at_once_are_those_one_after_the_other():
    asked = [
        (table_of(0), {"target": "done", "sample": 150}),  # notes on values and on a sample
        (table_of(1).drop(columns="done"), {"sample": 500}),  # a note on a sample not taken
    ]
    alone = [plain(audit(table, **QUICK, **more)) for table, more in asked]
    assert len({tuple(each["notes"]) for each in alone}) == 2 and all(a["notes"] for a in alone)
    with ThreadPoolExecutor(2) as pool:
        both = [pool.submit(audit, table, **QUICK, **more) for table, more in asked * 2]
        assert [plain(each.result()) for each in both] == alone * 2


def test_an_audit_leaves_the_process_as_it_was(tmp_path):
    def state():
        mask = os.umask(0)
        os.umask(mask)
        threads = sorted((i["filepath"], i["num_threads"]) for i in threadpool_info())
        return mask, csv.field_size_limit(), dict(matplotlib.rcParams), warnings.filters[:], threads

    before = state()
    file = tmp_path / "t.csv"
    table_of(0).to_csv(file, index=False)
    audit(file, **QUICK).to_html(tmp_path / "report.html")
    assert state() == before


def test_notes_go_to_whoever_collects_them():
    with pytest.warns(UserWarning, match="alone") as seen:
        (lambda: warn("alone"))()
    assert seen[0].filename == __file__  # who called what has something to say
    with collected_warnings() as outer:
        warn("one")
        warn("one")
        with collected_warnings() as inner:
            list(imap_ordered(warn, [("two",), ("three",)], 2, Steps(2, None), "notes"))
        other = threading.Thread(target=lambda: outer.append("its own thread"))
        other.start()
        other.join()
    assert outer == ["one", "its own thread"] and sorted(inner) == ["three", "two"]


def test_threads_of_blas_come_back_when_the_last_has_left():
    def threads():
        return sorted(info["num_threads"] for info in threadpool_info() if "blas" in info["prefix"])

    before, first, second = threads(), one_thread(), one_thread()
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert set(threads()) == {1}
    second.__exit__(None, None, None)
    assert threads() == before


@pytest.mark.parametrize("error", [TypeError, ValueError, KeyError])
def test_a_bug_is_not_the_users_mistake(tmp_path, monkeypatch, error):
    file = tmp_path / "t.csv"
    table_of(0).to_csv(file, index=False)
    words = ["audit", str(file), "--size", "30", "--surrogates", "0", "--restarts", "0", "--quiet",
             "--out", str(tmp_path / "out")]  # fmt: skip

    def broken(*args, **options):
        raise error("deep inside")

    monkeypatch.setattr("leftout.linalg.problem.Problem.split", broken)
    result = CliRunner().invoke(main, words)
    assert result.exit_code == 1 and type(result.exception) is error
    monkeypatch.undo()
    result = CliRunner().invoke(main, [*words, "--components", "99"])
    assert result.exit_code == 2 and "out of range" in result.stderr
    assert not (tmp_path / "out").exists()


def test_a_bug_in_a_half_of_the_rows_is_not_swallowed(monkeypatch):
    from leftout.evidence import replication

    def broken(*args):
        raise ValueError("deep inside")

    monkeypatch.setattr(replication, "_judge_apart", broken)
    with pytest.raises(ValueError, match="deep inside"):
        audit(table_of(0), **QUICK)


SEARCH = """
import warnings
warnings.simplefilter("always")
from leftout import MaxDisparityPartition, datasets
X, _ = datasets.make_planted(60, 4, 1, 10, random_state=0)
print(MaxDisparityPartition(1, min_group_size=10, solver="sorting").fit(X).sizes_.sum())
"""


@pytest.mark.skipif(sys.platform != "linux", reason="mounts a folder that cannot be written to")
def test_without_a_folder_for_the_cache_kernels_are_compiled_anew():
    """Neither the package nor the home can be written to, and no other folder is named."""
    package = str(Path(leftout.__file__).parent)
    read_only = 'mount --bind "$0" "$0" && mount -o remount,ro,bind "$0" && exec "$@"'
    inside = ["unshare", "--map-root-user", "--mount", "sh", "-c", read_only, package]
    if os.getuid() == 0:
        inside.remove("--map-root-user")
    if shutil.which("unshare") is None or subprocess.run([*inside, "true"]).returncode:
        pytest.skip("folders cannot be mounted here")
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("NUMBA", "XDG"))}
    done = subprocess.run(
        [*inside, sys.executable, "-c", SEARCH], env=environment | {"HOME": package},
        capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "60"
    assert done.stderr.count("finds no folder to keep its compiled kernels in") == 1


def test_who_waits_hears_that_kernels_are_compiled():
    heard = []
    with saying_so(lambda *step: heard.append(step)) as report:
        report("who is left out", 3, 10)
        with event.trigger_event("numba:compile", data={}):
            report("who is left out", 4, 10)
    with event.trigger_event("numba:compile", data={}):
        pass
    assert heard == [
        ("who is left out", 3, 10),
        ("who is left out (compiling, the first time only)", 3, 10),
        ("who is left out", 4, 10),
    ]
