"""The table in the bytes of a file: delimited text, Parquet, Feather, Excel.

Text may be of whatever encoding, with names in the first line. Workbooks are streamed, and Feather
files unpacked a batch at a time, so that no more is read than the limits allow.
"""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import re
import zipfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from itertools import chain, islice
from typing import IO, TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from leftout.data.cleaning import CODE, MISSING
from leftout.data.frames import refuse_repeated, refuse_unnamed
from leftout.data.sources import TableLimits
from leftout.errors import InputError
from leftout.running import warn
from leftout.text import listed, quoted, shown

if TYPE_CHECKING:
    import pyarrow as pa

_SEPARATORS = (",", ";", "\t", "|")
_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
# What no text has, but for the end of a file of old.
_CONTROL = re.compile("[\0-\x08\x0e-\x19\x1c-\x1f]")
# Bytes that are read at a time; characters that a separator is told from, and records of them.
_BLOCK, _START, _TRIED = 1 << 20, 1 << 16, 20
# A field that begins with a zero and another digit; the zero comes first in the pattern, since one
# byte is searched for faster than any of several.
_CODED = re.compile(rb'0\d(?:(?<=[,;\t|"\r\n ]0\d)|(?<=[,;\t|"\r\n ][+-]0\d))')
_SHOWN_SHEETS = 10
_UNNAMED = re.compile(r"__index_level_\d+__")
_NO_CELLS = frozenset((*MISSING, "#NULL!", "#DIV/0!", "#VALUE!", "#REF!", "#NAME?", "#NUM!"))


class TextFile:
    """Delimited text: its encoding, its separator, and what its columns are called.

    ``opened`` gives its bytes from the beginning, each time anew.
    """

    def __init__(self, opened: Callable[[], IO[bytes]], called: str) -> None:
        self.opened, self.called = opened, called
        with opened() as file:
            self.codec = detect_encoding(iter(partial(file.read, _BLOCK), b""), called)
        with self.text() as text:
            start = text.read(_START)
        if not start.strip():
            raise InputError(f"{called} is empty; a table with names and rows is needed.")
        self.separator = _guess_separator(start, "\t" if ".tsv" in called.lower() else ",")
        with self.text() as text:
            records = self._records(text)
            self.names, second = (next(records, (0, []))[1] for _ in range(2))
        refuse_unnamed([i for i, name in enumerate(self.names) if not name.strip()], called)
        if len(second) > len(self.names):
            raise InputError(
                f"{called} has {len(second):,} fields in its first row but {len(self.names):,} "
                "names above them. Name every column."
            )
        refuse_repeated(self.names, called)

    def text(self) -> IO[str]:
        """The text, without a byte order mark."""
        return io.TextIOWrapper(self.opened(), self.codec, newline="")

    def read(self, text: IO[str], **options: Any) -> Any:
        """The table as pandas reads it; marks for missing cells are missing."""
        return pd.read_csv(
            text, sep=self.separator, skipinitialspace=True, na_values=list(MISSING),
            keep_default_na=False, index_col=False, on_bad_lines="error", **options,
        )  # fmt: skip

    def refuse_ragged(self) -> None:
        """Refuse a line that has another number of fields than the first."""
        with self.text() as text:
            for line, row in self._records(text):
                if len(row) != len(self.names):
                    raise InputError(
                        f"{self.called} has {len(row):,} field(s) in line {line:,} where the first "
                        f"line has {len(self.names):,}; every line needs the same number. Correct "
                        "that one."
                    )

    def _records(self, text: IO[str]) -> Iterator[tuple[int, list[str]]]:
        """Line number and fields of each record, up to a cell longer than the csv module takes."""
        rows = csv.reader(text, delimiter=self.separator, skipinitialspace=True)
        with suppress(csv.Error):  # that limit is the process's, and not ours to change
            yield from ((rows.line_num, row) for row in rows if row)


