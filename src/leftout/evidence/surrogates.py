"""Chance tables: like the given one in what PCA and single columns explain, and in nothing more.

``Gaussian`` keeps the mean and the covariance, exactly. A gaussian table given these two is
uniformly distributed over all tables that share them, and that is what is drawn: on gaussian data
the p-values it leads to are exact.

``Copula`` keeps every column's exact values and every pair's correlation. It draws a gaussian table
with correlation ``R``, orders each column's values like it, and chooses ``R`` so that correlations
come out as in the table. With ``f_i`` the step function that turns a standard normal into column
``i`` (standardised) and ``c_ik`` its coefficients in normalised Hermite polynomials, the
correlation of columns ``i`` and ``j`` is the power series ``sum_k c_ik c_jk R_ij^k`` (Mehler's
formula), which rises with ``R_ij`` since the ``f_i`` do: each ``R_ij`` is found by itself, with no
simulation.

Some tables have correlations that no gaussian ``R`` gives, since all ``R_ij`` together must be a
correlation matrix, and a single draw has accidents of its own. So a draw has three steps:

- the levels of a category, which exclude each other, are drawn in one piece
  (:mod:`leftout.evidence.units`);
- where the gaussian misses, columns are redrawn in turn, each ordered like a linear function of the
  others plus noise (:mod:`leftout.evidence.redrawing`), with coefficients that are learned once;
- what is still missed, rows that exchange values make up for (:mod:`leftout.evidence.swaps`).

What is left is a few hundredths of a correlation's standard error on average (0.2 on a census table
of 99 columns, some of which one person alone has). (Misses of 0.2 standard errors,
and rows in two levels or none, made the table stand out by a quarter of the standard deviation of
comparison tables.) Tables with as many columns as rows end after the first step.

Where rows of the table repeat (:mod:`leftout.evidence.repeats`), rows drawn one by one would be too
many witnesses. So as many distinct rows are drawn as the table has, and each is repeated as often
as one of its rows, which one is chosen at random. Mean, covariance, values and correlations to
match are those of the table with its repetitions, since that is what PCA sees, and rows that occur
often may have other values than rare ones. ``Gaussian`` still keeps its two exactly. ``Copula``
lines up the drawn rows in each column, lets each take up as many of the column's sorted values as
it is repeated, and gives it one of these: exactly the table's values where all rows repeat equally
often, and on average otherwise.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from scipy import linalg, special

from leftout.core.distinct import IntArray
from leftout.core.losses import Array
from leftout.evidence.redrawing import Hand, Redrawing
from leftout.evidence.swaps import Together, exchange
from leftout.evidence.units import Unit, units_of

# Hermite polynomials; what is beyond them is put into the next two, so that the series is right at
# correlations -1 and 1.
_DEGREE = 64
_BISECTIONS = 24
# So many rows a column are many.
_TALL = 8
# Columns are redrawn where the gaussian would miss a correlation by more than this; so many times
# in each table, and so many to learn what to order them by.
_GOOD_ENOUGH, _SWEEPS, _LEARNING = 0.02, 3, 8
# Of large tables a sweep takes long, and exchanges do more of the rest.
_LARGE, _SWEEPS_OF_LARGE = 8_192, 2


class Surrogate(Protocol):
    """A law of tables."""

    def draw(self, rng: np.random.Generator) -> Array: ...


def correlations(X: Array) -> Array:
    """Correlation matrix of the columns; those of a constant column are 0."""
    Z = _standardised(X)
    R = Z.T @ Z / len(X)
    np.fill_diagonal(R, 1.0)
    return R


def _standardised(X: Array) -> Array:
    centred = X - X.mean(axis=0)
    spread = centred.std(axis=0)
    # A constant column is left with the rounding of its mean.
    varies = spread > 1e-12 * np.abs(X).max(axis=0, initial=np.finfo(float).tiny)
    return np.where(varies, centred, 0.0) / np.where(varies, spread, 1.0)


def _frame(m: int, n: int, rng: np.random.Generator, counts: IntArray | None = None) -> Array:
    """Gaussian columns with mean 0 and, where there are rows enough, covariance exactly 1.

    With ``counts``, once row ``i`` is repeated ``counts[i]`` times.
    """
    Z = rng.standard_normal((m, n))
    if n >= m:
        return Z
    Z -= np.average(Z, axis=0, weights=counts)
    total = m if counts is None else counts.sum()
    if m > _TALL * n:  # far from singular: the same by Cholesky's decomposition, in less time
        weighted = Z if counts is None else Z * counts[:, None]
        root = linalg.cholesky(Z.T @ weighted / total, check_finite=False)
        return linalg.solve_triangular(root, Z.T, trans="T", check_finite=False).T
    root = 1.0 if counts is None else np.sqrt(counts)[:, None]
    Q, R = linalg.qr(Z * root, mode="economic", check_finite=False)
    return Q * (np.sign(np.diag(R)) * np.sqrt(total)) / root


def _repeated(rows: Array, counts: IntArray | None) -> Array:
    return rows if counts is None else np.repeat(rows, counts, axis=0)


@dataclass(frozen=True)
class Gaussian:
    """Tables with the same mean and covariance."""

    mean: Array
    root: Array  # (rank, n), times its transpose the covariance
    n_rows: int  # that are drawn
    counts: IntArray | None = None  # (n_rows,): how often each is repeated, in any order

    @classmethod
    def of(cls, X: Array, counts: IntArray | None = None) -> Gaussian:
        m = len(X)
        mean = X.mean(axis=0)
        _, s, Vt = linalg.svd(X - mean, full_matrices=False, check_finite=False)
        keep = s > s[0] * max(X.shape) * np.finfo(float).eps
        drawn = m if counts is None else len(counts)
        return cls(mean, s[keep, None] * Vt[keep] / np.sqrt(m), drawn, counts)

    def draw(self, rng: np.random.Generator) -> Array:
        counts = None if self.counts is None else rng.permutation(self.counts)
        rows = self.mean + _frame(self.n_rows, len(self.root), rng, counts) @ self.root
        return _repeated(rows, counts)


@dataclass(frozen=True)
class Copula:
    """Tables with the same values in every column and the same correlations."""

    units: list[Unit]
    values: Array  # (n, m): each column's values, in its unit's order
    scaled: Array  # the same, standardised
    target: Array  # (n, n): the table's correlations
    root: Array  # (n, rank), times its transpose the gaussian's correlations
    miss: float  # largest difference to expect of the gaussian's correlations, once mapped
    counts: IntArray | None = None  # how often each drawn row is repeated, in any order
    redrawing: Redrawing | None = None  # None: the gaussian's correlations do

    @classmethod
    def of(cls, X: Array, counts: IntArray | None = None) -> Copula:
        Z, target, units = _standardised(X), correlations(X), units_of(X)
        series = _Series.of(np.sort(Z.T, axis=1))
        n_rows = len(X) if counts is None else len(counts)
        # With as many columns as rows, only the table's own correlations have as low a rank.
        wide = len(target) >= n_rows
        values, vectors = linalg.eigh(target if wide else series.solve(target), check_finite=False)
        keep = values > 1e-9 * values[-1]
        root = vectors[:, keep] * np.sqrt(values[keep])
        root /= np.linalg.norm(root, axis=1, keepdims=True)
        misses = series(np.clip(root @ root.T, -1.0, 1.0)) - target
        np.fill_diagonal(misses, 0.0)
        miss = float(np.abs(misses).max())
        law = cls(units, _arranged(X, units), _arranged(Z, units), target, root, miss, counts)
        if wide or miss <= _GOOD_ENOUGH:
            return law
        return replace(law, redrawing=law._learned(Redrawing.of(target, units)))

    def draw(self, rng: np.random.Generator) -> Array:
        hand, orders = self._started(rng)
        n = len(self.values)
        if self.redrawing is not None:
            sweeps = _SWEEPS if hand.n_rows <= _LARGE else _SWEEPS_OF_LARGE
            orders, _ = self.redrawing.redrawn(orders, hand, rng, sweeps)
        values = np.empty((hand.n_rows, n))
        for unit, order in zip(self.units, orders, strict=True):
            values[:, unit.columns] = hand.out(self.values, unit, order).T
        if n < hand.n_rows:
            Z = hand.all_standardised(orders)
            misses = self.target - (Z * hand.weights) @ Z.T
            np.fill_diagonal(misses, 0.0)
            together = Together.of([unit.columns for unit in self.units])
            rows = np.ascontiguousarray(Z.T, dtype=np.float32)
            exchange(rows, misses, hand.weights, together, values, rng)
        return _repeated(values, hand.counts)

    def _started(self, rng: np.random.Generator) -> tuple[Hand, list[IntArray]]:
        """Rows as a gaussian's, unit by unit."""
        n, m = self.values.shape
        hand = Hand.drawn(self.units, self.scaled, self.counts, rng)
        frame = _frame(hand.n_rows, self.root.shape[1], rng, hand.counts)
        latent = self.root @ frame.T
        return hand, [unit.ordered(latent[unit.columns], hand.counts) for unit in self.units]

    def _learned(self, redrawing: Redrawing) -> Redrawing:
        """What to order columns by, learned in one table that is always the same."""
        rng = np.random.default_rng(0)
        hand, orders = self._started(rng)
        return redrawing.redrawn(orders, hand, rng, _LEARNING)[1]


