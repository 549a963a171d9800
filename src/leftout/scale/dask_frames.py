"""A Dask DataFrame, written to Parquet once: its parts are then chunks like any other."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from leftout.checks import Refusal
from leftout.scale.chunks import Chunk, listed
from leftout.scale.csv import private_folder
from leftout.tables.files.fetching import short


def is_dask(table: Any) -> bool:
    """Whether a table is a Dask DataFrame; asks nobody who is not there already."""
    module = type(table).__module__.split(".")[0]
    return module in ("dask", "dask_expr") and hasattr(table, "to_parquet")


@contextmanager
def written(table: Any, folder: str | os.PathLike[str] | None = None) -> Iterator[list[Chunk]]:
    """The chunks of a Dask DataFrame, in a private copy that is gone in the end.

    Parameters
    ----------
    table : dask.dataframe.DataFrame
    folder : path or None
        Where the copy is written, which every worker must reach; None: where the system has
        temporary files.
    """
    with private_folder(folder) as place:
        named = table.index.name is not None
        try:
            table.to_parquet(str(place / "table"), write_index=named, write_metadata_file=False)
        except MemoryError:
            raise
        except Exception as error:  # whatever its tasks raise
            raise Refusal(
                f"The Dask DataFrame cannot be written to Parquet: {short(error)}. Compute its "
                "columns first, or write it yourself and pass the folder."
            ) from error
        yield listed(_with_rows(place / "table"))


def _with_rows(folder: Any) -> list[str]:
    """The files of a folder that have rows, in the order of the partitions."""
    import pyarrow.parquet as pq

    paths = sorted(folder.glob("*.parquet"), key=lambda path: int(path.name.split(".")[1]))
    held = [str(path) for path in paths if pq.ParquetFile(path).metadata.num_rows]
    if not held:
        raise Refusal("The Dask DataFrame has no rows; a table with some is needed.")
    return held
