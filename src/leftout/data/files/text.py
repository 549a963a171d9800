"""Tables in delimited text of whatever encoding, with names in the first line."""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import chain, islice
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
# What no text has, but for the end of a file of old.
_CONTROL = re.compile("[\0-\x08\x0e-\x19\x1c-\x1f]")
# Bytes that a file's dialect is told from, and records of them.
_START, _TRIED = 1 << 16, 20
# A field that begins with a zero and another digit; the zero comes first in the pattern, since one
# byte is searched for faster than any of several.
_CODED = re.compile(rb'0\d(?:(?<=[,;\t|"\r\n ]0\d)|(?<=[,;\t|"\r\n ][+-]0\d))')


class Dialect(NamedTuple):
    """How a delimited text is written, and what its columns are called."""

    names: list[str]
    separator: str

    @classmethod
    def of(cls, data: bytes, usual: str, called: str) -> Dialect:
        """The dialect of UTF-8 text, or its beginning; ``usual`` separates by the file's name."""
        start = data[:_START]
        if not start.strip():
            raise InputError(f"{called} is empty; a table with names and rows is needed.")
        found = cls([], _guess_separator(start.decode(errors="replace"), usual))
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
            "sep": self.separator, "skipinitialspace": True, "na_values": list(MISSING),
            "keep_default_na": False, "index_col": False, "on_bad_lines": "error",
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
        rows = csv.reader(text, delimiter=self.separator, skipinitialspace=True)
        with suppress(csv.Error):  # that limit is the process's, and not ours to change
            yield from ((rows.line_num, row) for row in rows if row)


def read_text(
    data: bytes, called: str, limits: TableLimits, separator: str = ",", gzipped: bool = False
) -> pd.DataFrame:
    """The table in delimited text; ``separator`` is the usual one of such files."""
    import pandas as pd

    if gzipped:
        with gzip.open(io.BytesIO(data)) as file:
            data = file.read(limits.unpacked + 1)
        limits.check_bytes(len(data), called)
    data = decoded(data, called)
    dialect = Dialect.of(data, separator, called)
    # half of the lines, since a cell of text may hold some itself
    limits.check_shape(data.count(b"\n") // 2, len(dialect.names), called)
    refuse_repeated(dialect.names, called)
    options = dialect.options() | {"low_memory": False}
    table = pd.read_csv(io.BytesIO(data), **options)
    numeric = [place for place, dtype in enumerate(table.dtypes) if dtype.kind in "iuf"]
    if numeric and _CODED.search(data):
        written = pd.read_csv(io.BytesIO(data), **options, usecols=numeric, dtype=str)
        for place, name in enumerate(table.columns[numeric]):
            if written.iloc[:, place].str.match(CODE.pattern).any():
                table[name] = written.iloc[:, place]
    # pandas fills short rows up without a word, and only then does a last cell lack its value
    if table.shape[1] > 1 and (not len(table) or table.iloc[:, -1].isna().any()):
        dialect.refuse_ragged(io.TextIOWrapper(io.BytesIO(data), "utf-8", newline=""), called)
    return table.set_axis(dialect.names, axis=1)


def decoded(data: bytes, called: str) -> bytes:
    """The same text in UTF-8, without a byte order mark."""
    codec = detect_encoding([data], called)
    if codec == "utf-8-sig":
        return data.removeprefix(codecs.BOM_UTF8)
    return data.decode(codec).encode()


def detect_encoding(blocks: Iterable[bytes], called: str) -> str:
    """The codec of a text in blocks: UTF-16 by its mark, UTF-8, or else Windows-1252, with a note.

    Binary data is refused.
    """
    decoder, codec, start = codecs.getincrementaldecoder("utf-8")(), "utf-8-sig", None
    for block in chain(blocks, [b""]):
        if start is None:
            start = block[: 4 * _START]
            if start.startswith(_UTF16):
                codec = "utf-16"
                break
        if b"\0" in block:
            raise _binary(called)
        if codec == "utf-8-sig":
            try:
                decoder.decode(block, final=not block)
            except UnicodeDecodeError:
                codec = "cp1252"
    if start and _CONTROL.search(start.decode(codec, "ignore")[:_START]):
        raise _binary(called)
    if codec == "cp1252":
        warn(f"{called} is not UTF-8 text; it was read as Windows-1252.")
    return codec


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
