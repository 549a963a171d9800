"""Cheap ascents of the alternating search: one, compiled, and a line of them.

A climb alternates two half steps: the best rows for the components at hand, then better components
for the rows at hand. It keeps to what a start needs: components are improved by orthogonal
iteration instead of being computed afresh, rows are passed over whose reach shows that they cannot
be among the best, and on all but small tables it is in single precision, in units of the table's
spread. Climbs rise under ``excess``, about a fixed origin; searches under other losses start from
where they end.

The same kernels raise one group's loss alone (:mod:`leftout.fair.worst`): where the rest is
endless, its loss is zero, and the disparity is the group's loss.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from leftout.compiling import kernel
from leftout.linalg.losses import Array
from leftout.linalg.problem import Problem

EitherPrecision = NDArray[Any]

# Climbs run on at most this many rows; the whole table has the last word.
ROWS = 8192
# Up to so many values, climbs are quick in double precision, too.
_SMALL = 1 << 16
# A climb ends when a pass gains less than this share of the disparity, or after this many passes.
SMALL_GAIN, MOST_PASSES = 1e-3, 50
# Gains shrink from pass to pass. A climb that would not reach the best so far with this many more
# gains like its last is given up.
_PATIENCE = 5.0
# Climbs whose ends differ by less than this share of the disparity end about as high.
_SAME = 2e-3
# As many climbs as fit in this many multiplications (half of it on a part of a table, whose passes
# over all rows take time too), within these limits.
_WORK, _FEWEST, _MOST = 4e9, 16, 200
# Sums whose terms may be added in any order.
_ANY_ORDER = {"reassoc", "contract", "nsz"}


class AscentWorkspace(NamedTuple):
    """A problem laid out for climbing: candidate rows by falling reach, in units of ``unit``."""

    X: EitherPrecision  # (c, n), origin removed
    kept: EitherPrecision  # (c,)
    reach: EitherPrecision  # (c,), falling
    V: EitherPrecision  # (d, n)
    n_rows: float  # all rows, candidates or not; infinite where the rest does not count
    second: EitherPrecision  # (n, n)
    all_kept: float  # sum over all rows; nan where the components tell
    # what each row counts, where it is not 1: rows then have the roots as factors, and `reach` and
    # scores are by unit of weight
    weights: EitherPrecision
    unit: float = 1.0  # of lengths


def lay_out(problem: Problem) -> AscentWorkspace:
    """Sort a problem's rows by reach."""
    order, (count, _, second, _, kept) = problem.by_reach, problem.pooled
    unit = float(np.sqrt(np.trace(second[0]) / count[0] / second.shape[1])) or 1.0
    dtype = np.float64 if problem.X.size <= _SMALL else np.float32

    def laid_out(values: Array) -> EitherPrecision:
        return np.ascontiguousarray(values, dtype=dtype)

    return AscentWorkspace(
        X=laid_out(problem.rows(order) / unit),
        kept=laid_out(problem.norms_and_kept[1][order] / unit**2),
        reach=laid_out(problem.reach[order] / unit**2),
        V=laid_out(problem.V),
        n_rows=float(count[0]),
        second=laid_out(second[0] / unit**2),
        all_kept=np.nan if kept is None else float(kept[0]) / unit**2,
        weights=laid_out(np.empty(0) if problem.weights is None else problem.weights[order]),
        unit=unit,
    )


