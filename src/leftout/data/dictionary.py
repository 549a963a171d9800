"""What people know of a table's columns: a kind, a label, labels of values, a note.

Also values that they have declared to stand for nothing, such as 999: their cells are missing.
"""

from __future__ import annotations

import json
import os
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
from leftout.data.cleaning import CODE, MISSING, clean, unique
from leftout.data.columns import LARGEST_EXACT, Column, find
from leftout.data.frames import as_frame
from leftout.data.profiling.column_types import COLUMN_KINDS
from leftout.data.sources import called, fetch, read_table, short
from leftout.errors import InputError
from leftout.text import as_name, counted, listed, quoted, shortened, shortest, unambiguous

Mask = NDArray[np.bool_]
Record = dict[str, Any]

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|[+-]?inf", re.ASCII)
_MIDNIGHT = re.compile(r"[T ]00:00(:00(\.0+)?)?$")
_DAY = 86_400_000_000  # in microseconds
_FACTS = ("kind", "label", "values", "note")
# Kinds of columns whose numbers are codes of categories.
CATEGORICAL = ("code", "category")


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


def number_of(text: str) -> float:
    """The number that a text is, written as computers do; NaN if it is none."""
    return float(text) if _NUMBER.fullmatch(text) else np.nan


def same(values: NDArray[np.float64], number: float) -> Mask:
    """Which values are a number: exactly, or a fraction as single precision keeps it."""
    exact: Mask = values == number
    return exact if number.is_integer() else exact | (values == float(np.float32(number)))


@dataclass(frozen=True)
class Missing:
    """Values that mean nothing, as text: in any raw column, and in those that are named.

    Numbers are compared as numbers and dates by their days, also where a raw column holds them as
    text; all else by its text.

    >>> from leftout.data.columns import column_of
    >>> missing = Missing.of("999,review=-1", ["age", "review"])
    >>> review = column_of([0, 1, 2, -1, 999], "review")
    >>> missing.describe([review])
    '-1 was declared missing: 1 cell of review; 999 was declared missing: 1 cell of review'
    >>> missing.apply(review).missing.tolist()
    [False, False, False, True, True]
    """

    values: dict[str | None, tuple[str, ...]]  # by the column; None: of any

    @classmethod
    def of(cls, given: Any, names: Iterable[Any]) -> Missing:
        """What somebody declares missing in a table with columns of these ``names``.

        A text such as ``"999,review=-1"``, in which a value alone counts in every column; a list of
        such values; or a mapping of columns (None: of every column) to one value or several.
        """
        known = list(names)
        if isinstance(given, Mapping):
            pairs = [(name, value) for name, more in given.items() for value in _listed(more)]
        else:
            parts = given.split(",") if isinstance(given, str) else _listed(given)
            pairs = [_pair(part, known) for part in parts if part is not None and part != ""]
        values: dict[str | None, tuple[str, ...]] = {}
        for name, value in pairs:
            if is_missing(value) or np.ndim(value) or text_of(value) == "":
                raise InputError(
                    f"missing holds {quoted(value)}, which is not a value; give a number, a text "
                    "or a date."
                )
            column = None if name is None else str(find(known, name, "missing"))
            values[column] = tuple(dict.fromkeys((*values.get(column, ()), text_of(value))))
        return cls(values)

    def __bool__(self) -> bool:
        return bool(self.values)

    def apply(self, column: Column) -> Column:
        """The column without the cells that hold such a value; new rows need not hold it."""
        hits = _hits(column, self.of_column(column))
        return column.without(np.logical_or.reduce(hits)) if hits else column

    def cells(self, column: Column) -> list[int]:
        """How many cells hold each of the values of a column; of one before ``apply``."""
        return [int(hit.sum()) for hit in _hits(column, self.of_column(column))]

    def describe(
        self, columns: Sequence[Column], cells_of: Sequence[Sequence[int]] | None = None
    ) -> str:
        """How many cells of which columns hold each value, in words; of columns before ``apply``.

        ``cells_of`` each column is given where the rows are elsewhere. Refuses values that no row
        holds: whoever names them expects them there.
        """
        counts: dict[str, dict[str, int]] = {}
        every = map(self.cells, columns) if cells_of is None else cells_of
        for column, hits in zip(columns, every, strict=True):
            for text, count in zip(self.of_column(column), hits, strict=True):
                if count:
                    counts.setdefault(text, {})[column.name] = count
                elif text in self.values.get(column.name, ()):
                    raise InputError(
                        f"missing names the value {unambiguous(text)} of the column "
                        f"{column.name!r}, but no row holds it. Correct the value, or leave it out."
                    )
        for text in self.values.get(None, ()):
            if text not in counts:
                raise InputError(
                    f"missing names the value {unambiguous(shortened(text))}, but no column holds "
                    "it. Correct the value, or leave it out."
                )
        return "; ".join(
            f"{unambiguous(text)} was declared missing: "
            + listed([f"{counted(n, 'cell')} of {as_name(name)}" for name, n in held.items()])
            for text, held in counts.items()
        )

    def of_column(self, column: Column) -> list[str]:
        """The values that mean nothing in a column, its own first."""
        each = (text for name in (column.name, None) for text in self.values.get(name, ()))
        return list(dict.fromkeys(each))


