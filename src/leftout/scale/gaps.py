"""The second pass, over columns with gaps alone: their medians, spreads, and gaps in common.

The median of very many values is between two values of the sample, so close that few rows are
between them; the pass counts the rows below and keeps those between. Where it turns out not to be
between them, which is next to impossible, they are moved apart and the pass is made again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from leftout.scale.chunks import Chunk
from leftout.scale.means import by_target
from leftout.scale.reading import Reader
from leftout.tables.columns import Column
from leftout.tables.encoder import TableEncoder, with_gaps
from leftout.tables.encoding import Floats, Numbers, Plan
from leftout.tables.flags import Flag, counted
from leftout.tables.judging.kinds import Kind

# Standard errors of a sample's quantile that the median is looked for within.
_ERRORS = 6.0


class Between(NamedTuple):
    """Of one column: rows below a bracket, values in it (sorted), and sums about a centre."""

    below: int
    inside: Floats
    total: float
    squares: float

    def merge(self, other: Between) -> Between:
        return Between(
            self.below + other.below,
            np.concatenate([self.inside, other.inside]),
            self.total + other.total,
            self.squares + other.squares,
        )


class Gaps(NamedTuple):
    """Rows in which two columns are missing at once, and what is between brackets."""

    together: NDArray[np.int64]
    between: dict[int, Between]

    def merge(self, other: Gaps) -> Gaps:
        between = {place: one.merge(other.between[place]) for place, one in self.between.items()}
        return Gaps(self.together + other.together, between)


@dataclass(frozen=True)
class GapsPass:
    """A pass over chunks for columns with gaps, by their places among those searched."""

    readers: dict[int, Reader]
    brackets: dict[int, tuple[float, float]]
    scales: dict[int, Numbers]

    def __call__(self, chunk: Chunk) -> Gaps:
        k = len(self.readers)
        result = Gaps(
            np.zeros((k, k), dtype=np.int64),
            {place: Between(0, np.empty(0), 0.0, 0.0) for place in self.brackets},
        )
        for _, batch in chunk.batches([reader.raw for reader in self.readers.values()]):
            missing = np.empty((k, batch.num_rows))
            between = {}
            for line, (place, cells) in enumerate(zip(self.readers, batch.columns, strict=True)):
                column = self.readers[place].column(cells)
                missing[line] = column.missing
                if place in self.brackets:
                    values: Any = column.numbers
                    known = values[~np.isnan(values)]
                    between[place] = _between(known, self.brackets[place], self.scales[place])
            together = np.rint(missing @ missing.T).astype(np.int64)
            result = result.merge(Gaps(together, between))
        return result


def _between(known: Floats, bracket: tuple[float, float], scale: Numbers) -> Between:
    low, high = bracket
    inside = known[(known >= low) & (known <= high)]
    off = _unit(known, scale) - _unit(np.array([scale.median]), scale)
    return Between(int((known < low).sum()), inside, float(off.sum()), float(np.square(off).sum()))


def _unit(values: Floats, scale: Numbers) -> Floats:
    half = scale.high / 2.0 - scale.low / 2.0
    return (values / 2.0 - scale.low / 2.0) / half if half > 0.0 else np.zeros(len(values))


def learn_by_passes(
    encoder: TableEncoder,
    names: list[str],
    columns: list[Column],
    kinds: list[Kind],
    y: Column | None,
    *,
    chunks: Sequence[Chunk],
    fold: Callable[..., Any],
    readers: list[Reader],
    target: Reader | None = None,
) -> int:
    """Fit an encoder to columns that are tallies, and say how many features it has."""
    encoder.named(names)
    make = None
    if y is not None and target is not None:
        make = by_target(
            columns, kinds, y, encoder.positive, encoder.smooth,
            chunks=chunks, fold=fold, readers=readers, reader=target,
        )  # fmt: skip
    plans = encoder.planned(columns, kinds, y, make)
    flagged = with_gaps(plans)
    flags: list[Flag] = []
    if flagged:
        many = {
            place: becomes
            for place, becomes in flagged.items()
            if isinstance(becomes, Numbers) and _tally(columns[place]).n_values is not None
        }
        brackets = {place: _bracket(columns[place], _ERRORS) for place in many}
        middles = {place: _median(columns[place].looked().numbers) for place in many}
        scales = {place: replace(many[place], median=middles[place]) for place in many}
        which = {place: readers[place] for place in flagged}
        while True:
            found = fold(GapsPass(which, brackets, scales), chunks, Gaps.merge)
            missed = [place for place in many if not _held(columns[place], found.between[place])]
            if not missed:
                break
            for place in missed:
                brackets[place] = (-np.inf, np.inf)
        n_rows = columns[0].n_rows
        spreads = {}
        for place in flagged:
            if place in many:
                between, column = found.between[place], columns[place]
                middle = _middle(column, between)
                becomes = replace(many[place], median=middle)
                plans[place] = replace(plans[place], becomes=becomes)
                spreads[place] = _spread_by_sums(becomes, scales[place], column, between)
            else:
                spreads[place] = _spread(plans[place], columns[place])
        flags = counted(
            list(flagged), found.together, n_rows, spreads, [column.name for column in columns]
        )
    encoder.settle(kinds, plans, flags)
    return len(encoder.features_)


def _tally(column: Column) -> Any:
    assert column.tally is not None
    return column.tally


def _median(values: Floats | None) -> float:
    assert values is not None
    return float(np.median(values[~np.isnan(values)] / 2.0)) * 2.0


def _bracket(column: Column, errors: float) -> tuple[float, float]:
    values: Any = column.looked().numbers
    known = np.sort(values[~np.isnan(values)])
    if len(known) == column.n_rows - column.n_missing:  # all of them
        return float(known[(len(known) - 1) // 2]), float(known[len(known) // 2])
    off = errors * np.sqrt(len(known)) / 2.0 + 1.0
    low, high = int(len(known) / 2.0 - off), int(np.ceil(len(known) / 2.0 + off))
    return (
        float(known[low]) if low >= 0 else -np.inf,
        float(known[high]) if high < len(known) else np.inf,
    )


def _ranks(column: Column) -> tuple[int, int]:
    n = column.n_rows - column.n_missing
    return (n - 1) // 2, n // 2


def _held(column: Column, between: Between) -> bool:
    low, high = _ranks(column)
    return between.below <= low and high < between.below + len(between.inside)


def _middle(column: Column, between: Between) -> float:
    places = np.array(_ranks(column)) - between.below
    low, high = np.sort(between.inside)[places] / 2.0
    return float(low + high)


def _spread(plan: Plan, column: Column) -> float:
    """The variance of a column's features over the rows that its values stand for."""
    assert plan.becomes is not None
    read, counts = plan.becomes.read(column), _tally(column).counts
    values = read.values if read.values.size else read.missing[:, None].astype(np.float64)
    share = counts / counts.sum()
    off = values - share @ values
    return float((share @ np.square(off)).sum())


def _spread_by_sums(becomes: Numbers, scale: Numbers, column: Column, between: Between) -> float:
    """The same of very many numbers, by sums about a value near their median."""
    n, gaps = column.n_rows, column.n_missing
    centre = _unit(np.array([scale.median]), scale)[0]
    fill = _unit(np.array([becomes.median]), scale)[0] - centre
    mean = (between.total + gaps * fill) / n
    return float((between.squares + gaps * fill**2) / n - mean**2)
