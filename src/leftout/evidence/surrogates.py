"""Surrogate tables: like the given one in what PCA and single columns explain, and nothing more.

``Gaussian`` keeps the mean and the covariance, exactly. A Gaussian table given these two is
uniformly distributed over all tables that share them, and that is what is drawn: on Gaussian data
the p-values it leads to are exact.

``Copula`` keeps every column's exact values and every pair's correlation. It draws a Gaussian table
with correlation ``R``, orders each column's values like it, and chooses ``R`` so that correlations
come out as in the table. With ``f_i`` the step function that turns a standard normal into column
``i`` (standardised) and ``c_ik`` its coefficients in normalised Hermite polynomials, the
correlation of columns ``i`` and ``j`` is the power series ``sum_k c_ik c_jk R_ij^k`` (Mehler's
formula), which rises with ``R_ij`` since the ``f_i`` do: each ``R_ij`` is found by itself.

Some tables have correlations that no Gaussian ``R`` gives, since all ``R_ij`` together must be a
correlation matrix, and a single draw has accidents of its own. So levels of a category are drawn in
one piece, columns are redrawn in turn where the Gaussian misses, and rows swap values to make up
for the rest (:mod:`leftout.evidence.correlation_matching`). What is left is a few hundredths of a
correlation's standard error on average, 0.3 on tables of many rare categories. Tables with as many
columns as rows end after the first step.

Where rows of the table repeat (:mod:`leftout.evidence.duplicate_rows`), rows drawn one by one would
be too many witnesses. So surrogates are drawn like its distinct rows, and how often a row occurs is
one more column of these: ``Repeated``.
"""

from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from scipy import linalg, special

from leftout.evidence.correlation_matching import (
    DummyBlock,
    Redrawing,
    find_dummy_blocks,
    placed,
    swap_values,
)
from leftout.linalg.distinct import Distinct, IntArray
from leftout.linalg.losses import Array

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
_LARGE_TABLE, _SWEEPS_OF_LARGE = 8_192, 2


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
    if m > _TALL * n:  # far from singular: the same by Cholesky's decomposition, in less time
        root = linalg.cholesky(Z.T @ Z / m, check_finite=False)
        return linalg.solve_triangular(root, Z.T, trans="T", check_finite=False).T
    Q, R = linalg.qr(Z, mode="economic", check_finite=False)
    return Q * (np.sign(np.diag(R)) * np.sqrt(m))


@dataclass(frozen=True)
class Gaussian:
    """Tables with the same mean and covariance."""

    mean: Array
    root: Array  # (rank, n), times its transpose the covariance
    n_rows: int

    @classmethod
    def of(cls, X: Array) -> Self:
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

    blocks: list[DummyBlock]
    values: Array  # (n, m): each column's values, in its block's order
    scaled: Array  # the same, standardised
    target: Array  # (n, n): the table's correlations
    root: Array  # (n, rank), times its transpose the gaussian's correlations
    miss: float  # largest difference to expect of the gaussian's correlations, once mapped
    redrawing: Redrawing | None = None  # None: the gaussian's correlations do

    @classmethod
    def of(cls, X: Array) -> Self:
        Z, target, blocks = _standardised(X), correlations(X), find_dummy_blocks(X)
        series = _Series.of(np.sort(Z.T, axis=1))
        # With as many columns as rows, only the table's own correlations have as low a rank.
        wide = len(target) >= len(X)
        values, vectors = linalg.eigh(target if wide else series.solve(target), check_finite=False)
        keep = values > 1e-9 * values[-1]
        root = vectors[:, keep] * np.sqrt(values[keep])
        root /= np.linalg.norm(root, axis=1, keepdims=True)
        misses = series(np.clip(root @ root.T, -1.0, 1.0)) - target
        np.fill_diagonal(misses, 0.0)
        miss = float(np.abs(misses).max())
        law = cls(blocks, _arranged(X, blocks), _arranged(Z, blocks), target, root, miss)
        if wide or miss <= _GOOD_ENOUGH:
            return law
        # what to order columns by is learned in one table that is always the same
        redrawing, rng = Redrawing.of(target, blocks), np.random.default_rng(0)
        orders = law._started(rng)
        learned = redrawing.redrawn(blocks, law.scaled, orders, rng, _LEARNING)[1]
        return replace(law, redrawing=learned)

    def draw(self, rng: np.random.Generator) -> Array:
        orders = self._started(rng)
        n, m = self.values.shape
        if self.redrawing is not None:
            sweeps = _SWEEPS if m <= _LARGE_TABLE else _SWEEPS_OF_LARGE
            orders, _ = self.redrawing.redrawn(self.blocks, self.scaled, orders, rng, sweeps)
        drawn = np.ascontiguousarray(placed(self.blocks, self.values, orders).T)
        if n < m:
            Z = placed(self.blocks, self.scaled, orders)
            misses = self.target - (Z * (1.0 / m)) @ Z.T
            np.fill_diagonal(misses, 0.0)
            single = np.ascontiguousarray(Z.T, dtype=np.float32)
            swap_values(single, misses, [block.columns for block in self.blocks], drawn, rng)
        return drawn

    def _started(self, rng: np.random.Generator) -> list[IntArray]:
        """Rows as a gaussian's, block by block."""
        latent = self.root @ _frame(self.values.shape[1], self.root.shape[1], rng).T
        return [block.ordered(latent[block.columns]) for block in self.blocks]


