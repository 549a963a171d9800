"""The rows of the highest scores in a table that is passed over, in one pass.

A row's score is ``x'Mx`` with one symmetric matrix, whatever the loss and the number of components.
Single precision and a bound on its error tell most rows from those near the cut; only these are
scored in double precision, each by the same sums in the same order, so that neither blocks nor
threads change who is chosen. A sample brackets the cut: the pass returns moments of the rows above
the bracket and the rows inside it. Where the bracket was wrong, another pass follows with a wider
one, and the choice is the same.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from leftout.compiling import kernel
from leftout.linalg.losses import Array, Loss, form
from leftout.linalg.moments import Moments, build, merge
from leftout.linalg.passes import AllRows, Places
from leftout.linalg.problem import Labels

Single = NDArray[np.float32]

# What a row is, as far as a pass can tell: these are the labels, and one more.
_BELOW, _ABOVE, _INSIDE = 0, 1, 2
# Directions that a form all but ignores are left out of its products in single precision.
_IGNORED = 1e-3
# So many values at a time are in single precision: with their products they stay in cache.
_STEP = 1 << 17
# Squares below this vanish in single precision.
_VANISHING = 1e-30
# Rows inside a bracket come with the pass if they have at most this many values.
_CARRIED = 1 << 22
# How many standard deviations of a sample's count a bracket goes to either side, at first.
WIDTH = 3.0


def score_form(loss: Loss, V: Array, own: Array, weight: float) -> Array:
    """That of :meth:`leftout.linalg.problem.Problem.scores`, ``weight`` being ``k / (m - k)``."""
    return form(loss, V, own[1]) + weight * form(loss, V, own[0])


def reach_form(loss: Loss, V: Array) -> Array:
    """That of :func:`leftout.linalg.losses.row_reach`."""
    whole = np.eye(V.shape[1])
    return whole - V.T @ V if loss.within_residual else whole


@dataclass(frozen=True)
class RowForm:
    """Scores ``(x - origin)' M (x - origin)``."""

    M: Array
    origin: Array

    @cached_property
    def _in_single(self) -> tuple[Single, Single, float]:
        """Factors of ``M``, their signs, and the error of scores by them, in squared lengths.

        With ``M = sum of lambda_j q_j q_j'`` a score is the sum of ``lambda_j (q_j'x)^2``. In
        single precision each product is off by at most ``(n + 4) u |x| |q_j|``.
        """
        values, vectors = np.linalg.eigh(self.M)
        sizes = np.abs(values)
        used = sizes > _IGNORED * sizes.max()
        factors = (vectors * np.sqrt(sizes))[:, used].astype(np.float32)
        unit = (len(values) + 4) * 2.0**-24
        error = 2.2 * unit * sizes.sum() + 1.1 * sizes[~used].max(initial=0.0)
        return np.ascontiguousarray(factors), np.sign(values[used]).astype(np.float32), error

    def sides(self, rows: Array, low: float, high: float) -> Labels:
        """Which rows score above ``high`` or below ``low``; inside is whoever may be."""
        factors, signs, error = self._in_single
        step = max(_STEP // rows.shape[1], 1)
        # blocks that were made column by column stay that way
        by_column = rows.strides[0] < rows.strides[1]
        short = np.empty((step, rows.shape[1]), np.float32, order="F" if by_column else "C")
        products, sides = np.empty((step, len(signs)), np.float32), np.empty(len(rows), np.int8)
        with np.errstate(over="ignore", invalid="ignore"):  # what is not finite is scored again
            for start in range(0, len(rows), step):
                some = rows[start : start + step]
                near, Z = short[: len(some)], products[: len(some)]
                np.subtract(some, self.origin, out=near, casting="same_kind")
                np.matmul(near, factors, out=Z)
                score = np.square(Z, out=Z) @ signs
                norms = np.einsum("ij,ij->i", near, near).astype(np.float64)
                slack = error * norms + _VANISHING
                below = (score + slack < low) & (score + slack < high)
                side = np.where(score - slack > high, _ABOVE, np.where(below, _BELOW, _INSIDE))
                sides[start : start + step] = side
        return sides

    def scores(self, rows: Array) -> Array:
        """Scores in double precision; those of equal rows are equal, wherever they stand."""
        return _scores(rows, self.M, self.origin)


@kernel
def _scores(X: Array, M: Array, origin: Array) -> Array:
    """Each added up in the same order, which BLAS does not promise."""
    n = M.shape[0]
    scores = np.empty(X.shape[0])
    x, y = np.empty(n), np.empty(n)
    for row in range(X.shape[0]):
        for i in range(n):
            x[i] = X[row, i] - origin[i]
            y[i] = 0.0
        for i in range(n):
            for j in range(n):
                y[j] += x[i] * M[i, j]
        score = 0.0
        for i in range(n):
            score += x[i] * y[i]
        scores[row] = score
    return scores


class Inside(NamedTuple):
    """Rows inside a bracket, one by one."""

    places: Places  # rising
    scores: Array
    rows: Array | None  # as they are in the table; None where they are too many


class Sorted(NamedTuple):
    """What a cut finds in a stretch of rows, which is put together when all are passed over."""

    labels: tuple[Labels, ...]  # 1 = above, 2 = inside
    above: Moments
    inside: tuple[Inside, ...]

    def together(self) -> Inside:
        places, scores, rows = zip(*self.inside, strict=True)
        held = None if any(part is None for part in rows) else np.concatenate(rows)
        return Inside(np.concatenate(places), np.concatenate(scores), held)


@dataclass(frozen=True)
class Cut:
    """The pass that sorts rows: above ``high``, from ``low`` to ``high``, and below.

    Rows that score ``high`` itself are above up to the place ``last``. With ``low`` at infinity
    there is no inside.
    """

    form: RowForm
    low: float
    high: float
    last: int = -1

    def over(self, rows: Array, start: int) -> Sorted:
        labels = self.form.sides(rows, self.low, self.high)
        near = np.flatnonzero(labels == _INSIDE)
        taken = rows[near]
        scores, places = self.form.scores(taken), near + start
        above = (scores > self.high) | ((scores == self.high) & (places <= self.last))
        inside = ~above & (scores >= self.low)
        labels[near] = np.where(above, _ABOVE, np.where(inside, _INSIDE, _BELOW))
        group = build(rows[np.flatnonzero(labels == _ABOVE)], origin=self.form.origin)
        found = Inside(places[inside], scores[inside], taken[inside])
        return _carried(Sorted((labels,), group, (found,)))

    def merge(self, a: Sorted, b: Sorted) -> Sorted:
        both = Sorted(a.labels + b.labels, merge(a.above, b.above), a.inside + b.inside)
        return _carried(both)


def _carried(found: Sorted) -> Sorted:
    """What a cut finds, without its rows inside if these have too many values."""
    if sum(part.rows.size for part in found.inside if part.rows is not None) <= _CARRIED:
        return found
    return found._replace(inside=tuple(part._replace(rows=None) for part in found.inside))


@dataclass(frozen=True)
class ThresholdGuess:
    """Scores of some of a table's rows, as if the table had ``rate`` times its rows."""

    scores: Array  # falling
    rate: float

    def bracket(self, size: int, width: float) -> tuple[float, float]:
        """Scores between which the ``size``-th of the table should be."""
        middle = self.rate * size
        margin = width * (1.0 + np.sqrt(middle))
        first, last = int(middle - margin), int(middle + margin) + 1
        low = float(self.scores[last]) if last < len(self.scores) else -np.inf
        high = float(self.scores[min(first, len(self.scores)) - 1]) if first > 0 else np.inf
        return low, high


class Chosen(NamedTuple):
    """The rows of the highest scores."""

    labels: Labels
    group: Moments
    cut: tuple[float, float]  # the lowest score in the group, and the highest outside of it

    @property
    def offset(self) -> float:
        return (self.cut[0] + self.cut[1]) / 2.0


def highest(table: AllRows, form: RowForm, size: int, guess: ThresholdGuess) -> Chosen:
    """The ``size`` rows of the highest scores, ties by place; in one pass if the guess is right."""
    width = WIDTH
    low, high = guess.bracket(size, width)
    found = table.run(Cut(form, low, high))
    inside = found.together()
    # the last in the group and the first outside of it must both be inside
    while not 0 < (need := size - int(found.above.count[0])) < len(inside.places):
        width *= 4.0
        wider = guess.bracket(size, width)
        low, high = (low, wider[1]) if need <= 0 else (wider[0], high)
        found = table.run(Cut(form, low, high))
        inside = found.together()
    order = np.lexsort((inside.places, -inside.scores))
    chosen, cut = order[:need], inside.scores[order[need - 1 : need + 1]]
    labels = np.concatenate(found.labels)
    labels[inside.places] = 0
    labels[inside.places[chosen]] = 1
    if inside.rows is None:
        last = int(inside.places[chosen[-1]])
        group = table.run(Cut(form, np.inf, float(cut[0]), last)).above
    else:
        group = merge(found.above, build(inside.rows[np.sort(chosen)], origin=form.origin))
    return Chosen(labels, group, (float(cut[0]), float(cut[1])))
