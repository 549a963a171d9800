"""A table taken in for an audit: read, its columns given their parts, sampled, encoded."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leftout.checks import check_count
from leftout.cleaning import clean, clean_all
from leftout.columns import Column, column_of, columns_of, find, found
from leftout.encoding import Floats
from leftout.reading import Source
from leftout.table_encoder import TableEncoder
from leftout.tables import as_frame
from leftout.targets import level_of, levels_of, value_of
from leftout.wording import counted, unambiguous

# Fewer rows say nothing about groups; more columns than this make too large a matrix.
FEWEST_ROWS, MOST_FEATURES = 20, 5_000


@dataclass(frozen=True, kw_only=True)
class Intake:
    """What an audit works on.

    Attributes
    ----------
    source : str or None
        The file's name.
    rows : array of shape (m,)
        Positions in the table of the rows audited.
    n_rows : int
        Rows of the table.
    columns : list of Column
        As people know them, without those that were dropped; the target and sensitive ones too.
    target : Column or None
    positive : value or None
        The target's value whose rate counts.
    sensitive : list of str
        Columns kept out of the search.
    dropped : dict
        Columns left out, each with why.
    encoder : TableEncoder
        Fitted.
    X : array of shape (m, n)
    index : object
        The table's own labels of its rows, where it has some.
    notes : list of str
    """

    source: str | None
    rows: NDArray[np.intp]
    n_rows: int
    columns: list[Column]
    target: Column | None
    positive: Any
    sensitive: list[str]
    dropped: dict[str, str]
    encoder: TableEncoder
    X: Floats
    index: Any
    notes: list[str]

    def part(self, size: int, rng: np.random.Generator) -> NDArray[np.intp]:
        """Places of so many of the audited rows, in proportion to the target's values."""
        return proportional(_strata(self.target, len(self.X)), size, rng)


def take_in(
    source: Source,
    *,
    target: Any = None,
    positive: Any = None,
    categorical: Iterable[Any] | None = None,
    drop: Iterable[Any] | None = None,
    sensitive: Iterable[Any] | None = None,
    sample: int | None = None,
    smooth: float | str = "auto",
    rng: np.random.Generator,
) -> Intake:
    """Give every column its part, take a sample if one is asked for, and turn it into numbers."""
    table = source.table
    raw = columns_of(table, categorical=categorical)
    names, n_rows = [column.name for column in raw], len(raw[0])
    if len(raw) > MOST_FEATURES:
        raise ValueError(
            f"The table has {len(raw):,} columns; an audit takes at most {MOST_FEATURES:,}. Drop "
            "the others."
        )
    rows, notes = np.arange(n_rows), []
    outcome = _outcome(raw, target)
    if sample is not None:
        check_count("sample", sample)
        if sample < n_rows:
            rows = proportional(_strata(outcome, n_rows), sample, rng)
            table = _rows(table, rows)
            raw = columns_of(table, categorical=categorical)
            outcome = _outcome(raw, target if _is_name(target) else np.asarray(target)[rows])
        else:
            notes.append(f"The sample of {sample:,} rows was not taken: the table has {n_rows:,}.")
    if len(rows) < FEWEST_ROWS:
        raise ValueError(
            f"Found {counted(len(rows), 'row')} to audit; groups can be told from chance in "
            f"{FEWEST_ROWS} rows or more. Pass a longer table."
        )
    cleaned = clean_all(raw)
    # Names may have been cut: what people call a column is its name in the table.
    now = {old: each.column.name for old, each in zip(names, cleaned, strict=True)}
    asked = {now[name]: "asked for" for name in _in_order(names, drop, "drop")}
    hidden = [now[name] for name in _in_order(names, sensitive, "sensitive")]
    codes = [now[name] for name in _in_order(names, categorical, "categorical")]
    if outcome is not None:
        outcome = replace(clean(outcome).column, name=now.get(outcome.name, outcome.name))
        _refuse_parts(outcome.name, [*asked, *hidden])
    aside = {*asked, *hidden} if outcome is None else {*asked, *hidden, outcome.name}
    searched = [each for each in cleaned if each.column.name not in aside]
    if not searched:
        raise ValueError(
            "No column is left to search: all are the target, dropped or sensitive. Leave at least "
            "two."
        )
    positive = _counts(outcome, positive, notes)
    encoder = TableEncoder(codes, positive=positive, smooth=smooth)
    X = encoder.learn(searched, outcome, set(codes))
    if X.shape[1] > MOST_FEATURES:
        raise ValueError(
            f"The columns became {X.shape[1]:,} features; an audit takes at most "
            f"{MOST_FEATURES:,}. Drop columns of many values, or give a target."
        )
    dropped = asked | encoder.dropped_
    columns = {each.column.name: each.column for each in cleaned}
    if outcome is not None:
        columns[outcome.name] = outcome
    return Intake(
        source=source.name,
        rows=rows,
        n_rows=n_rows,
        columns=[column for name, column in columns.items() if name not in dropped],
        target=outcome,
        positive=positive,
        sensitive=hidden,
        dropped=dropped,
        encoder=encoder,
        X=X,
        index=getattr(table, "index", None) if hasattr(table, "iloc") else None,
        notes=notes,
    )


