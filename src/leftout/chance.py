"""Is it more than chance? The best disparity at many sizes, beside that of chance tables.

A maximum over all partitions is large on any table. So the search is repeated, with the very same
solver and effort, on surrogate tables (:mod:`leftout.surrogates`) that keep what single columns and
correlations explain and have no subgroup beyond. With ``D(k)`` the table's best disparity at size
``k``, ``D_b(k)`` that of surrogate ``b`` of ``B``, and ``N(k)`` their mean:

- at each size, ``p(k) = (1 + #{b : D_b(k) >= D(k)}) / (B + 1)``;
- over all sizes, each curve (the table's among them) is standardised size by size and reduced to
  its maximum, and the same formula ranks the table's maximum among the surrogates';
- the evidence size maximises ``k (D(k) - N(k))``, the total loss beyond chance.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import PchipInterpolator

from leftout.bounds import certified_bound
from leftout.checks import check_choice, check_sizes, check_whole, group_sizes
from leftout.losses import Array
from leftout.partition import MaxDisparityPartition, Posed, generator, pose, prepare
from leftout.problem import Problem
from leftout.progress import Report, Steps, in_turn
from leftout.solvers import Means, SearchResult, Solver
from leftout.surrogates import SURROGATES, Surrogate, correlations
from leftout.threads import one_thread

KINDS = tuple(SURROGATES)
# Sizes between the neighbours of the grid's peak, at which the evidence is looked at again.
_REFINED = 9
# Sizes have nearly as much evidence as the best when they lack less than this share of it.
_NEARLY = 0.1


@dataclass(frozen=True, kw_only=True)
class Chance:
    """What the same search finds on chance tables of one kind.

    Attributes
    ----------
    kind : {"copula", "gaussian"}
    curves : array of shape (n_surrogates, n_sizes)
        Best disparity on each surrogate, at each size.
    mean, low, high : arrays of shape (n_sizes,)
        Mean and 5 to 95 % band of the curves.
    p_values : array of shape (n_sizes,)
        How often chance reaches the table's disparity, size by size.
    p_value : float
        The same for the table's profile as a whole: it accounts for the many sizes looked at.
    miss : float
        Largest difference between a correlation of the table and its mean over the surrogates.
    """

    kind: str
    curves: Array
    p_values: Array
    p_value: float
    miss: float

    @property
    def mean(self) -> Array:
        return self.curves.mean(axis=0)

    @property
    def low(self) -> Array:
        return np.quantile(self.curves, 0.05, axis=0)

    @property
    def high(self) -> Array:
        return np.quantile(self.curves, 0.95, axis=0)

    def to_dict(self) -> dict[str, Any]:
        """Plain data, without what is given size by size."""
        return {"surrogates": len(self.curves), "p_value": self.p_value, "miss": self.miss}


@dataclass(frozen=True, kw_only=True)
class Profile:
    """Best disparity at several sizes of the left-out group, and at chance.

    Attributes
    ----------
    sizes : array of shape (n_sizes,)
    disparities : array of shape (n_sizes,)
    bounds : array of shape (n_sizes,)
        Certified: no group of that size has a larger disparity.
    chance : dict of Chance
        By kind.
    evidence_size : int or None
        The size with the largest total loss beyond chance; None without chance tables.
    evidence : array of shape (n_sizes,) or None
        That total, ``k (D(k) - N(k))``, at each size.
    evidence_range : (int, int) or None
        The smallest and the largest size within a tenth of the most evidence.
    n_rows, n_components : int
    """

    sizes: NDArray[np.intp]
    disparities: Array
    bounds: Array
    chance: dict[str, Chance]
    evidence_size: int | None
    n_rows: int
    n_components: int

    @property
    def main(self) -> Chance | None:
        """The chance that findings rest on: of the first kind asked for."""
        return next(iter(self.chance.values()), None)

    @property
    def evidence(self) -> Array | None:
        """Total loss beyond chance at each size, ``k (D(k) - N(k))``."""
        return None if self.main is None else self.sizes * (self.disparities - self.main.mean)

    @property
    def evidence_range(self) -> tuple[int, int] | None:
        """Smallest and largest size of the grid with nearly as much evidence as the most."""
        if self.evidence is None:
            return None
        most = self.evidence.max()
        near = self.sizes[self.evidence >= most - _NEARLY * abs(most)]
        return int(near[0]), int(near[-1])

    def to_list(self) -> list[dict[str, Any]]:
        """Plain data, an entry a size."""
        return [
            {
                "size": int(size),
                "disparity": float(self.disparities[i]),
                "bound": float(self.bounds[i]),
                "chance": {
                    kind: {
                        "mean": float(c.mean[i]),
                        "low": float(c.low[i]),
                        "high": float(c.high[i]),
                        "p_value": float(c.p_values[i]),
                    }
                    for kind, c in self.chance.items()
                },
            }
            for i, size in enumerate(self.sizes)
        ]


def profile(
    estimator: MaxDisparityPartition,
    X: Any,
    *,
    sizes: int | Sequence[int] = 15,
    chance: int = 99,
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
    chance : int, default=99
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
    >>> found = chance.profile(MaxDisparityPartition(2, random_state=0), X, sizes=4, chance=9)
    >>> found.sizes.tolist(), found.chance["copula"].p_value
    ([40, 62, 97, 150], 0.1)
    """
    check_whole("chance", chance)
    kinds = check_kinds(kinds)
    task = Task.of(estimator, X)
    grid = task.grid(sizes)
    return task.profile(grid, chance, kinds, Steps(profile_steps(chance, kinds), progress))


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
class Task:
    """A table and how to search it, at any size, on it or on a surrogate."""

    X: Array
    estimator: MaxDisparityPartition
    solver: Solver
    smallest: int
    n_components: int
    rng: np.random.Generator

    @classmethod
    def of(cls, estimator: MaxDisparityPartition, X: Any) -> Task:
        solver, matrix = prepare(estimator, X)
        smallest, _ = group_sizes(estimator.min_group_size, None, *matrix.shape)
        task = cls(
            X=matrix,
            estimator=estimator,
            solver=solver,
            smallest=smallest,
            n_components=0,
            rng=generator(estimator.random_state),
        )
        # The number of components is settled once, on the table.
        return replace(task, n_components=task.pose(matrix, estimator.n_components).problem.d)

    def pose(self, X: Array, n_components: Any = None) -> Posed:
        wanted = n_components or self.n_components
        e = self.estimator
        return pose(X, wanted, e.loss, e.centering, self.smallest, None)

    def grid(self, sizes: int | Sequence[int]) -> NDArray[np.intp]:
        return check_sizes(sizes, self.smallest, len(self.X))

    def profile(
        self, sizes: NDArray[np.intp], chance: int, kinds: Sequence[str], steps: Steps
    ) -> Profile:
        """Search the table and its chance tables at each size."""
        smallest = min(self.smallest, int(sizes[0]), len(self.X) - int(sizes[-1]))
        if smallest < self.smallest:  # asked for by name
            return replace(self, smallest=smallest).profile(sizes, chance, kinds, steps)
        laws = {kind: SURROGATES[kind].of(self.X) for kind in kinds if chance}
        # The same seeds whatever is asked for besides: one for the table, one for each surrogate.
        of_table, *of_kinds = self.rng.spawn(1 + len(laws))
        with one_thread():
            problem = self.pose(self.X).problem
            steps.tell("table")
            own, finer = of_table.spawn(2)
            disparities = disparities_at(self.solver, problem, sizes, own)
            steps.tell("table", 1)
            found = {
                kind: self._chance(kind, law, sizes, disparities, rng.spawn(chance), steps)
                for (kind, law), rng in zip(laws.items(), of_kinds, strict=True)
            }
            result = Profile(
                sizes=sizes,
                disparities=disparities,
                bounds=np.array([certified_bound(problem, int(k)) for k in sizes]),
                chance=found,
                evidence_size=None,
                n_rows=len(self.X),
                n_components=self.n_components,
            )
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
        curves, mean = [], np.zeros((self.X.shape[1],) * 2)
        tasks = ((law, sizes, rng) for rng in rngs)
        what = f"{kind} chance"
        for curve, R in in_turn(self._surrogate, tasks, self.estimator.n_jobs, steps, what):
            curves.append(curve)
            mean += R / len(rngs)
        table = np.vstack([disparities, *curves])
        return Chance(
            kind=kind,
            curves=table[1:],
            p_values=np.array([p_value(column[0], column[1:]) for column in table.T]),
            p_value=overall_p_value(table),
            miss=float(np.abs(mean - correlations(self.X)).max()),
        )

    def _surrogate(
        self, law: Surrogate, sizes: NDArray[np.intp], rng: np.random.Generator
    ) -> tuple[Array, Array]:
        X = law.draw(rng)
        return disparities_at(self.solver, self.pose(X).problem, sizes, rng), correlations(X)

    def _evidence_size(
        self, found: Profile, problem: Problem, rng: np.random.Generator
    ) -> int | None:
        """The peak of ``k (D(k) - N(k))``: on the grid, then between the peak's neighbours.

        The table is searched once more first: a single profile may miss the best group of a size,
        and where the evidence is flat that would decide. (P-values rest on the first profile.)
        """
        sizes, main = found.sizes, found.main
        if main is None or len(sizes) == 1:
            return None if main is None else int(sizes[0])
        again = disparities_at(self.solver, problem, sizes, rng)
        beyond = sizes * (np.maximum(found.disparities, again) - main.mean)
        peak = int(np.argmax(beyond))
        low, high = sizes[[max(peak - 1, 0), min(peak + 1, len(sizes) - 1)]]
        finer = np.unique(np.round(np.geomspace(low, high, _REFINED)).astype(np.intp))
        at_chance = PchipInterpolator(np.log(sizes), main.mean)(np.log(finer))
        refined = finer * (disparities_at(self.solver, problem, finer, rng) - at_chance)
        if refined.max() > beyond[peak]:
            return int(finer[np.argmax(refined)])
        return int(sizes[peak])


