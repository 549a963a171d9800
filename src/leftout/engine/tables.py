"""Tables in parts, as people have them: which files they are, and whether they fit in memory.

Text and Dask data frames are copied to private Parquet files. A part of a file of text may say
something else than the whole: a gap or a mark after the first part, a code with a zero before it,
commas that are thousands here and decimals there; and a quoted line break may stand anywhere. So
all cells are read as text first, from the start of each file. Columns that then hold nothing but
numbers, or yes and no, are stored as such, as a table in memory would have them, and everything
else stays text.
"""

from __future__ import annotations

import gzip
import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any
from weakref import finalize

import pandas as pd

from leftout.checks import check_choice
from leftout.data import column_reader
from leftout.data.cleaning import CODE
from leftout.data.formats import TextFile, as_pandas
from leftout.data.frames import is_dask
from leftout.data.sources import TEXT, Source, called, n_bytes, reading, short
from leftout.engine.chunks import (
    STORED,
    Chunk,
    are_paths,
    fingerprint,
    listed,
    n_rows_of,
    paths_of,
    unify,
)
from leftout.engine.engines import Dask, Engine, Local
from leftout.errors import InputError, parameter_label
from leftout.running import available_memory
from leftout.settings import ENGINES
from leftout.text import shown

if TYPE_CHECKING:
    import pyarrow as pa

# Stands for the address of a cluster that is to be started on this machine.
HERE = "here"
# What a cell takes while a table is read whole and audited, in bytes; and of a text file, a byte.
_CELL, _BYTE = 68, 12
# Of this machine's memory, the share that a table may take unless somebody says how much.
_SHARE = 0.5
# Rows that are read at a time.
_ROWS = 1 << 16
# What pandas reads cells of a stored type as, if not as text.
_DTYPES = {"bool": "boolean", "int64": "int64", "double": "float64"}
# Yes and no, as pandas reads them, and whole numbers that only text can hold.
_TRUTHS = ["TRUE", "True", "true", "FALSE", "False", "false"]
_KEPT = rf"{CODE.pattern}|[+-]?\d{{20,}}$"


@dataclass(eq=False)
class ChunkedTable:
    """A table in files, chunk by chunk."""

    chunks: list[Chunk]
    name: str | None
    whole: bool  # whether it is to be read into memory
    files: dict[str, str]  # each file's path, and what tells whether it has changed

    def read(self) -> Source:
        """The whole table, in memory."""
        import pyarrow as pa

        schema = self.chunks[0].schema
        batches = (batch for chunk in self.chunks for _, batch in chunk.batches())
        parts = [pa.Table.from_batches([batch]).cast(schema) for batch in batches]
        return Source(as_pandas(pa.concat_tables(parts)), self.name)

    @contextmanager
    def engine(
        self, engine: Any, scheduler: str | None, memory: int | str | None
    ) -> Iterator[Engine]:
        """What runs over the chunks; a cluster is asked first whether it can."""
        if engine != "dask":
            yield Local() if isinstance(engine, str | None) else engine
            return
        if scheduler is None:
            cluster = Dask.current()
        elif scheduler == HERE:
            cluster = Dask.here(None if memory is None else n_bytes(memory, "memory"))
        else:
            cluster = Dask.at(scheduler)
        try:
            cluster.probe()
            yield cluster
        finally:
            cluster.close()


