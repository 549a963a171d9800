"""From the groups' moments to the fair projection, beside the shared PCA it replaces."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from leftout.core.losses import Array, Loss, own_components, shared_pca
from leftout.core.moments import Moments
from leftout.fair import expansion, subspace
from leftout.fair.leading import Leading, few_of_many, leading
from leftout.fair.objective import ROUNDING, Answer, Objective, projection
from leftout.fair.rounding import rounded

OBJECTIVES = ("excess", "variance")
# Each step about squares the gap: the last one is asked for a little more than was asked for.
_SAFE = 0.01


class Mended(NamedTuple):
    """The fair answer of one number of dimensions, and the shared PCA's."""

    answer: Answer  # its losses are what the objective makes small
    losses: Array  # excess loss of each group
    kept: Array  # average variance kept of each group
    baseline: Array  # shared components, one a row
    baseline_losses: Array
    baseline_kept: Array
    rank_d: Array | None  # best found with exactly d dimensions, where the answer has more
    rank_d_losses: Array | None


def mend(
    rule: Loss,
    moments: Moments,
    d: int,
    objective: str,
    tol: float,
    pooled: Leading | None = None,
) -> Mended:
    """Fair PCA with ``d`` components for groups known by their moments.

    Parameters
    ----------
    rule : Loss
        Decides what each group's own PCA is.
    moments : Moments
        Of each group; none may be empty.
    d : int
    objective : {"excess", "variance"}
        Make the largest excess loss small, or the smallest kept variance large.
    tol : float
        Gap to stop at, as a share of the objective.
    pooled : Leading, optional
        Eigenpairs of all rows' average second moments, where they are known.
    """
    second = moments.second / moments.count[:, None, None]
    k, n = second.shape[:2]
    shares = moments.count / moments.count.sum()
    excess = Objective(second, np.zeros(k), d)
    columns = min(subspace.width(d, k), n)
    expand = k == 2 and expansion.pays(n, d) and not few_of_many(n, columns)
    everyone = excess.mix(shares)
    if pooled is None or (expand and len(pooled.values) < n):
        pooled = leading(everyone, n if expand else columns)
    own = [] if expand else [leading(S, columns) for S in second]
    if rule.own_mean:
        baseline = shared_pca(rule, moments, d).components
        best = excess.kept_by(own_components(rule, moments, d))
    else:
        baseline = np.ascontiguousarray(pooled.vectors[:, :d].T)
        values = [pairs.values for pairs in own] or [np.linalg.eigvalsh(S)[::-1] for S in second]
        best = np.array([each[:d].sum() for each in values])
    excess = excess._replace(best=best)
    aim = excess if objective == "excess" else excess._replace(best=np.zeros(k))
    baseline_losses = excess.losses(baseline)
    equal = baseline_losses.max() - baseline_losses.min() <= ROUNDING * excess.scale
    if d == n:  # everything is kept, and the group that fares worst proves it
        losses = aim.losses(baseline)
        worst = int(losses.argmax())
        answer = projection(aim, baseline, np.eye(k)[worst], float(losses[worst]))
    elif k == 1 or (equal and objective == "excess" and not rule.own_mean):
        # nothing to weigh: one group's best, or losses that are equal already
        V = np.ascontiguousarray(pooled.vectors[:, :d].T)
        answer = projection(aim, V, shares, aim.bound(shares, pooled.values))
    else:
        answer = _solve(aim, shares, pooled, own, _SAFE * tol)
    rank_d, rank_d_losses = None, None
    if len(answer.V) > d:
        rank_d, aimed = rounded(aim, answer)
        rank_d_losses = excess.losses(rank_d)
        allowed = max(tol * abs(answer.bound), ROUNDING * aim.scale)
        if aimed.max() <= max(answer.bound + allowed, float(answer.losses.max())):
            answer = projection(aim, rank_d, answer.weights, answer.bound)
            rank_d, rank_d_losses = None, None
    if aim.losses(baseline).max() < answer.losses.max():  # only where digits run out
        answer = projection(aim, baseline, answer.weights, answer.bound)
        rank_d, rank_d_losses = None, None
    kept = excess.kept(answer.V, answer.occupation)
    baseline_kept = excess.best - baseline_losses
    losses = excess.best - kept
    if not rule.own_mean:  # a loss is not negative, but for rounding
        losses, baseline_losses = np.maximum(losses, 0.0), np.maximum(baseline_losses, 0.0)
    return Mended(
        answer._replace(losses=losses if aim is excess else aim.best - kept),
        losses,
        kept,
        baseline,
        baseline_losses,
        baseline_kept,
        rank_d,
        rank_d_losses,
    )


def _solve(
    objective: Objective, shares: Array, pooled: Leading, own: list[Leading], tol: float
) -> Answer:
    """By the way that suits the size; without ``own``, from all pooled eigenpairs."""
    if not own:
        answer = expansion.solve(objective, float(shares[0]), pooled, tol)
        if answer is not None:
            return answer
        own = [leading(S, len(S)) for S in objective.second]
    seen = [
        subspace.Seen.at(objective, weights, pairs)
        for weights, pairs in zip((*np.eye(len(shares)), shares), (*own, pooled), strict=True)
    ]
    return subspace.solve(objective, seen, tol)
