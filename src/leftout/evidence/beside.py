"""Comparison tables where the group is: the same search at the group's size, and two more.

How many tables there are follows from what they show (:mod:`leftout.evidence.looks`). The first
few also say which columns their disparities are made of, and what they show at other sizes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from leftout.core.losses import Array, basis_loss_by_feature, own_components
from leftout.core.ranks import p_value
from leftout.evidence.chance import Task, residual_share, search_sizes
from leftout.evidence.learned import fewer, searching
from leftout.evidence.looks import FEWEST, most_tables, settled
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


def sizes_beside(size: int, n_rows: int, d: int) -> NDArray[np.intp]:
    """The group's size and two more, in rising order: for the picture."""
    smaller = max(min(size, 2 * d), round(_SMALLER * size))
    larger = min(max(size, n_rows // 2), round(_LARGER * size))
    return np.unique([smaller, size, larger]).astype(np.intp)


class Found(NamedTuple):
    """What a search finds in a table at the group's size."""

    disparity: float
    residual: float  # share of the variance that the shared components leave
    closer: Closer | None


class Closer(NamedTuple):
    """What the first few tables are also asked."""

    others: Array  # disparities at the other sizes
    by_feature: Array | None
    correlations: Array
    rank_correlation: float  # mean absolute, of two columns


@dataclass(frozen=True)
class Beside:
    """A table, the size of a group, and how to search comparison tables for it."""

    task: Task
    size: int
    sizes: NDArray[np.intp]

    @classmethod
    def of(cls, task: Task, size: int) -> Beside:
        sizes = sizes_beside(size, len(task.X), task.n_components)
        smallest = min(task.smallest, int(sizes[0]), len(task.X) - int(sizes[-1]))
        posed = task.posed.resized(max(1, smallest), None)
        return cls(replace(searching(task), posed=posed), size, sizes)

    def table(self, rng: np.random.Generator) -> Found:
        """The table itself, searched as comparison tables are."""
        with one_thread():
            return self._searched(self.task.X, self.task.posed, rng, closely=True)

    def compared(
        self,
        kind: str,
        law: Surrogate,
        table: Found,
        asked: int,
        rng: np.random.Generator,
        steps: Steps,
        fixed: bool = False,
    ) -> Chance:
        """Search tables of a kind until the answer is settled.

        ``fixed``: as many as were asked for, whatever they show.
        """
        found: list[Found] = []
        most = asked if fixed else most_tables(asked)
        rngs = rng.spawn(most)
        values = np.empty(0)
        while len(found) < most and (fixed or not settled(table.disparity, values, asked)):
            # so many at a time that threads have work, and little is done in vain
            ahead = rngs[len(found) : min(len(found) + FEWEST, most)]
            tasks = [(law, each, len(found) + place < FEWEST) for place, each in enumerate(ahead)]
            n_jobs = self.task.estimator.n_jobs
            with one_thread():
                for one in in_turn(self._drawn, tasks, n_jobs, steps, CALLED[kind]):
                    found.append(one)
                    values = np.append(values, one.disparity)
                    if not fixed and settled(table.disparity, values, asked):
                        break
        return self._told(kind, table, found, values)

    def _told(self, kind: str, table: Found, found: Sequence[Found], values: Array) -> Chance:
        here = int(np.searchsorted(self.sizes, self.size))
        curves = np.full((len(found), len(self.sizes)), np.nan)
        curves[:, here] = values
        close = [one.closer for one in found if one.closer is not None]
        curves[: len(close), np.arange(len(self.sizes)) != here] = [one.others for one in close]
        p_values = np.full(len(self.sizes), np.nan)
        p_values[here] = p_value(table.disparity, values)
        assert table.closer is not None
        R = np.mean(np.stack([one.correlations for one in close]), axis=0)
        return Chance(
            kind=kind,
            sizes=self.sizes,
            curves=curves,
            p_values=p_values,
            p_value=float(p_values[here]),
            miss=float(np.abs(R - table.closer.correlations).max()),
            residual=float(np.mean([one.residual for one in found]) / table.residual),
            ranks_miss=table.closer.rank_correlation
            - float(np.mean([one.rank_correlation for one in close])),
            by_feature=mean_split([one.by_feature for one in close], float(values.mean())),
        )

    def _drawn(self, law: Surrogate, rng: np.random.Generator, closely: bool) -> Found:
        X = law.draw(rng)
        return self._searched(X, self.task.pose(X), rng, closely)

    def _searched(self, X: Array, posed: Posed, rng: np.random.Generator, closely: bool) -> Found:
        solver, problem = self.task.solver, posed.problem
        (result,) = search_sizes(solver, problem, [self.size], Means(rng=rng))
        (rest, group), _ = problem.losses(result.labels, result.own)
        disparity, residual = float(group - rest), residual_share(posed)
        if not closely:
            return Found(disparity, residual, None)
        others = [int(size) for size in self.sizes if size != self.size]
        more, few = [], fewer(solver)
        for each in search_sizes(few, problem, others, Means(rng=rng)):
            losses = problem.losses(each.labels, each.own)[0]
            more.append(float(losses[1] - losses[0]))
        split = split_by_feature(posed, result.labels)
        rows = self.task.witnesses(X)
        closer = Closer(np.array(more), split, correlations(rows), mean_rank_correlation(rows))
        return Found(disparity, residual, closer)


def mean_split(splits: list[Array | None], mean: float) -> Array | None:
    """Splits of the first tables on average, in proportion to the mean of all tables."""
    known = [split for split in splits if split is not None]
    if not known:
        return None
    average = np.mean(np.stack(known), axis=0)
    total = float(average.sum())
    return average * (mean / total) if total else average


def split_by_feature(posed: Posed, labels: NDArray[np.int8]) -> Array | None:
    """A partition's disparity split over features; None where rows are not in columns."""
    problem = posed.problem
    if posed.table.back is not None or not problem.loss.own_is_best:
        return None
    moments = problem.split(labels)
    own = own_components(problem.loss, moments, problem.d)
    rest, group = (
        basis_loss_by_feature(problem.loss, S, problem.V, W) / count
        for S, W, count in zip(moments.second, own, moments.count, strict=True)
    )
    return group - rest


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
