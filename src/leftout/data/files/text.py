"""Tables in text of whatever encoding: fields with a mark between them, names in the first line."""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from itertools import islice
from typing import IO, TYPE_CHECKING, Any, NamedTuple

from leftout.data.cleaning import CODE, MISSING
from leftout.data.frames import told_apart
from leftout.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

SEPARATORS = (",", ";", "\t", "|")
_MARKS = {
    codecs.BOM_UTF8: ("utf-8", "UTF-8"),
    codecs.BOM_UTF32_LE: ("utf-32-le", "UTF-32"),  # begins like the next, and is asked before it
    codecs.BOM_UTF16_LE: ("utf-16-le", "UTF-16"),
    codecs.BOM_UTF16_BE: ("utf-16-be", "UTF-16"),
}
# What no text has, but for the end of a file of old.
_CONTROL = re.compile("[\0-\x08\x0e-\x19\x1c-\x1f]")
# The share of a text's first bytes that zeros are in UTF-16.
_ZEROS = 0.1
# Bytes that a file is told from, and records of them.
_START, _TRIED = 1 << 16, 20
# A field that begins with a zero and another digit; the zero comes first in the pattern, since one
# byte is searched for faster than any of several.
_CODED = re.compile(rb'0\d(?:(?<=[,;\t|"\r\n ]0\d)|(?<=[,;\t|"\r\n ][+-]0\d))')
# What spreadsheets write, and take, as a first line.
_SAID = re.compile(rb'"?sep=([,;\t|])"?[ \t]*(?:\r\n?|\n)', re.IGNORECASE)


class Codec(NamedTuple):
    """What a text is in: the name that Python has for it, bytes of its mark, and what it is called.

    The last is None for UTF-8.
    """

    codec: str
    mark: int
    name: str | None

    @classmethod
    def of(cls, blocks: Callable[[], Iterable[bytes]], called: str) -> Codec:
        """What a text is in that comes in blocks, which may be asked for several times.

        What has a mark, or zeros at every other byte, is what it looks like; all else is UTF-8, or
        an encoding of the West where most of what is not ASCII is not UTF-8 either. Refuses binary
        data, and UTF-8 but for a few bytes.
        """
        start = next(iter(blocks()), b"")
        found = cls._by_mark(start)
        if found.name is None:
            place = _not_utf8(blocks, found.mark, called)
            if place is None:
                return found
            if found.mark or _is_mostly_utf8(blocks):
                raise InputError(found.not_decoded(called, place))
            found = cls._western(blocks)
        first = start[found.mark :][: 4 * _START].decode(found.codec, "ignore")
        if _CONTROL.search(first, 0, _START):
            raise InputError(_binary(called))
        return found

    @classmethod
    def _by_mark(cls, start: bytes) -> Codec:
        for mark, (codec, name) in _MARKS.items():
            if start.startswith(mark):
                return cls(codec, len(mark), None if name == "UTF-8" else name)
        even, odd = start[:_START:2].count(0), start[1:_START:2].count(0)
        size = len(start[:_START])
        if max(even, odd) > _ZEROS * size and min(even, odd) <= _ZEROS * max(even, odd):
            return cls("utf-16-le" if odd > even else "utf-16-be", 0, "UTF-16")
        return cls("utf-8", 0, None)

    @classmethod
    def _western(cls, blocks: Callable[[], Iterable[bytes]]) -> Codec:
        try:
            for block in blocks():
                block.decode("cp1252")
        except UnicodeDecodeError:
            return cls("latin-1", 0, "Latin-1")  # takes any bytes
        return cls("cp1252", 0, "Windows-1252")

    def not_decoded(self, called: str, place: int) -> str:
        """What is said of text that is not in the encoding that it looks like."""
        looks = "is UTF-8" if self.name is None else f"looks like {self.name}"
        return (
            f"{called} {looks} text, but its byte {place:,} is not. Save it as UTF-8, in a "
            "spreadsheet with 'CSV UTF-8'."
        )


def as_utf8(data: bytes, called: str) -> tuple[bytes, str | None]:
    """The same text in UTF-8 without a mark, and the encoding that it had if it was another."""
    found = Codec.of(lambda: [data], called)
    data = data[found.mark :] if found.mark else data
    try:
        return data if found.name is None else data.decode(found.codec).encode(), found.name
    except UnicodeDecodeError as error:
        raise InputError(found.not_decoded(called, error.start)) from error


def _not_utf8(blocks: Callable[[], Iterable[bytes]], mark: int, called: str) -> int | None:
    """The place of the first byte after a mark that is not UTF-8; None if all are."""
    decoder, place = codecs.getincrementaldecoder("utf-8")(), 0
    try:
        for block in blocks():
            if b"\0" in block:
                raise InputError(_binary(called))
            block = block[mark:] if mark and not place else block
            place -= len(decoder.getstate()[0])
            decoder.decode(block)
            place += len(block) + len(decoder.getstate()[0])
        decoder.decode(b"", final=True)
    except UnicodeDecodeError as error:
        return place + error.start
    return None


