"""What every column is: a number, a code, a category, an identifier, nothing at all."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leftout.data.columns import LARGEST_EXACT, Column, Floats
from leftout.data.profiling.codes import StandardScores, code_evidence, says, words_of
from leftout.errors import parameter_label
from leftout.files import Serializable
from leftout.text import counted

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
# Categories that are numbers.
_DIGITS = re.compile(r"[+-]?\d+(\.\d*)?")
# Digits that are still text begin with a zero, or are too many to count with.
_TEXT_CODE = re.compile(r"[+-]?\d+|(?=\S*\d)(?=\S*[A-Za-z])[A-Za-z0-9.\-/_]{2,16}")


@dataclass(frozen=True)
class ColumnFacts(Serializable):
    """What a column is taken for, and what became of it.

    Attributes
    ----------
    name : str
        In the table.
    label : str
        What the report calls it.
    role : {"searched", "left out", "target", "prediction", "sensitive", "weight", "dropped"}
    kind : str
        One of ``COLUMN_KINDS``.
    why : str
        What says that it is of this kind, in a few words, with numbers.
    sure : bool
        False where it is a suspicion, and people should look.
    overrule : str
        The option that has it read otherwise; empty where there is none.
    how : str
        What became of it, in a few words; empty where that follows from its part or kind.
    features : tuple of str
        What it is called where it is numbers; empty if it was left out.
    missing : int or str
        Rows without a value; in words where few would be told of.
    note : str
        What its dictionary says besides.
    strays : tuple
        Texts among numbers or dates, which count as missing, each with its number of cells.
    read_as : {"number", "category", "date", "nothing"}
    becomes : NumericEncoding, CategoricalEncoding or None
        What makes the numbers; None where it is left out, or not encoded yet.
    """

    hidden = ("read_as", "becomes")

    name: str
    label: str
    role: str
    kind: str
    why: str
    sure: bool
    overrule: str
    how: str = ""
    features: tuple[str, ...] = ()
    missing: int | str = 0
    note: str = ""
    strays: tuple[tuple[str, int], ...] = ()
    read_as: str = "nothing"
    becomes: Any = field(default=None, repr=False, compare=False)


def infer_column_types(
    columns: Sequence[Column], declared: Mapping[str, str] | None = None
) -> list[ColumnFacts]:
    """What each of a table's cleaned columns is: whether numbers are codes shows in the others.

    Kinds that people have ``declared``, by the columns' names, hold whatever a column looks like,
    unless it says nothing at all.

    >>> import pandas as pd
    >>> from leftout.data.columns import columns_of
    >>> table = pd.DataFrame({"id": [4, 9, 2], "sex": [1, 2, 1], "age": [31, 40, 31]})
    >>> types = infer_column_types(columns_of(table))
    >>> [(found.kind, found.why) for found in types]  # doctest: +ELLIPSIS
    [('identifier', 'a different whole number in every row; a name ...'), ('yes/no', '1 and 2'), ...
    """
    scores, said = StandardScores.of(columns), declared or {}
    return [_column_type(column, scores, said.get(column.name)) for column in columns]


def _column_type(column: Column, scores: StandardScores, said: str | None) -> ColumnFacts:
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
        why = f"{counted(column.n_values, 'value')}, declared"
        if column.levels is not None or all(map(_DIGITS.fullmatch, column.categories or ())):
            return _kind(column, "code", why, overrule="numeric")
        return _kind(column, "category", why, overrule="drop")
    if column.dates:
        why = f"from {column.show(present[0])} to {column.show(present[-1])}"
        return _kind(column, "date", why, overrule="drop")
    return _of_text(column, counts) if column.words else _of_numbers(column, scores)


def _of_text(column: Column, counts: NDArray[np.int64]) -> ColumnFacts:
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


def _of_numbers(column: Column, scores: StandardScores) -> ColumnFacts:
    """Numbers of more than two values: names of rows, codes, or quantities."""
    distinct, n_values = column.present[0], column.n_values
    if not _whole(distinct):
        with np.errstate(over="ignore"):
            spread = float(distinct[-1] - distinct[0])
        low, high = (column.describe(float(end), spread) for end in distinct[[0, -1]])
        why = f"{n_values:,} values from {low} to {high}"
        return _kind(column, "number", why, overrule="categorical")
    counter = row_counter(column, distinct[0], distinct[-1], len(column))
    if counter is not None:
        return counter
    n_rows = len(column) - column.n_missing
    different = n_values == len(column)
    if n_values * _called_id(column.name, n_values) > n_rows:
        why = f"{n_values:,} whole numbers in {counted(n_rows, 'row')}"
        why = "a different whole number in every row" if different else why
        why += "; a name that identifiers have"
        return _kind(column, "identifier", why, sure=different, overrule="numeric")
    why = f"{n_values:,} whole numbers, {_range(distinct[0], distinct[-1])}"
    reasons, strong = code_evidence(column, scores)
    if not reasons:
        return _kind(column, "number", why, overrule="categorical")
    why = "; ".join([why, *reasons])
    if strong:
        return _kind(column, "code", why, sure=False, overrule="numeric")
    return _kind(column, "code", why, "number", sure=False, overrule="categorical")


def row_counter(column: Column, low: float, high: float, n_rows: int) -> ColumnFacts | None:
    """The identifier that a number is if it counts all rows of a table; None if it does not.

    The column may be a sample of them, ``low`` and ``high`` are of all.
    """
    distinct = column.present[0]
    if high - low != n_rows - 1 or len(distinct) < len(column) or not _whole(distinct):
        return None
    if _CALENDAR.intersection(words_of(column.name)):
        return None
    return _kind(column, "identifier", f"counts the rows, {_range(low, high)}", overrule="numeric")


def _whole(distinct: Floats) -> bool:
    size = max(-distinct[0], distinct[-1])
    return bool(size < LARGEST_EXACT and (distinct == np.floor(distinct)).all())


def _range(low: float, high: float) -> str:
    grouped = "" if 1000 <= low and high <= 2999 else ","  # years have no commas
    return f"from {int(low):{grouped}} to {int(high):{grouped}}"


def _called_id(name: str, n_values: int) -> float:
    """How many rows of a value a column may have that is called like an identifier; 0 if not."""
    words = words_of(name)
    if not words:
        return 0.0
    if n_values > _MANY and (words[-1] in ("id", "pid", "uid") or words[0] == "unnamed"):
        return _REPEATED
    return 2.0 if says("identifiers", words[-1]) or says("numbered", words[-1]) else 0.0


def _kind(
    column: Column, kind: str, why: str, read_as: str = "", sure: bool = True, overrule: str = ""
) -> ColumnFacts:
    option = parameter_label(overrule, [column.name]) if overrule else ""
    return ColumnFacts(
        column.name, column.name, "searched", kind, why, sure, option, missing=column.n_missing,
        read_as=read_as or _READ_AS[kind],
    )  # fmt: skip
