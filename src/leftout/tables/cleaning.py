"""Columns as people meant them: numbers and dates that came as text, and marks for missing cells.

Everything is decided on a column's distinct values, so that a million rows cost no more than the
values they take. How a column was written is kept, so that new rows are read the same way.
"""

import re
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from leftout.tables.columns import EXACT, Column, natural, of_numbers
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
    how: (re.compile(rf"[+-]?{pattern}"), str.maketrans(replaced))
    for how, pattern, replaced in (
        ("written as text", r"(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", {}),
        ("with commas for thousands", r"([1-9]\d{0,2}(,\d{3})+|\d+)(\.\d*)?", {",": ""}),
        ("with decimal commas", r"\d+(,\d*)?([eE][+-]?\d+)?", {",": "."}),
        ("with points for thousands and decimal commas",
         r"([1-9]\d{0,2}(\.\d{3})+|\d+)(,\d*)?", {".": "", ",": "."}),
        ("with spaces for thousands", rf"([1-9]\d{{0,2}}([{_SPACES}]\d{{3}})+|\d+)([.,]\d*)?",
         dict.fromkeys(_SPACES, "") | {",": "."}),
    )
}  # fmt: skip
# A number with a leading zero is a code: a post code, a telephone number.
CODE = re.compile(r"[+-]?0\d")
_ISO = re.compile(
    r"\d{4}-\d{1,2}-\d{1,2}([T ]\d{1,2}:\d{2}(:\d{2}(\.\d+)?)?\s?(Z|[+-]\d{2}:?\d{2})?)?"
)
# Texts that a way of writing is tried on before all others; digits that are surely few enough.
_TRIED, _DIGITS = 100, 15
_DATES = {
    "year-month-day": "ISO8601",
    "year/month/day": "%Y/%m/%d",
    "day.month.year": "%d.%m.%Y",
    "month/day/year": "%m/%d/%Y",
    "day/month/year": "%d/%m/%Y",
}

# Every way of writing a number or a date that is known here, the likeliest first.
WAYS = (*_NUMBERS, *_DATES)


def clean_all(columns: Sequence[Column]) -> list[Column]:
    """Every column as it was meant; names that had to be cut still differ."""
    cleaned = [clean(column) for column in columns]
    names = unique([column.name for column in cleaned])
    return [replace(column, name=name) for column, name in zip(cleaned, names, strict=True)]


def clean(column: Column) -> Column:
    """A column as it was meant: text that holds numbers or dates is numbers or dates."""
    column = replace(column, name=shortened(column.name))
    if column.categories is None or column.levels is not None:
        return column
    labels, known = _labels(column)
    texts = [label for label, is_known in zip(labels, known, strict=True) if is_known]
    ruled_out = frozenset() if column.tally is None else column.tally.ruled_out
    for how in WAYS if texts and not column.declared else ():
        if how in ruled_out:
            continue
        values = _as_written(texts, how)
        if values is not None:
            return _valued(column, known, values, how)
    return _merged(column, labels, known)


def read_alike(column: Column, words: bool, dates: bool, written: str | None) -> Column:
    """A column of new rows, read like one that was cleaned before."""
    if column.categories is None or column.levels is not None:
        return column
    labels, known = _labels(column)
    if words:
        return _merged(column, labels, known)
    how = written or ("year-month-day" if dates else "written as text")
    values = np.full(len(labels), np.nan)
    for place in np.flatnonzero(known):
        found = _as_written([labels[place]], how)
        values[place] = np.nan if found is None else found[0]
    return _valued(column, [True] * len(labels), values, how)


def unique(names: Sequence[str]) -> list[str]:
    """Names as they are; those that are taken already get a number."""
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


def _valued(column: Column, known: list[bool], values: Floats, how: str) -> Column:
    """The column with its known texts replaced by numbers."""
    by_label = np.full(len(known) + 1, np.nan)  # the last for what is missing already
    by_label[np.flatnonzero(known)] = values
    name, numbers, tally = column.name, by_label[column.values], column.tally
    if how in _DATES:
        return Column(name, numbers, dates=True, written=how, tally=tally)
    return replace(of_numbers(name, numbers, tally=tally), written=how)


def _merged(column: Column, labels: list[str], known: list[bool]) -> Column:
    """Categories without marks for missing cells and without spaces around them."""
    distinct = list(
        dict.fromkeys(label for label, is_known in zip(labels, known, strict=True) if is_known)
    )
    if not column.declared and labels != list(column.categories or ()):
        distinct.sort(key=natural)  # as they are without spaces
    names = unique([shortened(label) for label in distinct])  # two long texts may begin alike
    place = {label: code for code, label in enumerate(distinct)}
    codes = np.array([*(place.get(label, -1) for label in labels), -1], dtype=np.int32)
    return replace(column, values=codes[column.values], categories=tuple(names))


def unit_of(text: str) -> str:
    """The currency or percent sign in a text; empty where there is none."""
    return "".join(char for char in text if char in _UNIT)


def fails(texts: Sequence[str], how: str) -> bool:
    """Whether a text is not written in a certain way; what units they have does not matter.

    Texts have no spaces around them, and are no marks for missing cells.
    """
    if len(texts) > _TRIED and fails(texts[:_TRIED], how):  # most ways fail soon
        return True
    if how in _DATES:
        return _as_dates(texts, how) is None
    bare = texts
    if any(sign in "".join(texts) for sign in _UNIT):
        bare = [_bare(text) for text in texts]
    pattern, _ = _NUMBERS[how]
    if any(map(CODE.match, bare)) or not all(map(pattern.fullmatch, bare)):
        return True
    long = [text for text in bare if len(text) > _DIGITS]
    return any(_as_written([text], how) is None for text in long)


def _bare(text: str) -> str:
    return re.sub(f"[{re.escape(_UNIT)}]", "", text).strip()


def _as_written(texts: Sequence[str], how: str) -> Floats | None:
    """The texts as numbers or dates that are written in a certain way; None if one is not."""
    if how in _DATES:
        return _as_dates(texts, how)
    if len(set(map(unit_of, texts))) > 1:  # what is 5 of one is not 5 of another
        return None
    bare = list(map(_bare, texts))
    pattern, digits_of = _NUMBERS[how]
    if any(CODE.match(text) for text in bare) or not all(map(pattern.fullmatch, bare)):
        return None
    digits = [text.translate(digits_of) for text in bare]
    values = np.array([float(text) for text in digits])
    # whole numbers that a float does not tell apart are codes, too
    large = np.abs(values) >= EXACT
    if any(digits[place].lstrip("+-").isdigit() for place in np.flatnonzero(large)):
        return None
    return values


def _as_dates(texts: Sequence[str], how: str) -> Floats | None:
    if not all(text[:1].isdigit() and 6 <= len(text) <= 40 for text in texts):
        return None
    if how == "year-month-day" and not all(map(_ISO.fullmatch, texts)):
        return None
    import pandas as pd

    when = pd.to_datetime(pd.Series(texts), format=_DATES[how], errors="coerce", utc=True)
    if when.isna().any():
        return None
    stamps = when.dt.tz_localize(None).to_numpy().astype("datetime64[us]")
    return stamps.astype(np.int64).astype(np.float64)
