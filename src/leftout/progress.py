"""Many independent tasks: run them on several threads, in order, and say how far they are."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from joblib import effective_n_jobs

# Called with what is being done, how many steps are done, and how many there are.
Report = Callable[[str, int, int], None]

T = TypeVar("T")


class Steps:
    """Counts steps and reports each; ``total`` is fixed from the start."""

    def __init__(self, total: int, report: Report | bool | None) -> None:
        self.done, self.total = 0, total
        self.report: Report | None = None
        if not isinstance(report, bool):
            self.report = report
        elif report:
            self.report = ToStderr()

    def tell(self, what: str, steps: int = 0) -> None:
        self.done += steps
        if self.report is not None:
            self.report(what, self.done, self.total)


class ToStderr:
    """One line on the standard error stream, rewritten as work goes on; in a log, a few lines."""

    def __init__(self) -> None:
        self.last = ""

    def __call__(self, what: str, done: int, total: int) -> None:
        line = f"leftout: {what}, {done} of {total} steps"
        if sys.stderr.isatty():
            end = "\n" if done == total else ""
            print(f"\r{line}\x1b[K", end=end, file=sys.stderr, flush=True)
        elif what != self.last or done % max(1, total // 10) == 0 or done == total:
            print(line, file=sys.stderr, flush=True)
        self.last = what


def in_turn(
    function: Callable[..., T],
    tasks: Iterable[tuple[Any, ...]],
    n_jobs: int | None,
    steps: Steps,
    what: str,
) -> Iterator[T]:
    """Results of ``function(*task)``, in the order of the tasks, each as soon as it is there.

    Threads, since the kernels let go of the interpreter lock: no table is copied and nothing has to
    be started. After an interrupt, or when nobody wants further results, tasks that have not begun
    are dropped, and nobody waits for those that have.
    """
    steps.tell(what)
    pool = ThreadPoolExecutor(effective_n_jobs(n_jobs))
    try:
        for future in [pool.submit(function, *task) for task in tasks]:
            result = future.result()
            steps.tell(what, 1)
            yield result
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
