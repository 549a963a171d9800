"""Tables from files, as people have them."""

from __future__ import annotations

import csv
import gzip
import os
import re
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NamedTuple

from leftout.checks import Refusal
from leftout.tables.cleaning import CODE, MISSING
from leftout.wording import shortened, shown

if TYPE_CHECKING:
    import pandas as pd

_TEXT = (".csv", ".tsv", ".txt", ".csv.gz", ".tsv.gz", ".txt.gz")
_BINARY = {".parquet": "read_parquet", ".feather": "read_feather", ".xlsx": "read_excel"}
_SEPARATORS = (",", ";", "\t", "|")
# Marks at the start of a file in another encoding than UTF-8.
_UTF16 = (b"\xff\xfe", b"\xfe\xff")
# Records that the separator is guessed from, and bytes that are read at a time.
_TRIED, _PART = 20, 1 << 24
_ZERO = re.compile(rb"(^|[,;\t|\"\n ])[+-]?0\d")


class Source(NamedTuple):
    """A table, and the file that it came from if there is one."""

    table: Any
    path: str | None = None

    @classmethod
    def of(cls, table: Any) -> Source:
        """Whatever people call a table: a path is read, anything else taken as it is."""
        if isinstance(table, Source):
            return table
        if isinstance(table, str | os.PathLike):
            return cls(read_table(table), os.fspath(table))
        return cls(table)

    @property
    def name(self) -> str | None:
        return None if self.path is None else Path(self.path).name


def read_table(path: str | os.PathLike[str]) -> pd.DataFrame:
    """The table in a file; whatever is wrong with it is refused in one sentence or two.

    CSV (also with semicolons, tabs or bars; also gzipped), Parquet, Feather or Excel.
    """
    path = Path(path)
    kind = _kind(path)
    try:
        table = _read_binary(path, kind) if kind in _BINARY else _read_text(path, kind)
    except ImportError as error:
        raise Refusal(
            f"Reading {kind} needs a package that is not installed ({error.name or error}). "
            "Run: pip install 'leftout[files]'"
        ) from error
    except OSError as error:
        reason = (error.strerror or str(error)).strip().rstrip(".")
        raise Refusal(f"{_called(path)} cannot be read: {shown(reason)}.") from error
    except UnicodeDecodeError as error:
        raise Refusal(_not_utf8(path, f"byte {error.start:,} of a part of it")) from error
    except Refusal:
        raise
    except Exception as error:  # whatever else the readers of pandas and others raise
        if isinstance(error, MemoryError | RecursionError):
            raise
        raise Refusal(
            f"{_called(path)} cannot be read as a {kind} table: {_short(error)}. Check the file."
        ) from error
    if not len(table) or not len(table.columns):
        rows = f"{len(table):,}" if len(table) else "no"
        raise Refusal(
            f"{_called(path)} has {rows} rows and {len(table.columns)} columns; a table with both "
            "is needed. Check the file."
        )
    return table


def _kind(path: Path) -> str:
    try:
        exists, folder = path.exists(), path.is_dir()
    except (OSError, ValueError) as error:  # a name that no system takes
        reason = getattr(error, "strerror", None) or _short(error)
        raise Refusal(f"{_called(path)} is not a path to a file: {reason}.") from error
    if not exists:
        raise Refusal(f"There is no file {_called(path, whole=True)}. Check the path.")
    if folder:
        raise Refusal(
            f"{_called(path, whole=True)} is a folder; a table is needed. Name the file in it."
        )
    kind = "".join(path.suffixes[-2:]).lower()
    kind = kind if kind in _TEXT else path.suffix.lower()
    if kind not in _TEXT and kind not in _BINARY:
        raise Refusal(
            f"{_called(path)} is of a kind that is not known here. Tables may be CSV or TSV (also "
            "with .gz), Parquet, Feather or Excel (.xlsx)."
        )
    return kind


def _read_binary(path: Path, kind: str) -> pd.DataFrame:
    import pandas as pd

    table = getattr(pd, _BINARY[kind])(path)
    if table.index.name is not None or type(table.index).__name__ == "MultiIndex":
        table = table.reset_index()  # columns that pandas kept aside
    if kind == ".xlsx":
        unnamed = [i for i, name in enumerate(table.columns) if str(name).startswith("Unnamed: ")]
        _refuse_unnamed(path, unnamed)
    return table


