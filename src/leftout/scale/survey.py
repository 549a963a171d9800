"""The first pass over a table: what its columns hold, and rows of a sample."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from leftout.scale.cells import is_plain_text, raw_column, whole_numbers
from leftout.scale.chunks import Chunk
from leftout.scale.numbers import Counter, Numbers
from leftout.scale.texts import Adding, Texts
from leftout.tables.columns import Column

if TYPE_CHECKING:
    import pyarrow as pa

Places = NDArray[np.int64]
Summary = Numbers | Texts


class Surveyed(NamedTuple):
    """What some chunks hold: a summary of each column, and the rows of the sample among them."""

    columns: dict[str, Summary]
    rows: pa.Table

    def merge(self, other: Surveyed) -> Surveyed:
        """What both hold, ``other`` after this one."""
        import pyarrow as pa

        columns = {
            name: summary.merge(other.columns[name])  # type: ignore[arg-type]
            for name, summary in self.columns.items()
        }
        return Surveyed(columns, pa.concat_tables([self.rows, other.rows]))


@dataclass(frozen=True)
class Survey:
    """A pass over chunks that summarises every column and takes some rows.

    Attributes
    ----------
    places : array
        Of the rows to take, rising.
    unread : frozenset of str
        Columns whose cells need not be read.
    marks : dict
        Texts that somebody has declared missing, of columns that have some.
    names : tuple of str or None
        Columns that are summarised; None: all.
    room : int
        Times as many distinct values are counted as usual.
    """

    places: Places
    unread: frozenset[str] = frozenset()
    marks: dict[str, frozenset[str]] = field(default_factory=dict)
    names: tuple[str, ...] | None = None
    room: int = 1

    def __call__(self, chunk: Chunk) -> Surveyed:
        import pyarrow as pa

        names = chunk.layout.names if self.names is None else self.names
        each = {name: self._summing(name, chunk.layout.of[name]) for name in names}
        rows = [_schema(chunk).empty_table()]
        for start, batch in chunk.batches(names):
            for name, cells in zip(each, batch.columns, strict=True):
                each[name].add(cells)
            rows += self._taken(chunk, start, batch)
        columns = {name: summing.done() for name, summing in each.items()}
        return Surveyed(columns, pa.concat_tables(rows))

    def _summing(self, name: str, kind: pa.DataType) -> Any:
        import pyarrow.types as is_a

        if is_a.is_integer(kind):
            return _Wholes(self.room)
        numeric = (
            is_a.is_floating, is_a.is_timestamp, is_a.is_date, is_a.is_decimal, is_a.is_time,
            is_a.is_duration, is_a.is_null,
        )  # fmt: skip
        unread = name in self.unread
        if unread or any(is_it(kind) for is_it in numeric):
            return _Floats(name, kind, unread, self.room)
        return _Words(name, kind, self.marks.get(name, frozenset()), self.room)

    def rows(self, chunk: Chunk) -> pa.Table:
        """The rows of a chunk alone."""
        import pyarrow as pa

        tables = [_schema(chunk).empty_table()]
        for start, batch in chunk.batches():
            tables += self._taken(chunk, start, batch)
        return pa.concat_tables(tables)

    def _taken(self, chunk: Chunk, start: int, batch: pa.RecordBatch) -> list[pa.Table]:
        import pyarrow as pa

        low, high = np.searchsorted(self.places, [start, start + batch.num_rows])
        if low == high:
            return []
        taken = batch.take(pa.array(self.places[low:high] - start))
        # text that was read as a dictionary is text again
        return [pa.Table.from_batches([taken]).cast(_schema(chunk))]


class _Wholes:
    """Sums up whole numbers, batch by batch."""

    def __init__(self, room: int) -> None:
        self.counter = Counter(integer=True, room=room)

    def add(self, cells: pa.Array) -> None:
        whole = whole_numbers(cells)
        self.counter.add(whole.values, whole.known)

    def done(self) -> Numbers:
        return self.counter.done()


class _Floats:
    """Sums up other numbers and dates; cells that are not read are missing."""

    def __init__(self, name: str, kind: pa.DataType, unread: bool, room: int) -> None:
        self.name, self.kind, self.unread = name, kind, unread
        self.counter = Counter(integer=False, room=room)

    def add(self, cells: pa.Array) -> None:
        values = raw_column(self.name, cells, self.kind, self.unread).numbers
        self.counter.add(np.full(len(cells), np.nan) if values is None else values)

    def done(self) -> Numbers:
        return self.counter.done()


class _Words:
    """Sums up texts, categories, and yes and no."""

    def __init__(self, name: str, kind: pa.DataType, marks: frozenset[str], room: int) -> None:
        self.name, self.kind = name, kind
        self.ordered = bool(getattr(kind, "ordered", False))
        self.adding = Adding(Texts(marks=marks, order=() if self.ordered else None, room=room))

    def add(self, cells: pa.Array) -> None:
        if is_plain_text(cells):
            self.adding.add_cells(cells)
            return
        column: Column = raw_column(self.name, cells, self.kind)
        words = column.categories or ()
        counts = np.bincount(column.values + 1, minlength=len(words) + 1)
        order = tuple(dict.fromkeys(words)) if self.ordered else None
        self.adding.add_words(words, counts[1:], int(counts[0]), order)

    def done(self) -> Texts:
        return self.adding.done()


def _schema(chunk: Chunk) -> pa.Schema:
    import pyarrow as pa

    return pa.schema(list(chunk.layout.of.items()))
