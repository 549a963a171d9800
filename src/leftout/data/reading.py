"""Tables from files, as people have them."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from leftout.data.files.fetching import File, called, fetch, short
from leftout.data.files.formats import FORMATS, format_of
from leftout.data.files.limits import TableLimits
from leftout.errors import InputError
from leftout.running import collected_warnings
from leftout.text import shown

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

    Parameters
    ----------
    path : path
        CSV (also with semicolons, tabs or bars; also gzipped), Parquet, Feather or Excel.
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
    path: str, sheet: str | None, name: str, limits: TableLimits | None = None
) -> tuple[pd.DataFrame, File]:
    suffix, limits = format_of(path), limits or TableLimits.here()
    if sheet is not None and suffix != ".xlsx":
        raise InputError(
            f"{called(name)} has no sheets: only Excel files do. Leave the sheet out, here "
            f"{shown(repr(sheet))}."
        )
    try:
        data, file = fetch(path)
        if not data:
            raise InputError(f"{called(name)} is empty; a table with names and rows is needed.")
        options = {} if sheet is None else {"sheet": sheet}
        table = FORMATS[suffix](data, called(name), limits, **options)
    except ImportError as error:
        raise InputError(
            f"Reading {suffix} needs a package that is not installed ({error.name or error}). "
            "Run: pip install 'leftout[files]'"
        ) from error
    except OSError as error:
        reason = (error.strerror or str(error)).strip().rstrip(".")
        raise InputError(f"{called(name)} cannot be read: {shown(reason)}.") from error
    except (InputError, MemoryError, RecursionError):
        raise
    except Exception as error:  # whatever else readers raise
        if "out of memory" in str(error):  # as pandas says it
            raise MemoryError from error
        raise InputError(
            f"{called(name)} cannot be read as a {suffix} table: {short(error)}. Check the file."
        ) from error
    if not len(table) or not len(table.columns):
        rows = f"{len(table):,}" if len(table) else "no"
        raise InputError(
            f"{called(name)} has {rows} rows and {len(table.columns)} columns; a table with both "
            "is needed. Check the file."
        )
    limits.check_shape(len(table), len(table.columns), called(name))
    return table, replace(file, name=Path(name).name)
