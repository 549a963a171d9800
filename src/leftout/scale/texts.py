"""A column of text in a few megabytes, of any number of rows, that adds up from chunk to chunk.

Distinct texts are counted while they are few and short. Of more, those are kept (with exact counts)
whose hash begins with so many zeros that they are few again; see :mod:`leftout.scale.numbers`. Each
text that goes is looked at once for what the column can no longer be: numbers or dates written in
one of the ways that people write them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from leftout.tables.cleaning import MISSING, WAYS, fails, unit_of

# Distinct texts that are counted, and what they may take together in characters.
MOST, LENGTH = 1 << 16, 1 << 24
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
            self.ruled_out | other.ruled_out,
            frozenset(sorted(units)[:_UNITS]),
            self.spaces or other.spaces,
        )

    @classmethod
    def of(cls, texts: Sequence[str], before: Gone, marks: frozenset[str]) -> Gone:
        """The same with some more texts, of which ``marks`` are missing cells."""
        left = [text for text in map(str.strip, texts) if text not in MISSING and text not in marks]
        if not left:
            return before
        alive = [how for how in WAYS if how not in before.ruled_out]
        units = before.units
        if len(units) < _UNITS:
            units = frozenset(sorted(units.union(map(unit_of, left)))[:_UNITS])
        spaces = before.spaces or any(" " in text for text in left)
        return Gone(before.ruled_out.union(how for how in alive if fails(left, how)), units, spaces)


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
    """

    n_rows: int = 0
    n_missing: int = 0
    level: int = 0
    counts: dict[str, int] = {}  # noqa: RUF012
    gone: Gone = Gone()
    order: tuple[str, ...] | None = None
    marks: frozenset[str] = frozenset()

    @property
    def n_values(self) -> int:
        """Distinct texts; nearly so many, where not all are kept."""
        return len(self.counts) << self.level

    def merge(self, other: Texts) -> Texts:
        """What is known of the rows of both."""
        counts = dict(self.counts)
        for text, count in other.counts.items():
            counts[text] = counts.get(text, 0) + count
        order = self.order
        if order is not None and other.order is not None:
            order = tuple(dict.fromkeys(order + other.order))
        both = Texts(
            self.n_rows + other.n_rows,
            self.n_missing + other.n_missing,
            max(self.level, other.level),
            counts,
            self.gone.merge(other.gone),
            order,
            self.marks,
        )
        return both.thinned(lower=min(self.level, other.level) < both.level)

    def add(
        self,
        texts: Sequence[str],
        counts: NDArray[np.int64],
        n_missing: int,
        order: tuple[str, ...] | None = None,
    ) -> Texts:
        """What is known with a batch of rows: its distinct texts, and how often each occurs."""
        held = {text: count for text, count in zip(texts, counts.tolist(), strict=True) if count}
        rows = n_missing + sum(held.values())
        return self.merge(Texts(rows, n_missing, 0, held, Gone(), order, self.marks))

    def thinned(self, lower: bool) -> Texts:
        """The same with no more texts than there is room for.

        Some have come from a ``lower`` level, and are looked at even if there is.
        """
        if not lower and _fits(self.counts):
            return self
        texts = list(self.counts)
        zeros, level = hashed(texts), self.level
        sizes = np.array([len(text) for text in texts])
        while True:
            stay = zeros >> np.uint64(64 - level) == 0 if level else np.ones(len(texts), dtype=bool)
            if stay.sum() <= MOST and sizes[stay].sum() <= LENGTH:
                break
            level += 1
        kept = {texts[place]: self.counts[texts[place]] for place in np.flatnonzero(stay)}
        left = [texts[place] for place in np.flatnonzero(~stay)]
        return self._replace(level=level, counts=kept, gone=Gone.of(left, self.gone, self.marks))


def hashed(texts: Iterable[str]) -> NDArray[np.uint64]:
    """Numbers that look random, always the same for a text."""
    from pandas.util import hash_array

    every: Any = np.fromiter(texts, dtype=object)
    return np.asarray(hash_array(every, categorize=False), dtype=np.uint64)


def _fits(counts: dict[str, int]) -> bool:
    return len(counts) <= MOST and sum(map(len, counts)) <= LENGTH
