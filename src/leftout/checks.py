"""What users pass in, checked once: refusals say what was found, needed, and to do."""

from __future__ import annotations

import warnings
from difflib import get_close_matches
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_array

from leftout.losses import Array, Loss, Shared, shared_pca
from leftout.moments import Moments
from leftout.tables import column_names, to_matrix

# Eigenvalues closer than this share of the largest cannot be told apart.
_TIE = 1e-10
# Squares of larger sums of squares overflow.
_LARGEST = 1e150
# Labels that are whole numbers up to this are counted rather than sorted.
_CODE = 1 << 31


def check_choice(name: str, value: object, choices: Any) -> None:
    """Refuse an unknown name, and give the nearest known one."""
    if isinstance(value, str) and value in choices:
        return
    near = get_close_matches(str(value), list(choices), n=1)
    hint = f" Did you mean {near[0]!r}?" if near else ""
    known = ", ".join(map(repr, choices))
    raise ValueError(f"{name}={value!r} is not known; it must be one of {known}.{hint}")


def check_count(name: str, value: Any) -> None:
    """Refuse anything but an int from 1."""
    if not (_is_int(value) and int(value) >= 1):
        raise ValueError(f"{name}={value!r} is not a count; give an int from 1.")


def check_whole(name: str, value: Any) -> None:
    """Refuse anything but an int from 0."""
    if not (_is_int(value) and int(value) >= 0):
        raise ValueError(f"{name}={value!r} is not a whole number; give an int from 0.")


def check_matrix(table: Any, *, min_features: int = 2) -> Array:
    """A finite float64 matrix, whatever kind of table came in."""
    X = check_numbers(table, min_features=min_features)
    check_finite(X, table)
    return X


def check_finite(X: Array, table: Any) -> None:
    """Refuse what is not a number, and say where in the table it is."""
    # A sum is finite only if its terms are, and needs no array of flags.
    if not np.isfinite(X.sum()) and not np.isfinite(X).all():
        raise ValueError(_not_finite(X, table))


def check_numbers(table: Any, *, min_features: int = 2) -> Array:
    """A float64 matrix, which may still hold missing or infinite values."""
    X = to_matrix(table)
    if isinstance(X, np.ma.MaskedArray):
        X = np.ma.filled(X.astype(np.float64), np.nan)
    kind = getattr(getattr(X, "dtype", None), "kind", None)
    if kind in ("m", "M", "V"):
        raise ValueError(
            f"Found an array of {X.dtype}; PCA needs plain numbers. Convert dates to numbers and "
            "fields to columns first."
        )
    if kind == "c":
        raise ValueError("Complex data not supported: PCA here needs real numbers. Use X.real.")
    try:
        X = check_array(X, dtype=np.float64, ensure_all_finite=False, ensure_min_features=0)
    except ValueError as error:
        if "inhomogeneous" in str(error):
            raise ValueError(
                "Found rows of different lengths; a table needs as many values in every row. "
                "Fill or drop the short ones."
            ) from error
        if "could not convert" in str(error) or "bytes/strings" in str(error):
            raise ValueError(
                "Found text in X; PCA needs numbers. Encode text columns as numbers, for example "
                "with scikit-learn's TargetEncoder or OneHotEncoder, or drop them."
            ) from error
        raise
    if X.shape[1] < min_features:
        raise ValueError(
            f"Found {X.shape[1]} feature(s) (shape={X.shape}) while a minimum of "
            f"{min_features} is required: a projection needs a dimension to leave out. Add columns."
        )
    return X


def _not_finite(X: Array, table: Any) -> str:
    bad = ~np.isfinite(X)
    row, column = np.argwhere(bad)[0]
    name = column_names(table)
    where = f"column {name[column]!r}" if len(name) == X.shape[1] else f"column {column}"
    kinds = " and ".join(
        kind
        for kind, found in (("NaN", np.isnan(X).any()), ("infinity", np.isinf(X).any()))
        if found
    )
    return (
        f"Input X contains {kinds}: {int(bad.sum())} of {X.size} values, the first in row {row}, "
        f"{where}. PCA needs every value finite. Fill the gaps (for example with scikit-learn's "
        "SimpleImputer) or drop those rows or columns."
    )


