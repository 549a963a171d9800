"""After a mitigation, search again: whom does each projection leave worst off?

Fair PCA for a group moves its loss to others. So under what was audited, under Fair PCA for the
group and under :class:`MinimaxPCA`, the worst-off group of as many rows is searched, whoever that
is; also with components from one half of the rows and the search in the other half.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from leftout.checks import check_groups, check_left_out, check_whole, generator
from leftout.data.columns import Column
from leftout.data.conditions import Mask
from leftout.data.matrix import check_matrix
from leftout.errors import InputError
from leftout.evidence.duplicate_rows import split
from leftout.explain.sentence import Sentence, describe
from leftout.fair.estimator import FairPCA, prefers_one_thread
from leftout.fair.game import LAST
from leftout.fair.minimax import MinimaxPCA
from leftout.fair.worst import GroupSearch, WorstGroup
from leftout.files import Serializable
from leftout.linalg.distinct import distinct_rows
from leftout.linalg.losses import Array
from leftout.linalg.significance import CONFIDENCE, Interval
from leftout.representation.base import Representation, as_representation
from leftout.running import one_thread
from leftout.text import counted, listed, number

FAIR_PCA, MINIMAX_PCA = "Fair PCA", "MinimaxPCA"
# Another group is as badly off if it loses this share of what the first did.
AS_BADLY = 0.9
# MinimaxPCA is advised where its worst-off lose less than under both others by this share.
CLEARLY = 0.1
# A gain on rows not seen holds from this share on, where an interval of this confidence is above 0.
# Halves of the same rows overlap, so that intervals over splits are too narrow: of 80 tables of
# Gaussian noise, one of 95 % was above 0 on 7, one of 99 % on 2, and with such a gain on 1. Where
# the two disagree, as many splits more decide.
_HOLDS, _SURE = 0.05, 0.99
# What to do, and why: the rule is in Afterwards.advice.
ADVICE = {
    MINIMAX_PCA: "Use MinimaxPCA: it leaves nobody that a search finds as badly off as either "
    "other.",
    FAIR_PCA: "Use Fair PCA if this group is the one to serve: nobody else is left as badly off.",
    "more components": "Use more components: with as many, no projection spares every group.",
}
# Rounds of MinimaxPCA: it is one line of a comparison here; climbs of searches in halves.
_ROUNDS, _TOL, _HALF = 6, 0.05, 64
# Losses and errors up to this share of the variance are rounding.
_NOTHING = 1e-12
# Groups that share more of the rows that either has are the same.
_SAME = 0.5


@dataclass(frozen=True, kw_only=True, eq=False)
class Under(Serializable):
    """What becomes of everybody under one projection.

    Attributes
    ----------
    called : str
    group_loss : float
        Average loss of the group that was found first; of several groups, the largest.
    worst_loss : float
        That of the worst-off group of as many rows, whoever that is.
    shared : float
        The share of the rows in either group that are in both; of several, the largest.
    error : float
        Average squared error of all rows, as a share of what the representation audited leaves.
    held_out : Interval or None
        ``worst_loss`` with components from one half of the rows and the search in the other half:
        mean and 95 % interval over splits.
    worst : array of bool, shape (m,)
    who : Sentence or None
        The worst off, where they are others than the first and columns were given.
    """

    hidden = ("worst",)

    called: str
    group_loss: float
    worst_loss: float
    shared: float
    error: float
    held_out: Interval | None
    worst: Mask = field(repr=False)
    who: Sentence | None = None

    @property
    def others(self) -> bool:
        """Whether the worst off are mostly others than the group found first."""
        return self.shared <= _SAME


@dataclass(frozen=True, kw_only=True, eq=False)
class Afterwards(Serializable):
    """Whom PCA, Fair PCA for a group and MinimaxPCA leave worst off, and what follows.

    Attributes
    ----------
    lines : list of Under
        Under the representation audited, Fair PCA for the group, and MinimaxPCA.
    size : int
        Rows of the group, of several the first, and of each worst-off one.
    rows, of_rows : int
        Rows that were looked at, and rows of the table.
    bound : float
        No projection of as many components has a worst-off group that loses less.
    gain : Interval or None
        By which share less the worst off lose under MinimaxPCA than under the representation
        audited, on rows not seen.
    splits : int
    n_components : int
    n_groups : int
        Groups that Fair PCA is for, beside the rest.
    """

    also = ("moved", "holds", "advice", "told", "told_brief")

    lines: list[Under]
    size: int
    rows: int
    of_rows: int
    bound: float
    gain: Interval | None
    splits: int
    n_components: int
    n_groups: int = 1

    @property
    def moved(self) -> bool:
        """Whether Fair PCA for the group leaves another group as badly off as it was."""
        shared, fair, _ = self.lines
        return fair.worst_loss >= AS_BADLY * shared.group_loss > 0.0

    @property
    def holds(self) -> bool | None:
        """Whether MinimaxPCA is surely better on rows not seen; None if that was not tried."""
        if self.gain is None:
            return None
        return self.gain.value >= _HOLDS and _is_sure(self.gain, self.splits)

    @property
    def advice(self) -> str:
        """What to use: a key of ``ADVICE``."""
        shared, fair, every = self.lines
        least = (1.0 - CLEARLY) * min(shared.worst_loss, fair.worst_loss)
        if every.worst_loss <= least > 0.0 and self.holds is not False:
            return MINIMAX_PCA
        return "more components" if self.moved else FAIR_PCA

    @property
    def told(self) -> str:
        """In a few sentences."""
        shared, fair, every = self.lines
        sample = "" if self.rows == self.of_rows else f" among {self.rows:,} of the rows"
        first = f"the group's {self.size:,} rows{sample}"
        if self.n_groups > 1:
            first = f"the worst off of {self.n_groups} groups{sample}"
        said = [
            f"Under {shared.called} {first} lose "
            f"{number(shared.group_loss)} on average. Searched again under Fair PCA for them, the "
            f"worst-off {self.size:,} lose {number(fair.worst_loss)}; {100 * fair.shared:.0f} % of "
            "the rows in either group are in both. Under MinimaxPCA, which protects every group of "
            f"that size, the worst off lose {number(every.worst_loss)}, and no projection with as "
            f"many components gets below {number(self.bound)}. The average error of all rows "
            f"changes by {_change(fair.error)} and {_change(every.error)}."
        ]
        said += [
            f"{'Worst' if line.who.describes else 'No short description fits the worst'} off under "
            f"{line.called}{'' if line.who.describes else '; the closest'}: {line.who.text}: "
            f"{100 * line.who.recall:.0f} % of them, {100 * line.who.precision:.0f} % of all named."
            for line in self.lines
            if line.who is not None
        ]
        return " ".join([*said, *filter(None, [self.told_held_out]), ADVICE[self.advice]])

    @property
    def told_held_out(self) -> str:
        """What becomes of it on rows not seen; nothing if that was not tried."""
        each = [line.held_out for line in self.lines if line.held_out is not None]
        if self.gain is None or not each:
            return ""
        losses = listed([number(one.value) for one in each])
        value, low, high = (round(100.0 * share) for share in self.gain)
        gain = f"{value} % ({low} to {high})"
        holds = (
            f"MinimaxPCA gains {gain}"
            if self.holds
            else f"the gain of MinimaxPCA does not hold on rows not seen: {gain}"
        )
        return (
            f"With components from one half of the rows, the worst off of the other half lose "
            f"{losses}, respectively ({counted(self.splits, 'split')}); {holds}."
        )

    @property
    def told_brief(self) -> str:
        """In one short sentence."""
        _, fair, every = self.lines
        start = f"Fair PCA lets others lose {number(fair.worst_loss)}"
        return {
            MINIMAX_PCA: f"{start}, MinimaxPCA {number(every.worst_loss)}: use it.",
            FAIR_PCA: f"Under Fair PCA no other group loses more than {number(fair.worst_loss)}.",
            "more components": f"{start}: use more components.",
        }[self.advice]

    def summary(self) -> str:
        """What it says, in a few sentences."""
        return self.told


def afterwards(
    X: Any,
    group: ArrayLike,
    n_components: int | float = 0.8,
    *,
    representation: Any = None,
    columns: Sequence[Column] | None = None,
    splits: int = 5,
    of_rows: int | None = None,
    random_state: Any = 0,
    n_jobs: int | None = None,
) -> Afterwards:
    """Search for the worst-off group again: under PCA, Fair PCA for a group, and MinimaxPCA.

    Parameters
    ----------
    X : table of shape (m, n)
    group : array of shape (m,)
        1 or True for the rows of the group, such as a search's ``labels_``; else 0. Of several
        groups, 1, 2 and so on, the worst off first.
    n_components : int or float, default=0.8
        Number of components, or the share of variance to exceed.
    representation : fitted projection, array of shape (d, n) or None, default=None
        What the rows share now, with its own number of components; None: PCA of the table.
    columns : list of Column, optional
        As people know them: to say who the worst off are.
    splits : int, default=5
        Into halves, one for the components and one for the search; 0: none. Twice as many where
        it is not clear whether the gain of MinimaxPCA holds.
    of_rows : int, optional
        Rows of the table that ``X`` is a sample of.
    random_state, n_jobs
        Of the searches, and threads for them.

    Returns
    -------
    Afterwards
        ``lines``, ``moved``, ``advice``, ``summary()``, ``to_dict()``, ``to_json(path)``.

    Examples
    --------
    >>> from leftout import MaxDisparityPartition, afterwards, datasets
    >>> X, _ = datasets.make_planted(400, 12, 3, 100, random_state=0)
    >>> found = MaxDisparityPartition(3, group_size=40, random_state=0).fit(X)
    >>> after = afterwards(X, found.labels_, 3, splits=0)
    >>> [line.called for line in after.lines]
    ['PCA', 'Fair PCA', 'MinimaxPCA']
    >>> after.lines[2].worst_loss < after.lines[0].worst_loss
    True
    """
    check_whole("splits", splits)
    matrix = check_matrix(X, min_features=1)
    labels = _labels(group, len(matrix))
    given = None if representation is None else as_representation(representation)
    if given is not None and not given.is_projection:
        raise InputError(
            f"The representation, {given.name}, is no projection, so Fair PCA and MinimaxPCA "
            "cannot take its place. Give a projection, such as a fitted PCA."
        )
    groups = [labels == label for label in range(1, labels.max() + 1)]
    size, rng = int(groups[0].sum()), generator(random_state)
    with one_thread(prefers_one_thread(matrix)):
        trial = _Trial.of(matrix, labels, n_components, given, LAST, rng, n_jobs)
        measured = [
            _measured(matrix, V, size, groups, trial.known, LAST, rng, n_jobs) for V in trial.shared
        ]
        halves = [_half(matrix, labels, trial, given, rng, n_jobs) for _ in range(splits)]
        if _is_borderline(_gain_over(halves), len(_held_out_losses(halves))):
            halves += [_half(matrix, labels, trial, given, rng, n_jobs) for _ in range(splits)]
    found = _held_out_losses(halves)
    lines = []
    for place, (V, line) in enumerate(zip(trial.shared, measured, strict=True)):
        worst = np.zeros(len(matrix), dtype=bool)
        worst[line.worst] = True
        shared = max(float(np.sum(worst & mask) / np.sum(worst | mask)) for mask in groups)
        told = Under(
            called=V.name, group_loss=line.group_loss, worst_loss=line.worst_loss, shared=shared,
            error=_over(line.error, measured[0].error),
            held_out=_over_splits(found[:, place]), worst=worst,
            who=describe(columns, worst) if columns and shared <= _SAME else None,
        )  # fmt: skip
        lines.append(told)
    return Afterwards(
        lines=lines, size=size, rows=len(matrix), of_rows=of_rows or len(matrix),
        bound=trial.bound, gain=_gain_over(halves), splits=len(found),
        n_components=trial.n_components, n_groups=len(groups),
    )  # fmt: skip


def _labels(group: ArrayLike, n_rows: int) -> NDArray[np.intp]:
    """The number of each row's group, 0 for the rest; refused where these are others."""
    names, place = check_groups(group, n_rows)
    if len(names) > 2 and names.dtype.kind in "iu" and names.tolist() == list(range(len(names))):
        return place
    return check_left_out(group, n_rows).astype(np.intp)


