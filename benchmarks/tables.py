"""Is a table read as it was meant, whatever it is stored in? The cases ``tables_*``."""

from __future__ import annotations

import csv
import io
import json
import os
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd

import paper_data
from benchmarks.relations import numbers, recoded, stored
from leftout import TableEncoder, audit
from leftout.data.cleaning import clean_all
from leftout.data.columns import columns_of
from leftout.data.profiling.column_types import infer_column_types
from leftout.datasets import load_demo
from leftout.running import collected_warnings

ROOT = Path(__file__).resolve().parents[1]
# The last commit before kinds of columns were judged.
BEFORE = "220fd29"


def targets():
    """The same audit with a target named, dropped, and not there."""
    tables = {
        "students": (stored("students_dropout"), "Target", None),
        "adult, 5,000 rows": (stored("adult"), "income", 5_000),
        "adult": (stored("adult"), "income", None),
        "demo": (load_demo(), "approve", None),
    }
    for name, (table, target, sample) in tables.items():
        few = {"group_size": 0.1, "n_surrogates": 0, "n_restarts": 0, "sample": sample}
        found = [
            audit(table, target=target, **few),
            audit(table, drop=[target], **few),
            audit(table.drop(columns=target), **few),
        ]
        groups = [(one.intake.rows, one.partition.labels_) for one in found]
        same = [
            all(np.array_equal(a, b) for a, b in zip(groups[0], other, strict=True))
            for other in groups[1:]
        ]
        yield (
            f"{name}: the group with a target named, against the target dropped, and not there",
            "identical labels",
            f"identical: {same[0]}, {same[1]} ({found[0].partition.sizes_[1]:,} of "
            f"{len(groups[0][0]):,} rows)",
            all(same),
        )


def kinds_of(table):
    return {kind.column: kind for kind in infer_column_types(clean_all(columns_of(table)))}


def silently(found, columns):
    """Those of some codes that are taken for plain numbers."""
    return [column for column in columns if found[column].kind == "number"]


def kinds():
    """What columns are, against the documentation of six tables; and codes among numbers."""
    import test_column_types

    lines = [
        (line, *found)
        for name in test_column_types.TABLES
        for line, found in test_column_types.labelled(name)
    ]
    right = [line for line, *found in lines if {k.kind for k in found} == {line["kind"]}]
    wrong = [line["column"] for line, *_ in lines if line not in right]
    share = len(right) / len(lines)
    yield (
        f"kinds of the columns of {len(test_column_types.TABLES)} tables, by tests/kinds.csv",
        "95% right",
        f"{100 * share:.1f} % ({len(right)} of {len(lines)}; not: {', '.join(wrong)})",
        share >= 0.95,
    )
    codes = [(line, kind) for line, kind, *_ in lines if line["kind"] == "code"]
    bad = [line["column"] for line, kind in codes if kind.kind == "number"]
    yield (
        "codes of these tables (occupation, course, nationality, ...) read as numbers without a "
        "word",
        "0",
        f"{len(bad)} of {len(codes)}{': ' * bool(bad)}{', '.join(bad)}",
        not bad,
    )
    yield from numbered()


TEXTS = [
    "occupation", "native-country", "workclass", "education", "marital-status", "relationship",
    "race",
]  # fmt: skip


def numbered():
    """Adult's text columns as numbers: under their names, and under names that say nothing."""
    table, seeds = stored("adult").replace("?", np.nan), 10
    own, bare = [], []
    blank = {column: f"x{place}" for place, column in enumerate(TEXTS)}
    for seed in range(seeds):
        rng = np.random.default_rng(seed)
        coded = table.assign(**{column: recoded(table[column], numbers, rng) for column in TEXTS})
        own += silently(kinds_of(coded), TEXTS)
        bare += silently(kinds_of(coded.rename(columns=blank)), blank.values())
    like = [column for column in own if column in TEXTS[:2]]
    others = sorted(set(own) - set(like))
    yield (
        f"adult's occupation and native-country numbered at random, {seeds} seeds: read as numbers "
        "without a word",
        "0",
        f"{len(like)} of {2 * seeds} (all {len(TEXTS)} text columns: {len(own)} of "
        f"{len(TEXTS) * seeds}{', ' * bool(others)}{', '.join(others)}; called x0, x1, ...: "
        f"{len(bare)})",
        not like,
    )


