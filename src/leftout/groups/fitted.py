"""Searches as others use them: checked before they are fitted, or asked after.

One of several left-out groups beside the rest, as a search for one group would have found it.

The rest is always the rows that are in no left-out group: what a group's disparity is measured
against. Rows of the other groups are on neither side.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from leftout.checks import is_int
from leftout.data.matrix import check_matrix
from leftout.errors import InputError, parameter_label
from leftout.groups.partition import MaxDisparityPartition
from leftout.linalg.losses import Array
from leftout.representation.base import features_of
from leftout.solvers import Solver, takes_sizes
from leftout.text import counted

# The label of rows on neither side.
NEITHER = -1


def one_vs_rest(found: MaxDisparityPartition, label: int) -> MaxDisparityPartition:
    """The view of group ``label``: what evidence, explanation and findings know of one group.

    ``labels_`` are 1 in the group, 0 in the rest and -1 in the other groups; sizes, losses, shares
    of variance, components and bound are those of the group and the rest. Of a single group it is
    the search itself.

    Examples
    --------
    >>> from leftout import MaxDisparityPartition, datasets
    >>> X, _ = datasets.make_planted(300, 9, 2, [40, 60], random_state=0)
    >>> found = MaxDisparityPartition(2, n_groups=2, group_size=[40, 60], random_state=0).fit(X)
    >>> second = one_vs_rest(found, 2)
    >>> second.sizes_.tolist() == found.sizes_[[0, 2]].tolist()
    True
    >>> float(second.disparity_ - found.disparities_[1])
    0.0
    """
    check_is_fitted(found)
    if not (is_int(label) and 1 <= label <= found.n_groups_):
        raise InputError(
            f"{parameter_label('label', label)} is no left-out group: found "
            f"{counted(found.n_groups_, 'left-out group')}, numbered from 1."
        )
    if found.n_groups_ == 1:
        return found
    sides = [0, int(label)]
    whole = found.left_out_groups_[label - 1]
    view = clone(found).set_params(n_groups=1, group_size=whole.size)
    for name, value in vars(found).items():
        if name in _BY_SIDE:
            setattr(view, name, value[sides])
        elif name.endswith("_in_") or name in _SHARED:
            setattr(view, name, value)
    view.n_groups_ = 1
    view.labels_ = np.select([found.labels_ == 0, found.labels_ == label], [0, 1], NEITHER)
    view.disparities_ = found.disparities_[[label - 1]]
    view.disparity_ = whole.disparity
    view.offset_ = whole.offset
    view._bound = whole.bound  # of the joint search, where it is settled once
    return view


_BY_SIDE = ("sizes_", "losses_", "retained_", "retained_own_", "group_components_")
_SHARED = (
    "mean_", "n_components_", "explained_variance_ratio_", "components_", "representation_",
    "history_", "stopped_",
)  # fmt: skip


def check_search(estimator: Any) -> None:
    """Refuse what is no search."""
    if not isinstance(estimator, MaxDisparityPartition):
        raise InputError(
            f"Found {type(estimator).__name__} where a MaxDisparityPartition is needed; give the "
            "search first, then the table."
        )


def prepare(estimator: MaxDisparityPartition, X: Any) -> tuple[Solver, Array]:
    """An estimator's solver and the table's matrix, both checked; nothing is fitted."""
    check_search(estimator)
    if estimator.n_groups != 1:
        raise InputError(
            f"{parameter_label('n_groups', estimator.n_groups)} was asked for, but one left-out "
            f"group is searched for here. Use {parameter_label('n_groups', 1)}; leftout.trust "
            "weighs several, and leftout.how_many counts them."
        )
    return estimator._check_names(), check_matrix(features_of(estimator.representation, X))


def fitted_on(found: Any, X: Any, label: int | None = None) -> tuple[MaxDisparityPartition, Array]:
    """A fitted estimator (or the one that a ``Trust`` holds) and the matrix it was fitted on.

    ``label``: which of several left-out groups is asked about.
    """
    held = getattr(found, "partition", None)
    found = held if isinstance(held, MaxDisparityPartition) else found
    if not isinstance(found, MaxDisparityPartition):
        raise InputError(
            f"Found {type(found).__name__} where a fitted MaxDisparityPartition (or what trust "
            "returns) is needed; give the finding first, then the table."
        )
    check_is_fitted(found)
    if label is not None:
        found = one_vs_rest(found, label)
    if found.n_groups_ != 1:
        raise InputError(
            f"Found {counted(found.n_groups_, 'left-out group')}, but one is told of at a time."
            " explain.group takes label=1 and so on; functions that take labels take labels_ == 1."
        )
    matrix = check_matrix(features_of(found.representation, X))
    if matrix.shape != (len(found.labels_), found.n_features_in_):
        raise InputError(
            f"The group was found in a table of {len(found.labels_):,} rows and "
            f"{found.n_features_in_:,} features, but this one has {matrix.shape[0]:,} and "
            f"{matrix.shape[1]:,}. Pass the table that it was found in."
        )
    return found, matrix


def for_same_size(found: MaxDisparityPartition) -> MaxDisparityPartition:
    """A search, not fitted, for a group as large as that found, where its solver takes a size."""
    size = int(found.sizes_[1]) if takes_sizes(found._check_names()) else None
    return clone(found).set_params(group_size=size, verbose=0)
