"""What becomes of a table in many chunks, decided on all of its rows as it would be in memory.

One pass summarises the columns and takes the rows of a sample; what people would be told in memory
is decided on these, by the same functions. A second pass is made over columns with gaps alone. What
comes out is a fitted encoder, and a way to read any chunk with it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial, reduce
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from leftout.data.columns import Column, find, found
from leftout.data.declarations import ColumnDeclarations
from leftout.data.encoder import TableEncoder
from leftout.data.encoder_passes import ColumnPass
from leftout.data.encoding import Floats, as_read
from leftout.data.preparation import PreparedTable, check_length, check_width
from leftout.data.profiling.column_types import ColumnType, evenly
from leftout.data.schema_inference import TableSchema, infer_schema
from leftout.engine.cells import Reader, tables_of
from leftout.engine.chunks import Chunk, n_rows_of
from leftout.engine.column_counts import MOST_TEXTS
from leftout.engine.engines import Fold
from leftout.engine.profile_pass import Looked, Marks, ProfilePass, TableProfile, column_from_counts
from leftout.errors import InputError, parameter_label
from leftout.linalg.passes import Array, Pass, Places
from leftout.settings import Reading
from leftout.text import shortened

T = TypeVar("T")
# Rows of the sample that relations between columns are looked for in.
RELATION_ROWS = 50_000
# Times as many values are counted of a column that has more than usual, and is a category.
_ROOM = 32


@dataclass(frozen=True)
class EncodingPlan:
    """What was decided on all rows, and how chunks are read by it.

    Small, and without the sample when it is sent elsewhere: what a task needs is ``blocks`` and
    ``columns``.

    Attributes
    ----------
    n_rows : int
    readers : dict of Reader
        By the columns' names in the audit.
    searching : list of Reader
        Of the columns that the encoder has learned from, as it reads them.
    decided : TableSchema
        Encoder, parts, kinds, facts and relations, as in memory; columns are tallies. Relations
        (copies, leaks, proxies) come from the sample, all else from all rows. Not sent along.
    places : array
        Of the rows of the sample, rising.
    """

    n_rows: int
    encoder: TableEncoder
    readers: dict[str, Reader]
    searching: list[Reader]
    decided: TableSchema | None = field(default=None, repr=False)
    places: NDArray[np.int64] | None = field(default=None, repr=False)

    def __getstate__(self) -> dict[str, Any]:
        sent = ("n_rows", "encoder", "readers", "searching")
        return {name: getattr(self, name) for name in sent}

    def __setstate__(self, state: dict[str, Any]) -> None:
        for name, value in ({"decided": None, "places": None} | state).items():
            object.__setattr__(self, name, value)

    @property
    def n_features(self) -> int:
        return len(self.encoder.features_)

    def blocks(
        self, chunk: Chunk, places: NDArray[np.integer] | None = None
    ) -> Iterator[tuple[int, Floats]]:
        """Encoded rows of a chunk, some at a time, each with the place of its first row.

        Of some ``places`` alone, rising, where these are given: the others are read, not encoded.
        A block is overwritten by the next: memory that is new costs more than what it holds.
        """
        tables = tables_of(self.encoder, self.searching)
        room = np.empty((self.n_features, min(chunk.layout.batch, chunk.n_rows)))
        told = enumerate(self.encoder.plans_)
        needed = {place: self.searching[place] for place, one in told if one.becomes is not None}
        for start, batch in chunk.batches([reader.raw for reader in needed.values()]):
            if places is not None:
                first, last = np.searchsorted(places, [start, start + batch.num_rows])
                if first == last:
                    continue
                batch = batch.take(places[first:last] - start)
            columns = {
                place: reader.column(cells)
                for (place, reader), cells in zip(needed.items(), batch.columns, strict=True)
            }
            yield start, self.encoder.encode(columns, room[:, : batch.num_rows], tables)
            if places is not None and last == len(places):
                return

    def columns(
        self, chunk: Chunk, names: Sequence[str]
    ) -> Iterator[tuple[int, dict[str, Column]]]:
        """Columns of a chunk by their names in the audit, cleaned as on all rows.

        Categories and their codes are the same in every batch of every chunk.
        """
        readers = {name: self.readers[name] for name in names}
        for start, batch in chunk.batches([reader.raw for reader in readers.values()]):
            cells = zip(readers.items(), batch.columns, strict=True)
            yield start, {name: reader.column(each) for (name, reader), each in cells}

    def intake(self, source: str | None = None) -> PreparedTable:
        """The sample, as if it had been taken in from memory, but decided on all rows."""
        assert self.decided is not None and self.places is not None
        looked = {
            name: [column.looked() for column in getattr(self.decided, name)]
            for name in ("columns", "searched")
        }
        sides = {
            name: None if column is None else column.looked()
            for name in ("target", "prediction")
            for column in [getattr(self.decided, name)]
        }
        return PreparedTable(
            **(vars(self.decided) | looked | sides),
            source=source,
            file=None,
            rows=self.places.astype(np.intp),
            n_rows=self.n_rows,
            X=self.encoder._encode(looked["searched"]),
            index=None,
        )


def plan(
    chunks: Sequence[Chunk],
    fold: Fold,
    reading: Reading = Reading(),  # noqa: B008 - it is frozen
    *,
    sample: int = RELATION_ROWS,
    seed: int | None = 0,
) -> EncodingPlan:
    """Decide what becomes of a table's columns; see :func:`leftout.data.preparation.prepare_table`.

    Parameters
    ----------
    chunks : list of Chunk
    fold : callable
        ``fold(function, chunks, merge)``: every chunk's result, merged in their order.
    reading : Reading
    sample : int
        Rows that can be looked at together, drawn by their places with ``seed``; all if there are
        no more.
    """
    schema, n_rows = chunks[0].layout.schema, n_rows_of(chunks)
    names = list(schema.names)
    for what, given in (("target", reading.target), ("prediction", reading.prediction)):
        if np.ndim(given):
            raise InputError(
                f"The {what} of a table in files is one of its columns; {what} is "
                f"{type(given).__name__}. Name the column."
            )
    declared = ColumnDeclarations.by(reading, names)
    check_width(len(names))
    check_length(n_rows)
    unread = frozenset(map(str, found(names, reading.drop, "drop")))
    places, spaced = drawn(n_rows, sample, seed), evenly(n_rows).astype(np.int64)
    every = np.union1d(places, spaced)
    marks = _marks(declared, names)
    surveyed = fold(ProfilePass(every, unread, marks), chunks, TableProfile.merge)
    looked = Looked(surveyed.rows, np.searchsorted(every, places), np.searchsorted(every, spaced))
    said = {*declared.dictionary.categorical, *declared.categorical} - declared.numeric

    def stand(name: str, found: TableProfile) -> tuple[Column, Any]:
        kind = schema.field(name).type
        return column_from_counts(
            name, found.columns[name], looked, kind, name in said, name in unread
        )

    known = {name: stand(name, surveyed) for name in names}
    raw = [column for column, _ in known.values()]
    again = tuple(_uncounted(raw, declared, unread))
    if again:
        few = np.empty(0, dtype=np.int64)
        counted = fold(ProfilePass(few, unread, marks, again, _ROOM), chunks, TableProfile.merge)
        known |= {name: stand(name, counted) for name in again}
        raw = [column for column, _ in known.values()]
        for name in _uncounted(raw, declared, unread):
            raise InputError(
                f"The column {shortened(name)!r} is to be read as categories, but it takes more "
                f"than {_ROOM * MOST_TEXTS:,} values. Drop it ({parameter_label('drop', [name])})."
            )
    declared.check(raw)

    def reader(name: str, made: Column) -> Reader:
        return Reader.of(*known[name], made, schema.field(name).type, declared)

    def find_rows(
        called: list[str], columns: list[Column], kinds: list[ColumnType], y: Column | None
    ) -> ChunkedColumns:
        readers = [
            reader(name, as_read(column, kind))
            for name, column, kind in zip(called, columns, kinds, strict=True)
        ]
        outcome = None if y is None else reader(find(names, reading.target, "target"), y)
        return ChunkedColumns(readers, outcome, chunks, fold)

    decided = infer_schema(raw, declared, reading, find_rows=find_rows)
    every_one = [*decided.searched, *decided.columns, decided.target, decided.prediction]
    made = {column.name: column for column in every_one if column is not None}
    readers = {
        fact.label: reader(fact.name, made[fact.label])
        for fact in decided.facts
        if fact.label in made
    }
    pairs = zip(decided.searched, decided.encoder.kinds_, strict=True)
    searching = [reader(readers[c.name].raw, as_read(c, kind)) for c, kind in pairs]
    return EncodingPlan(n_rows, decided.encoder, readers, searching, decided, places)


def _uncounted(
    raw: Sequence[Column], declared: ColumnDeclarations, unread: frozenset[str]
) -> list[str]:
    """Columns that are categories, though not all of their values are known."""
    many = [
        column
        for column in raw
        if column.tally is not None
        and column.tally.n_values is not None
        and (column.categories is not None or column.name in declared.dictionary.entries)
        and column.name not in unread
    ]
    kinds = declared.judged(many)[1] if many else []
    pairs = zip(many, kinds, strict=True)
    return [column.name for column, kind in pairs if kind.read_as == "category"]


def drawn(n_rows: int, size: int, seed: int | None) -> NDArray[np.int64]:
    """Places of a sample of rows, rising: the same ones wherever the rows are."""
    if size >= n_rows:
        return np.arange(n_rows)
    return np.sort(np.random.default_rng(seed).choice(n_rows, size, replace=False))


def _marks(declared: ColumnDeclarations, names: Sequence[str]) -> dict[str, Marks]:
    """Values that somebody has declared missing, by column."""
    if not declared.missing:
        return {}
    return {name: declared.missing.of_column(Column(name, np.empty(0))) for name in names}


@dataclass(frozen=True)
class ChunkedColumns:
    """Columns in chunks: see :class:`leftout.data.encoder_passes.ColumnRows`."""

    readers: list[Reader]
    target: Reader | None
    chunks: Sequence[Chunk]
    fold: Fold

    def run(self, one: ColumnPass[T]) -> T:
        """A pass over all batches, merged in their order."""
        readers = {place: self.readers[place] for place in one.places}
        target = self.target if one.of_target else None
        return self.fold(OverColumns(one, readers, target), self.chunks, one.merge)


@dataclass(frozen=True)
class OverColumns(Generic[T]):
    """What one chunk gives to a pass over columns."""

    one: ColumnPass[T]
    readers: dict[int, Reader]
    target: Reader | None

    def __call__(self, chunk: Chunk) -> T:
        last = [] if self.target is None else [self.target]
        read = [*self.readers.values(), *last]
        names = list(dict.fromkeys(reader.raw for reader in read))
        return reduce(
            self.one.merge,
            (
                self._over([reader.column(batch.column(reader.raw)) for reader in read])
                for _, batch in chunk.batches(names)
            ),
        )

    def _over(self, columns: list[Column]) -> T:
        target = None if self.target is None else columns.pop()
        return self.one.over(dict(zip(self.readers, columns, strict=True)), target)


@dataclass(frozen=True)
class ChunkedRows:
    """A table that is passed over: see :class:`leftout.linalg.passes.AllRows`."""

    plan: EncodingPlan
    chunks: Sequence[Chunk]
    fold: Fold
    held: list[tuple[Places, Array]] = field(default_factory=list, repr=False)

    def hold(self, places: Places, rows: Array) -> None:
        """Have some rows at hand for whoever takes them first, who does not read them again."""
        self.held.append((places, rows))

    @property
    def n_rows(self) -> int:
        return n_rows_of(self.chunks)

    @property
    def n_features(self) -> int:
        return len(self.plan.encoder.features_)

    def run(self, one: Pass[T]) -> T:
        """A pass over all blocks, merged in their order."""
        return self.fold(partial(_passed, self.plan, one), self.chunks, one.merge)

    def take(self, places: Places) -> Array:
        """Some rows, their places in rising order."""
        if self.held and np.array_equal(self.held[-1][0], places):
            return self.held.pop()[1]
        wanted = [(chunk, inside) for chunk in self.chunks if len(inside := _within(chunk, places))]
        if not wanted:
            return np.empty((0, self.n_features))
        return self.fold(partial(_taken, self.plan), wanted, _stacked)


def _within(chunk: Chunk, places: Places) -> Places:
    first, last = np.searchsorted(places, [chunk.start, chunk.start + chunk.n_rows])
    return places[first:last]


def _passed(plan: EncodingPlan, one: Pass[T], chunk: Chunk) -> T:
    """What one chunk gives."""
    return reduce(one.merge, (one.over(rows, start) for start, rows in plan.blocks(chunk)))


def _taken(plan: EncodingPlan, wanted: tuple[Chunk, Places]) -> Array:
    """Some rows of one chunk."""
    return np.concatenate([rows.copy() for _, rows in plan.blocks(*wanted)])


def _stacked(a: Array, b: Array) -> Array:
    return np.concatenate([a, b])
