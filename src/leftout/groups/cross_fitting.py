"""What a group loses, and a 95% interval, without the optimism of its own components.

A group's own components are chosen for its rows, so on these rows they do better than on others: a
random group of few rows "loses" something as well. Cross-fitting takes shared and own components
from the rows outside a fold and compares them on the group's rows inside it. That errs to the
other side, and by about as much: components of few rows serve others worse than the group's true
ones would. The loss reported lies between the two, where to second order nothing is left.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, stats

from leftout.data.conditions import Mask
from leftout.groups.problem_setup import Rows
from leftout.linalg.losses import Array, top_components
from leftout.linalg.moments import (
    Moments,
    build,
    build_weighted,
    pooled,
    recentre,
    times_roots,
    without,
)
from leftout.linalg.problem import Problem
from leftout.linalg.significance import CONFIDENCE, Interval

FOLDS = 10
# Half the distance from held-out to in-sample loss is taken away: by how much of it that may be
# wrong (near ties it is too little, with few rows in many columns too much), as a standard error.
_DOUBT = 0.1


class CrossFitted(NamedTuple):
    """A group's average loss, on its own rows, on rows held out, and between the two."""

    in_sample: float  # too high: the own components are chosen for these rows
    held_out: float  # the plain cross-fitted loss; too low: they come from few rows, for others
    loss: Interval  # neither: about what the group would lose in a table of very many rows


class _FoldTable(NamedTuple):
    """The rows in their principal axes, and what every fold leaves to learn from."""

    rows: Array
    kept: Array  # of each row, by what is shared
    folds: NDArray[np.integer]  # of each row
    origins: list[Array]  # of the rows outside each fold
    held_out: Array  # of each row, what is kept by what is shared outside its fold
    variances: Array | None  # along the axes; None where what is shared is given
    weights: Array | None  # what each row counts

    def moments(self, index: Any) -> Moments:
        """Moments of some rows, fold by fold."""
        rows, folds, n_folds = self.rows[index], self.folds[index], len(self.origins)
        if self.weights is None:
            return build(rows, folds, n_groups=n_folds)
        weights = self.weights[index]
        return build_weighted(times_roots(rows, 0.0, weights), weights, folds, n_groups=n_folds)


def cross_fitted(
    problem: Problem, masks: Sequence[Mask], *, rng: np.random.Generator, folds: int = FOLDS
) -> list[CrossFitted]:
    """Cross-fitted ``excess`` loss of each of some fixed groups, with a 95% interval.

    For every fold of the rows, mean and shared components ``V`` come from all rows outside it, the
    own components ``W`` from the group's rows outside it, and each of its rows inside gets
    ``|Wx|^2 - |Vx|^2``. Their average is ``held_out``.

    The groups may overlap, and share the folds. The intervals are for groups that were not chosen
    by their losses on these rows (benchmark ``names_chosen``), and for rows drawn with their
    weights. Where what the rows share was given, no fold changes it. Figures are nan where a group,
    or what a fold leaves of it, has no more rows than components. ``loss`` may be below zero, as an
    unbiased figure of something near zero must.

    O(m n^2) for the table and O(k n^2 + folds n^3 + m n d) for a group of k rows.

    The standard error comes from the influence of every row (:func:`influences`). A loss is a kind
    of square, whose spread grows with it, so the interval reaches further up than down. In some
    3,600 tables of 60 laws it held the loss in a million rows in 96%, for groups in samples of
    four real tables in 91 to 96%: less with near ties of the shared components, few rows, or
    columns ruled by few rows.

    Examples
    --------
    >>> import numpy as np
    >>> from leftout.groups.problem_setup import build_problem
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((500, 8)) * [3, 1, 1, 1, 1, 1, 1, 1]
    >>> group = np.arange(500) < 60
    >>> X[group, 1] *= 2.0
    >>> X[group, 0] /= 3.0
    >>> (found,) = cross_fitted(build_problem(X, 1).problem, [group], rng=rng)
    >>> [f"{each:.2f}" for each in (found.held_out, *found.loss, found.in_sample)]
    ['2.39', '2.57', '1.58', '3.65', '2.73']
    """
    table = _fold_table(problem, min(folds, len(problem.X)), rng)
    return [_fitted(table, mask, problem.d) for mask in masks]


def _fold_table(problem: Problem, n_folds: int, rng: np.random.Generator) -> _FoldTable:
    table, weights = Rows.of(problem), problem.weights
    rows = table.Z if weights is None else table.Z / np.sqrt(weights)[:, None]
    folds, kept = rng.permutation(len(rows)) % n_folds, problem.by_weight(table.all_kept)
    held_out, origins = kept.copy(), [np.zeros(rows.shape[1])] * n_folds
    variances = table.eigenvalues / len(rows) if problem.refit else None
    found = _FoldTable(rows, kept, folds, origins, held_out, variances, weights)
    if not problem.refit:
        return found
    parts = found.moments(slice(None))
    for fold in range(n_folds):
        outside = without(pooled(parts), _one(parts, fold))
        origins[fold] = outside.total[0] / outside.count[0]
        V = top_components(recentre(outside, origins[fold]).second[0], problem.d)
        held_out[folds == fold] = _squares((rows[folds == fold] - origins[fold]) @ V.T)
    return found


def _squares(rows: Array) -> Array:
    return np.einsum("ij,ij->i", rows, rows)


