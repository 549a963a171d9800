"""Tables and columns of whatever kind as pandas has them: numbers, dates or categories."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse

from leftout.checks import is_missing
from leftout.errors import InputError
from leftout.text import listed, quoted

Tabulated = tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.int32]]

_SHOWN = 5
# Sparse matrices become arrays up to this many values.
_DENSE = 1 << 26
_GAPS = (type(None), type(pd.NaT), type(pd.NA))


def as_frame(table: Any) -> Any:
    """A data frame of whatever kind as narwhals sees it; None for anything else."""
    if isinstance(table, np.ndarray):
        return None
    if nw.dependencies.is_into_dataframe(table):
        names = column_names(table)
        if any(isinstance(name, tuple) for name in names):
            raise InputError(
                "Found column names of several levels; one name per column is needed. Join the "
                "levels: table.columns = ['_'.join(map(str, name)) for name in table.columns]"
            )
        refuse_repeated(names)
        return nw.from_native(table, eager_only=True)
    of_dask = is_dask(table)
    if of_dask or isinstance(nw.from_native(table, pass_through=True), nw.LazyFrame):
        call = ".compute()" if of_dask else ".collect()"
        raise InputError(
            f"Found a {'Dask ' * of_dask}{type(table).__name__}, whose rows are not there yet; a "
            f"table in memory is needed. Call {call} on it first; leftout.audit takes Dask data "
            "frames as they are."
        )
    return None


def is_dask(table: Any) -> bool:
    """Whether a table is a Dask collection; asks nobody who is not there already."""
    return type(table).__module__.partition(".")[0] in ("dask", "dask_expr")


def column_names(table: Any) -> list[Any]:
    """Names of a table's columns; empty for an array."""
    if hasattr(type(table), "column_names"):  # pyarrow; a column of pandas may be called so
        return list(table.column_names)
    return list(getattr(table, "columns", []))


def refuse_repeated(names: Sequence[Any], called: str = "The table") -> None:
    """Refuse columns that have the same name."""
    repeated = [name for name, times in Counter(map(str, names)).items() if times > 1]
    if repeated:
        raise InputError(
            f"{called} has several columns named {some_of(repeated)}; every column needs a name of "
            "its own. Rename them."
        )


def some_of(names: list[Any]) -> str:
    """The first names of a list, and how many more there are."""
    more = [f"{len(names) - _SHOWN} more"] * (len(names) > _SHOWN)
    return listed([*map(quoted, names[:_SHOWN]), *more])


def refuse_unnamed(places: list[int], called: str) -> None:
    """Refuse columns of a file without a name."""
    if places:
        raise InputError(
            f"{called}: column {places[0] + 1} has no name; every column needs one. Name it, or "
            "remove it (a row number that pandas wrote goes with to_csv(index=False))."
        )


def rows_of(table: Any, rows: np.ndarray) -> Any:
    """Some rows of a data frame, as a frame of the same kind and with the same names."""
    return nw.from_native(table, eager_only=True)[rows, :].to_native()


def dense(table: Any) -> Any:
    """A sparse matrix as an array, unless it is too large for that; anything else as it is."""
    if not sparse.issparse(table):
        return table
    if table.shape[0] * table.shape[-1] > _DENSE:
        raise InputError(
            f"Found a sparse matrix of {table.shape[0]:,} x {table.shape[-1]:,} values, which has "
            f"to become an array here; that is done up to {_DENSE:,} values. Pass fewer rows or "
            "columns: MaxDisparityPartition, group_losses and disparity take larger ones."
        )
    return table.toarray(order="C")


def as_array(values: Any) -> NDArray[Any]:
    """An array, where what is masked is missing; refuses rows of different lengths."""
    values = dense(values)
    if isinstance(values, np.ma.MaskedArray):
        kind = np.float64 if values.dtype.kind in "iuf" else object
        gap = np.nan if kind is np.float64 else None
        return np.ma.filled(values.astype(kind), gap)
    try:
        return np.asarray(values)
    except ValueError as error:
        raise InputError(
            "Found rows of different lengths; a table needs the same number of values in every "
            "row. Fill or drop the short ones."
        ) from error


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
        return pd.Series(pd.Categorical(cells.to_list()))
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
        values = np.array(known, dtype=np.float64)
    except (TypeError, ValueError, ArithmeticError):
        return None
    return values if values.ndim == 1 else None


def distinct_texts(cells: pd.Series) -> tuple[list[str], NDArray[np.integer]]:
    """What the cells read, and each row's place among these texts (-1: none).

    Some of the texts may occur in no row, and categories that read the same are there twice.
    """
    if isinstance(cells.dtype, pd.CategoricalDtype):
        return list(map(str, cells.cat.categories)), cells.cat.codes.to_numpy()
    if cells.dtype == object:
        texts = [None if is_missing(cell) else str(cell) for cell in cells]
        cells = pd.Series(texts, dtype=object)
    places, values = pd.factorize(cells)
    return list(map(str, values)), places


def plain(cells: pd.Series) -> pd.Series:
    """The same cells as numbers, dates, texts or categories.

    Durations and times of day become seconds, Python's dates a column of dates, bytes the text that
    they hold; whatever else (lists, say) becomes categories by its text.
    """
    if cells.dtype.kind == "m":
        return cells.dt.total_seconds()
    if cells.dtype.kind == "c":
        return cells.astype(str)
    kinds = _kinds(cells)
    if float in kinds and all(np.isnan(cell) for cell in cells if type(cell) is float):
        kinds.discard(float)
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


# What cells of Python's own kinds become: how each does, and the kind of the column.
_PLAIN: tuple[tuple[type, Callable[[Any], Any], Any], ...] = (
    (dt.date, _naive, "datetime64[us]"),
    (dt.time, lambda t: 3600.0 * t.hour + 60.0 * t.minute + t.second + 1e-6 * t.microsecond, "f8"),
    (dt.timedelta, dt.timedelta.total_seconds, "float64"),
    (bytes, lambda cell: cell.decode(errors="replace"), object),
)


def value_counts(values: NDArray[np.float64]) -> Tabulated:
    """Sorted distinct values, how often each occurs, and each row's place among them.

    NaN is not a value; its place is -1.
    """
    codes, distinct = pd.factorize(values, sort=True)
    counts = np.bincount(codes + 1, minlength=len(distinct) + 1)[1:]
    return distinct, counts, codes.astype(np.int32)
