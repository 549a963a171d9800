"""Moments of groups of rows: all that a loss may know."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from leftout.errors import InputError
from leftout.linalg.sparse import SparseRows
from leftout.text import number

# Rows are read in blocks of about this many numbers (2 MB), which stay in cache, keep memory flat
# whatever the number of rows, and are large enough for BLAS to share among threads.
_BLOCK = 1 << 18
# Tables of more values are multiplied by blocks, too: sums over all rows at once lose four digits
# of the mean of half a million rows.
SUMMED_AT_ONCE = 1 << 22
# Columns whose mean is within this many standard deviations of zero need no shift first.
FIRST, _FAR = 1000, 10.0


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
    # Sum of what a shared representation keeps of each row, where it is no function of the others
    # (n_groups,); None: components tell.
    kept: NDArray[np.float64] | None = None


def blocks(n_rows: int, n_columns: int) -> Iterator[slice]:
    """Slices that cover ``n_rows`` rows in blocks of a fixed number of values."""
    step = _step(n_columns)
    return (slice(start, min(start + step, n_rows)) for start in range(0, n_rows, step))


def _step(n_columns: int) -> int:
    return max(_BLOCK // max(n_columns, 1), 1)


def build(
    X: NDArray[np.float64] | SparseRows,
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
    if isinstance(X, SparseRows) and X.pays_off and not near_origin(X[:FIRST]).any():
        return Moments(*X.sums(labels, n_groups, origin), origin)
    result = Moments(
        np.zeros(n_groups), np.zeros((n_groups, n)), np.zeros((n_groups, n, n)), origin
    )
    sizes = np.array([m]) if labels is None else np.bincount(labels, minlength=n_groups)
    # Picking out rows costs more than their products: the largest group is what the others leave.
    largest = int(sizes.argmax())
    others = [int(group) for group in np.flatnonzero(sizes) if group != largest]
    with np.errstate(over="ignore", invalid="ignore"):  # callers see what is not finite
        whole = X.size <= SUMMED_AT_ONCE and not origin.any()
        if whole:
            _add(result, largest, X[:])
        buffers = np.empty((2, min(_step(n), m), n))  # memory that is new costs more than it holds
        for block in blocks(m, n) if others or not whole else ():
            rows = X[block]
            if origin.any():
                rows = np.subtract(rows, origin, out=buffers[0, : len(rows)])
            if not whole:
                _add(result, largest, rows)
            for group in others:
                index = np.flatnonzero(labels[block] == group)  # type: ignore[index]  # not None
                part = np.take(rows, index, axis=0, out=buffers[1, : len(index)], mode="clip")
                _add(result, group, part)
        for group in others:
            for sums in result[:3]:
                sums[largest] -= sums[group]
    return result


def _add(moments: Moments, group: int, rows: NDArray[np.float64]) -> None:
    moments.count[group] += len(rows)
    moments.total[group] += np.ones(len(rows)) @ rows  # twice as fast as a sum over rows
    moments.second[group] += rows.T @ rows


def merge(a: Moments, b: Moments) -> Moments:
    """Moments of the union of disjoint rows, group by group."""
    if not np.array_equal(a.origin, b.origin):
        gap = np.abs(a.origin - b.origin).max()
        raise InputError(
            f"Cannot merge moments taken about different origins (largest gap {number(gap)}). "
            "Call recentre(b, a.origin) first."
        )
    kept = None if a.kept is None or b.kept is None else a.kept + b.kept
    return Moments(a.count + b.count, a.total + b.total, a.second + b.second, a.origin, kept)


def without(a: Moments, b: Moments) -> Moments:
    """Moments of the rows of ``a`` that are not in ``b``, where ``b`` is a part of ``a``."""
    return merge(a, scaled(b, -1.0))


def scaled(moments: Moments, factor: float) -> Moments:
    """Moments in which every row counts ``factor`` times."""
    count, total, second, origin, kept = moments
    kept = None if kept is None else factor * kept
    return Moments(factor * count, factor * total, factor * second, origin, kept)


def stack(*parts: Moments) -> Moments:
    """The groups of several moments about one origin, one after the other."""
    return Moments(
        np.concatenate([part.count for part in parts]),
        np.concatenate([part.total for part in parts]),
        np.concatenate([part.second for part in parts]),
        parts[0].origin,
        _joined([part.kept for part in parts]),
    )


def _joined(kept: list[NDArray[np.float64] | None]) -> NDArray[np.float64] | None:
    known = [each for each in kept if each is not None]
    return np.concatenate(known) if len(known) == len(kept) else None


def pooled(moments: Moments) -> Moments:
    """Moments of all groups together, as one group."""
    count, total, second = (part.sum(axis=0, keepdims=True) for part in moments[:3])
    kept = None if moments.kept is None else moments.kept.sum(keepdims=True)
    return Moments(count, total, second, moments.origin, kept)


def recentre(moments: Moments, origin: ArrayLike) -> Moments:
    """Moments about another origin."""
    origin = np.array(np.broadcast_to(np.asarray(origin, dtype=np.float64), moments.origin.shape))
    shift = moments.origin - origin
    total = moments.total + moments.count[:, None] * shift
    cross = moments.total[:, :, None] * shift
    second = moments.second + cross + cross.transpose(0, 2, 1)
    second = second + moments.count[:, None, None] * np.outer(shift, shift)
    return Moments(moments.count.copy(), total, second, origin)


def build_about_mean(
    X: NDArray[np.float64], labels: NDArray[np.integer] | None = None, *, n_groups: int = 1
) -> Moments:
    """Moments of every group about the mean of all rows, in one pass.

    The pass is taken about zero where the columns are near it, and otherwise about the mean of the
    first rows: near enough to the true mean for the final shift to cost at most two digits of 16.
    """
    with np.errstate(over="ignore", invalid="ignore"):  # callers see what is not finite
        origin = near_origin(X[:FIRST])
        return about_own_mean(build(X, labels, n_groups=n_groups, origin=origin))


def near_origin(first: NDArray[np.float64]) -> NDArray[np.float64]:
    """An origin near all rows, from the first of them: zero, if their columns are near it."""
    near = first.mean(axis=0)
    far = np.abs(near) > _FAR * first.std(axis=0)
    return near if far.any() else np.zeros_like(near)


def about_own_mean(moments: Moments) -> Moments:
    """Moments about the mean of all groups together."""
    return recentre(moments, moments.origin + moments.total.sum(axis=0) / moments.count.sum())
