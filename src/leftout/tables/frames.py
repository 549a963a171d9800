"""Any table in, a matrix of numbers out."""

from collections import Counter
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from leftout.checks import Refusal, is_missing

_SHOWN = 5


def to_matrix(table: Any) -> Any:
    """Turn a data frame of numbers into an array; anything else passes through unchanged.

    Takes whatever narwhals knows (pandas, polars, pyarrow and others). Booleans count as numbers,
    missing values become NaN.
    """
    frame = as_frame(table)
    if frame is None:
        return table
    # Column by column: frames mix dtypes, and a missing integer must become NaN.
    result = np.empty(frame.shape, order="F")
    text = []
    for position, series in enumerate(frame.iter_columns()):
        values = numbers(series)
        if values is None:
            text.append(series.name)
        else:
            result[:, position] = values
    if text:
        shown = ", ".join(repr(name) for name in text[:_SHOWN])
        more = f" and {len(text) - _SHOWN} more" if len(text) > _SHOWN else ""
        raise Refusal(
            f"Found columns that are not numbers ({shown}{more}); PCA needs numbers. Encode them, "
            "for example with scikit-learn's TargetEncoder or OneHotEncoder, or drop them."
        )
    return result


def as_frame(table: Any) -> Any:
    """A data frame of whatever kind as narwhals sees it; None for anything else."""
    if isinstance(table, np.ndarray):
        return None
    if nw.dependencies.is_into_dataframe(table):
        _check_names(column_names(table))
        return nw.from_native(table, eager_only=True)
    _refuse_lazy(table)
    return None


def number_matrix(table: Any, frame: Any) -> np.ndarray | None:
    """A frame of nothing but numbers as one float matrix, column by column; None for any other.

    At once, since a look at every column costs more than its numbers; pandas' own way of it, where
    it is pandas', is the shortest.
    """
    dtypes = getattr(table, "dtypes", None)
    if dtypes is not None and all(isinstance(d, np.dtype) and d.kind in "iuf" for d in dtypes):
        return np.asfortranarray(table.to_numpy(dtype=np.float64))
    if not all(dtype.is_numeric() for dtype in frame.schema.values()):
        return None
    try:
        return np.asfortranarray(frame.to_numpy(), dtype=np.float64)
    except (TypeError, ValueError):  # decimals, with gaps
        return None


def column_names(table: Any) -> list[Any]:
    """Names of a table's columns; empty for an array."""
    names = getattr(table, "column_names", None)  # pyarrow
    return list(getattr(table, "columns", []) if names is None else names)


def _check_names(names: list[Any]) -> None:
    if any(isinstance(name, tuple) for name in names):
        raise Refusal(
            "Found column names of several levels; one name per column is needed. Join the levels, "
            "for example: table.columns = ['_'.join(map(str, name)) for name in table.columns]"
        )
    twice = [str(name) for name, count in Counter(names).items() if count > 1]
    if twice:
        raise Refusal(
            f"Found several columns named {', '.join(map(repr, twice[:_SHOWN]))}; names must be "
            "unique. Rename or drop all but one."
        )


def _refuse_lazy(table: Any) -> None:
    if isinstance(nw.from_native(table, pass_through=True), nw.LazyFrame):
        raise Refusal(
            "Found a lazy frame, whose rows are not there yet; a table in memory is needed. "
            "Call .collect() on it first."
        )


def numbers(series: Any) -> np.ndarray | None:
    """A column as floats, missing values as NaN; None if it holds anything but numbers."""
    dtype = series.dtype
    if dtype.is_numeric() or dtype == nw.Boolean:
        return series.cast(nw.Float64).to_numpy()
    if dtype.is_temporal() or dtype in (nw.String, nw.Categorical, nw.Enum):
        return None
    # Python objects (of which pandas asks, on the way, what they refuse to answer), sparse columns,
    # columns of nothing but missing values
    objects = dtype == nw.Object
    values = np.fromiter(series.to_list(), dtype=object) if objects else series.to_numpy()
    if values.dtype.kind == "O":
        values = np.where([is_missing(cell) for cell in values], np.nan, values)
    try:
        return np.asarray(values, dtype=np.float64) if values.ndim == 1 else None
    except (TypeError, ValueError, ArithmeticError):
        return None
