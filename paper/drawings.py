"""The paper's figures, each drawn on an axis that is given."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from io import StringIO
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from markupsafe import Markup, escape

from paper.compare import adjacent_epochs, first_to_last_epoch
from paper.known import STUDENTS
from paper.measure import (
    FORMULAS,
    THRESHOLD,
    Array,
    Formula,
    Found,
    Mended,
    Sampled,
    sides_agree,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes


# Colours that figures are drawn in, and what the page calls them: the left-out group, the rest,
# Fair PCA, and two that are beside the point.
_LEFT_OUT, _REST, _FAIR = "#b5402a", "#3a6ea5", "#1b7f5c"
_GREY, _QUIET, _INK = "#8a8a8a", "#cccccc", "#010203"
_COLOURS = {
    _INK: "currentColor",
    "#000000": "currentColor",
    _LEFT_OUT: "var(--left)",
    _REST: "var(--rest)",
    _GREY: "var(--grey)",
    _QUIET: "var(--line)",
    _FAIR: "var(--fair)",
}
_STYLE: Any = {
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
_NO_METADATA = {"Date": None, "Creator": None, "Format": None, "Type": None}


class Drawing(NamedTuple):
    """A figure: how it is drawn, what it is, and what it shows in words."""

    draw: Callable[[Axes], None]
    caption: str
    alternative: str


def standalone(draw: Callable[[Axes], None]) -> str:
    """One figure as a file of its own, on white; the same every time."""
    return _svg(draw, {**_STYLE, "figure.facecolor": "white", "savefig.facecolor": "white"})


def inline(name: str, drawing: Drawing) -> Markup:
    """One figure inside a page: text stays text, colours follow the page's."""
    image = _svg(drawing.draw, _STYLE)
    image = re.sub(r"<metadata>.*?</metadata>", "", image[image.index("<svg") :], flags=re.DOTALL)
    # several figures share a page: each has names of its own
    image = re.sub(r'\bid="([^"]+)"', rf'id="{name}-\1"', image)
    image = re.sub(r"url\(#([^)]+)\)", rf"url(#{name}-\1)", image)
    image = re.sub(r'xlink:href="#([^"]+)"', rf'xlink:href="#{name}-\1"', image)
    for colour, ours in _COLOURS.items():
        image = image.replace(colour, ours)
    viewed = re.search(r'viewBox="[^"]+"', image)
    assert viewed is not None
    label = f"{name}-text"
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" '
        f'{viewed.group()} role="img" aria-labelledby="{label}">'
        f'<title id="{label}">{escape(drawing.alternative)}</title>'
    )
    return Markup(head + image[image.index(">") + 1 :])


def _svg(draw: Callable[[Axes], None], style: Any) -> str:
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    buffer = StringIO()
    with rc_context(style):
        figure = Figure(figsize=_SIZE, layout="constrained")
        draw(figure.subplots())
        figure.savefig(buffer, format="svg", metadata=_NO_METADATA)
    return buffer.getvalue()


def variance(shares: Array, d: int, title: str, ax: Axes) -> None:
    """Cumulative share of the variance by number of components."""
    numbers = np.arange(1, len(shares) + 1)
    ax.plot(numbers, 100 * shares, color=_REST, lw=2, marker="o", ms=3)
    ax.axhline(100 * THRESHOLD, color=_GREY, lw=1, ls="--")
    ax.axvline(d, color=_LEFT_OUT, lw=1, ls=":")
    ax.set(ylim=(0, 102), xlabel="components", ylabel="share of the variance, %")
    ax.set_title(f"{title}: {d} components keep {100 * shares[d - 1]:.1f}% of the variance")


def epochs(found: Found, title: str, ax: Axes) -> None:
    """Disparity after each epoch, of all runs and of the best."""
    runs = found.epochs
    for run in runs:
        ax.plot(run, color=_QUIET, lw=1)
    best = runs[found.best]
    ax.plot(best, color=_LEFT_OUT, lw=2, label=f"best of {len(runs)} runs")
    ax.legend(frameon=False)
    ax.locator_params(axis="x", integer=True)
    ax.set(xlabel="epoch", ylabel="disparity", title=title)


def matrix(found: Found, title: str, ax: Axes) -> None:
    """How far every two runs agree: the largest Jaccard of the four pairings of their sides."""
    values = sides_agree(found.labels)
    image = ax.imshow(values, vmin=0.0, vmax=1.0, cmap="viridis", interpolation="nearest")
    ax.figure.colorbar(image, ax=ax, label="Jaccard", fraction=0.046, pad=0.04)
    ax.locator_params(integer=True)
    ax.set(xlabel="run", ylabel="run", title=title)