def gappy(share, seed):
    """Twenty columns of any kind that are missing together, and eight that are not."""
    rng = np.random.default_rng(seed)
    m, gone = 600, rng.random(600) < share
    makers = (
        lambda: rng.normal(size=m),
        lambda: rng.gamma(0.5, size=m),
        lambda: rng.choice(list("abcd"), m, p=[0.7, 0.2, 0.05, 0.05]),
        lambda: rng.choice(["no", "yes"], m, p=[0.9, 0.1]),
        lambda: rng.integers(0, 40, m),
    )
    cells = {f"c{j}": pd.Series(makers[j % len(makers)]()) for j in range(28)}
    table = pd.DataFrame(cells)
    for column in list(table)[:20]:
        table[column] = table[column].mask(gone)
    return table


def flags():
    """The variance of a flag against that of the columns it speaks for."""
    shares, seeds = (0.05, 0.1, 0.2, 0.4, 0.6), 10
    least, most, alone, counts = [], [], [], set()
    for share in shares:
        for seed in range(seeds):
            table = gappy(share, seed)
            encoder = TableEncoder().set_output(transform="pandas")
            spread = encoder.fit_transform(table).var(ddof=0)
            names = {flag.name for flag in encoder.missing_indicators_}
            counts.add(len(names))
            of = pd.Series(encoder.sources_, index=spread.index)
            flag = spread[list(names)].sum()
            each = spread.drop(list(names)).groupby(of).sum()[list(table)[:20]]
            least.append(flag / each.min())
            most.append(flag / each.max())
            gaps = 20 * table["c0"].isna().var(ddof=0)
            alone.append(gaps / (gaps + spread.drop(list(names)).sum()))
    yield (
        f"20 columns missing together (numbers, categories, yes or no; gaps of 5 to 60%, "
        f"{len(least)} tables): variance of their flags against that of one column",
        "at most 1 x",
        f"{max(most):.2f} x the largest, {max(least):.2f} x the smallest at most ({max(counts)} "
        f"flag; a flag each would hold {100 * max(alone):.0f}% of the table's variance)",
        max(least) <= 1.0 + 1e-9 and counts == {1},
    )


def formats():
    """One table in many files."""
    import test_reading

    want, same = test_reading.labels_of(test_reading.MIXED), []
    with tempfile.TemporaryDirectory() as folder, collected_warnings():
        for kind, content in test_reading.FILES.items():
            path = test_reading.written(Path(folder), *content)
            found = test_reading.labels_of(test_reading.read_table(path))
            same.append((kind, np.array_equal(found, want)))
    off = [kind for kind, good in same if not good]
    yield (
        "the same table in files of many kinds (text of several encodings and separators, Parquet, "
        "Feather, Excel)",
        "the same labels from 10 or more",
        f"{len(same) - len(off)} of {len(same)}{': not ' * bool(off)}{', '.join(off)}",
        not off and len(same) >= 10,
    )


def living():
    """A group that a code describes, and a column with 999 for nothing."""
    rng, m = np.random.default_rng(3), 240
    table = pd.DataFrame(rng.normal(size=(m, 2)), columns=["a", "b"])
    table["occ"] = np.repeat([1, 2, 3], [100, 100, 40])
    table["rev"] = np.where(rng.random(m) < 0.1, 999, rng.integers(0, 4, m))
    book = [
        ("column", "kind", "label", "values"),
        ("occ", "code", "way of living", "1=own; 2=rent; 3=tent"),
        ("rev", "number", "reviews", ""),
    ]
    return table, book


def dictionary():
    """A dictionary and a declared sentinel, on the command line."""
    table, book = living()
    with tempfile.TemporaryDirectory() as folder:
        at = Path(folder)
        table.to_csv(at / "t.csv", index=False)
        with open(at / "book.csv", "w", newline="") as file:
            csv.writer(file).writerows(book)
        said = subprocess.run(
            [
                sys.executable, "-m", "leftout", "audit", "t.csv", "--dictionary", "book.csv",
                "--missing", "rev=999", "--surrogates", "19", "--restarts", "2",
                "--components", "1", "--size", "40", "--out", "out", "--quiet",
            ],
            check=True, cwd=at, capture_output=True, text=True,
            env=os.environ | {"COLUMNS": "200"},
        ).stdout  # fmt: skip
        data = json.loads((at / "out" / "audit.json").read_text())
        page = (at / "out" / "report.html").read_text()
    told = data["groups"][0]["explanation"]
    places = {
        "sentence": told["sentence"]["text"],
        "rules": "; ".join(rule["text"] for rule in told["rules"]),
        "report": page,
        "terminal": said,
    }
    has = {name: "way of living = tent" in text for name, text in places.items()}
    raw = [name for name, text in places.items() if "occ = " in text]
    cells = int((table["rev"] == 999).sum())
    gaps = next(line["missing"] for line in data["columns"] if line["name"] == "rev")
    noted = [name for name in ("report", "terminal") if f"{cells} cells" in places[name]]
    yield (
        "labels of a dictionary and of its values, in sentence, rules, report and terminal",
        "4 of 4; no code in their stead",
        f"{sum(has.values())} of 4; codes in {len(raw)}",
        all(has.values()) and not raw,
    )
    yield (
        f"a declared sentinel ({cells} cells of 999)",
        "counts as missing, and report and terminal say so",
        f"{gaps} cells missing; said in {' and '.join(noted) or 'neither'}",
        gaps == cells and len(noted) == 2,
    )


