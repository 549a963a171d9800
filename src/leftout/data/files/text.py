"""Tables in delimited text of whatever encoding, with names in the first line."""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from itertools import islice
from typing import IO, TYPE_CHECKING, Any, NamedTuple

from leftout.data.cleaning import CODE, MISSING
from leftout.data.frames import refuse_repeated, refuse_unnamed
from leftout.data.sources import TableLimits
from leftout.errors import InputError
from leftout.running import warn

if TYPE_CHECKING:
    import pandas as pd

_SEPARATORS = (",", ";", "\t", "|")
_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_LABELS = {"utf-8-sig": "UTF-8", "utf-16": "UTF-16", "cp1252": "Windows-1252"}
# What no text has, but for the end of a file of old.
_CONTROL = re.compile("[\0-\x08\x0e-\x19\x1c-\x1f]")
# Bytes that a file's dialect is told from, and records of them; bytes unpacked at a time.
_START, _TRIED, _BLOCK = 1 << 16, 20, 1 << 20
# A field that begins with a zero and another digit; the zero comes first in the pattern, since one
# byte is searched for faster than any of several.
_CODED = re.compile(rb'0\d(?:(?<=[,;\t|"\r\n ]0\d)|(?<=[,;\t|"\r\n ][+-]0\d))')
# What spreadsheets write, and take, as a first line.
_SEPARATOR_LINE = re.compile(rb'"?sep=([,;\t|])"?[ \t]*(?:\r\n?|\n)', re.IGNORECASE)


class Dialect(NamedTuple):
    """How a delimited text is written; ``skip`` lines are above the names."""

    names: list[str]
    separator: str
    skip: int

    @classmethod
    def of(cls, data: bytes, usual: str, called: str) -> Dialect:
        """The dialect of UTF-8 text, or its beginning; ``usual`` separates by the file's name."""
        start = data[:_START]
        if not start.strip():
            raise InputError(f"{called} is empty; a table with names and rows is needed.")
        line = _SEPARATOR_LINE.match(start)
        separator = (
            line[1].decode() if line else _guess_separator(start.decode(errors="replace"), usual)
        )
        found = cls([], separator, int(line is not None))
        records = found.records(io.TextIOWrapper(io.BytesIO(data), encoding="utf-8", newline=""))
        names, second = (next(records, (0, []))[1] for _ in range(2))
        refuse_unnamed([i for i, name in enumerate(names) if not name.strip()], called)
        if len(second) > len(names):
            raise InputError(
                f"{called} has {len(second):,} fields in its first row but {len(names):,} names "
                "above them. Name every column."
            )
        return found._replace(names=names)

    def options(self) -> dict[str, Any]:
        """What pandas' reader is asked for; marks for missing cells are missing."""
        return {
            "sep": self.separator, "skiprows": self.skip, "skipinitialspace": True,
            "na_values": list(MISSING), "keep_default_na": False, "index_col": False,
            "on_bad_lines": "error",
        }  # fmt: skip

    def refuse_ragged(self, text: IO[str], called: str) -> None:
        """Refuse a line that has another number of fields than the first."""
        for line, row in self.records(text):
            if len(row) != len(self.names):
                raise InputError(
                    f"{called} has {len(row):,} field(s) in line {line:,} where the first line has "
                    f"{len(self.names):,}; every line needs the same number. Correct that one."
                )

    def records(self, text: IO[str]) -> Iterator[tuple[int, list[str]]]:
        """Line number and fields of each record, up to a cell longer than the csv module takes."""
        for _ in range(self.skip):
            text.readline()
        rows = csv.reader(text, delimiter=self.separator, skipinitialspace=True)
        with suppress(csv.Error):  # that limit is the process's, and not ours to change
            yield from ((rows.line_num + self.skip, row) for row in rows if row)


