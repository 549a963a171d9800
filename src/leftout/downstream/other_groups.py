"""Groups besides the one that is asked about: each beside all rows that are not in it.

Whatever is told of them is a mean over rows of numbers that are there already, so nothing is fitted
again. Rows are drawn once for all groups, from the whole table: how many of them belong to a group
varies with the draw, as it does from one table to the next.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from leftout.downstream.measures import Mask, interval, summed
from leftout.downstream.outcomes import FEWEST_PER_SIDE, Aim
from leftout.errors import InputError, parameter_label
from leftout.files import Serializable
from leftout.linalg.effects import Interval
from leftout.linalg.losses import Array
from leftout.text import counted, unambiguous

_UNKNOWN = Interval(np.nan, np.nan, np.nan)
# Those whom a mitigation leaves worst off are called so.
WORST_OFF = "worst off under"
# The mean of a group, that of its rest, and the former minus the latter.
Three = tuple[Interval, Interval, Interval]


@dataclass(frozen=True)
class OtherCost(Serializable):
    """What the shared PCA costs one more group, and all other rows, in errors.

    ``rows`` are those with a known target, ``errors`` the group's from each kind of features.
    ``why`` says what keeps it from being told; where it can be told, ``why`` is empty.
    """

    also = ("worst_off",)

    text: str
    rows: int
    cost: Interval
    rest_cost: Interval
    extra_cost: Interval
    why: str = ""
    errors: dict[str, float] = field(default_factory=dict)

    @property
    def worst_off(self) -> bool:
        """Whether these are whom a mitigation leaves worst off."""
        return self.text.startswith(WORST_OFF)


@dataclass(frozen=True)
class OtherGap(Serializable):
    """How often a prediction that is there errs on one more group, and on all other rows.

    ``rows`` are those with a known target. ``why`` says what keeps it from being told; where it can
    be told, ``why`` is empty.
    """

    text: str
    rows: int
    error: Interval
    rest_error: Interval
    gap: Interval
    why: str = ""


def check_also(also: Mapping[str, ArrayLike] | None, n_rows: int) -> dict[str, Mask]:
    """Groups by their names, each as true and false for every row."""
    found = {}
    for name, rows in (also or {}).items():
        mask = np.asarray(rows)
        if mask.shape != (n_rows,) or not np.isin(mask, (0, 1)).all():
            raise InputError(
                f"{parameter_label('also')} has {unambiguous(name)}, which is not one True or "
                "False for "
                f"each of {n_rows:,} rows. Pass masks of all rows."
            )
        found[str(name)] = mask.astype(bool)
    return found


def beside(
    kind: Any,
    aim: Aim,
    values: Array,
    masks: Mapping[str, Mask],
    draws: int,
    rng: np.random.Generator,
    *,
    varied: bool,
) -> list[Any]:
    """A line (of the given kind) for each group: means of ``values`` in it and in its rest.

    With ``varied``, a group in which the target does not vary is left out, with the reason.
    """
    whys = {name: _why_not(aim, mask, varied) for name, mask in masks.items()}
    told = [name for name, why in whys.items() if not why]
    each = dict(zip(told, means(values, [masks[name] for name in told], draws, rng), strict=True))
    return [
        kind(name, int(mask.sum()), *each.get(name, (_UNKNOWN,) * 3), whys[name])
        for name, mask in masks.items()
    ]


def means(values: Array, masks: list[Mask], draws: int, rng: np.random.Generator) -> list[Three]:
    """Means of numbers in each group, in its rest, and the difference; intervals by drawing rows.

    O(draws * rows) for the draws, and as much again for each group.
    """
    if not masks:
        return []
    n, k, inside = len(values), len(masks), np.column_stack(masks).astype(np.float64)
    lines = np.column_stack([values[:, None] * inside, inside, values])
    sums = summed(lines, np.zeros(n, dtype=np.intp), draws, rng)
    total, rows = sums[:, :k], sums[:, k : 2 * k]
    with np.errstate(invalid="ignore", divide="ignore"):  # a draw without any row of a group
        group, rest = total / rows, (sums[:, 2 * k :] - total) / (n - rows)
    sizes = rows[0]
    return [
        (
            interval(group[:, g], sizes[g]),
            interval(rest[:, g], n - sizes[g]),
            interval(group[:, g] - rest[:, g], min(sizes[g], n - sizes[g])),
        )
        for g in range(k)
    ]


def _why_not(aim: Aim, mask: Mask, varied: bool) -> str:
    """Why a group cannot be told from its rest; nothing if it can."""
    for side, what in ((mask, "in it"), (~mask, "besides it")):
        values = aim.values[side]
        if len(values) < FEWEST_PER_SIDE:
            return f"{counted(len(values), 'row')} {what}; {FEWEST_PER_SIDE} are needed"
        if varied and len(np.unique(values)) < 2:
            only = aim.classes[int(values[0])] if aim.classes else f"{values[0]:g}"
            return f"{unambiguous(aim.name)} is {unambiguous(only)} in every row {what}"
    return ""
