"""Leading eigenpairs of a symmetric matrix, never one missed."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import linalg
from scipy.sparse.linalg import ArpackError, eigsh

from leftout.core.losses import Array

# Measured on one core: below these, LAPACK's whole decomposition is the fastest; above, LAPACK for
# a few pairs; Lanczos for very few of a large matrix.
_SMALL, _FEW = 128, 9
_LARGE, _VERY_FEW = 400, 25
_SLACK = 1e-12


class Leading(NamedTuple):
    """The largest eigenvalues, largest first, and their eigenvectors as columns."""

    values: Array
    vectors: Array


def few_of_many(n: int, count: int) -> bool:
    """Whether Lanczos is the way."""
    return n >= _LARGE and _VERY_FEW * count <= n


def leading(matrix: Array, count: int) -> Leading:
    """The ``count`` largest eigenvalues of a positive semidefinite matrix, with eigenvectors.

    All of them, where that costs no more.
    """
    n = len(matrix)
    count = min(count, n)
    if few_of_many(n, count):
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
