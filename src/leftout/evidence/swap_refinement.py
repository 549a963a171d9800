"""The last of a match: rows that exchange what they have in a column, where that brings it nearer.

A table whose correlations are nearly those asked for is as likely as any other that has them. Two
rows exchange their values in a column (in all columns of a category), if the squares of all misses
add up to less then. Values are kept, and few rows are touched: what is left of the misses is far
below the accidents of a sample.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from leftout.compiling import kernel
from leftout.linalg.distinct import IntArray
from leftout.linalg.losses import Array

# Pairs of rows that are tried in a round, for each row, and at least.
_PAIRS, _FEWEST = 10, 100_000
# Rounds go on while squares of misses come down to this share, up to a number of rounds, or until
# misses are this small on average, in standard errors of a correlation.
_SHARE, _ROUNDS, _SMALL = 0.8, 12, 0.02


Single = NDArray[np.float32]


class SwapState(NamedTuple):
    """Which columns rows exchange together: those of unit ``u`` from ``first[u]`` on."""

    columns: IntArray
    first: IntArray  # (n_units + 1,)

    @classmethod
    def of(cls, units: list[IntArray]) -> SwapState:
        first = np.cumsum([0, *(len(unit) for unit in units)])
        return cls(np.concatenate(units).astype(np.intp), first.astype(np.intp))


def exchange(
    X: Single,
    misses: Array,
    together: SwapState,
    values: Array,
    rng: np.random.Generator,
) -> None:
    """Let rows exchange values in place.

    Parameters
    ----------
    X : array of shape (m, n)
        Standardised columns, in single precision: rows are looked up at random.
    misses : array of shape (n, n)
        Correlations asked for less those of ``X``; zero on the diagonal. Kept in step.
    together : Together
    values : array of shape (m, n)
        Rows exchange these as they do those of ``X``.
    """
    m = len(X)
    enough = misses.size * _SMALL**2 / m
    before = float(np.sum(misses**2))
    for _ in range(_ROUNDS):
        if before <= enough:
            break
        pairs = _drawn(X, together, max(_PAIRS * m, _FEWEST), rng)
        _exchange(X, misses, together, values, pairs)
        after = float(np.sum(misses**2))
        if after > _SHARE * before:
            break
        before = after


def _drawn(
    X: Single, together: SwapState, count: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Pairs of rows, for one unit after the other.

    The first row of a pair is the likelier the further out it is: what rare values and long tails
    miss is in few rows.
    """
    m, n_units = len(X), len(together.first) - 1
    pairs = rng.integers(m, size=(count, 2))
    for unit in range(n_units):
        own = together.columns[together.first[unit] : together.first[unit + 1]]
        chance = np.cumsum(np.abs(X[:, own]).sum(axis=1), dtype=np.float64)
        height = rng.random(len(pairs[unit::n_units])) * chance[-1]
        pairs[unit::n_units, 0] = np.minimum(np.searchsorted(chance, height, side="right"), m - 1)
    return pairs


@kernel
def _exchange(
    X: Single,
    misses: Array,
    together: SwapState,
    values: Array,
    pairs: NDArray[np.int64],
) -> None:
    share, n, n_units = 1.0 / len(X), X.shape[1], len(together.first) - 1
    columns, first = together.columns, together.first
    step = np.empty(n)
    for t in range(len(pairs)):
        unit, a, b = t % n_units, pairs[t, 0], pairs[t, 1]
        gain, differ = 0.0, False
        for i in range(first[unit], first[unit + 1]):
            j = columns[i]
            h = share * (X[a, j] - X[b, j])
            if h == 0.0:
                continue
            if not differ:
                differ = True
                for k in range(n):
                    step[k] = X[b, k] - X[a, k]
                for other in range(first[unit], first[unit + 1]):
                    step[columns[other]] = 0.0
            for k in range(n):
                change = h * step[k]
                gain += change * (2.0 * misses[j, k] - change)
        if gain <= 0.0:
            continue
        for i in range(first[unit], first[unit + 1]):
            j = columns[i]
            h = share * (X[a, j] - X[b, j])
            if h == 0.0:
                continue
            for k in range(n):
                change = h * step[k]
                misses[j, k] -= change
                misses[k, j] -= change
            X[a, j], X[b, j] = X[b, j], X[a, j]
            values[a, j], values[b, j] = values[b, j], values[a, j]
