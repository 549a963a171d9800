"""Subgroup search: conditions on columns whose rows a shared representation serves worst.

A subgroup joins conditions on different columns by "and". Its quality is ``k^weight (loss - loss of
the rest)`` for its ``k`` rows. Those on one set of columns are unions of the same cells: one pass
over the rows gives the moments of them all (:mod:`leftout.linalg.moments`). The search is
exact and looks at little of that, best first:

- No rows can lose more than their residuals. So what is on a set of columns has at most the quality
  that the largest residuals of its best condition allow, and each subgroup what its own do: counts
  alone tell.
- Of those that may still be good enough, moments give a lower bound; of those that pass it,
  eigenvalues the loss.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, reduce
from itertools import combinations, pairwise
from math import prod
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from leftout.data.binning import BinnedColumn, Span, bin_column
from leftout.data.columns import Column
from leftout.data.conditions import Condition, Mask
from leftout.groups.problem_setup import Rows
from leftout.linalg.bounds import top_sum_bounds, top_sums
from leftout.linalg.losses import Array
from leftout.linalg.moments import cell_moments
from leftout.running import Steps, imap_ordered

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


# Intervals that a column of numbers is cut into.
BINS = 4
# How hard a condition is to read: of subgroups with the same rows, the easiest counts.
_EFFORT = {"=": 0, "missing": 0, "range": 1, "!=": 2, "known": 2}
# Multiplications after which the search ends where it is, and says so: a minute or so.
BUDGET = 2e11
# What the eigenvalues of a group and of its rest take, times the cube of the dimensions.
_EIGENVALUES = 3.0
# Moments of so many numbers (256 MB) are held at a time; more are looked at in parts.
_AT_ONCE = 1 << 25
# Columns alone, and sets of them, that are looked at before the least quality worth a look is
# settled anew.
_ALONE, _ROUND = 4, 64
# What comes later may cover rows of the last lines, and others of less quality follow: subgroups
# are looked for down to this share of what the list has come to.
_SLACK = 0.85


def conditions_on(columns: list[Column], bins: int, smallest: int) -> list[BinnedColumn]:
    """The columns that offer any condition, with those that are looked at.

    A category offers its values, and all but one of them; numbers every run of their intervals; and
    either that they are missing. Conditions that hold for nearly all or hardly any row are not
    among them.
    """
    offered = []
    for column in columns:
        binned = bin_column(column, bins)
        counts = np.bincount(binned.codes, minlength=binned.n_bins)
        sizes = ((span, counts[span.holds(binned.n_bins)].sum()) for span in _spans(binned))
        most = len(column) - smallest
        offered.append(binned.offering(span for span, k in sizes if smallest <= k <= most))
    return [binned for binned in offered if binned.spans]


def _spans(binned: BinnedColumn) -> list[Span]:
    known, bins = binned.n_known, binned.n_bins
    if binned.is_category:
        alone = [Span(start, start + 1) for start in range(bins)]
        return alone + [Span(s, s + 1, True) for s in range(bins)] * (bins > 2)
    runs = [Span(a, b) for a in range(known) for b in range(a + 1, known + 1)]
    return runs + [Span(known, bins)] * binned.has_missing


@dataclass(frozen=True)
class SubgroupQuery:
    """Which subgroups to look for."""

    smallest: int
    weight: float
    depth: int
    budget: float = BUDGET


@dataclass
class SubgroupResult:
    """Subgroups whose quality is above a floor, all of them unless the budget ended the search."""

    subgroups: list[Subgroup]
    floor: float = 0.0
    looked_at: int = 0  # subgroups whose size is known
    left: float = -np.inf  # none that was not looked at has a higher quality than this
    complete: bool = True
    spent: float = field(default=0.0, repr=False)


class Look(NamedTuple):
    """What a set of columns has to offer."""

    subgroups: list[Subgroup]
    looked_at: int  # subgroups of an allowed size
    cost: float  # in multiplications


class SubgroupSearch:
    """Subgroups by conditions on some columns of a table."""

    def __init__(self, rows: Rows, columns: Sequence[BinnedColumn], query: SubgroupQuery) -> None:
        self.rows, self.columns, self.query = rows, columns, query
        self.residuals, self.all_kept = rows.residuals, float(rows.kept.sum())
        self.whole = np.diag(rows.eigenvalues)  # the table's moments
        self._of_bins: dict[int, Array] = {}
        self._efforts: dict[tuple[int, int], float] = {}
        self._parts: dict[Key, tuple[Any, Array, tuple[Array, Array]]] = {}

    def best_first(
        self, top: int, distinct: bool, n_jobs: int | None = None
    ) -> tuple[list[Line], SubgroupResult]:
        """The list of subgroups, certified, and what was looked at for it."""
        slack = _SLACK if distinct else 1.0

        def least(subgroups: list[Subgroup]) -> float:
            return slack * least_of(self.listed(subgroups, top, distinct), top, distinct)

        found = self.above(least, n_jobs)
        while True:
            lines = self.listed(found.subgroups, top, distinct)
            floor = least_of(lines, top, distinct)
            if found.floor <= floor or not found.complete:
                return lines, found
            # what has come since covers rows of the last lines: others of less quality may follow
            found = self.above(floor, n_jobs)

    def beam(self, top: int) -> list[Line]:
        """A list as :meth:`best_first` makes it, but not an exact one, in a fraction of the time.

        Longer conjunctions are looked for among those that go on from the lines of the list so far.
        """
        alone = SubgroupSearch(self.rows, self.columns, replace(self.query, depth=1))
        found = alone.best_first(top, distinct=True)[1]
        while True:
            every = {one.key: one for one in found.subgroups}
            for depth in range(2, self.query.depth + 1):
                lines = self.listed(list(every.values()), top)
                floor = least_of(lines, top, distinct=True)
                for line in lines:
                    if len(line.subgroup.key) == depth - 1:
                        # of the longest none is listed that is hardly better than this line
                        last = depth == self.query.depth
                        least = max(floor, GAIN * line.subgroup.quality) if last else floor
                        every |= {one.key: one for one in self._longer(line, least)}
            lines = self.listed(list(every.values()), top)
            floor = least_of(lines, top, distinct=True)
            if found.floor <= floor:
                return lines
            found = alone.above(floor)

    def _longer(self, line: Line, floor: float) -> Iterator[Subgroup]:
        """The subgroups above a floor that add a condition to a line."""
        taken = {column for column, _ in line.subgroup.key}
        for column in range(len(self.columns)):
            if column not in taken:
                yield from self.look((column,), floor, line.subgroup.key).subgroups

    def above(
        self, floor: float | Callable[[list[Subgroup]], float], n_jobs: int | None = None
    ) -> SubgroupResult:
        """All subgroups of a higher quality than a floor, which may rise as they are found.

        A function says from those found so far what is worth a look. Some below the last floor may
        be missing.
        """
        found, blocks = SubgroupResult([]), self.blocks()
        step, n = max(_ROUND, len(blocks) // 8), len(self.columns)
        starts = [*range(0, n, _ALONE), *range(n, len(blocks), step), len(blocks)]
        for start, stop in pairwise(starts):
            now = floor(found.subgroups) if callable(floor) else floor
            found.floor = max(found.floor, now)
            part = [block for block in blocks[start:stop] if self.at_most(block) > now]
            if not part and start >= n:
                break  # those after it are no better
            tasks = [(block, now) for block in part]
            looks = imap_ordered(self.look, tasks, n_jobs, Steps(len(tasks), None), "")
            for done, look in enumerate(looks, 1):
                found.subgroups += look.subgroups
                found.looked_at += look.looked_at
                found.spent += look.cost
                if found.spent > self.query.budget and (done < len(part) or stop < len(blocks)):
                    left = [*part[done:], *blocks[stop:]]
                    found.complete, found.left = False, max(map(self.at_most, left))
                    return found
        return found

    def blocks(self) -> list[tuple[int, ...]]:
        """Sets of columns: each alone first, and then those first that may be best."""
        every: list[tuple[int, ...]] = []
        for depth in range(1, self.query.depth + 1):
            every += combinations(range(len(self.columns)), depth)
        return sorted(every, key=lambda block: (len(block) > 1, -self.at_most(block)))

    def at_most(self, block: tuple[int, ...]) -> float:
        """No subgroup on a set of columns has a higher quality."""
        return min(self.potential[column] for column in block)

    @cached_property
    def potential(self) -> list[float]:
        """No ``smallest`` rows of any of a column's conditions, or more, have a higher quality.

        Of so many rows the loss is at most the mean of the largest residuals.
        """
        order = np.argsort(-self.residuals, kind="stable")
        r, smallest = self.residuals[order], self.query.smallest
        scale = np.arange(smallest, len(r) + 1) ** (self.query.weight - 1.0)
        result = []
        for column in self.columns:
            codes, best = column.codes[order], -np.inf
            for held in column.members:
                sums = np.cumsum(r[held[codes]])[smallest - 1 :]
                best = max(best, float((scale[: len(sums)] * sums).max(initial=-np.inf)))
            result.append(best)
        return result

    def look(self, block: tuple[int, ...], floor: float, within: Key = ()) -> Look:
        """The subgroups with a condition on each of some columns whose quality is above a floor.

        ``within`` are conditions that all of them have in common, on other columns.
        """
        columns, n, d = [self.columns[place] for place in block], len(self.whole), self.rows.d
        shape = tuple(column.n_bins for column in columns)
        n_spans = tuple(len(column.spans) for column in columns)
        if len(block) > 1 and max(prod(shape), prod(n_spans)) * n**2 > _AT_ONCE:
            conditions = ((*within, (block[0], span)) for span in range(n_spans[0]))
            looks = [self.look(block[1:], floor, each) for each in conditions]
            every = [one for look in looks for one in look.subgroups]
            return Look(every, sum(x.looked_at for x in looks), sum(x.cost for x in looks))
        rows, Z, weights = self._part(within)
        cells = np.ravel_multi_index([column.codes[rows] for column in columns], shape)
        sums = np.stack([np.bincount(cells, w, prod(shape)) for w in (None, *weights)], axis=1)
        sizes, residual, kept = _boxes(sums, columns).T
        smallest = self.query.smallest
        allowed = (sizes >= smallest) & (sizes <= len(self.residuals) - smallest)
        scale = np.maximum(sizes, 1.0) ** (self.query.weight - 1.0)
        chosen = np.flatnonzero(allowed & (scale * residual > floor))
        looked_at = int(allowed.sum())
        if not len(chosen):
            return Look([], looked_at, float(len(Z)))
        known = None if within else self._moments(block[0]) if len(block) > 1 else self.whole[None]
        moments = cell_moments(cells, prod(shape), Z, known)
        S = _boxes(moments, columns)[chosen].reshape(-1, n, n)
        most = np.minimum(top_sum_bounds(S, d) - kept[chosen], residual[chosen])
        passed = scale[chosen] * most > floor
        chosen, S = chosen[passed], S[passed]
        cost = len(Z) * n**2 / 2 + len(chosen) * _EIGENVALUES * n**3
        k = sizes[chosen]
        total = top_sums(S, d) - kept[chosen]
        passed = scale[chosen] * total > floor
        chosen, k, total, S = chosen[passed], k[passed], total[passed], S[passed]
        of_rest = top_sums(self.whole - S, d) - (self.all_kept - kept[chosen])
        quality = k**self.query.weight * (total / k - of_rest / (len(self.residuals) - k))
        spans = np.column_stack(np.unravel_index(chosen, n_spans)).tolist()
        found = [
            Subgroup(tuple(sorted((*within, *zip(block, at, strict=True)))), int(size), q)
            for at, size, q in zip(spans, k.tolist(), quality.tolist(), strict=True)
            if q > floor
        ]
        return Look(found, looked_at, cost)

    def _part(self, within: Key) -> tuple[Any, Array, tuple[Array, Array]]:
        """The rows for which conditions hold, with their residuals and what is kept of them."""
        part = self._parts.get(within)
        if part is None:
            rows = np.flatnonzero(self.mask(within)) if within else slice(None)
            weights = self.residuals[rows], self.rows.kept[rows]
            part = rows, self.rows.Z[rows], weights
            self._parts = {within: part}  # the last is asked for again
        return part

    def _moments(self, column: int) -> Array:
        """Moments of the bins of one column."""
        if column not in self._of_bins:
            binned = self.columns[column]
            moments = cell_moments(binned.codes, binned.n_bins, self.rows.Z, self.whole[None])
            self._of_bins[column] = moments
        return self._of_bins[column]

    def listed(self, subgroups: list[Subgroup], top: int, distinct: bool = True) -> list[Line]:
        """The best subgroups, each of which says something new if they are to be ``distinct``."""
        return (greedy_cover if distinct else ranked)(self._order(subgroups), self.mask, top)

    def _order(self, subgroups: list[Subgroup]) -> list[Subgroup]:
        """By falling quality; of those as good as equal, the easiest to read first."""
        scale = max((abs(one.quality) for one in subgroups), default=1.0)

        def key(one: Subgroup) -> tuple[float, int, float, Key]:
            effort = sum(map(self._effort, one.key))
            return -round(one.quality / scale, 9), len(one.key), effort, one.key

        return sorted(subgroups, key=key)

    def _effort(self, at: tuple[int, int]) -> float:
        """How hard a condition is to read: a second bound counts half."""
        if at not in self._efforts:
            (c,) = self.conditions((at,))
            two = c.low is not None and c.high is not None
            self._efforts[at] = _EFFORT[c.op] + 0.5 * two
        return self._efforts[at]

    def quality(self, key: Key) -> float:
        """The quality of a subgroup, also where the search did not find it."""
        mask = self.mask(key)
        return float(np.count_nonzero(mask) ** self.query.weight) * self.rows.difference(mask)

    def mask(self, key: Key) -> Mask:
        """The rows of a subgroup."""
        return reduce(np.logical_and, (self.columns[c].mask(span) for c, span in key))

    def conditions(self, key: Key) -> tuple[Condition, ...]:
        """The conditions of a subgroup, in words."""
        every = ((self.columns[column], span) for column, span in key)
        return tuple(binned.condition(*binned.spans[span]) for binned, span in every)


def _boxes(cells: NDArray[Any], columns: Sequence[BinnedColumn]) -> Array:
    """Sums over the cells of each combination of conditions: (cells, ...) to (boxes, values)."""
    values, done = np.asarray(cells, dtype=float), 1
    for column in columns:
        values = column.members.astype(float) @ values.reshape(done, column.n_bins, -1)
        done *= len(column.spans)
    return values.reshape(done, -1)
