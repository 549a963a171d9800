"""A table in its principal axes, and what the shared representation keeps of each row."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from leftout.data.conditions import Mask
from leftout.linalg.cell_moments import top_sums
from leftout.linalg.losses import Array, shared_pca
from leftout.linalg.problem import Problem

_EPS = float(np.finfo(float).eps)


class Rows(NamedTuple):
    """A table in its principal axes."""

    Z: Array
    d: int
    eigenvalues: Array  # sums of squares along the axes
    kept: Array  # of each row, less the shift
    shift: float = 0.0  # what a group may gain: no loss beyond it is negative

    @classmethod
    def of(cls, problem: Problem) -> Rows:
        """Without the axes along which nothing varies."""
        shared = shared_pca(problem.loss, problem.pooled, problem.d)
        values = shared.eigenvalues
        n = int(np.sum(values > values[0] * max(problem.n_rows, len(values)) * _EPS))
        axes = shared.axes[: max(n, problem.d + 1)]
        Z, kept = np.ascontiguousarray(problem.rows() @ axes.T), problem.norms_and_kept[1]
        shift = 0.0
        if problem.kept is not None:
            # A group's own components keep at least what the leading axes do: so no average of
            # what these keep beyond the representation is above the group's loss.
            leading = np.einsum("ij,ij->i", Z[:, : problem.d], Z[:, : problem.d])
            shift = max(0.0, float((kept - leading).max()))
        return cls(Z, problem.d, values[: len(axes)], kept - shift, shift)

    def loss(self, rows: NDArray[np.intp] | Mask) -> float:
        """Average loss of some rows."""
        Z, kept = self.Z[rows], float(self.kept[rows].sum())
        # both products have the same eigenvalues, but for zeros
        own = self._own(Z @ Z.T if len(Z) < Z.shape[1] else Z.T @ Z)
        return (own - kept) / len(Z) - self.shift

    def difference(self, mask: Mask) -> float:
        """Loss of some rows minus that of the others; 0 where either is empty."""
        k, m = int(np.count_nonzero(mask)), len(self.Z)
        if not 0 < k < m:
            return 0.0
        Z = self.Z[mask]
        S = Z.T @ Z
        own = top_sums(np.stack([S, np.diag(self.eigenvalues) - S]), self.d)
        lost, of_rest = own - [self.kept[mask].sum(), self.kept[~mask].sum()]
        return float(lost / k - of_rest / (m - k))

    def _own(self, S: Array) -> float:
        """What their own components keep of rows with these second moments."""
        return float(np.linalg.eigvalsh(S)[max(len(S) - self.d, 0) :].sum())

    @property
    def residuals(self) -> Array:
        """What is left of each row."""
        return np.einsum("ij,ij->i", self.Z, self.Z) - self.kept
