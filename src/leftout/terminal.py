"""What the command line prints, for people: plain words first, then short tables.

Names and values come from tables that anybody may have made: they are printed as text, never as
markup or as commands to the terminal.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table
from rich.text import Text

from leftout.evidence import Trust
from leftout.explain import Explanation
from leftout.partition import MaxDisparityPartition
from leftout.wording import shown

_LINES = 8


def show_group(
    console: Console,
    found: MaxDisparityPartition,
    told: Explanation,
    people: str = "rows",
    meanings: Mapping[str, str] | None = None,
) -> None:
    """How badly the group fares, and who it is; ``meanings`` say what columns are, in words."""
    kept, own = 100.0 * found.retained_, 100.0 * found.retained_own_
    share = 100.0 * found.explained_variance_ratio_.sum()
    _say(
        console,
        f"{found.sizes_[1]:,} of {found.sizes_.sum():,} {shown(people)} are left out.",
        f" A shared PCA with {found.n_components_} components keeps {share:.0f} % of the table's "
        f"variance but {kept[1]:.0f} % of this group's; its own PCA would keep {own[1]:.0f} %.\n",
    )
    sides = _table("The two sides", "", "left-out group", "rest")
    for name, values, form in (
        (people, found.sizes_, "{:,}"),
        ("average loss", found.losses_, "{:.3f}"),
        ("variance kept by the shared PCA", kept, "{:.0f} %"),
        ("variance its own PCA would keep", own, "{:.0f} %"),
    ):
        _row(sides, name, form.format(values[1]), form.format(values[0]))
    for outcome in told.outcome[:1]:
        _row(sides, f"{outcome.text} (not searched)", *outcome.sides())
    console.print(sides)
    _say(console, "\nWho are they?", "\n" + told.summary())
    _show_features(console, told, meanings or {})
    _show_columns(console, told, meanings or {})


def _show_features(console: Console, told: Explanation, meanings: Mapping[str, str]) -> None:
    parts = told.disparity_by_feature
    order = np.argsort(-parts, kind="stable")[:_LINES]
    table = _table("\nWhat the disparity is made of", "feature", "meaning", "part", "share")
    for place in order:
        name = told.features[place]
        _row(
            table, name, meanings.get(name, ""), f"{parts[place]:.3f}",
            f"{100 * parts[place] / parts.sum():.0f} %",
        )  # fmt: skip
    rest = parts.sum() - parts[order].sum()
    _row(
        table, f"{len(parts) - len(order)} others", "", f"{rest:.3f}",
        f"{100 * rest / parts.sum():.0f} %",
    )  # fmt: skip
    console.print(_without_empty(table, meanings))


def _show_columns(console: Console, told: Explanation, meanings: Mapping[str, str]) -> None:
    typical = {line.column: line for line in told.typical}
    table = _table(
        "\nWhich columns the group looks like (median, or most frequent value and its share)",
        "column", "meaning", "strength", "left out", "rest",
    )  # fmt: skip
    for line in told.alignment[:_LINES]:
        usual = typical[line.column]
        sides = [
            value + ("" if share is None else f" ({100 * share:.0f} %)")
            for value, share in (
                (usual.left_out, usual.left_out_share),
                (usual.rest, usual.rest_share),
            )
        ]
        _row(table, line.text, meanings.get(line.column, ""), f"{line.strength:.2f}", *sides)
    console.print(_without_empty(table, meanings))


def show_trust(console: Console, found: Trust) -> None:
    """Whether to believe it."""
    _say(
        console,
        "\nIs it real?",
        " A large disparity alone proves nothing: a search finds some on any table.\n"
        + found.summary(),
    )


def show_rows(console: Console, rows: dict[str, Any]) -> None:
    """Actual rows, which somebody has asked for."""
    for side, title in (
        ("left_out", "Deepest in the left-out group"),
        ("rest", "Most typical of the rest"),
    ):
        for row in rows[side]:
            values = ", ".join(
                f"{shown(name)} = {'missing' if value is None else value}"
                for name, value in row["values"].items()
            )
            _say(console, f"\n{title}, row {row['row']}:", " " + values)


def _say(console: Console, heading: str, text: str) -> None:
    console.print(Text.assemble((heading, "bold"), text), highlight=False)


def _table(title: str, *heads: str) -> Table:
    return Table(*heads, title=title, title_justify="left")


def _row(table: Table, *cells: str) -> None:
    table.add_row(*(Text(shown(cell)) for cell in cells))


def _without_empty(table: Table, meanings: Mapping[str, str]) -> Table:
    """Where nothing says what columns mean, there is no column for it."""
    if not meanings:
        table.columns = [column for column in table.columns if column.header != "meaning"]
    return table
