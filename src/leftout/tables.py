"""Any table in, a matrix of numbers out."""

from __future__ import annotations

from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

_SHOWN = 5


def to_matrix(table: Any) -> Any:
    """Turn a data frame of numbers into an array; anything else passes through unchanged.

    Takes whatever narwhals knows (pandas, polars, pyarrow and others). Booleans count as numbers,
    missing values become NaN.
    """
    frame = nw.from_native(table, pass_through=True)
    if isinstance(frame, nw.LazyFrame):
        raise TypeError(
            "Found a lazy frame, whose rows are not there yet; a table in memory is needed. "
            "Call .collect() on it first."
        )
    if not isinstance(frame, nw.DataFrame):
        return table
    text = [name for name, dtype in frame.schema.items() if not _is_number(dtype, frame, name)]
    if text:
        shown = ", ".join(repr(name) for name in text[:_SHOWN])
        more = f" and {len(text) - _SHOWN} more" if len(text) > _SHOWN else ""
        raise ValueError(
            f"Found columns that are not numbers ({shown}{more}); PCA needs numbers. Encode them, "
            "for example with scikit-learn's TargetEncoder or OneHotEncoder, or drop them."
        )
    # Column by column: frames mix dtypes, and a missing integer must become NaN.
    result = np.empty(frame.shape, order="F")
    for position, name in enumerate(frame.columns):
        result[:, position] = frame[name].cast(nw.Float64).to_numpy()
    return result


def _is_number(dtype: Any, frame: Any, name: str) -> bool:
    if dtype.is_numeric() or dtype == nw.Boolean:
        return True
    if dtype == nw.Unknown and frame[name].null_count() == len(frame):
        return True  # a column of nothing but missing values: the NaN check will speak
    if dtype == nw.Object:  # numbers in a column of Python objects are numbers all the same
        try:
            np.asarray(frame[name].to_numpy(), dtype=np.float64)
        except (TypeError, ValueError):
            return False
        return True
    return False
