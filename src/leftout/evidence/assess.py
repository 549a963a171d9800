"""Should you believe the groups? Find them, and gather the evidence for each.

Groups are a list, also of one. Comparison tables, halves and parts of the rows are searched for all
of them together (:mod:`leftout.evidence.refit`), so that several groups cost as many searches as
there are groups, not as many audits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from leftout.checks import check_whole
from leftout.data.matrix import check_matrix
from leftout.errors import InputError, parameter_label
from leftout.evidence.chance import Profile, profile, profile_steps, size_profile
from leftout.evidence.evidence_text import FEWEST_TABLES, Trust, doubts
from leftout.evidence.holdout import HeldOut, cross_fit
from leftout.evidence.null_test import SURROGATE_KINDS, NullTest, check_kinds, split_by_feature
from leftout.evidence.refit import NullTask, disparities_at, fewer, in_proportion
from leftout.evidence.stability import PARTS, Stability, memberships, other_starts
from leftout.groups.fitted import one_vs_rest
from leftout.groups.partition import MaxDisparityPartition
from leftout.groups.problem_setup import SearchProblem
from leftout.groups.sizes import group_sizes, worst_tenth
from leftout.linalg.losses import Array
from leftout.linalg.significance import LEVEL, describe_p
from leftout.running import Report, Steps, clean_interrupts, collected_warnings, one_thread
from leftout.settings import EVIDENCE, TENTH
from leftout.text import counted

# Sizes of the picture, on the table alone.
_PICTURE = 9
# Splits into halves, if nobody says how many.
N_SPLITS = 8
# Searches of several groups from other starts: as many as tell, since each is for all of them.
_JOINT_RUNS = 10
_NO_EVIDENCE = (
    "Size: tables with the same values lose as much at every size, so none has the most evidence; "
    "a tenth of the rows is taken."
)


@clean_interrupts()
def trust(
    estimator: MaxDisparityPartition,
    X: Any,
    *,
    group_size: int | float | str | None = None,
    sizes: int | Sequence[int] = 15,
    n_surrogates: int = 99,
    kinds: str | Sequence[str] = SURROGATE_KINDS,
    n_restarts: int = 30,
    splits: int = N_SPLITS,
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
    plan = _Plan.of(n_surrogates, kinds, n_restarts, splits, parts)
    task = NullTask.of(estimator, X, sized=group_size != EVIDENCE)
    if group_size is None:
        given: Any = estimator.group_size
        group_size = TENTH if given is None else given
    by_sizes = profile_steps(n_surrogates, ["copula"]) if group_size == EVIDENCE else 0
    steps = Steps(by_sizes + plan.steps, progress)
    notes: list[str] = []
    over: dict[str, Any] = {}
    size, chosen = worst_tenth(estimator.min_group_size, len(task.X), task.n_components), "tenth"
    if group_size == EVIDENCE:
        if not (n_surrogates and "copula" in plan.kinds):
            raise InputError(
                f"{parameter_label('group_size', EVIDENCE)} compares sizes with tables of the "
                "same values, "
                f"but none were asked for. Give {parameter_label('n_surrogates', 99)}, or a "
                f"{parameter_label('group_size')}."
            )
        by_size = size_profile(task, task.grid(sizes), n_surrogates, ["copula"], steps)
        p, best = by_size.chance["copula"].p_value, by_size.evidence_size
        if p > LEVEL or best is None:
            notes.append(_NO_EVIDENCE)
        else:
            size, chosen = best, EVIDENCE
            over = {"p_value": p, "over_sizes": (len(by_size.sizes), by_size.n_rows)}
    elif group_size != TENTH:
        _, asked = group_sizes(estimator.min_group_size, group_size, *task.X.shape)
        assert asked is not None
        size, chosen = asked[0], "given"
    if found is None:
        named = X if hasattr(X, "shape") or hasattr(X, "columns") else task.X
        found = clone(estimator).set_params(group_size=size)._fit_posed(named, task.at_size(size))
    about = _Groups(found, found.labels_, [size], task.posed, task.X, found.labels_)
    if everyone is not None:
        about = about._replace(everyone=check_matrix(everyone[0]), whose=everyone[1].labels_)
    (weighed,) = _weighed(task, about, plan, steps, None if stability is None else [stability])
    if over:  # what chose the size, and the kinds that it was not compared with
        over["profile"] = replace(by_size, chance=weighed.chance | by_size.chance)
    return replace(weighed, chosen=chosen, notes=[*notes, *weighed.notes], **over)


@clean_interrupts()
def trust_each(
    estimator: MaxDisparityPartition,
    X: Any,
    *,
    n_surrogates: int = 99,
    kinds: str | Sequence[str] = SURROGATE_KINDS,
    n_restarts: int = _JOINT_RUNS,
    splits: int = N_SPLITS,
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
    found = clone(estimator).fit(X) if found is None else found
    if found.n_groups_ < 1:
        return []
    n_restarts = min(n_restarts, _JOINT_RUNS) if n_restarts > 1 else 0
    plan = _Plan.of(n_surrogates, kinds, n_restarts, splits, parts)
    alone = clone(estimator).set_params(n_groups=1, group_size=None, verbose=0)
    alone.set_params(n_components=found.n_components_)
    with collected_warnings():
        task = NullTask.of(alone, X, sized=True)
        sizes = found.sizes_[1:].tolist()
        about = _Groups(found, found.labels_, sizes, task.posed, task.X, found.labels_)
        if everyone is not None:
            rows = check_matrix(everyone)
            sizes = in_proportion(sizes, len(task.X), len(rows))
            with one_thread():
                posed = alone._pose(rows)
            about = _Groups(found, found.predict(X), sizes, posed, rows, found.labels_)
    weighed = _weighed(task, about, plan, Steps(plan.steps, progress))
    return [replace(each, chosen=chosen) for each in weighed]


class _Plan(NamedTuple):
    """How much evidence is asked for."""

    n_surrogates: int
    kinds: list[str]
    n_restarts: int
    splits: int
    parts: int

    @classmethod
    def of(
        cls, n_surrogates: int, kinds: str | Sequence[str], n_restarts: int, splits: int, parts: int
    ) -> _Plan:
        """Refuses what are no counts, or no kinds of comparison tables."""
        plan = cls(n_surrogates, [], n_restarts, splits, parts)
        for name in ("n_surrogates", "n_restarts", "splits", "parts"):
            check_whole(name, getattr(plan, name))
        return plan._replace(kinds=check_kinds(kinds))

    @property
    def steps(self) -> int:
        """How many steps are to be expected; comparison tables may be fewer, or more."""
        tables = min(self.n_surrogates, FEWEST_TABLES) * len(self.kinds)
        runs = self.n_restarts if self.n_restarts > 1 else 0
        return 1 + tables + runs + self.splits + self.parts


class _Groups(NamedTuple):
    """The groups that evidence is sought for."""

    found: MaxDisparityPartition
    labels: NDArray[np.integer]  # the groups among the rows that are searched again
    sizes: list[int]  # among these
    posed: SearchProblem  # the problem of the rows that ``found`` is about
    everyone: Array  # the rows whose membership is told
    whose: NDArray[np.integer]  # the groups among them


def _weighed(
    task: NullTask,
    about: _Groups,
    plan: _Plan,
    steps: Steps,
    stable: list[Stability] | None = None,
) -> list[Trust]:
    """The evidence for each group, in the order of the labels."""
    found, labels, sizes, posed, everyone, whose = about
    notes: list[str] = []
    of_table, of_parts, of_runs = task.rngs[2].spawn(3)
    of_search, of_values, of_cloud, of_picture, again = of_table.spawn(5)
    test, rngs = NullTest.of(task, sizes), (of_search, of_values, of_cloud, again)
    table, against = test.run(plan.n_surrogates, plan.kinds, rngs, steps)
    with one_thread():
        split = split_by_feature(posed, found.labels_.astype(np.int8), found.n_groups_ + 1)
    names = [f"x{j}" for j in range(task.X.shape[1])]
    names = list(getattr(found, "feature_names_in_", names))
    held: list[HeldOut] | None = None
    if plan.splits:
        try:
            held = cross_fit(task, sizes, plan.splits, steps, labels)
        except InputError as error:
            notes.append(f"Halves of the rows: could not be searched. {error}")
    belongs = None
    if plan.parts:
        belongs = memberships(task, whose, of_parts.spawn(plan.parts), steps, everyone, labels)
    if task.repeats.beyond_chance:
        notes.append(f"Equal rows: {task.repeats.told}")
    if stable is None and plan.n_restarts > 1:
        stable = other_starts(task, sizes, of_runs.spawn(plan.n_restarts), steps, labels)
    weighed = []
    for place, (size, each) in enumerate(zip(sizes, against, strict=True)):
        lost = float(table.disparities[place])
        shown = replace(_picture(task, test, place, lost, of_picture), chance=each.chance)
        own = None if split is None else split[place]
        weighed.append(
            Trust(
                partition=one_vs_rest(found, place + 1),
                group_size=size,
                chosen="given",
                profile=shown,
                parts=each.parts(lost, own, size, names),
                held_out=None if held is None else held[place],
                membership=None if belongs is None else belongs[place],
                stability=None if stable is None else stable[place],
                p_value=each.p_value,
                p_gaussian=each.p_gaussian,
                p_winsorized=each.p_winsorized,
                notes=[*notes, *doubts(shown)],
                repeats=task.repeats,
            )
        )
    return weighed


def _picture(
    task: NullTask, test: NullTest, group: int, disparity: float, rng: np.random.Generator
) -> Profile:
    """The table's disparity at a group's size; of a single group, at other sizes too."""
    size = test.sizes[group]
    sizes, disparities = np.array([size], dtype=np.intp), np.array([disparity])
    with one_thread():
        problem = task.posed.problem
        if len(test.sizes) == 1:
            grid = task.grid(_PICTURE)
            sizes = np.unique([*grid[grid <= len(task.X) // 2], *test.others, size])
            disparities = disparities_at(fewer(task.solver), problem, sizes, rng)
            disparities[np.searchsorted(sizes, size)] = disparity
        return Profile.at(problem, sizes, disparities, {})


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
