"""A target: which of its values counts, and what it is as numbers."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from leftout.asking import asking
from leftout.checks import Refusal
from leftout.tables.columns import Column
from leftout.wording import as_name, counted, unambiguous

_SHOWN = 5


def levels_of(target: Column, positive: Any = None) -> list[Any] | None:
    """The values of a target whose rates count; None if its mean does."""
    if target.dates:
        raise Refusal(
            f"The target {target.name!r} is a date; a rate or a mean is needed. Choose another, or "
            "turn it into yes and no first."
        )
    if target.categories is None:
        known: list[Any] = target.tabulated[0].tolist()
    else:
        known = list(range(len(target.categories)))
    if len(known) < 2:
        raise Refusal(
            f"The target {target.name!r} takes {counted(len(known), 'value')}; at least two are "
            "needed to compare the group with the rest. Choose another target."
        )
    if positive is not None:
        for value in known:
            if _is(target, value, positive):
                return [value]
        names = ", ".join(value_of(target, value) for value in known[:_SHOWN])
        raise Refusal(
            f"{asking('positive', positive)} is not a value of the target {target.name!r}; it "
            f"takes {names}{' and others' if len(known) > _SHOWN else ''}."
        )
    if len(known) == 2:
        return known[1:]
    return None if target.categories is None else known


def _is(target: Column, value: Any, positive: Any) -> bool:
    """Whether a value of the target is what somebody calls positive."""
    named, asked = value_of(target, value), str(positive)
    if named == asked or named in ("False", "True") and named.casefold() == asked.casefold():
        return True
    if target.categories is not None and target.levels is None:
        return False
    try:  # numbers may be written in several ways
        return float(positive) == (value if target.levels is None else target.levels[value])
    except (TypeError, ValueError):
        return False


def value_of(target: Column, value: Any) -> str:
    """One of a target's values, as text."""
    return target.show(value) if target.categories is None else target.categories[value]


def level_of(target: Column, positive: Any = None) -> Any:
    """The value of a target whose rate counts, of several the most frequent; None: its mean."""
    levels = levels_of(target, positive)
    if levels is None or len(levels) == 1:
        return None if levels is None else levels[0]
    return int(target.times(target.values).argmax())


def called(target: Column, positive: Any = None) -> str:
    """What a mean of the target's numbers is a mean of."""
    level, name = level_of(target, positive), as_name(target.name)
    return name if level is None else f"{name} = {unambiguous(value_of(target, level))}"


def as_numbers(target: Column, positive: Any = None) -> NDArray[np.float64]:
    """1 for the value that counts and 0 for others, or the numbers as they are; NaN if unknown."""
    level = level_of(target, positive)
    if level is None:
        return np.where(np.isfinite(target.values), target.values, np.nan)
    return np.where(target.missing, np.nan, (target.values == level).astype(np.float64))