def _arranged(X: Array, units: list[Unit]) -> Array:
    """Columns, as rows, in the order of their units."""
    result = np.empty(X.T.shape)
    for unit in units:
        result[unit.columns] = X[unit.by_level][:, unit.columns].T
    return result


@dataclass(frozen=True)
class _Series:
    """Correlations of the columns as functions of their gaussians' correlations."""

    coefficients: Array  # (degrees, n)
    odd: Array  # (n, n): what is left for the degree after the last
    even: Array  # and for the one after that

    @classmethod
    def of(cls, scaled: Array) -> _Series:
        """From sorted, standardised columns: those of a step function with equal steps."""
        n, m = scaled.shape
        edges = special.ndtri(np.arange(1, m) / m)
        density = np.exp(-0.5 * edges**2) / np.sqrt(2.0 * np.pi)
        jumps = np.diff(scaled, axis=1)
        # E[h_k(Z); Z > t] = density(t) h_{k-1}(t) / sqrt(k), with h_k = He_k / sqrt(k!)
        before, now = np.zeros_like(edges), np.ones_like(edges)
        coefficients = np.empty((_DEGREE, n))
        for k in range(1, _DEGREE + 1):
            coefficients[k - 1] = jumps @ (density * now) / np.sqrt(k)
            before, now = now, (edges * now - np.sqrt(k - 1) * before) / np.sqrt(k)
        highest, lowest = scaled @ scaled.T / m, scaled @ scaled[:, ::-1].T / m
        odd, even = coefficients[0::2], coefficients[1::2]
        return cls(
            coefficients,
            0.5 * (highest - lowest) - odd.T @ odd,
            0.5 * (highest + lowest) - even.T @ even,
        )

    def __call__(self, R: Array) -> Array:
        value = (self.even * R + self.odd) * R
        for c in self.coefficients[::-1]:
            value = (value + np.outer(c, c)) * R
        return value

    def solve(self, target: Array) -> Array:
        """The gaussians' correlations for which columns have these, pair by pair, by bisection."""
        R, step = np.zeros_like(target), 0.5
        varies = self.coefficients.any(axis=0)
        for _ in range(_BISECTIONS):
            R += np.where(self(R) < target, step, -step)
            step /= 2.0
        R *= np.outer(varies, varies)
        np.fill_diagonal(R, 1.0)
        return R


SURROGATES: dict[str, type[Copula] | type[Gaussian]] = {"copula": Copula, "gaussian": Gaussian}
