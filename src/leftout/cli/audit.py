"""``leftout audit`` and ``leftout demo``: from a table to a report."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from leftout.cli.common import deliver, interruptible, own_words, refused, reported

if TYPE_CHECKING:
    from rich.console import Console

    from leftout.auditing.result import Audit

_DEMO_CHANCE, _DEMO_RUNS = 39, 10
_OUT = click.Path(file_okay=False, path_type=Path)


def _shared(command: Callable[..., None]) -> Callable[..., None]:
    """Options of every audit."""
    options = (
        click.option("--seed", default=0, show_default=True, type=click.IntRange(0),
                     help="Seed of searches and samples."),
        click.option("--jobs", default=-1, show_default=True, type=click.IntRange(-1, 1024),
                     help="Threads; -1 for all cores. Results do not depend on it."),
        click.option("--rows", default=0, show_default=True, type=click.IntRange(0),
                     help="Actual rows to show of either side; a row may be a person."),
        click.option("--json", "as_json", is_flag=True, help="Print a summary as JSON."),
        click.option("--quiet", is_flag=True, help="No progress."),
    )  # fmt: skip
    for option in reversed(options):
        command = option(command)
    return command


@click.command()
@click.argument("table", type=click.Path(path_type=Path))
@click.option("--target", metavar="COL[=VALUE]", help="Outcome to compare, and whose rate counts.")
@click.option("--categorical", default="", metavar="A,B", help="Columns of numbers that are codes.")
@click.option("--drop", default="", metavar="A,B", help="Columns to leave out.")
@click.option(
    "--sensitive", default="", metavar="A,B",
    help="Columns to keep out of the search and compare with the group.",
)  # fmt: skip
@click.option(
    "--dims", default="0.8", show_default=True, metavar="0.8|9",
    help="Components: a number, or the share of variance to exceed.",
)  # fmt: skip
@click.option("--min-size", metavar="N|5%", help="Fewest rows on a side; by default 5 per feature.")
@click.option(
    "--size", default="evidence", show_default=True, metavar="N|5%|evidence",
    help="Size of the left-out group, or the one with the most evidence.",
)  # fmt: skip
@click.option("--groups", default=2, show_default=True, help="Groups to find; only 2 for now.")
@click.option(
    "--runs", default=30, show_default=True, type=click.IntRange(0), help="Runs with other seeds."
)
@click.option(
    "--chance", default=99, show_default=True, type=click.IntRange(0),
    help="Chance tables of each kind.",
)  # fmt: skip
@click.option(
    "--sample", type=click.IntRange(1), metavar="N",
    help="Audit a sample of N rows, in proportion to the target's values.",
)  # fmt: skip
@click.option("--preset", type=click.Choice(["paper"]), help="Everything as in the paper.")
@click.option("--out", type=_OUT, help="Folder for the files; by default leftout-TABLE.")
@_shared
def audit(
    table: Path,
    target: str | None,
    categorical: str,
    drop: str,
    sensitive: str,
    dims: str,
    min_size: str | None,
    size: str,
    groups: int,
    runs: int,
    chance: int,
    sample: int | None,
    preset: str | None,
    out: Path | None,
    seed: int,
    jobs: int,
    rows: int,
    as_json: bool,
    quiet: bool,
) -> None:
    """Who does PCA leave out of TABLE? Is it real, who are they, what can be done?

    TABLE is a CSV or TSV file (also gzipped), Parquet, Feather or Excel, with names in its first
    line. Writes report.html, audit.json and groups.csv to a folder.
    """
    folder = Path(f"leftout-{_stem(table)}") if out is None else out
    with interruptible(), reported(quiet) as report, refused():
        from leftout.auditing.run import run
        from leftout.auditing.settings import Settings
        from leftout.cli import options
        from leftout.files import check_folder
        from leftout.tables.reading import Source

        asked: dict[str, Any] = {
            "n_components": options.dimensions(dims),
            "min_group_size": options.size(min_size, "--min-size"),
            "group_size": size if size == "evidence" else options.size(size, "--size"),
        }
        check_folder(folder)
        report("reading the table", 0, 1)
        source = Source.of(table)
        column, positive = options.target(target, source.table)
        settings = Settings(
            target=column, positive=positive,
            categorical=options.names(categorical, source.table, "--categorical"),
            drop=options.names(drop, source.table, "--drop"),
            sensitive=options.names(sensitive, source.table, "--sensitive"),
            n_groups=groups, runs=runs, chance=chance, preset=preset, sample=sample,
            random_state=seed, rows=rows, command=own_words(), **asked,
        )  # fmt: skip
        found = run(source, settings, n_jobs=jobs, progress=report)
    _deliver(found, folder, as_json)


@click.command()
@click.option(
    "--size", default="200", show_default=True, metavar="N|evidence",
    help="Applicants to look for, or the size with the most evidence.",
)  # fmt: skip
@click.option(
    "--chance", default=_DEMO_CHANCE, show_default=True, type=click.IntRange(0),
    help="Chance tables of each kind; 0 for the group alone, at a given size.",
)  # fmt: skip
@click.option(
    "--runs", default=_DEMO_RUNS, show_default=True, type=click.IntRange(0),
    help="Runs with other seeds.",
)  # fmt: skip
@click.option("--out", type=_OUT, default=Path("leftout-demo"), show_default=True,
              help="Folder for the files.")  # fmt: skip
@_shared
def demo(
    size: str,
    chance: int,
    runs: int,
    out: Path,
    seed: int,
    jobs: int,
    rows: int,
    as_json: bool,
    quiet: bool,
) -> None:
    """Audit 1,989 real mortgage applications: whom does PCA represent worst?

    The search sees 55 columns of each application and not the decision. The very first search
    compiles, which takes about 20 seconds.
    """
    with interruptible(), reported(quiet) as report, refused():
        from leftout.auditing.run import run
        from leftout.auditing.settings import Settings
        from leftout.checks import Refusal
        from leftout.cli import options
        from leftout.datasets import DEMO_COLUMNS, load_demo
        from leftout.files import check_folder

        wanted = size if size == "evidence" else options.size(size, "--size")
        check_folder(out)
        try:
            table = load_demo()
        except ImportError as error:
            raise Refusal(str(error)) from error
        settings = Settings(
            target="approve", positive=1, group_size=wanted, runs=runs, chance=chance,
            random_state=seed, rows=rows, command=own_words(),
        )  # fmt: skip
        found = run(table, settings, n_jobs=jobs, progress=report)
    _deliver(found, out, as_json, DEMO_COLUMNS)


def _stem(table: Path) -> str:
    """The table's name without what says its kind."""
    name = table.name
    for suffix in (".gz", table.with_suffix("").suffix if name.endswith(".gz") else table.suffix):
        name = name.removesuffix(suffix) if suffix else name
    return name or "table"


def _deliver(
    found: Audit,
    folder: Path,
    as_json: bool,
    meanings: dict[str, str] | None = None,
) -> None:
    contents = {"report.html": found.html(), "audit.json": found.json(), "groups.csv": found.csv()}

    def show(console: Console) -> None:
        from leftout.cli import terminal

        terminal.show_audit(console, found, meanings)

    deliver(folder, contents, show, found.brief() if as_json else None)
