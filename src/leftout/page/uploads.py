"""Files from a form, straight to the disk: no more of them than allowed, under names of ours."""

from __future__ import annotations

import asyncio
import re
import shutil
from pathlib import Path
from typing import BinaryIO

from python_multipart.exceptions import FormParserError
from python_multipart.multipart import MultipartParser, parse_options_header
from starlette.requests import Request

from leftout.data.files.guards import describe_size
from leftout.errors import InputError
from leftout.page.limits import Limits
from leftout.page.store import Entry, Store
from leftout.text import shortened

# What a file may be, by the end of its name: the longest that fits.
SUFFIXES = (
    ".csv.gz", ".tsv.gz", ".txt.gz", ".csv", ".tsv", ".txt", ".parquet", ".feather", ".xlsx",
)  # fmt: skip
# What may be left on the disk, and how much of a file that is too large is still listened to, so
# that the browser gets to hear why.
_SPARE, _LISTEN = 64 * 10**6, 2 * 10**9
# Bytes of a form around its file.
_AROUND = 10_000


class TooLarge(InputError):
    """A file of more bytes than the page takes."""


class _UploadPart:
    """The one file of a form; whatever else is in it is passed over."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.header, self.value, self.disposition = b"", b"", b""
        self.entry: Entry | None = None
        self.file: BinaryIO | None = None
        self.written: list[bytes] = []
        self.ended = False

    def callbacks(self) -> dict[str, object]:
        return {
            "on_part_begin": self._begin, "on_header_field": self._field,
            "on_header_value": self._of_field, "on_header_end": self._header_end,
            "on_headers_finished": self._named, "on_part_data": self._data,
            "on_part_end": self._end,
        }  # fmt: skip

    def _begin(self) -> None:
        self.disposition = b""

    def _field(self, data: bytes, start: int, end: int) -> None:
        self.header += data[start:end]

    def _of_field(self, data: bytes, start: int, end: int) -> None:
        self.value += data[start:end]

    def _header_end(self) -> None:
        if self.header.lower() == b"content-disposition":
            self.disposition = self.value
        self.header, self.value = b"", b""

    def _named(self) -> None:
        _, options = parse_options_header(self.disposition)
        if options.get(b"name") != b"table" or b"filename" not in options or self.entry is not None:
            return
        given = options[b"filename"].decode("utf-8", "replace")
        if not given:
            raise InputError("No file was chosen. Choose one, or try the demo table.")
        name = called(given)
        self.entry = self.store.new(name, suffix_of(name))
        assert self.entry.file is not None
        self.file = (self.store.of(self.entry) / self.entry.file).open("xb")

    def _data(self, data: bytes, start: int, end: int) -> None:
        if self.file is not None:
            self.written.append(data[start:end])

    def _end(self) -> None:
        if self.file is not None:
            self.ended = True

    def flush(self) -> None:
        """Write what has come; to be called where it may block."""
        if self.file is None:
            return
        for data in self.written:
            self.file.write(data)
        self.written.clear()
        if self.ended:
            self.file.close()
            self.file = None

    def drop(self) -> None:
        if self.file is not None:
            self.file.close()
        if self.entry is not None:
            self.store.remove(self.store.of(self.entry))


async def receive(request: Request, store: Store, limits: Limits) -> Entry:
    """The table of a form, in a folder of its own; nothing stays of one that is refused."""
    kind, options = parse_options_header(request.headers.get("content-type"))
    if kind != b"multipart/form-data" or b"boundary" not in options:
        raise InputError("A form with a file was expected. Choose one on the first page.")
    expected = int(request.headers.get("content-length") or 0)
    fits = expected <= limits.upload + _AROUND
    refusal: InputError | None = _no_room(store, expected) if fits else _too_large(limits)
    part = _UploadPart(store)
    parser = MultipartParser(options[b"boundary"], part.callbacks())  # type: ignore[arg-type]
    came, entry = 0, None
    try:
        async for chunk in request.stream():
            came += len(chunk)
            if refusal is None and came > limits.upload + _AROUND:
                refusal = _too_large(limits)
            if refusal is not None:
                if came > _LISTEN:
                    break
                continue
            try:
                parser.write(chunk)
                await asyncio.to_thread(part.flush)
            except InputError as error:
                refusal = error
            except FormParserError:
                refusal = InputError("The upload was cut off or garbled. Try again.")
            except OSError as error:
                refusal = _unwritable(error)
        if refusal is None and (part.entry is None or not part.ended):
            refusal = InputError("The upload was cut off, or had no file. Try again.")
        if refusal is not None:
            raise refusal
        entry = part.entry
        assert entry is not None and entry.file is not None
        entry.size = (store.of(entry) / entry.file).stat().st_size
        if entry.size > limits.upload:
            raise _too_large(limits)
        return entry
    except BaseException:  # a browser that went away, too
        part.drop()
        raise


def called(given: str) -> str:
    """What to call a file that came under a name: its last part, of characters that show."""
    bare = re.split(r"[/\\]", given)[-1]
    return "".join(char for char in bare if char.isprintable()).strip().lstrip("-")[-200:]


def suffix_of(name: str) -> str:
    """The known suffix of a file's name; refuses one of another kind."""
    found = next((suffix for suffix in SUFFIXES if name.lower().endswith(suffix)), None)
    if found is None:
        raise InputError(
            f"{shortened(repr(name))} is of a kind that is not known here. Tables may be CSV or "
            "TSV (also with .gz), Parquet, Feather or Excel (.xlsx)."
        )
    return found


def _too_large(limits: Limits) -> TooLarge:
    return TooLarge(
        f"The file is larger than {describe_size(limits.upload)}, which is the most this page "
        "takes. "
        "Save it as Parquet or .csv.gz, or start with 'leftout serve --max-upload 2GB'."
    )


def _no_room(store: Store, expected: int) -> InputError | None:
    if shutil.disk_usage(store.folder).free > expected + _SPARE:
        return None
    return InputError(
        "There is not enough room on the disk for this file. Delete past audits, or make room."
    )


def _unwritable(error: OSError) -> InputError:
    return InputError(
        f"The file cannot be stored: {error.strerror or error}. Make room, try again."
    )


def copied(store: Store, old: Entry) -> Entry:
    """The same table in a folder of its own: the file is shared where the disk can do that."""
    suffix = None if old.file is None else suffix_of(old.file)
    made = store.new(old.name, suffix)
    made.size, made.sheet = old.size, old.sheet
    for path in (*([store.of(old) / old.file] if old.file else []), store.columns(old)):
        if path.exists():
            _shared(path, store.of(made) / path.name)
    return made


def _shared(old: Path, new: Path) -> None:
    try:
        new.hardlink_to(old)
    except OSError:
        shutil.copyfile(old, new)
