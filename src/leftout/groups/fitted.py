"""Searches as others use them: checked before they are fitted, or asked after."""

from __future__ import annotations

from typing import Any

from sklearn.base import clone

from leftout.data.matrix import check_matrix
from leftout.errors import InputError, parameter_label
from leftout.groups.partition import MaxDisparityPartition
from leftout.linalg.losses import Array
from leftout.representation.base import features_of
from leftout.solvers import Solver, takes_sizes


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


def for_same_size(found: MaxDisparityPartition) -> MaxDisparityPartition:
    """A search, not fitted, for groups as large as those found, where its solver takes sizes."""
    sizes: list[Any] = [None]
    if takes_sizes(found._check_names()):
        sizes = [group.sought for group in found.left_out_groups_]
    return clone(found).set_params(group_size=sizes if len(sizes) > 1 else sizes[0], verbose=0)
