"""The paper's tables: found in a folder by the names they are downloaded by, read, encoded."""

from __future__ import annotations

import re
import zipfile
import zlib
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from leftout import TableEncoder
from leftout.data.sources import read_table
from leftout.errors import InputError, parameter_label
from leftout.text import counted, listed, shortened, shown
from paper.known import ALSO, Known, letters

if TYPE_CHECKING:
    import pandas as pd

_KIND = re.compile(r"\.((csv|tsv|txt)(\.gz)?|parquet|feather|xlsx?)\Z")
_NAMED = 5  # columns, at most, in a refusal
_CLASSES = 20  # values of a target, at most: with more it is a measurement
# What damaged, encrypted or unreadable archives raise.
_BROKEN = (OSError, EOFError, RuntimeError, zipfile.BadZipFile, zlib.error)


class Sample(NamedTuple):
    """Some rows, as they are and as numbers."""

    raw: pd.DataFrame
    X: pd.DataFrame

    @property
    def matrix(self) -> NDArray[np.float64]:
        return self.X.to_numpy(dtype=np.float64)


class Prepared(NamedTuple):
    """A table, all rows, and the numbers that they became."""

    known: Known
    file: str
    frame: pd.DataFrame
    encoded: pd.DataFrame

    def sample(self, rows: int, seed: int, *, encode_first: bool = True) -> Sample:
        """Rows drawn in proportion to the target's values.

        The paper says that rows were drawn and then encoded. Encoded first, with means and ranges
        of all rows, its own number of components comes out far more often.
        """
        from sklearn.model_selection import train_test_split

        places = np.arange(len(self.frame))
        if rows < len(places):
            target = self.frame[self.known.target]
            places, _ = train_test_split(
                places, train_size=rows, stratify=target, random_state=seed
            )
        raw = self.frame.iloc[places].reset_index(drop=True)
        if not encode_first:
            return Sample(raw, encode(self.known, raw))
        return Sample(raw, self.encoded.iloc[places].reset_index(drop=True))


def prepare(folder: Path, known: Known, rows: int) -> Prepared:
    """Find, read, check and encode one of the tables, for samples of this many rows."""
    file, frame = load(folder, known)
    called = shown(repr(file))
    classes = frame[known.target].value_counts(dropna=False)
    if frame[known.target].isna().any() or classes.min() < 2 or len(classes) > _CLASSES:
        raise InputError(
            f"{called}: the target {known.target!r} is not as in the paper's table: 2 to "
            f"{_CLASSES} values, none missing, each in 2 rows or more. Get the table from "
            f"{known.where}."
        )
    if len(frame) < rows + len(classes):
        raise InputError(
            f"{called} has {len(frame):,} rows; samples of {rows:,} rows are drawn from more than "
            f"that. Get the whole table from {known.where}, or ask for fewer with "
            f"{parameter_label('rows')}."
        )
    encoded = encode(known, frame)
    other = set(encoded.columns) ^ set(known.features)
    other |= {column for column in known.codes if frame[column].nunique(dropna=False) != 2}
    if other:
        some = listed([repr(name) for name in sorted(other)[:_NAMED]])
        raise InputError(
            f"{called}: columns are not numbers as in the paper's table, or have gaps, or are the "
            f"same in every row ({some}). Get the table from {known.where}."
        )
    return Prepared(known, file, frame, encoded)


def encode(known: Known, frame: pd.DataFrame) -> pd.DataFrame:
    """The target's mean for every category, all columns from 0 to 1."""
    features = frame[list(known.features)]
    numbers = [name for name in features if name not in known.categories]
    encoder = TableEncoder(
        known.categories, numeric=numbers, encoding="target", positive=known.positive, smooth=0.0
    )
    return encoder.set_output(transform="pandas").fit_transform(features, frame[known.target])


def load(folder: Path, known: Known) -> tuple[str, pd.DataFrame]:
    """The first file in the folder that is the table, by its name and its columns."""
    try:
        inside = sorted(folder.iterdir())
    except OSError as error:
        raise InputError(
            f"{shortened(shown(repr(str(folder))))} is not a folder that can be read "
            f"({error.strerror}); a folder with the paper's tables is needed."
        ) from error
    refused = []
    for name, path, member in _candidates(inside, known):
        called = shown(repr(name))
        try:
            frame = _read(path, member)
        except (ValueError, *_BROKEN) as error:
            text = " ".join(str(error).split()).rstrip(".")
            refused.append(f"{called} cannot be read ({shortened(shown(text))})")
            continue
        lacking, named = _named(known, frame)
        if not lacking:
            return name, named
        some = listed([repr(column) for column in lacking[:_NAMED]])
        more = f" and {len(lacking) - _NAMED} more" if len(lacking) > _NAMED else ""
        refused.append(f"{called} lacks {counted(len(lacking), 'column')}: {some}{more}")
    what = f"No file is the table {known.title!r}: {'; '.join(refused)}"
    if not refused:
        what = (
            f"{shown(repr(str(folder)))} has no file of the table {known.title!r} (by names such "
            f"as {known.examples}, also gzipped or in a .zip)"
        )
    raise InputError(f"{what}. Get it from {known.where}, or leave it out with --dataset.")


def _candidates(inside: list[Path], known: Known) -> list[tuple[str, Path, str]]:
    """Files with one of the table's names, most telling name first; also inside of archives."""
    every = []
    for path in inside:
        for member in _members(path) if path.suffix.lower() == ".zip" else [""]:
            stem, kinds = _KIND.subn("", Path(member or path).name.lower())
            if kinds and letters(stem) in known.files and (member or path.is_file()):
                name = f"{path.name}/{member}" if member else path.name
                every.append((known.files.index(letters(stem)), (name, path, member)))
    return [found for _, found in sorted(every, key=lambda each: each[0])]


def _members(archive: Path) -> list[str]:
    """Files in an archive; none if it cannot be opened. A Mac adds shadows of files."""
    try:
        with zipfile.ZipFile(archive) as opened:
            names = opened.namelist()
    except _BROKEN:
        return []
    return [name for name in names if not name.endswith("/") and "__MACOSX" not in name]


def _read(path: Path, member: str = "") -> pd.DataFrame:
    """A table, or one in an archive.

    UCI's spreadsheet has its names in the second line, below X1, X2 and so on.
    """
    if member:
        with TemporaryDirectory() as folder, zipfile.ZipFile(path) as archive:
            copy = Path(folder) / Path(member).name
            copy.write_bytes(archive.read(member))
            return _read(copy)
    if path.suffix.lower() not in (".xls", ".xlsx"):
        return read_table(path)
    import pandas as pd

    try:
        table = pd.read_excel(path, header=None)
    except ImportError as error:
        raise InputError(
            f"Reading {path.suffix} needs a package that is not installed ({error}). Run: pip "
            "install 'leftout[files]', or save the table as CSV."
        ) from error
    except Exception as error:  # whatever the readers of spreadsheets raise
        raise InputError(
            f"{shown(repr(path.name))} cannot be read as a spreadsheet ({shown(str(error))})."
        ) from error
    if table.empty:
        raise InputError(f"{shown(repr(path.name))} is a spreadsheet without cells.")
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
