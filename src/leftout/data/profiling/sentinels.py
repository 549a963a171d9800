"""Values that mean something else than they say: 999 for "not known", 1900-01-01 for "no date".

Nobody can see that from one value. What gives it away is a pile of rows at a number of nines (or at
-1, or at a date where calendars of computers begin or end), far from all other values.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from leftout.data.columns import Column, Counts, Floats
from leftout.errors import parameter_label
from leftout.files import Serializable
from leftout.text import counted, shown

_NINES = np.array([float("9" * digits) for digits in range(1, 9)])
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

    also = ("text",)

    column: str
    value: str
    rows: int
    why: str

    @property
    def text(self) -> str:
        """One sentence, with the option that declares the value missing."""
        option = parameter_label("missing", f"{self.column}={self.value}")
        return (
            f"{shown(self.column)} is {self.value} in {counted(self.rows, 'row')}, {self.why}; if "
            f"that means that it is not known, say so: {shown(option)}."
        )


def suspects(column: Column) -> list[Suspect]:
    """Values of numbers or dates, or words among numbers, that may mean something else.

    >>> from leftout.data.columns import Column
    >>> times = Column("reviews", np.array([0.0, 1, 3, 2, 0, 1, 999, 999, 999]))
    >>> print(suspects(times)[0].text)
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
    lows, highs = (_DATES, _DATES) if column.dates else (np.append(-_NINES, -1.0), _NINES)
    first = int(distinct[0] in lows and counts[0] >= _PILE)
    stop = len(distinct) - int(distinct[-1] in highs and counts[-1] >= _PILE)
    if stop - first < 2:
        return []
    # what is not apart at one end belongs to the others at the other
    if stop < len(distinct) and not _is_above(distinct[first:], counts[first:], column.dates):
        stop = len(distinct)
    if first and not _is_below(distinct[:stop], counts[:stop], column.dates):
        first = 0
    low, high = column.show(distinct[first]), column.show(distinct[stop - 1])
    below = f"far below all other values (at least {low})"
    below = "the only value below 0" if distinct[0] == -1.0 else below
    above = f"far above all other values (at most {high})"
    ends = [(0, below)] * first + [(stop, above)] * (len(distinct) - stop)
    return [(place, int(counts[place]), why) for place, why in ends]


def _is_below(values: Floats, counts: Counts, dates: bool) -> bool:
    """Whether the first date is long ago, or the first value the only negative one, or far off."""
    rest, often = values[1:], counts[1:]
    gap, spread = rest[0] - values[0], rest[-1] - rest[0]
    if dates:
        return bool(gap > max(_YEAR, spread / 10.0))
    if rest[0] < 0.0:
        return bool(gap > spread)
    is_pile = counts[0] > often.mean() and counts[0] >= _SHARE * counts.sum()
    return bool(values[0] < -1.0 or len(rest) >= _VALUES and is_pile)


def _is_above(values: Floats, counts: Counts, dates: bool) -> bool:
    """Whether the last date is to come, or the last value further off than others are spread."""
    rest = values[:-1]
    gap, spread = values[-1] - rest[-1], rest[-1] - rest[0]
    if dates:
        return bool(gap > max(_YEAR, spread / 10.0))
    if values[-1] < 10.0:  # a scale from 0 or 1 of a few values, and no decline to the end
        is_scale = rest[0] >= 0 and len(rest) <= _SCALE and spread == len(rest) - 1
        return bool(is_scale and gap >= _STEP and counts[-1] > counts[-2])
    return bool(gap > max(spread, values[-1] / 2.0))
