"""Does the group replicate: in halves of the rows, from other starts, in subsamples?

*Halves.* The rows are split in two halves, several times, and each half is searched apart. Shared
components, those of the group and those of the rest all come from one half, and so does the rule
that says who belongs; the rows of the other half only answer. With ``a`` and ``b`` what these lose
with the group's and with the rest's components, the gap is the mean of ``a`` over those in the
group less that of ``b`` over the others. A group's own PCA of the held-out rows would fit them too
well: groups of random rows would show a gap.

*Its interval.* Given what the halves have learned, a gap is a difference of two means over rows
that nobody has looked at. Averaged over halves and splits it is a sum over rows, each with what it
adds on average, and their squares add up to its variance.

*The overlap.* What either half has learned is applied to all rows: if there is one group, both
should name the same rows. It is the Jaccard similarity of the two, averaged over splits. A group
may be smaller than what was asked for, and the rest of the rows asked for are then any: halves are
also searched for a core of half the size, and the larger overlap counts.

*Restarts* of the search are compared pair by pair.

*Subsamples* say how surely each row belongs: a search on all rows names a group of a given size, as
sure of the last row as of the first. So it is repeated on subsamples, and each answer is applied to
all rows: the share of the answers that leave a row out is its membership.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial
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
    jaccard,
    match_groups,
    repeated,
    search_groups,
)
from leftout.files import Serializable
from leftout.groups.partition import GroupRule, MaxDisparityPartition
from leftout.linalg.losses import Array
from leftout.linalg.problem import Labels
from leftout.linalg.significance import Estimate, Interval
from leftout.running import Steps, one_thread
from leftout.text import counted, number, percent

# Errors of the two halves' gaps are correlated, by 0.1 to 0.2 on simulated tables: each has learned
# from the rows that the other is judged on. Their mean varies by so much more.
HALVES_TOGETHER = 1.2
# Fewer runs cannot tell.
FEWEST_RUNS = 5
# Distinct groups count as nearly equal when their disparity is this close to the best.
_NEARLY_EQUAL = 0.05
# Subsamples that are searched to see who belongs, and the share of the rows in each.
SUBSAMPLES, _SUBSAMPLE_SHARE = 16, 0.8
# Rows of the group that are left out of so large a share of the subsamples are members.
_SURE_MEMBER = 0.8


@dataclass(frozen=True, kw_only=True)
class HeldOut(Serializable):
    """What halves of the rows, searched apart, say of each other.

    Attributes
    ----------
    group_size : int
        Size of the group looked for, in half of the rows.
    gaps : array of shape (n_splits, 2)
        The gap on the half that was not searched, for either half.
    overlaps : array of shape (n_splits, 2)
        Jaccard similarity of the groups that the halves name among all rows: of the size asked for,
        and half of it.
    error : float
        Standard error of the mean of ``gaps``.
    freedom : float
        Degrees of freedom of that error: rows that it rests on, less one.
    gap : Interval
        Mean of ``gaps`` with its 95% interval: the cross-fitted gap.
    overlap : float
        The mean of ``overlaps`` at the size at which it is larger.
    """

    also = ("gap", "overlap", "splits")

    group_size: int
    gaps: Array
    overlaps: Array
    error: float
    freedom: float

    @property
    def gap(self) -> Interval:
        freedom = max(self.freedom, 1.0)
        return Estimate(float(self.gaps.mean()), self.error, freedom).interval

    @property
    def overlap(self) -> float:
        return float(self.overlaps.mean(axis=0).max())

    @property
    def splits(self) -> int:
        return len(self.overlaps)

    @property
    def agree(self) -> bool:
        """Whether the halves name one group."""
        return self.overlap >= SAME_GROUP

    @property
    def gap_text(self) -> str:
        value, low, high = self.gap
        return (
            f"On rows not searched, such groups lose {number(value, digits=2)} "
            f"({number(low, value, 2)} to {number(high, value, 2)}) more than the rest."
        )

    @property
    def overlap_text(self) -> str:
        whole, core = self.overlaps.mean(axis=0)
        size = ", of half the size," if core > whole else ""
        kind = "one group" if self.agree else "different rows"
        return (
            f"Groups{size} of halves of the table, searched apart, share "
            f"{percent(self.overlap)} of the rows that either leaves out "
            f"({counted(self.splits, 'split')}): {kind}."
        )


def cross_fit(
    task: SearchTask,
    sizes: Sequence[int],
    splits: int,
    steps: Steps,
    reference: NDArray[np.integer],
) -> list[HeldOut]:
    """Search halves of the rows apart, repeatedly, and judge each group on the other half.

    ``reference``: the groups of the task's rows, that those of the halves are called after. None of
    them is judged where no half has dimensions enough.
    """
    judge, rngs = partial(_judge_apart, task, sizes, reference), task.rngs[1].spawn(splits)
    judged = repeated(judge, rngs, task.estimator.n_jobs, steps, "halves")
    if not judged:
        return []
    gaps, influences, overlaps = (np.stack(each, axis=1) for each in zip(*judged, strict=True))
    part = in_proportion(sizes, len(task.X) // 2, len(task.X))
    found = []
    for size, gap, influence, overlap in zip(part, gaps, influences, overlaps, strict=True):
        # rows that are copies of each other say it once
        over_splits = influence.mean(axis=0), task.repeats.copies, HALVES_TOGETHER
        _, error, freedom = Estimate.of(float(gap.mean()), *over_splits)
        shown = HeldOut(group_size=size, gaps=gap, overlaps=overlap, error=error, freedom=freedom)
        found.append(shown)
    return found


def _judge_apart(
    task: SearchTask, sizes: Sequence[int], reference: NDArray[np.integer], rng: np.random.Generator
) -> tuple[Array, Array, Array]:
    """Both halves, searched apart, each judged on the other: what they say of each group.

    The gaps on either half, what each row adds to their mean, and the overlaps of the sizes asked
    for and of the cores: each of shape (groups, ...).
    """
    X, m, table = task.X, len(task.X), task.table
    halves = task.halves(rng)
    sought = [list(sizes)]
    core = max(sizes[0] // 2, 2 * (task.n_components + 1))
    if len(sizes) == 1 and core < sizes[0]:
        sought.append([core])
    named: list[list[Labels]] = [[] for _ in sought]
    gaps, influence = np.zeros((len(sizes), 2)), np.zeros((len(sizes), m))
    for half, (searched, judged) in enumerate((halves, halves[::-1])):
        for each, labels in zip(sought, named, strict=True):
            # Rows that occur very often may make halves unequal: groups keep their shares.
            part = in_proportion(each, len(searched), m)
            rule = fit_group_rule(task, table[searched], part, rng, reference[searched])
            losses = rule.row_losses(X)
            labels.append(rule.highest(losses, each, task.weights))
            if each is sought[0]:
                for place in range(len(sizes)):
                    weights = task.posed.problem.weights_of(judged)
                    gaps[place, half], added = gap_of(rule, losses[:, judged], place + 1, weights)
                    influence[place, judged] += added / 2.0
    overlaps = [
        [jaccard(first == group, second == group) for first, second in (named[0], named[-1])]
        for group in range(1, len(sizes) + 1)
    ]
    return gaps, influence, np.array(overlaps)


def gap_of(
    rule: GroupRule, losses: Array, group: int = 1, weights: Array | None = None
) -> tuple[float, Array]:
    """The gap of a group on some rows, and what each row adds to it beyond the mean of its side.

    ``losses`` are what the rows would lose on each side.
    """
    side = rule.predict(losses)
    influence = np.zeros(len(side))
    if not (side == group).any() or not (side == 0).any():  # nobody on a side: no gap
        return 0.0, influence
    means = []
    for label, sign in ((group, 1.0), (0, -1.0)):
        rows = side == label
        values, n = losses[label, rows], int(rows.sum())
        counts = None if weights is None else weights[rows]
        means.append(float(np.average(values, weights=counts)))
        # one degree of freedom goes into the mean
        spread = np.sqrt(n / (n - 1)) if n > 1 else 1.0
        influence[rows] = sign * spread * (values - means[-1]) / n
        if counts is not None:
            influence[rows] *= counts / counts.mean()
    return means[0] - means[1], influence


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
        tree = hierarchy.linkage(distance, method="average")
        cluster = hierarchy.fcluster(tree, 1.0 - SAME_GROUP, criterion="distance")
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
