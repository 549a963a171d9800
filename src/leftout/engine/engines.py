"""Who runs over the chunks of a table, here or on a Dask cluster, and how results are merged.

All work on all rows is a function of one chunk, with all that it needs, and a way to merge two
results. Sums of floating numbers depend on their order, so every engine merges in the order of the
chunks by the fixed tree of :func:`leftout.linalg.passes.fold`, whoever finishes first.

An audit is the same sequence of passes whenever it is run on the same files with the same settings
and versions. So the results of passes are numbered and kept in a private folder, and a run that was
stopped takes them from there. They are pickled: whoever may write to the user's own folder of
states may run code as that user anyway. A folder that others may write to is not used.
"""

from __future__ import annotations

import hashlib
import json
import os
import pickle
import re
import shutil
import socket
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from leftout import __version__
from leftout.errors import InputError, parameter_label
from leftout.files import own_folder, write_whole
from leftout.linalg.passes import fold
from leftout.running import Stages, one_thread, warn
from leftout.text import shown

# What gives a chunk's result, and what makes one of two.
Function = Callable[[Any], Any]
Merge = Callable[[Any, Any], Any]
# ``fold(function, items, merge)``: how functions of chunks are run and merged.
Fold = Callable[[Function, Sequence[Any], Merge], Any]
# Called with how many chunks are done, and how many there are.
Tell = Callable[[int, int], None]

# Seconds that a scheduler has to answer, and workers to appear.
_ANSWER, _PATIENCE = 10, 300
# What has to be the same everywhere for the same digits.
_PACKAGES = ("leftout", "numpy", "pyarrow")
# Folders of ours among the user's own, and how long what nobody came back for is kept, in seconds.
_OURS, _KEPT = re.compile("[0-9a-f]{32}"), 30 * 24 * 3600.0


def silent(done: int, total: int) -> None:
    """Tell nobody."""


class Local:
    """One chunk at a time, in this process.

    >>> Local().fold(str, range(4), "({}{})".format)
    '((01)(23))'
    """

    name = "local"
    closed = False

    def fold(
        self, function: Function, items: Sequence[Any], merge: Merge, tell: Tell = silent
    ) -> Any:
        """All results merged, in order, by the fixed tree."""

        def results() -> Iterator[Any]:
            for done, item in enumerate(items, start=1):
                yield function(item)
                tell(done, len(items))

        with one_thread():
            return fold(results(), merge)


def _on_one_thread(function: Callable[..., Any], *given: Any) -> Any:
    with one_thread():
        return function(*given)


class Dask:
    """Tasks on a ``distributed`` cluster.

    ``ours``: the client, and a cluster that it has started, are to be closed with this.
    """

    name = "dask"
    closed = False

    def __init__(self, client: Any, ours: bool = False) -> None:
        self.client, self.ours = client, ours
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
        distributed = _distributed()
        try:
            # a client that finds nobody complains once more when it is forgotten
            host = distributed.comm.get_address_host_port(address, strict=True)
            socket.create_connection(host, _ANSWER).close()
            client = distributed.Client(address, timeout=_ANSWER, set_as_default=False)
        except (OSError, ValueError, TimeoutError) as error:
            raise InputError(
                f"No Dask scheduler answers at {shown(address)}. Check the address, which it "
                "prints when it starts (tcp://HOST:8786)."
            ) from error
        return cls(client, ours=True)

    @classmethod
    def here(cls, memory: str | int | None = None, n_workers: int | None = None) -> Dask:
        """On a cluster of this machine's cores, started for it; its dashboard on loopback only."""
        distributed = _distributed()
        import dask

        # nobody reads the profile that workers would take of themselves a hundred times a second;
        # results need not pass through the scheduler, which is in this process as well
        with dask.config.set({"distributed.worker.profile.enabled": False}):
            client = distributed.Client(
                n_workers=n_workers, threads_per_worker=1, processes=True, host="127.0.0.1",
                dashboard_address="127.0.0.1:0", memory_limit=memory or "auto",
                silence_logs="CRITICAL", set_as_default=False, direct_to_workers=True,
            )  # fmt: skip
        return cls(client, ours=True)

    def close(self) -> None:
        """End the client or cluster that was started for this."""
        if self.ours:
            self.closed = True
            self.client.close()

    def probe(self) -> None:
        """Refuse workers of other versions, which could compute other digits."""
        self._wait_for_workers()
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

    def fold(
        self, function: Function, items: Sequence[Any], merge: Merge, tell: Tell = silent
    ) -> Any:
        """All results merged, in order, by the fixed tree, whose branches are tasks as well."""
        self._wait_for_workers()
        submit = partial(self.client.submit, _on_one_thread, pure=False)
        chunks = {submit(function, item): item for item in items}
        # what can be merged is merged before more is read
        whole = fold(chunks, partial(submit, merge, priority=1))
        done = _distributed().as_completed(list(chunks), loop=self.client.loop)
        item = None
        try:
            for count, future in enumerate(done, start=1):
                item = chunks.pop(future)  # a result is held no longer than until it is merged
                if future.status != "finished":
                    future.result()
                tell(count, len(items))
            item = None
            return whole.result()
        except Exception as error:
            raise self._refusal(error, item) from error
        finally:
            done.clear()

    def _refusal(self, error: Exception, item: Any) -> Exception:
        """What to say of an error on the cluster, while it worked on a chunk or merged (None)."""
        from distributed.scheduler import KilledWorker

        if isinstance(error, KilledWorker):
            return InputError(
                f"Workers ended again and again while they worked on {_called(item)}: they "
                f"may have too little memory. Give each more ({parameter_label('memory', '4GB')})."
            )
        lost = isinstance(error, OSError) and self.client.status != "running"
        return self._gone(error) if lost or isinstance(error, CancelledError) else error

    def _wait_for_workers(self) -> None:
        try:
            self.client.wait_for_workers(1, timeout=_PATIENCE)
        except Exception as error:
            raise self._gone(error) from error

    def _gone(self, error: BaseException) -> InputError:
        """What to say when the scheduler does not answer, or has nobody to work."""
        return InputError(
            f"The Dask scheduler at {self.address} does not answer any more, or has no workers "
            f"({type(error).__name__}). Start a cluster, and repeat the same call with "
            f"{parameter_label('resume', True)}: it goes on from its last pass."
        )


