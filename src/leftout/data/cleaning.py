"""Columns as people meant them: numbers and dates that came as text, and marks for missing cells.

Everything is decided on a column's distinct values, so that a million rows cost no more than the
values they take. How a column was written is kept, so that new rows are read the same way. A few
cells that are written in no such way ("n.k.", "ca. 24") are missing, and kept as strays.
"""

import re
from collections import Counter
from collections.abc import Sequence, Set
from dataclasses import replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from leftout.data.columns import LARGEST_EXACT, Column, Floats, natural
from leftout.text import shortened

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
        ("with zeros before them", r"(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", {}),
    )
}  # fmt: skip
# Only read so where somebody says that they are numbers.
_ZEROS = "with zeros before them"
# A number with a leading zero is a code: a post code, a telephone number.
CODE = re.compile(r"[+-]?0\d")
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

# Every way of writing a number or a date that is known here, the likeliest first.
_WAYS = (*(how for how in _NUMBERS if how != _ZEROS), *_DATES)
# Cells that may be written otherwise: so many or, of many, such a share; and never more than that.
_STRAYS, _SHARE, _MOST = 3, 0.01, 0.1
# What is left has more values than yes and no.
_VALUES = 3
# Several cells like V57 among numbers say that these are codes, too.
_LETTERED = re.compile(r"[A-Za-z]{1,3}[.-]?\d[\dA-Za-z.]*")


def clean_all(columns: Sequence[Column], numeric: Set[str] = frozenset()) -> list[Column]:
    """Every column as it was meant, those in ``numeric`` numbers where any of their cells is one.

    Names that had to be cut still differ.
    """
    cleaned = [clean(column, column.name in numeric) for column in columns]
    names = unique([column.name for column in cleaned])
    return [replace(column, name=name) for column, name in zip(cleaned, names, strict=True)]


def clean(column: Column, numeric: bool = False) -> Column:
    """A column as it was meant: text that holds numbers or dates is numbers or dates.

    So it is where all cells are, or all but a few, which then are missing. What is said to be
    ``numeric`` is numbers however many are not, also with zeros before them.
    """
    column = replace(column, name=shortened(column.name))
    if column.categories is None or column.levels is not None:
        return column
    labels, known = _labels(column)
    if not known.any() or column.declared and not numeric:
        return _merged(column)
    ways = _DATES if any(map(_is_code, _without_units(labels))) else _WAYS
    read = {how: _as_written(labels, how) for how in ways}
    fitting = [how for how in ways if not np.isnan(read[how][known]).any()][:1]
    counts = np.where(known, column.category_counts, 0)
    if not fitting and numeric:
        read = {how: _as_written(labels, how) for how in _NUMBERS}
        fitting = [how for how, values in read.items() if not np.isnan(values).all()]
    elif not fitting:
        fitting = [how for how in ways if _is_nearly_written(labels, counts, read[how])]
    if not fitting:
        return _merged(column)
    how = min(fitting, key=lambda how: counts[np.isnan(read[how])].sum())
    return _valued(column, labels, read[how], how)


def read_like(column: Column, like: Column) -> Column:
    """New rows of a column, read like one that was cleaned before.

    They are numbers, dates, or codes of the same categories; categories that only these rows have
    come after those.
    """
    same = column.categories is not None and column.categories == like.categories
    if same and (like.levels is None or np.array_equal(like.levels, np.asarray(column.levels))):
        return replace(like, values=column.values, strays=column.strays)
    if like.categories is None or like.written is not None:
        column = _numbers_like(column, like)
    elif column.categories is not None and column.levels is None:
        column = _merged(column)
    if like.categories is None:
        numbers = column.numbers
        if numbers is None or column.dates != like.dates:
            numbers = np.full(len(column), np.nan)
        return replace(like, values=numbers, strays=column.strays)
    if column.categories is None:
        column = column.as_categories()
    names, numbers, levels = column.categories or (), column.levels, like.levels
    keys, known = pd.Index(names, dtype=object), pd.Index(like.categories, dtype=object)
    if levels is not None and numbers is not None:
        keys, known = pd.Index(numbers), pd.Index(levels)
    place = np.append(known.get_indexer(keys), -1).astype(np.int32)  # at last, what is missing
    new = np.flatnonzero((place[:-1] < 0) & (column.category_counts > 0))
    place[new] = len(known) + np.arange(len(new))
    if levels is not None:
        levels = np.append(levels, np.full(len(new), np.nan) if numbers is None else numbers[new])
    return replace(
        like,
        values=place[column.values],
        categories=(*like.categories, *(names[code] for code in new)),
        levels=levels,
        strays=column.strays,
    )


