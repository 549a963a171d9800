"""Are robust members the planted people, and are there few of them in noise?"""

from __future__ import annotations

import numpy as np
import pandas as pd

from leftout import audit, datasets
from leftout.auditing.readings import read_in_other_ways


def table(seed, planted, m=1000):
    """Numbers in units of their own, some cut into categories of two or four values, gaps."""
    rng = np.random.default_rng(seed)
    if planted:
        X, labels = datasets.make_planted(m, 14, 3, m // 10, random_state=seed)
    else:
        X, labels = rng.normal(size=(m, 14)), np.zeros(m, dtype=int)
    frame = pd.DataFrame(X * 10.0 ** rng.integers(-2, 4, 14), columns=[f"x{j}" for j in range(14)])
    frame["x12"] = np.where(X[:, 12] > np.median(X[:, 12]), "high", "low")
    frame["x13"] = pd.qcut(X[:, 13], 4, labels=list("abcd")).astype(str)
    frame.loc[rng.random(m) < 0.05, "x11"] = np.nan
    return frame, labels


def looked_at(seed, planted):
    """How many robust members there are and how many of them are planted; the group's share."""
    frame, labels = table(seed, planted)
    found = audit(frame, quick=True)
    told = read_in_other_ways(found.partition, found.intake, found.settings)
    robust = told.members
    members, planted_members = int(np.sum(robust)), int(np.sum(labels[robust] > 0))
    return members, planted_members, float(robust[told.group].mean()), told.holds


def readings(count=20):
    """Lines of the table of benchmarks: planted tables, and noise."""
    found = [looked_at(seed, planted=True) for seed in range(count)]
    members, right = (sum(each[k] for each in found) for k in (0, 1))
    tables = sum(each[1] >= 0.8 * each[0] for each in found)
    yield (
        f"Robust members that are planted, a tenth in {count} mixed tables",
        "at least 80%", f"{100 * right / members:.0f} % (so in {tables} tables)",
        right >= 0.8 * members,
    )  # fmt: skip
    noise = [looked_at(seed, planted=False) for seed in range(count)]
    robust, holds = np.mean([each[2] for each in noise]), sum(each[3] for each in noise)
    yield (
        f"Robust members of the group in {count} tables of noise; groups that hold",
        "few; none", f"{100 * robust:.0f}% on average; {holds}", not holds,
    )  # fmt: skip
