"""Which part each column plays: target, prediction of it, sensitive, weight, dropped, or searched.

A target: which of its values counts, and what it is as numbers.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leftout.data.cleaning import unique
from leftout.data.columns import Column, column_of, find, found
from leftout.errors import InputError, parameter_label
from leftout.settings import Reading
from leftout.text import as_name, counted, listed, unambiguous

# Of a target's values, so many are named.
_SHOWN = 5


def assign(columns: list[Column], reading: Reading) -> tuple[list[Column], dict[str, str]]:
    """The columns, and the part of each that is not searched; refuses one that has two.

    A target or a prediction may also be given as values beside the table, one for each row: these
    are a column that has the same, best under the same name, or else one more.
    """
    columns, outcome = _with_values(columns, reading.target, "target")
    columns, guess = _with_values(columns, reading.prediction, "prediction", outcome)
    names, weights = [column.name for column in columns], reading.weights
    if not is_name(weights):
        raise InputError(
            f"{parameter_label('weights')} names a column, but got {type(weights).__name__}. Put "
            "the weights into a column of the table, and pass its name."
        )
    wanted = {
        "target": set() if outcome is None else {find(names, outcome, "target")},
        "prediction": set() if guess is None else {find(names, guess, "prediction")},
        "weight": set() if weights is None else {find(names, weights, "weights")},
        "sensitive": found(names, reading.sensitive, "sensitive"),
        "dropped": found(names, reading.drop, "drop"),
    }
    roles: dict[str, str] = {}
    for name in names:
        parts = [part for part, chosen in wanted.items() if name in chosen]
        if len(parts) > 1:
            raise InputError(
                f"The column {name!r} is said to be {listed(parts)}; it has one part. Choose one."
            )
        if parts:
            roles[name] = parts[0]
    return columns, roles


def _with_values(
    columns: list[Column], given: Any, what: str, target: Any = None
) -> tuple[list[Column], Any]:
    """Columns with a target or prediction among them, and its name; no prediction is the target."""
    if is_name(given):
        return columns, given
    values = given if isinstance(given, Column) else beside(columns, given, what)
    for column in sorted(columns, key=lambda column: column.name != values.name):
        if column.name == target:
            continue
        if column.dates == values.dates and np.array_equal(column.codes(), values.codes()):
            return columns, column.name
    *_, name = unique([*(column.name for column in columns), values.name])
    return [*columns, replace(values, name=name)], name


def beside(columns: list[Column], values: Any, what: str = "target") -> Column:
    """Values that came beside a table, one for each row."""
    column = column_of(values, getattr(values, "name", None) or what)
    if len(column) != len(columns[0]):
        raise InputError(
            f"The {what} has {len(column):,} values for {len(columns[0]):,} rows; one for each "
            "row is needed."
        )
    return column


def is_name(target: Any) -> bool:
    """Whether a target is named, rather than given."""
    return target is None or not isinstance(target, Column) and np.ndim(target) == 0


def levels_of(target: Column, positive: Any = None) -> list[Any] | None:
    """The values of a target whose rates count; None if its mean does."""
    if target.dates:
        raise InputError(
            f"The target {target.name!r} is a date; a rate or a mean is needed. Choose another, or "
            "turn it into yes and no first."
        )
    known: list[Any] = list(range(len(target.categories or ())))
    if target.categories is None:
        known = target.tabulated[0].tolist()
    if len(known) < 2:
        raise InputError(
            f"The target {target.name!r} takes {counted(len(known), 'value')}; at least two are "
            "needed to compare the group with the rest. Choose another target."
        )
    if positive is not None:
        for value in known:
            if _is(target, value, positive):
                return [value]
        names = ", ".join(value_of(target, value) for value in known[:_SHOWN])
        raise InputError(
            f"{parameter_label('positive', positive)} is not a value of the target "
            f"{target.name!r}; it takes {names}{' and others' if len(known) > _SHOWN else ''}."
        )
    if len(known) == 2:
        return known[1:]
    return None if target.categories is None else known


def _is(target: Column, value: Any, positive: Any) -> bool:
    """Whether a value of the target is what somebody calls positive."""
    named, asked = value_of(target, value), str(positive)
    if named == asked or named in ("False", "True") and named.casefold() == asked.casefold():
        return True
    if target.categories is not None and target.levels is None:
        return False
    try:  # numbers may be written in several ways
        return float(positive) == (value if target.levels is None else target.levels[value])
    except (TypeError, ValueError):
        return False


def value_of(target: Column, value: Any) -> str:
    """One of a target's values, as text."""
    return target.show(value) if target.categories is None else target.categories[value]


def level_of(target: Column | None, positive: Any = None) -> Any:
    """The value of a target whose rate counts, of several the most frequent; None: its mean."""
    if target is None:
        if positive is None:
            return None
        raise InputError(
            f"{parameter_label('positive', positive)} is a value of a target, but none is given."
        )
    levels = levels_of(target, positive)
    if levels is None or len(levels) == 1:
        return None if levels is None else levels[0]
    return int(target.category_counts.argmax())


def called(target: Column, positive: Any = None) -> str:
    """What a mean of the target's numbers is a mean of."""
    level, name = level_of(target, positive), as_name(target.name)
    return name if level is None else f"{name} = {unambiguous(value_of(target, level))}"


def as_numbers(target: Column, positive: Any = None) -> NDArray[np.float64]:
    """1 for the value that counts and 0 for others, or the numbers as they are; NaN if unknown."""
    level = level_of(target, positive)
    if level is None:
        return np.where(np.isfinite(target.values), target.values, np.nan)
    return np.where(target.missing, np.nan, (target.values == level).astype(np.float64))