def read_text(
    data: bytes, called: str, limits: TableLimits, separator: str = ",", gzipped: bool = False
) -> pd.DataFrame:
    """The table in delimited text; ``separator`` is the usual one of such files."""
    import pandas as pd

    data = decoded(unpacked(data, called, limits) if gzipped else data, called)
    dialect = Dialect.of(data, separator, called)
    # half of the lines, since a cell of text may hold some itself
    limits.check_shape(data.count(b"\n") // 2, len(dialect.names), called)
    refuse_repeated(dialect.names, called)
    options = dialect.options() | {"low_memory": False}
    table = pd.read_csv(io.BytesIO(data), **options)
    numeric = [place for place, dtype in enumerate(table.dtypes) if dtype.kind in "iuf"]
    if numeric and has_codes(data):
        written = pd.read_csv(io.BytesIO(data), **options, usecols=numeric, dtype=str)
        for place, name in enumerate(table.columns[numeric]):
            if written.iloc[:, place].str.match(CODE.pattern).any():
                table[name] = written.iloc[:, place]
    # pandas fills short rows up without a word, and only then does a last cell lack its value
    if table.shape[1] > 1 and (not len(table) or table.iloc[:, -1].isna().any()):
        dialect.refuse_ragged(io.TextIOWrapper(io.BytesIO(data), "utf-8", newline=""), called)
    return table.set_axis(dialect.names, axis=1)


def unpacked(data: bytes, called: str, limits: TableLimits) -> bytes:
    """What a gzip file holds, within the limits."""
    parts: list[bytes] = []
    size = 0
    with gzip.open(io.BytesIO(data)) as file:
        while part := file.read(_BLOCK):
            parts.append(part)
            size += len(part)
            limits.check_bytes(size, called)
    return b"".join(parts)


def decoded(data: bytes, called: str) -> bytes:
    """The same text in UTF-8, without a byte order mark."""
    codec = detect_encoding(lambda: [data], called)
    if codec == "utf-8-sig":
        return data.removeprefix(codecs.BOM_UTF8)
    try:
        return data.decode(codec).encode()
    except UnicodeDecodeError as error:
        raise undecodable(called, codec, error.start) from error


def detect_encoding(blocks: Callable[[], Iterable[bytes]], called: str) -> str:
    """The codec of a text in blocks, which may be asked for again; warns of a guess.

    Without a byte order mark it is UTF-8, or else Windows-1252. Binary data is refused, and UTF-8
    with a few bytes that are not.
    """
    start = next(iter(blocks()), b"")
    codec = "utf-16" if start.startswith(_UTF16) else _single_byte_or_utf8(blocks, called)
    if _CONTROL.search(start[: 4 * _START].decode(codec, "ignore")[:_START]):
        raise _binary(called)
    if codec == "cp1252":
        warn(f"{called} is not UTF-8 text; it was read as {_LABELS[codec]}.")
    return codec


def _single_byte_or_utf8(blocks: Callable[[], Iterable[bytes]], called: str) -> str:
    decoder, place = codecs.getincrementaldecoder("utf-8")(), 0
    block = b""
    try:
        for block in blocks():
            if b"\0" in block:
                raise _binary(called)
            held = len(decoder.getstate()[0])
            decoder.decode(block)
            place += len(block)
        held, block = len(decoder.getstate()[0]), b""
        decoder.decode(b"", final=True)
        return "utf-8-sig"
    except UnicodeDecodeError as error:
        text = block.decode("utf-8", "replace")
        n_broken = text.count("\ufffd")
        n_encoded = sum(char > "\x7f" for char in text) - n_broken
        if n_encoded > n_broken:
            raise undecodable(called, "utf-8-sig", place - held + error.start) from error
    return "cp1252"


def undecodable(called: str, codec: str, place: int) -> InputError:
    """The refusal of a text that is not in the encoding that it begins in."""
    looks = "is UTF-8" if codec == "utf-8-sig" else f"looks like {_LABELS[codec]}"
    return InputError(
        f"{called} {looks} text, but its byte {place:,} is not. Save it as UTF-8, in a "
        "spreadsheet with 'CSV UTF-8'."
    )


def _binary(called: str) -> InputError:
    return InputError(
        f"{called} holds binary data, not text; a table is needed. If it is a spreadsheet, save it "
        "as CSV or .xlsx."
    )


def _guess_separator(start: str, usual: str) -> str:
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


def has_codes(data: bytes) -> bool:
    """Whether a field of the text begins with a zero and another digit, as codes do."""
    return _CODED.search(data) is not None
