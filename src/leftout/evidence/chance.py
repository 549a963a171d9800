"""The best disparity over sizes of the group, beside that of chance tables.

With ``D(k)`` the table's best disparity at size ``k``, ``D_b(k)`` that of surrogate ``b`` of ``B``,
and ``N(k)`` their mean:

- at each size, ``p(k) = (1 + #{b : D_b(k) >= D(k)}) / (B + 1)``;
- over all sizes, each curve (the table's among them) is standardised size by size and reduced to
  its maximum, and the same formula ranks the table's maximum among the surrogates';
- the evidence size is the smallest whose total loss beyond that of comparison tables,
  ``k (D(k) - N(k))``, is within one standard error of the largest: ``k`` times the standard
  deviation of ``D_b(k)`` there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, TypedDict

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import PchipInterpolator

from leftout.checks import check_whole
from leftout.evidence.null_test import SURROGATE_KINDS, Chance, NullTest, as_chance, check_kinds
from leftout.evidence.refit import NullTask, disparities_at
from leftout.groups.partition import MaxDisparityPartition
from leftout.linalg.bounds import certified_bound
from leftout.linalg.losses import Array
from leftout.linalg.problem import Problem
from leftout.linalg.significance import overall_p_value, p_value
from leftout.running import Report, Steps, clean_interrupts, one_thread
from leftout.solvers import Solver

# Sizes have nearly as much evidence as the best when they lack less than this share of it.
_NEARLY_AS_MUCH = 0.1
# Sizes between the neighbours of the grid's peak, at which the evidence is looked at again.
_REFINED_SIZES = 9


class SizeAtChance(TypedDict):
    """Best disparity of comparison tables at one size: mean, 5 to 95 %, and the table's p-value."""

    mean: float
    low: float
    high: float
    p_value: float


class ProfileSize(TypedDict):
    """Best disparity at one size, the certified bound, and comparison tables by their kind."""

    size: int
    disparity: float
    bound: float
    chance: Annotated[
        dict[str, SizeAtChance], "At the few sizes that comparison tables were searched at."
    ]


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
        The smallest size with about as much total loss beyond chance as any; None where that was
        not looked for.
    evidence : array of shape (n_sizes,) or None
        That total, ``k (D(k) - N(k))``, at each size; None with ``evidence_size``.
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

    @classmethod
    def at(
        cls,
        problem: Problem,
        sizes: NDArray[np.intp],
        disparities: Array,
        chance: dict[str, Chance],
        closely: bool = False,
    ) -> Profile:
        """Of a table that was searched at some sizes, and compared.

        Certified bounds are ``closely`` as low as they can be proved, or those that cost nothing.
        """
        bound = certified_bound if closely else Problem.bound
        return cls(
            sizes=sizes, disparities=disparities, chance=chance, evidence_size=None,
            bounds=np.array([bound(problem, int(k)) for k in sizes]),
            n_rows=len(problem.X), n_components=problem.d,
        )  # fmt: skip

    @property
    def main(self) -> Chance | None:
        """The chance that findings rest on: of the first kind asked for."""
        return next(iter(self.chance.values()), None)

    @property
    def evidence(self) -> Array | None:
        """Total loss beyond chance at each size, ``k (D(k) - N(k))``."""
        if self.main is None or self.evidence_size is None:
            return None
        return self.sizes * (self.disparities - self.main.mean)

    @property
    def evidence_range(self) -> tuple[int, int] | None:
        """Smallest and largest size of the grid with nearly as much evidence as the most."""
        if self.evidence is None:
            return None
        most = self.evidence.max()
        near = self.sizes[self.evidence >= most - _NEARLY_AS_MUCH * abs(most)]
        return int(min(*near, self.evidence_size)), int(max(*near, self.evidence_size))

    def to_list(self) -> list[ProfileSize]:
        """Plain data, an entry for each size."""
        columns = (self.sizes, self.disparities, self.bounds)
        values = zip(*(each.tolist() for each in columns), strict=True)
        return [
            {"size": size, "disparity": value, "bound": bound, "chance": self._chance_at(size)}
            for size, value, bound in values
        ]

    def _chance_at(self, size: int) -> dict[str, SizeAtChance]:
        return {
            kind: {
                "mean": float(each.mean[place]), "low": float(each.low[place]),
                "high": float(each.high[place]), "p_value": float(each.p_values[place]),
            }
            for kind, each in self.chance.items()
            for place in np.flatnonzero(each.sizes == size)
        }  # fmt: skip


@clean_interrupts()
def profile(
    estimator: MaxDisparityPartition,
    X: Any,
    *,
    sizes: int | Sequence[int] = 15,
    n_surrogates: int = 99,
    kinds: str | Sequence[str] = SURROGATE_KINDS,
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
    return size_profile(
        task, grid, n_surrogates, kinds, Steps(profile_steps(n_surrogates, kinds), progress)
    )


def profile_steps(n_surrogates: int, kinds: Sequence[str]) -> int:
    """How many steps a profile reports: the table, each chance table, the evidence size."""
    return 2 + n_surrogates * len(kinds)


def size_profile(
    task: NullTask,
    sizes: NDArray[np.intp],
    n_surrogates: int,
    kinds: Sequence[str],
    steps: Steps,
) -> Profile:
    """:func:`profile` of a task that is set up already."""
    # a size asked for by name is not held to the default
    task = task.down_to(min(int(sizes[0]), len(task.X) - int(sizes[-1])))
    test = NullTest(task, sizes.tolist(), apart=True)
    # The same seeds whatever else is asked for: one for the table, one for each kind.
    of_table, *of_kinds = task.rngs[0].spawn(1 + len(SURROGATE_KINDS))
    own, finer = of_table.spawn(2)
    table = test.search_table(own, steps)
    found = {}
    for kind in kinds if n_surrogates else ():
        rng = of_kinds[SURROGATE_KINDS.index(kind)]
        drawn = test.search_surrogates(kind, lambda _: False, n_surrogates, rng, steps)
        curves = np.array([one.disparities for one in drawn])
        p_values = [p_value(*at) for at in zip(table.disparities, curves.T, strict=True)]
        overall = overall_p_value(np.vstack([table.disparities, curves]))
        found[kind] = as_chance(
            table, drawn, kind=kind, sizes=sizes, curves=curves, p_values=np.array(p_values),
            p_value=overall,
        )  # fmt: skip
    with one_thread():
        problem = task.posed.problem
        result = Profile.at(problem, sizes, table.disparities, found, closely=True)
        result = replace(result, evidence_size=_evidence_size(task.solver, problem, result, finer))
    steps.tell("evidence size", 1)
    return result


def _evidence_size(
    solver: Solver, problem: Problem, found: Profile, rng: np.random.Generator
) -> int | None:
    """The smallest size whose ``k (D(k) - N(k))`` is within one standard error of the peak.

    On the grid, then between the size found there and the one below it. The table is searched
    once more first: a single profile may miss the best group of a size, and where the evidence
    is flat that would decide. (P-values rest on the first profile.)
    """
    if found.main is None:
        return None
    sizes, curves = found.sizes, found.main.curves
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
    finer = np.unique(np.round(np.geomspace(below, above, _REFINED_SIZES)).astype(np.intp))
    at_chance = PchipInterpolator(np.log(sizes), mean)(np.log(finer))
    refined = finer * (disparities_at(solver, problem, finer, rng) - at_chance)
    near = finer[refined >= enough]
    return int(near[0]) if len(near) else int(sizes[first])