def read_text(data: bytes, called: str, limits: TableLimits) -> pd.DataFrame:
    """The table in delimited text, gzipped or not."""
    if ".gz" in called.lower():
        with gzip.open(io.BytesIO(data)) as unpacked:
            data = unpacked.read(limits.unpacked + 1)
        limits.check_bytes(len(data), called)
    file = TextFile(partial(io.BytesIO, data), called)
    # half of the lines, since a cell of text may hold some itself
    limits.check_shape(data.count(b"\n") // 2, len(file.names), called)
    table = file.read(file.text(), low_memory=False)
    numeric = [place for place, dtype in enumerate(table.dtypes) if dtype.kind in "iuf"]
    plain = data.decode(file.codec).encode() if file.codec == "utf-16" else data
    if numeric and _CODED.search(plain):
        written = file.read(file.text(), low_memory=False, usecols=numeric, dtype=str)
        for place, name in enumerate(table.columns[numeric]):
            if written.iloc[:, place].str.match(CODE.pattern).any():
                table[name] = written.iloc[:, place]
    # pandas fills short rows up without a word, and only then does a last cell lack its value
    if table.shape[1] > 1 and (not len(table) or table.iloc[:, -1].isna().any()):
        file.refuse_ragged()
    return table.set_axis(file.names, axis=1)


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


def read_parquet(data: bytes, called: str, limits: TableLimits) -> pd.DataFrame:
    """The table in a Parquet file."""
    import pyarrow as pa
    from pyarrow.parquet import ParquetFile

    with ParquetFile(pa.BufferReader(data)) as file:
        metadata = file.metadata
        limits.check_shape(metadata.num_rows, metadata.num_columns, called)
        groups = map(metadata.row_group, range(metadata.num_row_groups))
        limits.check_bytes(sum(group.total_byte_size for group in groups), called)
        return to_frame(file.read(), called)


def read_feather(data: bytes, called: str, limits: TableLimits) -> pd.DataFrame:
    """The table in a Feather file (Arrow's IPC format), unpacked a batch at a time."""
    import pyarrow as pa

    file = pa.ipc.open_file(pa.BufferReader(data))
    batches, rows, size = [], 0, 0
    for place in range(file.num_record_batches):
        batches.append(file.get_batch(place))
        rows += batches[-1].num_rows
        size += batches[-1].nbytes
        limits.check_shape(rows, len(file.schema), called)
        limits.check_bytes(size, called)
    return to_frame(pa.Table.from_batches(batches, file.schema), called)


def to_frame(table: pa.Table, called: str) -> pd.DataFrame:
    """A pyarrow table in pandas, with all of its columns."""
    refuse_repeated(table.column_names, called)
    return as_pandas(table.select(columns_of_people(table.schema)))


def columns_of_people(schema: pa.Schema) -> list[str]:
    """The names of stored columns, but for an index of pandas that had no name."""
    return [name for name in schema.names if not _UNNAMED.fullmatch(name)]


def as_pandas(table: pa.Table) -> pd.DataFrame:
    """A pyarrow table in pandas, where large whole numbers with gaps stay exact."""
    import pyarrow as pa

    whole = {pa.int64(): pd.Int64Dtype(), pa.uint64(): pd.UInt64Dtype()}
    gaps = any(column.type in whole and column.null_count for column in table.columns)
    mapper = whole.get if gaps else None
    return table.to_pandas(date_as_object=False, types_mapper=mapper, ignore_metadata=True)


def read_excel(
    data: bytes, called: str, limits: TableLimits, sheet: str | None = None
) -> pd.DataFrame:
    """The table in a sheet, whose names are in the first row."""
    rows: list[list[Any]] = []
    width = 0
    with _opened(data, called, limits) as book:
        chosen = book[_choose([each.title for each in book.worksheets], sheet, called)]
        chosen.reset_dimensions()  # what a file says of itself may be wrong
        for cells in chosen.iter_rows(values_only=True):
            row = [np.nan if cell is None or cell in _NO_CELLS else cell for cell in cells]
            while row and row[-1] is np.nan:  # formats reach further than values
                row.pop()
            width = max(width, len(row))
            rows.append(row)
            limits.check_shape(len(rows), width, called)
    while rows and not rows[-1]:
        rows.pop()
    table = pd.DataFrame([row + [np.nan] * (width - len(row)) for row in rows], dtype=object)
    table = table.loc[:, table.notna().any()]
    if not len(table):
        return table
    names = table.iloc[0]
    refuse_unnamed(names.index[names.isna()].tolist(), called)
    refuse_repeated(names.tolist(), called)
    body = table.iloc[1:].reset_index(drop=True)  # objects: text such as 01234 stays text
    return body.set_axis(names.tolist(), axis=1).infer_objects()


def sheet_names(data: bytes, called: str, limits: TableLimits) -> list[str]:
    """The sheets of a workbook, in order."""
    with _opened(data, called, limits) as book:
        return [sheet.title for sheet in book.worksheets]


@contextmanager
def _opened(data: bytes, called: str, limits: TableLimits) -> Iterator[Any]:
    """A workbook, within the limits; whatever is wrong with it is refused in a sentence."""
    from openpyxl import load_workbook

    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            limits.check_bytes(sum(part.file_size for part in archive.infolist()), called)
        book = load_workbook(io.BytesIO(data), read_only=True, data_only=True, keep_links=False)
        try:
            yield book
        finally:
            book.close()
    except (InputError, MemoryError, RecursionError):
        raise
    except Exception as error:  # of the archive, its XML, or what the cells are said to hold
        raise InputError(
            f"{called} is not an Excel workbook (.xlsx), or a damaged or locked one. Save it anew, "
            "without a password, or as CSV."
        ) from error


def _choose(sheets: list[str], wanted: str | None, called: str) -> str:
    names = list(map(quoted, sheets[:_SHOWN_SHEETS]))
    names += [f"{len(sheets) - _SHOWN_SHEETS} more"] * (len(sheets) > _SHOWN_SHEETS)
    if wanted is None:
        if len(sheets) > 1:
            warn(
                f"{called} has {len(sheets)} sheets; the first, {names[0]}, was read, and not "
                f"{listed(names[1:])}."
            )
        return sheets[0]
    if wanted not in sheets:
        raise InputError(
            f"{called} has no sheet {shown(repr(wanted))}; it has {listed(names)}. Name one of "
            "these."
        )
    return wanted
