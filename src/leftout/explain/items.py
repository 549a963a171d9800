"""Items: the conditions that a raw table's columns are cut into, and how often they meet.

A column of numbers becomes intervals, a category one item per value, and what is missing an item of
its own, so that every row has exactly one item of every column. The rows of an item are kept as
bits; rules and descriptions count how many rows sets of items share.
"""

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leftout.explain.bits import Bits, n_words, pack
from leftout.tables.columns import Column
from leftout.tables.conditions import Condition, Mask
from leftout.tables.cuts import FINE, cut

Counts = NDArray[np.int64]


class Items:
    """All items of a table, numbered from 0, column after column."""

    def __init__(self, columns: list[Column], n_bins: int, group: Mask | None = None) -> None:
        self.cuts = [cut(column, n_bins, group) for column in columns]
        self.starts = np.concatenate([[0], np.cumsum([c.n_bins for c in self.cuts])]).astype(int)

    def __len__(self) -> int:
        return int(self.starts[-1])

    @property
    def n_rows(self) -> int:
        return len(self.cuts[0].codes)

    @cached_property
    def column_of(self) -> NDArray[np.intp]:
        """The place of the column that each item belongs to."""
        return np.repeat(np.arange(len(self.cuts)), np.diff(self.starts))

    def condition(self, item: int) -> Condition:
        place = int(self.column_of[item])
        return self.cuts[place].condition(int(item - self.starts[place]))

    def count(self, rows: Mask | None = None) -> Counts:
        """In how many rows, or in how many of some, each item occurs."""
        every = (c.codes if rows is None else c.codes[rows] for c in self.cuts)
        counts = zip(every, self.cuts, strict=True)
        return np.concatenate([np.bincount(codes, minlength=c.n_bins) for codes, c in counts])

    def bits(self, chosen: Sequence[int] | NDArray[np.intp]) -> Bits:
        """The rows of the chosen items, as bits."""
        place = np.full(len(self), -1)
        place[chosen] = np.arange(len(chosen))
        bits = np.zeros((len(chosen), n_words(self.n_rows)), dtype=np.uint64)
        for start, c in zip(self.starts.tolist(), self.cuts, strict=False):
            pack(c.codes, place[start:], bits)
        return bits


def most_telling(columns: list[Column], group: Mask, limit: int) -> list[Column]:
    """The columns that tell most about the group, in their order; all, if there are no more."""
    if len(columns) <= limit:
        return columns
    told = np.array([c.tells(group) for c in Items(columns, FINE, group).cuts])
    return [columns[place] for place in largest(told, limit)]


def largest(values: NDArray[Any], limit: int) -> NDArray[np.intp]:
    """Places of the ``limit`` largest values, in rising order."""
    return np.sort(np.argsort(-values, kind="stable")[:limit])