def disparities_at(
    solver: Solver, problem: Problem, sizes: NDArray[np.intp], rng: np.random.Generator
) -> Array:
    """Best disparity that the solver finds at each size."""
    means = Means(rng=rng)
    values = [
        problem.losses_of(problem.split(result.labels), result.own)[0]
        for result in search_sizes(solver, problem, [int(k) for k in sizes], means)
    ]
    return np.array([group - rest for rest, group in values])


def search_sizes(
    solver: Solver, problem: Problem, sizes: list[int], means: Means
) -> Iterator[SearchResult]:
    """The solver's group of each size."""
    if hasattr(solver, "profile"):
        yield from solver.profile(problem, sizes, means)
    else:
        for size in sizes:
            yield solver.maximise(replace(problem, group_size=size), means)


def p_value(value: float, at_chance: Array) -> float:
    """Share of the values, this one and those at chance, that reach this one."""
    return float((1 + np.sum(at_chance >= value)) / (1 + len(at_chance)))


def overall_p_value(curves: Array) -> float:
    """Rank of the first curve's largest standardised value among all curves' largest ones.

    All curves, the first included, enter the means and deviations alike: were they drawn from the
    same law, each would be the highest with the same probability.
    """
    spread = curves.std(axis=0)
    highest = ((curves - curves.mean(axis=0)) / np.where(spread > 0.0, spread, 1.0)).max(axis=1)
    return p_value(highest[0], highest[1:])
