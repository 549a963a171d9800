"""From raw columns to the numbers PCA sees, and a word on what became of each column.

Each column has a plan of its own, which says what its values become. A category is a table of
vectors, one for each value, and must weigh as much as a number: two of its values are one apart, as
the ends of a number from 0 to 1 are, so its indicators are divided by the root of two.

Columns that are missing together (a questionnaire's page that was skipped) would have as many equal
missing indicators as columns, and PCA would see little else. So those that are equal, or nearly,
become one; and an indicator varies no more than any of the columns that it speaks for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.preprocessing import TargetEncoder

from leftout.data.cleaning import read_like
from leftout.data.column_reader import ColumnSummary
from leftout.data.columns import Column, Floats
from leftout.data.profiling.column_types import ColumnFacts
from leftout.errors import InputError
from leftout.files import Serializable
from leftout.text import counted

# Values of a category that get a column each; the rest of them share one.
LEVELS = 100
# Missing indicators that hold more of the table's variance than this are worth a word.
LARGE_INDICATORS = 0.2
# Indicators whose correlation (phi) is as large as this say the same.
SAME_INDICATOR = 0.95
# Rows of indicators that are multiplied at a time.
_AT_ONCE = 1 << 16
_ROOT = np.sqrt(2.0)
# Sums of weights that differ by less than this share are rounding.
_HALF = 1e-12
_HUGE = np.finfo(np.float64).max / 4.0
# A column as numbers, (m, features), and which of its cells were missing.
Read = tuple[Floats, NDArray[np.bool_]]


def mean_and_variance(values: Floats, weights: Floats | None = None) -> tuple[Floats, Floats]:
    """Of each column, where rows count as their weights say."""
    if weights is None:
        return values.mean(axis=0), values.var(axis=0)
    mean = weights @ values / weights.sum()
    return mean, weights @ (values - mean) ** 2 / weights.sum()


def median(values: Floats, weights: Floats | None = None) -> float:
    """The median of the known values: of two middle ones, half-way between.

    >>> values = np.array([3.0, 1.0, np.nan, 2.0])
    >>> median(values), median(values, np.array([3, 1, 1, 2]))
    (2.0, 2.5)
    """
    if weights is None:
        return float(np.nanmedian(values))
    known = np.flatnonzero(~np.isnan(values))
    order = known[np.argsort(values[known], kind="stable")]
    reached = np.cumsum(weights[order]) / weights[order].sum()
    place = int(np.searchsorted(reached, 0.5 - _HALF))
    last = place + (reached[place] <= 0.5 + _HALF)
    return float(np.mean(values[order[[place, last]]]))


@dataclass(frozen=True)
class NumericEncoding(Serializable):
    """Numbers or dates, from their smallest to their largest; gaps become the median."""

    like: Column  # as it was cleaned, without rows
    low: float
    high: float
    median: float
    has_indicator = True

    @classmethod
    def of(
        cls, column: Column, low: float, high: float, weights: Floats | None = None
    ) -> NumericEncoding:
        """By the median of some rows, and the smallest and largest value of all."""
        values = column.numbers
        assert values is not None
        if np.isinf([low, high]).any():
            raise InputError(
                f"The column {column.name!r} holds infinite values; PCA needs every value finite. "
                "Replace them, or drop the column."
            )
        middle = median(values / 2.0, weights) * 2.0  # of two huge ones, too
        return cls(column.without_rows(), low, high, middle)

    def names(self, name: str) -> list[str]:
        return [name] * (self.low < self.high)

    def read(self, column: Column) -> Read:
        values = read_like(column, self.like).numbers
        assert values is not None
        missing = np.isnan(values)
        if self.low == self.high:
            return np.empty((len(values), 0)), missing
        made = np.clip(values, self.low, self.high)
        if missing.any():
            made[missing] = self.median
        low, high = self.low, self.high
        if not np.isfinite(high - low):  # half of that is finite
            made, low, high = made / 2.0, low / 2.0, high / 2.0
        made -= low
        made /= high - low
        return made[:, None], missing


@dataclass(frozen=True)
class CategoricalEncoding(Serializable):
    """A category as a table of vectors: one for each value, then for a missing and any other."""

    like: Column  # as it was cleaned, without rows
    vectors: Floats
    features: list[str]  # what each place of a vector says; "" for the column itself
    has_indicator: bool

    @classmethod
    def of(cls, column: Column, times: NDArray[Any]) -> CategoricalEncoding:
        """Indicators; of two values one says all, of very many the rare share one.

        A missing cell says nothing of the value: it is the most frequent of two, as the median of
        yes and no would be, and of more the average of all. ``times`` are the rows of each value
        that the column takes, or their weight.
        """
        values = column.categories or ()
        known = [values[code] for code in column.present[0]]
        count = len(known)
        if count <= 2:
            said = [f" = {name}" for name in known[1:]]
            vectors = np.array([[0.0], [1.0]])[:count, : count - 1]
            missing, new = vectors[times.argmax()], np.zeros(count - 1)
        else:
            common = np.sort(np.argsort(-times, kind="stable")[:LEVELS])
            said = [f" = {known[level]}" for level in common] + [" = (other)"] * (count > LEVELS)
            place = np.full(count, len(common))  # rare values
            place[common] = np.arange(len(common))
            each = np.vstack([np.eye(len(said)), np.zeros(len(said))]) / _ROOT
            vectors, new = each[place], each[len(common)]  # a new value is a rare one, or none
            missing = times @ vectors / times.sum()
        every = np.tile(new, (len(values) + 2, 1))
        every[column.present[0]], every[len(values)] = vectors, missing
        return cls(column.without_rows(), every, said, True)

    @classmethod
    def by_means(cls, column: Column, means: Floats) -> CategoricalEncoding:
        """The target's mean of each value, scaled; missing is one, new ones are average."""
        taken = np.append(column.present[0], [len(means) - 2] * (column.n_missing > 0)).astype(int)
        low, high = means[taken].min(), means[taken].max()
        scaled = np.clip((means - low) / (high - low if high > low else 1.0), 0.0, 1.0)
        every = np.full(len(means), scaled[-1])
        every[taken] = scaled[taken]
        return cls(column.without_rows(), every[:, None], [""], False)

    @property
    def indicators(self) -> bool:
        """Whether its features say yes or no to a value."""
        return any(self.features)

    def names(self, name: str) -> list[str]:
        return [f"{name}{said}" for said in self.features]

    def read(self, column: Column) -> Read:
        codes, n_values = read_like(column, self.like).values, len(self.like.categories or ())
        missing = codes < 0
        places = np.where(missing, n_values, np.where(codes < n_values, codes, n_values + 1))
        # feature by feature, as an encoder stores them
        return np.take(self.vectors.T, places, axis=1).T, missing


