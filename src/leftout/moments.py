"""Moments of groups of rows: all that a loss may know."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

# Rows are read in blocks of about this many numbers (8 MB), which stay in cache and keep memory
# flat whatever the number of rows.
_BLOCK = 1 << 20


class Moments(NamedTuple):
    """Count, sum and second-moment matrix of each group, about a shared origin ``o``.

    The origin is not decoration: second moments about zero of data near 1e6 with unit variance
    keep two digits of its covariance. Moments of disjoint rows add, so they can be taken in
    chunks, threads or places that never exchange a row.
    """

    count: NDArray[np.float64]  # type: ignore[assignment]  # n_g, not tuple.count  (n_groups,)
    total: NDArray[np.float64]  # sum of x - o            (n_groups, n)
    second: NDArray[np.float64]  # sum of (x - o)(x - o)' (n_groups, n, n)
    origin: NDArray[np.float64]  # o, shared by all       (n,)


def blocks(n_rows: int, n_columns: int) -> Iterator[slice]:
    """Slices that cover ``n_rows`` rows in blocks of a fixed number of values."""
    step = max(_BLOCK // max(n_columns, 1), 1)
    return (slice(start, min(start + step, n_rows)) for start in range(0, n_rows, step))


def build(
    X: NDArray[np.float64],
    labels: NDArray[np.integer] | None = None,
    *,
    n_groups: int = 1,
    origin: ArrayLike = 0.0,
) -> Moments:
    """Take the moments of every group of rows.

    Parameters
    ----------
    X : array of shape (m, n)
    labels : array of shape (m,), optional
        The group of each row, 0 to ``n_groups - 1``; None puts all rows in group 0.
    n_groups : int
    origin : array of shape (n,) or float
        The point the moments are taken about.

    Notes
    -----
    O(m n^2) time, O(n_groups n^2) memory besides one block of rows.

    Examples
    --------
    >>> import numpy as np
    >>> build(np.array([[1.0, 2.0], [3.0, 4.0]])).second[0]
    array([[10., 14.],
           [14., 20.]])
    """
    m, n = X.shape
    origin = np.array(np.broadcast_to(np.asarray(origin, dtype=np.float64), n))
    result = Moments(
        np.zeros(n_groups), np.zeros((n_groups, n)), np.zeros((n_groups, n, n)), origin
    )
    shifted = bool(origin.any())
    for block in blocks(m, n):
        chunk = X[block]
        for group in range(n_groups):
            rows = chunk if labels is None else chunk[labels[block] == group]
            if shifted:
                rows = rows - origin
            result.count[group] += len(rows)
            result.total[group] += rows.sum(axis=0)
            with np.errstate(over="ignore", invalid="ignore"):  # callers see what is not finite
                result.second[group] += rows.T @ rows
    return result


def merge(a: Moments, b: Moments) -> Moments:
    """Moments of the union of disjoint rows, group by group."""
    if not np.array_equal(a.origin, b.origin):
        gap = np.abs(a.origin - b.origin).max()
        raise ValueError(
            f"Cannot merge moments taken about different origins (largest gap {gap:.3g}). "
            "Call recentre(b, a.origin) first."
        )
    return Moments(a.count + b.count, a.total + b.total, a.second + b.second, a.origin)


def without(a: Moments, b: Moments) -> Moments:
    """Moments of the rows of ``a`` that are not in ``b``, where ``b`` is a part of ``a``."""
    return merge(a, Moments(-b.count, -b.total, -b.second, b.origin))


def stack(*parts: Moments) -> Moments:
    """The groups of several moments about one origin, one after the other."""
    return Moments(
        np.concatenate([part.count for part in parts]),
        np.concatenate([part.total for part in parts]),
        np.concatenate([part.second for part in parts]),
        parts[0].origin,
    )


def pooled(moments: Moments) -> Moments:
    """Moments of all groups together, as one group."""
    count, total, second = (part.sum(axis=0, keepdims=True) for part in moments[:3])
    return Moments(count, total, second, moments.origin)


def recentre(moments: Moments, origin: ArrayLike) -> Moments:
    """The same rows' moments about another origin."""
    origin = np.array(np.broadcast_to(np.asarray(origin, dtype=np.float64), moments.origin.shape))
    shift = moments.origin - origin
    total = moments.total + moments.count[:, None] * shift
    cross = moments.total[:, :, None] * shift
    second = moments.second + cross + cross.transpose(0, 2, 1)
    second = second + moments.count[:, None, None] * np.outer(shift, shift)
    return Moments(moments.count.copy(), total, second, origin)


def build_about_mean(X: NDArray[np.float64]) -> Moments:
    """Moments of all rows about their mean, in one pass.

    The pass is taken about the mean of the first rows, which is near enough to the true one for
    the final shift to cost no digits.
    """
    first = next(blocks(*X.shape))
    moments = build(X, origin=X[first].mean(axis=0))
    return recentre(moments, moments.origin + moments.total[0] / moments.count[0])
