"""A table in parts: as in memory, whoever passes over it, and whatever happens meanwhile."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from jsonschema import validate
from numpy.testing import assert_allclose

import leftout
from leftout import InputError, MaxDisparityPartition
from leftout.auditing.schema import schema
from leftout.cli import main
from leftout.data import column_reader
from leftout.engine import work
from leftout.engine.engines import Local
from leftout.engine.tables import in_parts
from leftout.solvers import alternating
from scaling import ASKED, ROWS, SAMPLED, Meddling, Shuffled, said, stored

SCHEMA = schema()


@pytest.fixture(scope="module", autouse=True)
def passes():
    """Small tables are passed over like large ones, and looked at in a sample."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(work, "STREAMED_ABOVE", 0)
        patch.setattr(alternating, "STREAMED_ABOVE", 0)
        patch.setattr(column_reader, "SCHEMA_ROWS", SAMPLED)
        yield


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("parts") / "data"


@pytest.fixture(scope="module")
def table(folder):
    return stored(folder)


@pytest.fixture(scope="module")
def counting():
    """The local engine, which says how often it has folded."""
    return Meddling(0, None)


@pytest.fixture(scope="module")
def local(table, folder, counting):
    found = leftout.audit(str(folder), engine=counting, **ASKED)
    counting.of_audit = counting.folds
    return found


@pytest.fixture(scope="module")
def whole(table, folder):
    return leftout.audit(str(folder / "*.parquet"), engine="memory", **ASKED)


def test_as_in_memory(local, whole):
    assert whole.chunks is None and local.chunks.n_chunks == 6 and local.chunks.n_files == 3
    assert np.array_equal(local.partition.labels_, whole.partition.labels_)
    places = local.intake.rows
    assert len(places) == SAMPLED
    assert_allclose(local.intake.X, whole.intake.X[places], atol=1e-12)
    ours, theirs = local.partition, whole.partition
    for name in ("losses_", "disparity_", "retained_", "retained_own_", "mean_", "sizes_"):
        assert_allclose(getattr(ours, name), getattr(theirs, name), rtol=1e-9, err_msg=name)
    assert ours.disparity_ <= ours.bound_ <= 1.2 * theirs.bound_
    assert_allclose(
        local.mitigation.fair.losses_, whole.mitigation.fair.losses_, rtol=1e-7, atol=1e-12
    )
    split, theirs = (
        {line.feature: line[2:] for line in found.explanation.disparity_by_feature}
        for found in (local, whole)
    )
    for feature, numbers in theirs.items():
        assert_allclose(split[feature], numbers, rtol=1e-7, atol=1e-9)
    assert str(local.explanation.outcome[0]) == str(whole.explanation.outcome[0])
    assert local.headline() == whole.headline()


@pytest.mark.parametrize("scaling", ["none", "standard"])
def test_numbers_as_they_are_or_of_unit_variance(folder, table, scaling):
    asked = ASKED | {"scaling": scaling, "drop": ["since"], "target": "v3"}
    found = leftout.audit(str(folder), engine="local", **asked)
    whole = leftout.audit(table[0], **asked)
    assert found.explanation.outcome[0].kind == "mean"
    assert found.explanation.outcome == whole.explanation.outcome
    assert found.explanation.no_outcome == whole.explanation.no_outcome is not None
    assert_allclose(found.intake.X, whole.intake.X[found.intake.rows], atol=1e-12)
    assert np.array_equal(found.partition.labels_, whole.partition.labels_)
    assert_allclose(found.partition.losses_, whole.partition.losses_, rtol=1e-6)


