"""How well one column alone tells another, on rows that it was not fitted on.

A cell's rate in one half of its rows scores the other half. Rows are dealt to the halves by tossed
coins, always the same ones, cells of equal counts one after the other: so what comes out depends on
the counts alone, not on the order or names of anything. A value that occurs once tells nothing, and
what names rows tells nothing by accident.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from leftout.data.columns import Column
from leftout.data.roles import levels_of, value_of

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# Rows that candidates are looked for in; what is found there is judged on all rows.
CANDIDATE_ROWS = 8_000
# A number is cut into so many intervals, or fewer, so that each holds some rows.
_INTERVALS, _HELD = 64, 20


class BinnedRows(NamedTuple):
    """Columns as cells of rows: one line for each column, cells counted on from line to line."""

    codes: Ints
    starts: Ints  # each line's first cell
    widths: Ints  # how many it has
    numeric: Ints  # lines that are numbers
    ranks: Floats  # of those, from -1/2 to 1/2, missing ones in the middle

    @property
    def many(self) -> int:
        return int(self.widths.sum())


def sampled(rows: Ints, size: int = CANDIDATE_ROWS) -> Ints:
    """A row from each of so many stretches of equal length, the same ones every time."""
    if len(rows) <= size:
        return rows
    edges = np.linspace(0.0, len(rows), size + 1)
    within = np.random.default_rng(0).random(size)
    return rows[(edges[:-1] + within * np.diff(edges)).astype(np.int64)]


def ranked(values: Floats) -> tuple[Floats, Ints, Ints]:
    """Of each line: ranks from -1/2 to 1/2 (NaN where missing), places among values, their number.

    Equal values have the middle of their ranks.
    """
    at, count = np.arange(values.shape[1]), values.shape[1]
    order = np.argsort(values, axis=1)
    ordered = np.take_along_axis(values, order, axis=1)
    fresh = np.ones(values.shape, dtype=bool)
    fresh[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    first = np.maximum.accumulate(np.where(fresh, at, 0), axis=1)
    ends = np.ones_like(fresh)
    ends[:, :-1] = fresh[:, 1:]
    last = np.minimum.accumulate(np.where(ends, at, count)[:, ::-1], axis=1)[:, ::-1]
    gaps = np.isnan(ordered)
    known = count - gaps.sum(axis=1)
    middle = (first + last + 1) / (2.0 * np.maximum(known, 1)[:, None]) - 0.5
    middle[gaps] = np.nan
    place = np.cumsum(fresh, axis=1) - 1
    ranks, places = np.empty_like(middle), np.empty_like(place)
    np.put_along_axis(ranks, order, middle, axis=1)
    np.put_along_axis(places, order, place, axis=1)
    return ranks, places, np.where(gaps, 0, place + 1).max(axis=1)


def cells_of(columns: Sequence[Column], rows: Ints) -> BinnedRows:
    """The cells that columns cut some rows into."""
    codes = np.empty((len(columns), len(rows)), dtype=np.int64)
    widths = np.empty(len(columns), dtype=np.int64)
    numeric = np.array([i for i, c in enumerate(columns) if c.categories is None], dtype=np.int64)
    ranks = np.empty((0, len(rows)))
    if len(numeric):
        values = np.stack([columns[line].values[rows] for line in numeric])
        ranks, codes[numeric], widths[numeric] = _intervals(values)
    for line, column in enumerate(columns):
        if column.categories is not None:
            codes[line], widths[line] = compact(column.values[rows], len(column.categories))
    starts = np.cumsum(widths) - widths
    return BinnedRows(codes + starts[:, None], starts, widths, numeric, ranks)


def compact(values: NDArray[Any], count: int) -> tuple[Ints, int]:
    """Codes of those categories that occur, and their number; missing ones have the last."""
    held = np.where(values < 0, count, values)
    here = np.bincount(held, minlength=count + 1) > 0
    return (np.cumsum(here) - 1)[held], int(here.sum())


def _intervals(values: Floats) -> tuple[Floats, Ints, Ints]:
    """Ranks, cells and the number of cells of numbers: their values, or intervals of ranks."""
    ranks, places, distinct = ranked(values)
    gaps = np.isnan(ranks)
    ranks[gaps] = 0.0
    cuts = int(np.clip(values.shape[1] // _HELD, 2, _INTERVALS))
    # to the nearest, so that a number and its negative are cut alike
    cut = np.rint(ranks * cuts).astype(np.int64) + cuts // 2 + 1
    codes = np.where((distinct <= cuts)[:, None], places, cut)
    widths = np.where(distinct <= cuts, distinct, cuts + 3)
    codes = np.where(gaps, widths[:, None], codes)
    share = 1.0 - gaps.mean(axis=1, keepdims=True)
    return ranks * share + np.sign(ranks) * (1.0 - share) / 2.0, codes, widths + 1


# Of a column with more values, the most frequent are asked for.
_MOST = 20
# So many rows have the overall rate in every cell.
_SMOOTH = 1.0
# Cells of the table that are worked on at a time.
_AT_ONCE = 500_000
# What a sample may fall short of, and still be judged on all rows.
_SLACK = 0.03
# A cell is settled if so much of it has one value, other rows are so much oftener off, and as many
# of them would all have it so rarely.
_PURE, _OFTENER, _ACCIDENT = 0.99, 10.0, 1e-4
# A category with more values than one for so many rows of the sample is judged on all rows.
_SPREAD = 8


class AssociationRule(NamedTuple):
    """What counts as telling."""

    area: float  # under the curve of a value against all others; the mean of all values
    alone: float  # the same of one of several values
    part: float  # of all rows that such a value must have
    explained: float  # share of the variance of a number's ranks
    rows: int  # that have a value, and that do not
    settled: float  # share of rows in cells that nearly all have one value

    def loosened(self, by: float) -> AssociationRule:
        """The same, where some rows stand for all."""
        return self._replace(
            area=self.area - by,
            alone=self.alone - by,
            explained=self.explained - by,
            settled=self.settled - by,
        )

    def strengths(self, areas: Floats, shares: Floats) -> tuple[Floats, Ints]:
        """Of each line: the area that counts, 0 if none does, and its value; -1 for all of them."""
        overall = areas @ (shares / shares.sum())
        alone = np.where((shares >= self.part) & (areas >= self.alone), areas, 0.0)
        which = np.where(overall >= self.area, -1, alone.argmax(axis=1))
        return np.where(which < 0, overall, alone.max(axis=1)), which


class AssociationTarget(NamedTuple):
    """What is to be told: one of several values, or a number."""

    rows: Ints  # those where it is known
    codes: Ints | None  # of values; the last for all that are not asked for
    asked: list[int]
    names: list[str | None]
    numbers: Floats | None

    def on(self, rows: Ints) -> AssociationTarget:
        """The same on some of its rows."""
        at = np.searchsorted(self.rows, rows)
        codes = None if self.codes is None else self.codes[at]
        numbers = None if self.numbers is None else self.numbers[at]
        return self._replace(rows=rows, codes=codes, numbers=numbers)


def answer_of(column: Column, positive: Any = None) -> AssociationTarget:
    """What a column asks others to tell; where ``positive`` is given, that value alone."""
    rows = np.flatnonzero(~column.missing)
    values = column.values[rows]
    if positive is not None:
        level = (levels_of(column, positive) or [])[0]
        yes = (values == level).astype(np.int64)
        return AssociationTarget(rows, 1 - yes, [0], [value_of(column, level)], None)
    if column.categories is None:
        return AssociationTarget(rows, None, [], [], values)
    counts = np.bincount(values, minlength=len(column.categories))
    frequent = np.sort(np.argsort(-counts, kind="stable")[:_MOST])
    frequent = frequent[counts[frequent] > 0]
    names: list[str | None] = [column.categories[code] for code in frequent]
    if len(names) == 2 and (counts > 0).sum() == 2:  # who tells the rarer one tells the other
        frequent, names = frequent[[np.argmin(counts[frequent])]], [None]
    place = np.full(len(counts), len(frequent))
    place[frequent] = np.arange(len(frequent))
    return AssociationTarget(rows, place[values], list(range(len(frequent))), names, None)


class Association(NamedTuple):
    """How well a column tells an answer: one of its values, or (None) all of it."""

    strength: float
    measure: str
    value: str | None


def tellings(
    columns: Sequence[Column], answers: Sequence[AssociationTarget], rule: AssociationRule
) -> Iterator[tuple[int, int, Association]]:
    """Which columns tell which answers, by their places, and how well."""
    everywhere = [place for place, each in enumerate(answers) if len(each.rows) == len(columns[0])]
    somewhere = [[place] for place in range(len(answers)) if place not in everywhere]
    for places in filter(None, [everywhere, *somewhere]):
        lot = [answers[place] for place in places]
        for line, at, told in _on_shared_rows(columns, lot, rule):
            yield line, places[at], told


def _on_shared_rows(
    columns: Sequence[Column], answers: list[AssociationTarget], rule: AssociationRule
) -> Iterator[tuple[int, int, Association]]:
    """The same for answers that are known in the same rows."""
    rows = answers[0].rows
    if len(rows) < 2 * rule.rows:
        return
    some = sampled(rows)
    if len(some) == len(rows):
        yield from _judged(columns, np.arange(len(columns)), answers, rule)
        return
    spread = np.array([len(c.categories or ()) * _SPREAD > len(some) for c in columns])
    few = [answer.on(some) for answer in answers]
    hopeful = {at: set(np.flatnonzero(spread).tolist()) for at in range(len(answers))}
    for line, at, _ in _judged(columns, np.flatnonzero(~spread), few, rule.loosened(_SLACK)):
        hopeful[at].add(line)
    for at, lines in hopeful.items():
        for line, _, told in _judged(columns, np.array(sorted(lines)), [answers[at]], rule):
            yield line, at, told


def _judged(
    columns: Sequence[Column], lines: Ints, answers: list[AssociationTarget], rule: AssociationRule
) -> Iterator[tuple[int, int, Association]]:
    rows = answers[0].rows
    size = max(1, _AT_ONCE // max(len(rows), 1))
    for start in range(0, len(lines), size):
        lot = lines[start : start + size]
        cells = cells_of([columns[line] for line in lot], rows)
        for at, answer in enumerate(answers):
            told = _values_told if answer.numbers is None else _number_told
            for line, telling in told(cells, answer, rule):
                yield int(lot[line]), at, telling


def _values_told(
    cells: BinnedRows, answer: AssociationTarget, rule: AssociationRule
) -> Iterator[tuple[int, Association]]:
    """Lines that tell values, one against all others: by the rates of cells, or in order."""
    assert answer.codes is not None
    n, width = len(answer.rows), len(answer.names) + 1
    sizes = np.bincount(answer.codes, minlength=width)
    asked = [code for code in answer.asked if rule.rows <= sizes[code] <= n - rule.rows]
    if not asked:
        return
    flat = (cells.codes * width + answer.codes).ravel()
    counts = np.bincount(flat, minlength=width * cells.many).reshape(-1, width)
    settled = _settled(cells, counts, sizes / n)
    total, counts, sizes = counts.sum(axis=1), counts[:, asked], sizes[asked]
    # two distributions that overlap by s are told apart with an area of at most 1 - s^2 / 2
    apart = np.abs(counts / sizes - (total[:, None] - counts) / (n - sizes))
    overlap = 1.0 - np.add.reduceat(apart, cells.starts, axis=0) / 2.0
    most = 1.0 - overlap**2 / 2.0
    is_it = (answer.codes[:, None] == np.array(asked)).astype(np.float64)
    in_order = np.zeros_like(most)
    in_order[cells.numeric] = 0.5 + np.abs(
        cells.ranks @ (is_it / sizes - (1.0 - is_it) / (n - sizes))
    )
    most = np.maximum(most, in_order)
    hopeful = (rule.strengths(most, sizes / n)[0] > 0.0) | (settled >= rule.settled)
    lines = np.flatnonzero(hopeful)
    areas = np.maximum(_areas(cells, counts, total, lines), in_order[lines])
    strengths, which = rule.strengths(areas, sizes / n)
    for line, strength, told in zip(lines.tolist(), strengths.tolist(), which, strict=True):
        if strength > 0.0:
            value = None if told < 0 and len(asked) > 1 else answer.names[asked[told]]
            yield line, Association(strength, "AUC", value)
        elif settled[line] >= rule.settled:
            yield line, Association(float(settled[line]), "settled", None)


def _areas(cells: BinnedRows, counts: Ints, total: Ints, lines: Ints) -> Floats:
    """Areas of some lines and all values that are asked for; lines of as many cells at once."""
    result = np.zeros((len(lines), counts.shape[1]))
    for width in np.unique(cells.widths[lines]):
        same = np.flatnonzero(cells.widths[lines] == width)
        at = cells.starts[lines[same]][:, None] + np.arange(width)
        yes = counts[at].swapaxes(1, 2)
        no = total[at][:, None] - yes
        areas = crossed_areas(yes.reshape(-1, width), no.reshape(-1, width))
        result[same] = areas.reshape(len(same), -1)
    return result


def _settled(cells: BinnedRows, counts: Ints, shares: Floats) -> Floats:
    """Share of each line's rows that are in cells of nearly one value, and not by accident."""
    total, value = counts.sum(axis=1), counts.argmax(axis=1)
    share = shares[value]
    off = total - counts.max(axis=1)
    settled = off <= total * np.minimum(1.0 - _PURE, (1.0 - share) / _OFTENER)
    with np.errstate(divide="ignore"):
        settled &= total * np.log(share) <= np.log(_ACCIDENT)
    return np.add.reduceat(np.where(settled, total, 0), cells.starts) / cells.codes.shape[1]


