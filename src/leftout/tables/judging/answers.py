"""What other columns are asked to tell: the values of a column, or its numbers."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from leftout.tables.columns import Column
from leftout.tables.judging.bins import Floats, Ints
from leftout.tables.targets import levels_of, value_of

# Of a column with more values, the most frequent are asked for.
_MOST = 20


class Answer(NamedTuple):
    """What is to be told: one of several values, or a number."""

    rows: Ints  # those where it is known
    codes: Ints | None  # of values; the last for all that are not asked for
    asked: list[int]
    names: list[str | None]
    numbers: Floats | None

    def on(self, rows: Ints) -> Answer:
        """The same on some of its rows."""
        at = np.searchsorted(self.rows, rows)
        codes = None if self.codes is None else self.codes[at]
        numbers = None if self.numbers is None else self.numbers[at]
        return self._replace(rows=rows, codes=codes, numbers=numbers)


def answer_of(column: Column, positive: Any = None) -> Answer:
    """What a column asks others to tell; where ``positive`` is given, that value alone."""
    rows = np.flatnonzero(~column.missing)
    values = column.values[rows]
    if positive is not None:
        level = (levels_of(column, positive) or [])[0]
        yes = (values == level).astype(np.int64)
        return Answer(rows, 1 - yes, [0], [value_of(column, level)], None)
    if column.categories is None:
        return Answer(rows, None, [], [], values)
    counts = np.bincount(values, minlength=len(column.categories))
    frequent = np.sort(np.argsort(-counts, kind="stable")[:_MOST])
    frequent = frequent[counts[frequent] > 0]
    names: list[str | None] = [column.categories[code] for code in frequent]
    if len(names) == 2 and (counts > 0).sum() == 2:  # who tells the rarer one tells the other
        frequent, names = frequent[[np.argmin(counts[frequent])]], [None]
    place = np.full(len(counts), len(frequent))
    place[frequent] = np.arange(len(frequent))
    return Answer(rows, place[values], list(range(len(frequent))), names, None)
