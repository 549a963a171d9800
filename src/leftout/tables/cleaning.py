"""Columns as people meant them: numbers and dates that came as text, and marks for missing cells.

Everything is decided on a column's distinct values, so that a million rows cost no more than the
values they take. How a column was written is kept, so that new rows are read the same way.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from leftout.tables.columns import Column, of_numbers
from leftout.wording import shortened

Floats = NDArray[np.float64]

# What stands for "nothing" in a file; what pandas takes as such, and the question mark.
MISSING = (
    "", "?", "NA", "N/A", "n/a", "#N/A", "#N/A N/A", "#NA", "<NA>", "NULL", "null", "NaN", "nan",
    "-NaN", "-nan", "None", "1.#IND", "-1.#IND", "1.#QNAN", "-1.#QNAN",
)  # fmt: skip
_UNIT = "$\u20ac\u00a3\u00a5%"
_SPACES = " '\u00a0\u2009\u202f"
# How people write numbers, and what turns that into digits a computer reads.
_NUMBERS = {
    "written as text": (r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", {}),
    "with commas for thousands": (r"[+-]?([1-9]\d{0,2}(,\d{3})+|\d+)(\.\d*)?", {",": ""}),
    "with decimal commas": (r"[+-]?\d+(,\d*)?([eE][+-]?\d+)?", {",": "."}),
    "with points for thousands and decimal commas": (
        r"[+-]?([1-9]\d{0,2}(\.\d{3})+|\d+)(,\d*)?", {".": "", ",": "."},
    ),
    "with spaces for thousands": (
        rf"[+-]?([1-9]\d{{0,2}}([{_SPACES}]\d{{3}})+|\d+)([.,]\d*)?",
        dict.fromkeys(_SPACES, "") | {",": "."},
    ),
}  # fmt: skip
_PATTERNS = {how: re.compile(pattern) for how, (pattern, _) in _NUMBERS.items()}
_TABLES = {how: str.maketrans(replaced) for how, (_, replaced) in _NUMBERS.items()}
# A number with a leading zero is a code: a post code, a telephone number.
_CODE = re.compile(r"[+-]?0\d")
# Larger whole numbers are not all told apart by a float: they are codes, too.
_EXACT = 1 << 53
_ISO = re.compile(
    r"\d{4}-\d{1,2}-\d{1,2}([T ]\d{1,2}:\d{2}(:\d{2}(\.\d+)?)?\s?(Z|[+-]\d{2}:?\d{2})?)?"
)
_DATES = {
    "year-month-day": "ISO8601",
    "year/month/day": "%Y/%m/%d",
    "day.month.year": "%d.%m.%Y",
    "month/day/year": "%m/%d/%Y",
    "day/month/year": "%d/%m/%Y",
}


class Cleaned(NamedTuple):
    """A column, and how its numbers or dates were written if they came as text."""

    column: Column
    written: str | None = None

    @property
    def words(self) -> bool:
        """Whether it holds categories of more than yes or no."""
        column = self.column
        return column.numbers is None or len(column.categories or ()) > 2


def clean_all(columns: Sequence[Column]) -> list[Cleaned]:
    """Every column as it was meant; names that had to be cut still differ."""
    cleaned = [clean(column) for column in columns]
    names = unique([each.column.name for each in cleaned])
    return [
        Cleaned(replace(each.column, name=name), each.written)
        for each, name in zip(cleaned, names, strict=True)
    ]


def clean(column: Column) -> Cleaned:
    """A column as it was meant: text that holds numbers or dates is numbers or dates."""
    column = replace(column, name=shortened(column.name))
    if column.categories is None or column.levels is not None:
        return Cleaned(column)
    labels, known = _labels(column)
    texts = [label for label, is_known in zip(labels, known, strict=True) if is_known]
    for found in (None,) if column.declared else (_numbers(texts), _dates(texts)):
        if found is not None:
            values, how = found
            return Cleaned(_valued(column, known, values, how in _DATES), how)
    return Cleaned(_merged(column, labels, known))


def read_alike(column: Column, words: bool, dates: bool, written: str | None) -> Column:
    """A column of new rows, read like one that was cleaned before."""
    if column.categories is None or column.levels is not None:
        return column
    labels, known = _labels(column)
    if words:
        return _merged(column, labels, known)
    values = np.full(len(labels), np.nan)
    for place in np.flatnonzero(known):
        found = _as_written([labels[place]], written, dates)
        values[place] = np.nan if found is None else found[0]
    return _valued(column, [True] * len(labels), values, dates)


def unique(names: Sequence[str]) -> list[str]:
    """Names as they are, but for those that are taken, which get a number."""
    taken: set[str] = set()
    result = []
    for name in names:
        text, times = name, 2
        while text in taken:
            text, times = f"{name} ({times})", times + 1
        taken.add(text)
        result.append(text)
    return result


def _labels(column: Column) -> tuple[list[str], list[bool]]:
    """A column's texts, and which of them are not marks for missing cells."""
    labels = [label.strip() for label in column.categories or ()]
    return labels, [label not in MISSING for label in labels]


