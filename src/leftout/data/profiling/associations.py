"""How well one column alone tells another, on rows that it was not fitted on.

A cell's rate in one half of its rows scores the other half. Rows are dealt to the halves by tossed
coins, always the same ones, cells of equal counts one after the other: so what comes out depends on
the counts alone, not on the order or names of anything. A value that occurs once tells nothing, and
what names rows tells nothing by accident.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import rankdata

from leftout.data.columns import Column
from leftout.data.roles import levels_of, value_of

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# A number is cut into so many intervals, or fewer, so that each holds some rows.
_INTERVALS, _HELD = 64, 20
# Of a column with more values, the most frequent are asked for.
_MOST = 20
# So many rows have the overall rate in every cell.
_SMOOTH = 1.0
# A cell is settled if so much of it has one value, other rows are so much oftener off, and as many
# of them would all have it so rarely.
_PURE, _OFTENER, _ACCIDENT = 0.99, 10.0, 1e-4


class AssociationRule(NamedTuple):
    """What counts as telling."""

    area: float  # under the curve of a value against all others; the mean of all values
    alone: float  # the same of one of several values
    part: float  # of all rows that such a value must have
    explained: float  # share of the variance of a number's ranks
    rows: int  # that have a value, and that do not
    settled: float  # share of rows in cells that nearly all have one value

    def strength(self, areas: Floats, shares: Floats) -> tuple[float, int]:
        """The area that counts, 0 if none does, and its value; -1 for all of them."""
        overall = float(areas @ (shares / shares.sum()))
        if overall >= self.area:
            return overall, -1
        alone = np.where((shares >= self.part) & (areas >= self.alone), areas, 0.0)
        return float(alone.max()), int(alone.argmax())


@dataclass(frozen=True)
class AssociationTarget:
    """What is to be told: one of several values, or a number."""

    rows: Ints  # those where it is known
    names: list[str | None]  # of the values that are asked for
    codes: Ints | None  # of values; the last for all that are not asked for
    ranks: Floats | None  # of numbers

    @classmethod
    def of(cls, column: Column, positive: Any = None) -> AssociationTarget:
        """What a column asks others to tell; where ``positive`` is given, that value alone."""
        rows = np.flatnonzero(~column.missing)
        values = column.values[rows]
        if positive is not None:
            level = (levels_of(column, positive) or [])[0]
            codes = (values != level).astype(np.int64)
            return cls(rows, [value_of(column, level)], codes, None)
        if column.categories is None:
            return cls(rows, [], None, centred_ranks(values))
        counts = np.bincount(values, minlength=len(column.categories))
        frequent = np.sort(np.argsort(-counts, kind="stable")[:_MOST])
        frequent = frequent[counts[frequent] > 0]
        names: list[str | None] = [column.categories[code] for code in frequent]
        if len(names) == 2 and (counts > 0).sum() == 2:  # who tells the rarer one tells the other
            frequent, names = frequent[[np.argmin(counts[frequent])]], [None]
        place = np.full(len(counts), len(frequent))
        place[frequent] = np.arange(len(frequent))
        return cls(rows, names, place[values], None)


class Association(NamedTuple):
    """How well a column tells a target: one of its values, or (None) all of it."""

    strength: float
    measure: str
    value: str | None


class RowCells(NamedTuple):
    """A column as cells of rows: values, or intervals of a number with many, and what is missing.

    Ranks are those of a number, from -1/2 to 1/2, missing ones in the middle.
    """

    codes: Ints
    n_cells: int
    ranks: Floats | None

    @classmethod
    def of(cls, column: Column, rows: Ints) -> RowCells:
        """The cells that a column cuts some rows into."""
        values = column.values[rows]
        codes, n_cells = value_codes(column, rows)
        if column.categories is not None:
            return cls(codes, n_cells, None)
        gaps = np.isnan(values)
        ranks = np.where(gaps, 0.0, centred_ranks(values))
        n_cells -= bool(gaps.any())
        cuts = int(np.clip(len(values) // _HELD, 2, _INTERVALS))
        if n_cells > cuts:  # to the nearest, so that a number and its negative are cut alike
            codes, n_cells = np.rint(ranks * cuts).astype(np.int64) + cuts // 2 + 1, cuts + 3
        share = 1.0 - gaps.mean()
        ranks = ranks * share + np.sign(ranks) * (1.0 - share) / 2.0
        return cls(np.where(gaps, n_cells, codes), n_cells + 1, ranks)


def sampled(rows: Ints, size: int) -> Ints:
    """A row from each of so many stretches of equal length, the same ones every time."""
    if len(rows) <= size:
        return rows
    edges = np.linspace(0.0, len(rows), size + 1)
    within = np.random.default_rng(0).random(size)
    return rows[(edges[:-1] + within * np.diff(edges)).astype(np.int64)]


def centred_ranks(values: Floats) -> Floats:
    """Ranks from -1/2 to 1/2, equal values in the middle of theirs; NaN where missing."""
    known = np.count_nonzero(~np.isnan(values))
    return (rankdata(values, nan_policy="omit") - 0.5) / max(known, 1) - 0.5


def value_codes(column: Column, rows: NDArray[Any]) -> tuple[Ints, int]:
    """Codes of the values that occur in some rows, missing ones last, and their number."""
    values = column.values[rows]
    if column.categories is not None:
        values = np.where(values < 0, len(column.categories), values)
    codes, distinct = pd.factorize(values, sort=True, use_na_sentinel=False)
    return codes, len(distinct)


def associations(
    columns: Sequence[Column], targets: Sequence[AssociationTarget], rule: AssociationRule
) -> Iterator[tuple[int, int, Association]]:
    """Which columns tell which targets, by their places, and how well."""
    for line, column in enumerate(columns):
        shared: RowCells | None = None  # by targets that are known in all rows
        for at, target in enumerate(targets):
            if len(target.rows) < 2 * rule.rows:
                continue
            if len(target.rows) == len(column):
                shared = shared or RowCells.of(column, target.rows)
                cells = shared
            else:
                cells = RowCells.of(column, target.rows)
            measure = _rank_association if target.codes is None else _class_association
            told = measure(cells, target, rule)
            if told is not None:
                yield line, at, told


def _class_association(
    cells: RowCells, target: AssociationTarget, rule: AssociationRule
) -> Association | None:
    """How values are told, one against all others: by the rates of cells, or in order."""
    assert target.codes is not None
    n, width = len(target.rows), len(target.names) + 1
    sizes = np.bincount(target.codes, minlength=width)
    asked = [code for code in range(width - 1) if rule.rows <= sizes[code] <= n - rule.rows]
    if not asked:
        return None
    flat = np.bincount(cells.codes * width + target.codes, minlength=width * cells.n_cells)
    counts = flat.reshape(-1, width)
    settled = _settled(counts, sizes / n)
    total, counts, sizes = counts.sum(axis=1), counts[:, asked], sizes[asked]
    # two distributions that overlap by s are told apart with an area of at most 1 - s^2 / 2
    apart = np.abs(counts / sizes - (total[:, None] - counts) / (n - sizes))
    most = 1.0 - (1.0 - apart.sum(axis=0) / 2.0) ** 2 / 2.0
    in_order = np.zeros(len(asked))
    if cells.ranks is not None:
        sums = np.bincount(target.codes, cells.ranks, minlength=width)
        own = sums[asked]
        in_order = 0.5 + np.abs(own / sizes - (sums.sum() - own) / (n - sizes))
    if rule.strength(np.maximum(most, in_order), sizes / n)[0] > 0.0 or settled >= rule.settled:
        areas = np.array([cross_fitted_auc(yes, total - yes) for yes in counts.T])
        strength, which = rule.strength(np.maximum(areas, in_order), sizes / n)
        if strength > 0.0:
            value = None if which < 0 and len(asked) > 1 else target.names[asked[which]]
            return Association(strength, "AUC", value)
    return Association(settled, "settled", None) if settled >= rule.settled else None


def _settled(counts: Ints, shares: Floats) -> float:
    """The share of rows that are in cells of nearly one value, and not by accident."""
    total, share = counts.sum(axis=1), shares[counts.argmax(axis=1)]
    off = total - counts.max(axis=1)
    settled = off <= total * np.minimum(1.0 - _PURE, (1.0 - share) / _OFTENER)
    with np.errstate(divide="ignore"):
        settled &= total * np.log(share) <= np.log(_ACCIDENT)
    return float(total[settled].sum() / total.sum())


def cross_fitted_auc(yes: Ints, no: Ints) -> float:
    """The area under the curve of cells' rates, where either half of a cell has the other's.

    Parameters
    ----------
    yes, no : arrays of shape (n_cells,)
        Rows of each cell that have the value asked for, and those that do not.

    Examples
    --------
    >>> import numpy as np
    >>> cross_fitted_auc(np.array([50, 0]), np.array([0, 50]))
    1.0
    >>> cross_fitted_auc(np.array([1, 0, 1]), np.array([0, 1, 0]))  # a name for each row
    0.5
    """
    prior = yes.sum() / (yes.sum() + no.sum())
    order = np.lexsort((no, yes))
    yes, no = yes[order], no[order]
    first = _first_half(yes, 0), _first_half(no, 1)
    halves = [first, (yes - first[0], no - first[1])]
    rates = [(y + _SMOOTH * prior) / (y + n + _SMOOTH) for y, n in reversed(halves)]
    # rates that are equal but for rounding are equal
    places = np.unique(np.concatenate(rates).round(12), return_inverse=True)[1]
    yes, no = (np.bincount(places, np.concatenate(half)) for half in zip(*halves, strict=True))
    below = np.cumsum(no) - no / 2.0
    return float(yes @ below / (yes.sum() * no.sum()))


def _first_half(rows: Ints, seed: int) -> Ints:
    """How many of each cell's rows a coin puts first; the coins are always the same."""
    last = np.cumsum(rows)
    coins = np.random.default_rng(seed).integers(0, 2, int(last[-1]))
    heads = np.concatenate([[0], np.cumsum(coins)])
    return heads[last] - heads[last - rows]


