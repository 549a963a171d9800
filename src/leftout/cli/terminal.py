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

from leftout.auditing.result import Audit
from leftout.explain import Explanation
from leftout.fair.mitigation import Mitigation
from leftout.tables.encoding import ColumnEncoding
from leftout.wording import counted, listed, shown

_LINES, _RULES, _GROUPS = 8, 5, 20
_VERDICTS = ("reproduced", "same direction", "not reproduced", "not run")


def show_audit(console: Console, found: Audit, meanings: Mapping[str, str] | None = None) -> None:
    """An audit: one paragraph, then short tables."""
    head, text = found.headline(), found.summary()
    _say(console, head, text.removeprefix(head) + "\n")
    group, told = found.partition.left_out_, found.explanation
    sides = _table("The two sides", "", "left-out group", "rest")
    for name, values, form in (
        ("rows", group.sizes, "{:,}"),
        ("average loss (squared error beyond its own PCA's)", group.losses, "{:.3f}"),
        ("variance kept by the shared PCA", group.retained, "{:.0%}"),
        ("variance its own PCA would keep", group.retained_own, "{:.0%}"),
    ):
        _row(sides, name, form.format(values.group), form.format(values.rest))
    for outcome in told.outcome[:1]:
        _row(sides, f"{outcome.text} (not searched)", *outcome.sides())
    console.print(sides)
    answers = _table("\nFindings", "code", "question", "answer")
    for finding in found.findings:
        _row(answers, finding.code, finding.title, finding.status)
    console.print(answers)
    show_told(console, told, meanings)
    for note in found.notes:
        _say(console, "\nNote: ", note)
    console.print()


def show_told(
    console: Console, told: Explanation, meanings: Mapping[str, str] | None = None
) -> None:
    """Who the group is; ``meanings`` say what columns are, in words."""
    _show_columns(console, told, meanings or {})
    _show_features(console, told, meanings or {})
    _show_rules(console, told)
    if told.rows is not None:
        show_rows(console, told.rows, meanings)


def _show_features(console: Console, told: Explanation, meanings: Mapping[str, str]) -> None:
    parts = told.by_column()
    total = sum(parts.values())
    table = _table("\nWhat the disparity is made of", "feature", "meaning", "part", "share")
    most = sorted(parts.items(), key=lambda part: -abs(part[1]))[:_LINES]
    lines = [(name, meanings.get(name, ""), part) for name, part in most]
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


def show_fair(
    console: Console, found: Mitigation, columns: list[ColumnEncoding], by: list[str]
) -> None:
    """What Fair PCA does about the groups of some columns."""
    fair = found.fair
    _say(console, f"Fair PCA for the groups of {listed(by)}.", f" {found.summary()}\n")
    table = _table(
        f"The groups, with {counted(found.here.n_components, 'component')}",
        " / ".join(by), "rows", "loss before", "after", "kept before", "after", "weight",
    )  # fmt: skip
    short = [_short(name, by) for name in found.names()]
    for g in sorted(np.argsort(-fair.baseline_losses_, kind="stable")[:_GROUPS].tolist()):
        _row(
            table, short[g], f"{fair.sizes_[g]:,}", _loss(fair.baseline_losses_[g]),
            _loss(fair.losses_[g]), f"{100 * fair.baseline_retained_[g]:.1f} %",
            f"{100 * fair.retained_[g]:.1f} %", f"{fair.group_weights_[g]:.2f}",
        )  # fmt: skip
    console.print(table)
    if len(short) > _GROUPS:
        _say(console, "", f"The {_GROUPS} of {len(short)} groups with the largest losses before.")
    _show_dimensions(console, found, short)
    _say(
        console,
        "",
        "Loss: squared error a row, beyond what the group's own PCA would leave. Kept: share of "
        "the group's variance. Weight: how much the group stands in the way of the others. Price: "
        "share of the table's variance that ordinary PCA would keep beyond Fair PCA.",
    )
    left = [f"{shown(line.column)} ({line.how})" for line in columns if line.kind == "dropped"]
    n_features = sum(len(line.features) for line in columns)
    features = f"{n_features:,} features of {fair.sizes_.sum():,} rows were projected."
    if left:
        more = f" and {len(left) - _LINES} more" * (len(left) > _LINES)
        features += f" Left out: {', '.join(left[:_LINES])}{more}."
    filled = sum(line.missing for line in columns if line.kind in ("number", "date"))
    if filled:
        features += f" {filled:,} missing numbers became their column's median."
    _say(console, "\nThe table.", f" {features}")


def show_reproduction(console: Console, data: Mapping[str, Any]) -> None:
    """The paper's numbers and ours: how many came out, the main ones, and what was learnt."""
    _say(console, data["headline"], "\n")
    table = _table("Verdicts: with the paper's formula / by the definition", "part", *_VERDICTS)
    for part, line in data["counts"]["parts"].items():
        both = [f"{line['paper'][name]} / {line['definition'][name]}" for name in _VERDICTS]
        _row(table, part, *both)
    console.print(table)
    for key, section in data["datasets"].items():
        table = _table(
            f"\nDisparities of {key}: published, and the best run (range over runs and samples)",
            "method", "published", "paper's formula", "definition",
        )  # fmt: skip
        for line in section["partitions"]:
            published = line["published"]
            cells = [f"{published['delta']:.4g}" if published else ""]
            for formula in ("paper", "definition"):
                ours, spread = line[formula], line[formula]["on_all_samples"]
                reach = f"{spread['low']:.3g} to {spread['high']:.3g}"
                cells.append(f"{ours['disparity']:.4g} ({reach})")
            _row(table, line["words"], *cells)
        console.print(table)
        for lesson in section["lessons"]:
            head, text = lesson.split(": ", 1)
            _say(console, f"- {head}: ", text)
    console.print()


def _show_dimensions(console: Console, found: Mitigation, short: list[str]) -> None:
    if not found.by_dimension:
        return
    two = len(short) == 2
    heads = [f"before, {name}" for name in short] if two else ["largest before"]
    heads.append("after, both" if two else "largest after")
    heads += [] if two else ["dimensions"]
    table = _table("\nAcross numbers of components", "components", *heads, "price")
    for line in found.by_dimension:
        losses = line.losses_before.tolist() if two else [line.losses_before.max()]
        cells = [_loss(loss) for loss in (*losses, line.losses_after.max())]
        cells += [] if two else [str(line.rank)]
        _row(table, str(line.n_components), *cells, f"{100 * max(line.price, 0.0):.2g} %")
    console.print(table)


def _short(name: str, by: list[str]) -> str:
    """A group's values without the names of its columns, which stand above them."""
    for column in by:
        name = name.replace(f"{shown(column)} = ", "", 1)
    return name


def _loss(value: float) -> str:
    return "0" if abs(value) < 1e-12 else f"{value:.4g}"


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
    table = Table(title=Text(title), title_justify="left")
    for head in heads:
        table.add_column(Text(shown(head)))
    return table


def _row(table: Table, *cells: str) -> None:
    table.add_row(*(Text(shown(cell)) for cell in cells))


def _without_empty(table: Table, meanings: Mapping[str, str]) -> Table:
    """Where nothing says what columns mean, there is no column for it."""
    if not meanings:
        table.columns = [column for column in table.columns if str(column.header) != "meaning"]
    return table
