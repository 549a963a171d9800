"""From a checked matrix to the problem that a search is given."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from leftout.asking import asking
from leftout.checks import Refusal
from leftout.core.components import check_components
from leftout.core.losses import WIDE, Array, Loss, Shared, Summary, summarise
from leftout.core.moments import Moments
from leftout.core.problem import Problem

# Tables up to this many values are copied once, centred, and searched with one BLAS thread.
SMALL = 1 << 22
# The leading axes of a wide table hold this share of what the shared components leave.
_NEARLY_ALL = 0.8


class Posed(NamedTuple):
    """A table's problem, and the table as PCA sees it."""

    problem: Problem
    table: Summary
    explained: Array  # share of variance, of all components

    def resized(self, smallest: int | None = None, size: int | None = None) -> Posed:
        """The same table with other sizes allowed."""
        smallest = self.problem.min_size if smallest is None else smallest
        problem = replace(self.problem, min_size=smallest, group_size=size)
        _check_own_means(problem)
        return self._replace(problem=problem)


def pose(
    X: Array, n_components: Any, loss: str, centering: str, smallest: int, size: int | None
) -> Posed:
    """The search's problem on a checked matrix."""
    if loss == "excess" and centering == "paper":
        raise Refusal(
            "centering='paper' exists to reproduce published figures and goes with "
            "loss='projection_gap', but loss='excess' was asked for. Use loss='projection_gap', "
            "or centering='global' for the definition."
        )
    rule = Loss.named(loss, centering)
    table = summarise(X, centering)
    shared = check_components(rule, table, n_components)
    problem = Problem(
        X=table.rows,
        loss=rule,
        V=shared.components,
        pooled=table.moments,
        min_size=smallest,
        group_size=size,
    )
    _check_own_means(problem)
    if table.rows.size <= SMALL:
        problem = problem.centred()
        if min(table.rows.shape) > WIDE and rule.own_is_best:
            problem = _in_principal_axes(problem, shared)
            axes = shared.axes.T
            table = table._replace(back=axes if table.back is None else table.back @ axes)
    return Posed(problem, table, shared.eigenvalues / shared.eigenvalues.sum())


def _in_principal_axes(problem: Problem, shared: Shared) -> Problem:
    """A centred problem in coordinates of the table's principal axes.

    Few of them hold nearly all that the shared components leave: a search can go a long way in
    these alone.
    """
    n, values = problem.X.shape[1], shared.eigenvalues
    left = np.cumsum(values[problem.d :])
    count, total, _, origin = problem.pooled
    return replace(
        problem,
        X=problem.X @ shared.axes.T,
        V=np.eye(n)[: problem.d],
        pooled=Moments(count, total @ shared.axes.T, np.diag(values)[None], origin),
        leading=problem.d + 1 + int(np.searchsorted(left, _NEARLY_ALL * left[-1])),
    )


def _check_own_means(problem: Problem) -> None:
    """About its own mean, a group of d rows or fewer has no d components."""
    size = problem.group_size
    fewest = problem.min_size if size is None else min(size, problem.n_rows - size)
    if problem.loss.own_mean and fewest <= problem.d:
        raise Refusal(
            f"The paper's centring takes each group's {problem.d} components about its own mean, "
            f"which needs at least {problem.d + 1} rows, but a side may have {fewest}. Raise "
            f"{asking('min_group_size')} or {asking('group_size')}, or lower "
            f"{asking('n_components')}."
        )
