"""A table in parts, and engines that treat chunks badly."""

from __future__ import annotations

import os
import random
import signal

import numpy as np
import pandas as pd

from leftout.engine.engines import Local, silent

ASKED = {"target": "ok", "sensitive": ["sex"], "n_components": 3, "quick": True}
# Rows of the table, and of the sample that is looked at.
ROWS, SAMPLED = 3600, 1200


def mixed(m, seed=0):
    """Numbers with gaps, text, dates; a twentieth has directions of its own."""
    rng = np.random.default_rng(seed)
    planted = np.zeros(m, dtype=bool)
    planted[rng.choice(m, m // 20, replace=False)] = True
    Z, ways = rng.standard_normal((m, 3)), np.random.default_rng(7)
    W, U = ways.standard_normal((2, 3, 8))
    X = np.where(planted[:, None], 2.0 * Z @ U, 2.0 * Z @ W) + 0.3 * rng.standard_normal((m, 8))
    table = pd.DataFrame(X, columns=[f"v{j}" for j in range(8)])
    table.loc[rng.random(m) < 0.1, "v3"] = np.nan
    table["flag"] = rng.choice(["yes", "no"], m, p=[0.97, 0.03])
    table["since"] = pd.Timestamp("2001-01-01") + pd.to_timedelta(rng.integers(0, 5000, m), "D")
    table["sex"] = np.where(planted & (rng.random(m) < 0.8), "f", rng.choice(["f", "m"], m))
    table["ok"] = np.where(rng.random(m) < np.where(planted, 0.3, 0.7), "yes", "no")
    return table, planted


def stored(folder, m=ROWS, files=3, seed=0):
    """The table in a folder of Parquet files of two row groups each."""
    folder.mkdir()
    table, planted = mixed(m, seed)
    for place, rows in enumerate(np.array_split(np.arange(m), files)):
        path = folder / f"part-{place}.parquet"
        table.iloc[rows].to_parquet(path, index=False, row_group_size=-(-len(rows) // 2))
    return table, planted


def said(audit):
    """All that an audit says, but for when and by whom."""
    data = audit.to_dict()
    for name in ("created", "settings", "file"):
        data.pop(name)
    data["scale"].pop("engine")
    data["table"].pop("source")
    return data


class Shuffled(Local):
    """Chunks finish in any order."""

    name = "shuffled"

    def fold(self, function, items, merge, tell=silent):
        places = random.Random(len(items)).sample(range(len(items)), len(items))
        found = {place: super(Shuffled, self).fold(function, [items[place]], merge)
                 for place in places}  # fmt: skip
        return super().fold(found.get, range(len(items)), merge, tell)


class Meddling(Local):
    """Something happens before a pass."""

    def __init__(self, number, happens):
        self.left, self.happens, self.folds = number, happens, 0

    def fold(self, function, items, merge, tell=silent):
        self.left -= 1
        if not self.left:
            self.happens()
        self.folds += 1
        return super().fold(function, items, merge, tell)


class KillsItsWorker:
    """A function that ends the process of the first worker that takes its second chunk."""

    def __init__(self, function, mark, starts):
        self.function, self.mark, self.starts = function, mark, starts

    def __call__(self, item):
        chunk = item[0] if isinstance(item, tuple) else item
        if chunk.start in self.starts:
            try:
                os.close(os.open(self.mark, os.O_CREAT | os.O_EXCL))
            except FileExistsError:
                pass
            else:
                os.kill(os.getpid(), signal.SIGKILL)
        return self.function(item)


__all__ = [
    "ASKED", "ROWS", "SAMPLED", "KillsItsWorker", "Meddling", "Shuffled", "mixed",
    "said",
]  # fmt: skip