def crossed_areas(yes: Ints, no: Ints) -> Floats:
    """Areas under the curve of cells' rates, where either half of a cell has the other's.

    Parameters
    ----------
    yes, no : arrays of shape (n_lines, n_cells)
        Rows of each cell that have the value asked for, and those that do not.

    Examples
    --------
    >>> import numpy as np
    >>> crossed_areas(np.array([[50, 0]]), np.array([[0, 50]]))
    array([1.])
    >>> crossed_areas(np.array([[1, 0, 1]]), np.array([[0, 1, 0]]))  # a name for each row
    array([0.5])
    """
    total = yes + no
    prior = (yes.sum(axis=1) / total.sum(axis=1))[:, None]
    order = np.argsort(yes * (total.sum(axis=1).max() + 1) + no, axis=1)
    yes, no = np.take_along_axis(yes, order, axis=1), np.take_along_axis(no, order, axis=1)
    first = tossed(yes, 0), tossed(no, 1)
    halves = [first, (yes - first[0], no - first[1])]
    rates = [(y + _SMOOTH * prior) / (y + n + _SMOOTH) for y, n in halves]
    # rates that are equal but for rounding are equal
    places = ranked(np.hstack(rates[::-1]).round(12))[1]
    flat = (places + np.arange(len(places))[:, None] * places.shape[1]).ravel()
    yes, no = (
        np.bincount(flat, np.hstack(half).ravel(), places.size).reshape(places.shape)
        for half in zip(*halves, strict=True)
    )
    below = np.cumsum(no, axis=1) - no / 2.0
    return np.einsum("ij,ij->i", yes, below) / (yes.sum(axis=1) * no.sum(axis=1))


