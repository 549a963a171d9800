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

from leftout.compiling import kernel
from leftout.scale.cells import exact

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# Distinct values that are counted: of whole numbers, and of others.
WHOLE, OTHERS = 1 << 16, 1 << 12
# Lowest and highest values that are always counted.
ENDS = 16
_SIGN = np.int64(np.iinfo(np.int64).max)


class Tallied(NamedTuple):
    """Distinct values by their keys, which are in the same order, and how often each occurs."""

    keys: Ints
    counts: Ints


NONE = Tallied(np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64))


class Numbers(NamedTuple):
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

    def merge(self, other: Numbers) -> Numbers:
        """What is known of the rows of both."""
        whole = self.whole and other.whole
        level = max(self.level, other.level)
        kept = _together(self.kept, other.kept)
        level, kept = _thinned(level, kept, self.room * (WHOLE if whole else OTHERS))
        low = _together(self.lowest, other.lowest)
        high = _together(self.highest, other.highest)
        return Numbers(
            self.n_rows + other.n_rows,
            self.n_missing + other.n_missing,
            self.integer,
            whole,
            level,
            kept,
            Tallied(low.keys[:ENDS], low.counts[:ENDS]),
            Tallied(high.keys[-ENDS:], high.counts[-ENDS:]),
            (self.hashes + other.hashes) % (1 << 64),
            _together(self.marked, other.marked),
            self.room,
            self.unsigned,
        )


class Counter:
    """Counts the numbers of one chunk, batch by batch."""

    def __init__(self, integer: bool, room: int = 1, unsigned: bool = False) -> None:
        self.integer, self.whole, self.room, self.unsigned = integer, True, room, unsigned
        self.n_rows = self.n_missing = 0
        self._marked = NONE
        self._make_room(room * OTHERS)
        self._state = np.zeros(3, dtype=np.int64)  # values counted, level, sum of hashes
        self._low = np.zeros((2, ENDS + 1), dtype=np.int64)  # keys, counts; the first of counts: n
        self._high = np.zeros((2, ENDS + 1), dtype=np.int64)

    def add(self, values: Floats | Ints, known: NDArray[np.bool_] | None = None) -> None:
        """Count the values of a batch: floats, NaN where missing; or whole numbers."""
        self.n_rows += len(values)
        if self.integer:
            keys = values if known is None else values[known]
        else:
            keys, whole = _keyed(np.ascontiguousarray(values))
            self.whole &= bool(whole)
        self.n_missing += len(values) - len(keys)
        _ends(keys, self._low, self._high)
        start = 0
        while start < len(keys):
            start = _count(keys, start, self._keys, self._counts, self._state, self._most)
            if start < len(keys):  # no room
                if self.whole and self._most < self.room * WHOLE:
                    self._grow()
                else:
                    self._thin()

    def mark(self, values: Floats | Ints) -> None:
        """Count values of the batch that are declared missing, once more."""
        keys: Any = values if self.integer else keys_of(values.astype(np.float64, copy=False))
        self._marked = _together(self._marked, Tallied(keys, np.ones_like(keys)))

    def done(self) -> Numbers:
        """What is known of the chunk."""
        most = self.room * (WHOLE if self.whole else OTHERS)
        level, (keys, counts) = _thinned(int(self._state[1]), self._compact(), most)
        order = np.argsort(keys)
        kept = Tallied(keys[order], counts[order])
        low, high = (_sorted(ends) for ends in (self._low, self._high))
        hashes = int(self._state[2]) % (1 << 64)
        return Numbers(
            self.n_rows, self.n_missing, self.integer, self.whole, level, kept, low, high, hashes,
            self._marked, self.room, self.unsigned,
        )  # fmt: skip

    def _make_room(self, most: int) -> None:
        self._most = most
        self._keys = np.zeros(2 * most, dtype=np.int64)
        self._counts = np.zeros(2 * most, dtype=np.int64)

    def _compact(self) -> Tallied:
        there = np.flatnonzero(self._counts)
        return Tallied(self._keys[there], self._counts[there])

    def _grow(self) -> None:
        kept = self._compact()
        self._make_room(self.room * WHOLE)
        _fill(kept.keys, kept.counts, self._keys, self._counts)

    def _thin(self) -> None:
        self._state[1] += 1
        self._state[0] = _thin(self._keys, self._counts, self._state[1])


def keys_of(values: Floats) -> Ints:
    """Whole numbers in the order of floats, none of them NaN; equal for equal ones."""
    return _keyed(np.ascontiguousarray(values))[0]


def floats_of(keys: Ints) -> Floats:
    """The floats that keys stand for."""
    return np.where(keys < 0, keys ^ _SIGN, keys).view(np.float64)


def hashed(keys: Ints) -> NDArray[np.uint64]:
    """Numbers that look random (Steele, Lea and Flood's SplitMix64), always the same for a key."""
    with np.errstate(over="ignore"):
        z = keys.view(np.uint64) + np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return z ^ (z >> np.uint64(31))


