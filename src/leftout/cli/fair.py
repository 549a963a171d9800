"""``leftout fair``: Fair PCA for known groups."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from leftout import __version__
from leftout.cli.common import deliver, interruptible, refused, reported, takes

if TYPE_CHECKING:
    from leftout.fair.mitigation import Mitigation


@click.command()
@takes(
    "table", "sheet", "groups_col", "n_components", "across", "drop", "categorical", "numeric",
    "missing", "dictionary", "permutations", "out", "n_jobs", "as_json", "quiet",
)  # fmt: skip
def fair(
    table: str,
    sheet: str | None,
    groups_col: str,
    n_components: int | float,
    across: list[int] | None,
    drop: tuple[str, ...],
    categorical: tuple[str, ...],
    numeric: tuple[str, ...],
    missing: str | None,
    dictionary: str | None,
    permutations: int,
    out: Path | None,
    n_jobs: int,
    as_json: bool,
    quiet: bool,
) -> None:
    """Fair PCA for known groups: losses before and after, and what it costs.

    TABLE is a CSV or TSV file (also gzipped), Parquet, Feather or Excel, or the address of one. The
    column with the groups is not projected; numbers and dates are cut into four bands. A loss is
    called one only beside those of random groups of the same size.
    """
    with interruptible(), reported(quiet) as report, refused():
        from leftout.cli import options
        from leftout.data.encoder import TableEncoder
        from leftout.data.reading import Source
        from leftout.fair.mitigation import mitigate
        from leftout.files import check_folder
        from leftout.running import collected_warnings

        if out is not None:
            check_folder(out, "fair.json", "fair.png")
        report("reading the table", 0, 1)
        source = Source.of(table, sheet)
        raw = source.table
        by = options.names(groups_col, raw, "groups_col")
        left = [*by, *options.names(drop, raw, "drop")]
        codes = options.names(categorical, raw, "categorical")
        numbers = options.names(numeric, raw, "numeric")
        encoder = TableEncoder(
            codes, numeric=numbers, drop=left, missing=missing, dictionary=dictionary
        )
        with collected_warnings() as notes:
            groups = options.groups(raw, by)
            X = encoder.fit_transform(raw)
            found = mitigate(
                X, groups, n_components, across=across, permutations=permutations, n_jobs=n_jobs,
                progress=report,
            )  # fmt: skip
        contents = {} if out is None else _files(found)
    for note in (*source.notes, *notes):
        click.echo(f"Note: {note}", err=True)

    from leftout.cli import terminal

    shown = (found, encoder.encoding_, list(map(str, by)))
    brief = {"groups_col": by, **found.to_dict()} if as_json else None
    deliver(out, contents, lambda to: terminal.show_fair(to, *shown), brief)


def _files(found: Mitigation) -> dict[str, str | bytes]:
    import json

    data = {"leftout_version": __version__, **found.to_dict()}
    contents: dict[str, str | bytes] = {"fair.json": json.dumps(data, indent=2) + "\n"}
    return contents | ({"fair.png": _drawn(found)} if found.by_dimension else {})


def _drawn(found: Mitigation) -> bytes:
    """A figure, as a PNG file."""
    from io import BytesIO

    from matplotlib.figure import Figure

    from leftout import plots

    figure, buffer = Figure(figsize=(6.4, 4.0), layout="constrained"), BytesIO()
    plots.mitigation(found, figure.subplots())
    figure.savefig(buffer, format="png", dpi=150)
    return buffer.getvalue()
