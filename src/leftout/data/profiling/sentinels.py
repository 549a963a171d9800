"""Values that mean something else than they say: 999 for "not known", 1900-01-01 for "no date".

Nobody can see that from one value. What gives it away is a pile of rows at a number of nines (or at
-1, or at a date where calendars of computers begin or end), far from all other values.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from leftout.data.columns import Column
from leftout.errors import parameter_label
from leftout.files import Serializable
from leftout.text import counted, shown

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]
_Rule = Callable[[Floats, Counts, Floats, Counts], bool]

# Numbers that people put where there is none, and those beside the nines that say why.
_NINES = [float("9" * digits) for digits in range(1, 9)]
_BESIDE = [nine - less for nine in _NINES[:5] for less in (1.0, 2.0)]
_POINTED = [99.9, 999.9, 9999.9, 99.99, 999.99, 9999.99]
_OUTER = np.array([*_NINES, *_POINTED])
_HIGH = np.array(sorted([*_NINES, *_BESIDE, *_POINTED]))
_LOW = -_HIGH
_DATES = np.array(["1900-01-01", "1970-01-01", "9999-12-31"], "datetime64[us]").astype(np.float64)
_YEAR = 366 * 86_400e6
# Words that numbers may stand beside, and what a number is.
_WORDS, _NUMBER = 2, re.compile(r"[+-]?\d+([.,]\d+)?")
# Rows at the value; of all rows for -1, beside so many other values.
_PILE, _SHARE, _VALUES = 3, 0.01, 10
# The digit 9 is a value like others, unless it follows on so few of them after such a gap.
_SCALE, _STEP = 6, 3.0


@dataclass(frozen=True)
class Suspect(Serializable):
    """A value of a column that may stand for something else, such as "not known".

    Attributes
    ----------
    column : str
    value : str
        As text.
    rows : int
        Rows that hold it.
    why : str
        In a few words.
    """

    also = ("told",)

    column: str
    value: str
    rows: int
    why: str

    @property
    def told(self) -> str:
        """One sentence, with the option that declares the value missing."""
        option = parameter_label("missing", f"{self.column}={self.value}")
        return (
            f"{shown(self.column)} is {self.value} in {counted(self.rows, 'row')}, {self.why}; if "
            f"that means that it is not known, say so: {shown(option)}."
        )


def suspects(column: Column) -> list[Suspect]:
    """Values of numbers or dates, or words among numbers, that may mean something else.

    Examples
    --------
    >>> import numpy as np
    >>> from leftout.data.columns import Column
    >>> from leftout.data.profiling.sentinels import suspects
    >>> times = Column("reviews", np.array([0.0, 1, 3, 2, 0, 1, 999, 999, 999]))
    >>> print(suspects(times)[0].told)
    reviews is 999 in 3 rows, far above all other values (at most 3); if that means that it is not \
known, say so: missing='reviews=999'.
    """
    if column.categories is not None:
        return _words_among_numbers(column)
    return [
        Suspect(column.name, column.show(column.present[0][place]), rows, why)
        for place, rows, why in _found(column)
    ]


def _words_among_numbers(column: Column) -> list[Suspect]:
    """One or two texts in a column whose many other values are numbers: 12, 15, none, 7."""
    texts = column.categories or ()
    if column.levels is not None or column.declared or len(texts) < _VALUES:
        return []
    words = [code for code, text in enumerate(texts) if not _NUMBER.fullmatch(text)]
    if not 0 < len(words) <= _WORDS:
        return []
    rows = column.category_counts
    why = "where all other values are numbers"
    return [Suspect(column.name, texts[code], int(rows[code]), why) for code in words]


def ordinary(column: Column) -> NDArray[np.bool_]:
    """Which of a column's distinct numbers are not suspected to mean something else."""
    kept = np.ones(len(column.present[0]), dtype=bool)
    kept[[place for place, *_ in _found(column)]] = False
    return kept


