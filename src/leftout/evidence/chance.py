"""Is it more than chance? The best disparity at many sizes, beside that of chance tables.

A maximum over all partitions is large on any table. So the search is repeated, with the same
solver and effort, on surrogate tables (:mod:`leftout.evidence.surrogates`) that keep what single
columns and correlations explain and have no other subgroup. With ``D(k)`` the table's best
disparity at size ``k``, ``D_b(k)`` that of surrogate ``b`` of ``B``, and ``N(k)`` their mean:

- at each size, ``p(k) = (1 + #{b : D_b(k) >= D(k)}) / (B + 1)``;
- over all sizes, each curve (the table's among them) is standardised size by size and reduced to
  its maximum, and the same formula ranks the table's maximum among the surrogates';
- the evidence size is the smallest whose total loss beyond that of comparison tables,
  ``k (D(k) - N(k))``, is within one standard error of the largest: ``k`` times the standard
  deviation of ``D_b(k)`` there.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import PchipInterpolator
from sklearn.base import clone

from leftout.checks import check_choice, check_whole, generator
from leftout.errors import InputError
from leftout.evidence.duplicate_rows import Repeats, find_repeats
from leftout.evidence.profiles import Chance, Profile
from leftout.evidence.surrogates import SURROGATES, Surrogate, correlations, law_of
from leftout.groups.fitted import prepare
from leftout.groups.partition import MaxDisparityPartition
from leftout.groups.problem_setup import SearchProblem, build_problem
from leftout.groups.sizes import check_sizes, default_smallest, group_sizes
from leftout.linalg.distinct import distinct_rows
from leftout.linalg.losses import Array
from leftout.linalg.monte_carlo import overall_p_value, p_value
from leftout.linalg.problem import Problem
from leftout.running import Report, Steps, clean_interrupts, imap_ordered, one_thread
from leftout.solvers import SearchResult, Solver, SolverContext, takes_sizes

KINDS = tuple(SURROGATES)
# Sizes between the neighbours of the grid's peak, at which the evidence is looked at again.
_REFINED = 9


@clean_interrupts()
def profile(
    estimator: MaxDisparityPartition,
    X: Any,
    *,
    sizes: int | Sequence[int] = 15,
    n_surrogates: int = 99,
    kinds: str | Sequence[str] = KINDS,
    progress: Report | bool | None = None,
) -> Profile:
    """Best disparity over a grid of group sizes, on the table and on chance tables.

    Parameters
    ----------
    estimator : MaxDisparityPartition
        Its loss, centring, solver, components, smallest size, ``random_state`` and ``n_jobs`` are
        used; its ``group_size`` is not.
    X : table of shape (m, n)
    sizes : int or list of int, default=15
        How many sizes, log-spaced from the smallest allowed to half of the rows; or the sizes.
    n_surrogates : int, default=99
        Surrogate tables of each kind.
    kinds : {"copula", "gaussian"} or a list of them
        The first is the one that the evidence size rests on.
    progress : callable, bool or None
        ``progress(what, done, total)`` is called after every step; True: to stderr.

    Returns
    -------
    Profile

    Examples
    --------
    >>> from leftout import MaxDisparityPartition, chance, datasets
    >>> X, _ = datasets.make_planted(300, 8, 2, 60, random_state=0)
    >>> found = chance.profile(MaxDisparityPartition(2, random_state=0), X, sizes=4, n_surrogates=9)
    >>> found.sizes.tolist(), found.chance["copula"].p_value
    ([40, 62, 97, 150], 0.1)
    """
    check_whole("n_surrogates", n_surrogates)
    kinds = check_kinds(kinds)
    task = NullTask.of(estimator, X)
    grid = task.grid(sizes)
    return task.profile(
        grid, n_surrogates, kinds, Steps(profile_steps(n_surrogates, kinds), progress)
    )


def check_kinds(kinds: str | Sequence[str]) -> list[str]:
    """The kinds of chance tables asked for, each once."""
    asked = [kinds] if isinstance(kinds, str) else list(dict.fromkeys(kinds))
    for kind in asked:
        check_choice("kinds", kind, KINDS)
    return asked


def profile_steps(chance: int, kinds: Sequence[str]) -> int:
    """How many steps a profile reports: the table, each chance table, the evidence size."""
    return 2 + chance * len(kinds)


@dataclass(frozen=True, kw_only=True)
class NullTask:
    """A table and how to search it, at any size, on it or on a surrogate."""

    X: Array
    estimator: MaxDisparityPartition
    solver: Solver
    posed: SearchProblem  # the table's problem, settled once
    rngs: list[np.random.Generator]  # of the profile, the held-out rows, the runs
    repeats: Repeats | None = None  # None: nobody has looked

    @classmethod
    def of(cls, estimator: MaxDisparityPartition, X: Any, sized: bool = False) -> NullTask:
        """``sized``: for groups of a given size, of which a default minimum says nothing."""
        solver, matrix = prepare(estimator, X)
        _check_takes_sizes(solver)
        smallest = estimator.min_group_size
        if sized and smallest is None:
            smallest = default_smallest(*matrix.shape)
        with one_thread():
            free = clone(estimator).set_params(group_size=None, min_group_size=smallest)
            posed = free._pose(matrix)
        rngs = generator(estimator.random_state).spawn(3)
        return cls(
            X=matrix,
            estimator=estimator,
            solver=solver,
            posed=posed,
            rngs=rngs,
            repeats=find_repeats(matrix),
        )

    def law(self, kind: str) -> Surrogate:
        """Of chance tables: with as many equal rows as the table, where its rows repeat."""
        return law_of(kind, self.X, None if self.repeats is None else self.repeats.copies)

    def witnesses(self, X: Array) -> Array:
        """What correlations are told by: distinct rows, where the table's rows are copies."""
        return X[distinct_rows(X).first] if self.rows_repeat else X

    @property
    def rows_repeat(self) -> bool:
        return self.repeats is not None and self.repeats.beyond_chance

    @property
    def n_components(self) -> int:
        return self.posed.problem.d

    @property
    def smallest(self) -> int:
        return self.posed.problem.min_size

    def pose(self, X: Array) -> SearchProblem:
        """Another table's problem, with as many components."""
        e = self.estimator
        d, smallest = self.n_components, self.smallest
        return build_problem(X, d, e.loss, e.centering, smallest, None, e.representation)

    def at_size(self, size: int) -> SearchProblem:
        """The table's problem for a group of a given size."""
        smallest = min(self.smallest, size, len(self.X) - size)
        return self.posed.resized(smallest, size)

    def grid(self, sizes: int | Sequence[int]) -> NDArray[np.intp]:
        grid = check_sizes(sizes, self.smallest, len(self.X))
        for size in (grid[0], grid[-1]):  # held to a minimum that was asked for
            group_sizes(self.estimator.min_group_size, int(size), *self.X.shape)
        return grid

    def profile(
        self, sizes: NDArray[np.intp], chance: int, kinds: Sequence[str], steps: Steps
    ) -> Profile:
        """Search the table and its chance tables at each size."""
        smallest = min(self.smallest, int(sizes[0]), len(self.X) - int(sizes[-1]))
        if smallest < self.smallest:  # a size asked for by name is not held to the default
            posed = self.posed.resized(smallest, None)
            return replace(self, posed=posed).profile(sizes, chance, kinds, steps)
        laws = {kind: self.law(kind) for kind in kinds if chance}
        # The same seeds whatever else is asked for: one for the table, one for each kind.
        of_table, *of_kinds = self.rngs[0].spawn(1 + len(KINDS))
        with one_thread():
            problem = self.posed.problem
            steps.tell("table")
            own, finer = of_table.spawn(2)
            disparities = disparities_at(self.solver, problem, sizes, own)
            steps.tell("table", 1)
            found = {
                kind: self._chance(
                    kind, law, sizes, disparities, of_kinds[KINDS.index(kind)].spawn(chance), steps
                )
                for kind, law in laws.items()
            }
            result = Profile.at(problem, sizes, disparities, found, closely=True)
            evidence = self._evidence_size(result, problem, finer)
            steps.tell("evidence size", 1)
        return replace(result, evidence_size=evidence)

    def _chance(
        self,
        kind: str,
        law: Surrogate,
        sizes: NDArray[np.intp],
        disparities: Array,
        rngs: Sequence[np.random.Generator],
        steps: Steps,
    ) -> Chance:
        curves, residuals, mean = [], [], np.zeros((self.X.shape[1],) * 2)
        tasks = ((law, sizes, rng) for rng in rngs)
        what = f"{kind} comparison tables"
        n_jobs = self.estimator.n_jobs
        for curve, residual, R in imap_ordered(self._surrogate, tasks, n_jobs, steps, what):
            curves.append(curve)
            residuals.append(residual)
            mean += R / len(rngs)
        table = np.vstack([disparities, *curves])
        return Chance(
            kind=kind,
            sizes=sizes,
            curves=table[1:],
            p_values=np.array([p_value(column[0], column[1:]) for column in table.T]),
            p_value=overall_p_value(table),
            miss=float(np.abs(mean - correlations(self.witnesses(self.X))).max()),
            residual=float(np.mean(residuals) / residual_share(self.posed)),
        )

    def _surrogate(
        self, law: Surrogate, sizes: NDArray[np.intp], rng: np.random.Generator
    ) -> tuple[Array, float, Array]:
        X = law.draw(rng)
        posed = self.pose(X)
        curve = disparities_at(self.solver, posed.problem, sizes, rng)
        return curve, residual_share(posed), correlations(self.witnesses(X))

    def _evidence_size(
        self, found: Profile, problem: Problem, rng: np.random.Generator
    ) -> int | None:
        """The smallest size whose ``k (D(k) - N(k))`` is within one standard error of the peak.

        On the grid, then between the size found there and the one below it. The table is searched
        once more first: a single profile may miss the best group of a size, and where the evidence
        is flat that would decide. (P-values rest on the first profile.)
        """
        if found.main is None:
            return None
        sizes, curves, solver = found.sizes, found.main.curves, self.solver
        mean = curves.mean(axis=0)
        if len(sizes) == 1:
            return int(sizes[0])
        again = disparities_at(solver, problem, sizes, rng)
        beyond = sizes * (np.maximum(found.disparities, again) - mean)
        peak = int(np.argmax(beyond))
        enough = beyond[peak] - float(sizes[peak] * curves[:, peak].std())
        if beyond[peak] <= 0.0:  # no size has evidence; the peak is as good as any
            return int(sizes[peak])
        first = int(np.argmax(beyond >= enough))
        below, above = sizes[[max(first - 1, 0), first]]
        finer = np.unique(np.round(np.geomspace(below, above, _REFINED)).astype(np.intp))
        at_chance = PchipInterpolator(np.log(sizes), mean)(np.log(finer))
        refined = finer * (disparities_at(solver, problem, finer, rng) - at_chance)
        near = finer[refined >= enough]
        return int(near[0]) if len(near) else int(sizes[first])


