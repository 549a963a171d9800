"""What all commands share: options, progress, results as files and on the terminal."""

from __future__ import annotations

import json
import os
import shlex
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from leftout.errors import InputError
from leftout.settings import EXECUTION, NAMES, SETTINGS, Setting

if TYPE_CHECKING:
    from rich.console import Console

    from leftout.running import Report


_INTERRUPTED = 130
# The folder that the command has written to, if it has.
_WRITTEN: list[Path] = []
# Options that a result does not depend on, and whether a value follows.
_ASIDE = {each.option: each.takes is not bool for each in EXECUTION.values() if each.option}


def takes(*names: str, **defaults: Any) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """The table, and options of these names; some with other defaults than elsewhere."""

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        for name in reversed(names):
            if name in ("table", "tables"):
                nargs = -1 if name == "tables" else 1
                command = click.argument(name, metavar="TABLE", nargs=nargs, required=True)(command)
                continue
            command = _option(name, SETTINGS[name], defaults.get(name))(command)
        return command

    return decorate


def _option(name: str, setting: Setting, default: Any) -> Callable[[Any], Any]:
    """A setting as an option of a command, its default another one if given."""
    about: dict[str, Any] = {"required": setting.required}
    if setting.takes is Path:
        about["type"] = click.Path(file_okay=False, path_type=Path)
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


def own_words() -> str:
    """The command as it was typed, without what the result does not depend on."""
    words = iter(click.get_current_context().find_root().obj)
    kept = ["leftout"]
    for word in words:
        option, given, _ = word.partition("=")
        if option in _ASIDE:
            if not given and _ASIDE[option]:
                next(words, None)  # its value
        else:
            kept.append(word)
    return shlex.join(kept)


def stop() -> NoReturn:
    """End at once, as Ctrl-C asks: files are written whole, so there is nothing to clean up."""
    said = f"The files are in {str(_WRITTEN[-1])!r}." if _WRITTEN else "Nothing was written."
    click.echo(f"Stopped. {said}", err=True)
    sys.stderr.flush()
    os._exit(_INTERRUPTED)  # without waiting for threads that are still computing


@contextmanager
def reported(quiet: bool) -> Iterator[Report]:
    """A progress bar on the standard error stream, as a function that moves it.

    Nothing where nobody watches, in a pipe or a file.
    """
    if quiet or not sys.stderr.isatty():
        yield lambda what, done, total: None
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

        from leftout.compiling import saying_so

        with saying_so(report) as saying:
            yield saying


def deliver(
    folder: Path,
    contents: Mapping[str, str | bytes],
    show: Callable[[Console], None],
    brief: Mapping[str, Any] | None = None,
) -> None:
    """Write files to a folder, and print results in any case: for people, or ``brief`` as JSON."""
    from leftout.files import unwritable, write_into

    failed, files = None, []
    try:
        files = write_into(folder, contents)
        _WRITTEN.append(folder)
    except OSError as error:
        failed = unwritable(folder, error)
    also = [
        f"{'Report' if path.suffix == '.html' else 'Written'}: {path}"
        + " (row-level: as confidential as the table)" * (path.stem == "groups")
        for path in files
    ]
    show_or_dump(show, None if brief is None else {**brief, "files": list(map(str, files))}, also)
    if failed is not None:
        raise failed


def show_or_dump(
    show: Callable[[Console], None], data: Mapping[str, Any] | None, also: Sequence[str] = ()
) -> None:
    """Print results for people, with lines on what else was done, or ``data`` as JSON."""
    if data is not None:
        click.echo(json.dumps(data, indent=1))
        return
    from rich.console import Console

    console = Console()
    show(console)
    for line in also:
        console.print(line, highlight=False, soft_wrap=True, markup=False)