def _read_text(path: Path, kind: str) -> pd.DataFrame:
    import pandas as pd

    header, separator = _header(path, "\t" if ".tsv" in kind else ",")
    how: dict[str, Any] = {
        "sep": separator, "na_values": list(MISSING), "keep_default_na": False,
        "encoding": "utf-8-sig", "skipinitialspace": True, "index_col": False,
        "low_memory": False, "on_bad_lines": "error",
    }  # fmt: skip
    table = pd.read_csv(path, **how)
    numeric = [name for name, dtype in table.dtypes.items() if dtype.kind in "iuf"]
    if numeric and _has_codes(path):  # as they were written, they may be codes
        written = pd.read_csv(path, **how, usecols=numeric, dtype=str)
        for name in numeric:
            if written[name].str.match(CODE.pattern).any():
                table[name] = written[name]
    # Short rows are filled up without a word, and only then does a last cell lack its value.
    if len(header) > 1 and (not len(table) or table.iloc[:, -1].isna().any()):
        _refuse_ragged(path, separator, len(header))
    return table


def _header(path: Path, usual: str) -> tuple[list[str], str]:
    """The names of the first line, and what separates them."""
    with _opened(path) as file:
        start = file.read(1 << 16)
    if start.startswith(_UTF16):
        raise Refusal(_not_utf8(path, "it looks like UTF-16"))
    if b"\0" in start:
        raise Refusal(
            f"{_called(path)} holds binary data, not text; a table is needed. If it is a "
            "spreadsheet, save it as CSV or .xlsx."
        )
    if not start.strip():
        raise Refusal(f"{_called(path)} is empty; a table with names and rows is needed.")
    separator = _separator(start.decode("utf-8-sig", errors="replace"), usual)
    records = _records(path, separator)
    names, second = (next(records, (0, []))[1] for _ in range(2))
    _refuse_unnamed(path, [i for i, name in enumerate(names) if not name.strip()])
    twice = [name for name, times in Counter(names).items() if times > 1]
    if twice:
        raise Refusal(
            f"{_called(path)} has several columns named {shown(repr(twice[0]))}; names must be "
            "unique. Rename or remove all but one."
        )
    if len(second) > len(names):
        raise Refusal(
            f"{_called(path)} has {len(second):,} fields in its first row but {len(names):,} names "
            "above them. Name every column."
        )
    return names, separator


def _separator(start: str, usual: str) -> str:
    """The mark that cuts the first records into as many fields each, and most."""
    best, most = usual, 1
    for separator in (usual, *_SEPARATORS):
        rows = csv.reader(start.splitlines(keepends=True), delimiter=separator)
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


def _has_codes(path: Path) -> bool:
    """Whether a field of the file begins with a zero and another digit."""
    with _opened(path) as file:
        while part := file.read(_PART):
            if _ZERO.search(part):
                return True
    return False


def _refuse_unnamed(path: Path, places: list[int]) -> None:
    if places:
        raise Refusal(
            f"{_called(path)}: column {places[0] + 1} has no name; every column needs one. Name "
            "it, or remove it (a row number that pandas wrote goes with to_csv(index=False))."
        )


def _refuse_ragged(path: Path, separator: str, fields: int) -> None:
    for line, row in _records(path, separator):
        if len(row) != fields:
            raise Refusal(
                f"{_called(path)} has {len(row):,} field(s) in line {line:,} where the first line "
                f"has {fields:,}; every line needs the same number. Correct that one."
            )


def _opened(path: Path) -> IO[bytes]:
    return _opener(path)(path, "rb")


def _records(path: Path, separator: str) -> Iterator[tuple[int, list[str]]]:
    """Line number and fields of each record, up to a cell of more than the csv module takes."""
    with _opener(path)(path, "rt", encoding="utf-8-sig", errors="replace", newline="") as file:
        rows = csv.reader(file, delimiter=separator, skipinitialspace=True)
        with suppress(csv.Error):  # that limit is the process's, and not ours to change
            yield from ((rows.line_num, row) for row in rows if row)


def _opener(path: Path) -> Any:
    return gzip.open if path.suffix.lower() == ".gz" else open


def _not_utf8(path: Path, where: str) -> str:
    return (
        f"{_called(path)} is not UTF-8 text ({where}). Save it as UTF-8, in a spreadsheet with "
        "'CSV UTF-8'."
    )


def _called(path: Path, whole: bool = False) -> str:
    return shortened(shown(repr(str(path) if whole else path.name)))


def _short(error: Exception) -> str:
    text = str(error).strip()
    return shown(text.splitlines()[0][:200].rstrip(".")) if text else type(error).__name__
