"""Tables in Excel workbooks, streamed so that no more is read than the limits allow."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from leftout.data.cleaning import MISSING
from leftout.data.frames import refuse_repeated, refuse_unnamed
from leftout.data.sources import TableLimits
from leftout.errors import InputError
from leftout.running import warn
from leftout.text import listed, quoted, shown

if TYPE_CHECKING:
    import pandas as pd

_SHOWN_SHEETS = 10
_ERRORS = ("#NULL!", "#DIV/0!", "#VALUE!", "#REF!", "#NAME?", "#NUM!")
_MISSING = frozenset((*MISSING, *_ERRORS))


def read_excel(
    data: bytes, called: str, limits: TableLimits, sheet: str | None = None
) -> pd.DataFrame:
    """The table in a sheet, whose names are in the first row."""
    import numpy as np
    import pandas as pd

    rows: list[list[Any]] = []
    width = 0
    with _opened(data, called, limits) as book:
        chosen = book[_choose([each.title for each in book.worksheets], sheet, called)]
        chosen.reset_dimensions()  # what a file says of itself may be wrong
        for cells in chosen.iter_rows(values_only=True):
            row = [np.nan if cell is None or cell in _MISSING else cell for cell in cells]
            while row and row[-1] is np.nan:  # formats reach further than values
                row.pop()
            width = max(width, len(row))
            rows.append(row)
            limits.check_shape(len(rows), width, called)
    while rows and not rows[-1]:
        rows.pop()
    table = pd.DataFrame([row + [np.nan] * (width - len(row)) for row in rows], dtype=object)
    table = table.loc[:, table.notna().any()]
    if not len(table):
        return table
    names = table.iloc[0]
    refuse_unnamed(names.index[names.isna()].tolist(), called)
    refuse_repeated(names.tolist(), called)
    body = table.iloc[1:].reset_index(drop=True)  # objects: text such as 01234 stays text
    return body.set_axis(names.tolist(), axis=1).infer_objects()


def sheet_names(data: bytes, called: str, limits: TableLimits) -> list[str]:
    """The sheets of a workbook, in order."""
    with _opened(data, called, limits) as book:
        return [sheet.title for sheet in book.worksheets]


@contextmanager
def _opened(data: bytes, called: str, limits: TableLimits) -> Iterator[Any]:
    """A workbook, within the limits; whatever is wrong with it is refused in a sentence."""
    from openpyxl import load_workbook

    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            limits.check_bytes(sum(part.file_size for part in archive.infolist()), called)
        book = load_workbook(io.BytesIO(data), read_only=True, data_only=True, keep_links=False)
        try:
            yield book
        finally:
            book.close()
    except (InputError, MemoryError, RecursionError):
        raise
    except Exception as error:  # of the archive, its XML, or what the cells are said to hold
        raise InputError(
            f"{called} is not an Excel workbook (.xlsx), or a damaged or locked one. Save it anew, "
            "without a password, or as CSV."
        ) from error


def _choose(sheets: list[str], wanted: str | None, called: str) -> str:
    names = list(map(quoted, sheets[:_SHOWN_SHEETS]))
    names += [f"{len(sheets) - _SHOWN_SHEETS} more"] * (len(sheets) > _SHOWN_SHEETS)
    if wanted is None:
        if len(sheets) > 1:
            warn(
                f"{called} has {len(sheets)} sheets; the first, {names[0]}, was read, and not "
                f"{listed(names[1:])}."
            )
        return sheets[0]
    if wanted not in sheets:
        raise InputError(
            f"{called} has no sheet {shown(repr(wanted))}; it has {listed(names)}. Name one of "
            "these."
        )
    return wanted
