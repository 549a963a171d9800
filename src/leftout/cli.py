"""The command line: arguments in, a result people can read out."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from leftout import __version__

if TYPE_CHECKING:
    import pandas as pd
    from rich.console import Console

    from leftout.evidence import Trust
    from leftout.explain import Explanation
    from leftout.mitigation import Mitigation
    from leftout.progress import Report

_DEMO_SIZE, _DEMO_LARGEST = 200, 994
_DEMO_SIZES, _DEMO_RUNS, _DEMO_SPLITS, _DEMO_WHAT_IF = 8, 10, 5, 3
_INTERRUPTED = 130


class InputError(click.ClickException):
    """Wrong input or options: one sentence on stderr, exit code 2."""

    exit_code = 2


class Size(click.ParamType):
    """A number of rows, or ``evidence``."""

    name = "N|evidence"

    def convert(self, value: Any, param: Any, ctx: Any) -> int | str:
        if value == "evidence":
            return "evidence"
        return click.IntRange(1, _DEMO_LARGEST).convert(value, param, ctx)


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="leftout")
def main() -> None:
    """Find out who a shared PCA leaves out, with no group labels."""


@main.command()
@click.option(
    "--seed", default=0, show_default=True, type=click.IntRange(0), help="Seed of the search."
)
@click.option(
    "--size",
    default=str(_DEMO_SIZE),
    show_default=True,
    type=Size(),
    help="Applicants to look for, or the size with the most evidence.",
)
@click.option(
    "--chance",
    default=39,
    show_default=True,
    type=click.IntRange(0),
    help="Chance tables to compare with; 0 for the group alone.",
)
@click.option("--jobs", default=-1, show_default=True, type=int, help="Threads; -1 for all cores.")
@click.option(
    "--rows",
    default=0,
    show_default=True,
    type=click.IntRange(0),
    help="Actual applications to show of either side; a row may be a person.",
)
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder for trust.json, explanation.json, fair.json and the figures.",
)
def demo(seed: int, size: int | str, chance: int, jobs: int, rows: int, out: Path | None) -> None:
    """Search 1,989 real mortgage applications for the people PCA represents worst.

    The search sees 55 columns of each application and not the decision. Then the same search runs
    on chance tables, on half of the rows, and with other seeds: is the group real? Who are they?
    And what would Fair PCA do for them?
    """
    from rich.console import Console

    if size == "evidence" and not chance:
        raise InputError(
            "--size evidence compares with chance tables; give --chance 39, or a size."
        )
    with _interruptible(), _reported(Console(stderr=True)) as report:
        report("loading libraries", 0, 1)
        import numpy as np
        from sklearn.impute import SimpleImputer
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import MinMaxScaler

        from leftout import explain
        from leftout.datasets import DEMO_COLUMNS, load_demo
        from leftout.evidence import trust
        from leftout.mitigation import mitigate
        from leftout.partition import MaxDisparityPartition

        try:
            table = load_demo()
            features = table.drop(columns="approve")
            encode = make_pipeline(SimpleImputer(strategy="median"), MinMaxScaler())
            encoded = encode.set_output(transform="pandas").fit_transform(features)
            report("searching (the very first search also compiles, about 20 seconds)", 0, 1)
            found = trust(
                MaxDisparityPartition(random_state=seed, n_jobs=jobs),
                encoded,
                group_size=size,
                sizes=_DEMO_SIZES,
                chance=chance,
                kinds=["copula"],
                runs=_DEMO_RUNS if chance else 0,
                splits=_DEMO_SPLITS if chance else 0,
                progress=report,
            )
            told = explain.group(
                found, encoded, table, target="approve", what_if=_DEMO_WHAT_IF, shuffles=1,
                rows=rows, progress=report,
            )  # fmt: skip
            sides = np.where(found.partition.labels_ == 1, "the left-out group", "the rest")
            mended = mitigate(encoded, sides, found.partition.n_components_)
        except (ImportError, ValueError) as error:
            raise InputError(str(error)) from error
    try:
        files = [] if out is None else _written(found, told, mended, encoded, out)
    except (ImportError, OSError) as error:
        raise InputError(str(error)) from error
    from leftout import terminal

    console = Console()
    terminal.show_group(console, found.partition, told, "applicants", DEMO_COLUMNS)
    terminal.show_trust(console, found)
    terminal.show_mended(console, mended)
    if told.rows is not None:
        terminal.show_rows(console, told.rows, DEMO_COLUMNS)
    for path in files:
        console.print(f"Written: {path}", highlight=False, soft_wrap=True, markup=False)


@main.command()
@click.argument("table", type=click.Path(path_type=Path))
@click.option(
    "--groups-col",
    required=True,
    metavar="COL",
    help="Column that says each row's group; several (A,B) for their combinations.",
)
@click.option(
    "--dims",
    default="0.8",
    show_default=True,
    metavar="0.8|9",
    help="Components: a number, or the share of variance to exceed.",
)
@click.option(
    "--across",
    default="auto",
    show_default=True,
    metavar="auto|none|1-15|2,5,9",
    help="Numbers of components to compare.",
)
@click.option("--drop", default="", metavar="A,B", help="Columns to leave out.")
@click.option("--categorical", default="", metavar="A,B", help="Columns of numbers that are codes.")
@click.option(
    "--scale",
    default="unit",
    show_default=True,
    type=click.Choice(["unit", "standard", "none"]),
    help="Numbers from 0 to 1, with standard deviation 1, or as they are.",
)
@click.option(
    "--objective",
    default="excess",
    show_default=True,
    type=click.Choice(["excess", "variance"]),
    help="Make the largest loss small, or the smallest kept variance large.",
)
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder for fair.json and fair.png.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")
@click.option("--quiet", is_flag=True, help="No progress.")
def fair(
    table: Path,
    groups_col: str,
    dims: str,
    across: str,
    drop: str,
    categorical: str,
    scale: str,
    objective: str,
    out: Path | None,
    as_json: bool,
    quiet: bool,
) -> None:
    """Fair PCA for known groups: losses before and after, and what it costs.

    TABLE is a CSV or TSV file (also gzipped), Parquet, Feather or Excel. The column with the groups
    is not projected.
    """
    from rich.console import Console

    errors = Console(stderr=True, quiet=quiet)
    with _interruptible(), _reported(errors) as report:
        report("loading libraries", 0, 1)
        from leftout import options
        from leftout.columns import columns_of
        from leftout.encoding import encode
        from leftout.mitigation import mitigate
        from leftout.reading import read_table

        try:
            asked, compared = options.dimensions(dims), options.numbers(across)
            report("reading the table", 0, 1)
            raw = read_table(table)
            by = options.names(groups_col, raw, "--groups-col")
            left = [*by, *options.names(drop, raw, "--drop")]
            codes = options.names(categorical, raw, "--categorical")
            groups = options.groups(raw, by)
            encoded = encode(columns_of(raw, categorical=codes, drop=left), scale)
            with warnings.catch_warnings(record=True) as noted:
                warnings.simplefilter("always")
                found = mitigate(
                    encoded.X, groups, asked, across=compared, objective=objective, progress=report
                )
        except (ImportError, ValueError) as error:
            raise InputError(str(error)) from error
    try:
        files = [] if out is None else _written_fair(found, out)
    except ImportError as error:
        raise InputError(str(error)) from error
    except OSError as error:
        reason = error.strerror or error
        raise InputError(f"Nothing can be written to {str(out)!r}: {reason}.") from error
    for note in dict.fromkeys(str(warning.message) for warning in noted):
        click.echo(f"Note: {note}", err=True)
    from leftout import terminal

    if as_json:
        import json

        click.echo(json.dumps({"groups_col": by, **found.to_dict()}, indent=2))
        return
    console = Console()
    terminal.show_fair(console, found, encoded, list(map(str, by)))
    for path in files:
        console.print(f"Written: {path}", highlight=False, soft_wrap=True, markup=False)


def _written_fair(found: Mitigation, folder: Path) -> list[Path]:
    from leftout import plots
    from leftout.files import write_whole

    images = {}
    if found.by_dimension:
        images["fair.png"] = _drawn(plots.mitigation, found)
    folder.mkdir(parents=True, exist_ok=True)
    return [
        found.to_json(folder / "fair.json"),
        *(write_whole(folder / name, image) for name, image in images.items()),
    ]


@contextmanager
def _interruptible() -> Iterator[None]:
    """End at once on Ctrl-C: files are written whole, so there is nothing to clean up."""
    try:
        yield
    except KeyboardInterrupt:
        click.echo("Stopped. Nothing was written.", err=True)
        sys.stderr.flush()
        os._exit(_INTERRUPTED)  # without waiting for threads that are still computing


@contextmanager
def _reported(console: Console) -> Iterator[Report]:
    """A progress bar on the standard error stream, as a function that moves it; in a log, lines."""
    if console.quiet:
        yield lambda what, done, total: None
        return
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    from leftout.progress import ToStderr

    if not console.is_terminal:
        yield ToStderr()
        return
    text = TextColumn("{task.description}")
    with Progress(
        text, BarColumn(), TimeRemainingColumn(), console=console, transient=True
    ) as progress:
        task = progress.add_task("")

        def report(what: str, done: int, total: int) -> None:
            progress.update(task, description=what, completed=done, total=total)

        yield report


def _written(
    found: Trust, told: Explanation, mended: Mitigation, X: pd.DataFrame, folder: Path
) -> list[Path]:
    """Everything is made before anything is written, and each file appears whole."""
    from leftout import plots
    from leftout.files import write_whole

    figures: list[tuple[str, Callable[..., Any], Any]] = [("profile", plots.profile, found.profile)]
    if found.stability is not None:
        figures.append(("agreement", plots.jaccard, found.stability))
        figures.append(("consensus", plots.consensus, found.stability))
    figures += [
        ("features", plots.disparity_by_feature, told),
        ("scores", plots.feature_scores, told),
        ("rules", plots.rules, told),
        ("alignment", plots.alignment, told),
        ("plane", partial(plots.plane, found.partition), X),
        ("fair", plots.mitigation, mended),
    ]
    images = {f"{name}.png": _drawn(draw, data) for name, draw, data in figures}
    folder.mkdir(parents=True, exist_ok=True)
    return [
        found.to_json(folder / "trust.json"),
        told.to_json(folder / "explanation.json"),
        mended.to_json(folder / "fair.json"),
        *(write_whole(folder / name, image) for name, image in images.items()),
    ]


def _drawn(draw: Callable[..., Any], data: Any) -> bytes:
    """A figure, as a PNG file."""
    from io import BytesIO

    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError(
            "The figures of --out need matplotlib, which is not installed. "
            "Run: pip install 'leftout[plots]'"
        ) from error
    figure, buffer = Figure(figsize=(6.4, 4.0), layout="constrained"), BytesIO()
    draw(data, figure.subplots())
    figure.savefig(buffer, format="png", dpi=150)
    return buffer.getvalue()
