"""Kernels: functions that Numba compiles, and keeps on disk where it finds a folder for that."""

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from numba import njit
from numba.core import event

Report = Callable[[str, int, int], None]  # what is done, how many steps are, and of how many

# What people read who wait for it.
COMPILING = "compiling, the first time only"
# Kernels let go of the interpreter lock and divide as IEEE does.
_OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy"}


def kernel(function: Callable[..., Any] | None = None, **options: Any) -> Any:
    """Compile a function when it is first called; a decorator, with Numba's options or without.

    What is compiled is cached on disk. Without a folder that can be written to, it is compiled
    anew in every process, and the first kernel says so.
    """
    if function is None:
        return lambda function: kernel(function, **options)
    try:
        return njit(cache=True, **_OPTIONS, **options)(function)
    except RuntimeError:  # no folder takes the cache
        _say_once()
        return njit(**_OPTIONS, **options)(function)


@cache
def _say_once() -> None:
    warnings.warn(
        "leftout finds no folder to keep its compiled kernels in, so every start compiles them "
        "again, which takes about ten seconds. Set NUMBA_CACHE_DIR to a folder that can be "
        "written to.",
        RuntimeWarning,
        stacklevel=2,
    )


class _Started(event.Listener):
    """Calls a function when a kernel begins to be compiled, and is not found on disk."""

    def __init__(self, call: Callable[[], None]) -> None:
        self.call = call

    def on_start(self, event: Any) -> None:
        self.call()

    def on_end(self, event: Any) -> None:
        pass


@contextmanager
def saying_so(report: Report) -> Iterator[Report]:
    """A report of progress that says so, too, when kernels are compiled."""
    last = ("", 0, 1)

    def remember(what: str, done: int, total: int) -> None:
        nonlocal last
        last = what, done, total
        report(*last)

    def compiling() -> None:
        what, done, total = last
        report(f"{what} ({COMPILING})" if what else COMPILING, done, total)

    with event.install_listener("numba:compile", _Started(compiling)):
        yield remember
