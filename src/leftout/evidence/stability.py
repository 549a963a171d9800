"""Does the group come back when the search is run again: from other starts, on parts of the rows?

A search on all rows names a group of a given size, as sure of the last row as of the first. So it
is repeated on parts of the rows, and each part's answer is applied to all of them: the share of the
answers that leave a row out is its membership.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, NotRequired, TypedDict

import numpy as np
from numpy.typing import NDArray
from scipy.cluster import hierarchy
from scipy.spatial.distance import squareform

from leftout.checks import check_whole, generator
from leftout.errors import InputError, parameter_label
from leftout.evidence.refit import (
    SAME_GROUP,
    NullTask,
    fit_group_rule,
    in_proportion,
    matched,
    quick,
    repeated,
    search_groups,
)
from leftout.files import Serializable, plain
from leftout.groups.fitted import prepare
from leftout.groups.partition import MaxDisparityPartition
from leftout.linalg.losses import Array
from leftout.linalg.problem import Labels, Problem
from leftout.running import Report, Steps, clean_interrupts, one_thread
from leftout.solvers import SearchResult, Solver, SolverContext
from leftout.text import counted

# Fewer runs cannot tell.
FEWEST_RUNS = 5
# Distinct groups count as nearly equal when their disparity is this close to the best.
_NEARLY_EQUAL = 0.05
# Parts of the rows that are searched to see who belongs, and the share of the rows in each.
PARTS, _PART_SHARE = 16, 0.8
# Rows of the group that are left out of so large a share of the parts are members; those below the
# lower one are hardly in it.
_SURE_MEMBER, _DOUBTFUL_MEMBER = 0.8, 0.5


@dataclass(frozen=True, kw_only=True)
class DistinctGroup(Serializable):
    """A group that some of the runs agree on: the best run's."""

    hidden = ("labels",)

    labels: NDArray[np.intp]
    disparity: float
    size: int
    runs: Annotated[NDArray[np.intp], "Which runs found it."]


class StabilityRecord(TypedDict):
    """How well runs agree, as JSON has it; the last two only from solvers with epochs."""

    runs: int
    jaccard_mean: Annotated[float, "Over pairs of runs."]
    jaccard_low: float
    jaccard_high: float
    jaccard_matrix: Annotated[
        list[list[float]], "Rows that two runs both leave out, over the rows that either does."
    ]
    disparities: list[float]
    distinct_groups: Annotated[list[DistinctGroup], "By falling disparity."]
    nearly_equal: Annotated[int, "How many of them are within 5 % of the best disparity."]
    adjacent_epochs: NotRequired[
        Annotated[list[float], "Mean Jaccard between labels of adjacent epochs, for each run."]
    ]
    first_to_last_epoch: NotRequired[list[float]]


