"""Does the whole audit run, again and alike, and in time? The cases ``audit_*``."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))

import paper_data  # noqa: E402

TABLES = {
    "students": ("students_dropout.csv.gz", "--target", "Target=Graduate"),
    "diabetes, all 253,680 rows": (
        "diabetes_health_indicators.csv.gz", "--target", "Diabetes_binary",
    ),
    "credit": (
        "credit_default.csv.gz", "--target", "default payment next month", "--categorical",
        "SEX,EDUCATION,MARRIAGE",
    ),
    "adult (text, ?)": ("adult.csv.gz", "--target", "income=>50K", "--sensitive", "sex,race"),
    "faces (960 columns)": (
        "cmu_faces_32x30.csv.gz", "--drop", "userid", "--sensitive", "pose,expression,eyes",
    ),
}  # fmt: skip


def run(folder, file, *options):
    """Seconds, and what was written."""
    command = [sys.executable, "-m", "leftout", "audit", str(paper_data.FOLDER / file), *options]
    start = time.perf_counter()
    subprocess.run(
        [*command, "--out", str(folder), "--quiet"], check=True, stdout=subprocess.DEVNULL
    )
    return time.perf_counter() - start, json.loads((folder / "audit.json").read_text())


def audits():
    seconds = {}
    with tempfile.TemporaryDirectory() as folder:
        few = ("--sample", "300", "--surrogates", "1", "--restarts", "2", "--target", "Target")
        run(Path(folder) / "compiled", TABLES["students"][0], *few)
        for name, (file, *options) in TABLES.items():
            out = Path(folder) / name.split()[0].strip(",")
            seconds[name], data = run(out, file, *options)
            page = (out / "report.html").stat().st_size
            trusted = data["trust"]["rows"], data["trust"]["of_rows"]
            yield (
                f"leftout audit, {name}",
                "finishes with a report under 1.5 MB",
                f"{seconds[name]:.0f} s, report of {page / 1e3:.0f} kB; trust on "
                f"{trusted[0]:,} of {trusted[1]:,} rows",
                page < 1_500_000,
            )
    ratio = seconds["diabetes, all 253,680 rows"] / seconds["students"]
    yield (
        "audit of diabetes in full, against that of the students",
        "at most 3 x its time",
        f"{ratio:.2f} x",
        ratio <= 3.0,
    )


def repeated():
    """The same command twice, and on one thread and two."""
    file, *options = TABLES["students"]
    few = ["--sample", "1000", "--surrogates", "19", "--restarts", "5"]
    with tempfile.TemporaryDirectory() as folder:
        found = [
            run(Path(folder) / "out", file, *options, *few, "--jobs", jobs)[1]
            for jobs in ("2", "2", "1")
        ]
    for data in found:
        data.pop("created")
        for line in data["comparison"]:
            line.pop("seconds")
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
