"""From raw columns to the numbers PCA sees, and a word on what became of each column.

Each column has a plan of its own, which says what its values become: numbers and dates are scaled;
a category is a table of vectors, one for each value. Two values become 0 and 1; more become
yes-or-no columns, or the target's mean. A category must weigh as much as a number: two of its
values are one apart, as the ends of a number from 0 to 1 are, so its yes-or-no columns are divided
by the root of two.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.preprocessing import TargetEncoder

from leftout.checks import Refusal
from leftout.files import Told
from leftout.tables.cleaning import read_alike
from leftout.tables.columns import Column
from leftout.wording import counted, shortest

Floats = NDArray[np.float64]

# Values of a category that get a column each; the rest of them share one.
LEVELS = 100
# A text with more values than this, and more than half as many as rows, names rows.
_NAMES = 10
# Whole numbers, all different, are names of rows if the column says so.
_ID = re.compile(r"(?i:(^|[^a-z])(id|ids|uuid|guid|key|nr)$)|[a-z](Id|ID)$")
_ROOT = np.sqrt(2.0)


@dataclass(frozen=True)
class ColumnEncoding(Told):
    """What became of one column.

    Attributes
    ----------
    column : str
    kind : {"number", "date", "yes or no", "category", "dropped"}
    how : str
        In a few words.
    features : tuple of str
        What it is called where it is numbers; empty if it was dropped.
    missing : int
        Rows without a value.
    """

    column: str
    kind: str
    how: str
    features: tuple[str, ...]
    missing: int


@dataclass(frozen=True)
class Numbers:
    """Numbers or dates, from their smallest to their largest; gaps become the median."""

    dates: bool
    written: str | None
    low: float
    high: float
    median: float
    gaps: bool

    @classmethod
    def of(cls, column: Column) -> Numbers:
        values = column.numbers
        assert values is not None
        known = values[~np.isnan(values)]
        if np.isinf(known).any():
            raise Refusal(
                f"The column {column.name!r} holds infinite values; PCA needs every value finite. "
                "Replace them, or drop the column."
            )
        low, high = float(known.min()), float(known.max())
        middle = float(np.median(known / 2.0)) * 2.0  # of two huge ones, too
        return cls(column.dates, column.written, low, high, middle, len(known) < len(values))

    def names(self, name: str) -> list[str]:
        return [name] * (self.low < self.high) + [f"{name} is missing"] * self.gaps

    def encode(self, column: Column) -> Floats:
        column = read_alike(column, False, self.dates, self.written)
        values = column.numbers
        assert values is not None
        if column.dates != self.dates:
            values = np.full(len(values), np.nan)
        missing = np.isnan(values)
        parts = []
        if self.low < self.high:
            filled = np.clip(np.where(missing, self.median, values), self.low, self.high)
            # a range may be too large for a float, and half of it too small
            unit = 1.0 if np.isfinite(self.high - self.low) else 2.0
            low, high = self.low / unit, self.high / unit
            parts.append((filled / unit - low) / (high - low))
        return np.column_stack(parts + [missing.astype(np.float64)] * self.gaps)


@dataclass(frozen=True)
class Words:
    """A category as a table of vectors: one for each value known, the last for any other."""

    place: dict[str | None, int]  # of each value, None for a missing one
    vectors: Floats
    features: list[str]  # what each place of a vector says; "" for the column itself

    @classmethod
    def of(cls, column: Column, levels: int) -> Words:
        """Yes-or-no columns; of two values one says all, of very many the rare share one."""
        texts, codes = coded(column)
        count = len(texts)
        if count == 2:
            vectors = np.array([[0.0], [1.0], [0.0]])
            return cls(_places(texts), vectors, [_said(texts[1])])
        common = np.sort(np.argsort(-np.bincount(codes), kind="stable")[:levels])
        width = len(common) + (count > levels)
        place = np.full(count + 1, len(common))  # rare values and new ones
        place[common] = np.arange(len(common))
        vectors = np.vstack([np.eye(width), np.zeros(width)])[place] / _ROOT
        said = [_said(texts[level]) for level in common] + [" = (other)"] * (count > levels)
        return cls(_places(texts), vectors, said)

    @classmethod
    def by_target(cls, column: Column, y: Floats, smooth: float | str) -> Words:
        """The target's mean of each value, scaled; a new value has the overall mean."""
        texts, codes = coded(column)
        known = np.isfinite(y)
        encoder = TargetEncoder(target_type="continuous", smooth=smooth)
        encoder.fit(codes[known][:, None], y[known])
        means = encoder.transform(np.arange(len(texts) + 1)[:, None])
        low, high = means[codes].min(), means[codes].max()
        scaled = np.clip((means - low) / (high - low if high > low else 1.0), 0.0, 1.0)
        return cls(_places(texts), scaled, [""])

    def names(self, name: str) -> list[str]:
        return [f"{name}{said}" for said in self.features]

    def encode(self, column: Column) -> Floats:
        texts, codes = coded(read_alike(column, True, False, None))
        at = np.array([self.place.get(text, len(self.vectors) - 1) for text in texts], dtype=int)
        return self.vectors[at[codes]]


