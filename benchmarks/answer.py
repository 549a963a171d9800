"""Is what an audit answers right? What explains a loss, who comes back, in what time: ``answer_*``.

Cases take a count of tables, so that they can be run small: ``--count``.
"""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import replace
from functools import partial
from typing import NamedTuple
from unittest import mock

import numpy as np
from sklearn.base import clone
from threadpoolctl import threadpool_limits

import paper_data
from benchmarks import kinds
from benchmarks.kinds import ROWS, D
from benchmarks.trust import many
from leftout import MaxDisparityPartition, audit, datasets, trust
from leftout.auditing.presets import settled
from leftout.auditing.stages import STAGE_SHARES, AuditPipeline
from leftout.data.sources import Source
from leftout.engine.run import run
from leftout.evidence import replication
from leftout.evidence.null_test import NullTest
from leftout.evidence.refit import SearchTask
from leftout.evidence.replication import gap_of
from leftout.groups.sizes import worst_tenth
from leftout.running import Stages, Steps
from leftout.settings import Settings

LEVEL = 0.05
# Rows that tell what the law of a table would give.
FRESH = 500_000


class Weighed(NamedTuple):
    """What is kept of an answer."""

    verdict: str | None
    alarm: bool  # of tables with the same values
    p_value: float
    tables: int
    warned: bool  # of heavy tails
    carriers: list[str]


def weighed(make, seed, **options):
    found = trust(
        MaxDisparityPartition(D, random_state=seed), make(seed), n_restarts=0, parts=0, **options
    )
    return Weighed(
        found.verdict,
        found.beyond_chance is True,
        found.p_value,
        found.chance["copula"].surrogates,
        any("heavy tails" in note for note in found.notes),
        [] if found.parts is None else found.parts.values.carriers,
    )


def weigh(make, count, **options):
    """The answers on ``count`` tables of a kind."""
    return many(partial(weighed, **options), [make] * count, range(count))


def shares(answers):
    """Verdicts in per cent, as read."""
    found = Counter(answer.verdict for answer in answers)
    return ", ".join(f"{letter} {100 * found[letter] / len(answers):.0f}" for letter in "ABCD")