def _numbers_like(column: Column, like: Column) -> Column:
    """New rows of a column of numbers or dates, written as in one that was cleaned before."""
    if column.categories is None or column.levels is not None:
        return column
    labels, _ = _labels(column)
    how = like.written or ("year-month-day" if like.dates else "written as text")
    return _valued(column, labels, _as_written(labels, how), how)


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


def _labels(column: Column) -> tuple[list[str], NDArray[np.bool_]]:
    """A column's texts, and which of them are not marks for missing cells."""
    labels = [label.strip() for label in column.categories or ()]
    return labels, np.array([label not in MISSING for label in labels], dtype=bool)


def _valued(column: Column, labels: list[str], values: Floats, how: str) -> Column:
    """The column with its texts replaced by numbers; texts that are none are strays."""
    strays, counts = Counter[str](), column.category_counts
    for place in np.flatnonzero(np.isnan(values) & (counts > 0)).tolist():
        if labels[place] not in MISSING:
            strays[shortened(labels[place])] += int(counts[place])
    numbers = np.append(values, np.nan)[column.values]  # the last for what is missing already
    return Column(
        column.name, numbers, dates=how in _DATES, written=how, strays=tuple(strays.items())
    ).coded()


def _merged(column: Column) -> Column:
    """Categories without marks for missing cells and without spaces around them."""
    labels, _ = _labels(column)
    distinct = list(dict.fromkeys(label for label in labels if label not in MISSING))
    if not column.declared and labels != list(column.categories or ()):
        distinct.sort(key=natural)  # as they are without spaces
    names = unique([shortened(label) for label in distinct])  # two long texts may begin alike
    called = dict(zip(distinct, names, strict=True))
    return column.renamed([called.get(label) for label in labels], names)


def _is_code(text: str) -> bool:
    """Whether digits are a code: with a zero before them, or too many for a float to tell apart."""
    if CODE.match(text):
        return True
    return len(text) > 15 and text.lstrip("+-").isdigit() and abs(int(text)) >= LARGEST_EXACT


def _without_units(texts: Sequence[str]) -> Sequence[str]:
    joined = "".join(texts)
    if not any(sign in joined for sign in _UNIT):
        return texts
    return [re.sub(f"[{re.escape(_UNIT)}]", "", text).strip() for text in texts]


def _is_nearly_written(texts: Sequence[str], counts: NDArray[np.int64], values: Floats) -> bool:
    """Whether texts are numbers or dates but for a few cells, and these are no codes."""
    stray, n_cells = np.isnan(values), counts.sum()
    if len(np.unique(values[~stray])) < _VALUES:
        return False
    if counts[stray].sum() > min(max(_STRAYS, _SHARE * n_cells), _MOST * n_cells):
        return False
    others = [
        texts[place] for place in np.flatnonzero(stray).tolist() if texts[place] not in MISSING
    ]
    coded = sum(_LETTERED.fullmatch(text) is not None for text in others)
    return coded <= max(1.0, len(others) / 2.0)


def _as_written(texts: Sequence[str], how: str) -> Floats:
    """The texts as numbers or dates, NaN where they are not written in a certain way."""
    if how in _DATES:
        return _as_dates(texts, how)
    pattern, digits_of = _NUMBERS[how]
    bare = _without_units(texts)
    values = np.array([
        float(text.translate(digits_of))
        if pattern.fullmatch(text) and (how == _ZEROS or not _is_code(text)) else np.nan
        for text in bare
    ])  # fmt: skip
    if bare is not texts and not np.isnan(values).all():  # 5 of one unit is not 5 of another
        units = np.array(["".join(char for char in text if char in _UNIT) for text in texts])
        most_common = Counter(units[~np.isnan(values)].tolist()).most_common(1)[0][0]
        values[units != most_common] = np.nan
    return values


def _as_dates(texts: Sequence[str], how: str) -> Floats:
    """The texts as dates in microseconds, NaN where they are none."""
    may_be = [
        text[:1].isdigit() and 6 <= len(text) <= 40
        and (how != "year-month-day" or _ISO.fullmatch(text) is not None)
        for text in texts
    ]  # fmt: skip
    values = np.full(len(texts), np.nan)
    if any(may_be):
        few = pd.Series([text for text, may in zip(texts, may_be, strict=True) if may])
        when = pd.to_datetime(few, format=_DATES[how], errors="coerce", utc=True)
        stamps = when.dt.tz_localize(None).to_numpy().astype("datetime64[us]")
        values[may_be] = np.where(np.isnat(stamps), np.nan, stamps.astype(np.int64))
    return values
