"""Processes that test side by side compile a kernel once: one of them does, the others load it."""

from __future__ import annotations

import os
from contextlib import contextmanager
from functools import wraps
from pathlib import Path

from numba import config
from numba.core.compiler_lock import global_compiler_lock
from numba.core.dispatcher import Dispatcher

try:
    import fcntl
except ImportError:  # Windows: every process compiles for itself
    fcntl = None

_held = set()


def share():
    """Let one process of pytest-xdist compile a kernel while the others wait for Numba's cache."""
    if fcntl is None or not config.CACHE_DIR or "PYTEST_XDIST_WORKER" not in os.environ:
        return
    alone = Dispatcher.compile

    @wraps(alone)
    def compile(self, sig):
        name = f"{self.py_func.__module__}.{self.py_func.__qualname__}"
        if not name.startswith("leftout."):
            return alone(self, sig)
        # Numba's own lock first, always: threads of this process then come one by one. A kernel is
        # locked before those that it calls, and calls go one way, so nobody waits in a circle.
        with global_compiler_lock, _locked(name):
            return alone(self, sig)  # which looks into the cache before it compiles

    Dispatcher.compile = compile


@contextmanager
def _locked(name):
    if name in _held:
        yield
        return
    folder = Path(config.CACHE_DIR)
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / f"{name}.lock", "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        _held.add(name)
        try:
            yield
        finally:
            _held.remove(name)  # closing the file lets go of the lock
