"""Batches of stored cells as the columns that they are on all rows, and as encoded numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from leftout.compiling import kernel
from leftout.scale.cells import as_texts, raw_column, whole_numbers
from leftout.tables.cleaning import read_alike
from leftout.tables.columns import Column
from leftout.tables.encoder import TableEncoder
from leftout.tables.encoding import Floats, Numbers, Read, Words
from leftout.tables.said.declared import Declared

if TYPE_CHECKING:
    import pyarrow as pa


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
    known : dict, array or None
        Raw texts with their places, or raw numbers, rising; None where not all are known, or
        where numbers stay as they are.
    declared : Declared
        Where not all are known, what stands for nothing.
    """

    raw: str
    kind: pa.DataType
    made: Column
    known: dict[str, int] | Floats | None
    declared: Declared

    @classmethod
    def of(cls, raw: Column, made: Column, kind: pa.DataType, declared: Declared) -> Reader:
        """A reader for a column by its tallies, as it is stored and as it is meant."""
        import pyarrow.types as is_a

        assert raw.tally is not None
        nothing = -1 if made.categories is not None else np.nan
        n = len(raw) - bool(raw.missing.any())  # a gap stands last
        become = np.append(made.values[:n], nothing).astype(made.values.dtype)
        filled = replace(made, values=become, tally=None)
        known: dict[str, int] | Floats | None = None
        if raw.tally.n_values is None and raw.categories is not None:
            if is_a.is_timestamp(kind) or is_a.is_date(kind):  # said to be categories
                when = np.array(raw.categories, dtype="datetime64[us]")
                known = when.astype(np.int64).astype(np.float64)
            elif raw.levels is None or is_a.is_boolean(kind):
                known = {text: at for at, text in enumerate(raw.categories)}
                at = np.append(np.argsort(raw.values[:n]), n)
                filled = replace(filled, values=become[at])
            else:
                known = raw.levels
        elif raw.tally.n_values is None and made.categories is not None:
            known = raw.values[:n]
        if known is None:
            filled = replace(filled, values=become[:0])
        return cls(raw.name, kind, filled, known, declared)

    def column(self, cells: pa.Array) -> Column:
        """Cells of a batch; categories and their codes are the same in all batches."""
        import pyarrow.types as is_a

        column = raw_column(self.raw, cells, self.kind, unread=True)
        if self.known is None:
            return self._alike(column)
        gap = len(self.known)
        if isinstance(self.known, dict):
            if column.categories is None and is_a.is_integer(self.kind):
                column = as_texts(self.raw, whole_numbers(cells, self.kind))
            at = np.array([*(self.known.get(t, gap) for t in column.categories or ()), gap])
            return replace(self.made, values=self.made.values[at][column.values])
        values = column.values
        places = np.searchsorted(self.known, values)
        places[np.isnan(values)] = gap
        return replace(self.made, values=self.made.values[places])

    def as_read(self, column: Column) -> Reader:
        """The same where numbers are read as the categories that a tally of them has become."""
        if self.made.categories is not None or column.categories is None:
            return self
        gap = bool(column.missing.any())
        codes = np.append(column.values[: len(column) - gap], -1).astype(np.int32)
        made = replace(column, values=codes, tally=None)
        return replace(self, made=made, known=column.levels)

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


@dataclass(frozen=True)
class Encoding:
    """Encodes columns of a batch, each by a look into a table or by one scaling."""

    encoder: TableEncoder
    tables: dict[int, Read]  # of categories, what each code becomes

    @classmethod
    def of(cls, encoder: TableEncoder, readers: Sequence[Reader]) -> Encoding:
        tables = {}
        for place, (plan, reader) in enumerate(zip(encoder.plans_, readers, strict=True)):
            if isinstance(plan.becomes, Words) and reader.made.categories is not None:
                if reader.known is None:
                    continue
                codes = np.arange(len(reader.made.categories) + 1)
                codes[-1] = -1
                every = replace(reader.made, values=codes.astype(np.int32))
                tables[place] = plan.becomes.read(every)
        return cls(encoder, tables)

    def block(self, columns: Mapping[int, Column], made: Floats) -> Floats:
        """Columns by their places among those searched, as numbers, in an array of features."""
        encoder = self.encoder
        missing: dict[int, NDArray[np.bool_]] = {}
        flags = {flag.places[0]: flag for flag in encoder.flags_}
        flagged = {place for flag in encoder.flags_ for place in flag.places}
        at, later = 0, []
        for place, plan in enumerate(encoder.plans_):
            if plan.becomes is None:
                continue
            column, table = columns[place], self.tables.get(place)
            if table is not None:
                width = table.values.shape[1]
                _looked_up(table.values, column.values, made[at : at + width])
                if place in flagged:
                    missing[place] = column.values < 0
            elif isinstance(plan.becomes, Numbers) and column.numbers is not None:
                width = int(plan.becomes.low < plan.becomes.high)
                scaled = _scaled(plan.becomes, column, made[at : at + width], place in flagged)
                if scaled is not None:
                    missing[place] = scaled
            else:
                read = plan.becomes.read(column)
                width = read.values.shape[1]
                made[at : at + width] = read.values.T
                missing[place] = read.missing
            at += width
            if place in flags:
                later.append((at, flags[place]))
                at += 1
        for where, flag in later:
            gaps = np.stack([missing[place] for place in flag.places])
            made[where] = flag.weight * gaps.mean(axis=0)
        return made.T


def _scaled(
    becomes: Numbers, column: Column, out: Floats, flagged: bool
) -> NDArray[np.bool_] | None:
    """Numbers from 0 to 1, as :meth:`leftout.tables.encoding.Numbers.read` has them.

    Returns where they are missing, if somebody asks.
    """
    values: Any = column.numbers
    if len(out):
        part = 1.0 if np.isfinite(becomes.high - becomes.low) else 0.5
        _to_unit(values, becomes.low, becomes.high, becomes.median, part, out[0])
    return np.isnan(values) if flagged else None


@kernel
def _looked_up(table: Floats, codes: NDArray[np.int32], out: Floats) -> None:
    """What each code becomes, a feature at a time; that of a gap, -1, stands last."""
    for feature in range(len(out)):
        for i in range(len(codes)):
            out[feature, i] = table[codes[i], feature]


@kernel
def _to_unit(
    values: Floats, low: float, high: float, median: float, part: float, out: Floats
) -> None:
    """All in one turn: gaps filled, ends cut off, and what is left from 0 to 1."""
    width = high * part - low * part
    for i in range(len(values)):
        value = values[i]
        value = median if value != value else value
        value = low if value < low else value
        value = high if value > high else value
        out[i] = (value * part - low * part) / width
