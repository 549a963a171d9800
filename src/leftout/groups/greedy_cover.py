"""A list of subgroups, each of which says something new."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from typing import NamedTuple

import numpy as np

from leftout.data.conditions import Mask

# Conditions of a subgroup, joined by "and": the place of each column, and which of its conditions.
Key = tuple[tuple[int, int], ...]

# A further condition must raise a subgroup's quality by this factor.
GAIN = 1.05
# Of a line's rows, this share at least is new; and its quality is this share of the first's.
NEW, LEAST_QUALITY = 0.5, 1.0 / 3.0
# Qualities closer than this share of them are equal.
TIE = 1e-9


class Subgroup(NamedTuple):
    """Rows for which some conditions hold, how many they are, and their quality."""

    key: Key
    size: int
    quality: float


class Line(NamedTuple):
    """A subgroup that says something new beside those before it."""

    subgroup: Subgroup
    mask: Mask
    new: float  # share of its rows that no line before it covers

    @property
    def marginal(self) -> float:
        """Its quality for what is new."""
        return self.subgroup.quality * self.new


def least_of(lines: list[Line], top: int, distinct: bool) -> float:
    """What quality a subgroup must have to change a list."""
    if len(lines) < top:
        return LEAST_QUALITY * lines[0].marginal / GAIN if lines and distinct else 0.0
    return lines[-1].marginal / GAIN if distinct else lines[-1].subgroup.quality * (1.0 - TIE)


def ranked(ordered: list[Subgroup], mask_of: Callable[[Key], Mask], top: int) -> list[Line]:
    """The subgroups of highest quality, of those with the same rows the first."""
    lines: list[Line] = []
    seen: set[bytes] = set()
    covered: Mask | bool = False
    for one in ordered:
        if len(lines) == top:
            break
        mask = mask_of(one.key)
        rows = np.packbits(mask).tobytes()
        if rows not in seen:
            seen.add(rows)
            lines.append(Line(one, mask, 1.0 - np.count_nonzero(mask & covered) / one.size))
            covered = covered | mask
    return lines


def greedy_cover(every: list[Subgroup], mask_of: Callable[[Key], Mask], top: int) -> list[Line]:
    """The subgroups that say something new, one after the other.

    Next is the one with the largest quality times the share of its rows that no line before covers;
    that share is half at least. One whose further condition adds little is not looked at. The list
    ends where a line's quality is a small part of the first's.
    """
    known = {one.key: one.quality for one in every}
    ordered = [one for one in every if _earned(one, known)]
    quality = np.array([one.quality for one in ordered])
    step = TIE * np.abs(quality).max(initial=0.0) or 1.0
    quality = step * np.round(quality / step)  # of equals the first, whatever their last digits
    new = np.ones(len(ordered))  # at most: it only falls, so few have to be looked at again
    covered: Mask | bool = False
    lines: list[Line] = []
    while len(lines) < top:
        best, least = None, LEAST_QUALITY * lines[0].marginal if lines else 0.0
        for place in np.argsort(-quality * new, kind="stable").tolist():
            if quality[place] * new[place] <= least * (1.0 + TIE):
                break
            mask = mask_of(ordered[place].key)
            share = 1.0 - np.count_nonzero(mask & covered) / ordered[place].size
            new[place] = share if share >= NEW else 0.0
            if quality[place] * new[place] > least * (1.0 + TIE):
                best = Line(ordered[place], mask, share)
                least = quality[place] * new[place]
        if best is None:
            break
        lines.append(best)
        covered = covered | best.mask
    return lines


def _earned(one: Subgroup, quality: dict[Key, float]) -> bool:
    """Whether each condition of a subgroup adds to the quality of the others."""
    shorter = combinations(one.key, len(one.key) - 1)
    return all(quality.get(key, -np.inf) * GAIN < one.quality for key in shorter)
