"""Should you believe several groups? The evidence for each of them, gathered for all at once.

Comparison tables, halves and parts of the rows are searched for all groups together
(:mod:`leftout.evidence.together`), so that several groups cost as many searches as there are
groups, not as many audits. What another search calls its groups is settled by the rows that they
share with those of the table, one to one, among the rows that it has seen.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from leftout.checks import Refusal, check_whole
from leftout.core.losses import Array
from leftout.core.problem import Labels
from leftout.evidence.beside import Against, split_by_feature
from leftout.evidence.chance import KINDS, Task, check_kinds
from leftout.evidence.holdout import HeldOut, Split, gap_between, halves_of, summed_up
from leftout.evidence.learned import searching
from leftout.evidence.membership import PARTS, Membership, part_of
from leftout.evidence.parts import Parts
from leftout.evidence.profiles import Profile
from leftout.evidence.stability import Stability, distinct, pairwise_jaccard
from leftout.evidence.telling import FEWEST_TABLES, doubts
from leftout.evidence.together import (
    Together,
    in_proportion,
    learn_groups,
    matched,
    search_groups,
)
from leftout.evidence.trusting import SPLITS, Trust
from leftout.running import Report, Steps, clean_interrupts, collected_notes, in_turn, one_thread
from leftout.search.one_of import one_of
from leftout.search.partition import MaxDisparityPartition
from leftout.tables.matrix import check_matrix

# Searches from other starts: as many as tell, since each is for all groups.
_RUNS = 10


@clean_interrupts()
def trust_each(
    estimator: MaxDisparityPartition,
    X: Any,
    *,
    chance: int = 99,
    kinds: str | Sequence[str] = KINDS,
    runs: int = _RUNS,
    splits: int = SPLITS,
    parts: int = PARTS,
    chosen: str = "given",
    progress: Report | bool | None = None,
    found: MaxDisparityPartition | None = None,
    everyone: Any = None,
) -> list[Trust]:
    """:func:`leftout.trust` for several left-out groups, each beside the rest.

    Parameters
    ----------
    estimator : MaxDisparityPartition
        What to search with: its ``n_groups`` and ``group_size`` say for what.
    X : table of shape (m, n)
    chance, kinds, runs, splits, parts, progress
        As in :func:`leftout.trust`; of searches from other starts, ten are made at the most.
    chosen : {"given", "tenth", "evidence", "free"}
        How the sizes came about.
    found : MaxDisparityPartition, optional
        Fitted already, on ``X`` or on ``everyone``.
    everyone : table, optional
        Where ``X`` was drawn from more rows: all of them, whose membership is told.

    Returns
    -------
    list of Trust
        In the order of the labels. A group's comparison tables are those up to the one that settled
        it; of other sizes than its own nothing is known.

    Examples
    --------
    >>> from leftout import MaxDisparityPartition, datasets, trust_each
    >>> X, _ = datasets.make_planted(400, 9, 2, [40, 80], random_state=0)
    >>> search = MaxDisparityPartition(2, n_groups=3, group_size=[40, 80], random_state=0)
    >>> [each.verdict for each in trust_each(search, X, chance=19, runs=0, splits=4, parts=0)]
    ['A', 'A']
    """
    for name, value in (("chance", chance), ("runs", runs), ("splits", splits), ("parts", parts)):
        check_whole(name, value)
    kinds = check_kinds(kinds)
    found = clone(estimator).fit(X) if found is None else found
    if found.n_groups_ < 2:
        return []
    work = _Work.of(estimator, X, found, None if everyone is None else check_matrix(everyone))
    tables = min(chance, FEWEST_TABLES) * len(kinds)
    runs = min(runs, _RUNS) if runs > 1 else 0
    steps = Steps(1 + tables + splits + parts + runs, progress)
    of_table, of_parts, of_runs = work.task.rngs[2].spawn(3)
    compared = work.compared(chance, kinds, of_table, steps)
    notes: list[str] = []
    held: list[HeldOut] | None = None
    if splits:
        try:
            held = work.halves(splits, steps)
        except Refusal as error:
            notes.append(f"Halves of the rows: could not be searched. {error}")
    belongs = work.members(of_parts.spawn(parts), steps) if parts else None
    stable = work.runs(of_runs.spawn(runs), steps) if runs else None
    task = work.task
    if task.repeats is not None and task.rows_repeat:
        notes.append(f"Equal rows: {task.repeats.told}")
    return [
        Trust(
            partition=one_of(found, place + 1),
            group_size=work.sizes[place],
            chosen=chosen,
            profile=profile,
            parts=in_parts,
            held_out=None if held is None else held[place],
            membership=None if belongs is None else belongs[place],
            stability=None if stable is None else stable[place],
            p_value=each.p_value,
            p_cloud=each.p_cloud,
            p_drawn_in=each.p_drawn_in,
            notes=[*notes, *doubts(profile, each.heavy)],
            repeats=task.repeats,
        )
        for place, (profile, in_parts, each) in enumerate(compared)
    ]


@dataclass(frozen=True)
class _Work:
    """A table, and the groups that were found in it or in the rows it was drawn from."""

    task: Task
    sizes: list[int]  # of the groups among the task's rows
    found: MaxDisparityPartition
    everyone: Array  # the rows that ``found`` is about
    reference: NDArray[np.integer]  # its groups among the task's rows
    names: list[str]

    @classmethod
    def of(
        cls,
        estimator: MaxDisparityPartition,
        X: Any,
        found: MaxDisparityPartition,
        everyone: Array | None,
    ) -> _Work:
        alone = clone(estimator).set_params(n_groups=2, group_size=None, verbose=0)
        alone.set_params(n_components=found.n_components_)
        with collected_notes():
            task = searching(Task.of(alone, X, sized=True))
        whole = task.X if everyone is None else everyone
        sizes = found.sizes_[1:].tolist()
        if everyone is not None:
            sizes = in_proportion(sizes, len(task.X), len(whole))
        names = list(getattr(found, "feature_names_in_", [f"x{j}" for j in range(whole.shape[1])]))
        reference = found.labels_ if everyone is None else found.predict(X)
        return cls(task, sizes, found, whole, reference, names)

    @property
    def n_groups(self) -> int:
        return len(self.sizes)

    def compared(
        self, chance: int, kinds: Sequence[str], rng: np.random.Generator, steps: Steps
    ) -> list[tuple[Profile, Parts | None, Against]]:
        """Each group beside comparison tables: what they lose at its size, and its parts."""
        tables = Together(self.task, self.sizes)
        table, found = tables.against(chance, kinds, rng.spawn(4), steps)
        own = self._split_by_feature()
        told = []
        for group, (size, against) in enumerate(zip(self.sizes, found, strict=True)):
            with one_thread():
                at, lost = np.array([size], dtype=np.intp), table.disparities[[group]]
                profile = Profile.at(self.task.posed.problem, at, lost, against.chance)
            split = None if own is None else own[group]
            in_parts = against.parts(float(lost[0]), split, size, self.names)
            told.append((profile, in_parts, against))
        return told

    def _split_by_feature(self) -> Array | None:
        """The disparities found, split over features."""
        alone = clone(self.task.estimator)
        with one_thread(), collected_notes():
            posed = self.task.posed if self.everyone is self.task.X else alone._pose(self.everyone)
            labels = self.found.labels_.astype(np.int8)
            return split_by_feature(posed, labels, self.found.n_groups_)

    def halves(self, splits: int, steps: Steps) -> list[HeldOut]:
        """Halves of the rows, searched apart, each judged on the other."""
        tasks = [(rng,) for rng in self.task.rngs[1].spawn(splits)]
        with one_thread():
            n_jobs = self.task.estimator.n_jobs
            found = [
                each
                for each in in_turn(self._one_split, tasks, n_jobs, steps, "halves")
                if each is not None
            ]
        if not found:
            raise Refusal(
                f"Half of the rows, {len(self.task.X) // 2}, have too few dimensions for "
                f"{self.task.n_components} components. Use fewer components, or more rows."
            )
        half = in_proportion(self.sizes, len(self.task.X) // 2, len(self.task.X))
        return [
            summed_up(self.task, half[group], [each[group] for each in found])
            for group in range(self.n_groups)
        ]

    def _one_split(self, rng: np.random.Generator) -> list[Split] | None:
        """Both halves, for each group; None if one has too few dimensions."""
        X, m, groups = self.task.X, len(self.task.X), range(self.n_groups)
        halves = halves_of(self.task, rng)
        named: list[Labels] = []
        gaps = np.zeros((self.n_groups, 2))
        influence = np.zeros((self.n_groups, m))
        for turn, (searched, judged) in enumerate((halves, halves[::-1])):
            sizes = in_proportion(self.sizes, len(searched), m)
            try:
                learned = learn_groups(self.task, X[searched], self.reference[searched], sizes, rng)
            except Refusal:
                return None
            losses = learned.row_losses(X)
            named.append(learned.sized(losses, self.sizes))
            placed = learned.placed(losses[:, judged])
            rest = losses[0, judged], placed == 0
            for group in groups:
                side = losses[group + 1, judged], placed == group + 1
                gaps[group, turn], each = gap_between(side, rest)
                influence[group, judged] += each / 2.0
        overlaps = [_jaccard(named[0] == group + 1, named[1] == group + 1) for group in groups]
        return [
            Split((gaps[g, 0], gaps[g, 1]), influence[g], (overlaps[g], overlaps[g]))
            for g in groups
        ]

    def members(self, rngs: list[np.random.Generator], steps: Steps) -> list[Membership] | None:
        """Who belongs to each group; None if no part of the rows has dimensions enough."""
        tasks = [(rng,) for rng in rngs]
        with one_thread():
            n_jobs = self.task.estimator.n_jobs
            found = in_turn(self._one_part, tasks, n_jobs, steps, "who belongs")
            votes = [each for each in found if each is not None]
        if not votes:
            return None
        return [
            Membership(
                shares=np.mean([vote == label for vote in votes], axis=0),
                group=self.found.labels_ == label,
                parts=len(votes),
            )
            for label in range(1, self.n_groups + 1)
        ]

    def _one_part(self, rng: np.random.Generator) -> Labels | None:
        rows, m = part_of(self.task, rng), len(self.task.X)
        sizes = in_proportion(self.sizes, len(rows), m)
        try:
            learned = learn_groups(self.task, self.task.X[rows], self.reference[rows], sizes, rng)
        except Refusal:
            return None
        return learned.sized(learned.row_losses(self.everyone), self.found.sizes_[1:].tolist())

    def runs(self, rngs: list[np.random.Generator], steps: Steps) -> list[Stability]:
        """Searches from other starts."""
        tasks = [(rng,) for rng in rngs]
        with one_thread():
            found = list(in_turn(self._one_run, tasks, self.task.estimator.n_jobs, steps, "runs"))
        stable = []
        for label in range(1, self.n_groups + 1):
            labels = np.array([(run == label).astype(np.int8) for run, _ in found])
            disparities = np.array([each[label - 1] for _, each in found])
            stable.append(
                Stability(
                    labels=labels,
                    disparities=disparities,
                    jaccard=pairwise_jaccard(labels, either=False),
                    groups=distinct(labels, disparities),
                )
            )
        return stable

    def _one_run(self, rng: np.random.Generator) -> tuple[Labels, Array]:
        found = search_groups(self.task.solver, self.task.posed.problem, self.sizes, rng)
        same = matched(found.labels, self.reference, self.n_groups)
        called = np.zeros(self.n_groups + 1, dtype=np.intp)
        called[same] = found.labels
        return same, (found.losses - found.losses[0])[called[1:]]


def _jaccard(a: NDArray[np.bool_], b: NDArray[np.bool_]) -> float:
    return float(np.sum(a & b)) / max(1, int(np.sum(a | b)))
