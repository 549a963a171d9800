"""What people know of a table's columns: a kind, a label, labels of values, a note."""

from __future__ import annotations

import io
import json
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from leftout.checks import is_missing
from leftout.data.cleaning import MISSING, clean, unique
from leftout.data.columns import Column, find
from leftout.data.files.fetching import fetch, short
from leftout.data.files.formats import BINARY
from leftout.data.files.limits import TableLimits
from leftout.data.files.text import Dialect, decoded, unpacked
from leftout.data.frames import as_frame
from leftout.data.missing import names_by_label, number_of, same, text_of
from leftout.data.profiling.column_types import COLUMN_KINDS
from leftout.data.reading import read_table
from leftout.errors import InputError
from leftout.running import warn
from leftout.text import listed, quoted, shortened

Record = dict[str, Any]

_FACTS = ("kind", "label", "values", "note")
_FIELDS = {"column", "value", "value_label", *_FACTS}
_ANY_FACT = f"any of {', '.join(_FACTS)}"
# What else people call a kind.
_ALSO = {
    "number": ("numeric", "integer", "ordinal", "int", "float", "continuous"),
    "code": ("codes",),
    "yes/no": ("yes or no", "binary", "boolean", "bool"),
    "category": ("categorical", "nominal", "factor"),
    "date": ("datetime",),
    "identifier": ("id",),
    "free text": ("text",),
}
_FOLD = re.compile(r"[\s_/-]+")
_KIND_OF = {
    _FOLD.sub("", name): kind for kind in COLUMN_KINDS for name in (kind, *_ALSO.get(kind, ()))
}


@dataclass(frozen=True)
class ColumnEntry:
    """What is known of one column; ``values`` are its values' labels."""

    kind: str | None = None
    label: str | None = None
    values: dict[str, str] = field(default_factory=dict)
    note: str | None = None


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
        return cls(_entries(_records(given)))

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
        return Dictionary(entries, names_by_label(known))

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
        if not entry.values and entry.kind not in ("code", "category"):
            return column
        made = column
        if column.categories is not None and column.levels is None:
            made = replace(clean(column), name=column.name)
        if made.categories is None:
            if entry.kind == "number":
                return column
            made = made.as_categories()
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

    def _of(self, name: str) -> ColumnEntry:
        return self.entries.get(self.names.get(name, name), ColumnEntry())


def _labelled(column: Column, values: dict[str, str]) -> list[str]:
    """Each category's label, or its own text where it has none: by its text, then its number."""
    texts = [text.strip() for text in column.categories or ()]
    numbers = column.levels
    if numbers is None:
        numbers = np.array([number_of(text) for text in texts])
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
    distinct = {name: code for code, name in enumerate(dict.fromkeys(names))}
    levels = column.levels
    if levels is not None:  # of several that are one, the number of the one called so before
        first = {name: code for code, name in reversed(list(enumerate(names)))}
        first |= {name: code for code, name in enumerate(column.categories or ()) if name in first}
        levels = levels[[first[name] for name in distinct]]
    made = column.recoded([distinct[name] for name in names], distinct, levels)
    return replace(made, declared=True)


def _entries(records: list[Record]) -> dict[str, ColumnEntry]:
    """What lines of facts say of each column, put together."""
    extra = dict.fromkeys(key for record in records for key in record if key not in _FIELDS)
    if extra:
        warn(
            f"The dictionary's {listed(list(map(quoted, extra)))} "
            f"{'is' if len(extra) == 1 else 'are'} not used; what is: column, "
            f"{', '.join(_FACTS)}."
        )
    # a line for each value may have two labels, of the column and of the value
    value_label = "value_label" if any("value_label" in r for r in records) else "label"
    facts: dict[str, Record] = {}
    values: dict[str, dict[str, str]] = {}
    for record in records:
        if "column" not in record:
            raise InputError(
                f"The dictionary has a line that names no column: {quoted(record)}. Name it, "
                "or remove the line."
            )
        name = text_of(record["column"])
        labels = _values(record.get("values", {}), name)
        if "value" in record and (label := record.pop(value_label, None)) is not None:
            labels[text_of(record["value"])] = str(label).strip()
        said: Record = {key: str(record[key]).strip() for key in ("label", "note") if key in record}
        if "kind" in record:
            said["kind"] = _kind(record["kind"], name)
        _add(facts.setdefault(name, {}), said, f"the column {quoted(name)}")
        _add(values.setdefault(name, {}), labels, f"a value of the column {quoted(name)}")
    return {
        name: ColumnEntry(values=_distinct_labels(values[name], name), **known)
        for name, known in facts.items()
    }


def _add(known: Record, said: Record, about: str) -> None:
    """Add a line's facts to those of others; refuses different ones about the same."""
    for key, fact in said.items():
        if known.setdefault(key, fact) != fact:
            raise InputError(
                f"The dictionary has different facts about {about}: {quoted(known[key])} and "
                f"{quoted(fact)}. Keep one."
            )


