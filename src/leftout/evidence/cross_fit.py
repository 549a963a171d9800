"""Does the group replicate on rows that the search has not seen?

The rows are split in two halves, several times, and each half is searched apart.

*The gap.* Shared components, those of the group and those of the rest all come from one half, and
so does the rule that says who belongs; the rows of the other half only answer. With ``a`` and ``b``
what these lose with the group's and with the rest's components, the gap is the mean of ``a`` over
those in the group less that of ``b`` over the others. A group's own PCA of the held-out rows would
fit them too well: groups of random rows would show a gap.

*Its interval.* Given what the halves have learned, a gap is a difference of two means over rows
that nobody has looked at. Averaged over halves and splits it is a sum over rows, each with what it
adds on average, and their squares add up to its variance.

*The overlap.* What either half has learned is applied to all rows: if there is one group, both
should name the same rows. It is the Jaccard similarity of the two, averaged over splits. A group
may be smaller than what was asked for, and the rest of the rows asked for are then any: halves are
also searched for a core of half the size, and the larger overlap counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from leftout.evidence.refit import (
    SAME_GROUP,
    SearchTask,
    fit_group_rule,
    in_proportion,
    jaccard,
    repeated,
)
from leftout.files import Serializable
from leftout.groups.partition import GroupRule
from leftout.linalg.losses import Array
from leftout.linalg.problem import Labels
from leftout.linalg.significance import Estimate, Interval
from leftout.running import Steps
from leftout.text import counted, number, percent

# Errors of the two halves' gaps are correlated, by 0.1 to 0.2 on simulated tables: each has learned
# from the rows that the other is judged on. Their mean varies by so much more.
HALVES_TOGETHER = 1.2


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
    judged = repeated(
        lambda rng: _judge_apart(task, sizes, reference, rng),
        task.rngs[1].spawn(splits),
        task.estimator.n_jobs,
        steps,
        "halves",
    )
    if not judged:
        return []
    gaps, influences, overlaps = (np.stack(each, axis=1) for each in zip(*judged, strict=True))
    part = in_proportion(sizes, len(task.X) // 2, len(task.X))
    found = []
    for size, *of_group in zip(part, gaps, influences, overlaps, strict=True):
        mean, influence = float(of_group[0].mean()), of_group[1].mean(axis=0)
        # rows that are copies of each other say it once
        _, error, freedom = Estimate.of(mean, influence, task.repeats.copies, HALVES_TOGETHER)
        found.append(
            HeldOut(
                group_size=size,
                gaps=of_group[0],
                overlaps=of_group[2],
                error=error,
                freedom=freedom,
            )  # fmt: skip
        )
    return found


def _judge_apart(
    task: SearchTask,
    sizes: Sequence[int],
    reference: NDArray[np.integer],
    rng: np.random.Generator,
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
                    weights = task.weights_of(judged)
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
