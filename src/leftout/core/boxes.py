r"""Moments of many overlapping groups at once, and a ceiling on what each can lose.

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
ceiling is low where a group loses little. What the shared representation keeps, taken away from it,
bounds the group's total ``excess`` loss. So does the sum of the residuals: the better of the two
counts.
"""

from functools import cache

import numpy as np
from numpy.typing import NDArray

from leftout.compiling import kernel
from leftout.core.losses import Array

# Sums over columns may be reordered for speed.
_SUMS = {"reassoc", "contract", "nsz"}


@kernel(fastmath=_SUMS)
def cell_moments(codes: NDArray[np.intp], n_cells: int, Z: Array) -> Array:
    """Second moments of the rows of each cell: lower triangles, row after row.

    A row whose code is negative is in no cell.
    """
    m, n = Z.shape
    sums = np.zeros((n_cells, n * (n + 1) // 2))
    for i in range(m):
        if codes[i] >= 0:
            z, into, start = Z[i], sums[codes[i]], 0
            for a in range(n):
                for b in range(a + 1):
                    into[start + b] += z[a] * z[b]
                start += a + 1
    return sums


@kernel(fastmath=_SUMS)
def span_moments(
    codes: NDArray[np.intp],
    first: NDArray[np.intp],
    axis: NDArray[np.intp],
    held: NDArray[np.bool_],
    Z: Array,
    whole: Array,
) -> Array:
    """Packed second moments of the rows that each of some conditions takes in.

    Column ``a`` puts row ``i`` into bin ``codes[a, i]``; its bins are ``first[a]`` to
    ``first[a + 1]`` of all. Condition ``c`` is on column ``axis[c]``, in rising order, and takes in
    the bins where ``held[c]``. Each column's largest bin has what the others leave of ``whole``.
    """
    k, n = Z.shape
    result = np.zeros((len(axis), len(whole)))
    c = 0
    while c < len(axis):
        a = axis[c]
        start, stop = first[a], first[a + 1]
        counts = np.zeros(stop - start, dtype=np.intp)
        for i in range(k):
            counts[codes[a, i] - start] += 1
        largest = np.argmax(counts)
        cells = np.zeros((stop - start, len(whole)))
        cells[largest] = whole
        for i in range(k):
            cell = codes[a, i] - start
            if cell != largest:
                z, into, at = Z[i], cells[cell], 0
                for p in range(n):
                    for q in range(p + 1):
                        into[at + q] += z[p] * z[q]
                    at += p + 1
        for cell in range(stop - start):
            if cell != largest:
                cells[largest] -= cells[cell]
        while c < len(axis) and axis[c] == a:
            for cell in range(stop - start):
                if held[c, start + cell]:
                    result[c] += cells[cell]
            c += 1
    return result


@kernel(fastmath=_SUMS)
def _highest_sum(S: Array, n: int, d: int, diagonal: Array, lengths: Array) -> float:
    """The theorem's bound for one packed matrix; writes its diagonal."""
    start = 0
    lengths[:] = 0.0
    for a in range(n):
        own = 0.0
        for b in range(a):
            square = S[start + b] * S[start + b]
            own += square
            lengths[b] += square
        lengths[a] += own
        diagonal[a] = S[start + a]
        start += a + 1
    order = np.sort(diagonal)
    mu = 0.5 * (order[n - d] + order[n - d - 1]) if d < n else order[0]
    top = d * mu
    for a in range(n):
        own = diagonal[a] - mu
        top += 0.5 * (own + np.sqrt(own * own + lengths[a]))
    return top


@kernel
def highest_sums(packed: Array, n: int, d: int) -> Array:
    """The most that the ``d`` largest eigenvalues of each box can add up to (theorem above)."""
    result = np.empty(len(packed))
    diagonal, lengths = np.empty(n), np.empty(n)
    for box in range(len(packed)):
        result[box] = _highest_sum(packed[box], n, d, diagonal, lengths)
    return result


@cache
def _own(n: int) -> NDArray[np.intp]:
    """Where the diagonal of a packed triangle is."""
    return np.cumsum(np.arange(1, n + 1)) - 1


def diagonal(values: Array) -> Array:
    """A diagonal matrix, packed."""
    n = len(values)
    packed = np.zeros(n * (n + 1) // 2)
    packed[_own(n)] = values
    return packed
