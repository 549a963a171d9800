"""Comparison tables where the group is: the same search at the group's size, and two more.

How many tables there are follows from what they show (:mod:`leftout.evidence.looks`). The first
few also say which columns their disparities are made of, and what they show at other sizes.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import stats
from sklearn.base import clone

from leftout.core.losses import Array, basis_loss_by_feature, own_components
from leftout.core.ranks import LEVEL, p_value
from leftout.core.several import split
from leftout.evidence.chance import KINDS, Task, residual_share, search_sizes
from leftout.evidence.learned import fewer, searching
from leftout.evidence.looks import FEWEST, most_tables, settled
from leftout.evidence.parts import Parts
from leftout.evidence.profiles import Chance
from leftout.evidence.surrogates import Surrogate, correlations
from leftout.running import Steps, in_turn, one_thread
from leftout.search.pose import Posed
from leftout.solvers import Means

# What a kind of table is called while people wait.
CALLED = {"copula": "tables with the same values", "gaussian": "bell-shaped tables"}
# Sizes beside the group's, as multiples of it.
_SMALLER, _LARGER = 0.5, 2.5
# Values further out than these shares of a column are drawn in for a second look, where a column
# has so many values.
_TAIL, _VALUES = 0.02, 20
# Tables whose rank correlations differ from those of comparison tables by this much, on average,
# have heavy tails: they are compared once more with these drawn in.
_HEAVY = 0.03


def sizes_beside(size: int, n_rows: int, d: int) -> NDArray[np.intp]:
    """The group's size and two more, in rising order: for the picture."""
    smaller = max(min(size, 2 * d), round(_SMALLER * size))
    larger = min(max(size, n_rows // 2), round(_LARGER * size))
    return np.unique([smaller, size, larger]).astype(np.intp)


class Found(NamedTuple):
    """What a search finds in a table, at the sizes of the groups."""

    disparities: Array  # of each group to the rest
    residual: float  # share of the variance that the shared components leave
    closer: Closer | None

    @property
    def disparity(self) -> float:
        """The first group's."""
        return float(self.disparities[0])


class Closer(NamedTuple):
    """What the first few tables are also asked."""

    by_feature: Array | None  # (groups, n)
    correlations: Array
    rank_correlation: float  # mean absolute, of two columns
    others: Array | None = None  # disparities at the other sizes, where one group is looked for

    @classmethod
    def of(cls, X: Array, by_feature: Array | None, others: Array | None = None) -> Closer:
        """``X``: the rows that tell correlations."""
        return cls(by_feature, correlations(X), mean_rank_correlation(X), others)


class Against(NamedTuple):
    """A group beside comparison tables of either kind."""

    chance: dict[str, Chance]
    p_value: float | None  # of tables with the same values
    p_cloud: float | None  # of bell-shaped ones; None where it was not needed
    p_drawn_in: float | None  # ``p_value`` with the tails of columns drawn in, where it was needed
    heavy: bool  # whether these are heavy

    def parts(
        self, disparity: float, split: Array | None, size: int, names: Sequence[str]
    ) -> Parts | None:
        """A disparity in three parts; None without tables of both kinds.

        ``disparity`` is what a search alike finds in the table; ``split`` is that of the group that
        is told of, in whose proportions it is split.
        """
        if set(self.chance) != set(KINDS):
            return None
        cloud, values = (
            (float(each.mean[np.searchsorted(each.sizes, size)]), each.by_feature)
            for each in (self.chance["gaussian"], self.chance["copula"])
        )
        split = mean_split([split], disparity)
        return Parts.of(disparity, split, cloud, values, names, self.p_cloud, self.p_value)


@dataclass(frozen=True)
class Tables(ABC):
    """A table, and comparison tables that are searched as it is."""

    task: Task

    @abstractmethod
    def _searched(self, X: Array, posed: Posed, rng: np.random.Generator, closely: bool) -> Found:
        """What is found in a table."""

    @abstractmethod
    def _sizes_at(self, group: int) -> tuple[NDArray[np.intp], int]:
        """The sizes that are searched for a group, rising, and the place of its own."""

    @abstractmethod
    def _with(self, task: Task) -> Tables:
        """Another table, searched alike."""

    def against(
        self,
        chance: int,
        kinds: Sequence[str],
        rngs: Sequence[np.random.Generator],
        steps: Steps,
    ) -> tuple[Found, list[Against]]:
        """First tables with the same values, then bell-shaped ones: nine where these do not decide.

        What is found in the table itself, and each group beside them.
        """
        of_table, of_values, of_cloud, again = rngs
        steps.tell("the table")
        table = self.table(of_table)
        steps.tell("the table", 1)
        by_kind: dict[str, list[Chance]] = {}
        beyond = np.zeros(len(table.disparities), dtype=bool)
        drawn: list[float | None] = [None] * len(beyond)
        if chance and "copula" in kinds:
            main = self.compared("copula", table, chance, of_values, steps)
            by_kind["copula"] = main
            beyond = np.array([each.p_value <= LEVEL for each in main])
            if beyond.any() and _heavy(main[0]):
                found = self._drawn_in(chance, beyond, again, steps)
                drawn = [p if yes else None for p, yes in zip(found, beyond, strict=True)]
                beyond &= np.array([(p or 0.0) <= LEVEL for p in drawn])
        if chance and "gaussian" in kinds:
            few = min(chance, FEWEST) * beyond
            by_kind["gaussian"] = self.compared("gaussian", table, chance, of_cloud, steps, few)
        told = []
        for group, decided in enumerate(beyond):
            each = {kind: of_groups[group] for kind, of_groups in by_kind.items()}
            values, cloud = each.get("copula"), each.get("gaussian")
            told.append(
                Against(
                    chance=each,
                    p_value=None if values is None else values.p_value,
                    p_cloud=None if cloud is None or decided else cloud.p_value,
                    p_drawn_in=drawn[group],
                    heavy=values is not None and _heavy(values),
                )
            )
        return table, told

    def _drawn_in(
        self, chance: int, which: NDArray[np.bool_], rng: np.random.Generator, steps: Steps
    ) -> list[float]:
        """P-values of the same rows with the tails of their columns drawn in."""
        again = clone(self.task.estimator).set_params(n_components=self.task.n_components)
        other = self._with(Task.of(again, drawn_in(self.task.X), sized=True))
        of_table, of_values = rng.spawn(2)
        table, few = other.table(of_table), min(chance, FEWEST) * ~which
        found = other.compared("copula", table, chance, of_values, steps, few)
        return [each.p_value for each in found]

    def compared(
        self,
        kind: str,
        table: Found,
        asked: int,
        rng: np.random.Generator,
        steps: Steps,
        fixed: Sequence[int] | NDArray[np.intp] | None = None,
    ) -> list[Chance]:
        """Search tables of a kind until the answer is settled for each group.

        A group's figures are those of the tables up to the one that settled it. ``fixed``: of each
        group, how many it takes whatever they show; 0: until it is settled.
        """
        needs = [0] * len(table.disparities) if fixed is None else [int(each) for each in fixed]
        found = self._until_settled(kind, table, asked, rng, steps, needs)
        return [
            _told(kind, *self._sizes_at(group), table, each, group)
            for group, each in enumerate(found)
        ]

    def table(self, rng: np.random.Generator) -> Found:
        """The table itself, searched as comparison tables are."""
        with one_thread():
            return self._searched(self.task.X, self.task.posed, rng, closely=True)

    def _drawn(self, law: Surrogate, rng: np.random.Generator, closely: bool) -> Found:
        X = law.draw(rng)
        return self._searched(X, self.task.pose(X), rng, closely)

    def _until_settled(
        self,
        kind: str,
        table: Found,
        asked: int,
        rng: np.random.Generator,
        steps: Steps,
        fixed: Sequence[int],
    ) -> list[list[Found]]:
        """Of each group, the tables up to the one that settled it."""
        law = self.task.law(kind)
        needed = np.array([each or most_tables(asked) for each in fixed])
        open_ = np.array(fixed) == 0
        found: list[Found] = []
        rngs = rng.spawn(int(needed.max()))
        while len(found) < needed.max():
            # so many at a time that threads have work, and little is done in vain
            ahead = rngs[len(found) : min(len(found) + FEWEST, int(needed.max()))]
            tasks = [(law, each, len(found) + place < FEWEST) for place, each in enumerate(ahead)]
            n_jobs = self.task.estimator.n_jobs
            with one_thread():
                for one in in_turn(self._drawn, tasks, n_jobs, steps, CALLED[kind]):
                    found.append(one)
                    values = np.array([each.disparities for each in found])
                    for group in np.flatnonzero(open_):
                        if settled(table.disparities[group], values[:, group], asked):
                            needed[group], open_[group] = len(found), False
                    if len(found) >= needed.max():
                        break
        return [found[:count] for count in needed]


def _heavy(main: Chance) -> bool:
    return abs(main.ranks_miss) > _HEAVY


def _told(
    kind: str,
    sizes: NDArray[np.intp],
    here: int,
    table: Found,
    found: Sequence[Found],
    group: int = 0,
) -> Chance:
    """What comparison tables show of a group, whose size is ``sizes[here]``."""
    values = np.array([one.disparities[group] for one in found])
    close = [one.closer for one in found if one.closer is not None]
    curves = np.full((len(found), len(sizes)), np.nan)
    curves[:, here] = values
    for curve, one in zip(curves, close, strict=False):
        if one.others is not None:
            curve[np.arange(len(sizes)) != here] = one.others
    p_values = np.full(len(sizes), np.nan)
    p_values[here] = p_value(float(table.disparities[group]), values)
    assert table.closer is not None
    R = np.mean(np.stack([one.correlations for one in close]), axis=0)
    splits = [None if one.by_feature is None else one.by_feature[group] for one in close]
    return Chance(
        kind=kind,
        sizes=sizes,
        curves=curves,
        p_values=p_values,
        p_value=float(p_values[here]),
        miss=float(np.abs(R - table.closer.correlations).max()),
        residual=float(np.mean([one.residual for one in found]) / table.residual),
        ranks_miss=table.closer.rank_correlation
        - float(np.mean([one.rank_correlation for one in close])),
        by_feature=mean_split(splits, float(values.mean())),
    )


@dataclass(frozen=True)
class Beside(Tables):
    """A table, the size of a group, and how to search comparison tables for it."""

    size: int
    sizes: NDArray[np.intp]

    @classmethod
    def of(cls, task: Task, size: int) -> Beside:
        sizes = sizes_beside(size, len(task.X), task.n_components)
        smallest = min(task.smallest, int(sizes[0]), len(task.X) - int(sizes[-1]))
        posed = task.posed.resized(max(1, smallest), None)
        return cls(replace(searching(task), posed=posed), size, sizes)

    def _with(self, task: Task) -> Beside:
        return Beside.of(task, self.size)

    def _sizes_at(self, group: int) -> tuple[NDArray[np.intp], int]:
        return self.sizes, int(np.searchsorted(self.sizes, self.size))

    def _searched(self, X: Array, posed: Posed, rng: np.random.Generator, closely: bool) -> Found:
        solver, problem = self.task.solver, posed.problem
        (result,) = search_sizes(solver, problem, [self.size], Means(rng=rng))
        (rest, group), _ = problem.losses(result.labels, result.own)
        disparities, residual = np.array([group - rest]), residual_share(posed)
        if not closely:
            return Found(disparities, residual, None)
        others = [int(size) for size in self.sizes if size != self.size]
        more, few = [], fewer(solver)
        for each in search_sizes(few, problem, others, Means(rng=rng)):
            losses = problem.losses(each.labels, each.own)[0]
            more.append(float(losses[1] - losses[0]))
        split = split_by_feature(posed, result.labels)
        by_feature = None if split is None else split[None]
        rows = self.task.witnesses(X)
        return Found(disparities, residual, Closer.of(rows, by_feature, np.array(more)))


def mean_split(splits: list[Array | None], mean: float) -> Array | None:
    """Splits of the first tables on average, in proportion to the mean of all tables."""
    known = [split for split in splits if split is not None]
    if not known:
        return None
    average = np.mean(np.stack(known), axis=0)
    total = float(average.sum())
    return average * (mean / total) if total else average


def split_by_feature(
    posed: Posed, labels: NDArray[np.int8], n_sides: int | None = None
) -> Array | None:
    """A partition's disparity split over features; None where rows are not in columns.

    Of several groups, ``n_sides`` with the rest, that of each to the rest: (groups, n).
    """
    problem = posed.problem
    if posed.table.back is not None or not problem.loss.own_is_best:
        return None
    moments = problem.split(labels) if n_sides is None else split(problem, labels, n_sides)
    own = own_components(problem.loss, moments, problem.d)
    rest, *groups = (
        basis_loss_by_feature(problem.loss, S, problem.V, W) / count
        for S, W, count in zip(moments.second, own, moments.count, strict=True)
    )
    return groups[0] - rest if n_sides is None else np.stack(groups) - rest


def mean_rank_correlation(X: Array) -> float:
    """Mean absolute rank correlation of two columns, Spearman's."""
    if X.shape[1] < 2:
        return 0.0
    R = correlations(stats.rankdata(X, axis=0))
    return float(np.abs(R[np.triu_indices(len(R), 1)]).mean())


def drawn_in(X: Array) -> Array:
    """The table with the tails of its columns drawn in, of those with values enough to have some.

    Examples
    --------
    >>> X = np.column_stack([np.arange(100.0) ** 4, np.arange(100) % 2])
    >>> Y = drawn_in(X)
    >>> bool(Y[:, 0].max() < X[:, 0].max()), bool(np.array_equal(Y[:, 1], X[:, 1]))
    (True, True)
    """
    result = X.copy()
    for j, column in enumerate(X.T):
        if len(np.unique(column)) > _VALUES:
            result[:, j] = np.clip(column, *np.quantile(column, [_TAIL, 1.0 - _TAIL]))
    return result
