"""Does the group come back when the search is run again?"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.cluster import hierarchy
from scipy.spatial.distance import squareform

from leftout.checks import check_whole, generator
from leftout.errors import InputError, parameter_label
from leftout.groups.fitted import prepare
from leftout.groups.partition import MaxDisparityPartition
from leftout.linalg.losses import Array
from leftout.linalg.problem import Problem
from leftout.running import Report, Steps, clean_interrupts, imap_ordered, one_thread
from leftout.solvers import SearchResult, Solver, SolverContext
from leftout.text import counted

# Searches whose groups share this much of their rows (Jaccard) found the same group.
SAME_GROUP = 0.5
# Fewer runs cannot tell.
FEWEST_RUNS = 5
# Distinct groups count as nearly equal when their disparity is this close to the best.
_NEARLY = 0.05


@dataclass(frozen=True, kw_only=True)
class DistinctGroup:
    """A group that some of the runs agree on: the best run's."""

    labels: NDArray[np.intp]
    disparity: float
    runs: NDArray[np.intp]  # which runs found it


@dataclass(frozen=True, kw_only=True)
class Stability:
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

    labels: NDArray[np.int8]
    disparities: Array
    jaccard: Array
    groups: list[DistinctGroup]
    epochs: list[Array] | None = None
    epoch_labels: list[NDArray[np.int8]] | None = None

    @classmethod
    def of(cls, labels: NDArray[np.int8], disparities: Array, *, either: bool = True) -> Stability:
        """From what each run found; ``either`` as in :func:`pairwise_jaccard`."""
        return cls(
            labels=labels,
            disparities=disparities,
            jaccard=pairwise_jaccard(labels, either=either),
            groups=distinct(labels, disparities),
        )

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
        if self._by_epoch is None:
            return None
        return np.array([np.diag(J, 1).mean() if len(J) > 1 else 1.0 for J in self._by_epoch])

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
        return sum(group.disparity >= best - _NEARLY * abs(best) for group in self.groups)

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
            f"{100 * _NEARLY:.0f} % of the largest disparity"
            + ("; this is one of them." if several > 1 else ".")
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain data; the consensus is left to those who have the rows at hand."""
        result: dict[str, Any] = {
            "runs": len(self.labels),
            "jaccard_mean": self.mean,
            "jaccard_low": self.low,
            "jaccard_high": self.high,
            "jaccard_matrix": self.jaccard.tolist(),
            "disparities": self.disparities.tolist(),
            "distinct_groups": [
                {"disparity": g.disparity, "size": int(g.labels.sum()), "runs": g.runs.tolist()}
                for g in self.groups
            ],
            "nearly_equal": self.n_nearly_equal,
        }
        if self.adjacent is not None and self.first_to_last is not None:
            result["adjacent_epochs"] = self.adjacent.tolist()
            result["first_to_last_epoch"] = self.first_to_last.tolist()
        return result


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
    return compare(solver, problem, rngs, estimator.n_jobs, Steps(n_restarts, progress))


def compare(
    solver: Solver,
    problem: Problem,
    rngs: list[np.random.Generator],
    n_jobs: int | None,
    steps: Steps,
) -> Stability:
    """:func:`agreement` on a posed problem, with the runs' randomness given."""
    tasks = ((solver, problem, rng) for rng in rngs)
    with one_thread():
        found, losses = zip(*imap_ordered(_run, tasks, n_jobs, steps, "runs"), strict=True)
    result = Stability.of(
        np.array([run.labels for run in found]),
        np.array([group - rest for rest, group in losses]),
    )
    if found[0].sweeps is None:
        return result
    return replace(
        result,
        epochs=[run.history["disparity"] for run in found],
        epoch_labels=[run.sweeps for run in found],
    )


def _run(solver: Solver, problem: Problem, rng: np.random.Generator) -> tuple[SearchResult, Array]:
    """A search, and the losses of rest and group that it ends with."""
    found = solver.maximise(problem, SolverContext(rng=rng, n_jobs=1))
    return found, problem.losses_of(problem.split(found.labels), found.own)[0]


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
                labels=labels[best].astype(np.intp), disparity=float(disparities[best]), runs=runs
            )
        )
    return sorted(groups, key=lambda group: -group.disparity)
