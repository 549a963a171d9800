"""Who runs over the chunks of a table, here or on a Dask cluster, and how results are merged.

All work on all rows is a function of one chunk and a way to merge two results. Sums of floating
numbers depend on their order, so every engine merges in the order of the chunks by the fixed tree
of :func:`leftout.linalg.passes.fold`, whoever finishes first. A run of ``2^k`` chunks that starts
at a multiple of ``2^k`` is a branch of that tree, so it may be folded wherever it is read, and
nothing changes.

A task of a cluster is a pure function with all that it needs as arguments: nothing is scattered, so
nothing is lost with a worker but the time of its task, which is run again elsewhere.
"""

from __future__ import annotations

import asyncio
import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError, ThreadPoolExecutor
from contextlib import ExitStack
from functools import partial
from itertools import islice
from typing import Any, Protocol, TypeVar

from leftout.errors import InputError, parameter_label
from leftout.linalg.passes import fold
from leftout.running import one_thread
from leftout.text import shown

T = TypeVar("T")
Item = TypeVar("Item")
# Called with how many chunks are done, and how many there are.
Tell = Callable[[int, int], None]

# Tasks that are out, for each thread of a cluster.
_AHEAD = 4
# Results that come back to be merged here, for each thread and at least.
_RUNS, _FEWEST_RUNS = 16, 256
# Seconds that a scheduler has to answer, and workers to appear.
_ANSWER, _PATIENCE = 10, 300
# What has to be the same everywhere for the same digits.
_PACKAGES = ("leftout", "numpy", "pyarrow")


def silent(done: int, total: int) -> None:
    """Tell nobody."""


class Fold(Protocol):
    """How functions of chunks are run and merged."""

    def __call__(
        self, function: Callable[[Any], T], items: Sequence[Any], merge: Callable[[T, T], T]
    ) -> T: ...


def _on_one_thread(function: Callable[[Item], T], item: Item) -> T:
    with one_thread():
        return function(item)


def _folded(function: Callable[[Item], T], merge: Callable[[T, T], T], items: Sequence[Item]) -> T:
    return fold(map(function, items), merge)


class Engine:
    """Runs a function over chunks; whoever has a ``stream`` is one."""

    name: str
    closed = False

    def stream(
        self, function: Callable[[Item], T], items: Sequence[Item], tell: Tell = silent
    ) -> Iterator[T]:
        """Each result, in order; only a few are kept at a time."""
        raise NotImplementedError

    def most(self, items: Sequence[Any]) -> int:
        """Results that may come back to be merged here."""
        return len(items)

    def close(self) -> None:
        """Let go of what it has started."""

    def fold(
        self,
        function: Callable[[Item], T],
        items: Sequence[Item],
        merge: Callable[[T, T], T],
        tell: Tell = silent,
    ) -> T:
        """All results merged, in order, by the fixed tree."""
        branches = runs(items, self.most(items))
        with one_thread():
            return fold(self.stream(partial(_folded, function, merge), branches, tell), merge)


class Local(Engine):
    """One chunk at a time, in this process.

    Examples
    --------
    >>> Local().fold(str, range(4), "({}{})".format)
    '((01)(23))'
    """

    name = "local"

    def stream(
        self, function: Callable[[Item], T], items: Sequence[Item], tell: Tell = silent
    ) -> Iterator[T]:
        """Each result, in order."""
        for done, item in enumerate(items, start=1):
            yield _on_one_thread(function, item)
            tell(done, len(items))


def runs(items: Sequence[Item], most: int) -> list[Sequence[Item]]:
    """Items in runs of ``2^k`` neighbours, the shortest that make at most so many runs.

    Examples
    --------
    >>> [list(each) for each in runs(range(7), 4)]
    [[0, 1], [2, 3], [4, 5], [6]]
    """
    width = 1
    while width * most < len(items):
        width *= 2
    return [items[start : start + width] for start in range(0, len(items), width)]


