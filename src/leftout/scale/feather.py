"""Feather files, stored once more as Parquet: their batches are then chunks like any other."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from leftout.checks import Refusal
from leftout.scale.csv import private_folder
from leftout.tables.files.fetching import called, short

FEATHER = (".feather",)
# Rows of a batch together at least, as one row group.
_GROUP = 1 << 17


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
            raise Refusal(
                f"{called(path)} cannot be read as a Feather table: {short(error)}. Check the file."
            ) from error
        made.append(str(copy))
    return made


def _rewritten(path: str, copy: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    with pa.memory_map(path) as source, pa.ipc.open_file(source) as file:
        with pq.ParquetWriter(copy, file.schema) as writer:
            waiting: list[pa.RecordBatch] = []
            for place in range(file.num_record_batches):
                waiting.append(file.get_batch(place))
                last = place == file.num_record_batches - 1
                if last or sum(map(len, waiting)) >= _GROUP:
                    writer.write_table(pa.Table.from_batches(waiting, file.schema))
                    waiting = []
