"""Stability: does the same search find the same group from other starts, and on fewer rows?

Restarts are compared pair by pair. Subsamples say how surely each row belongs: a search on all rows
names a group of a given size, as sure of the last row as of the first. So it is repeated on
subsamples, and each answer is applied to all rows: the share of the answers that leave a row out is
its membership.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.cluster import hierarchy
from scipy.spatial.distance import squareform
from sklearn.base import clone

from leftout.checks import generator
from leftout.data.matrix import check_matrix
from leftout.evidence.refit import (
    SAME_GROUP,
    SearchTask,
    fit_group_rule,
    in_proportion,
    match_groups,
    repeated,
    search_groups,
)
from leftout.files import Serializable
from leftout.groups.partition import MaxDisparityPartition
from leftout.linalg.losses import Array
from leftout.linalg.problem import Labels
from leftout.running import Steps, one_thread
from leftout.text import counted, percent

# Fewer runs cannot tell.
FEWEST_RUNS = 5
# Distinct groups count as nearly equal when their disparity is this close to the best.
_NEARLY_EQUAL = 0.05
# Subsamples that are searched to see who belongs, and the share of the rows in each.
SUBSAMPLES, _SUBSAMPLE_SHARE = 16, 0.8
# Rows of the group that are left out of so large a share of the subsamples are members.
_SURE_MEMBER = 0.8


@dataclass(frozen=True, kw_only=True, eq=False)
class Stability(Serializable):
    """How well runs with different seeds agree.

    Attributes
    ----------
    labels : array of shape (n_runs, m)
    disparities : array of shape (n_runs,)
    jaccard_mean, jaccard_low, jaccard_high : float
        Mean and range of ``jaccard_matrix`` over pairs of runs.
    """

    also = (
        "runs", "jaccard_mean", "jaccard_low", "jaccard_high", "jaccard_matrix", "nearly_equal"
    )  # fmt: skip
    hidden = ("labels",)

    labels: NDArray[np.int8]
    disparities: Array

    @property
    def runs(self) -> int:
        return len(self.labels)

    @cached_property
    def jaccard_matrix(self) -> Array:
        """Rows that two runs both leave out, over the rows that either does."""
        return pairwise_jaccard(self.labels)

    @property
    def _pairs(self) -> Array:
        return self.jaccard_matrix[np.triu_indices(self.runs, 1)]

    @property
    def jaccard_mean(self) -> float:
        return float(self._pairs.mean())

    @property
    def jaccard_low(self) -> float:
        return float(self._pairs.min())

    @property
    def jaccard_high(self) -> float:
        return float(self._pairs.max())

    @cached_property
    def nearly_equal(self) -> int:
        """How many distinct groups have a disparity within 5% of the largest.

        Runs are clustered by average linkage; the best of a cluster stands for it.
        """
        distance = squareform(1.0 - self.jaccard_matrix, checks=False)
        cluster = hierarchy.fcluster(
            hierarchy.linkage(distance, method="average"), 1.0 - SAME_GROUP, criterion="distance"
        )
        best = np.array([self.disparities[cluster == each].max() for each in np.unique(cluster)])
        return int(np.sum(best >= best.max() - _NEARLY_EQUAL * abs(best.max())))

    @property
    def agrees(self) -> bool | None:
        """Whether the runs found one group; None if they are too few to tell."""
        return self.jaccard_mean >= SAME_GROUP if self.runs >= FEWEST_RUNS else None

    @property
    def text(self) -> str:
        return (
            f"{self.runs} runs agree with Jaccard {self.jaccard_mean:.2f} on average "
            f"({self.jaccard_low:.2f} to {self.jaccard_high:.2f}); from {SAME_GROUP} on they count "
            "as one group."
        )

    @property
    def several_text(self) -> str:
        several = self.nearly_equal
        return (
            f"{self.runs} runs found {counted(several, 'distinct group')} within "
            f"{percent(_NEARLY_EQUAL)} of the largest disparity"
            + ("; this is one of them." if several > 1 else ".")
        )


def fit_with_seeds(
    estimator: MaxDisparityPartition, X: Any, runs: int, steps: Steps
) -> list[MaxDisparityPartition]:
    """The search fitted several times, with seeds that its ``random_state`` gives."""
    with one_thread():
        built = estimator._build_problem(check_matrix(X))

    def one_fit(rng: np.random.Generator) -> MaxDisparityPartition:
        search = clone(estimator).set_params(random_state=rng, n_jobs=1)
        return search._fit_problem(X, built).set_params(n_jobs=estimator.n_jobs)

    rngs = generator(estimator.random_state).spawn(runs)
    return repeated(one_fit, rngs, estimator.n_jobs, steps, "restarts")


def restarts(
    task: SearchTask,
    sizes: Sequence[int],
    rngs: list[np.random.Generator],
    steps: Steps,
    labels: NDArray[np.integer],
) -> list[Stability]:
    """How searches from other starts, one for each generator, agree on each group.

    Several groups are called like those of ``labels``.
    """

    def one_run(rng: np.random.Generator) -> tuple[Labels, Array]:
        found = search_groups(task.solver, task.posed.problem, sizes, rng)
        called = match_groups(found.labels, labels, len(sizes))
        return called[found.labels], found.disparities[np.argsort(called[1:])]

    n_jobs = task.estimator.n_jobs
    runs, values = zip(*repeated(one_run, rngs, n_jobs, steps, "restarts"), strict=True)
    every = np.array(runs)
    return [
        Stability(labels=(every == group).astype(np.int8), disparities=each)
        for group, each in enumerate(np.transpose(values), start=1)
    ]


def pairwise_jaccard(labels: NDArray[Any]) -> Array:
    """Jaccard similarity of left-out groups, each row of ``labels`` a partition.

    Two empty groups are the same group.
    """
    A = (np.asarray(labels) == 1).astype(np.float64)
    both, sizes = A @ A.T, A.sum(axis=1)
    either = sizes[:, None] + sizes - both
    return np.where(either > 0.0, both, 1.0) / np.where(either > 0.0, either, 1.0)


@dataclass(frozen=True, kw_only=True, eq=False)
class Membership(Serializable):
    """How surely each row belongs to the group.

    Attributes
    ----------
    shares : array of shape (m,)
        Share of the parts of the table whose group has the row.
    group : array of shape (m,)
        The rows of the group itself.
    parts : int
        Searches on parts of the rows.
    n_members : int
        Rows of the group that at least 80% of these leave out.
    n_borderline : int
        The group's other rows.
    """

    also = ("n_members", "n_borderline", "text")
    hidden = ("shares", "group")  # rows one by one are left to groups.csv

    shares: Array
    group: NDArray[np.bool_]
    parts: int

    @property
    def members(self) -> NDArray[np.bool_]:
        """Rows of the group with a share of 0.8 or more; the group's others are borderline."""
        return self.group & (self.shares >= _SURE_MEMBER)

    @property
    def n_members(self) -> int:
        return int(self.members.sum())

    @property
    def n_borderline(self) -> int:
        return int(self.group.sum()) - self.n_members

    def named(self) -> NDArray[Any]:
        """Of each row: member, borderline, or rest."""
        inside = np.where(self.members, "member", "borderline")
        return np.where(self.group, inside, "rest")

    @property
    def text(self) -> str:
        return (
            f"{self.n_members:,} of {counted(int(self.group.sum()), 'row')} are members: left out "
            f"in at least {percent(_SURE_MEMBER)} of {self.parts} searches on "
            f"{percent(_SUBSAMPLE_SHARE)} of the rows; {self.n_borderline:,} "
            f"{'is' if self.n_borderline == 1 else 'are'} borderline."
        )


