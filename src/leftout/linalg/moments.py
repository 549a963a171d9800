"""Moments of groups of rows, dense or sparse: all that a loss may know."""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from leftout.errors import InputError
from leftout.text import number

Array = NDArray[np.float64]

# Rows are read in blocks of about this many numbers (2 MB), which stay in cache, keep memory flat
# whatever the number of rows, and are large enough for BLAS to share among threads.
_BLOCK = 1 << 18
# Tables of more values are multiplied by blocks, too: sums over all rows at once lose four digits
# of the mean of half a million rows.
SUMMED_AT_ONCE = 1 << 22
# Columns whose mean is within this many standard deviations of zero need no shift first.
FIRST, _FAR = 1000, 10.0
# Products of the values of a sparse row by two cost so many times more than those of an array by
# BLAS.
_COSTLY = 500


class Moments(NamedTuple):
    """Count, sum and second-moment matrix of each group, about a shared origin ``o``.

    The origin is not decoration: second moments about zero of data near 1e6 with unit variance
    keep two digits of its covariance. Moments of disjoint rows add, so they can be taken in
    chunks, threads or places that never exchange a row.
    """

    count: Array  # type: ignore[assignment]  # n_g, not tuple.count  (n_groups,)
    total: Array  # sum of x - o            (n_groups, n)
    second: Array  # sum of (x - o)(x - o)' (n_groups, n, n)
    origin: Array  # o, shared by all       (n,)
    # Sum of what a shared representation keeps of each row, where it is no function of the others
    # (n_groups,); None: components tell.
    kept: Array | None = None


class SparseRows:
    """A sparse matrix that stands where an array of rows does: what is read of it is dense.

    Products take the ``origin``, where there is one, away from every row.
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

    def some(self, index: Any, origin: Array | None = None) -> Self:
        """Some rows, still sparse, about an origin."""
        return type(self)(self.X[index], origin)

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


def blocks(n_rows: int, n_columns: int) -> Iterator[slice]:
    """Slices that cover ``n_rows`` rows in blocks of a fixed number of values."""
    step = _step(n_columns)
    return (slice(start, min(start + step, n_rows)) for start in range(0, n_rows, step))


def _step(n_columns: int) -> int:
    return max(_BLOCK // max(n_columns, 1), 1)


def build(
    X: Array | SparseRows,
    labels: NDArray[np.integer] | None = None,
    *,
    n_groups: int = 1,
    origin: ArrayLike = 0.0,
) -> Moments:
    """Take the moments of every group of rows about an origin.

    ``labels`` are the group of each row, 0 to ``n_groups - 1``; None puts all rows in group 0.
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
    sums = np.zeros(n_groups), np.zeros((n_groups, n)), np.zeros((n_groups, n, n))
    result = Moments(*sums, origin)
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
            for field in sums:
                field[largest] -= field[group]
    return result


def _add(moments: Moments, group: int, rows: Array) -> None:
    moments.count[group] += len(rows)
    moments.total[group] += np.ones(len(rows)) @ rows  # twice as fast as a sum over rows
    moments.second[group] += rows.T @ rows


def times_roots(X: Array, origin: ArrayLike, weights: Array) -> Array:
    """Rows about an origin, times the roots of their weights.

    What counts a row ``w`` times then counts this one once: its square, its products, its loss.
    """
    rows = X - np.asarray(origin, dtype=np.float64)
    rows *= np.sqrt(weights)[:, None]
    return rows


def build_weighted(
    rows: Array, weights: Array, labels: NDArray[np.integer] | None = None, *, n_groups: int = 1
) -> Moments:
    """Moments of rows that count as often as their weights say, which are times the roots of these.

    Examples
    --------
    >>> import numpy as np
    >>> X, w = np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([2.0, 1.0])
    >>> build_weighted(times_roots(X, np.zeros(2), w), w).total
    array([[5., 8.]])
    >>> build(X[[0, 0, 1]]).total
    array([[5., 8.]])
    """
    group = np.zeros(len(rows), dtype=np.intp) if labels is None else labels
    each = np.sqrt(weights) * (group == np.arange(n_groups)[:, None])
    count = np.bincount(group, weights, n_groups).astype(np.float64)
    return build(rows, labels, n_groups=n_groups)._replace(count=count, total=each @ rows)


