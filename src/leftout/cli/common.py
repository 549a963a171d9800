"""What all commands share: refusals, progress, an immediate stop on Ctrl-C."""

from __future__ import annotations

import os
import shlex
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from leftout.asking import in_python

if TYPE_CHECKING:
    from rich.console import Console

    from leftout.running import Report

_INTERRUPTED = 130
# Where a command keeps the folder that it has written to.
_WRITTEN = "leftout.written"
# Options that a result does not depend on, and whether a value follows.
_ASIDE = {
    "--out": True, "--jobs": True, "--json": False, "--quiet": False, "--full": False,
    "--events": False, "--called": True, "--engine": True, "--scheduler": True, "--memory": True,
}  # fmt: skip
_FOLDER = click.Path(file_okay=False, path_type=Path)
# A list with commas, or the option again: nothing that was asked for is lost. Names stay apart,
# since they may have commas themselves.
_NAMES: dict[str, Any] = {"multiple": True}
_LIST = {"multiple": True, "callback": lambda context, option, texts: ",".join(texts)}
# What commands take: how it is called, and what it says of itself.
_OPTIONS: dict[str, tuple[str, dict[str, Any]]] = {
    "target": ("--target", {
        "metavar": "COL[=VALUE]", "help": "Outcome to compare, and its value whose rate counts."}),
    "categorical": ("--categorical", {
        **_NAMES, "metavar": "A,B", "help": "Columns that are codes, or text to keep."}),
    "numeric": ("--numeric", {
        **_NAMES, "metavar": "A,B", "help": "Columns to read as numbers in any case."}),
    "drop": ("--drop", {**_NAMES, "metavar": "A,B", "help": "Columns to leave out."}),
    "sensitive": ("--sensitive", {
        **_NAMES, "metavar": "A,B",
        "help": "Columns to keep out of the search and compare with the group."}),
    "sheet": ("--sheet", {"metavar": "NAME", "help": "Sheet of an Excel file; else the first."}),
    "missing": ("--missing", {
        **_LIST, "metavar": "VALUE,COL=VALUE", "help": "Values that stand for nothing (999)."}),
    "dictionary": ("--dictionary", {
        "metavar": "FILE",
        "help": "CSV or JSON with columns' kinds, labels and labels of values."}),
    "encoding": ("--encoding", {
        "default": "free", "type": click.Choice(["free", "target"]),
        "help": "Categories as yes-or-no columns, or as the target's mean."}),
    "scaling": ("--scaling", {
        "default": "minmax", "type": click.Choice(["minmax", "standard", "none"]),
        "help": "Columns from 0 to 1, to unit variance as most pipelines do, or as they are."}),
    "features": ("--features", {
        "metavar": "FILE",
        "help": "What PCA sees instead of TABLE's columns, row for row or by a key column of both: "
        ".npy, Parquet, CSV."}),
    "pipeline": ("--pipeline", {
        "metavar": "FILE.skops",
        "help": "scikit-learn pipeline to audit on TABLE, written by skops.io.dump."}),
    "pipeline_step": ("--pipeline-step", {
        "metavar": "NAME", "help": "Its step that is audited, where that is not clear."}),
    "trust_types": ("--trust-types", {
        **_LIST, "metavar": "A,B", "help": "Types in FILE.skops to trust beside scikit-learn's."}),
    "groups_col": ("--groups-col", {
        "required": True, "metavar": "COL",
        "help": "Column that says each row's group; several (A,B) for their combinations."}),
    "dims": ("--dims", {
        "default": "0.8", "metavar": "0.8|9",
        "help": "Components: a number, or the share of variance to exceed."}),
    "across": ("--across", {
        "default": "auto", "metavar": "auto|none|1-15|2,5,9",
        "help": "Numbers of components to compare."}),
    "min_size": ("--min-size", {
        "metavar": "N|5%", "help": "Fewest rows on a side; by default 5 per feature."}),
    "fewest": ("--min-size", {
        "metavar": "N|5%", "help": "Fewest rows of a group and of its rest; by default 30 or so."}),
    "depth": ("--depth", {
        "default": 2, "type": click.IntRange(1, 3),
        "help": "Most conditions of a name, and most known columns of a group."}),
    "top": ("--top", {
        "default": 10, "type": click.IntRange(1), "help": "Most groups with a name to list."}),
    "permutations": ("--permutations", {
        "default": 199, "type": click.IntRange(0),
        "help": "Random groups of the same sizes to compare with."}),
    "prediction": ("--prediction", {
        "metavar": "COL",
        "help": "Column with a prediction that is there already: kept out, and compared."}),
    "folds": ("--folds", {
        "default": 5, "type": click.IntRange(2), "help": "Folds that rows are held out in."}),
    "repeats": ("--repeats", {
        "default": 3, "type": click.IntRange(1), "help": "Times that rows are dealt anew."}),
    "by_dimension": ("--across", {
        "is_flag": True, "help": "Also errors by the number of components."}),
    "outcome": ("--target", {
        "required": True, "metavar": "COL[=VALUE]",
        "help": "What is predicted, and its value that counts."}),
    "size": ("--size", {
        "default": "10%", "metavar": "N|10%|evidence",
        "help": "Size of the left-out group, or the one with the most evidence; of several groups "
        "one for all, or a list (150,300)."}),
    "quick": ("--quick", {
        "is_flag": True, "help": "The first answer only: who, and what can be done."}),
    "full": ("--full", {"is_flag": True, "help": "Print all tables."}),
    "groups": ("--groups", {
        "default": "2", "metavar": "2|3|auto",
        "help": "Sides to find, the rest among them: 2 for one left-out group, 3 for two, or as "
        "many as go beyond comparison tables."}),
    "runs": ("--runs", {
        "default": 30, "type": click.IntRange(0), "help": "Searches from other starts."}),
    "chance": ("--chance", {
        "default": 99, "type": click.IntRange(0),
        "help": "Comparison tables of each kind, if fewer do not decide."}),
    "sample": ("--sample", {
        "type": click.IntRange(1), "metavar": "N",
        "help": "Audit a sample of N rows, drawn at random."}),
    "preset": ("--preset", {
        "type": click.Choice(["paper"]), "help": "Everything as in the paper."}),
    "engine": ("--engine", {
        "type": click.Choice(["memory", "local", "dask"]),
        "help": "Read the table whole, pass over its parts here, or on a Dask cluster; by default "
        "whole if it fits."}),
    "scheduler": ("--scheduler", {
        "metavar": "ADDRESS",
        "help": "Dask scheduler (tcp://HOST:8786); without one, dask starts workers here."}),
    "memory": ("--memory", {
        "metavar": "2GB",
        "help": "What a table may take to be read whole, and each worker that is started."}),
    "out": ("--out", {"type": _FOLDER, "help": "Folder for the files."}),
    "seed": ("--seed", {
        "default": 0, "type": click.IntRange(0, 2**31), "help": "Seed of searches and samples."}),
    "jobs": ("--jobs", {
        "default": -1, "type": click.IntRange(-1, 1024),
        "help": "Threads; -1 for all cores. Results do not depend on it."}),
    "rows": ("--rows", {
        "default": 0, "type": click.IntRange(0),
        "help": "Actual rows to show of either side; a row may be a person."}),
    "as_json": ("--json", {"is_flag": True, "help": "Print a summary as JSON."}),
    "events": ("--events", {
        "is_flag": True,
        "help": "Print progress, and answers as they come, as lines of JSON, for programs."}),
    "called": ("--called", {
        "metavar": "NAME", "help": "What the report calls the table; else the file's name."}),
    "quiet": ("--quiet", {"is_flag": True, "help": "No progress."}),
}  # fmt: skip