class Dask(Engine):
    """Tasks on a ``distributed`` cluster.

    Parameters
    ----------
    client : distributed.Client
        Connected.
    closing : ExitStack, optional
        What to end with it: a client or a cluster that was started for it.
    """

    name = "dask"

    def __init__(self, client: Any, closing: ExitStack | None = None) -> None:
        self.client, self.closing = client, closing
        self.address = str(getattr(client.scheduler, "address", "the scheduler"))

    @classmethod
    def current(cls) -> Dask:
        """On the client that the caller has; refuses if there is none."""
        distributed = _distributed()
        try:
            return cls(distributed.default_client())
        except ValueError as error:
            raise InputError(
                f"{parameter_label('engine', 'dask')} needs a cluster, and no client of one is "
                "there. Create one first: distributed.Client(), or "
                "distributed.Client('tcp://...')."
            ) from error

    @classmethod
    def at(cls, address: str) -> Dask:
        """On the cluster of a scheduler."""
        distributed, stack = _distributed(), ExitStack()
        try:
            # a client that finds nobody complains once more when it is forgotten
            with ThreadPoolExecutor(1) as apart:
                apart.submit(asyncio.run, _answers(address)).result()
            client = stack.enter_context(
                distributed.Client(address, timeout=_ANSWER, set_as_default=False)
            )
        except (OSError, ValueError, TimeoutError) as error:
            raise InputError(
                f"No Dask scheduler answers at {shown(address)}. Check the address, which it "
                "prints when it starts (tcp://HOST:8786)."
            ) from error
        return cls(client, stack)

    @classmethod
    def here(cls, memory: str | int | None = None, n_workers: int | None = None) -> Dask:
        """On a cluster of this machine's cores, started for it; its dashboard on loopback only."""
        distributed, stack = _distributed(), ExitStack()
        import dask

        # nobody reads the profile that workers would take of themselves a hundred times a second
        with dask.config.set({"distributed.worker.profile.enabled": False}):
            cluster = stack.enter_context(
                distributed.LocalCluster(
                    n_workers=n_workers, threads_per_worker=1, processes=True, host="127.0.0.1",
                    dashboard_address="127.0.0.1:0", memory_limit=memory or "auto",
                    silence_logs="CRITICAL",
                )
            )  # fmt: skip
        # results need not pass through the scheduler, which is in this process as well
        client = distributed.Client(cluster, set_as_default=False, direct_to_workers=True)
        return cls(stack.enter_context(client), stack)

    def close(self) -> None:
        """End the client or cluster that was started for this."""
        if self.closing is None:
            return
        self.closed = True
        self.closing.close()

    def probe(self, path: str, size: int) -> None:
        """Refuse workers that would fail or compute other digits, before there is work.

        Every worker must have the same versions, and read ``path`` at the same ``size``.
        """
        self._threads()
        found = self.client.get_versions(packages=list(_PACKAGES))
        mine = found["client"]["packages"]
        for worker, theirs in sorted(found["workers"].items()):
            for name in ("python", *_PACKAGES):
                has, needed = theirs["packages"][name], mine[name]
                if has != needed:
                    raise InputError(
                        f"The worker {worker} has {f'{name} {has}' if has else f'no {name}'}, but "
                        f"{needed} is used here; digits could differ. Install the same version "
                        "there."
                    )
        sizes = self.client.run(os.path.getsize, path, on_error="return")
        for worker, there in sorted(sizes.items()):
            if there != size:
                why = getattr(there, "strerror", None) or f"it is of another size ({there})"
                raise InputError(
                    f"The worker {worker} cannot read {path!r}: {why}. Every worker needs the "
                    "same files at the same path."
                )

    def most(self, items: Sequence[Any]) -> int:
        """Results that may come back to be merged here; runs of chunks are folded elsewhere."""
        return max(_RUNS * self._threads(), _FEWEST_RUNS)

    def stream(
        self, function: Callable[[Item], T], items: Sequence[Item], tell: Tell = silent
    ) -> Iterator[T]:
        """Each result, in order; few tasks are out at a time."""
        task, left = partial(_on_one_thread, function), iter(items)
        out: deque[Any] = deque()
        room = _AHEAD * self._threads()
        try:
            for done, item in enumerate(items, start=1):
                some = islice(left, room - len(out))
                out.extend(self.client.submit(task, each, pure=False) for each in some)
                result = self._result(out[0], item)
                out.popleft().release()
                yield result
                tell(done, len(items))
        finally:
            if out and self.client.status == "running":
                self.client.cancel(list(out), force=True)

    def _result(self, future: Any, item: Any) -> Any:
        """What a task gives, however often workers are lost meanwhile."""
        from distributed.scheduler import KilledWorker

        try:
            return future.result()
        except KilledWorker as error:
            raise InputError(
                f"Workers ended again and again while they worked on {_called(item)}: they "
                f"may have too little memory. Give each more ({parameter_label('memory', '4GB')})."
            ) from error
        except (CancelledError, OSError) as error:
            if self.client.status == "running" and not isinstance(error, CancelledError):
                raise
            raise self._gone(error) from error

    def _threads(self) -> int:
        try:
            self.client.wait_for_workers(1, timeout=_PATIENCE)
            return max(1, sum(self.client.nthreads().values()))
        except Exception as error:
            raise self._gone(error) from error

    def _gone(self, error: BaseException) -> InputError:
        """What to say when the scheduler does not answer, or has nobody to work."""
        return InputError(
            f"The Dask scheduler at {self.address} does not answer any more, or has no workers "
            f"({type(error).__name__}). Start a cluster, and repeat the same call with "
            f"{parameter_label('resume', True)}: it goes on from its last pass."
        )


def _called(item: Any) -> str:
    """What people call a chunk, the first of a run, or one with something beside it."""
    while isinstance(item, list | tuple):
        item = item[0]
    if not hasattr(item, "path"):
        return shown(repr(item))
    return f"row group {item.group + 1} of {shown(repr(item.path))}"


async def _answers(address: str) -> None:
    """Reach a scheduler, and hang up."""
    distributed: Any = _distributed()
    how = distributed.Security().get_connection_args("client")
    link = await distributed.comm.connect(address, timeout=_ANSWER, **how)
    await link.close()


def _distributed() -> Any:
    try:
        import distributed
    except ImportError as error:
        raise InputError(
            f"{parameter_label('engine', 'dask')} needs a package that is not installed "
            "(distributed). Run: pip install 'leftout[scale]'"
        ) from error
    return distributed
