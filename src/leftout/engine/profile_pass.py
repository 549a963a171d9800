"""The first pass over a table: what its columns hold, and rows of a sample.

What comes out are columns whose values stand for rows that are elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from leftout.data.cells import DistinctCells, ValueCounts
from leftout.data.cleaning import MISSING, WAYS, unit_of
from leftout.data.columns import Column, column_of, of_distinct
from leftout.data.missing import ValueLiteral
from leftout.engine.cells import exact, raw_column, whole_numbers
from leftout.engine.chunks import Chunk, is_text
from leftout.engine.column_counts import (
    NumberCounter,
    NumberCounts,
    TextCounter,
    TextCounts,
    keys_of,
)

if TYPE_CHECKING:
    import pyarrow as pa

Places = NDArray[np.int64]
Summary = NumberCounts | TextCounts
Marks = tuple[ValueLiteral, ...]


class TableProfile(NamedTuple):
    """What some chunks hold: a summary of each column, and the rows of the sample among them."""

    columns: dict[str, Summary]
    rows: pa.Table

    def merge(self, other: TableProfile) -> TableProfile:
        """What both hold, ``other`` after this one."""
        import pyarrow as pa

        columns = {
            name: summary.merge(other.columns[name])  # type: ignore[arg-type]
            for name, summary in self.columns.items()
        }
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

    places: Places
    unread: frozenset[str] = frozenset()
    marks: dict[str, Marks] = field(default_factory=dict)
    names: tuple[str, ...] | None = None
    room: int = 1

    def __call__(self, chunk: Chunk) -> TableProfile:
        import pyarrow as pa

        schema = chunk.layout.schema
        names = schema.names if self.names is None else self.names
        each = {name: self._summing(name, schema.field(name).type) for name in names}
        rows = [schema.empty_table()]
        for start, batch in chunk.batches(names):
            for name, cells in zip(each, batch.columns, strict=True):
                each[name].add(cells)
            low, high = np.searchsorted(self.places, [start, start + batch.num_rows])
            if low < high:
                taken = batch.take(pa.array(self.places[low:high] - start))
                # text that was read as a dictionary is text again
                rows.append(pa.Table.from_batches([taken]).cast(schema))
        columns = {name: summing.done() for name, summing in each.items()}
        return TableProfile(columns, pa.concat_tables(rows))

    def _summing(self, name: str, kind: pa.DataType) -> _Numbers | _Words:
        import pyarrow.types as is_a

        marks, unread = self.marks.get(name, ()), name in self.unread
        numeric = is_a.is_integer(kind) or is_a.is_floating(kind) or is_a.is_timestamp(kind)
        if unread or numeric:
            return _Numbers(name, kind, unread, marks, self.room)
        return _Words(name, kind, marks, self.room)


class _Numbers:
    """Sums up numbers and dates, batch by batch; cells that are not read are missing."""

    def __init__(self, name: str, kind: pa.DataType, unread: bool, marks: Marks, room: int) -> None:
        import pyarrow.types as is_a

        self.name, self.kind, self.unread, self.marks = name, kind, unread, marks
        self.counter = NumberCounter(is_a.is_integer(kind), room, is_a.is_uint64(kind))

    def add(self, cells: pa.Array) -> None:
        import pyarrow.types as is_a

        keys: Any
        if is_a.is_integer(self.kind):
            whole = whole_numbers(cells)
            keys, known = whole.keys, whole.known
            column = Column(self.name, whole.numbers()) if self.marks else None
        else:
            column = raw_column(self.name, cells, self.kind, self.unread)
            keys, known = column.numbers, None
            if keys is None:  # nothing that could be read
                keys = np.full(len(cells), np.nan)
        self.counter.add(keys, known)
        if column is not None and self.marks:
            self.counter.mark(
                keys[np.logical_or.reduce([value.among(column) for value in self.marks])]
            )

    def done(self) -> NumberCounts:
        return self.counter.done()


class _Words:
    """Sums up texts, categories, and yes and no."""

    def __init__(self, name: str, kind: pa.DataType, marks: Marks, room: int) -> None:
        self.name, self.kind = name, kind
        texts = frozenset(value.text for value in marks)
        self.ordered = bool(getattr(kind, "ordered", False))
        self.adding = TextCounter(
            TextCounts(marks=texts, order=() if self.ordered else None, room=room)
        )

    def add(self, cells: pa.Array) -> None:
        import pyarrow.types as is_a

        if is_text(cells.type) and not is_a.is_dictionary(cells.type):
            self.adding.add_cells(cells)
            return
        column: Column = raw_column(self.name, cells, self.kind)
        words = column.categories or ()
        counts = np.bincount(column.values + 1, minlength=len(words) + 1)
        order = tuple(dict.fromkeys(words)) if self.ordered else None
        self.adding.add_words(words, counts[1:], int(counts[0]), order)

    def done(self) -> TextCounts:
        return self.adding.done()


@dataclass(frozen=True)
class Looked:
    """Rows of a table that can be looked at, and which of them are the sample or evenly spaced."""

    rows: pa.Table
    sample: NDArray[np.intp]
    spaced: NDArray[np.intp]


def column_from_counts(
    name: str, summary: Summary, looked: Looked, kind: pa.DataType, said: bool, unread: bool
) -> Column:
    """A raw column in which each value is there once, with a tally of what it stands for.

    ``said`` to be codes are numbers and dates that somebody wants as categories.
    """
    import pandas as pd
    import pyarrow.types as is_a

    cells: Any = combined(looked.rows.column(name))
    if isinstance(summary, TextCounts):
        return _of_texts(name, summary, raw_column(name, cells, kind), looked, kind, said)
    if summary.integer:
        whole = whole_numbers(cells)
        keys, known = whole.keys, whole.known
        if known is None:
            known = np.ones(len(keys), dtype=bool)
        keys = keys[known]
    else:
        values = raw_column(name, cells, kind, unread).numbers
        assert values is not None
        known = ~np.isnan(values)
        keys = keys_of(values[known])
    distinct, counts, places = _entries(summary, keys, known)
    n_values = _n_values(summary)
    tally = ValueCounts(
        summary.n_rows, counts, places[looked.sample], places[looked.spaced], n_values
    )
    if summary.integer:
        values, gap = exact(distinct, summary.unsigned), len(distinct)
        held = np.append(values, values[:0].sum()) if summary.n_missing else values
        cells = pd.Series(pd.arrays.IntegerArray(held, np.arange(len(held)) == gap))
    else:
        cells = summary.values(distinct)
        cells = np.append(cells, np.nan) if summary.n_missing else cells
        if is_a.is_timestamp(kind):
            cells = cells.astype("datetime64[us]")
    return replace(column_of(cells, name, said), tally=tally)


def combined(cells: pa.ChunkedArray) -> pa.Array:
    """All cells of a column in one array."""
    import pyarrow as pa

    if pa.types.is_dictionary(cells.type):
        cells = cells.unify_dictionaries()
    whole = cells.combine_chunks()
    return whole.chunk(0) if isinstance(whole, pa.ChunkedArray) else whole


def _entries(
    summary: NumberCounts, keys: NDArray[np.int64], known: NDArray[np.bool_]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.intp]]:
    """Keys of the values that are there, the counts of these and of gaps, places of looked rows."""
    tallies = [summary.kept]
    if summary.level:
        tallies += [summary.lowest, summary.highest, summary.marked]
    every = np.sort(np.concatenate([*(each.keys for each in tallies), keys]))
    distinct = every[np.diff(every, prepend=every[:1] - 1) != 0]
    counts = np.zeros(len(distinct) + bool(summary.n_missing), dtype=np.int64)
    for each in tallies:
        counts[np.searchsorted(distinct, each.keys)] = each.counts
    if summary.n_missing:
        counts[-1] = summary.n_missing
    places = np.full(len(known), len(distinct), dtype=np.intp)
    places[known] = np.searchsorted(distinct, keys)
    return distinct, counts, places


def _n_values(summary: NumberCounts) -> int | None:
    """Nearly how many values there are, where not all are there; all rows have another if so."""
    if not summary.level:
        return None
    if not summary.n_missing and (summary.kept.counts == 1).all():
        return summary.n_rows
    return min(summary.n_values, summary.n_known - (not summary.n_missing))


def _of_texts(
    name: str, summary: TextCounts, rows: Column, looked: Looked, kind: pa.DataType, said: bool
) -> Column:
    import pyarrow.types as is_a

    words = rows.categories or ()
    here = [words[code] for code in np.unique(rows.values[rows.values >= 0])]
    present = dict.fromkeys([*summary.counts, *here])
    texts = list(present if summary.order is None else filter(present.__contains__, summary.order))
    place, gap = {text: code for code, text in enumerate(texts)}, len(texts)
    counts = [summary.counts.get(text, 0) for text in texts]
    codes = np.arange(gap)
    if summary.n_missing:
        codes, counts = np.append(codes, -1), [*counts, summary.n_missing]
    at = np.array([*(place.get(word, gap) for word in words), gap], dtype=np.intp)[rows.values]
    gone = summary.gone
    units = gone.units.union(_units(present, summary.marks) if summary.level else ())
    tally = ValueCounts(
        summary.n_rows, np.array(counts, dtype=np.int64), at[looked.sample], at[looked.spaced],
        None if not summary.level else _n_texts(summary),
        frozenset(WAYS) if len(units) > 1 else gone.ruled_out, gone.spaces,
    )  # fmt: skip
    column = of_distinct(name, DistinctCells(texts, codes, summary.order is not None))
    return replace(column, declared=said or is_a.is_dictionary(kind), tally=tally)


def _n_texts(summary: TextCounts) -> int:
    known = summary.n_rows - summary.n_missing
    return known if set(summary.counts.values()) == {1} else min(summary.n_values, known - 1)


def _units(texts: Iterable[str], marks: frozenset[str]) -> set[str]:
    bare = {text.strip() for text in texts}
    return {unit_of(text) for text in bare.difference(MISSING, marks)}