def subsamples(
    task: SearchTask,
    sizes: Sequence[int],
    rngs: list[np.random.Generator],
    steps: Steps,
    reference: NDArray[np.integer],
    everyone: Array,
    labels: NDArray[np.integer],
    weights: Array | None = None,
) -> list[Membership] | None:
    """Search a subsample with each generator for groups in proportion, and let all of them vote.

    ``reference`` are the groups of the task's rows, of these ``sizes``; ``labels`` those of
    ``everyone``, the rows whose membership is reported: the task's, or those that they were drawn
    from, and ``weights`` what these count. None if no subsample has dimensions enough.
    """
    n_members, table = np.bincount(labels, weights)[1:].tolist(), task.table

    def one_vote(rng: np.random.Generator) -> Labels:
        rows = task.subsample(_SUBSAMPLE_SHARE, rng)
        part = in_proportion(sizes, len(rows), len(task.X))
        rule = fit_group_rule(task, table[rows], part, rng, reference[rows])
        return rule.highest(rule.row_losses(everyone), n_members, weights)

    votes = repeated(one_vote, rngs, task.estimator.n_jobs, steps, "subsamples")
    if not votes:
        return None
    return [
        Membership(
            shares=np.mean([vote == group for vote in votes], axis=0),
            group=labels == group,
            parts=len(votes),
        )
        for group in range(1, len(n_members) + 1)
    ]
