"""``leftout audit`` and ``leftout demo``: from a table to a report."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from leftout.cli.common import deliver, interruptible, own_words, refused, reported, takes, write

if TYPE_CHECKING:
    from leftout.auditing.result import Audit
    from leftout.cli.events import Events
    from leftout.tables.reading import Source


# What can be asked of an audit, whatever the table, and what its result does not depend on.
_ASKED = (
    "target", "prediction", "categorical", "numeric", "drop", "sensitive", "missing", "encoding",
    "dims", "min_size", "size", "groups", "runs", "chance", "sample", "preset", "quick", "full",
    "out", "seed", "jobs", "rows", "as_json", "events", "quiet",
)  # fmt: skip


@click.command()
@takes("table", "sheet", "dictionary", "called", *_ASKED)
def audit(
    table: str, sheet: str | None, called: str | None, out: Path | None, **given: Any
) -> None:
    """Who does PCA leave out of TABLE? Why, does it come back, what does it cost, what helps?

    TABLE is a CSV or TSV file (also gzipped), Parquet, Feather or Excel, with names in its first
    line; or the address of one (https://, s3://), with fsspec. Writes report.html, audit.json and
    groups.csv to a folder, by default leftout-TABLE.
    """

    def read() -> Source:
        from leftout.tables.reading import Source

        return Source.of(table, sheet, called)

    with interruptible():
        from leftout.tables.files.fetching import file_name

        stem = Path(file_name(called or table).removesuffix(".gz")).stem or "table"
        command = own_words({table: called} if called else {})
        _run(read, Path(f"leftout-{stem}") if out is None else out, given, command=command)


@click.command()
@takes(*_ASKED, runs=10, out=Path("leftout-demo"))
def demo(out: Path, **given: Any) -> None:
    """Audit 1,989 real mortgage applications: whom does PCA represent worst?

    The search sees 55 columns of each application and not the decision. The very first search
    compiles, which takes about 20 seconds.
    """

    def read() -> Source:
        from leftout.checks import Refusal
        from leftout.datasets import load_demo
        from leftout.tables.reading import Source

        try:
            return Source(load_demo())
        except ImportError as error:
            raise Refusal(str(error)) from error

    with interruptible():
        from leftout.datasets import demo_dictionary

        decided = {"target": "approve", "positive": 1} if given["target"] is None else {}
        _run(read, out, given, command=own_words(), dictionary=demo_dictionary(), **decided)


def _run(read: Callable[[], Source], folder: Path, given: dict[str, Any], **more: Any) -> None:
    """Audit a table as people ask, and deliver what was found; ``more`` settings stand as given."""
    quiet, as_json, events = given["quiet"], given["as_json"], _events(given["events"])
    with interruptible(), reported(quiet or events is not None) as report, refused():
        from leftout.auditing.run import run
        from leftout.auditing.settings import Settings
        from leftout.cli import options
        from leftout.files import check_folder

        report = report if events is None else events.progress
        asked = options.of_audit(given)
        check_folder(folder)
        report("reading the table", 0, 1)
        source = read()
        for name in ("categorical", "numeric", "drop", "sensitive"):
            asked[name] = options.names(given[name], source.table, name)
        asked["prediction"] = options.column(given["prediction"], source.table, "prediction")
        asked["target"], asked["positive"] = options.target(given["target"], source.table)
        found = run(
            source,
            Settings(**asked | more),
            n_jobs=given["jobs"],
            progress=report,
            first=_announced(quiet or events is not None),
            partial=None if events is None else events.answer,
        )
        report("writing the report", 1, 1)
        contents = {"report.html": found.html(), "audit.json": found.json(),
                    "groups.csv": found.csv()}  # fmt: skip
        if events is not None:
            report("writing the report", 1, 1)
            events.done(found, write(folder, contents))
            return
    from leftout.cli import terminal

    brief = found.brief() if as_json else None
    deliver(folder, contents, lambda to: terminal.show_audit(to, found, given["full"]), brief)


def _events(wanted: bool) -> Events | None:
    if not wanted:
        return None
    from leftout.cli.events import Events

    return Events()


def _announced(quiet: bool) -> Callable[[Audit], None] | None:
    """Tell whoever waits the first answer, while evidence is gathered."""

    def announce(found: Audit) -> None:
        click.echo(f"{found.answer.fact} {found.answer.who}", err=True)
        click.echo("Now: names, costs, why, and does it come back?\n", err=True)

    return None if quiet or not sys.stderr.isatty() else announce
