"""What is under way: tables being looked at and audits, each in a process, one at a time.

Looking at a table does not wait for audits. All who watch are told where something is, as often as
it moves.
"""

from __future__ import annotations

import asyncio
import errno
import json
import logging
import os
import secrets
import shutil
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from traceback import format_exception
from typing import Any, NamedTuple

from leftout.errors import InputError
from leftout.page.form import Columns, presets, words
from leftout.page.store import (
    CANCELLED,
    DONE,
    FAILED,
    QUEUED,
    READING,
    READY,
    REFUSED,
    REPORT,
    RUNNING,
    Entry,
    Store,
    now,
)
from leftout.page.uploads import Limits

LOG = logging.getLogger("leftout.page")
# Seconds between two messages to a browser, and the longest silence.
_MESSAGE_GAP, _SILENCE = 0.2, 15.0
# What an audit tells that an entry keeps.
_TOLD = {"headline", "lines", "mind", "verdict", "files"}
# The exit code of a refusal, and how its sentence begins: the command line's.
_REFUSED, _ERROR = 2, "Error: "
# Bytes of a line that a process tells, and of what it says when it fails.
_LINE_BYTES, _TAIL_BYTES = 1 << 22, 1 << 14
_STDERR_FILE = "said.txt"
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def describe_full(error: BaseException) -> str | None:
    """A sentence on a disk that takes no more; None for any other error."""
    if not isinstance(error, OSError) or error.errno not in _FULL:
        return None
    return f"The disk takes no more ({error.strerror}). Make room on it, and try again."


def describe_error(what: str, error: BaseException) -> str:
    """A sentence on what nobody expected; unless the disk is full, details are in the log alone."""
    return describe_full(error) or noted(what, "".join(format_exception(error)))


def noted(what: str, details: str) -> str:
    """Write down what went wrong, and say where: details are for the log alone."""
    reference = secrets.token_hex(4)
    LOG.error("reference %s: %s: %s", reference, what, details)
    return f"It is a mistake of ours: the log has the details under the reference {reference}."


class Live:
    """The state of an entry, as one text that everybody gets: made once each time it moves."""

    def __init__(self, entry: Entry) -> None:
        self.entry = entry
        self.what, self.share, self.ahead, self.moves = "", 0.0, 0, 0
        self._moved = asyncio.Event()
        self._text: str | None = None

    def tell(self, **now: Any) -> None:
        """It has moved, to where ``now`` says."""
        for name, value in now.items():
            setattr(self, name, value)
        self.moves += 1
        self._text = None
        moved, self._moved = self._moved, asyncio.Event()
        moved.set()

    @property
    def text(self) -> str:
        if self._text is None:
            entry = self.entry
            self._text = json.dumps({
                "state": entry.state, "what": self.what, "share": round(self.share, 4),
                "ahead": self.ahead, "moves": self.moves, "headline": entry.headline,
                "lines": entry.lines,
            })  # fmt: skip
        return self._text

    async def messages(self) -> AsyncIterator[str]:
        """Server-sent events: the state now, and each time it moves, until it is at an end."""
        seen = -1
        while True:
            if seen != self.moves:
                seen = self.moves
                yield f"data: {self.text}\n\n"
                if not self.entry.under_way:
                    return
                await asyncio.sleep(_MESSAGE_GAP)
                continue
            try:
                await asyncio.wait_for(self._moved.wait(), _SILENCE)
            except TimeoutError:
                yield ": still here\n\n"


class Ended(NamedTuple):
    """How a process ended: its exit code (minus a signal), the last it said, whether too late."""

    code: int
    said: str
    late: bool = False

    def told(self, what: str) -> tuple[str, str]:
        """The state of what it was for, and one sentence, as truthful as can be."""
        if self.late:
            return FAILED, f"The process for {what} took too long, and was ended."
        if self.code == _REFUSED and self.said.startswith(_ERROR):
            return REFUSED, self.said.removeprefix(_ERROR)
        if self.code < 0:
            return FAILED, (
                f"The process for {what} was ended from outside (signal {-self.code}): by "
                "somebody, or by the system for want of memory. Nothing else is lost."
            )
        return FAILED, f"{what.capitalize()} failed. {noted(what, self.said)}"


# What is done with an entry: the state at its end, and a sentence.
Work = Callable[[Entry], Awaitable[tuple[str, str]]]


