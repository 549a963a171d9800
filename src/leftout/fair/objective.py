"""What Fair PCA minimises, and what a dual point proves about it.

A projection of ``d`` dimensions is relaxed to ``0 <= F <= I`` with ``tr F = d``. With ``S_g`` the
average second moments of group ``g`` and ``b_g`` what it is measured against, the problem is

    minimise over F   max_g  b_g - <F, S_g>

and for any weights ``w`` of the groups (not negative, sum 1) no ``F`` gets below

    sum_g w_g b_g - topd(sum_g w_g S_g),

``topd`` the sum of the ``d`` largest eigenvalues. The best such bound meets the minimum.
"""

from collections.abc import Callable
from typing import NamedTuple, Self

import numpy as np
from scipy import linalg
from scipy.optimize import brentq

from leftout.linalg.losses import Array

# Sums of eigenvalues are not known better than this share of the largest.
EIGENVALUE_ROUNDING = 1e-14
# Measured on one core: from this size on, and for at most one in so many eigenpairs, LAPACK for a
# few pairs is faster than the whole decomposition.
_LARGE, _ONE_IN = 128, 9
_EPS, _TINY, _MOST_STEPS = float(np.finfo(float).eps), float(np.finfo(float).tiny), 2000


class Objective(NamedTuple):
    """Make the largest ``best[g] - <F, second[g]>`` small, with ``F`` of trace ``d``."""

    second: Array  # average second moments of each group  (k, n, n)
    best: Array  # what each group is measured against      (k,)
    d: int

    @property
    def scale(self) -> float:
        """The largest variance of a group: what numbers here are rounded against."""
        return float(np.trace(self.second, axis1=1, axis2=2).max())

    def mix(self, weights: Array) -> Array:
        """Second moments of the groups, weighted."""
        n = self.second.shape[1]
        return (weights @ self.second.reshape(len(weights), -1)).reshape(n, n)

    def losses(self, V: Array, occupation: Array | None = None) -> Array:
        """Losses under ``F = V' diag(occupation) V``; a projection where it is None."""
        each = np.stack([np.einsum("in,in->i", V @ S, V) for S in self.second])
        return self.best - (each.sum(axis=1) if occupation is None else each @ occupation)

    def bound(self, weights: Array, values: Array) -> float:
        """What the ``values`` (largest first) of the weighted second moments prove."""
        return float(weights @ self.best - values[: self.d].sum())

    def unit(self) -> Self:
        """The problem in units of its scale."""
        return self._replace(second=self.second / self.scale, best=self.best / self.scale)

    def pulled(self, P: Array, rho: float) -> Self:
        """The problem less ``rho <F, P>``: the larger ``rho``, the nearer to ``P`` its answer."""
        return self._replace(second=self.second + rho * P, best=self.best + rho * self.d)

    def within(self, B: Array) -> Self:
        """The problem for projections inside the span of the orthonormal columns of ``B``."""
        return self._replace(second=np.stack([B.T @ (S @ B) for S in self.second]))


class FairAnswer(NamedTuple):
    """``F = V' diag(occupation) V``, and the weights that prove how good it is."""

    V: Array  # orthonormal rows
    occupation: Array  # from 0 to 1; all 1 for a projection
    weights: Array
    losses: Array
    bound: float

    @property
    def gap(self) -> float:
        """How far the largest loss can be from the smallest possible."""
        return float(self.losses.max()) - self.bound

    def enough(self, tol: float, scale: float) -> bool:
        """Whether the gap is below ``tol`` times the loss, or below what rounding hides."""
        return self.gap <= max(tol * abs(float(self.losses.max())), EIGENVALUE_ROUNDING * scale)


def projection(objective: Objective, V: Array, weights: Array, bound: float) -> FairAnswer:
    """The answer that is a projection onto the rows of ``V``."""
    return FairAnswer(V, np.ones(len(V)), weights, objective.losses(V), bound)


class Leading(NamedTuple):
    """The largest eigenvalues, largest first, and their eigenvectors as columns."""

    values: Array
    vectors: Array

    def components(self, d: int) -> Array:
        """The first ``d`` eigenvectors, as rows."""
        return np.ascontiguousarray(self.vectors[:, :d].T)


def leading(matrix: Array, count: int) -> Leading:
    """The ``count`` largest eigenvalues of a symmetric matrix, with eigenvectors.

    All of them, where that costs no more.
    """
    n = len(matrix)
    if n > _LARGE and _ONE_IN * count <= n:
        values, vectors = linalg.eigh(
            matrix, subset_by_index=(n - count, n - 1), driver="evr", check_finite=False
        )
    else:
        values, vectors = np.linalg.eigh(matrix)
    # copied, since products with columns in reverse would copy them every time
    return Leading(values[::-1], np.ascontiguousarray(vectors[:, ::-1]))


class Seen(NamedTuple):
    """Leading eigenpairs of the groups' second moments at some weights."""

    weights: Array
    pairs: Leading

    def within(self, B: Array) -> Self:
        """The same in the coordinates of a basis whose span holds the eigenvectors."""
        return self._replace(pairs=self.pairs._replace(vectors=B.T @ self.pairs.vectors))


def root(function: Callable[[float], float], low: float, high: float, noise: float = 0.0) -> float:
    """Where a function vanishes between two arguments at which its signs are opposite.

    An end whose value is at most ``noise``, which is rounding, is as good as a root.

    Examples
    --------
    >>> round(root(lambda x: x * x - 2.0, 0.0, 2.0), 10)
    1.4142135624
    """
    at_low, at_high = function(low), function(high)
    if min(abs(at_low), abs(at_high)) <= noise:
        return low if abs(at_low) <= abs(at_high) else high
    return float(brentq(function, low, high, xtol=_TINY, rtol=4.0 * _EPS, maxiter=_MOST_STEPS))
