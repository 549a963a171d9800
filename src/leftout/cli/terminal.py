"""What the command line prints, for people: plain words first, then short tables.

Names and values come from tables that anybody may have made: they are printed as text, never as
markup or as commands to the terminal.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table
from rich.text import Text

from leftout.auditing.result import Audit
from leftout.downstream.outcomes import ALL, SHARED
from leftout.downstream.prediction import ComparedPrediction
from leftout.downstream.result import Harm
from leftout.fair.mitigation import Mitigation
from leftout.groups.known import KnownGroup, KnownGroups
from leftout.groups.subgroups import NamedGroup, NamedGroups
from leftout.linalg.significance import Interval
from leftout.report.pages import loss_cell, p_cell
from leftout.text import counted, listed, number, percent, points, shown

_TABLE_LINES, _GROUP_LINES = 8, 20
# Names of groups, and of sides, have this much room at least, on a terminal that is not narrow.
_NAME_WIDTH, _SIDE_WIDTH, _NARROW_TERMINAL = 18, 12, 80


def say(console: Console, heading: str, text: str) -> None:
    """A heading in bold and a text, which is never markup."""
    console.print(Text.assemble((heading, "bold"), text), highlight=False)


def show(
    console: Console,
    title: str,
    heads: Sequence[str],
    rows: Sequence[Sequence[str]],
    least: int | None = None,
) -> None:
    """A table, if it has rows; its first column has some room at ``least``."""
    if not rows:
        return
    table = Table(title=Text(title), title_justify="left")
    least = least if console.width >= _NARROW_TERMINAL else None
    for place, head in enumerate(heads):
        table.add_column(Text(shown(head)), min_width=None if place else least)
    for row in rows:
        table.add_row(*(Text(shown(cell)) for cell in row))
    console.print(table)


def show_audit(console: Console, found: Audit, full: bool = False) -> None:
    """The answer, a line for each question, and all sides; ``full``: findings and costs too."""
    answer = found.answer
    say(console, answer.fact, "\n")
    for ask, text in answer.lines.items():
        say(console, f"{ask}: ", shown(text))
    readings = "" if found.readings is None else f" {found.readings.brief}"
    say(console, "What was audited: ", shown(found.audited.told + readings))
    for text in answer.mind:
        say(console, "Mind: ", shown(text))
    console.print()
    _show_sides(console, found)
    if full:
        _show_findings(console, "\nFindings", found)
        for group in () if found.alone else found.left_out_groups:
            _show_findings(console, f"\nFindings on left-out group {group.label}", group)
        if found.harm is not None:
            show_costs(console, found.harm)
    weighed = [group.trust for group in found.left_out_groups if group.trust is not None]
    for note in dict.fromkeys([*found.notes, *(note for one in weighed for note in one.notes)]):
        say(console, "\nNote: ", shown(note))
    if not full:
        say(console, "", "The report has all tables; --full prints the findings and the costs.")
    console.print()


def _show_sides(console: Console, found: Audit) -> None:
    """One column for each left-out group, in the order of their numbers, then the rest."""
    groups, joint = found.left_out_groups, found.partition
    measured: list[tuple[str, Any, Callable[[Any], str]]] = [
        ("rows", joint.sizes_, "{:,}".format),
        ("average loss (squared error beyond its own PCA's)", joint.losses_, loss_cell),
        (f"variance kept by the shared {joint.representation_.name}", joint.retained_, percent),
        ("variance its own PCA would keep", joint.retained_own_, percent),
    ]
    order = [*range(1, joint.n_groups_ + 1), 0]
    rows = [(name, *(text(values[side]) for side in order)) for name, values, text in measured]
    weighed = [each.trust for each in groups if each.trust is not None]
    if len(weighed) == len(groups) > 1:
        rows += [
            ("what explains it", *(one.verdict_name or "not tested" for one in weighed), ""),
            ("p, beyond the same values and correlations", *(_p(one.p_value) for one in weighed),
             ""),
        ]  # fmt: skip
    explanations = [each.explanation for each in groups]
    outcomes = [[one.outcome[0] for one in explanations if one.outcome]]
    if found.alone:
        outcomes.append([one.no_outcome for one in explanations if one.no_outcome is not None])
    for each in outcomes:
        if len(each) == len(groups):
            sides = (*(one.sides()[0] for one in each), each[0].sides()[1])
            rows.append((f"{each[0].text} (not searched)", *sides))
    title, names = "The two sides", ["left-out group"]
    if not found.alone:
        title, names = "The groups and the rest", [f"group {each.label}" for each in groups]
    show(console, title, ["", *names, "rest"], rows)


def _show_findings(console: Console, title: str, of: Any) -> None:
    answers = [(finding.code, finding.title, finding.status) for finding in of.findings]
    show(console, title, ("code", "question", "answer"), answers)


def show_groups(console: Console, named: NamedGroups, known: KnownGroups | None) -> None:
    """Subgroups, and known groups, without an audit."""
    say(console, "Subgroups.", shown(f" {named.told}"))
    _show_named(console, named)
    if known is not None:
        say(console, "\nKnown groups.", shown(f" {known.told_count} {known.told_small}"))
        _show_known(console, known)
    say(
        console,
        "\nHow to read this.",
        " Loss: squared error per row, beyond what the group's own PCA would leave; the own PCA of "
        "any small group fits it well, so compare with random groups of that size. Whether "
        "subgroups lose more than those of surrogate tables is tested by leftout audit alone.",
    )


def _show_named(console: Console, named: NamedGroups) -> None:
    outcome = named.groups[0].outcome if named.groups else None
    heads = ["group", "rows", "loss", "rest", "random"]
    heads += [] if outcome is None else [f"{outcome.text}, gap"]
    rows = []
    for group in named.groups:
        cells = [group.condition, f"{group.size:,}", *_losses(group)]
        cells += [] if group.outcome is None else [group.outcome.shown["gap"].split(" (")[0]]
        rows.append(cells)
    title = "\nSubgroups: average losses, beside random groups' of that size"
    show(console, title, heads, rows, _NAME_WIDTH)


def _losses(group: NamedGroup | KnownGroup) -> list[str]:
    """The group's loss, the rest's and random groups', as fine as the first."""
    others = (number(value, group.loss) for value in (group.rest_loss, group.random))
    return [loss_cell(group.loss), *others]


