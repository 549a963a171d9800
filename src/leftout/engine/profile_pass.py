"""The first pass over a table: what its columns hold, and rows of a sample.

What comes out are columns whose values stand for rows that are elsewhere.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from leftout.data.cells import DistinctCells, ValueCounts
from leftout.data.cleaning import MISSING, WAYS, unit_of
from leftout.data.columns import Column, column_of, of_distinct
from leftout.data.files.arrow import as_pandas
from leftout.data.missing import ValueLiteral
from leftout.engine.cells import floats_of, places_of, values_of
from leftout.engine.chunks import Chunk
from leftout.engine.column_counts import ColumnCounter, ColumnCounts, together

if TYPE_CHECKING:
    import pyarrow as pa

Marks = tuple[ValueLiteral, ...]


class TableProfile(NamedTuple):
    """What some chunks hold: a summary of each column, and the rows of the sample among them."""

    columns: dict[str, ColumnCounts]
    rows: pa.Table

    def merge(self, other: TableProfile) -> TableProfile:
        """What both hold, ``other`` after this one."""
        import pyarrow as pa

        columns = {name: counts.merge(other.columns[name]) for name, counts in self.columns.items()}
        return TableProfile(columns, pa.concat_tables([self.rows, other.rows]))


@dataclass(frozen=True)
class ProfilePass:
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

    places: NDArray[np.int64]
    unread: frozenset[str] = frozenset()
    marks: dict[str, Marks] = field(default_factory=dict)
    names: tuple[str, ...] | None = None
    room: int = 1

    def __call__(self, chunk: Chunk) -> TableProfile:
        import pyarrow as pa

        schema = chunk.layout.schema
        names = schema.names if self.names is None else self.names
        each = {name: self._counter(name, schema.field(name).type) for name in names}
        rows = [schema.empty_table()]
        for start, batch in chunk.batches(names):
            for name, cells in zip(each, batch.columns, strict=True):
                each[name].add(cells)
            low, high = np.searchsorted(self.places, [start, start + batch.num_rows])
            if low < high:
                taken = batch.take(pa.array(self.places[low:high] - start))
                # text that was read as a dictionary is text again
                rows.append(pa.Table.from_batches([taken]).cast(schema))
        columns = {name: counter.done() for name, counter in each.items()}
        return TableProfile(columns, pa.concat_tables(rows))

    def _counter(self, name: str, kind: pa.DataType) -> _Counter:
        marks, unread = self.marks.get(name, ()), name in self.unread
        return _Counter(name, kind, unread, marks, self.room)


class _Counter:
    """Counts a column's values, batch by batch; cells that are not read are missing."""

    def __init__(self, name: str, kind: pa.DataType, unread: bool, marks: Marks, room: int) -> None:
        import pyarrow as pa

        self.name, self.kind, self.unread, self.marks = name, kind, unread, marks
        self.ordered = bool(getattr(kind, "ordered", False))
        numbers = (pa.types.is_integer, pa.types.is_floating, pa.types.is_timestamp)
        self.numeric = any(is_it(kind) for is_it in numbers)
        first = ColumnCounts.none(
            kind if self.numeric else pa.large_string(),
            order=() if self.ordered else None,
            marks=frozenset() if self.numeric else frozenset(value.text for value in marks),
            room=room,
        )
        self.counter = ColumnCounter(first)

    def add(self, cells: pa.Array) -> None:
        import pyarrow as pa

        marked: NDArray[np.bool_] | None = None
        order: tuple[str, ...] = ()
        if self.numeric and self.marks:
            dates = pa.types.is_timestamp(self.kind)
            column = Column(self.name, floats_of(cells), dates=dates)
            marked = np.logical_or.reduce([value.among(column) for value in self.marks])
        if self.ordered:
            order = tuple(dict.fromkeys(cells.dictionary.to_pylist()))
        self.counter.add(values_of(self.name, cells, self.kind, self.unread), order, marked)

    def done(self) -> ColumnCounts:
        return self.counter.done()


@dataclass(frozen=True)
class Looked:
    """Rows of a table that can be looked at, and which of them are the sample or evenly spaced."""

    rows: pa.Table
    sample: NDArray[np.intp]
    spaced: NDArray[np.intp]


def column_from_counts(
    name: str, counts: ColumnCounts, looked: Looked, kind: pa.DataType, said: bool, unread: bool
) -> tuple[Column, pa.Array]:
    """A raw column in which each value is there once, with a tally, and what is stored for each.

    ``said`` to be codes are numbers and dates that somebody wants as categories.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    cells: Any = looked.rows.column(name)
    parts = [values_of(name, part, kind, unread) for part in cells.chunks if len(part)]
    schema = counts.kept.schema
    cells = pa.chunked_array(parts).cast(schema.field("value").type).combine_chunks()
    here = pc.unique(cells).drop_null()
    zero = pa.table([here, np.zeros(len(here), dtype=np.int64)], schema=schema)
    entries = together("max", counts.kept, counts.ends, counts.marked, zero)
    if counts.order is not None:
        entries = entries.take(pc.index_in(pa.array(counts.order), entries["value"]).drop_null())
    times, values = entries["count"].to_numpy(), pa.array(entries["value"].combine_chunks())
    if counts.n_missing:
        times = np.append(times, counts.n_missing)
    places = places_of(cells, values)
    ruled_out, spaces = counts.gone.ruled_out, counts.gone.spaces
    if counts.level and counts.texts:
        bare = {text.strip() for text in values.to_pylist()}.difference(MISSING, counts.marks)
        if len(counts.gone.units.union(map(unit_of, bare))) > 1:
            ruled_out = frozenset(WAYS)
    tally = ValueCounts(
        counts.n_rows, times, places[looked.sample], places[looked.spaced], counts.n_values,
        ruled_out, spaces,
    )  # fmt: skip
    if counts.texts:
        codes = np.append(np.arange(len(values)), -1)[: len(times)]
        ordered = counts.order is not None
        column = of_distinct(name, DistinctCells(values.to_pylist(), codes, ordered))
        return replace(column, declared=said or pa.types.is_dictionary(kind), tally=tally), values
    gap = pa.nulls(int(bool(counts.n_missing)), values.type)
    held = as_pandas(pa.table({name: pa.chunked_array([values, gap])}))[name]
    return replace(column_of(held, name, said), tally=tally), values