def _one(moments: Moments, group: int) -> Moments:
    count, total, second = (part[group : group + 1] for part in moments[:3])
    return Moments(count, total, second, moments.origin)


def _fitted(table: _FoldTable, mask: Mask, d: int) -> CrossFitted:
    n_folds, rows, folds = len(table.origins), table.rows[mask], table.folds[mask]
    weights = None if table.weights is None else table.weights[mask]
    parts = table.moments(mask)
    whole = pooled(parts)
    if len(rows) - np.bincount(folds).max(initial=0) <= d:
        return CrossFitted(np.nan, np.nan, Interval(np.nan, np.nan, np.nan))
    held_out = -table.held_out[mask]
    for fold in np.flatnonzero(parts.count).tolist():
        here, origin = folds == fold, table.origins[fold]
        W = None if weights is not None else _components(rows[~here] - origin, d)
        if W is None:
            others = without(whole, _one(parts, fold))
            W = top_components(recentre(others, origin).second[0], d)
        held_out[here] += _squares((rows[here] - origin) @ W.T)
    W = top_components(whole.second[0], d)
    values = _squares(rows @ W.T) - table.kept[mask]
    psi = influences(table.rows, mask, values, table.variances, W, table.weights)
    in_sample, outside = (float(np.average(each, weights=weights)) for each in (values, held_out))
    if table.variances is not None:
        in_sample = max(in_sample, 0.0)
    return _between(in_sample, outside, psi, len(rows), n_folds)


def _components(rows: Array, d: int) -> Array | None:
    """The leading components of few rows, from their inner products; None where moments do."""
    if len(rows) >= rows.shape[1]:
        return None
    values, vectors = linalg.eigh(rows @ rows.T, check_finite=False)
    values = values[-d:]
    if values[0] <= len(rows) * np.finfo(float).eps * values[-1]:  # fewer dimensions than that
        return None
    return (vectors[:, -d:] / np.sqrt(values)).T[::-1] @ rows


def influences(
    rows: Array,
    mask: Mask,
    values: Array,
    variances: Array | None,
    W: Array,
    weights: Array | None = None,
) -> Array:
    """How much each row moves the group's in-sample loss: the derivative by its weight, times m.

    ``rows`` are in the table's principal axes, with these ``variances``; ``W`` are the group's own
    components, and ``values`` what its rows lose, ``x'Dx``. With ``A`` the group's average second
    moments, ``D = P_G - P``, and ``a`` and ``b`` axes that are kept and dropped:

    - a row of the group moves the average, and the number it is divided by: ``(x'Dx - loss) m/k``;
    - every row turns the shared components: ``-2 sum_ab A_ab x_a x_b / (l_a - l_b)``;
    - every row moves the mean: ``-2 x'D mean(G)``.

    What is given (``variances`` None) does neither turn nor move. No turn has a standard error
    above one radian: so much for ties of ``l_a`` and ``l_b``. Where rows have ``weights``, sums are
    weighted, and a row moves the loss as often as it counts.
    """
    m, d = len(rows), len(W)
    group, counts = rows[mask], None if weights is None else weights[mask]
    k = float(len(group) if counts is None else counts.sum())
    psi = np.zeros(m)
    if variances is not None:
        times = group[:, d:] if counts is None else group[:, d:] * counts[:, None]
        D = W.T @ W
        D[np.arange(d), np.arange(d)] -= 1.0
        kept, dropped = variances[:d, None], variances[None, d:]
        gaps = np.maximum(kept - dropped, np.sqrt(kept * dropped / m))
        across = group[:, :d].T @ times / k
        turns = np.divide(across, gaps, out=np.zeros_like(across), where=gaps > 0.0)
        psi -= 2.0 * np.einsum("ij,ij->i", rows[:, d:] @ turns.T, rows[:, :d])
        psi -= 2.0 * rows @ (D @ np.average(group, axis=0, weights=counts))
    psi[mask] += (values - np.average(values, weights=counts)) * (m / k)
    return psi if weights is None else psi * weights


def _between(in_sample: float, held_out: float, psi: Array, k: int, n_folds: int) -> CrossFitted:
    """The loss between in-sample and held-out, and its interval."""
    # components from a share 1 - 1/K of the rows err by K/(K - 1) times as much
    value = (n_folds * in_sample + (n_folds - 1) * held_out) / (2 * n_folds - 1)
    error = np.hypot(np.linalg.norm(psi) / len(psi), _DOUBT * (in_sample - held_out) / 2.0)
    reach = float(stats.t.ppf(0.5 + CONFIDENCE / 2, _freedom(psi, k)) * error)
    # A loss is a square, r^2, whose spread grows with r: upwards the interval adds what the root's
    # would, (r + reach / 2r)^2 = r^2 + reach + reach^2 / 4r^2, but at most as much again.
    lean = reach * min(reach / (4.0 * in_sample), 1.0) if in_sample > 0.0 else reach
    low, high = value - reach, value + lean + float(np.hypot(reach, lean))
    if held_out <= 0.0:
        low = min(low, 0.0)
    return CrossFitted(in_sample, held_out, Interval(value, low, high))


def _freedom(psi: Array, k: int) -> float:
    """Degrees of freedom of a variance that is an average of ``psi^2``, by its fourth moment."""
    squares = psi * psi
    excess = len(psi) * float(squares @ squares) - float(squares.sum()) ** 2
    if excess <= 0.0:
        return k - 1.0
    return min(k - 1.0, 2.0 * len(psi) * float(squares.sum()) ** 2 / excess)