def in_parts(
    table: Any, engine: Any = None, memory: int | str | None = None
) -> ChunkedTable | None:
    """A table in files, or in a Dask data frame; None for one that is in memory, or in one file.

    A file that is too large to be read whole is one in parts, too.
    """
    if isinstance(engine, str):
        check_choice("engine", engine, ENGINES)
    limit = int(_SHARE * available_memory()) if memory is None else n_bytes(memory, "memory")
    name: str | None = None
    if isinstance(table, list | tuple) and len(table) == 1:
        (table,) = table
    if isinstance(table, str | os.PathLike):
        table = os.fspath(table)
        if not _in_files(table, engine, limit):
            return None
        name = Path(table).name
    elif are_paths(table):
        name = Path(table[0]).parent.name or None
    elif not (is_dask(table) or isinstance(getattr(table, "files", None), list)):
        if engine in (None, "memory"):
            return None
        raise InputError(
            f"{parameter_label('engine', engine)} passes over files, but the table is in memory. "
            "Pass their paths, or leave the engine out."
        )
    with ExitStack() as copies:
        chunks, paths = _chunks(table, copies)
        n_rows = n_rows_of(chunks)
        size = _CELL * n_rows * len(chunks[0].schema)
        # of so few rows, all would be in the sample that is looked at
        whole = engine == "memory" or n_rows <= column_reader.SCHEMA_ROWS
        whole |= engine is None and size <= limit
        files = {path: str(fingerprint(path)) for path in paths}
        parts = ChunkedTable(chunks, name, whole, files)
        finalize(parts, copies.pop_all().close)  # copies go when nobody has the table any more
    return parts


def _in_files(path: str, engine: Any, limit: int) -> bool:
    """Whether a path is a folder, a pattern, or one file that is not to be read whole."""
    if not os.path.isfile(path):  # of what is not there, whoever reads it says so
        return os.path.exists(path) or any(char in path for char in "*?[")
    if engine == "memory":
        return False
    stored, text = (path.lower().endswith(ends) for ends in (STORED, TEXT))
    if engine is not None:
        if not stored and not text:
            raise InputError(
                f"{parameter_label('engine', engine)} passes over Parquet or CSV files, not over "
                f"{shown(Path(path).name)!r}. Store it as Parquet, or leave the engine out."
            )
        return True
    if text:
        return os.path.getsize(path) * _BYTE > limit
    if stored:
        with suppress(Exception):  # whoever reads it says what is wrong
            from pyarrow.parquet import read_metadata

            found = read_metadata(path)
            return found.num_rows * found.num_columns * _CELL > limit
    return False


def _chunks(table: Any, copies: ExitStack) -> tuple[list[Chunk], list[str]]:
    """Chunks of files of the first one's kind, and the files; of text, of a copy."""
    if not is_dask(table):
        paths = paths_of(table)
        if not paths[0].lower().endswith(TEXT):
            return listed(paths), paths
    private = TemporaryDirectory(prefix="leftout-", ignore_cleanup_errors=True)
    folder = Path(copies.enter_context(private))
    if is_dask(table):
        made = copy_dask(table, folder)
        return listed(made), list(map(str, made))
    return listed(copy_text(paths, folder)), paths


def opened(
    tables: Sequence[str], sheet: str | None, engine: str | None, memory: str | None
) -> tuple[Source | ChunkedTable, Any]:
    """What the command line names as a table, and something with its columns."""
    parts = None if sheet is not None else in_parts(list(tables), engine, memory)
    if parts is not None:
        return parts, pd.DataFrame(columns=parts.chunks[0].schema.names)
    if len(tables) > 1:
        raise InputError("Several tables are given with a sheet; a sheet is one of an Excel file.")
    source = Source.of(tables[0], sheet)
    return source, source.table


def named(tables: Sequence[str]) -> str:
    """What to call a table: its file or folder without what follows the first dot or star."""
    text = tables[0].rstrip("/")
    if len(tables) > 1 or any(char in text for char in "*?["):
        text = str(Path(text).parent)
    return Path(Path(text).name.removesuffix(".gz")).stem or "table"


