"""Columns of a raw table as people know them: numbers, dates, named categories."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Collection, Hashable
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from numba import njit
from numpy.typing import NDArray

from leftout.tables import as_frame, column_names, numbers

Floats = NDArray[np.float64]
Tabulated = tuple[Floats, NDArray[np.int64], NDArray[np.int32]]

# Whole numbers up to this range are counted rather than sorted.
_COUNTED = 1 << 16
# Joins emoji; every other invisible character is written out.
_JOINER = "\u200d"
_AMBIGUOUS = re.compile(r"[<>=]|\b(and|or|is missing|is known)\b|^\s|\s$|^$")


@dataclass(frozen=True)
class Column:
    """One column: numbers (dates count as such, in microseconds), or codes of named categories.

    Numbers that take two values only are categories. ``values`` is NaN, or the code -1, where the
    table has nothing.
    """

    name: str
    values: NDArray[Any]
    categories: tuple[str, ...] | None = None
    dates: bool = False

    def __len__(self) -> int:
        return len(self.values)

    @property
    def missing(self) -> NDArray[np.bool_]:
        return np.isnan(self.values) if self.categories is None else self.values < 0

    @cached_property
    def tabulated(self) -> Tabulated:
        """Of numbers: distinct values, how often each occurs, each row's place among them."""
        return tabulate(self.values)

    def codes(self) -> NDArray[np.int32]:
        """Each row's place among the column's values, missing ones after all others."""
        places = self.tabulated[2] if self.categories is None else self.values
        return np.where(places < 0, places.max() + 1, places).astype(np.int32)

    def show(self, value: Any) -> str:
        """One of the column's values, as text."""
        if self.categories is not None:
            return unambiguous(self.categories[int(value)])
        if self.dates:
            return str(np.datetime64(int(value), "us")).removesuffix("T00:00:00.000000")
        return shortest(float(value))


def columns_of(
    table: Any, *, categorical: Collection[Any] = (), drop: Collection[Any] = ()
) -> list[Column]:
    """The columns of a table (pandas, polars, pyarrow, a two-dimensional array).

    Numbers stay numbers unless ``categorical`` names them, or they take no more than two values;
    text, booleans and whatever else become categories, in natural order.
    """
    frame = as_frame(table)
    make: Callable[[str, Any, bool], Column] = _column
    if frame is None:
        named = _of_array(table)
    elif all(dtype.is_numeric() for dtype in frame.schema.values()):
        # At once, since a look at every column costs more than its numbers.
        matrix = np.asfortranarray(frame.to_numpy(), dtype=np.float64)
        named, make = dict(zip(frame.columns, matrix.T, strict=True)), _of_numbers
    else:
        named = {series.name: series for series in frame.iter_columns()}
    names = list(named)
    chosen = {find(names, name, "categorical") for name in categorical}
    left = {find(names, name, "drop") for name in drop}
    return [
        make(str(name), cells, name in chosen) for name, cells in named.items() if name not in left
    ]


def column_of(values: Any, name: Any = None) -> Column:
    """One column from a series (pandas, polars, pyarrow) or anything one-dimensional.

    ``name`` is what to call it; None: what it is called.
    """
    series = nw.from_native(values, series_only=True, pass_through=True)
    if isinstance(series, nw.Series):
        return _column(str(series.name if name is None else name), series, as_category=False)
    cells = np.asarray(values)
    if cells.ndim != 1:
        raise ValueError(
            f"Found {type(values).__name__} of shape {cells.shape} where one column is needed. "
            "Pass a series or a one-dimensional array."
        )
    return _column("values" if name is None else str(name), cells, as_category=False)


def _of_array(table: Any) -> dict[Any, NDArray[Any]]:
    values = np.asarray(table)
    if values.ndim != 2 or not values.size:
        raise ValueError(
            f"Found {type(table).__name__} of shape {values.shape} where a table is needed. Pass a "
            "data frame, or a two-dimensional array with rows and columns."
        )
    return dict(zip(names_of(values), values.T, strict=True))


def names_of(table: Any) -> list[str]:
    """What the columns of a table are called; an array's are x0, x1 and so on."""
    names = column_names(table)
    return [str(n) for n in names] or [f"x{place}" for place in range(np.asarray(table).shape[1])]


def find(names: list[Any], name: Any, what: str) -> Any:
    """The column that ``name`` means: itself, or one that reads the same."""
    if name in names:
        return name
    alike = [known for known in names if str(known) == str(name)]
    if alike:
        return alike[0]
    near = get_close_matches(str(name), [str(known) for known in names], n=1)
    hint = f" Did you mean {near[0]!r}?" if near else ""
    raise ValueError(
        f"{what} names the column {name!r}, but the table has no such column; it has "
        f"{len(names)}, from {names[0]!r} to {names[-1]!r}.{hint}"
    )


def shown(value: Any) -> str:
    """Text that shows every character: what would move the cursor or hide is written out."""
    return "".join(
        char
        if char == _JOINER or unicodedata.category(char) not in ("Cc", "Cf", "Cs", "Zl", "Zp")
        else char.encode("unicode_escape").decode()
        for char in str(value)
    )


