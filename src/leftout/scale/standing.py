"""Columns whose values stand for rows that are elsewhere, made of summaries and a sample."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from leftout.scale.cells import TRUTHS, exact, raw_column, whole_numbers
from leftout.scale.numbers import Numbers, keys_of
from leftout.scale.survey import Summary
from leftout.scale.texts import Texts
from leftout.tables.cleaning import MISSING, WAYS, unit_of
from leftout.tables.columns import EXACT, Column, natural, of_numbers
from leftout.tables.tallies import Tally

if TYPE_CHECKING:
    import pyarrow as pa

Places = NDArray[np.intp]


@dataclass(frozen=True)
class Looked:
    """Rows of a table that can be looked at, and which of them are the sample or evenly spaced."""

    rows: pa.Table
    sample: Places
    spaced: Places


def standing(
    name: str, summary: Summary, looked: Looked, kind: pa.DataType, said: bool, unread: bool
) -> Column:
    """A raw column in which each value is there once, with a tally of what it stands for.

    ``said`` to be codes are numbers and dates that somebody wants as categories.
    """
    import pyarrow.types as is_a

    cells = combined(looked.rows.column(name))
    if isinstance(summary, Texts):
        return _of_texts(name, summary, raw_column(name, cells, kind), looked, kind, said)
    if summary.integer:
        whole = whole_numbers(cells, kind)
        keys, known = whole.keys, whole.known
        if known is None:
            known = np.ones(len(keys), dtype=bool)
        keys = keys[known]
    else:
        values = raw_column(name, cells, kind, unread).numbers
        assert values is not None
        known = ~np.isnan(values)
        keys = keys_of(values[known])
    distinct, counts, places = _entries(summary, keys, known)
    n_values = _n_values(summary)
    tally = Tally(summary.n_rows, counts, places[looked.sample], places[looked.spaced], n_values)
    if summary.integer and summary.n_known and max(map(abs, summary.range)) >= EXACT:
        return _identifiers(name, exact(distinct, summary.unsigned), tally)
    numbers = summary.values(distinct)
    if summary.n_missing:
        numbers = np.append(numbers, np.nan)
    if is_a.is_timestamp(kind) or is_a.is_date(kind):
        column = Column(name, numbers, dates=True, tally=tally)
        return _dates_as_categories(column) if said else column
    return of_numbers(name, numbers, said, tally)


def combined(cells: pa.ChunkedArray) -> pa.Array:
    """All cells of a column in one array."""
    import pyarrow as pa

    if pa.types.is_dictionary(cells.type):
        cells = cells.unify_dictionaries()
    whole = cells.combine_chunks()
    return whole.chunk(0) if isinstance(whole, pa.ChunkedArray) else whole


def _entries(
    summary: Numbers, keys: NDArray[np.int64], known: NDArray[np.bool_]
) -> tuple[NDArray[np.int64], NDArray[np.int64], Places]:
    """Keys of the values that are there, the counts of these and of gaps, places of looked rows."""
    tallies = [summary.kept]
    if summary.level:
        tallies += [summary.lowest, summary.highest, summary.marked]
    every = np.sort(np.concatenate([*(each.keys for each in tallies), keys]))
    distinct = every[np.diff(every, prepend=every[:1] - 1) != 0]
    counts = np.zeros(len(distinct) + bool(summary.n_missing), dtype=np.int64)
    for each in tallies:
        counts[np.searchsorted(distinct, each.keys)] = each.counts
    if summary.n_missing:
        counts[-1] = summary.n_missing
    places = np.full(len(known), len(distinct), dtype=np.intp)
    places[known] = np.searchsorted(distinct, keys)
    return distinct, counts, places


def _n_values(summary: Numbers) -> int | None:
    """Nearly how many values there are, where not all are there; all rows have another if so."""
    if not summary.level:
        return None
    unrepeated = not summary.n_missing and bool((summary.kept.counts == 1).all())
    low, high = summary.range
    if summary.whole and high - low == summary.n_rows - 1:
        unrepeated = summary.counts_rows
    if unrepeated:
        return summary.n_rows
    return min(summary.n_values, summary.n_known - (not summary.n_missing))


def _identifiers(name: str, distinct: NDArray[np.integer], tally: Tally) -> Column:
    """Whole numbers that floats do not tell apart, as text."""
    labels = tuple(map(str, distinct.tolist()))
    order = sorted(range(len(labels)), key=lambda place: natural(labels[place]))
    codes = np.full(len(tally.counts), -1, dtype=np.int32)
    codes[order] = np.arange(len(labels))
    return Column(name, codes, tuple(labels[place] for place in order), tally=tally)


def _dates_as_categories(column: Column) -> Column:
    when = column.values[~np.isnan(column.values)].astype(np.int64).astype("datetime64[us]")
    labels = tuple(map(str, when.tolist()))
    codes = np.where(np.isnan(column.values), -1, np.arange(len(column))).astype(np.int32)
    return Column(column.name, codes, labels, declared=True, tally=column.tally)


def _of_texts(
    name: str, summary: Texts, rows: Column, looked: Looked, kind: pa.DataType, said: bool
) -> Column:
    import pyarrow.types as is_a

    words = rows.categories or ()
    here = [words[code] for code in np.unique(rows.values[rows.values >= 0])]
    present = dict.fromkeys([*summary.counts, *here])
    if summary.order is None:
        # an order that nobody sees is not worth the time
        labels = sorted(present, key=None if summary.level else natural)
    else:
        labels = [text for text in summary.order if text in present]
    place = {text: code for code, text in enumerate(labels)}
    gap = len(labels)
    counts = np.array([summary.counts.get(text, 0) for text in labels], dtype=np.int64)
    codes = np.arange(gap, dtype=np.int32)
    if summary.n_missing:
        codes, counts = np.append(codes, -1).astype(np.int32), np.append(counts, summary.n_missing)
    at = np.array([*(place.get(word, gap) for word in words), gap], dtype=np.intp)[rows.values]
    gone = summary.gone
    units = gone.units.union(_units(present, summary.marks) if summary.level else ())
    ruled_out = frozenset(WAYS) if len(units) > 1 else gone.ruled_out
    tally = Tally(
        summary.n_rows, counts, at[looked.sample], at[looked.spaced],
        None if not summary.level else _n_texts(summary), ruled_out, gone.spaces,
    )  # fmt: skip
    levels = None
    if is_a.is_boolean(kind):
        levels = np.array([float(label == TRUTHS[1]) for label in labels])
    declared = said or is_a.is_dictionary(kind)
    ordered = summary.order is not None and len(labels) > 2
    return Column(
        name, codes, tuple(labels), levels=levels, declared=declared, ordered=ordered, tally=tally
    )


def _n_texts(summary: Texts) -> int:
    known = summary.n_rows - summary.n_missing
    return known if set(summary.counts.values()) == {1} else min(summary.n_values, known - 1)


def _units(texts: Iterable[str], marks: frozenset[str]) -> set[str]:
    bare = {text.strip() for text in texts}
    return {unit_of(text) for text in bare.difference(MISSING, marks)}