Becomes = NumericEncoding | CategoricalEncoding


class TargetMeans(NamedTuple):
    """That categories become means of a target, known of all rows."""

    target: str  # what the means are of
    y: Floats  # its numbers, NaN where it is unknown
    smooth: float | str

    def of(self, codes: NDArray[np.integer], n_values: int) -> Floats:
        """Means of each value, of the missing, and of all; each drawn to the latter.

        As in scikit-learn's ``TargetEncoder`` (Micci-Barreca's empirical Bayes, or some rows'
        weight). Codes are -1 for missing; of rows with values from ``n_values`` on nothing is told.
        """
        rows = np.isfinite(self.y) & (codes < n_values)
        places = np.where(codes < 0, n_values, codes)[rows]
        centre = self.y[np.isfinite(self.y)].mean()
        encoder = TargetEncoder(
            categories=[np.arange(n_values + 1)], target_type="continuous", smooth=self.smooth
        ).fit(places[:, None], self.y[rows] - centre)
        return np.append(encoder.encodings_[0], encoder.target_mean_) + centre


def encode_column(
    column: Column,
    kind: ColumnFacts,
    summary: ColumnSummary | None = None,
    means: TargetMeans | None = None,
    weights: Floats | None = None,
    full: Column | None = None,
) -> ColumnFacts:
    """Learn from a cleaned column, read as its kind says, what it becomes.

    ``summary`` is of all rows, and ``full`` has them, where the column is only a sample. Categories
    of more than yes or no become ``means`` of a target where these are asked for, instead of
    indicators.
    """
    name, column = column.name, as_read(column, kind)
    if summary is None:
        summary = ColumnSummary.of(column, column, weights=weights)
    if kind.read_as == "nothing":
        return replace(kind, how=kind.why, missing=summary.n_missing)
    becomes: Becomes
    if not column.words:
        becomes = NumericEncoding.of(column, summary.low, summary.high, weights)
    elif means is not None and column.n_values + (column.n_missing > 0) > 2:
        codes = as_read(full or column, kind).values
        of_values = means.of(codes, len(column.categories or ()))
        becomes = CategoricalEncoding.by_means(column, of_values)
    else:
        becomes = CategoricalEncoding.of(column, summary.counts[column.present[0]])
    target = None if means is None or becomes.has_indicator else means.target
    how = _describe(column, summary, target)
    features = tuple(becomes.names(name))
    return replace(kind, how=how, features=features, missing=summary.n_missing, becomes=becomes)


def as_read(column: Column, kind: ColumnFacts) -> Column:
    """The column as its kind says: numbers that are codes become categories."""
    if kind.read_as == "category" and column.categories is None and not column.dates:
        return column.as_categories()
    return column


