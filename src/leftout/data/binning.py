"""Columns cut into bins that have a name, and the conditions on them that a search looks at.

A condition holds for some of a column's bins: a value, or all but one; an interval; what is
missing. Rules, sentences and named groups differ in the conditions that they ask of a column and in
what they count of their rows; how a column is cut, counted and put into words is the same. The
groups of a known column are such bins, the rare values of a long category pooled.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from decimal import ROUND_FLOOR, Decimal
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import mutual_info_score

from leftout.data.cleaning import clean_all
from leftout.data.columns import LARGEST_EXACT, Column, column_of, columns_of
from leftout.data.conditions import Condition, Mask
from leftout.data.frames import as_array, as_frame
from leftout.errors import InputError
from leftout.running import warn
from leftout.text import as_name, counted, shortened

Array = NDArray[np.float64]
Places = NDArray[np.intp]

# Pairs are counted in blocks of so many cells, which fit into a cache: single precision counts
# exactly there.
_BLOCK, _FEWEST_ROWS = 1 << 18, 256
# Cut points per column where a sentence is looked for, or what a column tells.
FINE = 16
# Numbers of up to this many values are groups by value; others are cut into bands.
_FEW = 8
# Categories of more values: the frequent ones are groups, up to as many; the others are one.
_MANY = 50


class Span(NamedTuple):
    """Bins of a column that one condition covers."""

    start: int
    stop: int
    all_but: bool = False  # every bin but these

    def holds(self, n_bins: int) -> Mask:
        """For which bins."""
        places = np.arange(n_bins)
        return ((places >= self.start) & (places < self.stop)) != self.all_but


@dataclass(frozen=True)
class BinnedColumn:
    """A column cut into bins: a number's are intervals in rising order, a category's its values.

    Rows where the column is missing are in a bin after all others, if there are any. A column that
    offers conditions has ``spans``, one for each, and bins that no condition tells apart are one.
    """

    column: Column
    codes: NDArray[np.int32]  # the bin of each row
    n_known: int
    has_missing: bool
    firsts: NDArray[np.float64]  # of a number: the smallest value of each bin
    lasts: NDArray[np.float64]  # and the largest
    members: Mask  # the bins of each condition: (conditions, bins)
    spans: tuple[Span, ...] = ()

    @property
    def n_bins(self) -> int:
        return self.members.shape[1]

    @property
    def is_category(self) -> bool:
        return self.column.categories is not None

    def with_conditions(self, spans: Iterable[Span]) -> BinnedColumn:
        """The same column with conditions to look at."""
        kept = tuple(spans)
        held = np.array([span.holds(self.n_bins) for span in kept], dtype=bool)
        members, pooled = np.unique(
            held.reshape(len(kept), self.n_bins), axis=1, return_inverse=True
        )
        codes = pooled.ravel().astype(np.int32)[self.codes]
        return replace(self, codes=codes, members=members, spans=kept)

    def offered(self, bins: Iterable[int] | None = None) -> list[Span]:
        """The conditions that it offers, simple ones first: of equals, the first is taken.

        A category offers its values, or those of some ``bins``, and all but one of them; numbers
        every run of their intervals; and either that they are missing.
        """
        n, missing = self.n_known, [Span(self.n_known, self.n_known + 1)] * self.has_missing
        if self.is_category:
            alone = [
                Span(code, code + 1) for code in (range(self.n_bins) if bins is None else bins)
            ]
            return alone + [span._replace(all_but=True) for span in alone if self.n_bins > 2]
        runs = [Span(i, j) for i in range(n) for j in range(i + 1, n + 1) if j - i < n]
        runs.sort(key=lambda run: 0 < run.start and run.stop < n)
        return runs + missing + [span._replace(all_but=True) for span in missing if n]

    def mask(self, place: int) -> Mask:
        """The rows for which a condition holds."""
        return self.members[place][self.codes]

    def take(self, rows: NDArray[np.intp]) -> BinnedColumn:
        """The same on some of the rows."""
        return replace(self, column=self.column.take(rows), codes=self.codes[rows])

    def condition(self, start: int, stop: int | None = None, all_but: bool = False) -> Condition:
        """What holds for the rows in the bins from ``start`` to before ``stop``: a span's words."""
        stop = start + 1 if stop is None else stop
        column, name = self.column, as_name(self.column.name)
        if start == self.n_known and not all_but:
            return Condition(column.name, "missing", f"{name} is missing")
        if start == self.n_known or start == 0 and stop == self.n_known and stop > 1:
            return Condition(column.name, "known", f"{name} is known")
        if column.categories is not None:
            op = "!=" if all_but else "="
            text = f"{name} {op} {column.show(start)}"
            return Condition(column.name, op, text, column.value(start))
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
        whole = not column.dates and bool(np.all(np.mod(column.tabulated[0], 1.0) == 0.0))
        return Condition(
            column.name, "range", text, low=low, high=high, dates=column.dates, whole=whole
        )

    def mutual_information(self, group: Mask) -> float:
        """What the bins tell of a group, in nats per row, less what chance gives (Miller)."""
        counts = [np.bincount(self.codes[side], minlength=self.n_bins) for side in (group, ~group)]
        told = mutual_info_score(None, None, contingency=np.stack(counts))
        return float(told) - (np.count_nonzero(np.sum(counts, axis=0)) - 1) / (2 * len(group))

    def _threshold(self, code: int) -> float:
        low, high = float(self.lasts[code - 1]), float(self.firsts[code])
        return between_dates(low, high) if self.column.dates else between(low, high)