def check_groups(labels: ArrayLike, n_rows: int) -> tuple[NDArray[Any], NDArray[np.intp]]:
    """Group names in sorted order, and each row's place among them."""
    labels = np.asarray(labels)
    if labels.ndim != 1 or len(labels) != n_rows:
        raise ValueError(
            f"Found labels of shape {labels.shape} for {n_rows} rows; one label a row is needed. "
            "Pass a one-dimensional array as long as X."
        )
    missing = _missing(labels)
    if missing:
        raise ValueError(
            f"Found {missing} missing labels; every row needs a group. "
            "Give those rows a label of their own, or drop them."
        )
    if labels.dtype.kind in "iu" and len(labels):
        lowest, highest = int(labels.min()), int(labels.max())
        if highest - lowest < len(labels) and max(-lowest, highest) < _CODE:  # nothing to sort
            offset = labels.astype(np.intp) - lowest
            present = np.bincount(offset) > 0
            names = (np.flatnonzero(present) + lowest).astype(labels.dtype)
            return names, (np.cumsum(present) - 1)[offset].astype(np.intp)
    try:
        names, index = np.unique(labels, return_inverse=True)
    except TypeError as error:
        raise ValueError(
            "Found labels of several kinds that cannot be sorted; labels of one kind are needed. "
            "Turn them into strings."
        ) from error
    return names, index.astype(np.intp)


def _missing(labels: NDArray[Any]) -> int:
    if labels.dtype.kind in "mM":
        return int(np.isnat(labels).sum())
    if labels.dtype.kind == "f":
        return int(np.isnan(labels).sum())
    return sum(map(_is_missing, labels)) if labels.dtype.kind == "O" else 0


def _is_missing(value: Any) -> bool:
    """None, NaN and NaT (not equal to themselves), or pandas' NA (which will not say)."""
    try:
        return value is None or bool(value != value)
    except (TypeError, ValueError):
        return True


def _is_int(value: Any) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool | np.bool_)


def _is_share(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, Integral) and 0.0 < float(value) < 1.0


def check_floor(name: str, value: Any) -> None:
    """Refuse anything but a share from 0 to 1."""
    if not (isinstance(value, Real) and not isinstance(value, bool) and 0 <= float(value) <= 1):
        raise ValueError(f"{name}={value!r} is not a share; give a number from 0 to 1.")


def check_tolerance(name: str, value: Any) -> None:
    """Refuse anything but a number above 0."""
    if not (isinstance(value, Real) and not isinstance(value, bool) and 0 < float(value) < np.inf):
        raise ValueError(f"{name}={value!r} is not a tolerance; give a number above 0.")


def check_left_out(labels: ArrayLike, n_rows: int) -> NDArray[np.bool_]:
    """Which rows are left out, from labels that are 1 there and 0 elsewhere."""
    names, place = check_groups(labels, n_rows)
    if not all(isinstance(name, Real | np.bool_) and name in (0, 1) for name in names.tolist()):
        shown = ", ".join(map(repr, names[:3].tolist()))
        raise ValueError(
            f"Found labels such as {shown}; explanations need 1 (or True) for the rows of the "
            "left-out group and 0 for the rest. For a group you name: labels == name."
        )
    if len(names) < 2:
        raise ValueError(
            f"All {n_rows} rows have the label {names[0]!r}; a left-out group (1) and a rest (0) "
            "are needed."
        )
    return place == 1


def check_runs(runs: ArrayLike, n_rows: int) -> NDArray[np.bool_]:
    """Which rows each of several runs leaves out: one row of labels a run, or just one."""
    each = np.atleast_2d(np.asarray(runs))
    if each.ndim != 2 or not len(each):
        raise ValueError(
            f"Found labels of shape {np.shape(runs)}; one row of {n_rows} labels a run is needed."
        )
    return np.stack([check_left_out(run, n_rows) for run in each])


def check_size(name: str, value: Any, n_rows: int) -> int:
    """A number of rows from an int, or from a share of the rows."""
    if _is_int(value) and int(value) >= 1:
        return int(value)
    if _is_share(value):
        return max(1, round(float(value) * n_rows))
    hint = " To find the size with the most evidence, use leftout.trust." * (value == "evidence")
    raise ValueError(
        f"{name}={value!r} is neither a number of rows (an int from 1) nor a share of the rows (a "
        f"float between 0 and 1). Give one of these, or None.{hint}"
    )


def group_sizes(
    min_group_size: Any, group_size: Any, n_rows: int, n_features: int
) -> tuple[int, int | None]:
    """The smallest side allowed and, where it is fixed, the left-out group's size."""
    if n_rows < 2:
        raise ValueError(
            f"Found {n_rows} sample (n_samples={n_rows}), but two groups need at least 2 rows. "
            "Pass the whole table."
        )
    size = None if group_size is None else check_size("group_size", group_size, n_rows)
    if min_group_size is None:
        smallest = _default_smallest(n_rows, n_features, quiet=size is not None)
        # A size asked for by name is not held to the default minimum.
        smallest = smallest if size is None else min(smallest, max(1, min(size, n_rows - size)))
    else:
        smallest = check_size("min_group_size", min_group_size, n_rows)
    if n_rows < 2 * smallest:
        raise ValueError(
            f"Found {n_rows} rows, but two groups of at least {smallest} rows need "
            f"{2 * smallest}. Lower min_group_size to {n_rows // 2} or less, or add rows."
        )
    if size is not None and not smallest <= size <= n_rows - smallest:
        raise ValueError(
            f"group_size={group_size!r} asks for {size} of {n_rows} rows, but each side needs at "
            f"least {smallest}. Choose a size from {smallest} to {n_rows - smallest}"
            + (", or lower min_group_size." if min_group_size is not None else ".")
        )
    return smallest, size


