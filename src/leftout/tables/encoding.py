"""From raw columns to the numbers PCA sees, and a word on what became of each column.

Numbers and dates are scaled; two values become 0 and 1; categories become the target's mean, or
yes-or-no columns. A category must weigh as much as a number: two of its values are one apart, as
the ends of a number from 0 to 1 are, so its yes-or-no columns are divided by the root of two.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MinMaxScaler,
    OneHotEncoder,
    StandardScaler,
    TargetEncoder,
)

from leftout.checks import Refusal
from leftout.files import Told
from leftout.tables.cleaning import Cleaned, clean_all, read_alike, unique
from leftout.tables.columns import Column
from leftout.wording import counted, shortest

Floats = NDArray[np.float64]
Words = NDArray[np.object_]

# Values of a category that get a column each; the rest of them share one.
LEVELS = 100
# A text with more values than this, and more than half as many as rows, names rows.
_NAMES = 10
# Whole numbers, all different, are names of rows if the column says so.
_ID = re.compile(r"(?i:(^|[^a-z])(id|ids|uuid|guid|key|nr)$)|[a-z](Id|ID)$")
_ROOT = np.sqrt(2.0)
_OTHER = "infrequent_sklearn"
SCALES: dict[str, Callable[[], Any]] = {
    "unit": lambda: MinMaxScaler(clip=True),
    "standard": StandardScaler,
    "none": FunctionTransformer,
}


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
        scale: str = "unit",
    ) -> None:
        """Learn from a table; ``kept`` are columns that are not names of rows, whatever they hold.

        ``y`` is the target as numbers, NaN where it is not known; None for yes-or-no columns.
        """
        self.by_target = y is not None
        parts = [_part(cleaned, cleaned.column.name in kept) for cleaned in columns]
        self.numeric = [p for p, part in enumerate(parts) if part == "numbers"]
        self.worded = [p for p, part in enumerate(parts) if part == "words"]
        self._written = [cleaned.written for cleaned in columns]
        self._dates = {p for p in self.numeric if columns[p].column.dates}
        self._made: list[tuple[int, str]] = []  # place of the column, name of the feature
        plain = [cleaned.column for cleaned in columns]
        self._learn_numbers(plain, scale)
        self._learn_words(plain, y, smooth, levels)
        order = np.argsort([place for place, _ in self._made], kind="stable")
        self._order = order
        places = [self._made[i][0] for i in order]
        self.features = unique([self._made[i][1] for i in order])
        self.sources = [columns[place].column.name for place in places]
        by_place: dict[int, list[str]] = {}
        for place, feature in zip(places, self.features, strict=True):
            by_place.setdefault(place, []).append(feature)
        self.columns = [
            _told(cleaned, part, by_place.get(p, []), target if self.by_target else None, levels)
            for p, (cleaned, part) in enumerate(zip(columns, parts, strict=True))
        ]
        if not self.features:
            raise Refusal(_nothing_left(self.columns))

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
        """Numbers of a table with the same columns; all in [0, 1] if the scale is ``"unit"``."""
        numbers = self._numbers(columns, self._range)
        blocks = []
        if self._varying:
            scaled = np.ldexp(numbers, -self._exponents)[:, self._varying]
            blocks.append(self._scaler.transform(scaled))
        if self._gappy:
            blocks.append(np.isnan(numbers[:, self._gappy]).astype(np.float64))
        if self.worded:
            words = self._words(columns)
            for encoder, places, weights in self._encoders:
                block = encoder.transform(words[:, places])
                blocks.append(block[:, weights > 0.0] * weights[weights > 0.0])
        return np.ascontiguousarray(np.column_stack(blocks)[:, self._order])

    def _learn_numbers(self, columns: Sequence[Column], scale: str) -> None:
        raw = self._numbers(columns)
        for place, values in zip(self.numeric, raw.T, strict=True):
            _refuse_infinite(columns[place].name, values)
        self._range = np.empty((2, 0))
        if self.numeric:
            self._range = np.stack([np.nanmin(raw, axis=0), np.nanmax(raw, axis=0)])
        self._exponents = np.zeros(len(self.numeric), dtype=np.intp)
        if scale != "none":
            # Powers of two lose no digit, and squares of huge or tiny numbers stay in range.
            self._exponents = np.frexp(np.abs(self._range).max(axis=0))[1].astype(np.intp)
        low, high = self._range
        self._varying = np.flatnonzero(low < high).tolist()
        self._gappy = np.flatnonzero(np.isnan(raw).any(axis=0)).tolist()
        if self._varying:
            imputed = SimpleImputer(strategy="median")
            scaled = np.ldexp(raw, -self._exponents)[:, self._varying]
            self._scaler = make_pipeline(imputed, SCALES[scale]()).fit(scaled)
        names = [columns[place].name for place in self.numeric]
        self._made += [(self.numeric[i], names[i]) for i in self._varying]
        self._made += [(self.numeric[i], f"{names[i]} is missing") for i in self._gappy]

    def _learn_words(
        self, columns: Sequence[Column], y: Floats | None, smooth: float | str, levels: int
    ) -> None:
        self._encoders: list[tuple[Any, list[int], Floats]] = []
        if not self.worded:
            return
        words = self._words(columns)
        several = [i for i in range(len(self.worded)) if len(set(words[:, i])) > 2]
        if y is not None and several:
            known = np.isfinite(y)
            means = TargetEncoder(target_type="continuous", smooth=smooth)
            means.fit(words[known][:, several], y[known])
            both = make_pipeline(FunctionTransformer(means.transform), MinMaxScaler(clip=True))
            self._encoders.append((both.fit(words[:, several]), several, np.ones(len(several))))
            self._made += [(self.worded[i], columns[self.worded[i]].name) for i in several]
        rest = [i for i in range(len(self.worded)) if y is None or i not in several]
        if not rest:
            return
        names = [columns[self.worded[i]].name for i in rest]
        encoder = OneHotEncoder(
            max_categories=levels + 1,
            handle_unknown="infrequent_if_exist",
            sparse_output=False,
            feature_name_combiner=_feature,
        ).fit(words[:, rest])
        sizes = [min(len(set(words[:, i])), levels + 1) for i in rest]
        # of two values, one column says all (scikit-learn's own way warns of every unknown value)
        weights = np.concatenate(
            [[0.0, 1.0] if size == 2 else np.full(size, 1.0 / _ROOT) for size in sizes]
        )
        self._encoders.append((encoder, rest, weights))
        places = np.repeat([self.worded[i] for i in rest], sizes)
        features = encoder.get_feature_names_out(names)
        said = weights > 0.0
        self._made += zip(places[said].tolist(), features[said].tolist(), strict=True)

    def _numbers(self, columns: Sequence[Column], within: Floats | None = None) -> Floats:
        """The numbers and dates; what is outside of a range is cut to it."""
        result = np.empty((len(columns[0]), len(self.numeric)), order="F")
        for i, place in enumerate(self.numeric):
            dates = place in self._dates
            column = read_alike(columns[place], False, dates, self._written[place])
            values = column.numbers
            assert values is not None
            result[:, i] = values if column.dates == dates else np.nan
        return result if within is None else np.clip(result, *within)

    def _words(self, columns: Sequence[Column]) -> Words:
        read = (read_alike(columns[place], True, False, None) for place in self.worded)
        return np.column_stack([words_of(column) for column in read])


class Encoded(NamedTuple):
    """A matrix, the names of its columns, and what became of the raw ones."""

    X: Floats
    names: list[str]
    dropped: dict[str, str]
    filled: int  # missing numbers that became their column's median


def encode(columns: Sequence[Column], scale: str = "unit") -> Encoded:
    """The numbers of a table without a target; ``scale`` is one of ``SCALES``."""
    cleaned = clean_all(columns)
    plan = Encoding(cleaned, scale=scale)
    X = plan.encode([each.column for each in cleaned])
    if not np.isfinite(X).all():
        raise Refusal("A column varies too much for its squares; use --scale unit.")
    filled = sum(int(cleaned[place].column.missing.sum()) for place in plan.numeric)
    return Encoded(X, plan.features, plan.dropped, filled)


def words_of(column: Column) -> Words:
    """A column's values as text, None where there is none."""
    if column.categories is not None:
        return np.array([*column.categories, None], dtype=object)[column.values]
    distinct, _, codes = column.tabulated
    texts = column.show if column.dates else shortest
    return np.array([*(texts(float(value)) for value in distinct), None], dtype=object)[codes]