@dataclass(frozen=True, kw_only=True)
class Stability(Serializable):
    """How well runs with different seeds agree.

    Attributes
    ----------
    labels : array of shape (runs, m)
    disparities : array of shape (runs,)
    jaccard : array of shape (runs, runs)
        Rows that two runs both leave out, over the rows that either does; the better of the two
        labellings of a partition, as in the paper.
    mean, low, high : float
        Mean and range of ``jaccard`` over pairs of runs.
    consensus : array of shape (m,)
        Share of the runs that leave a row out.
    groups : list of DistinctGroup
        The distinct groups found, by falling disparity.
    n_nearly_equal : int
        How many of them have a disparity within 5 % of the best.
    epochs : list of arrays or None
        Disparity after each epoch, for each run; only from solvers with epochs (greedy), as below.
    epoch_labels : list of arrays or None
        Labels before the first epoch and after each, for each run.
    adjacent, first_to_last : arrays of shape (runs,) or None
        Mean Jaccard between labels of adjacent epochs, and Jaccard between the first epoch's and
        the last's.
    """

    record = StabilityRecord

    labels: NDArray[np.int8]
    disparities: Array
    jaccard: Array
    groups: list[DistinctGroup]
    epochs: list[Array] | None = None
    epoch_labels: list[NDArray[np.int8]] | None = None

    @classmethod
    def of(
        cls,
        labels: Sequence[NDArray[Any]],
        disparities: Sequence[float] | Array,
        *,
        either: bool = True,
        epochs: list[Array] | None = None,
        epoch_labels: list[NDArray[np.int8]] | None = None,
    ) -> Stability:
        """From what each run found; ``either`` as in :func:`pairwise_jaccard`."""
        found, values = np.array(labels, dtype=np.int8), np.array(disparities)
        jaccard, groups = pairwise_jaccard(found, either=either), distinct(found, values)
        return cls(
            labels=found, disparities=values, jaccard=jaccard, groups=groups, epochs=epochs,
            epoch_labels=epoch_labels,
        )  # fmt: skip

    @property
    def _pairs(self) -> Array:
        return self.jaccard[np.triu_indices(len(self.jaccard), 1)]

    @property
    def mean(self) -> float:
        return float(self._pairs.mean())

    @property
    def low(self) -> float:
        return float(self._pairs.min())

    @property
    def high(self) -> float:
        return float(self._pairs.max())

    @property
    def adjacent(self) -> Array | None:
        J = self._by_epoch
        if J is None:
            return None
        return np.array([np.diag(j, 1).mean() if len(j) > 1 else 1.0 for j in J])

    @property
    def first_to_last(self) -> Array | None:
        J = self._by_epoch
        return None if J is None else np.array([j[0, -1] for j in J])

    @property
    def _by_epoch(self) -> list[Array] | None:
        """Jaccard between epochs, for each run."""
        if self.epoch_labels is None:
            return None
        # Before the first epoch rows are handed out one by one; epochs are counted from then.
        return [pairwise_jaccard(labels[1:]) for labels in self.epoch_labels]

    @property
    def consensus(self) -> Array:
        return self.labels.mean(axis=0)

    @property
    def n_nearly_equal(self) -> int:
        best = self.groups[0].disparity
        return sum(group.disparity >= best - _NEARLY_EQUAL * abs(best) for group in self.groups)

    @property
    def agrees(self) -> bool | None:
        """Whether the runs found one group; None if they are too few to tell."""
        return self.mean >= SAME_GROUP if len(self.labels) >= FEWEST_RUNS else None

    @property
    def told(self) -> str:
        return (
            f"{len(self.labels)} runs agree with Jaccard {self.mean:.2f} on average "
            f"({self.low:.2f} to {self.high:.2f}); from {SAME_GROUP} on they count as one group."
        )

    @property
    def told_several(self) -> str:
        several = self.n_nearly_equal
        return (
            f"{len(self.labels)} runs found {counted(several, 'distinct group')} within "
            f"{100 * _NEARLY_EQUAL:.0f} % of the largest disparity"
            + ("; this is one of them." if several > 1 else ".")
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain data; the consensus is left to those who have the rows at hand."""
        by_epoch = {"adjacent_epochs": self.adjacent, "first_to_last_epoch": self.first_to_last}
        return plain({
            "runs": len(self.labels), "jaccard_mean": self.mean, "jaccard_low": self.low,
            "jaccard_high": self.high, "jaccard_matrix": self.jaccard,
            "disparities": self.disparities, "distinct_groups": self.groups,
            "nearly_equal": self.n_nearly_equal, **(by_epoch if self.epoch_labels else {}),
        })  # fmt: skip


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
    >>> agreement(MaxDisparityPartition(2, group_size=60, random_state=0), X, n_restarts=4).mean
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
        problem = estimator._pose(matrix).problem
    return _compared(solver, problem, rngs, estimator.n_jobs, Steps(n_restarts, progress))


def other_starts(
    task: NullTask,
    sizes: Sequence[int],
    rngs: list[np.random.Generator],
    steps: Steps,
    labels: NDArray[np.integer] | None = None,
) -> list[Stability]:
    """Searches of the table from other starts, a run for each generator; of each group.

    Several groups are called like those of ``labels``.
    """
    n_jobs = task.estimator.n_jobs
    if len(sizes) == 1:
        problem = task.at_size(sizes[0]).problem
        return [_compared(quick(task.solver), problem, rngs, n_jobs, steps)]
    solver = task.with_effort().solver

    def one_run(rng: np.random.Generator) -> tuple[Labels, Array]:
        found = search_groups(solver, task.posed.problem, sizes, rng)
        called = np.arange(len(sizes) + 1, dtype=np.int8)
        if labels is not None:
            called = matched(found.labels, labels, len(sizes))
        return called[found.labels], found.disparities[np.argsort(called[1:])]

    runs, values = zip(*repeated(one_run, rngs, n_jobs, steps, "runs"), strict=True)
    return [
        Stability.of([run == group for run in runs], each, either=False)
        for group, each in enumerate(np.transpose(values), start=1)
    ]


def _compared(
    solver: Solver,
    problem: Problem,
    rngs: list[np.random.Generator],
    n_jobs: int | None,
    steps: Steps,
) -> Stability:
    """:func:`agreement` on a posed problem, with the runs' randomness given."""

    def one_run(rng: np.random.Generator) -> tuple[SearchResult, float]:
        found = solver.maximise(problem, SolverContext(rng=rng, n_jobs=1))
        rest, group = problem.losses_of(problem.split(found.labels), found.own)[0]
        return found, group - rest

    found, disparities = zip(*repeated(one_run, rngs, n_jobs, steps, "runs"), strict=True)
    epochs = epoch_labels = None
    if found[0].sweeps is not None:
        epochs = [run.history["disparity"] for run in found]
        epoch_labels = [run.sweeps for run in found]
    labels = [run.labels for run in found]
    return Stability.of(labels, disparities, epochs=epochs, epoch_labels=epoch_labels)


def pairwise_jaccard(labels: NDArray[Any], *, either: bool = True) -> Array:
    """Jaccard similarity of left-out groups, each row of ``labels`` a partition.

    With ``either``, of the two ways to name a partition's sides the one counts under which two
    partitions agree better.
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


def distinct(labels: NDArray[np.int8], disparities: Array) -> list[DistinctGroup]:
    """Cluster the runs by average linkage; a cluster's best run stands for it.

    Here it matters who is left out: a group and its complement are distinct.
    """
    distance = np.clip(1.0 - pairwise_jaccard(labels, either=False), 0.0, 1.0)
    np.fill_diagonal(distance, 0.0)
    tree = hierarchy.linkage(squareform(distance, checks=False), method="average")
    cluster = hierarchy.fcluster(tree, 1.0 - SAME_GROUP, criterion="distance")
    groups = []
    for name in np.unique(cluster):
        runs = np.flatnonzero(cluster == name)
        best = runs[np.argmax(disparities[runs])]
        groups.append(
            DistinctGroup(
                labels=labels[best].astype(np.intp),
                disparity=float(disparities[best]),
                size=int(labels[best].sum()),
                runs=runs,
            )  # fmt: skip
        )
    return sorted(groups, key=lambda group: -group.disparity)


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
        Rows of the group that at least 80 % of these leave out.
    n_borderline : int
        The group's other rows.
    n_doubtful : int
        Rows of the group that fewer than half of these leave out.
    members : array of shape (m,)
        Rows of the group with a share of 0.8 or more; the group's others are borderline.
    """

    also = ("n_members", "n_borderline", "n_doubtful", "told")
    hidden = ("shares", "group")  # rows one by one are left to groups.csv

    shares: Array
    group: NDArray[np.bool_]
    parts: int

    @property
    def members(self) -> NDArray[np.bool_]:
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
    def told_short(self) -> str:
        """How many rows searches on parts of the table find again."""
        back = "comes" if self.n_members == 1 else "come"
        return f"{counted(self.n_members, 'row')} nearly always {back} back."

    @property
    def told(self) -> str:
        return (
            f"{self.n_members:,} of {counted(int(self.group.sum()), 'row')} are members: left out "
            f"in at least {100 * _SURE_MEMBER:.0f} % of {self.parts} searches on "
            f"{100 * _PART_SHARE:.0f} % of the rows; {self.n_borderline:,} "
            f"{'is' if self.n_borderline == 1 else 'are'} borderline."
        )


def memberships(
    task: NullTask,
    labels: NDArray[np.integer],
    rngs: list[np.random.Generator],
    steps: Steps,
    everyone: Array | None = None,
    reference: NDArray[np.integer] | None = None,
) -> list[Membership] | None:
    """Search parts of the rows for groups in proportion; None if no part has dimensions enough.

    Parameters
    ----------
    task : NullTask
    labels : array of shape (m,)
        The groups, from 1, whose members are told: of the task's rows or, where these were drawn
        from more, of ``everyone``.
    rngs : list of Generator
        One for each part.
    steps : Steps
    everyone : array of shape (m, n), optional
    reference : array of int, optional
        The groups of the task's rows, that those of the parts are called after.
    """
    rows_told = task.X if everyone is None else everyone
    sizes, m = np.bincount(labels)[1:].tolist(), round(_PART_SHARE * len(task.X))
    part = in_proportion(sizes, m, len(rows_told))
    task = task.down_to(min(*part, m - sum(part))).with_effort()

    def one_vote(rng: np.random.Generator) -> Labels:
        rows = task.part(_PART_SHARE, rng)
        part = in_proportion(sizes, len(rows), len(rows_told))
        known = None if reference is None else reference[rows]
        rule = fit_group_rule(task, task.X[rows], part, rng, known)
        return rule.highest(rule.row_losses(rows_told), sizes)

    votes = repeated(one_vote, rngs, task.estimator.n_jobs, steps, "who belongs")
    if not votes:
        return None
    return [
        Membership(
            shares=np.mean([vote == group for vote in votes], axis=0),
            group=labels == group,
            parts=len(votes),
        )
        for group in range(1, len(sizes) + 1)
    ]
