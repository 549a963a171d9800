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
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from scipy.cluster import hierarchy
from scipy.spatial.distance import squareform

from leftout.checks import check_whole, generator
from leftout.errors import InputError, parameter_label
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
from leftout.groups.fitted import prepare
from leftout.groups.partition import MaxDisparityPartition
from leftout.linalg.losses import Array
from leftout.linalg.problem import Labels
from leftout.running import Report, Steps, clean_interrupts, one_thread
from leftout.solvers import SearchResult, SolverContext
from leftout.text import counted, percent

# Fewer runs cannot tell.
FEWEST_RUNS = 5
# Distinct groups count as nearly equal when their disparity is this close to the best.
_NEARLY_EQUAL = 0.05
# Subsamples that are searched to see who belongs, and the share of the rows in each.
SUBSAMPLES, _SUBSAMPLE_SHARE = 16, 0.8
# Rows of the group that are left out of so large a share of the subsamples are members; those below
# the lower one are hardly in it.
_SURE_MEMBER, _DOUBTFUL_MEMBER = 0.8, 0.5


@dataclass(frozen=True, kw_only=True)
class DistinctGroup(Serializable):
    """A group that some of the runs agree on: the best run's."""

    hidden = ("labels",)

    labels: NDArray[np.intp]
    disparity: float
    size: int
    runs: Annotated[NDArray[np.intp], "Which runs found it."]


@dataclass(frozen=True, kw_only=True, eq=False)
class Stability(Serializable):
    """How well runs with different seeds agree.

    Attributes
    ----------
    labels : array of shape (n_runs, m)
    disparities : array of shape (n_runs,)
    either : bool
        Whether a partition may be named either way, as in :func:`pairwise_jaccard`.
    epochs, epoch_labels : list of arrays or None
        Disparity after each epoch, and labels before the first and after each, for each run; only
        from solvers with epochs (greedy).
    jaccard_mean, jaccard_low, jaccard_high : float
        Mean and range of ``jaccard_matrix`` over pairs of runs.
    """

    also = (
        "runs", "jaccard_mean", "jaccard_low", "jaccard_high", "jaccard_matrix", "distinct_groups",
        "nearly_equal",
    )  # fmt: skip
    hidden = ("labels", "either", "epochs", "epoch_labels")

    labels: NDArray[np.int8]
    disparities: Array
    either: bool = True
    epochs: list[Array] | None = None
    epoch_labels: list[NDArray[np.int8]] | None = None

    @property
    def runs(self) -> int:
        return len(self.labels)

    @cached_property
    def jaccard_matrix(self) -> Array:
        """Rows that two runs both leave out, over the rows that either does."""
        return pairwise_jaccard(self.labels, either=self.either)

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
    def distinct_groups(self) -> list[DistinctGroup]:
        """By falling disparity: runs clustered by average linkage, the best standing for a cluster.

        Here it matters who is left out: a group and its complement are distinct.
        """
        distance = np.clip(1.0 - pairwise_jaccard(self.labels, either=False), 0.0, 1.0)
        np.fill_diagonal(distance, 0.0)
        tree = hierarchy.linkage(squareform(distance, checks=False), method="average")
        cluster = hierarchy.fcluster(tree, 1.0 - SAME_GROUP, criterion="distance")
        groups = []
        for name in np.unique(cluster):
            runs = np.flatnonzero(cluster == name)
            best = runs[np.argmax(self.disparities[runs])]
            labels, disparity = self.labels[best].astype(np.intp), float(self.disparities[best])
            groups.append(
                DistinctGroup(labels=labels, disparity=disparity, size=int(labels.sum()), runs=runs)
            )
        return sorted(groups, key=lambda group: -group.disparity)

    @property
    def nearly_equal(self) -> int:
        """How many of them are within 5% of the best disparity."""
        best = self.distinct_groups[0].disparity
        least = best - _NEARLY_EQUAL * abs(best)
        return sum(group.disparity >= least for group in self.distinct_groups)

    @property
    def agrees(self) -> bool | None:
        """Whether the runs found one group; None if they are too few to tell."""
        return self.jaccard_mean >= SAME_GROUP if self.runs >= FEWEST_RUNS else None

    @property
    def told(self) -> str:
        return (
            f"{self.runs} runs agree with Jaccard {self.jaccard_mean:.2f} on average "
            f"({self.jaccard_low:.2f} to {self.jaccard_high:.2f}); from {SAME_GROUP} on they count "
            "as one group."
        )

    @property
    def told_several(self) -> str:
        several = self.nearly_equal
        return (
            f"{self.runs} runs found {counted(several, 'distinct group')} within "
            f"{percent(_NEARLY_EQUAL)} of the largest disparity"
            + ("; this is one of them." if several > 1 else ".")
        )


