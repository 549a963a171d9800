"""From a nearly best ``F`` to an exact one of small rank.

Eigenvectors that ``F`` takes whole or not at all stay so. The rest, whose eigenvalues tie at the
optimum, span a face on which ``F`` may be any ``0 <= G <= I`` of the right trace. Newton's method
on the conditions of optimality (those eigenvalues tie, the losses that matter are equal) finds the
weights and ``G``; then ``G`` goes, without changing any loss, to an extreme point, where so few of
its eigenvalues are fractions that the rank is at most ``d + floor(sqrt(2 k + 1/4) - 3/2)``.
"""

from collections.abc import Callable
from operator import attrgetter
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from leftout.fair.objective import FairAnswer, Objective, leading, root
from leftout.linalg.losses import Array

_STEPS = 6
# Shares and weights above this stay; a step down to those that vanish is at least this wide.
_SURE, _WIDE = 0.02, 5.0
# Newton's system has half the square of a face's dimensions, so faces of more dimensions than this,
# or than an extreme point leaves as fractions and these more, take what they are given.
_FEW, _MORE = 8, 3
# Eigenvalues of G this near to 0 or 1 are that.
_ROUND = 1e-12

_gap = attrgetter("gap")


class BarrierState(NamedTuple):
    """A barrier with parameter ``mu`` at some weights: inside of everything."""

    weights: Array
    mu: float
    value: float  # to be made small
    values: Array  # eigenvalues, largest first
    vectors: Array  # eigenvectors, as columns
    filled: Array  # share f to which each is taken
    free: Array  # 1 - f, with all its digits


def settle(objective: Objective, near: BarrierState, tol: float, *, last: bool) -> FairAnswer:
    """The best answer found at an extreme point of a face that a barrier's answer points to.

    What vanishes with ``mu`` has to be told from what stays. Numbers that vanish go like ``mu``,
    so its square root is between the two in the end; before, the widest step may be; and with the
    ``last`` answer nothing need be taken as gone.
    """
    tried = []
    for vanishing in (_below_root, _below_widest_step, *[_none] * last):
        tried.append(_settle(objective, near, tol, vanishing))
        if tried[-1].enough(tol, objective.scale):
            break
    return min(tried, key=_gap)


def _below_root(numbers: Array, mu: float) -> float:
    return float(np.sqrt(mu) * numbers.max())


def _below_widest_step(numbers: Array, mu: float) -> float:
    ordered = np.sort(numbers)[::-1]
    steps = ordered[:-1] / np.maximum(ordered[1:], np.finfo(float).tiny)
    steps[(ordered[:-1] <= mu) | (ordered[1:] >= _SURE)] = 0.0
    place = int(np.argmax(steps))
    wide = steps[place] >= _WIDE
    return float(np.sqrt(ordered[place] * ordered[place + 1])) if wide else 0.0


def _none(numbers: Array, mu: float) -> float:
    return _ROUND


def _settle(
    objective: Objective, near: BarrierState, tol: float, vanishing: Callable[[Array, float], float]
) -> FairAnswer:
    d, mu, filled, free = objective.d, near.mu, near.filled, near.free
    ones = min(int(np.sum(free < vanishing(free, mu))), d)
    reached = max(int(np.sum(filled >= vanishing(filled, mu))), d)
    active = near.weights >= vanishing(near.weights, mu)
    weights = np.where(active, near.weights, 0.0) / near.weights[active].sum()
    vectors = near.vectors
    Q, G = vectors[:, ones:reached], np.diag(filled[ones:reached])
    most = max(_FEW, int(np.sqrt(2.0 * len(weights))) + _MORE)
    tried: list[FairAnswer] = []
    for _ in range(_STEPS):
        pairs = leading(objective.mix(weights), len(vectors))
        face = Face(objective, weights, active, ones, reached, *pairs)
        turn = Q.T @ face.Q  # eigenvectors that tie come in any basis
        G = _filled_to(turn.T @ G @ turn, d - ones)
        tried.append(face.answer(G))
        if tried[-1].enough(tol, objective.scale) or reached - ones > most:
            break
        Q, (weights, G) = face.Q, face.newton(G)
    return min(tried, key=_gap)


