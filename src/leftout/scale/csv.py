"""Tables in files of text, stored once as Parquet: what a column holds is decided on all of it.

A file of text says nothing of what its columns hold, and a part of it may say something else than
the whole: a gap or a mark after the first part, a code with a zero before it, commas that are
thousands here and decimals there. So all cells are read as text, by a parser that goes through each
file once (a quoted line break may stand anywhere, and a compressed file has no second beginning),
and stored as they are. Then columns that hold nothing but numbers, or yes and no, are stored as
such, as a table in memory would have them, and everything else stays text.
"""

from __future__ import annotations

import codecs
import gzip
import io
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from leftout.checks import Refusal
from leftout.running import note
from leftout.scale.chunks import Chunk, listed, paths_of
from leftout.scale.schemas import Layout
from leftout.scale.texts import PLAIN, TRUTH, WHOLE, Adding, Texts, follows
from leftout.tables.cleaning import MISSING
from leftout.tables.files.decoding import coded_as, refuse_undecoded
from leftout.tables.files.delimited import header_of, refuse_ragged, separator_said
from leftout.tables.files.fetching import TEXT, called, short
from leftout.tables.frames import told_apart

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

# Bytes and rows that are read at a time, and rows of a chunk that is stored.
_BLOCK, _ROWS, _GROUP = 1 << 20, 1 << 16, 1 << 18
# Bytes that the names and what separates them are told from.
_START = 1 << 20
_TRUTHS = {"true": True, "TRUE": True, "True": True, "false": False, "FALSE": False, "False": False}


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
        As from :func:`leftout.scale.chunks.listed`.
    """
    paths = paths_of(source, TEXT)
    with private_folder(folder) as place:
        written = [place / f"text-{number:05d}.parquet" for number in range(len(paths))]
        known: dict[str, Adding] = {}
        layouts: list[Layout] = []
        for path, copy in zip(paths, written, strict=True):
            layouts.append(_as_text(path, copy, known, layouts))
        types = {name: _type_of(adding.done()) for name, adding in known.items()}
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


def _as_text(path: str, copy: Path, known: dict[str, Adding], before: list[Layout]) -> Layout:
    """Store a file's cells as they are, add up what its columns hold, and say which they are."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    name = called(path)
    try:
        stat = os.stat(path)
        text = _Text(path, name)
        header, separator = header_of(text.start(), "\t" if ".tsv" in path.lower() else ",", name)
        names = list(map(str, told_apart(header)))
        layout = Layout(path, tuple(names), (pa.large_string(),) * len(names))
        if before:
            before[0].joined([layout])
        schema = pa.schema([(each, pa.large_string()) for each in names])
        short_rows, rows = False, 0
        with pq.ParquetWriter(copy, schema) as writer:
            for frame in _frames(text, names, separator):
                table = pa.Table.from_pandas(frame, schema, preserve_index=False)
                for each, cells in zip(names, table.columns, strict=True):
                    adding = known.setdefault(each, Adding(Texts()))
                    for chunk in cells.chunks:
                        adding.add_cells(chunk)
                writer.write_table(table)
                rows += len(table)
                short_rows |= bool(len(names) > 1 and table.column(-1).null_count)
        if short_rows:  # filled up without a word
            refuse_ragged(text.open(), separator, len(names), name)
        if not rows:
            raise Refusal(
                f"{name} has no rows and {len(names)} columns; a table with both is needed. Check "
                "the file."
            )
        after = os.stat(path)
    except (OSError, EOFError) as error:
        reason = getattr(error, "strerror", None) or short(error)
        raise Refusal(f"{name} cannot be read: {reason}.") from error
    except UnicodeDecodeError as error:
        refuse_undecoded(name, text.encoding, error.start)
    except (Refusal, MemoryError):
        raise
    except Exception as error:  # whatever else the readers of pandas raise
        raise Refusal(
            f"{name} cannot be read as a table of text: {short(error)}. Check the file."
        ) from error
    if (stat.st_size, stat.st_mtime_ns) != (after.st_size, after.st_mtime_ns):
        raise Refusal(
            f"{name} was changed while it was being read. Try again when nothing writes to it."
        )
    return layout


