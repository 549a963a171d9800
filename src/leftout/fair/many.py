"""Any number of groups: the dual over the simplex of weights, by a barrier.

With ``mu (logdet F + logdet(I - F))`` added, the best ``F`` for given weights has the eigenvectors
of the weighted second moments, and occupies each to a share ``f`` with

    (l - tau) / mu = 1 / (1 - f) - 1 / f,      sum f = d.

What is left is a smooth concave function of the weights, whose gradient and Hessian come with the
eigendecomposition. Newton's method follows its maximum as ``mu`` goes to zero, whatever
eigenvalues cross on the way; :mod:`leftout.fair.faces` then makes an exact answer of it.
"""

import numpy as np
from scipy import linalg

from leftout.fair.faces import BarrierState, Settled, settle
from leftout.fair.objective import EIGENVALUE_ROUNDING, FairAnswer, Objective, leading, root
from leftout.linalg.losses import Array

_FIRST, _LAST, _SHRINK = 0.1, 1e-11, 0.05
_SETTLE_FROM = 1e-4
_MOST_STEPS = 40
# A decrease below this share of the values is lost in their rounding.
_NOISE = 1e-12
# Eigenvectors taken to less than this share are next to untaken.
_TAKEN = 0.01


def solve(objective: Objective, start: Array, tol: float) -> FairAnswer:
    """The best ``F`` with trace ``d`` for the largest of the losses, at an extreme point."""
    scale = objective.scale
    unit = objective._replace(second=objective.second / scale, best=objective.best / scale)
    k = len(start)
    best: Settled | None = None
    smallest = 1.0  # largest loss of the best answer so far
    state = look(unit, 0.5 * start + 0.5 / k, _FIRST)
    while True:
        state = centre(unit, state, _MOST_STEPS, 0.01)
        if state.mu <= _SETTLE_FROM:
            last = state.mu <= max(_LAST * min(1.0, smallest), EIGENVALUE_ROUNDING)
            found = settle(unit, state, tol, last=last)
            best = found if best is None or found.answer.gap < best.answer.gap else best
            smallest = abs(float(best.answer.losses.max()))
            if last or best.answer.enough(tol, 1.0):
                break
        state = look(unit, state.weights, _SHRINK * state.mu)
    answer = best.at_extreme()
    return answer._replace(losses=scale * answer.losses, bound=scale * answer.bound)


def look(objective: Objective, weights: Array, mu: float) -> BarrierState:
    """Evaluate the barrier: one eigendecomposition."""
    values, vectors = leading(objective.mix(weights), objective.second.shape[1])
    filled, free = occupations(values, objective.d, mu)
    barrier = np.log(filled).sum() + np.log(free).sum() - np.log(weights).sum()
    value = float(values @ filled - objective.best @ weights + mu * barrier)
    return BarrierState(weights, mu, value, values, vectors, filled, free)


def occupations(values: Array, d: int, mu: float) -> tuple[Array, Array]:
    """Shares ``f`` of the eigenvectors, and ``1 - f``, for a trace of ``d``."""
    reach = mu * (2.0 * len(values) + 2.0)

    def excess(tau: float) -> float:
        return float(_share((values - tau) / mu).sum()) - d

    # more than d shares are nearly full at the lower end, fewer at the upper
    low, high = float(values[d]) - reach, float(values[d - 1]) + reach
    tau = root(excess, low, high, noise=1e-14 * d)
    x = (values - tau) / mu
    return _share(x), _share(-x)


def _share(x: Array) -> Array:
    """The root of ``x = 1 / (1 - f) - 1 / f`` between 0 and 1, to all digits where it is small."""
    small = 2.0 / (2.0 + np.abs(x) + np.sqrt(x * x + 4.0))
    return np.where(x < 0.0, small, 1.0 - small)


def centre(objective: Objective, state: BarrierState, steps: int, share: float) -> BarrierState:
    """Newton's steps at one ``mu``, until what a step promises is below a share of it."""
    for _ in range(steps):
        state, decrement = _newton(objective, state)
        if decrement <= share * state.mu:
            break
    return state


def _newton(objective: Objective, state: BarrierState) -> tuple[BarrierState, float]:
    """One damped Newton step in ``u = step / weights``, and what it promised to gain.

    Of the curvature, pairs of eigenvectors that are both next to untaken are left out: their part
    vanishes with ``mu``, and it would cost most of the time.
    """
    w, mu, V, f, g = state.weights, state.mu, state.vectors, state.filled, state.free
    k, n = len(w), len(V)
    p = max(int(np.sum(f > _TAKEN)), objective.d)
    taken = np.ascontiguousarray(V[:, :p])
    stacked = objective.second.reshape(k * n, n)
    turned = V.T @ (stacked @ taken).reshape(k, n, p)
    # (f_i - f_j) / (l_i - l_j), which ties do not trouble
    full, empty = np.outer(f, f[:p]), np.outer(g, g[:p])
    rate = full * empty / (full + empty) / mu
    own = np.diagonal(rate)
    shift = np.einsum("gii,i->g", turned[:, :p], own)
    flat = turned.reshape(k, -1)
    rate[p:] *= 2.0  # each of these pairs stands for two
    hessian = (flat * rate.ravel()) @ flat.T
    hessian -= np.outer(shift, shift) / own.sum()
    hessian = hessian * np.outer(w, w) + mu * np.eye(k)
    kept = objective.second.reshape(k, -1) @ ((V * f) @ V.T).ravel()
    gradient = w * (kept - objective.best) - mu
    u = _along_simplex(hessian, gradient, w)
    decrement = float(u @ hessian @ u)
    length = min(1.0, 0.95 / max(float(-u.min()), 1e-300))
    while True:
        moved = w * (1.0 + length * u)
        after = look(objective, moved / moved.sum(), mu)
        promised = 0.1 * length * decrement
        if after.value <= state.value - promised or promised < _NOISE or length < 1e-6:
            return after, decrement
        length *= 0.5


def _along_simplex(hessian: Array, gradient: Array, w: Array) -> Array:
    """The Newton step that leaves the sum of the weights as it is."""
    try:
        factor = linalg.cho_factor(hessian, check_finite=False)
        steps = linalg.cho_solve(factor, np.column_stack([gradient, w]), check_finite=False)
        return steps[:, 1] * (w @ steps[:, 0]) / (w @ steps[:, 1]) - steps[:, 0]
    except linalg.LinAlgError:  # where digits run out
        system = np.block([[hessian, w[:, None]], [w[None, :], np.zeros((1, 1))]])
        return np.linalg.lstsq(system, np.append(-gradient, 0.0), rcond=None)[0][:-1]
