"""Files of a table as chunks: row groups, each with its place among all rows.

The table in several Parquet files is the rows of all of them, file after file in the order of
their names (or as listed), and row group after row group. Files are compared by what their footers
say, so that a wrong one is refused before anything is read; each has a fingerprint, so that one
that changes between two passes is refused as well.
"""

from __future__ import annotations

import glob
import hashlib
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from leftout.checks import Refusal
from leftout.scale.schemas import Layout, layout_of
from leftout.tables.files.fetching import called, is_address, short

if TYPE_CHECKING:
    import pyarrow as pa
    from pyarrow.parquet import ParquetFile

Fingerprint = tuple[int, int, str]

STORED = (".parquet", ".pq")
_BUFFER = 1 << 18
# Bytes of a cell at most in a column of text whose texts are repeated.
_REPEATED = 6


@dataclass(frozen=True)
class Chunk:
    """A row group of a file: its place among all rows, and what tells the file from any other.

    Attributes
    ----------
    path : str
    group : int
        Which row group of the file.
    start : int
        Rows of the table before it.
    n_rows : int
    fingerprint : tuple
        The file's size, when it was changed, and a checksum of its footer.
    layout : Layout
        The table's columns: the same object for all chunks.
    """

    path: str
    group: int
    start: int
    n_rows: int
    fingerprint: Fingerprint
    layout: Layout = field(repr=False)

    def batches(
        self, names: Sequence[str] | None = None, rows: int | None = None
    ) -> Iterator[tuple[int, pa.RecordBatch]]:
        """Some rows at a time, with the place of the first; of some columns, in that order.

        Text comes as dictionaries, which is how it is stored. Refuses a file that has changed since
        it was listed.
        """
        names = list(self.layout.names if names is None else names)
        rows = rows or self.layout.batch
        with _reading(self.path):
            check_same(self)
            with _opened(self.path, self._repeated(names)) as file:
                start = self.start
                for batch in file.iter_batches(
                    rows, row_groups=[self.group], columns=names, use_threads=False
                ):
                    # a file may have its columns in another order
                    yield start, batch.select(names)
                    start += batch.num_rows

    def _repeated(self, names: Sequence[str]) -> list[str]:
        """Columns of text that take so little room that they are stored as dictionaries."""
        wanted = self.layout.texts.intersection(names)
        if not wanted:
            return []
        with _opened(self.path) as file:
            meta = file.metadata.row_group(self.group)
        sizes = {
            one.path_in_schema: one.total_uncompressed_size
            for one in map(meta.column, range(meta.num_columns))
        }
        return [name for name in sorted(wanted) if sizes.get(name, 0) <= _REPEATED * self.n_rows]


def listed(source: Any) -> list[Chunk]:
    """The chunks of a table in Parquet files.

    Parameters
    ----------
    source : path, pattern, folder, list of paths or pyarrow.dataset.Dataset
        A pattern such as ``data/*.parquet``; a folder stands for all Parquet files in it and in
        folders below, but for names that begin with a dot or an underscore.

    Returns
    -------
    list of Chunk
        In the order of the rows. Empty row groups are left out.
    """
    paths = paths_of(source, STORED)
    chunks: list[Chunk] = []
    layouts: list[Layout] = []
    start = 0
    for path in paths:
        with _reading(path):
            before = _stat(path)
            with _opened(path) as file:
                meta = file.metadata
                layouts.append(layout_of(file.schema_arrow, path))
                sizes = [meta.row_group(group).num_rows for group in range(meta.num_row_groups)]
            print_ = (*before, _footer(path))
        if not sum(sizes):
            raise Refusal(
                f"{called(path)} has no rows; every file needs some. Remove it, or name the others."
            )
        for group, n_rows in enumerate(sizes):
            if n_rows:
                chunks.append(Chunk(path, group, start, n_rows, print_, layouts[0]))
                start += n_rows
    layout = layouts[0].joined(layouts[1:])
    return [replace(chunk, layout=layout) for chunk in chunks]


