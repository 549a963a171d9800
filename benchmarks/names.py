"""What is said of groups that have a name. The cases ``names_*``."""

from __future__ import annotations

import numpy as np
import pandas as pd

from leftout import group_losses, named_groups
from leftout.data.columns import columns_of
from leftout.groups.cross_fitting import cross_fitted
from leftout.groups.problem_setup import build_problem

TABLES, FRESH = 100, 1_000_000
# Tables of each law whose names are chosen by their losses, and fresh rows to judge these by.
CHOSEN, FRESH_CHOSEN = 40, 200_000


def correlated(m, n, factors, rng, seed):
    """Gaussian columns that share some factors: the same law for the same seed."""
    law = np.random.default_rng(seed)
    loadings = law.standard_normal((factors, n)) * np.linspace(1.5, 0.6, factors)[:, None]
    noise = law.uniform(0.5, 1.0, n)
    return rng.standard_normal((m, factors)) @ loadings / 2 + rng.standard_normal((m, n)) * noise


def tail(m, rng):
    """The upper sixth of a column."""
    X = correlated(m, 12, 4, rng, 1)
    return X, X[:, 0] > np.sqrt(2.0), 3


def both(m, rng):
    """Two conditions at once, on columns that are then cut into yes and no."""
    X = correlated(m, 20, 6, rng, 2)
    mask = (X[:, 0] > 0.5) & (X[:, 1] > 0.0)
    X[:, :10] = X[:, :10] > 0.3
    X[:, 10:14] = np.exp(0.6 * X[:, 10:14]) / 3.0
    return X, mask, 5


def rare(m, rng):
    """A rare category with two directions of its own."""
    X = correlated(m, 16, 5, rng, 3)
    mask = X[:, 0] > 1.9
    X[mask, 8:10] += 1.5 * rng.standard_normal((int(mask.sum()), 2))
    X[:, 0] = mask
    return X, mask, 4


def categories(m, rng):
    """A category among one-hot, skewed and plain columns on which it bears."""
    X = correlated(m, 10, 4, rng, 4)
    kinds = np.digitize(X[:, 0], [-0.8, 0.2, 1.0])
    spread = X[:, 5:8] * (1.0 + (kinds == 2))[:, None]
    # up to a highest value: without it, not even a million rows settle the true loss
    X[:, 5:8] = np.minimum(np.exp(0.6 * spread), 6.0) / 3.0
    return np.column_stack([X[:, 1:] / 2.0, np.eye(4)[kinds]]), kinds == 2, 4


def bystanders(m, rng):
    """A group that has nothing to do with the columns: its true loss is nothing."""
    X = correlated(m, 12, 4, rng, 5)
    return X, rng.random(m) < 0.2, 3


LAWS = {tail: 1_000, both: 2_000, rare: 3_000, categories: 800, bystanders: 1_000}


def coverage():
    """Cross-fitted intervals of a fixed group, against its loss in a million fresh rows."""
    inside, plain, by_law = 0, 0, []
    for law, m in LAWS.items():
        X, mask, d = law(FRESH, np.random.default_rng(0))
        truth, held = group_losses(X, mask, d)[1], 0
        for seed in range(TABLES):
            rng = np.random.default_rng([1, seed])
            X, mask, d = law(m, rng)
            (found,) = cross_fitted(build_problem(X, d).problem, [mask], rng=rng)
            held += found.loss.low <= truth <= found.loss.high
            half = (found.loss.high - found.loss.low) / 2.0
            plain += abs(found.held_out - truth) <= half
        inside += held
        by_law.append(f"{law.__name__} {100 * held / TABLES:.0f}")
    share, plain = (int(count) / (TABLES * len(LAWS)) for count in (inside, plain))
    yield (
        f"cross-fitted 95% intervals of a fixed group, {TABLES * len(LAWS)} tables of "
        f"{len(LAWS)} laws: hold its loss in {FRESH:,} fresh rows",
        "93 to 97%",
        f"{100 * share:.1f} % ({', '.join(by_law)}; as wide around the held-out loss alone: "
        f"{100 * plain:.0f}%)",
        0.93 <= share <= 0.97,
    )


def chosen():
    """The same intervals of names that were chosen by their losses on the same rows."""
    first, every, by_law = [], [], []
    for law, m in LAWS.items():
        X, mask, d = law(FRESH_CHOSEN, np.random.default_rng(0))
        columns = {column.name: column for column in columns_of(_told(X, mask))}
        held = []
        for seed in range(CHOSEN):
            here, mask, d = law(m, np.random.default_rng([2, seed]))
            found = named_groups(here, _told(here, mask), n_components=d, top=6)
            inside = []
            for name in found:
                rows = [condition.holds(columns[condition.column]) for condition in name.conditions]
                truth = group_losses(X, np.logical_and.reduce(rows), d)[1]
                inside.append(name.cross_fitted.low <= truth <= name.cross_fitted.high)
            held += inside[:1]
            every += inside
        first += held
        by_law.append(f"{law.__name__} {100 * np.mean(held):.0f}")
    yield (
        f"the same of the name that a search chose, {len(first)} tables of {len(LAWS)} laws: hold "
        f"its loss in {FRESH_CHOSEN:,} fresh rows",
        "(said)",
        f"{100 * np.mean(first):.0f} % ({', '.join(by_law)}); of the first six names "
        f"{100 * np.mean(every):.0f}%",
        True,
    )


def _told(X, mask):
    """What people know of the rows: all columns, and who is in the group."""
    return pd.DataFrame(X).add_prefix("x").assign(group=np.where(mask, "yes", "no"))
