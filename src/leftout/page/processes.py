"""Processes of ours: how they are started, and what to say of how they ended."""

from __future__ import annotations

import asyncio
import errno
import json
import logging
import os
import secrets
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from leftout.page.store import FAILED, REFUSED

LOG = logging.getLogger("leftout.page")
# The exit code of a refusal, and how its sentence begins: the command line's.
_REFUSED, _ERROR = 2, "Error: "
# Bytes of a line that a process tells, and of what it says when it fails.
_LINE, _LAST = 1 << 22, 1 << 14
_SAID = "said.txt"
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


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


async def started(module: str, asked: Any, folder: Path) -> asyncio.subprocess.Process:
    """A module of ours as a process in a folder, and what is asked of it.

    It ends when we do, by its standard input. What is asked goes there, too: everybody on a machine
    sees what a process was started with, and names of files and columns are nobody's business.
    """
    with (folder / _SAID).open("wb") as said:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-P", "-m", module, cwd=folder, env=_surroundings(), limit=_LINE,
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=said,
        )  # fmt: skip
    assert process.stdin is not None
    process.stdin.write(json.dumps(asked).encode() + b"\n")
    with suppress(ConnectionError):  # its exit code says more
        await process.stdin.drain()
    return process


def _surroundings() -> dict[str, str]:
    """Ours, for a process in another folder: where modules are is said from the root."""
    paths = [path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(map(os.path.abspath, paths))}


def last_said(folder: Path) -> str:
    """The end of what a process said; a refusal is one line."""
    path = folder / _SAID
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - _LAST))
        said = file.read().decode("utf-8", "replace").strip()
    last = said.rpartition("\n")[2]
    return last if last.startswith(_ERROR) else said


def told_full(error: BaseException) -> str | None:
    """A sentence on a disk that takes no more; None for any other error."""
    if not isinstance(error, OSError) or error.errno not in _FULL:
        return None
    return f"The disk takes no more ({error.strerror}). Make room on it, and try again."


def noted(what: str, details: str) -> str:
    """Write down what went wrong, and say where: details are for the log alone."""
    reference = secrets.token_hex(4)
    LOG.error("reference %s: %s: %s", reference, what, details)
    return f"It is a mistake of ours: the log has the details under the reference {reference}."
