"""Tables in parts, as people have them: which files they are, and whether they fit in memory."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from weakref import finalize

from leftout.checks import check_choice
from leftout.data import column_reader
from leftout.data.formats import as_pandas
from leftout.data.sources import TEXT, Source, is_stream, n_bytes
from leftout.engine.chunks import (
    STORED,
    Chunk,
    are_paths,
    fingerprint,
    listed,
    n_rows_of,
    paths_of,
)
from leftout.engine.copies import copy_dask, copy_feather, copy_text, is_dask
from leftout.engine.engines import Dask, Engine, Local
from leftout.errors import InputError, parameter_label
from leftout.running import available_memory
from leftout.settings import ENGINES
from leftout.text import shown

FEATHER = (".feather",)
# Stands for the address of a cluster that is to be started on this machine.
HERE = "here"
# What a cell takes while a table is read whole and audited, in bytes; and of a text file, a byte.
_CELL, _BYTE = 68, 12
# Of this machine's memory, the share that a table may take unless somebody says how much.
_SHARE = 0.5


@dataclass(eq=False)
class ChunkedTable:
    """A table in files, chunk by chunk.

    Attributes
    ----------
    chunks : list of Chunk
    name : str or None
        What to call the table.
    whole : bool
        Whether it is to be read into memory.
    files : dict
        Each file's path, and what tells whether it has changed.
    """

    chunks: list[Chunk]
    name: str | None
    whole: bool
    files: dict[str, str]

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
        if not isinstance(engine, str | None):
            yield engine
            return
        if engine != "dask":
            yield Local()
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
        if is_stream(table) or not _in_files(table, engine, limit):
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
    kind = _kind(path)
    if engine is not None:
        if kind is None:
            raise InputError(
                f"{parameter_label('engine', engine)} passes over Parquet, Feather or CSV files, "
                f"not over {shown(Path(path).name)!r}. Store it as Parquet, or leave the engine "
                "out."
            )
        return True
    if kind == "text":
        return os.path.getsize(path) * _BYTE > limit
    if kind == "Parquet":
        with suppress(Exception):  # whoever reads it says what is wrong
            from pyarrow.parquet import read_metadata

            found = read_metadata(path)
            return found.num_rows * found.num_columns * _CELL > limit
    return False


def _chunks(table: Any, copies: ExitStack) -> tuple[list[Chunk], list[str]]:
    """Chunks of files of the first one's kind, and the files; of text and Feather, of a copy."""
    if not is_dask(table):
        paths = paths_of(table, (*STORED, *TEXT, *FEATHER))
        kind = _kind(paths[0])
        if kind in (None, "Parquet"):
            return listed(paths), paths
    private = TemporaryDirectory(prefix="leftout-", ignore_cleanup_errors=True)
    folder = Path(copies.enter_context(private))
    if is_dask(table):
        made = copy_dask(table, folder)
        return listed(made), list(map(str, made))
    copy = copy_text if kind == "text" else copy_feather
    return listed(copy(paths, folder)), paths


def _kind(path: str) -> str | None:
    kinds = {"text": TEXT, "Feather": FEATHER, "Parquet": STORED}
    return next((kind for kind, ends in kinds.items() if path.lower().endswith(ends)), None)


def opened(
    tables: Sequence[str],
    sheet: str | None = None,
    engine: str | None = None,
    memory: str | None = None,
) -> tuple[Source | ChunkedTable, Any]:
    """What the command line names as a table, and something with its columns."""
    import pandas as pd

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