def indicators(codes: NDArray[np.int32]) -> Floats:
    """A yes-or-no column for each value; of very many, the rare ones share one."""
    common, values = np.sort(np.argsort(-np.bincount(codes), kind="stable")[:LEVELS]), codes.max()
    place = np.full(int(values) + 1, len(common))
    place[common] = np.arange(len(common))
    return np.eye(len(common) + 1)[place[codes]][:, : min(len(common) + 1, int(values) + 1)]


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


def _refuse_infinite(name: str, values: Floats) -> None:
    if np.isinf(values).any():
        raise Refusal(
            f"The column {name!r} holds infinite values; PCA needs every value finite. Replace "
            "them, or drop the column."
        )


def _told(
    cleaned: Cleaned, part: str, features: list[str], target: str | None, levels: int
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
        return ColumnEncoding(column.name, kind, how, tuple(features), missing)
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
    return ColumnEncoding(column.name, kind, how, tuple(features), missing)


def _feature(name: Any, value: Any) -> str:
    if value is None:
        return f"{name} is missing"
    return f"{name} = {'(other)' if value == _OTHER else value}"


def _nothing_left(lines: list[ColumnEncoding]) -> str:
    why = "; ".join(f"{line.column!r} is {line.how}" for line in lines[:5])
    more = f"; and {len(lines) - 5} more" if len(lines) > 5 else ""
    return f"No column is left to project: {why}{more}. Pass columns in which rows differ."
