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
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from leftout.data.files.fetching import called, is_address, short
from leftout.errors import InputError
from leftout.text import shortened

if TYPE_CHECKING:
    import pyarrow as pa
    from pyarrow.parquet import ParquetFile

Fingerprint = tuple[int, int, str]

STORED = (".parquet", ".pq")
_BUFFER = 1 << 18
# Rows that are read at a time; of wide tables fewer, so that as many cells are.
_ROWS, _CELLS = 1 << 15, 1 << 21
_UNNAMED = re.compile(r"__index_level_\d+__")
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
            raise InputError(
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
        raise InputError(
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
                raise InputError(f"{called(path)} is listed twice. Name every file once.")
        return found
    raise InputError(
        f"Found {type(source).__name__} where files of a table are needed: a path, a pattern such "
        "as 'data/*.parquet', a folder, a list of paths, or a pyarrow.dataset.Dataset."
    )


def _expanded(text: str, suffixes: tuple[str, ...]) -> list[str]:
    if is_address(text):
        raise InputError(
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
            raise InputError(
                f"The folder {called(text, whole=True)} has no {' or '.join(kinds)} files in it. "
                "Check the path."
            )
        return found
    if path.exists():
        return [text]
    found = sorted(glob.glob(text, recursive=True))
    if not found:
        raise InputError(f"There is no file {called(text, whole=True)}. Check the path.")
    return found


class _reading:
    """A context in which whatever goes wrong with a file is refused in one sentence."""

    def __init__(self, path: str) -> None:
        self.path = path

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        if error is None or isinstance(error, InputError | MemoryError | GeneratorExit):
            return
        if isinstance(error, ImportError):
            raise InputError(
                "Reading Parquet needs a package that is not installed "
                f"({error.name or error}). Run: pip install 'leftout[scale]'"
            ) from error
        if isinstance(error, FileNotFoundError):
            raise InputError(
                f"There is no file {called(self.path, whole=True)} any more."
            ) from error
        if isinstance(error, Exception):
            raise InputError(
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


@dataclass(frozen=True)
class Layout:
    """The columns of a table: their names, and what each is stored as."""

    path: str  # of the first file
    names: tuple[str, ...]
    types: tuple[pa.DataType, ...]

    @cached_property
    def of(self) -> dict[str, pa.DataType]:
        return dict(zip(self.names, self.types, strict=True))

    @cached_property
    def texts(self) -> set[str]:
        """Columns that are read as dictionaries."""
        return {name for name, kind in self.of.items() if _is_text(kind)}

    @property
    def batch(self) -> int:
        """Rows to read at a time."""
        return max(min(_ROWS, _CELLS // max(len(self.names), 1)), 1024)

    def joined(self, others: Sequence[Layout]) -> Layout:
        """The layout of all files; refuses one that has other columns, or other things in them."""
        types = dict(self.of)
        first = {name: self.path for name in types}
        for other in others:
            for name in self.names:
                if name not in other.of:
                    raise InputError(
                        f"{called(other.path)} has no column {_quoted(name)}, which "
                        f"{called(self.path)} has; all files need the same columns. Correct or "
                        "remove the file."
                    )
            for name, kind in other.of.items():
                if name not in types:
                    raise InputError(
                        f"{called(other.path)} has a column {_quoted(name)}, which "
                        f"{called(self.path)} has not; all files need the same columns. Correct or "
                        "remove the file."
                    )
                both = _both(types[name], kind)
                if both is None:
                    raise InputError(
                        f"{called(other.path)} has {_told(kind)} in the column {_quoted(name)}, "
                        f"where {called(first[name])} has {_told(types[name])}; all files need the "
                        "same. Correct or remove the file."
                    )
                if both != types[name]:
                    types[name], first[name] = both, other.path
        return Layout(self.path, self.names, tuple(types.values()))


def layout_of(schema: pa.Schema, path: str) -> Layout:
    """What a file's footer says of its columns; pandas' own index goes, or comes first by name."""
    twice = [name for name, times in Counter(schema.names).items() if times > 1]
    if twice:
        raise InputError(
            f"Several columns of {called(path)} are named {_quoted(twice[0])}; names must be "
            "unique. Rename or drop all but one."
        )
    kept = (schema.pandas_metadata or {}).get("index_columns", [])
    index = [name for name in kept if isinstance(name, str) and name in schema.names]
    rest = [name for name in schema.names if name not in index]
    names = [name for name in index if not _UNNAMED.fullmatch(name)] + rest
    if not names:
        raise InputError(f"{called(path)} has no columns; a table with some is needed.")
    return Layout(path, tuple(names), tuple(schema.field(name).type for name in names))


def _is_text(kind: pa.DataType) -> bool:
    import pyarrow.types as is_a

    return bool(is_a.is_string(kind) or is_a.is_large_string(kind))


def _both(one: pa.DataType, other: pa.DataType) -> pa.DataType | None:
    """What two files may have in the same column, as one; None if that is not the same."""
    import pyarrow as pa
    import pyarrow.types as is_a

    if one == other or is_a.is_null(other):
        return one
    if is_a.is_null(one):
        return other
    if is_a.is_dictionary(one) and is_a.is_dictionary(other):
        return one if _both(one.value_type, other.value_type) is not None else None
    for same in (
        lambda kind: _is_text(kind) or is_a.is_string_view(kind),
        is_a.is_timestamp,
        is_a.is_date,
        is_a.is_floating,
    ):
        if same(one) and same(other):
            return one
    if is_a.is_signed_integer(one) and is_a.is_signed_integer(other):
        return pa.int64()
    if is_a.is_unsigned_integer(one) and is_a.is_unsigned_integer(other):
        return pa.uint64()
    if all(is_a.is_integer(kind) or is_a.is_floating(kind) for kind in (one, other)):
        # pandas stores whole numbers with gaps as fractions
        return pa.float64()
    return None


def _told(kind: pa.DataType) -> str:
    """What a column holds, in a word."""
    import pyarrow.types as is_a

    for told, is_it in (
        ("whole numbers", is_a.is_integer),
        ("numbers", lambda each: is_a.is_floating(each) or is_a.is_decimal(each)),
        ("text", lambda each: _is_text(each) or is_a.is_string_view(each)),
        ("categories", is_a.is_dictionary),
        ("yes and no", is_a.is_boolean),
        ("dates", lambda each: is_a.is_timestamp(each) or is_a.is_date(each)),
    ):
        if is_it(kind):
            return told
    return str(kind)


def _quoted(name: str) -> str:
    return repr(shortened(name))
