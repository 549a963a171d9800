r"""Second moments of many overlapping groups at once, and a bound on what each can lose.

Rows fall into cells; a box is a union of cells, and its second moments are the sum of theirs. So
one pass over the rows gives the moments of every box, in the table's principal axes.

**Theorem.** For a symmetric matrix ``S`` with columns ``S e_j``, any number ``mu``, and ``top_d``
the sum of the ``d`` largest eigenvalues,

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

import numpy as np
from numpy.typing import NDArray

from leftout.linalg.losses import Array


def cell_moments(
    codes: NDArray[np.integer], n_cells: int, Z: Array, known: Array | None = None
) -> Array:
    """Second moments of the rows of each cell, shape (n_cells, n, n).

    Where the sums over consecutive cells are ``known``, as many to each of its matrices, the
    largest of these is what the others leave, and its rows are not looked at.
    """
    n = Z.shape[1]
    counts = np.bincount(codes, minlength=n_cells)
    result = np.zeros((n_cells, n, n))
    spared = np.empty(0, dtype=np.intp)
    if known is not None:
        parts = counts.reshape(len(known), -1)
        spared = np.arange(len(known)) * parts.shape[1] + parts.argmax(axis=1)
    looked_at = np.ones(n_cells, dtype=bool)
    looked_at[spared] = False
    small = codes.astype(np.uint16) if n_cells <= 1 << 16 else codes  # sorted by their digits
    if len(spared):
        rows = np.flatnonzero(looked_at[codes])
        order = rows[np.argsort(small[rows], kind="stable")]
    else:
        order = np.argsort(small, kind="stable")
    sizes = np.where(looked_at, counts, 0)
    stops = np.cumsum(sizes)
    for cell in np.flatnonzero(sizes):
        part = Z[order[stops[cell] - sizes[cell] : stops[cell]]]
        result[cell] = part.T @ part
    if known is not None:
        result[spared] = known - result.reshape(len(known), -1, n, n).sum(axis=1)
    return result


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