class Jobs:
    """A task for each entry under way; of looks, and of audits, one has its turn."""

    def __init__(self, store: Store, limits: Limits) -> None:
        self.store, self.limits = store, limits
        self.looking, self.auditing = asyncio.Lock(), asyncio.Lock()
        self.tasks: dict[str, asyncio.Task[None]] = {}
        self.live: dict[str, Live] = {}
        self.waiting: list[Entry] = []

    async def stop(self) -> None:
        """End what is under way: it was interrupted, and is told to have been."""
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
        if len(self.waiting) >= self.limits.waiting:
            raise InputError(
                f"{len(self.waiting)} audits are waiting already, which is the most this page "
                "takes. Wait for one to end, or cancel one."
            )
        entry.headline, entry.verdict = "", None
        entry.lines, entry.mind, entry.files = {}, [], []
        self._begin(entry, QUEUED, self.auditing, self._audit)
        self.waiting.append(entry)
        self._tell_places()

    async def cancel(self, entry: Entry) -> None:
        """End an entry now, whether it waits or runs."""
        if entry.under_way:
            self.tasks[entry.id].cancel()
            await asyncio.wait([self.tasks[entry.id]])
        if entry.under_way:  # still, unless it ended by itself
            self._not_waiting(entry)
            before = "" if entry.began else " before it began"
            self._end(entry, CANCELLED, f"Cancelled{before}.")

    def _begin(self, entry: Entry, state: str, turn: asyncio.Lock, work: Work) -> None:
        before = entry.state
        entry.state, entry.message, entry.began, entry.ended = state, "", "", ""
        try:
            self.store.add(entry)
        except OSError:
            entry.state = before
            raise
        self.live[entry.id] = Live(entry)
        self.tasks[entry.id] = asyncio.create_task(self._run(entry, turn, work))

    async def _run(self, entry: Entry, turn: asyncio.Lock, work: Work) -> None:
        """Wait for the turn, work, and tell how it ended; whoever cancels it tells that."""
        async with turn:
            entry.began = now()
            try:
                self._end(entry, *await work(entry))
            except Exception as error:
                told = describe_error(f"entry {entry.id}", error)
                self._end(entry, FAILED, f"This could not be done. {told}")

    def _end(self, entry: Entry, state: str, message: str = "") -> None:
        """Tell how it ended, even where that cannot be kept."""
        if state not in (DONE, READY):
            shutil.rmtree(self.store.of(entry) / "result", ignore_errors=True)
            entry.files = []
        try:
            self.store.end(entry, state, message)
        except OSError as error:
            unkept = describe_full(error) or f"It cannot be kept: {error.strerror}."
            entry.message = f"{message} {unkept} Until then this is known to the server alone."
            entry.message = entry.message.strip()
        del self.tasks[entry.id]
        self.live.pop(entry.id).tell()

    def _not_waiting(self, entry: Entry) -> None:
        if entry in self.waiting:
            self.waiting.remove(entry)
            self._tell_places()

    def _tell_places(self) -> None:
        """Tell all that wait how many are before them."""
        for place, entry in enumerate(self.waiting):
            self.live[entry.id].tell(ahead=place + 1)

    async def _look(self, entry: Entry) -> tuple[str, str]:
        asked = {
            "file": entry.file, "name": entry.name, "sheet": entry.sheet,
            "limits": asdict(self.limits),
        }  # fmt: skip
        ended = await self._process(entry, asked, self.limits.reading)
        if ended.code or not self.store.columns(entry).exists():
            return ended.told("looking at this table")
        entry.choices = presets(Columns.of(self.store.columns(entry)), entry.choices)
        return READY, ""

    async def _audit(self, entry: Entry) -> tuple[str, str]:
        entry.state = RUNNING
        self._not_waiting(entry)
        self.store.save(entry)
        asked = words(entry, Columns.of(self.store.columns(entry)))
        asked += ["--out", "result", "--events"]
        ended = await self._process(entry, asked, self.limits.auditing)
        if ended.code or not self.store.result(entry, REPORT).exists():
            return ended.told("this audit")
        return DONE, ""

    async def _process(self, entry: Entry, asked: Any, seconds: float) -> Ended:
        """Run a process of ours in the entry's folder, and hear what it tells."""
        folder, live = self.store.of(entry), self.live[entry.id]
        live.tell(what="loading libraries", share=0.0, ahead=0)
        try:
            process = await _started(folder)
        except (OSError, ValueError) as error:
            if describe_full(error):
                raise
            return Ended(1, f"cannot be started: {error}")
        late = False
        try:
            async with asyncio.timeout(seconds):
                assert process.stdin is not None and process.stdout is not None
                # not as arguments: everybody on a machine sees these, and names of files and
                # columns are nobody's business
                process.stdin.write(json.dumps(asked).encode() + b"\n")
                with suppress(ConnectionError):  # its exit code says more
                    await process.stdin.drain()
                async for line in process.stdout:
                    with suppress(ValueError):
                        self._hear(entry, live, json.loads(line))
                await process.wait()
        except TimeoutError:
            late = True
        finally:
            with suppress(ProcessLookupError):
                process.kill()
            code = await process.wait()
        return Ended(code, _last_said(folder), late)

    def _hear(self, entry: Entry, live: Live, told: dict[str, Any]) -> None:
        event = told.pop("event", None)
        if event == "progress":
            live.tell(what=str(told["what"]), share=float(told["share"]))
        elif event in ("answer", "done"):
            for name in _TOLD & told.keys():
                setattr(entry, name, told[name])
            with suppress(OSError):  # how it ends tells that
                self.store.save(entry)
            live.tell()


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


def _last_said(folder: Path) -> str:
    """The end of what a process said; a refusal is one line."""
    path = folder / _STDERR_FILE
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - _TAIL_BYTES))
        said = file.read().decode("utf-8", "replace").strip()
    last = said.rpartition("\n")[2]
    return last if last.startswith(_ERROR) else said
