"""Sparse tables: rows that are read as arrays, a block at a time, and multiplied as they are."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

# Products of the values of a row by two cost so many times more than those of an array by BLAS.
_COSTLY = 500


class SparseRows:
    """A sparse matrix that stands where an array of rows does: what is read of it is dense.

    Parameters
    ----------
    X : scipy.sparse.csr_array of shape (m, n)
    origin : array of shape (n,) or None
        What products take away from every row.
    """

    def __init__(self, X: Any, origin: Array | None = None) -> None:
        self.X, self.origin = X, origin
        self.shape: tuple[int, int] = X.shape
        self.size = X.shape[0] * X.shape[1]

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, index: Any) -> Array:
        """Some rows as an array, wherever the origin is."""
        rows: Array = self.X[index].toarray()
        return rows

    def some(self, index: Any, origin: Array | None = None) -> SparseRows:
        """Some rows, still sparse, about an origin."""
        return SparseRows(self.X[index], origin)

    def __matmul__(self, B: Array) -> Array:
        product: Array = self.X @ B
        return product if self.origin is None else product - self.origin @ B

    def norms(self) -> Array:
        """Squared length of every row about the origin."""
        squares = np.asarray(self.X.multiply(self.X).sum(axis=1), dtype=np.float64)
        if self.origin is None:
            return squares
        return squares - 2.0 * (self.X @ self.origin) + self.origin @ self.origin

    def mean(self, axis: int = 0) -> Array:
        """Means of columns."""
        return np.asarray(self.X.mean(axis=axis), dtype=np.float64)

    @property
    def pays_off(self) -> bool:
        """Whether products of sparse rows cost less than those of arrays."""
        values = np.diff(self.X.indptr).astype(np.float64)
        return _COSTLY * float(values @ values) <= float(self.size) * self.shape[1]

    def sums(
        self, labels: NDArray[np.integer] | None, n_groups: int, origin: Array
    ) -> tuple[Array, Array, Array]:
        """Count, sum and second moments about an origin of every group of rows."""
        n = self.shape[1]
        count, total = np.zeros(n_groups), np.zeros((n_groups, n))
        second = np.empty((n_groups, n, n))
        for group in range(n_groups):
            rows = self.X if labels is None else self.X[np.flatnonzero(labels == group)]
            count[group], sums = rows.shape[0], np.ravel(rows.sum(axis=0))
            (rows.T.tocsr() @ rows).toarray(out=second[group])
            if origin.any():  # S - to' - ot' + m oo', with t the sum of m rows
                half = np.outer(sums - 0.5 * count[group] * origin, origin)
                second[group] -= half
                second[group] -= half.T
            total[group] = sums - count[group] * origin
        return count, total, second
