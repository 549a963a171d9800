"""Why do groups with a name lose? The same search, and the same groups, in comparison tables.

For each kind of comparison table, the table itself is one of ``B + 1``:

- A group's loss beyond the rest's, averaged over the tables of a kind, is what that kind explains.
- The search is repeated in each table, and every name in any of the lists is weighed in all of
  them. A name's worth is standardised over the tables; each table is reduced to the largest value
  in its own list; and a name's p-value ranks its own value, up to the table's largest, among these.
  Were the table drawn like the others, each would be the highest with the same probability, however
  many names there are.

The search that is repeated goes on from the best conditions alone, so that it takes a fraction of
the time of the exact one. And it is repeated in few tables where these are enough: once two of them
reach every group, no p-value comes down to the level any more. A group is called beyond chance only
after all tables.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from leftout.checks import generator
from leftout.core.losses import Array
from leftout.core.ranks import corrected_p_values, p_value, standardised
from leftout.evidence.repeats import Repeats
from leftout.evidence.surrogates import Surrogate, law_of
from leftout.evidence.twins import Matched, Twin
from leftout.running import Report, Steps, collected_notes, in_turn, one_thread
from leftout.search.axes import Axis
from leftout.search.groups import KnownGroup, KnownGroups
from leftout.search.listing import Name, Place
from leftout.search.names import NamedGroups
from leftout.search.naming import Question, Search
from leftout.search.pose import pose
from leftout.search.rows import Rows
from leftout.search.sizes import smallest_named
from leftout.search.why import Why

GAUSSIAN, COPULA = "gaussian", "copula"
# Comparison tables of each kind: as many as a p-value of 0.05 takes.
TABLES = 19
# After so many of them it is looked whether the others can still matter.
_LOOKS = (4, 6, 8, 10, 12, 15)
# They cannot, once so many reach every group (one would do, were nothing standardised anew).
_REACHED = 2
# Names in the list of every table: a longer one takes longer, and is as well calibrated.
_TOP = 4


class Judged(NamedTuple):
    """One table, and what was found in it."""

    differences: Array  # of each group, its loss minus the rest's
    names: list[Name]  # that its own search lists
    search: Search
    worths: dict[tuple[Place, Place], float]  # of names that were asked for

    def worth(self, at: tuple[Place, Place]) -> float:
        """What a name is worth in this table."""
        if at not in self.worths:
            self.worths[at] = self.search.worth(*at)
        return self.worths[at]


class Explained(NamedTuple):
    """What comparison tables of one kind explain of each group."""

    differences: Array  # loss minus the rest's, on average
    p_values: Array


@dataclass(frozen=True)
class Weighing:
    """Groups to look for in comparison tables: named ones first, then known ones."""

    X: Array
    extra: Array  # what is known of the rows and was not searched: yes or no
    n_components: int
    representation: Any  # None: the PCA of each table
    axes: list[Axis]  # of these rows
    named: list[Name]
    known: list[list[int]]  # the extra columns that hold for each known group
    asked: Question
    top: int

    @cached_property
    def whole(self) -> Array:
        return np.hstack([self.X, self.extra])

    @cached_property
    def twins(self) -> list[Twin]:
        return [Twin.of(axis, self.X) for axis in self.axes]

    @cached_property
    def matched(self) -> list[Matched]:
        n = self.X.shape[1]
        return [
            Matched.of(self.whole, n + place, held > 0.5) for place, held in enumerate(self.extra.T)
        ]

    def explained(
        self,
        law: Surrogate,
        tables: int,
        rng: np.random.Generator,
        n_jobs: int | None,
        steps: Steps,
    ) -> Explained:
        """What the groups lose in tables drawn from a law."""
        tasks = [(law, each) for each in rng.spawn(tables)]
        looks = [look for look in _LOOKS if look < tables]
        with one_thread(), collected_notes():  # what they say of themselves, the table's says
            every = [self._judged(self.whole, [axis.codes for axis in self.axes])]
            for start, stop in pairwise([0, *looks, tables]):
                part = tasks[start:stop]
                every += in_turn(self._drawn, part, n_jobs, steps, "names in comparison tables")
                explained = self._compared(every)
                if stop < tables and self.settled(explained.p_values, stop):
                    steps.tell("names in comparison tables", tables - stop)
                    break
        return explained

    @staticmethod
    def settled(p_values: Array, tables: int) -> bool:
        """Whether further tables can make no group one that is beyond chance."""
        return bool((p_values * (1 + tables) >= 1 + _REACHED - 0.5).all())

    def _compared(self, every: list[Judged]) -> Explained:
        """What all tables but the first explain of it."""
        differences, n = np.stack([one.differences for one in every]), len(self.named)
        of_known = corrected_p_values(differences[:, n:]) if self.known else np.empty(0)
        p_values = np.concatenate([self._p_named(every), of_known])
        return Explained(differences[1:].mean(axis=0), p_values)

    def _drawn(self, law: Surrogate, rng: np.random.Generator) -> Judged:
        Y = law.draw(rng)
        return self._judged(Y, [twin.within(Y) for twin in self.twins])

    def _judged(self, whole: Array, codes: list[NDArray[np.intp]]) -> Judged:
        Y = np.ascontiguousarray(whole[:, : self.X.shape[1]])
        posed = pose(Y, self.n_components, "excess", "global", 1, None, self.representation)
        rows = Rows.of(posed.problem)
        axes = [replace(axis, codes=each) for axis, each in zip(self.axes, codes, strict=True)]
        search = Search(rows, axes, self.asked)
        names = [line.name for line in search.beam(self.top)]
        held = [matched.within(whole) for matched in self.matched]
        masks = [search.mask(name) for name in self.named]
        masks += [np.logical_and.reduce([held[place] for place in group]) for group in self.known]
        differences = np.array([rows.difference(mask) for mask in masks])
        worths = {(name.axes, name.spans): name.worth for name in names}
        return Judged(differences, names, search, worths)

    def _p_named(self, every: list[Judged]) -> Array:
        if not self.named:
            return np.empty(0)
        places: dict[tuple[Place, Place], int] = {}
        for name in [*self.named, *(name for one in every for name in one.names)]:
            places.setdefault((name.axes, name.spans), len(places))
        z = standardised(np.array([[one.worth(at) for at in places] for one in every]))
        highest = [
            max((z[t, places[name.axes, name.spans]] for name in one.names), default=-np.inf)
            for t, one in enumerate(every)
        ]
        # The exact search sees more names than the quick one, of which chance is the judge: none of
        # them counts as further out than the furthest that the quick one finds here, too.
        own = [min(z[0, places[name.axes, name.spans]], highest[0]) for name in self.named]
        return np.array([p_value(float(value), np.array(highest[1:])) for value in own])


def weighed(
    X: Array,
    named: NamedGroups | None,
    known: KnownGroups | None,
    *,
    representation: Any = None,
    rows: NDArray[np.intp] | None = None,
    repeats: Repeats | None = None,
    tables: int = TABLES,
    random_state: Any = 0,
    n_jobs: int | None = None,
    progress: Report | bool | None = None,
) -> tuple[NamedGroups | None, KnownGroups | None]:
    """The same groups, each with what comparison tables explain of its loss.

    Parameters
    ----------
    X : array of shape (m, n)
        What was searched.
    named : NamedGroups or None
    known : KnownGroups or None
    representation : fitted transformer or None
        What was given as shared; comparison tables pass through the same.
    rows : array of int, optional
        Places of the rows that comparison tables are made like; None: all.
    repeats : Repeats, optional
        Which of these rows are equal.
    tables : int
        Of each kind.
    random_state, n_jobs, progress
        As everywhere.
    """
    whole = [] if named is None else named.groups
    large = [] if known is None else known.measured
    if not whole and not large or not tables:
        return named, known
    work = weighing_of(X, named, known, rows, representation)
    steps = Steps(2 * tables, progress)
    copies = None if repeats is None else repeats.copies
    cloud, values = (
        work.explained(law_of(kind, work.whole, copies), tables, each, n_jobs, steps)
        for kind, each in zip((GAUSSIAN, COPULA), generator(random_state).spawn(2), strict=True)
    )
    gaps = [one.loss - one.rest_loss for one in whole]
    gaps += [one.loss - one.rest_loss for one in large]
    why = [
        Why(
            cloud=float(cloud.differences[g]),
            values=float(values.differences[g] - cloud.differences[g]),
            own=float(gap - values.differences[g]),
            p_cloud=float(cloud.p_values[g]),
            p_values=float(values.p_values[g]),
            tables=tables,
        )
        for g, gap in enumerate(gaps)
    ]
    of_known = zip(large, why[len(whole) :], strict=True)
    told = {id(group): replace(group, why=each) for group, each in of_known}
    if named is not None:
        of_named = zip(whole, why[: len(whole)], strict=True)
        named = replace(named, groups=[replace(group, why=each) for group, each in of_named])
    if known is not None:
        known = replace(known, groups=[told.get(id(group), group) for group in known.groups])
    return named, known


def weighing_of(
    X: Array,
    named: NamedGroups | None,
    every: KnownGroups | None,
    rows: NDArray[np.intp] | None = None,
    representation: Any = None,
) -> Weighing:
    """What to look for, on some of the rows."""
    rows = np.arange(len(X)) if rows is None else rows
    known = [] if every is None else every.measured
    named_groups = [] if named is None else named.groups
    axes = [] if named is None else [axis.take(rows) for axis in named.axes]
    parts = {key: place for place, key in enumerate(dict.fromkeys(_parts(known)))}
    extra = np.zeros((len(rows), len(parts)))
    for group in () if every is None else every.groups:
        if len(group.labels) == 1 and (key := next(iter(group.labels.items()))) in parts:
            extra[:, parts[key]] = group.mask[rows]
    d = next(found.n_components for found in (named, every) if found is not None)
    return Weighing(
        X=X[rows],
        extra=extra,
        n_components=d,
        representation=representation,
        axes=axes,
        named=[group.name for group in named_groups],
        known=[[parts[key] for key in group.labels.items()] for group in known],
        asked=Question(
            smallest_named(None, len(rows), d),
            0.5 if named is None else named.weight,
            2 if named is None else named.depth,
        ),
        top=_TOP,
    )


def _parts(known: list[KnownGroup]) -> list[tuple[str, str]]:
    """The single columns' groups that known groups are made of."""
    return [key for group in known for key in group.labels.items()]