@clean_interrupts()
def agreement(
    estimator: MaxDisparityPartition,
    X: Any,
    *,
    n_restarts: int = 30,
    progress: Report | bool | None = None,
) -> Stability:
    """Run a search with different seeds and compare the groups.

    Parameters
    ----------
    estimator : MaxDisparityPartition
        Its ``random_state`` gives the seeds, and ``n_jobs`` says how many runs go at a time.
    X : table of shape (m, n)
    n_restarts : int, default=30
    progress : callable, bool or None

    Returns
    -------
    Stability

    Examples
    --------
    >>> from leftout import MaxDisparityPartition, datasets
    >>> X, _ = datasets.make_planted(300, 8, 2, 60, random_state=0)
    >>> search = MaxDisparityPartition(2, group_size=60, random_state=0)
    >>> agreement(search, X, n_restarts=4).jaccard_mean
    1.0
    """
    check_whole("n_restarts", n_restarts)
    if n_restarts < 2:
        raise InputError(
            f"{parameter_label('n_restarts', n_restarts)} leaves nothing to compare; give at "
            "least 2."
        )
    solver, matrix = prepare(estimator, X)
    rngs = generator(estimator.random_state).spawn(n_restarts)
    with one_thread():
        problem = estimator._build_problem(matrix).problem

    def one_run(rng: np.random.Generator) -> tuple[SearchResult, float]:
        found = solver.maximise(problem, SolverContext(rng=rng, n_jobs=1))
        rest, group = problem.losses_of(problem.split(found.labels), found.own)[0]
        return found, group - rest

    steps = Steps(n_restarts, progress)
    runs, disparities = zip(
        *repeated(one_run, rngs, estimator.n_jobs, steps, "restarts"), strict=True
    )
    epochs = epoch_labels = None
    if runs[0].sweeps is not None:
        epochs = [run.history["disparity"] for run in runs]
        epoch_labels = [run.sweeps for run in runs]
    return Stability(
        labels=np.array([run.labels for run in runs], dtype=np.int8),
        disparities=np.array(disparities),
        epochs=epochs,
        epoch_labels=epoch_labels,
    )


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
        Stability(labels=(every == group).astype(np.int8), disparities=each, either=False)
        for group, each in enumerate(np.transpose(values), start=1)
    ]


def pairwise_jaccard(labels: NDArray[Any], *, either: bool = True) -> Array:
    """Jaccard similarity of left-out groups, each row of ``labels`` a partition.

    With ``either``, of the two ways to name a partition's sides the one counts under which two
    partitions agree better, as in the paper.
    """
    A = (np.asarray(labels) == 1).astype(np.float64)
    m, sizes = A.shape[1], A.sum(axis=1)
    both = A @ A.T
    only = sizes[:, None] - both  # left out by the first, not by the second
    same = _ratio(both, sizes[:, None] + sizes - both)
    if not either:
        return same
    swapped = _ratio(only, m - sizes + both)
    return np.maximum(same, np.maximum(swapped, swapped.T))


def _ratio(part: Array, whole: Array) -> Array:
    """Two empty groups are the same group."""
    return np.where(whole > 0.0, part, 1.0) / np.where(whole > 0.0, whole, 1.0)


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
    n_doubtful : int
        Rows of the group that fewer than half of these leave out.
    """

    also = ("n_members", "n_borderline", "n_doubtful", "told")
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

    @property
    def n_doubtful(self) -> int:
        return int(np.sum(self.group & (self.shares < _DOUBTFUL_MEMBER)))

    def named(self) -> NDArray[Any]:
        """Of each row: member, borderline, or rest."""
        inside = np.where(self.members, "member", "borderline")
        return np.where(self.group, inside, "rest")

    @property
    def told(self) -> str:
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
) -> list[Membership] | None:
    """Search a subsample with each generator for groups in proportion, and let all of them vote.

    ``reference`` are the groups of the task's rows, of these ``sizes``; ``labels`` those of
    ``everyone``, the rows whose membership is reported: the task's, or those that they were drawn
    from. None if no subsample has dimensions enough.
    """
    n_members = np.bincount(labels)[1:].tolist()

    def one_vote(rng: np.random.Generator) -> Labels:
        rows = task.subsample(_SUBSAMPLE_SHARE, rng)
        part = in_proportion(sizes, len(rows), len(task.X))
        rule = fit_group_rule(task, task.X[rows], part, rng, reference[rows])
        return rule.highest(rule.row_losses(everyone), n_members)

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
