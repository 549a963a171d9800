"""What the columns of a table in several files hold: the same in each, by its footer."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from leftout.checks import Refusal
from leftout.tables.files.fetching import called
from leftout.wording import shortened

if TYPE_CHECKING:
    import pyarrow as pa

# Rows that are read at a time; of wide tables fewer, so that as many cells are.
_ROWS, _CELLS = 1 << 15, 1 << 21
_UNNAMED = re.compile(r"__index_level_\d+__")


@dataclass(frozen=True)
class Layout:
    """The columns of a table: their names, and what each is stored as."""

    path: str  # of the first file
    names: tuple[str, ...]
    types: tuple[pa.DataType, ...]

    @cached_property
    def of(self) -> dict[str, pa.DataType]:
        return dict(zip(self.names, self.types, strict=True))

    @cached_property
    def texts(self) -> set[str]:
        """Columns that are read as dictionaries."""
        return {name for name, kind in self.of.items() if _is_text(kind)}

    @property
    def batch(self) -> int:
        """Rows to read at a time."""
        return max(min(_ROWS, _CELLS // max(len(self.names), 1)), 1024)

    def joined(self, others: Sequence[Layout]) -> Layout:
        """The layout of all files; refuses one that has other columns, or other things in them."""
        types = dict(self.of)
        first = {name: self.path for name in types}
        for other in others:
            for name in self.names:
                if name not in other.of:
                    raise Refusal(
                        f"{called(other.path)} has no column {_quoted(name)}, which "
                        f"{called(self.path)} has; all files need the same columns. Correct or "
                        "remove the file."
                    )
            for name, kind in other.of.items():
                if name not in types:
                    raise Refusal(
                        f"{called(other.path)} has a column {_quoted(name)}, which "
                        f"{called(self.path)} has not; all files need the same columns. Correct or "
                        "remove the file."
                    )
                both = _both(types[name], kind)
                if both is None:
                    raise Refusal(
                        f"{called(other.path)} has {_told(kind)} in the column {_quoted(name)}, "
                        f"where {called(first[name])} has {_told(types[name])}; all files need the "
                        "same. Correct or remove the file."
                    )
                if both != types[name]:
                    types[name], first[name] = both, other.path
        return Layout(self.path, self.names, tuple(types.values()))


def layout_of(schema: pa.Schema, path: str) -> Layout:
    """What a file's footer says of its columns; pandas' own index goes, or comes first by name."""
    twice = [name for name, times in Counter(schema.names).items() if times > 1]
    if twice:
        raise Refusal(
            f"Several columns of {called(path)} are named {_quoted(twice[0])}; names must be "
            "unique. Rename or drop all but one."
        )
    kept = (schema.pandas_metadata or {}).get("index_columns", [])
    index = [name for name in kept if isinstance(name, str) and name in schema.names]
    rest = [name for name in schema.names if name not in index]
    names = [name for name in index if not _UNNAMED.fullmatch(name)] + rest
    if not names:
        raise Refusal(f"{called(path)} has no columns; a table with some is needed.")
    return Layout(path, tuple(names), tuple(schema.field(name).type for name in names))


def _is_text(kind: pa.DataType) -> bool:
    import pyarrow.types as is_a

    return bool(is_a.is_string(kind) or is_a.is_large_string(kind))


def _both(one: pa.DataType, other: pa.DataType) -> pa.DataType | None:
    """What two files may have in the same column, as one; None if that is not the same."""
    import pyarrow as pa
    import pyarrow.types as is_a

    if one == other or is_a.is_null(other):
        return one
    if is_a.is_null(one):
        return other
    if is_a.is_dictionary(one) and is_a.is_dictionary(other):
        return one if _both(one.value_type, other.value_type) is not None else None
    for same in (
        lambda kind: _is_text(kind) or is_a.is_string_view(kind),
        is_a.is_timestamp,
        is_a.is_date,
        is_a.is_floating,
    ):
        if same(one) and same(other):
            return one
    if is_a.is_signed_integer(one) and is_a.is_signed_integer(other):
        return pa.int64()
    if is_a.is_unsigned_integer(one) and is_a.is_unsigned_integer(other):
        return pa.uint64()
    if all(is_a.is_integer(kind) or is_a.is_floating(kind) for kind in (one, other)):
        # pandas stores whole numbers with gaps as fractions
        return pa.float64()
    return None


def _told(kind: pa.DataType) -> str:
    """What a column holds, in a word."""
    import pyarrow.types as is_a

    for told, is_it in (
        ("whole numbers", is_a.is_integer),
        ("numbers", lambda each: is_a.is_floating(each) or is_a.is_decimal(each)),
        ("text", lambda each: _is_text(each) or is_a.is_string_view(each)),
        ("categories", is_a.is_dictionary),
        ("yes and no", is_a.is_boolean),
        ("dates", lambda each: is_a.is_timestamp(each) or is_a.is_date(each)),
    ):
        if is_it(kind):
            return told
    return str(kind)


def _quoted(name: str) -> str:
    return repr(shortened(name))
