"""Private copies of tables as Parquet: of text, Feather files and Dask collections.

A file of text says nothing of what its columns hold, and a part of it may say something else than
the whole: a gap or a mark after the first part, a code with a zero before it, commas that are
thousands here and decimals there. So all cells are read as text, by a parser that goes through each
file once (a quoted line break may stand anywhere, and a compressed file has no second beginning),
and stored as they are. Then columns that hold nothing but numbers, or yes and no, are stored as
such, as a table in memory would have them, and everything else stays text.
"""

from __future__ import annotations

import gzip
import io
import os
import re
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from leftout.data.cleaning import CODE
from leftout.data.files.fetching import called, short
from leftout.data.files.formats import TEXT
from leftout.data.files.text import Dialect, detect_encoding, undecodable
from leftout.data.frames import rename_repeated
from leftout.engine.chunks import Chunk, Layout, listed, paths_of
from leftout.errors import InputError

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

# Bytes and rows that are read at a time, and rows of a chunk that is stored.
_BLOCK, _ROWS, _GROUP = 1 << 20, 1 << 16, 1 << 18
# Characters that the names and what separates them are told from.
_START = 1 << 20
FEATHER = (".feather",)
# What texts may be besides: yes and no, whole numbers, numbers as computers write them.
_TRUTHS = re.compile("true|TRUE|True|false|FALSE|False")
_WHOLE = re.compile(r"[+-]?\d+", re.ASCII)
_NUMBER = re.compile(r"[+-]?((\d+\.?\d*|\.\d+)(e[+-]?\d+)?|inf(inity)?)", re.ASCII | re.IGNORECASE)
_LARGEST = 1 << 63


@contextmanager
def stored(source: Any, folder: str | os.PathLike[str] | None = None) -> Iterator[list[Chunk]]:
    """The chunks of a table in files of text (CSV, TSV, also gzipped), as Parquet.

    Parameters
    ----------
    source : path, pattern, folder or list of paths
    folder : path or None
        Where the private copy is written, which is as large as the text at most, and gone in the
        end, whatever happens; None: where the system has temporary files.

    Yields
    ------
    list of Chunk
        As from :func:`leftout.engine.chunks.listed`.
    """
    paths = paths_of(source, TEXT)
    with private_folder(folder) as place:
        written = [place / f"text-{number:05d}.parquet" for number in range(len(paths))]
        known: dict[str, _TextType] = {}
        layouts: list[Layout] = []
        for path, copy in zip(paths, written, strict=True):
            layouts.append(_as_text(path, copy, known, layouts))
        types = {name: found.type for name, found in known.items()}
        (place / "table").mkdir()
        for number, copy in enumerate(written):
            _as_typed(copy, place / "table" / f"part-{number:05d}.parquet", types)
            copy.unlink()
        yield listed(place / "table")


@contextmanager
def private_folder(folder: str | os.PathLike[str] | None = None) -> Iterator[Path]:
    """A folder that nobody else reads, and that is gone in the end."""
    place = Path(tempfile.mkdtemp(prefix="leftout-", dir=folder))
    try:
        yield place
    finally:
        shutil.rmtree(place, ignore_errors=True)


