"""Columns that are redrawn in turn, until they have the correlations asked for.

Each unit of a table (:mod:`leftout.evidence.surrogates`) is ordered like a linear function of all
other columns, as they stand, plus gaussian noise. The coefficients are those of a gaussian table
with these correlations at first, and are corrected by what is missed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from leftout.evidence.dummy_blocks import DummyBlock
from leftout.linalg.distinct import IntArray
from leftout.linalg.losses import Array

# Corrections of a unit's coefficients in a sweep, and how much of what is missed they make up for.
_CORRECTIONS, _DAMPING = 2, 0.5
# Columns may depend on each other. Smaller eigenvalues of the correlations are taken for these,
# where a column is told from the others, and where its coefficients are corrected.
_SMALLEST, _SMALLEST_CORRECTED = 0.05, 0.2

Single = NDArray[np.float32]


def placed(units: list[DummyBlock], values: Array, orders: list[IntArray]) -> Array:
    """Columns, as rows: their values, in the order of their units, given to rows in ``orders``."""
    result = np.empty(values.shape)
    for unit, order in zip(units, orders, strict=True):
        result[np.ix_(unit.columns, order)] = values[unit.columns]
    return result


@dataclass(frozen=True)
class Redrawing:
    """What columns are ordered by."""

    target: Array  # (n, n): correlations
    coefficients: Single  # (n, n): of all other columns in each
    noise: list[Array]  # of each unit: times its transpose, the covariance of its noise
    inverse: Array  # (n, n): of the correlations
    inside: list[Array]  # of each unit: the inverse of its own part of that

    @classmethod
    def of(cls, target: Array, units: list[DummyBlock]) -> Redrawing:
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
        self,
        units: list[DummyBlock],
        scaled: Array,
        orders: list[IntArray],
        rng: np.random.Generator,
        sweeps: int,
    ) -> tuple[list[IntArray], Redrawing]:
        """The best orders of so many sweeps, and the coefficients that led to them.

        ``scaled`` are standardised columns, as rows, in the order of their units.
        """
        X, m = placed(units, scaled, orders).astype(np.float32), scaled.shape[1]
        noise = [
            (root @ rng.standard_normal((len(root), m))).astype(np.float32) for root in self.noise
        ]
        b = self.coefficients.copy()
        now = list(orders)
        best, least, learned = list(now), self._missed(X), b.copy()
        for _ in range(sweeps):
            for place, unit in enumerate(units):
                own = unit.columns
                for turn in range(_CORRECTIONS + 1):
                    now[place] = unit.ordered(b[own] @ X + noise[place])
                    X[np.ix_(own, now[place])] = scaled[own]
                    if turn < _CORRECTIONS:
                        gap = self.target[own] - X[own] @ X.T / m
                        gap[:, own] = 0.0
                        b[own] += self._corrected(gap, own, self.inside[place])
            missed = self._missed(X)
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

    def _missed(self, X: Single) -> float:
        """Squares of what correlations miss, added up."""
        misses = X @ X.T / X.shape[1] - self.target
        np.fill_diagonal(misses, 0.0)
        return float(np.sum(misses**2))


def _inverse(R: Array, smallest: float) -> Array:
    values, vectors = linalg.eigh(R, check_finite=False)
    return (vectors / np.maximum(values, smallest)) @ vectors.T
