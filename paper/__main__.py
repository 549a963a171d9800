"""``python -m paper DATA_DIR``: the paper's tables and figures, ours beside theirs."""

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click
import pandas as pd
from rich.console import Console

from leftout.cli.common import deliver, reported, takes
from leftout.cli.main import OneSentence
from leftout.cli.terminal import say, show
from paper.verdicts import STATUSES


@click.command(cls=OneSentence)
@click.argument("data_dir", type=click.Path(path_type=Path))
@click.option(
    "--dataset", default="students,credit,diabetes", show_default=True, metavar="A,B",
    help="Which of students, credit and diabetes.",
)  # fmt: skip
@click.option(
    "--runs", default=30, show_default=True, type=click.IntRange(2),
    help="Runs of greedy on every sample, of every search on the first.",
)  # fmt: skip
@click.option(
    "--samples", default=10, show_default=True, type=click.IntRange(1),
    help="Samples of each table; annealing and our search run a sixth as often on further ones.",
)  # fmt: skip
@click.option(
    "--rows", default=2000, show_default=True, type=click.IntRange(100), help="Rows of a sample."
)
@click.option(
    "--chance", default=39, show_default=True, type=click.IntRange(0),
    help="Comparison tables, to tell what explains the group found; 0 for none.",
)  # fmt: skip
@takes("out", "random_state", "n_jobs", "as_json", "quiet", out=Path("leftout-paper"))
def main(
    data_dir: Path,
    dataset: str,
    runs: int,
    samples: int,
    rows: int,
    chance: int,
    out: Path,
    random_state: int,
    n_jobs: int,
    as_json: bool,
    quiet: bool,
) -> None:
    """Every table and figure of the paper, recomputed from the tables in DATA_DIR.

    Looks for the three tables under the names that they are downloaded by (students: data.csv,
    dataset.csv or students_dropout.csv; credit: UCI_Credit_Card.csv, 'default of credit card
    clients.xls' or credit_default.csv; diabetes: diabetes_binary_health_indicators_BRFSS2015.csv or
    diabetes_health_indicators.csv; also .csv.gz, or in a .zip). Writes reproduction.html,
    reproduction.json and figures/ to a folder.

    Takes about 20 minutes on two cores. A quick look, in two minutes:
    python -m paper DATA_DIR --dataset credit --runs 5 --samples 2
    """
    with reported(quiet) as report:
        from leftout.errors import InputError
        from leftout.files import check_folder
        from paper import reproduce

        if n_jobs == 0:
            raise InputError("--jobs 0 starts no thread; give a number from 1, or -1.")
        check_folder(out, "reproduction.json", "reproduction.html")
        asked = [name.strip().lower() for name in dataset.split(",") if name.strip()]
        found = reproduce(
            data_dir, datasets=asked, runs=runs, samples=samples, rows=rows, chance=chance,
            random_state=random_state, n_jobs=n_jobs,
            progress=report if quiet or sys.stderr.isatty() else _Log(),
        )  # fmt: skip
    brief = None
    if as_json:
        brief = {key: found.data[key] for key in ("headline", "settings", "counts")}
        brief["lessons"] = {key: data["lessons"] for key, data in found.data["datasets"].items()}
    deliver(out, found.files(), lambda to: show_reproduction(to, found.data), brief)


class _Log:
    """A line for every per cent of the way, with what is being done."""

    def __init__(self) -> None:
        self.last = -1

    def __call__(self, what: str, done: int, total: int) -> None:
        now = 100 * done // total
        if now > self.last or what == "done":
            click.echo(f"{now:3d}%  {what}", err=True)
        self.last = max(now, self.last)


def show_reproduction(console: Console, data: Mapping[str, Any]) -> None:
    """The paper's numbers and ours: how many came out, the main ones, and what was learnt."""
    say(console, data["headline"], "\n")
    rows = [
        (part, *(f"{line['paper'][name]} / {line['definition'][name]}" for name in STATUSES))
        for part, line in data["counts"]["parts"].items()
    ]
    title = "Verdicts: with the paper's formula / by the definition"
    show(console, title, pd.DataFrame(rows, columns=["part", *STATUSES]))
    for key, section in data["datasets"].items():
        rows = []
        for line in section["partitions"]:
            published = line["published"]
            cells = [f"{published['delta']:.4g}" if published else ""]
            for formula in ("paper", "definition"):
                ours, spread = line[formula], line[formula]["on_all_samples"]
                reach = f"{spread['low']:.3g} to {spread['high']:.3g}"
                cells.append(f"{ours['disparity']:.4g} ({reach})")
            rows.append((line["words"], *cells))
        title = f"\nDisparities of {key}: published, and the best run (range over runs and samples)"
        heads = ["method", "published", "paper's formula", "definition"]
        show(console, title, pd.DataFrame(rows, columns=heads))
        for lesson in section["lessons"]:
            head, text = lesson.split(": ", 1)
            say(console, f"- {head}: ", text)
    console.print()


if __name__ == "__main__":
    main()
