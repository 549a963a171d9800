"""Leaks, copies and proxies: columns that tell the target, another column, or a sensitive one.

Copies say what an earlier column says: the same numbers, or the same values by other names.
Candidates come from products of matrices. Numbers are compared by their correlation. For names,
every row has random weights, and every value of a column becomes the sum of its rows' weights, over
the root of their number: columns that are equal but for names become equal numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from leftout.data.columns import Column
from leftout.data.profiling.associations import (
    AssociationRule,
    AssociationTarget,
    Floats,
    Ints,
    associations,
    sampled,
    value_codes,
)
from leftout.files import Serializable
from leftout.text import as_name, unambiguous

Bools = NDArray[np.bool_]
Singles = NDArray[np.float32]
Likeness = tuple[str, float]  # a measure, and its strength

# A target with 2 % of its cells flipped has an area of 0.98 on average, and must not be missed. One
# of several classes may be told alone, if fully: what separates it well is a good feature.
_LEAK = AssociationRule(area=0.97, alone=0.995, part=0.1, explained=0.98, rows=10, settled=np.inf)
# Of a sensitive column, any value that enough rows have counts; so does what settles it for many:
# who is a husband is a man.
_PROXY = AssociationRule(area=0.9, alone=0.9, part=0.0, explained=0.81, rows=20, settled=0.25)
# Correlation of numbers, and share of rows whose values go together, from which on it is a copy.
_SAME, _TOGETHER = 0.99, 0.99
# Share of the rows with a value in either column that have one in both.
_BOTH = 0.9
# So few rows must not make a correlation; that of ranks may be a little smaller.
_HANDFUL, _RANKS = 3, 0.95
# Values that go together by accident must be off by at least so many rows, and ten times as often.
_BY_CHANCE, _OFTENER = 10.0, 10.0
# Numbers are codes if they have so few values: one for so many rows.
_REPEATED = 10
# Candidates are at least so much alike on some of the rows, less where cells are missing.
_NEAR, _NEAR_WITH_GAPS, _NEAR_NAMES = 0.985, 0.88, 0.8
# Multiplications for all candidates, the fewest and most rows that are compared, and rows and
# weights of each for comparing names.
_EFFORT, _LEAST, _MOST, _SHOWN, _WEIGHTS = 2e10, 800, 8_000, 500, 4
# Correlations from here on are printed as 1.
EXACT_SHARE = 0.9995


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
    measure : {"AUC", "settled", "Spearman", "R2", "r", "one-to-one"}
        Of what the column alone tells on rows it was not fitted on: the area under the curve of a
        value against all others (the mean of all values' where ``value`` is None), or the share of
        rows where it leaves one value only; of a number, Spearman's correlation, or the share of
        the variance of its ranks. Of copies: the correlation, or the share of rows whose values go
        together.
    strength : float
        Correlations are negative where the order is reversed.
    value : str or None
        The value that is told, where not all are.
    """

    also = ("told",)

    column: str
    of: str
    how: str
    measure: str
    strength: float
    value: str | None = None

    @property
    def told(self) -> str:
        name, of = as_name(self.column), as_name(self.of)
        if self.value is not None:
            of = f"{of} = {unambiguous(self.value)}"
        whom = {"leak": "the target ", "proxy": "the sensitive column "}.get(self.how, "") + of
        share = f"{100.0 * self.strength:.3g} % of the rows"
        match self.measure:
            case "r":
                reverse = ", in reverse" if self.strength < 0.0 else ""
                nearly = "nearly " * (abs(self.strength) < EXACT_SHARE)
                return f"{name} {nearly}copies {whom}{reverse}: correlation {self.strength:.3g}."
            case "one-to-one":
                return f"{name} is {whom} by other names: their values go together in {share}."
            case "settled":
                return f"{name} alone settles {whom} in {share}."
        measure = {"Spearman": "Spearman's correlation", "R2": "R\u00b2 of ranks"}
        how = measure.get(self.measure, self.measure)
        return f"{name} alone tells {whom}: {how} {self.strength:.3g}."


def leaks(columns: Sequence[Column], target: Column, positive: Any = None) -> list[Relation]:
    """Columns that alone determine the target, or nearly, the strongest first.

    Rows without a target are left out; a column's missing cells are a value of their own. Large
    tables are screened on some of their rows, and what is found is measured on all.

    Parameters
    ----------
    columns : sequence of Column, cleaned
        One that is called like the target is skipped.
    target : Column
    positive : a value of the target, optional
        To be told against all others; by default, every class counts.

    Examples
    --------
    >>> import numpy as np
    >>> from leftout.data.columns import columns_of
    >>> rng = np.random.default_rng(0)
    >>> age, passed = rng.integers(18, 80, 500), rng.random(500) < 0.4
    >>> mark = np.where(passed, 70, 40) + rng.integers(0, 20, 500)
    >>> table = columns_of(np.column_stack([age, mark, passed]))
    >>> [relation.told for relation in leaks(table[:2], table[2])]
    ['x1 alone tells the target x2: AUC 1.']
    """
    return _relations(columns, [target], "leak", _LEAK, positive)