def proportional(
    strata: NDArray[np.integer], size: int, rng: np.random.Generator
) -> NDArray[np.intp]:
    """Places of so many rows, from each stratum in proportion; in rising order.

    In each stratum rows are spread at random and evenly from 0 to 1, and the lowest are taken.
    """
    shuffled = rng.permutation(len(strata))
    by_stratum = shuffled[np.argsort(strata[shuffled], kind="stable")]
    counts = np.bincount(strata)
    rank = np.arange(len(strata)) - np.repeat(np.cumsum(counts) - counts, counts)
    height = (rank + rng.random(len(strata))) / np.repeat(counts, counts)
    return np.sort(by_stratum[np.argsort(height, kind="stable")[:size]])


def _strata(target: Column | None, n_rows: int) -> NDArray[np.integer]:
    """What a sample keeps the shares of: the target's values, if it has any few."""
    if target is None or target.categories is None:
        return np.zeros(n_rows, dtype=np.intp)
    return target.codes()


def _is_name(target: Any) -> bool:
    return target is None or np.ndim(target) == 0


def _outcome(columns: list[Column], target: Any) -> Column | None:
    if target is None:
        return None
    if _is_name(target):
        names = [column.name for column in columns]
        return columns[names.index(find(names, target, "target"))]
    outcome = column_of(target, getattr(target, "name", None) or "target")
    if len(outcome) != len(columns[0]):
        raise ValueError(
            f"The target has {len(outcome):,} values for {len(columns[0]):,} rows; one a row is "
            "needed."
        )
    return outcome


def _rows(table: Any, rows: NDArray[np.intp]) -> Any:
    frame = as_frame(table)
    return np.asarray(table)[rows] if frame is None else frame[rows.tolist(), :].to_native()


def _in_order(names: list[str], wanted: Iterable[Any] | None, what: str) -> list[str]:
    chosen = found(names, wanted, what)
    return [name for name in names if name in chosen]


def _refuse_parts(target: str, others: list[str]) -> None:
    if target in others:
        raise ValueError(
            f"The column {target!r} is the target, and is dropped or sensitive, too. Choose one."
        )


def _counts(target: Column | None, positive: Any, notes: list[str]) -> Any:
    """The target's value whose rate counts, as text; None if its mean does."""
    if target is None:
        if positive is not None:
            raise ValueError(f"positive={positive!r} is a value of a target, but none is given.")
        return None
    if target.dates:
        raise ValueError(
            f"The target {target.name!r} is a date; a rate or a mean is needed. Choose another, or "
            "turn it into yes and no first."
        )
    level = level_of(target, positive)
    if level is None:
        return None
    levels = levels_of(target, positive)
    if levels is not None and len(levels) > 1:
        notes.append(
            f"{unambiguous(target.name)} takes {len(levels)} values; the rate of the most "
            f"frequent, {unambiguous(value_of(target, level))}, counts. Another can be asked for "
            f"with --target {unambiguous(target.name)}=VALUE."
        )
    return value_of(target, level)
