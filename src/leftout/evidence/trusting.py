"""Should you believe the group? The estimator's companion: find it, and weigh the evidence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import clone

from leftout.asking import asking
from leftout.checks import Refusal, check_whole
from leftout.core.interval import Interval
from leftout.core.ranks import LEVEL, told_p
from leftout.evidence.beside import Against, Beside, split_by_feature
from leftout.evidence.chance import (
    KINDS,
    Task,
    check_kinds,
    disparities_at,
    profile,
    profile_steps,
)
from leftout.evidence.holdout import HeldOut, judge
from leftout.evidence.learned import fewer, quick
from leftout.evidence.membership import PARTS, Membership, membership
from leftout.evidence.parts import Parts
from leftout.evidence.profiles import Profile
from leftout.evidence.repeats import Repeats
from leftout.evidence.stability import Stability, compare
from leftout.evidence.telling import FEWEST_TABLES as FEWEST_TABLES
from leftout.evidence.telling import Weighed, doubts
from leftout.files import plain
from leftout.running import Report, Steps, clean_interrupts, one_thread
from leftout.search.partition import MaxDisparityPartition
from leftout.search.sizes import TENTH, group_sizes, worst_tenth
from leftout.tables.matrix import check_matrix
from leftout.wording import counted

EVIDENCE = "evidence"
# Sizes of the picture, on the table alone.
_PICTURE = 9
# Splits into halves, if nobody says how many.
SPLITS = 8


@dataclass(frozen=True, kw_only=True)
class Trust(Weighed):
    """A left-out group and the evidence for it.

    Attributes
    ----------
    partition : MaxDisparityPartition
        Fitted at ``group_size``.
    group_size : int
    chosen : {"tenth", "evidence", "given"}
        Whether the size is a tenth of the rows, the one with the most evidence, or as asked for.
    profile : Profile
        The best disparity at several sizes, beside comparison tables.
    parts : Parts or None
        Why the group loses: what any cloud shows, what rare values add, what is left. None without
        comparison tables of both kinds.
    verdict : {"A", "B", "C", "D"} or None
        What explains the loss (:mod:`leftout.evidence.verdicts`); None where that was not tested.
    p_value : float or None
        How often tables with the same values lose as much, by the same search: at the group's size
        or, with ``over_sizes``, over all sizes among which the evidence chose it: the table's
        largest among the largest of comparison tables. None without such tables.
    p_cloud : float or None
        The same of bell-shaped tables; None where it was not needed.
    p_drawn_in : float or None
        ``p_value`` with the tails of columns drawn in; None where they are not heavy.
    beyond_chance : bool or None
        Whether ``p_value``, and where there is one ``p_drawn_in``, are at most 0.05. None with
        fewer than 19 tables, which cannot tell.
    held_out : HeldOut or None
        Halves of the rows, searched apart.
    cross_fitted : Interval or None
        The gap on rows that the search has not seen, with its interval.
    membership : Membership or None
        How surely each row belongs to the group.
    stability : Stability or None
        Searches from other starts.
    notes : list of str
        What could not be done, and why.
    of_rows : int or None
        Rows of the table that these were drawn from; None: these are all.
    repeats : Repeats or None
        Equal rows: how many are distinct, and whether they are copies.
    over_sizes : (int, int) or None
        How many sizes ``p_value`` covers, and the rows that it comes from; None: it belongs to the
        group's size alone.
    searched : float
        The table's disparity, searched with the effort that comparison tables are: what these, and
        the parts, are held against. ``partition`` may come from a longer search.
    """

    partition: MaxDisparityPartition
    group_size: int
    chosen: str
    profile: Profile
    parts: Parts | None
    held_out: HeldOut | None
    membership: Membership | None
    stability: Stability | None
    p_value: float | None
    p_cloud: float | None
    p_drawn_in: float | None
    notes: list[str]
    of_rows: int | None = None
    repeats: Repeats | None = None
    over_sizes: tuple[int, int] | None = None

    @property
    def cross_fitted(self) -> Interval | None:
        return None if self.held_out is None else self.held_out.gap

    def to_dict(self) -> dict[str, Any]:
        """Plain data: numbers, strings, lists."""
        found = self.partition
        data = {
            "partition": {
                "group_size": self.group_size,
                "chosen": self.chosen,
                "sizes": found.sizes_.tolist(),
                "losses": found.losses_.tolist(),
                "disparity": found.disparity_,
                "bound": found.bound_,
            },
            "verdict": self.verdict,
            "verdict_name": self.verdict_name,
            "verdict_says": self.told_verdict,
            "parts": None if self.parts is None else self.parts.to_dict(),
            "p_value": self.p_value,
            "p_cloud": self.p_cloud,
            "p_drawn_in": self.p_drawn_in,
            "over_sizes": self.over_sizes,
            "searched": self.searched,
            "beyond_chance": self.beyond_chance,
            "cross_fitted": None if self.cross_fitted is None else self.cross_fitted._asdict(),
            "membership": None if self.membership is None else self.membership.to_dict(),
            "profile": self.profile.to_list(),
            "evidence_size": self.profile.evidence_size,
            "evidence_range": self.profile.evidence_range,
            "chance": {kind: c.to_dict() for kind, c in self.profile.chance.items()},
            "held_out": None if self.held_out is None else self.held_out.to_dict(),
            "stability": None if self.stability is None else self.stability.to_dict(),
            "notes": self.notes,
        }
        return {key: plain(value) for key, value in data.items()}


@clean_interrupts()
def trust(
    estimator: MaxDisparityPartition,
    X: Any,
    *,
    group_size: int | float | str | None = None,
    sizes: int | Sequence[int] = 15,
    chance: int = 99,
    kinds: str | Sequence[str] = KINDS,
    runs: int = 30,
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
    chance : int, default=99
        Comparison tables of each kind that decide if nothing is clear before
        (:mod:`leftout.evidence.looks`); 0 for none.
    kinds : {"copula", "gaussian"} or a list of them
        Comparison tables with the same values and correlations, and bell-shaped ones.
    runs : int, default=30
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
    >>> weighed = trust(MaxDisparityPartition(2, random_state=0), X, runs=4, splits=4, parts=4)
    >>> weighed.verdict, weighed.group_size
    ('A', 40)
    """
    asked = {"chance": chance, "runs": runs, "splits": splits, "parts": parts}
    for name, value in asked.items():
        check_whole(name, value)
    kinds = check_kinds(kinds)
    task = Task.of(estimator, X, sized=group_size != EVIDENCE)
    if group_size is None:
        given: Any = estimator.group_size
        group_size = TENTH if given is None else given
    if group_size == EVIDENCE and not (chance and "copula" in kinds):
        raise Refusal(
            f"{asking('group_size', EVIDENCE)} compares sizes with tables of the same values, but "
            f"none were asked for. Give {asking('chance', 99)}, or a {asking('group_size')}."
        )
    steps = Steps(_steps(group_size, chance, kinds, runs, splits, parts), progress)
    notes: list[str] = []
    of_table, of_parts, of_runs = task.rngs[2].spawn(3)
    by_size: Any = None
    chosen = "given"
    tenth = worst_tenth(estimator.min_group_size, len(task.X), task.n_components)
    if group_size == EVIDENCE:
        by_size = task.profile(task.grid(sizes), chance, ["copula"], steps)
        size, chosen = by_size.evidence_size, EVIDENCE
        if by_size.main.p_value > LEVEL:
            size, chosen = tenth, "tenth"
            notes.append(_NO_EVIDENCE)
    elif group_size == TENTH:
        size, chosen = tenth, "tenth"
    else:
        _, asked_for = group_sizes(estimator.min_group_size, group_size, *task.X.shape)
        assert asked_for is not None
        size = asked_for
    posed = task.at_size(size)
    named = X if hasattr(X, "shape") or hasattr(X, "columns") else task.X
    if found is None:
        found = clone(estimator).set_params(group_size=size)._fit_posed(named, posed)
    here, against = _compared(task, size, chance, kinds, of_table, steps)
    at_sizes, p_value, over_sizes = here, against.p_value, None
    if chosen == EVIDENCE:  # what chose the size, and the kinds that it was not compared with
        at_sizes = replace(by_size, chance=here.chance | by_size.chance)
        p_value, over_sizes = by_size.main.p_value, (len(by_size.sizes), by_size.n_rows)
    split = split_by_feature(posed, found.left_out_.mask.astype(np.int8))
    names = list(getattr(found, "feature_names_in_", [f"x{j}" for j in range(task.X.shape[1])]))
    held_out = None
    if splits:
        try:
            held_out = judge(task, size, splits, steps)
        except Refusal as error:
            notes.append(f"Halves of the rows: could not be searched. {error}")
    belongs = None
    if parts:
        rows, whose = (None, found) if everyone is None else everyone
        rows = None if rows is None else check_matrix(rows)
        group = whose.left_out_.mask
        belongs = membership(task, group, of_parts.spawn(parts), steps, rows)
    if task.repeats is not None and task.rows_repeat:
        notes.append(f"Equal rows: {task.repeats.told}")
    if stability is None and runs > 1:
        stability = other_starts(task, size, of_runs.spawn(runs), steps)
    return Trust(
        partition=found,
        group_size=size,
        chosen=chosen,
        profile=at_sizes,
        parts=against.parts(float(here.disparities[here.sizes == size][0]), split, size, names),
        held_out=held_out,
        membership=belongs,
        stability=stability,
        p_value=p_value,
        p_cloud=against.p_cloud,
        p_drawn_in=against.p_drawn_in,
        notes=[*notes, *doubts(here, against.heavy)],
        repeats=task.repeats,
        over_sizes=over_sizes,
    )