def _kind(given: Any, name: str) -> str:
    text = str(given).strip().casefold()
    kind = _KIND_OF.get(_FOLD.sub("", text))
    if kind is None:
        raise InputError(
            f"The dictionary says that {quoted(name)} is of the kind {quoted(given)}; it must be "
            f"one of {', '.join(COLUMN_KINDS)}."
        )
    return kind


def _values(given: Any, name: str) -> dict[str, str]:
    """Values and their labels, from a mapping or from text such as ``1=yes; 0=no``."""
    pairs = [("", "")]
    if isinstance(given, Mapping):
        pairs = [(text_of(value), str(label).strip()) for value, label in given.items()]
    elif isinstance(given, str):
        parts = [part.strip() for part in re.split(r"[;|\r\n]", given) if part.strip()]
        commas = given.split(",")
        if len(parts) == 1 and all(re.search("[=:]", part) for part in commas):
            parts = commas
        mark = "=" if all("=" in part for part in parts) else ":"
        halves = (part.partition(mark) for part in parts)
        pairs = [(value.strip(), label.strip()) for value, _, label in halves]
    labels: dict[str, str] = {}
    for value, label in pairs:
        if not value or not label or labels.setdefault(value, label) != label:
            raise InputError(
                f"The values of {quoted(name)} in the dictionary are {quoted(given)}; a label "
                "for each value is needed, written like 1=yes; 0=no."
            )
    return labels


def _distinct_labels(values: dict[str, str], name: str) -> dict[str, str]:
    """Labels that can be told apart from each other, and from other values."""
    if len(set(values.values())) < len(values):
        raise InputError(
            f"The dictionary gives several values of {quoted(name)} the same label. Give each its "
            "own."
        )
    # what looks like a mark for a missing cell would be read as one
    plain = [f"{label} ({v})" if label in MISSING else label for v, label in values.items()]
    short = unique([shortened(label) for label in plain])
    cut = unique([shortened(value) for value in values])
    numbers = np.array([number_of(value) for value in cut])
    for place, (value, label) in enumerate(zip(cut, short, strict=True)):
        taken = same(numbers, number_of(label)) | (np.array(cut, dtype=object) == label)
        if taken.sum() > taken[place]:
            raise InputError(
                f"The dictionary labels the value {quoted(value)} of {quoted(name)} as "
                f"{quoted(label)}, which is another value that has a label. Name it in words."
            )
    return dict(zip(cut, short, strict=True))


def _records(given: Any) -> list[Record]:
    """Lines with a ``column`` and facts about it, fields in lower case, without blank cells."""
    if isinstance(given, str | os.PathLike):
        given = _in_file(Path(given))
    if isinstance(given, Mapping):
        return [_folded(_under(name, facts)) for name, facts in given.items()]
    frame = as_frame(given)
    if frame is None and not isinstance(given, list | tuple):
        raise InputError(
            f"The dictionary is {type(given).__name__}; a path to CSV or JSON, a mapping by "
            "columns, a list of mappings or a data frame is needed."
        )
    return [_folded(line) for line in (given if frame is None else frame.iter_rows(named=True))]


def _under(name: Any, facts: Any) -> Any:
    """Facts that stand under a column's name; a text alone is its label."""
    facts = {"label": facts} if isinstance(facts, str) else facts
    if not isinstance(facts, Mapping) or facts and not set(map(_lower, facts)) & {*_FACTS}:
        raise InputError(
            f"The dictionary has {quoted(facts)} for the column {quoted(str(name))}; a label, or "
            f"an object with {_ANY_FACT} is needed. Value labels go under 'values'."
        )
    return {**facts, "column": name}


def _lower(name: Any) -> str:
    return str(name).strip().casefold()


def _folded(line: Any) -> Record:
    if not isinstance(line, Mapping) or "column" not in map(_lower, line):
        raise InputError(
            f"The dictionary has the line {quoted(line)}; a field named 'column' that names a "
            f"column of the table, and {_ANY_FACT} are needed."
        )
    return {
        _lower(field): cell
        for field, cell in line.items()
        if not (is_missing(cell) or isinstance(cell, str) and not cell.strip())
    }


def _in_file(path: Path) -> Any:
    """The table or the JSON in a file."""
    import pandas as pd

    name, called = path.name.lower(), f"The dictionary {quoted(path.name)}"
    if name.endswith(BINARY):
        return read_table(path)
    data, _ = fetch(os.fspath(path))
    if name.endswith(".gz"):
        data = unpacked(data, called, TableLimits.here())
    text = decoded(data, called)
    try:
        if name.endswith(".json"):
            return json.loads(text)
        # every cell as text, a mark for missing cells as well: it may be a label
        options = Dialect.of(text, ",", called).options() | {"dtype": str, "na_values": []}
        return pd.read_csv(io.BytesIO(text), **options)
    except InputError:
        raise
    except (ValueError, RecursionError) as error:
        raise InputError(f"{called} cannot be read: {short(error)}. Correct it.") from error
