"""A process of the page's: the command line itself, which ends when the server does.

``python -m leftout.page.worker`` is the command whose words come as a line of JSON on its standard
input (others on the machine see what a process was started with), and so is its report. Whoever
starts it holds that input: when it ends, so does the process, without waiting for anything; files
appear whole or not at all.
"""

from __future__ import annotations

import json
import os
import runpy
import sys
import threading
from contextlib import suppress
from typing import Any

from leftout import memory

_LEFT_ALONE = 3
# Of the memory there is: two such processes may run beside the server.
_SHARE = 0.45


def bound_to_server() -> Any:
    """What the server asks for; end with it, leave it memory, and go first if there is no more."""
    memory.limit(_SHARE)
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
