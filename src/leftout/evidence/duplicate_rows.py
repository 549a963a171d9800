"""Do rows repeat? Equal rows are one row that weighs more, not so many witnesses.

A row that was entered three times says no more than once, but a search that counts it three times
finds more than it would in three rows: judged by surrogates whose rows are all drawn one by one,
tables of repeated rows raise false alarms, and a half of the rows finds its own copies in the other
half. So surrogates repeat rows as the table does, and splits keep equal rows together.

Equal rows may also come about by chance: six indicators have 64 different rows, however many
people answered. There each row does say something, and rows are left as they are. The two are told
apart by rows that agree on all columns but one. Where rows are copies, these agree on the last one
too. Where they are equal by chance, some column is free to differ: rows that agree on all others
agree on it hardly more often than any two rows do. With ``a`` the share that agrees on a column
among rows that agree on all others, and ``q`` that among all pairs of rows, the odds ratio
``a (1 - q) / (q (1 - a))`` is compared for the column where it is smallest.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leftout.evidence.correlation_matching import find_dummy_blocks
from leftout.linalg.distinct import Distinct, IntArray, agreeing_but_for_one, distinct_rows
from leftout.linalg.losses import Array

# Rows are copies where the odds to agree on any column are this many times those of any two rows.
# Measured: 0.3 to 0.9 on tables whose rows are equal by chance, 30 and more on copied ones (3.1
# where all columns are categories that many people share).
_TIED = 3.0
# Fewer distinct rows that repeat are a default or two, such as all zeros, which many may share.
_FEWEST_REPEATED = 5


@dataclass(frozen=True, kw_only=True)
class Repeats:
    """Equal rows of a table."""

    distinct: Distinct
    beyond_chance: bool  # whether rows are copies of each other, rather than equal by chance

    @property
    def copies(self) -> Distinct | None:
        """The distinct rows, where rows are copies of each other."""
        return self.distinct if self.beyond_chance else None

    @property
    def text(self) -> str:
        return (
            f"{self.distinct.n_repeated:,} of {self.distinct.n_rows:,} rows repeat an earlier one "
            f"({self.distinct.n_distinct:,} are distinct): surrogates repeat rows as often, and "
            "halves of the rows keep equal ones together."
        )


def find_repeats(X: Array) -> Repeats:
    """Count equal rows, and tell whether they are copies or equal by chance.

    Examples
    --------
    >>> import numpy as np
    >>> people = np.random.default_rng(0).random((100, 3))
    >>> answers = np.round(people)
    >>> [find_repeats(X).beyond_chance for X in (people, np.repeat(people, 3, axis=0), answers)]
    [False, True, False]
    >>> find_repeats(answers).distinct.n_distinct
    8
    """
    rows = distinct_rows(X)
    copied = False
    if np.sum(rows.counts > 1) >= _FEWEST_REPEATED:
        ratios = odds_ratios(_without_dummies(X[rows.first]), rows.counts)
        copied = all(ratio >= _TIED for ratio in ratios)
    return Repeats(distinct=rows, beyond_chance=copied)


def odds_ratios(U: Array, counts: IntArray) -> Iterator[float]:
    """For each column, how much likelier rows agree on it that agree on all others.

    ``U`` are distinct rows. Each that agrees with others counts once, however often it occurs:
    frequent ones would decide alone. One pair like any other is added, so that few rows do not
    say too much: where all agree, the ratio of ``k`` rows is ``1 + k / q``.
    """
    m = counts.sum()
    for column, names in zip(U.T, agreeing_but_for_one(U), strict=True):
        frequency = _occurrences(column, counts)
        q = float(counts @ (frequency - 1.0) / (m * (m - 1.0)))
        partners = _occurrences(names, counts) - 1.0
        some = partners > 0.0
        agree = (counts[some] - 1.0) / partners[some]
        # the sums of those that agree, and of those that do not
        alike, unlike = agree.sum() + q, np.sum(1.0 - agree) + 1.0 - q
        # everybody agrees on a constant column
        yield np.inf if q == 1.0 else float(alike / q * (1.0 - q) / unlike)


def _occurrences(names: NDArray[Any], counts: IntArray) -> Array:
    """How many rows share each one's name."""
    place = np.unique(names, return_inverse=True)[1].ravel()
    return np.bincount(place, weights=counts).astype(np.float64)[place]


def _without_dummies(X: Array) -> Array:
    """The table with the indicators of each category as one column of codes.

    A category that is spread over such columns is in one of its levels: each column is determined
    by the others, and only all of them together are free to differ.
    """
    blocks = (X[:, block.columns] for block in find_dummy_blocks(X))
    return np.column_stack([distinct_rows(block).place.astype(np.float64) for block in blocks])


def split(rows: Distinct, rng: np.random.Generator) -> tuple[IntArray, IntArray]:
    """Two halves of the rows, as nearly as may be, with equal rows on one side.

    Distinct rows are taken in random order while they fit into a half; which side that is, is left
    to chance as well, since rows that occur very often may never fit.

    Examples
    --------
    >>> import numpy as np
    >>> rows = distinct_rows(np.array([[1.0], [2.0], [1.0], [3.0], [3.0], [1.0]]))
    >>> sorted(sorted(side.tolist()) for side in split(rows, np.random.default_rng(0)))
    [[0, 2, 5], [1, 3, 4]]
    """
    order, counts = rng.permutation(rows.n_distinct), rows.counts.tolist()
    taken, room = np.zeros(rows.n_distinct, dtype=bool), rows.n_rows // 2
    for i in order.tolist():
        if counts[i] <= room:
            taken[i] = True
            room -= counts[i]
            if not room:
                break
    if rng.random() < 0.5:
        taken = ~taken
    # in random order too, and equal rows beside each other: searches break ties by it
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    by_rank = np.argsort(rank[rows.place], kind="stable")
    side = taken[rows.place[by_rank]]
    return by_rank[side], by_rank[~side]
