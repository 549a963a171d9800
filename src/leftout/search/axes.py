"""Conditions that a column offers, and the bins of rows that each takes in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import block_diag

from leftout.core.losses import Array
from leftout.tables.columns import Column
from leftout.tables.conditions import Condition, Mask
from leftout.tables.cuts import Cut, Span, cut

# Intervals that a column of numbers is cut into.
BINS = 4
# How hard a condition is to read: of names for the same rows, the easiest counts.
_EASE = {"=": 0, "missing": 0, "range": 1, "!=": 2, "known": 2}


@dataclass(frozen=True)
class Axis:
    """A column cut into bins, with the conditions that are looked at.

    A category offers its values, and all but one of them; numbers every run of their intervals; and
    either that they are missing. Conditions that hold for nearly all or hardly any row are not
    among them.
    """

    cut: Cut
    spans: tuple[Span, ...]
    codes: NDArray[np.intp]  # the bin of each row; bins that no condition tells apart are one
    sums: Array  # which bins each condition takes in: (conditions, bins), 0 or 1

    @classmethod
    def of(cls, column: Column, bins: int, smallest: int) -> Axis:
        made = cut(column, bins)
        counts = np.bincount(made.codes, minlength=made.n_bins)
        rows = len(made.codes)
        kept = [
            span
            for span in _spans(made)
            if smallest <= counts[span.holds(made.n_bins)].sum() <= rows - smallest
        ]
        held = np.array([span.holds(made.n_bins) for span in kept], dtype=np.float64)
        held = held.reshape(len(kept), made.n_bins)
        sums, pooled = np.unique(held, axis=1, return_inverse=True)
        return cls(made, tuple(kept), pooled.ravel()[made.codes].astype(np.intp), sums)

    @property
    def n_bins(self) -> int:
        return self.sums.shape[1]

    def condition(self, place: int) -> Condition:
        return self.spans[place].condition(self.cut)

    @cached_property
    def ease(self) -> list[float]:
        """How easily each condition reads, the lower the better: a second bound counts half."""
        every = [self.condition(place) for place in range(len(self.spans))]
        return [_EASE[c.op] + 0.5 * (c.low is not None and c.high is not None) for c in every]

    def take(self, rows: NDArray[np.intp]) -> Axis:
        """The same axis on some of the rows."""
        made = replace(self.cut, column=self.cut.column.take(rows), codes=self.cut.codes[rows])
        return replace(self, cut=made, codes=self.codes[rows])

    def mask(self, place: int) -> Mask:
        """The rows for which a condition holds."""
        return self.sums[place].astype(bool)[self.codes]


def _spans(made: Cut) -> list[Span]:
    known, bins = made.n_known, made.n_bins
    if made.column.categories is not None:
        alone = [Span(start, start + 1) for start in range(bins)]
        return alone + [Span(s, s + 1, True) for s in range(bins)] * (bins > 2)
    runs = [Span(a, b) for a in range(known) for b in range(a + 1, known + 1)]
    return runs + [Span(known, bins)] * made.has_missing


def axes_of(columns: list[Column], bins: int, smallest: int) -> list[Axis]:
    """The columns that offer any condition, cut."""
    axes = [Axis.of(column, bins, smallest) for column in columns]
    return [axis for axis in axes if axis.spans]


class Conditions(NamedTuple):
    """The conditions of all columns, and the bins of all columns that each takes in."""

    codes: NDArray[np.intp]  # (columns, rows): bins, numbered through
    first: NDArray[np.intp]  # of each column's bins, and the end
    axis: NDArray[np.intp]  # the column of each condition
    span: NDArray[np.intp]  # which of its conditions
    taken: NDArray[np.bool_]  # (conditions, bins)
    held: Array  # the same as numbers

    @classmethod
    def of(cls, axes: Sequence[Axis]) -> Conditions:
        first = np.cumsum([0, *(axis.n_bins for axis in axes)])
        held = block_diag(*(axis.sums for axis in axes))
        spans = [len(axis.spans) for axis in axes]
        return cls(
            np.stack([axis.codes + start for axis, start in zip(axes, first, strict=False)]),
            first,
            np.repeat(np.arange(len(axes)), spans),
            np.concatenate([np.arange(count) for count in spans]),
            held > 0.5,
            held,
        )

    @property
    def n_bins(self) -> int:
        return int(self.first[-1])
