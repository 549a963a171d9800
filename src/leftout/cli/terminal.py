"""What the command line prints, for people: plain words first, then short tables.

Names and values come from tables that anybody may have made: they are printed as text, never as
markup or as commands to the terminal.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table
from rich.text import Text

from leftout.auditing.result import Audit
from leftout.data.encoding import ColumnEncoding
from leftout.downstream.outcomes import ALL, SHARED
from leftout.downstream.prediction import ComparedPrediction
from leftout.downstream.result import Harm
from leftout.evidence.loss_parts import PART_NAMES, LossParts
from leftout.explain import Explanation
from leftout.fair.assessment import Afterwards
from leftout.fair.mitigation import Mitigation
from leftout.groups.known_result import KnownGroup, KnownGroups
from leftout.groups.subgroups import SIX, NamedGroup, NamedGroups
from leftout.linalg.significance import Interval, describe_p
from leftout.text import ZERO_LOSS, as_name, counted, listed, number, points, shown

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
    rows: Iterable[Sequence[str]],
    least: int | None = None,
) -> None:
    """A table, whose first column has some room at ``least``."""
    table = Table(title=Text(title), title_justify="left")
    least = least if console.width >= _NARROW_TERMINAL else None
    for place, head in enumerate(heads):
        table.add_column(Text(shown(head)), min_width=None if place else least)
    for row in rows:
        table.add_row(*(Text(shown(cell)) for cell in row))
    console.print(table)


def show_audit(console: Console, found: Audit, full: bool = False) -> None:
    """An audit: the answer, a line for each question, and all sides; ``full``: all tables."""
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
        _show_everything(console, found)
    weighed = [group.trust for group in found.left_out_groups if group.trust is not None]
    for note in dict.fromkeys([*found.notes, *(note for one in weighed for note in one.notes)]):
        say(console, "\nNote: ", shown(note))
    if not full:
        say(console, "", "All tables: --full, or the report.")
    console.print()


def _show_sides(console: Console, found: Audit) -> None:
    """One column for each left-out group, in the order of their numbers, then the rest."""
    groups, joint = found.left_out_groups, found.partition
    measured: list[tuple[str, Any, Callable[[Any], str]]] = [
        ("rows", joint.sizes_, "{:,}".format),
        ("average loss (squared error beyond its own PCA's)", joint.losses_, _loss),
        (f"variance kept by the shared {joint.representation_.name}", joint.retained_, _percent),
        ("variance its own PCA would keep", joint.retained_own_, _percent),
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
    told = [each.explanation for each in groups]
    outcomes = [[one.outcome[0] for one in told if one.outcome]]
    if found.alone:
        outcomes.append([one.no_outcome for one in told if one.no_outcome is not None])
    for each in outcomes:
        if len(each) == len(groups):
            sides = (*(one.sides()[0] for one in each), each[0].sides()[1])
            rows.append((f"{each[0].text} (not searched)", *sides))
    title, names = "The two sides", ["left-out group"]
    if not found.alone:
        title, names = "The groups and the rest", [f"group {each.label}" for each in groups]
    show(console, title, ["", *names, "rest"], rows)


def _show_everything(console: Console, found: Audit) -> None:
    """Findings, and the tables behind the answer."""
    _show_findings(console, "\nFindings", found)
    for group in found.left_out_groups:
        if not group.alone and group.answer is not None:
            say(console, f"\nLeft-out group {group.label}. ", shown(group.answer.who))
            _show_findings(console, "", group)
        if group.trust is not None and group.trust.parts is not None:
            _show_parts(console, group.trust.parts)
        _show_told(console, group.explanation)
    if found.named is not None:
        _show_named(console, found.named, SIX)
    if found.known is not None:
        _show_known(console, found.known)
    if found.harm is not None:
        show_costs(console, found.harm)
    if found.afterwards is not None:
        _show_afterwards(console, found.afterwards)
    if found.prediction is not None:
        show_prediction(console, found.prediction, _TABLE_LINES)
    _show_table(console, found)


def _show_findings(console: Console, title: str, of: Any) -> None:
    answers = [(finding.code, finding.title, finding.status) for finding in of.findings]
    show(console, title, ("code", "question", "answer"), answers)


def _show_afterwards(console: Console, after: Afterwards) -> None:
    """Whom each projection leaves worst off."""
    rows = [
        (
            line.called, _loss(line.group_loss), _loss(line.worst_loss), _percent(line.shared),
            f"{100 * (line.error - 1.0):+.0f} %", _interval(line.held_out),
        )
        for line in after.lines
    ]  # fmt: skip
    whom = "this group" if after.n_groups == 1 else "these groups"
    title = f"\nWhat can be done: losses of {whom} and of the worst-off {after.size:,} rows"
    heads = ("", whom, "worst off", "rows in both", "average error", "on rows not seen")
    show(console, title, heads, rows)


def _interval(figure: Interval | None) -> str:
    if figure is None:
        return ""
    low, high = (number(end, figure.value) for end in figure[1:])
    return f"{_loss(figure.value)} ({low} to {high})"


def _show_parts(console: Console, parts: LossParts) -> None:
    rows = [
        (PART_NAMES[key], _loss(part.loss), f"{100 * part.share:.0f} %", listed(part.carriers))
        for key, part in parts.each().items()
    ]
    title = "\nWhy they lose more than the rest: what comparison tables explain"
    show(console, title, ("part", "loss", "share", "columns"), rows)


def _show_told(console: Console, told: Explanation) -> None:
    """Who the group is."""
    _show_columns(console, told)
    _show_features(console, told)
    _show_rules(console, told)
    if told.rows is not None:
        _show_rows(console, told.rows)


def _show_table(console: Console, found: Audit) -> None:
    """How the table was read, where somebody should look: doubts, and columns left out."""
    doubts = [f for f in found.findings if f.code.startswith("T") and f.status == "found"]
    for finding in doubts:
        say(console, f"\n{finding.title}. ", shown(finding.detail))
    unsure = [c for c in found.columns if not c.sure and c.role in ("searched", "left out")]
    gone = [c for c in found.columns if c.role == "left out" and c.sure]
    rows = [
        (c.label, c.kind, c.why, c.how or "left out", c.overrule)
        for c in [*unsure, *gone][:_GROUP_LINES]
    ]
    if rows:
        title = (
            "\nColumns to look at: what they were taken for, and the option to have it otherwise"
        )
        show(console, title, ("column", "kind", "why", "became", "otherwise"), rows)
    if len(unsure) + len(gone) > _GROUP_LINES:
        say(
            console,
            "",
            f"The first {_GROUP_LINES} of {len(unsure) + len(gone)}; the report has all.",
        )


def _show_features(console: Console, told: Explanation) -> None:
    parts = told.by_column()
    total = sum(parts.values())
    most = sorted(parts.items(), key=lambda part: -abs(part[1]))[:_TABLE_LINES]
    if len(parts) > len(most):
        left = total - sum(part for _, part in most)
        most.append((f"{len(parts) - len(most)} other" + "s" * (len(parts) - len(most) > 1), left))
    rows = [(name, _loss(part), f"{100 * part / total:.0f} %") for name, part in most]
    show(console, "\nWhat the disparity is made of", ("feature", "part", "share"), rows)


def _show_columns(console: Console, told: Explanation) -> None:
    rows = []
    for line in told.alignment[:_TABLE_LINES]:
        name, sides = line.text, ("", "")
        if line.means is not None:
            sides = line.sides()
        if line.contrast is not None:
            name += f" = {line.contrast}" if line.kind == "category" else ""
            shares = (line.left_out_share or 0.0, line.rest_share or 0.0)
            sides = f"{100 * shares[0]:.0f} %", f"{100 * shares[1]:.0f} %"
        name += "" if line.searched else " (not searched)"
        rows.append((name, f"{line.strength:.2f}", *sides))
    title = "\nWhich columns the group looks like (share with a value, or mean)"
    show(console, title, ("column", "strength", "left out", "rest"), rows)


def _show_rules(console: Console, told: Explanation) -> None:
    rows = [
        (
            rule.text, f"{rule.covered:,}", f"{rule.count:,} ({100 * rule.confidence:.0f} %)",
            f"{rule.lift:.1f}",
        )
        for rule in told.leading_rules
    ]  # fmt: skip
    if rows:
        title = "\nRules: who is left out far more often than others"
        show(console, title, ("if", "rows", "left out", "lift"), rows)


def _show_rows(console: Console, rows: dict[str, Any]) -> None:
    """Actual rows, which somebody has asked for: the group's deepest, the rest's most typical."""
    sides = (("left_out", "left out"), ("rest", "rest"))
    every = [
        (f"{word}, row {row['row']}", row["values"]) for key, word in sides for row in rows[key]
    ]
    lines = [(name, *(values[name] or "" for _, values in every)) for name in every[0][1]]
    heads = ("column", *(head for head, _ in every))
    show(console, "\nDeepest in the left-out group, and most typical of the rest", heads, lines)


def show_groups(console: Console, named: NamedGroups, known: KnownGroups | None) -> None:
    """Groups with a name, and known ones, without an audit."""
    say(console, "Groups with a name.", shown(f" {named.told}"))
    _show_named(console, named, len(named), told=False)
    if known is not None:
        say(console, "\nKnown groups.", shown(f" {known.told_count} {known.told_small}"))
        _show_known(console, known, told=False)
    say(
        console,
        "\nHow to read this.",
        " Loss: squared error per row, beyond what the group's own PCA would leave; the own PCA of "
        "any small group fits it well, so compare with random groups of that size. Whether "
        "names go beyond comparison tables is not tested here: leftout audit does.",
    )


def _show_named(console: Console, named: NamedGroups, top: int, told: bool = True) -> None:
    groups = named.groups[:top]
    heads = ["group", "rows", "loss", "rest", "random"]
    judged = any(group.why is not None for group in groups)
    heads += ["p"] * judged
    heads += [f"{g.outcome.text}, gap" for g in groups[:1] if g.outcome is not None]
    rows = [_named_line(group, judged) for group in groups]
    if rows:
        title = "\nGroups with a name: average losses, beside random groups' of that size"
        show(console, title, heads, rows, _NAME_WIDTH)
    if told:
        more = f"The first {top} of {len(named)}. " * (len(named) > top)
        say(console, "", more + shown(named.told))


def _named_line(group: NamedGroup, judged: bool) -> list[str]:
    cells = [group.condition, f"{group.size:,}", *_losses(group)]
    if judged:
        cells.append("" if group.why is None else _p(group.why.p_gaussian))
    if group.outcome is not None:
        cells.append(group.outcome.shown["gap"].split(" (")[0])
    return cells


def _losses(group: NamedGroup | KnownGroup) -> list[str]:
    """The group's loss, the rest's and random groups', as fine as the first."""
    others = (number(value, group.loss) for value in (group.rest_loss, group.random))
    return [_loss(group.loss), *others]


