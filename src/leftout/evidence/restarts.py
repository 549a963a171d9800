"""Restarts: does the same search find the same group from other starts?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, TypedDict

import numpy as np
from numpy.typing import NDArray
from scipy.cluster import hierarchy
from scipy.spatial.distance import squareform

from leftout.checks import check_whole, generator
from leftout.errors import InputError, parameter_label
from leftout.evidence.refit import SAME_GROUP, SearchTask, match_groups, repeated, search_groups
from leftout.files import Serializable, plain
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


@dataclass(frozen=True, kw_only=True)
class DistinctGroup(Serializable):
    """A group that some of the runs agree on: the best run's."""

    hidden = ("labels",)

    labels: NDArray[np.intp]
    disparity: float
    size: int
    runs: Annotated[NDArray[np.intp], "Which runs found it."]


class StabilityRecord(TypedDict):
    """How well runs agree, as JSON has it."""

    runs: int
    jaccard_mean: Annotated[float, "Over pairs of runs."]
    jaccard_low: float
    jaccard_high: float
    jaccard_matrix: Annotated[
        list[list[float]], "Rows that two runs both leave out, over the rows that either does."
    ]
    disparities: list[float]
    distinct_groups: Annotated[list[DistinctGroup], "By falling disparity."]
    nearly_equal: Annotated[int, "How many of them are within 5% of the best disparity."]


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
        How many of them have a disparity within 5% of the best.
    epochs, epoch_labels : list of arrays or None
        Disparity after each epoch, and labels before the first and after each, for each run; only
        from solvers with epochs (greedy).
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
            f"{percent(_NEARLY_EQUAL)} of the largest disparity"
            + ("; this is one of them." if several > 1 else ".")
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain data; the consensus is left to those who have the rows at hand."""
        return plain({
            "runs": len(self.labels), "jaccard_mean": self.mean, "jaccard_low": self.low,
            "jaccard_high": self.high, "jaccard_matrix": self.jaccard,
            "disparities": self.disparities, "distinct_groups": self.groups,
            "nearly_equal": self.n_nearly_equal,
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
    labels = [run.labels for run in runs]
    return Stability.of(labels, disparities, epochs=epochs, epoch_labels=epoch_labels)


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
    return [
        Stability.of([run == group for run in runs], each, either=False)
        for group, each in enumerate(np.transpose(values), start=1)
    ]


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
