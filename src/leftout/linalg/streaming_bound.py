r"""The certified ceiling of :mod:`leftout.linalg.bounds`, for rows that are elsewhere, in one pass.

The theorem holds for any weights ``w`` and any ``T``, so a sample may choose them: a cap ``c``, and
``T`` from the spectrum of what it cuts off. What is left is a sum over all rows, and the ``k``
largest of the terms ``t_i = r_i - w_i |T'x_i|^2``; for *any* level ``l``

.. math:: \sum_{k\ \text{largest}} t_i \;\le\; k\,l + \sum_i \max(t_i - l, 0),

with equality where ``l`` lies between the ``k``-th and the next. The sample says where that is
about; a wrong level makes the bound looser, never false. So one pass adds up ``w_i T'x_i x_i'T``
and what exceeds the level.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from leftout.linalg.bounds import ROUNDING, Ceiling
from leftout.linalg.losses import Array, Loss, row_reach

# Rows of a sample that are enough to choose a cap.
_ENOUGH = 8192


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
        return RowExcess(
            (Z.T * w) @ Z,
            float(np.maximum(terms - self.level, 0.0).sum()),
            float(norms.max()),
        )

    def merge(self, a: RowExcess, b: RowExcess) -> RowExcess:
        return RowExcess(a.spread + b.spread, a.excess + b.excess, max(a.longest, b.longest))

    def ceiling(self, found: RowExcess, size: int) -> float:
        """Upper bound on the disparity of any left-out group of ``size`` rows."""
        top = np.linalg.eigvalsh(found.spread)[-self.loss.rank(*self.V.shape) :]
        return self.level + (found.excess + float(top.sum())) / size + ROUNDING * found.longest


def exceeding(
    n_rows: int, sample: Array, loss: Loss, V: Array, origin: Array, size: int
) -> StreamingBound:
    """The pass for a low ceiling of groups of ``size`` rows.

    Parameters
    ----------
    n_rows : int
        Of the table.
    sample : array
        Some of its rows, at random.
    loss, V, origin
        The loss, the shared components, and what they are about.
    size : int
    """
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
