"""Tables from files, as people have them: a reader for each format, within limits on its size."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from leftout.errors import InputError, parameter_label
from leftout.files import Serializable
from leftout.running import available_memory, collected_warnings
from leftout.text import quoted, shown

if TYPE_CHECKING:
    import pandas as pd

TEXT = (".csv", ".tsv", ".txt", ".csv.gz", ".tsv.gz", ".txt.gz")
BINARY = (".parquet", ".feather", ".xlsx")
# More than one letter before the colon: a single one is a drive.
_ADDRESS = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+)://")
# Of the available memory: bytes that a cell takes while a table is read and audited, and the
# fraction that the unpacked bytes of a file may be.
_BYTES_PER_CELL, _MEMORY_FRACTION = 68, 4
_SIZE = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([kmgt]?)(i?)b?\s*", re.IGNORECASE)


class Source(NamedTuple):
    """A table, and where it came from.

    ``path`` and ``file`` are None for a table in memory; ``file`` tells the file read from any
    other, and ``notes`` are what people should know of how it was read.
    """

    table: Any
    path: str | None = None
    file: File | None = None
    notes: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        table: Any,
        sheet: str | None = None,
        name: str | None = None,
        limits: TableLimits | None = None,
    ) -> Source:
        """Whatever people call a table: a path is read, anything else taken as it is.

        ``name`` is what to call a file that lies under another name here, and ``limits`` what a
        file may hold; by default what this machine takes.
        """
        if isinstance(table, str | os.PathLike):
            path = os.fspath(table)
            with collected_warnings() as notes:
                frame, file = _read(path, sheet, name or path, limits)
            return cls(frame, name or path, file, tuple(notes))
        if sheet is not None:
            raise InputError(
                f"sheet={sheet!r} names a sheet of an Excel file, but the table is in memory. Pass "
                "the path of the file, or leave the sheet out."
            )
        return table if isinstance(table, Source) else cls(table)

    @property
    def name(self) -> str | None:
        return None if self.path is None else Path(self.path).name


def read_table(path: str | os.PathLike[str], sheet: str | None = None) -> pd.DataFrame:
    r"""The table in a file; whatever is wrong with it is refused in one sentence or two.

    It may be CSV (also with semicolons, tabs or bars; also gzipped), Parquet, Feather or Excel,
    of which the first ``sheet`` is read unless another is named.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "people.csv")
    ...     written = path.write_text("name;code;income\nAda;07;1,5\nBo;11;2,25\n")
    ...     read_table(path)
      name code income
    0  Ada   07    1,5
    1   Bo   11   2,25
    """
    return _read(os.fspath(path), sheet, os.fspath(path))[0]


def _read(
    path: str, sheet: str | None, name: str, limits: TableLimits | None = None
) -> tuple[pd.DataFrame, File]:
    check_there(path)
    suffix = suffix_of(Path(path).name)
    limits = limits or TableLimits.here()
    if sheet is not None and suffix != ".xlsx":
        raise InputError(
            f"{called(name)} has no sheets: only Excel files do. Leave the sheet out, here "
            f"{shown(repr(sheet))}."
        )
    with reading(path, suffix, name, "files"):
        data, file = fetch(path)
        if not data:
            raise InputError(f"{called(name)} is empty; a table with names and rows is needed.")
        options = {} if sheet is None else {"sheet": sheet}
        table = FORMATS[suffix](data, called(name), limits, **options)
    if not len(table) or not len(table.columns):
        rows = f"{len(table):,}" if len(table) else "no"
        raise InputError(
            f"{called(name)} has {rows} rows and {len(table.columns)} columns; a table with both "
            "is needed. Check the file."
        )
    limits.check_shape(len(table), len(table.columns), called(name))
    return table, replace(file, name=Path(name).name)


@contextmanager
def reading(path: str, kind: str, name: str = "", extra: str = "scale") -> Iterator[None]:
    """A context in which whatever goes wrong with a file of a kind is refused in one sentence.

    ``name`` is what to call it, if not by its own, and ``extra`` has the packages that it takes.
    """
    try:
        yield
    except (InputError, MemoryError, RecursionError):
        raise
    except ImportError as error:
        raise InputError(
            f"Reading {kind} needs a package that is not installed ({error.name or error}). "
            f"Run: pip install 'leftout[{extra}]'"
        ) from error
    except FileNotFoundError as error:
        raise InputError(
            f"There is no file {quoted(path)} any more; workers of a cluster need the same files "
            "at the same paths. Put it back, and run this again."
        ) from error
    except Exception as error:  # whatever readers raise: each has errors of its own
        if "out of memory" in str(error):  # as pandas says it
            raise MemoryError from error
        reason = shown(getattr(error, "strerror", None) or "").rstrip(".") or short(error)
        raise InputError(
            f"{called(name or path)} cannot be read as a {kind} table: {reason}. Check the file."
        ) from error


def _read_by(function: str, *given: Any, **options: Any) -> Any:
    """A table, by a reader that is imported here: the page knows formats without pandas."""
    return getattr(import_module("leftout.data.formats"), function)(*given, **options)


# Readers take the bytes of a file, its name in a sentence, and limits on its size.
FORMATS: dict[str, Callable[..., Any]] = {
    ".parquet": partial(_read_by, "read_parquet"),
    ".feather": partial(_read_by, "read_feather"),
    ".xlsx": partial(_read_by, "read_excel"),
} | dict.fromkeys(TEXT, partial(_read_by, "read_text"))


def register_format(suffix: str, read: Callable[[bytes], pd.DataFrame]) -> None:
    """Read files of one more kind, wherever a table is asked for.

    Parameters
    ----------
    suffix : str
        How the names of such files end, with the dot: ``".jsonl"``.
    read : function of bytes
        The table in a file, as a pandas DataFrame. Whatever it raises is told in one sentence.
    """
    suffix = suffix.lower()
    if not suffix.startswith(".") or suffix.count(".") > 1 or suffix in (*TEXT, *BINARY):
        raise InputError(
            f"{suffix!r} cannot be registered: give one suffix with its dot, such as '.jsonl', "
            "that is not read already."
        )
    FORMATS[suffix] = lambda data, called, limits: read(data)


def suffix_of(name: str) -> str:
    """The known suffix of a file's name, the longest that fits; refuses one of another kind."""
    known = sorted(FORMATS, key=len, reverse=True)
    found = next((suffix for suffix in known if name[1:].lower().endswith(suffix)), None)
    if found is None:
        raise InputError(
            f"{quoted(name)} is of a kind that is not known here. Tables may be CSV or TSV (also "
            "with .gz), Parquet, Feather or Excel (.xlsx)."
        )
    return found


