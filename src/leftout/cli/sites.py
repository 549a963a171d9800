"""``leftout plan`` and ``leftout moments``: sites that may not share rows send sums."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from leftout.cli.common import InputError, deliver, interruptible, refused, takes

if TYPE_CHECKING:
    from rich.console import Console


@click.command()
@takes(
    "table", "sheet", "sensitive", "drop", "categorical", "numeric", "missing", "dictionary",
    "smallest", "out_file",
)  # fmt: skip
def plan(
    table: str, sheet: str | None, smallest: int, out_file: Path, dictionary: str | None,
    missing: str, **named: str,
) -> None:  # fmt: skip
    """Write down how the columns of TABLE become numbers, for sites that may not share rows.

    One site makes the plan from its table, and all use it: ranges, levels, medians and the known
    groups of sensitive columns are in it, as JSON that people can read; rows are not.
    """
    with interruptible(), refused():
        from leftout.cli import options
        from leftout.running import collected_notes
        from leftout.scale.agreed import Agreed
        from leftout.tables.reading import Source
        from leftout.tables.said.reading import Reading

        source = Source.of(table, sheet)
        said: dict[str, Any] = {
            name: options.names(text, source.table, name) for name, text in named.items()
        }
        said |= {"missing": missing or None, "dictionary": dictionary}
        with collected_notes() as notes:
            agreed = Agreed.on(source, smallest, Reading(**said))
        _write(out_file, agreed.json(), (*source.notes, *notes))
    groups = sum(len(each.groups) for each in agreed.attributes)
    click.echo(
        f"Written: {out_file}: {len(agreed.features)} features, {groups} known groups. Send it to "
        f"all sites, and take moments there: leftout moments TABLE --plan {out_file.name} --out "
        "FILE.npz"
    )


@click.command()
@takes("table", "sheet", "plan", "smallest", "out_file")
def moments(table: str, sheet: str | None, plan: str, smallest: int, out_file: Path) -> None:
    """Write the sums of TABLE that an audit across sites needs; no row is in them.

    Counts, sums and second moments of all rows and of the plan's known groups. The files of all
    sites are audited together: leftout audit one.npz two.npz
    """
    with interruptible(), refused():
        from leftout.running import collected_notes
        from leftout.scale.agreed import Agreed
        from leftout.scale.sites import take_moments
        from leftout.tables.reading import Source

        agreed, source = Agreed.of(plan), Source.of(table, sheet)
        with collected_notes() as notes:
            found = take_moments(agreed, source.table, smallest)
        _write(out_file, found.file(), (*source.notes, *notes))
    click.echo(
        f"Written: {out_file}: sums of {int(found.moments.count[0]):,} rows and "
        f"{len(found.groups)} known groups, no row."
    )


def audit_moments(paths: Sequence[str], dims: str, out: Path | None, as_json: bool) -> None:
    """Audit what sites have sent, and write sites.json."""
    with interruptible(), refused():
        import json

        from leftout.cli import options
        from leftout.files import check_folder
        from leftout.scale.sites import audit_sites, read_sites

        folder = Path("leftout-sites") if out is None else out
        check_folder(folder)
        found = audit_sites(read_sites(paths), options.dimensions(dims))
        contents = {"sites.json": json.dumps(found.to_dict(), indent=1) + "\n"}

    def show(console: Console) -> None:
        console.print(found.summary(), highlight=False, markup=False)

    deliver(folder, contents, show, found.to_dict() if as_json else None)


def _write(path: Path, content: str | bytes, notes: Sequence[str]) -> None:
    """Write a file whole, after what is to be borne in mind."""
    from leftout.files import unwritable, write_whole

    for note in notes:
        click.echo(f"Note: {note}", err=True)
    try:
        write_whole(path, content)
    except OSError as error:
        raise InputError(str(unwritable(path.parent, error))) from error
