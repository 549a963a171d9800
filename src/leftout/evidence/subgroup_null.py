"""Why do subgroups lose? The same search, and the same groups, in surrogate tables.

For each kind of surrogate, the table itself is one of ``B + 1``:

- A group's loss beyond the rest's, averaged over the surrogates of a kind, is what that kind
  explains.
- A quick search is repeated in each table, and every name in any of the lists is weighed in all of
  them. A name's quality is standardised over the tables; each table is reduced to the largest value
  in its own list; and a name's p-value ranks its own value, up to the table's largest, among these.
  Were the table drawn like the others, each would be the highest with the same probability, however
  many names there are.

Once two surrogates reach every group, no p-value comes down to the level any more, and no more are
drawn: a group is called beyond chance only after all of them. Of copula surrogates that counts for
the groups alone that are beyond Gaussian ones.

A surrogate has features, not raw columns: categories are indicators, and in a Gaussian surrogate
even these are numbers. So conditions are looked for by rank: the row with the ``r``-th largest
value of a feature gets what the row with the ``r``-th largest value of it has in the table. In
copula surrogates, which have the same values, that is the condition itself.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from leftout.checks import generator
from leftout.data.binning import BinnedColumn
from leftout.data.conditions import Mask
from leftout.evidence.surrogates import SurrogateTables, with_weights, without_weights
from leftout.groups.decomposition import LossParts
from leftout.groups.problem_setup import Rows, build_problem
from leftout.groups.sizes import smallest_named
from leftout.groups.subgroup_search import Key, SubgroupQuery, SubgroupSearch
from leftout.groups.subgroups import NamedGroups
from leftout.linalg.losses import Array
from leftout.linalg.significance import LEVEL, can_tell, p_value, standardised
from leftout.running import Report, Steps, collected_warnings, imap_ordered, one_thread

# Surrogate tables of each kind: as many as a p-value of 0.05 takes.
TABLES = 19
# After so many of them it is looked whether the others can still matter.
_LOOKS = (4, 6, 8, 10, 12, 15)
# They cannot, once so many reach every group (one would do, were nothing standardised anew).
_REACHED = 2
# Names in the list of every table: a longer one takes longer, and is as well calibrated.
_TOP = 3


class Matched(NamedTuple):
    """A feature, and what the table's rows have, in the rising order of the feature."""

    feature: int
    values: NDArray[Any]

    @classmethod
    def of(cls, X: Array, feature: int, values: NDArray[Any]) -> Self:
        return cls(feature, values[np.argsort(X[:, feature], kind="stable")])

    def within(self, Y: Array) -> NDArray[Any]:
        """What each row of another table has."""
        result = np.empty_like(self.values)
        result[np.argsort(Y[:, self.feature], kind="stable")] = self.values
        return result


@dataclass(frozen=True)
class RankMatch:
    """How the bins of a column are told from features.

    Numbers follow the order of one feature. Values of a category have features of their own, and so
    has what is missing; where several hold, the rarest counts, and where none does, ``other``.
    """

    numbers: Matched | None
    single: list[tuple[int, Matched]]  # bins, the rarest last
    other: int

    @classmethod
    def of(cls, binned: BinnedColumn, X: Array) -> Self:
        codes, column = binned.codes, binned.column
        common = np.argsort(-np.bincount(codes, minlength=binned.n_bins), kind="stable").tolist()
        gaps = column.missing
        numbers = None
        if column.categories is None:
            feature = _likest(codes[~gaps], X[~gaps])
            numbers = Matched.of(X, feature, _filled(codes, gaps, X[:, feature]))
            alone = np.unique(codes[gaps]).tolist()
        else:
            # a bin of several values has all that no condition tells apart
            told = [b for b in common if len(np.unique(column.values[codes == b])) == 1]
            alone = told if len(told) < len(common) else told[1:]
        single = [(b, Matched.of(X, _likest(codes == b, X), codes == b)) for b in alone]
        others = [b for b in common if b not in alone]
        return cls(numbers, single, others[0] if others else common[0])

    def within(self, Y: Array) -> NDArray[np.int32]:
        """The bin of each row of another table."""
        ranked, none = self.numbers, np.full(len(Y), self.other, dtype=np.int32)
        codes = none if ranked is None else ranked.within(Y)
        for place, matched in self.single:
            codes[matched.within(Y)] = place
        return codes


