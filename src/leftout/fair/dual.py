"""The dual of Fair PCA: a concave function of the groups' weights, an eigendecomposition a look.

*Two groups* have one weight ``w``. The slope is the difference of the losses, so the maximum is
where they are equal. It falls smoothly except where the d-th and the (d+1)-th eigenvalue cross:
there it jumps, and the answer is a subspace between those on either side of the jump.

*More groups*: with ``mu (logdet F + logdet(I - F))`` added, the best ``F`` for given weights has
the eigenvectors of the weighted second moments, and occupies each to a share ``f`` with

    (l - tau) / mu = 1 / (1 - f) - 1 / f,      sum f = d.

What is left is a smooth concave function of the weights, whose gradient and Hessian come with the
eigendecomposition. Newton's method follows its maximum as ``mu`` goes to zero, whatever eigenvalues
cross on the way; :mod:`leftout.fair.rounding` then makes an exact answer of it.

*Many features*: a projection inside a subspace is a projection, so a solution there is feasible;
whether it is optimal, the dual in all features at its weights decides. The directions are the
eigenspaces seen so far; where they are not enough, the eigenvectors found at the solution's weights
join them, and the dual is exact at one more point: each round about squares the error.
"""

from operator import attrgetter
from typing import NamedTuple, Self

import numpy as np
from scipy import linalg

from leftout.fair.objective import (
    EIGENVALUE_ROUNDING,
    FairAnswer,
    Leading,
    Objective,
    Seen,
    leading,
    projection,
    root,
)
from leftout.fair.rounding import BarrierState, settle
from leftout.linalg.losses import Array
from leftout.linalg.moments import Moments

# The barrier: its first and last parameter, the factor between, from where faces are tried, and the
# most steps at one parameter.
_FIRST, _LAST, _SHRINK = 0.1, 1e-11, 0.05
_SETTLE_FROM = 1e-4
_MOST_STEPS = 40
# A decrease below this share of the values is lost in their rounding.
_NOISE = 1e-12
# Two groups: the most looks, and the slope (a share of the variance) from which an answer is tried.
_MOST_LOOKS, _FLAT = 100, 1e-7
# Eigenvectors taken to less than this share are next to untaken.
_TAKEN = 0.01
# Measured on one core: for two groups the subspace pays off above this number of features, and up
# to this part of them; more groups take more decompositions. The first round only has to find the
# neighbourhood.
_SMALL, _PART, _PART_OF_MANY = 128, 0.3, 0.6
_MOST_ROUNDS, _COARSE = 20, 1e-5
# Each round about squares the gap: the last one is asked for a little more than was asked for.
_SAFE = 0.01
# Exactly d dimensions: proximal steps from each start, rho and mu at first (shares of the value),
# their factors after a step that helps or does not, Newton's steps, and the rho to give up at.
_PROXIMAL, _RHO_MU, _HELPED, _FAILED = 20, (0.3, 3e-3), (0.6, 1.0), (3.0, 0.3)
_FEW_STEPS, _STIFF_RHO = 6, 1e3


def solve_dual(objective: Objective, seen: list[Seen], tol: float) -> FairAnswer:
    """The best ``F``, at an extreme point: for one or two groups a projection.

    ``seen`` are the eigenpairs at each group's own weight and at some common weights.
    """
    k, n = objective.second.shape[:2]
    solve = two_groups if k == 2 else many_groups
    columns = _width(objective.d, k)
    part = _PART_OF_MANY if k > 2 else _PART * (n > _SMALL)
    if columns * len(seen) > part * n:
        return solve(objective, seen, tol)
    B = np.linalg.qr(np.hstack([one.pairs.vectors[:, :columns] for one in seen]))[0]
    for turn in range(_MOST_ROUNDS):
        small, inside = objective.within(B), [one.within(B) for one in seen]
        found = solve(small, inside, tol if turn else max(tol, _COARSE))
        here = Seen(found.weights, leading(objective.mix(found.weights), columns))
        bound = objective.bound(here.weights, here.pairs.values)
        answer = found._replace(V=found.V @ B.T, bound=bound)
        if answer.enough(tol, objective.scale):
            return answer
        seen = [*seen, here]
        if B.shape[1] + columns > n:
            break
        B = np.linalg.qr(np.hstack([B, here.pairs.vectors[:, :columns]]))[0]
    return solve(objective, seen, tol)


def _width(d: int, k: int) -> int:
    """How many eigenvectors are worth having: those that may tie at the optimum, and two more."""
    return d + int(np.floor(np.sqrt(2.0 * k + 0.25) - 1.5)) + 2


class _Point(NamedTuple):
    """The dual of two groups at one weight ``w`` of the first."""

    w: float
    value: float
    slope: float  # loss of the first group minus loss of the second
    V: Array

    @classmethod
    def of(cls, objective: Objective, seen: Seen) -> Self:
        V = seen.pairs.components(objective.d)
        value = objective.bound(seen.weights, seen.pairs.values)
        return cls(float(seen.weights[0]), value, -float(np.diff(objective.losses(V))[0]), V)

    @property
    def weights(self) -> Array:
        return np.array([self.w, 1.0 - self.w])


