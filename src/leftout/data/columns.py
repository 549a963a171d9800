"""Columns of a raw table as people know them: numbers, dates, named categories."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from functools import cached_property
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from leftout.checks import is_missing
from leftout.data.frames import (
    Tabulated,
    as_array,
    as_frame,
    column_names,
    distinct_texts,
    numbers,
    plain,
    to_series,
    value_counts,
)
from leftout.errors import InputError, parameter_label
from leftout.files import Serializable
from leftout.text import date, number, shortened, shortest, unambiguous

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]

# Larger whole numbers are not all told apart by a float: they are identifiers.
LARGEST_EXACT = 1 << 53


@dataclass(frozen=True)
class Column(Serializable):
    """One column: numbers (dates count as such, in microseconds), or codes of named categories.

    ``values`` is NaN, or the code -1, where the table has nothing. Numbers that take two values
    only, numbers that are codes, and booleans are categories; ``levels`` are the numbers that these
    stand for. ``declared`` are categories that somebody has called so. ``written`` says how numbers
    or dates were written that came as text, ``strays`` which texts were none, and of how many rows.
    """

    hidden = ("values", "strays")

    name: str
    values: NDArray[Any] = field(default_factory=lambda: np.empty(0))
    categories: tuple[str, ...] | None = None
    dates: bool = False
    levels: Floats | None = None
    declared: bool = False
    written: str | None = None
    strays: tuple[tuple[str, int], ...] = ()

    def __len__(self) -> int:
        return len(self.values)

    @property
    def missing(self) -> NDArray[np.bool_]:
        return np.isnan(self.values) if self.categories is None else self.values < 0

    @property
    def numbers(self) -> Floats | None:
        """The values as numbers, NaN where missing; None if they are not."""
        if self.categories is None:
            return self.values
        return None if self.levels is None else np.append(self.levels, np.nan)[self.values]

    @property
    def words(self) -> bool:
        """Whether it holds categories of more than yes or no."""
        return self.numbers is None or len(self.categories or ()) > 2

    @cached_property
    def tabulated(self) -> Tabulated:
        """Of numbers: distinct values, how often each occurs, each row's place among them."""
        return value_counts(self.values)

    @property
    def n_missing(self) -> int:
        """Rows without a value."""
        return int(self.missing.sum())

    @property
    def present(self) -> tuple[NDArray[Any], NDArray[np.int64]]:
        """The values that occur, of categories their codes, in order; and how often each does."""
        if self.categories is None:
            return self.tabulated[:2]
        counts = self.category_counts
        return np.flatnonzero(counts), counts[counts > 0]

    @property
    def n_values(self) -> int:
        """How many different values occur."""
        return len(self.present[0])

    @property
    def category_counts(self) -> NDArray[np.int64]:
        """How many rows have each category."""
        return np.bincount(self.values + 1, minlength=len(self.categories or ()) + 1)[1:]

    def take(self, rows: NDArray[np.intp]) -> Column:
        """The same column of some of the rows."""
        return replace(self, values=self.values[rows])

    def without_rows(self) -> Column:
        """What the column is, for others to be read like it."""
        return replace(self, values=self.values[:0], strays=())

    def renamed(self, names: Sequence[str | None], order: Sequence[str] | None = None) -> Column:
        """The same rows under other names of their categories; where there is none, missing.

        Categories of one name are one: the number of the one called so before, or of the first.
        """
        kept = [name for name in dict.fromkeys(order or names) if name is not None]
        codes: dict[str | None, int] = {name: code for code, name in enumerate(kept)}
        places = np.array([*(codes.get(name, -1) for name in names), -1], dtype=np.int32)
        levels = self.levels
        if levels is not None:
            of = {name: place for place, name in reversed(list(enumerate(names)))}
            of |= {name: place for place, name in enumerate(self.categories or ()) if name in of}
            levels = levels[[of[name] for name in kept]]
        return replace(self, values=places[self.values], categories=tuple(kept), levels=levels)

    def tidied(self) -> Column:
        """As a table has it whose rows are these alone: without categories that none of them is."""
        if self.categories is None:
            return self.coded()
        counts = self.category_counts
        names = [name if n else None for name, n in zip(self.categories, counts, strict=True)]
        return self.renamed(names)

    def without(self, gone: NDArray[np.bool_]) -> Column:
        """The same rows, of which some have no value any more."""
        if not gone.any():
            return self
        nothing = np.nan if self.categories is None else -1
        return replace(self, values=np.where(gone, nothing, self.values)).tidied()

    def as_categories(self) -> Column:
        """Numbers or dates as categories; the numbers that these stand for are kept."""
        if self.dates:
            distinct, _, codes = self.tabulated
            return Column(self.name, codes, tuple(map(self.show, distinct)))
        return self.coded(always=True)

    def coded(self, always: bool = False) -> Column:
        """Numbers as categories where they take no more than two values, or ``always``."""
        distinct, _, codes = self.tabulated
        if self.dates or len(distinct) > 2 and not always:
            return self
        # yes or no is not a quantity
        labels = tuple(map(shortest, distinct.tolist()))
        if len(set(labels)) < len(labels):
            labels = tuple(map(repr, distinct.tolist()))
        return replace(self, values=codes, categories=labels, levels=distinct)

    def codes(self) -> NDArray[np.int32]:
        """Each row's place among the column's values, missing ones after all others."""
        places = self.tabulated[2] if self.categories is None else self.values
        return np.where(places < 0, places.max() + 1, places).astype(np.int32)

    def value(self, code: int) -> str | float:
        """What a category stands for: a number, or its name where that says something else."""
        assert self.categories is not None
        name = self.categories[code]
        if self.levels is None:
            return name
        number = float(self.levels[code])
        return number if name in (shortest(number), repr(number)) else name

    def show(self, value: Any) -> str:
        """One of the column's values, as text."""
        if self.categories is not None:
            return unambiguous(self.categories[int(value)])
        if self.dates:
            return date(float(value))
        return shortest(float(value))

    def describe(self, value: float, spread: float) -> str:
        """A number or date, rounded to what matters to a ``spread`` where that is shorter."""
        rounded = date(value, spread) if self.dates else number(value, spread)
        return min(self.show(value), rounded, key=lambda text: len(text.replace(",", "")))


