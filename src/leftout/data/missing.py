"""Values that somebody has declared to stand for nothing, such as 999: their cells are missing."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import date
from difflib import get_close_matches
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leftout.checks import is_missing
from leftout.data.cleaning import CODE, clean, unique
from leftout.data.columns import LARGEST_EXACT, Column, find, of_numbers
from leftout.errors import InputError
from leftout.text import as_name, counted, listed, shortened, shortest, unambiguous

Mask = NDArray[np.bool_]

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|[+-]?inf", re.ASCII)
_ISO = re.compile(r"\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d(\.\d{1,6})?)?)?", re.ASCII)
_MIDNIGHT = re.compile(r"[T ]00:00(:00(\.0+)?)?$")
_DAY = 86_400_000_000  # in microseconds
# What single precision keeps of a number, relative to its size.
_SINGLE = 1e-7
# Of the values that are like one that a column does not hold, so many are named.
_SHOWN = 3


@dataclass(frozen=True)
class ValueLiteral:
    """One value: its text, and the number or the date that this may stand for.

    Examples
    --------
    >>> ValueLiteral.of(999.0)
    ValueLiteral(text='999', number=999.0, when=None)
    """

    text: str
    number: float | None
    when: tuple[float, float] | None  # a date's first microsecond, and the first after it

    @classmethod
    def of(cls, value: Any) -> ValueLiteral:
        text = text_of(value)
        number = None if CODE.match(text) else number_of(text)
        return cls(text, number, _span(text) if number is None else None)

    def among(self, column: Column) -> Mask:
        """Which rows of numbers or dates it is, or which categories.

        Categories that stand for numbers are compared as such, but yes and no are not 1 and 0.
        """
        if column.categories is None and column.dates:
            nowhere = np.zeros(len(column), dtype=bool)
            low, high = self.when or (0.0, 0.0)
            return nowhere if self.when is None else (column.values >= low) & (column.values < high)
        if column.categories is None:
            return same(column.values, self.number)
        hit = np.array([self.is_text(name.strip()) for name in column.categories], dtype=bool)
        if column.levels is None or truths(column):
            return hit
        return hit | same(column.levels, self.number)

    def is_text(self, text: str) -> bool:
        """Whether a text is this value's own; true and false may be in any case."""
        if text in ("False", "True"):
            return self.text.casefold() == text.casefold()
        return text == self.text


def text_of(value: Any) -> str:
    """A value as text: whole numbers without a point, dates without a midnight."""
    if isinstance(value, np.generic) and not isinstance(value, np.datetime64):
        value = value.item()
    if isinstance(value, str):
        return value.strip()
    if isinstance(value, date | np.datetime64):
        return _MIDNIGHT.sub("", str(value))
    if isinstance(value, Real) and not isinstance(value, bool):
        with suppress(OverflowError):
            return shortest(float(value)) if abs(float(value)) < LARGEST_EXACT else str(value)
    return str(value).strip()


def number_of(text: str) -> float | None:
    """The number that a text is, written as computers do; None if it is none."""
    return float(text) if _NUMBER.fullmatch(text) else None


def same(values: NDArray[np.float64], number: float | None) -> Mask:
    """Which values are a number: a whole one exactly, a fraction as single precision keeps it."""
    if number is None:
        return np.zeros(len(values), dtype=bool)
    exact: Mask = values == number
    if number.is_integer() or np.isinf(number):  # neighbours of a large code are other codes
        return exact
    return exact | (np.abs(values - number) <= _SINGLE * abs(number))


def truths(column: Column) -> bool:
    """Whether a column holds nothing but true and false."""
    return set(column.categories or ()) <= {"False", "True"}


def one_or_more(values: Any) -> list[Any]:
    """Values of a list, or just one; none of them may be missing."""
    several = isinstance(values, Iterable) and not isinstance(values, str | bytes)
    listed = (
        list(values) if several and np.ndim(values) != 0 or isinstance(values, set) else [values]
    )
    for value in listed:
        if is_missing(value) or text_of(value) == "" or not np.isscalar(value) and np.ndim(value):
            raise InputError(
                f"missing holds {shortened(repr(value))}, which is not a value; give a number, a "
                "text or a date."
            )
    return listed


def names_by_label(names: Iterable[Any]) -> dict[str, str]:
    """A table's names by what cleaning makes of them, which cuts long ones, and by themselves."""
    texts = [str(name) for name in names]
    short = unique([shortened(text) for text in texts])
    return dict(zip(short, texts, strict=True)) | {text: text for text in texts}


def _span(text: str) -> tuple[float, float] | None:
    """A date's first microsecond and the first after it; None if a text is no date."""
    first: float | None = None
    if _ISO.fullmatch(text):
        with suppress(ValueError):
            first = float(np.datetime64(text, "us").astype(np.int64))
    if first is None:
        read = clean(Column("", np.zeros(1, dtype=np.int32), (text,)))
        if not read.dates:
            return None
        first = float(read.values[0])
    whole = ":" not in text or _MIDNIGHT.search(text) is not None
    return first, first + (_DAY if whole else 1)