def _valued(column: Column, known: list[bool], values: Floats, dates: bool) -> Column:
    """The column with its known texts replaced by numbers."""
    by_label = np.full(len(known) + 1, np.nan)  # the last for what is missing already
    by_label[np.flatnonzero(known)] = values
    numbers = by_label[column.values]
    return Column(column.name, numbers, dates=True) if dates else of_numbers(column.name, numbers)


def _merged(column: Column, labels: list[str], known: list[bool]) -> Column:
    """Categories without marks for missing cells and without spaces around them."""
    distinct = list(
        dict.fromkeys(label for label, is_known in zip(labels, known, strict=True) if is_known)
    )
    names = unique([shortened(label) for label in distinct])  # two long texts may begin alike
    place = {label: code for code, label in enumerate(distinct)}
    codes = np.array([*(place.get(label, -1) for label in labels), -1], dtype=np.int32)
    return replace(column, values=codes[column.values], categories=tuple(names))


def _numbers(texts: Sequence[str]) -> tuple[Floats, str] | None:
    """What numbers the texts hold, all of them written in one way, and in which."""
    return _first(texts, _NUMBERS, lambda how: _as_written(texts, how, False))


def _dates(texts: Sequence[str]) -> tuple[Floats, str] | None:
    return _first(texts, _DATES, lambda how: _as_written(texts, how, True))


def _first(
    texts: Sequence[str], ways: Iterable[str], read: Callable[[str], Floats | None]
) -> tuple[Floats, str] | None:
    found = ((read(how), how) for how in ways) if texts else ()
    return next(((values, how) for values, how in found if values is not None), None)


def _as_written(texts: Sequence[str], how: str | None, dates: bool) -> Floats | None:
    """The texts as numbers or dates that are written in a certain way; None if one is not."""
    if dates:
        return _as_dates(texts, how or "year-month-day")
    how = how or "written as text"
    units = {"".join(char for char in text if char in _UNIT) for text in texts}
    if len(units) > 1:  # what is 5 of one is not 5 of another
        return None
    bare = [re.sub(f"[{re.escape(_UNIT)}]", "", text).strip() for text in texts]
    if any(_CODE.match(text) for text in bare):
        return None
    if not all(_PATTERNS[how].fullmatch(text) for text in bare):
        return None
    digits = [text.translate(_TABLES[how]) for text in bare]
    values = np.array([float(text) for text in digits])
    large = np.abs(values) >= _EXACT
    if any(digits[place].lstrip("+-").isdigit() for place in np.flatnonzero(large)):
        return None
    return values


def _as_dates(texts: Sequence[str], how: str) -> Floats | None:
    if not all(text[:1].isdigit() and 6 <= len(text) <= 40 for text in texts):
        return None
    if how == "year-month-day" and not all(_ISO.fullmatch(text) for text in texts):
        return None
    import pandas as pd

    when = pd.to_datetime(pd.Series(texts), format=_DATES[how], errors="coerce", utc=True)
    if when.isna().any():
        return None
    stamps = when.dt.tz_localize(None).to_numpy().astype("datetime64[us]")
    return stamps.astype(np.int64).astype(np.float64)