def tossed(rows: Ints, seed: int) -> Ints:
    """How many of each cell's rows a coin puts first; the coins are the same for every line."""
    last = np.cumsum(rows, axis=1)
    coins = np.random.default_rng(seed).integers(0, 2, int(last[:, -1].max()))
    heads = np.concatenate([[0], np.cumsum(coins)])
    return heads[last] - heads[last - rows]


def _number_told(
    cells: BinnedRows, answer: AssociationTarget, rule: AssociationRule
) -> Iterator[tuple[int, Association]]:
    """Lines that tell a number's ranks: by the means of cells, or in order."""
    assert answer.numbers is not None
    y = ranked(answer.numbers[None])[0][0]
    spread = y @ y
    if spread == 0.0:
        return
    by_cell = 1.0 - _errors(cells, y) / spread
    sizes = np.sqrt(np.einsum("ij,ij->i", cells.ranks, cells.ranks) * spread)
    in_order = np.zeros(len(by_cell))
    in_order[cells.numeric] = cells.ranks @ y / np.where(sizes > 0.0, sizes, 1.0)
    for line in np.flatnonzero(np.maximum(by_cell, in_order**2) >= rule.explained):
        if in_order[line] ** 2 >= rule.explained:
            yield int(line), Association(float(in_order[line]), "Spearman", None)
        else:
            yield int(line), Association(float(by_cell[line]), "R2", None)


def _errors(cells: BinnedRows, y: Floats) -> Floats:
    """Of each line: squared errors where each row has the mean of the others in its cell.

    Of a cell with n rows, sum s and mean square q / n, smoothed by a rows of mean 0, row i is off
    by (y_i (n + a) - s) / (n - 1 + a).
    """
    flat, many = cells.codes.ravel(), len(cells.codes)
    n = np.bincount(flat, minlength=cells.many)
    s = np.bincount(flat, weights=np.tile(y, many), minlength=cells.many)
    q = np.bincount(flat, weights=np.tile(y * y, many), minlength=cells.many)
    full = n + _SMOOTH
    off = (full**2 * q - 2.0 * full * s**2 + n * s**2) / np.maximum(full - 1.0, 1.0) ** 2
    return np.add.reduceat(off, cells.starts)
