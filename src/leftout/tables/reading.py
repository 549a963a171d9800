"""Tables from files, as people have them."""

from __future__ import annotations

import gzip
import os
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from leftout.checks import Refusal
from leftout.running import collected_notes, note
from leftout.tables.files.decoding import as_utf8
from leftout.tables.files.delimited import read_delimited
from leftout.tables.files.fetching import TEXT, File, called, fetch, file_name, kind_of, short
from leftout.tables.files.guards import Most, check
from leftout.tables.files.stored import read_arrow, read_excel
from leftout.tables.frames import mark_repeated
from leftout.wording import shown

if TYPE_CHECKING:
    import pandas as pd


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
        most: Most | None = None,
    ) -> Source:
        """Whatever people call a table: a path is read, anything else taken as it is.

        ``name`` is what to call a file that lies under another name here, and ``most`` what a file
        may hold; by default what this machine takes.
        """
        if isinstance(table, str | os.PathLike):
            path = os.fspath(table)
            with collected_notes() as notes:
                frame, file = _read(path, sheet, name or path, most)
            return cls(frame, name or path, file, tuple(notes))
        if sheet is not None:
            raise Refusal(
                f"sheet={sheet!r} names a sheet of an Excel file, but the table is in memory. Pass "
                "the path of the file, or leave the sheet out."
            )
        return table if isinstance(table, Source) else cls(table)

    @property
    def name(self) -> str | None:
        return None if self.path is None else file_name(self.path)


def read_table(path: str | os.PathLike[str], sheet: str | None = None) -> pd.DataFrame:
    r"""The table in a file; whatever is wrong with it is refused in one sentence or two.

    Parameters
    ----------
    path : path or address
        CSV (also with semicolons, tabs or bars; also gzipped), Parquet, Feather or Excel; at an
        address such as ``https://`` or ``s3://`` where fsspec is installed.
    sheet : str or None
        The sheet of an Excel file; None: the first.

    Examples
    --------
    >>> from pathlib import Path
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
    path: str, sheet: str | None, name: str, most: Most | None = None
) -> tuple[pd.DataFrame, File]:
    kind = kind_of(path)
    if sheet is not None and kind != ".xlsx":
        raise Refusal(
            f"{called(name)} has no sheets: only Excel files do. Leave the sheet out, here "
            f"{shown(repr(sheet))}."
        )
    try:
        data, file = fetch(path)
        check(data, kind, called(name), most or Most.here())
        table, names = _parsed(data, kind, sheet, called(name))
    except ImportError as error:
        raise Refusal(
            f"Reading {kind} needs a package that is not installed ({error.name or error}). "
            "Run: pip install 'leftout[files]'"
        ) from error
    except OSError as error:
        reason = (error.strerror or str(error)).strip().rstrip(".")
        raise Refusal(f"{called(name)} cannot be read: {shown(reason)}.") from error
    except Refusal:
        raise
    except Exception as error:  # whatever else the readers of pandas and others raise
        if isinstance(error, MemoryError | RecursionError):
            raise
        if "out of memory" in str(error):  # as pandas says it
            raise MemoryError from error
        raise Refusal(
            f"{called(name)} cannot be read as a {kind} table: {short(error)}. Check the file."
        ) from error
    if not len(table) or not len(table.columns):
        rows = f"{len(table):,}" if len(table) else "no"
        raise Refusal(
            f"{called(name)} has {rows} rows and {len(table.columns)} columns; a table with both "
            "is needed. Check the file."
        )
    return mark_repeated(table, names), replace(file, name=file_name(name))


def _parsed(
    data: bytes, kind: str, sheet: str | None, called: str
) -> tuple[pd.DataFrame, list[Any]]:
    """The table in the bytes of a file, and its columns' names, told apart."""
    if kind not in TEXT:
        return read_excel(data, sheet, called) if kind == ".xlsx" else read_arrow(data, kind)
    text, encoding = as_utf8(gzip.decompress(data) if kind.endswith(".gz") else data, called)
    if encoding is not None:
        note(f"{called} is not UTF-8 text; it was read as {encoding}.")
    return read_delimited(text, "\t" if ".tsv" in kind else ",", called)
