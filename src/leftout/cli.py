"""The command line: arguments in, a result people can read out."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from leftout import __version__

if TYPE_CHECKING:
    import pandas as pd
    from rich.console import Console

    from leftout.evidence import Trust
    from leftout.partition import MaxDisparityPartition
    from leftout.progress import Report

_DEMO_SIZE, _DEMO_LARGEST = 200, 994
_DEMO_ROWS = 8
_DEMO_SIZES, _DEMO_RUNS, _DEMO_SPLITS = 8, 10, 5
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
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder for trust.json and the figures.",
)
def demo(seed: int, size: int | str, chance: int, jobs: int, out: Path | None) -> None:
    """Search 1,989 real mortgage applications for the people PCA represents worst.

    The search sees 55 columns of each application and not the decision. Then the same search runs
    on chance tables, on half of the rows, and with other seeds: is the group real?
    """
    from rich.console import Console

    if size == "evidence" and not chance:
        raise InputError(
            "--size evidence compares with chance tables; give --chance 39, or a size."
        )
    with _interruptible(), _reported(Console(stderr=True)) as report:
        report("loading libraries", 0, 1)
        from sklearn.impute import SimpleImputer
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import MinMaxScaler

        from leftout.datasets import load_demo
        from leftout.evidence import trust
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
        except (ImportError, ValueError) as error:
            raise InputError(str(error)) from error
    try:
        files = [] if out is None else _written(found, out)
    except (ImportError, OSError) as error:
        raise InputError(str(error)) from error
    console = Console()
    _show(console, table, encoded, found.partition)
    console.print("\n[bold]Is it real?[/bold]\n" + found.summary(), highlight=False)
    for path in files:
        console.print(f"Written: {path}", highlight=False, soft_wrap=True)


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


def _written(found: Trust, folder: Path) -> list[Path]:
    """Everything is made before anything is written, and each file appears whole."""
    from io import BytesIO

    from leftout import plots
    from leftout.files import write_whole

    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError(
            "The figures of --out need matplotlib, which is not installed. "
            "Run: pip install 'leftout[plots]'"
        ) from error
    figures: list[tuple[str, Callable[..., Any], Any]] = [("profile", plots.profile, found.profile)]
    if found.stability is not None:
        figures.append(("agreement", plots.jaccard, found.stability))
        figures.append(("consensus", plots.consensus, found.stability))
    images = {}
    for name, draw, data in figures:
        figure, buffer = Figure(figsize=(6.4, 4.0), layout="constrained"), BytesIO()
        draw(data, figure.subplots())
        figure.savefig(buffer, format="png", dpi=150)
        images[f"{name}.png"] = buffer.getvalue()
    folder.mkdir(parents=True, exist_ok=True)
    return [found.to_json(folder / "trust.json")] + [
        write_whole(folder / name, image) for name, image in images.items()
    ]


def _show(
    console: Console, table: pd.DataFrame, encoded: pd.DataFrame, found: MaxDisparityPartition
) -> None:
    from rich.table import Table

    from leftout.datasets import DEMO_COLUMNS

    group = found.labels_ == 1
    approved = [100.0 * table["approve"][side].mean() for side in (group, ~group)]
    kept, own = 100.0 * found.retained_, 100.0 * found.retained_own_
    share = 100.0 * found.explained_variance_ratio_.sum()
    console.print(
        f"[bold]{group.sum()} of {len(table):,} mortgage applicants are left out.[/bold] "
        f"A shared PCA with {found.n_components_} components keeps {share:.0f} % of the table's "
        f"variance but {kept[1]:.0f} % of this group's; its own PCA would keep {own[1]:.0f} %. "
        f"The search never saw the decision: {approved[0]:.0f} % of the left-out group were "
        f"approved, {approved[1]:.0f} % of the rest.\n",
        highlight=False,
    )
    sides = Table("", "left-out group", "rest", title="The two sides", title_justify="left")
    for name, values, form in (
        ("applicants", found.sizes_, "{:,}"),
        ("average loss", found.losses_, "{:.3f}"),
        ("variance kept by the shared PCA", kept, "{:.0f} %"),
        ("variance its own PCA would keep", own, "{:.0f} %"),
        ("approved", approved[::-1], "{:.0f} %"),
    ):
        sides.add_row(name, form.format(values[1]), form.format(values[0]))
    console.print(sides)

    gap = (encoded[group].mean() - encoded[~group].mean()) / encoded.std()
    differing = gap.abs().sort_values(ascending=False).index[:_DEMO_ROWS]
    columns = Table(
        "column", "meaning", "left out", "rest", title="\nWhere they differ most (means)",
        title_justify="left",
    )  # fmt: skip
    for name in differing:
        means = (f"{table[name][side].mean():.2f}" for side in (group, ~group))
        columns.add_row(name, DEMO_COLUMNS.get(name, ""), *means)
    console.print(columns)
    console.print(
        "\nA large disparity alone proves nothing: a search finds some on any table.",
        highlight=False,
    )
