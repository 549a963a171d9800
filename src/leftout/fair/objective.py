"""What Fair PCA minimises, and what a dual point proves about it.

A projection of ``d`` dimensions is relaxed to ``0 <= F <= I`` with ``tr F = d``. With ``S_g`` the
average second moments of group ``g`` and ``b_g`` what it is measured against, the problem is

    minimise over F   max_g  b_g - <F, S_g>

and for any weights ``w`` of the groups (not negative, sum 1) no ``F`` gets below

    sum_g w_g b_g - topd(sum_g w_g S_g),

``topd`` the sum of the ``d`` largest eigenvalues. The best such bound meets the minimum.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import linalg
from scipy.sparse.linalg import ArpackError, eigsh

from leftout.core.losses import Array

# Sums of eigenvalues are not known better than this share of the largest.
ROUNDING = 1e-14
# Measured on one core: below these, LAPACK's whole decomposition is the fastest; above, LAPACK for
# a few pairs; Lanczos for very few of a large matrix.
_SMALL, _FEW = 128, 9
_LARGE, _VERY_FEW = 400, 25
_SLACK = 1e-12


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

    def kept(self, V: Array, occupation: Array | None = None) -> Array:
        """``<F, second[g]>`` for ``F = V' diag(occupation) V``; a projection where it is None."""
        each = np.stack([np.einsum("in,in->i", V @ S, V) for S in self.second])
        return each.sum(axis=1) if occupation is None else each @ occupation

    def losses(self, V: Array, occupation: Array | None = None) -> Array:
        return self.best - self.kept(V, occupation)

    def bound(self, weights: Array, values: Array) -> float:
        """What the ``values`` (largest first) of the weighted second moments prove."""
        return float(weights @ self.best - values[: self.d].sum())

    def within(self, B: Array) -> Objective:
        """The problem for projections inside the span of the orthonormal columns of ``B``."""
        return self._replace(second=np.stack([B.T @ (S @ B) for S in self.second]))


class Answer(NamedTuple):
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
        return self.gap <= max(tol * abs(float(self.losses.max())), ROUNDING * scale)


def projection(objective: Objective, V: Array, weights: Array, bound: float) -> Answer:
    """The answer that is a projection onto the rows of ``V``."""
    return Answer(V, np.ones(len(V)), weights, objective.losses(V), bound)


class Leading(NamedTuple):
    """The largest eigenvalues, largest first, and their eigenvectors as columns."""

    values: Array
    vectors: Array


def leading(matrix: Array, count: int) -> Leading:
    """The ``count`` largest eigenvalues of a positive semidefinite matrix, with eigenvectors.

    All of them, where that costs no more.
    """
    n = len(matrix)
    count = min(count, n)
    if n >= _LARGE and _VERY_FEW * count <= n:
        found = _lanczos(matrix, count)
        if found is not None:
            return found
    if n > _SMALL and _FEW * count <= n:
        values, vectors = linalg.eigh(
            matrix, subset_by_index=(n - count, n - 1), driver="evr", check_finite=False
        )
    else:
        values, vectors = np.linalg.eigh(matrix)
    # copied, since products with columns in reverse would copy them every time
    return Leading(values[::-1], np.ascontiguousarray(vectors[:, ::-1]))


def _lanczos(matrix: Array, count: int) -> Leading | None:
    """Lanczos, which can miss an eigenvector; so None unless it is proved that it did not."""
    start = np.random.default_rng(0).standard_normal(len(matrix))
    try:
        values, vectors = eigsh(matrix, k=count, which="LA", v0=start)
    except ArpackError:
        return None
    order = np.argsort(-values)
    found = Leading(values[order], vectors[:, order])
    return found if majorised(matrix, found, values.min(), _SLACK * values.max()) else None


def majorised(matrix: Array, pairs: Leading, floor: float, slack: float) -> bool:
    """Whether no eigenvalue is missing from approximate eigenpairs: one Cholesky factorisation.

    If ``V (L - floor) V' + (floor + slack) I - matrix`` is positive definite, the matrix lies below
    one whose eigenvalues are ``L + slack`` and, for all other directions, ``floor + slack``: the
    sum of its ``d`` largest eigenvalues is at most the sum of the ``d`` largest of these.
    """
    rest = (pairs.vectors * (pairs.values - floor)) @ pairs.vectors.T - matrix
    rest.flat[:: len(matrix) + 1] += floor + slack
    return bool(linalg.lapack.dpotrf(rest, lower=1, overwrite_a=1)[1] == 0)
