"""Find the paper's tables in a folder, under the names that they are downloaded by."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from leftout.checks import Refusal
from leftout.reproduce.known import ALSO, Known, letters
from leftout.tables.reading import read_table
from leftout.wording import counted, listed, shortened, shown

if TYPE_CHECKING:
    import pandas as pd

_TEXT = (".csv", ".tsv", ".txt")
_KINDS = (
    *(f"{kind}.gz" for kind in _TEXT), *_TEXT, ".parquet", ".feather", ".xlsx", ".xls"
)  # fmt: skip
_NAMED = 5
# What damaged, encrypted or unreadable archives raise.
_BROKEN = (OSError, EOFError, RuntimeError, zipfile.BadZipFile, zlib.error)


def load(folder: Path, known: Known) -> tuple[str, pd.DataFrame]:
    """The first file in the folder that is the table, by its name and its columns."""
    try:
        inside = sorted(folder.iterdir())
    except OSError as error:
        raise Refusal(
            f"{shortened(shown(repr(str(folder))))} is no folder that can be read "
            f"({error.strerror}); a folder with the paper's tables is needed."
        ) from error
    refused = []
    for name, opened in _candidates(inside, known):
        try:
            with opened() as path:
                frame = _read(path)
        except (ValueError, *_BROKEN) as error:
            text = " ".join(str(error).split()).rstrip(".")
            refused.append(f"{shown(repr(name))} cannot be read ({shortened(shown(text))})")
            continue
        lacking, named = _named(known, frame)
        if not lacking:
            return name, named
        some = listed([repr(column) for column in lacking[:_NAMED]])
        more = f" and {len(lacking) - _NAMED} more" if len(lacking) > _NAMED else ""
        refused.append(f"{shown(repr(name))} lacks {counted(len(lacking), 'column')}: {some}{more}")
    if refused:
        raise Refusal(
            f"No file is the table {known.title!r}: {'; '.join(refused)}. Get it from "
            f"{known.where}, or leave it out with --dataset."
        )
    names = listed([f"{name}.csv" for name in _examples(known)])
    raise Refusal(
        f"{shown(repr(str(folder)))} has no file of the table {known.title!r} (by names such as "
        f"{names}, also gzipped or in a .zip). Get it from {known.where}, or leave it out with "
        "--dataset."
    )


def _examples(known: Known) -> list[str]:
    return {
        "students": ["students_dropout", "data"],
        "credit": ["credit_default", "UCI_Credit_Card"],
        "diabetes": ["diabetes_binary_health_indicators_BRFSS2015"],
    }[known.key]


def _candidates(inside: list[Path], known: Known) -> Iterator[tuple[str, Any]]:
    """Files with one of the table's names, most telling name first; also inside of archives."""
    every: list[tuple[int, str, Any]] = []
    for path in inside:
        if path.suffix.lower() == ".zip":
            for member in _members(path):
                place = _place(Path(member).name, known)
                if place is not None:
                    every.append((place, f"{path.name}/{member}", _unzipped(path, member)))
        else:
            place = _place(path.name, known)
            if place is not None and path.is_file():
                every.append((place, path.name, _as_it_is(path)))
    for _, name, opened in sorted(every, key=lambda each: each[0]):
        yield name, opened


def _members(archive: Path) -> list[str]:
    """Files in an archive; none if it cannot be opened. A Mac adds shadows of files."""
    try:
        with zipfile.ZipFile(archive) as opened:
            names = opened.namelist()
    except _BROKEN:
        return []
    return [name for name in names if not name.endswith("/") and "__MACOSX" not in name]


def _place(name: str, known: Known) -> int | None:
    """Which of the table's names a file has."""
    lower = name.lower()
    for kind in sorted(_KINDS, key=len, reverse=True):
        if lower.endswith(kind):
            stem = letters(lower.removesuffix(kind))
            return known.files.index(stem) if stem in known.files else None
    return None


def _as_it_is(path: Path) -> Any:
    @contextmanager
    def opened() -> Iterator[Path]:
        yield path

    return opened


def _unzipped(archive: Path, member: str) -> Any:
    @contextmanager
    def opened() -> Iterator[Path]:
        with TemporaryDirectory() as folder, zipfile.ZipFile(archive) as zipped:
            path = Path(folder) / Path(member).name
            path.write_bytes(zipped.read(member))
            yield path

    return opened


def _read(path: Path) -> pd.DataFrame:
    """A table; UCI's spreadsheet has its names in the second line, below X1, X2 and so on."""
    if path.suffix.lower() not in (".xls", ".xlsx"):
        return read_table(path)
    import pandas as pd

    try:
        table = pd.read_excel(path, header=None)
    except ImportError as error:
        raise Refusal(
            f"Reading {path.suffix} needs a package that is not installed ({error}). Run: pip "
            "install 'leftout[files]', or save the table as CSV."
        ) from error
    except Exception as error:  # whatever the readers of spreadsheets raise
        raise Refusal(
            f"{shown(repr(path.name))} cannot be read as a spreadsheet ({shown(str(error))})."
        ) from error
    if table.empty:
        raise Refusal(f"{shown(repr(path.name))} is a spreadsheet without cells.")
    names = 1 if len(table) > 1 and str(table.iloc[0, -1]).strip().upper() == "Y" else 0
    below = table.iloc[names + 1 :].reset_index(drop=True).infer_objects()
    return below.set_axis([str(name) for name in table.iloc[names]], axis=1)


def _named(known: Known, frame: pd.DataFrame) -> tuple[list[str], pd.DataFrame]:
    """Columns that are not there, and the others by the names that they have here."""
    given: dict[str, Any] = {}
    for name in frame.columns:  # by its own name first
        given.setdefault(letters(str(name)), name)
    for also, usual in ALSO.items():
        if also in given:
            given.setdefault(usual, given[also])
    wanted = {column: letters(column) for column in (*known.features, known.target)}
    lacking = [column for column, name in wanted.items() if name not in given]
    here = {given[name]: column for column, name in wanted.items() if name in given}
    return lacking, frame[list(here)].rename(columns=here)
