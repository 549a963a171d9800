"""Facts about columns, checked: a kind that is known, values whose labels can be told apart."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any

import numpy as np

from leftout.checks import Refusal
from leftout.running import note
from leftout.tables.cleaning import MISSING, unique
from leftout.tables.judging.kinds import KINDS
from leftout.tables.said.records import FACTS, Record
from leftout.tables.said.values import number_of, same, text_of
from leftout.wording import listed, shortened, shown

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
_KIND_OF = {_FOLD.sub("", name): kind for kind in KINDS for name in (kind, *_ALSO.get(kind, ()))}
_FIELDS = {"column", "value", "value_label", *FACTS}


@dataclass(frozen=True)
class Entry:
    """What is known of one column; ``values`` are its values' labels."""

    kind: str | None = None
    label: str | None = None
    values: dict[str, str] = field(default_factory=dict)
    note: str | None = None


def entries_of(records: list[Record]) -> dict[str, Entry]:
    """What lines of facts say of each column, put together.

    Examples
    --------
    >>> entries_of([{"column": "sex", "value": 1, "label": "m"}, {"column": "sex", "kind": "Code"}])
    {'sex': Entry(kind='code', label=None, values={'1': 'm'}, note=None)}
    """
    extra = dict.fromkeys(key for record in records for key in record if key not in _FIELDS)
    if extra:
        note(
            f"The dictionary's {listed([_quoted(key) for key in extra])} "
            f"{'is' if len(extra) == 1 else 'are'} not used; what is: column, "
            f"{', '.join(FACTS)}."
        )
    # a line for each value may have two labels, of the column and of the value
    labelled = "value_label" if any("value_label" in r for r in records) else "label"
    facts: dict[str, Record] = {}
    for record in records:
        if "column" not in record:
            raise Refusal(
                f"The dictionary has a line that names no column: {_quoted(record)}. Name it, "
                "or remove the line."
            )
        name = text_of(record["column"])
        _add(facts.setdefault(name, {"values": {}}), name, _facts(record, name, labelled))
    for name, known in facts.items():
        known["values"] = _checked_values(known["values"], name)
    return {name: Entry(**known) for name, known in facts.items()}


def _facts(record: Record, name: str, labelled: str) -> Record:
    """A line's facts about its column; ``labelled`` is the field with a single value's label."""
    record = dict(record)
    values = _values(record.get("values", {}), name)
    if "value" in record:
        label = record.pop(labelled, None)
        values |= {} if label is None else {text_of(record["value"]): str(label).strip()}
    facts: Record = {key: str(record[key]).strip() for key in ("label", "note") if key in record}
    if "kind" in record:
        facts["kind"] = _kind(record["kind"], name)
    return facts | {"values": values}


def _kind(given: Any, name: str) -> str:
    text = str(given).strip()
    kind = _KIND_OF.get(_FOLD.sub("", text.casefold()))
    if kind is None:
        near = get_close_matches(text.casefold(), KINDS, n=1)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        raise Refusal(
            f"The dictionary says that {_quoted(name)} is of the kind {_quoted(text)}; it must be "
            f"one of {', '.join(KINDS)}.{hint}"
        )
    return kind


def _values(given: Any, name: str) -> dict[str, str]:
    """Values and their labels, from a mapping or from text such as ``1=yes; 0=no``."""
    if isinstance(given, Mapping):
        pairs = [(text_of(value), str(label).strip()) for value, label in given.items()]
    elif isinstance(given, str):
        pairs = _pairs(given)
    else:
        pairs = [("", "")]
    labels: dict[str, str] = {}
    for value, label in pairs:
        if not value or not label or labels.get(value, label) != label:
            raise Refusal(
                f"The values of {_quoted(name)} in the dictionary are {_quoted(given)}; a label "
                "for each value is needed, written like 1=yes; 0=no."
            )
        labels[value] = label
    return labels


def _pairs(text: str) -> list[tuple[str, str]]:
    parts = [part.strip() for part in re.split(r"[;|\r\n]", text) if part.strip()]
    commas = text.split(",")
    if len(parts) == 1 and all(re.search("[=:]", part) for part in commas):
        parts = commas
    mark = "=" if all("=" in part for part in parts) else ":"
    cut = [part.partition(mark) for part in parts]
    return [(value.strip(), label.strip()) for value, _, label in cut]


def _add(known: Record, name: str, facts: Record) -> None:
    """Add a line's facts to those of others about the same column."""
    for key, fact in facts.items():
        pairs = fact.items() if key == "values" else [(key, fact)]
        place = known["values"] if key == "values" else known
        for each, said in pairs:
            if place.setdefault(each, said) != said:
                about = f"the value {_quoted(each)} of " if key == "values" else ""
                raise Refusal(
                    f"The dictionary has different facts about {about}the column {_quoted(name)}: "
                    f"{_quoted(place[each])} and {_quoted(said)}. Keep one."
                )


def _checked_values(values: dict[str, str], name: str) -> dict[str, str]:
    """Labels that can be told apart from each other, and from other values."""
    by_label: dict[str, str] = {}
    for value, label in values.items():
        other = by_label.setdefault(label, value)
        if other != value:
            raise Refusal(
                f"The dictionary gives the values {_quoted(other)} and {_quoted(value)} of "
                f"{_quoted(name)} the same label, {_quoted(label)}. Give each its own."
            )
    # what looks like a mark for a missing cell would be read as one
    plain = [f"{label} ({v})" if label in MISSING else label for v, label in values.items()]
    short = unique([shortened(label) for label in plain])
    cut = unique([shortened(value) for value in values])
    numbers = {value: number_of(value) for value in cut}
    for value, label in zip(cut, short, strict=True):
        for other in cut:
            if other != value and (other == label or _equal(numbers[other], number_of(label))):
                raise Refusal(
                    f"The dictionary labels the value {_quoted(value)} of {_quoted(name)} as "
                    f"{_quoted(label)}, which is another value that has a label. Name it in words."
                )
    return dict(zip(cut, short, strict=True))


def _equal(one: float | None, other: float | None) -> bool:
    return one is not None and bool(same(np.array([one]), other)[0])


def _quoted(value: Any) -> str:
    return shortened(shown(repr(value)))
