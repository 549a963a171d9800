"""What columns tell of each other: leaks of the target, proxies of sensitive ones, and copies.

A column cuts the rows into cells: its values, or intervals of a number with many, and what is
missing. The mean of the other column in a cell predicts rows that it was not taken from: for a
class, one half of a cell's rows scores the other (area under the curve); for a number's ranks, the
others of the cell score each row (R-squared). So a value that occurs once tells nothing, and what
names rows tells nothing by accident.

Copies are the same numbers, or the same values by other names. Candidates come from two products of
matrices, of standardised columns and of what random pairs of rows have in common; each is then
compared on all rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from leftout.data.columns import Column, Floats
from leftout.data.roles import levels_of, value_of
from leftout.files import Serializable
from leftout.text import as_name, unambiguous

Ints = NDArray[np.int64]
Measured = tuple[str, float, str | None]  # a measure, its value, and which value is told

# A number is cut into so many intervals, or fewer, so that each holds some rows.
_INTERVALS, _HELD = 64, 20
# Of a column with more values, the most frequent are asked for.
_MOST = 20
# So many rows have the overall rate in every cell.
_SMOOTH = 1.0
# A cell is settled if so much of it has one value, other rows are so much oftener off, and as many
# of them would all have it so rarely.
_PURE, _OFTENER, _ACCIDENT = 0.99, 10.0, 1e-4
# Correlations from here on are printed as 1.
_EXACT = 0.9995
# Correlation of numbers, and share of rows whose values go together, from which on it is a copy.
_SAME, _TOGETHER = 0.99, 0.99
# Share of the rows with a value in either column that have one in both.
_BOTH = 0.9
# So few rows must not make a correlation; that of ranks may be a little smaller: noise ranks rows
# that were equal.
_HANDFUL, _RANKS = 3, 0.93
# Values that go together by accident must be off by at least so many rows, and so much oftener.
_BY_CHANCE = 10.0
# Candidates are at least so much alike on some of the rows, less where cells are missing.
_NEAR, _NEAR_WITH_GAPS, _NEAR_NAMES = 0.985, 0.88, 0.8
# Multiplications for all candidates, and the fewest and most rows that are compared.
_EFFORT, _LEAST_ROWS, _MOST_ROWS = 2e10, 800, 8_000


class _Thresholds(NamedTuple):
    """From where on a column counts as telling another."""

    area: float  # under the curve of a value against all others, or the mean of all values
    explained: float  # share of the variance of a number's ranks
    rows: int  # that have a value, and that do not
    settled: float  # share of rows in cells that nearly all have one value

    def strength(self, areas: Floats, shares: Floats) -> tuple[float, int]:
        """The area that counts, 0 if none does, and its value; -1 for all of them."""
        overall = float(areas @ (shares / shares.sum()))
        if overall >= self.area:
            return overall, -1
        alone = np.where(areas >= self.area, areas, 0.0)
        return float(alone.max()), int(alone.argmax())


_WANTED = {
    # a target with 2% of its cells flipped has an area of 0.98 on average, and must not be missed
    "leak": _Thresholds(area=0.97, explained=0.98, rows=10, settled=np.inf),
    # any value that enough rows have counts; so does what settles a sensitive column for many: who
    # is a husband is a man
    "proxy": _Thresholds(area=0.9, explained=0.81, rows=20, settled=0.25),
}


@dataclass(frozen=True)
class Relation(Serializable):
    """What one column says of another.

    Attributes
    ----------
    column : str
        The column that tells, or that is a copy.
    of : str
        What it tells, or copies: the target, a sensitive column, or an earlier one.
    how : {"leak", "copy", "proxy"}
    measure : {"AUC", "settled", "R2", "r", "one-to-one"}
        Of what the column alone tells on rows it was not fitted on: the area under the curve of a
        value against all others (the mean of all values' where ``value`` is None), or the share of
        rows where it leaves one value only; of a number, the share of the variance of its ranks.
        Of copies: the correlation, or the share of rows whose values go together.
    strength : float
        Correlations are negative where the order is reversed.
    value : str or None
        The value that is told, where not all are.
    """

    also = ("text",)

    column: str
    of: str
    how: str
    measure: str
    strength: float
    value: str | None = None

    @property
    def text(self) -> str:
        name, of = as_name(self.column), as_name(self.of)
        if self.value is not None:
            of = f"{of} = {unambiguous(self.value)}"
        whom = {"leak": "the target ", "proxy": "the sensitive column "}.get(self.how, "") + of
        share = f"{100.0 * self.strength:.3g}% of the rows"
        match self.measure:
            case "r":
                reverse = ", in reverse" if self.strength < 0.0 else ""
                nearly = "nearly " * (abs(self.strength) < _EXACT)
                return f"{name} {nearly}copies {whom}{reverse}: correlation {self.strength:.3g}."
            case "one-to-one":
                return f"{name} is {whom} by other names: their values go together in {share}."
            case "settled":
                return f"{name} alone settles {whom} in {share}."
        how = "R\u00b2 of ranks" if self.measure == "R2" else self.measure
        return f"{name} alone tells {whom}: {how} {self.strength:.3g}."


def leaks(columns: Sequence[Column], target: Column, positive: Any = None) -> list[Relation]:
    """Columns that alone determine the target, or nearly, the strongest first.

    Every class of it counts, or one that is ``positive`` against all others. Rows without a target
    are left out; a column's missing cells are a value of their own.

    >>> from leftout.data.columns import columns_of
    >>> rng = np.random.default_rng(0)
    >>> age, passed = rng.integers(18, 80, 500), rng.random(500) < 0.4
    >>> mark = np.where(passed, 70, 40) + rng.integers(0, 9, 500)
    >>> table = columns_of(np.column_stack([age, mark, passed]))
    >>> [relation.text for relation in leaks(table[:2], table[2])]
    ['x1 alone tells the target x2: AUC 1.']
    """
    return _relations(columns, [target], "leak", positive)


def proxies(searched: Sequence[Column], sensitive: Sequence[Column]) -> list[Relation]:
    """Columns that alone tell a sensitive one, or a value of it; the strongest first.

    See :func:`leaks`: here an area of 0.9 is enough, or 0.81 of the variance of a number's ranks
    (a correlation of 0.9), for any value that at least 20 rows have. So is a column that leaves
    no choice in a quarter of the rows: 99 of 100 with its value there have the same one.
    """
    return _relations(searched, sensitive, "proxy")


def _relations(
    columns: Sequence[Column], others: Sequence[Column], how: str, positive: Any = None
) -> list[Relation]:
    found, wanted = [], _WANTED[how]
    for other in others:
        rows = np.flatnonzero(~other.missing)
        if len(rows) < 2 * wanted.rows:
            continue
        is_number = positive is None and other.categories is None
        ranks = rankdata(other.values[rows]) if is_number else None
        names, codes = ([], rows) if is_number else _classes(other.take(rows), positive)
        for column in columns:
            if column.name == other.name:
                continue
            cells, n_cells = _cells(column.take(rows))
            if ranks is not None:
                told = _ranks_told(cells, ranks - ranks.mean(), wanted)
            else:
                told = _classes_told(cells, n_cells, codes, names, wanted)
            if told is not None:
                found.append(Relation(column.name, other.name, how, *told))
    place = {column.name: at for at, column in enumerate(columns)}
    # equal but for rounding is equal
    return sorted(found, key=lambda each: (-round(each.strength, 9), place[each.column], each.of))


def _classes(column: Column, positive: Any) -> tuple[list[str | None], Ints]:
    """Values that are to be told, and the place of each row's, the last for all others."""
    values = column.values
    if positive is not None:
        level = (levels_of(column, positive) or [])[0]
        return [value_of(column, level)], (values != level).astype(np.int64)
    counts = column.category_counts
    frequent = np.sort(np.argsort(-counts, kind="stable")[:_MOST])
    frequent = frequent[counts[frequent] > 0]
    names: list[str | None] = [(column.categories or ())[code] for code in frequent]
    if len(names) == 2 and (counts > 0).sum() == 2:  # who tells the rarer one tells the other
        frequent, names = frequent[[np.argmin(counts[frequent])]], [None]
    place = np.full(len(counts), len(frequent))
    place[frequent] = np.arange(len(frequent))
    return names, place[values]


def _cells(column: Column) -> tuple[Ints, int]:
    """The cell of each row, and their number: values, or intervals; and what is missing."""
    most = int(np.clip(len(column) // _HELD, 2, _INTERVALS))
    if column.categories is not None or column.n_values <= most:
        codes = column.codes().astype(np.int64)
        return codes, int(codes.max()) + 1
    n_known = len(column) - column.n_missing
    ranks = (rankdata(column.values, nan_policy="omit") - (n_known + 1) / 2.0) / n_known
    # to the nearest, so that a number and its negative are cut alike
    places = np.rint(ranks * most) + most // 2 + 1
    return np.where(column.missing, most + 3, places).astype(np.int64), most + 4


def _classes_told(
    cells: Ints, n_cells: int, codes: Ints, names: list[str | None], wanted: _Thresholds
) -> Measured | None:
    """How well values are told, one against all others, by the rates of cells."""
    n, width = len(codes), len(names) + 1
    sizes = np.bincount(codes, minlength=width)
    asked = [code for code in range(width - 1) if wanted.rows <= sizes[code] <= n - wanted.rows]
    if not asked:
        return None
    counts = np.bincount(cells * width + codes, minlength=width * n_cells).reshape(-1, width)
    settled = _settled(counts, sizes / n)
    total, counts, sizes = counts.sum(axis=1), counts[:, asked], sizes[asked]
    # two distributions that overlap by s are told apart with an area of at most 1 - s^2 / 2
    apart = np.abs(counts / sizes - (total[:, None] - counts) / (n - sizes))
    most = 1.0 - (1.0 - apart.sum(axis=0) / 2.0) ** 2 / 2.0
    if wanted.strength(most, sizes / n)[0] > 0.0:
        areas = np.array([cross_fitted_auc(yes, total - yes) for yes in counts.T])
        strength, which = wanted.strength(areas, sizes / n)
        if strength > 0.0:
            value = None if which < 0 and len(asked) > 1 else names[asked[which]]
            return "AUC", strength, value
    return ("settled", settled, None) if settled >= wanted.settled else None


def _settled(counts: Ints, shares: Floats) -> float:
    """The share of rows that are in cells of nearly one value, and not by accident."""
    total, share = counts.sum(axis=1), shares[counts.argmax(axis=1)]
    off = total - counts.max(axis=1)
    settled = off <= total * np.minimum(1.0 - _PURE, (1.0 - share) / _OFTENER)
    with np.errstate(divide="ignore"):
        settled &= total * np.log(share) <= np.log(_ACCIDENT)
    return float(total[settled].sum() / total.sum())


def cross_fitted_auc(yes: Ints, no: Ints) -> float:
    """The area under the curve of cells' rates, where either half of a cell has the other's.

    Rows are dealt to the halves by tossed coins, always the same ones, cells of equal counts one
    after the other: the area depends on the counts alone, not on the order or names of anything.
    ``yes`` are each cell's rows with the value asked for, ``no`` all others of it.

    >>> cross_fitted_auc(np.array([50, 0]), np.array([0, 50]))
    1.0
    >>> cross_fitted_auc(np.array([1, 0, 1]), np.array([0, 1, 0]))  # a name for each row
    0.5
    """
    prior = yes.sum() / (yes.sum() + no.sum())
    order = np.lexsort((no, yes))
    yes, no = yes[order], no[order]
    first = _first_half(yes, 0), _first_half(no, 1)
    halves = [first, (yes - first[0], no - first[1])]
    rates = [(y + _SMOOTH * prior) / (y + n + _SMOOTH) for y, n in reversed(halves)]
    # rates that are equal but for rounding are equal
    places = np.unique(np.concatenate(rates).round(12), return_inverse=True)[1]
    yes, no = (np.bincount(places, np.concatenate(half)) for half in zip(*halves, strict=True))
    below = np.cumsum(no) - no / 2.0
    return float(yes @ below / (yes.sum() * no.sum()))


def _first_half(rows: Ints, seed: int) -> Ints:
    """How many of each cell's rows a coin puts first; the coins are always the same."""
    last = np.cumsum(rows)
    coins = np.random.default_rng(seed).integers(0, 2, int(last[-1]))
    heads = np.concatenate([[0], np.cumsum(coins)])
    return heads[last] - heads[last - rows]


def _ranks_told(cells: Ints, ranks: Floats, wanted: _Thresholds) -> Measured | None:
    """How well centred ranks are told by the means of cells."""
    spread = ranks @ ranks
    explained = 1.0 - leave_one_out_errors(cells, ranks) / spread if spread > 0.0 else 0.0
    return ("R2", float(explained), None) if explained >= wanted.explained else None


def leave_one_out_errors(cells: Ints, y: Floats) -> float:
    """The sum of squared errors where each row has the mean of the others in its cell.

    Of a cell with n rows, sum s and sum of squares q, smoothed by a rows of mean 0, row i is off by
    (y_i (n + a) - s) / (n - 1 + a).
    """
    n, s, q = (np.bincount(cells, weights) for weights in (None, y, y * y))
    full = n + _SMOOTH
    off = (full**2 * q - 2.0 * full * s**2 + n * s**2) / np.maximum(full - 1.0, 1.0) ** 2
    return float(off.sum())


def copies(columns: Sequence[Column]) -> list[Relation]:
    """Columns that copy an earlier one, in their order: each once.

    Numbers, dates and indicators copy each other where they correlate by 0.99 or more, reversed or
    not; categories and codes, where each value of one goes with one value of the other in 99% of
    the rows, both ways, beyond chance. A tenth of the cells may be missing in one alone. What
    correlates with another is not compared with later columns: likeness adds up along a chain.

    >>> from leftout.data.columns import columns_of
    >>> rng = np.random.default_rng(0)
    >>> metres = rng.normal(1.7, 0.1, 200)
    >>> table = columns_of(np.column_stack([metres, rng.random(200), -39.4 * metres]))
    >>> [relation.text for relation in copies(table)]
    ['x2 copies x0, in reverse: correlation -1.']
    """
    found: list[Relation] = []
    candidates = _candidates(columns)
    is_copy = np.zeros(len(columns), dtype=bool)
    for later, column in enumerate(columns):
        for earlier in np.flatnonzero(candidates[later, :later] & ~is_copy[:later]).tolist():
            likeness = _likeness(column, columns[earlier])
            if likeness is not None:
                found.append(Relation(column.name, columns[earlier].name, "copy", *likeness))
                is_copy[later] = likeness[0] == "r"  # others are numbers for categories
                break
    return found


def _candidates(columns: Sequence[Column]) -> NDArray[np.bool_]:
    """Which pairs of columns nearly correlate, or nearly go together, on some of the rows."""
    n_rows = len(columns[0]) if columns else 0
    size = int(np.clip(_EFFORT / max(len(columns), 1) ** 2, _LEAST_ROWS, _MOST_ROWS))
    rng = np.random.default_rng(0)
    rows = np.sort(rng.choice(n_rows, min(n_rows, size), replace=False))
    left, right = rng.integers(0, max(n_rows, 1), (2, size))
    is_other = left != right
    numbers = np.zeros((len(columns), len(rows)), dtype=np.float32)
    names = np.zeros((len(columns), np.count_nonzero(is_other)), dtype=np.float32)
    gaps = np.zeros(len(columns), dtype=bool)
    for place, column in enumerate(columns):
        values = _numbers(column.take(rows))
        if values is not None:
            numbers[place], gaps[place] = _unit(values), np.isnan(values).any()
        shared = column.values[left] == column.values[right]
        names[place] = _unit(shared[is_other].astype(float))
    least = np.where(gaps[:, None] | gaps, _NEAR_WITH_GAPS, _NEAR)
    return (np.abs(numbers @ numbers.T) >= least) | (names @ names.T >= _NEAR_NAMES)


def _numbers(column: Column) -> Floats | None:
    """A column as numbers, NaN where missing; two names are numbers, too. None if infinite."""
    values = column.numbers
    if values is None and len(column.categories or ()) == 2:
        values = np.array([0.0, 1.0, np.nan])[column.values]
    return None if values is None or np.isinf(values).any() else values


def _unit(values: Floats) -> Floats:
    """Numbers less their mean, of length 1 (or 0), and 0 where missing."""
    known = ~np.isnan(values)
    # in parts of the largest, of which squares and sums are small enough
    scaled = values / max(np.abs(values[known]).max(initial=0.0), np.finfo(float).tiny)
    off = np.where(known, scaled - scaled[known].mean() if known.any() else 0.0, 0.0)
    size = np.linalg.norm(off)
    return off / size if size > 1e-13 * np.sqrt(len(off)) else np.zeros(len(off))


def _likeness(column: Column, other: Column) -> tuple[str, float] | None:
    """How a column copies another where both are known: a measure, and its strength."""
    known = ~(column.missing | other.missing)
    either = ~(column.missing & other.missing)
    if not known.any() or known.sum() < _BOTH * either.sum():
        return None
    pair = column.take(np.flatnonzero(known)), other.take(np.flatnonzero(known))
    return _same_numbers(*pair) or _same_names(*pair)


def _same_numbers(column: Column, other: Column) -> tuple[str, float] | None:
    """Whether two columns without gaps correlate, and not by a handful of rows."""
    a, b = _numbers(column), _numbers(other)
    if a is None or b is None:
        return None
    r = _correlation(a, b)
    if abs(r) < _SAME or min(np.sum(x != _most_frequent(x)) for x in (a, b)) <= _HANDFUL:
        return None
    # a few rows, or marks such as -99 in the same rows, are no reason to correlate
    others = (a != _most_frequent(a)) & (b != _most_frequent(b))
    ranks = (_correlation(rankdata(a[rows]), rankdata(b[rows])) for rows in (slice(None), others))
    return ("r", r) if max(map(abs, ranks)) >= _RANKS else None


def _most_frequent(values: Floats) -> float:
    distinct, counts = np.unique(values, return_counts=True)
    return float(distinct[counts.argmax()])


def _correlation(a: Floats, b: Floats) -> float:
    """The correlation of numbers without gaps, 0 where one never changes."""
    return float(np.clip(_unit(a) @ _unit(b), -1.0, 1.0))


def _same_names(a: Column, b: Column) -> tuple[str, float] | None:
    """Whether values of columns without gaps go together, both ways, beyond chance.

    Two indicators are compared as numbers alone. So are two numbers of the same order (squares of a
    number, say, are something else to PCA), and numbers with fractions, which are no codes:
    unemployment and GDP of a few years go together, and are two things.
    """
    if max(a.n_values, b.n_values) < 3 or min(a.n_values, b.n_values) < 2:
        return None
    left, right = a.codes().astype(np.int64), b.codes()
    if a.categories is None and b.categories is None:
        if any((each.values != np.floor(each.values)).any() for each in (a, b)):
            return None
        if abs(_correlation(rankdata(left), rankdata(right))) >= _SAME:
            return None
    width = int(right.max()) + 1
    pairs, counts = np.unique(left * width + right, return_counts=True)
    one, other = pairs // width, pairs % width
    together = min(_agreement(one, other, counts), _agreement(other, one, counts))
    return ("one-to-one", together) if together >= _TOGETHER else None


def _agreement(one: Ints, other: Ints, counts: Ints) -> float:
    """Share of rows where a value goes with what it most often goes with; 0 if chance gives that.

    The row that shows what a value goes with shows nothing else: by chance, the others of it are
    off as often as they do not have the most frequent value.
    """
    best = np.zeros(one.max() + 1, dtype=np.int64)
    np.maximum.at(best, one, counts)
    n, off = counts.sum(), counts.sum() - best.sum()
    most = np.bincount(other, weights=counts).max()
    by_chance = (n - len(best)) * (1.0 - most / n)
    if by_chance < _BY_CHANCE or off * _OFTENER > by_chance:
        return 0.0
    return float(1.0 - off / n)
