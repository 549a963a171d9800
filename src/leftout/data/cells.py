"""The cells of a column, of whatever frame, as pandas has them: numbers, dates or categories."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from leftout.checks import is_missing
from leftout.errors import InputError, parameter_label
from leftout.text import shortened

_NESTED = (list, tuple, set, frozenset, dict, np.ndarray, pd.Series, pd.DataFrame)
_GAPS = (type(None), type(pd.NaT), type(pd.NA))


def to_series(cells: nw.Series[Any]) -> pd.Series:
    """The same cells in pandas; whole numbers with gaps are objects, and stay exact."""
    native = cells.to_native()
    if isinstance(native, pd.Series) and not isinstance(native.dtype, pd.ArrowDtype):
        return native
    if isinstance(native, pd.Series):
        native = native.array.__arrow_array__()
    if hasattr(native, "combine_chunks"):  # pyarrow
        return native.to_pandas(date_as_object=False, integer_object_nulls=True)
    if cells.dtype in (nw.Categorical, nw.Enum):
        order = cells.cat.get_categories().to_list()
        return pd.Series(pd.Categorical(cells.to_list(), order, ordered=cells.dtype == nw.Enum))
    if cells.dtype.is_float() or cells.dtype.is_integer() and not cells.null_count():
        return pd.Series(cells.to_numpy())
    return pd.Series(cells.to_list(), dtype=object)


def numbers(cells: pd.Series) -> NDArray[np.float64] | None:
    """Cells as floats, missing ones as NaN; None if they are anything but numbers."""
    if cells.dtype.kind in "biuf":
        return cells.to_numpy(dtype=np.float64, na_value=np.nan)
    kinds = _kinds(cells)
    if not kinds or any(issubclass(kind, str | bytes) for kind in kinds):
        return None
    try:
        known = [np.nan if is_missing(cell) else cell for cell in cells]
        return np.array(known, dtype=np.float64)
    except (TypeError, ValueError, ArithmeticError):
        return None


def distinct_texts(cells: pd.Series) -> tuple[list[str], NDArray[np.integer], bool]:
    """What the cells read, each row's place among these texts (-1: none), and if they are ordered.

    Some of the texts may occur in no row, and categories that read the same are there twice.
    """
    if isinstance(cells.dtype, pd.CategoricalDtype):
        return list(map(str, cells.cat.categories)), cells.cat.codes.to_numpy(), cells.cat.ordered
    if cells.dtype == object:
        texts = [None if is_missing(cell) else str(cell) for cell in cells]
        cells = pd.Series(texts, dtype=object)
    places, values = pd.factorize(cells)
    return list(map(str, values)), places, False


def plain(name: str, cells: pd.Series) -> pd.Series:
    """The same cells as numbers, dates, texts or categories; refuses those that hold many values.

    Durations and times of day become seconds, Python's dates a column of dates, bytes the text that
    they hold; whatever else is left as it is, and becomes categories.
    """
    if cells.dtype.kind == "m":
        return cells.dt.total_seconds()
    kinds = _kinds(cells) - {float}  # which may be NaN
    for kind in kinds:
        if issubclass(kind, _NESTED):
            what = "dicts" if issubclass(kind, dict) else "lists"
            raise InputError(
                f"The column {shortened(repr(name))} holds {what} in its cells; one value in each "
                f"is needed. Drop it ({parameter_label('drop', [name])}), or split it into columns."
            )
    for wanted, make, made in _PLAIN:
        if kinds and all(issubclass(kind, wanted) for kind in kinds):
            known = [None if is_missing(cell) else make(cell) for cell in cells]
            return pd.Series(known, dtype=made)
    return cells


def _kinds(cells: pd.Series) -> set[type]:
    """What Python objects the cells are; empty for a column of another dtype."""
    return set(map(type, cells)).difference(_GAPS) if cells.dtype == object else set()


def _naive(cell: dt.date) -> dt.date:
    """The same moment in UTC, where a zone is given."""
    if not isinstance(cell, dt.datetime) or cell.tzinfo is None:
        return cell
    return cell.astimezone(dt.UTC).replace(tzinfo=None)


def _seconds(cell: dt.time) -> float:
    return 3600.0 * cell.hour + 60.0 * cell.minute + cell.second + 1e-6 * cell.microsecond


# What cells of Python's own kinds become: how each does, and the kind of the column.
_PLAIN: tuple[tuple[type, Callable[[Any], Any], Any], ...] = (
    (dt.date, _naive, "datetime64[us]"),
    (dt.time, _seconds, "float64"),
    (dt.timedelta, dt.timedelta.total_seconds, "float64"),
    (bytes, lambda cell: cell.decode(errors="replace"), object),
)


Floats = NDArray[np.float64]
Tabulated = tuple[Floats, NDArray[np.int64], NDArray[np.int32]]


def value_counts(values: Floats) -> Tabulated:
    """Sorted distinct values, how often each occurs, and each row's place among them.

    NaN is not a value; its place is -1.
    """
    codes, distinct = pd.factorize(values, sort=True)
    counts = np.bincount(codes + 1, minlength=len(distinct) + 1)[1:]
    return distinct, counts, codes.astype(np.int32)
