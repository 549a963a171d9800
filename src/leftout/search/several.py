"""More than one left-out group: how many sides, of what sizes, and which one a row belongs to."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from leftout.asking import asking
from leftout.checks import Refusal, is_int
from leftout.core.assignment import assign
from leftout.core.losses import Array
from leftout.core.problem import Problem
from leftout.core.several import row_values
from leftout.search.sizes import several_sizes
from leftout.solvers import SearchResult
from leftout.solvers.base import as_history

AUTO = "auto"
# Labels are kept in eight bits.
_MOST = 100


class Sides(NamedTuple):
    """How many sides a search has, the fewest rows of each, and the groups' sizes if given."""

    n_sides: int
    smallest: int
    sizes: list[int] | None

    @classmethod
    def asked(
        cls, n_groups: int, min_group_size: Any, group_size: Any, shape: tuple[int, ...]
    ) -> Sides:
        n_rows, n_features = shape
        return cls(
            n_groups, *several_sizes(min_group_size, group_size, n_groups, n_rows, n_features)
        )

    @classmethod
    def counted(cls, sizes: list[int], n_rows: int) -> Sides:
        """For groups that were counted, of these sizes."""
        return cls(len(sizes) + 1, max(1, min(*sizes, n_rows - sum(sizes), n_rows)), sizes)


def check_n_groups(n_groups: Any, group_size: Any) -> None:
    """Refuse what is no number of sides."""
    if n_groups == AUTO:
        if group_size is not None and np.ndim(group_size) != 0:
            raise Refusal(
                f"{asking('n_groups', AUTO)} counts the groups, but {asking('group_size')} is a "
                "list, one size for each. Give one size for all, or leave it free."
            )
        return
    if not (is_int(n_groups) and 2 <= int(n_groups) <= _MOST):
        raise Refusal(
            f"{asking('n_groups', n_groups)} is not a number of groups: give an int from 2 (one "
            f"left-out group and the rest) to {_MOST}, or 'auto'."
        )


def nobody(problem: Problem) -> SearchResult:
    """The partition in which all rows are the rest."""
    return SearchResult(
        labels=np.zeros(len(problem.X), dtype=np.int8),
        own=problem.V[None],
        history=as_history([], []),
        stopped="no group is more than comparison tables show",
    )


def offsets(problem: Problem, own: Array, sizes: NDArray[np.intp]) -> Array:
    """What a row's score must exceed, group by group: prices, in units of the loss."""
    prices = assign(row_values(problem, own, sizes.tolist()), sizes.tolist()).prices
    return prices[1:] * _units(sizes)


def scores(losses: Array, sizes: NDArray[np.intp]) -> Array:
    """How far rows lean to each group, from what they add to the loss of each side.

    ``a_ij + g k_j / (m - sum k) b_i``: what the mean disparity gains from the row's being in group
    ``j`` rather than in the rest, times ``g k_j``. Shape (rows, groups).
    """
    return losses[:, 1:] + _units(sizes) / sizes[0] * losses[:, :1]


def places(scored: Array, offset: Array, sizes: NDArray[np.intp]) -> NDArray[np.intp]:
    """The side of each row: where its score exceeds the offset by most, per unit; else the rest."""
    beyond = np.column_stack([np.zeros(len(scored)), (scored - offset) / _units(sizes)])
    return np.argmax(beyond, axis=1).astype(np.intp)


def _units(sizes: NDArray[np.intp]) -> Array:
    return (len(sizes) - 1) * sizes[1:].astype(np.float64)
