"""Subgroup search: conditions on columns whose rows a shared representation serves worst.

A subgroup joins conditions on different columns by "and". Its quality is ``k^weight (loss - loss of
the rest)`` for its ``k`` rows. Those on one set of columns are unions of the same cells: one pass
over the rows gives the moments of them all (:mod:`leftout.linalg.moments`). The search is exact;
eigenvalues, which are most of its work, are taken only where bounds allow enough quality:

- No rows lose more than their residuals, nor more than their moments allow
  (:func:`~leftout.linalg.bounds.top_sum_bounds`).
- The largest eigenvalues are at most those in the leading axes and the variance along the others.
- A longer conjunction is listed only if it is better than its parts, which are weighed first.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import combinations
from math import prod
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from leftout.data.binning import BinnedColumn, bin_column
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
    """Rows for which some conditions hold, how many they are or weigh, and their quality."""

    key: Key
    size: float
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


def quality_floor(lines: list[Line], top: int, distinct: bool = True) -> float:
    """What quality a subgroup must have to change a list, or to keep a longer one out of it."""
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
            both = np.count_nonzero(mask & covered)
            lines.append(Line(one, mask, 1.0 - both / np.count_nonzero(mask)))
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
            share = 1.0 - np.count_nonzero(mask & covered) / np.count_nonzero(mask)
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
# Multiplications after which the search ends where it is, and says so: ten seconds or so.
BUDGET = 8e10
# What the eigenvalues of a group and of its rest take, times the cube of the dimensions.
_EIGENVALUES = 3.0
# Moments of so many numbers (256 MB) are held at a time; more are looked at in parts.
_AT_ONCE = 1 << 25
# Candidates that are weighed, and sets of columns that are looked at, before the floor is raised.
_BATCH, _ROUND = 8, 64
# In a full list, what comes later may cover rows of the last lines, and others of less quality
# follow: subgroups are looked for down to this share of what it has come to.
_SLACK = 0.85


def conditions_on(columns: list[Column], bins: int, smallest: int) -> list[BinnedColumn]:
    """The columns that offer any condition, with those that are looked at.

    Conditions that hold for nearly all or hardly any row are not among them.
    """
    offered = []
    for column in columns:
        binned = bin_column(column, bins)
        counts = np.bincount(binned.codes, minlength=binned.n_bins)
        sizes = ((span, counts[span.holds(binned.n_bins)].sum()) for span in binned.offered())
        most = len(column) - smallest
        offered.append(binned.with_conditions(span for span, k in sizes if smallest <= k <= most))
    return [binned for binned in offered if binned.spans]


@dataclass(frozen=True)
class SubgroupQuery:
    """Which subgroups to look for."""

    smallest: int
    weight: float
    depth: int


@dataclass
class SubgroupResult:
    """Subgroups whose quality is above a floor, all of them unless the budget ended the search."""

    subgroups: list[Subgroup]
    floor: float = 0.0
    n_names: int = 0  # subgroups of an allowed size that were looked at
    complete: bool = True


_ARRAYS = ("sizes", "kept", "second", "bounds", "floors")


class Candidates(NamedTuple):
    """Subgroups that may have enough quality."""

    keys: list[Key]
    sizes: Array
    kept: Array  # by the shared representation
    second: Array  # moments
    bounds: Array  # no quality is higher
    floors: Array  # what quality is enough
    n_names: int = 0  # subgroups of an allowed size that they are some of

    def take(self, places: NDArray[np.intp]) -> Self:
        arrays: dict[str, Any] = {name: getattr(self, name)[places] for name in _ARRAYS}
        return self._replace(keys=[self.keys[place] for place in places], **arrays)

    @classmethod
    def joined(cls, parts: list[Self]) -> Self:
        arrays = {name: np.concatenate([getattr(p, name) for p in parts]) for name in _ARRAYS}
        keys = [key for part in parts for key in part.keys]
        return cls(keys=keys, n_names=sum(part.n_names for part in parts), **arrays)


class SubgroupSearch:
    """Subgroups by conditions on some columns of a table."""

    def __init__(self, rows: Rows, columns: Sequence[BinnedColumn], query: SubgroupQuery) -> None:
        self.rows, self.columns, self.query = rows, columns, query
        self.all_kept = float(rows.kept.sum())
        self.whole = np.diag(rows.eigenvalues)  # the table's moments
        self.weights = (rows.weights, rows.residuals, rows.kept)  # each may be summed up
        self._of_bins: dict[int, Array] = {}
        self._efforts: dict[tuple[int, int], float] = {}

    def best_first(
        self, top: int, distinct: bool, n_jobs: int | None = None
    ) -> tuple[list[Line], SubgroupResult]:
        """The list of subgroups, exact, and what was looked at for it."""

        def rising(subgroups: list[Subgroup]) -> float:
            lines = self.listed(subgroups, top, distinct)
            slack = _SLACK if distinct and len(lines) == top else 1.0
            return slack * quality_floor(lines, top, distinct)

        found = self.above(rising, distinct, n_jobs)
        while True:
            lines = self.listed(found.subgroups, top, distinct)
            floor = quality_floor(lines, top, distinct)
            if found.floor <= floor or not found.complete:
                return lines, found
            # what has come since covers rows of the last lines: others of less quality may follow
            found = self.above(floor, distinct, n_jobs)

    def beam(self, top: int) -> list[Line]:
        """A list as :meth:`best_first` makes it, but not an exact one, in a fraction of the time.

        Of longer conjunctions it knows the best that goes on from the best so far.
        """
        every = self._single(lambda found: quality_floor(self.listed(found, top), top)).subgroups
        for _ in range(1, self.query.depth):
            lines = self.listed(every, top)
            if lines:
                best = lines[0].subgroup
                every += self._longer(best.key, GAIN * best.quality)
        return self.listed(every, top)

    def _longer(self, key: Key, floor: float) -> list[Subgroup]:
        """The best subgroup above a floor that adds a condition to others, if there is one."""

        def best(found: list[Subgroup]) -> float:
            return max([floor, *(one.quality for one in found)])

        found: list[Subgroup] = []
        for some in self._of_columns(key):
            self._weigh(some, best, found)
        return sorted(found, key=lambda one: -one.quality)[:1]

    def above(
        self,
        floor: float | Callable[[list[Subgroup]], float],
        distinct: bool = False,
        n_jobs: int | None = None,
    ) -> SubgroupResult:
        """All subgroups of a higher quality than a floor, which may rise as they are found.

        A function says from those found so far what it is; some below the last one may be missing.
        Of a ``distinct`` list, so may longest ones that are hardly better than one of their parts.
        """
        floor_of = floor if callable(floor) else lambda _: floor
        found, depth = self._single(floor_of), self.query.depth
        if not found.complete:
            return found
        alone = [np.zeros(len(column.spans)) for column in self.columns]
        for one in found.subgroups:
            ((column, place),) = one.key
            alone[column][place] = one.quality
        strength = [float(each.max()) for each in alone]
        blocks: list[tuple[int, ...]] = []
        for longer in range(2, depth + 1):
            every = combinations(range(len(self.columns)), longer)
            blocks += sorted(every, key=lambda block: -max(strength[place] for place in block))
        spent, m, n = 0.0, *self.rows.Z.shape
        for start in range(0, len(blocks), step := max(_ROUND, len(blocks) // 8)):
            now = found.floor = max(found.floor, floor_of(found.subgroups))
            tasks: list[tuple[tuple[int, ...], float | Array]] = []
            for block in blocks[start : start + step]:
                least: float | Array = now
                if distinct and len(block) == depth:
                    least = GAIN * now
                    if depth == 2:
                        halves = np.maximum.outer(alone[block[0]], alone[block[1]])
                        least = GAIN * np.maximum(now, halves)
                tasks.append((block, least))
            looks = imap_ordered(self.look, tasks, n_jobs, Steps(len(tasks), None), "")
            for done, (subgroups, n_names, n_weighed) in enumerate(looks, start + 1):
                found.subgroups += subgroups
                found.n_names += n_names
                spent += m * n**2 / 2 + n_weighed * _EIGENVALUES * n**3
                if spent > BUDGET and done < len(blocks):
                    found.complete = False
                    return found
        return found

    def _single(self, floor: Callable[[list[Subgroup]], float]) -> SubgroupResult:
        """The subgroups of one condition above a floor that rises as they are found.

        Not complete where more are worth a look than the budget allows.
        """
        found, spent = SubgroupResult([]), 0.0
        for some in self._of_columns(()):
            found.complete = spent <= BUDGET
            if not found.complete:
                break
            highest, n_weighed = self._weigh(some, floor, found.subgroups)
            found.floor = max(found.floor, highest)
            found.n_names += some.n_names
            spent += n_weighed * _EIGENVALUES * len(self.whole) ** 3
        return found

    def _of_columns(self, key: Key) -> Iterator[Candidates]:
        """The candidates that add a condition on any one column, as many as fit into memory."""
        taken, held = {column for column, _ in key}, list[Candidates]()
        for column in (place for place in range(len(self.columns)) if place not in taken):
            held.append(self.screen(key, (column,), 0.0))
            if sum(some.second.size for some in held) > _AT_ONCE:
                yield Candidates.joined(held)
                held = []
        if held:
            yield Candidates.joined(held)

    def _weigh(
        self, some: Candidates, floor: Callable[[list[Subgroup]], float], found: list[Subgroup]
    ) -> tuple[float, int]:
        """Add the candidates above a floor that rises with those found, best bounds first.

        Returns the highest floor that was looked down to, and of how many eigenvalues were taken.
        """
        order, highest = np.argsort(-some.bounds, kind="stable"), 0.0
        for start in range(0, len(order), _BATCH):
            highest = max(highest, now := floor(found))
            if some.bounds[order[start]] <= now:
                return highest, start
            found += self.weigh(some.take(order[start : start + _BATCH]), now)
        return highest, len(order)

    def look(
        self, block: tuple[int, ...], floor: float | Array, key: Key = ()
    ) -> tuple[list[Subgroup], int, int]:
        """The subgroups with a condition on each of some columns whose quality is above a floor.

        ``floor`` is one number, or one for each combination of conditions. And how many have an
        allowed size, and of how many eigenvalues were taken.
        """
        columns = [self.columns[place] for place in block]
        n_spans = [len(column.spans) for column in columns]
        most = max(prod(n_spans), prod(column.n_bins for column in columns))
        if len(block) == 1 or most * self.whole.size <= _AT_ONCE:
            some = self.screen(key, block, floor)
            return self.weigh(some), some.n_names, len(some.keys)
        floors = np.broadcast_to(floor, n_spans)
        looks = [
            self.look(block[1:], least, (*key, (block[0], place)))
            for place, least in enumerate(floors)
        ]
        found, n_names, n_weighed = zip(*looks, strict=True)
        return [one for each in found for one in each], sum(n_names), sum(n_weighed)

    def screen(self, key: Key, block: tuple[int, ...], floor: float | Array) -> Candidates:
        """Subgroups with conditions on some more columns each, that may have enough quality."""
        rows: Any = np.flatnonzero(self.mask(key)) if key else slice(None)
        columns, n, d = [self.columns[place] for place in block], len(self.whole), self.rows.d
        shape = tuple(column.n_bins for column in columns)
        n_spans = tuple(len(column.spans) for column in columns)
        cells = np.ravel_multi_index([column.codes[rows] for column in columns], shape)
        weights = (None if each is None else each[rows] for each in self.weights)
        sums = [np.bincount(cells, weight, prod(shape)) for weight in weights]
        sizes, residual, kept = _boxes(np.stack(sums, axis=1), columns).T
        least, floors = self.query.smallest, np.broadcast_to(floor, n_spans).ravel()
        allowed = (sizes >= least) & (sizes <= len(self.rows.Z) - least)
        scale = np.maximum(sizes, 1.0) ** (self.query.weight - 1.0)
        chosen = np.flatnonzero(allowed & (scale * residual > floors))
        S = np.empty((0, n, n))
        if len(chosen):
            known = None if key else self._moments(block[0]) if block[1:] else self.whole[None]
            moments = cell_moments(cells, prod(shape), self.rows.Z[rows], known)
            S = _boxes(moments, columns)[chosen].reshape(-1, n, n)
        most = np.minimum(top_sum_bounds(S, d) - kept[chosen], residual[chosen])
        passed = scale[chosen] * most > floors[chosen]
        chosen, S, most = chosen[passed], S[passed], most[passed]
        spans = np.column_stack(np.unravel_index(chosen, n_spans)).tolist()
        return Candidates(
            keys=[tuple(sorted((*key, *zip(block, at, strict=True)))) for at in spans],
            sizes=sizes[chosen],
            kept=kept[chosen],
            second=S,
            bounds=scale[chosen] * most,
            floors=floors[chosen],
            n_names=int(allowed.sum()),
        )

    def weigh(self, some: Candidates, floor: float = 0.0) -> list[Subgroup]:
        """The candidates whose quality is above a floor, and above their own."""
        n, d, weight = len(self.whole), self.rows.d, self.query.weight
        floors = np.maximum(some.floors, floor)

        def passing(some: Candidates, totals: Array) -> NDArray[np.intp]:
            return np.flatnonzero(some.sizes ** (weight - 1.0) * (totals - some.kept) > floors)

        # the leading axes first: the others add no more than the variance along them
        leading = (n + d) // 2
        others = np.einsum("bii->b", some.second[:, leading:, leading:])
        passed = passing(some, top_sums(some.second[:, :leading, :leading], d) + others)
        some, floors = some.take(passed), floors[passed]
        totals = top_sums(some.second, d)
        passed = passing(some, totals)
        some, floors, totals = some.take(passed), floors[passed], totals[passed]
        k, lost = some.sizes, totals - some.kept
        of_rest = top_sums(self.whole - some.second, d) - (self.all_kept - some.kept)
        quality = k**weight * (lost / k - of_rest / (len(self.rows.Z) - k))
        return [
            Subgroup(key, float(size), value)
            for key, size, value, least in zip(some.keys, k, quality.tolist(), floors, strict=True)
            if value > least
        ]

    def _moments(self, column: int) -> Array:
        """Moments of the bins of one column."""
        if column not in self._of_bins:
            binned = self.columns[column]
            moments = cell_moments(binned.codes, binned.n_bins, self.rows.Z, self.whole[None])
            self._of_bins[column] = moments
        return self._of_bins[column]

    def listed(self, subgroups: list[Subgroup], top: int, distinct: bool = True) -> list[Line]:
        """The best subgroups, each of which says something new if they are to be ``distinct``.

        Of those as good as equal, the easiest to read come first.
        """
        scale = max((abs(one.quality) for one in subgroups), default=1.0)

        def key(one: Subgroup) -> tuple[float, int, float, Key]:
            effort = sum(map(self._effort, one.key))
            return -round(one.quality / scale, 9), len(one.key), effort, one.key

        ordered = sorted(subgroups, key=key)
        return (greedy_cover if distinct else ranked)(ordered, self.mask, top)

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
        return float(self.rows.weight(mask) ** self.query.weight) * self.rows.difference(mask)

    def mask(self, key: Key) -> Mask:
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
