"""A file looked at before it is opened: how much is in it, and may it be what it says?

Readers of tables make whatever a file asks for: a small one can ask for more than a machine has.
"""

from __future__ import annotations

import gzip
import io
import struct
import zipfile
import zlib
from array import array
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from xml.etree import ElementTree

from leftout.data.files.fetching import TEXT
from leftout.errors import InputError
from leftout.running import available_memory

_CHUNK = 1 << 20
# A list of sheets is looked at up to here, and markup without an element.
_LIST, _MARKUP = 1 << 26, 1 << 24
# Columns are counted in so many lines: the first may say what is between fields.
_FIRST_LINES = 2
_MARKS = (b",", b";", b"\t", b"|")
_WORKBOOK = "xl/workbook.xml"
# Outside of rows, no element is a cell.
_NO_ROW = -9
# Parts of a workbook that have to be XML; others may be pictures.
_XML = (".xml", ".rels")
# Rows of a Parquet file that are looked at at a time.
_ROWS = 1 << 14
# Of the memory there is: what a cell takes while a table is read and audited, in bytes, and the
# share that the bytes of a file may be.
_CELL, _SHARE = 68, 4

# Rows, columns and unpacked bytes of a file, as many as are known by then.
FileSizes = Iterator[tuple[int, int, int]]