def columns_of(
    table: Any, *, categorical: Iterable[Any] | None = (), drop: Iterable[Any] | None = ()
) -> list[Column]:
    """The columns of a table (pandas, polars, pyarrow, an array of two dimensions; or columns).

    Numbers stay numbers unless ``categorical`` names them, or they take no more than two values;
    text, booleans and whatever else become categories, in natural order.
    """
    if isinstance(table, list) and table and all(isinstance(cells, Column) for cells in table):
        return table
    frame = as_frame(table)
    if frame is None:
        values = _table_of(table)
        table = pd.DataFrame(values, columns=names_of(values))
        frame = as_frame(table)
    if not all(frame.shape):
        raise InputError(
            f"Found a table of {frame.shape[0]} rows and {frame.shape[1]} columns; at least one of "
            "each is needed."
        )
    names = column_names(table)
    chosen = found(names, categorical, "categorical")
    left = found(names, drop, "drop")
    if len(left) == len(names):
        raise InputError(
            f"{parameter_label('drop')} names all {len(names)} columns; leave at least one."
        )
    return [
        of_cells(str(name), to_series(cells), name in chosen)
        for name, cells in zip(names, frame.iter_columns(), strict=True)
        if name not in left
    ]


def column_of(values: Any, name: Any = None) -> Column:
    """One column from a series (pandas, polars, pyarrow) or anything one-dimensional.

    ``name`` is what to call it; None: what it is called.
    """
    series = nw.from_native(values, series_only=True, pass_through=True)
    if isinstance(series, nw.Series):
        name = series.name if name is None else name
    else:
        series = as_array(values)
    if len(series.shape) != 1 or not len(series):
        raise InputError(
            f"Found {type(values).__name__} of shape {series.shape} where one column is needed. "
            "Pass a series or a one-dimensional array with at least one value."
        )
    cells = pd.Series(series) if isinstance(series, np.ndarray) else to_series(series)
    return of_cells("values" if name is None else str(name), cells)


