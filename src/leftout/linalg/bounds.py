r"""A certified ceiling: no group of a given size has a larger disparity.

A group's own subspace has only ``d`` dimensions, and cannot serve many rows that point many ways.

**Theorem.** Let rows have residual ``r_i = |x_i|^2 - |V x_i|^2`` under the shared components ``V``.
For any weights ``0 <= w_i <= 1`` and any matrix ``T`` with ``0 <= T T' <= I``, no group of ``k``
rows has an ``excess`` loss, hence no disparity, above

.. math:: \frac1k \Big[ \sum_{k\ \text{largest}} \big(r_i - w_i |T'x_i|^2\big)
          + \mathrm{top}_d\big(\textstyle\sum_i w_i\, T'x_i x_i'T\big) \Big],

where the second sum is over *all* rows and ``top_d`` is the sum of the ``d`` largest eigenvalues.
Where rows count as often as weights say, the first is taken until their weights reach ``k``, the
last row in part, and each term of the second as often as its row counts.

**Proof.** Let ``Y`` hold the rows of a group ``A``. ``top_d`` is subadditive, monotone, at most the
trace on positive semidefinite matrices (Ky Fan), and the same for ``ZZ'`` as for ``Z'Z``. With
``YY' = Y(I - TT')Y' + (YT)(YT)'``,

- ``top_d(Y'Y) <= tr Y(I - TT')Y' + top_d(T'Y'Y T)``;
- ``T'Y'Y T`` is a sum over ``A`` of ``(1 - w_i) T'x_i x_i'T + w_i T'x_i x_i'T``; the first terms
  count at most by their traces, the second at most by ``top_d`` of their sum over all rows.

Together ``top_d(Y'Y) <= sum_A (|x_i|^2 - w_i |T'x_i|^2) + top_d(sum_i w_i T'x_i x_i'T)``. Take away
``sum_A |V x_i|^2``, replace the sum over ``A`` by the ``k`` largest terms, divide by ``k``; the
rest's loss, which is taken away for the disparity, is not negative.  QED

The theorem holds for the residuals of any representation. Where it is no projection, the rest's
loss may be negative: :meth:`leftout.linalg.problem.Problem.disparity_bound`.

With ``w = 0`` this is the mean of the ``k`` largest residuals. Any ``w`` and ``T`` prove a bound,
so a short search for good ones is enough. ``w`` levels the residuals: with a cap ``c``,
``w_i |T'x_i|^2 = max(r_i - c, 0)``. ``T`` then levels the spectrum of what was cut off, whose top
``d`` eigenvalues are the price: ``TT' = min(I, theta S^-1)`` in the eigenbasis of
``S = sum_i w_i x_i x_i'``. The numbers ``c`` and ``theta`` are found by searches in turn.

Under ``projection_gap`` the same holds with ``r_i = |x_i|^2`` and ``2 d`` in place of ``d``: the
matrix ``(P - P_G)^2`` has eigenvalues in [0, 1] and rank at most ``2 d``. Of a loss that was
registered nothing is known but ``r_i``: with all dimensions it is the mean of the ``k`` largest.

**In one pass**, for rows that are elsewhere, a sample chooses the cap and ``T``. What is left is a
sum over all rows, and the ``k`` largest of the terms ``t_i = r_i - w_i |T'x_i|^2``; for *any* level
``l``

.. math:: \sum_{k\ \text{largest}} t_i \;\le\; k\,l + \sum_i \max(t_i - l, 0),

with equality where ``l`` lies between the ``k``-th and the next. The sample says where that is
about; a wrong level makes the bound looser, never false. So one pass adds up ``w_i T'x_i x_i'T``
and what exceeds the level.

**Of a whole box of rows at once** (:func:`top_sum_bounds`). For a symmetric matrix ``S`` with
columns ``S e_j`` and any number ``mu``,

.. math:: \mathrm{top}_d(S) \le d\mu
          + \tfrac12 \sum_j \big( S_{jj} - \mu + \lVert (S - \mu I) e_j \rVert \big).

**Proof.** With ``M = S - mu I``: ``top_d(S) - d mu`` is a sum of eigenvalues of ``M``, hence at
most the sum of its positive ones, which is half of its trace plus half of its trace norm. The trace
norm is ``<U, M>`` for some orthogonal ``U``, that is ``sum_j <U e_j, M e_j>``, at most the sum of
the lengths of the columns of ``M``.  QED

On a diagonal matrix, with ``mu`` between the ``d``-th and the next entry, this is exact; in
principal axes the moments of a group that is spread like the table are nearly diagonal, so that the
bound is low where a group loses little. What the shared representation keeps, taken away from it,
bounds the group's total ``excess`` loss. So does the sum of the residuals: the better of the two
counts.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy import linalg

from leftout.linalg.losses import WIDE, Array, Loss, row_reach
from leftout.linalg.problem import Problem, top_mean

# Rows that the cap may touch: this many times the group, but not more than this many values.
_TIMES, _FEWEST, _VALUES = 8, 1024, 1 << 21
# Turns, caps that are tried at rows, and values of a line search.
_ROUNDS, _CAPS, _STEPS, _GOLDEN = 2, 8, 9, (math.sqrt(5.0) - 1.0) / 2.0
# The level of a spectrum is looked for between its largest eigenvalue and this share of it.
_LOWEST = 1e-3
# Sums of squares are rounded in proportion to the longest row.
_ROUNDING = 1e-12
# Rows of a sample that are enough to choose a cap.
_ENOUGH = 8192


def certified_bound(problem: Problem, size: float) -> float:
    """Upper bound on the disparity of any left-out group of ``size`` rows (proof above).

    About eighty passes over the rows whose residual exceeds the cap, each followed by the largest
    eigenvalues of an n x n matrix.
    """
    n, order = problem.X.shape[1], problem.by_reach
    touched = max(1, min(max(int(_TIMES * size), _FEWEST), _VALUES // n, len(order) - 1))
    rows, weights = problem.rows(order[:touched]), problem.weights_of(order)
    if weights is not None:
        rows /= np.sqrt(weights[:touched, None])
    d = problem.loss.rank(problem.d, n)
    ceiling = Ceiling(X=rows, r=problem.reach[order], size=size, d=d, weights=weights)
    most = ceiling.lowest()[0] + _ROUNDING * float(problem.norms_and_kept[0].max())
    return problem.disparity_bound(most, size)


@dataclass(frozen=True)
class Ceiling:
    """The theorem's bound as a function of the cap and of ``T``."""

    X: Array  # the rows that a cap may touch, by falling r
    r: Array  # of all rows, falling
    size: float
    d: int
    weights: Array | None = None  # of all rows, where they count differently

    def cut(self, cap: float, T: Array) -> tuple[Array, Array, float]:
        """Weights of the rows above the cap, these rows times ``T``, and the k largest terms."""
        above = int(np.searchsorted(-self.r[: len(self.X)], -cap))
        r, Z = self.r[:above], self.X[:above] @ T
        lengths = np.einsum("ij,ij->i", Z, Z)
        w = np.minimum((r - cap) / np.maximum(lengths, np.finfo(float).tiny), 1.0)
        # No term falls below the cap, so rows below it come last, in their order.
        terms, counts = r - w * lengths, self.weights
        if counts is not None:
            order = np.argsort(-terms)
            falling = np.concatenate([terms[order], self.r[above:]])
            every = np.concatenate([counts[:above][order], counts[above:]])
            return w * counts[:above], Z, self.size * top_mean(falling, self.size, every)
        size = int(self.size)
        terms = np.sort(terms)[::-1][:size]
        return w, Z, float(terms.sum() + self.r[above:size].sum())

    def value(self, cap: float, T: Array) -> float:
        w, Z, largest = self.cut(cap, T)
        if max(len(Z), WIDE) < Z.shape[1]:  # of the two products that share them, the smaller
            Z = np.sqrt(w)[:, None] * Z
            S = Z @ Z.T
        else:
            S = (Z.T * w) @ Z
        # All eigenvalues: where the largest are levelled they tie, and LAPACK may fail on a subset.
        top = np.linalg.eigvalsh(S)[-self.d :]
        return (largest + float(top.sum())) / self.size

    def lowest(self) -> tuple[float, float, Array]:
        """The lowest bound over the cap and over ``T``, in turn, with these two.

        No row is above a cap that is infinite: the bound is then the mean of the largest residuals.
        """
        T = np.eye(self.X.shape[1])
        best = top_mean(self.r, self.size, self.weights), np.inf, T
        for _ in range(_ROUNDS + 1):
            cap, value = self.best_cap(T)
            if value < best[0]:
                best = value, cap, T
            T = self.levelled(cap, T)
        return best

    def best_cap(self, T: Array) -> tuple[float, float]:
        """The cap of the lowest bound, and the bound.

        With ``d`` rows or fewer above it nothing is gained, a plateau that no line search leaves:
        it searches beside the best of some caps at rows.
        """
        last = len(self.X)
        places = np.unique(np.geomspace(min(self.d + 1, last), last, _CAPS).astype(int))
        caps = [float(cap) for cap in self.r[places]]
        values = [self.value(cap, T) for cap in caps]
        at = int(np.argmin(values))
        high, low = caps[max(at - 1, 0)], caps[min(at + 1, len(caps) - 1)]
        between = _least(lambda cap: self.value(cap, T), low, high)
        return min((caps[at], values[at]), between, key=lambda one: one[1])

    def levelled(self, cap: float, T: Array) -> Array:
        """A better ``T``, from the spectrum of what the cap cuts off."""
        w, _, _ = self.cut(cap, T)
        X = self.X[: len(w)]
        values, vectors = linalg.eigh((X.T * w) @ X, check_finite=False)
        top = float(values[-1])
        if not top > 0.0:
            return T

        def level(log_theta: float) -> Array:
            theta = np.exp(log_theta)
            return vectors * np.sqrt(theta / np.maximum(values, theta))

        def price(log_theta: float) -> float:
            return self.value(cap, level(log_theta))

        return level(_least(price, np.log(_LOWEST * top), np.log(top))[0])