@dataclass(frozen=True)
class File(Serializable):
    """What tells a file from any other: the checksum and size are those of the bytes read.

    ``modified`` is when it was changed last, in UTC.
    """

    name: str
    sha256: str
    bytes: int
    modified: str | None = None


def fetch(path: str) -> tuple[bytes, File]:
    """All bytes of a file, which is opened once, and what tells it from others."""
    check_there(path)
    with open(path, "rb") as file:
        data, found = file.read(), os.fstat(file.fileno())
    modified = datetime.fromtimestamp(found.st_mtime, UTC).isoformat(timespec="seconds")
    return data, File(Path(path).name, hashlib.sha256(data).hexdigest(), len(data), modified)


def called(path: str) -> str:
    """A file's name in a sentence."""
    return quoted(Path(path).name)


def short(error: Exception) -> str:
    """The first line of what an error says."""
    text = str(error).strip()
    return shown(text.splitlines()[0][:200].rstrip(".")) if text else type(error).__name__


def refuse_address(path: str) -> None:
    """Refuse an address such as ``https://`` or ``s3://``."""
    if address := _ADDRESS.match(path):
        raise InputError(
            f"Tables are read from files on this machine, not from {address[0]} addresses. "
            "Download the file first."
        )


def check_there(path: str) -> None:
    """Refuse a path that is not that of a file here."""
    refuse_address(path)
    try:
        exists, folder = Path(path).exists(), Path(path).is_dir()
    except (OSError, ValueError) as error:  # a name that no system takes
        reason = getattr(error, "strerror", None) or short(error)
        raise InputError(f"{called(path)} is not a path to a file: {reason}.") from error
    if not exists:
        raise InputError(f"There is no file {quoted(path)}. Check the path.")
    if folder:
        raise InputError(f"{quoted(path)} is a folder; a table is needed. Name the file in it.")


@dataclass(frozen=True, kw_only=True)
class TableLimits:
    """Limits on a file: unpacked bytes, columns, and cells (rows times columns)."""

    unpacked: int = 4 * 10**9
    columns: int = 5_000
    cells: int = 200_000_000

    @classmethod
    def here(cls) -> TableLimits:
        """On this machine: more where it has more memory; columns are counted by the audit."""
        memory = available_memory()
        return cls(
            unpacked=max(cls.unpacked, memory // _MEMORY_FRACTION),
            columns=10**9,
            cells=max(cls.cells, memory // _BYTES_PER_CELL),
        )

    def check_shape(self, rows: int, columns: int, called: str) -> None:
        """Refuse more columns or cells than are read; there may be more rows than these."""
        if columns > self.columns:
            raise InputError(
                f"{called} has {columns:,} columns; an audit takes at most {self.columns:,}. Keep "
                "those that matter."
            )
        if rows * columns > self.cells:
            raise InputError(
                f"{called} has at least {rows:,} rows of {columns:,} columns, which is more than "
                f"the {self.cells:,} cells that are taken here. Keep a part of the rows, or of the "
                "columns."
            )

    def check_bytes(self, size: int, called: str) -> None:
        """Refuse more unpacked bytes than are read."""
        if size > self.unpacked:
            raise InputError(
                f"{called} holds more than {describe_size(self.unpacked)} when it is unpacked, "
                "which is the most that is taken here. Keep a part of it."
            )


def describe_size(size: float) -> str:
    """Bytes in words.

    >>> describe_size(512_000_000), describe_size(1_540), describe_size(12)
    ('512 MB', '1.54 KB', '12 bytes')
    """
    for unit, n_bytes in (("GB", 10**9), ("MB", 10**6), ("KB", 10**3)):
        if size >= n_bytes:
            return f"{size / n_bytes:.3g} {unit}"
    return f"{size:.0f} bytes"


def n_bytes(size: int | str, name: str) -> int:
    """Bytes as people write them, of the parameter of this name.

    >>> n_bytes("2GB", "memory"), n_bytes("512 MiB", "memory"), n_bytes(1000, "memory")
    (2000000000, 536870912, 1000)
    """
    found = _SIZE.fullmatch(str(size))
    if found is None or float(found[1]) <= 0.0:
        raise InputError(
            f"{parameter_label(name, size)} is no size; give one such as 512MB or 2GB."
        )
    power = " kmgt".index(found[2].lower() or " ")
    return int(float(found[1]) * (1024 if found[3] else 1000) ** power)
