"""What was read, column by column, as the page shows it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from leftout.data.cleaning import clean
from leftout.data.columns import Column, names_of
from leftout.data.declarations import ColumnDeclarations
from leftout.data.encoding import LEVELS, ColumnEncoder
from leftout.data.frames import rows_of
from leftout.data.preparation import check_length
from leftout.data.profiling.column_types import ColumnType
from leftout.data.profiling.relations import copies
from leftout.data.reading import Source
from leftout.data.roles import value_of
from leftout.errors import InputError
from leftout.page.guessing import AUTO, OUTCOME, guess
from leftout.running import collected_warnings
from leftout.text import as_name, shortened

# Columns are judged on so many rows, fewer where there are many columns.
_ROWS, _CELLS, _LEAST = 20_000, 4_000_000, 500
# Bars of a histogram, and values that one can be chosen from as the outcome's.
_BARS, _VALUES = 12, 30


def profiled(source: Source, dictionary: Any = None) -> dict[str, Any]:
    """Plain data on a table: its size, what to know of it, and a line for each column."""
    table, n_rows = source.table, len(source.table)
    check_length(n_rows)
    names = names_of(table)
    most = max(_LEAST, min(_ROWS, _CELLS // len(names)))
    if n_rows > most:
        places = np.sort(np.random.default_rng(0).choice(n_rows, most, replace=False))
        table = rows_of(table, places)
    with collected_warnings() as notes:
        declared = ColumnDeclarations.of(names, dictionary=dictionary)
        try:
            raw = declared.columns(table)
        except InputError as error:
            notes.append(str(error))
            raw = declared.columns(table, unread=names)
        columns, kinds = declared.judged(raw)
    telling = [c for c, k in zip(columns, kinds, strict=True) if k.read_as != "nothing"]
    copied = {line.column: line.of for line in copies(telling)}
    lines, taken = [], False
    for old, column, kind in zip(raw, columns, kinds, strict=True):
        line = _line(old, column, kind, copied.get(column.name), taken, demo=dictionary is not None)
        taken = taken or line["guess"] == OUTCOME
        lines.append(line)
    return {
        "rows": n_rows,
        "judged_on": len(table),
        "features": sum(line["features"] for line in lines),
        "notes": [*source.notes, *notes],
        "columns": lines,
    }


def _line(
    raw: Column, column: Column, kind: ColumnType, copy_of: str | None, taken: bool, demo: bool
) -> dict[str, Any]:
    how, features = _becomes(column, kind)
    if copy_of is not None:
        how, features = f"left out: a copy of {as_name(copy_of)}", 0
    role, why = guess(kind, raw.name, taken)
    if demo and role != OUTCOME:
        role, why = AUTO, "" if kind.sure else why
    meant = clean(raw)
    counts = _counts(meant)
    return {
        "name": raw.name,
        "label": column.name,
        "kind": kind.kind,
        "becomes": how,
        "features": features,
        "missing": float(column.missing.mean()),
        "distinct": len(counts),
        "example": _example(column),
        "bars": _bars(meant, counts),
        "levels": _values(meant, counts),
        "guess": role,
        "why": why,
    }


def _becomes(column: Column, kind: ColumnType) -> tuple[str, int]:
    """What the column becomes, in a few words, and of how many features."""
    try:
        told = ColumnEncoder.of(column, kind, levels=LEVELS).told
    except InputError as error:
        return f"cannot be searched: {error}", 0
    if not told.features:
        return f"left out: {told.how}", 0
    return told.how, len(told.features) + bool(told.missing)


def _counts(column: Column) -> np.ndarray:
    """How often each value occurs, in their order."""
    if column.categories is None:
        return column.tabulated[1]
    return np.bincount(column.values + 1, minlength=len(column.categories) + 1)[1:]


def _example(column: Column) -> str:
    known = np.flatnonzero(~column.missing)
    if not len(known):
        return ""
    value = column.values[known[0]]
    if column.categories is not None:
        return shortened(column.categories[int(value)])
    with np.errstate(over="ignore", invalid="ignore"):
        spread = float(np.ptp(column.values[known]))
    return column.told(float(value), spread)


def _bars(column: Column, counts: np.ndarray) -> list[int]:
    """Heights of a small histogram: of numbers in even steps, of categories the leading ones."""
    if column.categories is None and len(counts) > _BARS:
        values = column.values[np.isfinite(column.values)]
        with np.errstate(over="ignore", invalid="ignore"):
            if not np.isfinite(np.ptp(values)):
                return []
        return np.histogram(values, bins=_BARS)[0].tolist()
    if column.categories is not None and len(counts) > _BARS:
        counts = np.sort(counts)[::-1][:_BARS]
    return counts.tolist()


def _values(column: Column, counts: np.ndarray) -> list[str]:
    """Values that may be chosen as the one that counts; none if there are too many."""
    if column.dates or not 1 < len(counts) <= _VALUES:
        return []
    if column.categories is None:
        return [value_of(column, value) for value in column.tabulated[0].tolist()]
    return [value_of(replace(column, dates=False), code) for code in range(len(counts))]