def residual_share(posed: SearchProblem) -> float:
    """Share of a table's variance that its shared components leave."""
    return 1.0 - float(posed.explained[: posed.problem.d].sum())


def _check_takes_sizes(solver: Solver) -> None:
    if not takes_sizes(solver):
        raise InputError(
            f"Comparison tables are searched size by size, but {solver!r} chooses the size itself. "
            "Use solver='alternating' or Sorting(split='matched'). (The agreement of its runs "
            "alone: leftout.stability.agreement.)"
        )


def disparities_at(
    solver: Solver, problem: Problem, sizes: NDArray[np.intp], rng: np.random.Generator
) -> Array:
    """Best disparity that the solver finds at each size."""
    means = SolverContext(rng=rng)
    values = [
        problem.losses(result.labels, result.own)[0]
        for result in search_sizes(solver, problem, [int(k) for k in sizes], means)
    ]
    return np.array([group - rest for rest, group in values])


def search_sizes(
    solver: Solver, problem: Problem, sizes: list[int], means: SolverContext
) -> Iterator[SearchResult]:
    """The solver's group of each size."""
    if hasattr(solver, "profile"):
        yield from solver.profile(problem, sizes, means)
    else:
        for size in sizes:
            yield solver.maximise(replace(problem, group_size=size), means)
