"""What is said of rows: conditions on a raw table's columns."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal, NotRequired, TypedDict

import numpy as np
from numpy.typing import NDArray

from leftout.data.columns import Column
from leftout.errors import InputError
from leftout.files import Serializable
from leftout.text import as_name, date, shortest

Mask = NDArray[np.bool_]


class ConditionRecord(TypedDict):
    """A condition as JSON has it; infinite numbers are text."""

    column: str
    op: Literal["=", "!=", "range", "others", "missing", "known"]
    text: str
    value: NotRequired[str | float]
    low: NotRequired[str | float]
    high: NotRequired[str | float]
    dates: NotRequired[bool]
    values: NotRequired[list[str | float]]


_IS = {"=": "", "!=": "other than "}


@dataclass(frozen=True)
class Condition(Serializable):
    """Something that holds for a row or does not: ``age >= 40``, ``colour = red``.

    ``op`` is ``"="`` or ``"!="`` (a value or category), ``"range"`` (``low <= x < high``, or one
    bound alone), ``"others"`` (a known value that is none of ``values``), ``"missing"`` or
    ``"known"``; of ``dates``, bounds are microseconds since 1970. ``text`` says it in words.
    """

    record = ConditionRecord

    column: str
    op: str
    text: str
    value: str | float | None = None
    low: float | None = None
    high: float | None = None
    dates: bool = False
    values: tuple[str | float, ...] = ()
    whole: bool = False  # whether bounds are of whole numbers

    @property
    def words(self) -> str:
        """The condition in a sentence: age is at least 40; sex was not recorded."""
        name = as_name(self.column)
        if self.op in ("missing", "known"):
            return f"{name} was {'not ' * (self.op == 'missing')}recorded"
        if self.op == "range":
            return f"{name} is {self._bounds}"
        value = self.text.removeprefix(f"{name} {self.op} ")
        return self.text if self.op == "others" else f"{name} is {_IS[self.op]}{value}"

    @property
    def _bounds(self) -> str:
        """Between which values: whole numbers have a last one, dates are before or after."""
        show = date if self.dates else shortest
        if self.whole:
            low = None if self.low is None else float(np.ceil(self.low))
            high = None if self.high is None else float(np.ceil(self.high)) - 1.0
            if low is not None and high is not None:
                between = "to" if high > low + 1.0 else "or"
                return f"{shortest(low)} {between} {shortest(high)}" if high > low else f"{low:g}"
            return (
                f"at least {shortest(low)}" if low is not None else f"at most {show(high or 0.0)}"
            )
        least, below = ("", "before ") if self.dates else ("at least ", "below ")
        bounds = [] if self.low is None else [f"{least}{show(self.low)}{' or later' * self.dates}"]
        bounds += [] if self.high is None else [f"{below}{show(self.high)}"]
        return " and ".join(bounds)

    def holds(self, column: Column) -> Mask:
        """The rows of a column, of this table or another, for which the condition holds."""
        if self.op in ("missing", "known"):
            return column.missing == (self.op == "missing")
        if self.op == "others":
            unlike = (replace(self, op="!=", value=value).holds(column) for value in self.values)
            return np.logical_and.reduce([~column.missing, *unlike])
        numbers = column.numbers
        if self.op == "range":
            if numbers is None or column.dates != self.dates:
                raise InputError(
                    f"The condition {self.text} compares {'dates' if self.dates else 'numbers'}, "
                    f"but the column {column.name!r} of this table has none. Pass a table whose "
                    "columns are of the same kind."
                )
            low = -np.inf if self.low is None else self.low
            upper = ~column.missing if self.high is None else numbers < self.high
            return (numbers >= low) & upper
        wanted = _number(self.value)
        named = self.value in (column.categories or ())  # a label may look like a number
        if numbers is not None and wanted is not None and not named:
            equal = numbers == wanted
        else:
            known = {name: code for code, name in enumerate(column.categories or ())}
            name = shortest(self.value) if isinstance(self.value, float) else str(self.value)
            equal = column.values == known.get(name, -2)
        return equal == (self.op == "=")

    def to_dict(self) -> dict[str, Any]:
        data = {key: getattr(self, key) for key in ConditionRecord.__annotations__}
        data |= {key: str(data[key]) for key in data if data[key] in (np.inf, -np.inf)}
        data |= {"dates": self.dates or None, "values": list(self.values) or None}
        return {key: value for key, value in data.items() if value is not None}


def _number(value: str | float | None) -> float | None:
    """A value as a number: what is one here may be written in another table."""
    if value in ("True", "False"):
        return float(value == "True")
    try:
        return None if value is None else float(value)
    except ValueError:
        return None
