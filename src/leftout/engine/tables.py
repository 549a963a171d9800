"""Tables in parts, as people have them: which files they are, and whether they fit in memory."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from weakref import finalize

from leftout.checks import check_choice
from leftout.data.files.arrow import as_pandas
from leftout.data.files.fetching import is_stream
from leftout.data.files.formats import TEXT
from leftout.data.reading import Source
from leftout.engine.chunks import STORED, Chunk, fingerprint, listed, n_rows_of, paths_of
from leftout.engine.copies import FEATHER, as_parquet, copied, is_dask, stored
from leftout.engine.engines import Dask, Engine, Local
from leftout.errors import InputError, parameter_label
from leftout.running import available_memory
from leftout.settings import ENGINES
from leftout.text import shown

# Stands for the address of a cluster that is to be started on this machine.
HERE = "here"
# What a cell takes while a table is read whole and audited, in bytes; and of a text file, a byte.
_CELL, _BYTE = 68, 12
# Of this machine's memory, the share that a table may take unless somebody says how much.
_SHARE = 0.5
_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}
_BYTES = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([kmgt]?)i?b?\s*", re.IGNORECASE)


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

        schema = self.chunks[0].layout.schema
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
            cluster = Dask.here(None if memory is None else n_bytes(memory))
        else:
            cluster = Dask.at(scheduler)
        try:
            first = self.chunks[0]
            cluster.probe(os.path.abspath(first.path), os.path.getsize(first.path))
            yield cluster
        finally:
            cluster.close()


def in_parts(
    table: Any, engine: Any = None, memory: int | str | None = None
) -> ChunkedTable | None:
    """A table in files, or in a Dask collection; None for one that is in memory, or in one file.

    A file that is too large to be read whole is one in parts, too.
    """
    if isinstance(engine, str):
        check_choice("engine", engine, ENGINES)
    with ExitStack() as copies:
        parts = _in_parts(table, engine, memory, copies)
        if parts is not None:  # copies go when nobody has the table any more
            finalize(parts, copies.pop_all().close)
    return parts


def _in_parts(
    table: Any, engine: Any, memory: int | str | None, copies: ExitStack
) -> ChunkedTable | None:
    limit = int(_SHARE * available_memory()) if memory is None else n_bytes(memory)
    name: str | None = None
    source: Any
    if is_dask(table):
        source = copied(table, copies)
    elif isinstance(table, str | os.PathLike):
        source, name = os.fspath(table), Path(table).name
        if is_stream(source) or (
            os.path.isfile(source) and not _needs_parts(source, engine, limit)
        ):
            return None
        if not os.path.exists(source) and not any(char in source for char in "*?["):
            return None  # whoever reads it says that it is not there
    elif (
        isinstance(table, list | tuple)
        and table
        and all(isinstance(each, str | os.PathLike) for each in table)
    ):
        source = [os.fspath(each) for each in table]
        if len(source) == 1:
            return _in_parts(source[0], engine, memory, copies)
        name = Path(source[0]).parent.name or None
    elif type(table).__module__.startswith("pyarrow") and hasattr(table, "files"):
        source = table
    else:
        if engine not in (None, "memory"):
            raise InputError(
                f"{parameter_label('engine', engine)} passes over files, but the table is in "
                "memory. Pass "
                "their paths, or leave the engine out."
            )
        return None
    paths = paths_of(source, (*STORED, *TEXT, *FEATHER))
    chunks = _chunks(paths, copies)
    files = {path: str(fingerprint(path)) for path in paths}
    size = _CELL * n_rows_of(chunks) * len(chunks[0].layout.names)
    return ChunkedTable(
        chunks, name, engine == "memory" or (engine is None and size <= limit), files
    )


def _chunks(paths: list[str], copies: ExitStack) -> list[Chunk]:
    """Chunks of files of one kind; of text and Feather, those of a private copy."""
    kinds = [_kind(path) for path in paths]
    if len(set(kinds)) > 1:
        other = next(place for place, kind in enumerate(kinds) if kind != "Parquet")
        rest = next(kind for kind in reversed(kinds) if kind != kinds[other])
        raise InputError(
            f"{shown(Path(paths[other]).name)!r} is {kinds[other]}, and others are {rest}; the "
            "parts of a table are files of one kind. Name those of one kind."
        )
    if kinds[0] == "text":
        return copies.enter_context(stored(paths))
    return listed(as_parquet(paths, copies) if kinds[0] == "Feather" else paths)


def _kind(path: str) -> str:
    name = path.lower()
    return "text" if name.endswith(TEXT) else "Feather" if name.endswith(FEATHER) else "Parquet"


def _needs_parts(path: str, engine: Any, limit: int) -> bool:
    """Whether one file is too large to be read whole, or is not to be."""
    if engine == "memory":
        return False
    kind = path.lower()
    if kind.endswith(TEXT):
        return engine is not None or os.path.getsize(path) * _BYTE > limit
    if not kind.endswith(STORED):
        if engine is None or kind.endswith(FEATHER):
            return engine is not None
        raise InputError(
            f"{parameter_label('engine', engine)} passes over Parquet, Feather or CSV files, not "
            "over "
            f"{shown(Path(path).name)!r}. Store it as Parquet, or leave the engine out."
        )
    if engine is not None:
        return True
    try:
        from pyarrow.parquet import ParquetFile

        with ParquetFile(path) as file:
            return file.metadata.num_rows * file.metadata.num_columns * _CELL > limit
    except Exception:  # whoever reads it says what is wrong
        return False


def n_bytes(text: int | str) -> int:
    """Bytes as people write them.

    Examples
    --------
    >>> n_bytes("2GB"), n_bytes("512 MiB"), n_bytes(1000)
    (2000000000, 536870912, 1000)
    """
    if isinstance(text, int) and text > 0:
        return text
    found = _BYTES.fullmatch(str(text))
    if found is None or not float(found[1]):
        raise InputError(
            f"{parameter_label('memory', text)} is not an amount of memory; give one such as 2GB."
        )
    unit = _UNITS[found[2].lower()]
    if "i" in str(text).lower():
        unit = 1024 ** (len(str(unit)) // 3)
    return int(float(found[1]) * unit)


def opened(
    tables: Sequence[str],
    sheet: str | None = None,
    engine: str | None = None,
    memory: str | None = None,
    called: str | None = None,
) -> tuple[Source | ChunkedTable, Any]:
    """What the command line names as a table, and something with its columns."""
    import pandas as pd

    parts = None if sheet is not None else in_parts(list(tables), engine, memory)
    if parts is not None:
        return parts, pd.DataFrame(columns=list(parts.chunks[0].layout.names))
    if len(tables) > 1:
        raise InputError("Several tables are given with a sheet; a sheet is one of an Excel file.")
    source = Source.of(tables[0], sheet, called)
    return source, source.table


def named(tables: Sequence[str]) -> str:
    """What to call a table: its file or folder without what follows the first dot or star."""
    text = tables[0].rstrip("/")
    if len(tables) > 1 or any(char in text for char in "*?["):
        text = str(Path(text).parent)
    return Path(Path(text).name.removesuffix(".gz")).stem or "table"
