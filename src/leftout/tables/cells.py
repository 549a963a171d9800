"""What the cells of a column hold, whatever kind of frame they come from."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from typing import Any, NamedTuple

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from leftout.asking import asking
from leftout.checks import Refusal, is_missing
from leftout.wording import shortened

_NESTED = (list, tuple, set, frozenset, dict, np.ndarray, pd.Series, pd.DataFrame)
_GAPS = (type(None), type(pd.NaT), type(pd.NA))
_SECONDS = 1e6  # microseconds in one


class Distinct(NamedTuple):
    """The different cells of a column, and each row's place among them, -1 where it has none."""

    values: list[Any]
    places: NDArray[np.integer]
    ordered: bool = False  # whether somebody has put the values in order


def plain(name: str, cells: nw.Series[Any]) -> nw.Series[Any]:
    """The same cells as numbers, dates, texts or categories; refuses those that hold many values.

    Durations and times of day become seconds, periods the dates they begin at, bytes the text that
    they hold, sparse columns full ones.
    """
    dtype = cells.dtype
    if dtype in (nw.List, nw.Array, nw.Struct):
        raise Refusal(_nested(name, "structs" if dtype == nw.Struct else "lists"))
    if dtype == nw.Unknown:
        cells = _known(cells)
        dtype = cells.dtype
    if dtype in (nw.Duration, nw.Time, nw.Binary):
        kind = {nw.Duration: dt.timedelta, nw.Time: dt.time}.get(type(dtype), bytes)
        return _made(name, cells.to_list(), kind)
    objects = objects_of(cells)
    if objects is None:
        return cells
    kinds = set(map(type, objects))
    for kind in kinds:
        if issubclass(kind, _NESTED):
            raise Refusal(_nested(name, "dicts" if issubclass(kind, dict) else "lists"))
    for kind in _MAKE:
        if any(issubclass(each, kind) for each in kinds.difference(_GAPS)) and all(
            isinstance(cell, kind) or is_missing(cell) for cell in objects
        ):
            return _made(name, objects, kind)
    return cells


def objects_of(cells: nw.Series[Any]) -> list[Any] | None:
    """The cells of a column of Python objects, which may be anything; None for any other."""
    if cells.dtype in (nw.Object, nw.Unknown):
        return cells.to_list()
    # narwhals calls objects text by the first hundred
    dtype = getattr(cells.to_native(), "dtype", None)
    return cells.to_list() if isinstance(dtype, np.dtype) and dtype.kind == "O" else None


def distinct(cells: nw.Series[Any]) -> Distinct | None:
    """A column's different texts, categories or yes and no; None for cells of several kinds."""
    native = cells.to_native()
    if nw.dependencies.is_pyarrow_chunked_array(native):
        if cells.dtype not in (nw.String, nw.Categorical, nw.Boolean):
            return None
        native = native.to_pandas()
    if not isinstance(native, pd.Series):  # polars, and others
        if cells.dtype == nw.Enum:
            return _put_in_order(cells.to_list(), cells.cat.get_categories().to_list())
        native = pd.Series(cells.to_list(), dtype=object)
    if isinstance(native.dtype, pd.CategoricalDtype):
        held = native.cat
        return Distinct(held.categories.tolist(), held.codes.to_numpy(), bool(held.ordered))
    objects = objects_of(nw.from_native(native, series_only=True))
    if objects is not None and not _of_one_kind(objects):
        return None
    places, values = pd.factorize(native)
    return Distinct(values.tolist(), places)


def _put_in_order(objects: list[Any], order: list[Any]) -> Distinct:
    place = {value: code for code, value in enumerate(order)}
    codes = [-1 if cell is None else place[cell] for cell in objects]
    return Distinct(order, np.array(codes, dtype=np.int32), ordered=True)


def _of_one_kind(objects: list[Any]) -> bool:
    """Whether objects that are equal are sure to read the same: all text, or all yes or no."""
    kinds = set(map(type, objects)).difference(_GAPS)
    if float in kinds:  # only as NaN, which stands for nothing
        if any(type(cell) is float and cell == cell for cell in objects):
            return False
        kinds.discard(float)
    return kinds <= {str} or kinds == {bool}


def _known(cells: nw.Series[Any]) -> nw.Series[Any]:
    """Columns of pandas that narwhals has no name for, as others that it has."""
    native = cells.to_native()
    dtype = getattr(native, "dtype", None)
    if isinstance(dtype, pd.SparseDtype):
        native = native.sparse.to_dense()
    elif isinstance(dtype, pd.PeriodDtype):
        native = native.dt.to_timestamp()
    elif isinstance(dtype, pd.IntervalDtype):
        native = pd.Series(pd.Categorical(native, ordered=True))
    else:
        return cells
    return nw.from_native(native, series_only=True)


def _made(name: str, objects: list[Any], kind: type) -> nw.Series[Any]:
    """Objects of one kind, or nothing, as what they are here."""
    make, dtype = _MAKE[kind]
    try:
        made = [None if is_missing(cell) else make(cell) for cell in objects]
    except UnicodeDecodeError as error:
        raise Refusal(
            f"The column {shortened(repr(name))} holds bytes that are no text; numbers or text are "
            f"needed. Drop it ({asking('drop', [name])}), or turn it into text."
        ) from error
    if dtype.startswith("category"):
        values: Any = pd.Categorical(made, ordered=True)
    else:
        values = np.array(made, dtype=dtype)
    return nw.from_native(pd.Series(values), series_only=True)


def _naive(cell: dt.date) -> dt.date:
    """The same moment in UTC, where a zone is given."""
    if not isinstance(cell, dt.datetime) or cell.tzinfo is None:
        return cell
    return cell.astimezone(dt.UTC).replace(tzinfo=None)


def _time_of_day(cell: dt.time) -> float:
    return 3600.0 * cell.hour + 60.0 * cell.minute + cell.second + cell.microsecond / _SECONDS


# What objects become: how each does, and the kind of the column.
_MAKE: dict[type, tuple[Callable[[Any], Any], str]] = {
    dt.date: (_naive, "datetime64[us]"),
    np.datetime64: (lambda cell: cell, "datetime64[us]"),
    dt.timedelta: (dt.timedelta.total_seconds, "float64"),
    dt.time: (_time_of_day, "float64"),
    pd.Period: (lambda cell: cell.to_timestamp(), "datetime64[us]"),
    pd.Interval: (lambda cell: cell, "category"),
    bytes: (bytes.decode, "object"),
}


def _nested(name: str, what: str) -> str:
    return (
        f"The column {shortened(repr(name))} holds {what} in its cells; one value in each is "
        f"needed. Drop it ({asking('drop', [name])}), or split it into columns."
    )
