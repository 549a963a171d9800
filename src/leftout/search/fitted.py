"""Searches as others use them: checked before they are fitted, or asked after."""

from typing import Any

from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from leftout.asking import asking
from leftout.checks import Refusal
from leftout.core.losses import Array
from leftout.representation.base import features_of
from leftout.search.one_of import one_of
from leftout.search.partition import MaxDisparityPartition
from leftout.solvers import Solver, takes_sizes
from leftout.tables.matrix import check_matrix
from leftout.wording import counted


def prepare(estimator: MaxDisparityPartition, X: Any) -> tuple[Solver, Array]:
    """An estimator's solver and the table's matrix, both checked; nothing is fitted."""
    if not isinstance(estimator, MaxDisparityPartition):
        raise Refusal(
            f"Found {type(estimator).__name__} where a MaxDisparityPartition is needed; give the "
            "search first, then the table."
        )
    if estimator.n_groups != 2:
        raise Refusal(
            f"{asking('n_groups', estimator.n_groups)} was asked for, but one left-out group is "
            f"weighed at a time. Use {asking('n_groups', 2)}; leftout.trust_each weighs several, "
            "and leftout.how_many counts them."
        )
    return estimator._check_names(), check_matrix(features_of(estimator.representation, X))


def fitted_on(found: Any, X: Any, label: int | None = None) -> tuple[MaxDisparityPartition, Array]:
    """A fitted estimator (or the one that a ``Trust`` holds) and the matrix it was fitted on.

    ``label``: which of several left-out groups is asked about.
    """
    held = getattr(found, "partition", None)
    found = held if isinstance(held, MaxDisparityPartition) else found
    if not isinstance(found, MaxDisparityPartition):
        raise Refusal(
            f"Found {type(found).__name__} where a fitted MaxDisparityPartition (or what trust "
            "returns) is needed; give the finding first, then the table."
        )
    check_is_fitted(found)
    if label is not None:
        found = one_of(found, label)
    if found.n_groups_ != 2:
        raise Refusal(
            f"Found {counted(found.n_groups_ - 1, 'left-out group')}, but one is told of at a time."
            " explain.group takes label=1 and so on; functions that take labels take labels_ == 1."
        )
    matrix = check_matrix(features_of(found.representation, X))
    if matrix.shape != (len(found.labels_), found.n_features_in_):
        raise Refusal(
            f"The group was found in a table of {len(found.labels_):,} rows and "
            f"{found.n_features_in_:,} features, but this one has {matrix.shape[0]:,} and "
            f"{matrix.shape[1]:,}. Pass the table that it was found in."
        )
    return found, matrix


def for_same_size(found: MaxDisparityPartition) -> MaxDisparityPartition:
    """The same search, not fitted, for a group as large; a solver that takes no size is free."""
    size = int(found.sizes_[1]) if takes_sizes(found._check_names()) else None
    return clone(found).set_params(group_size=size, verbose=0)
