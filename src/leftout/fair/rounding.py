"""The best projection of exactly ``d`` dimensions near an answer that takes more.

There is no certificate for it but the relaxation's own bound: the problem with exactly ``d``
dimensions is not convex. A local search from two starts is what can be done.
"""

from typing import Any

import numpy as np
from scipy.optimize import minimize

from leftout.core.losses import Array
from leftout.fair.objective import Answer, Objective, leading

# Turn at most this many of the kept directions, into at most this many others.
_KEPT, _OTHERS = 12, 8


def rounded(objective: Objective, answer: Answer) -> tuple[Array, Array]:
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