def random_tables():
    """Any table: encoded, or refused in words (``make tables`` draws 10,000)."""
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "tests/test_table_encoder.py", "-k", "any_table"],
        cwd=ROOT, env=os.environ | {"LEFTOUT_TABLES": "500"}, capture_output=True, text=True,
    )  # fmt: skip
    yield (
        "500 random tables through the encoder",
        "numbers from 0 to 1, or a refusal",
        "all" if done.returncode == 0 else done.stdout.strip().splitlines()[-1],
        done.returncode == 0,
    )


# Each reads, works, and prints its CPU time, whenever it is asked to; once before, for what is only
# loaded once.
_LOOP = """
import sys, time, warnings
warnings.simplefilter("ignore")
path = sys.argv[1]
{work}
work()
print("ready", flush=True)
for line in sys.stdin:
    start = time.process_time()
    work()
    print(time.process_time() - start, flush=True)
"""
_OLD = """
import pandas as pd
from leftout import TableEncoder
def work():
    table = pd.read_csv(path)
    TableEncoder().fit_transform(table.drop(columns="income"))
"""
_ROLES = """
from leftout.data.columns import names_of
from leftout.data.column_reader import ColumnDeclarations
from leftout.data.sources import Source
from leftout.data.profiling.relations import copies
from leftout.data.profiling.relations import leaks, proxies
from leftout.data.profiling.sentinels import suspects
def work():
    table = Source.of(path).table
    declared = ColumnDeclarations.of(names_of(table))
    columns, kinds = declared.columns_and_types(declared.columns(table))
    by = {column.name: column for column in columns}
    hidden = [by.pop("sex"), by.pop("race")]
    target, rest = by.pop("income"), list(by.values())
    leaks(rest, target), copies(rest), proxies(rest, hidden)
    [suspects(column) for column in rest]
"""
_WHOLE = """
import numpy as np
from leftout.data.preparation import prepare_table
from leftout.data.sources import Source
from leftout.settings import Reading
def work():
    reading = Reading(target="income", sensitive=["sex", "race"])
    prepare_table(Source.of(path), reading, rng=np.random.default_rng(0))
"""


def started(work, src):
    running = subprocess.Popen(
        [sys.executable, "-c", _LOOP.format(work=work), str(paper_data.FOLDER / "adult.csv.gz")],
        env=os.environ | {"PYTHONPATH": str(src), "OPENBLAS_NUM_THREADS": "1"},
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert running.stdout.readline() == "ready\n"
    return running


def asked(running):
    print(file=running.stdin, flush=True)
    return float(running.stdout.readline())


def speed():
    """CPU time, the best of some turns, by turns with the code of before."""
    git = subprocess.run(
        ["git", "archive", BEFORE, "src"], cwd=ROOT, capture_output=True, check=False
    )
    if git.returncode:
        print(f"skip time to read adult: there is no commit {BEFORE} to compare with", flush=True)
        return
    turns = 5
    with tempfile.TemporaryDirectory() as folder:
        with tarfile.open(fileobj=io.BytesIO(git.stdout)) as archive:
            archive.extractall(folder, filter="data")
        works = [(_OLD, Path(folder) / "src"), (_ROLES, ROOT / "src"), (_WHOLE, ROOT / "src")]
        running = [started(work, src) for work, src in works]
        times = np.array([[asked(one) for one in running] for _ in range(turns)])
        for one in running:
            one.communicate()
    old, roles, whole = times.min(axis=0)
    for what, now in (
        ("reading adult and judging its columns (kinds, leaks, copies, proxies, sentinels)", roles),
        ("the same with encoding (take_in)", whole),
    ):
        yield (
            f"{what}, against read_csv and the TableEncoder of {BEFORE}, CPU time",
            "at most 1.0 x",
            f"{now / old:.2f} x ({now:.2f} s against {old:.2f} s, best of {turns})",
            now <= old,
        )
