"""From a checked matrix to the problem that a search is given: the one way to moments."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

from leftout.checks import Refusal
from leftout.core.components import check_components
from leftout.core.losses import Array, Loss, coordinates, origin_of, table_moments
from leftout.core.moments import build
from leftout.core.problem import Problem

# Tables up to this many values are copied once, centred, and searched with one BLAS thread.
SMALL = 1 << 22


class Posed(NamedTuple):
    """A table's problem, and the way from its coordinates back to the table's columns."""

    problem: Problem
    origin: Array
    explained: Array  # share of variance, of all components
    back: Array | None  # where the columns were reduced

    def in_columns(self, components: Array) -> Array:
        """Components of the problem as components of the table."""
        return components if self.back is None else components @ self.back.T

    def resized(self, smallest: int | None = None, size: int | None = None) -> Posed:
        """The same table with other sizes allowed."""
        smallest = self.problem.min_size if smallest is None else smallest
        problem = replace(self.problem, min_size=smallest, group_size=size)
        _check_own_means(problem)
        return self._replace(problem=problem)


def pose(
    X: Array, n_components: Any, loss: str, centering: str, smallest: int, size: int | None
) -> Posed:
    """The search's problem on a checked matrix.

    With more columns than rows, all rows lie in a subspace of as many dimensions as rows, and a
    rotation changes no loss: the search works in coordinates of that subspace.
    """
    if loss == "excess" and centering == "paper":
        raise Refusal(
            "centering='paper' exists to reproduce published figures and goes with "
            "loss='projection_gap', but loss='excess' was asked for. Use loss='projection_gap', "
            "or centering='global' for the definition."
        )
    rule = Loss.named(loss, centering)
    if X.shape[1] > X.shape[0]:
        origin = origin_of(X, centering)
        X, back = coordinates(X - origin)
        moments = build(X)
    else:
        back, moments = None, table_moments(X, centering)
        origin = moments.origin
    shared = check_components(rule, moments, n_components)
    problem = Problem(
        X=X,
        loss=rule,
        V=shared.components,
        pooled=moments,
        min_size=smallest,
        group_size=size,
    )
    _check_own_means(problem)
    if X.size <= SMALL:
        problem = problem.centred()
    return Posed(problem, origin, shared.eigenvalues / shared.eigenvalues.sum(), back)


def _check_own_means(problem: Problem) -> None:
    """About its own mean, a group of d rows or fewer has no d components."""
    size = problem.group_size
    fewest = problem.min_size if size is None else min(size, problem.n_rows - size)
    if problem.loss.own_mean and fewest <= problem.d:
        raise Refusal(
            f"centering='paper' takes each group's {problem.d} components about its own mean, "
            f"which needs at least {problem.d + 1} rows, but a side may have {fewest}. Raise "
            "min_group_size or group_size, lower n_components, or use centering='global'."
        )
