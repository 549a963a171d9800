"""From the groups' moments to the fair projection, beside the shared PCA it replaces.

The best projection of exactly ``d`` dimensions near an answer that takes more.

There is no certificate for it but the relaxation's own bound: the problem with exactly ``d``
dimensions is not convex. A local search from two starts is what can be done.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import minimize

from leftout.fair import subspace
from leftout.fair.objective import (
    EIGENVALUE_ROUNDING,
    FairAnswer,
    Leading,
    Objective,
    leading,
    projection,
)
from leftout.linalg.losses import Array, Loss, own_components, shared_pca
from leftout.linalg.moments import Moments

# Turn at most this many of the kept directions, into at most this many others.
_KEPT, _OTHERS = 12, 8


def rounded(objective: Objective, answer: FairAnswer) -> tuple[Array, Array]:
    """Components of exactly ``d`` dimensions (rows), and the groups' losses under them."""
    d = objective.d
    n = objective.second.shape[1]
    few = max(d - _KEPT, 0)
    count = min(len(answer.V) + _OTHERS, n)
    order = np.argsort(-answer.occupation, kind="stable")
    most = answer.V[order[:d]]
    vectors = leading(objective.mix(answer.weights), count).vectors[:, :count]
    best = None
    for start in (most, vectors[:, :d].T):
        # the answer's directions first, then what the weighted moments would take next
        basis = np.linalg.qr(np.column_stack([start.T, answer.V.T, vectors]))[0][:, :count]
        fixed, free = basis[:, :few].T, basis[:, few:]
        small = objective.within(free)._replace(
            best=objective.losses(fixed) if few else objective.best, d=d - few
        )
        V = np.vstack([fixed, _descend(small) @ free.T])
        losses = objective.losses(V)
        if best is None or losses.max() < best[1].max():
            best = V, losses
    assert best is not None
    return best


def _descend(objective: Objective) -> Array:
    """Lower the largest loss from the first ``d`` coordinates on, by sequential programming.

    A subspace near them is the row space of ``[I, Z]``; unknown are ``Z`` and the largest loss.
    """
    d, p = objective.d, objective.second.shape[1]
    scale = objective.scale

    def rows(Z: Array) -> Array:
        return np.hstack([np.eye(d), Z[:-1].reshape(d, p - d)])

    def room(Z: Array) -> Array:
        """How far every group's loss is below the common one."""
        return Z[-1] - objective.losses(_orthonormal(rows(Z))) / scale

    def slopes(Z: Array) -> Array:
        Y = rows(Z)
        inverse = np.linalg.inv(Y @ Y.T)
        off = np.eye(p) - Y.T @ inverse @ Y
        each = [2.0 * (inverse @ Y @ S @ off)[:, d:].ravel() / scale for S in objective.second]
        return np.column_stack([np.array(each), np.ones(len(each))])

    start = np.zeros(d * (p - d) + 1)
    start[-1] = objective.losses(np.eye(p)[:d]).max() / scale
    down = np.append(np.zeros(len(start) - 1), 1.0)
    constraint: dict[str, Any] = {"type": "ineq", "fun": room, "jac": slopes}
    found = minimize(
        lambda Z: Z[-1], start, jac=lambda Z: down, constraints=[constraint], method="SLSQP",
        options={"ftol": 1e-13, "maxiter": 200},
    )  # fmt: skip
    V = _orthonormal(rows(found.x))
    standing = np.eye(p)[:d]
    return V if objective.losses(V).max() <= objective.losses(standing).max() else standing


def _orthonormal(Y: Array) -> Array:
    return np.linalg.qr(Y.T)[0].T


# Each step about squares the gap: the last one is asked for a little more than was asked for.
_SAFE = 0.01


class FairSolution(NamedTuple):
    """The fair answer of one number of dimensions, and the shared PCA's."""

    answer: FairAnswer
    best: Array  # average variance of each group that its own components keep
    baseline: Array  # shared components, as rows
    baseline_losses: Array
    rank_d: Array | None  # best found with exactly d dimensions, where the answer has more
    rank_d_losses: Array | None

    @property
    def losses(self) -> Array:
        """Average loss of each group."""
        return self.answer.losses


