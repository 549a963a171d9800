"""Should you believe the group? The estimator's companion: find it, and weigh the evidence."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from leftout.asking import asking
from leftout.checks import Refusal, check_whole
from leftout.core.ranks import LEVEL, can_tell, told_p
from leftout.evidence.chance import KINDS, Task, check_kinds, profile_steps
from leftout.evidence.holdout import HeldOut, judge
from leftout.evidence.profiles import Profile
from leftout.evidence.repeats import Repeats
from leftout.evidence.stability import Stability, compare
from leftout.files import Told
from leftout.running import Report, Steps, clean_interrupts
from leftout.search.partition import MaxDisparityPartition
from leftout.search.sizes import group_sizes
from leftout.wording import counted, number

EVIDENCE = "evidence"
# A correlation, or the residual variance, that is further off makes chance doubtful.
_FAR = 0.1
_SHARED = {
    "copula": "the columns' values and correlations",
    "gaussian": "the means and covariances",
}
# With fewer tables p cannot come down to the level.
FEWEST_TABLES = round(1 / LEVEL) - 1
# Surrogates that the held-out rows are judged by, at most: each is split and searched many times.
_HELD_OUT_CHANCE = 39


@dataclass(frozen=True, kw_only=True)
class Trust(Told):
    """A left-out group and the evidence for it.

    Attributes
    ----------
    partition : MaxDisparityPartition
        Fitted at ``group_size``.
    group_size : int
    chosen : {"evidence", "given"}
        Whether the size is the one with the most evidence, or was asked for.
    profile : Profile
    held_out : HeldOut or None
    stability : Stability or None
    p_value : float or None
        How often chance does as well: over all sizes where the size was chosen by the evidence, at
        the size where it was given. None without chance tables.
    beyond_chance : bool or None
        ``p_value <= 0.05``. If not, ``partition`` is a good partition, and no more than that. None
        with fewer than 19 chance tables, which cannot tell.
    notes : list of str
        What could not be done, and why.
    of_rows : int or None
        Rows of the table that these were drawn from; None: these are all.
    repeats : Repeats or None
        Equal rows: how many are distinct, and whether more repeat than chance makes equal.
    """

    partition: MaxDisparityPartition
    group_size: int
    chosen: str
    profile: Profile
    held_out: HeldOut | None
    stability: Stability | None
    p_value: float | None
    notes: list[str]
    of_rows: int | None = None
    repeats: Repeats | None = None

    @property
    def beyond_chance(self) -> bool | None:
        main = self.profile.main
        if self.p_value is None or main is None or not can_tell(main.surrogates):
            return None
        return self.p_value <= LEVEL

    @property
    def disparity(self) -> float:
        """Best disparity at the group's size."""
        return float(self.partition.disparity_)

    @property
    def by_chance(self) -> float | None:
        """What the same search finds at this size by chance, on average; None without tables."""
        main = self.profile.main
        if main is None:
            return None
        return float(np.interp(self.group_size, self.profile.sizes, main.mean))

    @property
    def told_chance(self) -> str:
        """Is it chance? With what that rests on."""
        main, p = self.profile.main, self.p_value
        if main is None or p is None:
            return "Chance was not tested, so nobody knows whether the group is real."
        if self.beyond_chance is None:
            return (
                f"To judge chance takes {FEWEST_TABLES} chance tables, and there were "
                f"{main.surrogates}: p is never below "
                f"{number(1 / (1 + main.surrogates), digits=2)}."
            )
        tables = counted(main.surrogates, f"{main.kind} chance table")
        tables += ", which can give no smaller one" * (p <= 1.0001 / (1 + main.surrogates))
        n_sizes = counted(len(self.profile.sizes), "size")
        over = f"over {n_sizes}" if self.chosen == EVIDENCE else "at this size"
        sampled = self.of_rows is not None and self.of_rows > self.profile.n_rows
        on = f", on {self.profile.n_rows:,} of the rows" if sampled else ""
        text = (
            f"{told_p(p)} {over} ({tables}{on}); the disparity is {number(self.disparity)}, chance "
            f"gives {number(self.by_chance or 0.0)}."
        )
        if self.beyond_chance:
            return f"It is unlikely to be chance: {text}"
        return (
            f"It may well be chance: {text} The same search finds as much in tables that share "
            f"{_SHARED[main.kind]} with this one and have no subgroup: take the group as a "
            "description of the worst case, not as a finding."
        )

    def summary(self) -> str:
        """The evidence in plain words, a line for each question."""
        how = "the size asked for"
        if self.chosen == EVIDENCE:
            how = "the size with the most evidence" + _nearly(self.profile)
        lines = [
            f"Group: {self.group_size:,} of {self.profile.n_rows:,} rows, {how}. "
            f"{self.partition.left_out_.told}",
            f"Chance: {self.told_chance}",
        ]
        if self.held_out is not None:
            lines.append(f"Held-out rows: {self.held_out.told}")
        if self.stability is not None:
            lines.append(f"Other seeds: {self.stability.told} {self.stability.told_several}")
        return "\n".join(lines + self.notes)

    def to_dict(self) -> dict[str, Any]:
        """Plain data: numbers, strings, lists."""
        found = self.partition
        return {
            "partition": {
                "group_size": self.group_size,
                "chosen": self.chosen,
                "sizes": found.sizes_.tolist(),
                "losses": found.losses_.tolist(),
                "disparity": found.disparity_,
                "bound": found.bound_,
            },
            "p_value": self.p_value,
            "beyond_chance": self.beyond_chance,
            "profile": self.profile.to_list(),
            "evidence_size": self.profile.evidence_size,
            "evidence_range": self.profile.evidence_range,
            "chance": {kind: c.to_dict() for kind, c in self.profile.chance.items()},
            "held_out": None if self.held_out is None else self.held_out.to_dict(),
            "stability": None if self.stability is None else self.stability.to_dict(),
            "notes": self.notes,
        }


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
    splits: int = 10,
    progress: Report | bool | None = None,
) -> Trust:
    """Find the left-out group and tell whether it is real, how large it is, and if it comes back.

    Parameters
    ----------
    estimator : MaxDisparityPartition
        What to search with.
    X : table of shape (m, n)
    group_size : "evidence", int, float or None, default=None
        ``"evidence"``: the size with the largest total loss beyond chance. Else a number or share
        of the rows. None: the estimator's ``group_size`` or, if that is free, ``"evidence"``.
    sizes : int or list of int, default=15
        Sizes of the profile, log-spaced from the smallest allowed to half of the rows.
    chance : int, default=99
        Chance tables of each kind; 0 for none.
    kinds : {"copula", "gaussian"} or a list of them
        The first is the one that the finding rests on.
    runs : int, default=30
        Searches with different seeds, to see whether they agree; fewer than 2 for none.
    splits : int, default=10
        Splits into a half to search and a half to judge; 0 for none.
    progress : callable, bool or None
        ``progress(what, done, total)`` is called after every step; True: to stderr.

    Returns
    -------
    Trust

    Examples
    --------
    >>> from leftout import MaxDisparityPartition, datasets, trust
    >>> X, planted = datasets.make_planted(300, 8, 2, 60, random_state=0)
    >>> verdict = trust(MaxDisparityPartition(2, random_state=0), X, sizes=6, chance=19, runs=4)
    >>> verdict.beyond_chance, abs(verdict.group_size - 60) <= 12
    (True, True)
    """
    for name, value in (("chance", chance), ("runs", runs), ("splits", splits)):
        check_whole(name, value)
    kinds = check_kinds(kinds)
    task = Task.of(estimator, X)
    grid = task.grid(sizes)
    size = None
    if group_size is None:
        group_size = EVIDENCE if estimator.group_size is None else estimator.group_size
    if group_size != EVIDENCE:
        _, size = group_sizes(estimator.min_group_size, group_size, *task.X.shape)
        assert size is not None
        grid = task.grid([*grid.tolist(), size])
    elif not (chance and kinds):
        raise Refusal(
            f"{asking('group_size', EVIDENCE)} compares the table with chance, but no chance "
            f"tables were asked for. Give {asking('chance', 99)}, or a {asking('group_size')}."
        )
    on_chance = min(chance, _HELD_OUT_CHANCE) if kinds else 0
    total = (
        profile_steps(chance, kinds) + (runs if runs > 1 else 0) + (1 + on_chance) * (splits > 0)
    )
    steps = Steps(total, progress)
    of_runs = task.rngs[2].spawn(runs)
    profile = task.profile(grid, chance, kinds, steps)
    chosen = profile.evidence_size if size is None else size
    assert chosen is not None
    notes: list[str] = []
    held_out = None
    if splits:
        law = task.law(kinds[0]) if on_chance else None
        try:
            held_out = judge(task, chosen, splits, law, on_chance, steps)
        except Refusal as error:
            notes.append(f"Held-out rows: could not be judged. {error}")
    if task.repeats is not None and task.rows_repeat:
        notes.append(f"Equal rows: {task.repeats.told}")
    notes += _doubts(profile)
    posed = task.at_size(chosen)
    stability = None
    if runs > 1:
        stability = compare(task.solver, posed.problem, of_runs, estimator.n_jobs, steps)
    search = clone(estimator).set_params(group_size=chosen)
    named = X if hasattr(X, "shape") or hasattr(X, "columns") else task.X
    return Trust(
        partition=search.fit_posed(named, posed),
        group_size=chosen,
        chosen=EVIDENCE if size is None else "given",
        profile=profile,
        held_out=held_out,
        stability=stability,
        p_value=_p_value(profile, size),
        notes=notes,
        repeats=task.repeats,
    )


def _p_value(profile: Profile, size: int | None) -> float | None:
    if profile.main is None:
        return None
    if size is None:
        return profile.main.p_value
    return float(profile.main.p_values[np.flatnonzero(profile.sizes == size)[0]])


def _nearly(profile: Profile) -> str:
    if profile.evidence is not None and profile.evidence.max() <= 0.0:
        return ", though no size has more loss than chance gives"
    low, high = profile.evidence_range or (0, 0)
    return f" (nearly as much from {low:,} to {high:,})" if low < high else ""


def _doubts(profile: Profile) -> list[str]:
    """Where the first kind of chance table is not like the table in what it should share."""
    main = profile.main
    if main is None:
        return []
    doubts = []
    if main.miss > _FAR:
        doubts.append(
            f"Chance tables: a correlation is off by {main.miss:.2f} on average, so read the "
            "p-value with care."
        )
    if abs(main.residual - 1.0) > _FAR:
        doubts.append(
            f"Chance tables: {profile.n_components} components leave {main.residual:.2f} times the "
            "variance that they leave of the table, so read the p-value with care."
        )
    return doubts
