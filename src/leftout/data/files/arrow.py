"""Tables in Parquet and Feather files, unpacked a part at a time up to the limits."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leftout.data.frames import refuse_repeated
from leftout.data.sources import TableLimits

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa


def read_parquet(data: bytes, called: str, limits: TableLimits) -> pd.DataFrame:
    """The table in a Parquet file.

    A Parquet dictionary stores a text once, however often it occurs: texts are read with theirs,
    and unpacked when it is known how long they will be.
    """
    import pyarrow as pa
    from pyarrow.parquet import ParquetFile

    text_types = (pa.string(), pa.large_string(), pa.binary(), pa.large_binary())
    with ParquetFile(pa.BufferReader(data)) as file:
        metadata, schema = file.metadata, file.schema_arrow
    limits.check_shape(metadata.num_rows, metadata.num_columns, called)
    groups = map(metadata.row_group, range(metadata.num_row_groups))
    limits.check_bytes(sum(group.total_byte_size for group in groups), called)
    texts = [field.name for field in schema if field.type in text_types]
    table = ParquetFile(pa.BufferReader(data), read_dictionary=texts).read()
    limits.check_bytes(sum(map(_text_size, table.select(texts).columns)), called)
    return to_frame(table.cast(schema), called)


def _text_size(column: pa.ChunkedArray) -> int:
    """Bytes of texts when each of them is written out."""
    import pyarrow as pa
    import pyarrow.compute as pc

    lengths = (pc.binary_length(chunk.dictionary).cast(pa.int64()) for chunk in column.chunks)
    pairs = zip(lengths, column.chunks, strict=True)
    return sum(pc.sum(each.take(chunk.indices)).as_py() or 0 for each, chunk in pairs)


def read_feather(data: bytes, called: str, limits: TableLimits) -> pd.DataFrame:
    """The table in a Feather file (Arrow's IPC format)."""
    import pyarrow as pa

    file = pa.ipc.open_file(pa.BufferReader(data))
    batches, rows, size = [], 0, 0
    for place in range(file.num_record_batches):
        batches.append(file.get_batch(place))
        rows += batches[-1].num_rows
        size += batches[-1].nbytes
        limits.check_shape(rows, len(file.schema), called)
        limits.check_bytes(size, called)
    return to_frame(pa.Table.from_batches(batches, file.schema), called)


def to_frame(table: pa.Table, called: str) -> pd.DataFrame:
    """A pyarrow table in pandas, with all of its columns."""
    refuse_repeated(table.column_names, called)
    frame = as_pandas(table)
    if frame.index.name is not None or type(frame.index).__name__ == "MultiIndex":
        frame = frame.reset_index()  # columns that pandas kept aside
    return frame


def as_pandas(table: pa.Table) -> pd.DataFrame:
    """A pyarrow table in pandas, where large whole numbers with gaps stay exact."""
    import pandas as pd
    import pyarrow as pa

    whole = {pa.int64(): pd.Int64Dtype(), pa.uint64(): pd.UInt64Dtype()}
    gaps = any(column.type in whole and column.null_count for column in table.columns)
    return table.to_pandas(date_as_object=False, types_mapper=whole.get if gaps else None)