_value, _weight = attrgetter("value"), attrgetter("w")


def two_groups(objective: Objective, seen: list[Seen], tol: float) -> FairAnswer:
    """The projection of ``d`` dimensions whose larger loss is smallest.

    Keeps a bracket of two weights between which the slope changes sign, and stops when the mixture
    of their subspaces that makes the losses equal is proved good enough. The next weight is where
    the slope should vanish, by the secant (an end that stays again being counted half), or, after
    a step that met a slope as steep as before, where the tangents of the value meet.
    """
    points = [_Point.of(objective, one) for one in seen]
    rising = [point for point in points if point.slope > 0.0]
    falling = [point for point in points if point.slope <= 0.0]
    if not rising or not falling:  # even its own best projection leaves a group the larger loss
        end = min(points, key=_weight) if falling else max(points, key=_weight)
        return projection(objective, end.V, end.weights, end.value)
    left, right = max(rising, key=_weight), min(falling, key=_weight)
    best, scale = max(points, key=_value), objective.scale
    widths, jumped, last = [right.w - left.w], False, None
    stale = {True: 1.0, False: 1.0}  # of the left end, of the right
    for _ in range(_MOST_LOOKS):
        apart = (right.value - left.value) - (right.slope * right.w - left.slope * left.w)
        meet = apart / (left.slope - right.slope)  # where the tangents do
        rise = left.value + left.slope * (meet - left.w) - best.value
        hidden = 10.0 * max(tol * abs(best.value), EIGENVALUE_ROUNDING * scale)
        if rise <= hidden or min(left.slope, -right.slope) < _FLAT * scale:
            answer = _mixture(objective, left, right, best)
            if answer.enough(tol, scale):
                return answer
        up, down = stale[True] * left.slope, -stale[False] * right.slope
        w = meet if jumped else left.w + (right.w - left.w) * up / (up + down)
        if len(widths) > 3 and widths[-1] > 0.5 * widths[-4]:
            w = 0.5 * (left.w + right.w)
        if not left.w < w < right.w:
            break
        weights = np.array([w, 1.0 - w])
        point = _Point.of(objective, Seen(weights, leading(objective.mix(weights), objective.d)))
        best = max(best, point, key=_value)
        jumped = abs(point.slope) > 0.5 * min(left.slope, -right.slope)
        side = point.slope > 0.0
        left, right = (point, right) if side else (left, point)
        stale = {side: 1.0, not side: stale[not side] * (0.5 if side is last else 1.0)}
        last = side
        widths.append(right.w - left.w)
    return _mixture(objective, left, right, best)


def _mixture(objective: Objective, left: _Point, right: _Point, best: _Point) -> FairAnswer:
    V = between(objective, left.V, right.V)
    return projection(objective, V, best.weights, best.value)


def between(objective: Objective, left: Array, right: Array) -> Array:
    """The subspace with equal losses on the shortest way from one subspace to another.

    Along the geodesic, principal vector by principal vector turned by its share of the angle, the
    difference of the losses changes sign; in between it is zero. Two optimal subspaces at an
    eigenvalue crossing have only optimal ones between them.
    """
    turn, cosines, back = np.linalg.svd(left @ right.T)
    start = turn.T @ left
    away = back @ right - cosines[:, None] * start
    sines = np.linalg.norm(away, axis=1)
    angles = np.arctan2(sines, cosines)
    away /= np.where(sines > 0.0, sines, 1.0)[:, None]
    D = objective.second[0] - objective.second[1]
    start_D, away_D = start @ D, away @ D
    pairs = ((start_D, start), (start_D, away), (away_D, away))
    quadratics = [np.einsum("in,in->i", a, b) for a, b in pairs]
    head = float(objective.best[0] - objective.best[1])

    def difference(t: float) -> float:
        c, s = np.cos(t * angles), np.sin(t * angles)
        first, mixed, last = quadratics
        return head - float(np.sum(c * (c * first + 2.0 * s * mixed) + s * s * last))

    if difference(0.0) <= 0.0:
        t = 0.0
    elif difference(1.0) >= 0.0:
        t = 1.0
    else:
        noise = float(np.finfo(float).eps) * float(np.abs(quadratics).sum())
        t = root(difference, 0.0, 1.0, noise)
    V = np.cos(t * angles)[:, None] * start + np.sin(t * angles)[:, None] * away
    return np.ascontiguousarray(np.linalg.qr(V.T)[0].T)


def many_groups(objective: Objective, seen: list[Seen], tol: float) -> FairAnswer:
    """The best ``F`` with trace ``d`` for the largest of the losses, at an extreme point."""
    start = max(seen, key=lambda one: objective.bound(one.weights, one.pairs.values)).weights
    scale, unit, k = objective.scale, objective.unit(), len(start)
    best: FairAnswer | None = None
    smallest = 1.0  # largest loss of the best answer so far
    state = look(unit, 0.5 * start + 0.5 / k, _FIRST)
    while True:
        state = centre(unit, state, _MOST_STEPS, 0.01)
        if state.mu <= _SETTLE_FROM:
            last = state.mu <= max(_LAST * min(1.0, smallest), EIGENVALUE_ROUNDING)
            found = settle(unit, state, tol, last=last)
            best = found if best is None or found.gap < best.gap else best
            smallest = abs(float(best.losses.max()))
            if last or best.enough(tol, 1.0):
                break
        state = look(unit, state.weights, _SHRINK * state.mu)
    return best._replace(losses=scale * best.losses, bound=scale * best.bound)


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
    tau = root(excess, low, high, 1e-14 * d)
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


