"""The paper's figures, each drawn on an axis that is given."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from leftout import plots
from leftout.reproduce.formulas import FORMULAS, Formula
from leftout.reproduce.known import STUDENTS
from leftout.reproduce.measured import Mended, Sampled
from leftout.reproduce.searches import Array, Found, sides_agree

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def variance(shares: Array, d: int, threshold: float, title: str, ax: Axes) -> Axes:
    """Cumulative share of the variance by number of components."""
    numbers = np.arange(1, len(shares) + 1)
    ax.plot(numbers, 100 * shares, color=plots.REST, lw=2, marker="o", ms=3)
    ax.axhline(100 * threshold, color=plots.GREY, lw=1, ls="--")
    ax.axvline(d, color=plots.LEFT_OUT, lw=1, ls=":")
    ax.set_ylim(0, 102)
    ax.set_xlabel("components")
    ax.set_ylabel("share of the variance, %")
    ax.set_title(f"{title}: {d} components keep {100 * shares[d - 1]:.1f} % of the variance")
    return ax


def epochs(found: Found, title: str, ax: Axes) -> Axes:
    plots.epochs(found.stability, ax).set_title(title)
    return ax


def matrix(found: Found, title: str, ax: Axes) -> Axes:
    """How far every two runs agree: the largest Jaccard of the four pairings of their sides."""
    values = sides_agree(found.labels)
    image = ax.imshow(values, vmin=0.0, vmax=1.0, cmap="viridis", interpolation="nearest")
    ax.figure.colorbar(image, ax=ax, label="Jaccard", fraction=0.046, pad=0.04)
    ax.locator_params(integer=True)
    ax.set_xlabel("run")
    ax.set_ylabel("run")
    ax.set_title(title)
    return ax


def within(found: Found, title: str, ax: Axes) -> Axes:
    """Agreement of adjacent epochs, a line a run; dots: of the first and the last epoch."""
    for run in found.within():
        ax.plot(np.arange(2, len(run) + 1), run[:-1], color=plots.QUIET, lw=1)
    ends = [(len(run), run[-1]) for run in found.within()]
    ax.plot(*np.transpose(ends), "o", color=plots.LEFT_OUT, ms=4, label="first and last epoch")
    ax.plot([], [], color=plots.QUIET, label="adjacent epochs")
    ax.locator_params(axis="x", integer=True)
    ax.set_ylim(0.0, 1.02)
    ax.set_xlabel("epoch")
    ax.set_ylabel("Jaccard")
    ax.set_title(title)
    ax.legend(frameon=False, loc="lower right")
    return ax


def fair(lines: list[Mended], names: tuple[str, str], d: int, title: str, ax: Axes) -> Axes:
    """Losses of two groups by number of components: ordinary PCA dashed, Fair PCA solid."""
    numbers = np.arange(1, len(lines) + 1)
    for side, colour in ((0, plots.REST), (1, plots.LEFT_OUT)):
        before = [line.before[side] for line in lines]
        ax.plot(
            numbers, before, color=colour, lw=1.5, ls="--", label=f"ordinary PCA: {names[side]}"
        )
    after = [line.after.max() for line in lines]
    ax.plot(numbers, after, color=plots.FAIR, lw=2.5, label="Fair PCA: the larger")
    ax.axvline(d, color=plots.QUIET, lw=1, zorder=0)
    ax.locator_params(axis="x", integer=True)
    ax.set_xlabel("components")
    ax.set_ylabel("average loss")
    ax.set_title(title)
    ax.legend(frameon=False)
    return ax


class Drawing:
    """A figure: how it is drawn, what it is, and what it shows in words."""

    def __init__(self, draw: Callable[[Axes], Any], caption: str, alternative: str) -> None:
        self.draw, self.caption, self.alternative = draw, caption, alternative


def of_sample(key: str, first: Sampled, threshold: float) -> dict[str, Drawing]:
    """Variance, epochs, agreement of runs and within runs."""
    shares, d = first.cumulative, first.d
    figures = {
        f"{key}-variance": Drawing(
            partial(variance, shares, d, threshold, key.capitalize()),
            f"{_figure(key, 1)}: cumulative variance; dashed: {100 * threshold:.0f} %.",
            f"Curve: {d} components keep {100 * shares[d - 1]:.1f} % of the variance.",
        )
    }
    for formula in FORMULAS:
        greedy = first.formulas[formula.key].found["greedy"]
        runs = greedy.stability.epochs or []
        start, end = np.median([e[0] for e in runs]), np.median([e[-1] for e in runs])
        pairs = greedy.agreement()
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
                _within_words(greedy),
            ),
        }
    return figures


def _figure(key: str, number: int) -> str:
    """The paper has figures of students only."""
    return f"{'The' if key == STUDENTS.key else 'Like the'} paper's Figure {number}"


def _within_words(found: Found) -> str:
    runs = found.within()
    adjacent = np.concatenate([run[:-1] for run in runs])
    ends = np.array([run[-1] for run in runs])
    lowest = f"{adjacent.min():.2f}" if len(adjacent) else "1"
    return (
        f"Lines: adjacent epochs agree by {lowest} at least. Dots: first and last epoch agree by "
        f"{ends.min():.2f} to {ends.max():.2f}."
    )


def of_fair(
    key: str, name: str, formula: Formula, lines: list[Mended], names: tuple[str, str], d: int
) -> tuple[str, Drawing]:
    here = lines[d - 1]
    number = {"global": 5, "daytime_evening": 6, "low_grade_and_unpaid_tuition": 7}[name]
    title = f"{names[0].capitalize()} and {names[1]}, {formula.words}"
    return f"{key}-fair-{name}-{formula.key}".replace("_", "-"), Drawing(
        partial(fair, lines, names, d, title),
        f"{_figure(key, number)}: losses before and after Fair PCA by number of components, "
        f"{names[0]} and {names[1]}, {formula.words}. Scales differ between formulas.",
        f"Lines: at {d} components the losses go from {here.before[0]:.3g} and "
        f"{here.before[1]:.3g} to {here.after[0]:.3g} and {here.after[1]:.3g}.",
    )
