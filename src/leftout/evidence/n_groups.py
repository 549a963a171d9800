"""How many left-out groups are there? As many as are more than surrogates show.

Groups are peeled off the table one by one, and off its surrogates alike: as many, of the same
sizes, each searched among the rows that are left. The next group counts if the table's best
disparities, over a grid of sizes, stand out from those of the surrogates: each curve is
standardised size by size and reduced to its maximum, and the table's is ranked among those of the
surrogates. The first group that does not stand out ends the count, so a false one is counted in 5%
of tables, whatever the number of groups. (Surrogates have what the groups add to values and
correlations, and no group: later ones are held to more than the rest of the table would show.)

The size with most evidence may be that of two groups: such a mix loses more in total than either.
So what is peeled off is grown from the groups that stand out, with their directions held: it is as
large as ``k D(k)``, with ``D(k)`` the disparity of the ``k`` rows that gain most, exceeds the most
that any group of up to ``k`` rows loses in surrogates by as much as anywhere, up to one standard
error. Components are learned from these rows, and so on until the rows stay.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import PchipInterpolator
from sklearn.base import clone

from leftout.checks import check_count
from leftout.data.conditions import Mask
from leftout.errors import InputError
from leftout.evidence.refit import SearchTask, Sizes, check_search, fewer, search_sizes
from leftout.evidence.sequential import draw_until, most_tables, should_stop
from leftout.files import Serializable
from leftout.groups.partition import MaxDisparityPartition
from leftout.groups.sizes import check_size, fewest, spaced_sizes
from leftout.linalg.assignment import Partition, among
from leftout.linalg.losses import Array
from leftout.linalg.problem import Labels, Problem
from leftout.linalg.significance import (
    LEVEL,
    can_tell,
    corrected_p_values,
    describe_p,
    standardised,
)
from leftout.running import Report, Steps, clean_interrupts, collected_warnings, one_thread
from leftout.text import counted

MOST_COUNTED = 6
_COUNTING_TABLES, _GRID_SIZES = 39, 8
# Rounds in which a group grows.
_GROWTH_ROUNDS = 20


@dataclass(frozen=True, kw_only=True)
class ExtractedGroup(Serializable):
    """A group that was looked for after those before it were peeled off."""

    size: int  # its rows; where it does not count, those at which it stands out most
    disparity: float  # its loss minus that of the rows that are left without it
    chance: float  # the same in surrogates, on average
    p_value: float  # over all sizes
    tables: int  # surrogates that were needed
    n_sizes: int  # that were compared

    @property
    def counts(self) -> bool:
        return self.p_value <= LEVEL


@dataclass(frozen=True, kw_only=True)
class HowMany(Serializable):
    """How many left-out groups there are, and how they were counted.

    Attributes
    ----------
    looked : list of ExtractedGroup
        Each group that was looked for, in turn; the last does not count, unless no more were asked
        for or no rows were left.
    """

    looked: list[ExtractedGroup]

    @property
    def sizes(self) -> list[int]:
        """Of the groups that count, in the order in which they were peeled off."""
        return [each.size for each in self.looked if each.counts]

    @property
    def n_groups(self) -> int:
        """Left-out groups, without the rest."""
        return len(self.sizes)

    def summary(self) -> str:
        """The count in words."""
        found = [f"{g.size:,} rows ({describe_p(g.p_value)})" for g in self.looked if g.counts]
        last = [f" ({describe_p(each.p_value)})" for each in self.looked if not each.counts]
        if not found:
            return f"No left-out group is more than surrogates show{''.join(last)}."
        verb = "is" if len(found) == 1 else "are"
        after = f" The next is not{last[0]}." if last else ""
        return (
            f"{counted(len(found), 'left-out group')} {verb} more than surrogates show: "
            f"{', '.join(found)}.{after}"
        )


@clean_interrupts()
def how_many(
    estimator: MaxDisparityPartition,
    X: Any,
    *,
    n_surrogates: int = _COUNTING_TABLES,
    most: int = MOST_COUNTED,
    sizes: int = _GRID_SIZES,
    progress: Report | bool | None = None,
) -> HowMany:
    """Count the left-out groups of a table.

    Parameters
    ----------
    estimator : MaxDisparityPartition
        What to search with. With a ``group_size``, only groups of that size are looked for.
    X : table of shape (m, n)
    n_surrogates : int, default=39
        Copula surrogates that decide if fewer do not settle it; at least 19.
    most : int, default=6
        Groups that are looked for.
    sizes : int, default=8
        Sizes that are compared, log-spaced from the smallest allowed (the estimator's
        ``min_group_size``, or 20 and two for each component) to half of the rows.
    progress : callable, bool or None
        ``progress(what, done, total)`` is called after every step; True: to stderr.

    Examples
    --------
    >>> from leftout import MaxDisparityPartition, datasets, how_many
    >>> X, _ = datasets.make_planted(300, 9, 2, [40, 60], random_state=0)
    >>> how_many(MaxDisparityPartition(2, random_state=0), X, n_surrogates=19).n_groups
    2
    """
    check_search(estimator)
    check_count("most", most)
    check_count("n_surrogates", n_surrogates)
    if not can_tell(n_surrogates):
        raise InputError(
            f"n_surrogates={n_surrogates} surrogates cannot tell anything at the level of "
            f"{LEVEL:.0%}; give at least 19."
        )
    size = estimator.group_size
    alone = clone(estimator).set_params(n_groups=1, group_size=None, verbose=0)
    with collected_warnings():
        task = SearchTask.of(alone, X)
    m = len(task.X)
    if size is not None:
        grid = np.array([check_size("group_size", size, m)])
    else:
        smallest = alone.min_group_size
        given = None if smallest is None else check_size("min_group_size", smallest, m)
        grid = spaced_sizes(sizes, given or fewest(m, task.n_components), m)
    with one_thread():
        return count_groups(task, grid, n_surrogates, most, Steps(n_surrogates, progress))


def count_groups(
    task: SearchTask, grid: NDArray[np.intp], asked: int, most: int, steps: Steps
) -> HowMany:
    """Look for one more group, in the table and in its surrogates, while these count."""
    solver, few, law = task.solver, fewer(task.solver), task.surrogates.law("copula")
    of_table, of_others = task.rngs[0].spawn(2)
    looked: list[ExtractedGroup] = []

    def curve(rng: np.random.Generator, sizes: Sizes, before: list[int]) -> Array:
        """A surrogate's, once the groups before are peeled off it."""
        other = task.pose(law.draw(rng)).problem
        rows = np.ones(len(other.X), dtype=bool)
        for size in before:
            (group,) = search_sizes(few, _among(other, rows), [size], rng)
            rows = _peeled(rows, group)
        return _values(search_sizes(solver, _among(other, rows), sizes, rng))

    left = np.ones(len(task.X), dtype=bool)
    while len(looked) < most and all(each.counts for each in looked):
        sizes = grid[grid <= int(left.sum()) // 2]
        if not len(sizes):
            break
        table = _among(task.posed.problem, left)
        groups = search_sizes(solver, table, sizes, of_table)
        own = _values(groups)

        def enough(drawn: list[Array], own: Array = own) -> bool:
            highest = standardised(np.vstack([own, *drawn])).max(axis=1)
            return should_stop(highest[0], highest[1:], asked)

        # of their own for each group: how far others were drawn may depend on the number of jobs
        rngs, before = of_others.spawn(most_tables(asked)), [each.size for each in looked]
        what = f"group {len(looked) + 1} in surrogates"
        tasks = [(rng, sizes, before) for rng in rngs]
        drawn = draw_until(enough, curve, tasks, task.estimator.n_jobs, steps, what)
        curves = np.vstack([own, *drawn])
        p_values, chance = corrected_p_values(curves), AtChance.of(sizes, curves[1:])
        group = groups[int(np.argmax(standardised(curves)[0]))]
        if p_values.min() <= LEVEL:
            cores = [groups[at].labels for at in np.flatnonzero(p_values <= LEVEL)]
            group = best_described(table, [grown(table, core, chance) for core in cores], chance)
            left = _peeled(left, group)
        looked.append(
            ExtractedGroup(
                size=group.size,
                disparity=group.value,
                chance=float(chance.disparities[chance.place(group.size)]),
                p_value=float(p_values.min()),
                tables=len(drawn),
                n_sizes=len(sizes),
            )
        )
    return HowMany(looked=looked)


def _among(problem: Problem, left: Mask) -> Problem:
    """The search among the rows that are left, for groups of the sizes that the grid asks for."""
    return replace(among(problem, left, None), min_size=1)


def _values(groups: Sequence[Partition]) -> Array:
    return np.array([group.value for group in groups])


def _peeled(left: Mask, group: Partition) -> Mask:
    """The rows that are still left without a group of them."""
    rest = left.copy()
    rest[left] = group.labels == 0
    return rest


@dataclass(frozen=True)
class AtChance:
    """What groups of each size lose in surrogates."""

    sizes: NDArray[np.intp]  # every one from the smallest of the grid to the largest
    disparities: Array
    deviations: Array

    @classmethod
    def of(cls, grid: NDArray[np.intp], curves: Array) -> Self:
        """From curves over a grid of sizes, (tables, sizes)."""
        sizes = np.arange(grid[0], grid[-1] + 1)
        mean, deviation = curves.mean(axis=0), curves.std(axis=0)
        if len(grid) > 1:
            known, at = np.log(grid), np.log(sizes)
            mean = PchipInterpolator(known, mean)(at)
            deviation = np.interp(at, known, deviation)
        return cls(sizes, mean, deviation)

    def place(self, size: int) -> int:
        return size - int(self.sizes[0])

    def beyond(self, disparities: Array) -> Array:
        """Total losses beyond chance, for disparities at every size.

        Chance has what its best group of up to that size has: large groups at chance lose less and
        less in total, and rows that lose nothing are no evidence.
        """
        return self.sizes * disparities - np.maximum.accumulate(self.sizes * self.disparities)

    def evidence(self, group: Partition) -> float:
        """A group's total loss beyond chance."""
        at = self.place(group.size)
        return float(self.beyond(np.full(len(self.sizes), group.value))[at])

    def enough(self, disparities: Array) -> int:
        """The smallest size whose total beyond chance is within a standard error of the largest."""
        beyond = self.beyond(disparities)
        peak = int(np.argmax(beyond))
        least = beyond[peak] - self.sizes[peak] * self.deviations[peak]
        return int(self.sizes[np.argmax(beyond >= least)])


def grown(problem: Problem, core: Labels, chance: AtChance) -> Partition:
    """The group that a core is part of."""
    labels, k = core, chance.sizes
    for _ in range(_GROWTH_ROUNDS):
        size = int(labels.sum())
        rest, group = problem.row_losses(problem.losses(labels)[1])
        order = np.argsort(-(group + size / (problem.n_rows - size) * rest), kind="stable")
        inside = np.cumsum(group[order])[k - 1] / k
        outside = (rest.sum() - np.cumsum(rest[order])[k - 1]) / (problem.n_rows - k)
        before, labels = labels, np.zeros_like(core)
        labels[order[: chance.enough(inside - outside)]] = 1
        if np.array_equal(labels, before):
            break
    return Partition.of(problem, labels)


def best_described(problem: Problem, groups: Sequence[Partition], chance: AtChance) -> Partition:
    """Of those with half of the evidence of any, the one that its own components keep most of.

    A mix of two groups has hardly more evidence than both; a few odd rows have not half of it.
    """
    evidence = [chance.evidence(group) for group in groups]
    least = min(max(evidence), max(evidence) / 2.0)
    enough = [group for group, has in zip(groups, evidence, strict=True) if has >= least]
    return max(enough, key=lambda group: kept_share(problem, group))


def kept_share(problem: Problem, group: Partition) -> float:
    """The share of a group's variation that its own components keep."""
    rows = problem.rows(group.labels == 1)
    return float(np.sum((rows @ group.own[1].T) ** 2) / np.sum(rows**2))
