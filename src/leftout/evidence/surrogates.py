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
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, special

from leftout.core.losses import Array

IntArray = NDArray[np.intp]

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


def _frame(m: int, n: int, rng: np.random.Generator) -> Array:
    """Gaussian columns with mean 0 and, where there are rows enough, covariance exactly 1."""
    Z = rng.standard_normal((m, n))
    if n >= m:
        return Z
    Z -= Z.mean(axis=0)
    Q, R = linalg.qr(Z, mode="economic", check_finite=False)
    return Q * (np.sign(np.diag(R)) * np.sqrt(m))


@dataclass(frozen=True)
class Gaussian:
    """Tables with the same mean and covariance."""

    mean: Array
    root: Array  # (rank, n), times its transpose the covariance
    n_rows: int

    @classmethod
    def of(cls, X: Array) -> Gaussian:
        m = len(X)
        mean = X.mean(axis=0)
        _, s, Vt = linalg.svd(X - mean, full_matrices=False, check_finite=False)
        keep = s > s[0] * max(X.shape) * np.finfo(float).eps
        return cls(mean, s[keep, None] * Vt[keep] / np.sqrt(m), m)

    def draw(self, rng: np.random.Generator) -> Array:
        return self.mean + _frame(self.n_rows, len(self.root), rng) @ self.root


@dataclass(frozen=True)
class Copula:
    """Tables with the same values in every column and the same correlations."""

    values: Array  # (n, m): each column's values, sorted
    scaled: Array  # the same, standardised
    target: Array  # (n, n): the table's correlations
    root: Array  # (n, rank), times its transpose the gaussian's correlations
    miss: float  # largest difference to expect of the gaussian's correlations, once mapped

    @classmethod
    def of(cls, X: Array) -> Copula:
        scaled = np.sort(_standardised(X).T, axis=1)
        target = correlations(X)
        series = _Series.of(scaled)
        # With as many columns as rows, only the table's own correlations have as low a rank.
        wide = len(target) >= len(X)
        values, vectors = linalg.eigh(target if wide else series.solve(target), check_finite=False)
        keep = values > 1e-9 * values[-1]
        root = vectors[:, keep] * np.sqrt(values[keep])
        root /= np.linalg.norm(root, axis=1, keepdims=True)
        misses = series(np.clip(root @ root.T, -1.0, 1.0)) - target
        np.fill_diagonal(misses, 0.0)
        return cls(np.sort(X.T, axis=1), scaled, target, root, float(np.abs(misses).max()))

    def draw(self, rng: np.random.Generator) -> Array:
        n, m = self.values.shape
        order = np.argsort(self.root @ _frame(m, self.root.shape[1], rng).T, axis=1)
        if n < m:
            order = self._redrawn(order, rng)
        X = np.empty((n, m))
        np.put_along_axis(X, order, self.values, axis=1)
        return np.ascontiguousarray(X.T)

    def _redrawn(self, order: IntArray, rng: np.random.Generator) -> IntArray:
        """Order the columns in turn like linear functions of the others plus noise."""
        n, m = self.scaled.shape
        precision = _inverse(self.target, _SMALLEST)
        scale = np.diag(precision)[:, None]
        coefficients = -precision / scale
        noise = rng.standard_normal((n, m)) / np.sqrt(scale)
        correction = _inverse(self.target, _SMALLEST_CORRECTED)
        X = np.empty((n, m))
        np.put_along_axis(X, order, self.scaled, axis=1)
        best, least = order.copy(), _largest_miss(X, self.target)
        for _ in range(_SWEEPS):
            if least <= _GOOD_ENOUGH:
                break
            for j in range(n):
                b, c = coefficients[j], correction[j]
                # the inverse without row and column j, by a Schur complement
                others = correction - np.outer(c, c / c[j])
                for turn in range(_CORRECTIONS + 1):
                    b[j] = 0.0
                    order[j] = np.argsort(b @ X + noise[j])
                    X[j, order[j]] = self.scaled[j]
                    if turn < _CORRECTIONS:
                        gap = self.target[j] - X @ X[j] / m
                        b += _DAMPING * (others @ gap)
            miss = _largest_miss(X, self.target)
            if miss < least:
                best, least = order.copy(), miss
        return best


def _inverse(R: Array, smallest: float) -> Array:
    values, vectors = linalg.eigh(R, check_finite=False)
    return (vectors / np.maximum(values, smallest)) @ vectors.T


def _largest_miss(X: Array, target: Array) -> float:
    """Between a target and the correlations of standardised columns, one per row of ``X``."""
    misses = X @ X.T / X.shape[1] - target
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
