"""Columns cut into bins that have a name: intervals of numbers, values of categories."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import ROUND_FLOOR, Decimal
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import mutual_info_score

from leftout.compiling import kernel
from leftout.tables.columns import EXACT, Column
from leftout.tables.conditions import Condition, Mask
from leftout.wording import as_name

# Cut points per column where a sentence is looked for, or what a column tells.
FINE = 16


@dataclass(frozen=True)
class Cut:
    """A column cut into bins: a number's are intervals in rising order, a category's its values.

    Rows where the column is missing are in a bin after all others, if there are any.
    """

    column: Column
    codes: NDArray[np.int32]  # the bin of each row
    n_known: int
    has_missing: bool
    firsts: NDArray[np.float64]  # of a number: the smallest value of each bin
    lasts: NDArray[np.float64]  # and the largest

    @property
    def n_bins(self) -> int:
        return self.n_known + self.has_missing

    def condition(self, start: int, stop: int | None = None) -> Condition:
        """What holds for the rows in the bins from ``start`` to before ``stop``."""
        stop = start + 1 if stop is None else stop
        column, name = self.column, as_name(self.column.name)
        if start == self.n_known:
            return Condition(column.name, "missing", f"{name} is missing")
        if start == 0 and stop == self.n_known and stop > 1:
            return Condition(column.name, "known", f"{name} is known")
        if column.categories is not None:
            value = column.show(start)
            return Condition(column.name, "=", f"{name} = {value}", column.value(start))
        if self.firsts[start] == self.lasts[stop - 1]:
            only = float(self.firsts[start])
            return Condition(column.name, "=", f"{name} = {column.show(only)}", only)
        low = self._threshold(start) if start else None
        high = self._threshold(stop) if stop < self.n_known else None
        if low is None:
            text = f"{name} < {column.show(high)}"
        elif high is None:
            text = f"{name} >= {column.show(low)}"
        else:
            text = f"{column.show(low)} <= {name} < {column.show(high)}"
        return Condition(column.name, "range", text, low=low, high=high, dates=column.dates)

    def other_than(self, code: int) -> Condition:
        """What holds for all rows but a category's, or a single value's."""
        only = self.condition(code)
        name = as_name(self.column.name)
        if only.op == "missing":
            return Condition(only.column, "known", f"{name} is known")
        text = f"{name} != {self.column.show(code if self.column.categories else only.value)}"
        return Condition(only.column, "!=", text, only.value)

    def tells(self, group: Mask) -> float:
        """What the bins tell of a group, in nats per row, less what chance gives (Miller)."""
        counts = [np.bincount(self.codes[side], minlength=self.n_bins) for side in (group, ~group)]
        told = mutual_info_score(None, None, contingency=np.stack(counts))
        return float(told) - (np.count_nonzero(np.sum(counts, axis=0)) - 1) / (2 * len(group))

    def _threshold(self, code: int) -> float:
        low, high = float(self.lasts[code - 1]), float(self.firsts[code])
        return between_dates(low, high) if self.column.dates else between(low, high)


class Span(NamedTuple):
    """Bins of a cut that one condition covers."""

    start: int
    stop: int
    all_but: bool = False  # every bin but this one

    def holds(self, n_bins: int) -> Mask:
        """For which bins."""
        places = np.arange(n_bins)
        return ((places >= self.start) & (places < self.stop)) != self.all_but

    def is_range(self, cut: Cut) -> bool:
        return cut.column.categories is None and not self.all_but and self.stop <= cut.n_known

    def condition(self, cut: Cut) -> Condition:
        return cut.other_than(self.start) if self.all_but else cut.condition(self.start, self.stop)


def between(low: float, high: float) -> float:
    """A number above ``low`` and not above ``high``: it cuts just as ``high`` does but reads well.

    Whole numbers stay what they are; of others, the one with the fewest digits.
    """
    if not np.isfinite(low) or not np.isfinite(high) or high == int(high) and abs(high) < EXACT:
        return high
    exact = Decimal(repr(high))
    for place in range(exact.adjusted() + 1, exact.adjusted() - 17, -1):
        # of the numbers with that many digits, the largest that is not above
        short = float(exact.quantize(Decimal(1).scaleb(place), ROUND_FLOOR))
        if low < short <= high:
            return short
    return high


def between_dates(low: float, high: float) -> float:
    """The same for dates: a day, an hour, a minute or a second if one begins there."""
    for unit in ("D", "h", "m", "s"):
        begun = np.datetime64(int(high), "us").astype(f"M8[{unit}]")
        short = float(begun.astype("M8[us]").astype(np.int64))
        if low < short <= high:
            return short
    return high


def cut(column: Column, n_bins: int, group: Mask | None = None) -> Cut:
    """Cut a column; numbers into at most ``n_bins`` intervals of about equally many rows.

    A value that fills an interval by itself gets one; the others share what is left. With a
    ``group``, its rows weigh as much as all the others, so that cuts are dense where it lives.
    """
    if column.categories is not None:
        place, n = column.values, len(column.categories)
        firsts = lasts = np.empty(0)
        has_missing = bool(place.min() < 0)
    else:
        distinct, counts, place = column.tabulated
        n, firsts, lasts = len(distinct), distinct, distinct
        has_missing = bool(counts.sum() < len(place))
        if n > n_bins:
            weights = counts / counts.sum()
            if group is not None:
                inside = np.bincount(place[group & (place >= 0)], minlength=n)
                weights += inside / max(1, int(inside.sum()))
            starts = _starts(weights, n_bins)
            stops = np.append(starts[1:], n)
            n, firsts, lasts = len(starts), distinct[starts], distinct[stops - 1]
            bins = np.repeat(np.arange(n + 1, dtype=np.int32), np.append(stops - starts, 1))
            place = bins[place]  # missing, at -1, goes to the last
    if has_missing:
        place = np.where(place < 0, n, place)
    return Cut(column, place.astype(np.int32, copy=False), n, has_missing, firsts, lasts)


@kernel
def _starts(weights: NDArray[np.float64], n_bins: int) -> NDArray[np.intp]:
    """Where bins begin among the distinct values: equal parts of the weight not yet in a bin."""
    n = len(weights)
    starts = np.zeros(n_bins, dtype=np.intp)
    left, stop, made = weights.sum(), 0, 0
    while made < n_bins and stop < n:
        starts[made] = stop
        made += 1
        goal = left / (n_bins - made + 1)
        taken = weights[stop]
        stop += 1
        while stop < n and taken + weights[stop] - goal <= goal - taken:
            taken += weights[stop]
            stop += 1
        left -= taken
    return starts[:made]
