"""The best pair of conditions on every two columns, by F1.

A condition holds for a stretch of a column's items (bins or categories), or for all but a stretch.
Let ``P[s, t]`` count the rows that have one of a column's first ``s`` items and one of another's
first ``t``: two stretches meet in ``P[s', t'] - P[s, t'] - P[s', t] + P[s, t]`` rows.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from leftout.compiling import kernel

Array = NDArray[np.float64]
Places = NDArray[np.intp]
Counts = NDArray[np.int64]


class Stretches(NamedTuple):
    """Conditions on some columns, those of one after those of another."""

    start: Places  # among the items of their column
    stop: Places
    all_but: NDArray[np.bool_]
    cost: Array
    first: Places  # the first condition of each column, and after the last
    items: Places  # the first item of each column, and after the last


@kernel
def _sums(C: Counts, items: Places, a: int) -> Array:
    """``P`` for one column and all: sums from each column's first item on, 0 before it."""
    P = np.zeros((items[a + 1] - items[a] + 1, items[-1] + len(items) - 1))
    for s in range(1, len(P)):
        counts = C[items[a] + s]  # item 0 is all rows
        for b in range(len(items) - 1):
            so_far = 0.0
            for j in range(items[b], items[b + 1]):
                so_far += counts[1 + j]
                P[s, j + b + 1] = P[s - 1, j + b + 1] + so_far
    return P


@kernel
def _held(C: Counts, of: Stretches) -> tuple[Array, Array]:
    """Rows with one of each column's first items, as in ``P``, and those of every condition."""
    first, items = np.zeros(of.items[-1] + len(of.items) - 1), of.items
    held = np.zeros(len(of.start))
    for a in range(len(items) - 1):
        for i in range(items[a], items[a + 1]):
            first[i + a + 1] = first[i + a] + C[0, 1 + i]
        for c in range(of.first[a], of.first[a + 1]):
            low, high = items[a] + a + of.start[c], items[a] + a + of.stop[c]
            rows = first[high] - first[low]
            held[c] = C[0, 0] - rows if of.all_but[c] else rows
    return first, held


@kernel
def best_pairs(
    every: Counts, inside: Counts, of: Stretches, size: int, spent: float, more: Array
) -> tuple[Array, Places]:
    """Scores of the best pair on every two columns, joined by "and" and by "or"; which they are.

    ``every`` counts the rows in which two items meet, where item 0 is all rows; ``inside`` counts
    those of the group, which has ``size`` rows. ``more`` of both count in any case. A pair costs
    ``spent`` beside what its conditions do. Of equals, the first is taken.
    """
    n = len(of.items) - 1
    scores = np.empty((n * (n + 1) // 2, 2))
    which = np.zeros((len(scores), 2, 2), dtype=np.intp)
    (first0, held0), (first1, held1) = _held(every, of), _held(inside, of)
    here0, here1 = np.empty(len(first0)), np.empty(len(first0))
    rows, hits = more[0] + size, more[1]
    pair = 0
    for a in range(n):
        P0, P1 = _sums(every, of.items, a), _sums(inside, of.items, a)
        for b in range(a, n):
            near, width = of.items[b] + b, of.items[b + 1] - of.items[b] + 1
            most_both = most_either = -np.inf
            for s in range(of.first[a], of.first[a + 1]):
                low, high = of.start[s], of.stop[s]
                for t in range(width):
                    here0[t] = P0[high, near + t] - P0[low, near + t]
                    here1[t] = P1[high, near + t] - P1[low, near + t]
                    if of.all_but[s]:
                        here0[t] = first0[near + t] - here0[t]
                        here1[t] = first1[near + t] - here1[t]
                so_far = spent + of.cost[s]
                for t in range(of.first[b], of.first[b + 1]):
                    both0 = here0[of.stop[t]] - here0[of.start[t]]
                    both1 = here1[of.stop[t]] - here1[of.start[t]]
                    if of.all_but[t]:
                        both0, both1 = held0[s] - both0, held1[s] - both1
                    cost = so_far + of.cost[t]
                    score = 2.0 * (hits + both1) / (rows + both0) - cost
                    if score > most_both:
                        most_both = score
                        which[pair, 0, 0], which[pair, 0, 1] = s, t
                    either0 = held0[s] + held0[t] - both0
                    either1 = held1[s] + held1[t] - both1
                    score = 2.0 * (hits + either1) / (rows + either0) - cost
                    if score > most_either:
                        most_either = score
                        which[pair, 1, 0], which[pair, 1, 1] = s, t
            scores[pair, 0], scores[pair, 1] = most_both, most_either
            pair += 1
    return scores, which
