"""How many left-out groups are there? As many as are more than comparison tables show.

Groups are peeled off the table one by one, and off its comparison tables alike: as many, of the
same sizes, each searched among the rows that are left. The next group counts if the table's best
disparities, over a grid of sizes, stand out from those of the comparison tables as the first one's
must (:mod:`leftout.evidence.chance`). What is peeled off then is grown from the groups that stand
out (:mod:`leftout.evidence.group_growth`), so that it is one group, not two. The first group that
does not stand out ends the count. So whatever the number of groups, a false one is counted only
where the first look at nothing but chance goes wrong: in 5 % of tables.

A comparison table has what the groups add to values and correlations, spread over all of its rows,
and no group: later groups are held to what such a table still shows after as many were peeled off,
which is more than the rest of the table would. That errs on the side of fewer groups.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from leftout.checks import check_choice, check_count
from leftout.errors import InputError
from leftout.evidence.group_growth import AtChance, GrownGroup, grow
from leftout.evidence.null_test import KINDS
from leftout.evidence.refit import NullTask, disparities_at, fewer, search_sizes
from leftout.evidence.sequential_stopping import drawn_until, most_tables, should_stop
from leftout.evidence.surrogates import Surrogate
from leftout.files import Serializable
from leftout.groups.partition import MaxDisparityPartition
from leftout.groups.sizes import check_size, check_sizes, fewest
from leftout.linalg.assignment import among
from leftout.linalg.losses import Array
from leftout.linalg.monte_carlo import (
    LEVEL,
    can_tell,
    corrected_p_values,
    describe_p,
    p_value,
    standardised,
)
from leftout.linalg.problem import Labels, Problem
from leftout.running import Report, Steps, clean_interrupts, collected_warnings, one_thread
from leftout.solvers import Solver, SolverContext
from leftout.text import counted

MOST_COUNTED = 6
_TABLES, _SIZES = 39, 8


@dataclass(frozen=True, kw_only=True)
class ExtractedGroup(Serializable):
    """A group that was looked for after those before it were peeled off.

    Attributes
    ----------
    size : int
        Its rows; where it does not count, those at which it stands out most.
    disparity : float
        Its loss minus that of the rows that are left without it.
    chance : float
        The same in comparison tables, on average.
    p_value : float
        Over all sizes.
    tables : int
        Comparison tables that were needed.
    """

    size: int
    disparity: float
    chance: float
    p_value: float
    tables: int

    @property
    def counts(self) -> bool:
        return self.p_value <= LEVEL


@dataclass(frozen=True, kw_only=True)
class HowMany(Serializable):
    """How many left-out groups there are, and how they were counted.

    Attributes
    ----------
    looked : list of Peeled
        Each group that was looked for, in turn; the last does not count, unless no more were asked
        for or no rows were left.
    kind : str
        Of comparison tables.
    """

    looked: list[ExtractedGroup]
    kind: str

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
        found = [each for each in self.looked if each.counts]
        parts = [f"{each.size:,} rows ({describe_p(each.p_value)})" for each in found]
        last = [each for each in self.looked if not each.counts]
        after = f" The next is not ({describe_p(last[0].p_value)})." if found and last else ""
        if not found:
            told = f" ({describe_p(last[0].p_value)})" if last else ""
            return f"No left-out group is more than comparison tables show{told}."
        verb = "is" if len(found) == 1 else "are"
        return (
            f"{counted(len(found), 'left-out group')} {verb} more than comparison tables show: "
            f"{', '.join(parts)}.{after}"
        )


@clean_interrupts()
def how_many(
    estimator: MaxDisparityPartition,
    X: Any,
    *,
    n_surrogates: int = _TABLES,
    kind: str = "copula",
    most: int = MOST_COUNTED,
    sizes: int = _SIZES,
    progress: Report | bool | None = None,
) -> HowMany:
    """Count the left-out groups of a table.

    Parameters
    ----------
    estimator : MaxDisparityPartition
        What to search with. With a ``group_size``, only groups of that size are looked for.
    X : table of shape (m, n)
    n_surrogates : int, default=39
        Comparison tables that decide if fewer do not settle it; at least 19.
    kind : {"copula", "gaussian"}
        Tables with the same values and correlations, or bell-shaped ones.
    most : int, default=6
        Groups that are looked for.
    sizes : int, default=8
        Sizes that are compared, log-spaced from the smallest allowed (the estimator's
        ``min_group_size``, or 20 and two for each component) to half of the rows.
    progress : callable, bool or None
        ``progress(what, done, total)`` is called after every step; True: to stderr.

    Returns
    -------
    HowMany

    Examples
    --------
    >>> from leftout import MaxDisparityPartition, datasets, how_many
    >>> X, _ = datasets.make_planted(300, 9, 2, [40, 60], random_state=0)
    >>> how_many(MaxDisparityPartition(2, random_state=0), X, n_surrogates=19).n_groups
    2
    """
    check_count("most", most)
    check_count("n_surrogates", n_surrogates)
    check_choice("kind", kind, KINDS)
    if not can_tell(n_surrogates):
        raise InputError(
            f"n_surrogates={n_surrogates} comparison tables cannot tell anything at the level of "
            f"{LEVEL:.0%}; give at least 19."
        )
    size = estimator.group_size
    alone = clone(estimator).set_params(n_groups=1, group_size=None, verbose=0)
    with collected_warnings():
        task = NullTask.of(alone, X, sized=True).with_effort()
    m = len(task.X)
    if size is not None:
        grid = np.array([check_size("group_size", size, m)])
    else:
        smallest = alone.min_group_size
        given = None if smallest is None else check_size("min_group_size", smallest, m)
        grid = check_sizes(sizes, given or fewest(m, task.n_components), m)
    with one_thread():
        return _Count(task, kind, grid, n_surrogates, Steps(n_surrogates, progress)).count(most)


class _CountedTable:
    """A table, and the rows that the groups peeled off it have left."""

    def __init__(self, problem: Problem, rng: np.random.Generator) -> None:
        self.whole, self.rng = problem, rng
        self.left = np.ones(len(problem.X), dtype=bool)

    @property
    def problem(self) -> Problem:
        return among(self.whole, self.left, None)

    def groups(self, solver: Solver, sizes: NDArray[np.intp]) -> list[GrownGroup]:
        """The group of each size."""
        problem, means = self.problem, SolverContext(rng=self.rng)
        found = search_sizes(solver, problem, [int(size) for size in sizes], means)
        return [GrownGroup.of(problem, each.labels, each.own) for each in found]

    def curve(self, solver: Solver, sizes: NDArray[np.intp]) -> Array:
        return disparities_at(solver, self.problem, sizes, self.rng)

    def peel(self, group: Labels) -> None:
        self.left[np.flatnonzero(self.left)[group == 1]] = False


class _Count:
    def __init__(
        self, task: NullTask, kind: str, grid: NDArray[np.intp], chance: int, steps: Steps
    ) -> None:
        self.task, self.kind, self.grid = task, kind, grid
        self.chance, self.steps = chance, steps
        self.solver, self.few = task.solver, fewer(task.solver)
        of_table, self.of_others = task.rngs[0].spawn(2)
        self.own = _CountedTable(_smallest(task.posed.problem), of_table)
        self.law: Surrogate = task.law(kind)

    def count(self, most: int) -> HowMany:
        looked: list[ExtractedGroup] = []
        while len(looked) < most:
            rows = int(self.own.left.sum())
            sizes = self.grid[self.grid <= rows // 2]
            if not len(sizes):
                break
            looked.append(self._next(sizes, [each.size for each in looked]))
            if not looked[-1].counts:
                break
        return HowMany(looked=looked, kind=self.kind)

    def _next(self, sizes: NDArray[np.intp], before: list[int]) -> ExtractedGroup:
        """Look for one more group, in the table and in its comparison tables."""
        what = f"group {len(before) + 1} in comparison tables"
        groups = self.own.groups(self.solver, sizes)
        own = np.array([group.disparity for group in groups])

        def enough(drawn: list[Array]) -> bool:
            highest = standardised(np.vstack([own, *drawn])).max(axis=1)
            return should_stop(highest[0], highest[1:], self.chance)

        # of their own for each group: how far others were drawn may depend on the number of jobs
        rngs = self.of_others.spawn(most_tables(self.chance))
        tasks = [(rng, sizes, before) for rng in rngs]
        n_jobs = self.task.estimator.n_jobs
        drawn = drawn_until(enough, self._other, tasks, n_jobs, self.steps, what)
        curves = np.vstack([own, *drawn])
        z, chance = standardised(curves), AtChance.of(sizes, curves[1:])
        group = groups[int(np.argmax(z[0]))]
        p = p_value(z[0].max(), z[1:].max(axis=1))
        if p <= LEVEL:
            clear = np.flatnonzero(corrected_p_values(curves) <= LEVEL)
            cores = [groups[at].labels for at in clear]
            group = grow(self.few, self.own.problem, cores, chance, self.own.rng)
            self.own.peel(group.labels)
        return ExtractedGroup(
            size=group.size,
            disparity=group.disparity,
            chance=float(chance.disparities[chance.place(group.size)]),
            p_value=float(p),
            tables=len(drawn),
        )

    def _other(self, rng: np.random.Generator, sizes: NDArray[np.intp], before: list[int]) -> Array:
        """A comparison table's curve, once the groups before are peeled off it."""
        table = _CountedTable(_smallest(self.task.pose(self.law.draw(rng)).problem), rng)
        for size in before:
            (group,) = table.groups(self.few, np.array([size]))
            table.peel(group.labels)
        return table.curve(self.solver, sizes)


def _smallest(problem: Problem) -> Problem:
    """Sizes come from the grid: no other minimum counts."""
    return replace(problem, min_size=1)
