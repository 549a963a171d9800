"""How much the page takes, from whom it may come: more is refused, in a sentence."""

from __future__ import annotations

from dataclasses import dataclass

from leftout.tables.files.guards import Most

_UNITS = {"B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9}


@dataclass(frozen=True, kw_only=True)
class Limits(Most):
    """Sizes in bytes, times in seconds.

    Attributes
    ----------
    upload : int
        Of a file, as it arrives.
    unpacked : int
        Of what a compressed file or a workbook holds.
    columns, cells : int
        Of a table; cells are rows times columns.
    reading, auditing : float
        Seconds that a process may take to look at a table, and to audit it.
    waiting : int
        Audits in the queue, besides the one that runs.
    streams : int
        Browsers that are told progress as it happens; others ask again and again.
    form : int
        Of what a form without a file may send.
    patience : float
        Seconds that a new connection may take to ask for something.
    idle : int
        Connections that ask for nothing; the oldest gives way to the next.
    """

    upload: int = 512 * 10**6
    reading: float = 600.0
    auditing: float = 6 * 3600.0
    waiting: int = 20
    streams: int = 100
    form: int = 10**6
    patience: float = 20.0
    idle: int = 100


def size_of(text: str) -> int | None:
    """Bytes that a text such as ``512MB`` means; None if it means none.

    >>> size_of("512MB"), size_of("1.5 gb"), size_of("20"), size_of("much"), size_of("-1MB")
    (512000000, 1500000000, 20, None, None)
    """
    bare = text.strip().upper()
    unit = next((unit for unit in ("KB", "MB", "GB", "B") if bare.endswith(unit)), "")
    try:
        size = float(bare.removesuffix(unit)) * _UNITS[unit or "B"]
    except ValueError:
        return None
    return int(size) if 1 <= size < 1e15 else None