def _together(one: Tallied, other: Tallied) -> Tallied:
    keys, codes = np.unique(np.concatenate([one.keys, other.keys]), return_inverse=True)
    counts = np.bincount(codes, np.concatenate([one.counts, other.counts]), len(keys))
    return Tallied(keys, counts.astype(np.int64))


def _thinned(level: int, kept: Tallied, most: int) -> tuple[int, Tallied]:
    """Those that are kept at a level, or at the first above it where they are few enough."""
    if level == 0 and len(kept.keys) <= most:
        return level, kept
    zeros = hashed(kept.keys)
    while True:
        stay = zeros >> np.uint64(64 - level) == 0 if level else np.ones(len(zeros), dtype=bool)
        if stay.sum() <= most:
            return level, Tallied(kept.keys[stay], kept.counts[stay])
        level += 1


def _sorted(ends: NDArray[np.int64]) -> Tallied:
    n = int(ends[1, ENDS])
    order = np.argsort(ends[0, :n])
    return Tallied(ends[0, :n][order], ends[1, :n][order])


@kernel
def _keyed(values: Floats) -> tuple[Ints, bool]:
    """Keys of the values that are not NaN, and whether all are whole."""
    keys = np.empty(len(values), dtype=np.int64)
    whole, n = True, 0
    for value in values:
        if value == value:
            whole = whole and value == np.floor(value) and np.isfinite(value)
            keys[n] = np.float64(value + 0.0).view(np.int64)  # no zero below zero
            if keys[n] < 0:
                keys[n] ^= _SIGN
            n += 1
    return keys[:n], whole


@kernel
def _hash(key: int) -> np.uint64:
    z = np.uint64(key) + np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@kernel
def _count(keys: Ints, start: int, table: Ints, counts: Ints, state: Ints, most: int) -> int:
    """Count keys from a place on, up to the first that finds no room; returns its place."""
    mask = np.uint64(len(table) - 1)
    used, level, total = state[0], state[1], np.uint64(state[2])
    limit = np.uint64(0xFFFFFFFFFFFFFFFF) >> np.uint64(level)
    place = len(keys)
    for at in range(start, len(keys)):
        key = keys[at]
        code = _hash(key)
        if code <= limit:
            slot = code & mask
            while counts[slot] and table[slot] != key:
                slot = (slot + np.uint64(1)) & mask
            if not counts[slot]:
                if used == most:
                    place = at
                    break
                used += 1
                table[slot] = key
            counts[slot] += 1
        total += code
    state[0], state[2] = used, np.int64(total)
    return place


@kernel
def _fill(keys: Ints, times: Ints, table: Ints, counts: Ints) -> None:
    mask = np.uint64(len(table) - 1)
    for key, count in zip(keys, times):  # noqa: B905
        slot = _hash(key) & mask
        while counts[slot]:
            slot = (slot + np.uint64(1)) & mask
        table[slot] = key
        counts[slot] = count


@kernel
def _thin(table: Ints, counts: Ints, level: int) -> int:
    """Keep what stays at a level, each as near to its slot as there is room; returns how many."""
    mask = np.uint64(len(table) - 1)
    limit = np.uint64(0xFFFFFFFFFFFFFFFF) >> np.uint64(level)
    start = 0
    while counts[start]:  # half of the slots are free: no run of full ones goes around from here
        start += 1
    kept = 0
    for step in range(len(table)):
        at = (start + step) % len(table)
        count = counts[at]
        if not count:
            continue
        counts[at] = 0
        code = _hash(table[at])
        if code <= limit:
            slot = code & mask
            while counts[slot]:
                slot = (slot + np.uint64(1)) & mask
            table[slot] = table[at]
            counts[slot] = count
            kept += 1
    return kept


@kernel
def _ends(keys: Ints, low: Ints, high: Ints) -> None:
    """Count the lowest and the highest values."""
    full, below, above = low[1, ENDS] == ENDS, low[0, ENDS], high[0, ENDS]
    for key in keys:
        if full and below < key < above:
            continue
        if not full or key <= below:
            _keep(key, low, 1)
        if not full or key >= above:
            _keep(key, high, -1)
        full, below, above = low[1, ENDS] == ENDS, low[0, ENDS], high[0, ENDS]


@kernel
def _keep(key: int, ends: Ints, sign: int) -> None:
    """Count one value among the outermost, of which the innermost is in the last place."""
    n = ends[1, ENDS]
    for place in range(n):
        if ends[0, place] == key:
            ends[1, place] += 1
            return
    if n < ENDS:
        ends[0, n], ends[1, n] = key, 1
        ends[1, ENDS] = n + 1
    else:
        inner = _innermost(ends, sign)
        ends[0, inner], ends[1, inner] = key, 1
    ends[0, ENDS] = ends[0, _innermost(ends, sign)]


@kernel
def _innermost(ends: Ints, sign: int) -> int:
    inner = 0
    for place in range(1, ends[1, ENDS]):
        further = ends[0, place] > ends[0, inner] if sign > 0 else ends[0, place] < ends[0, inner]
        if further:
            inner = place
    return inner
