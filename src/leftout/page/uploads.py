"""What browsers send: forms, and files to the disk, no more of either than allowed."""

from __future__ import annotations

import asyncio
import re
import shutil
from dataclasses import dataclass

import python_multipart  # noqa: F401  (what starlette reads files with: missed here, not later)
from starlette.datastructures import FormData, UploadFile
from starlette.exceptions import HTTPException
from starlette.requests import Request

from leftout.data.sources import TableLimits, describe_size, suffix_of
from leftout.errors import InputError
from leftout.page.store import Entry, Store

# Bytes of a form around its file, and of one without a file; how many fields there may be.
_AROUND, _FORM, _MOST_FIELDS = 10_000, 10**6, 10_000


@dataclass(frozen=True, kw_only=True)
class Limits(TableLimits):
    """How much the page takes: sizes in bytes, times in seconds. More is refused, in a sentence."""

    columns: int = 2_000
    upload: int = 512 * 10**6  # of a file, as it arrives
    reading: float = 600.0  # that a process may look at a table
    auditing: float = 6 * 3600.0
    waiting: int = 20  # audits in the queue, besides the one that runs


async def fields_of(request: Request) -> dict[str, str]:
    """What a form sent, each field once; refuses more than a form of ours sends."""
    form = await _form(request, _FORM, 0, "The form sent more than a form of this page does.")
    return {name: value for name, value in form.items() if isinstance(value, str)}


async def _form(request: Request, most: int, files: int, too_large: str) -> FormData:
    """A form of at most so many bytes and files; what is too much is heard, and not kept."""
    size = request.headers.get("content-length", "")
    if not size.isdigit() or int(size) > most:
        async for _ in request.stream():  # so that the browser gets to hear why
            pass
        raise InputError(too_large if size else "The browser did not say how much it sends.")
    try:
        return await request.form(max_files=files, max_fields=_MOST_FIELDS, max_part_size=_AROUND)
    except HTTPException as error:
        raise InputError("What was sent was cut off or garbled. Try again.") from error


async def receive(request: Request, store: Store, limits: Limits) -> Entry:
    """The table of a form, in a folder of its own; nothing stays of one that is refused."""
    if not request.headers.get("content-type", "").startswith("multipart/form-data"):
        raise InputError("A form with a file was expected. Choose one on the first page.")
    too_large = (
        f"The file is larger than {describe_size(limits.upload)}, which is the most this page "
        "takes. Save it as Parquet or .csv.gz, or start with 'leftout serve --max-upload 2GB'."
    )
    try:
        form = await _form(request, limits.upload + _AROUND, 1, too_large)
        try:
            return await asyncio.to_thread(_kept, form, store)
        finally:
            await form.close()
    except OSError as error:
        raise InputError(
            f"The file cannot be stored: {error.strerror or error}. Make room, try again."
        ) from error


def _kept(form: FormData, store: Store) -> Entry:
    """The file of a form, under a name of ours."""
    upload = form.get("table")
    if not isinstance(upload, UploadFile):
        raise InputError("The upload was cut off, or had no file. Try again.")
    if not upload.filename:
        raise InputError("No file was chosen. Choose one, or try the demo table.")
    name = called(upload.filename)
    entry = store.new(name, suffix_of(name))
    try:
        entry.size = upload.size or 0
        with store.table(entry).open("xb") as file:
            shutil.copyfileobj(upload.file, file)
    except BaseException:
        shutil.rmtree(store.of(entry))
        raise
    return entry


def called(given: str) -> str:
    """What to call a file that came under a name: its last part, of characters that show."""
    bare = re.split(r"[/\\]", given)[-1]
    return "".join(char for char in bare if char.isprintable()).strip().lstrip("-")[-200:]


def copied(store: Store, old: Entry) -> Entry:
    """The same table, with what is known of its columns, in a folder of its own."""
    made = store.new(old.name, None if old.file is None else suffix_of(old.file))
    made.size, made.choices = old.size, dict(old.choices)
    for path in (*([store.table(old)] if old.file else []), store.columns(old)):
        if path.exists():
            shutil.copyfile(path, store.of(made) / path.name)
    return made
