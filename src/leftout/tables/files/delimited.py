"""Tables in text: fields with a mark between them, names in the first line."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from contextlib import suppress
from itertools import islice
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from leftout.checks import Refusal
from leftout.tables.cleaning import CODE, MISSING
from leftout.tables.frames import told_apart

if TYPE_CHECKING:
    import pandas as pd

_SEPARATORS = (",", ";", "\t", "|")
# Bytes and records that the separator is guessed from, and bytes that are looked at at a time.
_START, _TRIED, _PART = 1 << 16, 20, 1 << 24
# What may stand before a field: no other zero begins one.
_BEFORE = np.isin(np.arange(256), list(b',;\t|"\r\n '))
# What spreadsheets write, and take, as a first line.
_SAID = re.compile(rb'"?sep=([,;\t|])"?[ \t]*(?:\r\n?|\n)', re.IGNORECASE)
_SIGNS = np.isin(np.arange(256), list(b"+-"))


def read_delimited(data: bytes, usual: str, called: str) -> tuple[pd.DataFrame, list[Any]]:
    """The table in UTF-8 text, and its names as they stand in the first line.

    ``usual`` is what separates fields by the file's name.
    """
    import pandas as pd

    header, separator = header_of(data, usual, called)
    said = _SAID.match(data)
    data = data if said is None else b"\n" + data[said.end() :]  # lines keep their numbers
    mark = separator.encode()
    how: dict[str, Any] = {
        "sep": separator, "na_values": list(MISSING), "keep_default_na": False, "encoding": "utf-8",
        # asked for only where there is something to skip: it slows every field down
        "skipinitialspace": _has_spaces(data, mark),
        "index_col": False, "low_memory": False, "on_bad_lines": "error",
    }  # fmt: skip
    table = pd.read_csv(io.BytesIO(data), **how)
    numeric = [place for place, dtype in enumerate(table.dtypes) if dtype.kind in "iuf"]
    if numeric and _has_codes(data):  # as they were written, they may be codes
        written = pd.read_csv(io.BytesIO(data), **how, usecols=numeric, dtype=str)
        for place, name in zip(numeric, table.columns[numeric], strict=True):
            texts = written.iloc[:, numeric.index(place)]
            if texts.str.match(CODE.pattern).any():
                table[name] = texts
    # Short rows are filled up without a word, and only then does a last cell lack its value.
    if len(header) > 1 and (not len(table) or table.iloc[:, -1].isna().any()):
        if not _all_full(data, mark, len(header)):
            refuse_ragged(io.BytesIO(data), separator, len(header), called)
    return table, told_apart(header) if len(set(header)) < len(header) else list(table.columns)


def refuse_unnamed(places: list[int], called: str) -> None:
    """Refuse columns without a name."""
    if places:
        raise Refusal(
            f"{called}: column {places[0] + 1} has no name; every column needs one. Name it, or "
            "remove it (a row number that pandas wrote goes with to_csv(index=False))."
        )


def header_of(data: bytes, usual: str, called: str) -> tuple[list[str], str]:
    """The names of the first line, and what separates them."""
    start = data[:_START]
    if not start.strip():
        raise Refusal(f"{called} is empty; a table with names and rows is needed.")
    said = separator_said(data)
    separator = said or _separator(start.decode(errors="replace"), usual)
    records = _records(io.BytesIO(data), separator)
    names, second = (next(records, (0, []))[1] for _ in range(2))
    refuse_unnamed([i for i, name in enumerate(names) if not name.strip()], called)
    if len(second) > len(names):
        raise Refusal(
            f"{called} has {len(second):,} fields in its first row but {len(names):,} names above "
            "them. Name every column."
        )
    return names, separator


def separator_said(data: bytes) -> str | None:
    """The mark that a first line such as ``sep=;`` says is between fields; None without one."""
    said = _SAID.match(data)
    return None if said is None else said[1].decode()


def _separator(start: str, usual: str) -> str:
    """The mark that cuts the first records into as many fields each, and most."""
    best, most = usual, 1
    lines = start.splitlines(keepends=True)
    for separator in (usual, *_SEPARATORS):
        rows = csv.reader(lines, delimiter=separator)
        counts = [len(row) for row in islice((row for row in rows if row), _TRIED)]
        if len(counts) > 2:
            counts.pop()  # it may be cut off
        if min(counts) == max(counts) > most:
            best, most = separator, counts[0]
            if separator == usual == "\t":  # a file of tabs says so by its name
                break
    if most > 1:
        return best
    first = start.lstrip("\r\n").splitlines()[0]
    return max((usual, *_SEPARATORS), key=first.count)


def _has_codes(data: bytes) -> bool:
    """Whether a field of the text begins with a zero and another digit."""
    for begin in range(0, len(data), _PART):
        every = np.frombuffer(data, np.uint8, offset=max(begin - 2, 0))[: _PART + 3]
        digit = every[3:] - np.uint8(ord("0")) < 10
        zeros = 2 + np.flatnonzero((every[2:-1] == ord("0")) & digit)
        before, earlier = every[zeros - 1], every[zeros - 2]
        if (_BEFORE[before] | (_SIGNS[before] & _BEFORE[earlier])).any():
            return True
    return False


def _has_spaces(data: bytes, mark: bytes) -> bool:
    """Whether a field of the text begins with a space."""
    if b" " not in data:
        return False
    every = np.frombuffer(data, np.uint8)
    before = every[np.flatnonzero(every[1:] == ord(" "))]
    return data.startswith(b" ") or bool(np.isin(before, list(mark + b"\r\n")).any())


def _all_full(data: bytes, mark: bytes, fields: int) -> bool:
    """Whether all lines surely have all fields; none has more, or pandas had refused it."""
    every = np.frombuffer(data, np.uint8)
    marks, lines, returns = (np.count_nonzero(every == ord(char)) for char in (mark, "\n", "\r"))
    if b'"' in data or returns and returns != data.count(b"\r\n"):
        return False
    return bool(marks == (lines + (not data.endswith(b"\n"))) * (fields - 1))


def refuse_ragged(data: IO[bytes], separator: str, fields: int, called: str) -> None:
    """Refuse a line of UTF-8 text that has another number of fields."""
    for line, row in _records(data, separator):
        if len(row) != fields:
            raise Refusal(
                f"{called} has {len(row):,} field(s) in line {line:,} where the first line has "
                f"{fields:,}; every line needs the same number. Correct that one."
            )


def _records(data: IO[bytes], separator: str) -> Iterator[tuple[int, list[str]]]:
    """Line number and fields of each record, up to a cell of more than the csv module takes."""
    text = io.TextIOWrapper(data, encoding="utf-8", newline="")
    rows = csv.reader(text, delimiter=separator, skipinitialspace=True)
    with suppress(csv.Error):  # that limit is the process's, and not ours to change
        for row in rows:
            first = rows.line_num == 1 and separator.join(row).strip('" \t').lower()
            if row and first != f"sep={separator}".strip():
                yield rows.line_num, row
