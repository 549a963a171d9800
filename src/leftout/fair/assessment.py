"""After a mitigation, search again: whom does each projection leave worst off?

Fair PCA for a group moves its loss to others. So under what was audited, under Fair PCA for the
group and under :class:`MinimaxPCA`, the worst-off group of as many rows is searched, whoever that
is; also with components from one half of the rows and the search in the other half.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from leftout.checks import generator
from leftout.data.columns import Column
from leftout.data.conditions import Mask
from leftout.errors import InputError
from leftout.evidence.duplicate_rows import split
from leftout.explain.sentence import Sentence, describe
from leftout.fair.estimator import FairPCA, prefers_one_thread
from leftout.fair.minimax import MinimaxPCA
from leftout.fair.worst import GroupSearch, Rows
from leftout.files import Serializable
from leftout.linalg.distinct import distinct_rows
from leftout.linalg.losses import Array
from leftout.linalg.significance import CONFIDENCE, Estimate, Interval
from leftout.representation.base import Representation, as_representation
from leftout.running import one_thread
from leftout.text import counted, number, percent

FAIR_PCA, MINIMAX_PCA = "Fair PCA", "MinimaxPCA"
# Another group is as badly off if it loses this share of what the first did; MinimaxPCA is advised
# where its worst off lose less than under both others by that share.
_AS_BADLY, _CLEARLY = 0.9, 0.1
# A gain on rows not seen holds from this share on, where an interval of this confidence is above 0.
# Halves of the same rows overlap, so that intervals over splits are too narrow: of 80 tables of
# Gaussian noise, one of 95% was above 0 on 7, one of 99% on 2, and with such a gain on 1. Where
# the two disagree, as many splits more decide.
_HOLDS, _SURE = 0.05, 0.99
MORE_COMPONENTS = "more components"
# Rounds of MinimaxPCA, which is one line of a comparison here, and climbs of the searches: among
# all rows, and in halves.
_ROUNDS, _TOL, _CLIMBS = 10, 0.05, 128
_HALF_ROUNDS, _HALF_CLIMBS = 6, 32
# Losses and errors up to this share of the variance are rounding.
_NOTHING = 1e-12
# Groups that share more of the rows that either has are the same.
_SAME = 0.5


@dataclass(frozen=True, kw_only=True, eq=False)
class ProjectionLosses(Serializable):
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
        mean and 95% interval over splits.
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


@dataclass(frozen=True, kw_only=True, eq=False)
class Afterwards(Serializable):
    """Whom PCA, Fair PCA for a group and MinimaxPCA leave worst off, and what follows.

    Attributes
    ----------
    lines : list of ProjectionLosses
        Under the representation audited, Fair PCA for the group, and MinimaxPCA.
    size : int
        Rows of the group, of several the first, and of each worst-off one; where rows have weights,
        all of these weigh what so many average rows do.
    rows, of_rows : int
        Rows that were looked at, and rows of the table.
    bound : float
        No projection of as many components has a worst-off group that loses less.
    gain : Interval or None
        By which share less the worst off lose under MinimaxPCA than under the representation
        audited, on rows not seen.
    splits : int
    n_groups : int
        Groups that Fair PCA is for, beside the rest.
    weight : float or None
        The group's share of the weight, where rows have weights.
    """

    also = ("moved", "holds", "advice", "text", "brief_text")

    lines: list[ProjectionLosses]
    size: int
    rows: int
    of_rows: int
    bound: float
    gain: Interval | None
    splits: int
    n_groups: int = 1
    weight: float | None = None

    @property
    def moved(self) -> bool:
        """Whether Fair PCA for the group leaves another group as badly off as it was."""
        shared, fair, _ = self.lines
        return fair.worst_loss >= _AS_BADLY * shared.group_loss > 0.0

    @property
    def holds(self) -> bool | None:
        """Whether MinimaxPCA is surely better on rows not seen; None if that was not tried."""
        if self.gain is None:
            return None
        return self.gain.value >= _HOLDS and _is_sure(self.gain, self.splits)

    @property
    def advice(self) -> str:
        """What to use: MinimaxPCA, Fair PCA, or more components."""
        shared, fair, every = self.lines
        least = (1.0 - _CLEARLY) * min(shared.worst_loss, fair.worst_loss)
        if every.worst_loss <= least > 0.0 and self.holds is not False:
            return MINIMAX_PCA
        return MORE_COMPONENTS if self.moved else FAIR_PCA

    @property
    def text(self) -> str:
        """What a search finds under each projection, on rows not seen, and what to use."""
        shared, fair, every = self.lines
        sample = "" if self.rows == self.of_rows else f" among {self.rows:,} of the rows"
        first = f"the group's {self._amount()}{sample}"
        if self.n_groups > 1:
            first = f"the worst off of {self.n_groups} groups{sample}"
        text = (
            f"Under {shared.called} {first} lose {number(shared.group_loss)} on average. Searched "
            f"again under Fair PCA for them, the worst-off {self._amount()} lose "
            f"{number(fair.worst_loss)}; {percent(fair.shared)} of the rows in either group are "
            f"in both. Under MinimaxPCA the worst off lose {number(every.worst_loss)}, and no "
            f"projection with as many components gets below {number(self.bound)}."
        )
        if self.gain is not None:
            value, low, high = (round(100.0 * share) for share in self.gain)
            text += (
                f" On rows not seen ({counted(self.splits, 'split')} into halves) MinimaxPCA gains "
                f"{value}% ({low} to {high}), which {'holds' if self.holds else 'does not hold'}."
            )
        return f"{text} {self.brief_text}"

    def _amount(self, sampled: str = "") -> str:
        """How many rows the group has, or what it weighs."""
        if self.weight is None:
            return f"{self.size:,} {sampled}rows"
        return f"{percent(self.weight)} by weight"

    @property
    def brief_text(self) -> str:
        """What to use, and why, in one sentence."""
        shared, fair, every = (number(line.worst_loss, digits=2) for line in self.lines)
        first, then = (number(line.group_loss, digits=2) for line in self.lines[:2])
        whom = "this group" if self.n_groups == 1 else "these groups"
        name, sampled = self.lines[0].called, "sampled " * (self.rows < self.of_rows)
        less = f"{every}, not {shared}"
        if self.gain is not None:
            less = f"{round(100 * self.gain.value)}% less on held-out rows ({less}, on all)"
        return {
            MINIMAX_PCA: f"Use MinimaxPCA: the worst-off {self._amount(sampled)} then lose "
            f"{less}; under Fair PCA another group loses {fair}.",
            FAIR_PCA: f"Use Fair PCA for {whom}: each of their rows then loses {then}, not "
            f"{first}, and no group of this size was found to lose more than {fair}.",
            MORE_COMPONENTS: f"Use more components: under Fair PCA for {whom} another one loses "
            f"{fair} ({first} under {name}), and MinimaxPCA is not surely better.",
        }[self.advice]


def afterwards(
    X: Array,
    labels: NDArray[np.integer],
    n_components: int,
    *,
    representation: Any = None,
    columns: Sequence[Column] = (),
    splits: int = 5,
    of_rows: int | None = None,
    weights: Array | None = None,
    random_state: Any = 0,
    n_jobs: int | None = None,
) -> Afterwards:
    """Search for the worst-off group again: under PCA, Fair PCA for groups, and MinimaxPCA.

    ``labels`` are 0 for the rest and 1, 2 and so on for the groups, the worst off first. A fitted
    projection may take the place of PCA, with its own number of components. The worst off are
    described by ``columns`` as people know them. Of ``splits`` into halves, one half is for the
    components and one for the search; there are twice as many where it is not clear whether the
    gain of MinimaxPCA holds. ``of_rows`` are those of the table that ``X`` is a sample of,
    ``weights`` what each row counts.
    """
    given = None if representation is None else as_representation(representation)
    if given is not None and not given.is_projection:
        raise InputError(
            f"The representation, {given.name}, is no projection, so Fair PCA and MinimaxPCA "
            "cannot take its place. Give a projection, such as a fitted PCA."
        )
    if labels.max() == 0 or not np.bincount(labels).all():
        raise InputError(
            f"None of the {len(X):,} rows that were looked at are in one of the groups. Audit a "
            "smaller table, or search for a larger group."
        )
    groups = [labels == label for label in range(1, labels.max() + 1)]
    d = n_components if given is None else given.rank
    trial = _Trial(X, labels, given, d, generator(random_state), n_jobs, weights)
    everyone = np.arange(len(X))
    size = trial.size(everyone)
    with one_thread(prefers_one_thread(X)):
        every = trial.minimax(everyone, size, _ROUNDS)
        shared = trial.projections(everyone, labels, every)
        others = (every.worst_group_, every.baseline_worst_group_)
        first, other = ([np.flatnonzero(mask) for mask in each] for each in (groups, others))
        searched = [trial.search(everyone, V, size, _CLIMBS, first, other) for V in shared]
        held_out = trial.held_out(splits)
        gain, n = _gain(held_out), len(held_out)
        if gain is not None and gain.value >= _HOLDS and gain.low > 0 and not _is_sure(gain, n):
            held_out = np.vstack([held_out, trial.held_out(splits)])
    lines = []
    for place, (V, (own, loss, error, rows)) in enumerate(zip(shared, searched, strict=True)):
        worst = np.isin(np.arange(len(X)), rows)
        overlap = max(float(np.sum(worst & mask) / np.sum(worst | mask)) for mask in groups)
        line = ProjectionLosses(
            called=V.name, group_loss=own, worst_loss=loss, shared=overlap,
            error=_share(error, searched[0][2]),
            held_out=_over_splits(held_out[:, place]), worst=worst,
            who=describe(columns, worst) if columns and overlap <= _SAME else None,
        )  # fmt: skip
        lines.append(line)
    return Afterwards(
        lines=lines, size=size, rows=len(X), of_rows=of_rows or len(X), bound=every.lower_bound_,
        gain=_gain(held_out), splits=len(held_out), n_groups=len(groups),
        weight=None if weights is None else float(np.average(groups[0], weights=weights)),
    )  # fmt: skip


class _Trial(NamedTuple):
    """Rows and their groups, what they share now, and how to search."""

    X: Array
    labels: NDArray[np.integer]
    given: Representation | None
    d: int
    rng: np.random.Generator
    n_jobs: int | None
    weights: Array | None = None

    def size(self, rows: Rows) -> int:
        """What the first group weighs among some rows, in average ones."""
        return round(float(np.average(self.labels[rows] == 1, weights=self._of(rows))) * len(rows))

    def _of(self, rows: Rows) -> Array | None:
        return None if self.weights is None else self.weights[rows] / self.weights[rows].mean()

    def minimax(self, rows: Rows, size: int, rounds: int) -> MinimaxPCA:
        """MinimaxPCA of some rows, against every group of a size."""
        return MinimaxPCA(
            self.d, group_size=size, max_rounds=rounds, tol=_TOL, random_state=self.rng,
            n_jobs=self.n_jobs,
        ).fit(self.X[rows], sample_weight=self._of(rows))  # fmt: skip

    def projections(
        self, rows: Rows, labels: NDArray[np.integer], every: MinimaxPCA
    ) -> list[Representation]:
        """What is audited, Fair PCA for these groups of some rows, and MinimaxPCA."""
        X, weights = self.X[rows], self._of(rows)
        fair = FairPCA(self.d).fit(X, groups=labels, sample_weight=weights)
        # several groups may take more dimensions than were asked for
        V = getattr(fair, "rank_d_components_", fair.components_)
        (d, n), origin = V.shape, fair.mean_
        fairer = Representation(name=FAIR_PCA, rank=d, n_features=n, origin=origin, components=V)
        before = self.given or _named("PCA", FairPCA(self.d).fit(X, sample_weight=weights))
        return [before, fairer, _named(MINIMAX_PCA, every)]

    def search(
        self,
        rows: Rows,
        shared: Representation,
        size: int,
        climbs: int,
        groups: Sequence[Rows] = (),
        other: Sequence[Rows] = (),
    ) -> tuple[float, float, float, Rows]:
        """What the worst off of the groups lose, those of a size that a search finds, and all rows.

        The last as squared errors. And whom the search finds; it begins at these groups and at
        ``other`` ones.
        """
        V = shared.components
        assert V is not None and shared.origin is not None
        X, weights, most = self.X[rows] - shared.origin, self._of(rows), 1.0
        if weights is not None:
            X, most = X * np.sqrt(weights)[:, None], float(weights.max())
        scale = float(np.einsum("ij,ij->", X, X)) / len(X)
        X /= np.sqrt(scale) or 1.0  # searches are in single precision
        table, F = GroupSearch(X, len(V), size, self.n_jobs, weights), V.T @ V
        seen = [table.group(each) for each in (*groups, *other)]
        found = table.search(F, [one.own for one in seen], climbs, self.rng, 1)
        of_size = [one for one in seen if 2.0 * abs(table.weight(one.rows) - size) <= most]
        worst = max([*found, *of_size], key=lambda one: one.loss(F))
        own = max((one.loss(F) for one in seen[: len(groups)]), default=0.0)
        error = float(np.mean(table.norms - table.kept(F)))
        values = np.array([own, worst.loss(F), error])
        return *(scale * values * (np.abs(values) > _NOTHING)).tolist(), worst.rows

    def held_out(self, splits: int) -> Array:
        """What the worst off of one half lose with components from the other.

        An array of shape (splits, projections). Fair PCA there is for the group that a search of
        that half finds, or for the several given. No line where halves have too few rows.
        """
        labels, found = self.labels, []
        share = float(np.average(labels == 1, weights=self.weights))
        distinct = distinct_rows(self.X)
        for _ in range(splits):
            learning, judging = split(distinct, self.rng)
            few, size = (max(1, round(share * len(half))) for half in (learning, judging))
            if few < 2 or size < 2 or len(learning) <= self.d + 1:
                continue
            own = labels[learning]
            every = self.minimax(learning, self.size(learning) or few, _HALF_ROUNDS)
            if labels.max() == 1:
                own = every.baseline_worst_group_.astype(np.intp)
            fitted = self.projections(learning, own, every)
            found.append([self.search(judging, V, size, _HALF_CLIMBS)[1] for V in fitted])
        return np.array(found).reshape(-1, 3)


def _named(name: str, fitted: Any) -> Representation:
    return replace(as_representation(fitted), name=name)


def _gain(held_out: Array) -> Interval | None:
    """By which share MinimaxPCA's worst off lose less than those under what was audited."""
    return _over_splits(np.array([1.0 - _share(last, first) for first, _, last in held_out]))


def _is_sure(gain: Interval, splits: int) -> bool:
    """Whether an interval of the confidence that advice takes is above 0."""
    sure, told = stats.t.ppf([0.5 + _SURE / 2.0, 0.5 + CONFIDENCE / 2.0], splits - 1)
    return bool(gain.value > sure / told * (gain.value - gain.low))


def _share(value: float, whole: float) -> float:
    """A share; of nothing, all."""
    return value / whole if whole > 0.0 else 1.0


def _over_splits(values: Array) -> Interval | None:
    return Estimate.mean_of(values).interval if len(values) > 1 else None