def _show_known(console: Console, known: KnownGroups) -> None:
    groups = known.ranked
    rows = [
        (
            group.text, f"{group.size:,}", "yes" if group.left_out else "no", _p(group.p_value),
            *_losses(group),
        )
        for group in groups[:_TABLE_LINES]
    ]  # fmt: skip
    heads = ("group", "rows", "left out", "p", "loss", "rest", "random")
    title = "\nKnown groups, left-out ones first: average losses, beside random groups'"
    show(console, title, heads, rows, _NAME_WIDTH)
    if len(groups) > _TABLE_LINES:
        say(console, "", f"The first {_TABLE_LINES} of {len(groups):,}.")


def show_fair(console: Console, found: Mitigation, by: list[str]) -> None:
    """What Fair PCA does about the groups of some columns."""
    say(console, f"Fair PCA for the groups of {listed(by)}.", f" {found.summary()}\n")
    names = found.names()
    most = np.argsort(-found.losses_before, kind="stable")[:_GROUP_LINES]
    rows = [
        (
            names[g], f"{found.sizes[g]:,}", loss_cell(found.losses_before[g]),
            loss_cell(found.losses_after[g]), percent(found.retained_before[g], 1),
            percent(found.retained_after[g], 1), f"{found.group_weights[g]:.2f}",
        )
        for g in most.tolist()
    ]  # fmt: skip
    heads = ("", "rows", "loss before", "after", "kept before", "after", "weight")
    title = f"The groups, with {counted(found.n_components, 'component')}"
    show(console, title, heads, rows)
    if len(names) > len(rows):
        say(console, "", f"The {len(rows)} of {len(names)} groups with the largest losses before.")
    _show_dimensions(console, found)
    text = (
        "Loss: squared error per row, beyond what the group's own PCA would leave. Kept: share of "
        "the group's variance. Weight: how much the group stands in the way of the others. Price: "
        "share of the table's variance that ordinary PCA would keep beyond Fair PCA."
    )
    text += " Small groups lose much by chance: leftout groups compares them with random ones."
    say(console, "", text)


