"""The null test: the same search, at the groups' sizes, in the table and in comparison tables.

How many tables there are follows from what they show (:mod:`leftout.evidence.sequential_stopping`).
The first few also say which columns their disparities are made of and, of a single group, what they
show at other sizes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import stats
from sklearn.base import clone

from leftout.evidence.chance import KINDS, NullTask, disparities_at, residual_share
from leftout.evidence.loss_parts import LossParts
from leftout.evidence.profiles import Chance
from leftout.evidence.refit import fewer, search_groups, with_effort
from leftout.evidence.sequential_stopping import (
    FEWEST_TABLES,
    drawn_until,
    most_tables,
    should_stop,
)
from leftout.evidence.surrogates import Surrogate, correlations
from leftout.groups.problem_setup import SearchProblem
from leftout.linalg.losses import Array, basis_loss_by_feature, own_components
from leftout.linalg.monte_carlo import LEVEL, p_value
from leftout.running import Steps, one_thread

# What a kind of table is called while people wait.
PROGRESS_NAMES = {"copula": "tables with the same values", "gaussian": "bell-shaped tables"}
# Sizes beside the group's, as multiples of it.
_SMALLER, _LARGER = 0.5, 2.5
# Values further out than these shares of a column are winsorised for a second look, where a column
# has so many values.
_TAIL, _VALUES = 0.02, 20
# Tables whose rank correlations differ from those of comparison tables by this much, on average,
# have heavy tails: they are compared once more with these winsorised.
_HEAVY = 0.03


def sizes_beside(size: int, n_rows: int, d: int) -> NDArray[np.intp]:
    """The group's size and two more, in rising order: for the picture."""
    smaller = max(min(size, 2 * d), round(_SMALLER * size))
    larger = min(max(size, n_rows // 2), round(_LARGER * size))
    return np.unique([smaller, size, larger]).astype(np.intp)


class SearchOutcome(NamedTuple):
    """What a search finds in a table, at the sizes of the groups."""

    disparities: Array  # of each group to the rest
    residual: float  # share of the variance that the shared components leave
    diagnostics: NullDiagnostics | None


class NullDiagnostics(NamedTuple):
    """What the first few tables are also asked."""

    by_feature: Array | None  # disparities split over features, (groups, n)
    correlations: Array
    rank_correlation: float  # mean absolute, of two columns
    at_sizes: Array  # disparities at the other sizes


class NullComparison(NamedTuple):
    """A group beside comparison tables of either kind."""

    chance: dict[str, Chance]
    p_value: float | None  # of tables with the same values
    p_cloud: float | None  # of bell-shaped ones; None where it was not needed
    p_drawn_in: float | None  # ``p_value`` with the tails of columns drawn in, where it was needed
    heavy: bool  # whether these are heavy

    def parts(
        self, disparity: float, split: Array | None, size: int, names: Sequence[str]
    ) -> LossParts | None:
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
        split = _mean_split([split], disparity)
        return LossParts.of(disparity, split, cloud, values, names, self.p_cloud, self.p_value)


@dataclass(frozen=True)
class NullTest:
    """A table, the sizes of its groups, and how comparison tables are searched for as many."""

    task: NullTask
    sizes: list[int]
    others: list[int]  # further sizes of a single group

    @classmethod
    def of(cls, task: NullTask, sizes: Sequence[int]) -> NullTest:
        if len(sizes) > 1:
            return cls(with_effort(task), list(sizes), [])
        beside = sizes_beside(sizes[0], len(task.X), task.n_components).tolist()
        task = with_effort(task, min(beside[0], len(task.X) - beside[-1]))
        return cls(task, list(sizes), [size for size in beside if size != sizes[0]])

    def run(
        self,
        chance: int,
        kinds: Sequence[str],
        rngs: Sequence[np.random.Generator],
        steps: Steps,
    ) -> tuple[SearchOutcome, list[NullComparison]]:
        """First tables with the same values, then bell-shaped ones: nine where these do not decide.

        What is found in the table itself, and each group beside them.
        """
        of_table, of_values, of_cloud, again = rngs
        steps.tell("the table")
        table = self.table(of_table)
        steps.tell("the table", 1)
        by_kind: dict[str, list[Chance]] = {}
        beyond = np.zeros(len(self.sizes), dtype=bool)
        drawn: list[float | None] = [None] * len(beyond)
        if chance and "copula" in kinds:
            main = self.compared("copula", table, chance, of_values, steps)
            by_kind["copula"] = main
            beyond = np.array([each.p_value <= LEVEL for each in main])
            if beyond.any() and _heavy(main[0]):
                found = self._winsorized(chance, beyond, again, steps)
                drawn = [p if yes else None for p, yes in zip(found, beyond, strict=True)]
                beyond &= np.array([(p or 0.0) <= LEVEL for p in drawn])
        if chance and "gaussian" in kinds:
            few = min(chance, FEWEST_TABLES) * beyond
            by_kind["gaussian"] = self.compared("gaussian", table, chance, of_cloud, steps, few)
        told = []
        for group, decided in enumerate(beyond):
            each = {kind: of_groups[group] for kind, of_groups in by_kind.items()}
            values, cloud = each.get("copula"), each.get("gaussian")
            told.append(
                NullComparison(
                    chance=each,
                    p_value=None if values is None else values.p_value,
                    p_cloud=None if cloud is None or decided else cloud.p_value,
                    p_drawn_in=drawn[group],
                    heavy=values is not None and _heavy(values),
                )
            )
        return table, told

    def table(self, rng: np.random.Generator) -> SearchOutcome:
        """The table itself, searched as comparison tables are."""
        with one_thread():
            return self._searched(self.task.X, self.task.posed, rng, closely=True)

    def compared(
        self,
        kind: str,
        table: SearchOutcome,
        asked: int,
        rng: np.random.Generator,
        steps: Steps,
        fixed: Sequence[int] | NDArray[np.intp] | None = None,
    ) -> list[Chance]:
        """Search tables of a kind until the answer is settled for each group.

        A group's figures are those of the tables up to the one that settled it. ``fixed``: of each
        group, how many it takes whatever they show; 0: until it is settled.
        """
        fixed = np.zeros(len(self.sizes), dtype=np.intp) if fixed is None else np.asarray(fixed)
        needed, open_ = np.where(fixed, fixed, most_tables(asked)), fixed == 0

        def enough(found: list[SearchOutcome]) -> bool:
            values = np.array([each.disparities for each in found])
            for group in np.flatnonzero(open_):
                if should_stop(table.disparities[group], values[:, group], asked):
                    needed[group], open_[group] = len(found), False
            return len(found) >= int(needed.max())

        law, n_jobs = self.task.law(kind), self.task.estimator.n_jobs
        rngs = rng.spawn(int(needed.max()))
        tasks = [(law, each, place < FEWEST_TABLES) for place, each in enumerate(rngs)]
        found = drawn_until(enough, self._drawn, tasks, n_jobs, steps, PROGRESS_NAMES[kind])
        return [self._told(kind, table, found[:n], group) for group, n in enumerate(needed)]

    def _drawn(self, law: Surrogate, rng: np.random.Generator, closely: bool) -> SearchOutcome:
        X = law.draw(rng)
        return self._searched(X, self.task.pose(X), rng, closely)

    def _searched(
        self, X: Array, posed: SearchProblem, rng: np.random.Generator, closely: bool
    ) -> SearchOutcome:
        problem, solver = posed.problem, self.task.solver
        found = search_groups(solver, problem, self.sizes, rng)
        diagnostics = None
        if closely:
            rows, at_sizes = self.task.witnesses(X), np.empty(0)
            if self.others:
                others = np.array(self.others, dtype=np.intp)
                at_sizes = disparities_at(fewer(solver), problem, others, rng)
            diagnostics = NullDiagnostics(
                by_feature=split_by_feature(posed, found.labels, len(found.losses)),
                correlations=correlations(rows),
                rank_correlation=mean_rank_correlation(rows),
                at_sizes=at_sizes,
            )
        return SearchOutcome(found.disparities, residual_share(posed), diagnostics)

    def _told(
        self, kind: str, table: SearchOutcome, found: Sequence[SearchOutcome], group: int
    ) -> Chance:
        """What comparison tables show of a group."""
        sizes = np.sort([*self.others, self.sizes[group]]).astype(np.intp)
        here = sizes == self.sizes[group]
        values = np.array([one.disparities[group] for one in found])
        close = [one.diagnostics for one in found if one.diagnostics is not None]
        curves = np.full((len(found), len(sizes)), np.nan)
        curves[:, here] = values[:, None]
        curves[np.ix_(np.arange(len(close)), ~here)] = [one.at_sizes for one in close]
        p_values = np.full(len(sizes), np.nan)
        p_values[here] = p = p_value(float(table.disparities[group]), values)
        assert table.diagnostics is not None
        R = np.mean(np.stack([one.correlations for one in close]), axis=0)
        ranks = float(np.mean([one.rank_correlation for one in close]))
        splits = [None if one.by_feature is None else one.by_feature[group] for one in close]
        return Chance(
            kind=kind,
            sizes=sizes,
            curves=curves,
            p_values=p_values,
            p_value=float(p),
            miss=float(np.abs(R - table.diagnostics.correlations).max()),
            residual=float(np.mean([one.residual for one in found]) / table.residual),
            ranks_miss=table.diagnostics.rank_correlation - ranks,
            by_feature=_mean_split(splits, float(values.mean())),
        )

    def _winsorized(
        self, chance: int, which: NDArray[np.bool_], rng: np.random.Generator, steps: Steps
    ) -> list[float]:
        """P-values of the same rows with the tails of their columns drawn in."""
        again = clone(self.task.estimator).set_params(n_components=self.task.n_components)
        other = NullTest.of(NullTask.of(again, winsorize(self.task.X), sized=True), self.sizes)
        of_table, of_values = rng.spawn(2)
        table, few = other.table(of_table), min(chance, FEWEST_TABLES) * ~which
        found = other.compared("copula", table, chance, of_values, steps, few)
        return [each.p_value for each in found]


def _heavy(main: Chance) -> bool:
    return abs(main.ranks_miss) > _HEAVY


def _mean_split(splits: list[Array | None], mean: float) -> Array | None:
    """Splits of the first tables on average, in proportion to the mean of all tables."""
    known = [split for split in splits if split is not None]
    if not known:
        return None
    average = np.mean(np.stack(known), axis=0)
    total = float(average.sum())
    return average * (mean / total) if total else average


def split_by_feature(posed: SearchProblem, labels: NDArray[np.int8], n_sides: int) -> Array | None:
    """Each group's disparity to the rest, split over features: (groups, n).

    None where rows are not in columns.
    """
    problem = posed.problem
    if posed.table.back is not None or not problem.loss.own_is_best:
        return None
    moments = problem.split(labels, n_sides)
    own = own_components(problem.loss, moments, problem.d)
    rest, *groups = (
        basis_loss_by_feature(problem.loss, S, problem.V, W) / count
        for S, W, count in zip(moments.second, own, moments.count, strict=True)
    )
    return np.stack(groups) - rest


def mean_rank_correlation(X: Array) -> float:
    """Mean absolute rank correlation of two columns, Spearman's."""
    if X.shape[1] < 2:
        return 0.0
    R = correlations(stats.rankdata(X, axis=0))
    return float(np.abs(R[np.triu_indices(len(R), 1)]).mean())


def winsorize(X: Array) -> Array:
    """The table with the tails of its columns drawn in, of those with values enough to have some.

    Examples
    --------
    >>> X = np.column_stack([np.arange(100.0) ** 4, np.arange(100) % 2])
    >>> Y = winsorize(X)
    >>> bool(Y[:, 0].max() < X[:, 0].max()), bool(np.array_equal(Y[:, 1], X[:, 1]))
    (True, True)
    """
    result = X.copy()
    for j, column in enumerate(X.T):
        if len(np.unique(column)) > _VALUES:
            result[:, j] = np.clip(column, *np.quantile(column, [_TAIL, 1.0 - _TAIL]))
    return result