class Face(NamedTuple):
    """The eigenvectors at some weights: taken whole, in part (``Q``), or not at all."""

    objective: Objective
    weights: Array
    active: NDArray[np.bool_]  # groups whose losses matter
    ones: int  # how many eigenvectors are taken whole
    reached: int  # how many at least in part
    values: Array  # largest first
    vectors: Array  # columns

    @property
    def Q(self) -> Array:
        return self.vectors[:, self.ones : self.reached]

    def answer(self, G: Array) -> FairAnswer:
        objective, fixed = self.objective, self.vectors[:, : self.ones].T
        shares, turn = extreme(objective.within(self.Q).second, G)
        V = np.vstack([fixed, (self.Q @ turn).T])
        occupation = np.concatenate([np.ones(self.ones), shares])
        losses = objective.losses(V, occupation)
        bound = objective.bound(self.weights, self.values)
        return FairAnswer(V, occupation, self.weights, losses, bound)

    def newton(self, G: Array) -> tuple[Array, Array]:
        """Better weights, and the ``G`` that belongs to them.

        Unknown are the changes of the weights and of ``G``, the common loss and the common
        eigenvalue; the conditions are equal losses, equal eigenvalues, weights of sum 1 and the
        trace of ``G``. Of many that meet them, the smallest is taken: it is the one least likely to
        leave the face or to harm a group that had no weight.
        """
        objective, k = self.objective, int(self.active.sum())
        turned = [self.vectors.T @ (S @ self.vectors) for S in objective.second[self.active]]
        one, part = slice(0, self.ones), slice(self.ones, self.reached)
        t = self.reached - self.ones
        face = np.array([_flat(T[part, part]) for T in turned]).reshape(k, -1)
        identity = _flat(np.eye(t))
        q = len(identity)
        system = np.zeros((k + q + 2, k + q + 2))
        system[:k, :k], system[:k, k : k + q], system[:k, -2] = self._curvature(turned, G), face, 1
        system[k : k + q, :k], system[k : k + q, -1] = face.T, -identity
        system[-2, :k], system[-1, k : k + q] = 1, -identity
        kept = np.array([np.trace(T[one, one]) for T in turned])
        right = np.concatenate([
            objective.best[self.active] - kept - face @ _flat(G),
            -_flat(np.diag(self.values[part])),
            [0.0, np.trace(G) - (objective.d - self.ones)],
        ])  # fmt: skip
        found = np.linalg.lstsq(system, right, rcond=1e-13)[0]
        weights = self.weights.copy()
        weights[self.active] = np.maximum(weights[self.active] + found[:k], 0.0)
        return weights / weights.sum(), G + _square(found[k : k + q], t)

    def _curvature(self, turned: list[Array], G: Array) -> Array:
        """Second derivatives of ``<F, weighted moments>`` as its eigenvectors turn, ``G`` held."""
        a, b, n = self.ones, self.reached, len(self.values)
        one, part, none = slice(0, a), slice(a, b), slice(b, n)
        level = self.values.copy()
        level[part] = level[part].mean() if b > a else 0.0  # these tie, up to rounding
        pairs = ((one, none, np.eye(n - b)), (one, part, np.eye(b - a) - G), (none, part, G))
        total = np.zeros((len(turned), len(turned)))
        for rows, columns, shares in pairs:
            gaps = np.abs(level[rows, None] - level[None, columns])
            weight = np.divide(2.0, gaps, out=np.zeros_like(gaps), where=gaps > 0.0)
            blocks = np.array([T[rows, columns].ravel() for T in turned])
            mixed = np.array([((T[rows, columns] @ shares) * weight).ravel() for T in turned])
            total += blocks @ mixed.T
        return 0.5 * (total + total.T)