def _listed(given: Any) -> list[Any]:
    """Values of a list, or just one."""
    if given is None or isinstance(given, str) or not isinstance(given, Iterable):
        return [given]
    return list(given)


def _pair(value: Any, names: list[Any]) -> tuple[Any, Any]:
    """A column and its value, or None and a value of any column; the longest name that fits."""
    if not isinstance(value, str) or "=" not in value:
        return None, value
    text = value.strip()
    fits = [name for name in names if re.match(rf"{re.escape(str(name))}\s*=", text)]
    name = max(fits, key=lambda name: len(str(name)), default=text.partition("=")[0].strip())
    return name, text[len(str(name)) :].lstrip().removeprefix("=").strip()


def _hits(column: Column, texts: Sequence[str]) -> list[Mask]:
    """Which rows are each of some values."""
    hits = [_is_value(column, text) for text in texts]
    if not texts or column.categories is None or column.levels is not None or column.declared:
        return hits
    # A mark such as "none" may hide that the others are numbers, so texts are removed first.
    read = clean(column.without(np.logical_or.reduce(hits)))
    if read.categories is not None and read.levels is None:
        return hits
    return [hit | _is_value(read, text) for hit, text in zip(hits, texts, strict=True)]


def _is_value(column: Column, text: str) -> Mask:
    """Which rows are a value."""
    number = np.nan if CODE.match(text) else number_of(text)
    if column.categories is None:
        if not column.dates:
            return same(column.values, number)
        when = clean(Column("", np.zeros(1, dtype=np.int32), (text,)))
        moment = float(when.values[0]) if when.dates else np.nan
        starts = column.values if moment % _DAY else column.values // _DAY * _DAY
        return np.asarray(starts == moment)
    names = column.categories
    if set(names) <= {"False", "True"}:  # which are not 0 and 1, but in any case
        hit = np.array([name.casefold() == text.casefold() for name in names], dtype=bool)
    else:
        hit = np.array([name.strip() == text for name in names], dtype=bool)
        hit |= False if column.levels is None else same(column.levels, number)
    return np.append(hit, False)[column.values]


@dataclass(frozen=True)
class ColumnEntry:
    """What is known of one column; ``values`` are its values' labels."""

    kind: str = ""
    label: str = ""
    values: dict[str, str] = field(default_factory=dict)
    note: str = ""


class Dictionary(dict[str, ColumnEntry]):
    """What people know of a table's columns; of any other, an entry that says nothing.

    >>> from leftout.data.columns import column_of
    >>> known = Dictionary.of([{"column": "sex", "label": "sex at birth", "values": "1=m; 2=f"}])
    >>> known.apply(column_of([1, 2, 2, 9], "sex")).categories
    ('m', 'f', '9')
    >>> known["sex"].label
    'sex at birth'
    """

    @classmethod
    def of(cls, given: Any) -> Dictionary:
        """A dictionary from what people keep it in: a path, mappings or a data frame.

        It has a line for each column, with ``column``, ``kind``, ``label``, ``values`` and
        ``note``, or some of them; or is a mapping of columns to such facts. Values are a mapping,
        or text such as ``1=yes; 0=no``.
        """
        entries = cls()
        for record in [] if given is None else _records(given):
            name = text_of(record.pop("column"))
            if name in entries:
                raise InputError(
                    f"The dictionary has two lines about the column {quoted(name)}. Keep one."
                )
            entries[name] = _entry(name, record)
        return entries

    def __missing__(self, name: str) -> ColumnEntry:
        return ColumnEntry()

    def checked(self, names: Iterable[Any]) -> Dictionary:
        """The same for a table with such columns; refuses others."""
        known = list(names)
        return Dictionary({str(find(known, name, "The dictionary")): self[name] for name in self})

    @property
    def kinds(self) -> dict[str, str]:
        """The kinds that columns are said to be of."""
        return {name: known.kind for name, known in self.items() if known.kind}

    def apply(self, column: Column, name: str | None = None) -> Column:
        """The column with its values' labels for categories; ``name`` it has in the table.

        Numbers with labels, or that are said to be codes, become categories, unless they are said
        to be numbers; the numbers that they stand for are kept. Raw text is cleaned first, so that
        a column is the same before and after cleaning.
        """
        entry = self[column.name if name is None else name]
        if not entry.values and entry.kind not in CATEGORICAL:
            return column
        made = column
        if column.categories is not None and column.levels is None:
            made = replace(clean(column), name=column.name)
        if made.categories is None:
            if entry.kind == "number":
                return column
            made = made.as_categories()
        return replace(made.renamed(_labelled(made, entry.values)), declared=True)

    def renamed(self, columns: Sequence[Column], names: Sequence[str]) -> list[Column]:
        """Columns of these ``names`` in the table by their labels; not those that share one."""
        labels = [shortened(self[name].label or name) for name in names]
        used = [
            label if labels.count(label) == 1 else column.name
            for column, label in zip(columns, labels, strict=True)
        ]
        pairs = zip(columns, unique(used), strict=True)
        return [replace(column, name=name) for column, name in pairs]


