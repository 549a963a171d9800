"""Private copies of tables as Parquet: of text, Feather files and Dask data frames.

A file of text says nothing of what its columns hold, and a part of it may say something else than
the whole: a gap or a mark after the first part, a code with a zero before it, commas that are
thousands here and decimals there. So all cells are read as text, by a parser that goes through each
file once (a quoted line break may stand anywhere, and a compressed file has no second beginning),
and stored as they are. Then columns that hold nothing but numbers, or yes and no, are stored as
such, as a table in memory would have them, and everything else stays text.
"""

from __future__ import annotations

import gzip
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from leftout.data.cleaning import CODE
from leftout.data.formats import TextFile
from leftout.data.sources import called, reading, short
from leftout.engine.chunks import fingerprint, unify
from leftout.errors import InputError

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

# Rows that are read at a time.
_ROWS = 1 << 16
# Yes and no, as pandas reads them, and whole numbers that only text can hold.
_TRUTHS = ["TRUE", "True", "true", "FALSE", "False", "false"]
_KEPT = rf"{CODE.pattern}|[+-]?\d{{20,}}$"


def copy_text(paths: Sequence[str], folder: Path) -> list[Path]:
    """Files of text (CSV, TSV, also gzipped) as Parquet, in their order."""
    texts = [folder / f"text-{place:05d}.parquet" for place in range(len(paths))]
    types: dict[str, _TextType] = {}
    schemas: dict[str, pa.Schema] = {}
    for path, text in zip(paths, texts, strict=True):
        with reading(path, "text"):
            before = fingerprint(path)
            schemas[path] = _store_as_text(path, text, types)
            if fingerprint(path) != before:
                raise InputError(
                    f"{called(path)} was changed while it was being read. Try again when nothing "
                    "writes to it."
                )
        unify(schemas)
    copies = [folder / f"part-{place:05d}.parquet" for place in range(len(paths))]
    for text, copy in zip(texts, copies, strict=True):
        _store_as_typed(text, copy, {name: found.type for name, found in types.items()})
        text.unlink()
    return copies


def _store_as_text(path: str, copy: Path, types: dict[str, _TextType]) -> pa.Schema:
    """Store a file's cells as they are, and learn what its columns may hold."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    kind = path.lower()
    opened: Any = partial(gzip.open if kind.endswith(".gz") else open, path, "rb")
    table = TextFile(opened, called(path), "\t" if ".tsv" in kind else ",")
    names = table.names
    schema = pa.schema([(each, pa.large_string()) for each in names])
    size = max(_ROWS // max(len(names) // 50, 1), 1000)
    short_rows, rows = False, 0
    with (
        table.text() as text,
        table.read(text, names=names, header=0, dtype=str, chunksize=size) as frames,
        pq.ParquetWriter(copy, schema) as writer,
    ):
        for frame in frames:
            for each in names:
                types.setdefault(each, _TextType()).add(frame[each])
            writer.write_table(pa.Table.from_pandas(frame, schema, preserve_index=False))
            rows += len(frame)
            short_rows |= len(names) > 1 and frame[names[-1]].isna().any()
    if short_rows:  # which pandas fills up without a word
        table.refuse_ragged()
    if not rows:
        raise InputError(
            f"{called(path)} has no rows and {len(names)} columns; a table with both is needed. "
            "Check the file."
        )
    return schema


class _TextType:
    """What a table in memory has a column of text for: numbers, yes and no, or text."""

    def __init__(self) -> None:
        self.kinds, self.gaps = set[str](), False

    def add(self, cells: pd.Series) -> None:
        """Take some further texts into account."""
        import pandas as pd

        texts = cells.dropna().str.strip()
        self.gaps |= len(texts) < len(cells)
        if not len(texts) or "O" in self.kinds:
            return
        kind = "b" if texts.isin(_TRUTHS).all() else "O"
        if kind == "O" and not texts.str.match(_KEPT).any():
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


def _store_as_typed(text: Path, copy: Path, types: dict[str, pa.DataType]) -> None:
    """Store the cells of a copy as what they are."""
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    schema = pa.schema(list(types.items()))
    with (
        pq.ParquetFile(text, pre_buffer=False) as file,
        pq.ParquetWriter(copy, schema) as writer,
    ):
        for batch in file.iter_batches(_ROWS, use_threads=False):
            cells = [
                batch[name]
                if kind == pa.large_string()
                else pc.utf8_ltrim(pc.utf8_trim_whitespace(batch[name]), "+").cast(kind)
                for name, kind in types.items()
            ]
            writer.write_batch(pa.record_batch(cells, schema=schema))


def copy_feather(paths: Sequence[str], folder: Path) -> list[Path]:
    """Feather files as Parquet, in their order, a batch at a time."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    copies = [folder / f"{place:05d}-{Path(path).stem}.parquet" for place, path in enumerate(paths)]
    for path, copy in zip(paths, copies, strict=True):
        with (
            reading(path, "Feather"),
            pa.memory_map(path) as source,
            pa.ipc.open_file(source) as file,
            pq.ParquetWriter(copy, file.schema) as writer,
        ):
            for place in range(file.num_record_batches):
                writer.write_batch(file.get_batch(place))
    return copies


def is_dask(table: Any) -> bool:
    """Whether a table is a Dask collection; asks nobody who is not there already."""
    return type(table).__module__.partition(".")[0] in ("dask", "dask_expr")


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
