"""One figure a function: each takes an axis (or makes one), draws on it, and returns it.

Needs matplotlib: ``pip install 'leftout[plots]'``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from leftout.profiles import Profile
from leftout.stability import Stability

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_TABLE, _COPULA, _GAUSSIAN, _QUIET = "#b5402a", "#3a6ea5", "#8a8a8a", "#cccccc"
_CHANCE = {"copula": _COPULA, "gaussian": _GAUSSIAN}


def profile(found: Profile, ax: Axes | None = None) -> Axes:
    """Best disparity by group size, above the bands that chance leads to.

    Bands reach from the 5 to the 95 % quantile of the chance tables; the evidence size is marked.
    """
    ax = _axis(ax)
    for kind, chance in found.chance.items():
        color = _CHANCE[kind]
        ax.fill_between(found.sizes, chance.low, chance.high, color=color, alpha=0.25, lw=0)
        label = f"{kind} chance, p = {chance.p_value:.2g}"
        ax.plot(found.sizes, chance.mean, color=color, lw=1.5, ls="--", label=label)
    ax.plot(found.sizes, found.disparities, color=_TABLE, lw=2, marker="o", ms=4, label="table")
    if found.evidence_size is not None:
        label = f"most evidence: {found.evidence_size:,} rows"
        ax.axvline(found.evidence_size, color=_TABLE, lw=1, ls=":", label=label)
    _log_sizes(ax, found.sizes)
    ax.set_ylim(bottom=0.0)
    ax.set_xlabel("rows in the left-out group")
    ax.set_ylabel("disparity")
    ax.set_title("Best disparity, beside chance")
    ax.legend(frameon=False, loc="upper right")  # disparities fall with size
    return ax


def jaccard(found: Stability, ax: Axes | None = None) -> Axes:
    """Heat map of how far every two runs agree, runs of the same group side by side."""
    ax = _axis(ax)
    order = np.concatenate([group.runs for group in found.groups])
    values = found.jaccard[np.ix_(order, order)]
    image = ax.imshow(values, vmin=0.0, vmax=1.0, cmap="viridis", interpolation="nearest")
    edges = np.cumsum([len(group.runs) for group in found.groups])[:-1] - 0.5
    for edge in edges:
        ax.axhline(edge, color="white", lw=1)
        ax.axvline(edge, color="white", lw=1)
    ax.figure.colorbar(image, ax=ax, label="Jaccard", fraction=0.046, pad=0.04)
    # Runs are sorted by the group they found, so their numbers would say nothing.
    ax.set_xticks([])
    ax.set_yticks([])
    ax.set_xlabel("runs, by the group they found" if len(edges) else "runs")
    ax.set_title(f"Agreement of {len(values)} runs, mean {found.mean:.2f}")
    return ax


def consensus(found: Stability, ax: Axes | None = None) -> Axes:
    """Histogram: in how many runs is a row left out? Rows that never are, are not shown."""
    ax = _axis(ax)
    share = found.consensus
    runs = len(found.labels)
    ax.hist(share[share > 0], bins=np.linspace(0.0, 1.0, min(runs, 20) + 1).tolist(), color=_COPULA)
    ax.set_xlim(0.0, 1.0)
    ax.set_xlabel(f"share of {runs} runs that leave a row out")
    ax.set_ylabel("rows")
    ax.set_title(
        f"{int((share == 1).sum()):,} rows in every run, {int((share == 0).sum()):,} in none"
    )
    return ax


def epochs(found: Any, ax: Axes | None = None) -> Axes:
    """Disparity after each epoch or pass: of all runs, or of one fitted estimator."""
    ax = _axis(ax)
    if isinstance(found, Stability):
        if found.epochs is None:
            raise ValueError(
                "These runs kept no epochs: only solvers that sweep over the rows have them. "
                "Use solver='greedy', or pass a fitted MaxDisparityPartition."
            )
        for run in found.epochs:
            ax.plot(run, color=_QUIET, lw=1)
        best = found.epochs[int(np.argmax(found.disparities))]
        ax.plot(best, color=_TABLE, lw=2, label=f"best of {len(found.epochs)} runs")
        ax.legend(frameon=False)
    else:
        ax.plot(found.history_["disparity"], color=_TABLE, lw=2, marker="o", ms=4)
    ax.locator_params(axis="x", integer=True)
    ax.set_xlabel("epoch")
    ax.set_ylabel("disparity")
    ax.set_title("Disparity by epoch")
    return ax


def _axis(ax: Axes | None) -> Axes:
    if ax is not None:
        return ax
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise ImportError(
            "Figures need matplotlib, which is not installed. Run: pip install 'leftout[plots]'"
        ) from error
    return pyplot.subplots(figsize=(6.4, 4.0), layout="constrained")[1]


def _log_sizes(ax: Axes, sizes: np.ndarray) -> None:
    """A logarithmic axis with a few of the sizes themselves as ticks."""
    ax.set_xscale("log")
    shown = sizes[:: max(1, len(sizes) // 5)]
    ax.set_xticks(shown, [f"{size:,}" for size in shown])
    ax.minorticks_off()
