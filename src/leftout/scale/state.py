"""What an audit of many chunks has done so far: saved after each pass, so that it can go on.

An audit is the same sequence of passes whenever it is run on the same files with the same settings
and versions. So the results of passes are numbered and kept in a private folder; a run that was
stopped takes them from there, up to the pass that it was in, and ends with the same digits.
"""

from __future__ import annotations

import json
import os
import pickle
import shutil
import stat
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from leftout.checks import Refusal
from leftout.files import unwritable, write_whole
from leftout.scale.engines import Engine, Tell, silent
from leftout.wording import shown

T = TypeVar("T")
Item = TypeVar("Item")

_HEADER = "begun.json"


class State:
    """Numbered results of passes in a folder that only its owner may open.

    Parameters
    ----------
    folder : path
        Made when there is something to save.
    files : mapping
        Of each file's path to what tells whether it has changed.
    rest : mapping
        What else the results depend on: settings, versions.
    """

    def __init__(self, folder: Path, files: Mapping[str, str], rest: Mapping[str, Any]) -> None:
        self.folder = folder
        self.header = json.dumps({"files": dict(files), "rest": dict(rest)}, indent=1, default=repr)
        self.begun = False
        before = self._before()
        if before is None:
            return
        now = json.loads(self.header)
        if before["rest"] == now["rest"] and before["files"].keys() == now["files"].keys():
            changed = [name for name, seen in now["files"].items() if before["files"][name] != seen]
            if changed:
                raise Refusal(
                    f"{shown(changed[0])!r} has changed since this audit was begun, so what was "
                    f"done so far does not fit. To begin anew, remove {str(folder)!r}."
                )
            self.begun = True
        else:
            shutil.rmtree(folder)

    def _before(self) -> dict[str, Any] | None:
        """What a run before this one was about; None if there was none."""
        try:
            about = self.folder.lstat()
        except FileNotFoundError:
            return None
        mine = not hasattr(os, "getuid") or about.st_uid == os.getuid()
        if not stat.S_ISDIR(about.st_mode) or not mine or about.st_mode & 0o022:
            raise Refusal(
                f"{str(self.folder)!r} is not a folder that only you can write to, so results in "
                "it are not read. Remove it."
            )
        try:
            found: dict[str, Any] = json.loads((self.folder / _HEADER).read_text())
            return found if {"files", "rest"} <= found.keys() else {"files": {}, "rest": None}
        except (OSError, ValueError):
            return {"files": {}, "rest": None}

    def known(self, number: int) -> tuple[Any] | None:
        """The result of a pass that was done before, if it was."""
        path = self.folder / f"{number:04d}.pickle"
        if not self.begun or not path.exists():
            return None
        return (pickle.loads(path.read_bytes()),)

    def save(self, number: int, result: Any) -> None:
        """Keep a result, whole or not at all."""
        try:
            if not self.begun:
                self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
                write_whole(self.folder / _HEADER, self.header)
                self.begun = True
            path = self.folder / f"{number:04d}.pickle"
            write_whole(path, pickle.dumps(result, protocol=pickle.HIGHEST_PROTOCOL))
        except OSError as error:
            raise unwritable(self.folder, error) from error

    def end(self) -> None:
        """All is done: remove the folder."""
        if self.begun:
            shutil.rmtree(self.folder, ignore_errors=True)


class Passes:
    """An engine whose folds are numbered, and saved where there is a state.

    Attributes
    ----------
    tell : callable
        Told how many chunks of a pass are done.
    """

    def __init__(self, engine: Engine, state: State | None = None, tell: Tell = silent) -> None:
        self.engine, self.state, self.tell = engine, state, tell
        self.number = 0

    def fold(
        self,
        function: Callable[[Item], T],
        items: Sequence[Item],
        merge: Callable[[T, T], T],
        tell: Tell | None = None,
    ) -> T:
        """As the engine folds; a result that is there already is not computed again."""
        self.number += 1
        if self.state is not None:
            known = self.state.known(self.number)
            if known is not None:
                return known[0]
        result = self.engine.fold(function, items, merge, tell or self.tell)
        if self.state is not None:
            self.state.save(self.number, result)
        return result
