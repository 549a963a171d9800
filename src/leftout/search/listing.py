"""A list of names, each of which says something new."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from typing import NamedTuple

import numpy as np

from leftout.tables.conditions import Mask

Place = tuple[int, ...]

# A further condition must raise a name's worth by this factor.
GAIN = 1.05
# Of a line's rows, this share at least is new; and it is worth this share of the first at least.
NEW, LEAST = 0.5, 1.0 / 3.0
# Worths closer than this share of them are equal.
TIE = 1e-9


class Name(NamedTuple):
    """A box: which axes, which of their conditions, its rows, and what it is worth."""

    axes: Place
    spans: Place
    size: int
    worth: float

    def sorted(self) -> Name:
        """The same name with its axes in order."""
        axes, spans = zip(*sorted(zip(self.axes, self.spans, strict=True)), strict=True)
        return self._replace(axes=axes, spans=spans)


class Line(NamedTuple):
    """A name that says something new beside those before it."""

    name: Name
    mask: Mask
    new: float  # share of its rows that no line before it covers

    @property
    def marginal(self) -> float:
        """What it is worth for what is new."""
        return self.name.worth * self.new


def least_of(lines: list[Line], top: int, distinct: bool) -> float:
    """What a name must be worth to change a list."""
    if len(lines) < top:
        return LEAST * lines[0].marginal / GAIN if lines and distinct else 0.0
    return lines[-1].marginal / GAIN if distinct else lines[-1].name.worth * (1.0 - TIE)


def ranked(ordered: list[Name], mask_of: Callable[[Name], Mask], top: int) -> list[Line]:
    """The names of largest worth, of those for the same rows the first."""
    lines: list[Line] = []
    seen: set[bytes] = set()
    covered: Mask | bool = False
    for name in ordered:
        if len(lines) == top:
            break
        mask = mask_of(name)
        key = np.packbits(mask).tobytes()
        if key not in seen:
            seen.add(key)
            lines.append(Line(name, mask, 1.0 - np.count_nonzero(mask & covered) / name.size))
            covered = covered | mask
    return lines


def telling(every: list[Name], mask_of: Callable[[Name], Mask], top: int) -> list[Line]:
    """The names that say something new, one after the other.

    Next is the name with the largest worth times the share of its rows that no line before covers;
    that share is half at least. A name whose further condition adds little is not looked at. The
    list ends where a line is worth a small part of the first.
    """
    known = {(name.axes, name.spans): name.worth for name in every}
    ordered = [name for name in every if _earned(name, known)]
    worth = np.array([name.worth for name in ordered])
    step = TIE * np.abs(worth).max(initial=0.0) or 1.0
    worth = step * np.round(worth / step)  # of equals the first counts, whatever their last digits
    new = np.ones(len(ordered))  # at most: it only falls, so few have to be looked at again
    covered: Mask | bool = False
    lines: list[Line] = []
    while len(lines) < top:
        best, least = None, LEAST * lines[0].marginal if lines else 0.0
        for place in np.argsort(-worth * new, kind="stable").tolist():
            if worth[place] * new[place] <= least * (1.0 + TIE):
                break
            mask = mask_of(ordered[place])
            share = 1.0 - np.count_nonzero(mask & covered) / ordered[place].size
            new[place] = share if share >= NEW else 0.0
            if worth[place] * new[place] > least * (1.0 + TIE):
                best = Line(ordered[place], mask, share)
                least = worth[place] * new[place]
        if best is None:
            break
        lines.append(best)
        covered = covered | best.mask
    return lines


def _earned(name: Name, worth: dict[tuple[Place, Place], float]) -> bool:
    """Whether each condition of a name adds to what the others are worth."""
    if len(name.axes) == 1:
        return True
    for left in combinations(range(len(name.axes)), len(name.axes) - 1):
        shorter = tuple(name.axes[i] for i in left), tuple(name.spans[i] for i in left)
        if worth.get(shorter, -np.inf) * GAIN >= name.worth:
            return False
    return True
