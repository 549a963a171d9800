"""What Fair PCA does about groups: losses before and after, across dimensions, and the price."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from leftout.checks import check_groups
from leftout.data.matrix import all_counted, check_matrix
from leftout.fair.estimator import FairPCA, average_second, prefers_one_thread
from leftout.files import Serializable
from leftout.groups.measured import measured
from leftout.linalg.losses import Array, Summary, kept_by, summarise
from leftout.representation.base import as_representation, features_of
from leftout.running import Report, Steps, one_thread
from leftout.text import counted, listed, number, points, shown

# The most dimensions that are looked at.
_ACROSS = 12
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
    """Ordinary and fair PCA of one number of components.

    Attributes
    ----------
    losses_before, losses_after : arrays
        Average losses of the groups.
    gap : float
        Between the largest loss and the smallest possible: the certificate.
    rank : int
        Dimensions of the fair answer: more than components only for three groups or more.
    rank_d_losses : array or None
        Best found with exactly as many dimensions as components, where the answer has more.
    kept_before, kept_after : float
        Share of the table's variance that is kept.
    """

    also = ("max_loss_before", "max_loss_after", "price")

    n_components: int
    losses_before: Array
    losses_after: Array
    gap: float
    rank: int
    rank_d_losses: Array | None
    kept_before: float
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

    def losses_text(self, groups: Sequence[int], join: str = ",") -> str:
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


@dataclass(frozen=True)
class Mitigation(Dimension):
    """Fair PCA for some groups at the number of components asked for, and across dimensions.

    Attributes
    ----------
    groups, sizes : lists
        The groups' labels, sorted, and their rows; arrays by group follow this order.
    dual_bound : float
        No projection has a smaller largest loss.
    group_weights : array
        How much each group stands in the way of the others.
    retained_before, retained_after : arrays
        Share of each group's variance that is kept.
    by_dimension : list of Dimension
    fair : FairPCA
        The fitted transformer.
    """

    hidden = ("fair",)

    groups: list[str | float]
    sizes: list[int]
    dual_bound: float
    group_weights: Array
    retained_before: Array
    retained_after: Array
    by_dimension: list[Dimension]
    fair: FairPCA

    def names(self) -> list[str]:
        """The groups, as text."""
        return [shown(name) for name in self.groups]

    def summary(self) -> str:
        """What it does, in a few sentences."""
        d, names, sizes = self.n_components, self.names(), self.sizes
        before, after = self.losses_before, self.losses_after
        if len(names) == 1:
            return (
                f"There is one group, {names[0]}: for it, ordinary PCA with "
                f"{counted(d, 'component')} is fair already."
            )
        if before.max() <= _NOTHING * self.fair.variance_:
            return (
                f"Ordinary PCA with {counted(d, 'component')} keeps all that any group's own PCA "
                "would: no group loses anything."
            )
        text = (
            f"Ordinary PCA with {counted(d, 'component')} keeps {points(self.kept_before)}% "
            "of the table's variance. "
        )
        worst, least = int(before.argmax()), int(before.argmin())
        text += (
            f"Worst off is {names[worst]} ({sizes[worst]:,} rows) with an average loss of "
            f"{number(before[worst])}, best off {names[least]} ({sizes[least]:,} rows) with "
            f"{number(before[least])}. "
        )
        more = f" with {self.rank} dimensions" * (self.rank > d)
        text += (
            f"Fair PCA brings the largest loss to {number(after.max())}{more}, and no projection "
            f"of that rank gets below {number(self.dual_bound)}. It keeps "
            f"{points(self.kept_after)}% of the variance: "
            f"the price is {points(max(self.price, 0.0))}%."
        )
        if self.rank_d_losses is not None:
            text += (
                f" With exactly {d} dimensions, the best found has a largest loss of "
                f"{number(self.rank_d_losses.max())}."
            )
        if after.max() < before.max():
            text += " In return others lose more: no projection lowers every group's loss at once."
        return f"{text} {NOT_FOR_OTHERS}"


def mitigate(
    X: Any,
    groups: ArrayLike,
    n_components: int | float = 0.8,
    *,
    representation: Any = None,
    progress: Report | bool | None = None,
    sample_weight: ArrayLike | None = None,
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
    progress : callable, bool or None
        Called with what is done, how many steps are done and how many there are; True prints it.
    sample_weight : array of shape (m,), optional
        How many rows each row stands for, above 0.

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
    fair = FairPCA(n_components)
    weights = all_counted(matrix, sample_weight)
    seen = X if matrix.shape == np.shape(X) else matrix
    fair.fit(seen, groups=groups, sample_weight=sample_weight)
    _, place = check_groups(groups, len(matrix))
    with one_thread(prefers_one_thread(matrix)):
        table = summarise(matrix, fair.centering, place, len(fair.groups_), weights=weights)
        lines = across_dimensions(fair, table, progress)
    if representation is not None:  # in place of ordinary PCA
        given = {"representation": representation, "sample_weight": weights}
        known = measured(matrix, place, fair.n_asked_, **given)
        moments = known.moments()
        variance = np.trace(moments.second, axis1=1, axis2=2)
        kept = kept_by(moments, known.built.problem.V)
        fair.baseline_losses_, fair.baseline_retained_ = known.losses(), kept / variance
        fair.price_ = float(kept.sum() / variance.sum() - fair.explained_variance_ratio_.sum())
    return mitigation_of(fair, lines)


def across_dimensions(
    fair: FairPCA, table: Summary, progress: Report | bool | None = None
) -> list[Dimension]:
    """Ordinary and fair PCA of up to 12 numbers of components, for the groups of a fitted one."""
    everyone = average_second(table.moments)
    # with all dimensions nothing is lost
    most = max(int(np.linalg.matrix_rank(everyone, hermitian=True)) - 1, 1)
    spaced = np.arange(1, most + 1) if most <= _ACROSS else np.geomspace(1, most, _ACROSS)
    numbers = sorted({*np.round(spaced).astype(int).tolist(), fair.n_asked_})
    steps = Steps(len(numbers), progress)
    lines = []
    for d in numbers:
        steps.tell("Fair PCA across dimensions")
        each = fair if d == fair.n_asked_ else FairPCA(d).fit_summary(table, fair.groups_)
        lines.append(Dimension(**_told(each)))
        steps.tell("Fair PCA across dimensions", 1)
    return lines


def mitigation_of(fair: FairPCA, by_dimension: list[Dimension]) -> Mitigation:
    """What a fitted Fair PCA does about its groups."""
    return Mitigation(
        **_told(fair), groups=fair.groups_.tolist(), sizes=fair.sizes_.tolist(),
        dual_bound=fair.dual_bound_, group_weights=fair.group_weights_,
        retained_before=fair.baseline_retained_, retained_after=fair.retained_,
        by_dimension=by_dimension, fair=fair,
    )  # fmt: skip


def _told(fair: FairPCA) -> dict[str, Any]:
    """The fields of a dimension, by what was fitted."""
    kept = float(fair.explained_variance_ratio_.sum())
    return {
        "n_components": fair.n_asked_,
        "losses_before": fair.baseline_losses_,
        "losses_after": fair.losses_,
        "gap": fair.gap_,
        "rank": fair.n_components_,
        "rank_d_losses": getattr(fair, "rank_d_losses_", None),
        "kept_before": kept + fair.price_,
        "kept_after": kept,
    }


def describe_gap(gap: float) -> str:
    """A gap to the best possible in words; one that is only rounding is called so."""
    return "less than a billionth" if gap < 1e-9 else number(gap, digits=1)
