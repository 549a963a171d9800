"""Searches as others use them: checked before they are fitted, or asked after."""

from __future__ import annotations

from typing import Any

from sklearn.base import clone

from leftout.errors import InputError
from leftout.groups.partition import MaxDisparityPartition
from leftout.solvers import takes_sizes


def check_search(estimator: Any) -> None:
    """Refuse what is no search."""
    if not isinstance(estimator, MaxDisparityPartition):
        raise InputError(
            f"Found {type(estimator).__name__} where a MaxDisparityPartition is needed; give the "
            "search first, then the table."
        )


def for_same_size(found: MaxDisparityPartition) -> MaxDisparityPartition:
    """A search, not fitted, for groups as large as those found, where its solver takes sizes."""
    sizes: list[Any] = [None]
    if takes_sizes(found._check_names()):
        sizes = [group.sought for group in found.left_out_groups_]
    return clone(found).set_params(group_size=sizes if len(sizes) > 1 else sizes[0], verbose=0)