# Parameters that options are not called like.
_PARAMETERS = {
    "n_components": "--dims",
    "group_size": "--size",
    "min_group_size": "--min-size",
    "n_groups": "--groups",
    "random_state": "--seed",
    "n_jobs": "--jobs",
    "datasets": "--dataset",
    "positive": "--target COL=VALUE",
}


def as_option(name: str, *value: Any) -> str:
    """A parameter as what people write on the command line to ask for it."""
    option = _PARAMETERS.get(name) or _OPTIONS.get(name, (None,))[0]
    if option is None:
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
            flag, about = _OPTIONS[name]
            about = about | ({"default": defaults[name]} if name in defaults else {})
            shown = "default" in about and about["default"] != ""
            command = click.option(flag, name, show_default=shown, **about)(command)
        return command

    return decorate


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


def own_words(instead: Mapping[str, str] | None = None) -> str:
    """The command as it was typed, without what the result does not depend on, or keys.

    ``instead`` has words that others stand for.
    """
    from leftout.tables.files.fetching import bare

    words = iter(click.get_current_context().find_root().obj)
    kept = ["leftout"]
    for word in words:
        option, given, _ = word.partition("=")
        if option in _ASIDE:
            if not given and _ASIDE[option]:
                next(words, None)  # its value
        else:
            kept.append((instead or {}).get(word, bare(word)))
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


def write(
    folder: Path,
    contents: Mapping[str, str | bytes],
    parts: Iterable[tuple[str, bytes]] | None = None,
) -> list[Path]:
    """Write files to a folder; a folder that takes none is refused.

    ``parts`` are the files of its folder ``groups``, written one by one.
    """
    from leftout.files import unwritable, write_into, write_parts

    try:
        if parts is not None:
            files = write_parts(folder, contents, "groups", parts)
        else:
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
    parts: Iterable[tuple[str, bytes]] | None = None,
) -> None:
    """Write files to a folder, and print results in any case: for people, or a summary as JSON."""
    from leftout.checks import Refusal

    failed, files = None, []
    if folder is not None:
        try:
            files = write(folder, contents, parts)
        except Refusal as error:
            failed = error
    if brief is not None:
        import json

        written = {} if folder is None else {"files": list(map(str, files))}
        click.echo(json.dumps({**brief, **written}, indent=1))
    else:
        from rich.console import Console

        console = Console()
        show(console)
        lines = [
            f"{'Report' if path.suffix == '.html' else 'Written'}: {path}"
            for path in files
            if path.parent == folder
        ]
        for inner, number in sorted(Counter(path.parent for path in files).items()):
            lines += [f"Written: {number} files in {inner}"] * (inner != folder)
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
