"""A representation that is given: verdicts, pipelines and time under it. The cases ``given_*``."""

from __future__ import annotations

import time
from collections import Counter
from functools import partial

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.decomposition import PCA
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import PredefinedSplit, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import paper_data
from benchmarks import kinds
from benchmarks.kinds import ROWS, D
from benchmarks.trust import many
from leftout import MaxDisparityPartition, audit, datasets, harm, trust
from leftout.downstream import costs

LEVEL = 0.05


def weighed(make, seed):
    """The verdict on half of a table, under the PCA of its other half."""
    both = make(seed)
    order = np.random.default_rng(seed).permutation(len(both))
    here, there = both[order[: len(both) // 2]], both[order[len(both) // 2 :]]
    search = MaxDisparityPartition(representation=PCA(D).fit(there), random_state=seed)
    found = trust(search, here, n_restarts=0, parts=0)
    return found.verdict, found.beyond_chance is True


def verdicts(count=100):
    """False alarms, and planted groups, under a PCA fitted on other rows of the same law."""
    limit = LEVEL + 2.0 * np.sqrt(LEVEL * (1 - LEVEL) / count)
    planted = partial(kinds.planted, rows=2 * ROWS, size=ROWS // 5, strength=1.0)
    for name, make, asked in (
        ("gaussian", partial(kinds.gaussian, rows=2 * ROWS), None),
        ("mixed", partial(kinds.mixed, rows=2 * ROWS), None),
        ("a tenth planted", planted, 0.9),
    ):
        found = many(weighed, [make] * count, range(count))
        rate = np.mean([alarm for _, alarm in found])
        letters = Counter(letter for letter, _ in found)
        told = ", ".join(f"{letter} {letters[letter]}" for letter in "ABCD")
        yield (
            f"beyond tables with the same values, PCA fitted on other rows, {count} tables: {name}",
            f"at most {100 * limit:.1f}%" if asked is None else f"at least {100 * asked:.0f}%",
            f"{100 * rate:.1f} % (verdicts {told})",
            rate <= limit if asked is None else rate >= asked,
        )


def tables():
    """Adult and the demo, with the column that is predicted."""
    if paper_data.missing() is None:
        yield "adult", pd.read_csv(paper_data.FOLDER / "adult.csv.gz"), "income"
    yield "demo", datasets.load_demo(), "approve"


def pipelines(rows=6_000):
    """The usual pipeline, fitted: the group, and errors against scikit-learn's own."""
    for name, table, target in tables():
        table = (
            pd.DataFrame(table)
            .convert_dtypes()
            .sample(min(rows, len(table)), random_state=0, ignore_index=True)
        )
        y = table[target].astype(str).to_numpy()
        X = table.drop(columns=target)
        text = make_column_selector(dtype_exclude="number")
        columns = make_column_transformer(
            (
                make_pipeline(SimpleImputer(), StandardScaler()),
                make_column_selector(dtype_include="number"),
            ),
            (OneHotEncoder(handle_unknown="ignore", sparse_output=False), text),
        )
        X = X.astype({c: float for c in X.select_dtypes("number")} | {c: str for c in text(X)})
        pipeline = make_pipeline(
            columns, PCA(0.8, svd_solver="full"), LogisticRegression(max_iter=5000)
        )
        pipeline.fit(X, y)
        found = audit(X.assign(**{target: y}), pipeline=pipeline, target=target, quick=True)
        Z = pipeline[:-2].transform(X)
        size = int(found.partition.sizes_[1])
        alone = MaxDisparityPartition(
            representation=pipeline[1], group_size=size, random_state=0,
            solver=type(found.partition._check_names())(n_starts=600),
        ).fit(Z)  # fmt: skip
        same = float(np.mean(alone.labels_ == found.partition.labels_))
        yield (
            f"fitted pipeline on {name}: rows with the label of a search of the transformed matrix",
            "100%", f"{100 * same:.1f}%", same == 1.0,
        )  # fmt: skip
        off = folds_apart(X, y, found.partition.labels_, pipeline)
        yield (
            f"fitted pipeline on {name}: predictions from components that differ from "
            "cross_val_predict with the same folds",
            "0", f"{off}", off == 0,
        )  # fmt: skip


def folds_apart(X, y, labels, pipeline):
    """Rows predicted otherwise than by scikit-learn, by one repeat of the harm's own folds."""
    kept = {}
    original = costs.cross_validate

    def spied(task, folds, repeats, rng, n_jobs, steps):
        state = rng.bit_generator.state
        fold = costs.assign_folds(task.target, task.place, folds, rng)
        rng.bit_generator.state = state
        kept["fold"], kept["classes"] = fold, task.target.classes
        kept["found"] = original(task, folds, repeats, rng, n_jobs, steps)
        return kept["found"]

    costs.cross_validate = spied
    try:
        harm(
            X, y, labels, representation=pipeline[1], encoder=pipeline[:1], repeats=1,
            models=pipeline[2:], bootstrap=9, max_rows=None,
        )  # fmt: skip
    finally:
        costs.cross_validate = original
    theirs = cross_val_predict(clone(pipeline), X, y, cv=PredefinedSplit(kept["fold"]))
    ours = np.array(kept["classes"])[kept["found"].guesses[0, 1, 0].astype(int)]
    return int(np.sum(ours != theirs))


def speed(repeats=5):
    """A search under a PCA that is given against one under the table's own."""
    X = paper_data.load("students")
    given = PCA(9, svd_solver="full").fit(X)
    seconds = {}
    for name, search in (
        ("own", MaxDisparityPartition(9, group_size=0.1, random_state=0)),
        ("given", MaxDisparityPartition(representation=given, group_size=0.1, random_state=0)),
    ):
        search.fit(X)
        each = []
        for _ in range(repeats):
            start = time.process_time()
            search.fit(X)
            each.append(time.process_time() - start)
        seconds[name] = min(each)
    ratio = seconds["given"] / seconds["own"]
    yield (
        "search of students under a PCA that is given against its own, CPU time",
        "at most 1.1 x", f"{ratio:.2f} x", ratio <= 1.1,
    )  # fmt: skip
