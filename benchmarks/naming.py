"""Groups with a name: exact, fast, telling, and no more certain than they should be."""

from __future__ import annotations

import time
import warnings
from itertools import combinations, product
from pathlib import Path

import numpy as np
import pandas as pd

import naive
import paper_data
import test_given
import test_subgroups
from benchmarks.audit import cpu_seconds
from leftout import MaxDisparityPartition, TableEncoder, audit, datasets, named_groups
from leftout.data.preparation import prepare_table
from leftout.data.sources import Source
from leftout.evidence.subgroup_null import SubgroupNullTest
from leftout.evidence.surrogates import SurrogateTables
from leftout.running import Steps, one_thread
from leftout.settings import Reading

FILES = {
    "students": ("students_dropout.csv.gz", "Target"),
    "adult": ("adult.csv.gz", "income"),
    "diabetes": ("diabetes_health_indicators.csv.gz", "Diabetes_binary"),
    "credit": ("credit_default.csv.gz", "default payment next month"),
}


def taken_in(name):
    if name == "demo":
        given = {"target": "approve", "dictionary": datasets.demo_dictionary()}
        source = Source.of(datasets.load_demo())
    else:
        file, target = FILES[name]
        given, source = {"target": target}, Source.of(str(paper_data.FOLDER / file))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        intake = prepare_table(source, Reading(**given), rng=np.random.default_rng(0))
    return intake.X, intake.telling


def exact():
    """The top 20 names of random mixed tables, each weighed from scratch."""
    tables, same = 50, 0
    for seed in range(tables):
        table, X = test_subgroups.mixed(1000 + seed)
        found = named_groups(X, table, n_components=3, distinct=False, min_group_size=20)
        columns = test_subgroups.by_column(found, table)
        want = naive.named(X, columns, 3, 20)[: len(found)]
        close = [
            abs(group.worth - worth) <= 1e-9 * worth
            for group, (worth, _) in zip(found, want, strict=True)
        ]
        rows = [
            any((group.mask == rows).all() for w, rows in want if abs(w - group.worth) < 1e-8 * w)
            for group in found
        ]
        same += all(close) and all(rows) and len(found) == 20
    yield (
        f"top 20 names of up to two conditions, {tables} random mixed tables",
        "identical to brute force",
        f"{same} of {tables}",
        same == tables,
    )


def beside():
    """A planted tenth in features, named in the words of a table that says who people are."""
    tables, named = 20, 0
    for seed in range(100, 100 + tables):
        E, table, _ = test_given.described(seed)
        named += test_given.names_it(audit(table, features=E, quick=True))
    yield (
        f"{tables} planted tenths in rotated features, beside a table of 6 columns that name them",
        "named first in 19",
        f"{named}",
        named >= 19,
    )


def brute(X, columns, found):
    """Every name weighed on its own: moments of its rows and of the others, two decompositions."""
    search = MaxDisparityPartition(found.n_components)._build_problem(X).problem
    axes, values = np.linalg.eigh(search.pooled.second[0])[::-1]
    Z, d = search.rows() @ axes[:, ::-1], found.n_components
    whole = np.diag(values[::-1])
    m, names = len(X), []

    def total(S):
        return np.linalg.eigvalsh(S)[-d:].sum() - np.trace(S[:d, :d])

    for length in (1, 2):
        for chosen in combinations(columns, length):
            for masks in product(*chosen):
                rows = np.logical_and.reduce(masks)
                k = int(rows.sum())
                if found.smallest <= k <= m - found.smallest:
                    G = Z[rows]
                    S = G.T @ G
                    gap = total(S) / k - total(whole - S) / (m - k)
                    names.append((np.sqrt(k) * gap, rows))
    return sorted(names, key=lambda name: -name[0])


def speed():
    """The same list on all of students, against every candidate weighed on its own."""
    X, columns = taken_in("students")
    with one_thread():
        named_groups(X[:200], [c.take(np.arange(200)) for c in columns], depth=2, top=2)  # compile
        seconds = {}
        for distinct in (False, True):
            began = time.process_time()
            found = named_groups(X, columns, distinct=distinct)
            seconds[distinct] = time.process_time() - began
            if not distinct:
                plain = found
        by_name = {column.name: column for column in columns}
        masks = {}
        for c in plain.conditions:
            masks.setdefault(c.column, []).append(c.holds(by_name[c.column]))
        began = time.process_time()
        want = brute(X, list(masks.values()), plain)
        slow = time.process_time() - began
    seen, first = set(), []
    for worth, rows in want:
        if rows.tobytes() not in seen:
            seen.add(rows.tobytes())
            first.append(worth)
    same = np.allclose([g.worth for g in plain], first[:20], rtol=1e-9)
    yield (
        f"students {X.shape[0]:,} x {X.shape[1]}, {plain.names:,} names, top 20",
        "the same list, at least 4 x faster than every candidate weighed (CPU)",
        f"{'the same' if same else 'ANOTHER'} list, {slow / seconds[False]:.1f} x "
        f"({seconds[False]:.1f} s, all figures of each line included; the distinct list "
        f"{slow / seconds[True]:.1f} x)",
        same and slow >= 4 * seconds[False],
    )


