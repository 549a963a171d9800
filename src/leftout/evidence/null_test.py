"""Is it more than chance? The same search in the table and in surrogates of it.

A maximum over all partitions is large on any table. So the search is repeated, with the same
solver and effort, on surrogate tables (:mod:`leftout.evidence.surrogates`) that keep what single
columns and correlations explain and have no other subgroup. As many are drawn as it takes to tell
(:mod:`leftout.evidence.sequential_stopping`). The first nine also say which columns their
disparities are made of and, of a single group, the first four what they show at other sizes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import stats
from sklearn.base import clone

from leftout.checks import check_choice
from leftout.evidence.loss_parts import LossParts
from leftout.evidence.refit import NullTask, disparities_at, fewer, search_groups
from leftout.evidence.sequential_stopping import (
    FIRST_TABLES,
    drawn_until,
    most_tables,
    should_stop,
)
from leftout.evidence.surrogates import SURROGATES, Surrogate, correlations
from leftout.files import Serializable
from leftout.groups.problem_setup import SearchProblem
from leftout.linalg.losses import Array, basis_loss_by_feature, own_components
from leftout.linalg.significance import LEVEL, p_value
from leftout.running import Steps, one_thread

SURROGATE_KINDS = tuple(SURROGATES)
# What a kind of table is called while people wait.
PROGRESS_NAMES = {"copula": "tables with the same values", "gaussian": "bell-shaped tables"}
# Sizes beside the group's, as multiples of it, and how many tables are searched at them.
_SMALLER, _LARGER, _PICTURED = 0.5, 2.5, 4
# Values further out than these shares of a column are winsorised for a second look, where a column
# has so many values.
_TAIL, _TAIL_VALUES = 0.02, 20
# Tables whose rank correlations differ from those of comparison tables by this much, on average,
# have heavy tails: they are compared once more with these winsorised.
_HEAVY = 0.03


@dataclass(frozen=True, kw_only=True)
class Chance(Serializable):
    """What the same search finds on chance tables of one kind.

    Attributes
    ----------
    kind : {"copula", "gaussian"}
    sizes : array of shape (n_sizes,)
        Sizes of groups that were looked for.
    curves : array of shape (n_surrogates, n_sizes)
        Best disparity on each surrogate, at each size; nan where it was not looked for.
    mean, low, high : arrays of shape (n_sizes,)
        Mean and 5 to 95 % band of the curves.
    p_values : array of shape (n_sizes,)
        How often comparison tables reach the table's disparity, size by size; nan at sizes that are
        only there for the picture.
    p_value : float
        The same for the table's profile as a whole, which accounts for the many sizes looked at;
        or at the one size that counts.
    miss : float
        Largest difference between a correlation of the table and its mean over the first nine
        surrogates.
    residual : float
        Variance that ``d`` components leave of a surrogate, on average, over what they leave of the
        table. Far from 1, the comparison is not fair.
    ranks_miss : float
        How much larger rank correlations (Spearman's) are in the table, on average.
    by_feature : array of shape (n,) or None
        The mean disparity at the size that counts, split over features.
    """

    also = ("surrogates",)
    hidden = ("kind", "sizes", "curves", "p_values", "by_feature")  # size by size

    kind: str
    sizes: NDArray[np.intp]
    curves: Array
    p_values: Array
    p_value: float
    miss: float
    residual: float
    ranks_miss: float = 0.0
    by_feature: Array | None = None

    @property
    def mean(self) -> Array:
        return np.nanmean(self.curves, axis=0)

    @property
    def low(self) -> Array:
        return np.nanquantile(self.curves, 0.05, axis=0)

    @property
    def high(self) -> Array:
        return np.nanquantile(self.curves, 0.95, axis=0)

    @property
    def surrogates(self) -> int:
        return len(self.curves)

    @property
    def heavy(self) -> bool:
        """Whether the table has heavy tails: rank correlations unlike those of the surrogates."""
        return abs(self.ranks_miss) > _HEAVY

    def mean_at(self, size: int) -> float:
        """The mean at a size; between sizes that were looked for, in proportion."""
        return float(np.interp(size, self.sizes, self.mean))


def check_kinds(kinds: str | Sequence[str]) -> list[str]:
    """The kinds of chance tables asked for, each once."""
    asked = [kinds] if isinstance(kinds, str) else list(dict.fromkeys(kinds))
    for kind in asked:
        check_choice("kinds", kind, SURROGATE_KINDS)
    return asked


class SearchOutcome(NamedTuple):
    """What a search finds in a table, at the sizes that it is searched at."""

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
    p_gaussian: float | None  # of bell-shaped ones; None where it was not needed
    p_winsorized: float | None  # ``p_value`` of winsorised columns, where needed

    def parts(
        self, disparity: float, split: Array | None, size: int, names: Sequence[str]
    ) -> LossParts | None:
        """A disparity in three parts; None without tables of both kinds.

        ``disparity`` is what a search alike finds in the table; ``split`` is that of the group that
        is told of, in whose proportions it is split.
        """
        if set(self.chance) != set(SURROGATE_KINDS):
            return None
        cloud, values = (
            (float(each.mean[np.searchsorted(each.sizes, size)]), each.by_feature)
            for each in (self.chance["gaussian"], self.chance["copula"])
        )
        split = _mean_split([split], disparity)
        return LossParts.of(disparity, split, cloud, values, names, self.p_gaussian, self.p_value)


@dataclass(frozen=True)
class NullTest:
    """A table and the sizes that it and its surrogates are searched at, with the same effort.

    Of groups that are sought together or, ``apart``, of one group that is sought at each size.
    """

    task: NullTask
    sizes: list[int]
    others: tuple[int, ...] = ()  # further sizes of a single group, for the picture
    apart: bool = False

    @classmethod
    def of(cls, task: NullTask, sizes: Sequence[int]) -> NullTest:
        """The test of groups of these sizes, with the effort of repeated searches."""
        task = task.with_effort()
        if len(sizes) > 1:
            return cls(task, list(sizes))
        beside = sizes_beside(sizes[0], len(task.X), task.n_components).tolist()
        others = tuple(size for size in beside if size != sizes[0])
        return cls(task.down_to(min(beside[0], len(task.X) - beside[-1])), list(sizes), others)

    def run(
        self, asked: int, kinds: Sequence[str], rngs: Sequence[np.random.Generator], steps: Steps
    ) -> tuple[SearchOutcome, list[NullComparison]]:
        """First tables with the same values, then bell-shaped ones: nine where these do not decide.

        What is found in the table itself, and each group beside them.
        """
        of_table, of_values, of_cloud, again = rngs
        table = self.search_table(of_table, steps)
        by_kind: dict[str, list[Chance]] = {}
        beyond = np.zeros(len(self.sizes), dtype=bool)
        drawn_in: list[float | None] = [None] * len(beyond)
        if asked and "copula" in kinds:
            main = by_kind["copula"] = self.compared("copula", table, asked, of_values, steps)
            beyond = np.array([each.p_value <= LEVEL for each in main])
            if beyond.any() and main[0].heavy:
                found = self._winsorized(asked, beyond, again, steps)
                drawn_in = [p if yes else None for p, yes in zip(found, beyond, strict=True)]
                beyond &= np.array([(p or 0.0) <= LEVEL for p in drawn_in])
        if asked and "gaussian" in kinds:
            few = min(asked, FIRST_TABLES) * beyond
            by_kind["gaussian"] = self.compared("gaussian", table, asked, of_cloud, steps, few)
        told = []
        for group, decided in enumerate(beyond):
            each = {kind: of_groups[group] for kind, of_groups in by_kind.items()}
            values, cloud = each.get("copula"), each.get("gaussian")
            p_values = None if values is None else values.p_value
            p_gaussian = None if cloud is None or decided else cloud.p_value
            told.append(NullComparison(each, p_values, p_gaussian, drawn_in[group]))
        return table, told

    def search_table(self, rng: np.random.Generator, steps: Steps) -> SearchOutcome:
        """The table itself, searched as its surrogates are."""
        steps.tell("the table")
        with one_thread():
            found = self._searched(self.task.X, self.task.posed, rng)
        steps.tell("the table", 1)
        return found

    def search_surrogates(
        self,
        kind: str,
        enough: Callable[[list[SearchOutcome]], bool],
        most: int,
        rng: np.random.Generator,
        steps: Steps,
    ) -> list[SearchOutcome]:
        """Tables of a kind, drawn and searched until they are enough."""
        law, n_jobs = self.task.law(kind), self.task.estimator.n_jobs
        tasks = [(law, each, place) for place, each in enumerate(rng.spawn(most))]
        return drawn_until(enough, self._drawn, tasks, n_jobs, steps, PROGRESS_NAMES[kind])

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

        found = self.search_surrogates(kind, enough, int(needed.max()), rng, steps)
        return [self._of_group(kind, table, found[:n], group) for group, n in enumerate(needed)]

    def _drawn(self, law: Surrogate, rng: np.random.Generator, place: int) -> SearchOutcome:
        X = law.draw(rng)
        return self._searched(X, self.task.pose(X), rng, place)

    def _searched(
        self, X: Array, posed: SearchProblem, rng: np.random.Generator, place: int = 0
    ) -> SearchOutcome:
        """Of the first tables, by their ``place``, also what they are made of."""
        problem, solver = posed.problem, self.task.solver
        by_feature, at_sizes = None, np.empty(0)
        if self.apart:
            disparities = disparities_at(solver, problem, self.sizes, rng)
        else:
            found = search_groups(solver, problem, self.sizes, rng)
            disparities = found.disparities
        diagnostics = None
        if place < FIRST_TABLES:
            if not self.apart:
                by_feature = split_by_feature(posed, found.labels, len(found.losses))
            if self.others and place < _PICTURED:
                at_sizes = disparities_at(fewer(solver), problem, self.others, rng)
            rows = self.task.witnesses(X)
            ranks = mean_rank_correlation(rows)
            diagnostics = NullDiagnostics(by_feature, correlations(rows), ranks, at_sizes)
        left = 1.0 - float(posed.explained[: problem.d].sum())
        return SearchOutcome(disparities, left, diagnostics)

    def _of_group(
        self, kind: str, table: SearchOutcome, found: Sequence[SearchOutcome], group: int
    ) -> Chance:
        """What comparison tables show of a group."""
        sizes = np.sort([*self.others, self.sizes[group]]).astype(np.intp)
        here = sizes == self.sizes[group]
        values = np.array([one.disparities[group] for one in found])
        close = _diagnosed(found)
        curves = np.full((len(found), len(sizes)), np.nan)
        curves[:, here] = values[:, None]
        pictured = [one.at_sizes for one in close[:_PICTURED]]
        curves[: len(pictured), ~here] = pictured
        p_values = np.full(len(sizes), np.nan)
        p_values[here] = p = p_value(float(table.disparities[group]), values)
        splits = [None if one.by_feature is None else one.by_feature[group] for one in close]
        return as_chance(
            table, found, kind=kind, sizes=sizes, curves=curves, p_values=p_values,
            p_value=float(p), by_feature=_mean_split(splits, float(values.mean())),
        )  # fmt: skip

    def _winsorized(
        self, asked: int, which: NDArray[np.bool_], rng: np.random.Generator, steps: Steps
    ) -> list[float]:
        """P-values of the same rows with the tails of their columns winsorised."""
        again = clone(self.task.estimator).set_params(n_components=self.task.n_components)
        other = NullTest.of(NullTask.of(again, winsorize(self.task.X), sized=True), self.sizes)
        of_table, of_values = rng.spawn(2)
        table = other.search_table(of_table, Steps(1, None))
        few = min(asked, FIRST_TABLES) * ~which
        found = other.compared("copula", table, asked, of_values, steps, few)
        return [each.p_value for each in found]


def _diagnosed(found: Sequence[SearchOutcome]) -> list[NullDiagnostics]:
    return [one.diagnostics for one in found if one.diagnostics is not None]


def as_chance(table: SearchOutcome, found: Sequence[SearchOutcome], **figures: Any) -> Chance:
    """What surrogates show, with how like the table they are."""
    assert table.diagnostics is not None
    close = _diagnosed(found)
    R = np.mean(np.stack([one.correlations for one in close]), axis=0)
    ranks = float(np.mean([one.rank_correlation for one in close]))
    return Chance(
        miss=float(np.abs(R - table.diagnostics.correlations).max()),
        residual=float(np.mean([one.residual for one in found]) / table.residual),
        ranks_miss=table.diagnostics.rank_correlation - ranks,
        **figures,
    )


def _mean_split(splits: list[Array | None], mean: float) -> Array | None:
    """Splits of the first tables on average, in proportion to the mean of all tables."""
    known = [split for split in splits if split is not None]
    if not known:
        return None
    average = np.mean(np.stack(known), axis=0)
    total = float(average.sum())
    return average * (mean / total) if total else average


def sizes_beside(size: int, n_rows: int, d: int) -> NDArray[np.intp]:
    """The group's size and two more, in rising order: for the picture."""
    smaller = max(min(size, 2 * d), round(_SMALLER * size))
    larger = min(max(size, n_rows // 2), round(_LARGER * size))
    return np.unique([smaller, size, larger]).astype(np.intp)


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
        if len(np.unique(column)) > _TAIL_VALUES:
            result[:, j] = np.clip(column, *np.quantile(column, [_TAIL, 1.0 - _TAIL]))
    return result
