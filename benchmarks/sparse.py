"""One sparse table in a process of its own: CPU time against TruncatedSVD, peak memory."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
ROWS, COLUMNS, FILLED = 100_000, 2_000, 0.01


def table(rows, columns, filled, seed=0):
    from scipy import sparse

    rng = np.random.default_rng(seed)
    each = round(filled * columns)
    where = np.repeat(np.arange(rows), each), rng.integers(columns, size=rows * each)
    return sparse.csr_array((rng.random(rows * each), where), shape=(rows, columns))


def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def spent(function):
    start = time.process_time()
    function()
    return time.process_time() - start


def main(d):
    from sklearn.decomposition import TruncatedSVD

    from leftout import MaxDisparityPartition

    small = table(45_000, 100, 0.05)
    search = MaxDisparityPartition(d, group_size=0.1, random_state=0)
    search.fit(small)  # compile
    before = peak()
    X = table(ROWS, COLUMNS, FILLED)
    ours = spent(lambda: search.fit(X))
    memory = peak() - before
    theirs = spent(lambda: TruncatedSVD(d, random_state=0).fit(X))
    bound = spent(lambda: search.bound_)
    held = X.data.nbytes + X.indices.nbytes + X.indptr.nbytes
    print(
        json.dumps(
            {"ours": ours, "theirs": theirs, "memory": memory, "held": held, "bound": bound}
            | {"disparity": search.disparity_, "ceiling": search.bound_}
            | {"with bound": peak() - before, "stopped": search.stopped_}
        )
    )


def against_svd():
    """A sparse table that would fill the memory as an array."""
    for d in (50, 10):
        command = [sys.executable, "-m", "benchmarks.sparse", str(d)]
        done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT)
        run = json.loads(done.stdout.splitlines()[-1])
        ratio, limit = run["ours"] / run["theirs"], 2 * run["held"] + 1e9
        yield (
            f"sparse {ROWS:,} x {COLUMNS:,}, 1% filled, d = {d}: CPU time against TruncatedSVD",
            "at most 20 x; memory 2 x the matrix + 1 GB",
            f"{ratio:.1f} x ({run['ours']:.1f} s against {run['theirs']:.1f} s), "
            f"{run['memory'] / 1e6:.0f} MB of {limit / 1e6:.0f}",
            ratio <= 20 and run["memory"] <= limit,
        )


if __name__ == "__main__":
    main(int(sys.argv[1]))