def test_the_sentence_is_counted_on_all_rows(local, table):
    frame, _ = table
    sentence = local.explanation.sentence
    covered = sentence.covers(frame)
    inside = covered & (local.partition.labels_ == 1)
    assert (sentence.covered, sentence.count) == (covered.sum(), inside.sum())
    assert (sentence.size, sentence.n_rows) == (ROWS // 10, ROWS)


def test_groups_of_all_rows(local, whole):
    groups = local.groups
    assert groups["row"].tolist() == list(range(ROWS))
    assert ((groups["group"] == "left out") == (local.partition.labels_ == 1)).all()
    assert_allclose(groups["score"], whole.scores, rtol=1e-9, atol=1e-12)


def test_what_comes_from_all_rows_is_said(local):
    data = local.to_dict()
    validate(json.loads(local.json()), SCHEMA)
    assert data["table"]["rows"] == ROWS
    assert data["scale"]["n_rows"] == ROWS and data["scale"]["n_sampled"] == SAMPLED
    assert any(f"come from all {ROWS:,} rows" in note for note in local.notes)


def test_tasks_that_finish_in_any_order(local, folder):
    other = leftout.audit(str(folder), engine=Shuffled(), **ASKED)
    assert said(other) == said(local)
    assert np.array_equal(other.groups["score"], local.groups["score"])


def test_a_list_a_dataset_and_one_file(local, folder, tmp_path, table):
    import pyarrow.dataset as ds

    paths = sorted(map(str, folder.iterdir()))
    chunks = in_parts(str(folder), "local").chunks
    assert in_parts(paths, "local").chunks == chunks
    assert in_parts(ds.dataset(str(folder), format="parquet"), "local").chunks == chunks
    one = tmp_path / "one.parquet"
    table[0].to_parquet(one, index=False)
    found = leftout.audit(one, engine="local", **ASKED)
    assert np.array_equal(found.partition.labels_, local.partition.labels_)


def test_the_engine_is_chosen_by_size(folder, table):
    assert in_parts(str(folder)).whole and in_parts(str(folder), "memory", "1MB").whole
    small = in_parts(str(folder), memory="1MB")
    with small.engine(None, None, "1MB") as engine:
        assert not small.whole and isinstance(engine, Local)


def test_text_in_parts(local, table, tmp_path):
    for place, rows in enumerate(np.array_split(np.arange(ROWS), 3)):
        table[0].iloc[rows].to_csv(tmp_path / f"part-{place}.csv", index=False)
    found = leftout.audit(str(tmp_path / "*.csv"), engine="local", **ASKED)
    assert np.array_equal(found.partition.labels_, local.partition.labels_)
    assert len(found.groups) == ROWS


def test_a_whole_audit_on_the_sample(tmp_path, monkeypatch):
    stored(tmp_path / "data", 1200)
    monkeypatch.setattr(column_reader, "SCHEMA_ROWS", 400)
    # the sample is searched as small tables are: its many searches by passes take minutes
    monkeypatch.setattr(alternating, "STREAMED_ABOVE", 1 << 22)
    asked = ASKED | {"quick": False, "n_surrogates": 19, "n_restarts": 0}
    found = leftout.audit(str(tmp_path / "data"), engine="local", **asked)
    validate(json.loads(found.json()), SCHEMA)
    assert found.trust.verdict in "ABCD" and found.trust.of_rows == 400
    assert found.harm is not None and found.known is not None and found.named is not None
    assert "<html" in found.html()


def test_the_command(folder, table, tmp_path, local):
    words = "--engine local --target ok --sensitive sex --components 3 --quick --json".split()
    out = tmp_path / "out"
    done = CliRunner().invoke(main, ["audit", str(folder), *words, "--out", str(out)])
    assert done.exit_code == 0, done.output
    files = ["audit.json", "groups.parquet", "report.html"]
    assert sorted(path.name for path in out.iterdir()) == files
    assert pd.read_parquet(out / "groups.parquet").equals(local.groups)
    again = CliRunner().invoke(main, ["audit", str(folder), *words, "--out", str(out)])
    assert again.exit_code == 0 and sorted(path.name for path in out.iterdir()) == files
    assert list(tmp_path.iterdir()) == [out]


def test_a_full_disk_leaves_nothing(folder, table, tmp_path, monkeypatch):
    real = os.fsync

    def full(handle):
        if os.path.realpath(f"/proc/self/fd/{handle}").startswith(str(tmp_path / "out")):
            raise OSError(28, os.strerror(28))
        return real(handle)

    monkeypatch.setattr(os, "fsync", full)
    words = "--engine local --components 3 --quick".split()
    done = CliRunner().invoke(main, ["audit", str(folder), *words, "--out", str(tmp_path / "out")])
    assert done.exit_code == 2 and "No space left on device" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == []


def test_a_file_that_changes_between_passes(tmp_path):
    folder = tmp_path / "data"
    stored(folder, 1500)

    def happens():
        path = folder / "part-1.parquet"
        pd.read_parquet(path).iloc[::-1].to_parquet(path, index=False)

    with pytest.raises(InputError, match="part-1.parquet.* has changed since the audit began"):
        leftout.audit(str(folder), engine=Meddling(4, happens), **ASKED)


def test_bad_folders_write_nothing(tmp_path):
    folder = tmp_path / "data"
    stored(folder, 600)
    path = folder / "part-1.parquet"
    good = path.read_bytes()
    for content, says in (
        (good[: len(good) // 2], "part-1.parquet"),
        (b"", "part-1.parquet"),
    ):
        path.write_bytes(content)
        done = CliRunner().invoke(
            main, ["audit", str(folder), "--engine", "local", "--out", str(tmp_path / "out")]
        )
        assert done.exit_code == 2 and says in done.stderr and done.stderr.count("\n") == 1
    pd.read_parquet(folder / "part-0.parquet").rename(columns={"v1": "w1"}).to_parquet(path)
    done = CliRunner().invoke(main, ["audit", str(folder), "--out", str(tmp_path / "out")])
    assert done.exit_code == 2 and "part-1.parquet" in done.stderr and "v1" in done.stderr
    assert sorted(each.name for each in tmp_path.iterdir()) == ["data"]


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        ({"engine": "spark"}, "is not known; it must be one of 'memory', 'local', 'dask'"),
        ({"engine": "local", "sample": 100}, "passed over in parts"),
        ({"engine": "local", "preset": "paper"}, "passed over in parts"),
        ({"engine": "local", "features": "f.npy"}, "is searched by the PCA of its own columns"),
        ({"engine": "local", "pipeline": "p.skops"}, "is searched by the PCA of its own columns"),
        ({"engine": "local", "n_groups": 3}, "is searched for one left-out group"),
        ({"engine": "local", "group_size": 3}, "in the sample of 1,200"),
        ({"engine": "local", "memory": "much"}, "is no size"),
        ({"engine": "dask"}, "no client of one is there"),
    ],
)
def test_refusals(folder, table, asked, says):
    with pytest.raises(InputError, match=says):
        leftout.audit(str(folder), **(ASKED | asked))


def test_few_rows_are_read_whole_by_any_engine(tmp_path):
    stored(tmp_path / "data", 600)
    found = leftout.audit(str(tmp_path / "data"), engine="local", **ASKED | {"n_groups": 2})
    assert found.chunks is None and len(found.partition.left_out_groups_) == 2
    assert any("read whole: those of up to" in note for note in found.notes)


def test_a_table_in_memory_has_no_engine(table):
    with pytest.raises(InputError, match="the table is in memory"):
        leftout.audit(table[0], engine="local")


def test_a_dask_collection(local, table):
    dd = pytest.importorskip("dask.dataframe")
    frame = dd.from_pandas(table[0], npartitions=3)
    found = leftout.audit(frame, engine="local", **ASKED)
    assert np.array_equal(found.partition.labels_, local.partition.labels_)
    assert len(found.groups) == ROWS  # the copy is there as long as the result
    with pytest.raises(InputError, match=r"Dask DataFrame, whose rows .* Call .compute\(\)"):
        MaxDisparityPartition(2).fit(frame[["v0", "v1", "v2"]])


def test_a_dask_array_is_refused(table):
    da = pytest.importorskip("dask.array")
    array = da.from_array(table[0][["v0", "v1", "v2"]].to_numpy(), chunks=(1300, 3))
    with pytest.raises(InputError, match="Found a Dask Array .* Pass a Dask DataFrame"):
        leftout.audit(array)
    with pytest.raises(InputError, match="Dask Array, whose rows are not there yet"):
        MaxDisparityPartition(2).fit(array)


SCRIPT = """
import os, signal, sys, json
import scaling
from leftout.data import column_reader
from leftout.engine import work
from leftout.solvers import alternating
import leftout
work.STREAMED_ABOVE = alternating.STREAMED_ABOVE = 0
column_reader.SCHEMA_ROWS = scaling.SAMPLED
folder, resume, number = sys.argv[1], bool(sys.argv[2]), int(sys.argv[3])
engine = scaling.Meddling(number, lambda: os.kill(os.getpid(), signal.SIGKILL))
found = leftout.audit(folder, engine=engine, resume=resume, **scaling.ASKED)
print(json.dumps([engine.folds, scaling.said(found)], sort_keys=True))
"""


def run(*words, **more):
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)} | more
    return subprocess.run(
        [sys.executable, "-c", SCRIPT, *map(str, words)], capture_output=True, text=True,
        env=environment,
    )  # fmt: skip


def test_a_killed_driver_goes_on_where_it_was(folder, local, counting, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    died = run(folder, "resume", 6, OMP_NUM_THREADS="2", OPENBLAS_NUM_THREADS="2")
    assert died.returncode == -signal.SIGKILL
    done = sorted(path.name for path in tmp_path.rglob("*.pickle"))
    assert done == [f"000{number}.pickle" for number in range(1, 6)]
    again = Meddling(0, None)
    found = leftout.audit(str(folder), engine=again, resume=True, **ASKED)
    assert said(found) == said(local) and not list(tmp_path.rglob("*.pickle"))
    assert again.folds == counting.of_audit - 5


def test_more_blas_threads_change_nothing(folder, table, local):
    found = run(folder, "", 0, OMP_NUM_THREADS="2", OPENBLAS_NUM_THREADS="2")
    assert found.returncode == 0, found.stderr
    assert json.loads(found.stdout)[1] == json.loads(json.dumps(said(local), sort_keys=True))


def test_local_is_an_engine():
    assert Local().name == "local" and not Local().closed