class _Trial(NamedTuple):
    """The three projections that some rows lead to, with their own origins."""

    shared: list[Representation]
    known: list[NDArray[np.intp]]  # groups to begin searches at
    bound: float
    n_components: int

    @classmethod
    def of(
        cls,
        X: Array,
        labels: NDArray[np.intp],
        n_components: int | float,
        given: Representation | None,
        effort: int,
        rng: np.random.Generator,
        n_jobs: int | None,
    ) -> _Trial:
        d = n_components if given is None else given.rank
        every = MinimaxPCA(
            d, group_size=int(np.sum(labels == 1)), max_rounds=_ROUNDS, tol=_TOL, random_state=rng,
            n_jobs=n_jobs,
        )  # fmt: skip
        every._last = effort
        every.fit(X)
        fair = FairPCA(every.n_asked_).fit(X, groups=labels)
        before = given or _named("PCA", FairPCA(every.n_asked_).fit(X))
        if before.origin is None:
            before = before.at(fair.mean_)
        groups = [labels == label for label in range(1, labels.max() + 1)]
        known = [*groups, every.worst_group_, every.baseline_worst_group_]
        # several groups may take more dimensions than were asked for
        V = getattr(fair, "rank_d_components_", fair.components_)
        shared = [before, _named(FAIR_PCA, V).at(fair.mean_), _named(MINIMAX_PCA, every)]
        rows = [np.flatnonzero(mask) for mask in known]
        return cls(shared, rows, every.lower_bound_, every.n_asked_)


