"""What is under way: tables being looked at and audits, each in a process, one at a time.

Where something under way is: told to all who watch, as often as it moves.
"""

from __future__ import annotations

import asyncio
import json
import shutil
import signal
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from dataclasses import asdict
from traceback import format_exception
from typing import Any

from leftout.errors import InputError
from leftout.page.asked import presets, words
from leftout.page.columns import Columns
from leftout.page.limits import Limits
from leftout.page.processes import Ended, describe_full, last_said, noted, started
from leftout.page.store import (
    CANCELLED,
    DONE,
    FAILED,
    QUEUED,
    READING,
    READY,
    REPORT,
    RUNNING,
    Entry,
    Store,
    now,
)

# Seconds between two messages to a browser, and the longest silence.
_APART, _SILENCE = 0.2, 15.0


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

    async def changed(self) -> None:
        await self._moved.wait()

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
                await asyncio.sleep(_APART)
                continue
            try:
                await asyncio.wait_for(self.changed(), _SILENCE)
            except TimeoutError:
                yield ": still here\n\n"


# What an audit tells that an entry keeps.
_TOLD = {"headline", "lines", "mind", "verdict", "files"}


Work = Callable[[Entry], Awaitable[None]]


class Lane:
    """Entries that wait for each other: one has its turn, in the order in which they came."""

    def __init__(self, work: Work) -> None:
        self.work = work
        self.waiting: list[Entry] = []
        self.more = asyncio.Event()

    def add(self, entry: Entry) -> None:
        self.waiting.append(entry)
        self.more.set()

    async def run(self) -> None:
        while True:
            while self.waiting:
                await self.work(self.waiting.pop(0))
            self.more.clear()
            await self.more.wait()


