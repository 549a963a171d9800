"""An audit as lines of JSON, for programs that run one: progress, answers as they come, the end."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from leftout.auditing.result import Audit

# Seconds between two lines on the same step: nobody reads faster.
_APART = 0.1


class Events:
    """Writes lines to the standard output stream, each an object with its ``event``.

    ``progress`` has ``what`` is done and the ``share`` that is; ``answer`` the ``headline`` and the
    ``lines`` that are known so far; ``done`` the files, and in a word what explains the loss. If
    nobody reads any more, nobody wants the audit: it ends there.
    """

    def __init__(self) -> None:
        self.last, self.step = 0.0, ""

    def progress(self, what: str, done: int, total: int) -> None:
        now, step = time.monotonic(), what.partition(":")[0]
        if step != self.step or now - self.last >= _APART:
            self.last, self.step = now, step
            self._tell("progress", what=what, share=done / total if total else 0.0)

    def answer(self, found: Audit) -> None:
        """What is known so far; what was not looked at yet is not there."""
        lines = dict(found.answer.lines)
        if found.trust is None:
            del lines["Why"], lines["Does it come back"]
        self._tell("answer", headline=found.headline(), lines=lines)

    def done(self, found: Audit, files: Sequence[Path]) -> None:
        self._tell(
            "done",
            headline=found.headline(),
            lines=found.answer.lines,
            mind=found.answer.mind,
            verdict=None if found.trust is None else found.trust.verdict_name,
            files=[path.name for path in files],
        )

    def _tell(self, event: str, **more: Any) -> None:
        try:
            print(json.dumps({"event": event, **more}), flush=True)
        except BrokenPipeError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # for the last flush
            sys.exit(1)
