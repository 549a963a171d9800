"""A table in its principal axes: the shared components are the first of them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from leftout.core.losses import Array, shared_pca
from leftout.core.problem import Problem
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

    def loss(self, rows: NDArray[np.intp]) -> float:
        """Average loss of some rows."""
        Z = self.Z[rows]
        return self._total(Z.T @ Z) / len(Z)

    def difference(self, mask: Mask) -> float:
        """Loss of some rows minus that of the others; 0 where either is empty."""
        k = np.count_nonzero(mask)
        if not 0 < k < len(self.Z):
            return 0.0
        Z = self.Z[mask]
        S = Z.T @ Z
        group, rest = (self._total(part) for part in (S, np.diag(self.eigenvalues) - S))
        return group / k - rest / (len(self.Z) - k)

    def _total(self, S: Array) -> float:
        own = np.linalg.eigvalsh(S)[len(S) - self.d :].sum()
        return float(own - np.trace(S[: self.d, : self.d]))

    @property
    def residuals(self) -> Array:
        return np.einsum("ij,ij->i", self.Z[:, self.d :], self.Z[:, self.d :])
