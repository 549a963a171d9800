"""``leftout harm``: what do components cost a model that predicts from them, and whom?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from leftout.cli.common import deliver, interruptible, own_words, refused, reported, takes

if TYPE_CHECKING:
    import pandas as pd

    from leftout.downstream.prediction import ComparedPrediction
    from leftout.downstream.result import Harm


@click.command()
@takes(
    "table", "sheet", "outcome", "groups_col", "n_components", "prediction", "folds", "repeats",
    "by_dimension", "drop", "categorical", "numeric", "missing", "dictionary", "random_state",
    "out", "n_jobs", "as_json", "quiet",
)  # fmt: skip
def harm(
    table: str, sheet: str | None, out: Path | None, as_json: bool, quiet: bool, **given: Any
) -> None:
    """What does PCA cost the groups of TABLE where something is predicted from it?

    Predicts a target from all columns, from a shared PCA and from Fair PCA, each row by models that
    have not seen it, and compares groups: numbers and dates are cut into four bands. The columns
    with target, groups and prediction are kept out of what models see. With --out writes harm.json,
    harm.csv and harm.png.
    """
    with interruptible(), reported(quiet) as report, refused():
        from leftout.data.reading import Source
        from leftout.downstream.costs import harm as measured
        from leftout.downstream.prediction import compare_prediction
        from leftout.files import check_folder
        from leftout.running import collected_warnings

        if out is not None:
            check_folder(out, "harm.json", "harm.csv", "harm.png")
        report("reading the table", 0, 1)
        source = Source.of(table, sheet)
        with collected_warnings() as notes:
            asked = _Asked(source.table, given)
            found = measured(
                asked.features, asked.y, asked.groups, asked.n_components, encoder=asked.encoder,
                positive=asked.positive, folds=given["folds"], repeats=given["repeats"],
                by_dimension=given["by_dimension"], random_state=given["random_state"],
                n_jobs=given["n_jobs"], progress=report,
            )  # fmt: skip
            compared = None
            if asked.prediction is not None:
                compared = compare_prediction(
                    source.table[asked.prediction], asked.y, asked.groups,
                    positive=asked.positive, random_state=given["random_state"],
                )  # fmt: skip
        told = [*source.notes, *notes]
        data = _told(asked, found, compared, told) if as_json or out is not None else {}
        contents = {} if out is None else _files(data, found)
    for note in told:
        click.echo(f"Note: {note}", err=True)

    from leftout.cli import lines

    brief = data if as_json else None
    deliver(out, contents, lambda to: lines.show_harm(to, found, compared), brief)


class _Asked:
    """What options ask of a table: what is predicted, for whom, and from what."""

    def __init__(self, raw: pd.DataFrame, given: dict[str, Any]) -> None:
        from leftout.cli import options
        from leftout.data.encoder import TableEncoder
        from leftout.errors import InputError

        self.n_components = given["n_components"]
        self.target, self.positive = options.target(given["outcome"], raw)
        self.by = options.names(given["groups_col"], raw, "groups_col")
        self.prediction = options.column(given["prediction"], raw, "prediction")
        aside = [self.target, *self.by, *([] if self.prediction is None else [self.prediction])]
        if len(set(aside)) < len(aside):
            raise InputError(
                "One column cannot be target, group and prediction at once. Name another for "
                "--target, --groups-col or --prediction."
            )
        self.features = raw.drop(columns=aside)
        self.y, self.groups = raw[self.target], options.groups(raw, self.by)
        chosen = {
            name: options.names(given[name], raw, name)
            for name in ("categorical", "numeric", "drop")
        }
        kept = {name: [c for c in each if c not in aside] for name, each in chosen.items()}
        self.encoder = TableEncoder(
            kept["categorical"], numeric=kept["numeric"], drop=kept["drop"],
            missing=given["missing"], dictionary=given["dictionary"],
        )  # fmt: skip


def _told(
    asked: _Asked, found: Harm, compared: ComparedPrediction | None, notes: list[str]
) -> dict[str, Any]:
    """What was measured as plain data."""
    from leftout import __version__

    return {
        "leftout_version": __version__,
        "command": own_words(),
        "groups_col": list(map(str, asked.by)),
        "harm": found.to_dict(),
        "prediction": None if asked.prediction is None else str(asked.prediction),
        "compared": None if compared is None else compared.to_dict(),
        "notes": notes,
    }


def _files(data: dict[str, Any], found: Harm) -> dict[str, str | bytes]:
    import json

    from leftout.cli.groups import as_csv

    return {
        "harm.json": json.dumps(data, indent=1) + "\n",
        "harm.csv": as_csv(found.table, "side"),
        "harm.png": _drawn(found),
    }


def _drawn(found: Harm) -> bytes:
    """A figure, as a PNG file."""
    from io import BytesIO

    from matplotlib.figure import Figure

    from leftout import plots

    figure, buffer = Figure(figsize=(6.4, 4.0), layout="constrained"), BytesIO()
    plots.harm(found, figure.subplots())
    figure.savefig(buffer, format="png", dpi=150)
    return buffer.getvalue()
