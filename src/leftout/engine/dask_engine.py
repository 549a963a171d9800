"""The same functions as tasks of a Dask cluster.

A task is a pure function with all that it needs as arguments: nothing is scattered, so nothing is
lost with a worker but the time of its task, which is run again elsewhere. Few tasks are out at a
time, and few results wait to be merged.
"""

from __future__ import annotations

import asyncio
import logging
import platform
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError, ThreadPoolExecutor
from contextlib import ExitStack
from importlib.metadata import version
from typing import Any, TypeVar

from leftout import __version__
from leftout.engine.engines import Engine, Tell
from leftout.errors import InputError, parameter_label
from leftout.running import one_thread
from leftout.text import counted, shown

T = TypeVar("T")
Item = TypeVar("Item")

# Tasks that are out for each thread of the cluster; results that may wait for an earlier one.
_OUT, _AHEAD = 2, 8
# Results that come back to be merged here, for each thread and at least.
_RUNS, _FEWEST_RUNS = 16, 256
# How often to look whether anybody is still there, how long to wait for workers, in seconds.
_LOOK, _PATIENCE = 2.0, 300.0
# Seconds that a scheduler has to answer.
_ANSWER = 10
# What has to be the same everywhere for the same digits.
_NAME, _PACKAGES = "leftout", ("numpy", "pyarrow")


def _probe(package: str, packages: Sequence[str], path: str | None) -> dict[str, Any]:
    """Versions that a worker has, and the size of a file there."""
    import os
    import platform
    from importlib import import_module
    from importlib.metadata import version

    found: dict[str, Any] = {"python": platform.python_version()}
    for name in (package, *packages):
        try:
            module = import_module(name)
            found[name] = getattr(module, "__version__", None) or version(name)
        except Exception as error:
            found[name] = None
            found[f"why {name}"] = f"{type(error).__name__}: {error}"
    try:
        found["bytes"] = None if path is None else os.stat(path).st_size
        if path is not None:
            open(path, "rb").close()
    except OSError as error:
        found["unreadable"] = error.strerror or str(error)
    return found


# Dask sends a function of this module by value, with all that it needs: leftout may be missing.
_probe.__module__ = "__main__"


