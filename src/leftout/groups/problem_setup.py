"""From a checked matrix to the problem that a search is given."""

from dataclasses import replace
from typing import Any, NamedTuple, Self

import numpy as np
from scipy import linalg

from leftout.data.conditions import Mask
from leftout.errors import InputError, parameter_label
from leftout.linalg.bounds import top_sums
from leftout.linalg.losses import WIDE, Array, Loss, Shared, Summary, shared_pca, summarise
from leftout.linalg.moments import Moments, SparseRows
from leftout.linalg.problem import Problem
from leftout.representation.base import (
    Representation,
    as_representation,
    check_components,
    check_variance,
)
from leftout.text import counted

# Tables up to this many values are copied once, centred, and searched with one BLAS thread.
SMALL = 1 << 22
# Searches of a large sparse table start in so many axes beside the shared components.
_AXES = 256
# The leading axes of a wide table hold this share of what the shared components leave.
_NEARLY_ALL = 0.8
# Where many groups of a wide table are looked at, it is in the axes that hold this share of all.
_MOST_OF_ALL = 0.99


class SearchProblem(NamedTuple):
    """A table's problem, and the table as PCA sees it."""

    problem: Problem
    table: Summary
    # share of variance of all components; of a representation that is given, of each of its own,
    # or of all together where it is no projection
    explained: Array
    representation: Representation  # what is shared, in the table's columns

    def resized(self, smallest: int | None = None, size: int | None = None) -> Self:
        """The table's problem with other sizes allowed."""
        smallest = self.problem.min_size if smallest is None else smallest
        problem = replace(self.problem, min_size=smallest, group_size=size)
        _check_own_means(problem)
        return self._replace(problem=problem)


def build_problem(
    X: Array,
    n_components: Any,
    loss: str = "excess",
    centering: str = "global",
    smallest: int = 1,
    size: int | None = None,
    representation: Any = None,
    weights: Array | None = None,
    below_rank: bool = True,
) -> SearchProblem:
    """The search's problem on a checked matrix.

    ``representation`` is what rows share; None: their PCA with ``n_components`` components, which
    leave something out where they have to be ``below_rank``: searches need it, losses do not.
    ``weights`` are what each row counts, 1 on average and above 0.
    """
    rule, given = Loss.named(loss, centering), None
    if representation is not None:
        given = as_representation(representation)
        _check_given(given, X)
    origin = None if given is None else given.origin
    table = summarise(X, centering, origin=origin, weights=weights)
    moments, kept, principal = table.moments, None, None
    if given is None:
        principal = check_components(rule, table, n_components, below_rank=below_rank)
        V, explained = principal.components, principal.eigenvalues / principal.eigenvalues.sum()
    else:
        given = given.at(table.mean)
        variance = float(np.trace(moments.second[0]))
        check_variance(variance, X.shape[1])
        if given.components is None:
            # the PCA of the rows is where searches start
            kept = given.kept(X) if weights is None else given.kept(X) * weights
            V = shared_pca(rule, moments, given.rank).components
            moments = moments._replace(kept=np.array([kept.sum()]))
            explained = np.array([kept.sum() / variance])
        else:
            V = given.components if table.back is None else given.components @ table.back
            explained = np.einsum("in,nk,ik->i", V, moments.second[0], V, optimize=True) / variance
    problem = Problem(
        X=table.rows,
        loss=rule,
        V=np.ascontiguousarray(V),
        pooled=moments,
        min_size=smallest,
        group_size=size,
        kept=kept,
        refit=given is None,
        weights=weights,
    )
    if table.rows.size <= SMALL:
        problem = problem.part(problem.rows(), 1.0, problem.kept, weights)
        if below_rank and min(table.rows.shape) > WIDE and rule.own_is_best and kept is None:
            problem, axes = _turned(problem, principal)
            table = table._replace(back=axes.T if table.back is None else table.back @ axes.T)
    elif isinstance(X, SparseRows):
        axes = residual_axes(problem) if principal is None else principal.axes
        problem = replace(problem, axes=axes[: problem.d + _AXES])
    if given is None:
        given = fitted_here(table, table.in_columns(problem.V))
    return SearchProblem(problem, table, explained, given)


def fitted_here(table: Summary, components: Array) -> Representation:
    """The PCA of a table as a representation."""
    d, n = components.shape
    return Representation(
        name="PCA", rank=d, n_features=n, origin=table.mean, components=components
    )


def _check_given(given: Representation, X: Array) -> None:
    """Refuse a representation of other features, or of as many dimensions as these."""
    n_features = X.shape[1]
    if given.n_features != n_features:
        raise InputError(
            f"The representation, {given.name}, has {given.n_features:,} features, but the table "
            f"has {n_features:,}. Pass the features that it was fitted on."
        )
    if given.rank >= n_features:
        raise InputError(
            f"The representation, {given.name}, has {counted(given.rank, 'component')} for "
            f"{counted(n_features, 'feature')}: nothing is left out. Give one of lower rank."
        )
    if isinstance(X, SparseRows) and not given.is_projection:
        raise InputError(
            f"The representation, {given.name}, is no projection, so its errors fill a table as "
            f"large as this sparse one ({len(X):,} x {n_features:,}). Pass fewer rows, or "
            "X.toarray() where memory allows."
        )


