"""Columns as cells of rows: values, or intervals of a number with many, and what is missing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from leftout.data.columns import Column

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# Rows that candidates are looked for in; what is found there is judged on all rows.
CANDIDATE_ROWS = 8_000
# A number is cut into so many intervals, or fewer, so that each holds some rows.
_INTERVALS, _HELD = 64, 20


class BinnedRows(NamedTuple):
    """Columns as cells of rows: one line for each column, cells counted on from line to line."""

    codes: Ints
    starts: Ints  # each line's first cell
    widths: Ints  # how many it has
    numeric: Ints  # lines that are numbers
    ranks: Floats  # of those, from -1/2 to 1/2, missing ones in the middle

    @property
    def many(self) -> int:
        return int(self.widths.sum())


def sampled(rows: Ints, size: int = CANDIDATE_ROWS) -> Ints:
    """A row from each of so many stretches of equal length, the same ones every time."""
    if len(rows) <= size:
        return rows
    edges = np.linspace(0.0, len(rows), size + 1)
    within = np.random.default_rng(0).random(size)
    return rows[(edges[:-1] + within * np.diff(edges)).astype(np.int64)]


def ranked(values: Floats) -> tuple[Floats, Ints, Ints]:
    """Of each line: ranks from -1/2 to 1/2 (NaN where missing), places among values, their number.

    Equal values have the middle of their ranks.
    """
    at, count = np.arange(values.shape[1]), values.shape[1]
    order = np.argsort(values, axis=1)
    ordered = np.take_along_axis(values, order, axis=1)
    fresh = np.ones(values.shape, dtype=bool)
    fresh[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    first = np.maximum.accumulate(np.where(fresh, at, 0), axis=1)
    ends = np.ones_like(fresh)
    ends[:, :-1] = fresh[:, 1:]
    last = np.minimum.accumulate(np.where(ends, at, count)[:, ::-1], axis=1)[:, ::-1]
    gaps = np.isnan(ordered)
    known = count - gaps.sum(axis=1)
    middle = (first + last + 1) / (2.0 * np.maximum(known, 1)[:, None]) - 0.5
    middle[gaps] = np.nan
    place = np.cumsum(fresh, axis=1) - 1
    ranks, places = np.empty_like(middle), np.empty_like(place)
    np.put_along_axis(ranks, order, middle, axis=1)
    np.put_along_axis(places, order, place, axis=1)
    return ranks, places, np.where(gaps, 0, place + 1).max(axis=1)


def cells_of(columns: Sequence[Column], rows: Ints) -> BinnedRows:
    """The cells that columns cut some rows into."""
    codes = np.empty((len(columns), len(rows)), dtype=np.int64)
    widths = np.empty(len(columns), dtype=np.int64)
    numeric = np.array([i for i, c in enumerate(columns) if c.categories is None], dtype=np.int64)
    ranks = np.empty((0, len(rows)))
    if len(numeric):
        values = np.stack([columns[line].values[rows] for line in numeric])
        ranks, codes[numeric], widths[numeric] = _intervals(values)
    for line, column in enumerate(columns):
        if column.categories is not None:
            codes[line], widths[line] = compact(column.values[rows], len(column.categories))
    starts = np.cumsum(widths) - widths
    return BinnedRows(codes + starts[:, None], starts, widths, numeric, ranks)


def compact(values: NDArray[Any], count: int) -> tuple[Ints, int]:
    """Codes of those categories that occur, and their number; missing ones have the last."""
    held = np.where(values < 0, count, values)
    here = np.bincount(held, minlength=count + 1) > 0
    return (np.cumsum(here) - 1)[held], int(here.sum())


def _intervals(values: Floats) -> tuple[Floats, Ints, Ints]:
    """Ranks, cells and the number of cells of numbers: their values, or intervals of ranks."""
    ranks, places, distinct = ranked(values)
    gaps = np.isnan(ranks)
    ranks[gaps] = 0.0
    cuts = int(np.clip(values.shape[1] // _HELD, 2, _INTERVALS))
    # to the nearest, so that a number and its negative are cut alike
    cut = np.rint(ranks * cuts).astype(np.int64) + cuts // 2 + 1
    codes = np.where((distinct <= cuts)[:, None], places, cut)
    widths = np.where(distinct <= cuts, distinct, cuts + 3)
    codes = np.where(gaps, widths[:, None], codes)
    share = 1.0 - gaps.mean(axis=1, keepdims=True)
    return ranks * share + np.sign(ranks) * (1.0 - share) / 2.0, codes, widths + 1