def copy_text(paths: Sequence[str], folder: Path) -> list[Path]:
    """Files of text (CSV, TSV, also gzipped) as Parquet, in their order.

    They are read once to learn what their columns hold, and once more to store it.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    types: dict[str, _TextType] = {}
    schemas: dict[str, pa.Schema] = {}
    seen = {}
    for path in paths:
        with reading(path, "text"):
            packed = path.lower().endswith(".gz")
            opened: Any = partial(gzip.open if packed else open, path, "rb")
            text = TextFile(opened, called(path))
            seen[path] = text, fingerprint(path)
            schemas[path] = pa.schema([(name, pa.large_string()) for name in text.names])
            _learn_types(text, types)
        unify(schemas)
    copies = [folder / f"part-{place:05d}.parquet" for place in range(len(paths))]
    stored = {name: found.type for name, found in types.items()}
    for copy, (path, (text, before)) in zip(copies, seen.items(), strict=True):
        schema = pa.schema([(name, stored[name]) for name in text.names])
        dtypes = {name: _DTYPES.get(str(kind), str) for name, kind in stored.items()}
        with reading(path, "text"), pq.ParquetWriter(copy, schema) as writer:
            for frame in _frames(text, dtypes):
                writer.write_table(pa.Table.from_pandas(frame, schema, preserve_index=False))
            if fingerprint(path) != before:
                raise InputError(
                    f"{called(path)} was changed while it was being read. Try again when nothing "
                    "writes to it."
                )
    return copies


def _frames(text: TextFile, dtype: Any) -> Iterator[pd.DataFrame]:
    """Rows of a file, some at a time."""
    names, size = text.names, max(_ROWS // max(len(text.names) // 50, 1), 1000)
    with (
        text.text() as file,
        text.read(file, names=names, header=0, dtype=dtype, chunksize=size) as frames,
    ):
        yield from frames


def _learn_types(text: TextFile, types: dict[str, _TextType]) -> None:
    """What the columns of a file may hold, for what is known of those before."""
    short_rows, rows, names = False, 0, text.names
    for frame in _frames(text, str):
        for name in names:
            types.setdefault(name, _TextType()).add(frame[name])
        rows += len(frame)
        short_rows |= len(names) > 1 and frame[names[-1]].isna().any()
    if short_rows:  # which pandas fills up without a word
        text.refuse_ragged()
    if not rows:
        raise InputError(
            f"{text.called} has no rows and {len(names)} columns; a table with both is needed. "
            "Check the file."
        )


class _TextType:
    """What a table in memory has a column of text for: numbers, yes and no, or text."""

    def __init__(self) -> None:
        self.kinds, self.gaps = set[str](), False

    def add(self, cells: pd.Series) -> None:
        """Take some further texts into account."""
        texts = cells.dropna()
        self.gaps |= len(texts) < len(cells)
        if not len(texts) or "O" in self.kinds:
            return
        kind = "b" if texts.isin(_TRUTHS).all() else "O"
        if kind == "O" and not texts.str.strip().str.match(_KEPT).any():
            with suppress(ValueError):
                kind = pd.to_numeric(texts).dtype.kind
        self.kinds.add(kind)

    @property
    def type(self) -> pa.DataType:
        import pyarrow as pa

        if self.kinds == {"b"}:
            return pa.bool_()
        if not self.kinds <= {"i", "f"}:
            return pa.large_string()
        # whole numbers with a gap are floats in memory
        return pa.int64() if self.kinds == {"i"} and not self.gaps else pa.float64()


def copy_dask(table: Any, folder: Path) -> list[Path]:
    """A Dask data frame as Parquet, computed part by part; as in memory, an index is no column."""
    name = f"Dask {type(table).__name__}"
    if not hasattr(table, "get_partition") or getattr(table, "ndim", 2) != 2:
        raise InputError(f"Found a {name} where a table is needed. Pass a Dask DataFrame.")
    copies = []
    for place in range(table.npartitions):
        copy = folder / f"part-{place:06d}.parquet"
        try:
            part = table.get_partition(place).compute()
            if len(part):
                part.to_parquet(copy, index=False)
                copies.append(copy)
        except MemoryError:
            raise
        except Exception as error:  # whatever its tasks raise
            raise InputError(
                f"Part {place + 1} of the {name} cannot be written to Parquet: {short(error)}. "
                "Compute its columns first, or write it yourself and pass the folder."
            ) from error
    if not copies:
        raise InputError(f"The {name} has no rows; a table with some is needed.")
    return copies