@dataclass(frozen=True)
class Plan:
    """What a column becomes, in words and as something that does it; None where it is dropped."""

    told: ColumnEncoding
    becomes: Numbers | Words | None

    @classmethod
    def of(
        cls,
        column: Column,
        *,
        kept: bool = False,
        y: Floats | None = None,
        target: str = "the target",
        smooth: float | str = "auto",
        levels: int = LEVELS,
    ) -> Plan:
        """Learn from a cleaned column; one that is ``kept`` names no rows, whatever it holds.

        ``y`` is the target as numbers, NaN where it is not known; None for yes-or-no columns.
        """
        name, missing = column.name, int(column.missing.sum())
        why = _says_nothing(column, kept)
        if why is not None:
            return cls(ColumnEncoding(name, "dropped", why, (), missing), None)
        becomes: Numbers | Words
        if not column.words:
            becomes = Numbers.of(column)
        elif y is not None and len(coded(column)[0]) > 2:
            becomes = Words.by_target(column, y, smooth)
        else:
            becomes = Words.of(column, levels)
        kind, how = _told(column, None if y is None else target, levels)
        return cls(ColumnEncoding(name, kind, how, tuple(becomes.names(name)), missing), becomes)


def coded(column: Column) -> tuple[list[str | None], NDArray[np.intp]]:
    """A column's values as text, None for a missing one, and each row's place among them."""
    if column.categories is not None:
        texts, codes = list(column.categories), column.values
    else:
        distinct, _, codes = column.tabulated
        texts = [column.show(v) if column.dates else shortest(v) for v in distinct.tolist()]
    present = np.bincount(codes + 1, minlength=len(texts) + 1) > 0  # missing first
    if present[0]:
        codes = np.where(codes < 0, len(texts), codes)
    present = np.append(present[1:], present[0])
    named: list[str | None] = [*texts, None]
    place = np.cumsum(present) - 1
    return [text for text, here in zip(named, present, strict=True) if here], place[codes]


def _places(texts: list[str | None]) -> dict[str | None, int]:
    return {text: place for place, text in enumerate(texts)}


def _said(text: str | None) -> str:
    return " is missing" if text is None else f" = {text}"


def _says_nothing(column: Column, kept: bool) -> str | None:
    """Why a column says nothing about its rows; None if it does."""
    known = column.values[~column.missing]
    if not len(known):
        return "empty"
    gaps = len(known) < len(column)
    if not gaps and (known == known[0]).all():
        return "the same in every row"
    if kept:
        return None
    if column.words:
        alone = len(np.unique(known)) > max(_NAMES, len(known) // 2)
        return "different in nearly every row" if alone else None
    quantity = column.categories is None and not column.dates
    return "a number for each row" if quantity and not gaps and _names_rows(column) else None


def _names_rows(column: Column) -> bool:
    """Whether whole numbers, each once, count the rows or are called a name of them."""
    values = column.values
    if len(values) < 3 or not np.isfinite(values).all():
        return False
    ordered = np.sort(values)
    with np.errstate(over="ignore"):
        steps = np.diff(ordered)
    if (steps <= 0).any() or (ordered != np.floor(ordered)).any():
        return False
    return bool((steps == 1).all() or _ID.search(column.name))


def _told(column: Column, target: str | None, levels: int) -> tuple[str, str]:
    """What kind of column it is, and in a few words what becomes of it."""
    known = column.values[~column.missing]
    n_values, gaps = len(np.unique(known)), len(known) < len(column)
    if n_values == 1:
        return "yes or no", "whether it is missing; where known it is always the same"
    if column.words and (n_values > 2 or gaps):
        rare = target is None and n_values > levels
        each = "a yes-or-no column for each" if target is None else f"mean of {target} for each"
        how = f"{counted(n_values, 'value')}: {each}"
        how += f" of the {levels} most frequent, one for the others" * rare
        own = "count as a value" if rare else "a value of their own"
        return "category", how + f", missing ones {own}" * gaps
    low, high = known.min(), known.max()
    if n_values == 2:
        low, high = column.show(low), column.show(high)
        kind, how = "yes or no", f"{low} is 0, {high} is 1"
    else:
        low, high = (column.told(float(end), float(high - low)) for end in (low, high))
        kind, how = "date" if column.dates else "number", f"{low} to {high}, scaled"
    how += "" if column.written is None else f" ({column.written})"
    return kind, how + "; missing: median, and a column that says so" * gaps
