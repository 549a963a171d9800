"""What an audit of many chunks has done so far: saved after each pass, so that it can go on.

An audit is the same sequence of passes whenever it is run on the same files with the same settings
and versions. So the results of passes are numbered and kept in a private folder, which is named
after all of these; a run that was stopped takes them from there, up to the pass that it was in, and
ends with the same digits.

Results are pickled: whoever may write to the user's own folder of states may run code as that user
anyway. A folder that others may write to is not used.
"""

from __future__ import annotations

import hashlib
import json
import os
import pickle
import re
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from leftout import __version__
from leftout.engine.engines import Engine
from leftout.errors import InputError
from leftout.files import own_folder, write_whole
from leftout.running import Stages, warn
from leftout.text import shown

T = TypeVar("T")
Item = TypeVar("Item")

# Folders of ours among the user's own, and how long what nobody came back for is kept, in seconds.
_OURS, _KEPT = re.compile("[0-9a-f]{32}"), 30 * 24 * 3600.0


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
        if os.name == "posix" and _others_may_write(home.stat()):
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


def _others_may_write(found: os.stat_result) -> bool:
    return bool(found.st_mode & 0o022) or found.st_uid != os.getuid()


class Passes:
    """An engine whose folds are numbered, and saved where there is a folder for them.

    The current one of ``stages`` is told how many chunks of a pass are done.
    """

    def __init__(
        self, engine: Engine, folder: Path | None = None, stages: Stages | None = None
    ) -> None:
        self.engine, self.folder, self.stages, self.number = engine, folder, stages, 0

    def fold(
        self, function: Callable[[Item], T], items: Sequence[Item], merge: Callable[[T, T], T]
    ) -> T:
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
