"""Which features a disparity is made of, and what it is without them."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone

from leftout.checks import check_count, check_runs, check_whole, generator, parameters_of
from leftout.data.columns import Column, names_of
from leftout.data.encoding import LEVELS, CategoricalEncoding, coded
from leftout.data.matrix import check_matrix
from leftout.evidence.duplicate_rows import find_repeats
from leftout.evidence.restarts import pairwise_jaccard
from leftout.files import Serializable
from leftout.groups.fitted import fitted_on, for_same_size
from leftout.groups.known import measured
from leftout.groups.outcome import Outcome, outcomes
from leftout.groups.partition import MaxDisparityPartition
from leftout.linalg.distinct import Distinct
from leftout.linalg.losses import (
    Array,
    Loss,
    basis_loss_by_feature,
    own_components,
    summarise,
    top_components_of_rows,
)
from leftout.linalg.moments import Moments
from leftout.running import Report, Steps, clean_interrupts, imap_ordered, one_thread


@parameters_of(measured)
def feature_losses(*args: Any, **named: Any) -> Array:
    r"""Split every group's loss over the features, exactly.

    Under ``excess``, feature j's part of a group's loss is

    .. math:: (\|(G - GP)_j\|^2 - \|(G - G P_G)_j\|^2) / |G|,

    what the feature's reconstruction errors under the shared PCA exceed those under the group's own
    by. A part can be negative: the group's own PCA trades one feature for another.

    Parameters
    ----------
    X, labels, n_components, representation, loss, centering
        As for :func:`leftout.group_losses`.

    Returns
    -------
    array of shape (n_groups, n)
        Each row sums to the group's entry in :func:`leftout.group_losses`.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[2.0, 0.0], [-2.0, 0.0], [0.0, 1.0], [0.0, -1.0]])
    >>> feature_losses(X, [0, 0, 1, 1], 1)
    array([[0., 0.],
           [0., 1.]])
    """
    return split_losses(*measured(*args, **named).in_columns())


def split_losses(rule: Loss, moments: Moments, V: Array, errors: Array | None = None) -> Array:
    """:func:`feature_losses` of groups' moments, for given shared components.

    ``errors``: each group's sums of squared errors by feature, where components do not tell them.
    """
    own = own_components(rule, moments, len(V))
    return np.stack(
        [
            basis_loss_by_feature(rule, S, V, W, None if errors is None else errors[group]) / count
            for group, (S, W, count) in enumerate(
                zip(moments.second, own, moments.count, strict=True)
            )
        ]
    )


@parameters_of(measured)
def disparity_by_feature(*args: Any, **named: Any) -> Array:
    """Split a disparity over the features: parts of either sign that sum to it.

    Parameters
    ----------
    X, labels, n_components, representation, loss, centering
        As for :func:`leftout.disparity`.

    Returns
    -------
    array of shape (n,)
        Sums to :func:`leftout.disparity`.

    Examples
    --------
    >>> from leftout import datasets, disparity
    >>> X, planted = datasets.make_planted(200, 6, 2, 50, random_state=0)
    >>> parts = disparity_by_feature(X, planted, 2)
    >>> bool(abs(parts.sum() - disparity(X, planted, 2)) < 1e-12)
    True
    """
    parts = feature_losses(*args, **named)
    total = parts.sum(axis=1)
    return parts[np.argmax(total)] - parts[np.argmin(total)]


@dataclass(frozen=True, kw_only=True)
class FeatureScores:
    """The paper's scores: percentages that sum to 100 over the features.

    Attributes
    ----------
    total, left_out, rest : arrays of shape (n,)
        Of all rows, of the left-out group, and of the rest.
    difference : array of shape (n,)
        Absolute difference of the groups' scores.
    runs : int
        How many partitions they are averages of.
    """

    total: Array
    left_out: Array
    rest: Array
    difference: Array
    runs: int


def feature_scores(
    X: Any,
    labels: ArrayLike,
    n_components: int | float,
    *,
    centering: str = "global",
    beside: ArrayLike | None = None,
) -> FeatureScores:
    r"""How much each feature counts in the components: the paper's scores.

    Feature i's score is :math:`s_i = \sum_j \lambda_j v_{ij}^2` over the leading components of
    the rows in question, as a percentage of the sum over all features. Scores say what a group's
    components are made of; which features the *disparity* is made of is the question of
    :func:`disparity_by_feature`.

    Parameters
    ----------
    X : table of shape (m, n)
    labels : array of shape (m,) or (n_runs, m)
        1 where a row is left out, else 0; with several runs, scores are averaged over them, and so
        are the absolute differences (as in the paper's tables).
    n_components : int or float
    centering : {"global", "none", "paper"}
        Moments about the column means, about zero, or about each group's own mean.
    beside : array of shape (m,), optional
        Rows that the two sides are made of, where others are on neither; None: all.

    Returns
    -------
    FeatureScores

    Examples
    --------
    >>> from leftout import datasets
    >>> X, planted = datasets.make_planted(200, 6, 2, 50, random_state=0)
    >>> scores = feature_scores(X, planted, 2)
    >>> round(float(scores.left_out.sum()), 9)
    100.0
    """
    X = check_matrix(X)
    runs = check_runs(labels, len(X))
    known = measured(X, runs[0], n_components, centering=centering)
    rows, d = X - known.table.mean, len(known.V)
    whole = _percentages(rows, d, centering)
    within = np.ones(len(X), dtype=bool) if beside is None else np.asarray(beside, dtype=bool)
    sides = [
        [_percentages(rows[(run == side) & within], d, centering) for side in (0, 1)]
        for run in runs
    ]
    rest, group = np.transpose(sides, (1, 0, 2))
    return FeatureScores(
        total=whole,
        left_out=group.mean(axis=0),
        rest=rest.mean(axis=0),
        difference=np.abs(group - rest).mean(axis=0),
        runs=len(runs),
    )


def _percentages(rows: Array, d: int, centering: str) -> Array:
    """Scores of some rows; nan where these do not vary at all."""
    rows = rows - rows.mean(axis=0) if centering == "paper" else rows
    W = top_components_of_rows(rows, d)
    scores = np.sum((rows @ W.T) ** 2, axis=0) @ W**2
    with np.errstate(invalid="ignore"):
        return 100.0 * scores / scores.sum()


@dataclass(frozen=True, kw_only=True)
class WhatIf(Serializable):
    """The best disparity that a search finds when one feature is changed.

    Attributes
    ----------
    feature : str
        Or the raw column, where several features were made from it: they go together.
    disparity : float
        With the feature as it is.
    without, shuffled : float
        When it is left out, and when its values are shuffled among the rows (the mean of several
        shuffles; nan if there were none). Components are as many as before, or as many as leave
        something out of what is left; 0 where that cannot be.
    gone, gone_shuffled : float
        The share of the disparity that goes; negative where it grows.
    overlap : float
        Without the feature: the share of rows left out by either search that both leave out.
    """

    also = ("gone", "gone_shuffled")

    feature: str
    disparity: float
    without: float
    shuffled: float
    overlap: float

    @property
    def gone(self) -> float:
        return 1.0 - self.without / self.disparity

    @property
    def gone_shuffled(self) -> float:
        return 1.0 - self.shuffled / self.disparity


@clean_interrupts()
def what_if(
    found: Any,
    X: Any,
    *,
    features: int = 5,
    shuffles: int = 3,
    progress: Report | bool | None = None,
) -> list[WhatIf]:
    """Search again without each of the leading features, and with each of them shuffled.

    Sensitivity, not causation: a feature may matter for the search without mattering for why people
    are as they are, and features that say the same stand in for each other.

    Parameters
    ----------
    found : MaxDisparityPartition or Trust
        Fitted on ``X``; searched again with the same settings, components and group size.
    X : table of shape (m, n)
    features : int, default=5
        How many: those that add most to the disparity.
    shuffles : int, default=3
        How often each is shuffled.
    progress : callable, bool or None

    Returns
    -------
    list of WhatIf
        In the order of what the features add to the disparity.

    Examples
    --------
    >>> from leftout import MaxDisparityPartition, datasets
    >>> X, _ = datasets.make_planted(300, 8, 2, 60, random_state=0)
    >>> found = MaxDisparityPartition(2, group_size=60, random_state=0).fit(X)
    >>> first = what_if(found, X, features=1)[0]
    >>> first.feature, 0.0 < first.gone < 1.0
    ('x7', True)
    """
    check_count("features", features)
    check_whole("shuffles", shuffles)
    found, matrix = fitted_on(found, X)
    parts = feature_losses(
        matrix, found.labels_, found.n_components_, loss=found.loss, centering=found.centering
    )
    sources = names_of(X)
    leading = list(by_source(parts[1] - parts[0], sources))[:features]
    steps = Steps(len(leading) * (1 + shuffles), progress)
    return search_without(found, matrix, sources, leading, shuffles, steps)


def by_source(parts: Array, sources: list[str]) -> dict[str, float]:
    """What all features of each source add to the disparity, most first."""
    totals: dict[str, float] = {}
    for part, source in zip(parts.tolist(), sources, strict=True):
        totals[source] = totals.get(source, 0.0) + part
    return dict(sorted(totals.items(), key=lambda entry: -entry[1]))


def search_without(
    found: MaxDisparityPartition,
    X: Array,
    sources: list[str],
    leading: list[str],
    shuffles: int,
    steps: Steps,
) -> list[WhatIf]:
    """:func:`what_if` for given sources of features."""
    search = for_same_size(found).set_params(n_components=found.n_components_, n_jobs=1)
    copies = find_repeats(X).copies if shuffles else None
    tasks = []
    for source, rng in zip(leading, generator(found.random_state).spawn(len(leading)), strict=True):
        places = np.flatnonzero([name == source for name in sources])
        seeds = rng.spawn(1 + shuffles)
        tasks += [(search, X, places, place > 0, copies, seed) for place, seed in enumerate(seeds)]
    with one_thread():
        results = list(imap_ordered(_again, tasks, found.n_jobs, steps, "what if"))
    lines = []
    for number, source in enumerate(leading):
        start = number * (1 + shuffles)
        (without, labels), *shuffled = results[start : start + 1 + shuffles]
        both = np.stack([labels, found.labels_])
        lines.append(
            WhatIf(
                feature=source,
                disparity=found.disparity_,
                without=without,
                shuffled=float(np.mean([value for value, _ in shuffled])) if shuffled else np.nan,
                overlap=float(pairwise_jaccard(both, either=False)[0, 1]),
            )
        )
    return lines


def _again(
    search: MaxDisparityPartition,
    X: Array,
    places: NDArray[np.intp],
    shuffle: bool,
    copies: Distinct | None,
    rng: np.random.Generator,
) -> tuple[float, NDArray[np.intp]]:
    """Disparity and labels of a search on the table with some columns shuffled, or without them."""
    if shuffle:
        X = X.copy()
        if copies is None:
            X[:, places] = rng.permutation(X[:, places])
        else:  # equal rows stay equal: telling them apart would end what they have in common
            taken = copies.first[rng.permutation(copies.n_distinct)]
            X[:, places] = X[np.ix_(taken[copies.place], places)]
    else:
        X = np.delete(X, places, axis=1)
    d = min(search.n_components, _rank(X, search.centering) - 1)
    if d < 1:  # one component represents every row, or one feature is left
        return 0.0, np.zeros(len(X), dtype=np.intp)
    again = clone(search).set_params(n_components=d, random_state=rng).fit(X)
    return again.disparity_, again.labels_


def _rank(X: Array, centering: str) -> int:
    """Dimensions that the table varies in."""
    moments = summarise(X, "global" if centering == "paper" else centering).moments
    values = np.linalg.eigvalsh(moments.second[0])
    return int(np.sum(values > values[-1] * max(X.shape) * np.finfo(float).eps))


TARGET_FREE = "target-free"


def without_target(
    partition: MaxDisparityPartition,
    X: Array,
    places: dict[int, Column],
    target: Column,
    positive: Any,
) -> list[Outcome]:
    """Search again with the target kept out of the encoding, and compare the outcome again.

    ``places`` are the columns of ``X`` that hold the target's mean, each with the raw column it was
    made from. Their categories become indicators, scaled so that two categories are as far apart as
    the ends of a number; with more columns, as many components as keep as much of the variance.
    """
    share = float(partition.explained_variance_ratio_.sum())
    search = for_same_size(partition).set_params(n_components=share)
    other = search.fit(_target_free(X, places)).left_out_.mask
    both = np.stack([other, partition.left_out_.mask])
    overlap = float(pairwise_jaccard(both, either=False)[0, 1])
    return [
        replace(outcome, encoding=TARGET_FREE, overlap=overlap)
        for outcome in outcomes(target, other, positive)
    ]


def _target_free(X: Array, places: dict[int, Column]) -> Array:
    parts = [np.delete(X, list(places), axis=1)]
    for column in places.values():
        # by place: encode reads text as cleaned, and a raw column's may not be
        parts.append(CategoricalEncoding.of(column, LEVELS).vectors[coded(column)[1]])
    return np.column_stack(parts)
