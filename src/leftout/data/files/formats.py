"""The formats that tables are read from: a reader for each suffix of a file's name."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from leftout.data.files.fetching import check_there, is_stream
from leftout.errors import InputError
from leftout.text import quoted

if TYPE_CHECKING:
    import pandas as pd

    from leftout.data.files.limits import TableLimits

TEXT = (".csv", ".tsv", ".txt", ".csv.gz", ".tsv.gz", ".txt.gz")
BINARY = (".parquet", ".feather", ".xlsx")


def _reader(module: str, function: str, **options: Any) -> Callable[..., pd.DataFrame]:
    """A reader, imported when it reads: the page knows formats without a library of numbers."""

    def read(data: bytes, called: str, limits: TableLimits, **more: Any) -> pd.DataFrame:
        reader = getattr(import_module(f"leftout.data.files.{module}"), function)
        return reader(data, called, limits, **options, **more)

    return read


# Readers take the bytes of a file, its name in a sentence, and limits on its size.
FORMATS: dict[str, Callable[..., Any]] = {
    ".parquet": _reader("arrow", "read_parquet"),
    ".feather": _reader("arrow", "read_feather"),
    ".xlsx": _reader("excel", "read_excel"),
} | {
    suffix: _reader(
        "text",
        "read_text",
        separator="\t" if ".tsv" in suffix else ",",
        gzipped=suffix.endswith(".gz"),
    )
    for suffix in TEXT
}


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


def format_of(path: str) -> str:
    """The format of a file, by its suffix; refuses what is not there, a folder, or unknown."""
    if is_stream(path):
        return ".csv"
    check_there(path)
    return suffix_of(Path(path).name)


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