def proxies(searched: Sequence[Column], sensitive: Sequence[Column]) -> list[Relation]:
    """Columns that alone tell a sensitive one, or a value of it; the strongest first.

    See :func:`leaks`: here an area of 0.9 is enough, or 0.81 of the variance of a number's ranks
    (a correlation of 0.9), for any value that at least 20 rows have. So is a column that leaves
    no choice in a quarter of the rows: 99 of 100 with its value there have the same one.

    Examples
    --------
    >>> import numpy as np
    >>> from leftout.data.columns import columns_of
    >>> home = np.array(["Rio", "Oslo", "Bergen"])[np.arange(300) % 3]
    >>> table = columns_of(np.column_stack([home, np.where(home == "Rio", "abroad", "here")]))
    >>> [relation.told for relation in proxies(table[:1], table[1:])]
    ['x0 alone tells the sensitive column x1: AUC 1.']
    """
    return _relations(searched, sensitive, "proxy", _PROXY)


def _relations(
    columns: Sequence[Column],
    others: Sequence[Column],
    how: str,
    rule: AssociationRule,
    positive: Any = None,
) -> list[Relation]:
    targets = [AssociationTarget.of(other, positive) for other in others]
    found = [
        (line, Relation(columns[line].name, others[at].name, how, told.measure, *told[::2]))
        for line, at, told in associations(columns, targets, rule)
        if columns[line].name != others[at].name
    ]
    # equal but for rounding is equal
    found.sort(key=lambda each: (-round(abs(each[1].strength), 9), each[0], each[1].of))
    return [relation for _, relation in found]


def copies(columns: Sequence[Column]) -> list[Relation]:
    """Columns that copy an earlier one, in their order: each once, and never of a copy.

    Numbers, dates and yes-or-no columns copy each other where they correlate by 0.99 or more,
    reversed or not; categories and codes, where each value of one goes with one value of the other
    in 99 % of the rows, both ways, beyond chance. A tenth of the cells may be missing in one alone.

    Examples
    --------
    >>> import numpy as np
    >>> from leftout.data.columns import columns_of
    >>> rng = np.random.default_rng(0)
    >>> metres = rng.normal(1.7, 0.1, 200)
    >>> table = columns_of(np.column_stack([metres, rng.random(200), -39.4 * metres]))
    >>> [relation.told for relation in copies(table)]
    ['x2 copies x0, in reverse: correlation -1.']
    """
    found: list[Relation] = []
    candidates = _same_numbers_candidates(columns) | _same_names_candidates(columns)
    is_copy = np.zeros(len(columns), dtype=bool)
    for later, column in enumerate(columns):
        for earlier in np.flatnonzero(candidates[later, :later] & ~is_copy[:later]).tolist():
            likeness = _alike(column, columns[earlier])
            if likeness is not None:
                found.append(Relation(column.name, columns[earlier].name, "copy", *likeness))
                is_copy[later] = True
                break
    return found


def _alike(column: Column, other: Column) -> Likeness | None:
    known = ~(column.missing | other.missing)
    either = ~(column.missing & other.missing)
    if not known.any() or known.sum() < _BOTH * either.sum():
        return None
    pair = column.take(np.flatnonzero(known)), other.take(np.flatnonzero(known))
    return _same_numbers(*pair) or _same_names(*pair)


def _numbers(column: Column) -> Floats | None:
    """A column as numbers, NaN where missing; two names are numbers, too. None if infinite."""
    values = column.numbers
    if values is None and len(column.categories or ()) == 2:
        values = np.array([0.0, 1.0, np.nan])[column.values]
    return None if values is None or np.isinf(values).any() else values


def _same_numbers_candidates(columns: Sequence[Column]) -> Bools:
    """Which pairs of columns nearly correlate on some of the rows."""
    size = int(np.clip(_EFFORT / max(len(columns), 1) ** 2, _LEAST, _MOST))
    rows = sampled(np.arange(len(columns[0]) if columns else 0), size)
    units = np.zeros((len(columns), len(rows)), dtype=np.float32)
    gaps = np.zeros(len(columns), dtype=bool)
    for place, column in enumerate(columns):
        values = _numbers(column.take(rows))
        if values is not None:
            units[place], gaps[place] = _unit(values), np.isnan(values).any()
    least = np.where(gaps[:, None] | gaps, _NEAR_WITH_GAPS, _NEAR)
    return np.abs(units @ units.T) >= least