def merge(a: Moments, b: Moments) -> Moments:
    """Moments of the union of disjoint rows, group by group."""
    if not np.array_equal(a.origin, b.origin):
        gap = np.abs(a.origin - b.origin).max()
        raise InputError(
            f"Cannot merge moments taken about different origins (largest gap {number(gap)}). "
            "Call recentre(b, a.origin) first."
        )
    return _combined(np.add, a, b)


def _combined(combine: Callable[..., Any], *parts: Moments) -> Moments:
    """Every field from those of the parts, which have one origin; ``kept`` where all know it."""
    sums = zip(*(part[:3] for part in parts), strict=True)
    count, total, second = (combine(*each) for each in sums)
    known = [part.kept for part in parts]
    kept = None if any(each is None for each in known) else combine(*known)
    return Moments(count, total, second, parts[0].origin, kept)


def without(a: Moments, b: Moments) -> Moments:
    """Moments of the rows of ``a`` that are not in ``b``, where ``b`` is a part of ``a``."""
    return merge(a, scaled(b, -1.0))


def scaled(moments: Moments, factor: float) -> Moments:
    """Moments in which every row counts ``factor`` times."""
    return _combined(lambda field: factor * field, moments)


def stack(*parts: Moments) -> Moments:
    """The groups of several moments about one origin, one after the other."""
    return _combined(lambda *fields: np.concatenate(fields), *parts)


def pooled(moments: Moments) -> Moments:
    """Moments of all groups together, as one group."""
    return _combined(lambda field: field.sum(axis=0, keepdims=True), moments)


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
    X: Array, labels: NDArray[np.integer] | None = None, *, n_groups: int = 1
) -> Moments:
    """Moments of every group about the mean of all rows, in one pass.

    The pass is taken about zero where the columns are near it, and otherwise about the mean of the
    first rows: near enough to the true mean for the final shift to cost at most two digits of 16.
    """
    with np.errstate(over="ignore", invalid="ignore"):  # callers see what is not finite
        origin = near_origin(X[:FIRST])
        return about_own_mean(build(X, labels, n_groups=n_groups, origin=origin))


def near_origin(first: Array) -> Array:
    """An origin near all rows, from the first of them: zero, if their columns are near it."""
    near = first.mean(axis=0)
    far = np.abs(near) > _FAR * first.std(axis=0)
    return near if far.any() else np.zeros_like(near)


def about_own_mean(moments: Moments) -> Moments:
    """Moments about the mean of all groups together."""
    return recentre(moments, moments.origin + moments.total.sum(axis=0) / moments.count.sum())


def cell_moments(
    codes: NDArray[np.integer], n_cells: int, Z: Array, known: Array | None = None
) -> Array:
    """Second moments of the rows of each cell, shape (n_cells, n, n).

    Where the sums over consecutive cells are ``known``, as many to each of its matrices, the
    largest of these is what the others leave, and its rows are not looked at.
    """
    n = Z.shape[1]
    sizes, rows = np.bincount(codes, minlength=n_cells), np.arange(len(codes))
    result = np.zeros((n_cells, n, n))
    if known is not None:
        parts = sizes.reshape(len(known), -1)
        spared = np.arange(len(known)) * parts.shape[1] + parts.argmax(axis=1)
        sizes[spared] = 0
        rows = np.flatnonzero(sizes[codes])
    small = codes.astype(np.uint16) if n_cells <= 1 << 16 else codes  # sorted by their digits
    order = rows[np.argsort(small[rows], kind="stable")]
    stops = np.cumsum(sizes)
    for cell in np.flatnonzero(sizes):
        part = Z[order[stops[cell] - sizes[cell] : stops[cell]]]
        result[cell] = part.T @ part
    if known is not None:
        result[spared] = known - result.reshape(len(known), -1, n, n).sum(axis=1)
    return result
