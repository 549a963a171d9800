"""Tables from files, as people have them."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

_TEXT = (".csv", ".tsv", ".txt", ".csv.gz", ".tsv.gz", ".txt.gz")
_BINARY = {".parquet": "read_parquet", ".feather": "read_feather", ".xlsx": "read_excel"}
_SEPARATORS = (",", ";", "\t", "|")
_MISSING = ["?"]  # beside what pandas takes as missing: empty, NA, NaN, null and others


def read_table(path: str | Path) -> pd.DataFrame:
    """The table in a file: CSV (also with semicolons, tabs or bars; also gzipped), Parquet, Feather
    or Excel.

    Whatever is wrong with it is a ValueError of one sentence.
    """  # fmt: skip
    import pandas as pd

    path = Path(path)
    if not path.exists():
        raise ValueError(f"There is no file {str(path)!r}. Check the path.")
    if path.is_dir():
        raise ValueError(f"{str(path)!r} is a folder; a table is needed. Name the file in it.")
    kind = "".join(path.suffixes[-2:]).lower()
    kind = kind if kind in _TEXT else path.suffix.lower()
    if kind not in _TEXT and kind not in _BINARY:
        raise ValueError(
            f"{path.name!r} is of a kind that is not known here. Tables may be CSV or TSV (also "
            "with .gz), Parquet, Feather or Excel (.xlsx)."
        )
    try:
        if kind in _BINARY:
            table = getattr(pd, _BINARY[kind])(path)
        else:
            separator = _separator(path, "\t" if ".tsv" in kind else ",")
            table = pd.read_csv(path, sep=separator, na_values=_MISSING, skipinitialspace=True)
    except ImportError as error:
        raise ValueError(
            f"Reading {kind} needs a package that is not installed ({error.name or error}). "
            "Run: pip install 'leftout[files]'"
        ) from error
    except OSError as error:
        raise ValueError(f"{path.name!r} cannot be read: {error.strerror or error}.") from error
    except UnicodeDecodeError as error:
        raise ValueError(
            f"{path.name!r} is not UTF-8 text (byte {error.start}). Save it as UTF-8."
        ) from error
    except (ValueError, EOFError) as error:  # pandas' parser errors are ValueErrors
        raise ValueError(f"{path.name!r} is no table that can be read: {_short(error)}.") from error
    return _checked(table, path, text=kind not in _BINARY)


def _checked(table: Any, path: Path, *, text: bool) -> Any:
    if text and not _counted(table):
        raise ValueError(
            f"{path.name!r} has more fields in its rows than names in its first line. Name every "
            "column."
        )
    if not len(table) or not len(table.columns):
        raise ValueError(
            f"{path.name!r} has {len(table)} rows and {len(table.columns)} columns; a table with "
            "both is needed."
        )
    return table


def _counted(table: Any) -> bool:
    """Whether rows are numbered, as they are unless a column was taken for their names."""
    return bool(table.index.name is None and type(table.index).__name__ == "RangeIndex")


def _separator(path: Path, usual: str) -> str:
    """What separates the names of the header."""
    opened = gzip.open(path, "rb") if path.suffix == ".gz" else open(path, "rb")
    with opened as file:
        header = file.readline(1 << 20).decode("utf-8", errors="replace")
    counts = {separator: header.count(separator) for separator in _SEPARATORS}
    most = max(_SEPARATORS, key=lambda separator: counts[separator])
    return most if counts[most] > counts[usual] else usual


def _short(error: Exception) -> str:
    return str(error).strip().splitlines()[0].rstrip(".") if str(error).strip() else "it is empty"
