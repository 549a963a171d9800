"""Flags that say which cells are missing, each weighing once.

Columns that are missing together (a questionnaire's page that was skipped) would have as many equal
flags as columns, and PCA would see little else. So flags that are equal, or nearly, become one; and
a flag varies no more than any of the columns that it speaks for.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from leftout.tables.encoding import Floats, Read

# Flags whose correlation (phi) is as large as this say the same.
SAME = 0.95
# Flags that hold more of the table's variance than this are worth a word.
LARGE = 0.2
# Cells of flags that are compared at a time; of larger tables, rows evenly spaced.
_MOST = 1 << 28


class Flag(NamedTuple):
    """One feature that says where columns are missing: their mean, times a weight."""

    places: tuple[int, ...]  # of the columns, the first gives it its place
    name: str
    weight: float

    def read(self, columns: Mapping[int, Read]) -> Floats:
        """Of each row, the share of these columns that is missing, weighed."""
        gaps = np.stack([columns[place].missing for place in self.places])
        return np.asarray(self.weight * gaps.mean(axis=0))


def merged(columns: Mapping[int, Read], names: Sequence[str]) -> list[Flag]:
    """The flags of columns with gaps, by their places in the table.

    A column joins the first flag before it whose first column's gaps are nearly its own.
    """
    flags = []
    for places in _alike(columns):
        flag = Flag(places, _called([names[place] for place in places]), 1.0)
        spread = float(flag.read(columns).var())
        most = min(_spread(columns[place]) for place in places)
        flags.append(flag._replace(weight=min(1.0, float(np.sqrt(most / spread)))))
    return flags


def counted(
    places: Sequence[int],
    together: NDArray[np.int64],
    n_rows: int,
    spreads: Mapping[int, float],
    names: Sequence[str],
) -> list[Flag]:
    """The same flags, where the rows are elsewhere.

    Parameters
    ----------
    places : sequence of int
        Of the columns with gaps.
    together : array of shape (k, k)
        Rows in which two of these columns are missing at once.
    n_rows : int
    spreads : mapping
        The variance of each column's features, by its place.
    names : sequence of str
        Of all columns.
    """
    share = together / n_rows
    alone = np.diag(share)
    covariance = share - np.outer(alone, alone)
    sizes = np.sqrt(np.diag(covariance))
    phi = covariance / np.where(sizes > 0.0, sizes, 1.0)[:, None] / np.where(sizes > 0, sizes, 1.0)
    every = np.diag(together)
    equal = (together == every) & (together == every[:, None])
    flags = []
    for group in _grouped(np.where(equal, 1.0, phi)):
        members = tuple(sorted(places[here] for here in group))
        spread = float(covariance[np.ix_(group, group)].mean())
        most = min(spreads[place] for place in members)
        weight = min(1.0, float(np.sqrt(most / spread)))
        flags.append(Flag(members, _called([names[place] for place in members]), weight))
    return flags


def _spread(column: Read) -> float:
    """The variance of a column's features; of one that says nothing else, of its gaps."""
    return float(column.values.var(axis=0).sum()) if column.values.size else column.missing.var()


def _alike(columns: Mapping[int, Read]) -> list[tuple[int, ...]]:
    """Places of columns that are missing together, in the table's order."""
    equal: dict[bytes, list[int]] = {}
    for place, column in columns.items():
        equal.setdefault(np.packbits(column.missing).tobytes(), []).append(place)
    first = [places[0] for places in equal.values()]
    if not first:
        return []
    gaps = np.stack([columns[place].missing for place in first])
    step = -(-gaps.size * len(first) // _MOST)
    phi = _correlations(gaps[:, ::step].astype(np.float32))
    each = list(equal.values())
    return [
        tuple(sorted(place for here in group for place in each[here])) for group in _grouped(phi)
    ]


def _grouped(phi: NDArray[np.floating]) -> list[list[int]]:
    """Places of flags that say the same as the first of them."""
    groups: list[list[int]] = []
    for here in range(len(phi)):
        home = next((group for group in groups if phi[group[0], here] >= SAME), None)
        if home is None:
            groups.append([here])
        else:
            home.append(here)
    return groups


def _correlations(gaps: NDArray[np.float32]) -> NDArray[np.float32]:
    gaps = gaps - gaps.mean(axis=1, keepdims=True)
    lengths = np.sqrt(np.square(gaps).sum(axis=1, keepdims=True))
    gaps /= np.where(lengths > 0.0, lengths, 1.0)
    return gaps @ gaps.T


def _called(names: Sequence[str]) -> str:
    if len(names) == 1:
        return f"{names[0]} is missing"
    others = names[1] if len(names) == 2 else f"{len(names) - 1} others"
    return f"{names[0]} and {others} are missing"