def within(found: Found, title: str, ax: Axes) -> None:
    """Agreement of adjacent epochs, one line per run; dots: of the first and the last epoch."""
    for run in found.within():
        ax.plot(np.arange(2, len(run) + 1), run[:-1], color=_QUIET, lw=1)
    ends = [(len(run), run[-1]) for run in found.within()]
    ax.plot(*np.transpose(ends), "o", color=_LEFT_OUT, ms=4, label="first and last epoch")
    ax.plot([], [], color=_QUIET, label="adjacent epochs")
    ax.locator_params(axis="x", integer=True)
    ax.set(ylim=(0.0, 1.02), xlabel="epoch", ylabel="Jaccard", title=title)
    ax.legend(frameon=False, loc="lower right")


def fair(lines: list[Mended], names: tuple[str, str], d: int, title: str, ax: Axes) -> None:
    """Losses of two groups by number of components: ordinary PCA dashed, Fair PCA solid."""
    numbers = np.arange(1, len(lines) + 1)
    for side, colour in enumerate((_REST, _LEFT_OUT)):
        before, label = [line.before[side] for line in lines], f"ordinary PCA: {names[side]}"
        ax.plot(numbers, before, color=colour, lw=1.5, ls="--", label=label)
    after = [line.after.max() for line in lines]
    ax.plot(numbers, after, color=_FAIR, lw=2.5, label="Fair PCA: the larger")
    ax.axvline(d, color=_QUIET, lw=1, zorder=0)
    ax.locator_params(axis="x", integer=True)
    ax.set(xlabel="components", ylabel="average loss", title=title)
    ax.legend(frameon=False)


def of_sample(key: str, first: Sampled) -> dict[str, Drawing]:
    """Variance, epochs, agreement of runs and within runs."""
    shares, d = first.cumulative, first.d
    figures = {
        f"{key}-variance": Drawing(
            partial(variance, shares, d, key.capitalize()),
            f"{_figure(key, 1)}: cumulative variance; dashed: {100 * THRESHOLD:.0f}%.",
            f"Curve: {d} components keep {100 * shares[d - 1]:.1f}% of the variance.",
        )
    }
    for formula in FORMULAS:
        measured = first.formulas[formula.key]
        greedy = measured.found["greedy"]
        runs = greedy.epochs
        start, end = (np.median([run[at] for run in runs]) for at in (0, -1))
        pairs, adjacent, ends = (
            greedy.agreement(), adjacent_epochs(measured), first_to_last_epoch(measured)
        )  # fmt: skip
        lowest = f"{adjacent.min():.2f}" if len(adjacent) else "1"
        title = f"{key.capitalize()}, greedy, {formula.words}"
        figures |= {
            f"{key}-epochs-{formula.key}": Drawing(
                partial(epochs, greedy, title),
                f"{_figure(key, 2)}: disparity over epochs, {formula.words}.",
                f"Lines: from {start:.3g} to {end:.3g} in the median of {len(runs)} runs.",
            ),
            f"{key}-jaccard-{formula.key}": Drawing(
                partial(matrix, greedy, title),
                f"{_figure(key, 3)}: agreement of every two runs, {formula.words}: the largest "
                "Jaccard of the four pairings of their sides. Small groups leave large rests, "
                "which agree whoever is in them.",
                f"Squares: Jaccard {np.median(pairs):.2f} in the median, {pairs.min():.2f} to "
                f"{pairs.max():.2f}.",
            ),
            f"{key}-within-{formula.key}": Drawing(
                partial(within, greedy, title),
                f"{_figure(key, 4)}: agreement of epochs within runs, {formula.words}.",
                f"Lines: adjacent epochs agree by {lowest} at least. Dots: first and last epoch "
                f"agree by {ends.min():.2f} to {ends.max():.2f}.",
            ),
        }
    return figures


def of_fair(
    key: str, number: int, formula: Formula, lines: list[Mended], names: tuple[str, str], d: int
) -> Drawing:
    """Losses before and after Fair PCA; the paper's figure of this number."""
    here = lines[d - 1]
    title = f"{names[0].capitalize()} and {names[1]}, {formula.words}"
    return Drawing(
        partial(fair, lines, names, d, title),
        f"{_figure(key, number)}: losses before and after Fair PCA by number of components, "
        f"{names[0]} and {names[1]}, {formula.words}. Scales differ between formulas.",
        f"Lines: at {d} components the losses go from {here.before[0]:.3g} and "
        f"{here.before[1]:.3g} to {here.after[0]:.3g} and {here.after[1]:.3g}.",
    )


def _figure(key: str, number: int) -> str:
    """The paper has figures of students only."""
    return f"{'The' if key == STUDENTS.key else 'Like the'} paper's Figure {number}"
