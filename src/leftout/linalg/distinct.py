"""Equal rows: which rows of a table are distinct, and how often each of them occurs."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from leftout.linalg.losses import Array

IntArray = NDArray[np.intp]


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

    Rows are told apart by hashes of 64 bits, which two different rows share once in about 2^64
    pairs: O(m n), and m log m for sorting the hashes.

    Examples
    --------
    >>> import numpy as np
    >>> found = distinct_rows(np.array([[1.0, 2.0], [0.0, 5.0], [1.0, 2.0], [-0.0, 5.0]]))
    >>> found.first.tolist(), found.counts.tolist(), found.place.tolist()
    ([0, 1], [2, 2], [0, 1, 0, 1])
    >>> found.n_distinct, found.n_repeated
    (2, 2)
    """
    _, first, place, count = np.unique(
        _hashes(X).sum(axis=1), return_index=True, return_inverse=True, return_counts=True
    )
    order = np.argsort(first)
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    return Distinct(first[order], count[order], rank[place.ravel()])


def agreeing_but_for_one(X: Array) -> Iterator[NDArray[np.uint64]]:
    """For each column in turn, a number for every row: equal where rows agree on all others.

    Two rows that do not agree share a number once in about 2^64 pairs.
    """
    hashes = _hashes(X)
    whole = hashes.sum(axis=1)
    for column in hashes.T:
        yield whole - column


def _hashes(X: Array) -> NDArray[np.uint64]:
    """A number of 64 bits for each value, by its column; the sum over a row tells rows apart."""
    odd = np.random.default_rng(0).integers(0, 2**63, X.shape[1], dtype=np.uint64) * 2 + 1
    bits = (np.asarray(X, dtype=np.float64) + 0.0).view(np.uint64)  # -0.0 + 0.0 is 0.0
    # Small whole numbers end in zeros, and products keep these: the leading bits go there too.
    bits ^= bits >> np.uint64(32)
    bits *= odd
    bits ^= bits >> np.uint64(29)
    return bits * odd
