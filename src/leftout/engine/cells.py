"""Cells of stored columns as raw columns of a table, without a look at what values they take."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from leftout.data.columns import LARGEST_EXACT, Column, column_of
from leftout.data.encoding import Floats
from leftout.engine.chunks import is_text
from leftout.errors import InputError

if TYPE_CHECKING:
    import pyarrow as pa


def raw_column(name: str, cells: pa.Array, kind: pa.DataType, as_category: bool) -> Column:
    """The cells of a batch as a column, as they are read in memory.

    Numbers stay numbers, also where they take no more than two values, unless they are wanted
    ``as_category``; categories are in the order in which they are stored. ``kind`` is the column's
    type in the schema. Cells that cannot be read are missing: the sample has none of them, or its
    column is not to be read.
    """
    import pyarrow.types as is_a

    if is_text(cells.type):
        return _words(name, cells, is_a.is_dictionary(kind))
    if is_a.is_integer(kind) and _has_large(cells):
        return _words(name, cells.cast("large_string"), False)
    if is_a.is_integer(kind) or is_a.is_floating(kind):
        return Column(name, _floats(cells))
    if is_a.is_timestamp(kind) and not as_category:
        return Column(name, _floats(cells.cast("int64")), dates=True)
    try:
        return column_of(cells.to_pandas(), name, as_category)
    except InputError:
        return Column(name, np.full(len(cells), np.nan))


def _floats(cells: pa.Array) -> Floats:
    """Numbers, NaN where they are missing."""
    return cells.cast("float64", safe=False).to_numpy(zero_copy_only=False)


def _has_large(cells: pa.Array) -> bool:
    """Whether some whole numbers are so large that floats do not tell them apart."""
    import pyarrow.compute as pc

    low, high = pc.min_max(cells).as_py().values()
    return low is not None and (low <= -LARGEST_EXACT or high >= LARGEST_EXACT)


def _words(name: str, cells: pa.Array, declared: bool) -> Column:
    """Texts or categories, by the dictionary of the batch."""
    import pyarrow.types as is_a

    if not is_a.is_dictionary(cells.type):
        cells = cells.dictionary_encode()
    words = cells.dictionary.to_pylist()
    codes = cells.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int32, copy=False)
    gone = [code for code, word in enumerate(words) if word is None]
    if gone:
        codes = np.where(np.isin(codes, gone), -1, codes).astype(np.int32)
    texts = tuple("" if word is None else word for word in words)
    return Column(name, codes, texts, declared=declared)
