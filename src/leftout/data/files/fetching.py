"""The bytes of a file, and what tells that file from any other."""

from __future__ import annotations

import hashlib
import os
import re
import stat
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from leftout.errors import InputError
from leftout.files import Serializable
from leftout.text import quoted, shown

# More than one letter before the colon: a single one is a drive.
_ADDRESS = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+)://")
_STREAM = re.compile(r"/dev/stdin|/(?:dev|proc/self)/fd/\d+")


@dataclass(frozen=True)
class File(Serializable):
    """What tells a file from any other: the checksum and size are those of the bytes read.

    ``modified`` is when it was changed last, in UTC; None where it came from another program.
    """

    name: str
    sha256: str
    bytes: int
    modified: str | None = None


def fetch(path: str) -> tuple[bytes, File]:
    """All bytes of a file, which is opened once, and what tells it from others."""
    check_there(path)
    with open(path, "rb") as file:
        data, found = file.read(), os.fstat(file.fileno())
    modified = datetime.fromtimestamp(found.st_mtime, UTC).isoformat(timespec="seconds")
    checksum = hashlib.sha256(data).hexdigest()
    is_file = stat.S_ISREG(found.st_mode)
    return data, File(Path(path).name, checksum, len(data), modified if is_file else None)


def is_stream(path: str) -> bool:
    """Whether a path is what another program writes: it is read once, whole, as CSV."""
    return _STREAM.fullmatch(path) is not None


def called(path: str) -> str:
    """A file's name in a sentence."""
    return quoted(Path(path).name)


def short(error: Exception) -> str:
    """The first line of what an error says."""
    text = str(error).strip()
    return shown(text.splitlines()[0][:200].rstrip(".")) if text else type(error).__name__


def refuse_address(path: str) -> None:
    """Refuse an address such as ``https://`` or ``s3://``."""
    if address := _ADDRESS.match(path):
        raise InputError(
            f"Tables are read from files on this machine, not from {address[0]} addresses. "
            "Download the file first."
        )


def check_there(path: str) -> None:
    """Refuse a path that is not that of a file here."""
    refuse_address(path)
    try:
        exists, folder = Path(path).exists(), Path(path).is_dir()
    except (OSError, ValueError) as error:  # a name that no system takes
        reason = getattr(error, "strerror", None) or short(error)
        raise InputError(f"{called(path)} is not a path to a file: {reason}.") from error
    if not exists:
        raise InputError(f"There is no file {quoted(path)}. Check the path.")
    if folder:
        raise InputError(f"{quoted(path)} is a folder; a table is needed. Name the file in it.")
