"""Groups that conditions name, which may overlap: what they lose, and what random groups lose.

Random groups are these after a permutation of the rows that known values belong to, all columns
together: ``order[i]`` takes the known values of row ``i``, so that groups keep their sizes and
overlaps.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from leftout.data.binning import Places
from leftout.data.conditions import Condition, Mask
from leftout.files import Serializable
from leftout.groups.cross_fitting import FOLDS, cross_fitted
from leftout.groups.problem_setup import Rows
from leftout.linalg.bounds import top_sums
from leftout.linalg.losses import Array
from leftout.linalg.moments import cell_moments
from leftout.linalg.problem import Problem
from leftout.linalg.significance import Interval, corrected_p_values, p_value
from leftout.running import Steps, imap_ordered, one_thread

# Losses up to this share of the table's variance are rounding.
_NOTHING = 1e-13
# Permutations that a thread does before it reports.
_AT_ONCE = 8


@dataclass(frozen=True, kw_only=True, eq=False)
class ConditionedGroup(Serializable):
    """The rows for which some conditions hold, and what they lose.

    Attributes
    ----------
    conditions : tuple of Condition
        Joined by "and".
    text : str
        The same in words: ``sex = Female and race = Black``.
    rows : array of int
    size, share : int and float
        How many rows, and of all rows; where rows have weights, of all weight.
    loss, rest_loss : float
        Average loss of its rows, and of the others.
    random : float
        What random groups of that size lose on average.
    cross_fitted : Interval
        The loss on rows that neither its own nor the shared components have seen, and its 95%
        interval.
    """

    also: ClassVar[tuple[str, ...]] = ("text", "size", "share")
    hidden: ClassVar[tuple[str, ...]] = ("rows", "n_rows", "weight")

    conditions: tuple[Condition, ...]
    rows: NDArray[np.intp] = field(repr=False)
    n_rows: int = field(repr=False)
    weight: float | None = field(default=None, repr=False)  # in average rows, where they differ
    loss: float = np.nan
    rest_loss: float = np.nan
    random: float = np.nan
    cross_fitted: Interval = Interval(np.nan, np.nan, np.nan)

    @property
    def text(self) -> str:
        return " and ".join(condition.text for condition in self.conditions)

    @property
    def size(self) -> int:
        return len(self.rows)

    @property
    def share(self) -> float:
        return (self.size if self.weight is None else self.weight) / self.n_rows

    @property
    def mask(self) -> Mask:
        """True in the group's rows."""
        mask = np.zeros(self.n_rows, dtype=bool)
        mask[self.rows] = True
        return mask


def measure_groups(
    problem: Problem,
    ways: Places,
    permutations: int,
    *,
    rngs: Sequence[np.random.Generator],
    folds: int = FOLDS,
    n_jobs: int | None = None,
    steps: Steps,
) -> list[dict[str, Any]]:
    """What each group loses, beside its rest, random groups, and on rows not seen.

    ``ways`` part the rows: shape (m, ways), with the number of each row's group by each of them,
    and -1 where it is in none. Groups are numbered through from 0, way by way.
    """
    if not (ways >= 0).any():
        return []
    for_order, for_folds = rngs
    with one_thread():
        looked = Groups.of(Rows.of(problem), ways)
        here, rest = looked.shares(rest=True)
    masks = [way == group for way in ways.T for group in np.unique(way[way >= 0])]
    fitted = cross_fitted(problem, masks, rng=for_folds, folds=folds)
    variance = np.where(here.variance > 0.0, here.variance, np.nan)
    columns = {
        "retained": here.kept / variance,
        "retained_own": here.own / variance,
        "loss": here.losses,
        "rest_loss": rest.losses,
    } | permutation_test(looked, permutations, for_order, n_jobs, steps)
    lines = zip(*(column.tolist() for column in columns.values()), strict=True)
    return [
        dict(zip(columns, line, strict=True), cross_fitted=around.loss)
        for line, around in zip(lines, fitted, strict=True)
    ]