def check_sizes(sizes: Any, smallest: int, n_rows: int) -> NDArray[np.intp]:
    """Group sizes in rising order: those given, or so many from the smallest to half."""
    half = n_rows // 2
    if _is_int(sizes):
        if int(sizes) < 1:
            raise ValueError(f"sizes={sizes!r} is not a number of sizes; give an int from 1.")
        spaced = np.geomspace(smallest, max(smallest, half), int(sizes))
        return np.unique(np.round(spaced).astype(np.intp))
    given = np.asarray(sizes)
    if given.ndim != 1 or given.dtype.kind not in "iu" or not len(given):
        raise ValueError(f"sizes={sizes!r} is neither a number of sizes nor a list of ints.")
    given = np.unique(given)
    if given[0] < 1 or given[-1] >= n_rows:
        raise ValueError(
            f"sizes go from {given[0]} to {given[-1]}, but a group is a part of the {n_rows} rows. "
            f"Choose sizes from 1 to {n_rows - 1}."
        )
    return given.astype(np.intp)


def _default_smallest(n_rows: int, n_features: int, quiet: bool) -> int:
    """Five rows a feature, but never more than a quarter of the rows."""
    wanted, cap = 5 * n_features, max(1, n_rows // 4)
    if wanted > cap and not quiet:
        warnings.warn(
            f"The default minimum group size, 5 x {n_features} features = {wanted} rows, is more "
            f"than a quarter of the {n_rows} rows; using {cap}. A group of few rows fits its own "
            "components easily: set min_group_size to silence this.",
            UserWarning,
            stacklevel=4,
        )
    return min(wanted, cap)


def check_components(
    loss: Loss, moments: Moments, n_components: Any, *, below_rank: bool = True
) -> Shared:
    """The shared PCA with the number of components asked for.

    ``n_components`` is an int, or the share of variance to exceed. With ``below_rank`` something
    must be left to lose: an int at or above the rank is refused, a share that would take all
    dimensions is cut to one less.
    """
    m, n = int(moments.count.sum()), moments.total.shape[1]
    full = shared_pca(loss, moments, n)
    values = full.eigenvalues
    check_variance(float(values[0]), n)
    rank = int(np.sum(values > values[0] * max(m, n) * np.finfo(float).eps))
    if below_rank and rank < 2:
        raise ValueError(
            f"The table has rank {rank}: one component represents every row exactly, so nobody is "
            "left out. Pass a table with at least two independent columns."
        )
    limit = rank - 1 if below_rank else n
    d = dimensions(n_components, values, limit, rank)
    if d < rank and values[d - 1] - values[d] <= _TIE * values[0]:
        warnings.warn(
            f"Eigenvalues {d} and {d + 1} of the table are equal, so the shared projection onto "
            f"{d} components is not unique and results depend on which one is picked. "
            "Use another n_components.",
            UserWarning,
            stacklevel=3,
        )
    return Shared(np.ascontiguousarray(full.components[:d]), values)


def check_variance(variance: float, n_features: int) -> None:
    """Refuse a table without variance, or with one whose squares are not numbers."""
    if not np.finfo(float).tiny < variance < _LARGEST:
        raise ValueError(
            f"There is no variance to represent: all {n_features} columns are constant, or vary "
            "too little or too much for their squares. Pass a table whose rows differ, on a common "
            "scale."
        )


def dimensions(n_components: Any, values: Array, limit: int, rank: int) -> int:
    """A number of components from an int, or from the share of the ``values`` to exceed."""
    if _is_int(n_components):
        if 1 <= int(n_components) <= limit:
            return int(n_components)
        raise ValueError(
            f"n_components={n_components} is out of range: the table has rank {rank}, and a "
            f"projection must keep at least 1 and leave out at least one of its dimensions. "
            f"Choose from 1 to {limit}."
            if limit < rank
            else f"n_components={n_components} is out of range; choose from 1 to {limit}."
        )
    if _is_share(n_components):
        ratio = np.cumsum(values) / values.sum()
        d = int(np.searchsorted(ratio, float(n_components), side="right")) + 1
        if d <= limit:
            return d
        warnings.warn(
            f"More than {n_components:g} of the variance takes all {rank} dimensions of the table; "
            f"using {limit}, so that something is left out. Lower n_components to silence this.",
            UserWarning,
            stacklevel=4,
        )
        return limit
    raise ValueError(
        f"n_components={n_components!r} is neither a number of components (an int from 1) nor a "
        "share of the variance to exceed (a float between 0 and 1). Give one of these."
    )
