"""Where something under way is: told to all who watch, as often as it moves."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

from leftout.page.store import Entry

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
