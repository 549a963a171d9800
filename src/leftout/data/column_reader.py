"""What a table's schema, decided on a sample of its rows, needs of all rows: one pass over blocks.

A block is some rows of raw columns: the whole table in memory, or a batch of a chunk. A reader
turns the cells of a column into what the sample's became, and summaries of blocks add up.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leftout.data.cleaning import read_like
from leftout.data.column_summary import ColumnSummary
from leftout.data.columns import Column, of_numbers
from leftout.data.declarations import ColumnDeclarations
from leftout.data.roles import level_of, numbers_at

# Rows that a schema is inferred from; of more, always the same ones.
SCHEMA_ROWS = 50_000

# Raw columns of some rows, by their names in the table.
Block = Mapping[str, Column]


def sampled_places(n_rows: int, size: int | None = None) -> NDArray[np.intp]:
    """Places of the rows that a schema is inferred from, rising; all where there are no more."""
    size = SCHEMA_ROWS if size is None else size
    if size >= n_rows:
        return np.arange(n_rows)
    return np.sort(np.random.default_rng(0).choice(n_rows, size, replace=False))


@dataclass(frozen=True)
class ColumnReader:
    """Reads a column of any rows the way that its sample was read.

    Attributes
    ----------
    raw : str
        Its name in the table.
    like : Column
        What it is, without rows. Categories that it has not come after those it has.
    declared : ColumnDeclarations
    """

    raw: str
    like: Column
    declared: ColumnDeclarations

    @classmethod
    def of(cls, raw: str, column: Column, declared: ColumnDeclarations) -> ColumnReader:
        """That reads like a column of a sample."""
        return cls(raw, column.without_rows(), declared)

    def column(self, raw: Column) -> Column:
        """Cells as numbers, dates, or codes of the same categories."""
        meant = self.declared.alike(replace(raw, declared=self.like.declared))
        return read_like(meant, self.like)


def sampled(column: Column, places: NDArray[np.intp]) -> Column:
    """The raw column that some rows of a table would have alone."""
    part = column.take(places)
    if part.categories is None:
        return part if part.dates else of_numbers(part.name, part.values)
    here = part.category_counts > 0
    names = [name for name, present in zip(part.categories, here, strict=True) if present]
    levels = None if part.levels is None else part.levels[here]
    part = part.recoded(np.where(here, np.cumsum(here) - 1, -1), names, levels)
    return replace(part, ordered=part.ordered and len(names) > 2)


def target_scale(target: Column | None, positive: Any) -> tuple[Any, float]:
    """The value of a target whose rate counts (None: its mean), and about what its numbers are."""
    if target is None:
        return None, 0.0
    level = level_of(target, positive)
    y = numbers_at(target, level)
    return level, float(y[np.isfinite(y)].mean())


@dataclass(frozen=True)
class SummaryPass:
    """The pass over all rows: a summary of each reader's column, and sums of a target."""

    readers: tuple[ColumnReader, ...]
    target: ColumnReader | None = None
    level: Any = None
    centre: float = 0.0

    def over(self, block: Block) -> tuple[ColumnSummary, ...]:
        """Of some rows."""
        y = None
        if self.target is not None:
            y = numbers_at(self.target.column(block[self.target.raw]), self.level) - self.centre
        found = []
        for reader in self.readers:
            raw = block[reader.raw]
            hits = np.array(reader.declared.missing.cells(raw), dtype=np.int64)
            found.append(ColumnSummary.of(reader.column(raw), reader.like, hits, y))
        return tuple(found)

    def merge(
        self, a: tuple[ColumnSummary, ...], b: tuple[ColumnSummary, ...]
    ) -> tuple[ColumnSummary, ...]:
        """Of the rows of both."""
        return tuple(one.merge(other) for one, other in zip(a, b, strict=True))


# Runs a pass over all rows, wherever they are.
Summarize = Callable[[SummaryPass], tuple[ColumnSummary, ...]]
