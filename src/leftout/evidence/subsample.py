"""Subsamples: how surely does each row belong to the group?

A search on all rows names a group of a given size, as sure of the last row as of the first. So it
is repeated on subsamples of the rows, and each answer is applied to all of them: the share of the
answers that leave a row out is its membership.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leftout.evidence.refit import SearchTask, fit_group_rule, in_proportion, repeated
from leftout.files import Serializable
from leftout.linalg.losses import Array
from leftout.linalg.problem import Labels
from leftout.running import Steps
from leftout.text import counted, percent

# Subsamples that are searched to see who belongs, and the share of the rows in each.
SUBSAMPLES, _SUBSAMPLE_SHARE = 16, 0.8
# Rows of the group that are left out of so large a share of the subsamples are members; those below
# the lower one are hardly in it.
_SURE_MEMBER, _DOUBTFUL_MEMBER = 0.8, 0.5


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
            f"in at least {percent(_SURE_MEMBER)} of {self.parts} searches on "
            f"{percent(_SUBSAMPLE_SHARE)} of the rows; {self.n_borderline:,} "
            f"{'is' if self.n_borderline == 1 else 'are'} borderline."
        )


def memberships(
    task: SearchTask,
    sizes: Sequence[int],
    rngs: list[np.random.Generator],
    steps: Steps,
    reference: NDArray[np.integer],
    everyone: Array,
    labels: NDArray[np.integer],
) -> list[Membership] | None:
    """Search subsamples for groups in proportion; None if none has dimensions enough.

    Parameters
    ----------
    task : SearchTask
    sizes : list of int
        Of the groups among the task's rows.
    rngs : list of Generator
        One for each subsample.
    steps : Steps
    reference : array of int
        The groups of the task's rows, that those of the subsamples are called after.
    everyone : array of shape (m, n)
        The rows whose membership is reported: the task's, or those that these were drawn from.
    labels : array of shape (m,)
        The groups among them, from 1.
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