def _unit(values: Floats) -> Floats:
    """Numbers less their mean, of length 1 (or 0), and 0 where missing."""
    known = ~np.isnan(values)
    # in parts of the largest, of which squares and sums are small enough
    scaled = values / max(np.abs(values[known]).max(initial=0.0), np.finfo(float).tiny)
    off = np.where(known, scaled - scaled[known].mean() if known.any() else 0.0, 0.0)
    size = np.linalg.norm(off)
    return off / size if size > 1e-13 * np.sqrt(len(off)) else np.zeros(len(off))


def _same_names_candidates(columns: Sequence[Column]) -> Bools:
    """Which pairs of columns, one of them in words or both of few values, nearly go together.

    Columns of no more than two values are left out, and those of too many to be seen again.
    """
    rows = sampled(np.arange(len(columns[0]) if columns else 0), _MOST)
    n = len(rows)
    weights = np.random.default_rng(0).standard_normal((_WEIGHTS, n))
    shown = sampled(np.arange(n), _SHOWN)
    units = np.zeros((len(columns), _WEIGHTS * len(shown)), dtype=np.float32)
    words = np.array([column.categories is not None for column in columns], dtype=bool)
    widths = np.array([len(np.unique(column.values[rows])) for column in columns], dtype=int)
    # no number is a code of words that has far more values than they have
    most = min(max(n // _REPEATED, 2 * widths[words].max(initial=0)), n // 2)
    for place in np.flatnonzero((widths > 2) & (widths <= most)).tolist():
        codes, width = value_codes(columns[place], rows)
        counts = np.sqrt(np.bincount(codes, minlength=width))
        sums = [np.bincount(codes, weights=w, minlength=width) / counts for w in weights]
        units[place] = _unit(
            np.concatenate([s[codes[shown]] - s[codes[shown]].mean() for s in sums])
        )
    few = words | (widths <= n // _REPEATED)
    pairs = words[:, None] | words | (few[:, None] & few)
    return pairs & (units @ units.T >= _NEAR_NAMES)


def _same_numbers(column: Column, other: Column) -> Likeness | None:
    """Whether two columns without gaps correlate, and not by a handful of rows."""
    a, b = _numbers(column), _numbers(other)
    if a is None or b is None:
        return None
    r = _correlation(a, b)
    if abs(r) < _SAME or min(map(_off_most_frequent, (a, b))) <= _HANDFUL:
        return None
    # a few rows, or marks such as -99 in the same rows, are no reason to correlate
    return ("r", r) if abs(_correlation(rankdata(a), rankdata(b))) >= _RANKS else None


def _off_most_frequent(values: Floats) -> int:
    """Rows that do not have the most frequent value."""
    return int(len(values) - np.unique(values, return_counts=True)[1].max())


def _correlation(a: Floats, b: Floats) -> float:
    """The correlation of numbers without gaps, 0 where one never changes."""
    return float(np.clip(_unit(a) @ _unit(b), -1.0, 1.0))


def _same_names(a: Column, b: Column) -> Likeness | None:
    """Whether values of columns without gaps go together, both ways, beyond chance.

    Two yes-or-no columns are compared as numbers alone. So are two numbers of the same order
    (squares of a number, say, are something else to PCA), and numbers with fractions, which are no
    codes: unemployment and GDP of a few years go together, and are two things.
    """
    rows = np.arange(len(a))
    left, m = value_codes(a, rows)
    right, k = value_codes(b, rows)
    if max(m, k) < 3 or min(m, k) < 2:
        return None
    if a.categories is None and b.categories is None:
        if not (_whole(a.values) and _whole(b.values)):
            return None
        if abs(_correlation(rankdata(left), rankdata(right))) >= _SAME:
            return None
    pairs, counts = np.unique(left * k + right, return_counts=True)
    one, other = pairs // k, pairs % k
    together = min(_agreement(one, other, counts), _agreement(other, one, counts))
    return ("one-to-one", together) if together >= _TOGETHER else None


def _whole(values: Floats) -> bool:
    return bool((values == np.floor(values)).all())


def _agreement(one: Ints, other: Ints, counts: Ints) -> float:
    """Share of rows where a value goes with what it most often goes with; 0 if chance gives that.

    The row that shows what a value goes with shows nothing else: by chance, the others of it are
    off as often as they do not have the most frequent value.
    """
    order = np.argsort(one, kind="stable")
    firsts = np.flatnonzero(np.diff(one[order], prepend=-1))
    n = counts.sum()
    off = n - np.maximum.reduceat(counts[order], firsts).sum()
    most = np.bincount(other, weights=counts).max()
    by_chance = (n - len(firsts)) * (1.0 - most / n)
    if by_chance < _BY_CHANCE or off * _OFTENER > by_chance:
        return 0.0
    return float(1.0 - off / n)
