"""``leftout audit`` and ``leftout demo``: from a table to a report."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from leftout.cli.common import deliver, interruptible, own_words, refused, reported, takes

if TYPE_CHECKING:
    from leftout.auditing.result import Audit


@click.command()
@takes(
    "table", "sheet", "target", "prediction", "categorical", "numeric", "drop", "sensitive",
    "missing", "dictionary", "encoding", "dims", "min_size", "size", "groups", "runs", "chance",
    "sample", "preset", "quick", "full", "out", "seed", "jobs", "rows", "as_json", "quiet",
)  # fmt: skip
def audit(
    table: str,
    sheet: str | None,
    out: Path | None,
    jobs: int,
    full: bool,
    as_json: bool,
    quiet: bool,
    **given: Any,
) -> None:
    """Who does PCA leave out of TABLE? Why, does it come back, what does it cost, what helps?

    TABLE is a CSV or TSV file (also gzipped), Parquet, Feather or Excel, with names in its first
    line; or the address of one (https://, s3://), with fsspec. Writes report.html, audit.json and
    groups.csv to a folder, by default leftout-TABLE.
    """
    with interruptible(), reported(quiet) as report, refused():
        from leftout.auditing.run import run
        from leftout.auditing.settings import Settings
        from leftout.cli import options
        from leftout.files import check_folder
        from leftout.tables.files.fetching import file_name
        from leftout.tables.reading import Source

        stem = Path(file_name(table).removesuffix(".gz")).stem or "table"
        folder = Path(f"leftout-{stem}") if out is None else out
        asked = options.of_audit(given)
        check_folder(folder)
        report("reading the table", 0, 1)
        source = Source.of(table, sheet)
        column, positive = options.target(given["target"], source.table)
        for name in ("categorical", "numeric", "drop", "sensitive"):
            asked[name] = options.names(given[name], source.table, name)
        asked["prediction"] = options.column(given["prediction"], source.table, "prediction")
        settings = Settings(target=column, positive=positive, command=own_words(), **asked)
        found = run(source, settings, n_jobs=jobs, progress=report, first=_announced(quiet))
    _deliver(found, folder, as_json, full)


@click.command()
@takes(
    "size", "chance", "runs", "quick", "full", "out", "seed", "jobs", "rows", "as_json", "quiet",
    runs=10, out=Path("leftout-demo"),
)  # fmt: skip
def demo(out: Path, jobs: int, full: bool, as_json: bool, quiet: bool, **given: Any) -> None:
    """Audit 1,989 real mortgage applications: whom does PCA represent worst?

    The search sees 55 columns of each application and not the decision. The very first search
    compiles, which takes about 20 seconds.
    """
    with interruptible(), reported(quiet) as report, refused():
        from leftout.auditing.run import run
        from leftout.auditing.settings import Settings
        from leftout.checks import Refusal
        from leftout.cli import options
        from leftout.datasets import demo_dictionary, load_demo
        from leftout.files import check_folder

        asked = options.of_audit(given)
        check_folder(out)
        try:
            table = load_demo()
        except ImportError as error:
            raise Refusal(str(error)) from error
        settings = Settings(
            target="approve", positive=1, dictionary=demo_dictionary(), command=own_words(), **asked
        )
        found = run(table, settings, n_jobs=jobs, progress=report, first=_announced(quiet))
    _deliver(found, out, as_json, full)


def _announced(quiet: bool) -> Callable[[Audit], None] | None:
    """Tell whoever waits the first answer, while evidence is gathered."""

    def announce(found: Audit) -> None:
        click.echo(f"{found.answer.fact} {found.answer.who}", err=True)
        click.echo("Now: names, costs, why, and does it come back?\n", err=True)

    return None if quiet or not sys.stderr.isatty() else announce


def _deliver(found: Audit, folder: Path, as_json: bool, full: bool) -> None:
    from leftout.cli import terminal

    contents = {"report.html": found.html(), "audit.json": found.json(), "groups.csv": found.csv()}
    brief = found.brief() if as_json else None
    deliver(folder, contents, lambda to: terminal.show_audit(to, found, full), brief)