def _filled_to(G: Array, trace: int) -> Array:
    """The nearest matrix with eigenvalues from 0 to 1 and this trace."""
    values, vectors = np.linalg.eigh(G)
    if trace in (0, len(G)):
        return np.eye(len(G)) * (trace > 0)
    shift = 0.0
    if values[0] < 0.0 or values[-1] > 1.0 or abs(values.sum() - trace) > _ROUND:
        low, high = -float(values[-1]), 1.0 - float(values[0])
        shift = root(
            lambda t: float(np.clip(values + t, 0, 1).sum()) - trace, low, high, 1e-15 * trace
        )
    return (vectors * np.clip(values + shift, 0.0, 1.0)) @ vectors.T


def extreme(second: Array, G: Array) -> tuple[Array, Array]:
    """An extreme point with the same losses: its eigenvalues above 0, and their eigenvectors.

    While more than ``k`` numbers describe the fractional part of ``G``, some direction in it
    changes all losses alike and the trace not at all; along it ``G`` goes until an eigenvalue
    becomes 0 or 1.
    """
    k = len(second)
    block = int(np.ceil(np.sqrt(2.0 * k + 2.25) - 0.5))  # block (block + 1) / 2 > k
    shares, vectors = np.linalg.eigh(G)
    while True:
        loose = np.flatnonzero((shares > _ROUND) & (shares < 1.0 - _ROUND))
        if len(loose) * (len(loose) + 1) // 2 <= k:
            break
        loose = loose[:block]
        Q, f = vectors[:, loose], shares[loose]
        direction = _direction(np.stack([Q.T @ (S @ Q) for S in second]))
        f, turn = _to_the_wall(f, direction)
        shares[loose], vectors[:, loose] = f, Q @ turn
    shares = np.where(shares <= _ROUND, 0.0, np.where(shares >= 1.0 - _ROUND, 1.0, shares))
    taken = np.argsort(-shares, kind="stable")[: int(np.sum(shares > 0.0))]
    return shares[taken], vectors[:, taken]


def _direction(second: Array) -> Array:
    """A change of no trace that raises what every group keeps by the same amount, or by none."""
    size = second.shape[1]
    rows = np.stack([_flat(S - second[0]) for S in second[1:]] + [_flat(np.eye(size))])
    change = _square(np.linalg.svd(rows)[2][-1], size)
    return change if np.sum(change * second[0]) >= 0.0 else -change


def _to_the_wall(f: Array, change: Array) -> tuple[Array, Array]:
    """Go from ``diag(f)`` along ``change`` until an eigenvalue is 0 or 1; its eigenpairs there."""
    down = np.linalg.eigvalsh(change / np.sqrt(np.outer(f, f)))[0]
    up = np.linalg.eigvalsh(change / np.sqrt(np.outer(1.0 - f, 1.0 - f)))[-1]
    to_zero = -1.0 / down if down < 0.0 else np.inf
    to_one = 1.0 / up if up > 0.0 else np.inf
    shares, turn = np.linalg.eigh(np.diag(f) + min(to_zero, to_one) * change)
    if to_zero <= to_one:
        shares[0] = 0.0
    else:
        shares[-1] = 1.0
    return np.clip(shares, 0.0, 1.0), turn


def _flat(matrix: Array) -> Array:
    """A symmetric matrix as a vector with the same inner products."""
    rows, columns = np.triu_indices(len(matrix))
    return matrix[rows, columns] * np.where(rows == columns, 1.0, np.sqrt(2.0))


def _square(flat: Array, size: int) -> Array:
    rows, columns = np.triu_indices(size)
    matrix = np.zeros((size, size))
    matrix[rows, columns] = flat / np.where(rows == columns, 1.0, np.sqrt(2.0))
    return matrix + np.triu(matrix, 1).T
