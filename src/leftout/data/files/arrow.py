"""Tables in Parquet and Feather files, as pandas has them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leftout.data.frames import refuse_repeated
from leftout.data.sources import TableLimits

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa


def read_parquet(data: bytes, called: str, limits: TableLimits) -> pd.DataFrame:
    """The table in a Parquet file."""
    import pyarrow as pa
    from pyarrow.parquet import ParquetFile

    with ParquetFile(pa.BufferReader(data)) as file:
        metadata = file.metadata
        limits.check_shape(metadata.num_rows, metadata.num_columns, called)
        groups = map(metadata.row_group, range(metadata.num_row_groups))
        limits.check_bytes(sum(group.total_byte_size for group in groups), called)
        return to_frame(file.read(), called)


def read_feather(data: bytes, called: str, limits: TableLimits) -> pd.DataFrame:
    """The table in a Feather file (Arrow's IPC format), unpacked a batch at a time."""
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
