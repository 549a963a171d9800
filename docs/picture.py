"""Draw the pictures of README and docs: ``make picture``."""

from __future__ import annotations

from pathlib import Path

import matplotlib
import numpy as np
import pandas as pd

matplotlib.use("Agg")
import matplotlib.pyplot as plt

import leftout
from leftout import MaxDisparityPartition, datasets, trust

GUIDE = Path(__file__).parent / "guide"


def explanation():
    """What the demo's disparity is made of, and which columns the group looks like."""
    table = datasets.load_demo()
    explained = leftout.audit(table, target="approve", group_size=200, quick=True).explanation
    figure, axes = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
    parts = pd.Series(explained.by_column()).sort_values(key=abs)[-12:]
    colours = ["tab:orange" if part > 0 else "tab:blue" for part in parts]
    parts.plot.barh(ax=axes[0], color=colours, title="What the disparity is made of")
    looks = pd.Series({line.text: line.strength for line in explained.alignment[:12]})[::-1]
    looks.plot.barh(ax=axes[1], color="tab:orange", title="Which columns the group looks like")
    figure.savefig(GUIDE / "explain.png", dpi=140)


def evidence():
    """A planted group of 250 rows, and a table of noise."""
    noise = np.random.default_rng(0).standard_normal((2000, 30)) * np.geomspace(1.0, 0.2, 30)
    tables = {
        "250 planted rows": datasets.make_planted(2000, 30, 5, 250, 0.6, random_state=0)[0],
        "noise": noise,
    }
    figure, axes = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
    for ax, (name, X) in zip(axes, tables.items(), strict=True):
        search = MaxDisparityPartition(5, random_state=0, n_jobs=-1)
        found = trust(search, X, n_restarts=0, splits=2, parts=0)
        for kind, chance in found.chance.items():
            ax.hist(chance.disparities, alpha=0.6, label=f"{kind} surrogates")
        ax.axvline(found.searched, color="black", label="table")
        ax.set(title=name, xlabel="disparity", ylabel="surrogates", xlim=(0, None))
        ax.legend(frameon=False)
    figure.savefig(GUIDE / "trust.png", dpi=140)


if __name__ == "__main__":
    evidence()
    explanation()