def _task(task: Callable[[Sequence[Item]], T], items: Sequence[Item]) -> T:
    """What a worker does, with one BLAS thread."""
    with one_thread():
        return task(items)


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
        self.client, self.closing = client, closing or ExitStack()
        self.mine = closing is not None
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
                "there. "
                "Create one first: distributed.Client(), or distributed.Client('tcp://...')."
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
        if not self.mine:
            return
        self.closed = True
        if self.client.status != "running":  # it is said already that nobody answers
            logging.getLogger("distributed.client").setLevel(logging.CRITICAL)
        self.closing.close()

    def probe(self, path: str | None = None, size: int | None = None) -> None:
        """Refuse workers that would fail or compute other digits, before there is work.

        Every worker must have the same versions, and read ``path`` at the same ``size``.
        """
        mine = {"python": platform.python_version(), _NAME: __version__}
        mine |= {name: version(name) for name in _PACKAGES}
        try:
            self.client.wait_for_workers(1, timeout=_PATIENCE)
            found = self.client.run(_probe, _NAME, _PACKAGES, path)
        except Exception as error:
            raise self._gone(error) from error
        for worker, theirs in sorted(found.items()):
            for name, needed in mine.items():
                has = theirs.get(name)
                if has is None:
                    why = theirs.get(f"why {name}", "it is not installed")
                    raise InputError(
                        f"The worker {worker} has no {name} ({shown(why)}). Install {name} "
                        f"{needed} there."
                    )
                if has != needed:
                    raise InputError(
                        f"The worker {worker} has {name} {has}, but {needed} is used here; digits "
                        "could differ. Install the same version there."
                    )
            if "unreadable" in theirs:
                raise InputError(
                    f"The worker {worker} cannot read {path!r}: {theirs['unreadable']}. Every "
                    "worker needs the files at the same path."
                )
            if size is not None and theirs["bytes"] != size:
                raise InputError(
                    f"The worker {worker} has another file at {path!r}: {theirs['bytes']:,} bytes, "
                    f"not {size:,}. Every worker needs the same files at the same path."
                )

    def most(self, items: Sequence[Any]) -> int:
        """Results that may come back to be merged here; runs of chunks are folded elsewhere."""
        return max(_RUNS * self._threads(), _FEWEST_RUNS)

    def results(
        self, task: Callable[[Sequence[Item]], T], runs: Sequence[Sequence[Item]], tell: Tell
    ) -> Iterator[tuple[int, T]]:
        """Results with their places, as they finish; in a window of the places."""
        from distributed.scheduler import KilledWorker

        any_done: Any = _distributed().wait

        threads = self._threads()
        out: dict[Any, int] = {}
        following = done = 0
        missing_since: float | None = None
        try:
            while done < len(runs):
                earliest = min(out.values(), default=following)
                while (
                    following < len(runs)
                    and len(out) < _OUT * threads + 1
                    and following - earliest < _AHEAD * threads
                ):
                    future = self.client.submit(_task, task, runs[following], pure=False)
                    out[future] = following
                    following += 1
                try:
                    with self.client.as_current():
                        any_done(list(out), timeout=_LOOK, return_when="FIRST_COMPLETED")
                    missing_since = None
                except TimeoutError:
                    missing_since = self._anybody(missing_since)
                    continue
                for future in [future for future in out if future.done()]:
                    result = future.result()
                    place = out.pop(future)
                    future.release()
                    done += 1
                    tell(done, len(runs))
                    yield place, result
        except KilledWorker as error:
            place = min(out.values())
            what = next((runs[p] for f, p in out.items() if f.status == "error"), runs[place])
            raise InputError(
                f"Workers ended again and again while they worked on {_called(what[0])}: they "
                f"may have too little memory. Give each more ({parameter_label('memory', '4GB')})."
            ) from error
        except (CancelledError, OSError) as error:
            if self.client.status == "running" and not isinstance(error, CancelledError):
                raise
            raise self._gone(error) from error
        finally:
            if out and self.client.status == "running":
                self.client.cancel(list(out), force=True)

    def _threads(self) -> int:
        try:
            self.client.wait_for_workers(1, timeout=_PATIENCE)
            return max(1, sum(self.client.nthreads().values()))
        except Exception as error:
            raise self._gone(error) from error

    def _anybody(self, since: float | None) -> float | None:
        """Since when nobody has been there to work; an error when that has lasted too long."""
        try:
            some = bool(self.client.nthreads())
        except Exception as error:
            raise self._gone(error) from error
        if some:
            return None
        now = time.monotonic()
        if since is not None and now - since > _PATIENCE:
            raise InputError(
                f"The cluster at {self.address} has no workers any more. Start some, and repeat "
                "the same call: it goes on from its last pass."
            )
        return since or now

    def _gone(self, error: BaseException) -> InputError:
        """What to say when the scheduler does not answer."""
        return InputError(
            f"The Dask scheduler at {self.address} does not answer any more "
            f"({type(error).__name__}). Start a cluster, and repeat the same call: it goes on from "
            "its last pass."
        )

    def __repr__(self) -> str:
        return f"Dask({self.address!r}, {counted(self._threads(), 'thread')})"


def _called(item: Any) -> str:
    """What people call a chunk, also one with something beside it."""
    chunk = item[0] if isinstance(item, tuple) else item
    if not hasattr(chunk, "path"):
        return shown(repr(chunk))
    return f"row group {chunk.group + 1} of {shown(repr(chunk.path))}"


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
            "(distributed). "
            "Run: pip install 'leftout[scale]'"
        ) from error
    return distributed