def _labelled(column: Column, values: dict[str, str]) -> list[str]:
    """Each category's label, or its own text where it has none: by its text, then its number."""
    texts = [text.strip() for text in column.categories or ()]
    numbers = column.levels
    if numbers is None:
        numbers = np.array([number_of(text) for text in texts])
    labels = [values.get(text) for text in texts]
    for value, label in values.items():
        for place in np.flatnonzero(same(numbers, number_of(value))):
            labels[place] = labels[place] or label
    return [text if label is None else label for text, label in zip(texts, labels, strict=True)]


def _entry(name: str, record: Record) -> ColumnEntry:
    """What a line says of a column."""
    kind = str(record.get("kind", "")).strip().casefold()
    if kind and kind not in COLUMN_KINDS:
        raise InputError(
            f"The dictionary says that {quoted(name)} is of the kind {quoted(record['kind'])}; it "
            f"must be one of {', '.join(COLUMN_KINDS)}."
        )
    label, note = (str(record.get(key, "")).strip() for key in ("label", "note"))
    return ColumnEntry(kind, label, _values(record.get("values", {}), name), note)


def _values(given: Any, name: str) -> dict[str, str]:
    """Values and their labels, from a mapping or from text such as ``1=yes; 0=no``."""
    pairs = [("", "")]
    if isinstance(given, Mapping):
        pairs = [(text_of(value), str(label).strip()) for value, label in given.items()]
    elif isinstance(given, str):
        parts = (part.partition("=") for part in given.split(";") if part.strip())
        pairs = [(value.strip(), label.strip()) for value, _, label in parts]
    values = [shortened(value) for value, _ in pairs]
    labels = unique([shortened(label) for _, label in pairs])
    distinct = len(set(values)) == len(set(label for _, label in pairs)) == len(pairs)
    if not distinct or not all(value and label for value, label in pairs):
        raise InputError(
            f"The values of {quoted(name)} in the dictionary are {quoted(given)}; a label of its "
            "own for each value is needed, written like 1=yes; 0=no."
        )
    for value, label in zip(values, labels, strict=True):
        if label in MISSING or label in values and label != value:
            raise InputError(
                f"The dictionary labels the value {quoted(value)} of {quoted(name)} as "
                f"{quoted(label)}, which is another value, or stands for a missing cell. Name it "
                "in other words."
            )
    return dict(zip(values, labels, strict=True))


def _records(given: Any) -> list[Record]:
    """Lines with a ``column`` and facts about it, fields in lower case, without blank cells."""
    if isinstance(given, str | os.PathLike):
        given = _in_file(os.fspath(given))
    if isinstance(given, Mapping):
        given = [
            {**facts, "column": name} if _is_known(facts) else {name: facts}
            for name, facts in given.items()
        ]
    frame = as_frame(given)
    lines = given if frame is None else frame.iter_rows(named=True)
    return [_record(line) for line in (lines if isinstance(lines, Iterable) else [lines])]


def _record(line: Any) -> Record:
    record = {
        str(key).strip().casefold(): cell
        for key, cell in (line.items() if isinstance(line, Mapping) else ())
        if not is_missing(cell) and cell != ""
    }
    if "column" not in record:
        raise InputError(
            f"The dictionary has {quoted(line)}; for each column a line is needed that names it "
            f"under 'column', and has any of {', '.join(_FACTS)}."
        )
    return record


def _is_known(facts: Any) -> bool:
    return isinstance(facts, Mapping) and (not facts or not set(_FACTS).isdisjoint(facts))


def _in_file(path: str) -> Any:
    """The table or the JSON in a file."""
    if not path.lower().endswith(".json"):
        return read_table(path)
    data, _ = fetch(path)
    try:
        return json.loads(data)
    except (ValueError, RecursionError) as error:
        raise InputError(
            f"The dictionary {called(path)} cannot be read: {short(error)}. Correct it."
        ) from error
