"""The command line: arguments in, a result people can read out."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from leftout import __version__

if TYPE_CHECKING:
    import pandas as pd
    from rich.console import Console

    from leftout.partition import MaxDisparityPartition

_DEMO_SIZE, _DEMO_LARGEST = 200, 994
_DEMO_ROWS = 8


class InputError(click.ClickException):
    """Wrong input or options: one sentence on stderr, exit code 2."""

    exit_code = 2


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="leftout")
def main() -> None:
    """Find out who a shared PCA leaves out, with no group labels."""


@main.command()
@click.option(
    "--seed", default=0, show_default=True, type=click.IntRange(0), help="Seed of the search."
)
@click.option(
    "--size",
    default=_DEMO_SIZE,
    show_default=True,
    type=click.IntRange(1, _DEMO_LARGEST),
    help="Applicants to look for.",
)
def demo(seed: int, size: int) -> None:
    """Search 1,989 real mortgage applications for the people PCA represents worst.

    The search sees 55 columns of each application and not the decision.
    """
    from rich.console import Console

    progress = Console(stderr=True)
    with progress.status("Loading libraries"):
        from sklearn.impute import SimpleImputer
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import MinMaxScaler

        from leftout.datasets import load_demo
        from leftout.partition import MaxDisparityPartition
    try:
        table = load_demo()
        features = table.drop(columns="approve")
        encode = make_pipeline(SimpleImputer(strategy="median"), MinMaxScaler())
        encoded = encode.set_output(transform="pandas").fit_transform(features)
        message = "Searching (the very first search also compiles, about 20 seconds)"
        with progress.status(message):
            found = MaxDisparityPartition(group_size=size, random_state=seed).fit(encoded)
    except (ImportError, ValueError) as error:
        raise InputError(str(error)) from error
    _show(Console(), table, encoded, found)


def _show(
    console: Console, table: pd.DataFrame, encoded: pd.DataFrame, found: MaxDisparityPartition
) -> None:
    from rich.table import Table

    from leftout.datasets import DEMO_COLUMNS

    group = found.labels_ == 1
    approved = [100.0 * table["approve"][side].mean() for side in (group, ~group)]
    kept, own = 100.0 * found.retained_, 100.0 * found.retained_own_
    share = 100.0 * found.explained_variance_ratio_.sum()
    console.print(
        f"[bold]{group.sum()} of {len(table):,} mortgage applicants are left out.[/bold] "
        f"A shared PCA with {found.n_components_} components keeps {share:.0f} % of the table's "
        f"variance but {kept[1]:.0f} % of this group's; its own PCA would keep {own[1]:.0f} %. "
        f"The search never saw the decision: {approved[0]:.0f} % of the left-out group were "
        f"approved, {approved[1]:.0f} % of the rest.\n",
        highlight=False,
    )
    sides = Table("", "left-out group", "rest", title="The two sides", title_justify="left")
    for name, values, form in (
        ("applicants", found.sizes_, "{:,}"),
        ("average loss", found.losses_, "{:.3f}"),
        ("variance kept by the shared PCA", kept, "{:.0f} %"),
        ("variance its own PCA would keep", own, "{:.0f} %"),
        ("approved", approved[::-1], "{:.0f} %"),
    ):
        sides.add_row(name, form.format(values[1]), form.format(values[0]))
    console.print(sides)

    gap = (encoded[group].mean() - encoded[~group].mean()) / encoded.std()
    differing = gap.abs().sort_values(ascending=False).index[:_DEMO_ROWS]
    columns = Table(
        "column", "meaning", "left out", "rest", title="\nWhere they differ most (means)",
        title_justify="left",
    )  # fmt: skip
    for name in differing:
        means = (f"{table[name][side].mean():.2f}" for side in (group, ~group))
        columns.add_row(name, DEMO_COLUMNS.get(name, ""), *means)
    console.print(columns)
    console.print(
        f"\nDisparity {found.disparity_:.3f}; no group of this size can exceed "
        f"{found.bound_:.3f} (certified).\nA large disparity alone proves nothing: a search finds "
        "some on any table.",
        highlight=False,
    )
