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
from leftout.engine.cells import exact

if TYPE_CHECKING:
    import pyarrow as pa

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# Distinct values that are counted: of whole numbers, and of others.
MOST_WHOLE, MOST_DISTINCT = 1 << 16, 1 << 12
# Lowest and highest values that are always counted.
ENDS = 16
_SIGN = np.int64(np.iinfo(np.int64).max)
# Distinct texts that are counted, and what they may take together in characters.
MOST_TEXTS, LENGTH = 1 << 16, 1 << 24
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


class Tallied(NamedTuple):
    """Distinct values by their keys, which are in the same order, and how often each occurs."""

    keys: Ints
    counts: Ints

    def part(self, which: slice | NDArray[np.bool_]) -> Tallied:
        """Some of them."""
        return Tallied(self.keys[which], self.counts[which])


NONE = Tallied(np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64))


class NumberCounts(NamedTuple):
    """What is known of a column of numbers.

    Attributes
    ----------
    n_rows, n_missing : int
    integer : bool
        Whether keys are whole numbers as they are; else they are floats' bits, in order.
    whole : bool
        Whether all values are whole numbers.
    level : int
        Values are kept whose hash begins with so many zeros.
    kept : Tallied
    lowest, highest : Tallied
        Rising.
    marked : Tallied
        Values that somebody has declared missing, which are always counted.
    room : int
        Times as many values are counted as usual.
    unsigned : bool
        Whether keys are whole numbers less 2^63, which were stored without a sign.
    """

    n_rows: int
    n_missing: int
    integer: bool
    whole: bool
    level: int
    kept: Tallied
    lowest: Tallied
    highest: Tallied
    marked: Tallied = NONE
    room: int = 1
    unsigned: bool = False

    @property
    def n_values(self) -> int:
        """Distinct values; nearly so many, where not all are kept."""
        return len(self.kept.keys) << self.level

    @property
    def most(self) -> int:
        """Distinct values that there is room for."""
        return self.room * (MOST_WHOLE if self.whole else MOST_DISTINCT)

    @property
    def n_known(self) -> int:
        return self.n_rows - self.n_missing

    def values(self, keys: Ints) -> Floats:
        """The numbers that keys stand for."""
        return exact(keys, self.unsigned).astype(np.float64) if self.integer else floats_of(keys)

    @property
    def range(self) -> tuple[int, int] | tuple[float, float]:
        ends = np.array([self.lowest.keys[0], self.highest.keys[-1]])
        values = exact(ends, self.unsigned) if self.integer else floats_of(ends)
        low, high = values.tolist()
        return low, high

    def merge(self, other: NumberCounts) -> NumberCounts:
        """What is known of the rows of both."""
        both = self._replace(
            n_rows=self.n_rows + other.n_rows,
            n_missing=self.n_missing + other.n_missing,
            whole=self.whole and other.whole,
            lowest=_lowest(self.lowest, other.lowest),
            highest=_highest(self.highest, other.highest),
            marked=_together(self.marked, other.marked),
        )
        kept = _together(self.kept, other.kept)
        level, kept = _thinned(max(self.level, other.level), kept, both.most)
        return both._replace(level=level, kept=kept)


