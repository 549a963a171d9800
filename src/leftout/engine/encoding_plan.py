"""A table in many chunks: its schema from a sample of rows, its features chunk by chunk.

Memory is one batch of a chunk. What is decided is decided on the sample, by the same functions as
for a table in memory, whose one block of rows is the table.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial, reduce
from operator import add
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as is_a

from leftout.data.column_reader import (
    ColumnDeclarations,
    ColumnReader,
    ColumnSummary,
    SummaryPass,
    sampled_places,
)
from leftout.data.columns import LARGEST_EXACT, Column, Floats, of_cells
from leftout.data.encoder import TableEncoder
from leftout.data.formats import as_pandas
from leftout.data.preparation import PreparedTable, check_length, check_width, infer_schema
from leftout.data.roles import assign
from leftout.engine.chunks import Chunk, is_text, n_rows_of
from leftout.engine.engines import Fold
from leftout.errors import InputError
from leftout.linalg.moments import about_own_mean
from leftout.linalg.passes import Array, Pass, Places, Sums, Take
from leftout.settings import Reading

T = TypeVar("T")


@dataclass(frozen=True)
class EncodingPlan:
    """How chunks are read and encoded: small, so that it can be sent to whoever has the chunks."""

    encoder: TableEncoder
    readers: dict[str, ColumnReader]  # by the columns' names in the audit

    def blocks(self, chunk: Chunk) -> Iterator[tuple[int, Floats]]:
        """Encoded rows of a chunk, some at a time, each with the place of its first row.

        A block is overwritten by the next: memory that is new costs more than what it holds.
        """
        room = np.empty((len(self.encoder.features_), min(chunk.batch_size, chunk.n_rows)))
        plans = enumerate(self.encoder.columns_)
        needed = {place: plan.label for place, plan in plans if plan.becomes is not None}
        for start, columns in self.columns(chunk, list(needed.values())):
            read = {place: columns[name] for place, name in needed.items()}
            X = self.encoder.encode(read, room[:, : len(next(iter(read.values())))])
            yield start, self.encoder.rescale(X)

    def passed(self, one: Pass[T], chunk: Chunk) -> T:
        """What one chunk gives in a pass."""
        return reduce(one.merge, (one.over(rows, start) for start, rows in self.blocks(chunk)))

    def read(self, one: Any, chunk: Chunk) -> Any:
        """What one chunk gives in a pass over columns."""
        return reduce(one.merge, (one.over(each) for _, each in self.columns(chunk, one.names)))

    def columns(
        self, chunk: Chunk, names: Sequence[str]
    ) -> Iterator[tuple[int, dict[str, Column]]]:
        """Columns of a chunk by their names in the audit, read as those of the sample."""
        readers = {name: self.readers[name] for name in names}
        for start, raw in _raw_blocks(readers.values(), chunk):
            yield start, {name: each.column(raw[each.raw]) for name, each in readers.items()}


def _raw_blocks(
    readers: Iterable[ColumnReader], chunk: Chunk
) -> Iterator[tuple[int, dict[str, Column]]]:
    """Raw columns of a chunk, some rows at a time, each with the place of its first row."""
    needed = {reader.raw: reader for reader in readers}
    for start, batch in chunk.batches(list(needed)):
        cells = zip(needed.values(), batch.columns, strict=True)
        yield start, {reader.raw: _raw(reader, each) for reader, each in cells}


def _raw(reader: ColumnReader, cells: pa.Array) -> Column:
    """The cells of a batch as a column, as they are read in memory, whatever values they take.

    Numbers stay numbers, also where they take no more than two values, unless they are declared
    categories.
    """
    name, kind, exact = reader.raw, cells.type, is_a.is_floating(cells.type)
    if is_a.is_integer(kind):
        low, high = pc.min_max(cells).as_py().values()
        exact = low is None or -LARGEST_EXACT < low <= high < LARGEST_EXACT
    if exact:
        return Column(name, cells.cast("float64", safe=False).to_numpy(zero_copy_only=False))
    if is_a.is_integer(kind):  # floats do not tell all of them apart
        cells = cells.cast("large_string")
    if is_text(cells.type) and not is_a.is_dictionary(kind):
        cells = cells.dictionary_encode()
    found = cells.to_pandas(date_as_object=False)
    return of_cells(name, found, name in reader.declared.categories)


def prepare_chunks(
    chunks: Sequence[Chunk],
    fold: Fold,
    reading: Reading = Reading(),  # noqa: B008 - it is frozen
    *,
    source: str | None = None,
) -> tuple[EncodingPlan, PreparedTable]:
    """The sample of a table in chunks, taken in as from memory, and how its chunks are encoded.

    ``source`` is what the table is called.
    """
    n_rows, names = n_rows_of(chunks), chunks[0].schema.names
    for what, given in (("target", reading.target), ("prediction", reading.prediction)):
        if np.ndim(given):
            raise InputError(
                f"The {what} of a table in files is one of its columns; {what} is "
                f"{type(given).__name__}. Name the column."
            )
    declared = ColumnDeclarations.of(names, reading)
    check_width(len(names))
    check_length(n_rows)
    places = sampled_places(n_rows)
    table = as_pandas(pa.concat_tables(fold(partial(_raw_rows, places), chunks, add)))
    raw, roles = assign(declared.columns(table), reading)

    def summarize(one: SummaryPass) -> tuple[ColumnSummary, ...]:
        found = fold(partial(_summarized, one), chunks, one.merge)
        declared.check(raw, [summary.declared.tolist() for summary in found])
        return found

    prepared = infer_schema(
        raw, roles, declared, reading, summarize=summarize, source=source, file=None, rows=places,
        n_rows=n_rows,
    )  # fmt: skip
    plan = EncodingPlan(prepared.encoder, prepared.readers)
    if reading.scaling == "standard":  # by the spread of all rows, in one more pass
        encoder = plan.encoder.set_params(scaling="minmax")
        about = Sums(encoder.fit_scale(prepared.searched).mean(axis=0))
        moments = about_own_mean(ChunkedRows(plan, chunks, fold).run(about))
        spread = np.sqrt(np.diagonal(moments.second[0]) / n_rows)
        encoder.set_params(scaling="standard")
        X = encoder.fit_scale(prepared.searched, np.stack([moments.origin, spread]))
        prepared = replace(prepared, X=X)
    return plan, prepared


def _raw_rows(places: Places, chunk: Chunk) -> list[pa.Table]:
    """The rows of some places that are in a chunk, as they are stored."""
    ends = np.searchsorted(places, [chunk.start, chunk.start + chunk.n_rows])
    if ends[0] == ends[1]:
        return []
    parts = []
    for start, batch in chunk.batches():
        first, last = np.searchsorted(places, [start, start + batch.num_rows])
        rows = pa.Table.from_batches([batch.take(pa.array(places[first:last] - start))])
        parts.append(rows.cast(chunk.schema))  # text that was read as a dictionary is text again
    return parts


def _summarized(one: SummaryPass, chunk: Chunk) -> tuple[ColumnSummary, ...]:
    """What one chunk gives to the summary of all rows."""
    return reduce(one.merge, (one.over(raw) for _, raw in _raw_blocks(one.readers, chunk)))


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
        return self.fold(partial(self.plan.passed, one), self.chunks, one.merge)

    def read(self, one: Any) -> Any:
        """A pass over columns of some ``names``, as people know them, merged in their order."""
        return self.fold(partial(self.plan.read, one), self.chunks, one.merge)

    def take(self, places: Places) -> Array:
        """Some rows, their places in rising order."""
        if self.held and np.array_equal(self.held[-1][0], places):
            return self.held.pop()[1]
        return np.concatenate(self.run(Take(places)))
