"""A list of names from what each is worth at most: few of them have to be weighed.

The list is the one that :func:`~leftout.search.listing.telling` makes. Of all names the one that
may add most is looked at first, a little closer each time: how much of it is new, what its rows
lose, what the others do. Once nothing is left to settle, no other name can add more.
"""

from __future__ import annotations

from collections.abc import Callable
from heapq import heapify, heappop, heappush
from itertools import combinations
from typing import NamedTuple

import numpy as np

from leftout.core.losses import Array
from leftout.core.tridiagonal import top_sums
from leftout.search.listing import GAIN, LEAST, NEW, TIE, Line, Name, Place
from leftout.search.rows import Rows
from leftout.tables.conditions import Mask

Key = tuple[Place, Place]
# What is known of a name: a bound, what its rows lose, its worth.
_BOUND, _LOSS, _WORTH = range(3)
# Moments of so many numbers (64 MB) are kept; those of other names are taken once more.
_KEPT = 1 << 23


class Part(NamedTuple):
    """A name's rows: their packed second moments, in any axes, and what shared components keep."""

    packed: Array
    kept: float


class _Settled(NamedTuple):
    """A name that may be the next line, and how it compares with its equals."""

    marginal: float
    ease: tuple[int, float, Place]
    place: int


class Pool:
    """Names of a table, each with what it is worth at most.

    Parameters
    ----------
    rows : Rows
    weight : float
        A name of ``k`` rows is worth ``k^weight`` times its loss less the rest's.
    mask_of : callable
        From axes and conditions to rows.
    ease_of : callable
        How hard a name is to read: of equals, the easiest counts.
    """

    def __init__(
        self,
        rows: Rows,
        weight: float,
        mask_of: Callable[[Place, Place], Mask],
        ease_of: Callable[[Place, Place], float],
    ) -> None:
        self.rows, self.weight = rows, weight
        self.mask_of, self.ease_of = mask_of, ease_of
        self.places: dict[Key, int] = {}
        self.keys: list[Key] = []
        self.bounds: list[float] = []
        self.known: list[int] = []
        self.masks: dict[int, Mask] = {}
        self.parts: dict[int, Part] = {}

    def add(self, axes: Place, spans: Place, bound: float, part: Part) -> None:
        """A name that is worth ``bound`` at most."""
        key = axes, spans
        if key not in self.places:
            self.places[key] = place = len(self.keys)
            if len(self.parts) * len(part.packed) < _KEPT:
                self.parts[place] = part._replace(packed=part.packed.copy())
            self.keys.append(key)
            self.bounds.append(bound)
            self.known.append(_BOUND)

    def lines(self, top: int) -> list[Line]:
        """The names that say something new, one after the other."""
        new, seen = np.ones(len(self.keys)), np.zeros(len(self.keys), dtype=np.intp)
        heap = [(-bound, place) for place, bound in enumerate(self.bounds) if bound > 0.0]
        heapify(heap)
        lines: list[Line] = []
        covered = np.zeros(len(self.rows.Z), dtype=bool)
        while len(lines) < top:
            least = (LEAST * lines[0].marginal if lines else 0.0) * (1.0 + TIE)
            ready: list[_Settled] = []
            while heap and -heap[0][0] > least:
                # whatever is as good as equal to the first to be settled is settled, too
                if ready and -heap[0][0] < ready[0].marginal * (1.0 - TIE):
                    break
                place = heappop(heap)[1]
                if self._idle(place):
                    continue
                if seen[place] < len(lines):
                    mask, seen[place] = self._mask(place), len(lines)
                    share = 1.0 - np.count_nonzero(mask & covered) / np.count_nonzero(mask)
                    new[place] = share if share >= NEW else 0.0
                elif self.known[place] != _WORTH:
                    self._closer(place)
                elif unknown := [p for p in self._shorter(place) if self.known[p] != _WORTH]:
                    self._closer(unknown[0])
                else:
                    axes, spans = self.keys[place]
                    ease = len(axes), self.ease_of(axes, spans), axes + spans
                    ready.append(_Settled(self.bounds[place] * new[place], ease, place))
                    continue
                if self.bounds[place] * new[place] > 0.0:
                    heappush(heap, (-self.bounds[place] * new[place], place))
            if not ready:
                break
            best = min(ready, key=lambda one: one.ease)
            for one in ready:
                if one is not best:
                    heappush(heap, (-one.marginal, one.place))
            mask = self._mask(best.place)
            size, worth = int(np.count_nonzero(mask)), self.bounds[best.place]
            lines.append(Line(Name(*self.keys[best.place], size, worth), mask, new[best.place]))
            covered |= mask
        return lines

    def _mask(self, place: int) -> Mask:
        if place not in self.masks:
            self.masks[place] = self.mask_of(*self.keys[place])
        return self.masks[place]

    def _closer(self, place: int) -> None:
        """Settle one more thing about a name: first what its rows lose, then what others do."""
        mask = self._mask(place)
        scale = float(np.count_nonzero(mask) ** self.weight)
        if self.known[place] == _BOUND:
            self.bounds[place] = scale * self._loss(place, mask)
        else:
            self.bounds[place] -= scale * self.rows.rest_loss(mask)
        self.known[place] += 1

    def _loss(self, place: int, mask: Mask) -> float:
        part = self.parts.pop(place, None)
        if part is None:
            return self.rows.loss(mask)
        own = float(top_sums(part.packed[None], self.rows.Z.shape[1], self.rows.d)[0])
        return (own - part.kept) / int(np.count_nonzero(mask))

    def _shorter(self, place: int) -> list[int]:
        """The names with one condition less."""
        axes, spans = self.keys[place]
        if len(axes) == 1:
            return []
        every = combinations(range(len(axes)), len(axes) - 1)
        keys = [(tuple(axes[i] for i in on), tuple(spans[i] for i in on)) for on in every]
        return [self.places[key] for key in keys if key in self.places]

    def _idle(self, place: int) -> bool:
        """Whether a condition of a name is known to add little to what the others are worth."""
        return any(
            self.known[each] == _WORTH and self.bounds[each] * GAIN >= self.bounds[place]
            for each in self._shorter(place)
        )
