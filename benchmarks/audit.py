"""Does the whole audit run, again and alike, and in time? The cases ``audit_*``."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd

import leftout
from leftout import datasets

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))

import paper_data  # noqa: E402

# Each with the CPU seconds that a whole audit may take.
TABLES = {
    "students": (60, "students_dropout.csv.gz", "--target", "Target=Graduate"),
    "diabetes, all 253,680 rows": (
        60, "diabetes_health_indicators.csv.gz", "--target", "Diabetes_binary",
    ),
    "credit": (
        60, "credit_default.csv.gz", "--target", "default payment next month", "--categorical",
        "SEX,EDUCATION,MARRIAGE",
    ),
    "adult (text, ?)": (60, "adult.csv.gz", "--target", "income=>50K", "--sensitive", "sex,race"),
    "faces (960 columns)": (
        60, "cmu_faces_32x30.csv.gz", "--drop", "userid", "--sensitive", "pose,expression,eyes",
    ),
}  # fmt: skip


def cpu_seconds(*arguments, **environment):
    """CPU seconds of the command line, from the start of the process to its end."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        [sys.executable, "-m", "leftout", *map(str, arguments)],
        check=True,
        stdout=subprocess.DEVNULL,
        env={**os.environ, **environment},
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def run(folder, table, *options):
    """CPU seconds, and what was written."""
    seconds = cpu_seconds("audit", table, *options, "--out", folder, "--quiet")
    return seconds, json.loads((folder / "audit.json").read_text())


def compile_kernels(folder):
    few = ("--sample", "300", "--surrogates", "1", "--restarts", "2", "--target", "Target")
    run(folder / "compiled", paper_data.FOLDER / TABLES["students"][1], *few)


def audits():
    """Whole audits with defaults, in CPU seconds with compiled kernels."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        compile_kernels(folder)
        seconds = cpu_seconds("demo", "--out", folder / "demo", "--quiet")
        yield "leftout demo, whole", "at most 15 CPU s", f"{seconds:.1f} s", seconds <= 15.0
        text_heavy(10_000).to_csv(folder / "text.csv", index=False)
        tables = {
            "10,000 rows, five columns of 500 to 3,000 words, leaks, copies": (
                60, folder / "text.csv", "--target", "outcome",
            ),
        }  # fmt: skip
        for what, (most, file, *options) in (TABLES | tables).items():
            out = folder / what.split()[0].strip(",")
            seconds, data = run(out, paper_data.FOLDER / file, *options)
            page = (out / "report.html").stat().st_size
            yield (
                f"leftout audit, {what}",
                f"at most {most} CPU s, a report under 1.5 MB",
                f"{seconds:.1f} s, report of {page / 1e3:.0f} kB",
                seconds <= most and page < 1_500_000,
            )


def text_heavy(m):
    """A table of long categories, a copy of a column, and a column that gives the target away."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.standard_normal((m, 8)) @ rng.standard_normal((8, 8)))
    table = table.add_prefix("number_")
    for levels in (500, 800, 1_200, 2_000, 3_000):
        words = np.array([f"word {place} of {levels}" for place in range(levels)])
        table[f"text_{levels}"] = words[(levels * rng.random(m) ** 2).astype(int)]
    outcome = table["number_0"] + rng.standard_normal(m) > 0
    table["copy"] = table["text_500"]
    table["scaled"] = 3.0 * table["number_1"] + 1.0
    table["decision"] = np.where(outcome, "granted", "refused")
    table["outcome"] = np.where(outcome, "yes", "no")
    return table


