"""Figures as SVG inside a page: text stays text, and colours follow the page's."""

import re
from collections.abc import Callable
from io import StringIO
from threading import Lock
from typing import Any

from markupsafe import Markup, escape

# Colours that figures are drawn in, and what the page calls them.
_INK = "#010203"
_COLOURS = {
    _INK: "currentColor",
    "#000000": "currentColor",
    "#b5402a": "var(--left)",
    "#3a6ea5": "var(--rest)",
    "#8a8a8a": "var(--grey)",
    "#cccccc": "var(--line)",
    "#1b7f5c": "var(--fair)",
}
STYLE: Any = {
    "svg.fonttype": "none",
    "svg.hashsalt": "leftout",
    "font.size": 9.5,
    "axes.titlesize": 10.5,
    "axes.titleweight": "bold",
    "text.color": _INK,
    "axes.labelcolor": _INK,
    "axes.edgecolor": _INK,
    "axes.facecolor": "none",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "xtick.color": _INK,
    "ytick.color": _INK,
    "figure.facecolor": "none",
    "savefig.facecolor": "none",
}
_SIZE = (5.6, 3.7)
# Figures with many long names are taller, one with few lines is lower.
_SIZES = {"known": (5.6, 5.2), "sides": (5.6, 2.6)}
# Matplotlib's style is the process's: one figure at a time.
_DRAWING = Lock()
_NOTHING = {"Date": None, "Creator": None, "Format": None, "Type": None}


def drawn(name: str, draw: Callable[[Any], Any], alternative: str) -> Markup:
    """One figure, with a text for those who do not see it."""
    image = svg(draw, STYLE, _SIZES.get(name, _SIZE))
    image = image[image.index("<svg") :]
    image = re.sub(r"<metadata>.*?</metadata>", "", image, flags=re.DOTALL)
    image = _apart(image, name)
    for colour, ours in _COLOURS.items():
        image = image.replace(colour, ours)
    viewed = re.search(r'viewBox="[^"]+"', image)
    assert viewed is not None
    label = f"{name}-text"
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" '
        f'{viewed.group()} role="img" aria-labelledby="{label}">'
        f'<title id="{label}">{escape(alternative)}</title>'
    )
    return Markup(head + image[image.index(">") + 1 :])


def svg(draw: Callable[[Any], Any], style: Any, size: tuple[float, float] = _SIZE) -> str:
    """A figure as SVG, in a style."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    buffer = StringIO()
    with _DRAWING, rc_context(style):
        figure = Figure(figsize=size, layout="constrained")
        draw(figure.subplots())
        figure.savefig(buffer, format="svg", metadata=_NOTHING)
    return buffer.getvalue()


def _apart(svg: str, name: str) -> str:
    """Several figures share a page: each has names of its own."""
    svg = re.sub(r'\bid="([^"]+)"', rf'id="{name}-\1"', svg)
    svg = re.sub(r"url\(#([^)]+)\)", rf"url(#{name}-\1)", svg)
    return re.sub(r'xlink:href="#([^"]+)"', rf'xlink:href="#{name}-\1"', svg)