def _show_known(console: Console, known: KnownGroups, told: bool = True) -> None:
    groups = known.ranked
    rows = [
        (
            group.text, f"{group.size:,}", "yes" if group.left_out else "no", _p(group.p_value),
            *_losses(group),
        )
        for group in groups[:_TABLE_LINES]
    ]  # fmt: skip
    heads = ("group", "rows", "left out", "p", "loss", "rest", "random")
    if rows:
        title = "\nKnown groups, left-out ones first: average losses, beside random groups'"
        show(console, title, heads, rows, _NAME_WIDTH)
    said = [f"The first {_TABLE_LINES} of {len(groups):,}." * (len(groups) > _TABLE_LINES)]
    said += [known.told_small if rows else known.told] * told
    if any(said):
        say(console, "", shown(" ".join(filter(None, said))))


def show_fair(
    console: Console, found: Mitigation, columns: list[ColumnEncoding], by: list[str]
) -> None:
    """What Fair PCA does about the groups of some columns."""
    fair = found.fair
    say(console, f"Fair PCA for the groups of {listed(by)}.", f" {found.summary()}\n")
    short = [_short(name, by) for name in found.names()]
    chance = found.random
    rows = [
        (
            short[g], f"{fair.sizes_[g]:,}", _loss(fair.baseline_losses_[g]),
            *(() if chance is None else (_loss(chance.mean[g]), _p(chance.p_values[g]))),
            _loss(fair.losses_[g]), f"{100 * fair.baseline_retained_[g]:.1f} %",
            f"{100 * fair.retained_[g]:.1f} %", f"{fair.group_weights_[g]:.2f}",
        )
        for g in sorted(np.argsort(-fair.baseline_losses_, kind="stable")[:_GROUP_LINES].tolist())
    ]  # fmt: skip
    beside = () if chance is None else ("random groups lose", "p")
    heads = (
        " / ".join(by), "rows", "loss before", *beside, "after", "kept before", "after", "weight",
    )  # fmt: skip
    title = f"The groups, with {counted(found.here.n_components, 'component')}"
    show(console, title, heads, rows)
    if len(short) > _GROUP_LINES:
        say(
            console,
            "",
            f"The {_GROUP_LINES} of {len(short)} groups with the largest losses before.",
        )
    _show_dimensions(console, found, short)
    say(
        console,
        "",
        "Loss: squared error per row, beyond what the group's own PCA would leave. Kept: share of "
        "the group's variance. Weight: how much the group stands in the way of the others. Price: "
        "share of the table's variance that ordinary PCA would keep beyond Fair PCA."
        + _beside(found),
    )
    left = [f"{shown(line.column)} ({line.how})" for line in columns if not line.features]
    n_features = sum(len(line.features) for line in columns)
    features = f"{counted(n_features, 'feature')} of {fair.sizes_.sum():,} rows went into PCA."
    if left:
        more = f" and {len(left) - _TABLE_LINES} more" * (len(left) > _TABLE_LINES)
        features += f" Left out: {', '.join(left[:_TABLE_LINES])}{more}."
    filled = sum(line.missing for line in columns if line.features)
    if filled:
        features += f" {filled:,} missing cells took the middle of their column."
    say(console, "\nThe table.", f" {features}")


