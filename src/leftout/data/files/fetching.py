"""The bytes of a file, here or at an address, and what tells that file from any other."""

from __future__ import annotations

import hashlib
import os
import re
import stat
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath

from leftout.errors import InputError
from leftout.files import Serializable
from leftout.text import quoted, shown

# More than one letter before the colon: a single one is a drive.
_ADDRESS = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+)://")
_STREAM = re.compile(r"/dev/stdin|/(?:dev|proc/self)/fd/\d+")


@dataclass(frozen=True)
class File(Serializable):
    """What tells a file from any other: the checksum and size are those of the bytes read.

    ``modified`` is when it was changed last, in UTC; None where it came from an address, or from
    another program.
    """

    name: str
    sha256: str
    bytes: int
    modified: str | None = None


def fetch(path: str) -> tuple[bytes, File]:
    """All bytes of a file, which is opened once, and what tells it from others."""
    if is_address(path):
        data, modified = _downloaded(path), None
    else:
        check_there(Path(path))
        data, modified = _read(path)
    return data, File(file_name(path), hashlib.sha256(data).hexdigest(), len(data), modified)


def is_stream(path: str) -> bool:
    """Whether a path is what another program writes: it is read once, whole, as CSV."""
    return _STREAM.fullmatch(path) is not None


def is_address(path: str) -> bool:
    """Whether a path is an address such as ``https://`` or ``s3://``."""
    return _ADDRESS.match(path) is not None


def file_name(path: str | os.PathLike[str]) -> str:
    """The last part of a path or address, without a query."""
    text = os.fspath(path)
    return PurePosixPath(bare(text)).name if is_address(text) else Path(text).name


def called(path: str, whole: bool = False) -> str:
    """A file's name in a sentence, or its whole path (without a query, which may be secret)."""
    return quoted(bare(path) if whole else file_name(path))


def short(error: Exception) -> str:
    """The first line of what an error says."""
    text = str(error).strip()
    return shown(text.splitlines()[0][:200].rstrip(".")) if text else type(error).__name__


def bare(path: str) -> str:
    """An address without its query, which may hold a key; any other path as it is."""
    return re.split(r"[?#]", path, maxsplit=1)[0] if is_address(path) else path


def check_there(path: Path) -> None:
    """Refuse a path that is not that of a file."""
    try:
        exists, folder = path.exists(), path.is_dir()
    except (OSError, ValueError) as error:  # a name that no system takes
        reason = getattr(error, "strerror", None) or short(error)
        raise InputError(f"{called(str(path))} is not a path to a file: {reason}.") from error
    if not exists:
        raise InputError(f"There is no file {called(str(path), whole=True)}. Check the path.")
    if folder:
        raise InputError(
            f"{called(str(path), whole=True)} is a folder; a table is needed. Name the file in it."
        )


def _read(path: str) -> tuple[bytes, str | None]:
    with open(path, "rb") as file:
        before = os.fstat(file.fileno())
        data = file.read()
        after = os.fstat(file.fileno())
    if not stat.S_ISREG(after.st_mode):
        return data, None
    if (before.st_mtime_ns, before.st_size) != (after.st_mtime_ns, after.st_size):
        raise InputError(
            f"{called(path)} was changed while it was being read. Try again when nothing writes "
            "to it."
        )
    when = datetime.fromtimestamp(after.st_mtime, UTC)
    return data, when.isoformat(timespec="seconds")


def _downloaded(address: str) -> bytes:
    try:
        import fsspec

        with fsspec.open(address, "rb") as file:
            return bytes(file.read())
    except ImportError as error:
        scheme = address.partition("://")[0].lower()
        extra = {"https": "http", "memory": "", "file": "", "local": ""}.get(scheme, scheme)
        package = f"fsspec[{extra}]" if extra else "fsspec"
        raise InputError(
            f"Reading {scheme}:// needs a package that is not installed ({short(error)}). Run: "
            f"pip install '{package}'"
        ) from error
    except FileNotFoundError as error:
        raise InputError(
            f"There is no file {called(address, whole=True)}. Check the address."
        ) from error
    except MemoryError:
        raise
    except Exception as error:  # whatever those who keep files raise: each has errors of its own
        raise InputError(
            f"{called(address, whole=True)} cannot be opened: {short(error)}. Check the address, "
            "and that you may read it."
        ) from error
