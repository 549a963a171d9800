"""Audits on disk: a folder each, with a file of facts that is always whole."""

from __future__ import annotations

import json
import logging
import os
import re
import secrets
import shutil
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from leftout.errors import InputError
from leftout.files import write_whole

LOG = logging.getLogger("leftout.page")
# What an audit goes through, and how it may end.
READING, READY, QUEUED, RUNNING = "reading", "ready", "queued", "running"
DONE, REFUSED, FAILED = "done", "refused", "failed"
CANCELLED, INTERRUPTED = "cancelled", "interrupted"
_DOING = {
    READING: "this table was being read",
    QUEUED: "this audit was waiting",
    RUNNING: "this audit was running",
}
REPORT = "report.html"
SCREEN = "answer.html"  # the first screen of the report, for the page to show
RESULTS = {REPORT: "text/html", "audit.json": "application/json", "groups.csv": "text/csv"}
_FACTS_FILE, _LOCK = "entry.json", ".lock"
# Folders of audits, and of those that were not kept yet or have been deleted.
_KEPT, _HIDDEN = re.compile(r"[0-9a-f]{16}"), re.compile(r"\.(new|deleted)-[0-9a-f]{16}")


@dataclass
class Entry:
    """An audit, from the upload of its table to its report."""

    id: str  # made here; the only thing of it that an address holds
    name: str  # what people call the table
    file: str | None = None  # what it is called here; None for the demo, which needs no file
    state: str = READY
    message: str = ""  # one sentence on why it ended there
    size: int = 0
    # what people chose: roles by the column's place, and the other settings by their names
    choices: dict[str, Any] = field(default_factory=dict)
    # the answer so far
    headline: str = ""
    lines: dict[str, str] = field(default_factory=dict)
    verdict: str | None = None
    command: str = ""  # the command line that does the same
    about: str = ""  # what tells it from other audits, in words
    created: str = ""

    @property
    def under_way(self) -> bool:
        return self.state in _DOING


class Store:
    """The folder with all audits; one server at a time has it.

    What was under way when a server stopped is shown as interrupted. Folders that cannot be read as
    an audit are left as they are.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        if not (folder / _LOCK).exists() and any(folder.iterdir()):
            raise InputError(
                f"{str(folder)!r} holds files, and no audits of this page; they are left as they "
                "are. Choose a folder that is empty or not there yet with --data."
            )
        self.lock = _locked(folder / _LOCK)
        self.entries: dict[str, Entry] = {}
        for path in sorted(folder.iterdir()):
            if _HIDDEN.fullmatch(path.name):
                shutil.rmtree(path, ignore_errors=True)
            elif _KEPT.fullmatch(path.name):
                self._recover(path)

    def _recover(self, path: Path) -> None:
        try:
            entry = Entry(**json.loads((path / _FACTS_FILE).read_text(encoding="utf-8")))
            if entry.id != path.name:
                raise ValueError("it says that it is another")
        except (OSError, ValueError, TypeError):
            LOG.warning("%s cannot be read as an audit, and is left as it is", path)
            return
        self.entries[entry.id] = entry
        self.interrupt(entry)

    def new(self, name: str, suffix: str | None) -> Entry:
        """An entry with a folder for its table, which is kept once it is added."""
        file = None if suffix is None else f"table{suffix}"
        made = Entry(id=secrets.token_hex(8), name=name, file=file)
        made.created = datetime.now(UTC).isoformat(timespec="milliseconds")
        self.of(made).mkdir(mode=0o700)
        return made

    def add(self, entry: Entry) -> None:
        """Keep an entry from now on."""
        self.save(entry)
        fresh = self.of(entry)
        self.entries[entry.id] = entry
        fresh.rename(self.of(entry))

    def save(self, entry: Entry) -> None:
        write_whole(self.of(entry) / _FACTS_FILE, json.dumps(asdict(entry), indent=1))

    def end(self, entry: Entry, state: str, message: str = "") -> None:
        entry.state, entry.message = state, message
        self.save(entry)

    def interrupt(self, entry: Entry) -> None:
        """Say of an entry that is under way that the server stopped then."""
        if entry.under_way:
            self.end(entry, INTERRUPTED, f"The server stopped while {_DOING[entry.state]}.")

    def of(self, entry: Entry) -> Path:
        return self.folder / (entry.id if entry.id in self.entries else f".new-{entry.id}")

    def table(self, entry: Entry) -> Path:
        return self.of(entry) / str(entry.file)

    def result(self, entry: Entry, name: str) -> Path:
        return self.of(entry) / "result" / name

    def columns(self, entry: Entry) -> Path:
        return self.of(entry) / "columns.json"

    def delete(self, entry: Entry) -> None:
        """Remove an entry at once, and its files as soon as may be."""
        gone = self.folder / f".deleted-{entry.id}"
        os.replace(self.of(entry), gone)
        self.entries.pop(entry.id, None)
        shutil.rmtree(gone, ignore_errors=True)  # the next start goes on with it

    def close(self) -> None:
        if self.lock is not None:
            os.close(self.lock)


def _locked(path: Path) -> int | None:
    """A lock that ends with the process, however it ends; None where there is no such thing."""
    try:
        import fcntl
    except ImportError:
        path.touch()
        return None
    handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(handle)
        raise InputError(
            f"Another server keeps its audits in {str(path.parent)!r}. Stop that one, or choose "
            "another folder with --data."
        ) from error
    return handle
