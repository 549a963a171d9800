"""Files that appear whole or not at all."""

from __future__ import annotations

import json
import os
import secrets
import sys
import tempfile
import types
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any, ClassVar, Union, get_args, get_origin, get_type_hints

import numpy as np

from leftout.errors import InputError, parameter_label
from leftout.settings import Settings

Content = str | bytes
# What is tried on a folder before hours are spent: about as much as will be written.
_TRIED_BYTES = 1 << 21


def write_whole(path: str | os.PathLike[str], content: Content) -> Path:
    """Write a file so that it has all of its content, or does not change, whatever happens."""
    return write_together({Path(path): content})[0]


def write_together(contents: Mapping[Path, Content]) -> list[Path]:
    """Write several files: all are complete, under hidden names, before any gets its own."""
    staged: dict[Path, Path] = {}
    try:
        for path, content in contents.items():
            if path.is_dir():
                raise IsADirectoryError(21, f"{str(path)!r} is a folder")
            if not path.parent.is_dir():
                raise FileNotFoundError(
                    2, f"There is no folder {str(path.parent)!r} for {path.name!r}. Create it first"
                )
            hidden = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
            staged[hidden] = path
            with hidden.open("xb") as file:
                file.write(content.encode() if isinstance(content, str) else content)
                file.flush()
                os.fsync(file.fileno())
        for hidden, path in staged.items():
            os.replace(hidden, path)
    finally:
        for hidden in staged:
            hidden.unlink(missing_ok=True)
    return list(contents)


def write_into(folder: Path, contents: Mapping[str, Content]) -> list[Path]:
    """Write several files, by their paths in a folder, which is made; all of them, or nothing."""
    paths = {folder / name: content for name, content in contents.items()}
    made: list[Path] = []
    for needed in sorted({path.parent for path in paths}):
        made += [each for each in reversed((needed, *needed.parents)) if not each.exists()]
        needed.mkdir(parents=True, exist_ok=True)
    try:
        return write_together(paths)
    except BaseException:
        for each in reversed(made):
            each.rmdir()
        raise


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


def check_folder(folder: Path, *names: str) -> None:
    """Refuse a folder that nothing can be written to, before there is anything to write.

    Nor are files of these ``names`` replaced that somebody else made.
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
    there = [folder / name for name in names if os.path.lexists(folder / name)]
    # a result says so in its JSON, which is one of them
    if there and not any(path.suffix == ".json" and _says_so(path) for path in there):
        raise InputError(
            f"{str(there[0])!r} is there, and not as a result of leftout; it is left as it is. "
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

    @classmethod
    def keys(cls) -> dict[str, str]:
        """What it writes: each key, and the attribute that it holds."""
        own: Any = fields(cls) if is_dataclass(cls) else ()
        names = (*(each.name for each in own), *cls.also)
        return {name: name for name in names if name not in cls.hidden}

    def to_dict(self) -> dict[str, Any]:
        """Plain data: numbers, strings, lists."""
        return plain({key: getattr(self, name) for key, name in self.keys().items()})

    def json(self) -> str:
        """:meth:`to_dict` as the text of a file."""
        return json.dumps(self.to_dict(), indent=1) + "\n"

    def to_json(self, path: str | os.PathLike[str]) -> Path:
        """Write :meth:`to_dict`; the file appears whole or not at all."""
        return write_whole(path, self.json())


def plain(data: Any) -> Any:
    """Data as JSON knows it: NumPy's numbers become Python's, what is not finite becomes None."""
    if isinstance(data, Serializable | Settings):
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


def restored(kind: Any, data: Any) -> Any:
    """Plain data as a type had it before :func:`plain`; fields that are hidden have their default.

    Of several dataclasses, it is the one with these keys.
    """
    origin, args = get_origin(kind), get_args(kind)
    if data is None:
        return None
    if origin in (Union, types.UnionType):
        own: list[Any] = [each for each in args if is_dataclass(each)]
        same = [each for each in own if each.keys().keys() == data.keys()]
        return restored([*same, *args][0], data)
    if origin in (list, tuple):
        return origin(restored(args[0], each) for each in data)
    if origin is dict:
        return {key: restored(args[1], value) for key, value in data.items()}
    if origin is np.ndarray:
        return np.array(data)
    if is_dataclass(kind) or hasattr(kind, "_fields"):
        hints = get_type_hints(kind)
        known = {name: restored(hints[name], data[name]) for name in data if name in hints}
        return kind(**known)
    return float(data) if kind is float else data
