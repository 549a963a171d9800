"""Is the evidence right? False alarms, power, sizes, agreement, time: the cases ``trust_*``."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import replace

import numpy as np
from joblib import Parallel, delayed

import paper_data
from benchmarks.kinds import ROWS, D, dummies, gaussian, mixed, planted
from leftout import MaxDisparityPartition, datasets, how_many, trust
from leftout.evidence.n_groups import count_groups
from leftout.evidence.refit import SearchTask
from leftout.evidence.surrogates import Copula, correlations
from leftout.groups.sizes import fewest, spaced_sizes
from leftout.running import Steps, one_thread

SIZES, SURROGATES = 6, 39


def overall_p(make, seed):
    search = MaxDisparityPartition(D, random_state=seed)
    return first_p(SearchTask.of(search, make(seed)))


def first_p(task):
    """Over all sizes, of the first group."""
    grid = spaced_sizes(SIZES, fewest(ROWS, D), ROWS)
    steps = Steps(SURROGATES, None)
    with one_thread():
        return count_groups(task, grid, SURROGATES, 1, steps).looked[0].p_value


def many(function, *tasks):
    return Parallel(n_jobs=2)(delayed(function)(*task) for task in zip(*tasks, strict=True))


def false_alarms():
    """Tables without a subgroup."""
    for name, make, count in (
        ("gaussian", gaussian, 200),
        ("mixed", mixed, 200),
        ("dummy", dummies, 100),
    ):
        p = np.array(many(overall_p, [make] * count, range(count)))
        rate = np.mean(p <= 0.05)
        limit = 0.05 + 2 * np.sqrt(0.05 * 0.95 / count)
        yield (
            f"false alarms at 5% on {count} {name} tables, {ROWS} rows, {SIZES} sizes, "
            f"{SURROGATES} copula surrogates",
            f"at most {100 * limit:.1f}%",
            f"{100 * rate:.1f} % (mean p {p.mean():.2f})",
            rate <= limit,
        )


def power():
    """A planted group."""
    p = np.array(many(overall_p, [planted] * 50, range(50)))
    rate = np.mean(p <= 0.05)
    yield (
        "power on 50 planted tables of that size, 60 rows, strength 1.0",
        "at least 95%",
        f"{100 * rate:.0f}%",
        rate >= 0.95,
    )


def often(how, rows, rng):
    """How often each row of a table of ``rows`` rows occurs."""
    if how == "each row 2 to 4 times":
        counts = rng.integers(2, 5, rows)
        return counts[: np.searchsorted(np.cumsum(counts), rows) + 1]
    counts = np.ones(3 * rows // 4, dtype=int)
    counts[rng.choice(len(counts), rows - len(counts), replace=False)] = 2
    return counts


def repeated_p(make, how, seed, copies=True):
    """With ``copies`` False: as if nobody had noticed that rows repeat."""
    rng = np.random.default_rng(seed)
    counts = often(how, ROWS, rng)
    X = np.repeat(make(seed)[: len(counts)], counts, axis=0)[rng.permutation(counts.sum())]
    task = SearchTask.of(MaxDisparityPartition(D, random_state=seed), X)
    if not copies:
        task = replace(task, repeats=replace(task.repeats, beyond_chance=False))
    return first_p(task)


def repeated_rows():
    """Copied rows: alarms without a subgroup, and a planted one."""
    count = 40
    limit = 0.05 + 2 * np.sqrt(0.05 * 0.95 / count)
    for how in ("each row 2 to 4 times", "a third of them twice"):
        for name, make in (("gaussian", gaussian), ("mixed", mixed), ("planted", planted)):
            seeds = range(count)
            rates = []
            for copies in (True, False):
                tasks = ([make] * count, [how] * count, seeds, [copies] * count)
                rates.append(np.mean(np.array(many(repeated_p, *tasks)) <= 0.05))
            good = rates[0] >= 0.95 if make is planted else rates[0] <= limit
            yield (
                f"p at most 5% on {count} {name} tables, {ROWS} rows, {how}, {SIZES} sizes, "
                f"{SURROGATES} copula surrogates",
                "at least 95%" if make is planted else f"at most {100 * limit:.1f}%",
                f"{100 * rates[0]:.1f} % (surrogates without repeated rows: {100 * rates[1]:.1f} "
                "%)",
                good,
            )


def surrogate_correlations():
    """The mean of many surrogates against the table."""
    tables = {name: paper_data.load(name) for name in paper_data.SOURCES}
    tables |= {"a mixed table": mixed(0), "a dummy table": dummies(0)}
    for name, X in tables.items():
        law, target = Copula.of(X), correlations(X)
        drawn = [correlations(law.draw(np.random.default_rng(seed))) for seed in range(100)]
        misses = np.abs(np.mean(drawn, axis=0) - target)
        yield (
            f"correlations of copula surrogates, {name} (mean of 100), largest miss of all pairs",
            "0.03 where the margins allow it",
            f"{misses.max():.3f} (by the gaussian copula alone: {law.miss:.3f})",
            misses.max() <= 0.03,
        )


def evidence(size, strength, seed):
    X, labels = datasets.make_planted(2000, 30, 5, size, strength, random_state=seed)
    search = MaxDisparityPartition(5, random_state=seed)
    size = how_many(search, X, n_surrogates=19, most=1, sizes=15).looked[0].size
    group = search.set_params(group_size=size).fit(X).labels_
    return size, np.sum(group & labels) / np.sum(group | labels)


def evidence_sizes():
    """The size of planted groups."""
    count = 10
    for strength in (0.4, 1.0):
        for size in (150, 400, 800):
            found = np.array(many(evidence, [size] * count, [strength] * count, range(count)))
            near = np.abs(found[:, 0] / size - 1) <= 0.2
            good = found[:, 1] >= 0.85
            yield (
                f"evidence size of {size} planted rows, strength {strength} ({count} tables, "
                "15 sizes, 19 surrogates)",
                "within 20% and Jaccard 0.85 in 90% of the tables",
                f"sizes {found[:, 0].min():.0f} to {found[:, 0].max():.0f}, within 20% in "
                f"{100 * near.mean():.0f}%; Jaccard {found[:, 1].min():.2f} to "
                f"{found[:, 1].max():.2f}, 0.85 in {100 * good.mean():.0f}%",
                near.mean() >= 0.9 and good.mean() >= 0.9,
            )


def real_tables():
    """Searches of the paper's tables from other starts."""
    for name, target in {"students": 0.95, "credit": 0.95, "diabetes": 0.8}.items():
        X, d = paper_data.load(name), paper_data.SOURCES[name].n_components
        search = MaxDisparityPartition(d, random_state=0, n_jobs=2)
        found = trust(search, X, n_surrogates=0, splits=0, parts=0)
        runs, bound = found.stability, found.partition.bound_
        yield (
            f"{name}: mean pairwise Jaccard of {len(runs.labels)} seeds, the worst tenth "
            f"({found.group_size} rows)",
            f"{target}",
            f"{runs.jaccard_mean:.3f} (lowest {runs.jaccard_low:.3f}; disparity "
            f"{found.disparity:.4f}, bound {bound:.4f})",
            runs.jaccard_mean >= target,
        )


def interrupted():
    """``leftout demo`` stopped by Ctrl-C and killed, at several moments."""
    slowest, clean = 0.0, True
    for sent, moments in ((signal.SIGINT, (1.0, 4.0, 8.0, 12.0)), (signal.SIGKILL, (10.0,))):
        for moment in moments:
            with tempfile.TemporaryDirectory() as folder:
                command = [sys.executable, "-m", "leftout", "demo", "--surrogates", "500"]
                running = subprocess.Popen(
                    [*command, "--out", folder], stdout=subprocess.PIPE, stderr=subprocess.PIPE
                )
                time.sleep(moment)
                start = time.perf_counter()
                running.send_signal(sent)
                _, err = running.communicate()
                clean &= not os.listdir(folder)
                if sent == signal.SIGINT:
                    slowest = max(slowest, time.perf_counter() - start)
                    clean &= err.endswith(b"Stopped. Nothing was written.\n")
                    clean &= running.returncode == 130 and b"Traceback" not in err
    yield (
        "Ctrl-C at four moments, kill at one",
        "nothing half-written; stops within 1 s with a clean message",
        f"{'clean' if clean else 'NOT clean'}; slowest stop {slowest:.2f} s",
        clean and slowest <= 1.0,
    )