class Shares(NamedTuple):
    """Of each group: its weight, and the variance in all, kept, and kept by its own PCA."""

    weight: Array  # in rows
    variance: Array
    kept: Array
    own: Array

    @property
    def totals(self) -> Array:
        return self.own - self.kept

    @property
    def losses(self) -> Array:
        return self.totals / self.weight


@dataclass(frozen=True)
class Groups:
    """Groups of rows, by several ways to part these."""

    rows: Rows
    ways: list[Places]  # by each way, the group of each row from 1, and 0 where it is in none

    @classmethod
    def of(cls, rows: Rows, ways: Places) -> Self:
        """Groups that are numbered through, way by way."""
        known = [way for way in ways.T if way.max() >= 0]
        return cls(rows, [np.where(way < 0, 0, way - way[way >= 0].min() + 1) for way in known])

    def losses(self, moved: Places | None = None) -> Array:
        """Every group's average loss; nothing but rounding is nothing."""
        here, least = self.shares(moved)[0], _NOTHING * self.rows.eigenvalues.sum()
        return np.where(here.totals > least, here.totals, 0.0) / here.weight

    def shares(self, moved: Places | None = None, rest: bool = False) -> list[Shares]:
        """What is kept of every group, and of its ``rest``; rows are ``moved`` or where they are.

        In a move, row ``i`` hands what groups it is in to row ``moved[i]``.
        """
        m, pooled, kept_of = len(self.rows.Z), np.diag(self.rows.eigenvalues), self.rows.all_kept
        sides: list[list[Shares]] = [[] for _ in range(1 + rest)]
        for way in self.ways:
            groups, count = way, int(way.max()) + 1
            if moved is not None:
                groups = np.empty_like(way)
                groups[moved] = way
            second = cell_moments(groups, count, self.rows.Z, pooled[None])[1:]
            kept = np.bincount(groups, kept_of, count)[1:].astype(np.float64)
            weight = np.bincount(groups, self.rows.weights, count)[1:].astype(np.float64)
            sides[0].append(self._kept(second, kept, weight))
            if rest:
                sides[1].append(self._kept(pooled - second, kept_of.sum() - kept, m - weight))
        return [Shares(*map(np.concatenate, zip(*side, strict=True))) for side in sides]

    def _kept(self, second: Array, kept: Array, weight: Array) -> Shares:
        """Of sides with these second moments."""
        variance = np.trace(second, axis1=1, axis2=2)
        return Shares(weight, variance, kept, top_sums(second, self.rows.d))


def permutation_test(
    groups: Groups, permutations: int, rng: np.random.Generator, n_jobs: int | None, steps: Steps
) -> dict[str, Array]:
    """Every group's loss beside those under permutations of the rows: what these are, p-values."""
    if not permutations:
        nothing = np.full(sum(int(way.max()) for way in groups.ways), np.nan)
        return dict.fromkeys(("random", "random_high", "p_value", "p_alone"), nothing)
    leading = replace(groups, rows=groups.rows.leading())
    rngs, m = rng.spawn(permutations), len(groups.rows.Z)
    tasks = [(rngs[start : start + _AT_ONCE],) for start in range(0, len(rngs), _AT_ONCE)]

    def permuted(some: Sequence[np.random.Generator]) -> Array:
        return np.stack([leading.losses(each.permutation(m)) for each in some])

    with one_thread():
        found = [leading.losses()[None]]
        found += imap_ordered(permuted, tasks, n_jobs, steps, "random groups")
    curves = np.concatenate(found)
    return {
        "random": curves[1:].mean(axis=0),
        "random_high": np.quantile(curves[1:], 0.95, axis=0),
        "p_value": corrected_p_values(curves),
        "p_alone": np.array([p_value(column[0], column[1:]) for column in curves.T]),
    }


def permuting_steps(permutations: int) -> int:
    """How many steps :func:`permutation_test` reports."""
    return -(-permutations // _AT_ONCE)
