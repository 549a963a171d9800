"""What the command line prints, for people: plain words first, then short tables.

Names and values come from tables that anybody may have made: they are printed as text, never as
markup or as commands to the terminal.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from leftout.evidence import Trust
from leftout.explain import Explanation
from leftout.partition import MaxDisparityPartition
from leftout.wording import shown

_LINES, _RULES = 8, 5


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
        ("average loss (squared error beyond its own PCA's)", found.losses_, "{:.3f}"),
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
    _show_rules(console, told)


def _show_features(console: Console, told: Explanation, meanings: Mapping[str, str]) -> None:
    parts = told.by_column()
    total = sum(parts.values())
    table = _table("\nWhat the disparity is made of", "feature", "meaning", "part", "share")
    lines = [(name, meanings.get(name, ""), part) for name, part in list(parts.items())[:_LINES]]
    if len(parts) > len(lines):
        left = total - sum(part for *_, part in lines)
        lines.append((f"{len(parts) - len(lines)} others", "", left))
    for name, meaning, part in lines:
        _row(table, name, meaning, f"{part:.3f}", f"{100 * part / total:.0f} %")
    console.print(_without_empty(table, meanings))


def _show_columns(console: Console, told: Explanation, meanings: Mapping[str, str]) -> None:
    table = _table(
        "\nWhich columns the group looks like (share with a value, or mean)",
        "column", "meaning", "strength", "left out", "rest",
    )  # fmt: skip
    for line in told.alignment[:_LINES]:
        name, sides = line.text, ("", "")
        if line.means is not None:
            sides = f"{line.means[0]:.4g}", f"{line.means[1]:.4g}"
        if line.contrast is not None:
            name += f" = {line.contrast}" if line.kind == "category" else ""
            shares = (line.left_out_share or 0.0, line.rest_share or 0.0)
            sides = f"{100 * shares[0]:.0f} %", f"{100 * shares[1]:.0f} %"
        name += "" if line.searched else " (not searched)"
        _row(table, name, meanings.get(line.column, ""), f"{line.strength:.2f}", *sides)
    console.print(_without_empty(table, meanings))


def _show_rules(console: Console, told: Explanation) -> None:
    rules = told.rules.of(1)[:_RULES]
    if not len(rules):
        return
    table = _table(
        "\nRules: who is left out far more often than others", "if", "rows", "left out", "lift"
    )
    for rule in rules:
        share = f"{rule.count:,} ({100 * rule.confidence:.0f} %)"
        _row(table, rule.text, f"{rule.covered:,}", share, f"{rule.lift:.1f}")
    console.print(table)


def show_trust(console: Console, found: Trust) -> None:
    """Whether to believe it."""
    _say(
        console,
        "\nIs it real?",
        " A large disparity alone proves nothing: a search finds some on any table.\n"
        + found.summary(),
    )


def show_rows(
    console: Console, rows: dict[str, Any], meanings: Mapping[str, str] | None = None
) -> None:
    """Actual rows, which somebody has asked for: the group's deepest, the rest's most typical."""
    sides = (("left_out", "left out"), ("rest", "rest"))
    every = [
        (f"{word}, row {row['row']}", row["values"]) for key, word in sides for row in rows[key]
    ]
    heads = ("column", "meaning", *(head for head, _ in every))
    table = _table("\nDeepest in the left-out group, and most typical of the rest", *heads)
    for name in every[0][1]:
        cells = ("" if values[name] is None else values[name] for _, values in every)
        _row(table, name, (meanings or {}).get(name, ""), *cells)
    console.print(_without_empty(table, meanings or {}))


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
