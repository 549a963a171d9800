"""How many rows conditions share: the counts of all pairs, by matrix products.

Every row is in one bin of every column. With ``B`` the 0-1 matrix of rows by bins, ``B' B`` counts
the rows in which any two bins meet, and ``B' G B`` those of a group; ``G``, diagonal, says who is
in it. A condition is a union of bins: with ``A`` the 0-1 matrix of conditions by bins, the counts
of any two conditions are ``A (B' B) A'``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise, product

import numpy as np
from numpy.typing import NDArray

from leftout.data.binning import BinnedColumn
from leftout.data.conditions import Mask

Array = NDArray[np.float64]
Places = NDArray[np.intp]

# Rows are multiplied in blocks of this many numbers (8 MB): single precision counts exactly there.
_ROWS = 1 << 21
_FEWEST = 256
# Pairs are counted in blocks of this many bins.
BLOCK = 1024


@dataclass(frozen=True)
class Indicators:
    """The 0-1 matrix of rows by the bins of some columns, of which blocks of rows are made."""

    codes: list[NDArray[np.int32]]  # the bin of each row, column by column
    places: list[NDArray[np.int32]]  # of the bins among all; -1: of one that is left out
    n_bins: int

    @classmethod
    def of(cls, columns: Sequence[BinnedColumn]) -> Indicators:
        ends = pairwise(starts_of(columns).tolist())
        places = [np.arange(start, stop, dtype=np.int32) for start, stop in ends]
        return cls([c.codes for c in columns], places, sum(c.n_bins for c in columns))

    def only(self, bins: Places) -> Indicators:
        """Some of the bins, numbered anew."""
        new = np.full(self.n_bins + 1, -1, dtype=np.int32)  # -1 stays what it is
        new[bins] = np.arange(len(bins), dtype=np.int32)
        kept = [(codes, new[at]) for codes, at in zip(self.codes, self.places, strict=True)]
        kept = [(codes, at) for codes, at in kept if (at >= 0).any()]
        return Indicators([codes for codes, _ in kept], [at for _, at in kept], len(bins))

    def counts(self, rows: Mask | None = None) -> Array:
        """Rows of each bin, all or some of them."""
        total = np.zeros(self.n_bins + 1)
        for codes, at in zip(self.codes, self.places, strict=True):
            total[at] = np.bincount(codes if rows is None else codes[rows], minlength=len(at))
        return total[:-1]

    def pairs(self, rows: Mask | None = None, other: Indicators | None = None) -> Array:
        """Rows in which two bins meet, all or some of them: ``B' B``, or with another's ``B' O``.

        O(m b^2) multiplications for ``b`` bins, at the speed of BLAS, and memory for a block of
        rows.
        """
        total = np.zeros((self.n_bins, (other or self).n_bins))
        for some in self._blocks(rows, total.shape):
            B = self._block(some)
            total += B.T @ (B if other is None else other._block(some))
        return total

    def of_pairs(self, first: Places, second: Places, rows: Mask | None = None) -> Array:
        """Rows in which each of some pairs of bins meet, all or some of them."""
        result = np.zeros(len(first))
        for a, b in product(range(0, self.n_bins, BLOCK), repeat=2):
            at = np.flatnonzero((first // BLOCK == a // BLOCK) & (second // BLOCK == b // BLOCK))
            if len(at):
                left, right = (self.only(np.arange(self.n_bins)[s : s + BLOCK]) for s in (a, b))
                counts = left.pairs(rows, None if a == b else right)
                result[at] = counts[first[at] - a, second[at] - b]
        return result

    def meet(self, masks: Mask) -> Array:
        """Rows of each bin within each of some sets of rows: shape (sets, bins)."""
        total = np.zeros((len(masks), self.n_bins))
        for some in self._blocks(None, total.shape):
            total += masks[:, some].astype(np.float32) @ self._block(some)
        return total

    def _blocks(self, rows: Mask | None, widths: tuple[int, ...]) -> Iterator[Places | slice]:
        places = None if rows is None else np.flatnonzero(rows)
        n = (len(self.codes[0]) if self.codes else 0) if places is None else len(places)
        step = max(_FEWEST, _ROWS // max(1, *widths))
        parts = (slice(start, min(start + step, n)) for start in range(0, n, step))
        return parts if places is None else (places[part] for part in parts)

    def _block(self, some: Places | slice) -> NDArray[np.float32]:
        parts = [codes[some] for codes in self.codes]
        B = np.zeros((len(parts[0]), self.n_bins + 1), dtype=np.float32)
        each = np.arange(len(B))
        for part, at in zip(parts, self.places, strict=True):
            B[each, at[part]] = 1.0
        return B[:, :-1]  # the last has what is in none of the bins


def starts_of(columns: Sequence[BinnedColumn]) -> Places:
    """Where each column's bins begin among all, and the end."""
    return np.cumsum([0, *(column.n_bins for column in columns)])