def other_starts(task: Task, size: int, rngs: list[np.random.Generator], steps: Steps) -> Stability:
    """Searches of the table from other starts, a run for each generator."""
    problem, solver = task.at_size(size).problem, quick(task.solver)
    return compare(solver, problem, rngs, task.estimator.n_jobs, steps)


_NO_EVIDENCE = (
    "Size: tables with the same values lose as much at every size, so none has the most evidence; "
    "a tenth of the rows is taken."
)


def evidence_size(
    estimator: MaxDisparityPartition, X: Any, chance: int, progress: Report | bool | None = None
) -> tuple[Profile | None, str]:
    """The profile that has a size with the most evidence, or None where there is none; and why."""
    found = profile(estimator, X, chance=chance, kinds="copula", progress=progress)
    assert found.main is not None
    if found.main.p_value > LEVEL:
        return None, _NO_EVIDENCE
    return found, (
        f"Size: over {counted(len(found.sizes), 'size')}, tables with the same values rarely lose "
        f"as much ({told_p(found.main.p_value)}); the smallest with about as much evidence as any "
        "is taken."
    )


def _compared(
    task: Task,
    size: int,
    chance: int,
    kinds: Sequence[str],
    rng: np.random.Generator,
    steps: Steps,
) -> tuple[Profile, Against]:
    """Comparison tables at the group's size, and the picture of other sizes."""
    beside = Beside.of(task, size)
    of_table, of_values, of_cloud, of_picture, again = rng.spawn(5)
    rngs = (of_table, of_values, of_cloud, again)
    table, (against,) = beside.against(chance, kinds, rngs, steps)
    grid = task.grid(_PICTURE)
    sizes = np.unique([*grid[grid <= len(task.X) // 2], *beside.sizes]).astype(np.intp)
    with one_thread():
        problem = task.posed.problem
        searched = disparities_at(fewer(task.solver), problem, sizes, of_picture)
        searched[np.searchsorted(sizes, beside.size)] = table.disparity
    return Profile.at(problem, sizes, searched, against.chance), against


def _steps(
    group_size: Any, chance: int, kinds: Sequence[str], runs: int, splits: int, parts: int
) -> int:
    """How many steps are to be expected; comparison tables may be fewer, or more."""
    by_size = profile_steps(chance, ["copula"]) if group_size == EVIDENCE else 0
    tables = min(chance, FEWEST_TABLES) * len(kinds)
    return 1 + by_size + tables + (runs if runs > 1 else 0) + splits + parts
