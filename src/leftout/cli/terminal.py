"""What the command line prints, for people: plain words first, then short tables.

Names and values come from tables that anybody may have made: they are printed as text, never as
markup or as commands to the terminal.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from rich.console import Console
from rich.table import Table
from rich.text import Text

from leftout.auditing.comparison import Comparison
from leftout.auditing.result import Audit
from leftout.downstream.prediction import ComparedPrediction
from leftout.downstream.result import CostTable, Harm
from leftout.fair.mitigation import Mitigation
from leftout.groups.known import KnownGroup, KnownGroups
from leftout.groups.subgroups import NamedGroup, NamedGroups
from leftout.report.pages import loss_cell, p_cell
from leftout.text import counted, listed, number, percent, points, shown

_TABLE_LINES, _GROUP_LINES = 8, 20
# With more sides than these, the table of costs is turned.
_MOST_HEADS = 6
# Names of groups, and of sides, have this much room at least, on a terminal that is not narrow.
_NAME_WIDTH, _SIDE_WIDTH, _NARROW_TERMINAL = 18, 12, 80


def say(console: Console, heading: str, text: str) -> None:
    """A heading in bold and a text, which is never markup."""
    console.print(Text.assemble((heading, "bold"), text), highlight=False)


def show(console: Console, title: str, frame: pd.DataFrame, least: int | None = None) -> None:
    """A table, if it has rows; its first column has some room at ``least``."""
    if frame.empty:
        return
    table = Table(title=Text(title), title_justify="left")
    least = least if console.width >= _NARROW_TERMINAL else None
    for place, head in enumerate(frame.columns):
        table.add_column(Text(shown(head)), min_width=None if place else least)
    for row in frame.astype(object).itertuples(index=False, name=None):
        cells = zip(frame.columns, row, strict=True)
        table.add_row(*(Text(shown(_cell(head, value))) for head, value in cells))
    console.print(table)


def _cell(head: str, value: Any) -> str:
    """A value as people read it: p-values under a head that says so, whole numbers, losses."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "yes" if value else "no"
    if value is None or np.isnan(value):
        return ""
    if head == "p":
        return p_cell(value)
    return loss_cell(value) if isinstance(value, float) else f"{value:,}"


def show_audit(console: Console, found: Audit, full: bool = False) -> None:
    """The answer, a line for each question, and costs; ``full``: findings too."""
    answer = found.answer
    say(console, answer.fact, "\n")
    for ask, text in answer.lines.items():
        say(console, f"{ask}: ", shown(text))
    readings = "" if found.readings is None else f" {found.readings.brief}"
    say(console, "What was audited: ", shown(found.audited.text + readings))
    for text in answer.mind:
        say(console, "Bear in mind: ", shown(text))
    if answer.costs is not None:
        _show_costs(console, answer.costs)
    if full:
        _show_findings(console, "\nFindings", found)
        for group in () if found.alone else found.left_out_groups:
            _show_findings(console, f"\nFindings on left-out group {group.label}", group)
    weighed = [group.trust for group in found.left_out_groups if group.trust is not None]
    for note in dict.fromkeys([*found.notes, *(note for one in weighed for note in one.notes)]):
        say(console, "\nNote: ", shown(note))
    if not full:
        say(console, "", "The report has all tables; --full prints the findings.")
    console.print()


def _show_findings(console: Console, title: str, of: Any) -> None:
    answers = [(finding.code, finding.title, finding.status) for finding in of.findings]
    show(console, title, pd.DataFrame(answers, columns=["code", "question", "answer"]))


def show_groups(console: Console, named: NamedGroups, known: KnownGroups | None) -> None:
    """Subgroups, and known groups, without an audit."""
    say(console, "Subgroups.", shown(f" {named.text}"))
    lines = _losses([group.condition for group in named.groups], named.groups)
    outcomes = [group.outcome for group in named.groups if group.outcome is not None]
    if outcomes:
        gaps = [outcome.shown["gap"].split(" (")[0] for outcome in outcomes]
        lines[f"{outcomes[0].text}, gap"] = gaps
    title = "\nSubgroups: average losses, beside random groups' of that size"
    show(console, title, lines, _NAME_WIDTH)
    if known is not None:
        say(console, "\nKnown groups.", shown(f" {known.count_text} {known.small_text}"))
        lines = _losses([group.text for group in known.ranked], known.ranked)
        lines.insert(2, "left out", [group.left_out for group in known.ranked])
        lines.insert(3, "p", [group.p_value for group in known.ranked])
        title = "\nKnown groups, left-out ones first: average losses, beside random groups'"
        show(console, title, lines[:_TABLE_LINES], _NAME_WIDTH)
        if len(lines) > _TABLE_LINES:
            say(console, "", f"The first {_TABLE_LINES} of {len(lines):,}.")
    say(
        console,
        "\nHow to read this.",
        " Loss: squared error per row, beyond what the group's own PCA would leave; the own PCA of "
        "any small group fits it well, so compare with random groups of that size. Whether "
        "subgroups lose more than those of surrogate tables is tested by leftout audit alone.",
    )


