"""Columns in little memory, whatever their rows, by counts that add up from chunk to chunk.

Distinct values are counted while they are few (and texts short). Of more, those are kept (with
exact counts) whose hash begins with so many zeros that they are few again: of every two values one,
then of every four, and so on. Which ones these are does not depend on the order of the rows nor on
how they were cut into chunks, and how many values there are can be told from how many of them are
left. The lowest and highest numbers are counted in any case, since marks for missing cells stand
there. Each text that goes is looked at once for what the column can no longer be: numbers or dates
written in one of the ways that people write them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pandas.util import hash_array

from leftout.data.cleaning import CODE, MISSING, WAYS, fails, unit_of

if TYPE_CHECKING:
    import pyarrow as pa

# Distinct values that are counted: of whole numbers and dates, and of other numbers.
MOST_WHOLE, MOST_DISTINCT = 1 << 16, 1 << 12
# Distinct texts that are counted, and what they may take together in characters.
MOST_TEXTS, LENGTH = 1 << 16, 1 << 24
# Lowest and highest numbers that are always counted.
ENDS = 16
# What files of text hold besides: numbers as computers write them, whole ones, yes and no.
PLAIN, WHOLE, TRUTH = "plain", "whole", "truth"
_STORED = {
    PLAIN: re.compile(
        r"\s*[+-]?((\d+\.?\d*|\.\d+)(e[+-]?\d+)?|inf(inity)?)\s*", re.ASCII | re.IGNORECASE
    ),
    WHOLE: re.compile(r"\s*[+-]?\d+\s*", re.ASCII),
    TRUTH: re.compile("true|TRUE|True|false|FALSE|False"),
}
_EVERY = (*WAYS, *_STORED)
# Units that are told apart: of more than one, numbers are no numbers.
_UNITS = 2


class Gone(NamedTuple):
    """What is known of texts that were counted, and are no longer kept."""

    ruled_out: frozenset[str] = frozenset()
    units: frozenset[str] = frozenset()
    spaces: bool = False

    def merge(self, other: Gone) -> Gone:
        """Of those of both; a third unit says no more than a second."""
        units = self.units | other.units
        return Gone(
            self.ruled_out | other.ruled_out, units, self.spaces or other.spaces
        )._in_short()

    @classmethod
    def of(cls, texts: Sequence[str], before: Gone, marks: frozenset[str]) -> Gone:
        """The same with some more texts, of which ``marks`` are missing cells."""
        left = [text for text in map(str.strip, texts) if text not in MISSING and text not in marks]
        if not left:
            return before
        alive = [how for how in _EVERY if how not in before.ruled_out]
        ruled_out = before.ruled_out.union(how for how in alive if not follows(left, how))
        units = before.units
        if len(ruled_out) < len(_EVERY):
            units = units.union(map(unit_of, left))
        spaces = before.spaces or " " in "\n".join(left)
        return Gone(ruled_out, units, spaces)._in_short()

    def _in_short(self) -> Gone:
        """Without units that say no more: a third one, and any where there are no numbers."""
        some = sorted(self.units)[:_UNITS] if len(self.ruled_out) < len(_EVERY) else ()
        return self._replace(units=frozenset(some))

    @property
    def settled(self) -> bool:
        """Whether further texts say nothing new."""
        return self.spaces and len(self.ruled_out) == len(_EVERY)


class ColumnCounts(NamedTuple):
    """What is known of the values of a column: tables have a ``value``, rising, and its ``count``.

    Attributes
    ----------
    kept : pyarrow.Table
        Of values whose hash begins with ``level`` zeros: of all, where that is 0.
    ends : pyarrow.Table
        Of the lowest and the highest numbers, where not all are kept.
    marked : pyarrow.Table
        Of numbers that somebody has declared missing.
    n_rows, n_missing : int
    level : int
    whole : bool
        Whether all numbers are whole.
    gone : Gone
        What is known of texts that are not kept.
    order : tuple of str or None
        Categories in the order that somebody has put them in.
    marks : frozenset of str
        Texts that somebody has declared missing.
    room : int
        Times as many values are counted as usual.
    """

    kept: pa.Table
    ends: pa.Table
    marked: pa.Table
    n_rows: int = 0
    n_missing: int = 0
    level: int = 0
    whole: bool = True
    gone: Gone = Gone()
    order: tuple[str, ...] | None = None
    marks: frozenset[str] = frozenset()
    room: int = 1

    @classmethod
    def none(cls, kind: pa.DataType, **more: Any) -> ColumnCounts:
        """Of no rows, of values of a type."""
        import pyarrow as pa

        empty = pa.schema([("value", kind), ("count", pa.int64())]).empty_table()
        return cls(empty, empty, empty, **more)

    @property
    def texts(self) -> bool:
        """Whether the values are texts."""
        return str(self.kept.schema.field("value").type) == "large_string"

    @property
    def most(self) -> int:
        """Distinct values that there is room for."""
        if self.texts:
            return MOST_TEXTS * self.room
        return (MOST_WHOLE if self.whole else MOST_DISTINCT) * self.room

    @property
    def n_values(self) -> int | None:
        """Nearly how many values there are, where not all are kept; as many as rows, if so."""
        if not self.level:
            return None
        known = self.n_rows - self.n_missing
        once = bool((self.kept["count"].to_numpy() == 1).all())
        if once and (self.texts or not self.n_missing):
            return known
        return min(len(self.kept) << self.level, known - (self.texts or not self.n_missing))

    @property
    def outermost(self) -> pa.Table:
        """Of the lowest and the highest numbers."""
        return self.ends if self.level else _outermost(self.kept)

    def merge(self, other: ColumnCounts) -> ColumnCounts:
        """What is known of the rows of both."""
        level, order = max(self.level, other.level), self.order
        if order is not None and other.order is not None:
            order = tuple(dict.fromkeys(order + other.order))
        both = self._replace(
            ends=_outermost(_summed(self.outermost, other.outermost)) if level else self.ends,
            marked=_summed(self.marked, other.marked),
            n_rows=self.n_rows + other.n_rows,
            n_missing=self.n_missing + other.n_missing,
            level=level,
            whole=self.whole and other.whole,
            gone=self.gone.merge(other.gone),
            order=order,
        )
        return both.thinned(_summed(self.kept, other.kept))

    def thinned(self, every: pa.Table) -> ColumnCounts:
        """The same with counts of some more values, of which no more are kept than have room."""
        import pyarrow as pa
        import pyarrow.compute as pc

        length = np.zeros(len(every), dtype=np.int64)
        if self.texts:
            length = pc.utf8_length(every["value"]).to_numpy()
        level, stay = self.level, _stays(every["value"], self.level)
        while stay.sum() > self.most or length[stay].sum() > LENGTH * self.room:
            level += 1
            stay = _stays(every["value"], level)
        gone, ends = self.gone, self.ends
        if self.texts and not gone.settled:
            left = every["value"].filter(pa.array(~stay)).to_pylist()
            gone = Gone.of(left, gone, self.marks)
        if level and not self.level:
            ends = _outermost(every)
        return self._replace(level=level, kept=every.filter(pa.array(stay)), ends=ends, gone=gone)


class ColumnCounter:
    """Counts the values of one chunk, batch by batch."""

    def __init__(self, first: ColumnCounts) -> None:
        self._sum = first
        self._waiting: list[pa.Table] = []

    def add(
        self,
        cells: pa.Array,
        order: tuple[str, ...] = (),
        marked: NDArray[np.bool_] | None = None,
    ) -> None:
        """Count the values of a batch, some of them ``marked`` as missing once more.

        ``order`` may be that which somebody has put its categories in.
        """
        import pyarrow as pa
        import pyarrow.compute as pc
        import pyarrow.types as is_a

        one, known = self._sum, cells.drop_null()
        gone, ends = one.gone, one.ends
        if one.level:  # of very many values, few are looked at
            if is_a.is_dictionary(known.type):
                known = known.dictionary_decode()
            stay = _stays(known, one.level)
            if not one.texts:
                outer = self._counted(known.filter(_outer(known, ends)))
                ends = _outermost(_summed(ends, outer))
            elif not gone.settled:
                gone = Gone.of(
                    pc.unique(known.filter(pa.array(~stay))).to_pylist(), gone, one.marks
                )
            known = known.filter(pa.array(stay))
        whole = one.whole
        if is_a.is_floating(known.type):
            whole = whole and pc.all(_is_whole(cells)).as_py() is not False
        self._sum = one._replace(
            ends=ends,
            n_rows=one.n_rows + len(cells),
            n_missing=one.n_missing + cells.null_count,
            whole=whole,
            gone=gone,
            order=None if one.order is None else tuple(dict.fromkeys(one.order + order)),
        )
        if marked is not None:
            again = self._counted(cells.filter(pa.array(marked)))
            self._sum = self._sum._replace(marked=_summed(one.marked, again))
        self._waiting.append(self._counted(known))
        if sum(map(len, self._waiting)) > 2 * self._sum.most:
            self.done()

    def done(self) -> ColumnCounts:
        """What is known of the batches so far."""
        self._sum = self._sum.thinned(_summed(self._sum.kept, *self._waiting))
        self._waiting = []
        return self._sum

    def _counted(self, cells: pa.Array) -> pa.Table:
        """Distinct values, none of them missing, and how often each occurs."""
        import pyarrow as pa
        import pyarrow.compute as pc

        values, counts = pc.value_counts(cells).flatten()
        if pa.types.is_dictionary(values.type):
            values = values.dictionary_decode()
        return pa.table([values, counts], schema=self._sum.kept.schema)


def _summed(*tables: pa.Table) -> pa.Table:
    """The values of all tables, rising, with the sums of their counts."""
    return together("sum", *tables)


def together(how: str, *tables: pa.Table) -> pa.Table:
    """The values of all tables, rising, with the sum or the largest of their counts."""
    import pyarrow as pa

    if not any(map(len, tables[1:])):  # the first is rising already
        return tables[0]
    found = pa.concat_tables(tables).group_by("value", use_threads=False)
    made = found.aggregate([("count", how)]).select(["value", f"count_{how}"])
    return made.rename_columns(["value", "count"]).sort_by("value").combine_chunks()


def _outermost(table: pa.Table) -> pa.Table:
    """The lowest and the highest of some values, rising."""
    import pyarrow as pa

    if len(table) <= 2 * ENDS:
        return table
    return pa.concat_tables([table[:ENDS], table[-ENDS:]]).combine_chunks()


def _outer(values: pa.Array, ends: pa.Table) -> pa.Array:
    """Which numbers may be among the lowest or highest of all."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if len(ends) < 2 * ENDS:
        return pa.array(np.ones(len(values), dtype=bool))
    low, high = (ends["value"][place] for place in (ENDS - 1, -ENDS))
    return pc.or_(pc.less_equal(values, low), pc.greater_equal(values, high))


