"""What all commands share: refusals, progress, an immediate stop on Ctrl-C.

An audit as lines of JSON, for programs that run one: progress, answers as they come, the end.
"""

from __future__ import annotations

import json
import os
import shlex
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from leftout.errors import InputError, in_python
from leftout.settings import EXECUTION, NAMES, SETTINGS, Setting

if TYPE_CHECKING:
    from rich.console import Console

    from leftout.auditing.result import Audit
    from leftout.running import Report


_INTERRUPTED = 130
# Where a command keeps the folder that it has written to.
_WRITTEN = "leftout.written"
# Options that a result does not depend on, and whether a value follows.
_ASIDE = {each.option: each.takes is not bool for each in EXECUTION.values() if each.option}
_FOLDER = click.Path(file_okay=False, path_type=Path)


def as_option(name: str, *value: Any) -> str:
    """A parameter as what people write on the command line to ask for it."""
    option = "--target COL=VALUE" if name == "positive" else ""
    option = option or (SETTINGS[name].option if name in SETTINGS else "")
    if not option:
        return in_python(name, *value)
    if not value:
        return option
    (given,) = value
    text = ",".join(map(str, given)) if isinstance(given, list | tuple) else str(given)
    text = shlex.quote(text)
    return option.replace("VALUE", text) if "VALUE" in option else f"{option} {text}"


def takes(*names: str, **defaults: Any) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """The table, and options of these names; some with other defaults than elsewhere."""

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        for name in reversed(names):
            if name in ("table", "tables"):
                more: dict[str, Any] = {"nargs": -1, "required": True} if name == "tables" else {}
                command = click.argument(name, metavar="TABLE", **more)(command)
                continue
            command = _option(name, SETTINGS[name], defaults.get(name))(command)
        return command

    return decorate


def _option(name: str, setting: Setting, default: Any) -> Callable[[Any], Any]:
    """A setting as an option of a command, its default another one if given."""
    about: dict[str, Any] = {"required": setting.required}
    if name == "out":
        about["type"] = _FOLDER
    elif setting.takes is bool:
        about["is_flag"] = True
    elif setting.takes == NAMES:  # names stay apart, since they may have commas themselves
        about["multiple"] = True
    elif setting.many:  # a list with commas, or the option again: nothing that was asked is lost
        about |= {
            "multiple": True,
            "callback": lambda _, __, texts: _read(setting, ",".join(texts)),
        }
    elif isinstance(setting.takes, tuple):
        about["type"] = click.Choice(setting.takes)
    elif isinstance(setting.takes, range):
        about["type"] = click.IntRange(setting.takes[0], setting.takes[-1])
    else:
        about["callback"] = lambda _, __, text: None if text is None else _read(setting, text)
    if setting.metavar and not isinstance(setting.takes, range):
        about["metavar"] = setting.metavar
    default = default or setting.text
    if default:
        about |= {"default": default, "show_default": True}
    about["help"] = f"{setting.help[0].upper()}{setting.help[1:]}."
    return click.option(setting.option, name, **about)


def _read(setting: Setting, text: str) -> Any:
    try:
        return setting.read(text)
    except InputError as error:
        raise click.ClickException(f"{setting.option} {error}") from error


@contextmanager
def refused() -> Iterator[None]:
    """What is wrong with what people gave, as one sentence; any other error is a bug of ours."""
    try:
        yield
    except InputError as error:
        raise click.ClickException(" ".join(str(error).split())) from error
    except MemoryError as error:
        raise click.ClickException(
            "The table is too large for this machine's memory. Audit a part of it with --sample."
        ) from error


def own_words(instead: Mapping[str, str] | None = None) -> str:
    """The command as it was typed, without what the result does not depend on.

    ``instead`` has words that others stand for.
    """
    words = iter(click.get_current_context().find_root().obj)
    kept = ["leftout"]
    for word in words:
        option, given, _ = word.partition("=")
        if option in _ASIDE:
            if not given and _ASIDE[option]:
                next(words, None)  # its value
        else:
            kept.append((instead or {}).get(word, word))
    return shlex.join(kept)