Engine = Local | Dask


def _called(item: Any) -> str:
    """What people call a chunk; None is what several gave."""
    if hasattr(item, "path"):
        return f"row group {item.group + 1} of {shown(repr(item.path))}"
    return "what chunks gave" if item is None else shown(repr(item))


def _distributed() -> Any:
    try:
        import distributed
    except ImportError as error:
        raise InputError(
            f"{parameter_label('engine', 'dask')} needs a package that is not installed "
            "(distributed). Run: pip install 'leftout[scale]'"
        ) from error
    return distributed


def state_folder(files: Mapping[str, str], settings: Mapping[str, Any]) -> Path | None:
    """Where the passes over these files, each with its fingerprint, are kept, by the settings.

    None, with a note, where the user has no folder of states. What nobody came back for in a month
    is removed on the way.
    """
    about = [sorted((os.path.abspath(path), seen) for path, seen in files.items())]
    asked = json.dumps([*about, settings, __version__, np.__version__], default=repr)
    try:
        home = own_folder("state") / "unfinished"
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        seen = home.stat()
        if os.name == "posix" and (seen.st_mode & 0o022 or seen.st_uid != os.getuid()):
            raise PermissionError(f"others may write to {str(home)!r}")
        for folder in home.iterdir():
            if _OURS.fullmatch(folder.name) and time.time() - folder.stat().st_mtime > _KEPT:
                shutil.rmtree(folder, ignore_errors=True)
    except (OSError, RuntimeError) as error:  # no home, or none to write to
        warn(
            f"What passes over the table find cannot be kept ({shown(str(error))}), so a run "
            "that is stopped would begin anew. Set XDG_STATE_HOME to a folder of yours."
        )
        return None
    return home / hashlib.sha256(asked.encode()).hexdigest()[:32]


class Passes:
    """An engine whose folds are numbered, and saved where there is a folder for them.

    The current one of ``stages`` is told how many chunks of a pass are done.
    """

    def __init__(
        self, engine: Engine, folder: Path | None = None, stages: Stages | None = None
    ) -> None:
        self.engine, self.folder, self.stages, self.number = engine, folder, stages, 0

    def fold(self, function: Function, items: Sequence[Any], merge: Merge) -> Any:
        """As the engine folds; a result that is there already is not computed again."""
        self.number += 1
        if self.folder is None:
            return self.engine.fold(function, items, merge, self._tell)
        file = self.folder / f"{self.number:04d}.pickle"
        try:
            return pickle.loads(file.read_bytes())
        except Exception:  # not there yet, or half of it: whatever pickle makes of that
            result = self.engine.fold(function, items, merge, self._tell)
        try:
            self.folder.mkdir(mode=0o700, exist_ok=True)
            write_whole(file, pickle.dumps(result))
        except OSError as error:
            reason = (error.strerror or str(error)).rstrip(".")
            raise InputError(
                f"What passes find cannot be kept in {str(self.folder)!r}: {reason}. Make room "
                "there; the same call goes on from the last pass that was kept."
            ) from error
        return result

    def end(self, failed: type[BaseException] | None = None, *_: object) -> None:
        """All is done, if nothing has failed: remove what was kept."""
        if self.folder is not None and failed is None:
            shutil.rmtree(self.folder, ignore_errors=True)

    def _tell(self, done: int, total: int) -> None:
        if self.stages is not None and self.stages.report is not None:
            self.stages.report(f"pass {self.number}, chunk {done} of {total}", done, total)