def solve_fair(moments: Moments, d: int, tol: float, pooled: Leading | None = None) -> FairSolution:
    """Fair PCA with ``d`` components for groups known by their moments, none of them empty.

    ``tol`` is the gap to stop at, as a share of the largest loss; ``pooled`` are all eigenpairs of
    all rows' average second moments, where they are known.
    """
    second = moments.second / moments.count[:, None, None]
    shares = moments.count / moments.count.sum()
    columns = min(_width(d, len(second)), second.shape[1])
    if pooled is None:
        pooled = leading(np.tensordot(shares, second, 1), columns)
    pairs = [leading(S, columns) for S in second] if len(second) > 1 else [pooled]
    seen = [Seen(*each) for each in zip(np.eye(len(second)), pairs, strict=True)]
    seen.append(Seen(shares, pooled))
    best = np.array([each.values[:d].sum() for each in pairs])
    baseline = pooled.components(d)
    objective = Objective(second, best, d)
    before = objective.losses(baseline)
    answer, rank_d = _fairest(objective, seen, tol)
    if before.max() < answer.losses.max():  # only where digits run out
        answer, rank_d = projection(objective, baseline, answer.weights, answer.bound), None
    # only rounding makes a loss negative
    losses = np.maximum(objective.losses(answer.V, answer.occupation), 0.0)
    of_rank_d = None if rank_d is None else objective.losses(rank_d)
    before = np.maximum(before, 0.0)
    return FairSolution(answer._replace(losses=losses), best, baseline, before, rank_d, of_rank_d)


def _fairest(objective: Objective, seen: list[Seen], tol: float) -> tuple[FairAnswer, Array | None]:
    """The fair answer and, where it has more than ``d`` dimensions, components of exactly ``d``.

    ``seen``: at each group's own weight, and at the groups' shares of all rows, as in ordinary PCA.
    """
    shares, pooled = seen[-1]
    V = pooled.components(objective.d)
    losses = objective.losses(V)
    if objective.d == V.shape[1]:  # everything is kept; the group that fares worst proves it
        worst = int(losses.argmax())
        return projection(objective, V, np.eye(len(losses))[worst], float(losses[worst])), None
    if np.ptp(losses) <= EIGENVALUE_ROUNDING * objective.scale:
        # one group, or equal losses: PCA has the least weighted sum, so no maximum is smaller
        return projection(objective, V, shares, objective.bound(shares, pooled.values)), None
    answer = solve_dual(objective, seen, _SAFE * tol)
    if len(answer.V) == objective.d:
        return answer, None
    V, losses = rounded(objective, answer)
    allowed = max(tol * abs(answer.bound), EIGENVALUE_ROUNDING * objective.scale)
    if losses.max() <= max(answer.bound + allowed, float(answer.losses.max())):
        return projection(objective, V, answer.weights, answer.bound), None
    return answer, V


def rounded(objective: Objective, answer: FairAnswer) -> tuple[Array, Array]:
    """Components of exactly ``d`` dimensions (rows), and the groups' losses under them.

    Not a convex problem, and the relaxation's own bound is its only certificate. From two starts
    near the answer, proximal steps: with ``rho <F, P>`` taken away from the largest loss, which
    adds ``rho P`` to every group's moments, the best ``F`` is near the projection ``P`` at hand,
    and its leading eigenvectors are the next one.
    """
    d, unit = objective.d, objective.unit()
    order = np.argsort(-answer.occupation, kind="stable")
    mixed = leading(unit.mix(answer.weights), d).components(d)
    ends = [_descended(unit, V, answer.weights) for V in (answer.V[order[:d]], mixed)]
    V = min(ends, key=lambda V: float(unit.losses(V).max()))
    return V, objective.losses(V)


def _descended(objective: Objective, V: Array, weights: Array) -> Array:
    """A projection whose largest loss is smaller, by proximal steps."""
    d, k = objective.d, len(weights)
    value = float(objective.losses(V).max())
    weights = 0.5 * weights + 0.5 / k
    rho, mu = _RHO_MU[0] * value, _RHO_MU[1] * value / (d + k)
    for _ in range(_PROXIMAL):
        pulled = objective.pulled(V.T @ V, rho)
        state = centre(pulled, look(pulled, weights, mu), _FEW_STEPS, 0.5)
        after = np.ascontiguousarray(state.vectors[:, :d].T)
        largest = float(objective.losses(after).max())
        helped = largest < value - _NOISE
        if helped:
            V, value, weights = after, largest, state.weights
        elif rho > _STIFF_RHO * value:
            break
        factors = _HELPED if helped else _FAILED
        rho, mu = rho * factors[0], mu * factors[1]
    return V