@contextmanager
def interruptible() -> Iterator[None]:
    """End at once on Ctrl-C: files are written whole, so there is nothing to clean up.

    It says which folder has them, if they were written by then.
    """
    try:
        yield
    except (KeyboardInterrupt, SystemError) as error:
        from leftout.running import interrupted

        if not isinstance(error, KeyboardInterrupt) and not interrupted(error):
            raise
        folder = click.get_current_context().find_root().meta.get(_WRITTEN)
        said = "Nothing was written." if folder is None else f"The files are in {str(folder)!r}."
        click.echo(f"Stopped. {said}", err=True)
        sys.stderr.flush()
        os._exit(_INTERRUPTED)  # without waiting for threads that are still computing


@contextmanager
def reported(quiet: bool, log: Report | None = None) -> Iterator[Report]:
    """A progress bar on the standard error stream, as a function that moves it.

    Nothing where nobody watches, in a pipe or a file; ``log`` is called there instead.
    """
    if quiet or not sys.stderr.isatty():
        yield log if log is not None and not quiet else lambda what, done, total: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f}%"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("loading libraries")

        def report(what: str, done: int, total: int) -> None:
            progress.update(task, description=what, completed=done, total=total)

        yield report


def write(folder: Path, contents: Mapping[str, str | bytes]) -> list[Path]:
    """Write files to a folder; a folder that takes none is refused."""
    from leftout.files import unwritable, write_into

    try:
        files = write_into(folder, contents)
    except OSError as error:
        raise unwritable(folder, error) from error
    click.get_current_context().find_root().meta[_WRITTEN] = folder
    return files


def deliver(
    folder: Path | None,
    contents: Mapping[str, str | bytes],
    show: Callable[[Console], None],
    brief: Mapping[str, Any] | None = None,
) -> None:
    """Write files to a folder, and print results in any case: for people, or a summary as JSON."""
    failed, files = None, []
    if folder is not None:
        try:
            files = write(folder, contents)
        except InputError as error:
            failed = error
    if brief is not None:
        written = {} if folder is None else {"files": list(map(str, files))}
        click.echo(json.dumps({**brief, **written}, indent=1))
    else:
        from rich.console import Console

        console = Console()
        show(console)
        for path in files:
            line = f"{'Report' if path.suffix == '.html' else 'Written'}: {path}"
            console.print(line, highlight=False, soft_wrap=True, markup=False)
    if failed is not None:
        raise click.ClickException(str(failed)) from failed


# Seconds between two lines on the same step: nobody reads faster.
_EVENT_SECONDS = 0.1


class Events:
    """Writes lines to the standard output stream, each an object with its ``event``.

    ``progress`` has ``what`` is done and the ``share`` that is; ``answer`` the ``headline`` and the
    ``lines`` that are known so far; ``done`` the files, and in a word what explains the loss. If
    nobody reads any more, nobody wants the audit: it ends there.
    """

    def __init__(self) -> None:
        self.last, self.step = 0.0, ""

    def progress(self, what: str, done: int, total: int) -> None:
        now, step = time.monotonic(), what.partition(":")[0]
        if step != self.step or now - self.last >= _EVENT_SECONDS:
            self.last, self.step = now, step
            self._emit("progress", what=what, share=done / total if total else 0.0)

    def answer(self, found: Audit) -> None:
        """What is known so far; what was not looked at yet is not there."""
        lines = dict(found.answer.lines)
        if found.trust is None:
            del lines["Why"], lines["Does it replicate"]
        self._emit("answer", headline=found.headline(), lines=lines)

    def done(self, found: Audit, files: Sequence[Path]) -> None:
        self._emit(
            "done",
            headline=found.headline(),
            lines=found.answer.lines,
            mind=found.answer.mind,
            verdict=None if found.trust is None else found.trust.verdict_name,
            files=[path.name for path in files],
        )

    def _emit(self, event: str, **more: Any) -> None:
        try:
            print(json.dumps({"event": event, **more}), flush=True)
        except BrokenPipeError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # for the last flush
            sys.exit(1)