def _found(column: Column) -> list[tuple[int, int, str]]:
    """Places of the suspects among the distinct values, their rows, and why."""
    if column.categories is not None:
        return []
    distinct, counts = column.present
    if len(distinct) < 3 or not np.isfinite(distinct[[0, -1]]).all():
        return []
    low, high = _ends(distinct, counts, column.dates)
    stop = len(distinct) - high
    below = f"far below all other values (at least {column.show(distinct[low])})"
    above = f"far above all other values (at most {column.show(distinct[stop - 1])})"
    why = ["the only value below 0" if value == -1.0 else below for value in distinct[:low]]
    places = [*range(low), *range(stop, len(distinct))]
    return list(zip(places, counts[places].tolist(), why + [above] * high, strict=True))


def _ends(distinct: Floats, counts: Counts, dates: bool) -> tuple[int, int]:
    """How many suspicious values at either end stand apart from all others."""
    if dates:
        marks = np.isin(distinct, _DATES)
        low, high = _run(marks), _run(marks[::-1])
    else:
        low = _run(_near(distinct[:8], _LOW) | (distinct[:8] == -1.0))
        high = _run(_near(distinct[-8:], _HIGH)[::-1])

    def is_apart(run: slice, rule: _Rule) -> bool:
        rest = slice(low, len(distinct) - high)
        if len(distinct[run]) == 0 or counts[run].max() < _PILE or len(distinct[rest]) < 2:
            return False
        return rule(distinct[run], counts[run], distinct[rest], counts[rest])

    for _ in range(2):  # what is not apart at one end belongs to the rest for the other
        if not is_apart(slice(len(distinct) - high, None), _is_long_ago if dates else _is_above):
            high = 0
        if not is_apart(slice(0, low), _is_long_ago if dates else _is_below):
            low = 0
    return low, high


def _is_long_ago(values: Floats, rows: Counts, rest: Floats, often: Counts) -> bool:
    """Whether dates are a year or more, and a tenth of the range, from all others; or to come."""
    gap = max(rest[0] - values[-1], values[0] - rest[-1])
    return bool(gap > max(_YEAR, (rest[-1] - rest[0]) / 10.0))


def _is_below(values: Floats, rows: Counts, rest: Floats, often: Counts) -> bool:
    """Whether negative values are marks: nothing else is negative, and they are no small change."""
    if rest[0] < 0.0:
        return bool(rest[0] - values[-1] > rest[-1] - rest[0])
    if values[-1] > -5.0:  # -1 alone, or the end of a family
        if len(values) > 1 and values[0] > -5.0:
            return False
        piled = rows.sum() > often.mean() and rows.sum() >= _SHARE * (rows.sum() + often.sum())
        return len(values) > 1 or (len(rest) >= _VALUES and bool(piled))
    return True


def _is_above(values: Floats, rows: Counts, rest: Floats, often: Counts) -> bool:
    """Whether nines are further from the others than these are from each other."""
    if not _near(values[-1:], _OUTER).any():
        return False
    gap, spread = values[0] - rest[-1], rest[-1] - rest[0]
    if values[-1] < 10.0:  # a scale from 0 or 1 of a few values, and no decline to the end
        scale = rest[0] >= 0 and len(rest) <= _SCALE and spread == len(rest) - 1
        return bool(scale and gap >= _STEP and (len(rows) > 1 or rows[0] > often[-1]))
    return bool(gap > max(spread, values[0] / 2.0))


def _near(values: Floats, marks: Floats) -> NDArray[np.bool_]:
    """Which values are among the marks, also where single precision has blurred them."""
    close: NDArray[np.bool_] = np.abs(values[:, None] - marks) <= 1e-7 * np.abs(marks)
    return np.logical_or.reduce(close, axis=1)


def _run(marks: NDArray[np.bool_]) -> int:
    """How many marks stand in a row at the beginning."""
    return int(len(marks) if marks.all() else np.argmin(marks))
