"""What figures share: axes, colours, and names and numbers that can be read."""

from __future__ import annotations

import unicodedata
from textwrap import fill
from typing import TYPE_CHECKING, Any

import numpy as np

from leftout.text import number, shown

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis

# The left-out group or the table itself, the rest, surrogate tables, and what is beside the point.
LEFT_OUT, REST, GREY, QUIET, FAIR = "#b5402a", "#3a6ea5", "#8a8a8a", "#cccccc", "#1b7f5c"


def drawable(text: Any, width: int = 36) -> str:
    """Text that a figure's font can draw, cut in the middle where it is long.

    A character that the font lacks is spelt out, as in ``:unicorn face:``.
    """
    from matplotlib import font_manager

    font = font_manager.get_font(font_manager.findfont(font_manager.FontProperties()))
    known = font.get_charmap()
    parts = []
    for char in shown(text):
        if ord(char) in known:
            parts.append(char)
        elif unicodedata.category(char) not in ("Cf", "Mn"):  # joiners and variants of emoji
            parts.append(f":{unicodedata.name(char, f'U+{ord(char):04X}').lower()}:")
    drawn = "".join(parts)
    if len(drawn) <= width:
        return drawn
    return f"{drawn[: width - width // 3 - 1]}\u2026{drawn[len(drawn) - width // 3 :]}"


def named(ax: Axes, names: list[str], lines: int = 1) -> None:
    """Horizontal bars from the top, named as they are: a dollar sign starts no formula."""
    texts = [drawable(name, 36 * lines) for name in names]
    texts = texts if lines == 1 else [fill(text, 38) for text in texts]
    ax.set_yticks(np.arange(len(names)), texts)
    for label in ax.get_yticklabels():
        label.set_parse_math(False)
        label.set_fontsize(8 if lines > 1 else label.get_fontsize())
    ax.invert_yaxis()


def axis(ax: Axes | None) -> Axes:
    """The axis given, or a new one."""
    if ax is not None:
        return ax
    from matplotlib import pyplot

    return pyplot.subplots(figsize=(6.4, 4.0), layout="constrained")[1]


def finish(
    ax: Axes, title: str, x: str = "", y: str = "", *, ticks: str = "", **legend: Any
) -> Axes:
    """Title, labels, and a legend where something is said of it; ``ticks``: axes to read.

    No text of these is a formula, whatever it holds.
    """
    ax.set_title(title, parse_math=False)
    ax.set_xlabel(x or ax.get_xlabel())
    ax.set_ylabel(y or ax.get_ylabel())
    for name in ticks:
        _number_ticks(ax.xaxis if name == "x" else ax.yaxis)
    if legend:
        for text in ax.legend(frameon=False, **legend).get_texts():
            text.set_parse_math(False)
    return ax


def _number_ticks(axis: Axis) -> None:
    """Ticks as people read numbers, as fine as the axis is long."""
    axis.set_major_formatter(
        lambda value, _: number(value, scale=float(np.ptp(axis.get_view_interval())))
    )
