"""Facts about columns, one line each, from whatever people keep them in."""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
import zlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from leftout.checks import Refusal, is_missing
from leftout.tables.files.decoding import as_utf8
from leftout.tables.frames import as_frame
from leftout.tables.reading import read_table
from leftout.wording import shortened, shown

FACTS = ("kind", "label", "values", "note")
_SEPARATORS = (",", ";", "\t", "|")
_TABLES = (".parquet", ".feather", ".xlsx")

Record = dict[str, Any]


def records_of(given: Any) -> list[Record]:
    """Lines with a ``column`` and facts about it, fields in lower case, without blank cells.

    ``given`` is a path to CSV or JSON (or Parquet, Feather, Excel), a mapping by columns, a list of
    mappings or a data frame.

    Examples
    --------
    >>> records_of({"age": "age in years", "sex": {"kind": "code"}})
    [{'label': 'age in years', 'column': 'age'}, {'kind': 'code', 'column': 'sex'}]
    """
    if isinstance(given, str | os.PathLike):
        return _in_file(Path(given))
    if isinstance(given, Mapping):
        return [_keyed(name, facts) for name, facts in given.items()]
    if isinstance(given, list | tuple):
        return [_line(facts, f"line {place} of the list") for place, facts in enumerate(given, 1)]
    frame = as_frame(given)
    if frame is None:
        raise Refusal(
            f"The dictionary is {type(given).__name__}; a path to CSV or JSON, a mapping by "
            "columns, a list of mappings or a data frame is needed."
        )
    _check_header(frame.columns, "the data frame")
    return [_folded(row) for row in frame.iter_rows(named=True)]


def _in_file(path: Path) -> list[Record]:
    called = f"The dictionary {shortened(shown(repr(path.name)))}"
    if path.suffix.lower() in _TABLES:
        return records_of(read_table(path))
    try:
        content = path.read_bytes()
        if path.suffix.lower() == ".gz":
            content = gzip.decompress(content)
        text = as_utf8(content, called)[0].decode()
    except Refusal:
        raise
    except (OSError, ValueError, EOFError, zlib.error) as error:
        reason = (getattr(error, "strerror", None) or str(error)).strip().rstrip(".")
        raise Refusal(f"{called} cannot be read: {shown(reason)}. Check the path.") from error
    name = path.name.lower().removesuffix(".gz")
    return _in_json(text, called) if name.endswith(".json") else _in_csv(text, called)


def _in_json(text: str, called: str) -> list[Record]:
    try:
        given = json.loads(text, object_pairs_hook=_once)
    except Refusal:
        raise
    except (ValueError, RecursionError) as error:
        raise Refusal(f"{called} is not JSON: {shown(str(error))[:200]}. Correct it.") from error
    if not isinstance(given, list | dict):
        raise Refusal(
            f"{called} holds {type(given).__name__}; a list of objects, or an object with a "
            "column's name for each, is needed."
        )
    return records_of(given)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found and found[key] != value:
            raise Refusal(
                f"The dictionary has {shortened(shown(repr(key)))} twice in one object, with "
                "different facts. Keep one."
            )
        found[key] = value
    return found


def _in_csv(text: str, called: str) -> list[Record]:
    text = text.lstrip("\ufeff\r\n")
    records = []
    try:
        headers = {mark: _names(text, mark) for mark in _SEPARATORS}
        # the mark that shows what is needed, or else most
        separator = max(headers, key=lambda mark: ("column" in headers[mark], len(headers[mark])))
        names = headers[separator]
        _check_header(names, called.removeprefix("The dictionary "))
        rows = _rows(text, separator)
        next(rows)
        for row in rows:
            if len(row) > len(names):
                raise Refusal(
                    f"{called} has {len(row)} fields in line {rows.line_num} but {len(names)} "
                    "names above them. Put a text that holds the separator in quotes."
                )
            if any(cell.strip() for cell in row):
                records.append(_folded(dict(zip(names, row, strict=False))))
    except csv.Error as error:
        raise Refusal(f"{called} cannot be read as CSV: {error}. Check the file.") from error
    return records


def _rows(text: str, separator: str) -> Any:
    return csv.reader(io.StringIO(text, newline=""), delimiter=separator, skipinitialspace=True)


def _names(text: str, separator: str) -> list[str]:
    return [name.strip().casefold() for name in next(_rows(text, separator), [])]


def _check_header(names: Iterable[Any], called: str) -> None:
    folded = [str(name).strip().casefold() for name in names]
    if "column" not in folded:
        first = ", ".join(shortened(shown(name)) for name in folded[:5]) or "no names"
        raise Refusal(
            f"The dictionary needs a field named 'column' that names the table's columns; {called} "
            f"has {first}. Name it, beside any of {', '.join(FACTS)}."
        )
    twice = [name for name in folded if folded.count(name) > 1]
    if twice:
        raise Refusal(f"The dictionary has several fields named {twice[0]!r}. Keep one.")


def _keyed(name: Any, facts: Any) -> Record:
    """Facts that stand under a column's name; a text alone is its label."""
    if isinstance(facts, str):
        facts = {"label": facts}
    if not isinstance(facts, Mapping):
        raise Refusal(
            f"The dictionary has {shortened(shown(repr(facts)))} for the column "
            f"{shortened(shown(repr(str(name))))}; a label, or an object with any of "
            f"{', '.join(FACTS)} is needed."
        )
    record = _folded(facts)
    if facts and not {str(key).strip().casefold() for key in facts} & {"column", *FACTS}:
        raise Refusal(
            f"The dictionary says nothing that is known of the column "
            f"{shortened(shown(repr(str(name))))}: found {shortened(shown(next(iter(facts))))!r}, "
            f"needed any of {', '.join(FACTS)}. Value labels go under 'values'."
        )
    return record | {"column": name}


def _line(facts: Any, where: str) -> Record:
    if not isinstance(facts, Mapping):
        raise Refusal(
            f"The dictionary has {shortened(shown(repr(facts)))} in {where}; an object with "
            f"'column' and any of {', '.join(FACTS)} is needed."
        )
    _check_header(facts, where)
    return _folded(facts)


def _folded(facts: Mapping[Any, Any]) -> Record:
    """A line's facts, with the fields' names in lower case, and without blank cells."""
    return {
        str(field).strip().casefold(): cell
        for field, cell in facts.items()
        if not (is_missing(cell) or isinstance(cell, str) and not cell.strip())
    }
