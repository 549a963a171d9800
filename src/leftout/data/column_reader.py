"""How columns are read: as people say that they are meant, and like those of a sample.

What a table's schema, decided on a sample of its rows, needs of all rows is one pass over blocks. A
block is some rows of raw columns: the whole table in memory, or a batch of a chunk. A reader turns
the cells of a column into what the sample's became, and summaries of blocks add up.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from itertools import islice
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from leftout.checks import check_choice
from leftout.data.cleaning import clean_all, read_like
from leftout.data.columns import Column, Counts, Floats, columns_of, found
from leftout.data.dictionary import CATEGORICAL, Dictionary, Missing
from leftout.data.profiling.column_types import ColumnFacts, infer_column_types
from leftout.errors import InputError
from leftout.running import warn
from leftout.settings import ENCODINGS, SCALINGS, Reading
from leftout.text import shortened, shown

# Rows that a schema is inferred from; of more, always the same ones.
SCHEMA_ROWS = 50_000
# Different texts among numbers that are kept with their counts.
_MOST_STRAYS = 1000

# Raw columns of some rows, by their names in the table.
Block = Mapping[str, Column]


@dataclass(frozen=True)
class ColumnDeclarations:
    """Columns that are codes, columns that are numbers, values that mean nothing, a dictionary."""

    categorical: frozenset[str]
    numeric: frozenset[str]
    missing: Missing
    dictionary: Dictionary

    @classmethod
    def of(cls, names: Sequence[Any], reading: Any = Reading()) -> ColumnDeclarations:  # noqa: B008
        """What is said of the columns of a table with these names.

        ``reading`` is a :class:`Reading`, or an encoder with parameters of the same names. Refuses
        columns that the table has not, or that are said to be both codes and numbers.
        """
        check_choice("encoding", reading.encoding, ENCODINGS)
        check_choice("scaling", reading.scaling, SCALINGS)
        known = Dictionary.of(reading.dictionary).checked(names)
        codes = frozenset(map(str, found(list(names), reading.categorical, "categorical")))
        numbers = frozenset(map(str, found(list(names), reading.numeric, "numeric")))
        for name in sorted(codes & numbers):
            raise InputError(
                f"The column {name!r} is to be read as codes, and as numbers. Choose one."
            )
        return cls(codes, numbers, Missing.of(reading.missing, names), known)

    def columns(self, table: Any, *, drop: Iterable[Any] | None = None) -> list[Column]:
        """The table's columns, those that are said to be codes as categories."""
        return columns_of(table, categorical=self.categories, drop=drop)

    @property
    def categories(self) -> Set[str]:
        """Columns whose numbers or dates are said to be codes."""
        kinds = self.dictionary.kinds
        named = {name for name, kind in kinds.items() if kind in CATEGORICAL}
        return (named | self.categorical) - self.numeric

    def check(self, raw: Sequence[Column], cells_of: Sequence[Sequence[int]] | None = None) -> None:
        """Refuse values to be missing that no row holds; else say how many cells do.

        ``cells_of`` each column hold its values, where ``raw`` is only a sample.
        """
        if self.missing:
            warn(f"{self.missing.describe(raw, cells_of)}.")

    def columns_and_types(
        self, raw: Sequence[Column], roles: Mapping[str, str] = MappingProxyType({})
    ) -> tuple[list[Column], list[ColumnFacts]]:
        """Raw columns as they were meant, called by their labels, and what each of them is.

        Those with ``roles``, by their raw names, have no say in what the others are.
        """
        cleaned = clean_all([
            replace(self.missing.apply(c), declared=c.declared or c.name in self.categorical)
            for c in raw
        ], self.numeric)  # fmt: skip
        names = [column.name for column in raw]
        meant = [self.dictionary.apply(c, n) for c, n in zip(cleaned, names, strict=True)]
        every = self.dictionary.kinds | dict.fromkeys(self.numeric, "number")
        named = every.keys() - self.categorical
        # by names that may have been cut
        said = {m.name: every[n] for n, m in zip(names, meant, strict=True) if n in named}
        for column in meant:
            if said.get(column.name) == "number" and column.numbers is None:
                held = shown(repr(shortened((column.categories or ("",))[0])))
                raise InputError(
                    f"The column {column.name!r} is said to hold numbers, but none of its cells is "
                    f"one; it holds text such as {held}. Correct that, or its cells."
                )
        kinds: dict[str, ColumnFacts] = {}
        for apart in (False, True):
            part = [m for c, m in zip(raw, meant, strict=True) if (c.name in roles) == apart]
            kinds |= {kind.label: kind for kind in infer_column_types(part, said)}
        columns = self.dictionary.renamed(meant, names)
        return columns, [
            replace(
                kinds[m.name], name=name, label=c.name, note=self.dictionary[name].note,
                role=roles.get(name, "searched"),
            )
            for name, m, c in zip(names, meant, columns, strict=True)
        ]  # fmt: skip

    def alike(self, raw: Column) -> Column:
        """A raw column of new rows, with the same values missing and the same labels."""
        return self.dictionary.apply(self.missing.apply(raw))


