"""Columns as people meant them: numbers and dates that came as text, and marks for missing cells.

Everything is decided on a column's distinct values, so that a million rows cost no more than the
values they take.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from leftout.columns import Column, of_numbers

Floats = NDArray[np.float64]

# What stands for "nothing" in a file; what pandas takes as such, and the question mark.
MISSING = (
    "", "?", "NA", "N/A", "n/a", "#N/A", "#N/A N/A", "#NA", "<NA>", "NULL", "null", "NaN", "nan",
    "-NaN", "-nan", "None", "1.#IND", "-1.#IND", "1.#QNAN", "-1.#QNAN",
)  # fmt: skip
# Longer names and values are cut: nobody reads them, and a report may hold them many times.
_LONGEST = 120
_UNITS = "$\u20ac\u00a3\u00a5%"
_PLAIN = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
# How people write numbers, and what turns that into digits a computer reads.
_WRITTEN: tuple[tuple[str, re.Pattern[str], dict[str, str]], ...] = (
    ("written as text", _PLAIN, {}),
    ("with commas for thousands", re.compile(r"[+-]?\d{1,3}(,\d{3})*(\.\d*)?|\d+(\.\d*)?"),
     {",": ""}),
    ("with decimal commas", re.compile(r"[+-]?\d+(,\d*)?([eE][+-]?\d+)?"), {",": "."}),
    ("with decimal commas and points for thousands",
     re.compile(r"[+-]?\d{1,3}(\.\d{3})*(,\d*)?"), {".": "", ",": "."}),
)  # fmt: skip
# A number with a leading zero is a code: a post code, a telephone number.
_CODE = re.compile(r"[+-]?0\d")
_ISO = re.compile(
    r"\d{4}-\d{1,2}-\d{1,2}([T ]\d{1,2}:\d{2}(:\d{2}(\.\d+)?)?\s?(Z|[+-]\d{2}:?\d{2})?)?"
)
_DATES = (
    ("year-month-day", "ISO8601"),
    ("year/month/day", "%Y/%m/%d"),
    ("day.month.year", "%d.%m.%Y"),
    ("month/day/year", "%m/%d/%Y"),
    ("day/month/year", "%d/%m/%Y"),
)


class Cleaned(NamedTuple):
    """A column, and how its numbers or dates were written if they came as text."""

    column: Column
    written: str | None = None


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
    labels = [label.strip() for label in column.categories]
    known = [label not in MISSING for label in labels]
    texts = [label for label, is_known in zip(labels, known, strict=True) if is_known]
    for read in (_as_numbers, _as_dates):
        found = read(texts)
        if found is not None:
            values, how = found
            by_label = np.full(len(labels) + 1, np.nan)  # the last for what is missing already
            by_label[np.flatnonzero(known)] = values
            numbers = by_label[column.values]
            if read is _as_dates:
                return Cleaned(Column(column.name, numbers, dates=True), how)
            return Cleaned(of_numbers(column.name, numbers, False), how)
    return Cleaned(_merged(column, labels, known))


def numbers_in(texts: Sequence[str], dates: bool = False) -> Floats:
    """Each text as the number or date that it holds, NaN where it holds none."""
    read = _as_dates if dates else _as_numbers
    whole = read(texts)
    if whole is not None:
        return whole[0]
    each = (read([text]) for text in texts)
    return np.array([np.nan if found is None else found[0][0] for found in each])


def shortened(text: str) -> str:
    """Text of a length that can be shown."""
    if len(text) <= _LONGEST:
        return text
    return f"{text[: _LONGEST - 40]}\u2026 ({len(text):,} characters)"


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


def _merged(column: Column, labels: list[str], known: list[bool]) -> Column:
    """Categories without marks for missing cells and without spaces around them."""
    distinct = list(
        dict.fromkeys(label for label, is_known in zip(labels, known, strict=True) if is_known)
    )
    names = unique([shortened(label) for label in distinct])  # two long texts may begin alike
    place = {label: code for code, label in enumerate(distinct)}
    codes = np.array([*(place.get(label, -1) for label in labels), -1], dtype=np.int32)
    return Column(column.name, codes[column.values], tuple(names))


def _as_numbers(texts: Sequence[str]) -> tuple[Floats, str] | None:
    bare = [text.strip(_UNITS).strip() for text in texts]
    if not bare or any(_CODE.match(text) for text in bare):
        return None
    for how, pattern, replaced in _WRITTEN:
        if all(pattern.fullmatch(text) for text in bare):
            table = str.maketrans(replaced)
            return np.array([float(text.translate(table)) for text in bare]), how
    return None


def _as_dates(texts: Sequence[str]) -> tuple[Floats, str] | None:
    if not texts or not all(text[:1].isdigit() and 6 <= len(text) <= 40 for text in texts):
        return None
    import pandas as pd

    for how, written in _DATES:
        if written == "ISO8601" and not all(_ISO.fullmatch(text) for text in texts):
            continue
        when = pd.to_datetime(pd.Series(texts), format=written, errors="coerce", utc=True)
        if not when.isna().any():
            stamps = when.dt.tz_localize(None).to_numpy().astype("datetime64[us]")
            return stamps.astype(np.int64).astype(np.float64), how
    return None
