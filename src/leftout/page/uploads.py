"""What browsers send: forms, and files to the disk, no more of either than allowed."""

from __future__ import annotations

import asyncio
import re
import shutil
from dataclasses import dataclass
from pathlib import Path

import python_multipart  # noqa: F401  (what starlette reads files with: missed here, not later)
from starlette.datastructures import FormData, UploadFile
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.types import Message

from leftout.data.files.formats import suffix_of
from leftout.data.files.limits import TableLimits, describe_size
from leftout.errors import InputError
from leftout.page.store import Entry, Store

# What may be left on the disk, and how much of what is too large is still listened to, so that the
# browser gets to hear why.
_SPARE, _LISTEN = 64 * 10**6, 2 * 10**9
# Bytes of a form around its file, and of a field; how many fields there may be.
_AROUND, _MOST_FIELDS = 10_000, 1_000
_SIZE_UNITS = {"KB": 10**3, "MB": 10**6, "GB": 10**9, "B": 1, "": 1}


@dataclass(frozen=True, kw_only=True)
class Limits(TableLimits):
    """How much the page takes: sizes in bytes, times in seconds. More is refused, in a sentence.

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
    unit = next(unit for unit in _SIZE_UNITS if bare.endswith(unit))
    try:
        size = float(bare.removesuffix(unit)) * _SIZE_UNITS[unit]
    except ValueError:
        return None
    return int(size) if 1 <= size < 1e15 else None


async def sent(request: Request, limits: Limits) -> dict[str, str]:
    """What a form sent, each field once; refuses more than a form of ours sends."""
    much = InputError("The form sent more than a form of this page does. Nothing was changed.")
    unread = "The form could not be read. Nothing was changed."
    form = await _form(request, limits.form, much, unread, files=0)
    return {name: value for name, value in form.items() if isinstance(value, str)}


async def _form(
    request: Request, most: int, much: InputError, unread: str, *, files: int
) -> FormData:
    """A form of at most so many bytes and files; what is too much is heard, and not kept."""
    came = 0

    async def receive() -> Message:
        nonlocal came
        message = await request.receive()
        came += len(message.get("body", b""))
        while most < came < _LISTEN and message.get("more_body"):
            message = await request.receive()
            came += len(message.get("body", b""))
        if came > most:
            raise much
        return message

    try:
        return await Request(request.scope, receive).form(
            max_files=files, max_fields=_MOST_FIELDS, max_part_size=_AROUND
        )
    except HTTPException as error:
        raise InputError(unread) from error


async def receive(request: Request, store: Store, limits: Limits) -> Entry:
    """The table of a form, in a folder of its own; nothing stays of one that is refused."""
    if not request.headers.get("content-type", "").startswith("multipart/form-data"):
        raise InputError("A form with a file was expected. Choose one on the first page.")
    most, much = limits.upload + _AROUND, _too_large(limits)
    expected = int(request.headers.get("content-length") or 0)
    # on the way it is in a file without a name, beside the one it becomes
    if expected <= most and shutil.disk_usage(store.folder).free <= 2 * expected + _SPARE:
        most = 0
        much = InputError(
            "There is not enough room on the disk for this file. Delete past audits, or make room."
        )
    try:
        unread = "The upload was cut off or garbled. Try again."
        form = await _form(request, most if expected <= most else 0, much, unread, files=1)
        try:
            return await asyncio.to_thread(_kept, form, store, limits)
        finally:
            await form.close()
    except OSError as error:
        raise InputError(
            f"The file cannot be stored: {error.strerror or error}. Make room, try again."
        ) from error


def _kept(form: FormData, store: Store, limits: Limits) -> Entry:
    """The file of a form, under a name of ours."""
    upload = form.get("table")
    if not isinstance(upload, UploadFile):
        raise InputError("The upload was cut off, or had no file. Try again.")
    if not upload.filename:
        raise InputError("No file was chosen. Choose one, or try the demo table.")
    name = called(upload.filename)
    suffix, size = suffix_of(name), upload.size or 0
    if size > limits.upload:
        raise _too_large(limits)
    entry = store.new(name, suffix)
    try:
        entry.size = size
        with store.table(entry).open("xb") as file:
            shutil.copyfileobj(upload.file, file)
    except BaseException:
        store.remove(store.of(entry))
        raise
    return entry


def called(given: str) -> str:
    """What to call a file that came under a name: its last part, of characters that show."""
    bare = re.split(r"[/\\]", given)[-1]
    return "".join(char for char in bare if char.isprintable()).strip().lstrip("-")[-200:]


def _too_large(limits: Limits) -> InputError:
    return InputError(
        f"The file is larger than {describe_size(limits.upload)}, which is the most this page "
        "takes. Save it as Parquet or .csv.gz, or start with 'leftout serve --max-upload 2GB'."
    )


def copied(store: Store, old: Entry) -> Entry:
    """The same table in a folder of its own: the file is shared where the disk can do that."""
    made = store.new(old.name, None if old.file is None else suffix_of(old.file))
    made.size, made.sheet = old.size, old.sheet
    for path in (*([store.table(old)] if old.file else []), store.columns(old)):
        if path.exists():
            _shared(path, store.of(made) / path.name)
    return made


def _shared(old: Path, new: Path) -> None:
    try:
        new.hardlink_to(old)
    except OSError:
        shutil.copyfile(old, new)
