"""A column of numbers in a few kilobytes, of any number of rows, that adds up from chunk to chunk.

Distinct values are counted while they are few. Of more, those are kept (with exact counts) whose
hash begins with so many zeros that they are few again: of every two values one, then of every four,
and so on. Which ones these are does not depend on the order of the rows nor on how they were cut
into chunks, and how many values there are can be told from how many of them are left. The lowest
and highest values are counted in any case, since marks for missing cells stand there.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from leftout.engine.cells import exact

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# Distinct values that are counted: of whole numbers, and of others.
MOST_WHOLE, MOST_DISTINCT = 1 << 16, 1 << 12
# Lowest and highest values that are always counted.
ENDS = 16
_SIGN = np.int64(np.iinfo(np.int64).max)


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
    hashes : int
        The sum of all rows' hashes, which tells what values there are.
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
    hashes: int
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

    @property
    def counts_rows(self) -> bool:
        """Whether the values are whole numbers without a gap between them, each of them once."""
        if not self.whole or self.n_missing or not self.n_rows:
            return False
        low, high = map(int, self.range)
        if high - low != self.n_rows - 1:
            return False
        total = 0
        for start in range(low, high + 1, 1 << 20):
            block: Any = np.arange(min(1 << 20, high + 1 - start))
            if self.unsigned:
                block = block.astype(np.uint64) + np.uint64(start)
                keys = (block ^ np.uint64(1 << 63)).view(np.int64)
            else:
                block = block + start
                keys = block if self.integer else keys_of(block.astype(np.float64))
            total += int(hashed(keys).sum(dtype=np.uint64))
        return total % (1 << 64) == self.hashes

    def merge(self, other: NumberCounts) -> NumberCounts:
        """What is known of the rows of both."""
        both = self._replace(
            n_rows=self.n_rows + other.n_rows,
            n_missing=self.n_missing + other.n_missing,
            whole=self.whole and other.whole,
            lowest=_lowest(self.lowest, other.lowest),
            highest=_highest(self.highest, other.highest),
            hashes=(self.hashes + other.hashes) % (1 << 64),
            marked=_together(self.marked, other.marked),
        )
        kept = _together(self.kept, other.kept)
        level, kept = _thinned(max(self.level, other.level), kept, both.most)
        return both._replace(level=level, kept=kept)


class NumberCounter:
    """Counts the numbers of one chunk, batch by batch."""

    def __init__(self, integer: bool, room: int = 1, unsigned: bool = False) -> None:
        self._sum = NumberCounts(
            0, 0, integer, True, 0, NONE, NONE, NONE, 0, room=room, unsigned=unsigned
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
        # of very many values, few are sorted
        hashes = hashed(keys) if one.level else None
        outer = _tallied(keys if hashes is None else keys[_outer(one, keys)])
        if hashes is None:
            kept, total = outer, hashed(outer.keys) @ outer.counts.astype(np.uint64)
        else:
            kept, total = _tallied(keys[_stays(hashes, one.level)]), hashes.sum()
        self._sum = one._replace(
            n_rows=one.n_rows + len(values),
            n_missing=one.n_missing + len(values) - len(keys),
            whole=whole,
            lowest=_lowest(one.lowest, outer),
            highest=_highest(one.highest, outer),
            hashes=(one.hashes + int(total)) % (1 << 64),
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


def hashed(keys: Ints) -> NDArray[np.uint64]:
    """Numbers that look random (Steele, Lea and Flood's SplitMix64), always the same for a key."""
    z = keys.view(np.uint64) + np.uint64(0x9E3779B97F4A7C15)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        z ^= z >> np.uint64(shift)
        z *= np.uint64(factor)
    z ^= z >> np.uint64(31)
    return z


def _outer(known: NumberCounts, keys: Ints) -> NDArray[np.bool_]:
    """Which keys may be among the lowest or highest of all."""
    if len(known.lowest.keys) < ENDS:
        return np.ones(len(keys), dtype=bool)
    return (keys <= known.lowest.keys[-1]) | (keys >= known.highest.keys[0])


def _tallied(keys: Ints) -> Tallied:
    """Distinct keys, rising, and how often each occurs."""
    ordered = np.sort(keys)
    first = np.append(0, np.flatnonzero(ordered[1:] != ordered[:-1]) + 1)[: len(ordered)]
    return Tallied(ordered[first], np.diff(np.append(first, len(ordered))))


def _together(*tallies: Tallied) -> Tallied:
    some = [each for each in tallies if len(each.keys)]
    if len(some) < 2:
        return some[0] if some else NONE
    keys = _tallied(np.concatenate([each.keys for each in some])).keys
    counts = np.zeros(len(keys), dtype=np.int64)
    for each in some:
        counts[np.searchsorted(keys, each.keys)] += each.counts
    return Tallied(keys, counts)


def _lowest(*tallies: Tallied) -> Tallied:
    return _together(*(each.part(slice(ENDS)) for each in tallies)).part(slice(ENDS))


def _highest(*tallies: Tallied) -> Tallied:
    last = slice(-ENDS, None)
    return _together(*(each.part(last) for each in tallies)).part(last)


def _stays(hashes: NDArray[np.uint64], level: int) -> NDArray[np.bool_]:
    """Which keys are kept at a level, by their hashes."""
    return hashes <= np.uint64(0xFFFFFFFFFFFFFFFF >> level)


def _thinned(level: int, kept: Tallied, most: int) -> tuple[int, Tallied]:
    """Those that are kept at a level, or at the first above it where they are few enough."""
    if len(kept.keys) <= most and not level:
        return level, kept
    hashes = hashed(kept.keys)
    while (stay := _stays(hashes, level)).sum() > most:
        level += 1
    return level, kept.part(stay)
