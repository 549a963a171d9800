"""Several left-out groups and the rest on a terminal, side by side."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rich.console import Console

from leftout.auditing.result import Audit
from leftout.cli.lines import show
from leftout.groups.outcome import Outcome
from leftout.linalg.monte_carlo import describe_p
from leftout.text import ZERO_LOSS, number


def show_side_by_side(console: Console, found: Audit) -> None:
    """One column for each left-out group, in the order of their numbers, then the rest."""
    groups, joint = found.left_out_groups, found.partition
    order = [*range(1, joint.n_groups_ + 1), 0]
    heads = ["", *(f"group {each.label}" for each in groups), "rest"]
    measured: list[tuple[str, Any, Callable[[Any], str]]] = [
        ("rows", joint.sizes_, "{:,}".format),
        ("average loss (squared error beyond its own PCA's)", joint.losses_, _loss),
        (f"variance kept by the shared {joint.representation_.name}", joint.retained_, _percent),
        ("variance its own PCA would keep", joint.retained_own_, _percent),
    ]
    rows = [(name, *(text(values[side]) for side in order)) for name, values, text in measured]
    weighed = [each.trust for each in groups]
    known = [trust for trust in weighed if trust is not None]
    if len(known) == len(groups):
        names = [trust.verdict_name or "not tested" for trust in known]
        rows.append(("what explains it", *names, ""))
        tables = [_p(trust.p_value) for trust in known]
        rows.append(("p, beyond the same values and correlations", *tables, ""))
    outcomes = [each.explanation.outcome[:1] for each in groups]
    if all(outcomes):
        rows.append(_outcome([one[0] for one in outcomes]))
    show(console, "The groups and the rest", heads, rows)


def _outcome(each: list[Outcome]) -> tuple[str, ...]:
    rest = each[0].sides()[1]
    return f"{each[0].text} (not searched)", *(one.sides()[0] for one in each), rest


def _p(value: float | None) -> str:
    return "" if value is None else describe_p(value).removeprefix("p ").removeprefix("= ")


def _loss(value: float) -> str:
    return number(0.0 if abs(value) < ZERO_LOSS else value)


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"
