"""The first pass over a table: what its columns hold, and rows of a sample."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from leftout.scale.cells import is_plain_text, raw_column, whole_numbers
from leftout.scale.chunks import Chunk
from leftout.scale.numbers import Counter, Numbers
from leftout.scale.texts import Adding, Texts
from leftout.tables.columns import Column
from leftout.tables.said.values import Written

if TYPE_CHECKING:
    import pyarrow as pa

Places = NDArray[np.int64]
Summary = Numbers | Texts
Marks = tuple[Written, ...]


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
        Values that somebody has declared missing, of columns that have some.
    names : tuple of str or None
        Columns that are summarised; None: all.
    room : int
        Times as many distinct values are counted as usual.
    """

    places: Places
    unread: frozenset[str] = frozenset()
    marks: dict[str, Marks] = field(default_factory=dict)
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

        marks = self.marks.get(name, ())
        if is_a.is_integer(kind):
            return _Wholes(name, kind, marks, self.room)
        numeric = (
            is_a.is_floating, is_a.is_timestamp, is_a.is_date, is_a.is_decimal, is_a.is_time,
            is_a.is_duration, is_a.is_null,
        )  # fmt: skip
        unread = name in self.unread
        if unread or any(is_it(kind) for is_it in numeric):
            return _Floats(name, kind, unread, marks, self.room)
        return _Words(name, kind, marks, self.room)

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

    def __init__(self, name: str, kind: pa.DataType, marks: Marks, room: int) -> None:
        self.name, self.kind, self.marks = name, kind, marks
        self.counter = Counter(integer=True, room=room, unsigned=str(kind) == "uint64")

    def add(self, cells: pa.Array) -> None:
        whole = whole_numbers(cells, self.kind)
        self.counter.add(whole.keys, whole.known)
        if self.marks:
            marked = _marked(Column(self.name, whole.numbers()), self.marks)
            self.counter.mark(whole.keys[marked])

    def done(self) -> Numbers:
        return self.counter.done()


class _Floats:
    """Sums up other numbers and dates; cells that are not read are missing."""

    def __init__(self, name: str, kind: pa.DataType, unread: bool, marks: Marks, room: int) -> None:
        self.name, self.kind, self.unread, self.marks = name, kind, unread, marks
        self.counter = Counter(integer=False, room=room)

    def add(self, cells: pa.Array) -> None:
        column = raw_column(self.name, cells, self.kind, self.unread)
        values = column.numbers
        if values is None:  # nothing that could be read
            values = np.full(len(cells), np.nan)
        self.counter.add(values)
        if self.marks:
            self.counter.mark(values[_marked(replace(column, values=values), self.marks)])

    def done(self) -> Numbers:
        return self.counter.done()


def _marked(column: Column, marks: Marks) -> NDArray[np.bool_]:
    """Rows that hold one of some values."""
    return np.logical_or.reduce([value.among(column) for value in marks])


class _Words:
    """Sums up texts, categories, and yes and no."""

    def __init__(self, name: str, kind: pa.DataType, marks: Marks, room: int) -> None:
        self.name, self.kind = name, kind
        texts = frozenset(value.text for value in marks)
        self.ordered = bool(getattr(kind, "ordered", False))
        self.adding = Adding(Texts(marks=texts, order=() if self.ordered else None, room=room))

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
