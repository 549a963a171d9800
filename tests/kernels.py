"""The numerical tests with the BLAS kernels of other processors: ``make test-kernels``.

OpenBLAS, in NumPy's and in SciPy's wheels, has kernels for several families of processors and takes
the newest that it can execute. OPENBLAS_CORETYPE makes it take another: sums are then added up in
another order, as on other machines. On the oldest family NumPy's and Numba's own loops do without
vector instructions as well.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

CORES = ("Prescott", "Nehalem", "Sandybridge", "Haswell", "Zen", "SkylakeX")
THREADS = (1, 2)
TESTS = (
    "spectra",
    "moments",
    "losses",
    "bounds",
    "solvers",
    "partition",
    "significance",
    "surrogates",
    "swaps",
    "cross_fit",
    "stability",
    "scores",
    "fair",
    "fair_pca",
    "mitigation",
    "evidence",
    "named",
    "subgroup_search",
    "known_groups",
    "cross_fitting",
    "weighing",
)

ROOT = Path(__file__).resolve().parents[1]

# What a processor cannot execute ends this process, and none of the tests.
PROBE = """
import json
import numpy as np
from scipy import linalg
from threadpoolctl import threadpool_info

A = np.random.default_rng(0).standard_normal((300, 300))
for product in (A @ A.T, linalg.blas.dgemm(1.0, A, A, trans_b=True)):
    np.linalg.eigh(product), linalg.eigh(product), linalg.svd(product), product @ A[0]
print(json.dumps([
    library["architecture"] for library in threadpool_info()
    if library["internal_api"] == "openblas"
]))
"""

DISPATCHED = """
try:
    from numpy._core import _multiarray_umath as numpy
except ImportError:  # before NumPy 2
    from numpy.core import _multiarray_umath as numpy
print(*[name for name in numpy.__cpu_dispatch__ if numpy.__cpu_features__[name]], sep=",")
"""


def run(command, **environment):
    return subprocess.run(
        [sys.executable, *command],
        cwd=ROOT,
        env={**os.environ, **environment},
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )


def kernels(core):
    """The kernels that OpenBLAS takes for a core type, and what went wrong where it takes none."""
    found = run(["-c", PROBE], OPENBLAS_CORETYPE=core)
    if found.returncode < 0:
        name = signal.Signals(-found.returncode).name
        return None, f"this processor cannot execute its kernels ({name})"
    if found.returncode > 0:
        return None, found.stdout.strip().splitlines()[-1]
    said = json.loads(found.stdout.splitlines()[-1])
    return (tuple(said), "") if said else (None, "there is no OpenBLAS to choose kernels of")


def no_vectors():
    """Settings under which NumPy's and Numba's loops take one number at a time."""
    names = run(["-c", DISPATCHED]).stdout.strip()
    plain = {"NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": ""}
    return {**plain, "NPY_DISABLE_CPU_FEATURES": names} if names else plain


def tested(core, threads):
    files = [str(Path("tests", f"test_{name}.py")) for name in TESTS]
    # with two threads each, two processes would wait for each other
    workers = ["-n", "auto", "--maxprocesses", "2"] if threads == 1 else []
    return run(
        ["-m", "pytest", "--hypothesis-profile=kernels", "-p", "no:cacheprovider", "--tb=short",
         *workers, *files],
        OPENBLAS_CORETYPE=core,
        OPENBLAS_NUM_THREADS=str(threads),
        **(no_vectors() if core == CORES[0] else {}),
    )  # fmt: skip


def main():
    ran, skipped, failed, seen = [], [], [], {}
    for core in CORES:
        taken, reason = kernels(core)
        if taken in seen:
            reason = f"OpenBLAS takes the kernels of {seen[taken]} for it here"
        if reason:
            skipped.append(f"{core}: {reason}")
            print(skipped[-1], flush=True)
            continue
        seen[taken] = core
        for threads in THREADS:
            found = tested(core, threads)
            closing = found.stdout.strip().splitlines()[-1]
            name = f"{core} on {threads} thread{'s' * (threads > 1)}"
            if found.returncode:
                print(found.stdout)
                failed.append(name)
            ran.append(f"{name} ({'/'.join(sorted(set(taken)))}): {closing}")
            print(ran[-1], flush=True)
    print("\nRan:", *ran, "Skipped:", *(skipped or ["nothing"]), sep="\n  ")
    print("Failed:", *(failed or ["nothing"]), sep="\n  ")
    if not ran:
        print("No kernels could be chosen, so nothing was tested.")
    return 1 if failed or not ran else 0


if __name__ == "__main__":
    sys.exit(main())
