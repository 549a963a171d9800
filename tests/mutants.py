"""Mistakes in what people read, each of which must fail a test: ``make test-mutants``.

A copy of the package gets one mistake of ``mutants.txt`` after the other (group and rest swapped, a
condition flipped, a unit wrong, the target leaked), and the tests named there are run on the copy.
A mistake that no test notices, or whose place is no longer in the sources, ends this with exit code
1. Words on the command line choose the mistakes whose file or text has one of them.
"""

from __future__ import annotations

import importlib
import os
import shutil
import sys
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
# Always the same place: kernels are compiled again where their files have another.
CACHE = Path(os.environ.get("NUMBA_CACHE_DIR", ROOT / ".numba")) / "mutants"
PACKAGE, LOG = CACHE / "leftout", CACHE / "log.txt"
# What takes long to import is imported once, and each run of tests is forked from that.
HEAVY = (
    "pandas", "scipy.stats", "sklearn.preprocessing", "numba", "matplotlib.figure", "rich.console",
    "jinja2", "click.testing", "pytest",
)  # fmt: skip
SURVIVED, KILLED, GONE = "SURVIVED", "killed", "no longer applies"


class Mutant(NamedTuple):
    """A mistake: where, what stands there, what stands there instead, and who must notice."""

    file: str
    old: str
    new: str
    test: str
    only: str = ""  # words that choose among its tests


def mutants():
    """Those of the list beside this file."""
    where, old = [], ""
    for line in Path(__file__).with_suffix(".txt").read_text(encoding="utf-8").splitlines():
        mark, text = line[:2], line[2:]
        if mark == "@ ":
            where = text.split(" | ")
        elif mark == "- ":
            old = text
        elif mark == "+ ":
            yield Mutant(where[0], old, text, *where[1:])


def tested(test, only=""):
    """The exit code of a test file, or of some of its tests, on the copy."""
    child = os.fork()
    if child == 0:
        import pytest

        with LOG.open("w") as log:
            os.dup2(log.fileno(), 1)
            os.dup2(log.fileno(), 2)
        chosen = ["-k", only] if only else []
        options = ["-x", "-q", "--assert=plain", "-p", "no:cacheprovider", "--no-header"]
        os._exit(int(pytest.main([*options, f"tests/test_{test}.py", *chosen])))
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def verdict(mutant, stamp):
    """One mistake tried: what became of it."""
    file = PACKAGE / mutant.file
    right = file.read_text(encoding="utf-8")
    if mutant.old not in right:
        return GONE
    try:
        file.write_text(right.replace(mutant.old, mutant.new, 1), encoding="utf-8")
        os.utime(file, (stamp, stamp))  # compiled code is told from older by whole seconds
        code = tested(mutant.test, mutant.only)
    finally:
        file.write_text(right, encoding="utf-8")
        os.utime(file, (stamp + 1, stamp + 1))
    return {0: SURVIVED, 1: KILLED}.get(code, f"not tried: pytest ended with {code}")


def right_without(chosen):
    """Whether the tests pass where there is no mistake."""
    for test in sorted({mutant.test for mutant in chosen}):
        words = {mutant.only for mutant in chosen if mutant.test == test}
        if tested(test, "" if "" in words else " or ".join(sorted(words))):
            print(LOG.read_text(), f"test_{test}.py fails without a mistake.", sep="\n")
            return False
    return True


def main():
    os.chdir(ROOT)
    os.environ |= {
        "OPENBLAS_NUM_THREADS": "1", "NUMBA_CACHE_DIR": str(CACHE), "SCIPY_ARRAY_API": "1",
    }  # fmt: skip
    sys.path.insert(0, str(CACHE))
    shutil.rmtree(PACKAGE, ignore_errors=True)
    shutil.copytree(ROOT / "src" / "leftout", PACKAGE, ignore=shutil.ignore_patterns("__pycache__"))
    for name in HEAVY:
        importlib.import_module(name)
    words = sys.argv[1:]
    chosen = [m for m in mutants() if not words or any(w in m.file or w in m.old for w in words)]
    if not right_without(chosen):
        return 1
    became = []
    for place, mutant in enumerate(chosen):
        became.append(verdict(mutant, 1_000_000_000 + 2 * place))
        print(f"{became[-1]}: {mutant.file}: {mutant.old!r} -> {mutant.new!r}", flush=True)
    print(f"\n{became.count(KILLED)} of {len(became)} mistakes were noticed.")
    return 0 if became and set(became) == {KILLED} else 1


if __name__ == "__main__":
    sys.exit(main())
