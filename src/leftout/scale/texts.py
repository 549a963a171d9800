"""A column of text in a few megabytes, of any number of rows, that adds up from chunk to chunk.

Distinct texts are counted while they are few and short. Of more, those are kept (with exact counts)
whose hash begins with so many zeros that they are few again; see :mod:`leftout.scale.numbers`. Each
text that goes is looked at once for what the column can no longer be: numbers or dates written in
one of the ways that people write them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from leftout.compiling import kernel
from leftout.tables.cleaning import CODE, MISSING, WAYS, fails, unit_of

if TYPE_CHECKING:
    import pyarrow as pa

# Distinct texts that are counted, and what they may take together in characters.
MOST, LENGTH = 1 << 16, 1 << 24
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


class Texts(NamedTuple):
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

    def merge(self, other: Texts) -> Texts:
        """What is known of the rows of both."""
        both = Adding(self)
        both.add(other)
        return both.done()


class Adding:
    """Adds up texts; ``order`` may be given where somebody has put them in order."""

    def __init__(self, first: Texts) -> None:
        self._sum, self._counts = first, dict(first.counts)
        self._length = sum(map(len, self._counts))
        self._waiting: list[pa.Table] = []

    def add(self, other: Texts) -> None:
        """Add what is known of some more rows."""
        one = self._sum
        order = one.order
        if order is not None and other.order is not None:
            order = tuple(dict.fromkeys(order + other.order))
        level = max(one.level, other.level)
        self._sum = one._replace(
            n_rows=one.n_rows + other.n_rows,
            n_missing=one.n_missing + other.n_missing,
            gone=one.gone.merge(other.gone),
            order=order,
        )
        if one.level < level:
            self._thin(level)
        counts = self._counts
        for text, count in other.counts.items():
            if text not in counts:
                self._length += len(text)
            counts[text] = counts.get(text, 0) + count
        most, length = MOST * one.room, LENGTH * one.room
        if other.level < level or len(counts) > most or self._length > length:
            self._thin(level)

    def add_words(
        self,
        words: Sequence[str],
        counts: NDArray[np.int64],
        n_missing: int,
        order: tuple[str, ...] | None = None,
    ) -> None:
        """Add a batch of rows: its distinct texts, and how often each occurs."""
        held = {text: count for text, count in zip(words, counts.tolist(), strict=True) if count}
        rows = n_missing + sum(held.values())
        self.add(Texts(rows, n_missing, 0, held, order=order))

    def add_cells(self, cells: pa.Array) -> None:
        """Add a batch as it is stored: of very many texts, few are looked at."""
        import pyarrow as pa
        import pyarrow.compute as pc

        known, one = cells.drop_null(), self._sum
        gone = one.gone
        if one.level:
            stay = hashed(known) >> np.uint64(64 - one.level) == 0
            if not gone.settled:
                left = pc.unique(known.filter(pa.array(~stay))).to_pylist()
                gone = Gone.of(left, gone, one.marks)
            known = known.filter(pa.array(stay))
        n_missing = one.n_missing + cells.null_count
        self._sum = one._replace(n_rows=one.n_rows + len(cells), n_missing=n_missing, gone=gone)
        held = pc.value_counts(known.cast(pa.large_string()))
        self._waiting.append(pa.table({"text": held.field(0), "count": held.field(1)}))
        if sum(map(len, self._waiting)) > MOST * one.room:
            self._compact()

    def _compact(self) -> None:
        """Put batches together, and keep no more of them than there is room for."""
        import pyarrow as pa
        import pyarrow.compute as pc

        every = (
            pa.concat_tables(self._waiting)
            .group_by("text", use_threads=False)
            .aggregate([("count", "sum")])
        )
        texts, level, gone = every.column("text").combine_chunks(), self._sum.level, self._sum.gone
        sizes = pc.utf8_length(texts).to_numpy()
        level, stay = _stay(hashed(texts), sizes, level, self._sum.room)
        if not stay.all():
            left = texts.filter(pa.array(~stay)).to_pylist() if not gone.settled else []
            self._sum = self._sum._replace(level=level, gone=Gone.of(left, gone, self._sum.marks))
        every = every.filter(pa.array(stay))
        self._waiting = [pa.table({"text": every["text"], "count": every["count_sum"]})]

    def done(self) -> Texts:
        """What is known of all of them."""
        if self._waiting:
            self._compact()
            (few,) = self._waiting
            self._waiting = []
            counts = zip(few["text"].to_pylist(), few["count"].to_pylist(), strict=True)
            if self._counts:
                self.add(Texts(0, 0, self._sum.level, dict(counts)))
            else:
                self._counts = dict(counts)
        return self._sum._replace(counts=self._counts)

    def _thin(self, level: int) -> None:
        """Keep no more texts than there is room for, at a level or the first above it."""
        texts, gone = list(self._counts), self._sum.gone
        sizes = np.array([len(text) for text in texts], dtype=np.int64)
        level, stay = _stay(hashed_texts(texts), sizes, level, self._sum.room)
        left = [texts[place] for place in np.flatnonzero(~stay)] if not gone.settled else []
        gone = Gone.of(left, gone, self._sum.marks)
        self._counts = {texts[at]: self._counts[texts[at]] for at in np.flatnonzero(stay)}
        self._length = int(sizes[stay].sum())
        self._sum = self._sum._replace(level=level, gone=gone)


def _stay(
    zeros: NDArray[np.uint64], sizes: NDArray[np.int64], level: int, room: int
) -> tuple[int, NDArray[np.bool_]]:
    """Which texts stay at a level, or at the first above it where there is room for them."""
    while True:
        stay = zeros >> np.uint64(64 - level) == 0 if level else np.ones(len(zeros), dtype=bool)
        if stay.sum() <= MOST * room and sizes[stay].sum() <= LENGTH * room:
            return level, stay
        level += 1


def follows(texts: Sequence[str], how: str) -> bool:
    """Whether all texts are written in a certain way; none of them stands for nothing."""
    if how not in _STORED:
        return not fails(texts, how)
    pattern = _STORED[how]
    if not all(map(pattern.fullmatch, texts)):
        return False
    # whole numbers beyond what computers store are codes, as those with a zero before them are
    return how == TRUTH or not any(
        CODE.match(text) or len(text) > 18 and text.isdigit() and int(text) >= 1 << 63
        for text in texts
    )


def hashed_texts(texts: Sequence[str]) -> NDArray[np.uint64]:
    """Numbers that look random, always the same for a text."""
    import pyarrow as pa

    return hashed(pa.array(texts, pa.large_string()))


def hashed(cells: pa.Array) -> NDArray[np.uint64]:
    """The same for stored texts, of which none is missing."""
    import pyarrow as pa

    if not len(cells):
        return np.empty(0, dtype=np.uint64)
    cells = cells.cast(pa.large_string())
    _, offsets, data = cells.buffers()
    ends = np.frombuffer(offsets, np.int64)[cells.offset : cells.offset + len(cells) + 1]
    letters = np.zeros(0, np.uint8) if data is None else np.frombuffer(data, np.uint8)
    return np.asarray(_hashed(ends, letters))


@kernel
def _hashed(ends: NDArray[np.int64], letters: NDArray[np.uint8]) -> NDArray[np.uint64]:
    """Fowler, Noll and Vo's hash of every text (FNV-1a), mixed as SplitMix64 does."""
    result = np.empty(len(ends) - 1, dtype=np.uint64)
    for place in range(len(result)):
        z = np.uint64(0xCBF29CE484222325)
        for at in range(ends[place], ends[place + 1]):
            z = (z ^ np.uint64(letters[at])) * np.uint64(0x100000001B3)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        result[place] = z ^ (z >> np.uint64(31))
    return result