def _is_mostly_utf8(blocks: Callable[[], Iterable[bytes]]) -> bool:
    """Whether most of what is not ASCII is UTF-8."""
    lenient = codecs.getincrementaldecoder("utf-8")(errors="replace")
    broken = other = 0
    for block in blocks():
        text = lenient.decode(block)
        broken += text.count("\ufffd")
        other += sum(char > "\x7f" for char in text)
    return other - broken > broken


def _binary(called: str) -> str:
    return (
        f"{called} holds binary data, not text; a table is needed. If it is a spreadsheet, save it "
        "as CSV or .xlsx."
    )


def how_to_read(separator: str) -> dict[str, Any]:
    """What pandas is told of a table in text; what stands for nothing is missing."""
    return {
        "sep": separator, "na_values": list(MISSING), "keep_default_na": False, "encoding": "utf-8",
        "index_col": False, "on_bad_lines": "error",
    }  # fmt: skip


def read_delimited(data: bytes, usual: str, called: str) -> tuple[pd.DataFrame, list[Any]]:
    """The table in UTF-8 text, and its names as they stand in the first line.

    ``usual`` is what separates fields by the file's name.
    """
    import pandas as pd

    header, separator = header_of(data, usual, called)
    said = _SAID.match(data)
    data = data if said is None else b"\n" + data[said.end() :]  # lines keep their numbers
    mark = separator.encode()
    # spaces are skipped only where there are some: it slows every field down
    spaces = _has_spaces(data, mark)
    how = how_to_read(separator) | {"skipinitialspace": spaces, "low_memory": False}
    table = pd.read_csv(io.BytesIO(data), **how)
    numeric = [place for place, dtype in enumerate(table.dtypes) if dtype.kind in "iuf"]
    if numeric and _has_codes(data):  # as they were written, they may be codes
        written = pd.read_csv(io.BytesIO(data), **how, usecols=numeric, dtype=str)
        for place, name in enumerate(table.columns[numeric]):
            if written.iloc[:, place].str.match(CODE.pattern).any():
                table[name] = written.iloc[:, place]
    # Short rows are filled up without a word, and only then does a last cell lack its value.
    if len(header) > 1 and (not len(table) or table.iloc[:, -1].isna().any()):
        if not _all_full(data, mark, len(header)):
            refuse_ragged(_opened(data), separator, len(header), called)
    return table, told_apart(header) if len(set(header)) < len(header) else list(table.columns)


def refuse_unnamed(places: list[int], called: str) -> None:
    """Refuse columns without a name."""
    if places:
        raise InputError(
            f"{called}: column {places[0] + 1} has no name; every column needs one. Name it, or "
            "remove it (a row number that pandas wrote goes with to_csv(index=False))."
        )


def header_of(data: bytes, usual: str, called: str) -> tuple[list[str], str]:
    """The names of the first line, and what separates them."""
    start = data[:_START]
    if not start.strip():
        raise InputError(f"{called} is empty; a table with names and rows is needed.")
    said = separator_said(data)
    separator = said or _separator(start.decode(errors="replace"), usual)
    records = _records(_opened(data), separator)
    names, second = (next(records, (0, []))[1] for _ in range(2))
    refuse_unnamed([i for i, name in enumerate(names) if not name.strip()], called)
    if len(second) > len(names):
        raise InputError(
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
    for separator in (usual, *SEPARATORS):
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
    return max((usual, *SEPARATORS), key=first.count)


def _has_codes(data: bytes) -> bool:
    """Whether a field of the text begins with a zero and another digit."""
    return _CODED.search(data) is not None


def _has_spaces(data: bytes, mark: bytes) -> bool:
    """Whether a field of the text begins with a space."""
    return data.startswith(b" ") or any(each + b" " in data for each in (mark, b"\r", b"\n"))


def _all_full(data: bytes, mark: bytes, fields: int) -> bool:
    """Whether all lines surely have all fields; none has more, or pandas had refused it."""
    marks, lines, returns = (data.count(each) for each in (mark, b"\n", b"\r"))
    if b'"' in data or returns and returns != data.count(b"\r\n"):
        return False
    return marks == (lines + (not data.endswith(b"\n"))) * (fields - 1)


def refuse_ragged(text: IO[str], separator: str, fields: int, called: str) -> None:
    """Refuse a line of text that has another number of fields."""
    for line, row in _records(text, separator):
        if len(row) != fields:
            raise InputError(
                f"{called} has {len(row):,} field(s) in line {line:,} where the first line has "
                f"{fields:,}; every line needs the same number. Correct that one."
            )


def _opened(data: bytes) -> IO[str]:
    return io.TextIOWrapper(io.BytesIO(data), encoding="utf-8", newline="")


def _records(text: IO[str], separator: str) -> Iterator[tuple[int, list[str]]]:
    """Line number and fields of each record, up to a cell of more than the csv module takes."""
    rows = csv.reader(text, delimiter=separator, skipinitialspace=True)
    with suppress(csv.Error):  # that limit is the process's, and not ours to change
        for row in rows:
            first = rows.line_num == 1 and separator.join(row).strip('" \t').lower()
            if row and first != f"sep={separator}".strip():
                yield rows.line_num, row
