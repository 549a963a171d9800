"""What Fair PCA does about groups: losses before and after, across dimensions, and the price."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, TypedDict

import numpy as np
from numpy.typing import ArrayLike, NDArray

from leftout.checks import check_groups
from leftout.data.matrix import check_matrix
from leftout.errors import InputError, parameter_label
from leftout.fair.dual import solve_fair
from leftout.fair.estimator import (
    FairPCA,
    average_second,
    prefers_one_thread,
    share_kept,
    warn_if_open,
)
from leftout.files import Serializable, plain
from leftout.groups.measured import measured
from leftout.linalg.losses import Array, Loss, Summary, summarise
from leftout.linalg.moments import Moments
from leftout.representation.base import as_representation, features_of
from leftout.running import Report, Steps, one_thread
from leftout.text import counted, listed, number, points, shown

# The most dimensions that are looked at if nobody says which.
_ACROSS = 12
# The most groups that are named in a sentence.
_NAMED = 5
# A search under its projection finds another tenth of the rows that loses about as much as the
# first did, or more.
NOT_FOR_OTHERS = (
    "That is for the groups it was given: under this projection another group of as many rows may "
    "lose as much or more."
)
# Losses up to this share of the variance are rounding.
_NOTHING = 1e-13


@dataclass(frozen=True)
class Dimension(Serializable):
    """Ordinary and fair PCA of one number of components."""

    also = ("max_loss_before", "max_loss_after", "price")

    n_components: int
    losses_before: Array
    losses_after: Array
    gap: float
    rank: int  # of the fair answer: larger than asked only for three groups or more
    rank_d_losses: Array | None  # best found with exactly the rank asked, where it is larger
    kept_before: float  # share of the table's variance
    kept_after: float

    @property
    def price(self) -> float:
        """Share of the table's variance given up for fairness."""
        return self.kept_before - self.kept_after

    @property
    def max_loss_before(self) -> float:
        return float(self.losses_before.max())

    @property
    def max_loss_after(self) -> float:
        return float(self.losses_after.max())

    def told_losses(self, groups: Sequence[int], join: str = ",") -> str:
        """What becomes of the losses of some groups, and of the first side's, the rest's."""
        whose = "the group's loss" if len(groups) == 1 else "the groups' losses"
        before, after = (
            listed([number(losses[group]) for group in groups])
            for losses in (self.losses_before, self.losses_after)
        )
        return (
            f"{whose} from {before} to {after}{join} the rest's from "
            f"{number(self.losses_before[0])} to {number(self.losses_after[0])}"
        )


class MitigationRecord(TypedDict):
    """Fair PCA as JSON has it: at the number of components asked for, and across dimensions."""

    n_components: int
    losses_before: list[float]
    losses_after: list[float]
    rank: int
    rank_d_losses: list[float] | None
    kept_before: float
    kept_after: float
    price: Annotated[float, "Share of the table's variance given up for fairness."]
    groups: list[str | float]
    sizes: list[int]
    max_loss: float
    dual_bound: float
    gap: Annotated[float, "Between the largest loss and the smallest possible: the certificate."]
    group_weights: list[float]
    retained_before: list[float]
    retained_after: list[float]
    by_dimension: list[Dimension]


