"""Does a comparison keep silent where nothing has changed, and speak up where something has?"""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy.optimize import brentq

import paper_data
from leftout import MaxDisparityPartition, audit, datasets, group_losses

# Rows on either side.
_ROWS = 1_000
_TARGETS = {"students": "Target", "adult": "income", "demo": "approve", "Gaussian": None}


def _whole(name, rng):
    """A table to draw two samples from."""
    if name == "demo":
        return datasets.load_demo()
    if name == "Gaussian":
        scales = rng.lognormal(0.0, 0.5, 14)
        X = rng.standard_normal((2 * _ROWS, 14)) * scales @ rng.standard_normal((14, 14))
        return pd.DataFrame(X, columns=[f"x{j}" for j in range(14)])
    file = {"students": "students_dropout.csv.gz", "adult": "adult.csv.gz"}[name]
    return pd.read_csv(paper_data.FOLDER / file, sep=None, engine="python")


def _halves(table, rng):
    """Two samples of a table, without a row in common."""
    order = rng.permutation(len(table))[: 2 * _ROWS]
    return [table.iloc[part].reset_index(drop=True) for part in np.array_split(order, 2)]


def _compared(name, old, new):
    return audit(old, target=_TARGETS.get(name), quick=True).compare(new)


def compare_unchanged(count):
    """Lines of the table of benchmarks: random halves of one table."""
    changed, tables = {}, {}
    for seed in range(count):
        name = list(_TARGETS)[seed % len(_TARGETS)]
        rng = np.random.default_rng(seed)
        if name == "Gaussian" or name not in tables:
            tables[name] = _whole(name, rng)
        told = _compared(name, *_halves(tables[name], rng))
        changed.setdefault(name, []).append([each.of for each in told.changes if each.changed])
    alarms = sum(map(bool, sum(changed.values(), [])))
    most = 0.05 + 2.0 * np.sqrt(0.05 * 0.95 / count)
    each = ", ".join(f"{name} {sum(map(bool, of))}/{len(of)}" for name, of in changed.items())
    yield (
        f"Compare: {count} pairs of random halves called changed",
        f"at most {100 * most:.1f}%", f"{100 * alarms / count:.1f}% ({each})",
        alarms / count <= most,
    )  # fmt: skip


def _planted(seed, both):
    """Rows of one law with a planted tenth: in both halves, or in the new one only."""
    n = _ROWS // 10
    X, labels = datasets.make_planted(
        2 * _ROWS, 14, 3, (1 + both) * n, strength=0.6, random_state=seed
    )
    group, rest = np.flatnonzero(labels), np.flatnonzero(labels == 0)
    old = np.append(rest[: _ROWS - both * n], group[: both * n])
    new = np.append(rest[_ROWS - both * n :], group[both * n :])
    return X[old], X[new], np.arange(len(new)) >= len(new) - n


def _doubled(old, new, group):
    """New rows of which a group loses twice as much under the old table's PCA."""
    shared = MaxDisparityPartition(3, group_size=0.1, random_state=0).fit(old).representation_
    errors = shared.errors(new[group])

    def lost(by):
        X = new.copy()
        X[group] += by * errors
        return X, group_losses(X, group.astype(int), 3, representation=shared)[1]

    before = lost(0.0)[1]
    return lost(brentq(lambda by: lost(by)[1] - 2.0 * before, 0.0, 3.0))[0]


def _rescaled(searched, old, new, rng):
    """New rows with one column of numbers in another unit, of those that PCA sees."""
    numeric = [
        column for column in old.columns
        if pd.api.types.is_numeric_dtype(old[column]) and old[column].nunique() > 2
        and column in searched
    ]  # fmt: skip
    column = str(rng.choice(numeric))
    return new.assign(**{column: new[column] * 10.0})


def compare_changed(count):
    """Lines of the table of benchmarks: what has changed is found."""
    planted = doubled = 0
    for seed in range(count):
        old, new, _ = _planted(seed, both=False)
        planted += _compared("", old, new).changed
        old, new, group = _planted(seed, both=True)
        told = _compared("", old, _doubled(old, new, group))
        doubled += any(each.changed and each.of == "group" for each in told.changes)
    for what, found in (
        ("a planted tenth, new only, found", planted),
        ("the old group's loss doubled, found in the group", doubled),
    ):
        yield f"Compare: {what}", "95%", f"{found} of {count}", found >= 0.95 * count
    scaled = 0
    for seed in range(count):
        name, rng = list(_TARGETS)[seed % len(_TARGETS)], np.random.default_rng(seed)
        old, new = _halves(_whole(name, rng), rng)
        found = audit(old, target=_TARGETS[name], quick=True)
        searched = {each.column for each in found.baseline.columns}
        scaled += found.compare(_rescaled(searched, old, new, rng)).changed
    what = "Compare: a column's scale changed, found"
    yield what, "100%", f"{scaled} of {count}", scaled == count
