"""Who loses, and why: every row under two PCAs, and the parts of the loss."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from leftout.evidence.loss_parts import PART_NAMES as PARTS
from leftout.evidence.loss_parts import LossParts
from leftout.groups.fitted import fitted_on
from leftout.plots.axes import GREY, LEFT_OUT, QUIET, REST, axis, named, read
from leftout.text import number

if TYPE_CHECKING:
    from matplotlib.axes import Axes

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
    ax.set_xlabel(f"error under the shared {partition.representation_.name}")
    ax.set_ylabel("error under the group's own")
    ax.set_title("Every row's error, shared and own")
    read(ax.xaxis)
    read(ax.yaxis)
    ax.legend(frameon=False, loc="upper left", markerscale=2.5)
    return ax


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
    for place, (low, high) in enumerate(zip(kept, own, strict=True)):
        ax.plot([low, high], [place, place], color=REST if place == last else LEFT_OUT, lw=1.2)
    for chosen, color in ((slice(0, last), LEFT_OUT), (slice(last, None), REST)):
        places, label = np.arange(len(order))[chosen], color == LEFT_OUT
        shared = f"shared {found.representation_.name}" if label else None
        ax.plot(kept[chosen], places, "o", color=color, label=shared)
        ax.plot(
            own[chosen], places, "o", color=color, mfc="none", label="its own" if label else None
        )
    named(ax, [*names, f"rest, {found.sizes_[0]:,} rows"], lines=2)
    ax.set_xlim(right=103.0)
    ax.set_xlabel("variance that is kept, %")
    ax.set_title("What is kept of each group")
    ax.legend(frameon=False, loc="upper right", bbox_to_anchor=(1.0, -0.26), ncols=2)
    return ax


def parts(found: LossParts, ax: Axes | None = None) -> Axes:
    """One bar: what any cloud shows, what rare values add, and what is left of the loss."""
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
    ax.set_xlabel("loss beyond the rest's")
    ax.set_title(f"Why they lose {number(found.total)} more than the rest")
    read(ax.xaxis)
    ax.legend(frameon=False, loc="upper center", bbox_to_anchor=(0.5, -0.35), ncols=1)
    return ax
