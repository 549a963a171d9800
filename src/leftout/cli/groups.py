"""``leftout groups``: which groups that have a name, or are known, does a shared PCA leave out?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from leftout.cli.common import deliver, interruptible, own_words, refused, reported, takes

if TYPE_CHECKING:
    import pandas as pd

    from leftout.data.preparation import PreparedTable
    from leftout.data.reading import Source
    from leftout.groups.known_result import KnownGroups
    from leftout.groups.subgroups import NamedGroups
    from leftout.running import Report

# What a spreadsheet would take for a formula begins with one of these.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")
# What people read while they wait, and the share of the time, more or less.
_NAMED, _KNOWN = "groups with a name", "known groups"
_STAGES = {_NAMED: 3.0, _KNOWN: 1.0}


@click.command()
@takes(
    "table", "sheet", "sensitive", "target", "n_components", "depth", "fewest", "top",
    "permutations", "categorical", "numeric", "drop", "missing", "dictionary", "sample",
    "random_state", "n_jobs", "out", "as_json", "quiet",
)  # fmt: skip
def groups(
    table: str, sheet: str | None, out: Path | None, as_json: bool, quiet: bool, **given: Any
) -> None:
    """Which groups that can be named does PCA leave out of TABLE?

    Lists the groups that conditions on columns name and that lose most; with --sensitive also every
    group of these columns, which PCA does not see, beside random groups. Takes seconds: whether
    names stand out from those of comparison tables, leftout audit tells. With --out writes
    groups.json, named.csv and known.csv.
    """
    with interruptible(), reported(quiet) as report, refused():
        from leftout.data.reading import Source
        from leftout.files import check_folder
        from leftout.running import collected_warnings

        if out is not None:
            check_folder(out, "groups.json", "named.csv", "known.csv")
        report("reading the table", 0, 1)
        source = Source.of(table, sheet)
        with collected_warnings() as notes:
            intake = _taken_in(source, given)
            named, known = _found(intake, given, report)
        notes = [*source.notes, *notes]
        data = _told(intake, named, known, notes) if as_json or out is not None else {}
        contents = {} if out is None else _files(data, named, known)
    for note in notes:
        click.echo(f"Note: {note}", err=True)

    from leftout.cli import terminal

    brief = data if as_json else None
    deliver(out, contents, lambda to: terminal.show_groups(to, named, known), brief)


def _taken_in(source: Source, given: dict[str, Any]) -> PreparedTable:
    """The table as an audit takes it in: the same numbers, and the same rows of a sample."""
    from leftout.checks import generator
    from leftout.cli import options
    from leftout.data.preparation import prepare_table
    from leftout.settings import Reading

    column, positive = options.target(given["target"], source.table)
    chosen: dict[str, Any] = {
        name: options.names(given[name], source.table, name)
        for name in ("categorical", "numeric", "drop", "sensitive")
    }
    reading = Reading(
        target=column, positive=positive, missing=given["missing"],
        dictionary=given["dictionary"], **chosen,
    )  # fmt: skip
    rng = generator(given["random_state"]).spawn(1)[0]
    return prepare_table(source, reading, sample=given["sample"], rng=rng)


def _found(
    intake: PreparedTable, given: dict[str, Any], report: Report
) -> tuple[NamedGroups, KnownGroups | None]:
    from leftout.groups.known import known_groups
    from leftout.groups.subgroups import named_groups
    from leftout.running import Stages

    stages = Stages(_STAGES if intake.hidden else {_NAMED: 1.0}, report)
    asked: dict[str, Any] = {
        "depth": given["depth"], "min_group_size": given["fewest"],
        "random_state": given["random_state"], "n_jobs": given["n_jobs"],
    }  # fmt: skip
    named = named_groups(
        intake.X, intake.telling, n_components=given["n_components"], top=given["top"],
        target=intake.target, positive=intake.positive, progress=stages.begin(_NAMED), **asked,
    )  # fmt: skip
    if not intake.hidden:
        return named, None
    known = known_groups(
        intake.X, intake.hidden, n_components=named.n_components,
        permutations=given["permutations"], progress=stages.begin(_KNOWN), **asked,
    )  # fmt: skip
    return named, known


def _told(
    intake: PreparedTable, named: NamedGroups, known: KnownGroups | None, notes: list[str]
) -> dict[str, Any]:
    """Both lists as plain data."""
    from leftout import __version__

    return {
        "leftout_version": __version__,
        "command": own_words(),
        "table": {
            "source": intake.source,
            "rows": len(intake.rows),
            "rows_in_table": intake.n_rows,
            "features": intake.X.shape[1],
            "target": None if intake.target is None else intake.target.name,
            "positive": intake.positive,
            "sensitive": intake.sensitive,
        },
        "named": named.to_dict(),
        "known": None if known is None else known.to_dict(),
        "notes": notes,
    }


def _files(
    data: dict[str, Any], named: NamedGroups, known: KnownGroups | None
) -> dict[str, str | bytes]:
    import json

    contents: dict[str, str | bytes] = {
        "groups.json": json.dumps(data, indent=1) + "\n",
        "named.csv": as_csv(named.table),
    }
    if known is not None:
        lines = known.by_group.reset_index(drop=True)
        lines.insert(0, "group", [group.text for group in known.groups])
        lines["left_out"] = [group.left_out for group in known.groups]
        contents["known.csv"] = as_csv(lines)
    return contents


def as_csv(table: pd.DataFrame, column: str | None = None) -> str:
    """A table of groups; a name that a spreadsheet would take for a formula has an apostrophe.

    Names are in the first column, or the one named.
    """
    names = table.columns[:1].tolist() if column is None else [column]
    guarded = {
        name: [f"'{text}" if text.startswith(_FORMULA) else text for text in table[name]]
        for name in names
    }
    return table.assign(**guarded).to_csv(index=False, lineterminator="\n")
