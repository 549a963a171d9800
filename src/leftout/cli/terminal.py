"""What the command line prints, for people: plain words first, then short tables.

Names and values come from tables that anybody may have made: they are printed as text, never as
markup or as commands to the terminal.
"""

from typing import Any

import numpy as np
from rich.console import Console

from leftout.auditing.result import Audit
from leftout.cli.lines import say as _say
from leftout.cli.lines import show as _show
from leftout.cli.lines import show_costs, show_prediction
from leftout.cli.side_by_side import show_side_by_side
from leftout.data.encoding import ColumnEncoding
from leftout.evidence.loss_parts import PART_NAMES as PARTS
from leftout.evidence.loss_parts import LossParts
from leftout.explain import Explanation
from leftout.fair.afterwards import Afterwards
from leftout.fair.mitigation import Mitigation
from leftout.groups.known_result import KnownGroup, KnownGroups
from leftout.groups.subgroups import SIX, NamedGroup, NamedGroups
from leftout.linalg.effects import Interval
from leftout.linalg.monte_carlo import describe_p
from leftout.text import ZERO_LOSS, counted, listed, number, points, shown

_LINES, _GROUPS = 8, 20
# Names of groups have this much room at least, on a terminal that is not narrow.
_NAMES = 18


def show_audit(console: Console, found: Audit, full: bool = False) -> None:
    """An audit: the answer, a line for each question, and the two sides; ``full``: all tables."""
    answer = found.answer
    _say(console, answer.fact, "\n")
    for ask, text in answer.lines.items():
        _say(console, f"{ask}: ", shown(text))
    readings = "" if found.readings is None else f" {found.readings.brief}"
    _say(console, "What was audited: ", shown(found.audited.told + readings))
    for text in answer.mind:
        _say(console, "Mind: ", shown(text))
    console.print()
    if found.alone:
        _show_sides(console, found)
    else:
        show_side_by_side(console, found)
    if full:
        _show_everything(console, found)
    weighed = [group.trust for group in found.left_out_groups if group.trust is not None]
    for note in dict.fromkeys([*found.notes, *(note for one in weighed for note in one.notes)]):
        _say(console, "\nNote: ", shown(note))
    if not full:
        _say(console, "", "All tables: --full, or the report.")
    console.print()


def _show_sides(console: Console, found: Audit) -> None:
    group, told = found.partition.left_out_, found.explanation
    sides = [
        (name, *(text(value) for value in values))
        for name, values, text in (
            ("rows", group.sizes, "{:,}".format),
            ("average loss (squared error beyond its own PCA's)", group.losses, _loss),
            (f"variance kept by the shared {group.shared}", group.retained, _percent),
            ("variance its own PCA would keep", group.retained_own, _percent),
        )
    ]
    outcomes = [*told.outcome[:1], *([told.no_outcome] if told.no_outcome else [])]
    sides += [(f"{one.text} (not searched)", *one.sides()) for one in outcomes]
    _show(console, "The two sides", ("", "left-out group", "rest"), sides)


def _show_everything(console: Console, found: Audit) -> None:
    """Findings, and the tables behind the answer."""
    answers = [(finding.code, finding.title, finding.status) for finding in found.findings]
    _show(console, "\nFindings", ("code", "question", "answer"), answers)
    for group in found.left_out_groups:
        if not group.alone:
            _say(console, f"\nLeft-out group {group.label}. ", shown(group.answer.who))
            asked = [(finding.code, finding.title, finding.status) for finding in group.findings]
            _show(console, "", ("code", "question", "answer"), asked)
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
        show_prediction(console, found.prediction, _LINES)
    _show_table(console, found)


def _show_afterwards(console: Console, after: Afterwards) -> None:
    """Whom each projection leaves worst off."""
    rows = [
        (
            line.called, _loss(line.group_loss), _loss(line.worst_loss), _percent(line.shared),
            f"{100 * (line.error - 1.0):+.0f} %", _within(line.held_out),
        )
        for line in after.lines
    ]  # fmt: skip
    whom = "this group" if after.n_groups == 1 else "these groups"
    title = f"\nWhat can be done: losses of {whom} and of the worst-off {after.size:,} rows"
    heads = ("", whom, "worst off", "rows in both", "average error", "on rows not seen")
    _show(console, title, heads, rows)


def _within(figure: Interval | None) -> str:
    if figure is None:
        return ""
    low, high = (number(end, figure.value) for end in figure[1:])
    return f"{_loss(figure.value)} ({low} to {high})"


def _show_parts(console: Console, parts: LossParts) -> None:
    rows = [
        (PARTS[key], _loss(part.loss), f"{100 * part.share:.0f} %", listed(part.carriers))
        for key, part in parts.each().items()
    ]
    title = "\nWhy they lose more than the rest: what comparison tables explain"
    _show(console, title, ("part", "loss", "share", "columns"), rows)


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
        _say(console, f"\n{finding.title}. ", shown(finding.detail))
    unsure = [c for c in found.columns if not c.sure and c.role in ("searched", "left out")]
    gone = [c for c in found.columns if c.role == "left out" and c.sure]
    rows = [
        (c.label, c.kind, c.why, c.how or "left out", c.overrule)
        for c in [*unsure, *gone][:_GROUPS]
    ]
    if rows:
        title = (
            "\nColumns to look at: what they were taken for, and the option to have it otherwise"
        )
        _show(console, title, ("column", "kind", "why", "became", "otherwise"), rows)
    if len(unsure) + len(gone) > _GROUPS:
        _say(console, "", f"The first {_GROUPS} of {len(unsure) + len(gone)}; the report has all.")