def _least(function: Callable[[float], float], low: float, high: float) -> tuple[float, float]:
    """Where a function of one number is least between two ends, and its value there.

    By golden sections: parabolas would let the last digits decide where to look.
    """
    if not low < high:
        return high, function(high)
    left, right = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
    a, b = function(left), function(right)
    for _ in range(_STEPS - 2):
        if a <= b:
            high, right, b = right, left, a
            left = high - _GOLDEN * (high - low)
            a = function(left)
        else:
            low, left, a = left, right, b
            right = low + _GOLDEN * (high - low)
            b = function(right)
    return (left, a) if a <= b else (right, b)


class RowExcess(NamedTuple):
    """What a ceiling is made of."""

    spread: Array  # sum of w T'xx'T
    excess: float  # sum of what terms exceed the level by
    longest: float  # the largest squared length of a row


@dataclass(frozen=True)
class StreamingBound:
    """The pass that adds up what exceeds a cap and a level."""

    loss: Loss
    V: Array
    origin: Array
    cap: float
    T: Array
    level: float

    def over(self, rows: Array, start: int) -> RowExcess:
        X = rows - self.origin
        norms = np.einsum("ij,ij->i", X, X)
        Y = X @ self.V.T
        r = row_reach(self.loss, norms, np.einsum("ij,ij->i", Y, Y))
        # terms of rows below the cap are their r; none below both counts
        some = np.flatnonzero(r > min(self.cap, self.level))
        r, Z = r[some], X[some] @ self.T
        lengths = np.einsum("ij,ij->i", Z, Z)
        w = np.clip((r - self.cap) / np.maximum(lengths, np.finfo(float).tiny), 0.0, 1.0)
        terms = r - w * lengths
        excess = float(np.maximum(terms - self.level, 0.0).sum())
        return RowExcess((Z.T * w) @ Z, excess, float(norms.max()))

    def merge(self, a: RowExcess, b: RowExcess) -> RowExcess:
        return RowExcess(a.spread + b.spread, a.excess + b.excess, max(a.longest, b.longest))

    def ceiling(self, found: RowExcess, size: int) -> float:
        """Upper bound on the disparity of any left-out group of ``size`` rows."""
        top = np.linalg.eigvalsh(found.spread)[-self.loss.rank(*self.V.shape) :]
        return self.level + (found.excess + float(top.sum())) / size + _ROUNDING * found.longest


