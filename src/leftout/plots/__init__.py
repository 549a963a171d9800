"""One figure per function: each takes an axis (or makes one), draws on it, and returns it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from leftout.errors import InputError
from leftout.evidence.verdict import Trust
from leftout.plots.axes import FAIR as FAIR
from leftout.plots.axes import GREY as GREY
from leftout.plots.axes import LEFT_OUT as LEFT_OUT
from leftout.plots.axes import QUIET as QUIET
from leftout.plots.axes import REST as REST
from leftout.plots.axes import axis, finish, named
from leftout.plots.losing import harm, parts, trade_off
from leftout.text import number, percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from leftout.explain import Explanation
    from leftout.groups.known import KnownGroups

__all__ = [
    "alignment",
    "disparity_by_feature",
    "harm",
    "known_groups",
    "null_test",
    "parts",
    "trade_off",
]

_CHANCE = {"copula": REST, "gaussian": GREY}
_LEGEND_BELOW: Any = {"loc": "upper center", "bbox_to_anchor": (0.5, -0.14)}


def null_test(found: Trust, ax: Axes | None = None) -> Axes:
    """Disparities that the same search finds in surrogates, and the table's."""
    ax = axis(ax)
    for kind, chance in found.chance.items():
        ax.hist(chance.disparities, color=_CHANCE[kind], alpha=0.6, label=f"{kind} surrogates")
    ax.axvline(found.searched, color=LEFT_OUT, lw=2, label="table")
    ax.set_xlim(left=0.0)
    return finish(ax, "The same search in surrogates", "disparity", "surrogates", loc="best")


def disparity_by_feature(found: Explanation, ax: Axes | None = None, *, top: int = 12) -> Axes:
    """What each feature adds to the disparity or takes from it; the others together.

    Features that were made from one raw column count as one.
    """
    _check(found)
    ax = axis(ax)
    parts = found.by_column()
    total = sum(parts.values())
    names = sorted(parts, key=lambda name: -abs(parts[name]))[:top]
    names.sort(key=lambda name: -parts[name])
    values = [parts[name] for name in names]
    if len(parts) > len(names):
        values.append(total - sum(values))
        names.append(f"{len(parts) - len(names)} others together")
    places = np.arange(len(values))
    bars = ax.barh(places, values, color=[LEFT_OUT if value >= 0 else REST for value in values])
    shares = [percent(value / total) for value in values]
    ax.bar_label(bars, shares, padding=3, fontsize=8)
    ax.margins(x=0.2)
    ax.axvline(0.0, color="black", lw=0.8)
    named(ax, names)
    title = f"A disparity of {number(total)}, by feature"
    return finish(ax, title, "part of the disparity", ticks="x")


def alignment(found: Explanation, ax: Axes | None = None, *, top: int = 12) -> Axes:
    """How far raw columns agree with the left-out group; those the search did not see in blue."""
    _check(found)
    ax = axis(ax)
    hidden = [line for line in found.alignment[top:] if not line.searched]
    lines = found.alignment[:top] + hidden[:3]
    for searched, color, label in (
        (True, LEFT_OUT, "searched"),
        (False, REST, "kept out of the search"),
    ):
        places = [place for place, line in enumerate(lines) if line.searched == searched]
        if places:
            ax.barh(places, [lines[p].strength for p in places], color=color, label=label)
    named(ax, [line.text for line in lines])
    ax.set_xlim(0.0, max([1.15 * line.strength for line in lines] + [0.1]))
    title, x = "Which columns the group looks like", "strength (at 1, the column is the group)"
    two = not all(line.searched for line in lines)
    return finish(ax, title, x, **({**_LEGEND_BELOW, "ncols": 2} if two else {}))


def known_groups(found: KnownGroups, ax: Axes | None = None, *, top: int = 20) -> Axes:
    """What the shared PCA keeps of each known group, and what its own would: two joined points.

    Groups that are left out come first, and in colour.
    """
    ax = axis(ax)
    groups = found.ranked[:top]
    sides = ((True, LEFT_OUT, "left out"), (False, GREY, "others"))
    for left_out, color, label in sides:
        chosen = [place for place, group in enumerate(groups) if group.left_out == left_out]
        if not chosen:
            continue
        kept, own = (
            100.0 * np.array([getattr(groups[place], name) for place in chosen])
            for name in ("retained", "retained_own")
        )
        labels = (f"{label}: shared {found.shared}", f"{label}: its own")
        ax.hlines(chosen, kept, own, color=color, lw=1.2)
        ax.plot(kept, chosen, "o", color=color, label=labels[0])
        ax.plot(own, chosen, "o", color=color, mfc="none", label=labels[1])
    named(ax, [group.text for group in groups], lines=2)
    below: Any = {"loc": "upper right", "bbox_to_anchor": (1.0, -0.1), "ncols": 2}
    return finish(ax, "What is kept of known groups", "variance that is kept, %", **below)


def _check(found: Any) -> None:
    if not hasattr(found, "disparity_by_feature"):
        raise InputError(
            f"Found {type(found).__name__} where an explanation is needed. Pass what "
            "leftout.explain.group returns."
        )