def sampled_places(n_rows: int, size: int | None = None) -> NDArray[np.intp]:
    """Places of the rows that a schema is inferred from, rising; all where there are no more."""
    size = SCHEMA_ROWS if size is None else size
    if size >= n_rows:
        return np.arange(n_rows)
    return np.sort(np.random.default_rng(0).choice(n_rows, size, replace=False))


@dataclass(frozen=True)
class ColumnReader:
    """Reads a column of any rows the way that its sample was read."""

    raw: str  # its name in the table
    like: Column  # what it is, without rows; categories that it has not come after those it has
    declared: ColumnDeclarations

    def column(self, raw: Column) -> Column:
        """Cells as numbers, dates, or codes of the same categories."""
        meant = self.declared.alike(replace(raw, declared=self.like.declared))
        return read_like(meant, self.like)


class ColumnSummary(NamedTuple):
    """What an encoder needs of all rows of a column."""

    n_rows: int
    n_missing: int
    low: float  # the smallest number; infinite where there is none
    high: float
    counts: NDArray[Any]  # rows (or their weight) of each of the sample's categories; of any other
    strays: dict[str, int]  # texts among numbers, with their cells
    declared: Counts  # cells of each value that somebody has declared missing

    @classmethod
    def of(
        cls, column: Column, like: Column, hits: Counts | None = None, weights: Floats | None = None
    ) -> ColumnSummary:
        """Of a column that was read like another one."""
        low, high, counts = np.inf, -np.inf, np.zeros(0, dtype=np.int64)
        if like.words:
            n = len(like.categories or ())
            counts = np.bincount(np.minimum(column.values, n) + 1, weights, n + 2)[1:]
        else:
            numbers: Any = column.numbers
            if not np.isnan(numbers).all():
                low, high = float(np.nanmin(numbers)), float(np.nanmax(numbers))
        return cls(
            len(column), column.n_missing, low, high, counts, dict(column.strays),
            np.zeros(0, dtype=np.int64) if hits is None else hits,
        )  # fmt: skip

    def merge(self, other: ColumnSummary) -> ColumnSummary:
        """Of the rows of both."""
        strays = Counter(self.strays)
        strays.update(other.strays)
        return ColumnSummary(
            self.n_rows + other.n_rows, self.n_missing + other.n_missing,
            min(self.low, other.low), max(self.high, other.high), self.counts + other.counts,
            dict(islice(strays.items(), _MOST_STRAYS)), self.declared + other.declared,
        )  # fmt: skip


@dataclass(frozen=True)
class SummaryPass:
    """The pass over all rows: a summary of each reader's column."""

    readers: tuple[ColumnReader, ...]

    def over(self, block: Block, weights: Floats | None = None) -> tuple[ColumnSummary, ...]:
        """Of some rows."""
        found = []
        for reader in self.readers:
            raw = block[reader.raw]
            hits = np.array(reader.declared.missing.cells(raw), dtype=np.int64)
            found.append(ColumnSummary.of(reader.column(raw), reader.like, hits, weights))
        return tuple(found)

    def merge(
        self, a: tuple[ColumnSummary, ...], b: tuple[ColumnSummary, ...]
    ) -> tuple[ColumnSummary, ...]:
        """Of the rows of both."""
        return tuple(one.merge(other) for one, other in zip(a, b, strict=True))


# Runs a pass over all rows, wherever they are.
Summarize = Callable[[SummaryPass], tuple[ColumnSummary, ...]]
