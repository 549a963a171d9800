"""How good predictions are on each side, and how sure that is.

Every measure is a mean over rows, or is made of such means. So a row has one line of numbers,
averaged over repeats; sides add them up, and the bootstrap draws rows, the same for everything that
is compared.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from leftout.downstream.outcomes import Aim
from leftout.linalg.effects import CONFIDENCE, Interval
from leftout.linalg.losses import Array

# Probabilities nearer to 0 or 1 than this count as this: no single row costs more than 16.
_SURE = 1e-7
# Draws that are added up at a time.
_TOGETHER = 64

Mask = NDArray[np.bool_]


class Measure(NamedTuple):
    """A figure from sums over rows, by the names of what is summed up."""

    name: str
    of: Callable[[dict[str, Array]], Array]


def _mean(column: str) -> Callable[[dict[str, Array]], Array]:
    return lambda sums: sums[column] / sums["rows"]


def _explained(sums: dict[str, Array]) -> Array:
    about_mean = sums["squared"] - sums["value"] ** 2 / sums["rows"]
    return 1.0 - sums["squared_error"] / about_mean


_ERRORS = [Measure("error", _mean("wrong")), Measure("guess_error", _mean("guessed_wrong"))]
_PREDICTED = Measure("mean_prediction", _mean("chance"))
_CLASSES = [
    *_ERRORS,
    Measure("log_loss", _mean("log_loss")),
    Measure("auc", _mean("auc")),
]
_RATES = [Measure("base_rate", _mean("positive")), _PREDICTED]
_TWO = [
    Measure("false_negative", lambda sums: sums["missed"] / sums["positive"]),
    Measure("false_positive", lambda sums: sums["alarm"] / (sums["rows"] - sums["positive"])),
]
_NUMBERS = [
    *_ERRORS,
    Measure("r2", _explained),
    Measure("mean", _mean("value")),
    _PREDICTED,
]


def measures_of(aim: Aim) -> list[Measure]:
    """What is told of predictions: of classes, of two of them, or of numbers."""
    if aim.classes is None:
        return _NUMBERS
    return [*_CLASSES, *(_TWO if aim.two else []), *_RATES]


def errors(aim: Aim, guesses: Array | float) -> Array:
    """How far guesses are off, of numbers; of classes, 1 where they are wrong."""
    if aim.classes is None:
        return np.abs(guesses - aim.values)
    return np.not_equal(guesses, aim.values).astype(np.float64)


def members(place: NDArray[np.intp], n_groups: int) -> Mask:
    """Which rows are on which side: in each group; of more than two, then in any but that."""
    inside = place[:, None] == np.arange(n_groups)
    return inside if n_groups == 2 else np.hstack([inside, ~inside])


def lines(
    aim: Aim, guesses: Array, chances: Array | None, sides: Mask, sure: bool = True
) -> dict[str, Array]:
    """What each row adds to each side, in one repeat: arrays of shape (rows, sides).

    ``sides`` (rows, sides) says which rows are on which.
    """
    each = _of_numbers(aim, guesses) if chances is None else _of_classes(aim, guesses, chances)
    each |= {"wrong": errors(aim, guesses), "guessed_wrong": errors(aim, aim.guess)}
    found = {name: column[:, None] * sides for name, column in each.items()}
    found["rows"] = sides.astype(np.float64)
    if chances is not None:
        found["auc"] = np.stack([_auc(aim, chances, side) for side in sides.T], axis=1)
        if not sure:
            found["log_loss"] = np.full(sides.shape, np.nan)
    return found


def _of_numbers(aim: Aim, guesses: Array) -> dict[str, Array]:
    y = aim.values
    return {
        "squared_error": (guesses - y) ** 2,
        "value": y,
        "squared": y**2,
        "chance": guesses,
    }


def _of_classes(aim: Aim, guesses: Array, chances: Array) -> dict[str, Array]:
    y = aim.values
    wrong = errors(aim, guesses)
    positive = (y == aim.positive).astype(np.float64)
    given = np.clip(chances[np.arange(len(y)), y], _SURE, 1.0)
    return {
        "log_loss": -np.log(given),
        "positive": positive,
        "missed": wrong * positive,
        "alarm": wrong * (1.0 - positive),
        "chance": chances[:, aim.positive],
    }


def _auc(aim: Aim, chances: Array, side: Mask) -> Array:
    """Numbers whose mean on a side is the AUC there, and whose spread is that of it.

    DeLong's placements, each weighed as its class is rare, so that a draw of rows moves the mean as
    it moves the AUC. Of more than two classes, the mean over one against the others.
    """
    found, rows = np.zeros(len(side)), np.flatnonzero(side)
    classes = [1] if aim.two else range(chances.shape[1])
    parts = []
    for code in classes:
        is_it = aim.values[rows] == code
        if is_it.any() and not is_it.all():
            parts.append(_placed(chances[rows, code], is_it))
    found[rows] = np.mean(parts, axis=0) if parts else np.nan
    return found


def _placed(scores: Array, is_it: Mask) -> Array:
    n, hits = len(scores), int(is_it.sum())
    everyone = stats.rankdata(scores)
    own = np.empty(n)
    own[is_it], own[~is_it] = stats.rankdata(scores[is_it]), stats.rankdata(scores[~is_it])
    below = everyone - own  # of the other kind, ties half
    placed = np.where(is_it, below / (n - hits), 1.0 - below / hits)
    auc = float(placed[is_it].mean())
    return auc + (placed - auc) * np.where(is_it, n / hits, n / (n - hits))


def summed(lines: Array, strata: NDArray[np.intp], draws: int, rng: np.random.Generator) -> Array:
    """Sums over rows, and over rows drawn again within each stratum: (1 + draws, columns)."""
    found = np.zeros((1 + draws, lines.shape[1]))
    found[0] = lines.sum(axis=0)
    for stratum in np.unique(strata):
        rows = lines[strata == stratum]
        n = len(rows)
        for start in range(1, 1 + draws, _TOGETHER):
            stop = min(start + _TOGETHER, 1 + draws)
            drawn = rng.integers(n, size=(stop - start, n)) + n * np.arange(stop - start)[:, None]
            counts = np.bincount(drawn.ravel(), minlength=n * (stop - start))
            found[start:stop] += counts.reshape(-1, n).astype(np.float64) @ rows
    return found


def drawn(
    aim: Aim,
    columns: dict[str, Array],
    strata: NDArray[np.intp],
    draws: int,
    rng: np.random.Generator,
) -> tuple[dict[str, Array], Array]:
    """Measures of all rows and of draws of them, (1 + draws, ...), and how many rows there are.

    ``columns`` (rows, ...) are what rows add, by name.
    """
    shape = columns["rows"].shape[1:]
    stacked = np.stack(list(columns.values()), axis=1)
    sums = summed(stacked.reshape(len(strata), -1), strata, draws, rng)
    parts = np.moveaxis(sums.reshape(1 + draws, len(columns), *shape), 1, 0)
    by_name = dict(zip(columns, parts, strict=True))
    with np.errstate(invalid="ignore", divide="ignore"):
        measures = {each.name: each.of(by_name) for each in measures_of(aim)}
    return measures, by_name["rows"][0]


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
