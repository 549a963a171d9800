"""A process of the page's: the command line itself, which ends when the server does.

``python -m leftout.page.worker audit table.csv --out result --events`` is that command, and so is
its report. Whoever starts it holds its standard input: when that ends, so does the process, without
waiting for anything; files appear whole or not at all.
"""

from __future__ import annotations

import os
import runpy
import sys
import threading
from contextlib import suppress

_LEFT_ALONE = 3


def bound_to_server() -> None:
    """End with the server, take no more memory than there is, and go first if there is no more."""
    threading.Thread(target=_until_alone, daemon=True).start()
    with suppress(ImportError, ValueError, OSError):
        import resource

        there_is = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        _, most = resource.getrlimit(resource.RLIMIT_AS)
        resource.setrlimit(resource.RLIMIT_AS, (there_is, most))
    with suppress(OSError), open("/proc/self/oom_score_adj", "w") as file:
        file.write("500")


def _until_alone() -> None:
    while os.read(sys.stdin.fileno(), 1 << 12):
        pass
    os._exit(_LEFT_ALONE)


if __name__ == "__main__":
    bound_to_server()
    runpy.run_module("leftout", run_name="__main__", alter_sys=True)