def unambiguous(value: Any) -> str:
    """A name or value in a condition: in quotes where it could be read as part of the condition."""
    text = str(value)
    return shown(repr(text) if _AMBIGUOUS.search(text) else text)


def shortest(value: float) -> str:
    """A number in as few digits as tell it apart from others; whole ones without a point.

    What single precision holds exactly came from there, and is written with its digits.
    """
    if value.is_integer():
        return str(int(value)) if abs(value) < 1e16 else repr(float(value))
    with np.errstate(over="ignore", under="ignore"):
        single = np.float32(value)
    return str(single) if float(single) == value else repr(float(value))


def _column(name: str, cells: Any, as_category: bool) -> Column:
    """One column from a frame's series or an array's."""
    if isinstance(cells, np.ndarray):
        kind = cells.dtype.kind
    elif cells.dtype in (nw.Datetime, nw.Date):
        kind, cells = "M", cells.to_numpy()
    else:
        kind = {nw.Boolean: "b", nw.Object: "O"}.get(type(cells.dtype), "")
    if kind == "O" and any(isinstance(cell, bool) for cell in _cells(cells)):
        kind = "b"
    if kind == "M" and not as_category:
        stamps = cells.astype("datetime64[us]")
        when = np.where(np.isnat(stamps), np.nan, stamps.astype(np.int64).astype(np.float64))
        return Column(name, when, dates=True)
    values = None
    if kind != "b":
        values = _floats(cells) if isinstance(cells, np.ndarray) else numbers(cells)
    if values is None:
        return _categories(name, cells)
    return _of_numbers(name, values, as_category)


def _of_numbers(name: str, values: Floats, as_category: bool) -> Column:
    column = Column(name, values)
    distinct, _, codes = column.tabulated
    if as_category or len(distinct) <= 2:  # yes or no is no quantity
        return Column(name, codes, tuple(map(shortest, distinct.tolist())))
    return column


def tabulate(values: Floats) -> Tabulated:
    """Sorted distinct values, how often each occurs, and each row's place among them.

    NaN is no value; its place is -1. Whole numbers of a small range are counted, others sorted.
    """
    values = np.ascontiguousarray(values)
    counted = _counted(values)
    # NumPy sorts several times faster than compiled code here would.
    return _in_order(values, np.argsort(values)) if counted is None else counted


@njit(cache=True, nogil=True)
def _counted(values: Floats) -> Tabulated | None:
    low, high = np.inf, -np.inf
    for value in values:
        if value == value:
            if value != np.floor(value):
                return None
            low, high = min(low, value), max(high, value)
    if not 0 <= high - low < _COUNTED:
        return None
    tally = np.zeros(int(high - low) + 1, dtype=np.int64)
    for value in values:
        if value == value:
            tally[int(value - low)] += 1
    found = np.flatnonzero(tally)
    place = np.empty(len(tally), dtype=np.int32)
    for code, offset in enumerate(found):
        place[offset] = code
    codes = np.full(len(values), -1, dtype=np.int32)
    for row, value in enumerate(values):
        if value == value:
            codes[row] = place[int(value - low)]
    return found + np.float64(low), tally[found], codes


@njit(cache=True, nogil=True)
def _in_order(values: Floats, order: NDArray[np.intp]) -> Tabulated:
    distinct, counts = np.empty(len(values)), np.zeros(len(values), dtype=np.int64)
    codes = np.full(len(values), -1, dtype=np.int32)
    n = 0
    for row in order:
        if np.isnan(values[row]):  # and so are all after it
            break
        if n == 0 or values[row] != distinct[n - 1]:
            distinct[n] = values[row]
            n += 1
        counts[n - 1] += 1
        codes[row] = n - 1
    return distinct[:n].copy(), counts[:n].copy(), codes


def _floats(cells: NDArray[Any]) -> Floats | None:
    if cells.dtype.kind == "O":
        cells = np.where([cell is None for cell in cells], np.nan, cells)
    try:
        return cells.astype(np.float64) if cells.dtype.kind in "iufO" else None
    except (TypeError, ValueError):
        return None


def _categories(name: str, cells: Any) -> Column:
    texts = [None if cell is None or _is_nan(cell) else str(cell) for cell in _cells(cells)]
    labels = sorted({text for text in texts if text is not None}, key=_natural)
    place: dict[str | None, int] = {label: code for code, label in enumerate(labels)}
    place[None] = -1
    return Column(name, np.array([place[text] for text in texts], dtype=np.int32), tuple(labels))


def _cells(cells: Any) -> list[Any]:
    return cells.tolist() if isinstance(cells, np.ndarray) else cells.to_list()


def _is_nan(cell: Any) -> bool:
    """NaN, NaT and pandas' NA, which is not even equal to itself."""
    return type(cell).__name__ == "NAType" or (isinstance(cell, Hashable) and cell != cell)


def _natural(text: str) -> tuple[bool, float, str]:
    """Numbers by their size, then other text by the alphabet."""
    try:
        value = float(text)
    except ValueError:
        value = np.nan
    return (True, 0.0, text) if np.isnan(value) else (False, value, text)
