"""What a solver is given: a table, a loss bound to it, and the sizes it may choose."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from leftout.linalg.losses import (
    EXCESS,
    Array,
    Loss,
    basis_loss,
    evaluate,
    own_components,
    row_losses,
    row_reach,
)
from leftout.linalg.moments import (
    SUMMED_AT_ONCE,
    Moments,
    SparseRows,
    blocks,
    build,
    build_weighted,
    merge,
    scaled,
    stack,
    without,
)
from leftout.linalg.passes import fold

Labels = NDArray[np.int8]

# Rows beyond the cut that a ranking still holds.
MARGIN = 8


def labelled(rows: NDArray[np.intp], n_rows: int) -> Labels:
    """1 for some rows, 0 for the others."""
    labels = np.zeros(n_rows, dtype=np.int8)
    labels[rows] = 1
    return labels


class Ranking(NamedTuple):
    """Rows by falling score, the first that are ``taken`` are the group."""

    rows: NDArray[np.intp]
    scores: Array
    taken: int

    def labels(self, n_rows: int) -> Labels:
        """The group's rows, labelled 1."""
        return labelled(self.rows[: self.taken], n_rows)

    @property
    def cut(self) -> tuple[float, float]:
        """The lowest score in the group, and the highest outside of it."""
        return float(self.scores[self.taken - 1]), float(self.scores[self.taken])


