"""Files of a table as chunks: row groups, each with its place among all rows.

The table in several Parquet files is the rows of all of them, file after file in the order of
their names (or as listed), and row group after row group. Files are compared by what their footers
say, so that a wrong one is refused before anything is read; each has a fingerprint, so that one
that changes between two passes is refused as well.
"""

from __future__ import annotations

import glob
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any

from leftout.data.formats import columns_of_people
from leftout.data.frames import refuse_repeated
from leftout.data.sources import TEXT, called, reading, refuse_address, short
from leftout.errors import InputError
from leftout.text import quoted, shortened

if TYPE_CHECKING:
    import pyarrow as pa
    from pyarrow.parquet import ParquetFile

Fingerprint = tuple[int, int]

STORED = (".parquet", ".pq")
_BUFFER = 1 << 18
# Rows that are read at a time; of wide tables fewer, so that as many cells are.
_ROWS, _CELLS = 1 << 15, 1 << 21


@dataclass(frozen=True)
class Chunk:
    """A row group of a file: its place among all rows, and what tells the file from any other."""

    path: str
    group: int  # which row group of the file
    start: int  # rows of the table before it
    n_rows: int
    fingerprint: Fingerprint
    # the table's columns, of types that hold those of all files: the same object for all chunks
    schema: pa.Schema = field(repr=False)

    @property
    def batch_size(self) -> int:
        """Rows to read at a time."""
        return max(min(_ROWS, _CELLS // len(self.schema)), 1024)

    def batches(self, names: Sequence[str] | None = None) -> Iterator[tuple[int, pa.RecordBatch]]:
        """Some rows at a time, with the place of the first; of some columns, in that order.

        Cells are of the file's own types, text as dictionaries, which is how it is stored. Refuses
        a file that has changed since it was listed.
        """
        import pyarrow as pa

        names = list(self.schema.names if names is None else names)
        with reading(self.path, "Parquet"):
            if fingerprint(self.path) != self.fingerprint:
                raise InputError(
                    f"{called(self.path)} has changed since the audit began. Start again when "
                    "nothing writes to it."
                )
            texts = [name for name in names if is_text(self.schema.field(name).type)]
            with _opened(self.path, texts) as file:
                start = self.start
                for batch in file.iter_batches(
                    self.batch_size, row_groups=[self.group], columns=names, use_threads=False
                ):
                    # a file may have its columns in another order
                    yield start, pa.record_batch([batch[name] for name in names], names)
                    start += batch.num_rows


def listed(source: Any) -> list[Chunk]:
    """The chunks of a table in Parquet files, in the order of the rows, without empty row groups.

    They may be a path, a pattern such as ``data/*.parquet``, a list of paths, a
    ``pyarrow.dataset.Dataset``, or a folder: all Parquet files in it and in folders below, but for
    names that begin with a dot or an underscore.
    """
    schemas: dict[str, pa.Schema] = {}
    groups: list[tuple[str, int, int, Fingerprint]] = []
    for path in paths_of(source):
        with reading(path, "Parquet"):
            before = fingerprint(path)
            with _opened(path) as file:
                meta = file.metadata
                schemas[path] = _table_schema(file.schema_arrow, path)
        if not meta.num_rows:
            raise InputError(
                f"{called(path)} has no rows; every file needs some. Remove it, or name the others."
            )
        sizes = [meta.row_group(group).num_rows for group in range(meta.num_row_groups)]
        groups += [(path, group, n_rows, before) for group, n_rows in enumerate(sizes) if n_rows]
    schema, starts = unify(schemas), accumulate((size for *_, size, _ in groups), initial=0)
    return [
        Chunk(path, group, start, n_rows, before, schema)
        for (path, group, n_rows, before), start in zip(groups, starts, strict=False)
    ]


def n_rows_of(chunks: Sequence[Chunk]) -> int:
    """Rows of the table that chunks make up."""
    return chunks[-1].start + chunks[-1].n_rows


def paths_of(source: Any) -> list[str]:
    """The files that a path, pattern, folder, list or dataset stands for."""
    if hasattr(source, "files") and hasattr(source, "schema"):  # pyarrow.dataset
        return [path if os.path.exists(path) else f"/{path}" for path in source.files]
    each = [source] if isinstance(source, str | os.PathLike) else source
    if not are_paths(each):
        raise InputError(
            f"Found {type(source).__name__} where files of a table are needed: a path, a pattern "
            "such as 'data/*.parquet', a folder, a list of paths, or a pyarrow.dataset.Dataset."
        )
    found = [path for one in each for path in _expanded(os.fspath(one))]
    for path in (path for place, path in enumerate(found) if path in found[:place]):
        raise InputError(f"{called(path)} is listed twice. Name every file once.")
    return found


def are_paths(source: Any) -> bool:
    """Whether something is a list of paths."""
    listed = isinstance(source, list | tuple) and len(source) > 0
    return listed and all(isinstance(each, str | os.PathLike) for each in source)


def _expanded(text: str) -> list[str]:
    refuse_address(text)
    path = Path(text)
    if path.is_dir():
        found = [
            str(each)
            for each in sorted(path.rglob("*"))
            if each.is_file()
            and each.name.lower().endswith((*STORED, *TEXT))
            and not any(part.startswith((".", "_")) for part in each.relative_to(path).parts)
        ]
        if not found:
            raise InputError(
                f"The folder {quoted(text)} has no Parquet or CSV files in it. Check the path."
            )
        return found
    if path.exists():
        return [text]
    found = sorted(glob.glob(text, recursive=True))
    if not found:
        raise InputError(f"There is no file {quoted(text)}. Check the path.")
    return found


def _opened(path: str, texts: Sequence[str] = ()) -> ParquetFile:
    from pyarrow.parquet import ParquetFile

    # no more of a row group than is asked for is held at a time
    return ParquetFile(path, read_dictionary=list(texts), buffer_size=_BUFFER, pre_buffer=False)


def fingerprint(path: str) -> Fingerprint:
    """What tells whether a file has changed: its size, and when it was written."""
    found = os.stat(path)
    return found.st_size, found.st_mtime_ns


def _table_schema(schema: pa.Schema, path: str) -> pa.Schema:
    """What a file says of its columns."""
    import pyarrow as pa

    refuse_repeated(schema.names, called(path))
    names = columns_of_people(schema)
    if not names:
        raise InputError(f"{called(path)} has no columns; a table with some is needed.")
    return pa.schema([(name, _read_as(schema.field(name).type)) for name in names])


def unify(schemas: Mapping[str, pa.Schema]) -> pa.Schema:
    """The columns of all files; refuses one that has other columns, or other things in them."""
    import pyarrow as pa

    (first, schema), *others = schemas.items()
    for path, other in others:
        different = sorted({*schema.names} ^ {*other.names})
        if different:
            name = shortened(different[0])
            has, lacks = (first, path) if different[0] in schema.names else (path, first)
            raise InputError(
                f"{called(lacks)} has no column {name!r}, which {called(has)} has; all files need "
                "the same columns. Correct or remove one."
            )
        try:
            schema = pa.unify_schemas([schema, other], promote_options="permissive")
        except pa.ArrowException as error:
            raise InputError(
                f"{called(path)} does not fit the files before it: {short(error)}. Correct or "
                "remove it."
            ) from error
    types = [pa.float64() if pa.types.is_null(kind) else kind for kind in schema.types]
    return pa.schema(list(zip(schema.names, types, strict=True)))


def is_text(kind: pa.DataType) -> bool:
    """Whether cells are texts, one by one or as a dictionary."""
    import pyarrow.types as is_a

    kind = kind.value_type if is_a.is_dictionary(kind) else kind
    return bool(is_a.is_string(kind) or is_a.is_large_string(kind))


def _read_as(kind: pa.DataType) -> pa.DataType:
    """What a stored type is read as, where files may have others for the same."""
    import pyarrow as pa
    import pyarrow.types as is_a

    if is_a.is_dictionary(kind):
        return pa.dictionary(pa.int32(), pa.large_string(), kind.ordered)
    if is_a.is_timestamp(kind) or is_a.is_date(kind):
        return pa.timestamp("us")
    return pa.large_string() if is_text(kind) else kind