@dataclass(frozen=True)
class Mitigation(Serializable):
    """Fair PCA for some groups: the fitted transformer, and the same across dimensions."""

    record = MitigationRecord

    fair: FairPCA
    here: Dimension  # at the number of components asked for
    by_dimension: list[Dimension]

    def names(self) -> list[str]:
        """The groups, as text."""
        return [shown(name) for name in self.fair.groups_.tolist()]

    def summary(self) -> str:
        """What it does, in a few sentences."""
        fair, here, names = self.fair, self.here, self.names()
        d, sizes = here.n_components, fair.sizes_
        before, after = here.losses_before, here.losses_after
        if len(names) == 1:
            return (
                f"There is one group, {names[0]}: for it, ordinary PCA with "
                f"{counted(d, 'component')} is fair already."
            )
        if before.max() <= _NOTHING * fair.variance_:
            return (
                f"Ordinary PCA with {counted(d, 'component')} keeps all that any group's own PCA "
                "would: no group loses anything."
            )
        text = (
            f"Ordinary PCA with {counted(d, 'component')} keeps {_percent(here.kept_before)} of "
            "the table's variance. "
        )
        worst, least = int(before.argmax()), int(before.argmin())
        text += (
            f"Worst off is {names[worst]} ({sizes[worst]:,} rows) with an average loss of "
            f"{number(before[worst])}, best off {names[least]} ({sizes[least]:,} rows) with "
            f"{number(before[least])}. "
        )
        more = f" with {here.rank} dimensions" * (here.rank > d)
        text += (
            f"Fair PCA brings the largest loss to {number(after.max())}{more}, and no projection "
            f"of that rank gets below {number(fair.dual_bound_)}. It keeps "
            f"{_percent(here.kept_after)} of the variance"
        )
        if here.price >= 0.0 or fair.centering != "paper":
            text += f": the price is {_percent(max(here.price, 0.0))}"
        text += "."
        if here.rank_d_losses is not None:
            text += (
                f" With exactly {d} dimensions, the best found has a largest loss of "
                f"{number(here.rank_d_losses.max())}."
            )
        return f"{text}{self._paid(names)} {NOT_FOR_OTHERS}"

    def _paid(self, names: list[str]) -> str:
        """Whose losses rise, and how much."""
        before, after = self.here.losses_before, self.here.losses_after
        worse = np.flatnonzero(after > before + 1e-9 * before.max())
        if not len(worse) or after.max() >= before.max() or self.fair.centering == "paper":
            return ""
        worse = worse[np.argsort(before[worse] - after[worse], kind="stable")]
        each = [
            f"{names[g]} from {number(before[g])} to {number(after[g])}" for g in worse[:_NAMED]
        ]
        each += [f"{len(worse) - _NAMED} others"] * (len(worse) > _NAMED)
        return (
            f" In return the loss rises for {listed(each)}: no projection lowers every group's "
            "loss at once."
        )

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain data."""
        fair, here = self.fair, self.here
        return plain({
            "n_components": here.n_components, "losses_before": here.losses_before,
            "losses_after": here.losses_after, "rank": here.rank,
            "rank_d_losses": here.rank_d_losses, "kept_before": here.kept_before,
            "kept_after": here.kept_after, "price": here.price, "groups": fair.groups_,
            "sizes": fair.sizes_, "max_loss": fair.max_loss_, "dual_bound": fair.dual_bound_,
            "gap": fair.gap_, "group_weights": fair.group_weights_,
            "retained_before": fair.baseline_retained_, "retained_after": fair.retained_,
            "by_dimension": self.by_dimension,
        })  # fmt: skip


def mitigate(
    X: Any,
    groups: ArrayLike,
    n_components: int | float = 0.8,
    *,
    representation: Any = None,
    across: ArrayLike | None = None,
    centering: str = "global",
    tol: float = 1e-9,
    progress: Report | bool | None = None,
) -> Mitigation:
    """Fair PCA for known or found groups, beside ordinary PCA, for several numbers of components.

    It is fair to these groups alone: under its projection, another group of as many rows may lose
    as much as a found one did, or more. Any small group's own PCA fits it well, so that its loss is
    large: whether known groups lose more than random ones, :func:`leftout.known_groups` tests.

    Parameters
    ----------
    X : table of shape (m, n)
    groups : array of shape (m,)
        The group of each row: known, or a search's ``labels_``.
    n_components : int or float, default=0.8
        Number of components, or the share of variance to exceed.
    representation : fitted transformer or None, default=None
        What the rows share now, with its own number of components: losses before are those under
        it. None: ordinary PCA of the table.
    across : list of int, optional
        Numbers of components to compare; None: up to 12 from 1 to the table's rank. An empty list
        compares none.
    centering, tol
        As in :class:`FairPCA`.
    progress : callable, bool or None
        Called with what is done, how many steps are done and how many there are; True prints it.

    Returns
    -------
    Mitigation
        ``fair`` (the fitted :class:`FairPCA`), ``by_dimension``, ``summary()``, ``to_dict()``,
        ``to_json(path)``.

    Examples
    --------
    >>> from leftout import datasets, mitigate
    >>> X, groups = datasets.make_planted(400, 12, 3, 100, random_state=0)
    >>> found = mitigate(X, groups, 3)
    >>> [line.n_components for line in found.by_dimension][:4]
    [1, 2, 3, 4]
    >>> all(line.losses_after.max() <= line.losses_before.max() for line in found.by_dimension)
    True
    """
    matrix = check_matrix(features_of(representation, X), min_features=1)
    if representation is not None:
        n_components = as_representation(representation).rank
    fair = FairPCA(n_components, centering=centering, tol=tol)
    fair.fit(X if matrix.shape == np.shape(X) else matrix, groups=groups)
    _, place = check_groups(groups, len(matrix))
    if representation is not None:
        _measure_before(fair, matrix, place, representation)
    with one_thread(prefers_one_thread(matrix)):
        moments = summarise(matrix, centering, place, len(fair.groups_)).moments
        return Mitigation(fair, _here(fair), _across(fair, moments, across, progress))


def _measure_before(fair: FairPCA, X: Array, place: NDArray[np.intp], representation: Any) -> None:
    """Replace ordinary PCA as what Fair PCA is compared with by a representation that is given."""
    known = measured(
        X, place, fair.n_asked_, centering=fair.centering, representation=representation
    )
    moments, losses = known.table.moments, known.losses()
    variance = np.trace(moments.second, axis1=1, axis2=2)
    kept = moments.kept
    if kept is None:
        kept = np.einsum("dn,gnk,dk->g", known.V, moments.second, known.V, optimize=True)
    fair.baseline_losses_, fair.baseline_retained_ = losses, kept / variance
    fair.price_ = float(kept.sum() / variance.sum() - fair.explained_variance_ratio_.sum())


def mitigate_summary(
    table: Summary,
    groups: ArrayLike,
    n_components: int | float = 0.8,
    *,
    names: ArrayLike | None = None,
    across: ArrayLike | None = None,
    progress: Report | bool | None = None,
) -> Mitigation:
    """:func:`mitigate` where only the groups' moments are known, about the mean of all rows.

    ``groups`` are their names in sorted order; ``names`` those of the features.
    """
    fair = FairPCA(n_components).fit_summary(table, groups, names)
    with one_thread():
        return Mitigation(fair, _here(fair), _across(fair, table.moments, across, progress))


def _across(
    fair: FairPCA, moments: Moments, across: ArrayLike | None, progress: Report | bool | None
) -> list[Dimension]:
    """Ordinary and fair PCA of several numbers of components."""
    numbers = _numbers(across, moments, fair.n_asked_)
    steps = Steps(len(numbers), progress)
    rule, everyone = Loss.named("excess", fair.centering), average_second(moments)
    lines = []
    for d in numbers:
        steps.tell("Fair PCA across dimensions")
        found = solve_fair(rule, moments, d, fair.tol)
        answer = found.answer
        if d != fair.n_asked_:
            warn_if_open(answer.gap, float(found.losses.max()), fair.tol, fair.variance_)
        line = Dimension(
            d, found.baseline_losses, found.losses, max(answer.gap, 0.0), len(answer.V),
            found.rank_d_losses, share_kept(everyone, found.baseline),
            share_kept(everyone, answer.V, answer.occupation),
        )  # fmt: skip
        lines.append(line)
        steps.tell("Fair PCA across dimensions", 1)
    return lines


def _here(fair: FairPCA) -> Dimension:
    kept = float(fair.explained_variance_ratio_.sum())
    return Dimension(
        fair.n_asked_, fair.baseline_losses_, fair.losses_, fair.gap_, fair.n_components_,
        getattr(fair, "rank_d_losses_", None), kept + fair.price_, kept,
    )  # fmt: skip


def _numbers(across: Any, moments: Moments, asked: int) -> list[int]:
    """Numbers of components to compare: those given, or some from 1 to one below the rank."""
    everyone = average_second(moments)
    limit = len(everyone)
    if across is None:
        # with all dimensions nothing is lost
        most = max(int(np.linalg.matrix_rank(everyone, hermitian=True)) - 1, 1)
        spaced = np.arange(1, most + 1) if most <= _ACROSS else np.geomspace(1, most, _ACROSS)
        return sorted({*np.round(spaced).astype(int).tolist(), asked})
    given = np.asarray(across)
    if given.size == 0:
        return []
    if given.ndim != 1 or given.dtype.kind not in "iu" or given.min() < 1 or given.max() > limit:
        raise InputError(
            f"{parameter_label('across')} is not a list of component numbers; give ints from 1 "
            f"to {limit}."
        )
    return sorted(set(given.tolist()))


def describe_gap(gap: float) -> str:
    """A gap to the best possible in words; one that is only rounding is called so."""
    return "less than a billionth" if gap < 1e-9 else number(gap, digits=1)


def _percent(share: float) -> str:
    return f"{points(share)}%"
