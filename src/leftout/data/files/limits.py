"""How much a file may hold: readers count what they unpack and stop at these limits."""

from __future__ import annotations

import re
from dataclasses import dataclass

from leftout.errors import InputError, parameter_label
from leftout.running import available_memory

# Of the available memory: bytes that a cell takes while a table is read and audited, and the
# fraction that the unpacked bytes of a file may be.
_BYTES_PER_CELL, _MEMORY_FRACTION = 68, 4
_SIZE = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([kmgt]?)(i?)b?\s*", re.IGNORECASE)


@dataclass(frozen=True, kw_only=True)
class TableLimits:
    """Limits on a file: unpacked bytes, columns, and cells (rows times columns)."""

    unpacked: int = 4 * 10**9
    columns: int = 5_000
    cells: int = 200_000_000

    @classmethod
    def here(cls) -> TableLimits:
        """On this machine: more where it has more memory; columns are counted by the audit."""
        memory = available_memory()
        return cls(
            unpacked=max(cls.unpacked, memory // _MEMORY_FRACTION),
            columns=10**9,
            cells=max(cls.cells, memory // _BYTES_PER_CELL),
        )

    def check_shape(self, rows: int, columns: int, called: str) -> None:
        """Refuse more columns or cells than are read; there may be more rows than these."""
        if columns > self.columns:
            raise InputError(
                f"{called} has {columns:,} columns; an audit takes at most {self.columns:,}. Keep "
                "those that matter."
            )
        if rows * columns > self.cells:
            raise InputError(
                f"{called} has at least {rows:,} rows of {columns:,} columns, which is more than "
                f"the {self.cells:,} cells that are taken here. Keep a part of the rows, or of the "
                "columns."
            )

    def check_bytes(self, size: int, called: str) -> None:
        """Refuse more unpacked bytes than are read."""
        if size > self.unpacked:
            raise InputError(
                f"{called} holds more than {describe_size(self.unpacked)} when it is unpacked, "
                "which is the most that is taken here. Keep a part of it."
            )


def describe_size(size: float) -> str:
    """Bytes in words.

    >>> describe_size(512_000_000), describe_size(1_540), describe_size(12)
    ('512 MB', '1.54 KB', '12 bytes')
    """
    for unit, n_bytes in (("GB", 10**9), ("MB", 10**6), ("KB", 10**3)):
        if size >= n_bytes:
            return f"{size / n_bytes:.3g} {unit}"
    return f"{size:.0f} bytes"


def n_bytes(size: int | str, name: str) -> int:
    """Bytes as people write them, of the parameter of this name.

    >>> n_bytes("2GB", "memory"), n_bytes("512 MiB", "memory"), n_bytes(1000, "memory")
    (2000000000, 536870912, 1000)
    """
    found = _SIZE.fullmatch(str(size))
    if found is None or float(found[1]) <= 0.0:
        raise InputError(
            f"{parameter_label(name, size)} is no size; give one such as 512MB or 2GB."
        )
    power = " kmgt".index(found[2].lower() or " ")
    return int(float(found[1]) * (1024 if found[3] else 1000) ** power)
