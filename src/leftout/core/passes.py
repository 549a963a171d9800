"""Passes: work on all rows of a table, wherever these are.

A pass is a pure function of one block of rows and a way to merge what two blocks gave. Whoever has
the rows runs it: blocks of an array here, parts of files or the workers of a cluster elsewhere.
What moves is what a pass returns, never the table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from leftout.core import moments
from leftout.core.moments import Moments, blocks

Array = NDArray[np.float64]
Places = NDArray[np.intp]
T = TypeVar("T")


class Pass(Protocol[T]):
    """What to do with a block of rows: small, frozen, and fit to be sent elsewhere."""

    def over(self, rows: Array, start: int) -> T:
        """What a block gives; ``rows`` of shape (b, n), the first at place ``start``."""
        ...

    def merge(self, a: T, b: T) -> T:
        """What two neighbouring stretches of rows give together, ``a`` before ``b``."""
        ...


class AllRows(Protocol):
    """A table that is passed over."""

    @property
    def n_rows(self) -> int: ...

    @property
    def n_features(self) -> int: ...

    def run(self, one: Pass[T]) -> T:
        """A pass over all blocks, merged in their order."""
        ...

    def take(self, places: Places) -> Array:
        """Some rows, thousands rather than millions, their places in rising order."""
        ...


@dataclass(frozen=True)
class InMemory:
    """An array, passed over by blocks that are never copied."""

    X: Array

    @property
    def n_rows(self) -> int:
        return len(self.X)

    @property
    def n_features(self) -> int:
        return self.X.shape[1]

    def run(self, one: Pass[T]) -> T:
        parts = (one.over(self.X[block], block.start) for block in blocks(*self.X.shape))
        return fold(parts, one.merge)

    def take(self, places: Places) -> Array:
        return self.X[places]


def fold(parts: Iterable[T], merge: Callable[[T, T], T]) -> T:
    """Merge neighbours in order, by a binary tree that depends on their number alone.

    Examples
    --------
    >>> fold("abcde", lambda a, b: f"({a}{b})")
    '(((ab)(cd))e)'
    """
    held: list[tuple[int, T]] = []  # stretches of falling length, each a power of two
    for part in parts:
        length = 1
        while held and held[-1][0] == length:
            part = merge(held.pop()[1], part)
            length *= 2
        held.append((length, part))
    if not held:
        raise ValueError("A table without a row cannot be passed over.")
    _, whole = held.pop()
    while held:
        whole = merge(held.pop()[1], whole)
    return whole


@dataclass(frozen=True)
class Sums:
    """The pass that takes the moments of all rows about an origin."""

    origin: Array

    def over(self, rows: Array, start: int) -> Moments:
        return moments.build(rows, origin=self.origin)

    def merge(self, a: Moments, b: Moments) -> Moments:
        return moments.merge(a, b)


class Taken(NamedTuple):
    """Moments, and some rows on the way."""

    moments: Moments
    rows: tuple[Array, ...]


@dataclass(frozen=True)
class Taking:
    """The pass that takes moments, and the rows of some places, rising, in the same reading."""

    sums: Sums
    places: Places

    def over(self, rows: Array, start: int) -> Taken:
        low, high = np.searchsorted(self.places, [start, start + len(rows)])
        some = np.ascontiguousarray(rows[self.places[low:high] - start])
        return Taken(self.sums.over(rows, start), (some,))

    def merge(self, a: Taken, b: Taken) -> Taken:
        return Taken(self.sums.merge(a.moments, b.moments), a.rows + b.rows)


def moments_about_mean(table: AllRows) -> Moments:
    """Moments of all rows about their mean, in one pass: ``build_about_mean`` for any table."""
    first = table.take(np.arange(min(moments.FIRST, table.n_rows)))
    return moments_and_rows(table, first, np.empty(0, dtype=np.intp))[0]


def moments_and_rows(table: AllRows, some: Array, places: Places) -> tuple[Moments, Array]:
    """The same and the rows of some places, rising, in one pass; ``some`` rows are known before."""
    with np.errstate(over="ignore", invalid="ignore"):  # callers see what is not finite
        found = table.run(Taking(Sums(moments.near_origin(some)), places))
        return moments.about_own_mean(found.moments), np.concatenate(found.rows)
