"""How good predictions are on each side, and how sure that is.

Every measure is a mean over rows, or is made of such means. So a row has one line of numbers,
averaged over repeats; sides add them up, and the bootstrap draws rows, the same for everything that
is compared.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import stats

from leftout.downstream.outcomes import ComparedGroups, Mask, PredictionTarget, Rows
from leftout.linalg.losses import Array
from leftout.linalg.significance import CONFIDENCE, Interval

# Draws that are added up at a time.
_DRAWS_TOGETHER = 64


class Difference(NamedTuple):
    """A number on a group, on its rest, and the former minus the latter."""

    group: Interval
    rest: Interval
    extra: Interval


def row_terms(
    target: PredictionTarget, guesses: Array, chances: Array, sides: Mask
) -> dict[str, Array]:
    """What each row adds to each side, in one repeat, times what it counts: (rows, sides).

    ``sides`` (rows, sides) says which rows are on which; ``chances`` (rows, classes) are the
    probabilities of classes.
    """
    weights = np.ones(len(sides)) if target.weights is None else target.weights
    each_counts = sides * weights[:, None]
    y, wrong = target.values, target.errors(guesses)
    each = {"wrong": wrong, "guessed_wrong": target.errors(target.guess)}
    if target.classes:
        positive = (y == target.positive).astype(np.float64)
        each |= {
            "positive": positive,
            "missed": wrong * positive,
            "alarm": wrong * (1.0 - positive),
            "predicted": chances[:, target.positive],
        }
    else:
        each |= {
            "squared_error": (guesses - y) ** 2, "value": y, "squared": y**2, "predicted": guesses,
        }  # fmt: skip
    found = {name: column[:, None] * each_counts for name, column in each.items()}
    found["weight"] = each_counts
    if target.classes:
        aucs = np.stack([_auc(target, chances, side, weights) for side in sides.T], axis=1)
        found["auc"] = aucs * weights[:, None]
    return found


def mean_terms(
    target: PredictionTarget, guesses: Array, chances: Array, sides: Mask
) -> dict[str, Array]:
    """:func:`row_terms` averaged over repeats, the first axis of ``guesses`` and ``chances``."""
    repeats = [row_terms(target, *each, sides) for each in zip(guesses, chances, strict=True)]
    return {name: np.mean([each[name] for each in repeats], axis=0) for name in repeats[0]}


def _measures(target: PredictionTarget, sums: dict[str, Array]) -> dict[str, Array]:
    """Measures from sums over rows: of classes, of two of them, or of numbers."""
    weight = sums["weight"]
    found = {"error": sums["wrong"] / weight, "guess_error": sums["guessed_wrong"] / weight}
    if target.classes:
        found["auc"] = sums["auc"] / weight
        if len(target.classes) == 2:
            found["false_negative"] = sums["missed"] / sums["positive"]
            found["false_positive"] = sums["alarm"] / (weight - sums["positive"])
        found["base_rate"] = sums["positive"] / weight
    else:
        about_mean = sums["squared"] - sums["value"] ** 2 / weight
        found["r2"] = 1.0 - sums["squared_error"] / about_mean
        found["mean"] = sums["value"] / weight
    return found | {"mean_prediction": sums["predicted"] / weight}


def _auc(target: PredictionTarget, chances: Array, side: Mask, weights: Array) -> Array:
    """Numbers whose mean on a side is the AUC there, and whose spread is that of it.

    DeLong's placements, each weighed as its class is rare, so that a draw of rows moves the mean as
    it moves the AUC. Of more than two classes, the mean over one against the others.
    """
    found, rows = np.zeros(len(side)), np.flatnonzero(side)
    parts = []
    for code in [1] if len(target.classes) == 2 else range(chances.shape[1]):
        is_it = target.values[rows] == code
        if is_it.any() and not is_it.all():
            parts.append(_placements(chances[rows, code], is_it, weights[rows]))
    found[rows] = np.mean(parts, axis=0) if parts else np.nan
    return found


def _placements(scores: Array, is_it: Mask, weights: Array) -> Array:
    whole, hits = weights.sum(), weights[is_it].sum()
    own = np.empty(len(scores))
    for side in (is_it, ~is_it):
        own[side] = _weight_below(scores[side], weights[side])
    below = _weight_below(scores, weights) - own  # of the other kind
    placed = np.where(is_it, below / (whole - hits), 1.0 - below / hits)
    auc = float(np.average(placed[is_it], weights=weights[is_it]))
    return auc + (placed - auc) * np.where(is_it, whole / hits, whole / (whole - hits))


def _weight_below(scores: Array, weights: Array) -> Array:
    """The weight of the rows of lower scores, and half of that of equal ones."""
    distinct, place = np.unique(scores, return_inverse=True)
    each = np.bincount(place, weights, len(distinct))
    return (np.cumsum(each) - each / 2.0)[place]


def bootstrap_sums(terms: Array, strata: Rows, draws: int, rng: np.random.Generator) -> Array:
    """Sums over rows, and over rows drawn again within each stratum: (1 + draws, columns)."""
    found = np.zeros((1 + draws, terms.shape[1]))
    found[0] = terms.sum(axis=0)
    for stratum in np.unique(strata):
        rows = terms[strata == stratum]
        n = len(rows)
        for start in range(1, 1 + draws, _DRAWS_TOGETHER):
            stop = min(start + _DRAWS_TOGETHER, 1 + draws)
            drawn = rng.integers(n, size=(stop - start, n)) + n * np.arange(stop - start)[:, None]
            counts = np.bincount(drawn.ravel(), minlength=n * (stop - start))
            found[start:stop] += counts.reshape(-1, n).astype(np.float64) @ rows
    return found


class BootstrapMeasures(NamedTuple):
    """Measures of all rows (first) and of draws of them, by name, (1 + draws, ..., sides).

    ``rows`` are those of each side.
    """

    values: dict[str, Array]
    rows: Array

    @classmethod
    def of(
        cls,
        target: PredictionTarget,
        guesses: Array,
        chances: Array,
        sides: ComparedGroups,
        draws: int,
        rng: np.random.Generator,
    ) -> BootstrapMeasures:
        """Of predictions (..., repeats, rows), with the probabilities of classes.

        What rows add is averaged over repeats; rows are drawn within each group.
        """
        members, averaged = sides.members(), dict[str, list[Array]]()
        *which, _, n_rows = guesses.shape
        for place in np.ndindex(*which):
            for name, mean in mean_terms(target, guesses[place], chances[place], members).items():
                averaged.setdefault(name, []).append(mean)
        terms = np.stack([np.stack(each, axis=1) for each in averaged.values()], axis=1)
        sums = bootstrap_sums(terms.reshape(n_rows, -1), sides.place, draws, rng)
        sums = sums.reshape(1 + draws, len(averaged), *which, members.shape[1])
        by_name = dict(zip(averaged, np.moveaxis(sums, 1, 0), strict=True))
        with np.errstate(invalid="ignore", divide="ignore"):
            values = _measures(target, by_name)
        return cls(values, members.sum(axis=0).astype(np.float64))

    def at(self, *where: int) -> dict[str, Interval]:
        """Every measure on a side, the last of ``where``; before it, which model and features."""
        rows = self.rows[where[-1]]
        return {name: interval(of.T[where[::-1]], rows) for name, of in self.values.items()}

    def apart(self, values: Array, side: int, other: int) -> Difference:
        """The interval of ``values`` (1 + draws, sides) on two sides, and of their difference."""
        a, b = self.rows[side], self.rows[other]
        return Difference(
            interval(values[:, side], a),
            interval(values[:, other], b),
            interval(values[:, side] - values[:, other], min(a, b)),
        )


class HeldOutPredictions(NamedTuple):
    """What the leading model said of each row while it was held out.

    ``rows`` are those of the table that were predicted, ``guesses`` (variants, repeats, rows) codes
    of classes or numbers, ``chances`` (..., classes) the probabilities of classes.
    """

    target: PredictionTarget
    rows: Rows
    guesses: Array
    chances: Array

    def measures(self, variant: int, of: Mask) -> dict[str, float]:
        """Every measure on some rows of the table, averaged over repeats."""
        side, seen = of[self.rows][:, None], (self.guesses[variant], self.chances[variant])
        terms = mean_terms(self.target, *seen, side)
        sums = {name: each.sum(axis=0) for name, each in terms.items()}
        with np.errstate(invalid="ignore", divide="ignore"):
            return {name: float(of[0]) for name, of in _measures(self.target, sums).items()}


def interval(values: Array, n_rows: float) -> Interval:
    """The figure (first) and the interval of its draws, as wide as few rows make it.

    Plain quantiles of a bootstrap are too narrow: by the variance that n rows lose to their own
    mean, and by the tails of Student's t.
    """
    value, drawn = float(values[0]), values[1:][np.isfinite(values[1:])]
    if not np.isfinite(value) or len(drawn) < 2 or n_rows < 2:
        return Interval(value, np.nan, np.nan)
    far = np.sqrt(n_rows / (n_rows - 1.0)) * stats.t.ppf(0.5 + CONFIDENCE / 2, n_rows - 1.0)
    tail = float(stats.norm.sf(far))
    low, high = np.quantile(drawn, [tail, 1.0 - tail])
    return Interval(value, float(low), float(high))
