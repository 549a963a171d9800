"""Columns that are redrawn in turn, until they have the correlations asked for.

Each unit of a table (:mod:`leftout.evidence.units`) is ordered like a linear function of all other
columns, as they stand, plus gaussian noise. The coefficients are those of a gaussian table with
these correlations at first, and are corrected by what is missed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from leftout.core.distinct import IntArray
from leftout.core.losses import Array
from leftout.evidence.units import Real, Unit

# Corrections of a unit's coefficients in a sweep, and how much of what is missed they make up for.
_CORRECTIONS, _DAMPING = 2, 0.5
# Columns may depend on each other. Smaller eigenvalues of the correlations are taken for these,
# where a column is told from the others, and where its coefficients are corrected.
_SMALLEST, _SMALLEST_CORRECTED = 0.05, 0.2

Single = NDArray[np.float32]


class Hand(NamedTuple):
    """Hands out a column's values: to each row as many as it is repeated, one of them its own."""

    units: list[Unit]
    scaled: Array  # (n, m): standardised columns, in the order of their units
    n_rows: int
    counts: IntArray | None  # how often each drawn row is repeated; None: once
    chosen: IntArray  # (n, n_rows): which of the values it takes up becomes its own
    weights: Array  # (n_rows,): counts, as shares

    @classmethod
    def drawn(
        cls, units: list[Unit], scaled: Array, counts: IntArray | None, rng: np.random.Generator
    ) -> Hand:
        n, m = scaled.shape
        if counts is None:
            return cls(units, scaled, m, None, np.empty((n, 0), dtype=np.intp), np.full(m, 1.0 / m))
        counts = rng.permutation(counts)
        chosen = rng.integers(counts, size=(n, len(counts)))
        return cls(units, scaled, len(counts), counts, chosen, counts / counts.sum())

    def out(self, values: Array, unit: Unit, order: IntArray) -> Array:
        """A unit's columns: their values, (n, m), handed to the rows in the given order."""
        result = np.empty((len(unit.columns), self.n_rows))
        values = values[unit.columns]
        if self.counts is not None:
            taken = self.counts[order]
            values = values[:, np.cumsum(taken) - taken + self.chosen[unit.columns[0], order]]
        result[:, order] = values
        return result

    def standardised(self, unit: Unit, order: IntArray) -> Array:
        """The same of standardised values, and with mean 0 and variance 1 once repeated."""
        values = self.out(self.scaled, unit, order)
        if self.counts is None:
            return values
        values -= (values @ self.weights)[:, None]
        spread = np.sqrt(values**2 @ self.weights)
        return values / np.where(spread > 0.0, spread, 1.0)[:, None]

    def all_standardised(self, orders: list[IntArray]) -> Array:
        """All columns, as rows."""
        X = np.empty((len(self.scaled), self.n_rows))
        for unit, order in zip(self.units, orders, strict=True):
            X[unit.columns] = self.standardised(unit, order)
        return X

    def products(self, X: Real, others: Real) -> Real:
        """Correlations of standardised columns, (n, n_rows), with others, (k, n_rows)."""
        if self.counts is None:
            return others @ X.T / self.n_rows
        return (others * self.weights) @ X.T


@dataclass(frozen=True)
class Redrawing:
    """What columns are ordered by."""

    target: Array  # (n, n): correlations
    coefficients: Single  # (n, n): of all other columns in each
    noise: list[Array]  # of each unit: times its transpose, the covariance of its noise
    inverse: Array  # (n, n): of the correlations
    inside: list[Array]  # of each unit: the inverse of its own part of that

    @classmethod
    def of(cls, target: Array, units: list[Unit]) -> Redrawing:
        precision = _inverse(target, _SMALLEST)
        inverse = _inverse(target, _SMALLEST_CORRECTED)
        coefficients = np.zeros_like(target)
        noise, inside = [], []
        for unit in units:
            own = unit.columns
            within = linalg.inv(precision[np.ix_(own, own)], check_finite=False)
            coefficients[own] = -within @ precision[own]
            noise.append(linalg.cholesky(within, lower=True, check_finite=False))
            inside.append(linalg.inv(inverse[np.ix_(own, own)], check_finite=False))
        for unit in units:
            coefficients[np.ix_(unit.columns, unit.columns)] = 0.0
        # single precision is plenty to order rows by, and half as much to read
        return cls(target, coefficients.astype(np.float32), noise, inverse, inside)

    def redrawn(
        self, orders: list[IntArray], hand: Hand, rng: np.random.Generator, sweeps: int
    ) -> tuple[list[IntArray], Redrawing]:
        """The best orders of so many sweeps, and the coefficients that led to them."""
        X = hand.all_standardised(orders).astype(np.float32)
        noise = [
            (root @ rng.standard_normal((len(root), hand.n_rows))).astype(np.float32)
            for root in self.noise
        ]
        b = self.coefficients.copy()
        now = list(orders)
        best, least, learned = list(now), self._missed(X, hand), b.copy()
        for _ in range(sweeps):
            for place, unit in enumerate(hand.units):
                own = unit.columns
                for turn in range(_CORRECTIONS + 1):
                    now[place] = unit.ordered(b[own] @ X + noise[place], hand.counts)
                    X[own] = hand.standardised(unit, now[place])
                    if turn < _CORRECTIONS:
                        gap = self.target[own] - hand.products(X, X[own])
                        gap[:, own] = 0.0
                        b[own] += self._corrected(gap, own, self.inside[place])
            missed = self._missed(X, hand)
            if missed < least:
                best, least, learned = list(now), missed, b.copy()
        return best, replace(self, coefficients=learned)

    def _corrected(self, gap: Array, own: IntArray, inside: Array) -> Single:
        """What a unit's coefficients are changed by, for what its columns miss of the others."""
        # the inverse without the unit's rows and columns, by a Schur complement
        change = gap @ self.inverse
        change -= change[:, own] @ inside @ self.inverse[own]
        change[:, own] = 0.0
        return (_DAMPING * change).astype(np.float32)

    def _missed(self, X: Real, hand: Hand) -> float:
        """Squares of what correlations miss, added up."""
        misses = hand.products(X, X) - self.target
        np.fill_diagonal(misses, 0.0)
        return float(np.sum(misses**2))


def _inverse(R: Array, smallest: float) -> Array:
    values, vectors = linalg.eigh(R, check_finite=False)
    return (vectors / np.maximum(values, smallest)) @ vectors.T