class NumberCounter:
    """Counts the numbers of one chunk, batch by batch."""

    def __init__(self, integer: bool, room: int = 1, unsigned: bool = False) -> None:
        self._sum = NumberCounts(
            0, 0, integer, True, 0, NONE, NONE, NONE, room=room, unsigned=unsigned
        )
        self._waiting: list[Tallied] = []

    def add(self, values: Floats | Ints, known: NDArray[np.bool_] | None = None) -> None:
        """Count the values of a batch: floats, NaN where missing; or whole numbers."""
        one = self._sum
        known = known if one.integer else ~np.isnan(values)
        keys: Any = values if known is None or known.all() else values[known]
        whole = one.whole
        if not one.integer:
            whole = whole and bool(np.isfinite(keys).all() and (keys == np.floor(keys)).all())
            keys = keys_of(keys)
        outer = kept = _tallied(keys) if not one.level else NONE
        if one.level:  # of very many values, few are sorted
            outer = _tallied(keys[_outer(one, keys)])
            kept = _tallied(keys[_stays(keys, one.level)])
        self._sum = one._replace(
            n_rows=one.n_rows + len(values),
            n_missing=one.n_missing + len(values) - len(keys),
            whole=whole,
            lowest=_lowest(one.lowest, outer),
            highest=_highest(one.highest, outer),
        )
        self._waiting.append(kept)
        if sum(len(each.keys) for each in self._waiting) > 4 * self._sum.most:
            self.done()

    def mark(self, values: Floats | Ints) -> None:
        """Count values of the batch that are declared missing, once more."""
        keys: Any = values if self._sum.integer else keys_of(values.astype(np.float64, copy=False))
        self._sum = self._sum._replace(marked=_together(self._sum.marked, _tallied(keys)))

    def done(self) -> NumberCounts:
        """What is known of the batches so far."""
        kept = _together(self._sum.kept, *self._waiting)
        level, kept = _thinned(self._sum.level, kept, self._sum.most)
        self._sum, self._waiting = self._sum._replace(level=level, kept=kept), []
        return self._sum


def keys_of(values: Floats) -> Ints:
    """Whole numbers in the order of floats, none of them NaN; equal for equal ones."""
    return _ordered((values + 0.0).view(np.int64))  # no zero below zero


def floats_of(keys: Ints) -> Floats:
    """The floats that keys stand for."""
    return _ordered(keys).view(np.float64)


def _ordered(bits: Ints) -> Ints:
    """Floats' bits in the order of floats, and the reverse: those below zero the other way."""
    return bits ^ (bits >> 63 & _SIGN)


def _outer(known: NumberCounts, keys: Ints) -> NDArray[np.bool_]:
    """Which keys may be among the lowest or highest of all."""
    if len(known.lowest.keys) < ENDS:
        return np.ones(len(keys), dtype=bool)
    return (keys <= known.lowest.keys[-1]) | (keys >= known.highest.keys[0])


def _tallied(keys: Ints) -> Tallied:
    """Distinct keys, rising, and how often each occurs."""
    return Tallied(*np.unique(keys, return_counts=True))


def _together(*tallies: Tallied) -> Tallied:
    some = [each for each in tallies if len(each.keys)]
    if len(some) < 2:
        return some[0] if some else NONE
    keys = np.unique(np.concatenate([each.keys for each in some]))
    counts = np.zeros(len(keys), dtype=np.int64)
    for each in some:
        counts[np.searchsorted(keys, each.keys)] += each.counts
    return Tallied(keys, counts)


def _lowest(*tallies: Tallied) -> Tallied:
    return _together(*(each.part(slice(ENDS)) for each in tallies)).part(slice(ENDS))


def _highest(*tallies: Tallied) -> Tallied:
    last = slice(-ENDS, None)
    return _together(*(each.part(last) for each in tallies)).part(last)


def _stays(values: Any, level: int) -> NDArray[np.bool_]:
    """Which keys or texts, none missing, are kept at a level: their hashes begin with zeros."""
    if not level:
        return np.ones(len(values), dtype=bool)
    if isinstance(values, np.ndarray):
        values = values.view(np.uint64) + np.uint64(0x9E3779B97F4A7C15)  # zero is like any other
    else:
        values = values.to_numpy(zero_copy_only=False).astype(object)
    return np.asarray(hash_array(values, categorize=False)) <= np.uint64((1 << 64) - 1 >> level)


def _thinned(level: int, kept: Tallied, most: int) -> tuple[int, Tallied]:
    """Those that are kept at a level, or at the first above it where they are few enough."""
    kept = kept.part(_stays(kept.keys, level))
    while len(kept.keys) > most:
        level += 1
        kept = kept.part(_stays(kept.keys, level))
    return level, kept


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


