"""What is predicted, and for whom: checked before anything is fitted."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from leftout.checks import check_groups
from leftout.data.columns import Column, column_of
from leftout.data.encoding import mean_and_variance, median
from leftout.data.roles import as_numbers, called, level_of, levels_of, value_of
from leftout.errors import InputError, parameter_label
from leftout.fair.assessment import FAIR_PCA as FAIR_PCA
from leftout.fair.assessment import MINIMAX_PCA as MINIMAX_PCA
from leftout.linalg.losses import Array
from leftout.text import as_name, counted, shortened, unambiguous

Mask = NDArray[np.bool_]
Rows = NDArray[np.intp]

# Fewer rows say next to nothing of an error rate.
FEWEST_PER_SIDE = 20
# Names and free text take more values than these, and are not what a model here predicts.
_MOST_CLASSES = 20
_COMPARED_MOST = 20
# What a model sees: all columns, or components of one of the projections, of which the last may be
# missing where it takes too long.
ALL, SHARED = "all columns", "shared PCA"
VARIANTS = (ALL, SHARED, FAIR_PCA, MINIMAX_PCA)
MITIGATIONS = (FAIR_PCA, MINIMAX_PCA)
# What the sides are called where nobody has named them.
GROUP, REST_NAME, OTHERS = "left-out group", "rest", "all others"


@dataclass(frozen=True)
class PredictionTarget:
    """What is predicted, for the rows where it is known.

    ``name`` is the column's, ``text`` what it is called: which of two classes counts.
    ``classes`` are the names of what ``values`` are codes of; none where these are numbers.
    ``positive`` is the code of the class whose rate is shown, ``weights`` what each row counts.
    """

    name: str
    text: str
    values: NDArray[Any]
    classes: tuple[str, ...] = ()
    positive: int = 0
    weights: Array | None = None  # None: every row once

    def take(self, rows: Rows) -> PredictionTarget:
        """The same of some of the rows."""
        weights = None if self.weights is None else self.weights[rows]
        return replace(self, values=self.values[rows], weights=weights)

    @property
    def kind(self) -> str:
        """What kind of thing is predicted."""
        if not self.classes:
            return "number"
        return "two classes" if len(self.classes) == 2 else "several classes"

    @property
    def scale(self) -> float:
        """What errors are measured against: the spread of numbers; of classes, all rows."""
        if self.classes:
            return 1.0
        _, variance = mean_and_variance(self.values, self.weights)
        return float(np.sqrt(variance))

    @property
    def guess(self) -> float:
        """What a model that has seen no column says: the most frequent class, or the median."""
        if self.classes:
            return float(np.bincount(self.values, self.weights).argmax())
        return median(self.values, self.weights)

    @property
    def strata(self) -> Rows:
        """Rows that folds should share evenly: classes, or fifths of the numbers."""
        if self.classes:
            return self.values
        ranks = np.argsort(np.argsort(self.values, kind="stable"), kind="stable")
        return (5 * ranks // len(ranks)).astype(np.intp)

    def errors(self, guesses: Any) -> NDArray[np.float64]:
        """How far guesses are off, of numbers; of classes, 1 where they are wrong."""
        if self.classes:
            return np.not_equal(guesses, self.values).astype(np.float64)
        return np.abs(guesses - self.values)

    def only_value(self, side: Mask) -> str:
        """The one value that it has on a side; nothing where it varies."""
        values = self.values[side]
        if len(np.unique(values)) > 1:
            return ""
        return unambiguous(self.classes[int(values[0])] if self.classes else f"{values[0]:g}")


def as_target(y: Any) -> Column:
    """What is to be predicted as a column, whatever it came as."""
    return y if isinstance(y, Column) else column_of(y, getattr(y, "name", None) or "target")


def prediction_target(
    y: Any, positive: Any, folds: int, weights: Array | None = None
) -> tuple[PredictionTarget, Mask]:
    """What is predicted where it is known, and which rows these are."""
    column = as_target(y)
    if column.missing.all():
        raise InputError(
            f"The target {column.name!r} is missing in all {len(column):,} rows, so "
            "that there is nothing to predict. Choose another target."
        )
    if levels_of(column, positive) is None:
        values = as_numbers(column)
        known = np.isfinite(values)
        weights = None if weights is None else weights[known]
        return PredictionTarget(column.name, called(column), values[known], weights=weights), known
    known, chosen = ~column.missing, level_of(column, positive)
    classes = column.categories or ()
    if positive is None and len(classes) > 2:
        if len(classes) > _MOST_CLASSES:
            raise InputError(
                f"The target {column.name!r} takes {len(classes):,} values that are not numbers; "
                f"models here predict up to {_MOST_CLASSES}. Choose another target, or say which "
                f"value counts with {parameter_label('positive')}."
            )
        text, codes, chosen = as_name(column.name), column.values[known], int(chosen)
    else:
        text, codes = called(column, positive), as_numbers(column, positive)[known]
        classes, chosen = _two_classes(column, chosen), 1
    counts = np.bincount(codes.astype(np.intp), minlength=len(classes))
    if counts.min() < folds:
        raise InputError(
            f"{counted(int(counts.min()), 'row')} with a known target "
            f"{'has' if counts.min() == 1 else 'have'} the class "
            f"{unambiguous(classes[int(counts.argmin())])}; every one of {folds} folds needs one. "
            "Join it with another class, or choose another target."
        )
    weights = None if weights is None else weights[known]
    target = PredictionTarget(column.name, text, codes.astype(np.intp), classes, chosen, weights)
    return target, known


def _two_classes(column: Column, chosen: Any) -> tuple[str, str]:
    """Names of whatever does not count, and of the value that does."""
    known = range(len(column.categories)) if column.categories else column.tabulated[0].tolist()
    counts, others = value_of(column, chosen), [value for value in known if value != chosen]
    return (value_of(column, others[0]) if len(others) == 1 else f"not {counts}"), counts


@dataclass(frozen=True)
class ComparedGroups:
    """The groups that are compared: which one is asked about first, and each row's place.

    Every group is compared with all other rows; of two groups these are the other one. Or each is
    compared with the group ``beside``, such as the 0 of 1 and 0.

    Sides are the groups, where there are more than two then all other rows for each of them, and
    all rows.
    """

    names: tuple[str, ...]
    place: Rows
    first: int = 0
    beside: int | None = None

    @classmethod
    def of(cls, labels: ArrayLike, n_rows: int, rest: Any = None) -> ComparedGroups:
        """Groups by their labels; of yes and no, or 1 and 0, the group is the first."""
        found, place = check_groups(labels, n_rows)
        if len(found) < 2:
            raise InputError(
                f"All {n_rows:,} rows are in one group; two sides are needed to compare. Give "
                "labels that tell a group from the rest."
            )
        if len(found) > _COMPARED_MOST:
            raise InputError(
                f"{parameter_label('groups')} has {len(found):,} different labels; up to "
                f"{_COMPARED_MOST} groups can be compared. Join groups, or compare one with "
                "the rest: labels == name."
            )
        if found.dtype.kind in "biuf" and found.tolist() == [0, 1]:
            return cls((GROUP, REST_NAME), 1 - place, beside=1)
        names = tuple(shortened(unambiguous(name)) for name in found.tolist())
        beside = None
        if rest is not None:
            if rest not in found:
                raise InputError(
                    f"{parameter_label('rest', rest)} is none of the labels in "
                    f"{parameter_label('groups')}. Give one of them, or leave it out."
                )
            beside = found.tolist().index(rest)
        return cls(names, place, beside=beside)

    def take(self, rows: Rows) -> ComparedGroups:
        """The same of some of the rows."""
        return replace(self, place=self.place[rows])

    def led_by(self, losses: NDArray[np.float64]) -> ComparedGroups:
        """The same with the group of the largest loss first."""
        groups = [group for group in range(len(self.names)) if group != self.beside]
        return replace(self, first=max(groups, key=lambda group: losses[group]))

    def members(self) -> Mask:
        """Which rows are on which side, (rows, sides)."""
        inside = self.place[:, None] == np.arange(len(self.names))
        others = ~inside[:, : 0 if len(self.names) == 2 else None]
        return np.hstack([inside, others, np.ones((len(inside), 1), dtype=bool)])

    def rest_side(self, group: int) -> int:
        """The side that a group is compared with."""
        if self.beside is not None:
            return self.beside
        return 1 - group if len(self.names) == 2 else len(self.names) + group

    @property
    def group(self) -> str:
        """What the group is called that is asked about first."""
        return self.names[self.first]

    @property
    def rest(self) -> str:
        """What those are called that it is compared with."""
        return [*self.names, *[OTHERS] * len(self.names)][self.rest_side(self.first)]

    @property
    def sides(self) -> list[tuple[int, str]]:
        """Sides that measures are given of: every group, and all others for the first one."""
        rest = self.rest_side(self.first)
        return [*enumerate(self.names), *[(rest, self.rest)] * (rest >= len(self.names))]

    def check(self, target: PredictionTarget, *, varied: bool = True) -> None:
        """Refuse groups of few rows, and with ``varied`` those where the target does not vary."""
        for code, name in enumerate(self.names):
            side = self.place == code
            if side.sum() < FEWEST_PER_SIDE:
                raise InputError(
                    f"Found {counted(int(side.sum()), 'row')} with a known target in "
                    f"{side_called(name)}; at least {FEWEST_PER_SIDE} are needed on each side. "
                    "Join small groups, or take larger ones."
                )
            only = target.only_value(side) if varied else ""
            if only:
                raise InputError(
                    f"The target {target.name!r} is {only} in every row of {side_called(name)}; "
                    "two values are needed on each side. Choose another target or other groups."
                )


def side_called(name: str) -> str:
    """A side in a sentence."""
    if name in (GROUP, REST_NAME):
        return f"the {name}"
    return name if name == OTHERS or name.startswith(f"{GROUP} ") else f"group {name}"