def between(low: float, high: float) -> float:
    """A number above ``low`` and not above ``high``: it cuts just as ``high`` does but reads well.

    Whole numbers stay what they are; of others, the one with the fewest digits.
    """
    if not np.isfinite([low, high]).all() or high == int(high) and abs(high) < LARGEST_EXACT:
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
    units = (86_400e6, 3_600e6, 60e6, 1e6)  # in microseconds
    begun = (high // unit * unit for unit in units)
    return next((short for short in begun if short > low), high)


def bin_column(column: Column, n_bins: int, group: Mask | None = None) -> BinnedColumn:
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
            weights = counts.astype(np.int64)
            if group is not None:
                inside = np.bincount(place[group & (place >= 0)], minlength=n)
                weights = weights * max(1, int(inside.sum())) + inside * int(weights.sum())
            starts = _starts(weights, n_bins)
            stops = np.append(starts[1:], n)
            n, firsts, lasts = len(starts), distinct[starts], distinct[stops - 1]
            bins = np.repeat(np.arange(n + 1, dtype=np.int32), np.append(stops - starts, 1))
            place = bins[place]  # missing, at -1, goes to the last
    if has_missing:
        place = np.where(place < 0, n, place)
    codes = place.astype(np.int32, copy=False)
    members = np.empty((0, n + has_missing), dtype=bool)
    return BinnedColumn(column, codes, n, has_missing, firsts, lasts, members)


def _starts(weights: NDArray[np.int64], n_bins: int) -> NDArray[np.intp]:
    """Where bins begin among the distinct values: equal parts of the weight not yet in a bin.

    A value is in a bin if half of it, or more, is within that part; the first is in any case.
    """
    ends = np.concatenate([[0], np.cumsum(weights)])
    twice_middle = ends[:-1] + ends[1:]  # whole numbers: a tie is one on every machine
    starts, stop = list[int](), 0
    while len(starts) < n_bins and stop < len(weights):
        starts.append(stop)
        part = 2 * int(ends[-1] - ends[stop]) // (n_bins - len(starts) + 1)
        within = np.searchsorted(twice_middle, 2 * ends[stop] + part, side="right")
        stop = max(stop + 1, int(within))
    return np.array(starts, dtype=np.intp)


def most_informative(columns: list[Column], group: Mask, limit: int) -> list[Column]:
    """The columns that tell most about the group, in their order; all, if there are no more."""
    if len(columns) <= limit:
        return columns
    told = np.array(
        [bin_column(column, FINE, group).mutual_information(group) for column in columns]
    )
    return [columns[place] for place in largest(told, limit)]


def largest(values: NDArray[Any], limit: int) -> NDArray[np.intp]:
    """Places of the ``limit`` largest values, in rising order."""
    return np.sort(np.argsort(-values, kind="stable")[:limit])


class Indicators(NamedTuple):
    """The 0-1 matrix of rows by the bins of some columns, whose products count rows.

    It is never there as a whole: products add up blocks of rows.
    """

    codes: list[NDArray[np.int32]]  # the bin of each row, of each column
    places: list[Places]  # where each of a column's bins is among all; dropped ones at the end
    n_bins: int

    @classmethod
    def of(cls, columns: Sequence[BinnedColumn]) -> Indicators:
        starts = starts_of(columns)
        places = [np.arange(start, end) for start, end in pairwise(starts)]
        return cls([each.codes for each in columns], places, int(starts[-1]))

    def only(self, bins: Places) -> Indicators:
        """Some of the bins, numbered anew."""
        anew = np.full(self.n_bins + 1, len(bins))
        anew[bins] = np.arange(len(bins))
        return Indicators(self.codes, [anew[each] for each in self.places], len(bins))

    def counts(self, rows: Mask | None = None) -> Array:
        """Rows of each bin, all or some of them."""
        total = np.zeros(self.n_bins + 1)
        for codes, places in zip(self.codes, self.places, strict=True):
            inside = codes if rows is None else codes[rows]
            total[places] = np.bincount(inside, minlength=len(places))
        return total[:-1]

    def pairs(self, rows: Mask | None = None) -> Array:
        """Rows in which two bins meet, all or some of them: ``B' B``.

        O(m b^2) multiplications for ``b`` bins at the speed of BLAS, which is faster than a sparse
        product.
        """
        total, width = np.zeros((self.n_bins, self.n_bins)), self.n_bins + 1
        places = None if rows is None else np.flatnonzero(rows)
        n_rows = len(self.codes[0] if places is None else places) if self.codes else 0
        step = max(_FEWEST_ROWS, _BLOCK // width)
        for start in range(0, n_rows, step):
            block = slice(start, start + step) if places is None else places[start : start + step]
            parts = [codes[block] for codes in self.codes]
            B = np.zeros((len(parts[0]), width), dtype=np.float32)
            begins = np.arange(0, B.size, width)
            for part, bins in zip(parts, self.places, strict=True):
                B.reshape(-1)[begins + bins[part]] = 1.0
            B = B[:, :-1]
            total += B.T @ B
        return total


def starts_of(columns: Sequence[BinnedColumn]) -> Places:
    """Where each column's bins begin among all, and the end."""
    return np.cumsum([0, *(column.n_bins for column in columns)])


@dataclass(frozen=True)
class Stratum:
    """A column's groups: the one of each row, what each is called, and what holds for it."""

    name: str
    codes: NDArray[np.int32]
    labels: tuple[str, ...]
    conditions: tuple[Condition, ...]

    @property
    def single(self) -> bool:
        """Whether all rows are in one group."""
        return bool((self.codes == self.codes[0]).all())


def strata(column: Column, bands: int, smallest: int) -> Stratum:
    """The groups of a column; values are pooled where there are many.

    Of a category with more than 50 values those that ``smallest`` rows have are groups (50 at
    most), and all others are one; a note says so.
    """
    n_values = column.n_values
    parts = bin_column(column, bands if column.categories is None and n_values > _FEW else _FEW)
    codes, conditions = parts.codes, [parts.condition(code) for code in range(parts.n_bins)]
    labels = [_label(parts, code) for code in range(parts.n_known)]
    if column.categories is not None and n_values > _MANY:
        codes, kept = _pooled(parts, smallest)
        missing = conditions[parts.n_known :]
        conditions = [conditions[code] for code in kept]
        labels = [labels[code] for code in kept]
        others = n_values - len(kept)
        if others:
            word = "other" if kept else "rare"
            values = tuple(column.value(code) for code in kept)
            text = f"{as_name(column.name)} is one of {others:,} {word} values"
            conditions.append(Condition(column.name, "others", text, values=values))
            labels.append(f"{word} values ({others:,})")
        conditions += missing
        if kept and others:
            are = "is a group" if len(kept) == 1 else "are groups"
            warn(
                f"The column {shortened(column.name)!r} has {n_values:,} values: {len(kept)} of "
                f"them, which at least {smallest:,} rows have, {are}; the other {others:,} are one "
                "group together.",
                stacklevel=4,
            )
    if parts.has_missing:
        labels.append("(missing)" if "missing" in labels else "missing")
    return Stratum(column.name, codes, tuple(labels), tuple(conditions))


def _pooled(parts: BinnedColumn, smallest: int) -> tuple[NDArray[np.int32], list[int]]:
    """Groups of a category of many values, and which of these are a group each."""
    counts = np.bincount(parts.codes, minlength=parts.n_bins)[: parts.n_known]
    frequent = np.argsort(-counts, kind="stable")[:_MANY]
    kept = np.sort(frequent[counts[frequent] >= smallest])
    place = np.full(parts.n_bins, len(kept), dtype=np.int32)
    place[kept] = np.arange(len(kept))
    if parts.has_missing:
        place[-1] = len(kept) + (len(kept) < np.count_nonzero(counts))
    return place[parts.codes], kept.tolist()


def _label(parts: BinnedColumn, code: int) -> str:
    """What a group is called under its column's name."""
    column, condition = parts.column, parts.condition(code)
    if column.categories is not None:
        return column.categories[code]
    if condition.op == "=":
        return column.show(parts.firsts[code])
    if condition.low is None:
        return f"< {column.show(condition.high)}"
    if condition.high is None:
        return f">= {column.show(condition.low)}"
    return f"{column.show(condition.low)} to < {column.show(condition.high)}"


def known_columns(columns: Any, n_rows: int) -> list[Column]:
    """Known columns from whatever holds them, a value for each row, as they were meant."""
    if isinstance(columns, Column):
        found = [columns]
    elif isinstance(columns, list) and columns and isinstance(columns[0], Column):
        found = columns
    elif isinstance(columns, dict):
        if not columns:
            raise InputError("No known column was passed; pass at least one.")
        found = clean_all([column_of(values, name) for name, values in columns.items()])
    elif as_frame(columns) is not None or as_array(columns).ndim != 1:
        found = clean_all(columns_of(columns))
    else:
        found = clean_all([column_of(columns, getattr(columns, "name", None) or "group")])
    for column in found:
        if len(column) != n_rows:
            raise InputError(
                f"The known column {shortened(column.name)!r} has {counted(len(column), 'row')}, "
                f"but X has {n_rows:,}; a value for each row of X is needed. Pass the columns of "
                "the same rows, in the same order."
            )
    return found
