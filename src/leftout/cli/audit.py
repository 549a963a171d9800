"""``leftout audit`` and ``leftout demo``: from a table to a report."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from leftout.cli.common import deliver, own_words, reported, takes
from leftout.settings import AUDIT, DEMO, EXECUTION, Settings

if TYPE_CHECKING:
    from leftout.auditing.result import Audit


_AUDIT_OPTIONS = [name for name, setting in {**AUDIT, **EXECUTION}.items() if setting.option]
# Conditions that an audit has to hold.
_GATE = ("fail_on", "max_loss", "max_harm", "baseline")
# What the embedded table has no use for.
_NOT_OF_DEMO = (
    "features", "pipeline", "pipeline_step", "trust_types", "sheet", "dictionary", "engine",
    "scheduler", "memory",
)  # fmt: skip


@click.command()
@takes("tables", *_AUDIT_OPTIONS)
def audit(tables: tuple[str, ...], out: Path | None, **given: Any) -> None:
    """Who does PCA leave out of TABLE? Why, does it replicate, what does it cost, what helps?

    TABLE is a CSV or TSV file (also gzipped), Parquet, Feather or Excel, with names in its first
    line. It may be in parts: several files, a folder, or a pattern ('data/*.parquet'); what is too
    large for memory is passed over chunk by chunk. Writes report.html, audit.json and groups.csv
    (or groups.parquet) to a folder, by default leftout-TABLE.
    """
    from leftout.engine.tables import HERE, named, opened

    engine, scheduler, memory = (given[name] for name in ("engine", "scheduler", "memory"))
    engine = "dask" if engine is None and scheduler is not None else engine
    scheduler = scheduler or (HERE if engine == "dask" else None)
    _run(
        lambda: opened(tables, given["sheet"], engine, memory),
        Path(f"leftout-{named(tables)}") if out is None else out,
        given, engine=engine, scheduler=scheduler, memory=memory, resume=True,
    )  # fmt: skip


@click.command()
@takes(
    *(name for name in _AUDIT_OPTIONS if name not in _NOT_OF_DEMO), **DEMO,
    out=Path("leftout-demo"),
)  # fmt: skip
def demo(out: Path, **given: Any) -> None:
    """Audit 1,989 real mortgage applications: whom does PCA represent worst?

    The search sees 55 columns of each application and not the decision. The very first search
    compiles, which takes about ten seconds.
    """
    from leftout.data.sources import Source
    from leftout.datasets import demo_dictionary, load_demo

    def read() -> tuple[Source, Any]:
        table = load_demo()
        return Source(table), table

    _run(read, out, {**given, "dictionary": demo_dictionary()})


def _run(read: Callable[[], Any], folder: Path, given: dict[str, Any], **where: Any) -> None:
    """Audit a table as people ask, and deliver what was found.

    ``read`` gives the table, and something with its columns; ``where`` says which machines work on
    it.
    """
    with ExitStack() as running:  # a cluster is needed until all is written
        with reported(given["quiet"]) as report:
            from leftout.auditing.findings import CODES
            from leftout.auditing.gate import ReleaseGate
            from leftout.cli import options
            from leftout.engine.run import run
            from leftout.files import check_folder

            results = ("audit.json", "report.html", "report.pdf", "annex.md")
            check_folder(folder, *results, "groups.csv", "groups.parquet")
            gate = ReleaseGate.of(*(given[name] for name in _GATE))
            gate.check_codes(CODES)
            report("reading the table", 0, 1)
            table, columns = read()
            chosen = options.chosen(given, columns)
            asked = {name: chosen[name] for name in AUDIT if name in chosen}
            found = run(
                table,
                Settings(**asked, command=own_words()),
                n_jobs=given["n_jobs"],
                progress=report,
                listener=None if given["quiet"] else _announced(),
                running=running,
                **where,
            )
            report("writing the report", 1, 1)
            contents = _written(found, given["annex"], given["pdf"])
        from leftout.cli import terminal

        deliver(
            folder,
            contents,
            lambda to: terminal.show_audit(to, found, given["full"]),
            found.to_dict() if given["as_json"] else None,
        )
        gate.check(found)


def _written(found: Audit, annex: bool, pdf: bool) -> dict[str, str | bytes]:
    """What is written to the folder; of very many rows, their groups as Parquet."""
    page = found.html(annex=annex)
    contents: dict[str, str | bytes] = {"report.html": page, "audit.json": found.json()}
    if annex:
        contents["annex.md"] = found.annex()
    if pdf:
        from leftout.report import printing

        printed, why = printing.pdf(page)
        if printed is None:
            click.echo(why, err=True)
        else:
            contents["report.pdf"] = printed
    if found.chunks is not None:
        return contents | {"groups.parquet": found.parquet()}
    return contents | {"groups.csv": found.csv()}


def _announced() -> Callable[[Audit], None]:
    """Tell whoever waits the first answer, once, while evidence is gathered."""
    heard: list[Audit] = []

    def announce(found: Audit) -> None:
        if not heard:
            click.echo(f"{found.answer.fact} {found.answer.who}", err=True)
            click.echo("Now: subgroups, costs, why, and whether it replicates.\n", err=True)
        heard.append(found)

    return announce
