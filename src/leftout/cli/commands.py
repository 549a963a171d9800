"""All commands: an audit, of the demo's table or another, one question each, and the page."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from leftout import __version__
from leftout.cli.common import deliver, own_words, reported, show_or_dump, takes
from leftout.settings import AUDIT, DEMO, EXECUTION, Reading, Settings

if TYPE_CHECKING:
    from rich.console import Console

    from leftout.auditing.result import Audit
    from leftout.data.encoder import TableEncoder
    from leftout.data.sources import Source
    from leftout.running import Report

_AUDIT_OPTIONS = [name for name, setting in {**AUDIT, **EXECUTION}.items() if setting.option]
# Conditions that an audit has to hold.
_GATE = ("fail_on", "max_loss", "max_harm", "baseline")
# What the embedded table has no use for.
_NOT_OF_DEMO = (
    "features", "pipeline", "pipeline_step", "trust_types", "sheet", "dictionary", "engine",
    "scheduler", "memory",
)  # fmt: skip
# Subgroups that are listed, and random groups that known ones are compared with.
_TOP, _PERMUTATIONS = 10, 199
# What the page needs, and other commands do not.
_OF_PAGE = ("starlette", "uvicorn", "python_multipart")


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


# How what was found is printed, and the same as data.
Found = tuple[Callable[["Console"], None], dict[str, Any]]


def _question(*names: str) -> Callable[[Callable[[Source, dict[str, Any], Report], Found]], Any]:
    """A command with these options: it reads the table, finds, and prints what was found."""

    def decorate(find: Callable[[Source, dict[str, Any], Report], Found]) -> Any:
        @click.command(find.__name__, help=find.__doc__)
        @takes(*names)
        def command(**given: Any) -> None:
            with reported(given["quiet"]) as report:
                from leftout.cli import options
                from leftout.data.sources import Source
                from leftout.running import collected_warnings

                report("reading the table", 0, 1)
                source = Source.of(given["table"], given["sheet"])
                with collected_warnings() as notes:
                    show, found = find(source, options.chosen(given, source.table), report)
            notes = [*source.notes, *notes]
            for note in notes:
                click.echo(f"Note: {note}", err=True)
            data = {"leftout_version": __version__, "command": own_words(), **found, "notes": notes}
            show_or_dump(show, data if given["as_json"] else None)

        return command

    return decorate


def _encoder(given: dict[str, Any], aside: Sequence[Any] = (), **more: Any) -> TableEncoder:
    """An encoder as options ask for it; they may name columns ``aside``, which it does not see."""
    from leftout.data.encoder import TableEncoder

    asked = {
        name: [column for column in given[name] if column not in aside]
        for name in ("categorical", "numeric", "drop")
    }
    asked |= {name: given[name] for name in ("missing", "dictionary")}
    return TableEncoder(**(asked | more))


@_question(
    "table", "sheet", "sensitive", "target", "n_components", "depth", "fewest", "categorical",
    "numeric", "weights", "drop", "missing", "dictionary", "sample", "random_state", "n_jobs",
    "as_json", "quiet",
)  # fmt: skip
def groups(source: Source, given: dict[str, Any], report: Report) -> Found:
    """Which subgroups does PCA leave out of TABLE?

    Lists the subgroups, by conditions on columns, that lose most; with --sensitive also every group
    of these columns, which PCA does not see, beside random groups. Takes seconds: whether subgroups
    lose more than those of surrogate tables, leftout audit tells.
    """
    from leftout.checks import generator
    from leftout.cli import terminal
    from leftout.data.preparation import prepare_table
    from leftout.groups.known import known_groups
    from leftout.groups.subgroups import named_groups

    # as an audit takes it in: the same numbers, and the same rows of a sample
    reading = Reading(**{each.name: given[each.name] for each in fields(Reading)
                         if each.name in given})  # fmt: skip
    rng, known = generator(given["random_state"]).spawn(1)[0], None
    intake = prepare_table(source, reading, sample=given["sample"], rng=rng)
    asked: dict[str, Any] = {
        "depth": given["depth"], "min_group_size": given["fewest"],
        "random_state": given["random_state"], "n_jobs": given["n_jobs"], "progress": report,
        "sample_weight": intake.weights,
    }  # fmt: skip
    named = named_groups(
        intake.X, intake.telling, n_components=given["n_components"], top=_TOP,
        target=intake.target, positive=intake.positive, **asked,
    )  # fmt: skip
    if intake.hidden:
        known = known_groups(
            intake.X, intake.hidden, n_components=named.n_components, permutations=_PERMUTATIONS,
            **asked,
        )  # fmt: skip
    table = {
        "source": intake.source,
        "rows": len(intake.rows),
        "rows_in_table": intake.n_rows,
        "features": intake.X.shape[1],
        "target": None if intake.target is None else intake.target.name,
        "positive": intake.positive,
        "sensitive": intake.sensitive,
    }
    data = {"table": table, "named": named.to_dict(), "known": known and known.to_dict()}
    return lambda to: terminal.show_groups(to, named, known), data


@_question(
    "table", "sheet", "outcome", "groups_col", "n_components", "prediction", "weights", "drop",
    "categorical", "numeric", "missing", "dictionary", "random_state", "n_jobs", "as_json", "quiet",
)  # fmt: skip
def harm(source: Source, given: dict[str, Any], report: Report) -> Found:
    """What does PCA cost the groups of TABLE where something is predicted from it?

    Predicts a target from all columns, from a shared PCA and from Fair PCA, each row by models that
    have not seen it, and compares groups: numbers and dates are cut into four bands. The columns
    with target, groups, prediction and weights are kept out of what models see.
    """
    from leftout.cli import options, terminal
    from leftout.downstream.costs import harm as measure
    from leftout.downstream.prediction import compare_prediction
    from leftout.errors import InputError

    raw, by, target = source.table, given["groups_col"], given["target"]
    prediction, weights = given["prediction"], given["weights"]
    aside = [target, *by, *(name for name in (prediction, weights) if name is not None)]
    if len(set(aside)) < len(aside):
        raise InputError(
            "One column cannot be target, group, prediction and weight at once. Name another for "
            "--target, --groups-col, --prediction or --weights."
        )
    sides, compared = options.groups(raw, by), None
    asked = {name: given[name] for name in ("positive", "random_state")}
    asked["sample_weight"] = None if weights is None else raw[weights]
    paid = measure(
        raw.drop(columns=aside), raw[target], sides, given["n_components"],
        encoder=_encoder(given, aside), n_jobs=given["n_jobs"], progress=report, **asked,
    )  # fmt: skip
    if prediction is not None:
        compared = compare_prediction(raw[prediction], raw[target], sides, **asked)
    data = {
        "groups_col": list(map(str, by)),
        "harm": paid.to_dict(),
        "prediction": None if prediction is None else str(prediction),
        "compared": compared and compared.to_dict(),
    }
    return lambda to: terminal.show_harm(to, paid, compared), data


@_question(
    "table", "sheet", "groups_col", "n_components", "weights", "drop", "categorical", "numeric",
    "missing", "dictionary", "as_json", "quiet",
)  # fmt: skip
def fair(source: Source, given: dict[str, Any], report: Report) -> Found:
    """Fair PCA for known groups: losses before and after, and what it costs.

    TABLE is a CSV or TSV file (also gzipped), Parquet, Feather or Excel, or the address of one. The
    column with the groups is not projected; numbers and dates are cut into four bands.
    """
    from leftout.cli import options, terminal
    from leftout.fair.mitigation import mitigate

    by, weights = given["groups_col"], given["weights"]
    sides = options.groups(source.table, by)
    counts = None if weights is None else source.table[weights]
    encoder = _encoder(given, drop=[*by, *given["drop"], *([] if weights is None else [weights])])
    X = encoder.fit_transform(source.table, sample_weight=counts)
    found = mitigate(X, sides, given["n_components"], sample_weight=counts, progress=report)
    columns = list(map(str, by))
    data = {"groups_col": columns, **found.to_dict()}
    return lambda to: terminal.show_fair(to, found, columns), data


@click.command()
@click.argument("old", metavar="OLD")
@click.argument("new", metavar="NEW")
@takes("sheet", "missing", "dictionary", "out", "as_json", "quiet")
def compare(old: str, new: str, out: Path | None, **given: Any) -> None:
    """What has changed since an audit, and is it beyond noise?

    OLD is an audit.json, NEW a table with the same columns, or the audit.json of one. The old
    group's rule is applied to the new rows, each half of the old rows by the rule of the other
    half. With --out, writes compare.html and compare.json.
    """
    with reported(given["quiet"]) as report:
        from leftout.auditing.comparison import compare as compared
        from leftout.cli import terminal
        from leftout.files import check_folder

        if out is not None:
            check_folder(out, "compare.json", "compare.html")
        report("comparing", 0, 1)
        asked = {name: given[name] for name in ("sheet", "missing", "dictionary")}
        found = compared(old, new, **asked)
    data = found.to_dict() if given["as_json"] else None
    if out is None:
        show_or_dump(lambda to: terminal.show_comparison(to, found), data)
        return
    contents: dict[str, str | bytes] = {"compare.html": found.html(), "compare.json": found.json()}
    deliver(out, contents, lambda to: terminal.show_comparison(to, found), data)


@click.command()
@takes("port", "data", "open", "max_upload")
def serve(port: int, data: Path | None, open: bool, max_upload: str) -> None:
    """Audit tables in a browser: choose a file, say what matters, read the report.

    Only this machine, and only who has the address that is printed, can open the page; nothing
    leaves the machine. Ctrl-C stops it; audits are kept.
    """
    try:
        from leftout.data.sources import n_bytes
        from leftout.files import own_folder
        from leftout.page.serving import serve as run
        from leftout.page.uploads import Limits
    except ImportError as error:
        if (error.name or "").partition(".")[0] not in _OF_PAGE:
            raise
        raise click.ClickException(
            f"The page needs a package that is not installed ({error.name}). Run: pip install "
            "'leftout[page]'"
        ) from error
    upload = n_bytes(max_upload, "max_upload")
    try:
        kept = data or own_folder("share") / "audits"
        run(port, kept, Limits(upload=upload), _announce, open)
    except KeyboardInterrupt:
        pass
    click.echo("Stopped. Audits are kept.", err=True)


def _announce(address: str) -> None:
    click.echo(f"Open {address}")
    click.echo("Only this machine can. Ctrl-C stops the server; audits are kept.", err=True)
