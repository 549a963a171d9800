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
correlation matrix, and a single draw has accidents of its own. Where a draw misses, its columns are
redrawn in turn: each is ordered like a linear function of the others, as they stand, plus gaussian
noise, with the coefficients corrected towards the table's correlations, for a few sweeps. (Tables
with as many columns as rows are not redrawn.)

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

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, special

from leftout.core.distinct import IntArray
from leftout.core.losses import Array

# Hermite polynomials; what is beyond them is put into the next two, so that the series is right at
# correlations -1 and 1.
_DEGREE = 64
_BISECTIONS = 24
# Columns are redrawn until no correlation misses by more than this, at most this many times.
_GOOD_ENOUGH, _SWEEPS = 0.02, 12
_CORRECTIONS, _DAMPING = 2, 0.5
# Columns may depend on each other. Smaller eigenvalues of the correlations are taken for these,
# where a column is told from the others, and where its coefficients are corrected.
_SMALLEST, _SMALLEST_CORRECTED = 0.05, 0.2
# Columns of so few values need not be sorted: it is enough to know which rows have which.
_FEW_VALUES = 8


Real = NDArray[np.floating[Any]]


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
    root = 1.0 if counts is None else np.sqrt(counts)[:, None]
    Q, R = linalg.qr(Z * root, mode="economic", check_finite=False)
    total = m if counts is None else counts.sum()
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

    values: Array  # (n, m): each column's values, sorted
    scaled: Array  # the same, standardised
    target: Array  # (n, n): the table's correlations
    root: Array  # (n, rank), times its transpose the gaussian's correlations
    miss: float  # largest difference to expect of the gaussian's correlations, once mapped
    counts: IntArray | None = None  # how often each drawn row is repeated, in any order

    @classmethod
    def of(cls, X: Array, counts: IntArray | None = None) -> Copula:
        scaled = np.sort(_standardised(X).T, axis=1)
        target = correlations(X)
        series = _Series.of(scaled)
        # With as many columns as rows, only the table's own correlations have as low a rank.
        wide = len(target) >= (len(X) if counts is None else len(counts))
        values, vectors = linalg.eigh(target if wide else series.solve(target), check_finite=False)
        keep = values > 1e-9 * values[-1]
        root = vectors[:, keep] * np.sqrt(values[keep])
        root /= np.linalg.norm(root, axis=1, keepdims=True)
        misses = series(np.clip(root @ root.T, -1.0, 1.0)) - target
        np.fill_diagonal(misses, 0.0)
        miss = float(np.abs(misses).max())
        return cls(np.sort(X.T, axis=1), scaled, target, root, miss, counts)

    def draw(self, rng: np.random.Generator) -> Array:
        n, m = self.values.shape
        slots = _Slots.drawn(n, m, self.counts, rng)
        frame = _frame(slots.n_rows, self.root.shape[1], rng, slots.counts)
        latent = self.root @ frame.T
        order = np.stack([self._ordered(latent[j], j, slots) for j in range(n)])
        if n < slots.n_rows:
            order = self._redrawn(order, slots, rng)
        X = np.stack([slots.filled(self.values[j], order[j], j) for j in range(n)])
        return _repeated(np.ascontiguousarray(X.T), slots.counts)

    def _redrawn(self, order: IntArray, slots: _Slots, rng: np.random.Generator) -> IntArray:
        """Order the columns in turn like linear functions of the others plus noise."""
        n, m = order.shape
        precision = _inverse(self.target, _SMALLEST)
        scale = np.diag(precision)[:, None]
        # single precision is plenty to order rows by, and half as much to read
        coefficients = (-precision / scale).astype(np.float32)
        noise = (rng.standard_normal((n, m)) / np.sqrt(scale)).astype(np.float32)
        correction = _inverse(self.target, _SMALLEST_CORRECTED)
        X = np.empty((n, m), dtype=np.float32)
        for j in range(n):
            X[j] = slots.standardised(self.scaled[j], order[j], j)
        best, least = order.copy(), _largest_miss(X, slots, self.target)
        for _ in range(_SWEEPS):
            if least <= _GOOD_ENOUGH:
                break
            for j in range(n):
                b, c = coefficients[j], correction[j]
                # the inverse without row and column j, by a Schur complement
                others = correction - np.outer(c, c / c[j])
                for turn in range(_CORRECTIONS + 1):
                    b[j] = 0.0
                    order[j] = self._ordered(b @ X + noise[j], j, slots)
                    X[j] = slots.standardised(self.scaled[j], order[j], j)
                    if turn < _CORRECTIONS:
                        gap = self.target[j] - slots.products(X, X[j])
                        b += (_DAMPING * (others @ gap)).astype(np.float32)
            miss = _largest_miss(X, slots, self.target)
            if miss < least:
                best, least = order.copy(), miss
        return best

    @cached_property
    def _steps(self) -> list[IntArray | None]:
        """Where the sorted values of each column change, if they are few; else None."""
        changes = [np.flatnonzero(np.diff(values)) for values in self.values]
        return [each if 0 < len(each) < _FEW_VALUES else None for each in changes]

    def _ordered(self, latent: Real, column: int, slots: _Slots) -> IntArray:
        """Rows by rising latent values, or only in the order of the column's values."""
        steps = self._steps[column]
        if steps is None or slots.counts is not None:
            return np.argsort(latent)
        return np.argpartition(latent, steps)


class _Slots(NamedTuple):
    """Which of a column's sorted values each drawn row takes up: as many as it is repeated."""

    n_rows: int
    counts: IntArray | None  # how often each drawn row is repeated; None: once
    chosen: IntArray  # (n, n_rows): which of the values it takes up becomes its own
    weights: Array  # (n_rows,): counts, as shares

    @classmethod
    def drawn(cls, n: int, m: int, counts: IntArray | None, rng: np.random.Generator) -> _Slots:
        if counts is None:
            return cls(m, None, np.empty((n, 0), dtype=np.intp), np.empty(0))
        counts = rng.permutation(counts)
        chosen = rng.integers(counts, size=(n, len(counts)))
        return cls(len(counts), counts, chosen, counts / counts.sum())

    def filled(self, values: Array, order: IntArray, column: int) -> Array:
        """A column: its sorted values, (m,), handed to the rows in the given order."""
        result = np.empty(self.n_rows)
        if self.counts is not None:
            taken = self.counts[order]
            values = values[np.cumsum(taken) - taken + self.chosen[column, order]]
        result[order] = values
        return result

    def standardised(self, scaled: Array, order: IntArray, column: int) -> Array:
        """The same of standardised values, and with mean 0 and variance 1 once repeated."""
        values = self.filled(scaled, order, column)
        if self.counts is None:
            return values
        values -= self.weights @ values
        spread = np.sqrt(self.weights @ values**2)
        return values / spread if spread > 0.0 else values

    def products(self, X: Real, others: Real) -> Real:
        """Correlations of standardised columns, (n, n_rows), with others, (n_rows, ...)."""
        if self.counts is None:
            return X @ others / self.n_rows
        return X @ (others.T * self.weights).T


def _inverse(R: Array, smallest: float) -> Array:
    values, vectors = linalg.eigh(R, check_finite=False)
    return (vectors / np.maximum(values, smallest)) @ vectors.T


def _largest_miss(X: Real, slots: _Slots, target: Array) -> float:
    """Between a target and the correlations of standardised columns, one per row of ``X``."""
    misses = slots.products(X, X.T) - target
    np.fill_diagonal(misses, 0.0)
    return float(np.abs(misses).max())


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