def _as_text(path: str, copy: Path, known: dict[str, _TextType], before: list[Layout]) -> Layout:
    """Store a file's cells as they are, add up what its columns hold, and say which they are."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    name = called(path)
    try:
        stat = os.stat(path)
        text = _Text(path, name)
        dialect = Dialect.of(text.start(), "\t" if ".tsv" in path.lower() else ",", name)
        names = rename_repeated(dialect.names)
        layout = Layout(path, pa.schema([(each, pa.large_string()) for each in names]))
        if before:
            before[0].joined([layout])
        short_rows, rows = False, 0
        with pq.ParquetWriter(copy, layout.schema) as writer:
            for frame in _frames(text, names, dialect):
                table = pa.Table.from_pandas(frame, layout.schema, preserve_index=False)
                for each, cells in zip(names, table.columns, strict=True):
                    known.setdefault(each, _TextType()).add(cells)
                writer.write_table(table)
                rows += len(table)
                short_rows |= bool(len(names) > 1 and table.column(-1).null_count)
        if short_rows:  # filled up without a word
            with text.open() as again:
                dialect.refuse_ragged(again, name)
        if not rows:
            raise InputError(
                f"{name} has no rows and {len(names)} columns; a table with both is needed. Check "
                "the file."
            )
        after = os.stat(path)
    except (OSError, EOFError) as error:
        reason = getattr(error, "strerror", None) or short(error)
        raise InputError(f"{name} cannot be read: {reason}.") from error
    except UnicodeDecodeError as error:
        raise undecodable(name, text.codec, error.start) from error
    except (InputError, MemoryError):
        raise
    except Exception as error:  # whatever else the readers of pandas raise
        raise InputError(
            f"{name} cannot be read as a table of text: {short(error)}. Check the file."
        ) from error
    if (stat.st_size, stat.st_mtime_ns) != (after.st_size, after.st_mtime_ns):
        raise InputError(
            f"{name} was changed while it was being read. Try again when nothing writes to it."
        )
    return layout


class _Text:
    """A file of text, in whatever encoding, that can be gone through again and again."""

    def __init__(self, path: str, name: str) -> None:
        self.path = path
        self.codec = detect_encoding(self._blocks, name)

    def open(self) -> IO[str]:
        """All of it from the start, without a mark."""
        return io.TextIOWrapper(self._file(), encoding=self.codec, newline="")

    def start(self) -> bytes:
        """The beginning, as UTF-8."""
        with self.open() as text:
            return text.read(_START).encode()

    def _file(self) -> Any:
        return gzip.open(self.path) if self.path.lower().endswith(".gz") else open(self.path, "rb")

    def _blocks(self) -> Iterator[bytes]:
        with self._file() as file:
            while block := file.read(_BLOCK):
                yield block


def _frames(text: _Text, names: list[str], dialect: Dialect) -> Iterator[pd.DataFrame]:
    """Some rows at a time, all cells as text; what stands for nothing is missing."""
    import pandas as pd

    options = dialect.options() | {
        "names": names, "header": 0, "dtype": str,
        "chunksize": max(_ROWS // max(len(names) // 50, 1), 1000),
    }  # fmt: skip
    with text.open() as file, pd.read_csv(file, **options) as reader:
        yield from reader


class _TextType:
    """What a table in memory has a column of text for: numbers, yes and no, or text."""

    def __init__(self) -> None:
        self.may_be = {_TRUTHS, _WHOLE, _NUMBER}
        self.empty, self.gaps = True, False

    def add(self, cells: pa.ChunkedArray) -> None:
        """Rule out what some further texts are not."""
        self.gaps |= bool(cells.null_count)
        self.empty &= cells.null_count == len(cells)
        if not self.may_be:
            return
        texts = [text.strip() for text in cells.unique().drop_null().to_pylist()]
        self.may_be = {
            pattern for pattern in self.may_be
            if all(map(pattern.fullmatch, texts)) and (pattern is _TRUTHS or not _coded(texts))
        }  # fmt: skip

    @property
    def type(self) -> pa.DataType:
        import pyarrow as pa

        if self.empty:
            return pa.float64()
        if _TRUTHS in self.may_be:
            return pa.bool_()
        if _NUMBER not in self.may_be:
            return pa.large_string()
        # whole numbers with a gap are floats in memory
        return pa.int64() if _WHOLE in self.may_be and not self.gaps else pa.float64()


def _coded(texts: Sequence[str]) -> bool:
    """Whether numbers are codes: with a zero before them, or larger than computers store."""
    return any(
        CODE.match(text)
        or len(text) > 18 and text.lstrip("+-").isdigit() and abs(int(text)) >= _LARGEST
        for text in texts
    )  # fmt: skip


def _as_typed(copy: Path, path: Path, types: dict[str, pa.DataType]) -> None:
    """Store the cells of a copy as what they are."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    repeated = [name for name, kind in types.items() if kind == pa.large_string()]
    schema = pa.schema(list(types.items()))
    with (
        pq.ParquetFile(copy, read_dictionary=repeated, pre_buffer=False) as file,
        pq.ParquetWriter(path, schema) as writer,
    ):
        for group in _grouped(file.iter_batches(_ROWS, use_threads=False)):
            columns = [_typed(group.column(name), kind).cast(kind) for name, kind in types.items()]
            writer.write_table(pa.table(columns, schema=schema))