@dataclass(frozen=True)
class Missing:
    """Values that mean nothing: in any column, and in those that are named.

    Examples
    --------
    >>> from leftout.data.columns import column_of
    >>> missing = Missing.of("999,review=-1", ["age", "review"])
    >>> review = column_of([0, 1, 2, -1, 999], "review")
    >>> missing.told([review])
    '-1 was declared missing: 1 cell of review; 999 was declared missing: 1 cell of review'
    >>> missing.apply(review).missing.tolist()
    [False, False, False, True, True]
    """

    everywhere: tuple[ValueLiteral, ...] = ()
    named: dict[str, tuple[ValueLiteral, ...]] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, given: Any, names: Iterable[Any]) -> Missing:
        """What somebody declares missing in a table with such columns.

        Parameters
        ----------
        given : None, value, str, list or mapping
            A text such as ``"999,review=-1"``: a value alone counts in every column. A list has one
            of them in each place. A mapping has columns and one value or several; None for every
            column.
        names : list
            The table's columns.
        """
        known = list(names)
        pairs: list[tuple[Any, Any]] = []
        if isinstance(given, Mapping):
            pairs = [(name, value) for name, more in given.items() for value in one_or_more(more)]
        elif isinstance(given, str):
            pairs = _parsed(given, known)
        elif given is not None:
            pairs = [_pair(value, known) for value in one_or_more(given)]
        everywhere: dict[ValueLiteral, None] = {}
        named: dict[str, dict[ValueLiteral, None]] = {}
        for name, value in pairs:
            each = everywhere
            if name is not None:
                each = named.setdefault(str(find(known, name, "missing")), {})
            each[ValueLiteral.of(value)] = None
        return cls(
            tuple(everywhere), {name: tuple(each) for name, each in named.items()},
            names_by_label(known),
        )  # fmt: skip

    def __bool__(self) -> bool:
        return bool(self.everywhere or self.named)

    def apply(self, column: Column) -> Column:
        """The column without the cells that hold such a value.

        Numbers are compared as numbers and dates as dates, also where a raw column holds them as
        text; categories by their text. Nothing is refused: new rows need not hold the value.
        """
        values = self.of_column(column)
        return _without_values(column, values)[0] if values else column

    def cells(self, column: Column) -> list[int]:
        """How many cells hold each of the values of a column; of one before ``apply``."""
        values = self.of_column(column)
        return _without_values(column, values)[1] if values else []

    def counts(
        self, columns: Sequence[Column], cells_of: Sequence[Sequence[int]] | None = None
    ) -> dict[str, dict[str, int]]:
        """Cells that hold each value, by the columns that do; of columns before ``apply``.

        ``cells_of`` each column is given where the rows are elsewhere. Refuses values that no row
        holds: whoever names them expects them there.
        """
        cells: dict[str, dict[str, int]] = {}
        every = map(self.cells, columns) if cells_of is None else cells_of
        for column, hits in zip(columns, every, strict=True):
            values, own = self.of_column(column), self._own(column)
            for value, count in zip(values, hits, strict=True):
                if count:
                    cells.setdefault(value.text, {})[column.name] = count
                elif value in own:
                    raise InputError(
                        f"missing names the value {unambiguous(value.text)} of the column "
                        f"{column.name!r}, but no row holds it; {_nearest(column, value)}. Correct "
                        "the value, or leave it out."
                    )
        for value in self.everywhere:
            if value.text not in cells:
                raise InputError(
                    f"missing names the value {unambiguous(shortened(value.text))}, but no "
                    "column holds it. Correct the value, or leave it out."
                )
        return cells

    def told(
        self, columns: Sequence[Column], cells_of: Sequence[Sequence[int]] | None = None
    ) -> str:
        """How many cells of which columns, as :meth:`counts`."""
        return "; ".join(
            f"{unambiguous(value)} was declared missing: "
            + listed([f"{counted(n, 'cell')} of {as_name(name)}" for name, n in held.items()])
            for value, held in self.counts(columns, cells_of).items()
        )

    def of_column(self, column: Column) -> tuple[ValueLiteral, ...]:
        """The values that mean nothing in a column, its own first."""
        own = self._own(column)
        return (*own, *(value for value in self.everywhere if value not in own))

    def _own(self, column: Column) -> tuple[ValueLiteral, ...]:
        return self.named.get(self.names.get(column.name, column.name), ())


def _parsed(text: str, names: list[Any]) -> list[tuple[Any, Any]]:
    """Columns and values in a list with commas; a column's name may have commas itself."""
    pairs = []
    rest = text.strip()
    while rest:
        name = _named(rest, names)
        begin = 0 if name is None else len(str(name))
        value, _, after = rest[begin:].partition(",")
        part, rest = (rest[:begin] + value).strip(), after.strip()
        if part:
            pairs.append(_pair(part, names))
    return pairs


