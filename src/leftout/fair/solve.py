"""From the groups' moments to the fair projection, beside the shared PCA it replaces."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from leftout.core.losses import Array, Loss, own_components, shared_pca
from leftout.core.moments import Moments
from leftout.fair import subspace
from leftout.fair.objective import ROUNDING, Answer, Leading, Objective, leading, projection
from leftout.fair.rounding import rounded

# Each step about squares the gap: the last one is asked for a little more than was asked for.
_SAFE = 0.01


class Mended(NamedTuple):
    """The fair answer of one number of dimensions, and the shared PCA's."""

    answer: Answer
    best: Array  # average variance of each group that its own components keep
    baseline: Array  # shared components, as rows
    baseline_losses: Array
    rank_d: Array | None  # best found with exactly d dimensions, where the answer has more
    rank_d_losses: Array | None

    @property
    def losses(self) -> Array:
        """Average loss of each group."""
        return self.answer.losses


def mend(rule: Loss, moments: Moments, d: int, tol: float, pooled: Leading | None = None) -> Mended:
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
    known = Known.of(second, moments.count / moments.count.sum(), d, pooled)
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
    return Mended(
        answer._replace(losses=np.maximum(after, least)),
        best,
        baseline,
        np.maximum(before, least),
        rank_d,
        None if rank_d is None else objective.losses(rank_d),
    )


class Known(NamedTuple):
    """What is known of the dual before it is searched: leading eigenpairs at some weights."""

    shares: Array  # of all rows, that each group has: the weights of ordinary PCA
    pooled: Leading  # at these
    own: list[Leading]  # at each group's own

    @classmethod
    def of(cls, second: Array, shares: Array, d: int, pooled: Leading | None) -> Known:
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


def _fairest(objective: Objective, known: Known, tol: float) -> tuple[Answer, Array | None]:
    """The fair answer and, where it has more than ``d`` dimensions, components of exactly ``d``."""
    V = known.shared(objective.d)
    losses = objective.losses(V)
    if objective.d == V.shape[1]:  # everything is kept; the group that fares worst proves it
        worst = int(losses.argmax())
        return projection(objective, V, np.eye(len(losses))[worst], float(losses[worst])), None
    if np.ptp(losses) <= ROUNDING * objective.scale:
        # one group, or equal losses: PCA has the least weighted sum, so no maximum is smaller
        bound = objective.bound(known.shares, known.pooled.values)
        return projection(objective, V, known.shares, bound), None
    answer = subspace.solve(objective, known.seen(), _SAFE * tol)
    if len(answer.V) == objective.d:
        return answer, None
    V, losses = rounded(objective, answer)
    allowed = max(tol * abs(answer.bound), ROUNDING * objective.scale)
    if losses.max() <= max(answer.bound + allowed, float(answer.losses.max())):
        return projection(objective, V, answer.weights, answer.bound), None
    return answer, V