def _show_dimensions(console: Console, found: Mitigation) -> None:
    rows = [
        (
            str(line.n_components), loss_cell(line.losses_before.max()),
            loss_cell(line.losses_after.max()), str(line.rank), f"{points(max(line.price, 0.0))}%",
        )
        for line in found.by_dimension
    ]  # fmt: skip
    heads = ("components", "largest loss before", "after", "dimensions", "price")
    show(console, "\nAcross numbers of components", heads, rows)


def show_harm(console: Console, found: Harm, compared: ComparedPrediction | None) -> None:
    """What components cost a model, for one command: in words, then as tables."""
    say(console, "What it costs.", f" {shown(found.summary())}\n")
    show_costs(console, found)
    if compared is not None:
        say(console, "\nThe prediction that is there.", f" {shown(compared.summary())}\n")
        rows = [
            (side, f"{compared.sizes[side]:,}", _within(compared, measures["error"], "%"))
            for side, measures in compared.measures.items()
        ]
        show(console, "Its errors", ("side", "rows", "error (95% interval)"), rows)


def show_costs(console: Console, found: Harm) -> None:
    """Errors of each side and of everybody from each kind of features, what PCA costs them.

    Beside that, what mitigations return.
    """
    unit = "" if found.kind == "number" else ", points"
    called = {SHARED: f"shared {found.shared}"}
    heads = (
        "side", "rows", *(called.get(seen, seen) for seen in found.variants),
        f"{found.shared} costs{unit}", *(f"{seen} returns{unit}" for seen in found.mitigations),
    )  # fmt: skip
    lead = found.cost()
    costs = {c.side: c for c in found.costs if (c.model, c.measure) == (lead.model, lead.measure)}
    rows = []
    for side, n in {f.side: f.rows for f in found.figures if f.model == lead.model}.items():
        paid = [lead.rest_cost, *(back.rest for back in lead.returns.values())]
        if side in costs:
            paid = [costs[side].cost, *(back.group for back in costs[side].returns.values())]
        errors = (found.figure(found.at(side, variant).value) for variant in found.variants)
        rows.append((side, f"{n:,.0f}", *errors, *(_within(found, each, "") for each in paid)))
    error = {seen: each.value for seen, each in found.everybody.items()}
    rows.append((
        "everybody", f"{found.n_rows:,}", *(found.figure(error[seen]) for seen in found.variants),
        *(found.figure(error[SHARED] - error[seen], "") for seen in (ALL, *found.mitigations)),
    ))  # fmt: skip
    what = "average errors" if found.kind == "number" else "wrong predictions"
    title = (
        f"\nWhat it costs them: {what} of {found.target}, {found.models[0]}, held-out rows "
        "(95% intervals)"
    )
    show(console, title, heads, rows, _SIDE_WIDTH)
    if found.leaks:
        say(console, "", shown(found.told_leaks))


def _within(found: Harm | ComparedPrediction, each: Interval, unit: str) -> str:
    value, low, high = each
    if low != low:
        return found.figure(value, unit)
    return f"{found.figure(value, unit)} ({found.figure(low, '')} to {found.figure(high, '')})"


def _p(value: float | None) -> str:
    return "" if value is None or np.isnan(value) else p_cell(value)
