"""Draw the pictures of README and docs: ``make picture``."""

from __future__ import annotations

from pathlib import Path

import matplotlib
import numpy as np

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler

from leftout import MaxDisparityPartition, chance, datasets, explain, plots

BLUE, ORANGE = "#3b6ea5", "#d9722b"


def applicants():
    table = datasets.load_demo()
    encode = make_pipeline(SimpleImputer(strategy="median"), MinMaxScaler())
    X = encode.fit_transform(table.drop(columns="approve"))
    found = MaxDisparityPartition(group_size=200, random_state=0).fit(X)
    group = found.labels_ == 1
    sides = ((~group, BLUE, "rest"), (group, ORANGE, "left-out group"))

    plt.rcParams.update({"font.size": 11, "axes.spines.top": False, "axes.spines.right": False})
    figure, (left, right) = plt.subplots(
        1, 2, figsize=(10, 4), width_ratios=(1.25, 1), layout="constrained"
    )
    centred = X - found.mean_
    shared = np.sum((centred @ found.components_.T) ** 2, axis=1)
    own = np.sum((centred @ found.group_components_[1].T) ** 2, axis=1)
    for rows, colour, name in sides:
        left.scatter(shared[rows], own[rows], s=9, c=colour, alpha=0.6, lw=0, label=name)
    limit = max(shared.max(), own.max()) * 1.03
    left.plot([0, limit], [0, limit], c="0.6", lw=1, zorder=0)
    left.set(
        xlabel="kept of each applicant by the shared PCA",
        ylabel="kept by the left-out group's own PCA",
        xlim=(0, limit),
        ylim=(0, limit),
        title="1,989 mortgage applicants, 55 columns",
    )
    left.legend(frameon=False, loc="lower right", markerscale=2)

    bars = {
        "variance kept by\nthe shared PCA": 100 * found.retained_,
        "variance kept by\nits own PCA": 100 * found.retained_own_,
        "approved\n(never seen by\nthe search)": [
            100 * table["approve"][rows].mean() for rows, _, _ in sides
        ],
    }
    for offset, (_, colour, _) in zip((0.2, -0.2), sides, strict=True):
        which = 0 if colour == BLUE else 1
        values = [pair[which] for pair in bars.values()]
        drawn = right.barh(np.arange(3)[::-1] + offset, values, 0.38, color=colour)
        right.bar_label(drawn, fmt="%.0f %%", padding=3)
    right.set_yticks(np.arange(3)[::-1], bars)
    right.set(xlim=(0, 108), xticks=[], title="200 of them are left out")
    right.spines["bottom"].set_visible(False)
    right.tick_params(left=False)
    figure.savefig(Path(__file__).with_name("picture.png"), dpi=140)


def explanation():
    """What the demo's disparity is made of, and which columns the group looks like."""
    table = datasets.load_demo()
    features = table.drop(columns="approve")
    encode = make_pipeline(SimpleImputer(strategy="median"), MinMaxScaler())
    X = encode.set_output(transform="pandas").fit_transform(features)
    found = MaxDisparityPartition(group_size=200, random_state=0).fit(X)
    told = explain.group(found, X, table, target="approve", what_if=0)
    figure, axes = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
    plots.disparity_by_feature(told, axes[0])
    plots.alignment(told, axes[1])
    figure.savefig(Path(__file__).with_name("explain.png"), dpi=140)


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
        plots.profile(chance.profile(search, X, chance=39), ax).set_title(name)
    figure.savefig(Path(__file__).with_name("trust.png"), dpi=140)


if __name__ == "__main__":
    applicants()
    evidence()
    explanation()