def _likest(values: NDArray[Any], X: Array) -> int:
    """The feature with the strongest correlation, whichever way."""
    v = values - values.mean()
    centred = X - X.mean(axis=0)
    length = np.sqrt(np.einsum("ij,ij->j", centred, centred))
    with np.errstate(invalid="ignore", divide="ignore"):
        strength = np.abs(v @ centred) / length
    return int(np.nan_to_num(strength, nan=-1.0, posinf=-1.0).argmax())


def _filled(codes: NDArray[np.int32], gaps: Mask, feature: Array) -> NDArray[np.int32]:
    """Bins with those of missing rows as their feature, which was filled, stands among others."""
    if not gaps.any():
        return codes
    order = np.argsort(feature[~gaps], kind="stable")
    place = np.searchsorted(feature[~gaps][order], feature[gaps])
    filled = codes.copy()
    filled[gaps] = codes[~gaps][order[np.minimum(place, len(order) - 1)]]
    return filled


class JudgedNames(NamedTuple):
    """One table, and what was found in it."""

    differences: Array  # of each group, its loss minus the rest's
    names: list[Key]  # that its own search lists
    search: SubgroupSearch
    qualities: dict[Key, float]  # of names that were asked for

    def quality(self, key: Key) -> float:
        if key not in self.qualities:
            self.qualities[key] = self.search.quality(key)
        return self.qualities[key]


