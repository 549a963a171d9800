"""Kernels: functions that Numba compiles, and keeps on disk where it finds a folder for that."""

import warnings
from collections.abc import Callable
from functools import cache
from typing import Any

from numba import njit

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