def _beside(found: Mitigation) -> str:
    if found.random is None:
        return ""
    return (
        " Random groups lose: the mean of random groups of the same size, over "
        f"{counted(found.random.permutations, 'permutation')} of the rows. p: how often one of "
        "these stands out as far, corrected for all groups."
    )


def _show_dimensions(console: Console, found: Mitigation, short: list[str]) -> None:
    if not found.by_dimension:
        return
    two = len(short) == 2
    heads = [f"before, {name}" for name in short] if two else ["largest before"]
    heads.append("after, both" if two else "largest after")
    heads += [] if two else ["dimensions"]
    rows = []
    for line in found.by_dimension:
        losses = line.losses_before.tolist() if two else [line.losses_before.max()]
        cells = [_loss(loss) for loss in (*losses, line.losses_after.max())]
        cells += [] if two else [str(line.rank)]
        rows.append((str(line.n_components), *cells, f"{points(max(line.price, 0.0))} %"))
    show(console, "\nAcross numbers of components", ("components", *heads, "price"), rows)


def _short(name: str, by: list[str]) -> str:
    """A group's values without the names of its columns, which stand above them."""
    for column in by:
        name = name.replace(f"{shown(column)} = ", "", 1)
    return name


def show_harm(console: Console, found: Harm, compared: ComparedPrediction | None) -> None:
    """What components cost a model, for one command: in words, then as tables."""
    say(console, "What it costs.", f" {shown(found.summary())}\n")
    show_costs(console, found)
    if compared is not None:
        say(console, "\nThe prediction that is there.", f" {shown(compared.summary())}\n")
        rows = [
            (side, f"{compared.sizes[side]:,}", _within(compared, measures["error"], " %"))
            for side, measures in compared.measures.items()
        ]
        show(console, "Its errors", ("side", "rows", "error (95 % interval)"), rows)