def _named(name: str, fitted: Any) -> Representation:
    shared = as_representation(fitted)
    return Representation(**{**vars(shared), "name": name})


class _Measured(NamedTuple):
    group_loss: float
    worst_loss: float
    worst: NDArray[np.intp]
    error: float  # average squared error of all rows


def _measured(
    X: Array,
    shared: Representation,
    size: int,
    groups: list[Mask],
    known: list[NDArray[np.intp]],
    effort: int,
    rng: np.random.Generator,
    n_jobs: int | None,
) -> _Measured:
    """The largest loss of some groups under a projection, and the worst that a search finds."""
    V = shared.components
    assert V is not None and shared.origin is not None
    rows = X - shared.origin
    scale = float(np.einsum("ij,ij->", rows, rows)) / len(rows)
    rows /= np.sqrt(scale) or 1.0  # searches are in single precision
    table, F = GroupSearch(rows, len(V), size, n_jobs), V.T @ V
    seen: list[WorstGroup] = [table.group(each) for each in known]
    found = table.search(F, [one.own for one in seen], effort, rng, 1)
    of_size = [one for one in seen if len(one.rows) == size]
    worst = max([*found, *of_size], key=lambda one: one.loss(F))
    own = max((table.group(np.flatnonzero(mask)).loss(F) for mask in groups), default=0.0)
    error = float(np.mean(table.norms - table.kept(F)))
    own, loss, error = (
        scale * value if abs(value) > _NOTHING else 0.0 for value in (own, worst.loss(F), error)
    )
    return _Measured(own, loss, worst.rows, error)