def false_alarms(count=200):
    """The step of tables with the same values, on tables that have nothing else."""
    large = max(4, count // 4)
    laws = {name: (kinds.NO_GROUP[name], count) for name in (
        "gaussian", "skewed, discrete and rare binary", "dummies", "lognormal",
        "margins with t 2.5", "every row four times", "400 drawn from 150 rows",
    )}  # fmt: skip
    laws["skewed, discrete and rare binary, 150 rows"] = (partial(kinds.mixed, rows=150), count)
    laws["skewed, discrete and rare binary, 3,000 rows"] = (partial(kinds.mixed, rows=3000), large)
    for name, (make, tables) in laws.items():
        found = weigh(make, tables, splits=0)
        rate = np.mean([answer.alarm for answer in found])
        heavy = name == "margins with t 2.5"
        limit = 0.08 if heavy else LEVEL + 2.0 * np.sqrt(LEVEL * (1 - LEVEL) / tables)
        before = np.mean([answer.p_value <= LEVEL for answer in found])
        warned = np.mean([answer.warned for answer in found])
        yield (
            f"alarms of tables with the same values at 5%, worst tenth, {tables} tables: {name}",
            f"at most {100 * limit:.1f}%" + ", and warned of" * heavy,
            f"{100 * rate:.1f} % ({np.mean([answer.tables for answer in found]):.0f} comparison "
            f"tables on average; before tails are drawn in {100 * before:.1f}%, heavy tails said "
            f"of {100 * warned:.0f}%)",
            rate <= limit and (not heavy or all(a.warned for a in found if a.p_value <= LEVEL)),
        )


def no_group(count=40):
    """Verdict A where there is no group."""
    found = {name: weigh(make, count) for name, make in kinds.NO_GROUP.items()}
    own = sum(answer.verdict == "A" for answers in found.values() for answer in answers)
    total = count * len(found)
    yield (
        f"verdict A on tables without a group, {len(found)} kinds x {count}",
        "at most 1%",
        f"{own} of {total} ({100 * own / total:.1f}%). In per cent: "
        + "; ".join(f"{name} {shares(answers)}" for name, answers in found.items()),
        own <= 0.01 * total,
    )


def explained(count=40):
    """What explains the loss where there is no group."""
    for name, make, letter in (
        ("gaussian", kinds.gaussian, "D"),
        ("skewed", kinds.skewed, "C"),
        ("skewed, discrete and rare binary", kinds.mixed, "C"),
        ("rare binary", kinds.rare_binaries, "C"),
    ):
        found = weigh(make, count)
        rate = np.mean([answer.verdict == letter for answer in found])
        yield (
            f"verdict {letter} on {count} tables without a group: {name}",
            "at least 85%",
            f"{100 * rate:.0f} % (in per cent: {shares(found)})",
            rate >= 0.85,
        )


def planted(count=40):
    """Verdict A where a group was planted."""
    for rows in (400, 2000):
        for share in (0.05, 0.1):
            for strength in (0.5, 1.0):
                make = partial(
                    kinds.planted, rows=rows, size=round(share * rows), strength=strength
                )
                found = weigh(make, count)
                rate = np.mean([answer.verdict == "A" for answer in found])
                yield (
                    f"verdict A on {count} tables of {rows:,} rows with {100 * share:.0f}% "
                    f"planted, strength {strength}",
                    "at least 90%",
                    f"{100 * rate:.0f} % (in per cent: {shares(found)})",
                    rate >= 0.9,
                )


def rare_column(count=50):
    """A column that is one in 3% of the rows, and nothing else about these."""
    found = weigh(kinds.rare_column, count)
    last = f"x{kinds.COLUMNS - 1}"
    right = [answer.verdict == "C" and answer.carriers[:1] == [last] for answer in found]
    named = np.mean([answer.carriers[:1] == [last] for answer in found])
    yield (
        f"a rare binary column (3%): verdict C, and named first, {count} tables",
        "at least 90%",
        f"{100 * np.mean(right):.0f} % (named first in {100 * named:.0f}%; verdicts in per cent: "
        f"{shares(found)})",
        np.mean(right) >= 0.9,
    )


def covered(make, seed):
    """Whether the interval holds what the rules that halves have learned give on fresh rows.

    And how far off the gap is, in standard errors.
    """
    X = make(seed, rows=ROWS + FRESH)
    table, fresh = X[:ROWS], X[ROWS:]
    rules, fit = [], replication.fit_group_rule

    def keep(task, rows, sizes, *how):
        rules.append((sizes[0], fit(task, rows, sizes, *how)))
        return rules[-1][1]

    search = MaxDisparityPartition(D, random_state=seed)
    with mock.patch.object(replication, "fit_group_rule", keep):
        found = trust(search, table, n_surrogates=0, n_restarts=0, parts=0).held_out
    truth = np.mean(
        [
            gap_of(rule, rule.row_losses(fresh))[0]
            for size, rule in rules
            if size == found.group_size
        ]
    )
    value, low, high = found.gap
    return low <= truth <= high, (value - truth) / found.error


def half_strength(seed, rows):
    return kinds.planted(seed, rows, round(0.1 * rows), strength=0.5)


def intervals(count=200):
    """The cross-fitted interval against the gap of the same rules on fresh rows."""
    laws = {
        "gaussian": kinds.gaussian,
        "skewed, discrete and rare binary": kinds.mixed,
        "planted": half_strength,
    }
    each = np.array_split(np.arange(count), len(laws))
    found = {
        name: np.array(many(covered, [make] * len(seeds), seeds.tolist()))
        for (name, make), seeds in zip(laws.items(), each, strict=True)
    }
    every = np.concatenate(list(found.values()))
    rate = every[:, 0].mean()
    yield (
        f"cross-fitted 95% intervals, {count} tables of three kinds, {ROWS} rows: hold the gap of "
        f"the same rules on {FRESH:,} fresh rows",
        "92 to 98%",
        f"{100 * rate:.1f} % ("
        + ", ".join(f"{name} {100 * rows[:, 0].mean():.0f}" for name, rows in found.items())
        + f"; off by {every[:, 1].mean():+.2f} standard errors on average, sd "
        f"{every[:, 1].std():.2f})",
        0.92 <= rate <= 0.98,
    )


def looked(make, seed):
    """P-values by looks and by 99 tables, of the same tables; and how many the looks took."""
    task = SearchTask.of(MaxDisparityPartition(D, random_state=seed), make(seed))
    beside = NullTest(task, [worst_tenth(None, len(task.X), D)])
    steps = Steps(1, None)
    table = beside.search_table(np.random.default_rng([seed, 0]), steps)

    def p_value(fixed=None):
        rng = np.random.default_rng([seed, 1])
        return beside.compare("copula", table, 99, rng, steps, fixed)[0]

    looks, fixed = p_value(), p_value([99])
    return looks.p_value, fixed.p_value, looks.surrogates


def looks(count=300):
    """Three looks against 99 tables."""
    nothing = [kinds.gaussian, kinds.mixed, kinds.dummies]
    something = [
        partial(kinds.planted, size=20, strength=0.2),
        partial(kinds.planted, size=40, strength=0.5),
        kinds.squares,
    ]
    laws = [law for pair in zip(nothing, something, strict=True) for law in pair]
    makes = [laws[seed % len(laws)] for seed in range(count)]
    found = np.array(many(looked, makes, range(count)))
    same = (found[:, 0] <= LEVEL) == (found[:, 1] <= LEVEL)
    null = np.array([make in nothing for make in makes])
    alarms = 100 * np.mean(found[null, :2] <= LEVEL, axis=0)
    yield (
        f"three looks (19, 39, 99 tables) against 99 always: same decision, {count} tables",
        "at least 98%",
        f"{100 * same.mean():.1f} % (without structure {100 * same[null].mean():.1f}%, alarms "
        f"there {alarms[0]:.1f} against {alarms[1]:.1f}%)",
        same.mean() >= 0.98,
    )
    yield (
        f"comparison tables that the looks take, {null.sum()} tables without structure",
        "at most 35 on average",
        f"{found[null, 2].mean():.0f} (with structure {found[~null, 2].mean():.0f})",
        found[null, 2].mean() <= 35,
    )


def students_time(scratch_seconds):
    """The whole of ``trust`` with its defaults, in one process and one BLAS thread."""
    X, d = paper_data.load("students"), paper_data.SOURCES["students"].n_components
    with threadpool_limits(1):
        start = time.process_time()
        found = trust(MaxDisparityPartition(d, random_state=0), X)
        seconds = time.process_time() - start
    tables = {kind: chance.surrogates for kind, chance in found.chance.items()}
    yield (
        f"trust on {len(X):,} students, one process, against one from-scratch greedy run",
        "at most 0.5 x",
        f"{seconds / scratch_seconds:.2f} x ({seconds:.1f} s against {scratch_seconds:.1f} s; "
        f"verdict {found.verdict}, comparison tables: {tables['copula']} with the same values, "
        f"{tables['gaussian']} bell-shaped)",
        seconds <= 0.5 * scratch_seconds,
    )


# What an audit of the demo took before it answered in the order in which people ask: 201.8 CPU s
# with one job and kernels compiled. The reference was not timed in that run: 2.2 s is an estimate
# from 400 matrices (0.11 ms each, in one call) on that machine. To be timed beside the old code.
_BEFORE = 201.8 / 2.2
# The reference: eigenvalues of so many matrices of the demo's 55 columns, by LAPACK.
_MATRICES = 20_000


def demo_time():
    """``leftout audit`` of the demo with its defaults, page and files included, in CPU time."""
    X = np.random.default_rng(0).normal(size=(60, 55))
    S = X.T @ X
    asked = {"target": "approve", "positive": 1, "dictionary": datasets.demo_dictionary()}
    settings = Settings(**asked)
    quick = replace(settings, quick=True)
    with threadpool_limits(1):
        run(datasets.load_demo(), quick, n_jobs=1)  # compiles
        begin = time.process_time()
        for _ in range(_MATRICES):
            np.linalg.eigvalsh(S)
        reference = time.process_time() - begin
        firsts = []
        begin = time.process_time()
        found = run(
            datasets.load_demo(),
            settings,
            n_jobs=1,
            listener=lambda _: firsts.append(time.process_time()),
        )
        found.html(), found.json(), found.csv()
        seconds = time.process_time() - begin
    ratio, first = seconds / reference, (firsts[0] - begin) / seconds
    yield (
        f"audit of the demo, against eigenvalues of {_MATRICES:,} matrices of its columns",
        f"at most a fifth of {_BEFORE:.0f} x; first answer within 15%",
        f"{ratio:.1f} x, {ratio / _BEFORE:.2f} of before ({seconds:.1f} CPU s; reference "
        f"{reference:.2f} s); first answer after {100 * first:.0f}%",
        ratio <= _BEFORE / 5 and first <= 0.15,
    )
    lines = [f"{question}: {line}" for question, line in found.answer.lines.items()]
    text = " ".join([found.answer.fact, *lines, *found.answer.mind])
    words = sum(any(map(str.isalnum, part)) for part in text.split())
    yield (
        "words of the demo's answer, with its questions",
        "at most 120",
        f"{words}",
        words <= 120,
    )


AUDITED = {
    "students": ("students_dropout.csv.gz", {"target": "Target", "positive": "Graduate"}),
    "adult": (
        "adult.csv.gz",
        {"target": "income", "positive": ">50K", "sensitive": ["sex", "race"]},
    ),
    "credit": (
        "credit_default.csv.gz",
        {
            "target": "default payment next month",
            "categorical": ["SEX", "EDUCATION", "MARRIAGE"],
        },
    ),
    "diabetes": ("diabetes_health_indicators.csv.gz", {"target": "Diabetes_binary"}),
}


def audited(file, options, seed):
    """The group and the verdict of an audit, without the names, the costs and the members."""
    path = paper_data.FOLDER / file
    found = audit(path, random_state=seed, quick=True, **options).partition
    settings = settled(Settings(random_state=seed, **options))
    work = AuditPipeline.on(Source.of(path), settings, 1, Stages(STAGE_SHARES, None))
    whole, group = len(work.part) == len(work.X), found.left_out_
    search = work.search if whole else clone(work.search).set_params(min_group_size=None)
    weighed = trust(
        clone(search).set_params(group_size=group.size if whole else group.share),
        work.part,
        n_restarts=0,
        parts=0,
        splits=work.splits,
    )
    return group.mask, weighed.verdict


def seeds(count=10):
    """Groups, sizes and verdicts of audits with other seeds."""
    for name, (file, options) in AUDITED.items():
        found = many(audited, [file] * count, [options] * count, range(count))
        groups = [group for group, _ in found]
        verdicts = Counter(verdict for _, verdict in found)
        overlap = min(
            np.sum(a & b) / np.sum(a | b) for i, a in enumerate(groups) for b in groups[:i]
        )
        sizes = sorted({int(group.sum()) for group in groups})
        yield (
            f"{name}: groups and verdicts of audits with seeds 0 to {count - 1}",
            "Jaccard at least 0.95 for every pair, one size, one verdict",
            f"lowest Jaccard {overlap:.3f}; sizes {', '.join(f'{size:,}' for size in sizes)}; "
            f"verdicts {dict(verdicts)}",
            overlap >= 0.95 and len(sizes) == 1 and len(verdicts) == 1,
        )
