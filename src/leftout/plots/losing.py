"""Why a group loses, and at what cost: parts of the loss, errors of models."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from leftout.downstream.outcomes import ALL, SHARED
from leftout.groups.decomposition import PART_NAMES as PARTS
from leftout.groups.decomposition import LossParts
from leftout.plots.axes import GREY, LEFT_OUT, REST, axis, drawable, finish
from leftout.text import number

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from leftout.downstream.result import Harm


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
    y = "average error" if found.kind == "number" else "wrong predictions, %"
    return finish(ax, title, y=y, ticks="y", loc="best")
