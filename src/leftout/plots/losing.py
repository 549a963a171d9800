"""Who loses, why, and at what cost: rows under two PCAs, parts of the loss, errors of models."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from leftout.downstream.outcomes import ALL, SHARED
from leftout.evidence.decomposition import PART_NAMES as PARTS
from leftout.evidence.decomposition import LossParts
from leftout.groups.fitted import fitted_on
from leftout.plots.axes import (
    GREY,
    LEFT_OUT,
    QUIET,
    REST,
    axis,
    drawable,
    finish,
    joined_points,
    named,
)
from leftout.text import number

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from leftout.downstream.result import Harm

# Rows of a side that are drawn as points, at most.
_POINTS = 1_500


def people(found: Any, X: Any, ax: Axes | None = None) -> Axes:
    """Every row's error under the shared PCA and under the group's own.

    Rows below the line are served better by the group's own components.
    """
    ax = axis(ax)
    partition, matrix = fitted_on(found, X)
    group = partition.left_out_
    rows = matrix - partition.mean_
    length = np.einsum("ij,ij->i", rows, rows)
    shared = length - partition.representation_.kept(matrix)
    own = length - np.sum((rows @ group.components.T) ** 2, axis=1)
    sides = ((~group.mask, REST, "rest"), (group.mask, LEFT_OUT, "left-out group"))
    for mask, color, name in sides:
        places = _drawn(np.flatnonzero(mask), _POINTS)
        label = f"{name}, {mask.sum():,} rows"
        ax.scatter(shared[places], own[places], s=7, color=color, alpha=0.45, lw=0, label=label)
    most = max(float(shared.max()), float(own.max()))
    ax.plot([0.0, most], [0.0, most], color=QUIET, lw=1, zorder=0)
    x, y = f"error under the shared {partition.representation_.name}", "error under the group's own"
    title, where = "Every row's error, shared and own", "upper left"
    return finish(ax, title, x, y, ticks="xy", loc=where, markerscale=2.5)


def _drawn(places: Any, most: int) -> Any:
    """At most so many places, evenly over all."""
    if len(places) <= most:
        return places
    return places[np.linspace(0, len(places) - 1, most).astype(int)]


def sides(found: Any, ax: Axes | None = None) -> Axes:
    """What the shared PCA keeps of each side's variance, and what its own would: joined points.

    Left-out groups come first, in their order; the rest is last.
    """
    ax = axis(ax)
    order = [*range(1, found.n_groups_ + 1), 0]
    names = [f"left-out group {label}, {found.sizes_[label]:,} rows" for label in order[:-1]]
    kept, own = (
        100.0 * np.asarray(shares)[order] for shares in (found.retained_, found.retained_own_)
    )
    last = len(order) - 1
    labels = (f"shared {found.representation_.name}", "its own")
    joined_points(ax, range(last), kept[:last], own[:last], LEFT_OUT, labels)
    joined_points(ax, [last], kept[last:], own[last:], REST, (None, None))
    named(ax, [*names, f"rest, {found.sizes_[0]:,} rows"], lines=2)
    ax.set_xlim(right=103.0)
    below: Any = {"loc": "upper right", "bbox_to_anchor": (1.0, -0.26), "ncols": 2}
    return finish(ax, "What is kept of each group", "variance that is kept, %", **below)


def parts(found: LossParts, ax: Axes | None = None) -> Axes:
    """One bar: what covariance alone explains, what rare values add, and what is left."""
    ax = axis(ax)
    ends = {True: 0.0, False: 0.0}  # what is taken off is drawn to the left of zero
    for (key, part), color in zip(found.each().items(), (GREY, REST, LEFT_OUT), strict=True):
        label = f"{PARTS[key]}: {number(part.loss, found.total)}"
        more = part.loss >= 0.0
        ax.barh([0], [part.loss], left=ends[more], color=color, label=label)
        ends[more] += part.loss
    if ends[False] < 0.0:
        ax.axvline(0.0, color=GREY, linewidth=0.8)
    ax.set_yticks([])
    ax.set_ylim(-0.6, 0.6)
    title, x = f"Why they lose {number(found.total)} more than the rest", "loss beyond the rest's"
    return finish(ax, title, x, ticks="x", loc="upper center", bbox_to_anchor=(0.5, -0.35))


def harm(found: Harm, ax: Axes | None = None, *, model: str | None = None) -> Axes:
    """Errors of the group and of the rest from all columns, and from each projection's components.

    Bars are 95% intervals. The leading model, or the one named.
    """
    ax = axis(ax)
    unit = 1.0 if found.kind == "number" else 100.0
    sides = ((found.group, LEFT_OUT, -0.06), (found.rest, REST, 0.06))
    for side, color, aside in sides:
        each = unit * np.array([found.at(side, seen, model=model) for seen in found.variants])
        value, low, high = each.T
        far = np.nan_to_num([value - low, high - value])  # no interval, no bar
        ax.errorbar(
            np.arange(len(value)) + aside, value, np.maximum(far, 0.0), color=color, marker="o",
            ms=6, lw=1.0, elinewidth=1.5, capsize=3, label=drawable(side, 30),
        )  # fmt: skip
    called = {ALL: ALL, SHARED: f"shared {found.shared}, {found.n_components}"}
    ticks = [called.get(seen, f"{seen}, {found.n_components}") for seen in found.variants]
    ax.set_xticks(np.arange(len(ticks)), ticks)
    ax.set_xlim(-0.5, len(ticks) - 0.5)
    ax.set_ylim(bottom=0.0)
    title = f"{drawable(found.target)} predicted by {drawable(model or found.models[0], 20)}"
    return finish(ax, title, y=_errors(found), ticks="y", loc="best")


def _errors(found: Harm) -> str:
    return "average error" if found.kind == "number" else "wrong predictions, %"
