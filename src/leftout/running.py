"""Long work: run it on several threads, in order, say how far it is, and end when asked to.

BLAS keeps to one thread where its products are too small to share: the threads of NumPy's and
SciPy's copies wait for work by spinning, and that made whole searches three times slower.

How much memory there is for this process, and no more than that.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from contextvars import ContextVar, copy_context
from functools import cached_property
from pathlib import Path
from threading import Lock
from typing import Any, TypeVar

from joblib import effective_n_jobs
from threadpoolctl import ThreadpoolController

# Called with what is being done, how many steps are done, and how many there are.
Report = Callable[[str, int, int], None]

T = TypeVar("T")

# Steps that the work of several stages is counted in.
_STAGE_STEPS = 1000


class Steps:
    """Counts steps and reports each; ``total`` is what to expect, fixed from the start."""

    def __init__(self, total: int, report: Report | bool | None) -> None:
        self.done, self.total = 0, total
        if isinstance(report, bool):
            report = _to_stderr if report else None
        self.report = report

    def tell(self, what: str, steps: int = 0) -> None:
        self.done = min(self.done + steps, self.total)
        if self.report is not None:
            self.report(what, self.done, self.total)


def _to_stderr(what: str, done: int, total: int) -> None:
    """A line on the standard error stream for every tenth of the way."""
    if done % max(1, total // 10) == 0 or done == total:
        print(f"leftout: {what}, {done} of {total} steps", file=sys.stderr, flush=True)


class Stages:
    """Work of several stages, each of which reports on its own, as one count of steps.

    ``plan`` has for each stage what people call it and the share of the time that it takes, more
    or less.
    """

    def __init__(self, plan: dict[str, float], report: Report | bool | None) -> None:
        self.plan, self.before = plan, 0.0
        self.steps = Steps(_STAGE_STEPS, report)
        self.current: str | None = None
        self.report: Report | None = None  # of the current stage

    def begin(self, stage: str) -> Report:
        """Begin a stage; the others before it are done. What it reports moves the whole."""
        if self.current is not None:
            self.before += self.plan[self.current]
        self.current = stage
        start, share = self.before, self.plan[stage]
        whole = sum(self.plan.values())

        def report(what: str, done: int, total: int) -> None:
            part = start + share * (done / total if total else 0.0)
            self._move(f"{stage}: {what}" if what else stage, part / whole)

        self.report = report
        report("", 0, 1)
        return report

    def end(self) -> None:
        self._move("done", 1.0)

    def _move(self, what: str, share: float) -> None:
        done = round(_STAGE_STEPS * share)
        self.steps.tell(what, max(0, done - self.steps.done))


def imap_ordered(
    function: Callable[..., T], tasks: Iterable[Any], n_jobs: int | None, steps: Steps, what: str
) -> Iterator[T]:
    """Results of ``function(*task)``, in the order of the tasks, each as soon as it is there.

    Threads, since the kernels let go of the interpreter lock: no table is copied and nothing has to
    be started. After an interrupt, or when nobody wants further results, tasks that have not begun
    are dropped, and nobody waits for those that have.
    """
    steps.tell(what)
    pool = ThreadPoolExecutor(effective_n_jobs(n_jobs))
    try:
        # each in a context of its own, in which notes go where the caller collects them
        for future in [pool.submit(copy_context().run, function, *task) for task in tasks]:
            result = future.result()
            steps.tell(what, 1)
            yield result
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def one_thread(wanted: bool = True) -> AbstractContextManager[object]:
    """A context in which BLAS uses one thread, or a context that does nothing."""
    return _ONE_THREAD if wanted else nullcontext()


class _OneThread:
    """BLAS has one number of threads for the process: the first in sets it, the last out frees it.

    With a limit for each, two searches that overlap would leave BLAS as the other had it.
    """

    def __init__(self) -> None:
        self.lock, self.inside = Lock(), 0
        self.limit: Any = None

    @cached_property
    def controller(self) -> ThreadpoolController:
        return ThreadpoolController()

    def __enter__(self) -> None:
        with self.lock:
            if not self.inside:
                self.limit = self.controller.limit(limits=1, user_api="blas")
            self.inside += 1

    def __exit__(self, *_: object) -> None:
        with self.lock:
            self.inside -= 1
            if not self.inside:
                self.limit.restore_original_limits()


_ONE_THREAD = _OneThread()
_NOTES: ContextVar[list[str] | None] = ContextVar("notes", default=None)


def warn(text: str, category: type[Warning] = UserWarning, stacklevel: int = 2) -> None:
    """Say what changes how to read a result: to whoever collects notes, else as a warning."""
    notes = _NOTES.get()
    if notes is None:
        warnings.warn(text, category, stacklevel=stacklevel + 1)
    elif text not in notes:
        notes.append(text)


@contextmanager
def collected_warnings() -> Iterator[list[str]]:
    """A list that gets the notes of this thread, and of the tasks it runs, instead of warnings."""
    notes: list[str] = []
    token = _NOTES.set(notes)
    try:
        yield notes
    finally:
        _NOTES.reset(token)


@contextmanager
def clean_interrupts() -> Iterator[None]:
    """Let Ctrl-C be a KeyboardInterrupt, also when it comes while a kernel is running.

    Numba then finds the interrupt after the kernel has returned, and reports a SystemError.
    """
    try:
        yield
    except SystemError as error:
        if interrupted(error):
            raise KeyboardInterrupt from None
        raise


def interrupted(error: BaseException | None) -> bool:
    """Whether an error is what Numba makes of an interrupt that came while a kernel was running."""
    if not isinstance(error, SystemError):
        return False
    return isinstance(error.__cause__ or error.__context__, KeyboardInterrupt)


def available_memory(root: str = "/") -> int:
    """Bytes that this process may take: of the machine, of its container, by its own limit."""
    return min([_there_is(Path(root)), *_given()])


def _there_is(root: Path) -> int:
    """Bytes of the machine, or of the control group (version 2) that this process runs in."""
    known = [4 * 10**9]
    with suppress(AttributeError, ValueError, OSError):  # another system
        known = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")]
    with suppress(OSError):
        base = root / "sys/fs/cgroup"
        inside = (root / "proc/self/cgroup").read_text().rpartition("0::/")[2].strip()
        folder = base / inside
        for each in (folder, *folder.parents[: len(folder.parts) - len(base.parts)]):
            with suppress(OSError, ValueError):  # not there, or "max"
                known.append(int((each / "memory.max").read_text()))
    return min(known)


def _given() -> list[int]:
    """The limit that was set for this process, if one was."""
    with suppress(ImportError, OSError):
        import resource

        soft, _ = resource.getrlimit(resource.RLIMIT_DATA)
        return [soft] * (soft != resource.RLIM_INFINITY)
    return []


def limit_memory(share: float) -> None:
    """Take no more than a share of the memory there is: more is a ``MemoryError`` of ours.

    Without it, a table that asks for too much takes down whatever else runs on the machine. What is
    limited is what a process may write to: addresses that are only reserved do not count.
    """
    with suppress(ImportError, ValueError, OSError):
        import resource

        _, most = resource.getrlimit(resource.RLIMIT_DATA)
        least = min([int(share * _there_is(Path("/"))), *_given()])
        resource.setrlimit(resource.RLIMIT_DATA, (least, most))
