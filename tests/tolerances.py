"""How far rounding may carry two right answers apart, from what was added up.

A processor's instructions decide in which order sums are taken, so the last digits are its own. How
many they can be does not depend on it. With ``eps`` the distance from 1 to the next number:

- a sum of ``N`` products is within ``N eps`` times the sum of their absolute values;
- eigenvalues of a symmetric matrix of order ``n`` are within ``n eps`` times the largest of them,
  and components are orthonormal within ``n eps`` (LAPACK's own bounds, for constants of 1).

Both are worst cases: what happens is rather the square root of ``N``, or of ``n``.
"""

from __future__ import annotations

import numpy as np

EPS = float(np.finfo(float).eps)


def of_losses(second, d):
    """Of two losses, or a loss and a bound, from the groups' average second moments (k, n, n).

    Each is the difference of two sums of ``d`` numbers within ``n eps`` of the largest eigenvalue:
    the eigenvalues of the best projection, once; the variances that a projection keeps, three times
    (two products, and components that are not quite orthonormal).
    """
    n = second.shape[-1]
    return 2 * 4 * d * n * EPS * float(np.linalg.eigvalsh(second).max())


def of_rows(X, d):
    """Of two losses, or a loss and a bound, from the rows as PCA sees them, of whatever groups.

    As above, with averages that are sums themselves: that of ``N`` squares is within ``eps`` times
    their sum, which all rows' bounds; and no average is above the largest row's.
    """
    energy = np.sum(X**2, axis=1)
    return 2 * 4 * EPS * float(energy.sum() + d * X.shape[1] * energy.max())