def _pair(value: Any, names: list[Any]) -> tuple[Any, Any]:
    """A column and its value, or None and a value of any column."""
    if not isinstance(value, str) or "=" not in value:
        return None, value
    name = _named(value, names)
    if name is None:
        name = value.partition("=")[0].strip()
        find(names, name, "missing")
    text = value[len(str(name)) :].lstrip().removeprefix("=").strip()
    if not text:
        raise InputError(
            f"missing names the column {shortened(str(name))!r} without a value; write it as "
            "COLUMN=VALUE."
        )
    return name, text


def _named(text: str, names: list[Any]) -> Any:
    """The column that a text begins with; names may have equals signs: the longest one counts."""
    fits = [
        name for name in names
        if text.startswith(str(name)) and text[len(str(name)) :].lstrip().startswith("=")
    ]  # fmt: skip
    return max(fits, key=lambda name: len(str(name)), default=None)


def _without_values(column: Column, values: Sequence[ValueLiteral]) -> tuple[Column, list[int]]:
    """The column without the cells of some values, and how many cells held each."""
    if column.categories is not None and column.levels is None:
        return _without_texts(column, values)
    hits = [value.among(column) for value in values]
    return _removed(column, np.logical_or.reduce(hits)), [_cells(column, hit) for hit in hits]


def _without_texts(column: Column, values: Sequence[ValueLiteral]) -> tuple[Column, list[int]]:
    """The same for text, by the texts, and by the numbers or dates that all of them may be.

    A mark such as "none" may hide that the others are numbers: so it is removed, and they are read
    again. Text stays text, to be read like the rows that a plan was made of, unless it would be
    read in another way without the cells that were removed.
    """
    counts = [0] * len(values)
    while column.categories is not None and column.levels is None:
        read = column if column.declared else replace(clean(column), name=column.name)
        valued = read.categories is None or read.levels is not None
        hits = [
            value.among(column)
            | (_read_as(column, read, value) if valued else _plain(column, value))
            for value in values
        ]
        gone = np.logical_or.reduce(hits)
        if not gone.any():
            break
        counts = [n + _cells(column, hit) for n, hit in zip(counts, hits, strict=True)]
        left = _removed(column, gone)
        if valued and clean(left).written not in (read.written, None):
            rows = _by_row(column, gone)
            left = _removed(read, rows if read.categories is None else _by_category(read, rows))
        column = left
    return column, counts


def _read_as(column: Column, read: Column, value: ValueLiteral) -> Mask:
    """Categories of text that are a value when read as numbers or dates."""
    return _by_category(column, _by_row(read, value.among(read)))


def _plain(column: Column, value: ValueLiteral) -> Mask:
    """Categories that are the same number, if they are no codes (which 007 is)."""
    texts = [name.strip() for name in column.categories or ()]
    numbers = [None if CODE.match(text) else number_of(text) for text in texts]
    return same(np.array(numbers, dtype=float), value.number)


def _by_row(column: Column, hit: Mask) -> Mask:
    return hit if column.categories is None else np.append(hit, False)[column.values]


def _by_category(column: Column, rows: Mask) -> Mask:
    hit = np.zeros(len(column.categories or ()), dtype=bool)
    hit[column.values[rows]] = True
    return hit


def _cells(column: Column, hit: Mask) -> int:
    return int(_by_row(column, hit).sum())


def _removed(column: Column, gone: Mask) -> Column:
    """The column without some of its categories; of numbers or dates, of its rows' values."""
    if not gone.any():
        return column
    if column.categories is None:
        values = np.where(gone, np.nan, column.values)
        if column.dates:
            return replace(column, values=values)
        made = of_numbers(column.name, values)
        return replace(made, written=column.written, strays=column.strays)
    names = [name for name, is_gone in zip(column.categories, gone, strict=True) if not is_gone]
    levels = None if column.levels is None else column.levels[~gone]
    return column.recoded(np.where(gone, -1, np.cumsum(~gone) - 1), names, levels)


def _nearest(column: Column, value: ValueLiteral) -> str:
    """Values of a column that are most like one that it does not hold."""
    texts, numbers, aim = list(column.categories or ()), column.levels, value.number
    if column.categories is None:
        numbers = column.tabulated[0]
        texts = [column.show(number) for number in numbers]
        aim = value.when[0] if column.dates and value.when else aim
    if not texts:
        return "it is empty"
    if numbers is not None and aim is not None:
        order = np.argsort(np.abs(numbers - aim), kind="stable")[:_SHOWN]
        near = [texts[place] for place in np.sort(order)]
    else:
        near = get_close_matches(value.text, texts, n=_SHOWN, cutoff=0.6) or texts[:_SHOWN]
    shown = [unambiguous(shortened(text)) for text in near]
    return f"it holds {listed(shown + ['others'] * (len(texts) > len(near)))}"
