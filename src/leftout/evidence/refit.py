"""Repeated searches: of surrogates, of halves and subsamples of the rows, from other starts.

A single group is searched at its size. Several are peeled off, the larger first, refined together,
and the rows of every two sides split anew; so the ``j``-th group is held to what
the ``j``-th group of another table loses: of equal sizes, the one with the largest loss first. What
another search calls its groups is settled by the rows that they share with those of the table, one
to one, among the rows that it has seen.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment
from sklearn.base import clone

from leftout.checks import generator
from leftout.data.matrix import check_matrix
from leftout.errors import InputError
from leftout.evidence.duplicate_rows import Repeats, find_repeats, split
from leftout.evidence.surrogates import SurrogateTables, with_weights, without_weights
from leftout.groups.partition import GroupRule, MaxDisparityPartition
from leftout.groups.problem_setup import SearchProblem, build_problem
from leftout.groups.sizes import default_smallest
from leftout.linalg.assignment import Partition, assign, row_values
from leftout.linalg.distinct import IntArray, distinct_rows
from leftout.linalg.losses import Array
from leftout.linalg.problem import Labels, Problem
from leftout.representation.base import features_of
from leftout.running import Steps, imap_ordered, one_thread
from leftout.solvers import Alternating, Solver, SolverContext, takes_sizes
from leftout.solvers.alternating import refine
from leftout.solvers.local_ascent import ROWS, climb_cost
from leftout.solvers.multi import peel, split_anew

T = TypeVar("T")
Sizes = Sequence[int] | IntArray

# Searches whose groups share this much of the rows that either leaves out found the same group.
SAME_GROUP = 0.5
# Climbs of each of the many searches. Of a search over sizes, the first gets a seventh of the
# starts. The table and its surrogates get twice as many: with 20, one search of a table varies by
# more than half as much as its surrogates do (adult: 0.652 to 0.665, with 40 0.660 to 0.665).
# Where each takes long, there are fewer: as many as fit in so many multiplications.
_REPEATED_CLIMBS, _FEWEST_CLIMBS, _REPEATED_WORK = 20, 8, 6e9
# Searches of larger tables climb on parts of so many rows, and which of them ends best shows only
# on the whole. One alone varies as much as surrogates do (adult: from 0.651 to 0.661, where
# surrogates have 0.643 and vary by 0.007), four hardly do (0.664 to 0.666).
_CLIMBED_PARTS = 4


def check_search(estimator: Any) -> None:
    """Refuse what is no search."""
    if not isinstance(estimator, MaxDisparityPartition):
        raise InputError(
            f"Found {type(estimator).__name__} where a MaxDisparityPartition is needed; give the "
            "search first, then the table."
        )


def for_same_size(found: MaxDisparityPartition) -> MaxDisparityPartition:
    """A search, not fitted, for groups as large as those found, where its solver takes sizes."""
    sizes: list[Any] = [None]
    if takes_sizes(found._check_names()):
        sizes = [group.sought for group in found.left_out_groups_]
    return clone(found).set_params(group_size=sizes if len(sizes) > 1 else sizes[0], verbose=0)


@dataclass(frozen=True, kw_only=True)
class SearchTask:
    """A table and how to search it: the whole, some of its rows, or a surrogate."""

    X: Array
    estimator: MaxDisparityPartition
    solver: Solver
    null_solver: Solver  # of the table and its surrogates, where these are compared
    posed: SearchProblem  # the table's problem, settled once
    rngs: list[np.random.Generator]  # of the count of groups, the halves, all else
    repeats: Repeats
    surrogates: SurrogateTables  # with as many equal rows as the table, where its rows are copies
    weights: Array | None = None  # what each row counts, 1 on average: a part of the row

    @classmethod
    def of(
        cls,
        estimator: MaxDisparityPartition,
        X: Any,
        surrogates: SurrogateTables | None = None,
        weights: Array | None = None,
    ) -> Self:
        """A table, searched with the effort of searches that are repeated many times."""
        solver = estimator._check_names()
        matrix = check_matrix(features_of(estimator.representation, X))
        if not takes_sizes(solver):
            raise InputError(
                f"Surrogates are searched at the group's size, but {solver!r} chooses the size "
                "itself. Use solver='alternating' or Sorting(split='matched')."
            )
        smallest = estimator.min_group_size
        if smallest is None:
            smallest = default_smallest(*matrix.shape)
        null_solver = solver
        with one_thread():
            free = clone(estimator).set_params(group_size=None, min_group_size=smallest)
            posed = free._build_problem(matrix, weights=weights)
        if isinstance(solver, Alternating) and solver.n_starts is None:
            narrow, parts = posed.problem.narrow(), _CLIMBED_PARTS if len(matrix) > ROWS else 1
            cost = climb_cost(min(len(matrix), ROWS), narrow.X.shape[1], narrow.d)
            climbs = int(np.clip(_REPEATED_WORK / cost, _FEWEST_CLIMBS, _REPEATED_CLIMBS))
            starts = 7 * parts * climbs
            solver = replace(solver, n_starts=starts)
            null_solver = replace(solver, n_starts=2 * starts)
        rngs, repeats = generator(estimator.random_state).spawn(3), find_repeats(matrix)
        return cls(
            X=matrix, estimator=estimator, solver=solver, null_solver=null_solver, posed=posed,
            rngs=rngs, repeats=repeats,
            surrogates=surrogates or SurrogateTables(matrix, repeats.copies, weights=weights),
            weights=weights,
        )  # fmt: skip

    @property
    def n_components(self) -> int:
        return self.posed.problem.d

    def witnesses(self, X: Array) -> Array:
        """What correlations are told by: distinct rows, where the table's rows are copies."""
        return X[distinct_rows(X).first] if self.repeats.beyond_chance else X

    @property
    def table(self) -> Array:
        """The rows, each with its weight at last, where they have some."""
        return with_weights(self.X, self.weights)

    def pose(self, table: Array) -> SearchProblem:
        """The problem of another :attr:`table`, with as many components, for groups of any size."""
        e, d = self.estimator, self.n_components
        X, weights = without_weights(table, self.weights is not None)
        return build_problem(X, d, e.loss, e.centering, d + 1, None, e.representation, weights)

    def halves(self, rng: np.random.Generator) -> tuple[IntArray, IntArray]:
        """Two halves of the rows, drawn at random; copies of a row stay together."""
        if self.repeats.copies is not None:
            return split(self.repeats.copies, rng)
        order, half = rng.permutation(len(self.X)), len(self.X) // 2
        return order[:half], order[half:]

    def subsample(self, share: float, rng: np.random.Generator) -> IntArray:
        """A share of the rows, drawn at random; copies of a row stay together."""
        copies = self.repeats.copies
        if copies is None:
            return np.sort(rng.choice(len(self.X), round(share * len(self.X)), replace=False))
        return np.flatnonzero((rng.random(copies.n_distinct) < share)[copies.place])


