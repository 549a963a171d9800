"""What every column is, as an auditor would judge: a number, a code, a name, nothing at all.

A code (of a county, an occupation, a course) stands in no order, so that its neighbours have
nothing in common. That is measured: the means of other columns, taken along the sorted values, rise
and fall smoothly for a quantity and jump for a code.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from leftout.checks import check_choice
from leftout.data.cells import value_counts
from leftout.data.columns import LARGEST_EXACT, Column, find
from leftout.data.profiling.column_names import MAYBE_NAMED, is_id, name_says, words_of
from leftout.data.profiling.sentinels import ordinary
from leftout.errors import parameter_label
from leftout.files import Serializable
from leftout.text import counted, listed

Floats = NDArray[np.float64]

COLUMN_KINDS = (
    "number", "code", "yes/no", "category", "date", "identifier", "free text", "constant",
)  # fmt: skip
# As what each kind is read unless something speaks against it.
_READ_AS = dict.fromkeys(COLUMN_KINDS, "category") | {
    "number": "number", "date": "date", "identifier": "nothing", "free text": "nothing",
    "constant": "nothing",
}  # fmt: skip
# A text with more values than this, and more than half as many as rows, tells rows apart.
_NAMES = 10
# Texts that occur so often at most are hardly repeated; with more values than this, and most rows
# among them, they are free text. So are very many values, most of which occur once.
_HARDLY, _MANY, _VERY_MANY = 2, 20, 200
# People who are asked again have an identifier that repeats, so many times on average.
_REPEATED = 5.0
# Of the values of a column, those that may be otherwise in one that is called after the most.
_NEARLY = 0.95
# Consecutive whole numbers under such names are no count of the rows.
_CALENDAR = frozenset(
    "year yr jahr annee ano month monat mes mois week woche day tag dia jour age rank".split()
)
# Digits that are still text begin with a zero, or are too many to count with.
_TEXT_CODE = re.compile(r"[+-]?\d+|(?=\S*\d)(?=\S*[A-Za-z])[A-Za-z0-9.\-/_]{2,16}")
# Points from which a code is suspected, under a name that says so and any other.
SUSPECTED, UNNAMED = 3, 4
# Points of what other columns say; a name's are in column_names, each oddity of shape has one.
ROUGH, SMOOTH = 2, -1
# Of the jumps between neighbours that values in no order would show: many, and hardly any.
ROUGHNESS, SMOOTHNESS = 0.6, 0.3
# Values of a code that is read as a category without being told so: each costs a feature.
FEW = 12
# Values are told apart by rows of their own, signals from noise by standard errors.
_ROWS, _SIGNAL = 5, 4.0
# Rows and other columns that are looked at.
_SAMPLE, _OTHERS = 5_000, 50
# Of the places between the lowest and the highest value, codes leave more than this empty.
_FILLED = 0.6
# Of the rows, so many must be at values that occur often, for those to be all that is looked at.
_MOST = 0.8


@dataclass(frozen=True)
class ColumnType(Serializable):
    """What a column is taken for.

    Attributes
    ----------
    column : str
    kind : str
        One of ``COLUMN_KINDS``.
    why : str
        In a few words, with numbers.
    read_as : {"number", "category", "date", "nothing"}
    sure : bool
        False where it is a suspicion, and people should look.
    overrule : str
        The option that has it otherwise; empty where there is none.
    """

    column: str
    kind: str
    why: str
    read_as: str
    sure: bool
    overrule: str


def judge(columns: Sequence[Column], declared: Mapping[str, str] | None = None) -> list[ColumnType]:
    """Judge what each of a table's columns is.

    Parameters
    ----------
    columns : sequence of Column
        Cleaned, of one table: whether whole numbers are codes shows in the others.
    declared : mapping, optional
        Kinds that people have given, by column; they hold whatever the column looks like, unless
        it says nothing at all.

    Returns
    -------
    list of ColumnType
        One for each column, in order.

    Examples
    --------
    >>> import pandas as pd
    >>> from leftout.data.columns import columns_of
    >>> from leftout.data.profiling.column_types import judge
    >>> table = pd.DataFrame({"id": [4, 9, 2], "sex": [1, 2, 1], "age": [31, 40, 31]})
    >>> [(found.kind, found.why) for found in judge(columns_of(table))]  # doctest: +ELLIPSIS
    [('identifier', 'a different whole number in every row; a name ...'), ('yes/no', '1 and 2'), ...
    """
    said = {}
    names = [column.name for column in columns]
    for name, kind in (declared or {}).items():
        check_choice(f"The kind of {name!r}", kind, COLUMN_KINDS)
        said[find(names, name, "declared")] = kind
    others = Others(columns)
    return [
        _judged(column, others, place, said.get(column.name))
        for place, column in enumerate(columns)
    ]


def _judged(column: Column, others: Others, place: int, said: str | None) -> ColumnType:
    present, counts = column.present
    n_known = len(column) - column.n_missing
    if not n_known:
        return _kind(column, "constant", "empty")
    if len(counts) == 1:
        if n_known == len(column):
            return _kind(column, "constant", "the same in every row")
        gaps = f"missing in {counted(column.n_missing, 'row')}, where known always the same"
        return _kind(column, "yes/no", gaps, overrule="drop")
    if said is not None:
        return _kind(column, said, f"declared: {said}")
    if len(counts) == 2:
        return _kind(column, "yes/no", " and ".join(map(column.show, present)), overrule="drop")
    if column.declared or (column.categories is not None and column.levels is not None):
        why = f"{counted(column.n_values, 'value')}, declared" + ", in order" * column.ordered
        if _of_digits(column):
            return _kind(column, "code", why, overrule="numeric")
        return _kind(column, "category", why, overrule="drop")
    if column.dates:
        why = f"from {column.show(present[0])} to {column.show(present[-1])}"
        return _kind(column, "date", why, overrule="drop")
    return _of_text(column, counts) if column.words else _of_numbers(column, others, place)


def _of_digits(column: Column) -> bool:
    """Whether categories are numbers."""
    texts = column.categories or ()
    return column.levels is not None or all(re.fullmatch(r"[+-]?\d+(\.\d*)?", t) for t in texts)


def _of_text(column: Column, counts: NDArray[np.int64]) -> ColumnType:
    """Texts of more than two values: names of rows, what people wrote, codes, or categories."""
    assert column.categories is not None
    n_rows, n_values = len(column) - column.n_missing, len(counts)
    once = int((counts == 1).sum())
    hardly = int(counts[counts <= _HARDLY].sum())
    alone = n_values > max(_NAMES, n_rows // 2)
    scattered = n_values > _MANY and hardly > n_rows / 2
    very_many = n_values > _VERY_MANY and once >= n_values / 2
    texts = column.categories
    written = f"{counted(n_values, 'value')} in {counted(n_rows, 'row')}"
    spaces = any(" " in text for text in texts)
    if n_values >= _NEARLY * n_rows and alone and not spaces:
        return _kind(column, "identifier", f"{written}, without spaces", overrule="categorical")
    if n_values > _MANY and n_rows < 5 * n_values and _called_id(column.name, n_values):
        why = f"{written}; a name that identifiers have"
        return _kind(column, "identifier", why, sure=False, overrule="categorical")
    coded = sum(_TEXT_CODE.fullmatch(text) is not None for text in texts) >= _NEARLY * len(texts)
    if not (alone or scattered or very_many):
        if coded:
            return _kind(column, "code", f"{written}, written like codes", overrule="drop")
        return _kind(column, "category", written, overrule="drop")
    why = f"{written}, {once:,} of them once"
    if coded:
        why += "; written like codes"
        return _kind(column, "code", why, "nothing", sure=False, overrule="categorical")
    return _kind(column, "free text", why, sure=bool(alone), overrule="categorical")


def _of_numbers(column: Column, others: Others, place: int) -> ColumnType:
    """Numbers of more than two values: names of rows, codes, or quantities."""
    distinct, n_values = column.present[0], column.n_values
    if not _whole(distinct):
        with np.errstate(over="ignore"):
            spread = float(distinct[-1] - distinct[0])
        low, high = (column.told(float(end), spread) for end in distinct[[0, -1]])
        why = f"{n_values:,} values from {low} to {high}"
        return _kind(column, "number", why, overrule="categorical")
    n_rows = len(column) - column.n_missing
    different = n_values == len(column)
    if different and (distinct[-1] - distinct[0] == n_values - 1):
        if not _CALENDAR.intersection(words_of(column.name)):
            return _row_counter(column, distinct[[0, -1]])
    elif n_values * _called_id(column.name, n_values) > n_rows:
        why = f"{n_values:,} whole numbers in {counted(n_rows, 'row')}"
        why = "a different whole number in every row" if different else why
        why += "; a name that identifiers have"
        return _kind(column, "identifier", why, sure=different, overrule="numeric")
    why = f"{n_values:,} whole numbers, {_range(distinct)}"
    found = code_evidence(column, others, place)
    if found is None:
        return _kind(column, "number", why, overrule="categorical")
    why = "; ".join([why, *found.told])
    if found.strong:
        return _kind(column, "code", why, sure=False, overrule="numeric")
    return _kind(column, "code", why, "number", sure=False, overrule="categorical")


def as_row_counter(
    kind: ColumnType, column: Column, low: float, high: float, n_rows: int
) -> ColumnType:
    """The kind of a column of a sample, where its range on all rows may say that it counts them."""
    if (
        kind.kind != "number"
        or column.categories is not None
        or high - low != n_rows - 1
        or not _whole(column.present[0])
        or column.n_values < len(column)
        or _CALENDAR.intersection(words_of(column.name))
    ):
        return kind
    return _row_counter(column, np.array([low, high]))


def _row_counter(column: Column, ends: Floats) -> ColumnType:
    return _kind(column, "identifier", f"counts the rows, {_range(ends)}", overrule="numeric")


def _whole(distinct: Floats) -> bool:
    size = max(-distinct[0], distinct[-1])
    return bool(size < LARGEST_EXACT and (distinct == np.floor(distinct)).all())


def _range(distinct: Floats) -> str:
    low, high = int(distinct[0]), int(distinct[-1])
    grouped = "" if 1000 <= low and high <= 2999 else ","  # years have no commas
    return f"from {low:{grouped}} to {high:{grouped}}"


def _called_id(name: str, n_values: int) -> float:
    """How many rows of a value a column may have that is called like an identifier; 0 if not."""
    words = words_of(name)
    if not words:
        return 0.0
    if n_values > _MANY and (words[-1] in ("id", "pid", "uid") or words[0] == "unnamed"):
        return _REPEATED
    return 2.0 if is_id(words[-1]) else 0.0


def _kind(
    column: Column,
    kind: str,
    why: str,
    read_as: str | None = None,
    sure: bool = True,
    overrule: str = "",
) -> ColumnType:
    option = parameter_label(overrule, [column.name]) if overrule else ""
    return ColumnType(column.name, kind, why, read_as or _READ_AS[kind], sure, option)


class CodeEvidence(NamedTuple):
    """What speaks for whole numbers being a code, in a few words each; and whether strongly."""

    told: list[str]
    strong: bool


class Others:
    """The other columns of a table as standard scores, on some of its rows; made when needed."""

    def __init__(self, columns: Sequence[Column]) -> None:
        self.columns = columns

    @cached_property
    def scores(self) -> tuple[NDArray[np.intp], Floats]:
        return _scores(self.columns)

    def von_neumann_ratio(self, place: int, odd: Floats) -> float:
        """How much the others' means jump along a column's values, of which some are odd."""
        owners, scores = self.scores
        values = _seen(self.columns[place]).values
        places = np.where(np.isin(values, odd), -1, value_counts(values)[2])
        return von_neumann_ratio(places, scores[:, owners != place])


def evenly(n_all: int, most: int = _SAMPLE) -> NDArray[np.intp]:
    """All places, or as many of them as are looked at, evenly spread."""
    return np.unique(np.linspace(0, n_all - 1, min(n_all, most)).astype(np.intp))


def _seen(column: Column) -> Column:
    """A column of the rows that are looked at."""
    return column.take(evenly(len(column)))


def code_evidence(column: Column, others: Others, place: int) -> CodeEvidence | None:
    """What speaks for whole numbers being a code; None where that is not enough to suspect it."""
    (distinct, counts), n_values = column.present, column.n_values
    if not 3 <= n_values <= (len(column) - column.n_missing) / 2:
        return None
    name = name_says(column.name)
    usual = ordinary(column)
    told = _shape(distinct, counts, usual) if usual.sum() > 2 else []
    points, needed = name + len(told), SUSPECTED if name > 0 else UNNAMED
    if points + ROUGH < needed:  # the slowest to find out cannot change the answer
        return None
    ratio = others.von_neumann_ratio(place, distinct[~usual])
    rough = ratio >= ROUGHNESS
    if points + ROUGH * rough + SMOOTH * (ratio < SMOOTHNESS) < needed:
        return None
    strong = bool(name >= MAYBE_NAMED and told and rough) and n_values <= FEW
    told += ["a name that codes have"] * (name > 0)
    told += ["other columns jump between neighbours"] * rough
    return CodeEvidence(told, strong)


def _shape(distinct: Floats, counts: NDArray[np.int64], usual: NDArray[np.bool_]) -> list[str]:
    """What the values themselves have of codes, in a few words each."""
    found: list[str] = []
    rest = distinct[usual]
    often = usual & (counts >= _ROWS)  # counts of things have gaps where they are rare
    mostly = counts[often].sum() >= _MOST * counts.sum()
    if _has_gaps(distinct[often] if mostly else rest):
        found.append("gaps between them")
    low, high = int(rest[0]), int(rest[-1])
    years = 1800 <= low and high <= 2200
    if len(rest) > 4 and low >= 100 and len(str(low)) == len(str(high)) and not years:
        found.append(f"all of {len(str(low))} digits")
    marks = distinct[~usual]
    if len(marks) and (np.abs(marks) < 100).all():
        found.append(f"{listed([str(int(mark)) for mark in marks])} after a gap")
    return found


def _has_gaps(values: Floats) -> bool:
    if len(values) < 4:
        return False
    step = float(np.gcd.reduce(np.diff(values).astype(np.int64)))
    return bool(len(values) < _FILLED * ((values[-1] - values[0]) / step + 1.0))


def von_neumann_ratio(places: NDArray[np.int32], scores: Floats) -> float:
    """How much means of other columns jump along sorted values: 0 in order, about 1 in none.

    It is the ratio of von Neumann, of squared steps between neighbours to the variance, both less
    what the sampling of rows adds, over all columns that differ between the values at all; scaled
    such that a straight line is 0 however few values there are. NaN if there is nothing to measure.

    Parameters
    ----------
    places : array of shape (n_rows,)
        Each row's place among the sorted values, -1 for none. Values of few rows do not count.
    scores : array of shape (n_rows, n_columns)
        Other columns, each with mean 0 and variance 1.

    Examples
    --------
    >>> import numpy as np
    >>> from leftout.data.profiling.column_types import von_neumann_ratio
    >>> places = np.repeat(np.arange(6), 50)
    >>> noise = np.random.default_rng(0).normal(size=300)
    >>> ordered, jumping = places + noise, np.array([4, 0, 3, 5, 1, 2])[places] + noise
    >>> [round(von_neumann_ratio(places, y[:, None] / y.std()), 1) for y in (ordered, jumping)]
    [-0.0, 1.3]
    """
    tally = np.bincount(places + 1)[1:]
    often = tally >= _ROWS
    n_values = int(often.sum())
    if n_values < 3 or not scores.shape[1]:
        return np.nan
    rows = np.flatnonzero(np.append(often, False)[places])
    rows = rows[np.argsort(places[rows], kind="stable")]
    sizes = tally[often].astype(np.float64)[:, None]
    starts = np.concatenate([[0], np.cumsum(tally[often])[:-1]])
    taken = scores[rows]
    means = np.add.reduceat(taken, starts, axis=0) / sizes
    squares = np.einsum("ij,ij->j", taken, taken) - (sizes * means**2).sum(axis=0)
    within = np.maximum(squares, 0.0) / max(len(rows) - n_values, 1)
    noise = within / sizes
    jumps = (np.diff(means, axis=0) ** 2 - noise[1:] - noise[:-1]).mean(axis=0) / 2.0
    between = means.var(axis=0, ddof=1) - noise.mean(axis=0)
    error = noise.mean(axis=0) * np.sqrt(2.0 / (n_values - 1))
    told = (between > 1e-9) & (between >= _SIGNAL * error)
    if not told.any():
        return np.nan
    ratio = float(jumps[told].sum() / between[told].sum())
    line = 6.0 / (n_values * (n_values + 1))
    return round((ratio - line) / (1.0 - line), 6)  # sums differ in the last digits by row order


def _scores(columns: Sequence[Column]) -> tuple[NDArray[np.intp], Floats]:
    """Some of the columns as standard scores, gaps 0, and which they are."""
    owners, scores = [], []
    for place in evenly(len(columns), _OTHERS):
        column, seen = columns[place], _seen(columns[place])
        if column.categories is not None and column.levels is None:
            if not column.categories:
                continue
            common = column.times(column.values, 1).argmax()
            values = np.where(seen.values < 0, np.nan, seen.values == common)
        else:
            numbers = seen.numbers
            assert numbers is not None
            values = numbers
        known = np.isfinite(values)
        largest = np.abs(values[known]).max(initial=0.0)
        if not 0.0 < largest:
            continue
        values = np.where(known, values / largest, 0.0)  # squares of huge ones overflow
        mean = values[known].mean()
        spread = values[known].std()
        if spread > 1e-9:
            owners.append(place)
            scores.append(np.where(known, (values - mean) / spread, 0.0))
    if not scores:
        return np.empty(0, dtype=np.intp), np.empty((len(_seen(columns[0])), 0))
    return np.array(owners, dtype=np.intp), np.ascontiguousarray(np.column_stack(scores))
