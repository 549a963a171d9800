"""A table taken in for an audit: read, its columns given their parts, sampled, encoded."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leftout.asking import asking
from leftout.checks import Refusal, check_count
from leftout.running import note
from leftout.tables.cleaning import clean, clean_all, unique
from leftout.tables.columns import Column, columns_of, found
from leftout.tables.encoder import TableEncoder
from leftout.tables.encoding import Floats
from leftout.tables.frames import as_frame, rows_of
from leftout.tables.reading import Source
from leftout.tables.roles import assign, is_name, outcome_of
from leftout.tables.targets import level_of, levels_of, value_of
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

    def part(self, size: int, rng: np.random.Generator) -> NDArray[np.intp]:
        """Places of ``size`` of the audited rows, in proportion to the target's values."""
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
    raw = columns_of(table, categorical=categorical, unread=drop)
    n_rows = len(raw[0])
    if len(raw) > MOST_FEATURES:
        raise Refusal(
            f"The table has {len(raw):,} columns; an audit takes at most {MOST_FEATURES:,}. Drop "
            "the others."
        )
    rows, outcome = np.arange(n_rows), outcome_of(raw, target)
    if sample is not None:
        check_count("sample", sample)
        if sample < n_rows:
            rows = proportional(_strata(outcome, n_rows), sample, rng)
            table = _rows(table, rows)
            raw = columns_of(table, categorical=categorical, unread=drop)
            outcome = None if outcome is None else outcome.take(rows)
            evenly = "at random" if outcome is None else "in proportion to the target's values"
            note(
                f"{sample:,} of the table's {n_rows:,} rows were drawn, {evenly}; another sample "
                "(another seed) may give another group."
            )
        else:
            note(f"The sample of {sample:,} rows was not taken: the table has {n_rows:,}.")
    if len(rows) < FEWEST_ROWS:
        raise Refusal(
            f"Found {counted(len(rows), 'row')} to audit; groups can be told from chance in "
            f"{FEWEST_ROWS} rows or more. Pass more of them."
        )
    named = target if is_name(target) else outcome
    codes = found([column.name for column in raw], categorical, "categorical")
    columns = clean_all(raw)
    # Names may have been cut: what people call a column is its name in the table.
    now = {old.name: column.name for old, column in zip(raw, columns, strict=True)}
    roles = assign(raw, named, sensitive, drop).renamed(now)
    if roles.target is not None:
        outcome = clean(roles.target)
        others = [column.name for column in columns if column.name not in roles.targets]
        outcome = replace(outcome, name=unique([*others, outcome.name])[-1])
    searched = [column for column in columns if column.name not in roles.aside]
    if not searched:
        raise Refusal(
            "No column is left to search: all are the target, dropped or sensitive. Leave at least "
            "two."
        )
    positive = _counts(outcome, positive)
    kept = [now[name] for name in now if name in codes]
    encoder = TableEncoder(kept, positive=positive, smooth=smooth)
    encoder.set_output(transform="pandas")
    X = encoder.learn(searched, outcome, set(kept))
    if X.shape[1] > MOST_FEATURES:
        raise Refusal(
            f"The columns became {X.shape[1]:,} features; an audit takes at most "
            f"{MOST_FEATURES:,}. Drop columns of many values, or give a target."
        )
    dropped = dict.fromkeys(roles.dropped, "asked for") | encoder.dropped_
    known = [column for column in columns if column.name not in roles.targets | set(dropped)]
    return Intake(
        source=source.name,
        rows=rows,
        n_rows=n_rows,
        columns=known if outcome is None else [*known, outcome],
        target=outcome,
        positive=positive,
        sensitive=roles.sensitive,
        dropped=dropped,
        encoder=encoder,
        X=X,
        index=getattr(table, "index", None) if hasattr(table, "iloc") else None,
    )


def proportional(
    strata: NDArray[np.integer], size: int, rng: np.random.Generator
) -> NDArray[np.intp]:
    """Places of ``size`` rows, from each stratum in proportion; in rising order.

    In each stratum rows are spread at random and evenly from 0 to 1, and the lowest are taken.
    """
    shuffled = rng.permutation(len(strata))
    by_stratum = shuffled[np.argsort(strata[shuffled], kind="stable")]
    counts = np.bincount(strata)
    rank = np.arange(len(strata)) - np.repeat(np.cumsum(counts) - counts, counts)
    height = (rank + rng.random(len(strata))) / np.repeat(counts, counts)
    return np.sort(by_stratum[np.argsort(height, kind="stable")[:size]])


def _strata(target: Column | None, n_rows: int) -> NDArray[np.integer]:
    """What a sample keeps the shares of: the target's values, where it has categories."""
    if target is None or target.categories is None:
        return np.zeros(n_rows, dtype=np.intp)
    return target.codes()


def _rows(table: Any, rows: NDArray[np.intp]) -> Any:
    if as_frame(table) is None:
        return (table if isinstance(table, np.ndarray) else np.asarray(table))[rows]
    return rows_of(table, rows)


def _counts(target: Column | None, positive: Any) -> Any:
    """The target's value whose rate counts, as text; None if its mean does."""
    if target is None:
        if positive is not None:
            raise Refusal(
                f"{asking('positive', positive)} is a value of a target, but none is given."
            )
        return None
    levels, level = levels_of(target, positive), level_of(target, positive)
    if levels is None:
        return None
    if len(levels) > 1:
        note(
            f"{unambiguous(target.name)} takes {len(levels)} values; the rate of the most "
            f"frequent, {unambiguous(value_of(target, level))}, counts. Another can be asked for "
            f"with {asking('positive')}."
        )
    return value_of(target, level)