@dataclass(frozen=True)
class SubgroupNullTest:
    """Subgroups to look for in surrogate tables."""

    X: Array
    n_components: int
    representation: Any  # None: the PCA of each table
    columns: list[BinnedColumn]  # of these rows
    by_rank: list[RankMatch]  # how their bins are told from features
    named: list[Key]
    query: SubgroupQuery
    weights: Array | None = None  # what each row counts, 1 on average

    @classmethod
    def of(
        cls,
        X: Array,
        named: NamedGroups,
        rows: NDArray[np.intp] | None = None,
        representation: Any = None,
        weights: Array | None = None,
    ) -> Self:
        """What to look for, on some of the rows."""
        rows = np.arange(len(X)) if rows is None else rows
        features, d = X[rows], named.n_components
        columns = [binned.take(rows) for binned in named.columns]
        return cls(
            X=features,
            n_components=d,
            representation=representation,
            columns=columns,
            by_rank=[RankMatch.of(binned, features) for binned in columns],
            named=[group.key for group in named.groups],
            query=SubgroupQuery(smallest_named(None, len(rows), d), named.weight, named.depth),
            weights=None if weights is None else weights[rows] / weights[rows].mean(),
        )

    def explained(
        self,
        surrogates: SurrogateTables,
        kind: str,
        rng: np.random.Generator,
        tables: int,
        n_jobs: int | None,
        steps: Steps,
        matters: NDArray[np.bool_] | None = None,
    ) -> tuple[Array, Array]:
        """By how much each group loses more than its rest in tables of a kind; and p-values.

        Of which groups it ``matters`` whether they are beyond these; None: of all.
        """
        rngs = enumerate(rng.spawn(tables))
        tasks = [(surrogates, kind, place, each) for place, each in rngs]
        which = slice(None) if matters is None else matters
        looks = [look for look in _LOOKS if look < tables]
        what = "subgroups in surrogate tables"
        with one_thread(), collected_warnings():  # what they say of themselves, the table's says
            every = [self.here]
            for start, stop in pairwise([0, *looks, tables]):
                every += imap_ordered(self._drawn, tasks[start:stop], n_jobs, steps, what)
                p_values = self._p_named(every)
                if stop < tables and self.settled(p_values[which], stop):
                    steps.tell(what, tables - stop)
                    break
        return np.mean([one.differences for one in every[1:]], axis=0), p_values

    @cached_property
    def here(self) -> JudgedNames:
        """The table itself."""
        table = with_weights(self.X, self.weights)
        return self._judged(table, [binned.codes for binned in self.columns])

    @staticmethod
    def settled(p_values: Array, tables: int) -> bool:
        """Whether further tables can make no group one that is beyond chance."""
        return bool((p_values * (1 + tables) >= 1 + _REACHED - 0.5).all())

    def _drawn(
        self, surrogates: SurrogateTables, kind: str, place: int, rng: np.random.Generator
    ) -> JudgedNames:
        Y = surrogates.draw(kind, place, rng)
        return self._judged(Y, [match.within(Y) for match in self.by_rank])

    def _judged(self, table: Array, codes: list[NDArray[np.int32]]) -> JudgedNames:
        X, weights = without_weights(table, self.weights is not None)
        given: dict[str, Any] = {"representation": self.representation, "weights": weights}
        rows = Rows.of(build_problem(np.ascontiguousarray(X), self.n_components, **given).problem)
        columns = [replace(c, codes=each) for c, each in zip(self.columns, codes, strict=True)]
        search = SubgroupSearch(rows, columns, self.query)
        qualities = {line.subgroup.key: line.subgroup.quality for line in search.beam(_TOP)}
        differences = np.array([rows.difference(search.mask(key)) for key in self.named])
        return JudgedNames(differences, list(qualities), search, qualities)

    def _p_named(self, every: list[JudgedNames]) -> Array:
        every_name = [*self.named, *(key for one in every for key in one.names)]
        places = {key: place for place, key in enumerate(dict.fromkeys(every_name))}
        z = standardised(np.array([[one.quality(key) for key in places] for one in every]))
        highest = [
            max((z[t, places[key]] for key in one.names), default=-np.inf)
            for t, one in enumerate(every)
        ]
        # The exact search sees more names than the quick one, of which chance is the judge: none of
        # them counts as further out than the furthest that the quick one finds here, too.
        own = [min(z[0, places[key]], highest[0]) for key in self.named]
        return np.array([p_value(float(value), np.array(highest[1:])) for value in own])


def subgroup_null_test(
    X: Array,
    named: NamedGroups,
    *,
    representation: Any = None,
    rows: NDArray[np.intp] | None = None,
    surrogates: SurrogateTables | None = None,
    tables: int = TABLES,
    random_state: Any = 0,
    n_jobs: int | None = None,
    progress: Report | bool | None = None,
    sample_weight: Array | None = None,
) -> NamedGroups:
    """What surrogate tables explain of the loss of each subgroup, added to the subgroups.

    ``X`` is what was searched, and ``representation`` what was given as shared: surrogate tables
    pass through the same. They are made like all its rows, or those at the places ``rows``, as many
    ``tables`` of each kind; without ``surrogates``, as if no row were a copy of another.
    """
    if not named.groups or not tables:
        return named
    test = SubgroupNullTest.of(X, named, rows, representation, sample_weight)
    steps = Steps(2 * tables, progress)
    surrogates = surrogates or SurrogateTables(test.X, None, weights=test.weights)
    of_gaussian, of_copula = generator(random_state).spawn(2)
    run = (tables, n_jobs, steps)
    gaussian, p_gaussian = test.explained(surrogates, "gaussian", of_gaussian, *run)
    beyond = p_gaussian <= LEVEL if can_tell(tables) else None
    copula, p_copula = test.explained(surrogates, "copula", of_copula, *run, beyond)
    groups = []
    for g, group in enumerate(named.groups):
        losses = (gaussian[g], copula[g], group.loss - group.rest_loss)
        p_values = float(p_gaussian[g]), float(p_copula[g])
        why = LossParts.of(losses, [None] * 3, [], *p_values)
        groups.append(replace(group, why=why))
    return replace(named, groups=groups, tables=tables)