def _show_features(console: Console, told: Explanation) -> None:
    parts = told.by_column()
    total = sum(parts.values())
    most = sorted(parts.items(), key=lambda part: -abs(part[1]))[:_LINES]
    if len(parts) > len(most):
        left = total - sum(part for _, part in most)
        most.append((f"{len(parts) - len(most)} other" + "s" * (len(parts) - len(most) > 1), left))
    rows = [(name, _loss(part), f"{100 * part / total:.0f} %") for name, part in most]
    _show(console, "\nWhat the disparity is made of", ("feature", "part", "share"), rows)


def _show_columns(console: Console, told: Explanation) -> None:
    rows = []
    for line in told.alignment[:_LINES]:
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
    _show(console, title, ("column", "strength", "left out", "rest"), rows)


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
        _show(console, title, ("if", "rows", "left out", "lift"), rows)


def _show_rows(console: Console, rows: dict[str, Any]) -> None:
    """Actual rows, which somebody has asked for: the group's deepest, the rest's most typical."""
    sides = (("left_out", "left out"), ("rest", "rest"))
    every = [
        (f"{word}, row {row['row']}", row["values"]) for key, word in sides for row in rows[key]
    ]
    lines = [(name, *(values[name] or "" for _, values in every)) for name in every[0][1]]
    heads = ("column", *(head for head, _ in every))
    _show(console, "\nDeepest in the left-out group, and most typical of the rest", heads, lines)


def show_groups(console: Console, named: NamedGroups, known: KnownGroups | None) -> None:
    """Groups with a name, and known ones, without an audit."""
    _say(console, "Groups with a name.", shown(f" {named.told}"))
    _show_named(console, named, len(named), told=False)
    if known is not None:
        _say(console, "\nKnown groups.", shown(f" {known.told_count} {known.told_small}"))
        _show_known(console, known, told=False)
    _say(
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
        _show(console, title, heads, rows, _NAMES)
    if told:
        more = f"The first {top} of {len(named)}. " * (len(named) > top)
        _say(console, "", more + shown(named.told))


def _named_line(group: NamedGroup, judged: bool) -> list[str]:
    cells = [group.condition, f"{group.size:,}", *_losses(group)]
    if judged:
        cells.append("" if group.why is None else _p(group.why.p_cloud))
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
        for group in groups[:_LINES]
    ]  # fmt: skip
    heads = ("group", "rows", "left out", "p", "loss", "rest", "random")
    if rows:
        title = "\nKnown groups, left-out ones first: average losses, beside random groups'"
        _show(console, title, heads, rows, _NAMES)
    said = [f"The first {_LINES} of {len(groups):,}." * (len(groups) > _LINES)]
    said += [known.told_small if rows else known.told] * told
    if any(said):
        _say(console, "", shown(" ".join(filter(None, said))))


def show_fair(
    console: Console, found: Mitigation, columns: list[ColumnEncoding], by: list[str]
) -> None:
    """What Fair PCA does about the groups of some columns."""
    fair = found.fair
    _say(console, f"Fair PCA for the groups of {listed(by)}.", f" {found.summary()}\n")
    short = [_short(name, by) for name in found.names()]
    chance = found.random
    rows = [
        (
            short[g], f"{fair.sizes_[g]:,}", _loss(fair.baseline_losses_[g]),
            *(() if chance is None else (_loss(chance.mean[g]), _p(chance.p_values[g]))),
            _loss(fair.losses_[g]), f"{100 * fair.baseline_retained_[g]:.1f} %",
            f"{100 * fair.retained_[g]:.1f} %", f"{fair.group_weights_[g]:.2f}",
        )
        for g in sorted(np.argsort(-fair.baseline_losses_, kind="stable")[:_GROUPS].tolist())
    ]  # fmt: skip
    beside = () if chance is None else ("random groups lose", "p")
    heads = (
        " / ".join(by), "rows", "loss before", *beside, "after", "kept before", "after", "weight",
    )  # fmt: skip
    title = f"The groups, with {counted(found.here.n_components, 'component')}"
    _show(console, title, heads, rows)
    if len(short) > _GROUPS:
        _say(console, "", f"The {_GROUPS} of {len(short)} groups with the largest losses before.")
    _show_dimensions(console, found, short)
    _say(
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
        more = f" and {len(left) - _LINES} more" * (len(left) > _LINES)
        features += f" Left out: {', '.join(left[:_LINES])}{more}."
    filled = sum(line.missing for line in columns if line.features)
    if filled:
        features += f" {filled:,} missing cells took the middle of their column."
    _say(console, "\nThe table.", f" {features}")


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
    _show(console, "\nAcross numbers of components", ("components", *heads, "price"), rows)


def _short(name: str, by: list[str]) -> str:
    """A group's values without the names of its columns, which stand above them."""
    for column in by:
        name = name.replace(f"{shown(column)} = ", "", 1)
    return name


def _loss(value: float) -> str:
    return number(0.0 if abs(value) < ZERO_LOSS else value)


def _p(value: float) -> str:
    """A p-value under a head that says so."""
    return "" if np.isnan(value) else describe_p(value).removeprefix("p ").removeprefix("= ")


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"
