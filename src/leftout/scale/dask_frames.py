"""A Dask data frame or array, written to Parquet once: its parts are then chunks like any other."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

from leftout.checks import Refusal
from leftout.scale.csv import private_folder
from leftout.tables.files.fetching import short


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
            raise Refusal(
                f"Part {place + 1} of the {_called(table)} cannot be written to Parquet: "
                f"{short(error)}. Compute its columns first, or write it yourself and pass the "
                "folder."
            ) from error
    if not some:
        raise Refusal(f"The {_called(table)} has no rows; a table with some is needed.")
    return str(folder)


def _partitions(table: Any) -> Iterator[Any]:
    """The parts of a Dask data frame or array, whole rows each."""
    if hasattr(table, "get_partition"):
        yield from (table.get_partition(place) for place in range(table.npartitions))
        return
    if getattr(table, "ndim", None) != 2:
        raise Refusal(
            f"Found a {_called(table)} where a table is needed. Pass a data frame, or an array of "
            "two dimensions."
        )
    table = table.rechunk({1: -1})
    yield from (table.blocks[place] for place in range(table.numblocks[0]))


def _called(table: Any) -> str:
    return f"Dask {type(table).__name__}"
