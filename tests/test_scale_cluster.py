"""The same functions on a Dask cluster of this machine, whose workers and scheduler are killed."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from functools import partial

import numpy as np
import pytest

import leftout
from leftout import InputError
from leftout.data import column_reader
from leftout.engine import work
from leftout.engine.chunks import listed
from leftout.engine.encoding_plan import ChunkedRows, prepare_chunks
from leftout.engine.engines import Dask, Local, silent
from leftout.linalg.passes import Pair
from leftout.solvers import alternating
from scaling import ASKED, SAMPLED, KillsItsWorker, said, stored

pytest.importorskip("distributed", reason="the extra 'scale' is not installed")
# what distributed leaves behind when its processes are killed
pytestmark = [
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.xdist_group("cluster"),
]


@pytest.fixture(scope="module", autouse=True)
def passes():
    """Small tables are passed over like large ones, and looked at in a sample."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(work, "STREAMED_ABOVE", 0)
        patch.setattr(alternating, "STREAMED_ABOVE", 0)
        patch.setattr(column_reader, "SCHEMA_ROWS", SAMPLED)
        paths = os.pathsep.join([os.path.dirname(__file__), *sys.path])
        patch.setenv("PYTHONPATH", paths)  # for workers, which unpickle functions of tests
        yield


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("parts") / "data"
    stored(folder)
    return folder


@pytest.fixture(scope="module")
def local(folder):
    return leftout.audit(str(folder), engine="local", **ASKED)


@pytest.fixture(scope="module")
def cluster():
    """Three workers of one thread, on loopback."""
    engine = Dask.here("1GB", 3)
    yield engine
    engine.close()


def slow(seconds, item):
    time.sleep(seconds)
    return np.array([item])


def joined(a, b):
    return np.concatenate([a, b])


def test_to_the_bit(cluster, folder, local):
    with cluster.client.as_current():
        found = leftout.audit(str(folder), engine="dask", **ASKED)
    assert found.chunks.engine == "dask" and said(found) == said(local)
    for name in ("mean_", "components_", "group_components_", "losses_"):
        assert np.array_equal(getattr(found.partition, name), getattr(local.partition, name))
    assert np.array_equal(found.partition.labels_, local.partition.labels_)
    assert np.array_equal(found.groups["score"], local.groups["score"])


@pytest.mark.parametrize("workers", [1, 2])
def test_fewer_workers(cluster, folder, workers):
    """Moments, that a search and all else follow from, and rows in order."""
    chunks = listed(str(folder))
    some = sorted(cluster.client.nthreads())[:workers]
    engine = Dask(cluster.client)
    engine.client.submit = partial(type(cluster.client).submit, cluster.client, workers=some)
    try:
        tables = (
            ChunkedRows(prepare_chunks(chunks, fold)[0], chunks, fold)
            for fold in (Local().fold, engine.fold)
        )
        here, there = (work.moments_of(each, each.take(np.arange(100))) for each in tables)
    finally:
        del engine.client.submit
    assert all(map(np.array_equal, here, there))


def test_results_are_merged_in_order(cluster):
    items, told = list(range(60)), []
    found = cluster.fold(partial(slow, 0.0), items, joined, lambda *at: told.append(at))
    assert found.tolist() == items and told[-1] == (60, 60)


def called(one):
    """What a pass does, or two in one reading."""
    if isinstance(one, Pair):
        return f"{called(one.first)}+{called(one.second)}"
    return type(one).__name__


class Killing(Dask):
    """In every kind of pass, the worker that has the second chunk is killed once."""

    def __init__(self, client, folder):
        super().__init__(client)
        self.marks = folder

    def fold(self, function, items, merge, tell=silent):
        chunks = [item[0] if isinstance(item, tuple) else item for item in items]
        starts = {chunks[min(1, len(chunks) - 1)].start}
        inner = getattr(function, "args", [None])[-1]  # of passes, which
        kind = type(function).__name__ + getattr(function, "func", silent).__name__
        mark = str(self.marks / f"{kind} {called(inner)}")
        return super().fold(KillsItsWorker(function, mark, starts), items, merge, tell)


