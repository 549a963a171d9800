"""Files that appear whole or not at all."""

from __future__ import annotations

import json
import os
import re
import secrets
import shutil
import sys
import tempfile
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from leftout.errors import InputError, parameter_label

Content = str | bytes
# What is tried on a folder before hours are spent: about as much as will be written.
_TRIED_BYTES = 1 << 21
_PART_FILE = re.compile(r"part-\d{5,}\.parquet")


def write_whole(path: str | os.PathLike[str], content: Content) -> Path:
    """Write a file so that it has all of its content, or does not change, whatever happens."""
    return write_together({Path(path): content})[0]


def write_together(contents: Mapping[Path, Content]) -> list[Path]:
    """Write several files so that each has all of its content, or none of them changes.

    Everything is written first, to files without a name where the system has such (nothing is left
    of them if it all ends there and then), and only then are names given.
    """
    for path in contents:
        if path.is_dir():
            raise IsADirectoryError(21, f"{str(path)!r} is a folder")
    with ExitStack() as stack:
        staged = [stack.enter_context(_Staged(path, data)) for path, data in contents.items()]
        return [each.give_name() for each in staged]


def write_into(folder: Path, contents: Mapping[str, Content]) -> list[Path]:
    """Write several files, by their paths in a folder, which is made; all of them, or nothing."""
    paths = {folder / name: content for name, content in contents.items()}
    made: list[Path] = []
    for needed in sorted({path.parent for path in paths}):
        missing = [each for each in (needed, *needed.parents) if not each.exists()]
        needed.mkdir(parents=True, exist_ok=True)
        made += reversed(missing)
    try:
        return write_together(paths)
    except BaseException:
        for each in reversed(made):
            each.rmdir()
        raise


def write_parts(
    folder: Path, contents: Mapping[str, Content], name: str, parts: Iterable[tuple[str, bytes]]
) -> list[Path]:
    """:func:`write_into`, and a folder in it of files that come one by one; all of it, or nothing.

    The parts are written first, beside the folder and hidden, since they may be many.
    """
    check_ours(folder, *contents, name)
    home = next(each for each in folder.absolute().parents if each.exists())
    hidden = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=home))
    try:
        names = [write_whole(hidden / part, data).name for part, data in parts]
        written = write_into(folder, contents)
        old, before = folder / name, hidden.with_name(f"{hidden.name}.before")
        if old.is_dir():
            old.rename(before)
        hidden.chmod(folder.stat().st_mode & 0o777)
        hidden.rename(old)
        shutil.rmtree(before, ignore_errors=True)
        return [*written, *(old / part for part in names)]
    finally:
        shutil.rmtree(hidden, ignore_errors=True)


def own_folder(what: str) -> Path:
    """The folder of the user's own that is ours: for data to keep (``share``), or ``state``."""
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Application Support"
    else:
        named = os.environ.get({"share": "XDG_DATA_HOME", "state": "XDG_STATE_HOME"}[what], "")
        base = Path(named) if os.path.isabs(named) else Path.home() / ".local" / what
    return base / "leftout"


