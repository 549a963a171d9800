"""Files that appear whole or not at all."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

import numpy as np


def write_whole(path: str | os.PathLike[str], content: str | bytes) -> Path:
    """Write a file so that it has all of its content, or does not change, whatever happens.

    The content goes to a temporary file beside it, which then takes its name in one step.
    """
    path = Path(path)
    data = content.encode() if isinstance(content, str) else content
    try:
        handle, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    except FileNotFoundError as error:
        raise FileNotFoundError(
            f"There is no folder {str(path.parent)!r} to write {path.name!r} into. Create it first."
        ) from error
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, 0o666 & ~_umask())
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise
    return path


def plain(data: Any) -> Any:
    """Data as JSON knows it: NumPy's numbers become Python's, what is not finite becomes None."""
    if isinstance(data, dict):
        return {key: plain(value) for key, value in data.items()}
    if isinstance(data, list | tuple):
        return [plain(value) for value in data]
    if isinstance(data, np.generic):
        data = data.item()
    return None if isinstance(data, float) and not np.isfinite(data) else data


def _umask() -> int:
    """The permissions that new files do not get (reading them means setting them)."""
    mask = os.umask(0)
    os.umask(mask)
    return mask