def _table_of(table: Any) -> NDArray[Any]:
    values = as_array(table)
    if values.ndim != 2 or not values.size:
        raise InputError(
            f"Found {type(table).__name__} of shape {values.shape} where a table is needed. Pass a "
            "data frame, or a two-dimensional array with rows and columns."
        )
    return values


def names_of(table: Any) -> list[str]:
    """What the columns of a table are called; an array's are x0, x1 and so on."""
    names = column_names(table)
    return list(map(str, names)) or [f"x{place}" for place in range(_table_of(table).shape[1])]


def find(names: list[Any], name: Any, what: str) -> Any:
    """The column that ``name`` means: itself, or one that reads the same but for spaces around."""
    if name in names:
        return name
    alike = [known for known in names if str(known).strip() == str(name).strip()]
    if alike:
        return alike[0]
    texts = [str(known) for known in names]
    near = [text for text in texts if text.casefold() == str(name).casefold()]
    near += get_close_matches(str(name), texts, n=1)
    hint = f" Did you mean {shortened(near[0])!r}?" if near else ""
    raise InputError(
        f"{parameter_label(what)} names the column {shortened(str(name))!r}, but the table has no "
        f"such column; it has {len(names)}, from {shortened(texts[0])!r} to "
        f"{shortened(texts[-1])!r}.{hint}"
    )


def found(names: list[Any], wanted: Iterable[Any] | None, what: str) -> set[Any]:
    """The columns that a list of names means; one name may stand for itself."""
    if wanted is None:
        return set()
    single = isinstance(wanted, str) or not isinstance(wanted, Iterable)
    each = [wanted] if single else wanted
    return {find(names, name, what) for name in each}


def of_cells(name: str, cells: pd.Series, as_category: bool = False) -> Column:
    """A column from a series of pandas."""
    cells = plain(cells)
    kind = cells.dtype.kind
    if kind == "M":
        if cells.dt.tz is not None:  # the same moment in any zone
            cells = cells.dt.tz_convert(None)
        when = cells.to_numpy().astype("datetime64[us]")
        values = np.where(np.isnat(when), np.nan, when.astype(np.int64).astype(np.float64))
        column = Column(name, values, dates=True)
        return replace(column.as_categories(), declared=True) if as_category else column
    if isinstance(cells.dtype, pd.CategoricalDtype):
        return replace(_of_texts(name, cells), declared=True)
    is_truth = kind == "b" or cells.dtype == object and any(isinstance(c, bool) for c in cells)
    numeric = None if is_truth else numbers(cells)
    if numeric is not None and np.nanmax(np.abs(numeric), initial=0.0) >= LARGEST_EXACT:
        if all(isinstance(cell, int | np.integer) or is_missing(cell) for cell in cells):
            numeric = None  # floats do not tell all of them apart
    if numeric is None:
        return replace(_of_texts(name, cells), declared=as_category)
    return Column(name, numeric).coded(as_category)


def _of_texts(name: str, cells: pd.Series) -> Column:
    """A column of categories, in natural order."""
    texts, places = distinct_texts(cells)
    occurs = np.bincount(places + 1, minlength=len(texts) + 1)[1:] > 0
    present = dict.fromkeys(text for text, there in zip(texts, occurs, strict=True) if there)
    labels = sorted(present, key=natural)
    code = {label: place for place, label in enumerate(labels)}
    codes = np.array([*(code.get(text, -1) for text in texts), -1], dtype=np.int32)
    levels = None
    if labels and present.keys() <= {"False", "True"}:
        levels = np.array([float(label == "True") for label in labels])
    return Column(name, codes[places], tuple(labels), levels=levels)


def natural(text: str) -> tuple[bool, float, str]:
    """Numbers by their size, then other text by the alphabet."""
    try:
        value = float(text)
    except ValueError:
        value = np.nan
    return (True, 0.0, text) if np.isnan(value) else (False, value, text)