def part_of(
    problem: Problem, size: int, rng: np.random.Generator, rows: int | None = None
) -> tuple[Problem, int]:
    """The part of a table that starts run on, and the group's size there.

    A group is made of rows of long reach, so only the longest are candidates; where these are still
    many, a sample of them, with everything else in proportion.
    """
    m, rows = len(problem.X), ROWS if rows is None else rows
    if m <= rows:
        return problem, size
    count = min(m, max(rows // 4, problem.reaching(problem.by_reach, 8 * size)))
    index = problem.by_reach[:count]
    rate = min(1.0, rows / count)
    if rate < 1.0:
        index = rng.choice(index, rows, replace=False)
    index = np.sort(index)
    kept, weights = problem.kept_of(index), problem.weights_of(index)
    part = problem.part(problem.rows(index), rate, kept, weights)
    return part, min(max(1, round(rate * size)), len(index) - 1, part.n_rows - 1)


@kernel(fastmath=_ANY_ORDER)
def _dot(a: Array, b: Array) -> float:
    """The product of two vectors: of short ones, in less time than it takes to ask BLAS."""
    total = a[0] * b[0]
    for c in range(1, a.size):
        total += a[c] * b[c]
    return total


@kernel(fastmath=_ANY_ORDER)
def orthonormalise(W: Array) -> None:
    """Gram-Schmidt on rows, in place; a row that depends on earlier ones becomes 0.

    What loses half of its squared length to the rows before is made orthogonal to them twice.
    """
    d, n = W.shape
    for i in range(d):
        row = W[i]
        before = left = _dot(row, row)
        for _ in range(2):
            length = left
            for j in range(i):
                along = _dot(row, W[j])
                for c in range(n):
                    row[c] -= along * W[j, c]
            left = _dot(row, row)
            if left >= 0.5 * length:
                break
        scale = 1.0 / np.sqrt(left) if left > 1e-20 * before else 0.0
        for c in range(n):
            row[c] *= scale


@kernel
def _refit(V: Array, W: Array, S: Array, count: float, kept: float) -> tuple[Array, float]:
    """Orthogonal iteration of ``W`` towards a side's own components, and its average loss there.

    ``kept`` is nan where ``V`` tells it; see :func:`leftout.linalg.losses.basis_loss`.
    """
    W = W @ S
    W = W @ S
    orthonormalise(W)
    own = _dot((W @ S).ravel(), W.ravel())
    if np.isnan(kept):
        kept = _dot((V @ S).ravel(), V.ravel())
    return W, (own - kept) / count


@kernel(fastmath=_ANY_ORDER)
def _score(
    slope: AscentWorkspace, own: Array, weight: float, first: int, last: int, scores: Array
) -> None:
    """Scores of candidates ``first`` to ``last``: :meth:`Problem.scores`, compiled."""
    d, n = slope.V.shape
    # one product for both sides: the rest's components scaled by the root of their weight
    rest = d if weight > 0.0 else 0
    both = np.empty((n, rest + d), dtype=slope.X.dtype)
    for c in range(n):
        for j in range(rest):
            both[c, j] = np.sqrt(weight) * own[0, j, c]
        for j in range(d):
            both[c, rest + j] = own[1, j, c]
    Z = slope.X[first:last] @ both
    for i in range(last - first):
        value = -(1.0 + weight) * slope.kept[first + i]
        for j in range(rest + d):
            value += Z[i, j] * Z[i, j]
        scores[first + i] = value


@kernel
def kth_largest(scores: Array, k: int) -> float:
    """The ``k``-th largest score, by quickselect (``np.partition`` takes seconds to compile)."""
    values = scores.copy()
    low, high = 0, values.size - 1
    while low < high:
        middle = (low + high) // 2
        a, b, c = values[low], values[middle], values[high]
        pivot = max(min(a, b), min(max(a, b), c))
        i, j = low, high
        while i <= j:
            while values[i] > pivot:
                i += 1
            while values[j] < pivot:
                j -= 1
            if i <= j:
                values[i], values[j] = values[j], values[i]
                i += 1
                j -= 1
        if k - 1 <= j:
            high = j
        elif k - 1 >= i:
            low = i
        else:
            break
    return values[k - 1]


@kernel
def weighted_cut(scores: Array, weights: Array, size: float) -> float:
    """The score at which the weights of the rows that score as high, or higher, reach ``size``."""
    order = np.argsort(-scores)
    for place in order:
        size -= weights[place]
        if size <= 0.0:
            return scores[place]
    return scores[order[-1]]


@kernel
def _cut_among(slope: AscentWorkspace, scores: Array, first: int, last: int, size: int) -> float:
    """The lowest score of a group among the first ``last`` candidates.

    Scores from the ``first`` on are new: they become scores by unit of weight, in place.
    """
    if slope.weights.size == 0:
        return kth_largest(scores[:last], size)
    for i in range(first, last):
        scores[i] /= slope.weights[i]
    return weighted_cut(scores[:last], slope.weights[:last], float(size))


@kernel(inline="always")
def _regroup(
    slope: AscentWorkspace,
    own: Array,
    size: int,
    active: int,
    scores: Array,
    member: NDArray[np.bool_],
    second: Array,
) -> int:
    """Let the ``size`` candidates of the highest scores be the group, ties by their order.

    Changes in place who is a ``member``, and the second moments of rest and group by the rows that
    move.
    Only the first ``active`` candidates are looked at, unless others can matter: no score exceeds
    ``(1 + weight) reach``, by which they fall. Returns how many the next pass should look at.
    """
    c, n = slope.X.shape
    weight = size / (slope.n_rows - size)
    _score(slope, own, weight, np.int64(0), active, scores)
    cut = _cut_among(slope, scores, np.int64(0), active, size)
    if active < c and (1.0 + weight) * slope.reach[active] > cut:
        _score(slope, own, weight, active, c, scores)
        cut = _cut_among(slope, scores, active, np.int64(c), size)
        active = c
    weighted, ties = slope.weights.size > 0, float(size)
    for i in range(active):
        if scores[i] > cut:
            ties -= slope.weights[i] if weighted else 1.0
    changed, moved = np.empty(c, dtype=np.int64), 0
    for i in range(c):
        chosen = i < active and scores[i] > cut
        if i < active and scores[i] == cut:
            counts = slope.weights[i] if weighted else 1.0
            if ties >= 0.5 * counts:
                chosen = True
                ties -= counts
        if chosen != member[i]:
            member[i] = chosen
            changed[moved] = i
            moved += 1
    rows = np.empty((moved, n), dtype=slope.X.dtype)
    signed = np.empty((moved, n), dtype=slope.X.dtype)
    for i in range(moved):
        sign = 1.0 if member[changed[i]] else -1.0
        for j in range(n):
            rows[i, j] = slope.X[changed[i], j]
            signed[i, j] = sign * rows[i, j]
    products = rows.T @ signed
    for j in range(n):  # by elements: Numba takes seconds to compile slices that are set
        for k in range(n):
            second[1, j, k] += products[j, k]
            second[0, j, k] = slope.second[j, k] - second[1, j, k]
    while active > size and (1.0 + weight) * slope.reach[active - 1] < 0.9 * cut:
        active -= 1
    return active


@kernel
def climb(
    slope: AscentWorkspace, own: Array, size: int, tolerance: float, passes: int, floor: float
) -> tuple[float, Array]:
    """Climb from components ``own`` (rest, group) to a group of ``size`` rows.

    Returns an estimate of its disparity (from below for the group, from above for the rest) and
    the components there. Stops when a pass gains less than a share ``tolerance``, or so little that
    it will hardly come to ``floor``.
    """
    c, n = slope.X.shape
    member = np.zeros(c, dtype=np.bool_)
    scores = np.empty(c, dtype=slope.X.dtype)
    # second moments of the rest (0) and of the group (1)
    second = np.zeros((2, n, n), dtype=slope.X.dtype)
    best, active, n_rest = -np.inf, c, slope.n_rows - size
    for turn in range(passes):
        active = _regroup(slope, own, size, active, scores, member, second)
        kept = np.nan
        if not np.isnan(slope.all_kept):
            kept = 0.0
            for i in range(c):
                if member[i]:
                    kept += slope.kept[i]
        rest, lost = own[0], 0.0
        if np.isfinite(n_rest):
            left = slope.all_kept - kept
            rest, lost = _refit(slope.V, own[0], second[0], n_rest, left)
        group, value = _refit(slope.V, own[1], second[1], float(size), kept)
        value -= lost
        gain = value - best
        gained = turn == 0 or (gain > tolerance * abs(best) and value + _PATIENCE * gain > floor)
        if value > best:
            best = value
            own = np.stack((rest, group))
        if not gained:
            break
    return best, own


def climb_cost(rows: int, n: int, d: int) -> float:
    """Multiplications of a climb, more or less."""
    passes = 12
    return passes * 2.0 * d * n * (rows + 4 * n)


def affordable(slope: AscentWorkspace) -> int:
    """How many climbs a search can afford."""
    (d, n), rows = slope.V.shape, len(slope.X)
    work = _WORK if rows == slope.n_rows else _WORK / 2
    return int(np.clip(work / climb_cost(rows, n, d), _FEWEST, _MOST))


def line(
    slope: AscentWorkspace, size: int, climbs: int, rng: np.random.Generator, start: Array | None
) -> tuple[float, Array, bool]:
    """Climb from several starts, later ones derived from the best; returns where the best ends.

    And whether starts agree: two that were not derived from others end about as high.
    """
    chance = chances(slope)
    value, best = -np.inf, slope.V
    if start is not None:
        start = start.astype(slope.X.dtype)
        value, best = climb(slope, start, size, SMALL_GAIN, MOST_PASSES, -np.inf)
    elif climbs == 1:  # nothing to compare it with: the last climb below is the only one
        best, climbs = spanned(slope, chance, rng), 0
    fresh = max(1, climbs // 4)
    ends = np.full(climbs, -np.inf)
    for turn in range(climbs):
        own = spanned(slope, chance, rng) if turn < fresh else _kicked(slope, best, chance, rng)
        end = climb(slope, own, size, SMALL_GAIN, MOST_PASSES, value)
        ends[turn] = end[0]
        if end[0] > value:
            value, best = end
    agree = int(np.sum(ends[:fresh] >= value - _SAME * abs(value))) > 1
    # Cheap passes to the very end leave little to the exact ones that follow.
    value, best = climb(slope, best, size, 1e-9, MOST_PASSES, -np.inf)
    return value * slope.unit**2, best.astype(np.float64), agree


def spanned(slope: AscentWorkspace, chance: Array, rng: np.random.Generator) -> Array:
    """Components spanned by random rows, the likelier the longer their reach."""
    W = slope.X[draw(chance, rng, len(slope.V))]
    orthonormalise(W)
    return np.stack([slope.V, W])


def _kicked(slope: AscentWorkspace, own: Array, chance: Array, rng: np.random.Generator) -> Array:
    """Components with a random direction of the group's replaced by a random row."""
    W = own[1]
    # Reflect so that the first component is a uniformly random direction of the same subspace.
    normal = rng.standard_normal(len(W)).astype(W.dtype)
    normal /= np.linalg.norm(normal)
    normal[0] -= 1.0
    length = np.linalg.norm(normal)
    if length > 0.0:
        normal /= length
    W = W - np.outer(2 * normal, normal @ W)
    W[0] = slope.X[draw(chance, rng, 1)[0]]
    orthonormalise(W)
    return np.stack([own[0], W])


def chances(slope: AscentWorkspace) -> Array:
    """Cumulative sums of what each row can add to a loss, by which starts are drawn."""
    reach = np.maximum(slope.reach, 0.0)
    if slope.weights.size:
        reach *= slope.weights
    return np.cumsum(reach, dtype=np.float64)


def draw(chance: Array, rng: np.random.Generator, count: int) -> np.ndarray:
    """Rows drawn with replacement by their cumulative chances."""
    index = np.searchsorted(chance, rng.random(count) * chance[-1], side="right")
    return np.minimum(index, len(chance) - 1)