def _describe(column: Column, summary: ColumnSummary, target: str | None) -> str:
    """In a few words what becomes of it."""
    n_values, gaps = column.n_values, bool(summary.n_missing)
    if n_values == 1 and not summary.low < summary.high:
        return "whether it is missing; where known it is always the same"
    if target is not None:
        own = ", missing ones a value of their own" * gaps
        return f"{counted(n_values, 'value')}: mean of {target} for each{own}"
    if column.words and n_values > 2:
        how = f"{counted(n_values, 'value')}: an indicator for each"
        how += f" of the {LEVELS} most frequent, one for the others" * (n_values > LEVELS)
        filled = "the average of all"
    else:
        how = _scaled(column, summary)
        but = f", but for {counted(sum(summary.strays.values()), 'cell')}"
        but *= bool(summary.strays)
        how += "" if column.written is None else f" ({column.written}{but})"
        filled = "the more frequent" if column.words else "median"
    return how + f"; missing: {filled}" * gaps


def _scaled(column: Column, summary: ColumnSummary) -> str:
    """The ends of a scale; of a sample with two values, all rows may have more."""
    values, numbers, ends = column.present[0], column.numbers, (summary.low, summary.high)
    same = numbers is None or (np.nanmin(numbers), np.nanmax(numbers)) == ends
    if len(values) == 2 and same:
        return "{} is 0, {} is 1".format(*map(column.show, values))
    scale = 2.0 * min(ends[1] / 2.0 - ends[0] / 2.0, _HUGE)
    plain = replace(column, categories=None)
    return "{} to {}, scaled".format(*(plain.describe(end, scale) for end in ends))


class MissingIndicator(NamedTuple):
    """One feature that says where columns are missing: the share of them, times a weight."""

    places: tuple[int, ...]  # of the columns, the first gives it its place
    name: str
    weight: float

    def of(self, missing: Mapping[int, NDArray[np.bool_]]) -> Floats:
        """Of each row, the share of these columns that is missing, weighted."""
        gaps = np.stack([missing[place] for place in self.places])
        return np.asarray(self.weight * gaps.mean(axis=0))


def fit_indicators(
    plans: Sequence[ColumnFacts], columns: Sequence[Column], weights: Floats | None = None
) -> list[MissingIndicator]:
    """The missing indicators of columns as they are encoded.

    A column joins the first indicator before it whose first column is missing in nearly the same
    rows, and an indicator varies no more than any of its columns does.
    """
    indicated = {
        place: plan.becomes
        for place, plan in enumerate(plans)
        if plan.becomes is not None and plan.becomes.has_indicator and columns[place].n_missing
    }
    if not indicated:
        return []
    missing = np.stack([columns[place].missing for place in indicated])
    together = _missing_together(missing)
    share = together / len(columns[0])
    if weights is not None:
        share = (missing * weights) @ missing.T / weights.sum()
    alone = np.diag(share)
    covariance = share - np.outer(alone, alone)
    sizes = np.sqrt(np.diag(covariance))
    sizes[sizes == 0.0] = 1.0
    every = np.diag(together)
    equal = (together == every) & (together == every[:, None])
    alike = equal | (covariance / np.outer(sizes, sizes) >= SAME_INDICATOR)
    groups: dict[int, list[int]] = {}
    for here in range(len(indicated)):
        first = next((first for first in groups if alike[first, here]), here)
        groups.setdefault(first, []).append(here)
    places = list(indicated)
    variances = []
    for place, becomes in indicated.items():
        values, gaps = becomes.read(columns[place])
        # of a column that says nothing else, that of its gaps
        values = np.ascontiguousarray(values if values.size else gaps[:, None], dtype=np.float64)
        variances.append(float(mean_and_variance(values, weights)[1].sum()))
    indicators = []
    for group in groups.values():
        members = tuple(places[here] for here in group)
        variance = float(covariance[np.ix_(group, group)].mean())
        weight = min(1.0, float(np.sqrt(min(variances[here] for here in group) / variance)))
        name = _missing_name([columns[place].name for place in members])
        indicators.append(MissingIndicator(members, name, weight))
    return indicators


def _missing_together(missing: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Rows in which two columns are missing at once, of the gaps of all columns, one in a line."""
    together = np.zeros((len(missing), len(missing)), dtype=np.int64)
    for start in range(0, missing.shape[1], _AT_ONCE):
        part = missing[:, start : start + _AT_ONCE].astype(np.float32)
        together += np.rint(part @ part.T).astype(np.int64)
    return together


def _missing_name(names: Sequence[str]) -> str:
    if len(names) == 1:
        return f"{names[0]} is missing"
    others = names[1] if len(names) == 2 else f"{len(names) - 1} others"
    return f"{names[0]} and {others} are missing"
