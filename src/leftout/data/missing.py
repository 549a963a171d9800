"""Values that somebody has declared to stand for nothing, such as 999: their cells are missing."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import date
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leftout.checks import is_missing
from leftout.data.cleaning import CODE, clean, unique
from leftout.data.columns import LARGEST_EXACT, Column, find, of_numbers
from leftout.errors import InputError
from leftout.text import as_name, counted, listed, quoted, shortened, shortest, unambiguous

Mask = NDArray[np.bool_]

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|[+-]?inf", re.ASCII)
_MIDNIGHT = re.compile(r"[T ]00:00(:00(\.0+)?)?$")
_DAY = 86_400_000_000  # in microseconds
# What single precision keeps of a number, relative to its size.
_SINGLE = 1e-7
# Of the values that a column holds instead of a declared one, so many are named.
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
            low, high = self.when or (np.inf, np.inf)
            return (column.values >= low) & (column.values < high)
        if column.categories is None:
            return same(column.values, self.number)
        hit = np.array([self.is_text(name.strip()) for name in column.categories], dtype=bool)
        is_truth = set(column.categories) <= {"False", "True"}
        if column.levels is None or is_truth:
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


def names_by_label(names: Iterable[Any]) -> dict[str, str]:
    """A table's names by what cleaning makes of them, which cuts long ones, and by themselves."""
    texts = [str(name) for name in names]
    short = unique([shortened(text) for text in texts])
    return dict(zip(short, texts, strict=True)) | {text: text for text in texts}


def _span(text: str) -> tuple[float, float] | None:
    """A date's first microsecond and the first after it; None if a text is no date."""
    read = clean(Column("", np.zeros(1, dtype=np.int32), (text,)))
    if not read.dates:
        return None
    first = float(read.values[0])
    whole_day = ":" not in text or _MIDNIGHT.search(text) is not None
    return first, first + (_DAY if whole_day else 1)


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
        if isinstance(given, Mapping):
            pairs = [(name, value) for name, more in given.items() for value in _listed(more)]
        else:
            parts = given.split(",") if isinstance(given, str) else _listed(given)
            pairs = [_pair(part, known) for part in parts if not _is_blank(part)]
        everywhere: dict[ValueLiteral, None] = {}
        named: dict[str, dict[ValueLiteral, None]] = {}
        for name, value in pairs:
            if is_missing(value) or np.ndim(value) or text_of(value) == "":
                raise InputError(
                    f"missing holds {quoted(value)}, which is not a value; give a number, a text "
                    "or a date."
                )
            each = everywhere
            if name is not None:
                each = named.setdefault(str(find(known, name, "missing")), {})
            each[ValueLiteral.of(value)] = None
        by_name = {name: tuple(each) for name, each in named.items()}
        return cls(tuple(everywhere), by_name, names_by_label(known))

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
            own = self._own(column)
            for value, count in zip(self.of_column(column), hits, strict=True):
                if count:
                    cells.setdefault(value.text, {})[column.name] = count
                elif value in own:
                    raise InputError(
                        f"missing names the value {unambiguous(value.text)} of the column "
                        f"{column.name!r}, but no row holds it; {_held(column)}. Correct the "
                        "value, or leave it out."
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


def _listed(given: Any) -> list[Any]:
    """Values of a list, or just one."""
    if given is None or isinstance(given, str) or not isinstance(given, Iterable):
        return [given]
    return list(given)


def _is_blank(part: Any) -> bool:
    return part is None or isinstance(part, str) and not part.strip()


def _pair(value: Any, names: list[Any]) -> tuple[Any, Any]:
    """A column and its value, or None and a value of any column; the longest name that fits."""
    if not isinstance(value, str) or "=" not in value:
        return None, value
    text = value.strip()
    fits = [name for name in names if re.match(rf"{re.escape(str(name))}\s*=", text)]
    name = max(fits, key=lambda name: len(str(name)), default=text.partition("=")[0].strip())
    return name, text[len(str(name)) :].lstrip().removeprefix("=").strip()


def _without_values(column: Column, values: Sequence[ValueLiteral]) -> tuple[Column, list[int]]:
    """The column without the cells of some values, and how many cells held each."""
    if column.categories is None or column.levels is not None:
        hits = [value.among(column) for value in values]
        return _removed(column, np.logical_or.reduce(hits)), _cells(column, hits)
    # A mark such as "none" may hide that the others are numbers, so texts are removed first.
    hits = [value.among(column) for value in values]
    left = _removed(column, np.logical_or.reduce(hits))
    read = left if column.declared else replace(clean(left), name=column.name)
    if read.categories is None or read.levels is not None:
        numbers = [_by_row(read, value.among(read)) for value in values]
    else:
        numbers = [_by_row(left, _plain_numbers(left, value)) for value in values]
    counts = np.add(_cells(column, hits), [int(rows.sum()) for rows in numbers]).tolist()
    gone = np.logical_or.reduce(numbers)
    # Text stays text, to be read like the rows that a schema was made of, unless it would be read
    # in another way without the cells that were removed.
    rest = _removed(left, _by_category(left, gone))
    if gone.any() and read.written is not None and clean(rest).written not in (read.written, None):
        rest = _removed(read, gone if read.categories is None else _by_category(read, gone))
    return rest, counts


def _plain_numbers(column: Column, value: ValueLiteral) -> Mask:
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


def _cells(column: Column, hits: Sequence[Mask]) -> list[int]:
    return [int(_by_row(column, hit).sum()) for hit in hits]


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


def _held(column: Column) -> str:
    """The first values of a column, in words."""
    present = column.present[0]
    if not len(present):
        return "it is empty"
    texts = [shortened(column.show(value)) for value in present[:_SHOWN]]
    return f"it holds {listed(texts + ['others'] * (len(present) > _SHOWN))}"