def cover():
    """How much of the worst-represented tenth six names cover, and how the lists begin."""
    for name, target in (
        ("students", 0.7), ("adult", 0.7), ("diabetes", 0.7), ("demo", 0.7), ("credit", 0.0),
    ):  # fmt: skip
        found = named_groups(*taken_in(name), top=6, n_jobs=-1)
        yield (
            f"{name}: six names against the worst-represented tenth",
            f"{100 * target:.0f}%" if target else "(said)",
            f"{100 * found.covers:.0f}%; first: "
            + "; ".join(f"{g.condition} ({g.size:,})" for g in found.groups[:3]),
            found.covers >= target,
        )
        if name == "students":
            first = found[0].condition
            yield "students: the list begins with", "International", first, "International" in first
        if name == "demo":
            three = " ".join(g.condition for g in found.groups[:3])
            yield (
                "mortgages: mortgage history or unverified information within the first three",
                "yes",
                three,
                "mortgage" in three or "verified" in three,
            )


def planted():
    """Hidden conjunctions of two conditions."""
    for share in (0.05, 0.1):
        hits, tables = 0, 50
        for seed in range(tables):
            table, group = test_subgroups.planted(seed, share)
            found = named_groups(TableEncoder().fit_transform(table), table, top=1)
            hits += found[0].condition == "kind = rare and town = small"
            assert not len(found) or (found[0].mask == group).all() or hits <= seed
        yield (
            f"a planted conjunction of {100 * share:.0f}%, 30 mixed columns, {tables} tables: "
            "named exactly, first",
            "90%",
            f"{100 * hits / tables:.0f}%",
            hits >= 0.9 * tables,
        )


def gaussian(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(300, 3)) @ rng.normal(size=(3, 8)) + rng.normal(size=(300, 8))
    return X, pd.DataFrame(X).add_prefix("x")


def values(seed):
    """Columns of several kinds that follow one gaussian: nothing but values and correlations."""
    rng = np.random.default_rng(seed)
    Z, _ = gaussian(seed)
    Z = (Z - Z.mean(axis=0)) / Z.std(axis=0)
    table = pd.DataFrame({
        "rare": np.where(Z[:, 0] > 1.4, "yes", "no"),
        "half": np.where(Z[:, 1] > 0.0, "yes", "no"),
        "skewed": np.exp(Z[:, 2]),
        "count": np.floor(np.exp(0.7 * Z[:, 3])),
        "plain": Z[:, 4],
        "uneven": np.where(Z[:, 5] > 1.0, "b", "a"),
        "scale": np.digitize(Z[:, 6], [-1.5, -0.5, 0.7, 1.5]).astype(float),
        "also": Z[:, 7] + 0.2 * rng.normal(size=300),
    })  # fmt: skip
    return TableEncoder().fit_transform(table), table


def p_values():
    """Tables that are no more than their comparison tables: how often is a name called more?"""
    for kind, make, what in (
        ("gaussian", gaussian, "gaussian tables, against gaussian ones (covariance step)"),
        ("copula", values, "mixed tables, against ones with the same values (values step)"),
    ):
        tables, alarms = 200, 0
        for seed in range(tables):
            X, table = make(seed)
            X = np.asarray(X, dtype=float)
            found = named_groups(X, table, n_components=3, top=6)
            work = SubgroupNullTest.of(X, found)
            rng = np.random.default_rng(10_000 + seed)
            _, p = work.explained(SurrogateTables(X, None), kind, rng, 19, 2, Steps(19, None))
            alarms += p.min() <= 0.05
        limit = 0.05 + 2 * np.sqrt(0.05 * 0.95 / tables)
        yield (
            f"some name beyond, p <= 0.05: {tables} {what}",
            f"at most {100 * limit:.1f}%",
            f"{100 * alarms / tables:.1f}%",
            alarms <= limit * tables,
        )


def command():
    """The command's time on larger tables, against students."""
    seconds = {}
    for name in ("students", "adult", "diabetes"):
        path = Path(paper_data.FOLDER) / FILES[name][0]
        asked = ("groups", path, "--quiet", "--target", FILES[name][1])
        seconds[name] = min(cpu_seconds(*asked) for _ in range(2))
    for name, most in (("adult", 3), ("diabetes", 10)):
        ratio = seconds[name] / seconds["students"]
        yield (
            f"leftout groups on {name}, against students",
            f"at most {most} x",
            f"{ratio:.1f} x ({seconds[name]:.1f} s against {seconds['students']:.1f} s)",
            ratio <= most,
        )
