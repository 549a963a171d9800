"""Equal rows: which rows of a table are distinct, and how often each of them occurs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from leftout.linalg.losses import Array

IntArray = NDArray[np.intp]

# Rows that are looked at at a time: they stay in the processor's cache.
_ROWS = 2048


class Distinct(NamedTuple):
    """The distinct rows of a table, in the order in which they first occur."""

    first: IntArray  # (n_distinct,): the row where each occurs first
    counts: IntArray  # (n_distinct,): how often it occurs
    place: IntArray  # (m,): each row's place among the distinct ones

    @property
    def n_rows(self) -> int:
        return len(self.place)

    @property
    def n_distinct(self) -> int:
        return len(self.first)

    @property
    def n_repeated(self) -> int:
        """Rows that repeat an earlier one."""
        return self.n_rows - self.n_distinct


def distinct_rows(X: Array) -> Distinct:
    """The distinct rows of a matrix of finite numbers; -0.0 equals 0.0.

    Rows are told apart by hashes of their bits, and those with equal hashes compared: O(m n), and
    m log m for sorting the hashes.

    Examples
    --------
    >>> import numpy as np
    >>> found = distinct_rows(np.array([[1.0, 2.0], [0.0, 5.0], [1.0, 2.0], [-0.0, 5.0]]))
    >>> found.first.tolist(), found.counts.tolist(), found.place.tolist()
    ([0, 1], [2, 2], [0, 1, 0, 1])
    >>> found.n_distinct, found.n_repeated
    (2, 2)
    """
    X = np.ascontiguousarray(X, dtype=np.float64)
    found = _told_apart(_hashes(X))
    leader = found.first[found.place]
    later = np.flatnonzero(leader != np.arange(len(X)))
    parts = (later[start : start + _ROWS] for start in range(0, len(later), _ROWS))
    if all(np.array_equal(X[part], X[leader[part]]) for part in parts):
        return found
    # Different rows with equal hashes: as unlikely as anything, but then the slow way is right.
    return _told_apart(np.unique(X + 0.0, axis=0, return_inverse=True)[1].ravel())


def _told_apart(names: NDArray[np.integer]) -> Distinct:
    """Rows with equal names are equal."""
    _, first, place, count = np.unique(
        names, return_index=True, return_inverse=True, return_counts=True
    )
    order = np.argsort(first)
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    return Distinct(first[order], count[order], rank[place.ravel()])


def agreeing_but_for_one(X: Array) -> Iterator[NDArray[np.uint64]]:
    """For each column in turn, a number for every row: equal where rows agree on all others.

    Two rows that do not agree share a number once in about 2^64 pairs.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[1.0, 2.0], [0.0, 2.0], [1.0, 3.0]])
    >>> for names in agreeing_but_for_one(X):
    ...     print(names[0] == names[1], names[0] == names[2])
    True False
    False True
    """
    X = np.ascontiguousarray(X, dtype=np.float64)
    whole, odd = _hashes(X), _odd(X.shape[1])
    for j in range(X.shape[1]):
        yield whole - _mixed(X[:, j].copy(), odd[j]) * odd[j]


def _hashes(X: Array) -> NDArray[np.uint64]:
    """A number of 64 bits for each row: a weighted sum of its values' bits, mixed."""
    result, odd = np.empty(len(X), dtype=np.uint64), _odd(X.shape[1])
    for start in range(0, len(X), _ROWS):
        result[start : start + _ROWS] = _mixed(X[start : start + _ROWS], odd) @ odd
    return result


def _odd(n: int) -> NDArray[np.uint64]:
    return np.random.default_rng(0).integers(0, 2**63, n, dtype=np.uint64) * 2 + 1


def _mixed(values: Array, odd: Any) -> NDArray[np.uint64]:
    bits = (values + 0.0).view(np.uint64)  # -0.0 + 0.0 is 0.0
    # Small whole numbers end in zeros, and products keep these: the leading bits go there too.
    bits ^= bits >> np.uint64(32)
    bits *= odd
    bits ^= bits >> np.uint64(29)
    return bits
