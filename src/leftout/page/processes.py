"""Processes of ours: how they are started, and what to say of how they ended.

A process of the page's: the command line itself, which ends when the server does.

``python -m leftout.page.processes`` is the command whose words come as a line of JSON on its
standard input (others on the machine see what a process was started with), and so is its report.
Whoever starts it holds that input: when it ends, so does the process, without waiting for anything;
files appear whole or not at all.
"""

from __future__ import annotations

import asyncio
import errno
import json
import logging
import os
import runpy
import secrets
import sys
import threading
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


def describe_full(error: BaseException) -> str | None:
    """A sentence on a disk that takes no more; None for any other error."""
    if not isinstance(error, OSError) or error.errno not in _FULL:
        return None
    return f"The disk takes no more ({error.strerror}). Make room on it, and try again."


def noted(what: str, details: str) -> str:
    """Write down what went wrong, and say where: details are for the log alone."""
    reference = secrets.token_hex(4)
    LOG.error("reference %s: %s: %s", reference, what, details)
    return f"It is a mistake of ours: the log has the details under the reference {reference}."


_LEFT_ALONE = 3
# Of the memory there is: two such processes may run beside the server.
_SHARE = 0.45


def bound_to_server() -> Any:
    """What the server asks for; end with it, leave it memory, and go first if there is no more."""
    from leftout.running import limit_memory  # the server itself does without what that loads

    limit_memory(_SHARE)
    with suppress(OSError), open("/proc/self/oom_score_adj", "w") as file:
        file.write("500")
    line = b""
    while not line.endswith(b"\n"):
        line += _read()
    threading.Thread(target=_until_alone, daemon=True).start()
    return json.loads(line)


def _read() -> bytes:
    return os.read(sys.stdin.fileno(), 1 << 16) or os._exit(_LEFT_ALONE)


def _until_alone() -> None:
    while True:
        _read()


if __name__ == "__main__":
    sys.argv[1:] = bound_to_server()
    runpy.run_module("leftout", run_name="__main__", alter_sys=True)
