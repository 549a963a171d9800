"""Should you believe the group? The estimator's companion: find it, and weigh the evidence."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone

from leftout.checks import Refusal, check_whole
from leftout.evidence.chance import KINDS, Task, check_kinds, profile_steps
from leftout.evidence.holdout import HeldOut, judge
from leftout.evidence.profiles import Profile
from leftout.evidence.stability import Stability, compare
from leftout.evidence.surrogates import SURROGATES
from leftout.files import write_whole
from leftout.running import Report, Steps, clean_interrupts
from leftout.search.partition import MaxDisparityPartition
from leftout.search.sizes import group_sizes
from leftout.wording import counted

EVIDENCE = "evidence"
LEVEL = 0.05
# A correlation, or the residual variance, that is further off makes chance doubtful.
_FAR = 0.1
_SHARED = {
    "copula": "the columns' values and correlations",
    "gaussian": "the means and covariances",
}
# Surrogates that the held-out rows are judged by, at most: each is split and searched many times.
_HELD_OUT_CHANCE = 39


@dataclass(frozen=True, kw_only=True)
class Trust:
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
    """

    partition: MaxDisparityPartition
    group_size: int
    chosen: str
    profile: Profile
    held_out: HeldOut | None
    stability: Stability | None
    p_value: float | None
    notes: list[str]

    @property
    def beyond_chance(self) -> bool | None:
        main = self.profile.main
        if self.p_value is None or main is None or not _can_tell(len(main.curves)):
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

    def summary(self) -> str:
        """The evidence in plain words, a line a question."""
        lines = [self._about_group(), self._about_chance()]
        if self.held_out is not None:
            lines.append(_about_held_out(self.held_out))
        if self.stability is not None:
            lines.append(_about_stability(self.stability))
        return "\n".join(lines + self.notes)

    def _about_group(self) -> str:
        found = self.partition
        how = "the size asked for"
        if self.chosen == EVIDENCE:
            how = "the size with the most evidence" + _nearly(self.profile)
        return (
            f"Group: {self.group_size:,} of {self.profile.n_rows:,} rows, {how}. Its loss exceeds "
            f"the rest's by {found.disparity_:.4g}; no group of this size can exceed "
            f"{found.bound_:.4g} (certified)."
        )

    def _about_chance(self) -> str:
        main = self.profile.main
        if main is None or self.p_value is None:
            return "Chance: not asked for, so this says nothing about whether the group is real."
        tables = counted(len(main.curves), f"{main.kind} chance table")
        if self.beyond_chance is None:
            return (
                f"Chance: cannot be told from {tables}, with which p is never below "
                f"{1 / (1 + len(main.curves)):.2g}. Ask for 19 or more."
            )
        over = "at this size"
        if self.chosen == EVIDENCE:
            over = f"over {counted(len(self.profile.sizes), 'size')}"
        if self.beyond_chance:
            return f"Chance: beyond it (p = {self.p_value:.3g}, {tables}, {over})."
        return (
            f"Chance: NOT beyond it (p = {self.p_value:.3g}, {tables}, {over}). The same search "
            f"finds as much in tables that share {_SHARED[main.kind]} with this one and have no "
            "subgroup: this is the best partition, not a finding."
        )

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

    def to_json(self, path: str | os.PathLike[str]) -> Path:
        """Write :meth:`to_dict` as JSON; the file appears whole or not at all."""
        return write_whole(path, json.dumps(self.to_dict(), indent=1) + "\n")


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
            "group_size='evidence' compares the table with chance, but no chance tables were asked "
            "for. Give chance=99, or a group_size."
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
        law = SURROGATES[kinds[0]].of(task.X) if on_chance else None
        try:
            held_out = judge(task, chosen, splits, law, on_chance, steps)
        except ValueError as error:
            notes.append(f"Held-out rows: could not be judged. {error}")
    notes += _doubts(profile)
    search = clone(estimator).set_params(group_size=chosen)
    stability = compare(search, task.X, of_runs, steps) if runs > 1 else None
    return Trust(
        partition=search.fit(X),
        group_size=chosen,
        chosen=EVIDENCE if size is None else "given",
        profile=profile,
        held_out=held_out,
        stability=stability,
        p_value=_p_value(profile, size),
        notes=notes,
    )


def _p_value(profile: Profile, size: int | None) -> float | None:
    if profile.main is None:
        return None
    if size is None:
        return profile.main.p_value
    return float(profile.main.p_values[np.flatnonzero(profile.sizes == size)[0]])


def _can_tell(n_surrogates: int) -> bool:
    """Whether a p-value from so many surrogates can come down to the level."""
    return 1.0 / (1 + n_surrogates) <= LEVEL


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


def _about_held_out(found: HeldOut) -> str:
    text = (
        f"Held-out rows: found on half of the rows, the group's disparity on the other half is "
        f"{found.disparity:.4g}"
    )
    if len(found.disparities) == 1:
        return f"{text} (one split, so with no interval)."
    above = "above" if found.low > 0 else "not clearly above"
    text += (
        f" (95 % interval {found.low:.4g} to {found.high:.4g}, {len(found.disparities)} splits): "
        f"{above} zero"
    )
    if found.p_value is None or not _can_tell(len(found.chance)):
        return text + "."
    beyond = "beyond" if found.p_value <= LEVEL else "not beyond"
    return (
        f"{text}, and {beyond} the {found.chance.mean():.4g} that groups found in chance tables "
        f"keep (p = {found.p_value:.3g})."
    )


def _about_stability(found: Stability) -> str:
    text = (
        f"Other seeds: {len(found.labels)} runs agree with Jaccard {found.mean:.2f} on average "
        f"({found.low:.2f} to {found.high:.2f})."
    )
    if found.n_nearly_equal > 1:
        text += (
            f" They found {found.n_nearly_equal} distinct groups of nearly equal disparity, so "
            "this is one of several."
        )
    return text
