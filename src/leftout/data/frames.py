"""Any table in, a matrix of numbers out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from scipy import sparse

from leftout.data.cells import numbers, to_series
from leftout.errors import InputError
from leftout.text import listed, quoted

_SHOWN = 5
# Sparse matrices become arrays up to this many values.
_DENSE = 1 << 26


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
        values = numbers(to_series(series))
        if values is None:
            text.append(series.name)
        else:
            result[:, position] = values
    if text:
        raise InputError(
            f"Found columns that are not numbers ({_some(text)}); PCA needs numbers. Encode them, "
            "for example with scikit-learn's TargetEncoder or OneHotEncoder, or drop them."
        )
    return result


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
    _refuse_lazy(table)
    return None


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
            f"{called} has several columns named {_some(repeated)}; every column needs a name of "
            "its own. Rename them."
        )


def _some(names: list[Any]) -> str:
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
    if hasattr(table, "iloc"):
        return table.iloc[rows]
    if hasattr(table, "column_names"):  # pyarrow
        return table.take(rows)
    return nw.from_native(table, eager_only=True)[rows.tolist(), :].to_native()


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


def _refuse_lazy(table: Any) -> None:
    of_dask = type(table).__module__.partition(".")[0] in ("dask", "dask_expr")
    if of_dask or isinstance(nw.from_native(table, pass_through=True), nw.LazyFrame):
        call = ".compute()" if of_dask else ".collect()"
        raise InputError(
            f"Found a {'Dask ' * of_dask}{type(table).__name__}, whose rows are not there yet; a "
            f"table in memory is needed. Call {call} on it first; leftout.audit takes Dask data "
            "frames as they are."
        )
