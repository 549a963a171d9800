"""Passes: work on all rows of a table, wherever these are.

A pass is a pure function of one block of rows and a way to merge what two blocks gave. Whoever has
the rows runs it: blocks of an array here, parts of files or the workers of a cluster elsewhere.
What moves is what a pass returns, never the table.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from leftout.linalg import moments
from leftout.linalg.moments import Moments, blocks

Array = NDArray[np.float64]
Places = NDArray[np.intp]
S = TypeVar("S")
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


@dataclass(frozen=True)
class Pair(Generic[S, T]):
    """Two passes in one reading."""

    first: Pass[S]
    second: Pass[T]

    def over(self, rows: Array, start: int) -> tuple[S, T]:
        return self.first.over(rows, start), self.second.over(rows, start)

    def merge(self, a: tuple[S, T], b: tuple[S, T]) -> tuple[S, T]:
        return self.first.merge(a[0], b[0]), self.second.merge(a[1], b[1])


class Along(Generic[S]):
    """A table whose next reading serves one more pass, whoever asks for it."""

    def __init__(self, table: AllRows, other: Pass[S]) -> None:
        self.table, self.other = table, other
        self.n_rows, self.n_features = table.n_rows, table.n_features
        self._found: list[S] = []

    def run(self, one: Pass[T]) -> T:
        """A pass over all blocks; the first takes the other along."""
        if self._found:
            return self.table.run(one)
        result, other = self.table.run(Pair(one, self.other))
        self._found.append(other)
        return result

    def take(self, places: Places) -> Array:
        return self.table.take(places)

    @property
    def found(self) -> S:
        """What the other pass gives, by a reading of its own if there was none."""
        if not self._found:
            self._found.append(self.table.run(self.other))
        return self._found[0]


@dataclass(frozen=True)
class Take:
    """The pass that takes the rows of some places, rising."""

    places: Places

    def over(self, rows: Array, start: int) -> tuple[Array, ...]:
        low, high = np.searchsorted(self.places, [start, start + len(rows)])
        return (np.ascontiguousarray(rows[self.places[low:high] - start]),)

    def merge(self, a: tuple[Array, ...], b: tuple[Array, ...]) -> tuple[Array, ...]:
        return a + b


def moments_and_rows(table: AllRows, some: Array, places: Places) -> tuple[Moments, Array]:
    """Moments of all rows about their mean, and the rows of some places, rising, in one pass.

    ``some`` rows are known before.
    """
    with np.errstate(over="ignore", invalid="ignore"):  # callers see what is not finite
        found, rows = table.run(Pair(Sums(moments.near_origin(some)), Take(places)))
        return moments.about_own_mean(found), np.concatenate(rows)
