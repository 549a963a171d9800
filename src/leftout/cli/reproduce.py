"""``leftout reproduce``: the paper's tables and figures, ours beside theirs."""

from pathlib import Path

import click

from leftout.cli.common import deliver, interruptible, refused, reported, takes


@click.command()
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
@takes("out", "seed", "jobs", "as_json", "quiet", out=Path("leftout-paper"))
def reproduce(
    data_dir: Path,
    dataset: str,
    runs: int,
    samples: int,
    rows: int,
    chance: int,
    out: Path,
    seed: int,
    jobs: int,
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
    leftout reproduce DATA_DIR --dataset credit --runs 5 --samples 2
    """
    with interruptible(), reported(quiet, in_a_log=True) as report, refused():
        from leftout.checks import Refusal
        from leftout.files import check_folder
        from leftout.reproduce import paper

        if jobs == 0:
            raise Refusal("--jobs 0 starts no thread; give a number from 1, or -1.")
        check_folder(out, "reproduction.json", "reproduction.html")
        asked = [name.strip().lower() for name in dataset.split(",") if name.strip()]
        found = paper(
            data_dir, datasets=asked, runs=runs, samples=samples, rows=rows, chance=chance,
            random_state=seed, n_jobs=jobs, progress=report,
        )  # fmt: skip
    brief = None
    if as_json:
        brief = {key: found.data[key] for key in ("headline", "settings", "counts")}
        brief["lessons"] = {key: data["lessons"] for key, data in found.data["datasets"].items()}
    from leftout.cli import terminal

    deliver(out, found.files(), lambda to: terminal.show_reproduction(to, found.data), brief)