def exceeding(
    n_rows: int, sample: Array, loss: Loss, V: Array, origin: Array, size: int
) -> StreamingBound:
    """The pass for a low ceiling of groups of ``size`` rows, by a random sample of the table's."""
    X = sample[:: -(-len(sample) // _ENOUGH)] - origin
    norms = np.einsum("ij,ij->i", X, X)
    r = row_reach(loss, norms, np.sum((X @ V.T) ** 2, axis=1))
    order = np.argsort(-r, kind="stable")
    some = max(1, min(len(order) - 1, round(size * len(X) / n_rows)))
    guess = Ceiling(X=X[order[:-1]], r=r[order], size=some, d=loss.rank(*V.shape))
    _, cap, T = guess.lowest()
    w, Z, _ = guess.cut(cap, T)
    terms = r[order].copy()
    terms[: len(w)] -= w * np.einsum("ij,ij->i", Z, Z)
    level = float(np.partition(terms, len(terms) - some)[len(terms) - some])
    return StreamingBound(loss, V, origin, cap, T, level)


def top_sums(S: Array, d: int) -> Array:
    """Sum of the ``d`` largest eigenvalues of each matrix of a stack."""
    n = S.shape[-1]
    result: Array = np.linalg.eigvalsh(S)[..., n - d :].sum(axis=-1)
    return result


def top_sum_bounds(S: Array, d: int) -> Array:
    """The most that the ``d`` largest eigenvalues of each matrix can add up to (theorem above)."""
    n = S.shape[-1]
    each = np.arange(n)
    M = S.copy()
    diagonal = M[:, each, each]
    order = np.sort(diagonal, axis=1)
    mu = 0.5 * (order[:, n - d] + order[:, n - d - 1]) if d < n else order[:, 0]
    M[:, each, each] = diagonal - mu[:, None]
    lengths = np.sqrt(np.einsum("bij,bij->bj", M, M))
    result: Array = d * mu + 0.5 * (diagonal - mu[:, None] + lengths).sum(axis=1)
    return result