@dataclass(frozen=True, kw_only=True)
class Most:
    """How much a file may hold: bytes when it is unpacked, columns, and rows times columns."""

    unpacked: int = 4 * 10**9
    columns: int = 5_000
    cells: int = 200_000_000

    @classmethod
    def here(cls) -> Most:
        """On this machine: more where it has more memory; columns are counted by whoever audits."""
        there_is = available_memory()
        return cls(
            unpacked=max(cls.unpacked, there_is // _SHARE),
            columns=10**9,
            cells=max(cls.cells, there_is // _CELL),
        )


def check(data: bytes, kind: str, called: str, most: Most) -> None:
    """Refuse a file that holds too much, or is not what its name says."""
    if not data:
        raise InputError(f"{called} is empty; a table with names and rows is needed.")
    sizes: FileSizes = iter(())
    if kind == ".xlsx":
        sizes = _workbook(data, called)
    elif kind in (".parquet", ".feather"):
        sizes = _arrow(data, called, kind)
    elif kind in TEXT:
        sizes = _text(_unpacked(data, called) if kind.endswith(".gz") else _chunks(data), most)
    for rows, columns, size in sizes:
        check_size(rows, columns, called, most)
        if size > most.unpacked:
            raise InputError(
                f"{called} holds more than {describe_size(most.unpacked)} when it is unpacked, "
                "which is the most that is taken here. Keep a part of it."
            )


def check_size(rows: int, columns: int, called: str, most: Most) -> None:
    """Refuse more columns or cells than are taken."""
    if columns > most.columns:
        raise InputError(
            f"{called} has {columns:,} columns; an audit takes at most {most.columns:,}. Keep "
            "those that matter."
        )
    if rows * columns > most.cells:
        raise InputError(
            f"{called} has {rows:,} rows of {columns:,} columns, {rows * columns:,} cells; at most "
            f"{most.cells:,} are taken here. Keep a part of the rows, or of the columns."
        )


def _text(chunks: Iterator[bytes], most: Most) -> FileSizes:
    """Columns by the first lines, rows by all lines: more than there are, if cells have some."""
    lines = size = seen = 0
    columns, counts, blank = 1, [0] * len(_MARKS), True
    for chunk in chunks:
        size += len(chunk)
        lines += chunk.count(b"\n")
        rest = chunk
        while seen < _FIRST_LINES and rest:
            part, newline, rest = (rest.lstrip() if blank else rest).partition(b"\n")
            counts = [had + part.count(mark) for had, mark in zip(counts, _MARKS, strict=True)]
            blank = blank and not part
            columns = max(columns, 1 + max(counts))
            if newline:
                seen += 1
                counts, blank = [0] * len(_MARKS), True
        yield 1, columns, size
        if lines * columns > 2 * most.cells:  # a cell of text may hold lines itself
            yield lines, columns, size


def _chunks(data: bytes) -> Iterator[bytes]:
    for begin in range(0, len(data), _CHUNK):
        yield data[begin : begin + _CHUNK]


def _unpacked(data: bytes, called: str) -> Iterator[bytes]:
    """What a gzipped file holds, a little at a time."""
    try:
        with gzip.open(io.BytesIO(data)) as file:
            while chunk := file.read(_CHUNK):
                yield chunk
    except EOFError as error:
        raise InputError(
            f"{called} ends too early: it was cut off on its way. Fetch it again."
        ) from error
    except (zlib.error, gzip.BadGzipFile) as error:
        raise InputError(
            f"{called} is not what its name says: it is no gzip file, or a damaged one. Check it."
        ) from error


def _arrow(data: bytes, called: str, kind: str) -> FileSizes:
    try:
        import pyarrow as pa
    except ImportError:
        return  # the reader says what is missing
    try:
        yield from _parquet(data) if kind == ".parquet" else _feather(data)
    except (pa.ArrowException, OSError, ValueError, struct.error, IndexError) as error:
        if isinstance(error, MemoryError):
            raise
        raise InputError(
            f"{called} is not what its name says: it cannot be read as {kind[1:].title()}. Check "
            "the file."
        ) from error


def _parquet(data: bytes) -> FileSizes:
    """By what a Parquet file says, then read.

    A dictionary stores a value once, however often it occurs: texts are read with theirs, a few
    rows at a time, and counted as long as they will be.
    """
    import pyarrow as pa
    import pyarrow.compute as pc
    from pyarrow.parquet import ParquetFile

    with ParquetFile(pa.BufferReader(data)) as file:
        facts, schema = file.metadata, file.schema_arrow
    rows, columns = facts.num_rows, facts.num_columns
    groups = [facts.row_group(place) for place in range(facts.num_row_groups)]
    yield rows, columns, sum(group.total_byte_size for group in groups)
    texts = [field.name for field in schema if _is_text(field.type)]
    wanted = texts + [field.name for field in schema if pa.types.is_nested(field.type)]
    if not wanted:
        return
    size = 0
    with ParquetFile(pa.BufferReader(data), read_dictionary=texts) as file:
        for batch in file.iter_batches(_ROWS, columns=wanted):
            for column in batch.columns:
                if pa.types.is_dictionary(column.type) and _is_text(column.type.value_type):
                    lengths = pc.binary_length(column.dictionary).cast(pa.int64())
                    size += pc.sum(lengths.take(column.indices)).as_py() or 0
                else:
                    size += column.nbytes
            yield rows, columns, size


def _is_text(kind: Any) -> bool:
    from pyarrow import types

    return any(
        each(kind)
        for each in (types.is_string, types.is_large_string, types.is_binary, types.is_large_binary)
    )


def _feather(data: bytes) -> FileSizes:
    """Batch by batch, as each of a Feather file says itself.

    Nothing is unpacked: a packed buffer begins with the bytes that it has when it is not.
    """
    import pyarrow as pa

    source = pa.BufferReader(data)
    columns = len(pa.ipc.open_file(source).schema)
    footer = _FlatTable(data, len(data) - 10 - struct.unpack_from("<i", data, len(data) - 10)[0])
    rows = size = 0
    for place, field in ((0, 2), (1, 3)):  # values that batches share, and the batches
        for offset, *_ in footer.structs(field, "<qiiq"):
            source.seek(offset)
            message = pa.ipc.read_message(source)
            batch = _FlatTable(message.metadata.to_pybytes()).table(2)
            batch = batch if place else batch.table(1)
            body = memoryview(message.body)
            packed = batch.has(3)
            rows += place * batch.number(0)
            for begin, length in batch.structs(2, "<qq"):
                said = struct.unpack_from("<q", body, begin)[0] if packed and length else -1
                size += length if said < 0 else said
            yield rows, columns, size


class _FlatTable:
    """A table of a flatbuffer, which Arrow's files describe themselves in: fields by their place.

    pyarrow does not tell how long a batch is without unpacking it.
    """

    def __init__(self, data: bytes, begin: int = 0, place: int | None = None) -> None:
        self.data = data
        self.place = begin + self._read("<I", begin) if place is None else place
        self.known = self.place - self._read("<i", self.place)

    def _read(self, form: str, place: int) -> int:
        return int(struct.unpack_from(form, self.data, place)[0])

    def _at(self, field: int) -> int:
        """Where a field is; 0 if it is not there."""
        inside = 4 + 2 * field < self._read("<H", self.known)
        away = self._read("<H", self.known + 4 + 2 * field) if inside else 0
        return self.place + away if away else 0

    def has(self, field: int) -> bool:
        return bool(self._at(field))

    def number(self, field: int) -> int:
        return self._read("<q", self._at(field)) if self.has(field) else 0

    def table(self, field: int) -> _FlatTable:
        at = self._at(field)
        return _FlatTable(self.data, place=at + self._read("<I", at))

    def structs(self, field: int, form: str) -> Iterator[tuple[int, ...]]:
        if self.has(field):
            at = self._at(field)
            at += self._read("<I", at)
            for place in range(self._read("<I", at)):
                yield struct.unpack_from(form, self.data, at + 4 + place * struct.calcsize(form))


def sheets_of(data: bytes, called: str) -> list[str]:
    """The sheets of a workbook, in order; none if the list of them is a book itself."""
    names: list[str] = []

    class Sheets(_WorkbookPart):
        def opened(self, name: str, attributes: dict[str, str]) -> None:
            if name == "sheet":
                names.append(attributes.get("name", ""))

    with _opened(data, called) as book:
        which = book.getinfo(_WORKBOOK)
        if which.file_size < _LIST:
            _parse(book, which, Sheets())
    return names


def _workbook(data: bytes, called: str) -> FileSizes:
    """FileSizes first, as the archive says them; then how far cells reach, and what they hold.

    Every part is looked at: a workbook may call any of them a sheet, wherever it lies.
    """
    with _opened(data, called) as book:
        parts = book.infolist()
        yield 0, 0, sum(each.file_size for each in parts)
        book.getinfo(_WORKBOOK)
        strings = _Strings()
        for each in parts:
            _parse(book, each, strings)
        unsaved = 0
        for each in parts:
            sheet = _Sheet(strings.lengths)
            for _ in _parsed(book, each, sheet):
                yield sheet.down, sheet.right, sheet.size
            unsaved += sheet.unsaved
    if unsaved:
        raise InputError(
            f"{called} has {unsaved:,} formulas whose results are not in the file. Open it in a "
            "spreadsheet program and save it there, or save it as CSV."
        )


@contextmanager
def _opened(data: bytes, called: str) -> Iterator[zipfile.ZipFile]:
    """A workbook's archive; what is wrong with it is refused in a sentence."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as book:
            yield book
    except (
        zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, KeyError,
        ElementTree.ParseError,
    ) as error:  # fmt: skip
        if isinstance(error, RecursionError):
            raise
        raise InputError(
            f"{called} is not an Excel workbook (.xlsx), or a damaged or locked one. Save it anew, "
            "without a password, or as CSV."
        ) from error


def _parsed(book: zipfile.ZipFile, which: zipfile.ZipInfo, part: _WorkbookPart) -> Iterator[None]:
    """Have a part of a workbook read as XML, a little at a time; a picture is passed over."""
    parser: Any = ElementTree.XMLParser(target=part)
    still = 0
    try:
        with book.open(which) as file:
            while chunk := file.read(_CHUNK):
                part.moved = False
                parser.feed(chunk)
                still = 0 if part.moved else still + len(chunk)
                if still > _MARKUP:  # some readers go over such markup again with every chunk
                    raise zipfile.BadZipFile("markup without an end")
                yield
        parser.close()
    except _Enough:
        pass
    except ElementTree.ParseError:
        if which.filename.lower().endswith(_XML):
            raise


def _parse(book: zipfile.ZipFile, which: zipfile.ZipInfo, part: _WorkbookPart) -> None:
    for _ in _parsed(book, which, part):
        pass


class _Enough(Exception):
    """Nothing else in this part matters."""


class _WorkbookPart:
    """Who hears of the elements of a part, as they come; none of them is kept.

    Elements are called by their names, whatever prefix they were written with.
    """

    moved = False

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        self.moved = True
        self.opened(tag.rpartition("}")[2], attributes)

    def end(self, tag: str) -> None:
        self.moved = True
        self.closed(tag.rpartition("}")[2])

    def data(self, text: str) -> None:
        self.moved = True
        self.heard(text)

    def doctype(self, *_: object) -> None:
        """Refused: no workbook has one, and what it declares may grow without an end."""
        raise zipfile.BadZipFile("a document type")

    def close(self) -> None:
        pass

    def opened(self, name: str, attributes: dict[str, str]) -> None:
        pass

    def closed(self, name: str) -> None:
        pass

    def heard(self, text: str) -> None:
        pass


class _Strings(_WorkbookPart):
    """The lengths of the texts that cells share."""

    def __init__(self) -> None:
        self.lengths, self.place, self.inside = array("q"), -1, False

    def opened(self, name: str, attributes: dict[str, str]) -> None:
        if name == "sst":
            self.place, self.inside = -1, True
        elif not self.inside:
            raise _Enough
        elif name == "si":
            self.place += 1
            if self.place == len(self.lengths):
                self.lengths.append(0)

    def closed(self, name: str) -> None:
        self.inside = self.inside and name != "sst"

    def heard(self, text: str) -> None:
        if self.inside and self.place >= 0:
            self.lengths[self.place] += len(text)


class _Sheet(_WorkbookPart):
    """How far the cells of a sheet reach, the texts in them, and formulas without a result."""

    def __init__(self, lengths: array[int]) -> None:
        self.lengths = lengths
        self.right = self.down = self.unsaved = self.size = 0
        self.row = self.column = self.depth = 0
        self.rows_depth = _NO_ROW
        self.kind, self.formula, self.value, self.text = "", False, False, ""

    def opened(self, name: str, attributes: dict[str, str]) -> None:
        self.depth += 1
        place = attributes.get("r", "")
        if name == "row":
            self.row = _number(place) or self.row + 1
            self.down, self.column = max(self.down, self.row), 0
            self.rows_depth = self.depth
        elif self.depth == self.rows_depth + 1:  # whatever it is called, it is taken for a cell
            letters = place.rstrip("0123456789")
            self.column = _column(letters) or self.column + 1
            self.right = max(self.right, self.column)
            self.down = max(self.down, _number(place[len(letters) :]))
            self.kind, self.text = attributes.get("t", ""), ""
            self.formula = self.value = False
        elif name == "f":
            self.formula = True
        elif name == "v":
            self.value = self.value or self.kind == "str"  # a result may be an empty text

    def heard(self, text: str) -> None:
        if self.depth > self.rows_depth + 1 and len(self.text) < 20:
            self.text += text

    def closed(self, name: str) -> None:
        if self.depth == self.rows_depth + 1:
            if self.kind == "s":
                place = _number(self.text)
                self.size += self.lengths[place] if place < len(self.lengths) else 0
            self.unsaved += self.formula and not self.value
        elif name == "v":
            self.value = self.value or bool(self.text.strip())
        elif name == "f":
            self.text = ""
        elif self.depth == self.rows_depth:
            self.rows_depth = _NO_ROW
        self.depth -= 1


def _number(text: str) -> int:
    """A number of a row or a text, however it is written; 0 if it is none."""
    try:
        return max(int(float(text)), 0)
    except (ValueError, OverflowError):
        return 0


def _column(letters: str) -> int:
    """The place of a column from its letters, counted from 1; 0 without any."""
    place = 0
    for letter in letters.upper():
        place = 26 * place + ord(letter) - 64
    return max(place, 0)


def describe_size(size: float) -> str:
    """Bytes as people say them.

    >>> describe_size(512_000_000), describe_size(1_540), describe_size(12)
    ('512 MB', '1.54 KB', '12 bytes')
    """
    for unit, n_bytes in (("GB", 10**9), ("MB", 10**6), ("KB", 10**3)):
        if size >= n_bytes:
            return f"{size / n_bytes:.3g} {unit}"
    return f"{size:.0f} bytes"