def _grouped(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.Table]:
    import pyarrow as pa

    some: list[pa.RecordBatch] = []
    for batch in batches:
        some.append(batch)
        if sum(map(len, some)) >= _GROUP:
            yield pa.Table.from_batches(some)
            some = []
    if some:
        yield pa.Table.from_batches(some)


def _typed(cells: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray:
    import pyarrow as pa
    import pyarrow.compute as pc

    if kind == pa.large_string():
        return cells
    return pc.cast(pc.utf8_ltrim(pc.utf8_trim_whitespace(cells), "+"), kind)


def as_parquet(paths: Sequence[str], copies: ExitStack) -> list[str]:
    """Private copies of Feather files, in their order; gone when ``copies`` close.

    A batch is read at a time, so a file may be larger than memory.
    """
    folder = copies.enter_context(private_folder())
    made = []
    for place, path in enumerate(paths):
        copy = folder / f"{place:05d}-{Path(path).stem}.parquet"
        try:
            _rewritten(path, copy)
        except MemoryError:
            raise
        except Exception as error:
            raise InputError(
                f"{called(path)} cannot be read as a Feather table: {short(error)}. Check the file."
            ) from error
        made.append(str(copy))
    return made


def _rewritten(path: str, copy: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    with pa.memory_map(path) as source, pa.ipc.open_file(source) as file:
        with pq.ParquetWriter(copy, file.schema) as writer:
            for group in _grouped(map(file.get_batch, range(file.num_record_batches))):
                writer.write_table(group)


def is_dask(table: Any) -> bool:
    """Whether a table is a Dask collection; asks nobody who is not there already."""
    return type(table).__module__.partition(".")[0] in ("dask", "dask_expr")


def copied(table: Any, copies: ExitStack) -> str:
    """The private folder of a Dask collection, computed part by part; gone when ``copies`` close.

    Parts without rows are left out. As in memory, an index is no column.
    """
    import pandas as pd

    folder, some = copies.enter_context(private_folder()), False
    for place, part in enumerate(_partitions(table)):
        try:
            made = part.compute()
            if not isinstance(made, pd.DataFrame):
                made = pd.DataFrame(made, columns=[f"x{j}" for j in range(made.shape[1])])
            if len(made):
                made.to_parquet(folder / f"part-{place:06d}.parquet", index=False)
                some = True
        except MemoryError:
            raise
        except Exception as error:  # whatever its tasks raise
            raise InputError(
                f"Part {place + 1} of the {_called(table)} cannot be written to Parquet: "
                f"{short(error)}. Compute its columns first, or write it yourself and pass the "
                "folder."
            ) from error
    if not some:
        raise InputError(f"The {_called(table)} has no rows; a table with some is needed.")
    return str(folder)


def _partitions(table: Any) -> Iterator[Any]:
    """The parts of a Dask data frame or array, whole rows each."""
    if hasattr(table, "get_partition"):
        yield from (table.get_partition(place) for place in range(table.npartitions))
        return
    if getattr(table, "ndim", None) != 2:
        raise InputError(
            f"Found a {_called(table)} where a table is needed. Pass a data frame, or an array of "
            "two dimensions."
        )
    table = table.rechunk({1: -1})
    yield from (table.blocks[place] for place in range(table.numblocks[0]))


def _called(table: Any) -> str:
    return f"Dask {type(table).__name__}"