def _losses(names: list[str], groups: Sequence[NamedGroup | KnownGroup]) -> pd.DataFrame:
    """Each group's loss, the rest's and random groups', as fine as the first."""
    return pd.DataFrame({
        "group": names,
        "rows": [group.size for group in groups],
        "loss": [group.loss for group in groups],
        "rest": [number(group.rest_loss, group.loss) for group in groups],
        "random": [number(group.random, group.loss) for group in groups],
    })  # fmt: skip


def show_fair(console: Console, found: Mitigation, by: list[str]) -> None:
    """What Fair PCA does about the groups of some columns."""
    say(console, f"Fair PCA for the groups of {listed(by)}.", f" {found.summary()}\n")
    groups = pd.DataFrame({
        "": found.names(),
        "rows": found.sizes,
        "loss before": found.losses_before,
        "loss after": found.losses_after,
        "kept before": [percent(share, 1) for share in found.retained_before],
        "kept after": [percent(share, 1) for share in found.retained_after],
        "weight": [f"{weight:.2f}" for weight in found.group_weights],
    })  # fmt: skip
    most = groups.sort_values("loss before", ascending=False, kind="stable")[:_GROUP_LINES]
    show(console, f"The groups, with {counted(found.n_components, 'component')}", most)
    if len(groups) > len(most):
        said = f"The {len(most)} of {len(groups)} groups with the largest losses before."
        say(console, "", said)
    across = pd.DataFrame({
        "components": [line.n_components for line in found.by_dimension],
        "largest loss before": [line.losses_before.max() for line in found.by_dimension],
        "largest loss after": [line.losses_after.max() for line in found.by_dimension],
        "dimensions": [line.rank for line in found.by_dimension],
        "price": [f"{points(max(line.price, 0.0))}%" for line in found.by_dimension],
    })  # fmt: skip
    show(console, "\nAcross numbers of components", across)
    text = (
        "Loss: squared error per row, beyond what the group's own PCA would leave. Kept: share of "
        "the group's variance. Weight: how much the group stands in the way of the others. Price: "
        "share of the table's variance that ordinary PCA would keep beyond Fair PCA. Small groups "
        "lose much by chance: leftout groups compares them with random ones."
    )
    say(console, "", text)


def show_comparison(console: Console, found: Comparison) -> None:
    """What has changed since an audit, and what was looked at."""
    say(console, "Then and now. ", shown(found.text))
    console.print()
    figures = [each for each in found.changes if each.of != "column"]
    columns = [each for each in found.changes if each.of == "column"]
    columns.sort(key=lambda each: 1.0 if each.corrected is None else each.corrected)
    for title, part in (("The old group, and who is represented worst", figures),
                        ("\nColumns, those that differ most first", columns)):  # fmt: skip
        frame = pd.DataFrame({
            "": [each.what for each in part],
            "then": [each.figure(each.then.value) for each in part],
            "now": [each.figure(each.now.value) for each in part],
            "difference (95% interval)": [each.shown for each in part],
            "p": [each.corrected for each in part],
        })  # fmt: skip
        show(console, title, frame[:_TABLE_LINES], _NAME_WIDTH)
    for note in found.notes:
        say(console, "\nNote: ", shown(note))
    text = (
        "p: corrected for all that was looked at. Each half of the old rows is judged by the rule "
        "that the other half has learned, the new rows by both."
    )
    say(console, "", text)


def show_harm(console: Console, found: Harm, compared: ComparedPrediction | None) -> None:
    """What components cost a model, for one command: in words, then as tables."""
    say(console, "What it costs.", f" {shown(found.summary())}\n")
    _show_costs(console, found.cost_table())
    if compared is not None:
        say(console, "\nThe prediction that is there.", f" {shown(compared.summary())}")


def _show_costs(console: Console, costs: CostTable) -> None:
    """Errors from each kind of features: a line for each of them, or of many groups for each."""
    lines = pd.DataFrame(costs.rows, columns=costs.heads)
    if len(costs.heads) > _MOST_HEADS:
        lines = lines.set_index("").T.rename_axis("").reset_index()
    show(console, f"\nWhat it costs. {costs.caption}", lines, _SIDE_WIDTH)
