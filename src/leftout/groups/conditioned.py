"""Groups that conditions name, which may overlap: what they lose, and what random groups lose.

Random groups are these after a permutation of the rows that known values belong to, all columns
together: ``order[i]`` takes the known values of row ``i``, so that groups keep their sizes and
overlaps. Moments are taken once for cells, rows that are in the same groups; those of a group are
sums over its cells.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

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
# Adding a cell's moments to a group's takes as long as those of this many rows.
_ADDED = 10
# Moments of all groups are looked at in blocks of about this many numbers (64 MB).
_BLOCK = 1 << 23
# With more ways to part the rows than this, hardly two rows are in the same groups.
_WAYS = 30
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
    X: Array,
    ways: Places,
    permutations: int,
    *,
    rngs: Sequence[np.random.Generator],
    folds: int = FOLDS,
    representation: Any = None,
    n_jobs: int | None = None,
    steps: Steps,
) -> list[dict[str, Any]]:
    """What each group loses, beside its rest, random groups, and on rows not seen.

    ``ways`` part the rows: shape (m, ways), with the number of each row's group by each of them,
    and -1 where it is in none. Groups are numbered through from 0, way by way.
    """
    for_order, for_folds = rngs
    with one_thread():
        looked = Groups.of(Rows.of(problem), ways)
        here, rest = looked.shares(rest=True)
    masks = [way == group for way in ways.T for group in np.unique(way[way >= 0])]
    fitted = cross_fitted(
        X, masks, problem.d, folds=folds, rng=for_folds, representation=representation,
        weights=problem.weights,
    )  # fmt: skip
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
        """Total losses."""
        return self.own - self.kept

    @property
    def losses(self) -> Array:
        """Average losses."""
        return self.totals / self.weight


@dataclass(frozen=True)
class Cells:
    """Rows parted into cells, of which some groups are unions."""

    codes: Places  # the cell of each row
    counts: Places  # the rows of each cell
    members: sparse.csr_array  # which cells are in which group
    groups: Places  # the places of these groups among all

    @classmethod
    def of(cls, signatures: Places) -> Cells:
        """Cells of rows that are in the same groups: the numbers in a row, but for -1."""
        first = codes = np.zeros(len(signatures), dtype=np.intp)
        for column in signatures.T:  # numbers stay small, since they are counted anew
            both = codes * (int(column.max()) + 2) + column + 1
            _, first, codes = np.unique(both, return_index=True, return_inverse=True)
        distinct, counts = signatures[first], np.bincount(codes)
        at, way = np.nonzero(distinct >= 0)
        groups, place = np.unique(distinct[at, way], return_inverse=True)
        shape = len(groups), len(distinct)
        members = sparse.csr_array((np.ones(len(at)), (place, at)), shape=shape)
        return cls(codes, counts, members, groups)

    @property
    def work(self) -> int:
        """How long one look takes, in rows: the largest cell's moments are what others leave."""
        return int(len(self.codes) - self.counts.max() + _ADDED * self.members.nnz)


@dataclass(frozen=True)
class Groups:
    """Groups of rows that may overlap."""

    rows: Rows
    cells: list[Cells]
    sizes: Array  # in rows

    @classmethod
    def of(cls, rows: Rows, ways: Places) -> Groups:
        """Groups of several ways to part the rows."""
        sizes = np.bincount(ways[ways >= 0]).astype(float)
        return cls(rows, _parted(ways, rows.Z.shape[1]), sizes)

    def leading(self) -> Groups:
        """The same in the leading axes alone, where there are many: quicker to look at."""
        return replace(self, rows=self.rows.leading())

    def losses(self, moved: Places | None = None) -> Array:
        """Every group's average loss; nothing but rounding is nothing."""
        here, least = self.shares(moved)[0], _NOTHING * self.rows.eigenvalues.sum()
        return np.where(here.totals > least, here.totals, 0.0) / here.weight

    def shares(self, moved: Places | None = None, rest: bool = False) -> list[Shares]:
        """What is kept of every group, and of its ``rest``; rows are ``moved`` or where they are.

        In a move, row ``i`` hands what groups it is in to row ``moved[i]``.
        """
        Z, d, counts, kept_of = self.rows.Z, self.rows.d, self.rows.weights, self.rows.all_kept
        pooled, n = np.diag(self.rows.eigenvalues), Z.shape[1]
        sides = [Shares(*np.empty((4, len(self.sizes)))) for _ in range(1 + rest)]
        step = max(1, _BLOCK // n**2)
        for cells in self.cells:
            codes, n_cells = cells.codes, len(cells.counts)
            if moved is not None:
                codes = np.empty_like(codes)
                codes[moved] = cells.codes
            parts = cell_moments(codes, n_cells, Z, pooled[None]).reshape(-1, n * n)
            kept = cells.members @ np.bincount(codes, kept_of, n_cells)
            for side, each in zip(sides, (kept, kept_of.sum() - kept), strict=False):
                side.kept[cells.groups] = each
            weight = self.sizes[cells.groups]
            if counts is not None:
                weight = cells.members @ np.bincount(codes, counts, n_cells)
            for side, each in zip(sides, (weight, len(Z) - weight), strict=False):
                side.weight[cells.groups] = each
            for start in range(0, len(cells.groups), step):
                at = cells.groups[start : start + step]
                second = (cells.members[start : start + step] @ parts).reshape(-1, n, n)
                for side, S in zip(sides, (second, pooled - second), strict=False):
                    side.variance[at] = np.trace(S, axis1=1, axis2=2)
                    side.own[at] = top_sums(S, d)
        return sides


def _parted(signatures: Places, n: int) -> list[Cells]:
    """The cells of all ways together, or of each way by itself where that is less work."""
    ways = [signatures[:, [way]] for way in range(signatures.shape[1])]
    alone = [Cells.of(way) for way in ways if way.max() >= 0]
    if not 2 <= len(alone) <= _WAYS:
        return alone
    together = Cells.of(signatures)
    fits = len(together.counts) * n**2 <= 4 * _BLOCK
    return [together] if fits and together.work <= sum(each.work for each in alone) else alone


def permutation_test(
    groups: Groups,
    permutations: int,
    rng: np.random.Generator,
    n_jobs: int | None,
    steps: Steps,
) -> dict[str, Array]:
    """Every group's loss beside those under permutations of the rows: what these are, p-values."""
    if not permutations or not len(groups.sizes):
        nothing = np.full(len(groups.sizes), np.nan)
        return dict.fromkeys(("random", "random_high", "p_value", "p_alone"), nothing)
    leading = groups.leading()
    rngs = rng.spawn(permutations)
    tasks = [(leading, rngs[start : start + _AT_ONCE]) for start in range(0, len(rngs), _AT_ONCE)]
    with one_thread():
        found = [leading.losses()[None]]
        found += imap_ordered(_permuted, tasks, n_jobs, steps, "random groups")
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


def _permuted(groups: Groups, rngs: Sequence[np.random.Generator]) -> Array:
    n_rows = len(groups.rows.Z)
    return np.stack([groups.losses(rng.permutation(n_rows)) for rng in rngs])
