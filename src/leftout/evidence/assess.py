"""Should you believe the groups? Find them, and gather the evidence for each.

Comparison tables, halves and parts of the rows are searched for all groups together
(:mod:`leftout.evidence.refit`), so that several groups cost as many searches as there are groups,
not as many audits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from leftout.checks import check_whole
from leftout.data.matrix import check_matrix
from leftout.errors import InputError, parameter_label
from leftout.evidence.chance import (
    KINDS,
    NullTask,
    check_kinds,
    disparities_at,
    profile,
    profile_steps,
)
from leftout.evidence.evidence_text import FEWEST_TABLES, Trust, doubts
from leftout.evidence.holdout import HeldOut, cross_fit
from leftout.evidence.null_test import NullTest, split_by_feature
from leftout.evidence.profiles import Profile
from leftout.evidence.refit import (
    fewer,
    in_proportion,
    matched,
    quick,
    search_groups,
    with_effort,
)
from leftout.evidence.stability import Stability, compare
from leftout.evidence.subsample_stability import PARTS, memberships
from leftout.groups.fitted import one_vs_rest
from leftout.groups.partition import MaxDisparityPartition
from leftout.groups.problem_setup import SearchProblem
from leftout.groups.sizes import group_sizes, worst_tenth
from leftout.linalg.losses import Array
from leftout.linalg.monte_carlo import LEVEL, describe_p
from leftout.linalg.problem import Labels
from leftout.running import (
    Report,
    Steps,
    clean_interrupts,
    collected_warnings,
    imap_ordered,
    one_thread,
)
from leftout.settings import EVIDENCE, TENTH
from leftout.text import counted

# Sizes of the picture, on the table alone.
_PICTURE = 9
# Splits into halves, if nobody says how many.
SPLITS = 8
# Searches of several groups from other starts: as many as tell, since each is for all of them.
_RUNS = 10


@clean_interrupts()
def trust(
    estimator: MaxDisparityPartition,
    X: Any,
    *,
    group_size: int | float | str | None = None,
    sizes: int | Sequence[int] = 15,
    n_surrogates: int = 99,
    kinds: str | Sequence[str] = KINDS,
    n_restarts: int = 30,
    splits: int = SPLITS,
    parts: int = PARTS,
    progress: Report | bool | None = None,
    found: MaxDisparityPartition | None = None,
    everyone: tuple[Any, MaxDisparityPartition] | None = None,
    stability: Stability | None = None,
) -> Trust:
    """Find the left-out group, say why it loses, whether it comes back, and who belongs to it.

    Parameters
    ----------
    estimator : MaxDisparityPartition
        What to search with.
    X : table of shape (m, n)
    group_size : int, float, "evidence" or None, default=None
        A number or a share of the rows. None: the estimator's ``group_size`` or, if that is free, a
        tenth of the rows. ``"evidence"``: the smallest size with about as much loss beyond that of
        comparison tables as any; a tenth where they lose as much.
    sizes : int or list of int, default=15
        Where the evidence chooses: sizes to compare, log-spaced from the smallest allowed to half
        of the rows.
    n_surrogates : int, default=99
        Comparison tables of each kind that decide if nothing is clear before
        (:mod:`leftout.evidence.sequential_stopping`); 0 for none.
    kinds : {"copula", "gaussian"} or a list of them
        Comparison tables with the same values and correlations, and bell-shaped ones.
    n_restarts : int, default=30
        Searches from other starts, to see whether they agree; fewer than 2 for none.
    splits : int, default=8
        Splits into halves that are searched apart; 0 for none.
    parts : int, default=16
        Parts of the rows that are searched to see who belongs; 0 for none.
    progress : callable, bool or None
        ``progress(what, done, total)`` is called after every step; True: to stderr.
    found : MaxDisparityPartition, optional
        Fitted on ``X`` at the group's size already.
    everyone : (table, MaxDisparityPartition), optional
        Where ``X`` was drawn from more rows: all of them, and the group found there, whose
        membership is told.
    stability : Stability, optional
        Searches from other starts, where they were made already (:func:`other_starts`).

    Returns
    -------
    Trust

    Examples
    --------
    >>> from leftout import MaxDisparityPartition, datasets, trust
    >>> X, planted = datasets.make_planted(400, 8, 2, 40, random_state=0)
    >>> search = MaxDisparityPartition(2, random_state=0)
    >>> weighed = trust(search, X, n_restarts=4, splits=4, parts=4)
    >>> weighed.verdict, weighed.group_size
    ('A', 40)
    """
    kinds = _checked(n_surrogates, kinds, n_restarts, splits, parts)
    task = NullTask.of(estimator, X, sized=group_size != EVIDENCE)
    if group_size is None:
        given: Any = estimator.group_size
        group_size = TENTH if given is None else given
    by_sizes = profile_steps(n_surrogates, ["copula"]) if group_size == EVIDENCE else 0
    steps = Steps(by_sizes + _steps(n_surrogates, kinds, n_restarts, splits, parts), progress)
    notes: list[str] = []
    by_size: Any = None
    chosen = "given"
    tenth = worst_tenth(estimator.min_group_size, len(task.X), task.n_components)
    if group_size == EVIDENCE:
        if not (n_surrogates and "copula" in kinds):
            raise InputError(
                f"{parameter_label('group_size', EVIDENCE)} compares sizes with tables of the "
                "same values, "
                f"but none were asked for. Give {parameter_label('n_surrogates', 99)}, or a "
                f"{parameter_label('group_size')}."
            )
        by_size = task.profile(task.grid(sizes), n_surrogates, ["copula"], steps)
        size, chosen = by_size.evidence_size, EVIDENCE
        if by_size.main.p_value > LEVEL:
            size, chosen = tenth, "tenth"
            notes.append(_NO_EVIDENCE)
    elif group_size == TENTH:
        size, chosen = tenth, "tenth"
    else:
        _, asked = group_sizes(estimator.min_group_size, group_size, *task.X.shape)
        assert asked is not None
        size = asked[0]
    posed = task.at_size(size)
    named = X if hasattr(X, "shape") or hasattr(X, "columns") else task.X
    if found is None:
        found = clone(estimator).set_params(group_size=size)._fit_posed(named, posed)
    labels = found.left_out_.mask.astype(np.int8)
    rows, whose = (task.X, labels)
    if everyone is not None:
        rows, whose = check_matrix(everyone[0]), everyone[1].left_out_.mask.astype(np.int8)
    work = _Assessment(task, posed, found, labels, [size], rows, whose)
    (weighed,) = work.weighed(n_surrogates, kinds, n_restarts, splits, parts, steps, stability)
    weighed = replace(weighed, chosen=chosen, notes=[*notes, *weighed.notes])
    if chosen != EVIDENCE:
        return weighed
    # what chose the size, and the kinds that it was not compared with
    return replace(
        weighed,
        profile=replace(by_size, chance=weighed.profile.chance | by_size.chance),
        p_value=by_size.main.p_value,
        over_sizes=(len(by_size.sizes), by_size.n_rows),
    )


@clean_interrupts()
def trust_each(
    estimator: MaxDisparityPartition,
    X: Any,
    *,
    n_surrogates: int = 99,
    kinds: str | Sequence[str] = KINDS,
    n_restarts: int = _RUNS,
    splits: int = SPLITS,
    parts: int = PARTS,
    chosen: str = "given",
    progress: Report | bool | None = None,
    found: MaxDisparityPartition | None = None,
    everyone: Any = None,
) -> list[Trust]:
    """Weigh the evidence for several left-out groups, each beside the rest, as :func:`trust` does.

    Parameters
    ----------
    estimator : MaxDisparityPartition
        What to search with: its ``n_groups`` and ``group_size`` say for what.
    X : table of shape (m, n)
    n_surrogates, kinds, n_restarts, splits, parts, progress
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
    >>> search = MaxDisparityPartition(2, n_groups=2, group_size=[40, 80], random_state=0)
    >>> each = trust_each(search, X, n_surrogates=19, n_restarts=0, splits=4, parts=0)
    >>> [one.verdict for one in each]
    ['A', 'A']
    """
    kinds = _checked(n_surrogates, kinds, n_restarts, splits, parts)
    found = clone(estimator).fit(X) if found is None else found
    if found.n_groups_ < 1:
        return []
    n_restarts = min(n_restarts, _RUNS) if n_restarts > 1 else 0
    alone = clone(estimator).set_params(n_groups=1, group_size=None, verbose=0)
    alone.set_params(n_components=found.n_components_)
    with collected_warnings():
        task = NullTask.of(alone, X, sized=True)
        posed, rows, labels = task.posed, task.X, found.labels_
        sizes = found.sizes_[1:].tolist()
        if everyone is not None:
            rows, labels = check_matrix(everyone), found.predict(X)
            sizes = in_proportion(sizes, len(task.X), len(rows))
            with one_thread():
                posed = alone._pose(rows)
    steps = Steps(_steps(n_surrogates, kinds, n_restarts, splits, parts), progress)
    work = _Assessment(task, posed, found, labels, sizes, rows, found.labels_)
    weighed = work.weighed(n_surrogates, kinds, n_restarts, splits, parts, steps)
    return [replace(each, chosen=chosen) for each in weighed]


def _checked(
    n_surrogates: int, kinds: str | Sequence[str], n_restarts: int, splits: int, parts: int
) -> list[str]:
    """The kinds of comparison tables; refuses what are no counts."""
    asked = {
        "n_surrogates": n_surrogates, "n_restarts": n_restarts, "splits": splits, "parts": parts
    }  # fmt: skip
    for name, value in asked.items():
        check_whole(name, value)
    return check_kinds(kinds)


def _steps(
    n_surrogates: int, kinds: Sequence[str], n_restarts: int, splits: int, parts: int
) -> int:
    """How many steps are to be expected; comparison tables may be fewer, or more."""
    tables = min(n_surrogates, FEWEST_TABLES) * len(kinds)
    return 1 + tables + (n_restarts if n_restarts > 1 else 0) + splits + parts


@dataclass(frozen=True)
class _Assessment:
    """Groups, and the tables that evidence for them is sought in."""

    task: NullTask  # the rows that are searched again
    posed: SearchProblem  # the problem of the rows that ``found`` is about
    found: MaxDisparityPartition
    labels: NDArray[np.integer]  # its groups among the task's rows
    sizes: list[int]  # of the groups among the task's rows
    everyone: Array  # the rows whose membership is told
    whose: NDArray[np.integer]  # the groups among them

    def weighed(
        self,
        n_surrogates: int,
        kinds: Sequence[str],
        n_restarts: int,
        splits: int,
        parts: int,
        steps: Steps,
        stability: Stability | None = None,
    ) -> list[Trust]:
        """The evidence for each group, in the order of the labels."""
        task, notes = self.task, list[str]()
        of_table, of_parts, of_runs = task.rngs[2].spawn(3)
        of_search, of_values, of_cloud, of_picture, again = of_table.spawn(5)
        tables = NullTest.of(task, self.sizes)
        table, against = tables.run(
            n_surrogates, kinds, (of_search, of_values, of_cloud, again), steps
        )
        told = self.found.labels_.astype(np.int8)
        with one_thread():
            split = split_by_feature(self.posed, told, self.found.n_groups_ + 1)
        names = [f"x{j}" for j in range(task.X.shape[1])]
        names = list(getattr(self.found, "feature_names_in_", names))
        held: list[HeldOut] | None = None
        if splits:
            try:
                held = cross_fit(task, self.sizes, splits, steps, self.labels)
            except InputError as error:
                notes.append(f"Halves of the rows: could not be searched. {error}")
        belongs = None
        if parts:
            rngs = of_parts.spawn(parts)
            belongs = memberships(task, self.whose, rngs, steps, self.everyone, self.labels)
        if task.repeats is not None and task.rows_repeat:
            notes.append(f"Equal rows: {task.repeats.told}")
        stable = None if stability is None else [stability]
        if stable is None and n_restarts > 1:
            stable = other_starts(task, self.sizes, of_runs.spawn(n_restarts), steps, self.labels)
        weighed = []
        for place, (size, each) in enumerate(zip(self.sizes, against, strict=True)):
            lost = float(table.disparities[place])
            sizes, disparities = self._picture(tables, size, lost, of_picture)
            with one_thread():
                shown = Profile.at(task.posed.problem, sizes, disparities, each.chance)
            own = None if split is None else split[place]
            weighed.append(
                Trust(
                    partition=one_vs_rest(self.found, place + 1),
                    group_size=size,
                    chosen="given",
                    profile=shown,
                    parts=each.parts(lost, own, size, names),
                    held_out=None if held is None else held[place],
                    membership=None if belongs is None else belongs[place],
                    stability=None if stable is None else stable[place],
                    p_value=each.p_value,
                    p_cloud=each.p_cloud,
                    p_drawn_in=each.p_drawn_in,
                    notes=[*notes, *doubts(shown, each.heavy)],
                    repeats=task.repeats,
                )
            )
        return weighed

    def _picture(
        self, tables: NullTest, size: int, disparity: float, rng: np.random.Generator
    ) -> tuple[NDArray[np.intp], Array]:
        """Sizes and the table's disparities there: of a single group at other sizes, too."""
        if len(self.sizes) > 1:
            return np.array([size], dtype=np.intp), np.array([disparity])
        grid = self.task.grid(_PICTURE)
        grid = grid[grid <= len(self.task.X) // 2]
        sizes = np.unique([*grid, *tables.others, size]).astype(np.intp)
        with one_thread():
            problem = self.task.posed.problem
            disparities = disparities_at(fewer(self.task.solver), problem, sizes, rng)
        disparities[np.searchsorted(sizes, size)] = disparity
        return sizes, disparities


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
        return [compare(quick(task.solver), problem, rngs, n_jobs, steps)]
    tasks = [(with_effort(task), sizes, labels, rng) for rng in rngs]
    with one_thread():
        found = list(imap_ordered(_one_run, tasks, n_jobs, steps, "runs"))
    return [
        Stability.of(
            np.array([(labels == group).astype(np.int8) for labels, _ in found]),
            np.array([disparities[group - 1] for _, disparities in found]),
            either=False,
        )
        for group in range(1, len(sizes) + 1)
    ]


def _one_run(
    task: NullTask, sizes: Sequence[int], labels: NDArray[np.integer], rng: np.random.Generator
) -> tuple[Labels, Array]:
    """Groups from another start, called like those of ``labels``, and their disparities."""
    found = search_groups(task.solver, task.posed.problem, sizes, rng)
    called = matched(found.labels, labels, len(sizes))
    return called[found.labels], found.disparities[np.argsort(called[1:])]


_NO_EVIDENCE = (
    "Size: tables with the same values lose as much at every size, so none has the most evidence; "
    "a tenth of the rows is taken."
)


def evidence_size(
    estimator: MaxDisparityPartition,
    X: Any,
    n_surrogates: int,
    progress: Report | bool | None = None,
) -> tuple[Profile | None, str]:
    """The profile that has a size with the most evidence, or None where there is none; and why."""
    found = profile(estimator, X, n_surrogates=n_surrogates, kinds="copula", progress=progress)
    assert found.main is not None
    if found.main.p_value > LEVEL:
        return None, _NO_EVIDENCE
    return found, (
        f"Size: over {counted(len(found.sizes), 'size')}, tables with the same values rarely lose "
        f"as much ({describe_p(found.main.p_value)}); the smallest with about as much evidence "
        "as any "
        "is taken."
    )