@dataclass(frozen=True, kw_only=True)
class Problem:
    """Find the rows whose average loss exceeds the rest's by the most.

    Rows stay as they came; ``rows`` takes the origin away where they are used, so that a large
    table is never copied. ``X`` may hold only the rows that can still be in the group: whatever
    else ``pooled`` counts then belongs to the rest, and no formula changes.

    The shared representation is the projection onto ``V``: the PCA of these rows (``refit``), or
    one that was given. Where it is no projection, ``kept`` holds what it keeps of each row, and
    ``pooled.kept`` the sum over all; ``V`` is then the PCA of the rows, from which searches start.
    A loss may be negative there.
    """

    # (rows that may be in the group, n), as given; of a large sparse table, `SparseRows`
    X: Array
    loss: Loss
    V: Array  # shared components, one per row
    pooled: Moments  # of all rows, about the origin of the centring
    min_size: int
    group_size: int | None = None
    # where coordinates are principal axes: how many of them hold nearly all there is to lose
    leading: int | None = None
    kept: Array | None = None
    refit: bool = True
    # of a large sparse table: few directions, as rows, in which searches start
    axes: Array | None = None
    # What each row counts, 1 on average: ``X`` then has the roots of these as factors, so that
    # whatever a row adds is what it adds as often as it counts. Sizes are sums of weights.
    weights: Array | None = None

    @property
    def n_rows(self) -> int:
        """All rows of the table."""
        return round(float(self.pooled.count[0]))

    @property
    def d(self) -> int:
        return len(self.V)

    def rows(self, index: Any = slice(None)) -> Array:
        """Rows as PCA sees them, contiguous and writeable: kernels are compiled for that alone."""
        rows = self.X[index]
        if self.pooled.origin.any():
            rows = rows - self.pooled.origin
        return np.require(rows, requirements=("C", "W", "E"))

    def kept_of(self, index: Any) -> Array | None:
        """What the representation keeps of some rows, where it is no projection."""
        return None if self.kept is None else self.kept[index]

    def weights_of(self, index: Any) -> Array | None:
        """What some rows count, where they have weights."""
        return None if self.weights is None else self.weights[index]

    def by_weight(self, totals: Array) -> Array:
        """What rows add for each unit of their weight."""
        return totals if self.weights is None else totals / self.weights

    def reaching(self, order: NDArray[np.intp], size: float) -> int:
        """How many of the rows in an order together count at least so much."""
        if self.weights is None:
            return min(int(size), len(order))
        return min(int(np.searchsorted(np.cumsum(self.weights[order]), size)) + 1, len(order))

    def narrow(self) -> Self:
        """The problem in its leading axes alone; itself where the axes are others."""
        q = self.leading
        if q is None:
            return self
        count, total, second, origin, kept = self.pooled
        leading = np.ascontiguousarray(second[:, :q, :q])
        pooled = Moments(count, total[:, :q], leading, origin[:q], kept)
        X, V = np.ascontiguousarray(self.X[:, :q]), np.ascontiguousarray(self.V[:, :q])
        return replace(self, X=X, V=V, pooled=pooled, leading=None)

    @cached_property
    def norms_and_kept(self) -> tuple[Array, Array]:
        """Squared length of every row, and what the shared components keep of it."""
        norms, kept = np.empty(len(self.X)), np.empty(len(self.X))
        for block, rows in self._factors():
            sparse = isinstance(rows, SparseRows)
            norms[block] = rows.norms() if sparse else np.einsum("ij,ij->i", rows, rows)
            if self.kept is None:
                Y = rows @ self.V.T
                kept[block] = np.einsum("ij,ij->i", Y, Y)
        return norms, kept if self.kept is None else self.kept

    def _factors(self) -> Iterator[tuple[slice, Any]]:
        """Blocks of rows about the origin, for products with components.

        Rows that came sparse stay so: of these, the products alone are dense.
        """
        X: Any = self.X
        sparse = isinstance(X, SparseRows)
        for block in blocks(len(X), self.d if sparse else X.shape[1]):
            yield block, X.some(block, self.pooled.origin) if sparse else self.rows(block)

    @cached_property
    def reach(self) -> Array:
        """The most each row can add to a group's total loss, by unit of its weight."""
        return self.by_weight(row_reach(self.loss, *self.norms_and_kept))

    @cached_property
    def by_reach(self) -> NDArray[np.intp]:
        return np.argsort(-self.reach, kind="stable")

    def bound(self, size: int) -> float:
        """Certified upper bound on the disparity of any left-out group of ``size`` rows.

        A group's loss is at most the mean reach of its rows, so at most the mean of the ``size``
        longest.
        """
        order = self.by_reach
        most = top_mean(self.reach[order], size, self.weights_of(order))
        return self.disparity_bound(most, size)

    def disparity_bound(self, loss: float, size: float) -> float:
        """No group of ``size`` rows has a larger disparity, if none has a larger ``loss``.

        Under a projection the rest's loss is not negative. Otherwise, with ``D`` the sum of the d
        largest eigenvalues, ``D(all) <= D(group) + D(rest)``: so the rest's total loss is at least
        that of all rows less the group's, and the disparity at most ``m / (m - k)`` times the
        group's average loss less that of all rows.
        """
        if self.kept is None:
            return loss
        return (loss - self.overall) * self.n_rows / (self.n_rows - size)

    @cached_property
    def overall(self) -> float:
        """Average loss of all rows."""
        return float(evaluate(self.loss, self.pooled, self.V)[0])

    def split(self, labels: NDArray[np.integer], n_sides: int = 2) -> Moments:
        """Moments of the rest (0), which is what the groups leave, and of each group (from 1)."""
        step = max(SUMMED_AT_ONCE // self.X.shape[1], 1)  # not too many rows are copied at once
        rest, groups = self.pooled, []
        for side in range(1, n_sides):
            index = np.flatnonzero(labels == side)
            parts = (index[start : start + step] for start in range(0, max(len(index), 1), step))
            groups.append(fold((self.moments_of(part) for part in parts), merge))
            rest = without(rest, groups[-1])
        return stack(rest, *groups)

    def moments_of(self, index: Any) -> Moments:
        """Moments of some rows, with what is kept of them where components do not tell."""
        if self.weights is None:
            moments = build(self.X[index], origin=self.pooled.origin)
        else:
            moments = build_weighted(self.X[index], self.weights[index])
        if self.kept is None:
            return moments
        return moments._replace(kept=np.array([self.kept[index].sum()]))

    def losses(
        self, labels: Labels, own: Array | None = None, n_sides: int = 2
    ) -> tuple[Array, Array]:
        """Average losses of the rest and each group, and their components if not known already."""
        return self.losses_of(self.split(labels, n_sides), own)

    def losses_of(self, moments: Moments, own: Array | None = None) -> tuple[Array, Array]:
        """Average losses from the moments of each side, and its components if they are known."""
        if own is None:
            own = own_components(self.loss, moments, self.d)
        return evaluate(self.loss, moments, self.V, own), own

    def row_losses(self, own: Array) -> Array:
        """What each row would add to the loss of each side, rest first, shape (sides, rows)."""
        kept = self.norms_and_kept[1]
        result = np.empty((len(own), len(kept)))
        for block, rows in self._factors():
            for side, W in enumerate(own):
                result[side, block] = row_losses(self.loss, rows, kept[block], self.V, W)
        return result

    def scores(self, own: Array, size: float) -> Array:
        """How much the disparity gains from each row's being in the group rather than in the rest.

        With a row's losses ``a`` and ``b`` under the group's and the rest's components held fixed,
        the disparity is a constant plus the sum over the group of ``a / k + b / (m - k)``; the
        scores are ``k`` times these terms, in units of the loss, and by unit of weight.
        """
        rest, group = self.row_losses(own)
        return self.by_weight(group + size / (self.n_rows - size) * rest)

    def rank(self, own: Array, size: float) -> Ranking:
        """The rows with the highest scores, the group and a few more, best first.

        Of weighted rows so many are the group that their weight is as near to ``size`` as it comes.
        """
        scores = self.scores(own, size)
        if self.weights is not None:
            best = np.argsort(-scores, kind="stable")
            taken = min(n_nearest(self.weights[best], size), len(best) - 1)
            best = best[: taken + MARGIN]
            return Ranking(best, scores[best], taken)
        wanted = min(int(size) + MARGIN, len(self.X))
        cut = np.partition(scores, len(scores) - wanted)[len(scores) - wanted]
        best = np.flatnonzero(scores >= cut)
        best = best[np.argsort(-scores[best], kind="stable")[:wanted]]
        return Ranking(best, scores[best], int(size))

    def best_under(self, own: Array, size: int) -> float:
        """Disparity of the best group of a size while components stay as they are."""
        scores = self.scores(own, size)
        if self.weights is None:
            chosen = float(np.partition(scores, len(scores) - size)[len(scores) - size :].mean())
        else:
            order = np.argsort(-scores, kind="stable")
            chosen = top_mean(scores[order], size, self.weights[order])
        kept = None if self.pooled.kept is None else float(self.pooled.kept[0])
        total = basis_loss(self.loss, self.pooled.second[0], self.V, own[0], kept)
        return chosen - total / (self.n_rows - size)

    def under_excess(self) -> Self:
        """The problem under the loss that climbs are made for."""
        return self if self.loss.own_is_best else replace(self, loss=Loss(EXCESS, own_mean=False))

    def part(
        self, rows: Array, rate: float, kept: Array | None = None, weights: Array | None = None
    ) -> Self:
        """The problem on some rows about the origin, as if the table had ``rate`` times its rows.

        At rate 1 these are all the rows that may be in the group, and the rest of the table enters
        through its moments alone; below it they are a sample of them, and the moments shrink alike.
        """
        pooled = scaled(self.pooled, rate)._replace(origin=np.zeros_like(self.pooled.origin))
        return replace(self, X=rows, pooled=pooled, kept=kept, weights=weights)


def top_mean(falling: Array, size: float, weights: Array | None = None) -> float:
    """Mean of the first of some values, until their weights reach ``size``: the last in part.

    Examples
    --------
    >>> values = np.array([3.0, 2.0, 1.0])
    >>> top_mean(values, 2), top_mean(values, 2, np.array([1.5, 1.0, 0.5]))
    (2.5, 2.75)
    """
    if weights is None:
        return float(falling[: int(size)].mean())
    before = np.cumsum(weights) - weights
    return float(np.clip(size - before, 0.0, weights) @ falling / size)


def n_nearest(weights: Array, size: float) -> int:
    """How many of the first rows come nearest to a size by their weights: one at least.

    Examples
    --------
    >>> [n_nearest(np.array([1.0, 2.0, 3.0]), size) for size in (0.1, 1.9, 2.1, 9.0)]
    [1, 1, 2, 3]
    """
    middles = np.cumsum(weights) - 0.5 * weights
    return max(int(np.searchsorted(middles, size, side="right")), 1)
