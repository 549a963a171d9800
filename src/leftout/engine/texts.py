"""A column of text in a few megabytes, of any number of rows, that adds up from chunk to chunk.

Distinct texts are counted while they are few and short. Of more, those are kept (with exact counts)
whose hash begins with so many zeros that they are few again; see :mod:`leftout.engine.numbers`.
Each text that goes is looked at once for what the column can no longer be: numbers or dates written
in one of the ways that people write them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from leftout.data.cleaning import CODE, MISSING, WAYS, fails, unit_of

if TYPE_CHECKING:
    import pyarrow as pa

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
    """Adds up texts; ``order`` may be given where somebody has put them in order."""

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
            stay = hashed(known) >> np.uint64(64 - one.level) == 0
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
        sizes, zeros, one = pc.utf8_length(texts).to_numpy(), hashed(texts), self._sum
        level, stay = one.level, np.ones(len(texts), dtype=bool)
        while True:
            if level:
                stay = zeros >> np.uint64(64 - level) == 0
            if stay.sum() <= MOST_TEXTS * one.room and sizes[stay].sum() <= LENGTH * one.room:
                break
            level += 1
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
        CODE.match(text) or len(text) > 18 and text.isdigit() and int(text) >= 1 << 63
        for text in texts
    )


def hashed(cells: pa.Array | pa.ChunkedArray) -> NDArray[np.uint64]:
    """Numbers that look random, always the same for a text; none of these is missing."""
    from pandas.util import hash_array

    texts = cells.to_numpy(zero_copy_only=False)
    return np.asarray(hash_array(texts.astype(object), categorize=False))