def _arranged(X: Array, blocks: list[DummyBlock]) -> Array:
    """Columns, as rows, in the order of their blocks."""
    result = np.empty(X.T.shape)
    for block in blocks:
        result[block.columns] = X[block.by_level][:, block.columns].T
    return result


@dataclass(frozen=True)
class _Series:
    """Correlations of the columns as functions of their gaussians' correlations."""

    coefficients: Array  # (degrees, n)
    odd: Array  # (n, n): what is left for the degree after the last
    even: Array  # and for the one after that

    @classmethod
    def of(cls, scaled: Array) -> Self:
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


Surrogate = Copula | Gaussian
SURROGATES: dict[str, type[Surrogate]] = {"copula": Copula, "gaussian": Gaussian}


@dataclass(frozen=True)
class Repeated:
    """Tables whose rows repeat: of distinct rows, with how often each occurs as a last column."""

    law: Surrogate
    counts: IntArray  # in rising order

    def draw(self, rng: np.random.Generator) -> Array:
        rows = self.law.draw(rng)
        counts = np.empty_like(self.counts)
        counts[np.argsort(rows[:, -1], kind="stable")] = self.counts
        return np.repeat(rows[:, :-1], counts, axis=0)


class SurrogateTables:
    """Surrogates of one table; the first copula tables are kept for tests that look at the same.

    ``copies``: of rows that repeat alike. ``kept``: how many. ``weights``: what each row counts,
    which is part of the row: one more column of the tables, with the same values, that no loss sees
    (:func:`with_weights`).
    """

    def __init__(
        self, X: Array, copies: Distinct | None, kept: int = 0, weights: Array | None = None
    ) -> None:
        self.X, self.copies, self.kept = with_weights(X, weights), copies, kept
        self.weights = None if weights is None else np.sort(weights)
        self.laws: dict[str, Surrogate | Repeated] = {}
        self.drawn: dict[int, Array] = {}

    def law(self, kind: str) -> Surrogate | Repeated:
        """The law of tables of a kind; where rows are copies, of tables whose rows repeat alike."""
        if kind not in self.laws:
            of, copies = SURROGATES[kind].of, self.copies
            if copies is None:
                self.laws[kind] = of(self.X)
            else:
                rows = np.column_stack([self.X[copies.first], copies.counts])
                self.laws[kind] = Repeated(of(rows), np.sort(copies.counts))
        return self.laws[kind]

    def draw(self, kind: str, place: int, rng: np.random.Generator) -> Array:
        """The table of a kind and place: as it was drawn before, else anew."""
        keep = kind == "copula" and place < self.kept  # others are drawn in no time
        if keep and place in self.drawn:
            return self.drawn[place]
        table = self.law(kind).draw(rng)
        if self.weights is not None:  # the table's own, in the order of those drawn
            table[np.argsort(table[:, -1], kind="stable"), -1] = self.weights
        if keep:
            self.drawn[place] = table
        return table


def with_weights(X: Array, weights: Array | None) -> Array:
    """A table whose last column are the rows' weights, where these have some."""
    return X if weights is None else np.column_stack([X, weights])


def without_weights(table: Array, weighted: bool) -> tuple[Array, Array | None]:
    """Rows as a loss sees them, and what each counts, 1 on average."""
    if not weighted:
        return table, None
    weights = table[:, -1]
    return np.ascontiguousarray(table[:, :-1]), weights / weights.mean()
