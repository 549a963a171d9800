"""A table in its principal axes: the shared components are the first of them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from leftout.core.losses import Array, shared_pca
from leftout.core.problem import Problem
from leftout.core.tridiagonal import top_sums
from leftout.tables.conditions import Mask

_EPS = float(np.finfo(float).eps)


class Rows(NamedTuple):
    """A table in its principal axes."""

    Z: Array
    d: int
    eigenvalues: Array  # sums of squares along the axes

    @classmethod
    def of(cls, problem: Problem) -> Rows:
        """Without the axes along which nothing varies."""
        shared = shared_pca(problem.loss, problem.pooled, problem.d)
        values = shared.eigenvalues
        n = int(np.sum(values > values[0] * max(problem.n_rows, len(values)) * _EPS))
        axes = shared.axes[: max(n, problem.d + 1)]
        return cls(np.ascontiguousarray(problem.rows() @ axes.T), problem.d, values[: len(axes)])

    def loss(self, rows: NDArray[np.intp] | Mask) -> float:
        """Average loss of some rows."""
        Z = self.Z[rows]
        kept = float(np.vdot(Z[:, : self.d], Z[:, : self.d]))
        # both products have the same eigenvalues, but for zeros
        return (self._own(Z @ Z.T if len(Z) < Z.shape[1] else Z.T @ Z) - kept) / len(Z)

    def rest_loss(self, mask: Mask) -> float:
        """Average loss of all other rows."""
        Z = self.Z[mask]
        S = np.diag(self.eigenvalues) - Z.T @ Z
        return (self._own(S) - float(np.trace(S[: self.d, : self.d]))) / (len(self.Z) - len(Z))

    def difference(self, mask: Mask) -> float:
        """Loss of some rows minus that of the others; 0 where either is empty."""
        k, m = int(np.count_nonzero(mask)), len(self.Z)
        if not 0 < k < m:
            return 0.0
        Z = self.Z[mask]
        S = Z.T @ Z
        rest = np.diag(self.eigenvalues) - S
        packed = np.stack([each[np.tril_indices(len(S))] for each in (S, rest)])
        own = top_sums(packed, len(S), self.d)
        lost, of_rest = own - [np.trace(each[: self.d, : self.d]) for each in (S, rest)]
        return float(lost / k - of_rest / (m - k))

    def _own(self, S: Array) -> float:
        """What their own components keep of rows with these second moments."""
        return float(np.linalg.eigvalsh(S)[max(len(S) - self.d, 0) :].sum())

    @property
    def residuals(self) -> Array:
        return np.einsum("ij,ij->i", self.Z[:, self.d :], self.Z[:, self.d :])