def growth():
    """How the time of a whole audit grows with rows, and with columns."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        compile_kernels(folder)
        table = pd.read_csv(paper_data.FOLDER / "adult.csv.gz")
        seconds = []
        for m in (3_000, 12_000, len(table)):
            path = folder / f"adult_{m}.csv"
            table.sample(m, random_state=0).to_csv(path, index=False)
            seconds.append(run(folder / "out", path, "--target", "income=>50K")[0])
        times = " / ".join(f"{each:.1f}" for each in seconds)
        yield (
            "whole audit of 3,000, 12,000 and 48,842 rows of adult",
            "below x 2.2 from first to last",
            f"{times} CPU s: x {seconds[2] / seconds[0]:.2f}",
            seconds[2] < 2.2 * seconds[0],
        )
        seconds = []
        for n in (20, 80, 320):
            X, _ = datasets.make_planted(2_000, n, 5, 200, random_state=0)
            path = folder / f"planted_{n}.csv"
            pd.DataFrame(X).add_prefix("x").to_csv(path, index=False)
            seconds.append(run(folder / "out", path)[0])
        times = " / ".join(f"{each:.1f}" for each in seconds)
        yield (
            "whole audit of 2,000 rows of 20, 80 and 320 columns",
            "at most quadratic: x 256 from first to last",
            f"{times} CPU s: x {seconds[2] / seconds[0]:.1f}",
            seconds[2] < 256 * seconds[0],
        )


def where_the_time_goes():
    """CPU seconds of each stage of a whole audit, here, with compiled kernels."""
    for what, (_, file, *options) in TABLES.items():
        given = dict(zip(options[::2], options[1::2], strict=True))
        target, _, positive = given.get("--target", "").partition("=")
        named = ("categorical", "sensitive", "drop")
        lists = {name: given[f"--{name}"].split(",") for name in named if f"--{name}" in given}
        spent, last = {}, ["", time.process_time()]

        def recorded(text, done, total, spent=spent, last=last):
            stage, now = last[0], time.process_time()
            spent[stage] = spent.get(stage, 0.0) + now - last[1]
            last[:] = text.split(":")[0], now

        leftout.audit(
            paper_data.FOLDER / file, target=target or None, positive=positive or None,
            progress=recorded, **lists,
        )  # fmt: skip
        each = "; ".join(f"{stage} {seconds:.1f}" for stage, seconds in spent.items() if stage)
        yield f"where the time goes, {what}", "-", f"{each} CPU s", True


def start_up():
    """Quick audits from the start of the process to its end, in CPU seconds."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.standard_normal((344, 7))).add_prefix("number_")
    for place in range(9):
        table[f"category_{place}"] = rng.choice(list("abcd"), 344)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        table.to_csv(folder / "small.csv", index=False)
        quick = ("audit", folder / "small.csv", "--out", folder / "out", "--quick")
        cpu_seconds(*quick)
        seconds = min(cpu_seconds(*quick) for _ in range(3))
        yield (
            "leftout audit --quick of 344 x 16, warm, best of three",
            "at most 3.5 CPU s",
            f"{seconds:.1f} s",
            seconds <= 3.5,
        )
        demo = ("demo", "--quick", "--out", folder / "demo", "--quiet")
        cold = cpu_seconds(*demo, NUMBA_CACHE_DIR=str(folder / "cache"))
        warm = cpu_seconds(*demo, NUMBA_CACHE_DIR=str(folder / "cache"))
        yield (
            "leftout demo --quick with an empty cache of kernels",
            "at most 20 CPU s, and 15 more than the second time",
            f"{cold:.1f} s, then {warm:.1f}",
            cold <= 20.0 and cold - warm <= 15.0,
        )


def repeated():
    """The same command twice, and on one thread and two."""
    _, file, *options = TABLES["students"]
    few = ["--sample", "1000", "--surrogates", "19", "--restarts", "5"]
    with tempfile.TemporaryDirectory() as folder:
        found = [
            run(Path(folder) / "out", paper_data.FOLDER / file, *options, *few, "--jobs", jobs)[1]
            for jobs in ("2", "2", "1")
        ]
    for data in found:
        data.pop("created")
    yield (
        "the same audit twice, and with --jobs 1 and 2",
        "identical audit.json but for time stamps",
        f"identical: {found[0] == found[1]}, {found[0] == found[2]}",
        found[0] == found[1] == found[2],
    )


def light():
    start = time.perf_counter()
    for _ in range(5):
        subprocess.run(
            [sys.executable, "-m", "leftout", "audit", "--help"], check=True,
            stdout=subprocess.DEVNULL,
        )  # fmt: skip
    each = (time.perf_counter() - start) / 5
    start = time.perf_counter()
    for _ in range(5):
        subprocess.run([sys.executable, "-c", "import click"], check=True)
    bare = (time.perf_counter() - start) / 5
    yield (
        "leftout audit --help, against Python with click",
        "loads no heavy library (at most 3 x)",
        f"{each / bare:.1f} x ({each:.2f} s)",
        each <= 3 * bare,
    )
