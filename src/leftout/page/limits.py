"""How much the page takes, from whom it may come: more is refused, in a sentence.

Forms without a file: small, and read whole.
"""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import parse_qsl

from starlette.requests import Request

from leftout.data.files.guards import Most
from leftout.errors import InputError

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


_FIELDS = 1_000


async def sent(request: Request, limits: Limits) -> dict[str, str]:
    """What a form sent, each field once; refuses more than a form of ours sends."""
    data = bytearray()
    async for chunk in request.stream():
        data += chunk
        if len(data) > limits.form:
            raise InputError(
                "The form sent more than a form of this page does. Nothing was changed."
            )
    try:
        pairs = parse_qsl(
            data.decode("utf-8"), keep_blank_values=True, max_num_fields=_FIELDS, errors="strict"
        )
    except ValueError as error:
        raise InputError("The form could not be read. Nothing was changed.") from error
    return dict(pairs)


def number(text: str | None) -> int:
    """A page's number from an address; the first if it is none."""
    return int(text) if text and text.isascii() and text.isdigit() and len(text) < 6 else 1
