"""What people know of a table's columns: a kind, a label, labels of values, a note."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from leftout.data.cleaning import clean, unique
from leftout.data.columns import Column, find, of_numbers
from leftout.data.declarations.entries import FACTS, ColumnEntry, entries_of, records_of
from leftout.data.declarations.values import number_of, same, told_apart
from leftout.text import shortened


@dataclass(frozen=True)
class Dictionary:
    """What people know of a table's columns.

    Examples
    --------
    >>> from leftout.data.columns import column_of
    >>> known = Dictionary.of([{"column": "sex", "label": "sex at birth", "values": "1=m; 2=f"}])
    >>> known.apply(column_of([1, 2, 2, 9], "sex")).categories
    ('m', 'f', '9')
    >>> known.label("sex"), known.label("age")
    ('sex at birth', 'age')
    """

    entries: dict[str, ColumnEntry] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def of(cls, given: Any) -> Dictionary:
        """A dictionary from what people keep it in.

        Parameters
        ----------
        given : None, path, mapping, list of mappings or data frame
            With the fields ``column``, ``kind``, ``label``, ``values`` and ``note``, or some of
            them. Values are a mapping, or text such as ``1=yes; 0=no``. In another shape there is
            a line for each value, with ``column``, ``value`` and ``value_label`` (or ``label``).
        """
        if given is None or isinstance(given, Dictionary):
            return given or cls()
        return cls(entries_of(records_of(given)))

    def __bool__(self) -> bool:
        return bool(self.entries)

    def checked(self, names: Iterable[Any]) -> Dictionary:
        """The same for a table with such columns; refuses others."""
        known = list(names)
        entries: dict[str, ColumnEntry] = {}
        for name, entry in self.entries.items():
            alike = [each for each in known if str(each).strip() == name]
            exact = name in map(str, alike)
            column = alike[0] if alike and not exact else find(known, name, "The dictionary")
            entries[str(column)] = entry
        return Dictionary(entries, told_apart(known))

    @property
    def kinds(self) -> dict[str, str]:
        """The kinds that columns are said to be of."""
        return {name: known.kind for name, known in self.entries.items() if known.kind}

    @property
    def categorical(self) -> list[str]:
        """Columns whose numbers are said to be codes of categories."""
        return [name for name, kind in self.kinds.items() if kind in ("code", "category")]

    def label(self, name: str) -> str:
        """What to call a column; its name where nobody says."""
        return self._of(name).label or name

    def note(self, name: str) -> str:
        """What else is known of a column."""
        return self._of(name).note or ""

    def values(self, name: str) -> dict[str, str]:
        """The labels of a column's values."""
        return dict(self._of(name).values)

    def apply(self, column: Column) -> Column:
        """The column with its values' labels for categories.

        Numbers with labels, or that are said to be codes, become categories, unless they are said
        to be numbers; the numbers that they stand for are kept. Raw text is cleaned first, so that
        a column is the same before and after cleaning.
        """
        entry = self._of(column.name)
        codes = entry.kind in ("code", "category")
        if not entry.values and not codes:
            return column
        made = column
        if column.categories is not None and column.levels is None:
            made = replace(clean(column), name=column.name)
        if made.categories is None:
            if entry.kind == "number":
                return column
            made = _as_categories(made)
        names = _labelled(made, entry.values) if entry.values else list(made.categories or ())
        return _renamed(made, names)

    def renamed(self, columns: Sequence[Column]) -> list[Column]:
        """Columns called by their labels; those that share one keep their names beside it."""
        labels = [shortened(self.label(column.name)) for column in columns]
        shared = {label for label in labels if labels.count(label) > 1}
        names = [
            f"{label} ({column.name})" if label in shared and label != column.name else label
            for column, label in zip(columns, labels, strict=True)
        ]
        pairs = zip(columns, unique(names), strict=True)
        return [replace(column, name=name) for column, name in pairs]

    def to_dict(self) -> dict[str, dict[str, Any]]:
        """Plain data, of which ``of`` makes the same dictionary."""
        return {
            name: {key: getattr(known, key) for key in FACTS if getattr(known, key)}
            for name, known in self.entries.items()
        }

    def _of(self, name: str) -> ColumnEntry:
        return self.entries.get(self.names.get(name, name), _NOTHING)


_NOTHING = ColumnEntry()


def _as_categories(column: Column) -> Column:
    """Numbers or dates as categories."""
    if not column.dates:
        made = of_numbers(column.name, column.values, as_category=True, tally=column.tally)
        return replace(made, written=column.written, strays=column.strays)
    distinct, _, codes = column.tabulated
    names = tuple(column.show(when) for when in distinct)
    return Column(column.name, codes, names, tally=column.tally)


def _labelled(column: Column, values: dict[str, str]) -> list[str]:
    """Each category's label, or its own text where it has none: by its text, then its number."""
    texts = [text.strip() for text in column.categories or ()]
    numbers = column.levels
    if numbers is None:
        plain = [number_of(text) for text in texts]
        numbers = np.array([np.nan if number is None else number for number in plain])
    folded = {value.casefold(): label for value, label in values.items()}
    truths = ("False", "True")  # in any case: spreadsheets shout them
    labels = [folded.get(t.casefold()) if t in truths else values.get(t) for t in texts]
    done = set(values.values())  # a label stays what it is
    labels = [
        t if label is None and t in done else label for t, label in zip(texts, labels, strict=True)
    ]
    for value, label in values.items():
        for place in np.flatnonzero(same(numbers, number_of(value))):
            labels[place] = labels[place] or label
    return [text if label is None else label for text, label in zip(texts, labels, strict=True)]


def _renamed(column: Column, names: list[str]) -> Column:
    """The column with other names of its categories; those that are called the same are one."""
    distinct = list(dict.fromkeys(names))
    place = {name: code for code, name in enumerate(distinct)}
    codes = np.array([*(place[name] for name in names), -1], dtype=np.int32)
    levels = column.levels
    if levels is not None:  # of several that are one, the number of the one called so before
        first = {name: code for code, name in reversed(list(enumerate(names)))}
        first |= {name: code for code, name in enumerate(column.categories or ()) if name in first}
        levels = levels[[first[name] for name in distinct]]
    return replace(
        column,
        values=codes[column.values],
        categories=tuple(distinct),
        levels=levels,
        declared=True,
    )
