"""Tables in files that say what their cells are: Parquet, Feather and Excel."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

from leftout.checks import Refusal
from leftout.running import note
from leftout.tables.cleaning import MISSING
from leftout.tables.files.delimited import refuse_unnamed
from leftout.tables.frames import told_apart
from leftout.wording import listed, shortened, shown

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

_SHOWN = 10


def read_arrow(data: bytes, kind: str) -> tuple[pd.DataFrame, list[Any]]:
    """The table in a Parquet or Feather file, and the names of its columns, told apart."""
    import pyarrow as pa

    if kind == ".parquet":
        from pyarrow.parquet import ParquetFile

        table = ParquetFile(pa.BufferReader(data)).read()
    else:
        from pyarrow.feather import read_table

        table = read_table(pa.BufferReader(data))
    names = told_apart(table.column_names)
    if names != table.column_names:
        table = table.rename_columns(list(map(str, names)))
    frame = as_pandas(table)
    if frame.index.name is not None or type(frame.index).__name__ == "MultiIndex":
        frame = frame.reset_index()  # columns that pandas kept aside
    marked = {str(name): name for name in names}
    return frame, [marked.get(name, name) for name in frame.columns]


def as_pandas(table: pa.Table) -> pd.DataFrame:
    """A table of pyarrow's as one of pandas', with all that it holds."""
    import pandas as pd
    import pyarrow as pa

    # Whole numbers with gaps would become floats, which do not tell large ones apart.
    whole = {pa.int64(): pd.Int64Dtype(), pa.uint64(): pd.UInt64Dtype()}
    gaps = any(column.type in whole and column.null_count for column in table.columns)
    return table.to_pandas(date_as_object=False, types_mapper=whole.get if gaps else None)


def read_excel(data: bytes, sheet: str | None, called: str) -> tuple[pd.DataFrame, list[Any]]:
    """The table in a sheet of an Excel file, and the names in its first row, told apart."""
    import pandas as pd

    with pd.ExcelFile(io.BytesIO(data), engine="openpyxl") as book:
        sheet = _sheet(list(map(str, book.sheet_names)), sheet, called)
        # as they are: pandas would turn text such as 01234 into a number
        how: dict[str, Any] = {
            "sheet_name": sheet, "dtype": object, "na_values": list(MISSING),
            "keep_default_na": False,
        }  # fmt: skip
        header = pd.read_excel(book, header=None, nrows=1, **how)
        table = pd.read_excel(book, **how)
    names = [] if not len(header) else header.iloc[0].tolist()
    unnamed = [i for i, name in enumerate(table.columns) if str(name).startswith("Unnamed: ")]
    refuse_unnamed(unnamed, called)
    names = told_apart(names) if len(set(names)) < len(names) == table.shape[1] else []
    return table.infer_objects(), names or list(table.columns)


def _sheet(sheets: list[str], wanted: str | None, called: str) -> str:
    """The sheet that is wanted, or the first."""
    quoted = [shortened(shown(repr(name))) for name in sheets[:_SHOWN]]
    quoted += [f"{len(sheets) - _SHOWN} more"] * (len(sheets) > _SHOWN)
    if wanted is None:
        if len(sheets) > 1:
            note(
                f"{called} has {len(sheets)} sheets; the first, {quoted[0]}, was read, and not "
                f"{listed(quoted[1:])}."
            )
        return sheets[0]
    if wanted not in sheets:
        raise Refusal(
            f"{called} has no sheet {shown(repr(wanted))}; it has {listed(quoted)}. Name one of "
            "these."
        )
    return wanted