def test_a_worker_killed_in_every_stage(cluster, folder, local, tmp_path):
    engine = Killing(cluster.client, tmp_path)
    found = leftout.audit(str(folder), engine=engine, **ASKED)
    killed = {path.name.split()[-1] for path in tmp_path.iterdir()}
    assert {"Sums+Take", "Cut"} <= killed and killed & {"StreamingBound", "Cut+StreamingBound"}
    assert len(list(tmp_path.iterdir())) >= 6
    assert said(found) == said(local)
    assert np.array_equal(found.partition.labels_, local.partition.labels_)


def test_a_chunk_that_kills_every_worker_is_named(cluster):
    with pytest.raises(InputError, match=r"ended again and again while they worked on 'the third'"):
        cluster.fold(_deadly, ["a", "b", "the third"], joined)


def _deadly(item):
    if item == "the third":
        os.kill(os.getpid(), signal.SIGKILL)
    return np.array([1])


def test_an_error_in_a_task_is_the_callers(cluster):
    with pytest.raises(InputError, match="no good"):
        cluster.fold(_refusing, [1, 2, 3], joined)


def _refusing(item):
    raise InputError(f"{item} is no good.")


def test_workers_are_asked_first(cluster, monkeypatch):
    cluster.probe()
    ask = cluster.client.get_versions
    for theirs, says in (
        ("0.0.1", "has leftout 0.0.1, but .* is used here"),
        (None, r"^The worker tcp://\S+ has no leftout, but "),
    ):

        def other(packages, theirs=theirs):
            found = ask(packages=packages)
            for worker in found["workers"].values():
                worker["packages"]["leftout"] = theirs
            return found

        monkeypatch.setattr(cluster.client, "get_versions", other)
        with pytest.raises(InputError, match=says):
            cluster.probe()


def test_a_file_that_workers_do_not_have(cluster, folder, tmp_path):
    shutil.copytree(folder, tmp_path / "data")
    chunks = listed(str(tmp_path / "data"))
    shutil.rmtree(tmp_path / "data")
    says = "part-0.parquet' any more; workers of a cluster need the same files at the same paths"
    with pytest.raises(InputError, match=says):
        prepare_chunks(chunks, cluster.fold)


def test_no_scheduler_at_an_address(monkeypatch):
    import distributed

    client = distributed.Client  # which is to wait for ten seconds
    monkeypatch.setattr(
        distributed, "Client", lambda *given, timeout, **more: client(*given, timeout="1s", **more)
    )
    with pytest.raises(InputError, match="No Dask scheduler answers at tcp://127.0.0.1:9"):
        Dask.at("tcp://127.0.0.1:9")


def test_a_scheduler_that_is_killed(tmp_path):
    """Within seconds an error that says so, and what to do."""
    address = tmp_path / "scheduler.json"
    words = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--host", "127.0.0.1",
             "--port", "0", "--no-dashboard", "--scheduler-file", str(address)]  # fmt: skip
    scheduler = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    worker = None
    try:
        for _ in range(300):
            if address.exists() and address.read_text().rstrip().endswith("}"):
                break
            time.sleep(0.2)
        words = [sys.executable, "-m", "distributed.cli.dask_worker", "--no-nanny", "--nthreads",
                 "1", "--no-dashboard", "--scheduler-file", str(address),
                 "--death-timeout", "60"]  # fmt: skip
        worker = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        import json

        engine = Dask.at(json.loads(address.read_text())["address"])

        def tell(done, total):
            if done == 2:
                scheduler.send_signal(signal.SIGKILL)

        with pytest.raises(InputError, match="The Dask scheduler at tcp://.* does not answer any"):
            engine.fold(partial(slow, 0.3), list(range(40)), joined, tell)
        engine.close()
    finally:
        for process in (scheduler, worker):
            if process is not None:
                process.kill()
                process.wait()