def _rank_association(
    cells: RowCells, target: AssociationTarget, rule: AssociationRule
) -> Association | None:
    """How a number's ranks are told: by the means of cells, or in order."""
    y = target.ranks
    assert y is not None
    spread = y @ y
    if spread == 0.0:
        return None
    if cells.ranks is not None and (size := cells.ranks @ cells.ranks) > 0.0:
        in_order = float(cells.ranks @ y / np.sqrt(size * spread))
        if in_order**2 >= rule.explained:
            return Association(in_order, "Spearman", None)
    by_cell = float(1.0 - leave_one_out_errors(cells, y) / spread)
    return Association(by_cell, "R2", None) if by_cell >= rule.explained else None


def leave_one_out_errors(cells: RowCells, y: Floats) -> float:
    """The sum of squared errors where each row has the mean of the others in its cell.

    Of a cell with n rows, sum s and mean square q / n, smoothed by a rows of mean 0, row i is off
    by (y_i (n + a) - s) / (n - 1 + a).
    """
    n, s, q = (np.bincount(cells.codes, weights) for weights in (None, y, y * y))
    full = n + _SMOOTH
    off = (full**2 * q - 2.0 * full * s**2 + n * s**2) / np.maximum(full - 1.0, 1.0) ** 2
    return float(off.sum())
