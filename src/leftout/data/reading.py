"""Tables from files, as people have them."""

from __future__ import annotations

import gzip
import io
import os
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from leftout.data.cleaning import MISSING
from leftout.data.files.fetching import (
    BINARY,
    REGISTERED,
    TEXT,
    File,
    called,
    fetch,
    file_name,
    kind_of,
    short,
)
from leftout.data.files.guards import Most, check
from leftout.data.files.text import as_utf8, read_delimited, refuse_unnamed
from leftout.data.frames import mark_repeated, told_apart
from leftout.errors import InputError
from leftout.running import collected_warnings, warn
from leftout.text import listed, quoted, shown

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa


_SHOWN = 10  # sheets


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
            with collected_warnings() as notes:
                frame, file = _read(path, sheet, name or path, most)
            return cls(frame, name or path, file, tuple(notes))
        if sheet is not None:
            raise InputError(
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
    REGISTERED[suffix] = read


def _read(
    path: str, sheet: str | None, name: str, most: Most | None = None
) -> tuple[pd.DataFrame, File]:
    kind = kind_of(path)
    if sheet is not None and kind != ".xlsx":
        raise InputError(
            f"{called(name)} has no sheets: only Excel files do. Leave the sheet out, here "
            f"{shown(repr(sheet))}."
        )
    try:
        data, file = fetch(path)
        check(data, kind, called(name), most or Most.here())
        table, names = _parsed(data, kind, sheet, called(name))
    except ImportError as error:
        raise InputError(
            f"Reading {kind} needs a package that is not installed ({error.name or error}). "
            "Run: pip install 'leftout[files]'"
        ) from error
    except OSError as error:
        reason = (error.strerror or str(error)).strip().rstrip(".")
        raise InputError(f"{called(name)} cannot be read: {shown(reason)}.") from error
    except InputError:
        raise
    except Exception as error:  # whatever else the readers of pandas and others raise
        if isinstance(error, MemoryError | RecursionError):
            raise
        if "out of memory" in str(error):  # as pandas says it
            raise MemoryError from error
        raise InputError(
            f"{called(name)} cannot be read as a {kind} table: {short(error)}. Check the file."
        ) from error
    if not len(table) or not len(table.columns):
        rows = f"{len(table):,}" if len(table) else "no"
        raise InputError(
            f"{called(name)} has {rows} rows and {len(table.columns)} columns; a table with both "
            "is needed. Check the file."
        )
    return mark_repeated(table, names), replace(file, name=file_name(name))


def _parsed(
    data: bytes, kind: str, sheet: str | None, called: str
) -> tuple[pd.DataFrame, list[Any]]:
    """The table in the bytes of a file, and its columns' names, told apart."""
    if kind in REGISTERED:
        table = REGISTERED[kind](data)
        return table, list(table.columns)
    if kind not in TEXT:
        return read_excel(data, sheet, called) if kind == ".xlsx" else read_arrow(data, kind)
    text, encoding = as_utf8(gzip.decompress(data) if kind.endswith(".gz") else data, called)
    if encoding is not None:
        warn(f"{called} is not UTF-8 text; it was read as {encoding}.")
    return read_delimited(text, "\t" if ".tsv" in kind else ",", called)


def read_arrow(data: bytes, kind: str) -> tuple[pd.DataFrame, list[Any]]:
    """The table in a Parquet or Feather file, and the names of its columns, told apart."""
    import pyarrow as pa

    if kind == ".parquet":
        from pyarrow.parquet import ParquetFile

        table = ParquetFile(pa.BufferReader(data)).read()
    else:
        from pyarrow.feather import read_table

        table = read_table(pa.BufferReader(data))
    names = told_apart(table.column_names)
    if names != table.column_names:
        table = table.rename_columns(list(map(str, names)))
    frame = as_pandas(table)
    if frame.index.name is not None or type(frame.index).__name__ == "MultiIndex":
        frame = frame.reset_index()  # columns that pandas kept aside
    marked = {str(name): name for name in names}
    return frame, [marked.get(name, name) for name in frame.columns]


def as_pandas(table: pa.Table) -> pd.DataFrame:
    """A table of pyarrow's as one of pandas', with all that it holds."""
    import pandas as pd
    import pyarrow as pa

    # Whole numbers with gaps would become floats, which do not tell large ones apart.
    whole = {pa.int64(): pd.Int64Dtype(), pa.uint64(): pd.UInt64Dtype()}
    gaps = any(column.type in whole and column.null_count for column in table.columns)
    return table.to_pandas(date_as_object=False, types_mapper=whole.get if gaps else None)


def read_excel(data: bytes, sheet: str | None, called: str) -> tuple[pd.DataFrame, list[Any]]:
    """The table in a sheet of an Excel file, and the names in its first row, told apart."""
    import pandas as pd

    with pd.ExcelFile(io.BytesIO(data), engine="openpyxl") as book:
        sheet = _sheet(list(map(str, book.sheet_names)), sheet, called)
        # as they are: pandas would turn text such as 01234 into a number
        how: dict[str, Any] = {
            "sheet_name": sheet, "dtype": object, "na_values": list(MISSING),
            "keep_default_na": False,
        }  # fmt: skip
        header = pd.read_excel(book, header=None, nrows=1, **how)
        table = pd.read_excel(book, **how)
    names = [] if not len(header) else header.iloc[0].tolist()
    unnamed = [i for i, name in enumerate(table.columns) if str(name).startswith("Unnamed: ")]
    refuse_unnamed(unnamed, called)
    names = told_apart(names) if len(set(names)) < len(names) == table.shape[1] else []
    return table.infer_objects(), names or list(table.columns)


def _sheet(sheets: list[str], wanted: str | None, called: str) -> str:
    """The sheet that is wanted, or the first."""
    names = list(map(quoted, sheets[:_SHOWN]))
    names += [f"{len(sheets) - _SHOWN} more"] * (len(sheets) > _SHOWN)
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