class Jobs:
    """The two lanes: looking at a table does not wait for audits."""

    def __init__(self, store: Store, limits: Limits) -> None:
        self.store, self.limits = store, limits
        self.looks, self.audits = (
            Lane(self._unbroken(self._look)),
            Lane(self._unbroken(self._audit)),
        )
        self.live: dict[str, Live] = {}
        self.processes: dict[str, asyncio.subprocess.Process] = {}
        self.unwanted: set[str] = set()
        self.tasks: list[asyncio.Task[None]] = []

    def start(self) -> None:
        self.tasks = [asyncio.create_task(lane.run()) for lane in (self.looks, self.audits)]

    async def stop(self) -> None:
        """End what is under way: it was interrupted, and is told to have been."""
        for task in self.tasks:
            task.cancel()
        for process in list(self.processes.values()):
            with suppress(ProcessLookupError):
                process.kill()
        await asyncio.gather(*self.tasks, return_exceptions=True)
        for entry in self.store.entries.values():
            self.store.interrupt(entry)

    def look(self, entry: Entry) -> None:
        """Have a table looked at."""
        self._begin(entry, READING)
        self.looks.add(entry)

    def audit(self, entry: Entry) -> None:
        """Have a table audited; refuses more than may wait."""
        if len(self.audits.waiting) >= self.limits.waiting:
            raise InputError(
                f"{len(self.audits.waiting)} audits are waiting already, which is the most this "
                "page takes. Wait for one to end, or cancel one."
            )
        entry.headline, entry.verdict = "", None
        entry.lines, entry.mind, entry.files = {}, [], []
        self._begin(entry, QUEUED)
        self.audits.add(entry)
        self._places()

    def _begin(self, entry: Entry, state: str) -> None:
        before = entry.state
        entry.state, entry.message, entry.began, entry.ended = state, "", "", ""
        try:
            self.store.add(entry)
        except OSError:
            entry.state = before
            raise
        self.live[entry.id] = Live(entry)

    def _places(self) -> None:
        """Tell all that wait how many are before them."""
        for place, entry in enumerate(self.audits.waiting):
            self.live[entry.id].tell(ahead=place + 1)

    async def cancel(self, entry: Entry) -> None:
        """End an entry now, whether it waits or runs."""
        if not entry.under_way:
            return
        for lane in (self.looks, self.audits):
            if entry in lane.waiting:
                lane.waiting.remove(entry)
                self._end(entry, CANCELLED, "Cancelled before it began.")
        self._places()
        process = self.processes.get(entry.id)
        if entry.under_way:
            self.unwanted.add(entry.id)
            if process is not None:
                with suppress(ProcessLookupError):
                    process.kill()
            live = self.live[entry.id]
            while entry.under_way:
                await live.changed()

    def _end(self, entry: Entry, state: str, message: str = "") -> None:
        """Tell how it ended, even where that cannot be kept."""
        self.unwanted.discard(entry.id)
        try:
            self.store.end(entry, state, message)
        except OSError as error:
            unkept = describe_full(error) or f"It cannot be kept: {error.strerror}."
            entry.message = f"{message} {unkept} Until then this is known to the server alone."
            entry.message = entry.message.strip()
        self.live.pop(entry.id, Live(entry)).tell()

    def _unbroken(self, work: Work) -> Work:
        """The same work; a mistake in it ends that entry, and not the lane."""

        async def done(entry: Entry) -> None:
            try:
                await work(entry)
            except Exception as error:
                told = describe_full(error) or noted(
                    f"entry {entry.id}", "".join(format_exception(error))
                )
                self._end(entry, FAILED, f"This could not be done. {told}")

        return done

    async def _look(self, entry: Entry) -> None:
        asked = {
            "file": entry.file, "name": entry.name, "sheet": entry.sheet,
            "limits": asdict(self.limits),
        }  # fmt: skip
        ended = await self._process(entry, "leftout.page.looking", asked, self.limits.reading)
        if ended.code == 0 and self.store.columns(entry).exists():
            columns = Columns.of(self.store.columns(entry))
            entry.choices = presets(columns, entry.choices)
            self._end(entry, READY)
        else:
            self._failed(entry, ended, "looking at this table")

    async def _audit(self, entry: Entry) -> None:
        entry.state, entry.began = RUNNING, now()
        self.store.save(entry)
        self._places()
        asked = words(entry, Columns.of(self.store.columns(entry)))
        asked += ["--out", "result", "--events"]
        ended = await self._process(entry, "leftout.page.processes", asked, self.limits.auditing)
        if ended.code == 0 and self.store.result(entry, REPORT).exists():
            self._end(entry, DONE)
        else:
            self._failed(entry, ended, "this audit")

    async def _process(self, entry: Entry, module: str, asked: Any, seconds: float) -> Ended:
        """Run a process of ours in the entry's folder, and hear what it tells."""
        folder, live = self.store.of(entry), self.live[entry.id]
        if entry.id in self.unwanted:
            return Ended(-signal.SIGKILL, "")
        live.tell(what="loading libraries", share=0.0, ahead=0)
        try:
            process = await started(module, asked, folder)
        except (OSError, ValueError) as error:
            if describe_full(error):
                raise
            return Ended(1, f"cannot be started: {error}")
        self.processes[entry.id] = process
        if entry.id in self.unwanted:
            process.kill()
        late = False
        try:
            async with asyncio.timeout(seconds):
                await self._heard(entry, live, process)
        except TimeoutError:
            late = True
        finally:
            with suppress(ProcessLookupError):
                process.kill()
            code = await process.wait()
            del self.processes[entry.id]
        return Ended(code, last_said(folder), late)

    async def _heard(self, entry: Entry, live: Live, process: asyncio.subprocess.Process) -> None:
        assert process.stdout is not None
        async for line in process.stdout:
            with suppress(ValueError):
                self._hear(entry, live, json.loads(line))
        await process.wait()

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

    def _failed(self, entry: Entry, ended: Ended, what: str) -> None:
        """Say truthfully how it ended."""
        shutil.rmtree(self.store.of(entry) / "result", ignore_errors=True)
        entry.files = []
        if entry.id in self.unwanted:
            self._end(entry, CANCELLED, "Cancelled.")
        else:
            self._end(entry, *ended.told(what))
