"""``leftout audit`` and ``leftout demo``: from a table to a report."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from leftout.cli.common import deliver, interruptible, own_words, refused, reported, takes

if TYPE_CHECKING:
    from leftout.auditing.result import Audit


@click.command()
@takes(
    "tables", "sheet", "target", "prediction", "categorical", "numeric", "drop", "sensitive",
    "missing", "dictionary", "encoding", "dims", "min_size", "size", "groups", "runs", "chance",
    "sample", "preset", "quick", "full", "engine", "scheduler", "memory", "out", "seed", "jobs",
    "rows", "as_json", "quiet",
)  # fmt: skip
def audit(
    tables: tuple[str, ...],
    sheet: str | None,
    out: Path | None,
    jobs: int,
    full: bool,
    engine: str | None,
    scheduler: str | None,
    memory: str | None,
    as_json: bool,
    quiet: bool,
    **given: Any,
) -> None:
    """Who does PCA leave out of TABLE? Why, does it come back, what does it cost, what helps?

    TABLE is a CSV or TSV file (also gzipped), Parquet, Feather or Excel, with names in its first
    line; or the address of one (https://, s3://), with fsspec. It may be in parts: several files, a
    folder, or a pattern ('data/*.parquet'); what is too large for memory is passed over chunk by
    chunk. Writes report.html, audit.json and groups.csv (or groups/part-*.parquet) to a folder, by
    default leftout-TABLE. Files of moments that sites have sent (leftout moments) are audited
    together.
    """
    if all(name.endswith(".npz") for name in tables):
        from leftout.cli.sites import audit_moments

        audit_moments(tables, given["dims"], out, as_json)
        return
    with ExitStack() as running:  # a cluster is needed until all is written
        with interruptible(), reported(quiet) as report, refused():
            from leftout.auditing.settings import Settings
            from leftout.cli import options
            from leftout.files import check_folder
            from leftout.scale.run import run
            from leftout.scale.tables import HERE, named, opened

            folder = Path(f"leftout-{named(tables)}") if out is None else out
            asked = options.of_audit(given)
            check_folder(folder)
            report("reading the table", 0, 1)
            engine = "dask" if engine is None and scheduler is not None else engine
            table, columns = opened(tables, sheet, engine, memory)
            column, positive = options.target(given["target"], columns)
            for name in ("categorical", "numeric", "drop", "sensitive"):
                asked[name] = options.names(given[name], columns, name)
            asked["prediction"] = options.column(given["prediction"], columns, "prediction")
            settings = Settings(target=column, positive=positive, command=own_words(), **asked)
            found = run(
                table, settings, n_jobs=jobs, progress=report, first=_announced(quiet),
                engine=engine, scheduler=scheduler or (HERE if engine == "dask" else None),
                memory=memory, state=folder.absolute().parent / f".{folder.name}.unfinished",
                running=running,
            )  # fmt: skip
        with interruptible(), refused():
            _deliver(found, folder, as_json, full)
        if found.chunks is not None:
            found.chunks.end()


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

    contents = {"report.html": found.html(), "audit.json": found.json()}
    parts = None
    if found.chunks is None:
        contents["groups.csv"] = found.csv()
    else:
        parts = found.chunks.parquet()
    brief = found.brief() if as_json else None
    deliver(folder, contents, lambda to: terminal.show_audit(to, found, full), brief, parts)
