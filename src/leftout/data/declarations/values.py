"""Values as people write them down, found among those that a column holds."""

from __future__ import annotations

import re
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from datetime import date
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leftout.checks import is_missing
from leftout.data.cleaning import CODE, clean, unique
from leftout.data.columns import LARGEST_EXACT, Column
from leftout.errors import InputError
from leftout.text import shortened, shortest

Mask = NDArray[np.bool_]

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|[+-]?inf", re.ASCII)
_ISO = re.compile(r"\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d(\.\d{1,6})?)?)?", re.ASCII)
_MIDNIGHT = re.compile(r"[T ]00:00(:00(\.0+)?)?$")
_DAY = 86_400_000_000  # in microseconds
# What single precision keeps of a number, relative to its size.
_SINGLE = 1e-7


@dataclass(frozen=True)
class ValueLiteral:
    """One value: its text, and the number or the date that this may stand for.

    Examples
    --------
    >>> ValueLiteral.of(999.0)
    ValueLiteral(text='999', number=999.0, when=None)
    """

    text: str
    number: float | None
    when: tuple[float, float] | None  # a date's first microsecond, and the first after it

    @classmethod
    def of(cls, value: Any) -> ValueLiteral:
        text = text_of(value)
        number = None if CODE.match(text) else number_of(text)
        return cls(text, number, _span(text) if number is None else None)

    def among(self, column: Column) -> Mask:
        """Which rows of numbers or dates it is, or which categories.

        Categories that stand for numbers are compared as such, but yes and no are not 1 and 0.
        """
        if column.categories is None and column.dates:
            nowhere = np.zeros(len(column), dtype=bool)
            low, high = self.when or (0.0, 0.0)
            return nowhere if self.when is None else (column.values >= low) & (column.values < high)
        if column.categories is None:
            return same(column.values, self.number)
        hit = np.array([self.is_text(name.strip()) for name in column.categories], dtype=bool)
        if column.levels is None or truths(column):
            return hit
        return hit | same(column.levels, self.number)

    def is_text(self, text: str) -> bool:
        """Whether a text is this value's own; true and false may be in any case."""
        if text in ("False", "True"):
            return self.text.casefold() == text.casefold()
        return text == self.text


def text_of(value: Any) -> str:
    """A value as text: whole numbers without a point, dates without a midnight."""
    if isinstance(value, np.generic) and not isinstance(value, np.datetime64):
        value = value.item()
    if isinstance(value, str):
        return value.strip()
    if isinstance(value, date | np.datetime64):
        return _MIDNIGHT.sub("", str(value))
    if isinstance(value, Real) and not isinstance(value, bool):
        with suppress(OverflowError):
            return shortest(float(value)) if abs(float(value)) < LARGEST_EXACT else str(value)
    return str(value).strip()


def number_of(text: str) -> float | None:
    """The number that a text is, written as computers do; None if it is none."""
    return float(text) if _NUMBER.fullmatch(text) else None


def same(values: NDArray[np.float64], number: float | None) -> Mask:
    """Which values are a number: a whole one exactly, a fraction as single precision keeps it."""
    if number is None:
        return np.zeros(len(values), dtype=bool)
    exact: Mask = values == number
    if number.is_integer() or np.isinf(number):  # neighbours of a large code are other codes
        return exact
    return exact | (np.abs(values - number) <= _SINGLE * abs(number))


def truths(column: Column) -> bool:
    """Whether a column holds nothing but true and false."""
    return set(column.categories or ()) <= {"False", "True"}


def one_or_more(values: Any, what: str) -> list[Any]:
    """Values of a list, or just one; none of them may be missing."""
    several = isinstance(values, Iterable) and not isinstance(values, str | bytes)
    listed = (
        list(values) if several and np.ndim(values) != 0 or isinstance(values, set) else [values]
    )
    for value in listed:
        if is_missing(value) or text_of(value) == "" or not np.isscalar(value) and np.ndim(value):
            raise InputError(
                f"{what} holds {shortened(repr(value))}, which is not a value; give a number, a "
                "text or a date."
            )
    return listed


def told_apart(names: Iterable[Any]) -> dict[str, str]:
    """A table's names by what cleaning makes of them, which cuts long ones, and by themselves."""
    texts = [str(name) for name in names]
    short = unique([shortened(text) for text in texts])
    return dict(zip(short, texts, strict=True)) | {text: text for text in texts}


def _span(text: str) -> tuple[float, float] | None:
    """A date's first microsecond and the first after it; None if a text is no date."""
    first: float | None = None
    if _ISO.fullmatch(text):
        with suppress(ValueError):
            first = float(np.datetime64(text, "us").astype(np.int64))
    if first is None:
        read = clean(Column("", np.zeros(1, dtype=np.int32), (text,)))
        if not read.dates:
            return None
        first = float(read.values[0])
    whole = ":" not in text or _MIDNIGHT.search(text) is not None
    return first, first + (_DAY if whole else 1)