class _Text:
    """A file of text, in whatever encoding, that can be gone through in UTF-8 again and again."""

    def __init__(self, path: str, name: str) -> None:
        self.path = path
        self.codec, self.mark, self.encoding = coded_as(self._blocks, name)
        if self.encoding is not None:
            note(f"{name} is not UTF-8 text; it was read as {self.encoding}.")

    def open(self) -> IO[bytes]:
        """All of it from the start, as UTF-8 without a mark."""
        return io.BufferedReader(_Recoded(self._file(), self.codec, self.mark), _BLOCK)

    def start(self) -> bytes:
        with self.open() as file:
            return file.read(_START)

    def _file(self) -> IO[bytes]:
        if self.path.lower().endswith(".gz"):
            return gzip.open(self.path, "rb")  # type: ignore[return-value]
        return open(self.path, "rb")

    def _blocks(self) -> Iterator[bytes]:
        with self._file() as file:
            while block := file.read(_BLOCK):
                yield block


class _Recoded(io.RawIOBase):
    """Bytes of a text in one codec, as UTF-8."""

    def __init__(self, file: IO[bytes], codec: str, mark: int) -> None:
        self._file, self._left = file, b""
        self._decoder = codecs.getincrementaldecoder(codec)()
        self._plain = codec == "utf-8"
        file.read(mark)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._left:
            block = self._file.read(_BLOCK)
            if self._plain:
                self._left = block
            else:
                self._left = self._decoder.decode(block, final=not block).encode()
            if not block:
                break
        part, self._left = self._left[: len(buffer)], self._left[len(buffer) :]
        buffer[: len(part)] = part
        return len(part)

    def close(self) -> None:
        self._file.close()
        super().close()


def _frames(text: _Text, names: list[str], separator: str) -> Iterator[pd.DataFrame]:
    """Some rows at a time, all cells as text; what stands for nothing is missing."""
    import pandas as pd

    with (
        text.open() as file,
        pd.read_csv(
            file, sep=separator, names=names, header=0, dtype=str, na_values=list(MISSING),
            keep_default_na=False, encoding="utf-8", skipinitialspace=True, index_col=False,
            on_bad_lines="error", skiprows=int(separator_said(text.start()) is not None),
            chunksize=max(_ROWS // max(len(names) // 50, 1), 1000),
        ) as reader,
    ):  # fmt: skip
        yield from reader


def _type_of(texts: Texts) -> pa.DataType:
    """What a table in memory has a column of text for: numbers, yes and no, or text."""
    import pyarrow as pa

    if not texts.counts:
        return pa.float64()
    words = [text.strip() for text in texts.counts]
    holds: Callable[[str], bool] = lambda how: (  # noqa: E731
        how not in texts.gone.ruled_out and follows(words, how)
    )
    if holds(TRUTH):
        return pa.bool_()
    if not holds(PLAIN):
        return pa.large_string()
    # whole numbers with a gap are floats in memory
    return pa.int64() if not texts.n_missing and holds(WHOLE) else pa.float64()


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
    if kind == pa.bool_():
        return pa.chunked_array([
            pa.array([None if each is None else _TRUTHS[each.strip()] for each in part.to_pylist()],
                     pa.bool_())
            for part in cells.chunks
        ], pa.bool_())  # fmt: skip
    bare = pc.utf8_ltrim(pc.utf8_trim_whitespace(cells), "+")
    try:
        return pc.cast(bare, kind)
    except pa.ArrowInvalid:  # ways to write a number that are known to Python alone
        numbers: Sequence[Any] = [
            np.nan if each is None else float(each) for each in bare.to_pylist()
        ]
        return pa.chunked_array([pa.array(numbers, pa.float64())])
