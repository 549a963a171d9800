"""Columns of a raw table as numbers for PCA, with a word on what became of each."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from leftout.columns import Column

# Values of a category that get an indicator each.
_LEVELS = 100

Floats = NDArray[np.float64]


class Encoded(NamedTuple):
    """A matrix, the names of its columns, and the raw columns that were left out, with why."""

    X: Floats
    names: list[str]
    dropped: dict[str, str]
    filled: int  # missing numbers that became their column's median


def encode(columns: list[Column], scale: str = "unit") -> Encoded:
    """Numbers scaled, categories as yes-or-no columns.

    ``scale`` is ``"unit"`` (each number from 0 to 1), ``"standard"`` (mean 0, standard deviation
    1) or ``"none"``. Two values of a category are as far apart as the ends of a number from 0 to
    1. A missing number becomes the median, a missing category a value of its own.
    """
    parts: list[Floats] = []
    names: list[str] = []
    dropped: dict[str, str] = {}
    filled = 0
    for column in columns:
        reason = _useless(column)
        if reason:
            dropped[column.name] = reason
            continue
        values = _as_number(column)
        if values is None:
            codes = column.codes()
            labels = [*(column.categories or ()), "missing"]
            several = [labels[code] for code in _common(codes)]
            parts.append(indicators(codes) / np.sqrt(2.0))
            several += ["other"] * (parts[-1].shape[1] - len(several))
            names += [f"{column.name} = {label}" for label in several]
        else:
            missing = np.isnan(values)
            filled += int(missing.sum())
            parts.append(_scaled(np.where(missing, np.nanmedian(values), values), scale)[:, None])
            names.append(column.name)
    if not parts:
        raise ValueError(
            "No column is left to project: "
            + "; ".join(f"{k!r} is {v}" for k, v in dropped.items())
        )
    return Encoded(np.column_stack(parts), names, dropped, filled)


def indicators(codes: NDArray[np.int32]) -> Floats:
    """A yes-or-no column for each value; of very many, the rare ones share one."""
    common, values = _common(codes), int(codes.max()) + 1
    place = np.full(values, len(common))
    place[common] = np.arange(len(common))
    return np.eye(len(common) + 1)[place[codes]][:, : min(len(common) + 1, values)]


def _common(codes: NDArray[np.int32]) -> NDArray[np.intp]:
    """The most frequent values, in their own order."""
    return np.sort(np.argsort(-np.bincount(codes), kind="stable")[:_LEVELS])


def _as_number(column: Column) -> Floats | None:
    """Numbers, and yes or no; codes of more values are categories."""
    several = column.categories is not None and len(column.categories) > 2
    return None if several else column.numbers


def _useless(column: Column) -> str | None:
    """Why a column says nothing about its rows."""
    known = column.values[~column.missing]
    if not len(known):
        return "empty"
    numbers = column.numbers
    if numbers is not None and np.isinf(numbers).any():
        raise ValueError(
            f"The column {column.name!r} holds infinite values; PCA needs every value finite. "
            "Replace them, or drop the column."
        )
    gaps = len(known) < len(column)
    if (known == known[0]).all() and (numbers is not None or not gaps):
        return "the same wherever it is known" if gaps else "the same in every row"
    if len(known) < 3 or column.dates:
        return None
    if column.categories is not None:
        alone = column.levels is None and len(column.categories) > max(_LEVELS, len(known) // 2)
        return "different in nearly every row" if alone else None
    return "the number of the row" if not gaps and (np.diff(known) == 1.0).all() else None


def _scaled(values: Floats, scale: str) -> Floats:
    if scale == "none":
        return values
    if scale == "standard":
        with np.errstate(over="ignore", invalid="ignore"):
            scaled = (values - values.mean()) / values.std()
        if not scaled.any() or not np.isfinite(scaled).all():
            raise ValueError("A column varies too much for its squares; use --scale unit.")
        return scaled
    low, high = values.min(), values.max()
    return values / (high - low) - low / (high - low)
