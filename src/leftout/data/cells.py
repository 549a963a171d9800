"""What the cells of a column hold, whatever kind of frame they come from."""

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


def distinct_texts(cells: nw.Series[Any]) -> tuple[list[str], NDArray[np.integer], bool]:
    """What the cells read, each row's place among these texts (-1: none), and if they are ordered.

    Some of the texts may occur in no row, and categories that read the same are there twice.
    """
    native = cells.to_native()
    if cells.dtype in (nw.Categorical, nw.Enum):
        if nw.dependencies.is_pyarrow_chunked_array(native):
            native = native.to_pandas()
        if isinstance(native, pd.Series):
            held, ordered = native.array, bool(native.cat.ordered)
        else:  # polars
            order = cells.cat.get_categories().to_list()
            held, ordered = pd.Categorical(cells.to_list(), order), cells.dtype == nw.Enum
        return list(map(str, held.categories)), held.codes, ordered
    if isinstance(native, pd.Series) and native.dtype != object:
        places, values = pd.factorize(native)
    else:
        texts = [None if is_missing(cell) else str(cell) for cell in cells.to_list()]
        places, values = pd.factorize(np.array(texts, dtype=object))
    return list(map(str, values)), places, False


def plain(name: str, cells: nw.Series[Any]) -> nw.Series[Any]:
    """The same cells as numbers, dates, texts or categories; refuses those that hold many values.

    Durations and times of day become seconds, Python's dates a column of dates, bytes the text that
    they hold; whatever else is left as it is, and becomes categories.
    """
    dtype = cells.dtype
    if dtype in (nw.List, nw.Array, nw.Struct):
        raise _nested(name, "structs" if dtype == nw.Struct else "lists")
    if dtype == nw.Duration:
        return _series(cells.to_numpy().astype("timedelta64[us]") / np.timedelta64(1, "s"))
    objects = cells.to_list() if dtype in (nw.Binary, nw.Time) else objects_of(cells)
    if objects is None:
        return cells
    kinds = set(map(type, objects)).difference((*_GAPS, float))  # which may be NaN
    for kind in kinds:
        if issubclass(kind, _NESTED):
            raise _nested(name, "dicts" if issubclass(kind, dict) else "lists")
    for wanted, make, made in _PLAIN:
        if kinds and all(issubclass(kind, wanted) for kind in kinds):
            known = [None if is_missing(cell) else make(cell) for cell in objects]
            return _series(pd.Series(known, dtype=made))
    return cells


def _series(values: Any) -> nw.Series[Any]:
    return nw.from_native(pd.Series(values), series_only=True)


def objects_of(cells: nw.Series[Any]) -> list[Any] | None:
    """The cells of a column of Python objects, which may be anything; None for any other."""
    # narwhals calls objects text by the first hundred
    dtype = getattr(cells.to_native(), "dtype", None)
    is_object = isinstance(dtype, np.dtype) and dtype.kind == "O"
    return cells.to_list() if is_object or cells.dtype in (nw.Object, nw.Unknown) else None


def _naive(cell: dt.date) -> dt.date:
    """The same moment in UTC, where a zone is given."""
    if not isinstance(cell, dt.datetime) or cell.tzinfo is None:
        return cell
    return cell.astimezone(dt.UTC).replace(tzinfo=None)


def _text(cell: bytes) -> str:
    return cell.decode(errors="replace")


def _seconds(cell: dt.time) -> float:
    return 3600.0 * cell.hour + 60.0 * cell.minute + cell.second + 1e-6 * cell.microsecond


# What cells of Python's own kinds become: how each does, and the kind of the column.
_PLAIN: tuple[tuple[type, Callable[[Any], Any], Any], ...] = (
    (dt.date, _naive, "datetime64[us]"),
    (dt.time, _seconds, "float64"),
    (bytes, _text, object),
)


def _nested(name: str, what: str) -> InputError:
    return InputError(
        f"The column {shortened(repr(name))} holds {what} in its cells; one value in each is "
        f"needed. Drop it ({parameter_label('drop', [name])}), or split it into columns."
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