class _Staged:
    """A file with all of its content, that nobody sees yet."""

    def __init__(self, path: Path, content: Content) -> None:
        self.path = path
        self.hidden: str | None = None
        data = content.encode() if isinstance(content, str) else content
        try:
            self.handle = self._opened()
        except FileNotFoundError as error:
            raise FileNotFoundError(
                error.errno,
                f"There is no folder {str(path.parent)!r} to write {path.name!r} into. Create it "
                "first",
            ) from error
        try:
            with os.fdopen(os.dup(self.handle), "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
        except BaseException:
            self.__exit__()
            raise

    def _opened(self) -> int:
        if hasattr(os, "O_TMPFILE") and os.path.exists("/proc/self/fd"):
            try:
                return os.open(self.path.parent, os.O_TMPFILE | os.O_WRONLY, 0o666)
            except FileNotFoundError:
                raise
            except OSError:  # a kind of folder without such files, or not to be written into
                pass
        hidden = self.path.parent / f".{self.path.name}.{secrets.token_hex(8)}"
        handle = os.open(hidden, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
        self.hidden = str(hidden)
        return handle

    def give_name(self) -> Path:
        if self.hidden is None:
            try:
                return self._linked(self.path)
            except FileExistsError:
                name = f".{self.path.name}.{os.getpid()}"
                self.hidden = str(self._linked(self.path.parent / name))
        os.replace(self.hidden, self.path)
        self.hidden = None
        return self.path

    def _linked(self, path: Path) -> Path:
        folder = os.open(path.parent, os.O_RDONLY)
        try:  # the folder's handle makes Python follow the link that stands for ours
            os.link(f"/proc/self/fd/{self.handle}", path.name, dst_dir_fd=folder)
        finally:
            os.close(folder)
        return path

    def __enter__(self) -> _Staged:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self.handle)
        if self.hidden is not None:
            os.unlink(self.hidden)


def check_folder(folder: Path, *names: str) -> None:
    """Refuse a folder that nothing can be written to, before there is anything to write.

    Nor are files or folders of these ``names`` replaced that somebody else made.
    """
    existing = next(each for each in (folder, *folder.absolute().parents) if os.path.lexists(each))
    try:
        if not existing.is_dir():
            raise NotADirectoryError(20, f"{str(existing)!r} is a file, not a folder")
        with tempfile.TemporaryFile(dir=existing) as file:
            file.write(b"\0" * _TRIED_BYTES)
            file.flush()
    except OSError as error:
        raise unwritable(folder, error) from error
    check_ours(folder, *names)


def check_ours(folder: Path, *names: str) -> None:
    """Refuse to replace what is not of ours: a result says so in its JSON, which is one of them."""
    there = [folder / name for name in names if os.path.lexists(folder / name)]
    strange = [
        path
        for path in there
        if path.is_dir() and not all(map(_PART_FILE.fullmatch, os.listdir(path)))
    ]
    if there and not any(path.suffix == ".json" and _says_so(path) for path in there):
        strange = there
    if strange:
        raise InputError(
            f"{str(strange[0])!r} is there, and not as a result of leftout; it is left as it is. "
            f"Choose another folder with {parameter_label('out')}."
        )


def _says_so(path: Path) -> bool:
    try:
        return "leftout_version" in json.loads(path.read_bytes())
    except (OSError, ValueError, TypeError):
        return False


def unwritable(folder: Path, error: OSError) -> InputError:
    """A sentence on why nothing can be written."""
    reason = (error.strerror or str(error)).rstrip(".")
    return InputError(
        f"Nothing can be written to {str(folder)!r}: {reason}. Choose another folder "
        f"with {parameter_label('out')}."
    )


class Serializable:
    """A result as plain data: a dataclass's fields, and the properties that ``also`` names.

    Fields that ``hidden`` names are left out: those with a value for each row. A class that writes
    other keys than these has a ``to_dict`` of its own, and a ``TypedDict`` of them as ``record``.
    """

    also: ClassVar[tuple[str, ...]] = ()
    hidden: ClassVar[tuple[str, ...]] = ()
    record: ClassVar[type | None] = None

    def to_dict(self) -> dict[str, Any]:
        """Plain data: numbers, strings, lists."""
        own: Any = fields(self) if is_dataclass(self) else ()
        names = (*(each.name for each in own), *self.also)
        return plain({name: getattr(self, name) for name in names if name not in self.hidden})

    def to_json(self, path: str | os.PathLike[str]) -> Path:
        """Write :meth:`to_dict`; the file appears whole or not at all."""
        return write_whole(path, json.dumps(self.to_dict(), indent=1) + "\n")


def plain(data: Any) -> Any:
    """Data as JSON knows it: NumPy's numbers become Python's, what is not finite becomes None."""
    if isinstance(data, Serializable):
        return data.to_dict()
    if isinstance(data, np.ndarray):
        data = data.tolist()
    if hasattr(data, "_asdict"):  # a named tuple
        data = data._asdict()
    if isinstance(data, dict):
        return {key: plain(value) for key, value in data.items()}
    if isinstance(data, list | tuple):
        return [plain(value) for value in data]
    if isinstance(data, np.generic):
        data = data.item()
    return None if isinstance(data, float) and not np.isfinite(data) else data