def n_rows_of(chunks: Sequence[Chunk]) -> int:
    """Rows of the table that chunks make up."""
    return chunks[-1].start + chunks[-1].n_rows


def check_same(chunk: Chunk) -> None:
    """Refuse a chunk whose file has changed since it was listed."""
    if (*_stat(chunk.path), _footer(chunk.path)) != chunk.fingerprint:
        raise Refusal(
            f"{called(chunk.path)} has changed since the audit began. Start again when nothing "
            "writes to it."
        )


def paths_of(source: Any, suffixes: tuple[str, ...]) -> list[str]:
    """The files that a path, pattern, folder, list or dataset stands for."""
    if hasattr(source, "files") and hasattr(source, "schema"):  # pyarrow.dataset
        paths = [os.fspath(path) for path in source.files]
        return [path if os.path.exists(path) else f"/{path}" for path in paths]
    if isinstance(source, str | os.PathLike):
        return _expanded(os.fspath(source), suffixes)
    if (
        isinstance(source, Sequence)
        and source
        and all(isinstance(each, str | os.PathLike) for each in source)
    ):
        found = [path for each in source for path in _expanded(os.fspath(each), suffixes)]
        for place, path in enumerate(found):
            if path in found[:place]:
                raise Refusal(f"{called(path)} is listed twice. Name every file once.")
        return found
    raise Refusal(
        f"Found {type(source).__name__} where files of a table are needed: a path, a pattern such "
        "as 'data/*.parquet', a folder, a list of paths, or a pyarrow.dataset.Dataset."
    )


def _expanded(text: str, suffixes: tuple[str, ...]) -> list[str]:
    if is_address(text):
        raise Refusal(
            f"{called(text, whole=True)} is an address; tables in several parts are read from "
            "folders that this machine, and every worker, has mounted. Download it, or mount it."
        )
    path = Path(text)
    if path.is_dir():
        found = [
            str(each)
            for each in sorted(path.rglob("*"))
            if each.is_file()
            and each.name.lower().endswith(suffixes)
            and not any(part.startswith((".", "_")) for part in each.relative_to(path).parts)
        ]
        if not found:
            kinds = [name for name in ("Parquet", "CSV") if f".{name.lower()}" in suffixes]
            raise Refusal(
                f"The folder {called(text, whole=True)} has no {' or '.join(kinds)} files in it. "
                "Check the path."
            )
        return found
    if path.exists():
        return [text]
    found = sorted(glob.glob(text, recursive=True))
    if not found:
        raise Refusal(f"There is no file {called(text, whole=True)}. Check the path.")
    return found


class _reading:
    """A context in which whatever goes wrong with a file is refused in one sentence."""

    def __init__(self, path: str) -> None:
        self.path = path

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        if error is None or isinstance(error, Refusal | MemoryError | GeneratorExit):
            return
        if isinstance(error, ImportError):
            raise Refusal(
                "Reading Parquet needs a package that is not installed "
                f"({error.name or error}). Run: pip install 'leftout[scale]'"
            ) from error
        if isinstance(error, FileNotFoundError):
            raise Refusal(f"There is no file {called(self.path, whole=True)} any more.") from error
        if isinstance(error, Exception):
            raise Refusal(
                f"{called(self.path)} cannot be read as a Parquet table: {short(error)}. Check the "
                "file."
            ) from error


def _opened(path: str, texts: Any = ()) -> ParquetFile:
    from pyarrow.parquet import ParquetFile

    # no more of a row group than is asked for is held at a time
    return ParquetFile(path, read_dictionary=sorted(texts), buffer_size=_BUFFER, pre_buffer=False)


def _stat(path: str) -> tuple[int, int]:
    found = os.stat(path)
    return found.st_size, found.st_mtime_ns


def _footer(path: str) -> str:
    """A checksum of the end of a file, where it says what is in it."""
    with open(path, "rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(size - 8, 0))
        length = int.from_bytes(file.read(4), "little") + 8
        file.seek(max(size - length, 0))
        return hashlib.sha256(file.read()).hexdigest()[:16]
