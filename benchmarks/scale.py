"""Tables larger than memory: CPU time against reading the files once, memory, the same digits.

``python -m benchmarks.scale FOLDER ENGINE`` measures one run in a process of its own and prints it
as JSON; the cases below start such processes. Tables are written to a temporary folder and removed.
``LEFTOUT_SCALE_ROWS=10000000`` makes the large one as large as the target says (3 GB on disk).
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

import numpy as np

ROWS = int(os.environ.get("LEFTOUT_SCALE_ROWS", 1_000_000))
GROUP = 250_000
D, SHARE = 6, 0.02
TOWNS = np.array([f"town {j:02d}" for j in range(20)])
# What is asked of every engine.
ASKED = {"n_components": D, "group_size": SHARE, "quick": True}


def block(m, n_features, place):
    """Rows of a mixed table: numbers with gaps, whole numbers, text, dates; and who is planted.

    Numbers follow ``D`` yes-or-no traits; which of them follows which, is another matter for a
    fiftieth of the rows.
    """
    import pandas as pd

    rng = np.random.default_rng([11, place])
    n_text, n_dates = n_features // 10, max(1, n_features // 25)
    n = n_features - n_text - n_dates
    ways = np.random.default_rng(12)
    follows, others = ways.permuted(np.tile(np.arange(n) % D, (2, 1)), axis=1)
    planted = rng.random(m) < SHARE
    Z = rng.choice([-1.0, 1.0], (m, D))
    X = np.where(planted[:, None], Z[:, others], Z[:, follows])
    X += 0.2 * rng.standard_normal((m, n))
    columns = {}
    for j in range(n):
        values = X[:, j]
        if j % 10 == 0:
            values = np.where(rng.random(m) < 0.05, np.nan, values)
        columns[f"x{j:02d}"] = np.round(values * 100).astype(np.int32) if j % 10 == 5 else values
    for j in range(n_text):
        columns[f"text{j}"] = pd.Categorical.from_codes(
            rng.integers(0, 3 + j % 3, m), TOWNS[: 3 + j % 3]
        )
    for j in range(n_dates):
        days = rng.integers(0, 9000, m).astype("timedelta64[D]")
        columns[f"date{j}"] = np.datetime64("2000-01-01", "us") + days
    return pd.DataFrame(columns), planted


def write(folder, rows, n_features, group=GROUP, per_file=4):
    """The table by parts, ``per_file`` row groups in each file; who is planted, of all rows."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    folder.mkdir(parents=True)
    planted, writer = [], None
    for place, start in enumerate(range(0, rows, group)):
        parts = [
            block(min(GROUP, start + group - at, rows - at), n_features, (at // GROUP))
            for at in range(start, min(start + group, rows), GROUP)
        ]
        planted += [who for _, who in parts]
        table = pa.concat_tables([pa.Table.from_pandas(p, preserve_index=False) for p, _ in parts])
        if place % per_file == 0:
            if writer is not None:
                writer.close()
            writer = pq.ParquetWriter(
                folder / f"part-{place // per_file:04d}.parquet", table.schema
            )
        writer.write_table(table, row_group_size=group)
    writer.close()
    np.save(folder.with_suffix(".npy"), np.concatenate(planted))
    return folder


class _Clock:
    """CPU seconds of this process and of the workers."""

    def __init__(self, engine):
        self.client = getattr(engine, "client", None)

    def now(self):
        workers = {} if self.client is None else self.client.run(time.process_time)
        return time.process_time() + sum(workers.values())


def _bytes_of(chunk):
    """Reading a chunk once, all columns, as every pass does."""
    return sum(batch.nbytes for _, batch in chunk.batches())


def _added(a, b):
    return a + b


def measure(folder, name, workers):
    """One audit: CPU time of reading, of the search part and of the whole; peaks of memory."""
    from leftout.data import column_reader
    from leftout.engine import work
    from leftout.engine.engines import Dask, Local
    from leftout.engine.run import run
    from leftout.engine.tables import in_parts
    from leftout.settings import Settings

    engine = Local() if name == "local" else Dask.here("2GB", workers)
    try:
        small = folder.with_name(f"{folder.name}-small")
        keep = work.STREAMED_ABOVE, column_reader.SCHEMA_ROWS
        # passes over a small table compile all that is needed
        work.STREAMED_ABOVE, column_reader.SCHEMA_ROWS = 0, 10_000
        run(str(small), Settings(**ASKED), engine=engine)
        work.STREAMED_ABOVE, column_reader.SCHEMA_ROWS = keep
        clock, marks = _Clock(engine), {}
        parts = in_parts(str(folder), "local")
        readings = []
        for _ in range(3):  # the first one also makes room for what it reads
            start = clock.now()
            engine.fold(_bytes_of, parts.chunks, _added)
            readings.append(clock.now() - start)
        marks["read"] = float(np.median(readings))
        searched = work.search_passes

        def marked(*given, table, **more):
            result = searched(*given, table=table, **more)
            marks["search"], marks["driver at search"] = clock.now() - start, _peak()
            marks["stopped"], marks["passes"] = result.stopped, table.fold.__self__.number
            return result

        work.search_passes = marked
        start, began = clock.now(), time.perf_counter()
        found = run(str(folder), Settings(**ASKED), engine=engine)
        marks["audit"], marks["wall"] = clock.now() - start, time.perf_counter() - began
        marks["driver"] = marks["worker"] = _peak()
        if name == "dask":
            marks["worker"] = max(engine.client.run(_peak).values())
        planted = np.load(folder.with_suffix(".npy"))
        labels = found.partition.labels_ == 1
        marks["jaccard"] = float(np.sum(labels & planted) / np.sum(labels | planted))
        marks["disparity"] = found.partition.disparity_.hex()
        marks["labels"] = int(np.flatnonzero(labels).sum())
        marks["chunks"], marks["rows"] = len(parts.chunks), len(labels)
        return marks
    finally:
        if name == "dask":
            engine.close()


def _peak():
    """Most memory that this process has had, in GB (Linux).

    ``resource`` knows it too, but as of a process and whoever started it, which made the table.
    """
    from pathlib import Path

    lines = dict(line.split(":") for line in Path("/proc/self/status").read_text().splitlines())
    return int(lines["VmHWM"].split()[0]) / 1e6


def measured(folder, engine, workers=2):
    """:func:`measure` in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.scale", str(folder), engine, str(workers)],
        capture_output=True, text=True, check=False,
        env=os.environ | {"OPENBLAS_NUM_THREADS": "1"},
    )  # fmt: skip
    if done.returncode:
        raise RuntimeError(done.stderr[-2000:])
    return json.loads(done.stdout.splitlines()[-1])


@contextmanager
def tables(rows, n_features, group=GROUP):
    """A table in a temporary folder, and a small one beside it to compile on."""
    place = Path(tempfile.mkdtemp(prefix="leftout-bench-"))
    try:
        folder = write(place / "table", rows, n_features, group)
        write(place / "table-small", 20_000, n_features)
        yield folder
    finally:
        shutil.rmtree(place, ignore_errors=True)


def scale_speed():
    """Search part and quick audit against reading once; Dask against local."""
    with tables(ROWS, 50) as folder:
        each = {engine: measured(folder, engine) for engine in ("local", "dask")}
    for engine, found in each.items():
        for part, most in (("search", 16.0), ("audit", 30.0)):
            ratio = found[part] / found["read"]
            what = "search part" if part == "search" else "whole quick audit"
            yield (
                f"{ROWS:,} x 50 in {found['chunks']} chunks, {engine}: {what} against reading once",
                f"{most:.0f} x (CPU)",
                f"{ratio:.1f} x ({found[part]:.0f} s of {found['read']:.1f} s; stopped: "
                f"{found['stopped']}, {found['passes']} passes)",
                ratio <= most,
            )
        yield (
            f"{ROWS:,} x 50, {engine}: planted 2%, d {D} (Jaccard)",
            "0.93",
            f"{found['jaccard']:.3f}",
            found["jaccard"] >= 0.93,
        )
        yield (
            f"{ROWS:,} x 50, {engine}: peak memory of driver and worker",
            "1 GB and 0.7 GB",
            f"{found['driver']:.2f} GB and {found['worker']:.2f} GB",
            found["driver"] <= 1.0 and found["worker"] <= (0.7 if engine == "dask" else 1.0),
        )
    local, dask = each["local"], each["dask"]
    ratio = dask["audit"] / local["audit"]
    yield f"{ROWS:,} x 50: Dask against local, CPU", "1.6 x", f"{ratio:.2f} x", ratio <= 1.6
    same = all(local[name] == dask[name] for name in ("disparity", "labels"))
    yield f"{ROWS:,} x 50: local and dask to the bit", "identical", str(same), same


def scale_memory():
    """Peak memory with one row group of 2,000,000 rows."""
    with tables(2_000_000, 50, group=2_000_000) as folder:
        found = measured(folder, "dask", 1)
    yield (
        "one row group of 2,000,000 x 50: peak memory of driver and worker",
        "1 GB and 0.7 GB",
        f"{found['driver']:.2f} GB and {found['worker']:.2f} GB",
        found["driver"] <= 1.0 and found["worker"] <= 0.7,
    )


def scale_same():
    """Memory, local and dask on the same mixed table."""
    import leftout
    from leftout.engine.engines import Dask

    rows = min(2_000_000, 2 * ROWS)
    with tables(rows, 30) as folder:
        local = leftout.audit(str(folder), engine="local", **ASKED)
        engine = Dask.here("2GB", 2)
        try:
            dask = leftout.audit(str(folder), engine=engine, **ASKED)
        finally:
            engine.close()
        whole = leftout.audit(str(folder), engine="memory", **ASKED)
        off = np.abs(local.intake.X - whole.intake.X[local.intake.rows]).max()
    equal = np.array_equal(local.partition.labels_, whole.partition.labels_)
    bits = np.array_equal(local.partition.labels_, dask.partition.labels_) and all(
        np.array_equal(getattr(local.partition, name), getattr(dask.partition, name))
        for name in ("losses_", "mean_", "components_", "group_components_", "retained_own_")
    )
    different = int(np.sum(local.partition.labels_ != whole.partition.labels_))
    yield (
        f"{rows:,} x 30: labels of local and memory",
        "equal",
        f"{different} differ",
        equal,
    )
    yield f"{rows:,} x 30: encoding", "1e-12", f"{off:.1e}", off <= 1e-12
    yield f"{rows:,} x 30: local and dask", "identical to the bit", str(bits), bits


CASES = [scale_speed, scale_memory, scale_same]

if __name__ == "__main__":
    print(json.dumps(measure(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]))))
