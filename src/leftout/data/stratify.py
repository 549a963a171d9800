"""Known columns as groups: categories by value, numbers and dates in a few bands."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leftout.data.binning import BinnedColumn, bin_column
from leftout.data.cleaning import clean, clean_all
from leftout.data.columns import Column, column_of, columns_of
from leftout.data.conditions import Condition
from leftout.data.frames import as_frame
from leftout.errors import InputError
from leftout.running import warn
from leftout.text import as_name, counted, shortened

# Numbers of up to this many values are groups by value; others are cut into bands.
_FEW = 8
# Categories of more values: the frequent ones are groups, up to as many; the others are one.
_MANY = 50


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
        if len(kept) < n_values:
            word = "other" if kept else "rare"
            values = tuple(column.value(code) for code in kept)
            text = f"{as_name(column.name)} is one of {n_values - len(kept):,} {word} values"
            conditions.append(Condition(column.name, "others", text, values=values))
            labels.append(f"{word} values ({n_values - len(kept):,})")
        conditions += missing
        if 0 < len(kept) < n_values:
            warn(_pooling(column, n_values, len(kept), smallest), stacklevel=4)
    if parts.has_missing:
        labels.append("(missing)" if "missing" in labels else "missing")
    return Stratum(column.name, codes, tuple(labels), tuple(conditions))


def _pooling(column: Column, n_values: int, n_kept: int, smallest: int) -> str:
    are = "is a group" if n_kept == 1 else "are groups"
    return (
        f"The column {shortened(column.name)!r} has {n_values:,} values: {n_kept} of them, which "
        f"at least {smallest:,} rows have, {are}; the other {n_values - n_kept:,} are one group "
        "together."
    )


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
    found = _columns(columns)
    for column in found:
        if len(column) != n_rows:
            raise InputError(
                f"The known column {shortened(column.name)!r} has {counted(len(column), 'row')}, "
                f"but X has {n_rows:,}; a value for each row of X is needed. Pass the columns of "
                "the same rows, in the same order."
            )
    return found


def _columns(columns: Any) -> list[Column]:
    if isinstance(columns, Column):
        return [columns]
    if isinstance(columns, list) and columns and isinstance(columns[0], Column):
        return columns
    if isinstance(columns, dict):
        if not columns:
            raise InputError("No known column was passed; pass at least one.")
        return clean_all([column_of(values, name) for name, values in columns.items()])
    if as_frame(columns) is None and _is_flat(columns):
        return [clean(column_of(columns, getattr(columns, "name", None) or "group"))]
    return clean_all(columns_of(columns))


def _is_flat(columns: Any) -> bool:
    try:
        return np.ndim(columns) == 1
    except ValueError:  # rows of different lengths, which are refused as a table
        return False
