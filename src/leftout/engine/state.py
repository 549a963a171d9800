"""What an audit of many chunks has done so far: saved after each pass, so that it can go on.

An audit is the same sequence of passes whenever it is run on the same files with the same settings
and versions. So the results of passes are numbered and kept in a private folder, which is named
after all of these; a run that was stopped takes them from there, up to the pass that it was in, and
ends with the same digits.

A file is NumPy's archive of arrays, with a text that says how they belong together: reading it runs
nothing. What a result may consist of is listed here; a file that says anything else is not read.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
import shutil
import time
import zipfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from leftout import __version__
from leftout.data.column_reader import ColumnSummary, TargetSums
from leftout.engine.engines import Engine
from leftout.engine.exact_counts import GroupCounts
from leftout.errors import InputError
from leftout.files import own_folder, write_whole
from leftout.groups.outcome import Spread
from leftout.linalg.bounds import RowExcess
from leftout.linalg.moments import Moments
from leftout.linalg.top_k import Inside, Sorted
from leftout.running import Stages, warn
from leftout.text import shown

T = TypeVar("T")
Item = TypeVar("Item")
Arrays = dict[str, NDArray[Any]]
_KINDS: tuple[Any, ...] = (
    ColumnSummary, GroupCounts, Inside, Moments, RowExcess, Sorted, Spread, TargetSums,
)  # fmt: skip
_MADE: dict[str, Callable[[Any], Any]] = {
    "list": list, "tuple": tuple, "frozenset": frozenset,
    "dict": lambda both: dict(zip(*both, strict=True)),
    **{kind.__name__: kind._make for kind in _KINDS},
}  # fmt: skip
# The array that holds the text.
_TEXT = "text"

# Folders of ours among the user's own, and how long what nobody came back for is kept, in seconds.
_OURS, _KEPT = re.compile("[0-9a-f]{32}"), 30 * 24 * 3600.0


class PassState:
    """Numbered results of passes in a folder that only its owner may open."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @classmethod
    def of(cls, files: Mapping[str, str], settings: Mapping[str, Any]) -> PassState | None:
        """The one of these files, each with its fingerprint, and settings.

        None, with a note, where the user has no folder of states. What nobody came back for in a
        month is removed on the way.
        """
        about = [sorted((os.path.abspath(path), seen) for path, seen in files.items())]
        asked = json.dumps([*about, settings, __version__, np.__version__], default=repr)
        try:
            home = own_folder("state") / "unfinished"
            home.mkdir(mode=0o700, parents=True, exist_ok=True)
            for folder in home.iterdir():
                if _OURS.fullmatch(folder.name) and time.time() - folder.stat().st_mtime > _KEPT:
                    shutil.rmtree(folder, ignore_errors=True)
        except (OSError, RuntimeError) as error:  # no home, or none to write to
            warn(
                f"What passes over the table find cannot be kept ({shown(str(error))}), so a run "
                "that is stopped would begin anew. Set XDG_STATE_HOME to a folder of yours."
            )
            return None
        return cls(home / hashlib.sha256(asked.encode()).hexdigest()[:32])

    def known(self, number: int) -> tuple[Any] | None:
        """The result of a pass that was done before, if it was and can be read."""
        try:
            return (unpacked(self._file(number).read_bytes()),)
        except (OSError, EOFError, LookupError, TypeError, ValueError, zipfile.BadZipFile):
            return None

    def save(self, number: int, result: Any) -> None:
        """Keep a result, whole or not at all."""
        try:
            self.folder.mkdir(mode=0o700, exist_ok=True)
            write_whole(self._file(number), packed(result))
        except OSError as error:
            reason = (error.strerror or str(error)).rstrip(".")
            raise InputError(
                f"What passes find cannot be kept in {str(self.folder)!r}: {reason}. Make room "
                "there; the same call goes on from the last pass that was kept."
            ) from error

    def end(self) -> None:
        """All is done: remove what was kept."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def _file(self, number: int) -> Path:
        return self.folder / f"{number:04d}.npz"


class Passes:
    """An engine whose folds are numbered, and saved where there is a state.

    The current one of ``stages`` is told how many chunks of a pass are done.
    """

    def __init__(
        self, engine: Engine, state: PassState | None = None, stages: Stages | None = None
    ) -> None:
        self.engine, self.state, self.stages, self.number = engine, state, stages, 0

    def fold(
        self, function: Callable[[Item], T], items: Sequence[Item], merge: Callable[[T, T], T]
    ) -> T:
        """As the engine folds; a result that is there already is not computed again."""
        self.number += 1
        if self.state is not None:
            known = self.state.known(self.number)
            if known is not None:
                return known[0]
        result = self.engine.fold(function, items, merge, self._tell)
        if self.state is not None:
            self.state.save(self.number, result)
        return result

    def _tell(self, done: int, total: int) -> None:
        if self.stages is not None and self.stages.report is not None:
            self.stages.report(f"pass {self.number}, chunk {done} of {total}", done, total)


def packed(result: Any) -> bytes:
    """The content of a file with the result of a pass."""
    arrays: Arrays = {}
    text = json.dumps(_as_json(result, arrays))
    arrays[_TEXT] = np.frombuffer(text.encode(), dtype=np.uint8)
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)  # type: ignore[arg-type]
    return buffer.getvalue()


def unpacked(content: bytes) -> Any:
    """The reverse of :func:`packed`; an error of some kind if the content is anything else."""
    with np.load(io.BytesIO(content), allow_pickle=False) as held:

        def made(described: dict[str, Any]) -> Any:
            kind, of = described["is"], described["of"]
            if kind == "array":
                return held[of]
            if kind == "number":
                return held[of][()]
            return _table(held[of]) if kind == "table" else _MADE[kind](of)

        return json.loads(held[_TEXT].tobytes(), object_hook=made)


def _as_json(data: Any, arrays: Arrays) -> Any:
    """A part of a result as JSON, its arrays aside."""
    kind = type(data)
    if data is None or kind in (bool, int, float, str):
        return data
    if isinstance(data, np.ndarray | np.generic) and not data.dtype.hasobject:
        return _aside("array" if kind is np.ndarray else "number", np.asarray(data), arrays)
    if kind.__module__.startswith("pyarrow"):
        return _aside("table", _stream(data), arrays)
    if kind is dict:
        return {"is": "dict", "of": [_each(data, arrays), _each(data.values(), arrays)]}
    if kind in _KINDS or kind in (list, tuple, frozenset):
        return {"is": kind.__name__, "of": _each(data, arrays)}
    raise TypeError(f"The result of a pass cannot hold {kind.__name__}.")


def _each(data: Any, arrays: Arrays) -> list[Any]:
    return [_as_json(each, arrays) for each in data]


def _aside(kind: str, array: NDArray[Any], arrays: Arrays) -> dict[str, str]:
    name = str(len(arrays))
    arrays[name] = array
    return {"is": kind, "of": name}


def _stream(table: Any) -> NDArray[np.uint8]:
    """Rows of a sample as Arrow stores them."""
    import pyarrow as pa

    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return np.frombuffer(sink.getvalue(), dtype=np.uint8)


def _table(stored: NDArray[np.uint8]) -> Any:
    import pyarrow as pa

    with pa.ipc.open_stream(pa.py_buffer(stored)) as reader:
        return reader.read_all()
