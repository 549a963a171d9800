"""From raw columns to the numbers PCA sees, and a word on what became of each column.

Each column has a plan of its own, which says what its values become: numbers and dates are scaled;
a category is a table of vectors, one for each value. Two values become 0 and 1; more become
yes-or-no columns, or the target's mean. A category must weigh as much as a number: two of its
values are one apart, as the ends of a number from 0 to 1 are, so its yes-or-no columns are divided
by the root of two.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.preprocessing import TargetEncoder

from leftout.checks import Refusal
from leftout.files import Told
from leftout.tables.cleaning import Cleaned, read_alike, unique
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
    """Numbers or dates, from their smallest to their largest; gaps become the median, and said."""

    dates: bool
    written: str | None
    low: float
    high: float
    median: float
    gaps: bool

    @classmethod
    def of(cls, cleaned: Cleaned) -> Numbers:
        column = cleaned.column
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
        return cls(column.dates, cleaned.written, low, high, middle, len(known) < len(values))

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
            half = self.high / 2.0 - self.low / 2.0  # of a range that may be too large for a float
            parts.append((filled / 2.0 - self.low / 2.0) / half)
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


class Encoding:
    """How the columns of one table become numbers; :meth:`encode` does so for any table like it."""

    def __init__(
        self,
        columns: Sequence[Cleaned],
        y: Floats | None = None,
        *,
        kept: Collection[str] = (),
        target: str = "target",
        smooth: float | str = "auto",
        levels: int = LEVELS,
    ) -> None:
        """Learn from a table; ``kept`` are columns that are not names of rows, whatever they hold.

        ``y`` is the target as numbers, NaN where it is not known; None for yes-or-no columns.
        """
        self.plans: list[Numbers | Words | None] = []
        self.columns: list[ColumnEncoding] = []
        made: list[tuple[str, str]] = []  # name of the feature, and of its column
        for cleaned in columns:
            name = cleaned.column.name
            part = _part(cleaned, name in kept)
            plan: Numbers | Words | None = None
            if part == "numbers":
                plan = Numbers.of(cleaned)
            elif part == "words" and y is not None and len(coded(cleaned.column)[0]) > 2:
                plan = Words.by_target(cleaned.column, y, smooth)
            elif part == "words":
                plan = Words.of(cleaned.column, levels)
            features = [] if plan is None else plan.names(name)
            self.plans.append(plan)
            made += [(feature, name) for feature in features]
            by = target if y is not None else None
            self.columns.append(_told(cleaned, part, tuple(features), by, levels))
        if not made:
            raise Refusal(_nothing_left(self.columns))
        self.features = unique([feature for feature, _ in made])
        self.sources = [source for _, source in made]
        self.by_target = y is not None

    @property
    def dropped(self) -> dict[str, str]:
        """Columns that say nothing, each with why."""
        return {line.column: line.how for line in self.columns if line.kind == "dropped"}

    @property
    def target_encoded(self) -> list[str]:
        """Features that hold the target's mean."""
        if not self.by_target:
            return []
        return [f for line in self.columns if line.kind == "category" for f in line.features]

    def encode(self, columns: Sequence[Column]) -> Floats:
        """Numbers of a table with the same columns, all in [0, 1]."""
        blocks = [
            plan.encode(column)
            for plan, column in zip(self.plans, columns, strict=True)
            if plan is not None
        ]
        return np.ascontiguousarray(np.column_stack(blocks))


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


def _part(cleaned: Cleaned, kept: bool) -> str:
    """``"numbers"``, ``"words"``, or why a column says nothing about its rows."""
    column = cleaned.column
    missing = column.missing
    known = column.values[~missing]
    if not len(known):
        return "empty"
    gaps = len(known) < len(column)
    if not gaps and (known == known[0]).all():
        return "the same in every row"
    if cleaned.words:
        alone = len(np.unique(known)) > max(_NAMES, len(known) // 2)
        return "different in nearly every row" if alone and not kept else "words"
    if not kept and column.categories is None and not column.dates and not gaps:
        if _names_rows(column.name, known):
            return "a number for each row"
    return "numbers"


def _names_rows(name: str, values: Floats) -> bool:
    """Whether whole numbers, each once, count the rows or are called a name of them."""
    if len(values) < 3 or not np.isfinite(values).all():
        return False
    ordered = np.sort(values)
    steps = np.diff(ordered)
    if (steps <= 0).any() or (ordered != np.floor(ordered)).any():
        return False
    return bool((steps == 1).all() or _ID.search(name))


def _told(
    cleaned: Cleaned, part: str, features: tuple[str, ...], target: str | None, levels: int
) -> ColumnEncoding:
    column = cleaned.column
    missing = int(column.missing.sum())
    if part not in ("numbers", "words"):
        return ColumnEncoding(column.name, "dropped", part, (), missing)
    n_values = len(np.unique(column.values[~column.missing]))
    if part == "words" and (n_values > 2 or missing):
        kind, how = "category", f"{counted(n_values, 'value')}: "
        if n_values + bool(missing) == 2:
            kind, how = "yes or no", "whether it is missing; where known it is always the same"
        elif target is not None:
            how += f"mean of {target} for each"
        else:
            how += "a yes-or-no column for each"
            how += f" of the {levels} most frequent, one for the others" * (n_values > levels)
        own = "count as a value" if target is None and n_values > levels else "a value of their own"
        how += f", missing ones {own}" * bool(missing and kind == "category")
        return ColumnEncoding(column.name, kind, how, features, missing)
    known = column.values[~column.missing]
    if n_values <= 2:
        kind, how = "yes or no", f"{column.show(known.min())} is 0, {column.show(known.max())} is 1"
    else:
        kind = "date" if column.dates else "number"
        how = f"{column.show(known.min())} to {column.show(known.max())}, scaled"
    if cleaned.written is not None:
        how += f" ({cleaned.written})"
    if missing and part == "numbers":
        how += "; missing: median, and a column that says so"
        if n_values == 1:
            kind, how = "yes or no", "whether it is missing; where known it is always the same"
    return ColumnEncoding(column.name, kind, how, features, missing)


def _nothing_left(lines: list[ColumnEncoding]) -> str:
    why = "; ".join(f"{line.column!r} is {line.how}" for line in lines[:5])
    more = f"; and {len(lines) - 5} more" if len(lines) > 5 else ""
    return f"No column is left to project: {why}{more}. Pass columns in which rows differ."
