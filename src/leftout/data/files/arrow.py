"""Tables in Parquet and Feather files, unpacked a part at a time up to the limits."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leftout.data.files.limits import TableLimits
from leftout.data.frames import rename_repeated
from leftout.errors import InputError

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

_BATCH_ROWS = 1 << 14


def read_parquet(data: bytes, called: str, limits: TableLimits) -> pd.DataFrame:
    """The table in a Parquet file."""
    import pyarrow as pa
    from pyarrow.parquet import ParquetFile

    try:
        _check_parquet(data, called, limits)
        return to_frame(ParquetFile(pa.BufferReader(data)).read())
    except (pa.ArrowException, OSError) as error:
        raise _unreadable(called, "Parquet", error) from error


def read_feather(data: bytes, called: str, limits: TableLimits) -> pd.DataFrame:
    """The table in a Feather file (Arrow's IPC format)."""
    import pyarrow as pa

    try:
        file = pa.ipc.open_file(pa.BufferReader(data))
        batches, rows, size = [], 0, 0
        for place in range(file.num_record_batches):
            batches.append(file.get_batch(place))
            rows += batches[-1].num_rows
            size += batches[-1].nbytes
            limits.check_shape(rows, len(file.schema), called)
            limits.check_bytes(size, called)
        return to_frame(pa.Table.from_batches(batches, file.schema))
    except (pa.ArrowException, OSError) as error:
        raise _unreadable(called, "Feather", error) from error


def _unreadable(called: str, kind: str, error: Exception) -> Exception:
    if isinstance(error, MemoryError):
        return error
    return InputError(
        f"{called} is not what its name says: it cannot be read as {kind}. Check the file."
    )


def _check_parquet(data: bytes, called: str, limits: TableLimits) -> None:
    """Refuse by what a Parquet file says of itself, then by the length of its texts.

    A Parquet dictionary stores a value once, however often it occurs: texts are read with theirs,
    some rows at a time, and counted as long as they will be.
    """
    import pyarrow as pa
    import pyarrow.compute as pc
    from pyarrow.parquet import ParquetFile

    with ParquetFile(pa.BufferReader(data)) as file:
        metadata, schema = file.metadata, file.schema_arrow
    limits.check_shape(metadata.num_rows, metadata.num_columns, called)
    groups = map(metadata.row_group, range(metadata.num_row_groups))
    limits.check_bytes(sum(group.total_byte_size for group in groups), called)
    text_types = (pa.string(), pa.large_string(), pa.binary(), pa.large_binary())
    texts = [field.name for field in schema if field.type in text_types]
    nested = [field.name for field in schema if pa.types.is_nested(field.type)]
    if not texts and not nested:
        return
    size = 0
    with ParquetFile(pa.BufferReader(data), read_dictionary=texts) as file:
        for batch in file.iter_batches(_BATCH_ROWS, columns=texts + nested):
            for column in batch.columns:
                if pa.types.is_dictionary(column.type) and column.type.value_type in text_types:
                    lengths = pc.binary_length(column.dictionary).cast(pa.int64())
                    size += pc.sum(lengths.take(column.indices)).as_py() or 0
                else:
                    size += column.nbytes
            limits.check_bytes(size, called)


def to_frame(table: pa.Table) -> pd.DataFrame:
    """A pyarrow table in pandas, with all of its columns under names of their own."""
    names = rename_repeated(table.column_names)
    if names != table.column_names:
        table = table.rename_columns(names)
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
