"""A file looked at before it is opened: how much is in it, and may it be what it says?

Readers of tables make whatever a file asks for: a small one can ask for more than a machine has.
"""

from __future__ import annotations

import re
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any
from xml.etree import ElementTree

from leftout.checks import Refusal
from leftout.page.limits import Limits, told_size
from leftout.wording import shortened, shown

_CHUNK = 1 << 20
# A first line is looked at up to here, and a list of sheets.
_FIRST, _SHEETS = 1 << 26, 1 << 22
_PLACE = re.compile(rb'<c\b[^>]*?\br="([A-Z]{1,3})(\d{1,7})"')
_EMPTY_FORMULA = re.compile(rb"</f>\s*(?:<v\s*/>|<v>\s*</v>|</c>)")
_TAIL = 256


def check(path: Path, name: str, limits: Limits) -> None:
    """Refuse a file that holds too much, or is not what its name says."""
    called = shortened(shown(repr(name)))
    kind = path.name.removeprefix("table")
    if not path.stat().st_size:
        raise Refusal(f"{called} is empty; a table with names and rows is needed.")
    if kind == ".xlsx":
        _check_workbook(path, called, limits)
    elif kind in (".parquet", ".feather"):
        _check_arrow(path, called, kind, limits)
    else:
        _check_text(path, called, kind, limits)


def check_size(rows: int, columns: int, called: str, limits: Limits) -> None:
    """Refuse more columns or cells than a page audits."""
    if columns > limits.columns:
        raise Refusal(
            f"{called} has {columns:,} columns; an audit takes at most {limits.columns:,}. Keep "
            "those that matter."
        )
    if rows * columns > limits.cells:
        raise Refusal(
            f"{called} has {rows:,} rows of {columns:,} columns, {rows * columns:,} cells; this "
            f"page takes at most {limits.cells:,}. Keep a part of the rows, or of the columns."
        )


def sheets_of(path: Path) -> list[str]:
    """The sheets of a workbook, in order; none of any other file."""
    if path.suffix != ".xlsx":
        return []
    with zipfile.ZipFile(path) as book:
        if book.getinfo("xl/workbook.xml").file_size > _SHEETS:
            return []
        root = ElementTree.fromstring(book.read("xl/workbook.xml"))
    return [each.get("name", "") for each in root.iter() if each.tag.endswith("}sheet")]


def _check_text(path: Path, called: str, kind: str, limits: Limits) -> None:
    """Columns by the first line, and rows by the lines: more than there are, if cells have some."""
    first, lines, size, whole = bytearray(), 0, 0, False
    for chunk in _unpacked(path, called) if kind.endswith(".gz") else _chunks(path):
        size += len(chunk)
        lines += chunk.count(b"\n")
        if not whole:
            start, newline, _ = chunk.partition(b"\n")
            first += start
            whole = bool(newline and first.strip()) or len(first) > _FIRST
            columns = 1 + max(first.count(mark) for mark in (b",", b";", b"\t", b"|"))
            if columns > limits.columns:
                check_size(1, columns, called, limits)
        if size > limits.unpacked:
            raise _too_much(called, limits)
        if lines * columns > 2 * limits.cells:  # a cell of text may hold lines itself
            check_size(lines, columns, called, limits)


def _chunks(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            yield chunk


def _unpacked(path: Path, called: str) -> Iterator[bytes]:
    """What a gzipped file holds, a little at a time."""
    machine = zlib.decompressobj(wbits=31)
    try:
        for chunk in _chunks(path):
            while chunk:
                yield machine.decompress(chunk, _CHUNK)
                chunk = machine.unconsumed_tail
                if machine.eof:
                    chunk = machine.unused_data
                    machine = zlib.decompressobj(wbits=31) if chunk.strip(b"\0") else machine
                    chunk = chunk if chunk.strip(b"\0") else b""
    except zlib.error as error:
        raise Refusal(
            f"{called} is not what its name says: it is no gzip file, or a damaged one. Check it."
        ) from error
    if not machine.eof:
        raise Refusal(f"{called} ends too early: it was cut off on its way. Fetch it again.")


def _check_arrow(path: Path, called: str, kind: str, limits: Limits) -> None:
    try:
        import pyarrow as pa
        from pyarrow.parquet import ParquetFile
    except ImportError:
        return  # the reader says what is missing
    try:
        if kind == ".parquet":
            facts: Any = ParquetFile(path).metadata
            rows, columns = facts.num_rows, facts.num_columns
            groups = (facts.row_group(place) for place in range(facts.num_row_groups))
            size = sum(group.total_byte_size for group in groups)
        else:
            with pa.memory_map(str(path)) as source:
                rows, columns, size = 0, len(pa.ipc.open_file(source).schema), 0
    except (pa.ArrowException, OSError, ValueError) as error:
        raise Refusal(
            f"{called} is not what its name says: it cannot be read as {kind[1:].title()}. Check "
            "the file."
        ) from error
    check_size(rows, columns, called, limits)
    if size > limits.unpacked:
        raise _too_much(called, limits)


def _check_workbook(path: Path, called: str, limits: Limits) -> None:
    """Sizes first, as the archive says them; then how far cells reach, and what formulas hold."""
    try:
        with zipfile.ZipFile(path) as book:
            names = book.infolist()
            if sum(each.file_size for each in names) > limits.unpacked:
                raise _too_much(called, limits)
            if "xl/workbook.xml" not in book.namelist():
                raise zipfile.BadZipFile
            for each in names:
                if re.fullmatch(r"xl/worksheets/[^/]+\.xml", each.filename):
                    with book.open(each) as sheet:
                        _check_sheet(sheet, called, limits)
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as error:
        raise Refusal(
            f"{called} is not an Excel workbook (.xlsx), or a damaged or locked one. Save it anew, "
            "without a password, or as CSV."
        ) from error


def _check_sheet(sheet: IO[bytes], called: str, limits: Limits) -> None:
    right, down, unsaved, tail = 0, 0, 0, b""
    while chunk := sheet.read(_CHUNK):
        text = tail + chunk
        cut = text.rfind(b"<", max(0, len(text) - _TAIL))
        text, tail = (text[:cut], text[cut:]) if cut > 0 else (text, b"")
        for letters, number in _PLACE.findall(text):
            place = 0
            for letter in letters:
                place = 26 * place + letter - 64
            right, down = max(right, place), max(down, int(number))
        unsaved += len(_EMPTY_FORMULA.findall(text))
        check_size(down, right, called, limits)
    if unsaved:
        raise Refusal(
            f"{called} has {unsaved:,} formulas whose results are not in the file. Open it in a "
            "spreadsheet program and save it there, or save it as CSV."
        )


def _too_much(called: str, limits: Limits) -> Refusal:
    return Refusal(
        f"{called} holds more than {told_size(limits.unpacked)} when it is unpacked, which is the "
        "most this page takes. Keep a part of it."
    )
