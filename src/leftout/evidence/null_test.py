"""Is it more than chance? The same search in the table and in surrogates of it.

A maximum over all partitions is large on any table. So the search is repeated, with the same
solver and effort, on surrogate tables (:mod:`leftout.evidence.surrogates`) that keep what single
columns and correlations explain and have no other subgroup. As many are drawn as it takes to tell
(:mod:`leftout.evidence.sequential`). The first nine also say which columns their disparities are
made of, and how like the table they are.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import stats
from sklearn.base import clone

from leftout.evidence.refit import SearchTask, search_groups
from leftout.evidence.sequential import FIRST_TABLES, draw_until, most_tables, should_stop
from leftout.evidence.surrogates import correlations
from leftout.files import Serializable
from leftout.groups.decomposition import LossParts
from leftout.groups.problem_setup import SearchProblem
from leftout.linalg.losses import Array, losses_by_feature
from leftout.linalg.significance import LEVEL, p_value
from leftout.running import Steps, one_thread

# Values further out than these shares of a column are winsorised for a second test, where a column
# has so many values.
_TAIL, _TAIL_VALUES = 0.02, 20
# Tables whose rank correlations differ from those of surrogates by this much, on average, have
# heavy tails: they are tested once more with these winsorised.
_HEAVY = 0.03


@dataclass(frozen=True, kw_only=True)
class NullDistribution(Serializable):
    """What the same search finds in surrogates of one kind.

    Attributes
    ----------
    disparities : array of shape (n_surrogates,)
        Best disparity in each surrogate, at the group's size.
    p_value : float
        How often surrogates reach the table's disparity.
    mean, low, high : float
        Mean and 5 to 95% band of ``disparities``.
    residual : float
        Variance that ``d`` components leave of a surrogate, on average, over what they leave of the
        table. Far from 1, the comparison is not fair.
    ranks_miss : float
        How much larger rank correlations (Spearman's) are in the table, on average.
    by_feature : array of shape (n,) or None
        The mean disparity, split over features.
    """

    also = ("mean", "low", "high", "surrogates")
    hidden = ("disparities", "by_feature")

    disparities: Array
    p_value: float
    residual: float
    ranks_miss: float = 0.0
    by_feature: Array | None = None

    @property
    def mean(self) -> float:
        return float(self.disparities.mean())

    @property
    def low(self) -> float:
        return float(np.quantile(self.disparities, 0.05))

    @property
    def high(self) -> float:
        return float(np.quantile(self.disparities, 0.95))

    @property
    def surrogates(self) -> int:
        return len(self.disparities)

    @property
    def heavy(self) -> bool:
        """Whether the table has heavy tails: rank correlations unlike those of the surrogates."""
        return abs(self.ranks_miss) > _HEAVY


class SearchOutcome(NamedTuple):
    """What a search finds in a table; of the first few also what that is made of."""

    disparities: Array  # of each group to the rest
    residual: float  # share of the variance that the shared components leave
    by_feature: Array | None = None  # disparities split over features, (groups, n)
    rank_correlation: float | None = None  # mean absolute, of two columns


class NullComparison(NamedTuple):
    """A group beside surrogates of either kind."""

    chance: dict[str, NullDistribution]
    p_value: float | None  # of copula surrogates
    p_gaussian: float | None  # of Gaussian ones; None where it was not needed
    p_winsorized: float | None  # ``p_value`` of winsorised columns, where needed

    def parts(
        self, disparity: float, split: Array | None, names: Sequence[str]
    ) -> LossParts | None:
        """A disparity in three parts; None without surrogates.

        ``disparity`` is what a search alike finds in the table; ``split`` is that of the group that
        is reported, in whose proportions it is split.
        """
        if not self.chance:
            return None
        gaussian, copula = self.chance["gaussian"], self.chance["copula"]
        means = gaussian.mean, copula.mean, disparity
        splits = gaussian.by_feature, copula.by_feature, _mean_split([split], disparity)
        return LossParts.of(means, splits, names, self.p_gaussian, self.p_value)


@dataclass(frozen=True)
class NullTest:
    """A table and the groups that it and its surrogates are searched for, with the same effort."""

    task: SearchTask
    sizes: list[int]

    def run(
        self, asked: int, rngs: Sequence[np.random.Generator], steps: Steps
    ) -> tuple[SearchOutcome, list[NullComparison]]:
        """What is found in the table itself, and each group beside its surrogates.

        First copula surrogates, then Gaussian ones: nine where these do not decide.
        """
        of_table, of_copula, of_gaussian, again = rngs
        table = self.search_table(of_table, steps)
        if not asked:
            return table, [NullComparison({}, None, None, None) for _ in self.sizes]
        copula = self.compare("copula", table, asked, of_copula, steps)
        beyond = np.array([each.p_value <= LEVEL for each in copula])
        heavy = beyond & [each.heavy for each in copula]
        winsorized: list[float | None] = [None] * len(self.sizes)
        if heavy.any():
            p_values = self._winsorized(asked, heavy, again, steps)
            winsorized = [p if tails else None for p, tails in zip(p_values, heavy, strict=True)]
            beyond &= ~heavy | (np.array(p_values) <= LEVEL)
        few = min(asked, FIRST_TABLES) * beyond
        gaussian = self.compare("gaussian", table, asked, of_gaussian, steps, few)
        p_gaussian = [None if yes else g.p_value for g, yes in zip(gaussian, beyond, strict=True)]
        each = zip(copula, gaussian, p_gaussian, winsorized, strict=True)
        return table, [
            NullComparison({"copula": c, "gaussian": g}, c.p_value, p, w) for c, g, p, w in each
        ]

    def search_table(self, rng: np.random.Generator, steps: Steps) -> SearchOutcome:
        """The table itself, searched as its surrogates are."""
        steps.tell("the table")
        with one_thread():
            found = self._search(self.task.X, self.task.posed, rng, diagnose=True)
        steps.tell("the table", 1)
        return found

    def compare(
        self,
        kind: str,
        table: SearchOutcome,
        asked: int,
        rng: np.random.Generator,
        steps: Steps,
        fixed: Sequence[int] | NDArray[np.intp] | None = None,
    ) -> list[NullDistribution]:
        """Search surrogates of a kind until the answer is settled for each group.

        A group's figures are those of the surrogates up to the one that settled it. ``fixed``: of
        each group, how many it takes whatever they show; 0: until it is settled.
        """
        fixed = np.zeros(len(self.sizes), dtype=np.intp) if fixed is None else np.asarray(fixed)
        needed, unsettled = np.where(fixed, fixed, most_tables(asked)), fixed == 0

        def enough(found: list[SearchOutcome]) -> bool:
            values = np.array([each.disparities for each in found])
            for group in np.flatnonzero(unsettled):
                if should_stop(table.disparities[group], values[:, group], asked):
                    needed[group], unsettled[group] = len(found), False
            return len(found) >= int(needed.max())

        self.task.surrogates.law(kind)  # learned once, before threads draw
        tasks = [(kind, place, each) for place, each in enumerate(rng.spawn(int(needed.max())))]
        n_jobs = self.task.estimator.n_jobs
        found = draw_until(enough, self._draw, tasks, n_jobs, steps, f"{kind} surrogates")
        return [_distribution(table, found[:n], group) for group, n in enumerate(needed)]

    def _draw(self, kind: str, place: int, rng: np.random.Generator) -> SearchOutcome:
        X = self.task.surrogates.draw(kind, place, rng)
        return self._search(X, self.task.pose(X), rng, diagnose=place < FIRST_TABLES)

    def _search(
        self, X: Array, posed: SearchProblem, rng: np.random.Generator, diagnose: bool
    ) -> SearchOutcome:
        found = search_groups(self.task.null_solver, posed.problem, self.sizes, rng)
        residual = 1.0 - float(posed.explained[: posed.problem.d].sum())
        if not diagnose:
            return SearchOutcome(found.disparities, residual)
        split = split_by_feature(posed, found.labels, len(found.losses))
        ranks = mean_rank_correlation(self.task.witnesses(X))
        return SearchOutcome(found.disparities, residual, split, ranks)

    def _winsorized(
        self, asked: int, which: NDArray[np.bool_], rng: np.random.Generator, steps: Steps
    ) -> list[float]:
        """P-values of the same rows with the tails of their columns winsorised."""
        again = clone(self.task.estimator).set_params(n_components=self.task.n_components)
        X, weights = winsorize(self.task.X), self.task.weights
        other = NullTest(SearchTask.of(again, X, weights=weights), self.sizes)
        of_table, of_copula = rng.spawn(2)
        table = other.search_table(of_table, Steps(1, None))
        few = min(asked, FIRST_TABLES) * ~which
        compared = other.compare("copula", table, asked, of_copula, steps, few)
        return [each.p_value for each in compared]


def _distribution(
    table: SearchOutcome, found: Sequence[SearchOutcome], group: int
) -> NullDistribution:
    """What surrogates show of a group, and how like the table they are."""
    assert table.rank_correlation is not None
    values = np.array([one.disparities[group] for one in found])
    ranks = [one.rank_correlation for one in found if one.rank_correlation is not None]
    splits = [None if one.by_feature is None else one.by_feature[group] for one in found]
    return NullDistribution(
        disparities=values,
        p_value=p_value(float(table.disparities[group]), values),
        residual=float(np.mean([one.residual for one in found]) / table.residual),
        ranks_miss=table.rank_correlation - float(np.mean(ranks)),
        by_feature=_mean_split(splits, float(values.mean())),
    )


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
    losses = losses_by_feature(problem.loss, problem.split(labels, n_sides), problem.V)
    return losses[1:] - losses[0]


def mean_rank_correlation(X: Array) -> float:
    """Mean absolute rank correlation of two columns, Spearman's."""
    if X.shape[1] < 2:
        return 0.0
    R = correlations(stats.rankdata(X, axis=0))
    return float(np.abs(R[np.triu_indices(len(R), 1)]).mean())


def winsorize(X: Array) -> Array:
    """The table with the tails of its columns winsorised, of those with values enough to have some.

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
