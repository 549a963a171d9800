"""The quantities that the paper reports, each as measured on one sample: values, one a run."""

from __future__ import annotations

from typing import Any

import numpy as np

from leftout.reproduce.measured import Measured
from leftout.reproduce.searches import Array

OF = 30  # runs that published counts are out of


def sides(method: str, m: Measured) -> tuple[Array, Array]:
    """Losses and sizes of both sides, in the paper's order A, B.

    Of searches the rest and the left-out group; of sorting at the half the high and the low
    residuals; of matched sorting the side as large as the rest, and the other.
    """
    if method in m.found:
        return m.found[method].losses, m.found[method].sizes.astype(np.float64)
    half = method == "sorting_equal"
    cuts = [m.half] if half else m.matched
    order = slice(None) if half else slice(None, None, -1)
    losses = np.array([cut.losses[order] for cut in cuts])
    return losses, np.array([cut.sizes[order] for cut in cuts], dtype=np.float64)


def loss(method: str, side: int, m: Measured) -> Array:
    return sides(method, m)[0][:, side]


def disparity(method: str, m: Measured) -> Array:
    return np.abs(np.diff(sides(method, m)[0], axis=1)[:, 0])


def size(method: str, side: int, m: Measured) -> Array:
    return sides(method, m)[1][:, side]


def smaller(method: str, m: Measured) -> Array:
    lower: Array = sides(method, m)[1].min(axis=1)
    return lower


def larger(method: str, m: Measured) -> Array:
    upper: Array = sides(method, m)[1].max(axis=1)
    return upper


def agreement(quantile: float, m: Measured) -> Array:
    """A quantile of the agreement of greedy's runs."""
    return np.quantile(m.found["greedy"].agreement(), [quantile])


def random_agreement(m: Measured) -> Array:
    return m.found["greedy"].agreement_by_chance()


def adjacent_epochs(m: Measured) -> Array:
    return np.concatenate([run[:-1] for run in m.found["greedy"].within()])


def first_to_last_epoch(m: Measured) -> Array:
    return np.array([run[-1] for run in m.found["greedy"].within()])


def mended(name: str, part: str, side: int, m: Measured) -> Array:
    return np.array([getattr(m.mended[name], part)[side]], dtype=np.float64)


def score(kind: str, feature: int, m: Measured) -> Array:
    """A feature's score, averaged over runs as in the paper."""
    return np.array([np.mean([getattr(scores, kind)[feature] for scores in m.scores])])


def mean_score(kind: str, m: Measured) -> Array:
    return np.array([np.mean([getattr(scores, kind).mean() for scores in m.scores])])


def rule_runs(group: str, column: str, m: Measured) -> Array:
    """In how many of 30 runs a column leads the rules of a group."""
    side = "left_out_runs" if group == "minority" else "rest_runs"
    times = [line[side] for line in m.frequency.variables if line["variable"] == column]
    return np.array([OF * sum(times) / m.frequency.runs])


def pair_runs(group: str, pair: frozenset[str], m: Measured) -> Array:
    times = [line["runs"] for line in _pairs(group, pair, m)]
    return np.array([OF * sum(times) / m.frequency.runs])


def lift(group: str, pair: frozenset[str], end: int, m: Measured) -> Array:
    """The lowest or highest lift of a pair; nothing where it leads no rule."""
    return np.array([line["lift"][end] for line in _pairs(group, pair, m)], dtype=np.float64)


def lifts(pairs: list[tuple[str, frozenset[str]]], end: int, m: Measured) -> Array:
    """The same of several pairs, those that lead rules."""
    return np.concatenate([lift(group, pair, end, m) for group, pair in pairs])


def _pairs(group: str, pair: frozenset[str], m: Measured) -> list[dict[str, Any]]:
    side = "left-out group" if group == "minority" else "rest"
    return [line for line in m.frequency.pairs if line["group"] == side and {*line["pair"]} == pair]
