"""What all commands share: refusals, progress, an end at once when it is asked for."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from rich.console import Console

    from leftout.running import Report

_INTERRUPTED = 130
# Options that a result does not depend on, and whether a value follows.
_ASIDE = {"--out": True, "--jobs": True, "--json": False, "--quiet": False}


class InputError(click.ClickException):
    """Wrong input or options: one sentence on stderr, exit code 2."""

    exit_code = 2


@contextmanager
def refused() -> Iterator[None]:
    """What is wrong with what people gave, as one sentence; any other error is a bug of ours."""
    from leftout.checks import Refusal

    try:
        yield
    except Refusal as error:
        raise InputError(" ".join(str(error).split())) from error
    except MemoryError as error:
        raise InputError(
            "The table is too large for this machine's memory. Audit a part of it with --sample."
        ) from error


def own_words() -> str:
    """The command as it was typed, but for what the result does not depend on."""
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


@contextmanager
def interruptible() -> Iterator[None]:
    """End at once on Ctrl-C: files are written whole, so there is nothing to clean up."""
    try:
        yield
    except KeyboardInterrupt:
        click.echo("Stopped. Nothing was written.", err=True)
        sys.stderr.flush()
        os._exit(_INTERRUPTED)  # without waiting for threads that are still computing


@contextmanager
def reported(quiet: bool, in_a_log: bool = False) -> Iterator[Report]:
    """A progress bar on the standard error stream, as a function that moves it.

    Nothing where nobody watches, in a pipe or a file; of long work, ``in_a_log``, lines.
    """
    if quiet or not sys.stderr.isatty():
        yield _Log() if in_a_log and not quiet else lambda what, done, total: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f} %"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("loading libraries")

        def report(what: str, done: int, total: int) -> None:
            progress.update(task, description=what, completed=done, total=total)

        yield report


def deliver(
    folder: Path,
    contents: Mapping[str, str],
    show: Callable[[Console], None],
    brief: Mapping[str, Any] | None = None,
) -> None:
    """Write files to a folder, and print results in any case: for people, or a summary as JSON."""
    from leftout.files import unwritable, write_into

    failed, files = None, []
    try:
        files = write_into(folder, contents)
    except OSError as error:
        failed = unwritable(folder, error)
    if brief is not None:
        import json

        click.echo(json.dumps({**brief, "files": [str(path) for path in files]}, indent=1))
    else:
        from rich.console import Console

        console = Console()
        show(console)
        lines = [
            f"{'Report' if path.suffix == '.html' else 'Written'}: {path}"
            for path in files
            if path.parent == folder
        ]
        for inner in sorted({path.parent for path in files} - {folder}):
            number = sum(path.parent == inner for path in files)
            lines.append(f"Written: {number} files in {inner}")
        for line in lines:
            console.print(line, highlight=False, soft_wrap=True, markup=False)
    if failed is not None:
        raise InputError(str(failed)) from failed


class _Log:
    """A line for every per cent of the way, with what is being done."""

    def __init__(self) -> None:
        self.last = -1

    def __call__(self, what: str, done: int, total: int) -> None:
        now = 100 * done // total
        if now > self.last or what == "done":
            click.echo(f"{now:3d} %  {what}", err=True)
        self.last = max(now, self.last)