def repeated(
    search: Callable[[np.random.Generator], T],
    rngs: Sequence[np.random.Generator],
    n_jobs: int | None,
    steps: Steps,
    what: str,
) -> list[T]:
    """What a search says with each generator, without those refused for too few dimensions."""

    def answer(rng: np.random.Generator) -> T | None:
        try:
            return search(rng)
        except InputError:  # rare values may all be in other rows, and their dimensions with them
            return None

    with one_thread():
        found = list(imap_ordered(answer, [(rng,) for rng in rngs], n_jobs, steps, what))
    return [each for each in found if each is not None]


def fewer(solver: Solver) -> Solver:
    """A solver with a quarter of the effort."""
    if isinstance(solver, Alternating) and solver.n_starts is not None:
        return replace(solver, n_starts=max(1, solver.n_starts // 4))
    return solver


def search_sizes(
    solver: Solver, problem: Problem, sizes: Sizes, rng: np.random.Generator
) -> list[Partition]:
    """The solver's group of each size."""
    means = SolverContext(rng=rng)
    if hasattr(solver, "profile"):
        found = solver.profile(problem, [int(size) for size in sizes], means)
    else:
        found = [solver.maximise(replace(problem, group_size=int(k)), means) for k in sizes]
    return [Partition.of(problem, each.labels, 2, each.own) for each in found]


def search_groups(
    solver: Solver, problem: Problem, sizes: Sequence[int], rng: np.random.Generator
) -> Partition:
    """Groups of these sizes; those of equal size by falling loss."""
    smallest = max(1, min([*sizes, len(problem.X) - sum(sizes)]))
    problem = replace(problem, min_size=smallest, group_size=None)
    if len(sizes) == 1:
        return search_sizes(solver, problem, sizes, rng)[0]
    if isinstance(solver, Alternating):
        few = min(solver.n_starts or _REPEATED_CLIMBS, _REPEATED_CLIMBS)
        solver = replace(solver, n_starts=few)
    labels = peel(solver, problem, len(sizes), sizes, SolverContext(rng=rng))
    found = refine(problem, Partition.of(problem, labels, len(sizes) + 1))
    found = split_anew(problem, found, rng)
    order = np.arange(len(sizes) + 1)
    for size in set(sizes):
        places = 1 + np.flatnonzero(np.asarray(sizes) == size)
        order[places] = places[np.argsort(-found.losses[places], kind="stable")]
    return found.reordered(order)


def fit_group_rule(
    task: SearchTask,
    X: Array,
    sizes: Sequence[int],
    rng: np.random.Generator,
    reference: NDArray[np.integer],
) -> GroupRule:
    """Search rows for groups of these sizes; refuses rows with too few dimensions.

    Several groups are called like those of ``reference``, the groups of the rows, that they share
    most rows with, and are as large. Where sizes differ, a search of fewer rows may well find the
    larger group's directions in a group of the smaller size, and the other way round: who a group
    is, its directions say. So these are kept, and rows are assigned anew.
    """
    posed = task.pose(X)
    found = search_groups(task.solver, posed.problem, sizes, rng)
    if len(sizes) > 1:
        order = np.argsort(match_groups(found.labels, reference, len(sizes)), kind="stable")
        if (order != np.arange(len(order))).any():
            every = [len(found.labels) - sum(sizes), *sizes]
            labels = assign(row_values(posed.problem, found.own[order], every), every).labels
            found = refine(posed.problem, Partition.of(posed.problem, labels, len(every)))
    return GroupRule.of(posed, found)


def in_proportion(sizes: Sequence[int], part: int, whole: int) -> list[int]:
    """Sizes of the same groups among fewer rows; at least one row each, and one for the rest."""
    each = [max(1, round(size * part / whole)) for size in sizes]
    while sum(each) >= part and max(each) > 1:
        each[int(np.argmax(each))] -= 1
    return each


def match_groups(labels: Labels, reference: NDArray[np.integer], n_groups: int) -> Labels:
    """What each side is called: like the group of ``reference`` that it shares most rows with.

    One to one, so that the Jaccard similarities add up to as much as they can; the rest is the
    rest.

    Examples
    --------
    >>> labels = np.array([1, 1, 2, 2, 0], np.int8)
    >>> match_groups(labels, np.array([2, 2, 1, 0, 0]), 2)[labels].tolist()
    [2, 2, 1, 1, 0]
    """
    groups = range(1, n_groups + 1)
    similar = [[jaccard(labels == a, reference == b) for b in groups] for a in groups]
    _, place = linear_sum_assignment(similar, maximize=True)
    return np.concatenate([[0], 1 + place]).astype(np.int8)


def jaccard(a: NDArray[np.bool_], b: NDArray[np.bool_]) -> float:
    """Rows in both of two groups, over the rows in either."""
    return float(np.sum(a & b)) / max(1, int(np.sum(a | b)))
