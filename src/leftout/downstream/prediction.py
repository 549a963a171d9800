"""A prediction that is there already: how good it is on each side."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from leftout.checks import check_weights, check_whole, generator
from leftout.data.columns import Column, column_of
from leftout.data.roles import levels_of, value_of
from leftout.downstream.metrics import BootstrapMeasures
from leftout.downstream.outcomes import (
    ComparedGroups,
    PredictionTarget,
    as_target,
    prediction_target,
)
from leftout.downstream.result import GroupComparison
from leftout.errors import InputError
from leftout.linalg.losses import Array
from leftout.linalg.significance import Interval
from leftout.text import counted, unambiguous


@dataclass(frozen=True)
class ComparedPrediction(GroupComparison):
    """How good a prediction is on each side.

    Attributes
    ----------
    target, kind, group, rest, scale
        As in :class:`Harm`. Of groups that are not marked by 1 and 0, ``group`` is the smallest.
    probabilities : bool
        Whether the prediction was read as probabilities.
    missing : int
        Rows left out, since their target or prediction is missing.
    sizes : dict
        Rows of each side.
    measures : dict
        Of each side, each measure and its interval.
    gap : Interval
        The error of the group minus that of the rest.
    prediction : str
        What the prediction is called.
    """

    also = ("errs_more", "text", "base_text")

    probabilities: bool
    missing: int
    sizes: dict[str, int]
    measures: dict[str, dict[str, Interval]]
    gap: Interval
    prediction: str = "prediction"

    @property
    def errs_more(self) -> bool:
        """Whether it errs clearly more on the group than on the rest, and enough to matter."""
        return self._enough(self.gap)

    def summary(self) -> str:
        """What was found, in a few sentences."""
        return f"{self.text} {self.base_text}"

    @property
    def text(self) -> str:
        """The errors on both sides, and whether it errs more on one of them."""
        a, b = self._both("error")
        errs = f"errs more on {self._group} than on {self._rest}"
        verdict = f"It {errs}." if self.errs_more else f"That it {errs} is not shown."
        return (
            f"{self.target}: the {self._words.error} is {a} for {self._group} "
            f"({counted(self.sizes[self.group], 'row')}) and {b} for {self._rest} "
            f"({counted(self.sizes[self.rest], 'row')}), a difference of {self.around(self.gap)}. "
            f"{verdict}"
        )

    @property
    def base_text(self) -> str:
        """Target and predictions on both sides, and which rows are left out."""
        (a, b), (c, d) = (self._both(name) for name in (self._words.base, "mean_prediction"))
        text = f"The target itself is at {a} and {b}, the predictions at {c} and {d}."
        if self.missing:
            text += f" {counted(self.missing, 'row')} without target or prediction are left out."
        return text

    def _both(self, measure: str) -> list[str]:
        sides = (self.group, self.rest)
        return [self.figure(self.measures[side][measure].value) for side in sides]


def compare_prediction(
    prediction: Any,
    y: Any,
    groups: ArrayLike,
    *,
    positive: Any = None,
    bootstrap: int = 999,
    sample_weight: ArrayLike | None = None,
    random_state: Any = 0,
) -> ComparedPrediction:
    """Compare how good a prediction, of whatever model, is for a group and for the rest.

    Parameters
    ----------
    prediction : array of shape (m,)
        Classes as in ``y``, probabilities of the class that counts, or numbers.
    y : array of shape (m,)
        What was predicted.
    groups, positive, bootstrap, sample_weight, random_state
        As in :func:`leftout.harm`.

    Returns
    -------
    ComparedPrediction
        ``gap``, ``errs_more``, ``measures``, ``summary()``, ``to_dict()``.

    Examples
    --------
    >>> from leftout import compare_prediction
    >>> y, group = [0, 1] * 40, [1] * 40 + [0] * 40
    >>> guesses = [0] * 40 + [0, 1] * 20
    >>> found = compare_prediction(guesses, y, group)
    >>> found.gap.value, found.gap.clear
    (0.5, 1)
    """
    check_whole("bootstrap", bootstrap)
    column = as_target(y)
    given = prediction if isinstance(prediction, Column) else column_of(prediction)
    if len(given) != len(column):
        raise InputError(
            f"Found {counted(len(given), 'prediction')} for {counted(len(column), 'row')}; one for "
            "each row is needed, in the same order."
        )
    sides = ComparedGroups.of(groups, len(column))
    places, weights = check_weights(sample_weight, len(column))
    counting = np.arange(len(column))[places]
    target, known = prediction_target(column.take(counting), positive, 1, weights)
    there = ~given.missing[counting[known]]
    rows = counting[known][there]
    target, sides = target.take(np.flatnonzero(there)), sides.take(rows)
    sides.check(target, varied=False)
    guesses, chances, probabilities = _read(given.take(rows), column, target)
    found = BootstrapMeasures.of(
        target, guesses[None], chances[None], sides, bootstrap, generator(random_state)
    )
    if not probabilities:
        del found.values["auc"]
    sides = sides.led_by(-found.rows)
    return ComparedPrediction(
        target=target.text,
        kind=target.kind,
        group=sides.group,
        rest=sides.rest,
        scale=target.scale,
        probabilities=probabilities and bool(target.classes),
        missing=len(counting) - len(rows),
        sizes={name: int(found.rows[side]) for side, name in sides.sides},
        measures={name: found.at(side) for side, name in sides.sides},
        gap=found.apart(found.values["error"], sides.first, sides.rest_side(sides.first))[2],
        prediction=given.name,
    )


def _read(given: Column, column: Column, target: PredictionTarget) -> tuple[Array, Array, bool]:
    """Guesses, chances of classes, and whether these are probabilities; numbers have no classes."""
    numbers = given.numbers
    if not target.classes:
        if numbers is None or not np.isfinite(numbers).all():
            raise InputError(
                f"The target {target.name!r} is a number, but the prediction is not. Pass "
                "predicted numbers."
            )
        return numbers, np.zeros((len(numbers), 0)), True
    codes, unknown = _classes(given, column, target)
    if unknown is None:
        return codes, np.eye(len(target.classes))[codes.astype(np.intp)], False
    two = len(target.classes) == 2
    if not two or numbers is None or not (0.0 <= numbers.min() <= numbers.max() <= 1.0):
        raise InputError(
            f"The prediction holds {unambiguous(unknown)}, which is no class of the target "
            f"{target.name!r}. Pass classes as the target has them"
            + (", or probabilities from 0 to 1." if two else ".")
        )
    positive = numbers if target.positive == 1 else 1.0 - numbers
    chances = np.column_stack([1.0 - positive, positive])
    return (positive > 0.5).astype(np.float64), chances, True


def _classes(given: Column, column: Column, target: PredictionTarget) -> tuple[Array, str | None]:
    """Codes of predicted classes, and the first one that the target does not have."""
    if given.categories is None:
        distinct, _, places = given.tabulated
        texts = [given.show(value) for value in distinct.tolist()]
    else:
        texts, places = list(given.categories), given.values
    codes = np.zeros(len(texts))
    for place in np.unique(places).tolist():
        try:
            (level,) = levels_of(column, texts[place]) or [None]
        except InputError:
            return codes[places], texts[place]
        name = value_of(column, level)
        # of two classes, the first may be all values that do not count
        codes[place] = target.classes.index(name) if name in target.classes else 0
    return codes[places], None