def _is_whole(values: pa.Array) -> pa.Array:
    import pyarrow.compute as pc

    return pc.and_(pc.is_finite(values), pc.equal(values, pc.floor(values)))


def _stays(values: Any, level: int) -> NDArray[np.bool_]:
    """Which values, none missing, are kept at a level: their hashes begin with zeros."""
    if not level:
        return np.ones(len(values), dtype=bool)
    held = values.to_numpy(zero_copy_only=False) if hasattr(values, "offset") else values.to_numpy()
    if held.dtype != object:
        held = held.view(np.uint64) + np.uint64(0x9E3779B97F4A7C15)  # zero is like any other
    return np.asarray(hash_array(held, categorize=False)) <= np.uint64((1 << 64) - 1 >> level)


def follows(texts: Sequence[str], how: str) -> bool:
    """Whether all texts are written in a certain way; none of them stands for nothing."""
    if how not in _STORED:
        return not fails(texts, how)
    pattern = _STORED[how]
    if not all(map(pattern.fullmatch, texts)):
        return False
    # whole numbers beyond what computers store are codes, as those with a zero before them are
    return how == TRUTH or not any(
        CODE.match(text) or len(text) > 18 and text.lstrip("+-").isdigit() and _is_huge(int(text))
        for text in texts
    )


def _is_huge(whole: int) -> bool:
    return not -(1 << 63) <= whole < 1 << 63