def _half(
    X: Array,
    labels: NDArray[np.intp],
    whole: _Trial,
    given: Representation | None,
    rng: np.random.Generator,
    n_jobs: int | None,
) -> list[float] | None:
    """What the worst off of one half lose with components from the other; None if it is too few.

    Fair PCA there is for the group that a search of that half finds, or for the several given.
    """
    d = whole.shared[0].rank
    learning, judging = split(distinct_rows(X), rng)
    share = float(np.mean(labels == 1))
    few, size = (max(1, round(share * len(half))) for half in (learning, judging))
    if few < 2 or size < 2 or len(learning) <= d + 1:
        return None
    seen = X[learning]
    first = FairPCA(d).fit(seen)
    before = whole.shared[0] if given is not None else _named("PCA", first)
    own = labels[learning]
    if labels.max() == 1 or not np.any(own == 1):
        worst = _measured(seen, before, few, [], [], _HALF, rng, n_jobs).worst
        own = np.isin(np.arange(len(seen)), worst).astype(np.intp)
    trial = _Trial.of(seen, own, d, given, _HALF, rng, n_jobs)
    return [
        _measured(X[judging], V, size, [], [], _HALF, rng, n_jobs).worst_loss for V in trial.shared
    ]


def _held_out_losses(halves: list[list[float] | None]) -> Array:
    """Losses of the worst off in each half that was large enough: PCA, Fair PCA, MinimaxPCA."""
    return np.array([losses for losses in halves if losses is not None]).reshape(-1, 3)


def _gain_over(halves: list[list[float] | None]) -> Interval | None:
    """What MinimaxPCA's worst off lose less than PCA's, as a share, over splits."""
    found = _held_out_losses(halves)
    return _over_splits(np.array([1.0 - _over(last, first) for first, _, last in found]))


def _is_sure(gain: Interval, splits: int) -> bool:
    """Whether an interval of the confidence that advice takes is above 0."""
    sure, told = stats.t.ppf([0.5 + _SURE / 2.0, 0.5 + CONFIDENCE / 2.0], splits - 1)
    return bool(gain.value > sure / told * (gain.value - gain.low))


def _is_borderline(gain: Interval | None, splits: int) -> bool:
    """Whether a gain is large enough, but only the interval that people read is above 0."""
    return gain is not None and gain.value >= _HOLDS and gain.low > 0 and not _is_sure(gain, splits)


def _over(value: float, whole: float) -> float:
    """A share; of nothing, all."""
    return value / whole if whole > 0.0 else 1.0


def _over_splits(values: Array) -> Interval | None:
    """Mean and interval over splits."""
    if len(values) < 2:
        return None
    value = float(values.mean())
    wide = float(stats.t.ppf(0.5 + CONFIDENCE / 2.0, len(values) - 1) * stats.sem(values))
    return Interval(value, value - wide, value + wide)


def _change(share: float) -> str:
    return f"{100 * (share - 1.0):+.0f} %"
