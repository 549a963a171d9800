"""The exact search for names: conditions on columns whose rows lose most.

A name joins conditions on different columns by "and". The names on one set of columns are the boxes
of a block: one pass over the rows gives the moments of them all (:mod:`leftout.core.boxes`). The
search is exact and looks at little of that, best first:

- No rows can lose more than their residuals. So a block is worth at most what the largest residuals
  of its best condition allow, and a box at most what its own do: counts alone tell.
- Of boxes that may still be worth it, moments give a lower ceiling; of those that pass it,
  eigenvalues the loss.

A name's worth is ``k^weight (loss - loss of the rest)`` for its ``k`` rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial, reduce
from itertools import combinations, pairwise
from math import prod
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from leftout.core.boxes import cell_moments, diagonal, highest_sums, span_moments
from leftout.core.losses import Array
from leftout.core.tridiagonal import top_sums
from leftout.running import Steps, in_turn
from leftout.search.axes import Axis, Conditions
from leftout.search.listing import GAIN, Line, Name, Place, least_of, ranked, telling
from leftout.search.pool import Part, Pool
from leftout.search.rows import Rows
from leftout.tables.conditions import Condition, Mask

# Multiplications after which the search ends where it is, and says so: a minute or so.
BUDGET = 2e11
# What the eigenvalues of a group and of its rest take, times the cube of the dimensions.
_EIGENVALUES = 3.0
# Moments of so many numbers (256 MB) are held at a time; blocks with more are looked at in parts.
_AT_ONCE = 1 << 25
# Blocks that are looked at before the least worth a look is settled anew.
_ROUND = 64
# What comes later may cover rows of the last lines, and others worth less follow: names are looked
# for down to this share of what the list has come to.
_SLACK = 0.85


@dataclass(frozen=True)
class Question:
    """Which names to look for."""

    smallest: int
    weight: float
    depth: int
    budget: float = BUDGET


@dataclass
class Found:
    """Names whose worth is above a floor, all of them unless the budget ended the search."""

    names: list[Name]
    floor: float = 0.0
    looked_at: int = 0  # names whose size is known
    left: float = -np.inf  # no name that was not looked at is worth more than this
    complete: bool = True
    spent: float = field(default=0.0, repr=False)


class Block(NamedTuple):
    """Boxes to weigh: names on the axes of ``place``, the first of whose conditions are fixed."""

    place: Place
    fixed: Place  # the conditions of the first axes
    axes: list[Axis]  # the others
    cells: NDArray[np.intp]  # of the rows for which the fixed conditions hold
    Z: Array
    residuals: Array
    shared: Array  # what the shared representation keeps of each row


class Look(NamedTuple):
    """What a block has to offer."""

    names: list[Name]
    boxes: int  # names of an allowed size
    cost: float  # in multiplications


class Search:
    """Names on some axes of a table."""

    def __init__(self, rows: Rows, axes: Sequence[Axis], asked: Question) -> None:
        self.rows, self.axes, self.asked = rows, axes, asked
        self.residuals, self.all_shared = rows.residuals, float(rows.kept.sum())
        self.bins: dict[int, Array] = {}
        self.whole = diagonal(rows.eigenvalues)  # the table's moments

    @cached_property
    def potential(self) -> list[float]:
        """What names on each column are worth at most."""
        return [self._potential(axis) for axis in self.axes]

    @property
    def m(self) -> int:
        return len(self.rows.Z)

    def blocks(self) -> list[Place]:
        """Sets of axes, those first whose names may be worth most."""
        every: list[Place] = []
        for depth in range(1, self.asked.depth + 1):
            every += combinations(range(len(self.axes)), depth)
        return sorted(every, key=lambda block: (len(block) > 1, -self.at_most(block)))

    def at_most(self, block: Place) -> float:
        """No name of a block is worth more."""
        return min(self.potential[axis] for axis in block)

    def above(
        self,
        floor: Callable[[list[Name]], float],
        n_jobs: int | None = None,
        distinct: bool = False,
    ) -> Found:
        """All names worth more than a floor, which may rise as names are found.

        ``floor`` says from the names found so far what is worth a look. Names below the last floor
        may be missing, and of those with two conditions, if they are to be ``distinct``, the ones
        that are worth hardly more than one of the conditions: no list has them.
        """
        found, blocks = Found([]), self.blocks()
        step = max(_ROUND, len(blocks) // 8)
        alone = range(0, len(self.axes), _ROUND // 4)
        starts = [*alone, *range(len(self.axes), len(blocks), step), len(blocks)]
        for start, stop in pairwise(starts):
            now = floor(found.names)
            found.floor = max(found.floor, now)
            part = [block for block in blocks[start:stop] if self.at_most(block) > now]
            if not part and start >= len(self.axes):
                break  # those after it are worth less
            pairs = distinct and self.asked.depth == 2 and start >= len(self.axes)
            conditions = self._alone(found.names) if pairs else None
            tasks = [(block, now, conditions) for block in part]
            looks = in_turn(self.look, tasks, n_jobs, Steps(len(tasks), None), "")
            for done, look in enumerate(looks, 1):
                found.names += look.names
                found.looked_at += look.boxes
                found.spent += look.cost
                if found.spent > self.asked.budget and (done < len(part) or stop < len(blocks)):
                    left = [*part[done:], *blocks[stop:]]
                    found.complete, found.left = False, max(map(self.at_most, left))
                    return found
        return found

    def lines(
        self, top: int, distinct: bool, n_jobs: int | None = None
    ) -> tuple[list[Line], Found]:
        """The list of names, and what was looked at for it."""
        slack = _SLACK if distinct else 1.0

        def least(names: list[Name]) -> float:
            return slack * least_of(self._picked(names, top, distinct), top, distinct)

        found = self.above(least, n_jobs, distinct)
        while True:
            lines = self._picked(found.names, top, distinct)
            floor = least_of(lines, top, distinct)
            if found.floor <= floor or not found.complete:
                return lines, found
            # what has come since covers rows of the last lines: others, worth less, may follow
            found = self.above(partial(_always, floor), n_jobs, distinct)

    def _picked(self, names: list[Name], top: int, distinct: bool = True) -> list[Line]:
        return (telling if distinct else ranked)(self.order(names), self.mask, top)

    def _alone(self, names: list[Name]) -> list[Array]:
        """What each condition is worth by itself, for every column."""
        result = [np.full(len(axis.spans), -np.inf) for axis in self.axes]
        for name in names:
            if len(name.axes) == 1:
                result[name.axes[0]][name.spans[0]] = name.worth
        return result

    def look(self, block: Place, floor: float, alone: list[Array] | None = None) -> Look:
        """The names of a block that are worth more than a floor, and more than conditions alone."""
        axes = [self.axes[axis] for axis in block]
        shape = tuple(axis.n_bins for axis in axes)
        cells = np.ravel_multi_index(tuple(axis.codes for axis in axes), shape)
        whole = Block(block, (), axes, cells, self.rows.Z, self.residuals, self.rows.kept)
        looks = [self._weighed(part, floor, alone) for part in self._parts(whole)]
        names = [name for look in looks for name in look.names]
        return Look(names, sum(look.boxes for look in looks), sum(look.cost for look in looks))

    def _parts(self, block: Block) -> Iterator[Block]:
        """A block, or where moments are too many one for each condition of its first column."""
        n, axes = self.rows.Z.shape[1], block.axes
        shapes = [[axis.n_bins for axis in axes], [len(axis.spans) for axis in axes]]
        if len(axes) == 1 or max(map(prod, shapes)) * n * (n + 1) // 2 <= _AT_ONCE:
            yield block
            return
        codes, cells = np.divmod(block.cells, prod(shapes[0][1:]))
        for span, held in enumerate(axes[0].sums.astype(bool)):
            rows = held[codes]
            if np.count_nonzero(rows) >= self.asked.smallest:
                kept = block.Z[rows], block.residuals[rows], block.shared[rows]
                part = Block(block.place, (*block.fixed, span), axes[1:], cells[rows], *kept)
                yield from self._parts(part)

    def beam(self, top: int) -> list[Line]:
        """A list as :func:`telling` makes it, but not an exact one, in a fraction of the time.

        Longer names are looked for among those that go on from the lines of the list so far.
        """
        if not self.axes:
            return []
        pool = Pool(self.rows, self.asked.weight, self._rows_of, self._ease)
        self._add(pool, Name((), (), self.m, 0.0), np.ones(self.m, dtype=bool), 0.0)
        lines = pool.lines(top)
        for depth in range(2, self.asked.depth + 1):
            floor = least_of(lines, top, distinct=True)
            for line in lines:
                if len(line.name.axes) == depth - 1:
                    # of the longest names none is listed that is worth hardly more than this line
                    last = depth == self.asked.depth
                    least = max(floor, GAIN * line.name.worth) if last else floor
                    self._add(pool, line.name, line.mask, least)
            lines = pool.lines(top)
        return lines

    def _add(self, pool: Pool, name: Name, mask: Mask, floor: float) -> None:
        """Put all names into a pool that add a condition to a name and may be worth a floor.

        What each is worth at most is told in the axes of the name's own rows, in which the moments
        of its parts are nearly diagonal.
        """
        n, d, every = self.rows.Z.shape[1], self.rows.d, self.conditions_of
        rows = np.flatnonzero(mask)
        Z, residuals, values = self.rows.Z[rows], self.residuals[rows], self.rows.eigenvalues
        kept = self.rows.kept[rows]
        if name.axes:
            values, axes = np.linalg.eigh(Z.T @ Z)
            Z = Z @ axes
        codes = np.take(every.codes, rows, axis=1)  # by rows, as kernels are compiled for
        bins = [
            np.bincount(codes.ravel(), None if w is None else np.tile(w, len(codes)), every.n_bins)
            for w in (None, residuals, kept)
        ]
        sizes, residual, shared = (every.held @ each for each in bins)
        scale = np.maximum(sizes, 1.0) ** (self.asked.weight - 1.0)
        allowed = np.minimum(sizes, self.m - sizes) >= self.asked.smallest
        allowed &= ~np.isin(every.axis, name.axes) & (scale * residual > floor)
        for chosen in _batches(np.flatnonzero(allowed), n):
            packed = span_moments(
                codes, every.first, every.axis[chosen], every.taken[chosen], Z, diagonal(values)
            )
            most = highest_sums(packed, n, d) - shared[chosen]
            bounds = scale[chosen] * np.minimum(most, residual[chosen])
            for i in np.flatnonzero(bounds > floor).tolist():
                place, span = int(every.axis[chosen[i]]), int(every.span[chosen[i]])
                longer = Name((*name.axes, place), (*name.spans, span), 0, 0.0).sorted()
                part = Part(packed[i], float(shared[chosen[i]]))
                pool.add(longer.axes, longer.spans, float(bounds[i]), part)

    @cached_property
    def conditions_of(self) -> Conditions:
        return Conditions.of(self.axes)

    def _rows_of(self, axes: Place, spans: Place) -> Mask:
        return self.mask(Name(axes, spans, 0, 0.0))

    def _ease(self, axes: Place, spans: Place) -> float:
        """How hard a name is to read."""
        return sum(self.axes[a].ease[s] for a, s in zip(axes, spans, strict=True))

    def _weighed(self, block: Block, floor: float, alone: list[Array] | None = None) -> Look:
        """The boxes of a block that are worth more than a floor, and more than conditions alone."""
        axes, a, n, d = block.axes, self.asked.weight, self.rows.Z.shape[1], self.rows.d
        n_cells = int(np.prod([axis.n_bins for axis in axes]))
        weights = (None, block.residuals, block.shared)
        sums = [np.bincount(block.cells, w, n_cells) for w in weights]
        sizes, residual, shared = (_boxes(each[:, None], axes)[:, 0] for each in sums)
        allowed = (sizes >= self.asked.smallest) & (sizes <= self.m - self.asked.smallest)
        scale = np.maximum(sizes, 1.0) ** (a - 1.0)
        chosen = np.flatnonzero(allowed & (scale * residual > floor))
        boxes = int(allowed.sum())
        if not len(chosen):
            return Look([], boxes, float(len(block.Z)))
        packed = _boxes(self._cells(block, n_cells), axes)[chosen]
        most = np.minimum(highest_sums(packed, n, d) - shared[chosen], residual[chosen])
        passed = scale[chosen] * most > floor
        chosen, packed = chosen[passed], packed[passed]
        cost = len(block.Z) * n**2 / 2 + len(chosen) * _EIGENVALUES * n**3
        k = sizes[chosen]
        losses = (top_sums(packed, n, d) - shared[chosen]) / k
        passed = k**a * losses > np.maximum(floor, GAIN * _parts_worth(block, alone)[chosen])
        chosen, k, losses, packed = chosen[passed], k[passed], losses[passed], packed[passed]
        of_rest = top_sums(self.whole - packed, n, d) - (self.all_shared - shared[chosen])
        rest = of_rest / (self.m - k)
        worth = k**a * (losses - rest)
        spans = np.unravel_index(chosen, tuple(len(axis.spans) for axis in axes))
        names = [
            Name(block.place, (*block.fixed, *(int(s[i]) for s in spans)), int(k[i]), float(w))
            for i, w in enumerate(worth)
            if w > floor
        ]
        return Look(names, boxes, cost)

    def _cells(self, block: Block, n_cells: int) -> Array:
        """Packed moments of a block's cells.

        Of all rows, the largest cell in each bin of the first column is what the others leave.
        """
        if len(block.Z) < self.m or len(block.axes) == 1:
            return cell_moments(block.cells, n_cells, block.Z)
        bins = block.axes[0].n_bins
        counts = np.bincount(block.cells, minlength=n_cells).reshape(bins, -1)
        first, largest = np.arange(bins), counts.argmax(axis=1)
        spared = np.zeros(n_cells, dtype=bool)
        spared[first * counts.shape[1] + largest] = True
        cells = np.where(spared[block.cells], -1, block.cells)
        packed = cell_moments(cells, n_cells, block.Z).reshape(*counts.shape, -1)
        packed[first, largest] = self._bins(block.place[0]) - packed.sum(axis=1)
        return packed.reshape(n_cells, -1)

    def _bins(self, axis: int) -> Array:
        """Packed moments of the bins of one column."""
        if axis not in self.bins:
            codes, bins = self.axes[axis].codes, self.axes[axis].n_bins
            self.bins[axis] = cell_moments(codes, bins, self.rows.Z)
        return self.bins[axis]

    def worth(self, axes: Place, spans: Place) -> float:
        """What a name is worth, also where the search did not find it."""
        mask = self.mask(Name(axes, spans, 0, 0.0))
        return float(np.count_nonzero(mask) ** self.asked.weight) * self.rows.difference(mask)

    def mask(self, name: Name) -> NDArray[np.bool_]:
        masks = [self.axes[a].mask(s) for a, s in zip(name.axes, name.spans, strict=True)]
        return reduce(np.logical_and, masks)

    def conditions(self, name: Name) -> tuple[Condition, ...]:
        places = zip(name.axes, name.spans, strict=True)
        return tuple(self.axes[a].condition(s) for a, s in places)

    def order(self, names: list[Name]) -> list[Name]:
        """By falling worth; of names as good as equal, those that are easiest to read first."""
        scale = max((abs(name.worth) for name in names), default=1.0)

        def key(name: Name) -> tuple[float, int, float, Place]:
            ease = self._ease(name.axes, name.spans)
            return -round(name.worth / scale, 9), len(name.axes), ease, name.axes + name.spans

        return sorted(names, key=key)

    def _potential(self, axis: Axis) -> float:
        """No part of at least ``smallest`` rows of any of a column's conditions is worth more.

        Of so many rows the loss is at most the mean of the largest residuals.
        """
        best, smallest = -np.inf, self.asked.smallest
        order = np.argsort(-self.residuals, kind="stable")
        codes, r = axis.codes[order], self.residuals[order]
        for held in axis.sums.astype(bool):
            sums = np.cumsum(r[held[codes]])[smallest - 1 :]
            k = np.arange(smallest, smallest + len(sums))
            best = max(best, float((k ** (self.asked.weight - 1.0) * sums).max(initial=-np.inf)))
        return best


def _always(floor: float, names: list[Name]) -> float:
    return floor


def _parts_worth(block: Block, alone: list[Array] | None) -> Array:
    """What the better of the conditions of each box of a block is worth by itself."""
    spans = [len(axis.spans) for axis in block.axes]
    if alone is None:
        return np.full(prod(spans), -np.inf)
    of_rest = [alone[place] for place in block.place[len(block.fixed) :]]
    best = reduce(np.maximum.outer, of_rest).ravel()
    of_fixed = [alone[a][s] for a, s in zip(block.place, block.fixed, strict=False)]
    return np.maximum(best, max(of_fixed, default=-np.inf))


def _batches(chosen: NDArray[np.intp], n: int) -> list[NDArray[np.intp]]:
    """Conditions whose moments are taken at a time."""
    step = max(1, _AT_ONCE // (n * (n + 1) // 2))
    return [chosen[start : start + step] for start in range(0, len(chosen), step)]


def _boxes(cells: NDArray[Any], axes: Sequence[Axis]) -> Array:
    """Sums over the cells of each box: (cells, values) to (boxes, values)."""
    values = cells.reshape(*(axis.n_bins for axis in axes), -1)
    for place, axis in enumerate(axes):
        values = np.moveaxis(np.tensordot(axis.sums, values, axes=(1, place)), 0, place)
    return np.ascontiguousarray(values.reshape(-1, values.shape[-1]))
