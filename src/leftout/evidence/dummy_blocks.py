"""What is drawn in one piece: a number, or a category, whose levels are columns.

Columns of two values that exclude each other, such as the levels of a category, have a correlation
that says so: no other table has it. So they are drawn together, a level for each row, and every
table is one of people who are in one level each. (Where a category is unknown, its columns may all
have a value between these two; whose it is, is left over when all levels are taken.)
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from leftout.linalg.distinct import IntArray
from leftout.linalg.losses import Array

# Numbers of so few values need not be sorted: it is enough to know which rows have which.
FEW_VALUES = 8

Real = NDArray[np.floating[Any]]


class DummyBlock(NamedTuple):
    """Columns that are drawn together."""

    columns: IntArray
    by_level: IntArray  # (m,): the rows of the table, a number's by rising value, or level by level
    sizes: IntArray | None  # how many rows are in each level; None: a number
    steps: IntArray | None  # where the sorted values of a number change, if they are few

    def ordered(self, latent: Real) -> IntArray:
        """Drawn rows in the order of ``by_level``, by a latent value for each column."""
        if self.sizes is not None:
            return _by_level(latent, self.sizes)
        if self.steps is None:
            return np.argsort(latent[0])
        return np.argpartition(latent[0], self.steps)


def _by_level(latent: Real, sizes: IntArray) -> IntArray:
    """Each level in turn takes the rows, of those that are left, whose latent value is highest."""
    rest = np.arange(latent.shape[1])
    chosen = []
    for values, size in zip(latent, sizes.tolist(), strict=True):
        if size < len(rest):
            rest = rest[np.argpartition(values[rest], len(rest) - size)]
        chosen.append(rest[len(rest) - size :])
        rest = rest[: len(rest) - size]
    return np.concatenate([*chosen, rest])


def find_dummy_blocks(X: Array) -> list[DummyBlock]:
    """The table's numbers and categories.

    Examples
    --------
    >>> kind = np.array([0, 2, 1, 0, 2])
    >>> X = np.column_stack([kind == 0, np.arange(5), kind == 1, kind == 2])
    >>> [unit.columns.tolist() for unit in find_dummy_blocks(X)]
    [[0, 2, 3], [1]]
    """
    columns, low, high = np.arange(X.shape[1]), X.min(axis=0), X.max(axis=0)
    between = (low < X) & (X < high)
    unknown = [np.packbits(rows).tobytes() for rows in between.T]
    levels = np.flatnonzero([low[j] < high[j] and _one_value(X[between[:, j], j]) for j in columns])
    on = (X[:, levels] == high[levels]).astype(np.float32)
    together = on.T @ on
    categories: list[list[int]] = []
    for place, j in enumerate(levels):
        for each in categories:
            if unknown[levels[each[0]]] == unknown[j] and not together[place, each].any():
                each.append(place)
                break
        else:
            categories.append([place])
    units, numbers = [], np.setdiff1d(columns, levels).tolist()
    for each in categories:
        if len(each) == 1 and between[:, levels[each[0]]].any():
            numbers.append(int(levels[each[0]]))  # of three values
            continue
        level = np.where(on[:, each].any(axis=1), on[:, each].argmax(axis=1), len(each))
        sizes = np.bincount(level, minlength=len(each))[: len(each)]
        level += between[:, levels[each[0]]]
        units.append(DummyBlock(levels[each], np.argsort(level, kind="stable"), sizes, None))
    for j in numbers:
        order = np.argsort(X[:, j], kind="stable")
        changes = np.flatnonzero(np.diff(X[order, j]))
        few = 0 < len(changes) < FEW_VALUES
        units.append(DummyBlock(np.array([j]), order, None, changes if few else None))
    return sorted(units, key=lambda unit: int(unit.columns[0]))


def _one_value(values: Array) -> bool:
    return len(values) == 0 or bool(np.all(values == values[0]))
