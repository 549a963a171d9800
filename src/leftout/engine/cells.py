"""Cells of stored columns as raw columns of a table, without a look at what values they take."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from leftout.data.cleaning import read_alike
from leftout.data.columns import LARGEST_EXACT, Column, columns_of
from leftout.data.declarations import ColumnDeclarations
from leftout.data.encoder import TableEncoder
from leftout.data.encoding import CategoricalEncoding, Floats
from leftout.engine.chunks import is_text
from leftout.errors import InputError

if TYPE_CHECKING:
    import pyarrow as pa

TRUTHS = ("False", "True")


def raw_column(name: str, cells: pa.Array, kind: pa.DataType, unread: bool = False) -> Column:
    """The cells of a batch as a column, as they are read in memory.

    Numbers stay numbers, also where they take no more than two values; categories are in the order
    in which they are stored. ``kind`` is the column's type in the layout. Cells that may be
    ``unread`` are empty where they cannot be read.
    """
    import pyarrow.types as is_a

    if is_a.is_integer(kind):
        return _digits(name, cells) if _has_large(cells) else Column(name, floats_of(cells))
    if is_a.is_floating(kind):
        return Column(name, floats_of(cells))
    if is_a.is_timestamp(kind):
        return Column(name, floats_of(cells), dates=True)
    if is_a.is_boolean(kind):
        codes = cells.cast("int8").fill_null(-1).to_numpy(zero_copy_only=False)
        return Column(name, codes.astype(np.int32), TRUTHS, levels=np.array([0.0, 1.0]))
    if is_text(cells.type):
        return _words(name, cells, is_a.is_dictionary(kind))
    try:  # bytes; others are refused
        return columns_of(cells.to_pandas().to_frame(name))[0]
    except InputError:
        if unread:
            return Column(name, np.full(len(cells), np.nan))
        raise


def floats_of(cells: pa.Array) -> Floats:
    """Numbers, and dates in microseconds; NaN where they are missing."""
    import pyarrow.types as is_a

    if is_a.is_timestamp(cells.type):
        cells = cells.cast("int64")
    return cells.cast("float64", safe=False).to_numpy(zero_copy_only=False)


def _has_large(cells: pa.Array) -> bool:
    """Whether some whole numbers are so large that floats do not tell them apart."""
    import pyarrow.compute as pc

    low, high = pc.min_max(cells).as_py().values()
    return low is not None and (low <= -LARGEST_EXACT or high >= LARGEST_EXACT)


def _digits(name: str, cells: pa.Array) -> Column:
    """Identifiers: the digits of whole numbers, as categories."""
    return _words(name, cells.cast("large_string"), False)


def values_of(name: str, cells: pa.Array, kind: pa.DataType, unread: bool = False) -> pa.Array:
    """The cells of a batch as values to count: numbers, dates, or texts (also as a dictionary)."""
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.types as is_a

    if is_a.is_floating(kind):  # NaN is missing, and no zero below zero
        return pa.array(cells.to_numpy(zero_copy_only=False) + 0.0, from_pandas=True)
    if is_a.is_boolean(kind):
        return pc.if_else(
            cells, pa.scalar("True", pa.large_string()), pa.scalar("False", pa.large_string())
        )
    if is_a.is_integer(kind) or is_a.is_timestamp(kind) or is_text(cells.type):
        return cells
    column = raw_column(name, cells, kind, unread)
    if column.categories is None:  # nothing that could be read
        return pa.nulls(len(cells), pa.large_string())
    words = pa.array(column.categories, pa.large_string())
    return words.take(pa.array(column.values, mask=column.missing))


def places_of(cells: pa.Array, values: pa.Array) -> NDArray[np.intp]:
    """Of each cell, the place of its value among some; of others and gaps, the place after all."""
    import pyarrow.compute as pc
    import pyarrow.types as is_a

    if is_a.is_dictionary(cells.type):
        at = np.append(places_of(cells.dictionary, values), len(values))
        return at[cells.indices.fill_null(-1).to_numpy(zero_copy_only=False)]
    found = pc.index_in(cells.cast(values.type), value_set=values).fill_null(len(values))
    return found.to_numpy(zero_copy_only=False).astype(np.intp)


def _words(name: str, cells: pa.Array, declared: bool) -> Column:
    """Texts or categories, by the dictionary of the batch."""
    import pyarrow.types as is_a

    if not is_a.is_dictionary(cells.type):
        cells = cells.dictionary_encode()
    words = cells.dictionary.to_pylist()
    codes = cells.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int32, copy=False)
    gone = [code for code, word in enumerate(words) if word is None]
    if gone:
        codes = np.where(np.isin(codes, gone), -1, codes).astype(np.int32)
    texts = tuple("" if word is None else word for word in words)
    return Column(name, codes, texts, declared=declared)


@dataclass(frozen=True)
class Reader:
    """Reads one stored column the way that was decided on all rows.

    Attributes
    ----------
    raw : str
        Its name in the files.
    kind : DataType
        As what it is stored.
    made : Column
        What it is, with what each of ``known`` has become for values, and one more for a gap.
    known : pyarrow.Array or None
        All values that are stored; None where some are not known, or where numbers stay as they
        are.
    declared : ColumnDeclarations
        Where not all are known, what stands for nothing.
    """

    raw: str
    kind: pa.DataType
    made: Column
    known: pa.Array | None
    declared: ColumnDeclarations

    @classmethod
    def of(
        cls,
        raw: Column,
        values: pa.Array,
        made: Column,
        kind: pa.DataType,
        declared: ColumnDeclarations,
    ) -> Reader:
        """A reader for a column by its tallies, as it is stored and as it is meant.

        ``values`` are what is stored for each value of the raw column, but for a gap, at last.
        """
        assert raw.tally is not None
        numbers = raw.categories is None and made.categories is None
        if numbers or raw.tally.n_values is not None:
            empty = replace(made, values=made.values[:0], tally=None)
            return cls(raw.name, kind, empty, None, declared)
        nothing = -1 if made.categories is not None else np.nan
        become = np.append(made.values[: len(values)], nothing).astype(made.values.dtype)
        return cls(raw.name, kind, replace(made, values=become, tally=None), values, declared)

    def column(self, cells: pa.Array) -> Column:
        """Cells of a batch; categories and their codes are the same in all batches."""
        if self.known is None:
            return self._alike(raw_column(self.raw, cells, self.kind, unread=True))
        places = places_of(values_of(self.raw, cells, self.kind, unread=True), self.known)
        return replace(self.made, values=self.made.values[places])

    def _alike(self, column: Column) -> Column:
        """Numbers as they are but for what stands for nothing; texts read one by one."""
        made = self.made
        if column.categories is None and made.categories is None:
            values = column.values
            for value in self.declared.missing.of_column(column):
                values = np.where(value.among(column), np.nan, values)
            return replace(made, values=values)
        (column,) = self.declared.alike([column])
        words = made.categories is not None and made.levels is None
        column = read_alike(column, words, made.dates, made.written)
        return replace(column, name=made.name)


def tables_of(encoder: TableEncoder, readers: Sequence[Reader]) -> dict[int, Floats]:
    """Of categories whose values are all known: lines for :meth:`TableEncoder.encode`."""
    tables = {}
    for place, (plan, reader) in enumerate(zip(encoder.plans_, readers, strict=True)):
        categories = reader.made.categories
        if (
            isinstance(plan.becomes, CategoricalEncoding)
            and categories is not None
            and reader.known is not None
        ):
            codes = np.append(np.arange(len(categories)), -1).astype(np.int32)
            read = plan.becomes.read(replace(reader.made, values=codes))
            tables[place] = np.ascontiguousarray(read.values.T)
    return tables
