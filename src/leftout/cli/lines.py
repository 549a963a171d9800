"""Short tables on a terminal, and that of what components cost a model."""

from collections.abc import Iterable, Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from leftout.downstream.outcomes import ALL, FAIR, SHARED
from leftout.downstream.prediction import ComparedPrediction
from leftout.downstream.result import Harm
from leftout.linalg.effects import Interval
from leftout.text import as_name, shown

# Names in the first column need room, where there is some.
_NARROW = 80


def show_harm(console: Console, found: Harm, compared: ComparedPrediction | None) -> None:
    """What components cost a model, for one command: in words, then as tables."""
    say(console, "What it costs.", f" {shown(found.summary())}\n")
    show_costs(console, found)
    if found.by_dimension:
        heads = ["components"]
        for variant in (SHARED, FAIR):
            heads += [f"{variant}, {side}" for side in (found.group, found.rest)]
        rows = [
            (str(line.n_components), *(found.figure(value) for value in values))
            for line in found.by_dimension
            for values in [(line.pca_group, line.pca_rest, line.fair_group, line.fair_rest)]
        ]
        show(console, "\nErrors by number of components", heads, rows)
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
    show(console, title, ("group", "rows", "error", "its rest", f"difference{unit}"), rows, 18)
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
    show(console, title, heads, rows, 12)
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
    """A table, whose first column has some room at ``least``."""
    table = Table(title=Text(title), title_justify="left")
    least = least if console.width >= _NARROW else None
    for place, head in enumerate(heads):
        table.add_column(Text(shown(head)), min_width=None if place else least)
    for row in rows:
        table.add_row(*(Text(shown(cell)) for cell in row))
    console.print(table)
