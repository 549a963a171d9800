"""Audits on disk: a folder each, whose one file of facts is always whole."""

from __future__ import annotations

import json
import os
import re
import secrets
import shutil
from contextlib import suppress
from dataclasses import asdict, dataclass, field, fields
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from leftout.errors import InputError
from leftout.files import own_folder, write_whole
from leftout.text import counted, listed

# What an audit goes through, and what is at an end; all others are under way.
ARRIVING, READING, READY, QUEUED, RUNNING = "arriving", "reading", "ready", "queued", "running"
DONE, REFUSED, FAILED = "done", "refused", "failed"
CANCELLED, INTERRUPTED = "cancelled", "interrupted"
_DOING = {
    READING: "this table was being read",
    QUEUED: "this audit was waiting",
    RUNNING: "this audit was running",
}
REPORT, DATA, GROUPS = "report.html", "audit.json", "groups.csv"
RESULTS = {REPORT: "text/html", DATA: "application/json", GROUPS: "text/csv"}
_FACTS_FILE, _FRESH_PREFIX, _GONE, _LOCK = "entry.json", ".new-", ".gone-", ".lock"
# Folders of ours; any other that lies there is left alone.
_OUR_FOLDER = re.compile(rf"({re.escape(_GONE)})?[0-9a-f]{{16}}")


@dataclass
class Entry:
    """An audit, from the upload of its table to its report.

    Attributes
    ----------
    id : str
        Made here; the only thing of it that an address holds.
    name : str
        What people call the table.
    file : str or None
        What it is called here; None for the demo, which needs no file.
    state : str
    message : str
        One sentence on why it ended where it did.
    choices : dict
        What people chose: ``roles`` by the column's place, and the other settings by their names.
    headline, lines, mind : str, dict, list
        The answer so far.
    files : list of str
        What was written.
    """

    id: str
    name: str
    file: str | None = None
    state: str = ARRIVING
    message: str = ""
    size: int = 0
    sheet: str | None = None
    choices: dict[str, Any] = field(default_factory=dict)
    headline: str = ""
    lines: dict[str, str] = field(default_factory=dict)
    mind: list[str] = field(default_factory=list)
    verdict: str | None = None
    files: list[str] = field(default_factory=list)
    command: str = ""
    call: str = ""
    created: str = ""
    began: str = ""
    ended: str = ""

    @property
    def under_way(self) -> bool:
        return self.state in _DOING


class Store:
    """The folder with all audits; one server at a time has it.

    Attributes
    ----------
    damaged : list of str
        Folders that look like ours and do not say what they are; they are left as they are.
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
        self.damaged: list[str] = []
        for path in sorted(folder.iterdir()):
            if path.is_dir() and _OUR_FOLDER.fullmatch(path.name):
                self._recover(path)

    def _recover(self, path: Path) -> None:
        """An audit from its folder; what was under way was interrupted, what never began goes.

        So does what somebody has deleted. A folder without facts may be anybody's.
        """
        try:
            facts = json.loads((path / _FACTS_FILE).read_text(encoding="utf-8"))
            known = {each.name for each in fields(Entry)}
            entry = Entry(**{name: value for name, value in facts.items() if name in known})
        except (OSError, ValueError, TypeError, AttributeError):
            entry = None
        if entry is None or entry.id != path.name.removeprefix(_GONE):
            self.damaged.append(path.name)
        elif entry.state == ARRIVING or path.name != entry.id:
            self.remove(path)
        else:
            self.entries[entry.id] = entry
            self.interrupt(entry)

    @property
    def told(self) -> str:
        """A sentence on folders that cannot be read, if there are any."""
        if not self.damaged:
            return ""
        some = listed(self.damaged[:5]) + " and more" * (len(self.damaged) > 5)
        return (
            f"{counted(len(self.damaged), 'folder')} in {str(self.folder)!r} cannot be read as an "
            f"audit ({_FACTS_FILE} is missing or damaged), and nothing in there was changed: "
            f"{some}."
        )

    def new(self, name: str, suffix: str | None) -> Entry:
        """A folder for a table; its name here is ours, but for the suffix, which is a known one."""
        made = Entry(id=secrets.token_hex(8), name=name, created=now())
        made.file = None if suffix is None else f"table{suffix}"
        fresh = (
            self.folder / f"{_FRESH_PREFIX}{made.id}"
        )  # no folder of an audit is without its facts
        fresh.mkdir(mode=0o700)
        write_whole(fresh / _FACTS_FILE, _facts(made))
        fresh.rename(self.of(made))
        return made

    def add(self, entry: Entry) -> None:
        """Keep an entry from now on."""
        self.save(entry)
        self.entries[entry.id] = entry

    def save(self, entry: Entry) -> None:
        write_whole(self.of(entry) / _FACTS_FILE, _facts(entry))

    def end(self, entry: Entry, state: str, message: str = "") -> None:
        entry.state, entry.message, entry.ended = state, message, now()
        self.save(entry)

    def interrupt(self, entry: Entry) -> None:
        """Say of an entry that is under way that the server stopped then."""
        if entry.under_way:
            self.end(entry, INTERRUPTED, f"The server stopped while {_DOING[entry.state]}.")

    def of(self, entry: Entry) -> Path:
        return self.folder / entry.id

    def table(self, entry: Entry) -> Path:
        return self.of(entry) / str(entry.file)

    def result(self, entry: Entry, name: str) -> Path:
        return self.of(entry) / "result" / name

    def columns(self, entry: Entry) -> Path:
        return self.of(entry) / "columns.json"

    def latest(self) -> list[Entry]:
        """All audits, the newest first."""
        return sorted(self.entries.values(), key=lambda entry: str(entry.created), reverse=True)

    def forget(self, entry: Entry) -> Path:
        """Take an entry away at once; the folder that is returned is still to be removed."""
        self.entries.pop(entry.id, None)
        gone = self.folder / f"{_GONE}{entry.id}"
        os.replace(self.of(entry), gone)
        return gone

    def remove(self, folder: Path) -> None:
        """Remove the folder of an audit, last of all what says that it is one."""
        with suppress(OSError):  # the next start goes on with it
            for path in sorted(folder.iterdir(), key=lambda path: path.name == _FACTS_FILE):
                if path.is_dir() and not path.is_symlink():
                    shutil.rmtree(path)
                else:
                    path.unlink()
            folder.rmdir()

    def close(self) -> None:
        if self.lock is not None:
            os.close(self.lock)
            self.lock = None


def _facts(entry: Entry) -> str:
    return json.dumps(asdict(entry), indent=1)


def now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def home() -> Path:
    """Where audits are kept unless somebody says so."""
    return own_folder("share") / "audits"


def _locked(path: Path) -> int | None:
    """A lock that ends with the process, however it ends; None where there is no such thing."""
    handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        import fcntl
    except ImportError:
        os.close(handle)
        return None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(handle)
        raise InputError(
            f"Another server keeps its audits in {str(path.parent)!r}. Stop that one, or choose "
            "another folder with --data."
        ) from error
    return handle
