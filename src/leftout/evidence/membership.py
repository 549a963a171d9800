"""Who belongs? Rows that are left out of nearly every part of the table, and rows at the border.

A search on all rows names a group of a given size, as sure of the last row as of the first. So it
is repeated on parts of the rows, and each part's answer is applied to all of them: the share of the
answers that leave a row out is its membership.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leftout.checks import Refusal
from leftout.core.losses import Array
from leftout.evidence.chance import Task
from leftout.evidence.learned import learn, searching
from leftout.files import Told
from leftout.running import Steps, in_turn, one_thread
from leftout.wording import counted

# How many parts, and the share of the (distinct) rows in each.
PARTS, SHARE = 16, 0.8
# Rows of the group that are left out of so large a share of the parts are members; those below the
# lower one are hardly in it.
SURE, DOUBTFUL = 0.8, 0.5


@dataclass(frozen=True, kw_only=True, eq=False)
class Membership(Told):
    """How surely each row belongs to the group.

    Attributes
    ----------
    shares : array of shape (m,)
        Share of the parts of the table whose group has the row.
    group : array of shape (m,)
        The rows of the group itself.
    parts : int
    members : array of shape (m,)
        Rows of the group with a share of 0.8 or more; the group's others are borderline.
    """

    shares: Array
    group: NDArray[np.bool_]
    parts: int

    def to_dict(self) -> dict[str, Any]:
        """Plain data; rows one by one are left to groups.csv."""
        names = ("parts", "n_members", "n_borderline", "n_doubtful", "told")
        return {name: getattr(self, name) for name in names}

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


def membership(
    task: Task,
    group: NDArray[np.bool_],
    rngs: list[np.random.Generator],
    steps: Steps,
    everyone: Array | None = None,
) -> Membership | None:
    """Search parts of the rows for groups in proportion; None if no part has dimensions enough.

    Where the task's rows were drawn from more, the group is one of ``everyone``.
    """
    everyone = task.X if everyone is None else everyone
    m = len(task.X)
    part = max(1, round(SHARE * group.mean() * m))
    smallest = min(task.smallest, part, round(SHARE * m) - part)
    task = replace(searching(task), posed=task.posed.resized(max(1, smallest), None))
    tasks = [(task, everyone, int(group.sum()), rng) for rng in rngs]
    with one_thread():
        found = list(in_turn(_one_part, tasks, task.estimator.n_jobs, steps, "who belongs"))
    votes = [each for each in found if each is not None]
    if not votes:
        return None
    return Membership(shares=np.mean(votes, axis=0), group=group, parts=len(votes))


def _one_part(
    task: Task, everyone: Array, size: int, rng: np.random.Generator
) -> NDArray[np.bool_] | None:
    """Which of all rows the group is that some of them tell of."""
    rows = part_of(task, rng)
    try:
        learned = learn(task, task.X[rows], max(1, round(size * len(rows) / len(everyone))), rng)
    except Refusal:
        return None
    return learned.highest(learned.row_losses(everyone), size)


def part_of(task: Task, rng: np.random.Generator) -> NDArray[np.intp]:
    """Some of the rows, drawn at random; equal ones stay together where rows are copies."""
    copies = None if task.repeats is None else task.repeats.copies
    if copies is None:
        return np.sort(rng.choice(len(task.X), round(SHARE * len(task.X)), replace=False))
    kept = rng.random(copies.n_distinct) < SHARE
    return np.flatnonzero(kept[copies.place])