def check_rule(representation: Any, loss: Loss) -> None:
    """Refuse a loss that is not defined for a representation that is given."""
    if representation is not None and not loss.own_is_best:
        raise InputError(
            "A representation that is given is audited by the loss 'excess' with centering='global'"
            " or 'none', but others were asked for. Use these, or leave representation=None."
        )


def residual_axes(problem: Problem) -> Array:
    """The shared components, then the principal axes of what they leave, as rows."""
    V = np.linalg.qr(problem.V.T)[0].T  # not quite orthonormal in coordinates of fewer rows
    S = problem.pooled.second[0]
    left = S - V.T @ (V @ S)
    left = left - (left @ V.T) @ V
    # a shift below all others puts the components last
    vectors = linalg.eigh(left - np.trace(S) * (V.T @ V), check_finite=False)[1][:, ::-1]
    return np.vstack([V, vectors[:, : len(S) - len(V)].T])


def _turned(problem: Problem, principal: Shared | None) -> tuple[Problem, Array]:
    """A centred problem in coordinates of principal axes, or of those behind what is given.

    Few of them hold nearly all that the shared components leave: a search can go a long way in
    these alone.
    """
    d, (count, total, second, origin, kept) = problem.d, problem.pooled
    if principal is None:
        axes = residual_axes(problem)
        V, turned = problem.V @ axes.T, axes @ second[0] @ axes.T
    else:
        axes = principal.axes
        V, turned = np.eye(len(axes))[:d], np.diag(principal.eigenvalues)
    left = np.cumsum(np.diagonal(turned)[d:])
    leading = d + 1 + int(np.searchsorted(left, _NEARLY_ALL * left[-1]))
    pooled = Moments(count, total @ axes.T, turned[None], origin, kept)
    return replace(problem, X=problem.X @ axes.T, V=V, pooled=pooled, leading=leading), axes


def _check_own_means(problem: Problem) -> None:
    """About its own mean, a group of d rows or fewer has no d components."""
    size = problem.group_size
    fewest = problem.min_size if size is None else min(size, problem.n_rows - size)
    if problem.loss.own_mean and fewest <= problem.d:
        raise InputError(
            f"The paper's centring takes each group's {problem.d} components about its own mean, "
            f"which needs at least {problem.d + 1} rows, but a side may have {fewest}. Raise "
            f"{parameter_label('min_group_size')} or {parameter_label('group_size')}, or lower "
            f"{parameter_label('n_components')}."
        )


class Rows(NamedTuple):
    """A table in its principal axes."""

    Z: Array
    d: int
    eigenvalues: Array  # sums of squares along the axes
    kept: Array  # of each row, less the shift
    shift: float = 0.0  # what a group may gain: no loss beyond it is negative
    weights: Array | None = None  # what each row counts; rows then have the roots as factors

    @classmethod
    def of(cls, problem: Problem) -> Self:
        """Without the axes along which nothing varies."""
        shared = shared_pca(problem.loss, problem.pooled, problem.d)
        values = shared.eigenvalues
        least = values[0] * max(problem.n_rows, len(values)) * np.finfo(float).eps
        n = int(np.sum(values > least))
        axes = shared.axes[: max(n, problem.d + 1)]
        Z, kept = np.ascontiguousarray(problem.rows() @ axes.T), problem.norms_and_kept[1]
        shift = 0.0
        if problem.kept is not None:
            # A group's own components keep at least what the leading axes do: so no average of
            # what these keep beyond the representation is above the group's loss.
            leading = np.einsum("ij,ij->i", Z[:, : problem.d], Z[:, : problem.d])
            shift = max(0.0, float(problem.by_weight(kept - leading).max()))
        rows = cls(Z, problem.d, values[: len(axes)], kept, shift, problem.weights)
        return rows._replace(kept=kept - rows._shifts)

    @property
    def _shifts(self) -> Any:
        return self.shift if self.weights is None else self.shift * self.weights

    @property
    def all_kept(self) -> Array:
        return self.kept + self._shifts

    def weight(self, mask: Mask) -> float:
        return int(mask.sum()) if self.weights is None else float(self.weights[mask].sum())

    def leading(self) -> Self:
        """The same in the leading axes alone, where there are many: much quicker to search."""
        if len(self.eigenvalues) <= WIDE:
            return self
        held = np.cumsum(self.eigenvalues)
        q = max(self.d + 1, 1 + int(np.searchsorted(held, _MOST_OF_ALL * held[-1])))
        Z = np.ascontiguousarray(self.Z[:, :q])
        return self._replace(Z=Z, eigenvalues=self.eigenvalues[:q])

    def difference(self, mask: Mask) -> float:
        """Loss of some rows minus that of the others; 0 where either is empty."""
        k, m = self.weight(mask), len(self.Z)
        if not 0 < k < m:
            return 0.0
        Z = self.Z[mask]
        S = Z.T @ Z
        own = top_sums(np.stack([S, np.diag(self.eigenvalues) - S]), self.d)
        lost, of_rest = own - [self.kept[mask].sum(), self.kept[~mask].sum()]
        return float(lost / k - of_rest / (m - k))

    @property
    def residuals(self) -> Array:
        return np.einsum("ij,ij->i", self.Z, self.Z) - self.kept
