"""What is under way: tables being looked at and audits, each in a process, one at a time.

Looking at a table does not wait for audits.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import sys
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

from leftout.errors import InputError
from leftout.page.form import Columns, presets, settings
from leftout.page.store import (
    CANCELLED,
    DONE,
    FAILED,
    LOG,
    QUEUED,
    READING,
    READY,
    REFUSED,
    REPORT,
    RUNNING,
    Entry,
    Store,
)
from leftout.page.uploads import Limits

# What an entry keeps of an audit's events.
_ANSWER = {"headline", "lines", "verdict"}
# Bytes of a line that a process writes, and of what it says when it fails.
_LINE_BYTES, _TAIL_BYTES = 1 << 22, 1 << 14
_STDERR_FILE = "said.txt"


def describe_error(what: str, error: BaseException) -> str:
    """A sentence on what nobody expected; the log has the details."""
    LOG.error(what, exc_info=error)
    if isinstance(error, OSError) and error.strerror:
        return f"The system says: {error.strerror}. If the disk is full, make room and try again."
    return "It is a mistake of ours: server.log in the data folder has the details."


# What is done with an entry: the state at its end, and a sentence.
Work = Callable[[Entry], Awaitable[tuple[str, str]]]


class Jobs:
    """A task for each entry under way; of looks, and of audits, one has its turn."""

    def __init__(self, store: Store, limits: Limits) -> None:
        self.store, self.limits = store, limits
        self.looking, self.auditing = asyncio.Lock(), asyncio.Lock()
        self.tasks: dict[str, asyncio.Task[None]] = {}
        self.progress: dict[str, tuple[str, float]] = {}  # what is done, and its share that is

    async def stop(self) -> None:
        """End what is under way: it was interrupted, and says so."""
        for task in self.tasks.values():
            task.cancel()
        await asyncio.gather(*self.tasks.values(), return_exceptions=True)
        for entry in self.store.entries.values():
            self.store.interrupt(entry)

    def look(self, entry: Entry) -> None:
        """Have a table looked at."""
        self._begin(entry, READING, self.looking, self._look)

    def audit(self, entry: Entry) -> None:
        """Have a table audited; refuses more than may wait."""
        waiting = sum(each.state == QUEUED for each in self.store.entries.values())
        if waiting >= self.limits.waiting:
            raise InputError(
                f"{waiting} audits are waiting already, which is the most this page takes. Wait "
                "for one to end, or cancel one."
            )
        entry.headline, entry.verdict, entry.lines = "", None, {}
        self._begin(entry, QUEUED, self.auditing, self._audit)

    async def cancel(self, entry: Entry) -> None:
        """End an entry now, whether it waits or runs."""
        if entry.under_way:
            self.tasks[entry.id].cancel()
            await asyncio.wait([self.tasks[entry.id]])
        if entry.under_way:  # still, unless it ended by itself
            before = " before it began" * (entry.state == QUEUED)
            self._end(entry, CANCELLED, f"Cancelled{before}.")

    def now(self, entry: Entry) -> dict[str, Any]:
        """Where an entry is, and what is known so far."""
        what, share = self.progress.get(entry.id, ("", 0.0))
        before = list(self.tasks)[: list(self.tasks).index(entry.id)] if entry.under_way else []
        ahead = [key for key in before if self.store.entries[key].state in (QUEUED, RUNNING)]
        return {
            "state": entry.state, "what": what, "share": round(share, 4),
            "ahead": len(ahead), "headline": entry.headline, "lines": entry.lines,
        }  # fmt: skip

    def _begin(self, entry: Entry, state: str, turn: asyncio.Lock, work: Work) -> None:
        before = entry.state
        try:
            self.store.end(entry, state)
        except OSError:
            entry.state = before
            raise
        self.tasks[entry.id] = asyncio.create_task(self._run(entry, turn, work))

    async def _run(self, entry: Entry, turn: asyncio.Lock, work: Work) -> None:
        """Wait for the turn, work, and keep how it ended; whoever cancels it does that."""
        async with turn:
            try:
                self._end(entry, *await work(entry))
            except Exception as error:
                reason = describe_error(f"entry {entry.id}", error)
                self._end(entry, FAILED, f"This could not be done. {reason}")

    def _end(self, entry: Entry, state: str, message: str = "") -> None:
        """Tell how it ended, even where that cannot be kept."""
        if state not in (DONE, READY):
            shutil.rmtree(self.store.of(entry) / "result", ignore_errors=True)
        try:
            self.store.end(entry, state, message)
        except OSError as error:
            reason = describe_error(f"entry {entry.id}", error)
            entry.message = f"{message} {reason} Until then this is known to the server alone."
        del self.tasks[entry.id]
        self.progress.pop(entry.id, None)

    async def _look(self, entry: Entry) -> tuple[str, str]:
        found = self.store.columns(entry)
        ended = await self._process(entry, None, "looking at this table", self.limits.reading)
        if ended is not None or not found.exists():
            return ended or (FAILED, "Nothing was found in this table.")
        entry.choices = presets(entry.choices)
        return READY, ""

    async def _audit(self, entry: Entry) -> tuple[str, str]:
        self.store.end(entry, RUNNING)
        asked = settings(entry, Columns.of(self.store.columns(entry)))
        ended = await self._process(entry, asked, "this audit", self.limits.auditing)
        if ended is not None or not self.store.result(entry, REPORT).exists():
            return ended or (FAILED, "This audit wrote no report.")
        return DONE, ""

    async def _process(
        self, entry: Entry, settings: dict[str, Any] | None, what: str, seconds: float
    ) -> tuple[str, str] | None:
        """Run a process of ours in the entry's folder, and follow its events.

        None if it did what was asked, else the state of the entry and a sentence.
        """
        folder, limits, refusal = self.store.of(entry), asdict(self.limits), ""
        asked = {"file": entry.file, "name": entry.name, "limits": limits, "settings": settings}
        self.progress[entry.id] = "loading libraries", 0.0
        process = await _started(folder)
        assert process.stdin is not None and process.stdout is not None
        try:
            async with asyncio.timeout(seconds):
                # not as arguments: everybody on a machine sees these, and names of files and
                # columns are nobody's business
                process.stdin.write(json.dumps(asked).encode() + b"\n")
                with suppress(ConnectionError):  # its exit code says more
                    await process.stdin.drain()
                async for line in process.stdout:
                    with suppress(ValueError):  # what a library prints is none of them
                        event = json.loads(line)
                        refusal = event.get("sentence", "")
                        self._hear(entry, event)
                await process.wait()
        except TimeoutError:
            return FAILED, f"The process for {what} took too long, and was ended."
        finally:
            with suppress(ProcessLookupError):
                process.kill()
            code = await process.wait()
        if code == 0:
            return (REFUSED, refusal) if refusal else None
        if code < 0:
            return FAILED, (
                f"The process for {what} was ended from outside (signal {-code}): by somebody, or "
                "by the system for want of memory. Nothing else is lost."
            )
        said = (folder / _STDERR_FILE).read_bytes()[-_TAIL_BYTES:].decode("utf-8", "replace")
        return FAILED, f"{what.capitalize()} failed. {describe_error(what, RuntimeError(said))}"

    def _hear(self, entry: Entry, event: dict[str, Any]) -> None:
        if event["event"] == "progress":
            self.progress[entry.id] = str(event["what"]), float(event["share"])
        elif event["event"] == "answer":
            for name in _ANSWER & event.keys():
                setattr(entry, name, event[name])
            with suppress(OSError):  # how it ends shows that
                self.store.save(entry)


async def _started(folder: Path) -> asyncio.subprocess.Process:
    """A worker in a folder; it ends when we do, by its standard input."""
    # where modules are is said from the root, for a process in another folder
    paths = [path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path]
    surroundings = {**os.environ, "PYTHONPATH": os.pathsep.join(map(os.path.abspath, paths))}
    pipe = asyncio.subprocess.PIPE
    with (folder / _STDERR_FILE).open("wb") as said:
        return await asyncio.create_subprocess_exec(
            sys.executable, "-P", "-m", "leftout.page.worker", cwd=folder, env=surroundings,
            stdin=pipe, stdout=pipe, stderr=said, limit=_LINE_BYTES,
        )  # fmt: skip
