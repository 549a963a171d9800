"""Figures of what components cost a model, side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from leftout.downstream.outcomes import ALL, SHARED
from leftout.errors import InputError, parameter_label
from leftout.plots.axes import FAIR, GREY, LEFT_OUT, QUIET, REST, axis, drawable, read

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from leftout.downstream.result import Harm


def harm(found: Harm, ax: Axes | None = None, *, model: str | None = None) -> Axes:
    """Errors of the group and of the rest from all columns, and from each projection's components.

    Bars are 95 % intervals. The leading model, or the one named. Of the leading model, dotted, also
    errors of those whom a mitigation leaves worst off.
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
    others = [line for line in found.others if line.worst_off and line.errors]
    for line, marker in zip(others if model in (None, found.models[0]) else [], "sD", strict=False):
        errors = [unit * line.errors[seen] for seen in found.variants]
        ax.plot(errors, ":", color=GREY, marker=marker, ms=4, label=line.text)
    called = {ALL: ALL, SHARED: f"shared {found.shared}, {found.n_components}"}
    ticks = [called.get(seen, f"{seen}, {found.n_components}") for seen in found.variants]
    ax.set_xticks(np.arange(len(ticks)), ticks)
    ax.set_xlim(-0.5, len(ticks) - 0.5)
    _finish(found, ax)
    ax.set_title(f"{drawable(found.target)} predicted by {drawable(model or found.models[0], 20)}")
    return ax


def harm_by_dimension(found: Harm, ax: Axes | None = None) -> Axes:
    """Errors of the group and of the rest by the number of components: shared dashed, fair solid.

    Grey lines are errors from all columns.
    """
    if not found.by_dimension:
        raise InputError(
            "There are no numbers of components to draw. Ask for them with "
            f"{parameter_label('by_dimension', True)}."
        )
    ax = axis(ax)
    unit = 1.0 if found.kind == "number" else 100.0
    numbers = [line.n_components for line in found.by_dimension]
    for name, side, color in (("group", found.group, LEFT_OUT), ("rest", found.rest, REST)):
        for kind, label, style in (("pca", "shared PCA", "--"), ("fair", "Fair PCA", "-")):
            errors = [unit * getattr(line, f"{kind}_{name}") for line in found.by_dimension]
            ax.plot(
                numbers, errors, style, color=color if kind == "pca" or name == "rest" else FAIR,
                marker="o", ms=3, label=f"{drawable(side, 30)}: {label}",
            )  # fmt: skip
        ax.axhline(unit * found.at(side, ALL).value, color=GREY, lw=0.8, ls=":")
    ax.axvline(found.n_components, color=QUIET, lw=1, zorder=0)
    ax.locator_params(axis="x", integer=True)
    ax.set_xlabel("components")
    _finish(found, ax)
    ax.set_title(f"{drawable(found.target)}: errors by number of components")
    return ax


def _finish(found: Harm, ax: Axes) -> None:
    ax.set_ylim(bottom=0.0)
    ax.set_ylabel("average error" if found.kind == "number" else "wrong predictions, %")
    read(ax.yaxis)
    for text in ax.legend(frameon=False).get_texts():
        text.set_parse_math(False)
    ax.title.set_parse_math(False)
