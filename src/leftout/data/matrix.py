"""Any table as a matrix of numbers, checked once."""

from __future__ import annotations

from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.utils.validation import check_array

from leftout.checks import check_weights
from leftout.data.frames import as_array, as_frame, column_names, numbers, some_of, to_series
from leftout.errors import InputError, parameter_label
from leftout.linalg.losses import Array
from leftout.linalg.moments import SUMMED_AT_ONCE, SparseRows

# The most columns of a sparse matrix that is searched as it is.
_COLUMNS = 5000


def check_matrix(table: Any, *, min_features: int = 2) -> Array:
    """A finite float64 matrix, whatever kind of table came in."""
    X = check_numbers(table, min_features=min_features)
    check_finite(X, table)
    return X


def check_features(table: Any, *, min_features: int = 2) -> Array:
    """:func:`check_matrix`, where a large sparse matrix stays one: :class:`SparseRows`."""
    if not sparse.issparse(table) or table.ndim != 2:
        return check_matrix(table, min_features=min_features)
    m, n = table.shape
    if m * n <= SUMMED_AT_ONCE or m < n <= _COLUMNS or n < min_features:
        return check_matrix(table, min_features=min_features)
    if n > _COLUMNS:
        raise InputError(
            f"Found a sparse matrix of {n:,} columns; more than {_COLUMNS:,} are too many for the "
            "second moments of all of them. Keep the columns that matter, such as the most "
            "frequent words, or pass what TruncatedSVD makes of them."
        )
    _check_kind(table)
    X = sparse.csr_array(table, dtype=np.float64)
    if not X.has_canonical_format:
        X = X.copy()  # the caller's stays as it is
        X.sum_duplicates()
    bad = np.flatnonzero(~np.isfinite(X.data))
    if len(bad):
        row = int(np.searchsorted(X.indptr, bad[0], side="right")) - 1
        raise InputError(_not_finite(X.data[bad], m * n, row, int(X.indices[bad[0]]), table))
    return cast(Array, SparseRows(X))


def check_finite(X: Array, table: Any) -> None:
    """Refuse what is not a number, and say where in the table it is."""
    # A sum is finite only if its terms are, and needs no array of flags.
    if not np.isfinite(X.sum()) and not np.isfinite(X).all():
        bad = ~np.isfinite(X)
        row, column = np.argwhere(bad)[0]
        raise InputError(_not_finite(X[bad], X.size, row, column, table))


def check_numbers(table: Any, *, min_features: int = 2) -> Array:
    """A float64 matrix, which may still hold missing or infinite values."""
    frame = as_frame(table)
    X = as_array(table) if frame is None else _stacked(frame)
    _check_kind(X)
    try:
        X = check_array(X, dtype=np.float64, ensure_all_finite=False, ensure_min_features=0)
    except ValueError as error:
        if "could not convert" in str(error) or "bytes/strings" in str(error):
            raise InputError(
                "Found text in X; PCA needs numbers. Encode text columns as numbers, for example "
                "with scikit-learn's TargetEncoder or OneHotEncoder, or drop them."
            ) from error
        raise
    if X.shape[1] < min_features:
        raise InputError(
            f"Found {X.shape[1]} feature(s) (shape={X.shape}) while a minimum of "
            f"{min_features} is required: a projection needs a dimension to leave out. Add columns."
        )
    return X


def _stacked(frame: Any) -> Array:
    """The numbers of a data frame, booleans among them, with NaN where they are missing."""
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
            f"Found columns that are not numbers ({some_of(text)}); PCA needs numbers. Encode "
            "them, for example with scikit-learn's TargetEncoder or OneHotEncoder, or drop them."
        )
    return result


def _check_kind(X: Any) -> None:
    """Refuse arrays of anything but numbers."""
    kind = getattr(getattr(X, "dtype", None), "kind", None)
    if kind in ("m", "M", "V"):
        raise InputError(
            f"Found an array of {X.dtype}; PCA needs plain numbers. Convert dates to numbers and "
            "fields to columns first."
        )
    if kind == "c":
        raise InputError("Complex data not supported: PCA here needs real numbers. Use X.real.")


class Counted(NamedTuple):
    """The rows of a matrix that count at all, and what each of them does."""

    X: Array
    places: slice | NDArray[np.intp]
    weights: Array | None  # 1 on average; None where they are all alike

    @classmethod
    def of(cls, X: Array, sample_weight: ArrayLike | None) -> Counted:
        """By weights as users pass them in."""
        places, weights = check_weights(sample_weight, len(X))
        if weights is None and isinstance(places, slice):
            return cls(X, places, None)
        if isinstance(X, SparseRows):
            raise InputError(
                f"Rows with weights are read as an array, but this sparse table ({len(X):,} x "
                f"{X.shape[1]:,}) stays sparse. Leave out {parameter_label('sample_weight')}, or "
                "pass X.toarray() where memory allows."
            )
        return cls(X[places], places, weights)


def all_counted(X: Array, sample_weight: ArrayLike | None) -> Array | None:
    """What each row of a matrix counts, where all do: some statements are about every row."""
    counted = Counted.of(X, sample_weight)
    if len(counted.X) < len(X):
        raise InputError(
            f"Found {len(X) - len(counted.X):,} weights of 0 in "
            f"{parameter_label('sample_weight')}; here each row needs a number above it. Drop "
            "these rows."
        )
    return counted.weights


def check_rows(table: Any, X: Any, n_rows: int) -> None:
    """One raw row for each row of ``X``, in the same order, as far as that can be told."""
    if n_rows != len(X):
        raise InputError(
            f"The raw table has {n_rows:,} rows, but X has {len(X):,}; one raw row for each row of "
            "X is needed, in the same order."
        )
    if reordered(table, X):
        raise InputError(
            "The raw table has the rows of X in another order (their index says so). Pass "
            "table.loc[X.index]."
        )


def reordered(table: Any, X: Any) -> bool:
    """Whether two frames have the same index, but not in the same order."""
    ours: Any = getattr(table, "index", None)
    theirs: Any = getattr(X, "index", None)
    if not hasattr(ours, "equals") or not hasattr(theirs, "equals") or ours.equals(theirs):
        return False
    return sorted(map(str, ours)) == sorted(map(str, theirs))


def _not_finite(bad: Array, size: int, row: int, column: int, table: Any) -> str:
    """What is said of values that are not finite, the first of them in this row and column."""
    name = column_names(table)
    where = f"column {name[column]!r}" if len(name) > column else f"column {column}"
    kinds = " and ".join(
        kind
        for kind, found in (("NaN", np.isnan(bad).any()), ("infinity", np.isinf(bad).any()))
        if found
    )
    return (
        f"Input X contains {kinds}: {len(bad)} of {size} values, the first in row {row}, "
        f"{where}. PCA needs every value finite. Fill the gaps (for example with scikit-learn's "
        "SimpleImputer) or drop those rows or columns."
    )
