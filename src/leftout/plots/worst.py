"""Figures of mitigation that holds against every group: the price, the game."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from leftout.errors import InputError
from leftout.plots.axes import FAIR, LEFT_OUT, REST, axis, finish

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from leftout.fair.minimax import MinimaxPCA


def trade_off(fits: Sequence[MinimaxPCA], ax: Axes | None = None) -> Axes:
    """What the worst-off group loses against the price, for fits of several ``trade_off``."""
    if not fits:
        raise InputError("There is nothing to draw. Give at least one fitted MinimaxPCA.")
    ax = axis(ax)
    fits = sorted(fits, key=lambda fair: fair.trade_off)
    prices = [100.0 * fair.price_ for fair in fits]
    losses = [fair.worst_loss_ for fair in fits]
    ax.plot(prices, losses, color=FAIR, marker="o", ms=4, label="worst-off group")
    for fair, price, loss in zip(fits, prices, losses, strict=True):
        text = f"t = {fair.trade_off:g}"
        ax.annotate(text, (price, loss), textcoords="offset points", xytext=(4, 4))
    return _finish(ax, "What protecting the worst off costs", "price, % of the variance", "xy")


def rounds(fair: MinimaxPCA, ax: Axes | None = None) -> Axes:
    """The game round by round: what a search found above, what is proved below.

    Dashed: rounds with fractions of dimensions, before those of a projection.
    """
    history = fair.history_
    if not len(history):
        raise InputError("No round was played: ordinary PCA is the answer. Draw another fit.")
    ax = axis(ax)
    each = np.arange(1, len(history) + 1)
    for name, mask, style in (
        ("found, fractions of dimensions", history["rank"] == 0, "--"),
        ("found, projection", history["rank"] > 0, "-"),
    ):
        if mask.any():
            found = history["found"][mask]
            ax.plot(each[mask], found, style, color=LEFT_OUT, marker="o", ms=4, label=name)
    ax.plot(each, history["bound"], color=REST, marker="o", ms=4, label="proved")
    ax.locator_params(axis="x", integer=True)
    return _finish(ax, "Projection against search, round by round", "round")


def _finish(ax: Axes, title: str, x: str, ticks: str = "y") -> Axes:
    ax.set_ylim(bottom=0.0)
    return finish(ax, title, x, "loss of the worst off", ticks=ticks, loc="best")
