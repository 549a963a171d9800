"""The paper's feature scores: what components are made of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from leftout.checks import check_left_out
from leftout.data.matrix import check_matrix
from leftout.groups.measured import measured
from leftout.linalg.losses import Array


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
) -> FeatureScores:
    r"""How much each feature counts in the components: the paper's scores.

    Feature i's score is :math:`s_i = \sum_j \lambda_j v_{ij}^2` over the leading components of
    the rows in question, as a percentage of the sum over all features. Scores say what a group's
    components are made of; which features the *disparity* is made of is the question of
    :func:`leftout.explain.disparity_by_feature`.

    Parameters
    ----------
    X : table of shape (m, n)
    labels : array of shape (m,) or (n_runs, m)
        1 where a row is left out, else 0; with several runs, scores are averaged over them, and so
        are the absolute differences (as in the paper's tables).
    n_components : int or float
    centering : {"global", "none", "paper"}
        Moments about the column means, about zero, or about each group's own mean.

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
    runs = np.stack([check_left_out(run, len(X)) for run in np.atleast_2d(labels)])
    known = measured(X, runs[0], n_components, centering=centering)
    rows, d = X - known.built.table.mean, known.built.problem.d
    whole = _percentages(rows, d, centering)
    sides = [[_percentages(rows[run == side], d, centering) for side in (0, 1)] for run in runs]
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
    W = np.linalg.svd(rows, full_matrices=False)[2][:d]
    scores = np.sum((rows @ W.T) ** 2, axis=0) @ W**2
    with np.errstate(invalid="ignore"):
        return 100.0 * scores / scores.sum()