def show_prediction(console: Console, found: ComparedPrediction, most: int) -> None:
    """Errors of a prediction on the group and on more groups, each beside its rest."""
    first, rest = (found.measures[side]["error"] for side in (found.group, found.rest))
    each = [(found.group, found.sizes[found.group], first, rest, found.gap)]
    told = [line for line in found.others if not line.why]
    each += [(line.text, line.rows, line.error, line.rest_error, line.gap) for line in told[:most]]
    rows = [
        (
            text, f"{n:,}", found.figure(error.value), found.figure(other.value),
            _within(found, gap, ""),
        )
        for text, n, error, other, gap in each
    ]  # fmt: skip
    unit = "" if found.kind == "number" else ", points"
    name = as_name(found.prediction)
    title = f"\nThe prediction that is there: errors of {name} (95 % intervals)"
    show(
        console,
        title,
        ("group", "rows", "error", "its rest", f"difference{unit}"),
        rows,
        _NAME_WIDTH,
    )
    if len(told) > most:
        say(console, "", f"The first {most} of {len(told):,} other groups; the report has all.")


def show_costs(console: Console, found: Harm) -> None:
    """Errors of each side, of those whom mitigations leave worst off, and of everybody.

    From each kind of features; beside them what PCA costs, and what mitigations return.
    """
    unit = "" if found.kind == "number" else ", points"
    called = {SHARED: f"shared {found.shared}"}
    heads = (
        "side", "rows", *(called.get(seen, seen) for seen in found.variants),
        f"{found.shared} costs{unit}", *(f"{seen} returns{unit}" for seen in found.mitigations),
    )  # fmt: skip
    rows = []
    for side, rows_of, paid in _sides(found):
        errors = (found.figure(found.at(side, variant).value) for variant in found.variants)
        rows.append(
            (side, f"{rows_of:,.0f}", *errors, *(_within(found, each, "") for each in paid))
        )
    more = [(o.text, o.rows, o.errors) for o in found.others if o.worst_off and o.errors]
    everybody = {seen: each.value for seen, each in found.everybody.items()}
    for text, n, of in [*more, ("everybody", found.n_rows, everybody)]:
        differences = (of[SHARED] - of[seen] for seen in (ALL, *found.mitigations))
        rows.append((
            text, f"{n:,}", *(found.figure(of[seen]) for seen in found.variants),
            *(found.figure(each, "") for each in differences),
        ))  # fmt: skip
    what = "average errors" if found.kind == "number" else "wrong predictions"
    title = (
        f"\nWhat it costs them: {what} of {found.target}, {found.models[0]}, held-out rows "
        "(95 % intervals)"
    )
    show(console, title, heads, rows, _SIDE_WIDTH)
    if found.leaks:
        say(console, "", shown(found.told_leaks))


def _sides(found: Harm) -> Iterable[tuple[str, float, list[Interval]]]:
    """Every side, its rows, what the shared PCA costs it and what mitigations give it back."""
    lead = found.cost()
    known = {c.side: c for c in found.costs if (c.model, c.measure) == (lead.model, lead.measure)}
    seen = {line.side: line.rows for line in found.figures if line.model == lead.model}
    for side, rows in seen.items():
        if side in known:
            each = known[side]
            yield side, rows, [each.cost, *(back.group for back in each.returns.values())]
        else:
            yield side, rows, [lead.rest_cost, *(back.rest for back in lead.returns.values())]


def _within(found: Harm | ComparedPrediction, each: Interval, unit: str) -> str:
    value, low, high = each
    if low != low:
        return found.figure(value, unit)
    return f"{found.figure(value, unit)} ({found.figure(low, '')} to {found.figure(high, '')})"


def _loss(value: float) -> str:
    return number(0.0 if abs(value) < ZERO_LOSS else value)


def _p(value: float | None) -> str:
    """A p-value under a head that says so."""
    return (
        ""
        if value is None or np.isnan(value)
        else describe_p(value).removeprefix("p ").removeprefix("= ")
    )


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"