def solve_fair(
    rule: Loss, moments: Moments, d: int, tol: float, pooled: Leading | None = None
) -> FairSolution:
    """Fair PCA with ``d`` components for groups known by their moments.

    Parameters
    ----------
    rule : Loss
        Decides what each group's own PCA is.
    moments : Moments
        Of each group; none may be empty.
    d : int
    tol : float
        Gap to stop at, as a share of the largest loss.
    pooled : Leading, optional
        All eigenpairs of all rows' average second moments, where they are known.
    """
    second = moments.second / moments.count[:, None, None]
    known = GivenGroups.of(second, moments.count / moments.count.sum(), d, pooled)
    if rule.own_mean:
        own, least = own_components(rule, moments, d), -np.inf
        best = np.array([np.sum((W @ S) * W) for W, S in zip(own, second, strict=True)])
        baseline = shared_pca(rule, moments, d).components
    else:
        best = np.array([pairs.values[:d].sum() for pairs in known.own])
        baseline, least = known.shared(d), 0.0  # only rounding makes a loss negative
    objective = Objective(second, best, d)
    before = objective.losses(baseline)
    answer, rank_d = _fairest(objective, known, tol)
    if before.max() < answer.losses.max():  # only where digits run out
        answer, rank_d = projection(objective, baseline, answer.weights, answer.bound), None
    after = objective.losses(answer.V, answer.occupation)
    return FairSolution(
        answer._replace(losses=np.maximum(after, least)),
        best,
        baseline,
        np.maximum(before, least),
        rank_d,
        None if rank_d is None else objective.losses(rank_d),
    )


class GivenGroups(NamedTuple):
    """What is known of the dual before it is searched: leading eigenpairs at some weights."""

    shares: Array  # of all rows, that each group has: the weights of ordinary PCA
    pooled: Leading  # at these
    own: list[Leading]  # at each group's own

    @classmethod
    def of(cls, second: Array, shares: Array, d: int, pooled: Leading | None) -> GivenGroups:
        columns = subspace.width(d, len(second))
        if pooled is None:
            pooled = leading(np.tensordot(shares, second, 1), columns)
        own = [leading(S, columns) for S in second] if len(second) > 1 else [pooled]
        return cls(shares, pooled, own)

    def shared(self, d: int) -> Array:
        """Leading components of all rows about the origin, as rows."""
        return np.ascontiguousarray(self.pooled.vectors[:, :d].T)

    def seen(self) -> list[subspace.Seen]:
        weights = (*np.eye(len(self.shares)), self.shares)
        return [
            subspace.Seen(w, pairs)
            for w, pairs in zip(weights, (*self.own, self.pooled), strict=True)
        ]


def _fairest(
    objective: Objective, known: GivenGroups, tol: float
) -> tuple[FairAnswer, Array | None]:
    """The fair answer and, where it has more than ``d`` dimensions, components of exactly ``d``."""
    V = known.shared(objective.d)
    losses = objective.losses(V)
    if objective.d == V.shape[1]:  # everything is kept; the group that fares worst proves it
        worst = int(losses.argmax())
        return projection(objective, V, np.eye(len(losses))[worst], float(losses[worst])), None
    if np.ptp(losses) <= EIGENVALUE_ROUNDING * objective.scale:
        # one group, or equal losses: PCA has the least weighted sum, so no maximum is smaller
        bound = objective.bound(known.shares, known.pooled.values)
        return projection(objective, V, known.shares, bound), None
    answer = subspace.solve(objective, known.seen(), _SAFE * tol)
    if len(answer.V) == objective.d:
        return answer, None
    V, losses = rounded(objective, answer)
    allowed = max(tol * abs(answer.bound), EIGENVALUE_ROUNDING * objective.scale)
    if losses.max() <= max(answer.bound + allowed, float(answer.losses.max())):
        return projection(objective, V, answer.weights, answer.bound), None
    return answer, V