class TextCounts(NamedTuple):
    """What is known of a column of text.

    Attributes
    ----------
    n_rows, n_missing : int
    level : int
        Texts are kept whose hash begins with so many zeros.
    counts : dict
        How often each text occurs that is kept.
    gone : Gone
        What is known of the others.
    order : tuple of str or None
        Categories in the order that somebody has put them in.
    marks : frozenset of str
        Texts that somebody has declared missing.
    room : int
        Times as many texts are counted as usual.
    """

    n_rows: int = 0
    n_missing: int = 0
    level: int = 0
    counts: dict[str, int] = {}  # noqa: RUF012
    gone: Gone = Gone()
    order: tuple[str, ...] | None = None
    marks: frozenset[str] = frozenset()
    room: int = 1

    @property
    def n_values(self) -> int:
        """Distinct texts; nearly so many, where not all are kept."""
        return len(self.counts) << self.level

    def merge(self, other: TextCounts) -> TextCounts:
        """What is known of the rows of both."""
        both = TextCounter(self)
        both.add(other)
        return both.done()


class TextCounter:
    """Counts the texts of one chunk, batch by batch."""

    def __init__(self, first: TextCounts) -> None:
        self._sum, self._waiting = first, [_held(list(first.counts), list(first.counts.values()))]

    def add(self, other: TextCounts) -> None:
        """Add what is known of some more rows."""
        one, order = self._sum, self._sum.order
        if order is not None and other.order is not None:
            order = tuple(dict.fromkeys(order + other.order))
        self._sum = one._replace(
            n_rows=one.n_rows + other.n_rows,
            n_missing=one.n_missing + other.n_missing,
            level=max(one.level, other.level),
            gone=one.gone.merge(other.gone),
            order=order,
        )
        self._wait(_held(list(other.counts), list(other.counts.values())))

    def add_words(
        self,
        words: Sequence[str],
        counts: NDArray[np.int64],
        n_missing: int,
        order: tuple[str, ...] | None = None,
    ) -> None:
        """Add a batch of rows: its distinct texts, and how often each occurs."""
        self.add(TextCounts(int(n_missing + counts.sum()), n_missing, order=order))
        self._wait(_held(words, counts).filter(counts > 0))

    def add_cells(self, cells: pa.Array) -> None:
        """Add a batch as it is stored: of very many texts, few are looked at."""
        import pyarrow as pa
        import pyarrow.compute as pc

        known, one = cells.drop_null(), self._sum
        gone = one.gone
        if one.level:
            stay = _stays(known, one.level)
            if not gone.settled:
                left = pc.unique(known.filter(pa.array(~stay))).to_pylist()
                gone = Gone.of(left, gone, one.marks)
            known = known.filter(pa.array(stay))
        n_missing = one.n_missing + cells.null_count
        self._sum = one._replace(n_rows=one.n_rows + len(cells), n_missing=n_missing, gone=gone)
        self._wait(_held(*pc.value_counts(known).flatten()))

    def done(self) -> TextCounts:
        """What is known of all of them."""
        self._compact()
        (few,) = self._waiting
        counts = zip(few["text"].to_pylist(), few["count"].to_pylist(), strict=True)
        return self._sum._replace(counts=dict(counts))

    def _wait(self, held: pa.Table) -> None:
        self._waiting.append(held)
        if sum(map(len, self._waiting)) > MOST_TEXTS * self._sum.room:
            self._compact()

    def _compact(self) -> None:
        """Put batches together, and keep no more of them than there is room for."""
        import pyarrow as pa
        import pyarrow.compute as pc

        every = pa.concat_tables(self._waiting).group_by("text", use_threads=False)
        texts, counts = every.aggregate([("count", "sum")]).columns
        sizes, one = pc.utf8_length(texts).to_numpy(), self._sum
        level, stay = one.level, _stays(texts, one.level)
        while stay.sum() > MOST_TEXTS * one.room or sizes[stay].sum() > LENGTH * one.room:
            level += 1
            stay = _stays(texts, level)
        left = texts.filter(pa.array(~stay)).to_pylist() if not one.gone.settled else []
        self._sum = one._replace(level=level, gone=Gone.of(left, one.gone, one.marks))
        self._waiting = [_held(texts, counts).filter(pa.array(stay))]


def _held(texts: Any, counts: Any) -> pa.Table:
    """Texts, and how often each occurs."""
    import pyarrow as pa

    schema = pa.schema([("text", pa.large_string()), ("count", pa.int64())])
    return pa.table([texts, counts], schema=schema)


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
