"""Who belongs? Rows that are left out of nearly every part of the table, and rows at the border.

A search on all rows names a group of a given size, as sure of the last row as of the first. So it
is repeated on parts of the rows, and each part's answer is applied to all of them: the share of the
answers that leave a row out is its membership.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leftout.errors import InputError
from leftout.evidence.chance import NullTask
from leftout.evidence.refit import fit_group_rule, in_proportion, with_effort
from leftout.files import Serializable
from leftout.linalg.losses import Array
from leftout.linalg.problem import Labels
from leftout.running import Steps, imap_ordered, one_thread
from leftout.text import counted

# How many parts, and the share of the (distinct) rows in each.
PARTS, SHARE = 16, 0.8
# Rows of the group that are left out of so large a share of the parts are members; those below the
# lower one are hardly in it.
SURE, DOUBTFUL = 0.8, 0.5


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
        return self.group & (self.shares >= SURE)

    @property
    def n_members(self) -> int:
        return int(self.members.sum())

    @property
    def n_borderline(self) -> int:
        return int(self.group.sum()) - self.n_members

    @property
    def n_doubtful(self) -> int:
        """Rows of the group that fewer than half of the parts leave out."""
        return int(np.sum(self.group & (self.shares < DOUBTFUL)))

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
            f"in at least {100 * SURE:.0f} % of {self.parts} searches on {100 * SHARE:.0f} % of "
            f"the rows; {self.n_borderline:,} {'is' if self.n_borderline == 1 else 'are'} "
            "borderline."
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
    task : Task
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
    everyone = task.X if everyone is None else everyone
    sizes, m = np.bincount(labels)[1:].tolist(), len(task.X)
    part = in_proportion(sizes, round(SHARE * m), len(everyone))
    task = with_effort(task, min(*part, round(SHARE * m) - sum(part)))
    tasks = [(task, everyone, sizes, reference, rng) for rng in rngs]
    with one_thread():
        found = list(imap_ordered(_one_part, tasks, task.estimator.n_jobs, steps, "who belongs"))
    votes = [each for each in found if each is not None]
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


def _one_part(
    task: NullTask,
    everyone: Array,
    sizes: list[int],
    reference: NDArray[np.integer] | None,
    rng: np.random.Generator,
) -> Labels | None:
    """Which of all rows the groups are that some of them tell of."""
    rows = part_of(task, rng)
    part = in_proportion(sizes, len(rows), len(everyone))
    known = None if reference is None else reference[rows]
    try:
        rule = fit_group_rule(task, task.X[rows], part, rng, known)
    except InputError:
        return None
    return rule.highest(rule.row_losses(everyone), sizes)


def part_of(task: NullTask, rng: np.random.Generator) -> NDArray[np.intp]:
    """Some of the rows, drawn at random; equal ones stay together where rows are copies."""
    copies = None if task.repeats is None else task.repeats.copies
    if copies is None:
        return np.sort(rng.choice(len(task.X), round(SHARE * len(task.X)), replace=False))
    kept = rng.random(copies.n_distinct) < SHARE
    return np.flatnonzero(kept[copies.place])
