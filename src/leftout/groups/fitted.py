"""Searches as others use them: checked before they are fitted, or asked after."""

from __future__ import annotations

from typing import Any

from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from leftout.checks import is_int
from leftout.data.matrix import check_matrix
from leftout.errors import InputError, parameter_label
from leftout.groups.left_out import LeftOut
from leftout.groups.partition import MaxDisparityPartition
from leftout.linalg.losses import Array
from leftout.representation.base import features_of
from leftout.solvers import takes_sizes
from leftout.text import counted


def check_search(estimator: Any) -> None:
    """Refuse what is no search."""
    if not isinstance(estimator, MaxDisparityPartition):
        raise InputError(
            f"Found {type(estimator).__name__} where a MaxDisparityPartition is needed; give the "
            "search first, then the table."
        )


def fitted_on(
    found: Any, X: Any, label: int | None = None
) -> tuple[MaxDisparityPartition, LeftOut, Array]:
    """A fitted estimator (or the one that a ``Trust`` holds), a group, and the matrix it is of.

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
    n_groups = counted(found.n_groups_, "left-out group")
    if label is None and found.n_groups_ != 1:
        raise InputError(
            f"Found {n_groups}, but one is told of at a time."
            " explain.group takes label=1 and so on; functions that take labels take labels_ == 1."
        )
    if label is not None and not (is_int(label) and 1 <= label <= found.n_groups_):
        raise InputError(
            f"{parameter_label('label', label)} is no left-out group: found {n_groups}, numbered "
            "from 1."
        )
    matrix = check_matrix(features_of(found.representation, X))
    if matrix.shape != (len(found.labels_), found.n_features_in_):
        raise InputError(
            f"The group was found in a table of {len(found.labels_):,} rows and "
            f"{found.n_features_in_:,} features, but this one has {matrix.shape[0]:,} and "
            f"{matrix.shape[1]:,}. Pass the table that it was found in."
        )
    return found, found.left_out_groups_[(label or 1) - 1], matrix


def for_same_size(found: MaxDisparityPartition) -> MaxDisparityPartition:
    """A search, not fitted, for groups as large as those found, where its solver takes sizes."""
    sizes: list[Any] = [None]
    if takes_sizes(found._check_names()):
        sizes = [group.sought for group in found.left_out_groups_]
    return clone(found).set_params(group_size=sizes if len(sizes) > 1 else sizes[0], verbose=0)
