"""What is predicted, and for whom: checked before anything is fitted."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from leftout.checks import check_groups
from leftout.data.columns import Column, column_of
from leftout.data.roles import as_numbers, called, level_of, levels_of, value_of
from leftout.errors import InputError, parameter_label
from leftout.fair.afterwards import FAIR as FAIR
from leftout.fair.afterwards import MINIMAX as MINIMAX
from leftout.text import as_name, counted, shortened, unambiguous

# Fewer rows say next to nothing of an error rate.
FEWEST_PER_SIDE = 20
# Names and free text take more values than these, and are not what a model here predicts.
_CLASSES = 20
_GROUPS = 20
# What a model sees: all columns, or components of one of the projections, of which the last may be
# missing where it takes too long.
ALL, SHARED = "all columns", "shared PCA"
VARIANTS = (ALL, SHARED, FAIR, MINIMAX)
MITIGATIONS = (FAIR, MINIMAX)
# What the sides are called where nobody has named them.
GROUP, REST, OTHERS = "left-out group", "rest", "all others"


class TooRare(InputError):
    """A class has too few rows; ``found`` says so without advice, which depends on who asks."""

    def __init__(self, found: str) -> None:
        self.found = found
        super().__init__(
            f"{found} Join it with another class, or lower {parameter_label('folds')}."
        )


@dataclass(frozen=True)
class Aim:
    """What is predicted, for the rows where it is known.

    ``name`` is the column's, ``text`` what is told of it: which of two classes counts.
    ``classes`` are the names of what ``values`` are codes of; None where these are numbers.
    ``positive`` is the code of the class whose rate is told.
    """

    name: str
    text: str
    values: NDArray[Any]
    classes: tuple[str, ...] | None
    positive: int = 0

    def take(self, rows: NDArray[np.intp]) -> Aim:
        """The same of some of the rows."""
        return replace(self, values=self.values[rows])

    @property
    def two(self) -> bool:
        """Whether there are two classes, of which one is the positive one."""
        return self.classes is not None and len(self.classes) == 2

    @property
    def kind(self) -> str:
        """What kind of thing is predicted."""
        if self.classes is None:
            return "number"
        return "two classes" if self.two else "several classes"

    @property
    def scale(self) -> float:
        """What errors are measured against: the spread of numbers; of classes, all rows."""
        return float(np.std(self.values)) if self.classes is None else 1.0

    @property
    def guess(self) -> float:
        """What a model that has seen no column says: the most frequent class, or the median."""
        if self.classes is None:
            return float(np.median(self.values))
        return float(np.bincount(self.values).argmax())

    @property
    def strata(self) -> NDArray[np.intp]:
        """Rows that folds should share evenly: classes, or fifths of the numbers."""
        if self.classes is not None:
            return self.values
        ranks = np.argsort(np.argsort(self.values, kind="stable"), kind="stable")
        return (5 * ranks // len(ranks)).astype(np.intp)


def target_of(y: Any) -> Column:
    """What is to be predicted as a column, whatever it came as."""
    if isinstance(y, Column):
        return y
    return column_of(y, getattr(y, "name", None) or "target")


def aim_of(y: Any, positive: Any, folds: int) -> tuple[Aim, NDArray[np.bool_]]:
    """What is predicted where it is known, and which rows these are."""
    target = target_of(y)
    if target.missing.all():
        raise InputError(
            f"The target {target.name!r} is missing in all {len(target):,} rows, so "
            "that there is nothing to predict. Choose another target."
        )
    if levels_of(target, positive) is None:
        values = as_numbers(target)
        known = np.isfinite(values)
        return Aim(target.name, called(target), values[known], None), known
    known = ~target.missing
    chosen = level_of(target, positive)
    if positive is None and len(target.categories or ()) > 2:
        aim = _several(target, int(chosen), known)
    else:
        values = as_numbers(target, positive)[known].astype(np.intp)
        aim = Aim(target.name, called(target, positive), values, _two(target, chosen), 1)
    _check_classes(aim, folds)
    return aim, known


def _two(target: Column, chosen: Any) -> tuple[str, str]:
    """Names of whatever does not count, and of the value that does."""
    known = range(len(target.categories)) if target.categories else target.tabulated[0].tolist()
    counts, others = value_of(target, chosen), [value for value in known if value != chosen]
    return (value_of(target, others[0]) if len(others) == 1 else f"not {counts}"), counts


def _several(target: Column, chosen: int, known: NDArray[np.bool_]) -> Aim:
    assert target.categories is not None
    if len(target.categories) > _CLASSES:
        raise InputError(
            f"The target {target.name!r} takes {len(target.categories):,} values that "
            f"are not numbers; models here predict up to {_CLASSES}. Choose another target, or say "
            f"which value counts with {parameter_label('positive')}."
        )
    values = target.values[known].astype(np.intp)
    return Aim(target.name, as_name(target.name), values, target.categories, chosen)


def _check_classes(aim: Aim, folds: int) -> None:
    assert aim.classes is not None
    counts = np.bincount(aim.values, minlength=len(aim.classes))
    if counts.min() < folds:
        rare = aim.classes[int(counts.argmin())]
        raise TooRare(
            f"{counted(int(counts.min()), 'row')} with a known target "
            f"{'has' if counts.min() == 1 else 'have'} the class {unambiguous(rare)}; every one of "
            f"{folds} folds needs one."
        )


@dataclass(frozen=True)
class GroupSides:
    """The groups that are compared: which one is asked about first, and each row's place.

    Every group is compared with all other rows; of two groups these are the other one. Or each is
    compared with the group ``beside``.
    """

    names: tuple[str, ...]
    place: NDArray[np.intp]
    first: int
    beside: int | None = None

    @property
    def rests(self) -> tuple[str, ...]:
        """What all rows that are not in a group are called, for each group."""
        if len(self.names) == 2:
            return self.names[::-1]
        if self.beside is not None:
            return (self.names[self.beside],) * len(self.names)
        return (OTHERS,) * len(self.names)


def sides_of(groups: ArrayLike, n_rows: int) -> tuple[tuple[str, ...], NDArray[np.intp], bool]:
    """Names of the groups, each row's place among them, and whether 1 stands for a group.

    Of yes and no, or 1 and 0, the group is the first and the rest the second.
    """
    found, place = check_groups(groups, n_rows)
    if len(found) < 2:
        raise InputError(
            f"All {n_rows:,} rows are in one group; two sides are needed to compare. Give labels "
            "that tell a group from the rest."
        )
    if len(found) > _GROUPS:
        raise InputError(
            f"{parameter_label('groups')} has {len(found):,} different labels; up to {_GROUPS} "
            "groups can "
            "be compared. Join groups, or compare one with the rest: labels == name."
        )
    marked = found.dtype.kind in "biuf" and found.tolist() == [0, 1]
    if marked:
        return (GROUP, REST), 1 - place, True
    return tuple(shortened(unambiguous(name)) for name in found.tolist()), place, False


def numbered(labels: ArrayLike, n_rows: int) -> tuple[tuple[str, ...], NDArray[np.intp], bool]:
    """:func:`sides_of` left-out groups that are numbered from 1; 0 is the rest."""
    found, place = check_groups(labels, n_rows)
    if found.dtype.kind not in "iu" or found.tolist() != list(range(len(found))) or len(found) < 3:
        raise InputError(
            f"{parameter_label('rest', 0)} goes with labels 0 for the rest and 1, 2 and so on "
            "for several "
            f"left-out groups; found {counted(len(found), 'label')}. Give a search's labels_."
        )
    return (REST, *(f"{GROUP} {label}" for label in found[1:])), place, False


def check_sides(
    aim: Aim, names: tuple[str, ...], place: NDArray[np.intp], *, varied: bool = True
) -> None:
    """Refuse sides of too few rows, and with ``varied`` sides on which the target does not vary."""
    for side, name in enumerate(names):
        values = aim.values[place == side]
        if len(values) < FEWEST_PER_SIDE:
            raise InputError(
                f"Found {counted(len(values), 'row')} with a known target in {side_called(name)}; "
                f"at least {FEWEST_PER_SIDE} are needed on each side. Join small groups, or take "
                "larger "
                "ones."
            )
        present = np.unique(values)
        if varied and len(present) < 2:
            only = aim.classes[int(present[0])] if aim.classes else f"{present[0]:g}"
            raise InputError(
                f"The target {aim.name!r} is {unambiguous(only)} in every row of "
                f"{side_called(name)}; two values are needed on each side. Choose another target "
                "or other groups."
            )


def side_called(name: str) -> str:
    """A side in a sentence."""
    if name in (GROUP, REST):
        return f"the {name}"
    if name.startswith(f"{GROUP} "):
        return name
    return name if name == OTHERS else f"group {name}"
