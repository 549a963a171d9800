"""The groups that an audit is about: how many components, how many groups, of what sizes, which."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import clone

from leftout.evidence.n_groups import HowMany, how_many
from leftout.evidence.replication import Stability, fit_with_seeds
from leftout.groups.partition import MaxDisparityPartition
from leftout.groups.problem_setup import SearchProblem
from leftout.groups.sizes import check_size, default_smallest, group_sizes, worst_tenth
from leftout.linalg.significance import describe_p
from leftout.running import Report, Steps, warn
from leftout.settings import AUTO, EVIDENCE, TENTH, Settings
from leftout.solvers import Alternating, SearchResult
from leftout.solvers.base import as_history

# What would take long on many rows is done on so many.
_MOST_ROWS, _FEWEST_ROWS, _MOST_CELLS = 5_000, 2_000, 540_000
# Climbs of the one search that the group comes from, where these are cheap.
_THOROUGH_STARTS, _CHEAP = 600, 8_192
# The group does not depend on the seed of an audit: its search always starts from here.
FIXED = 0
# A disparity that is larger by less than this share is as large.
_BETTER = 1e-6
# Surrogate tables that count groups, if as many were asked for.
_COUNTING = 39
# Sizes among which the one with the most evidence is chosen.
_EVIDENCE_SIZES = 15
_NO_EVIDENCE = (
    "Size: copula surrogates lose as much at every size, so none has the most evidence; a tenth of "
    "the rows is taken."
)
_NO_GROUPS = (
    "No number of groups goes beyond surrogate tables; what follows tells of one group all the "
    "same, "
)


@dataclass(frozen=True)
class GroupPlan:
    """How many groups to look for, of how many rows (None: as the search likes), and why.

    Where evidence chose among sizes: its p-value, and how many sizes that covers; where it counted
    several groups, how.
    """

    sizes: list[int] | None
    chosen: str  # "tenth", "evidence", "given", "free"
    n_groups: int = 1
    p_value: float | None = None
    over_sizes: int | None = None
    counted: HowMany | None = None

    @property
    def size(self) -> int | None:
        """Of the first group."""
        return None if self.sizes is None else self.sizes[0]


def search_for(
    settings: Settings, n_jobs: int | None, representation: Any = None
) -> MaxDisparityPartition:
    """The search that settings ask for; of a size that evidence decides, a free one."""
    search = MaxDisparityPartition(
        settings.n_components, representation=representation,
        min_group_size=settings.min_group_size, n_groups=settings.n_groups, loss=settings.loss,
        centering=settings.centering, random_state=settings.random_state, n_jobs=n_jobs,
        solver=settings.solver,
    )  # fmt: skip
    search.set_params(group_size=None if settings.group_size == EVIDENCE else settings.group_size)
    search._check_names()
    return search


def evidence_rows(n_features: int) -> int:
    """Rows that evidence is weighed on: fewer of a table with many features.

    Examples
    --------
    >>> [evidence_rows(n) for n in (20, 200, 1_000)]
    [5000, 2700, 2000]
    """
    return int(np.clip(_MOST_CELLS // n_features, _FEWEST_ROWS, _MOST_ROWS))


def few_of(rows: NDArray[np.intp], n_features: int, effort: str) -> NDArray[np.intp]:
    """The rows that evidence is weighed on, always the same ones; all of them with full effort."""
    few = evidence_rows(n_features)
    if len(rows) <= few or effort == "full":
        return rows
    return rows[np.sort(np.random.default_rng(FIXED).choice(len(rows), few, replace=False))]


def on_fewer(
    search: MaxDisparityPartition, part: pd.DataFrame, n_rows: int
) -> MaxDisparityPartition:
    """The search for some of the rows, with the smallest size in proportion."""
    search, smallest = clone(search), search.min_group_size
    if smallest is not None and len(part) < n_rows:
        share = check_size("min_group_size", smallest, n_rows) / n_rows
        fewest = max(round(share * len(part)), default_smallest(*part.shape))
        search.set_params(min_group_size=fewest)
    return search


def plan_groups(
    search: MaxDisparityPartition,
    d: int,
    part: pd.DataFrame,
    settings: Settings,
    report: Report,
    m: int,
) -> GroupPlan:
    """How many groups, and of how many of the ``m`` rows; ``part`` is what evidence rests on.

    ``d`` is the number of components.
    """
    asked, smallest, n_groups = settings.group_size, search.min_group_size, settings.n_groups
    if n_groups == AUTO:
        plan = _count_groups(on_fewer(search, part, m), part, settings, report, m)
        if plan is not None:
            return plan
        n_groups = 1
    k = int(n_groups)
    if asked is None:
        return GroupPlan(None, "free", k)
    tenth = worst_tenth(smallest, m, d)
    if asked == EVIDENCE:
        (found,) = how_many(
            on_fewer(search, part, m), part, n_surrogates=settings.n_surrogates, most=1,
            sizes=_EVIDENCE_SIZES, progress=report,
        ).looked  # fmt: skip
        if found.counts:
            size, p, over = round(found.size / len(part) * m), found.p_value, found.n_sizes
            warn(
                f"Size: over {over} sizes, copula surrogates rarely lose as much "
                f"({describe_p(p)}); the smallest with about as much evidence as any is taken."
            )
            return GroupPlan([size], EVIDENCE, p_value=p, over_sizes=over)
        warn(_NO_EVIDENCE)
    if asked in (EVIDENCE, TENTH):
        # of several groups, half of the rows are left to the rest
        size = tenth if k == 1 else min(tenth, max(1, m // (2 * k)))
        return GroupPlan([size] * k, "tenth" if size == tenth else "given", k)
    _, sizes = group_sizes(smallest, asked, m, part.shape[1], n_groups=k)
    return GroupPlan(sizes, "given", k)


def _count_groups(
    search: MaxDisparityPartition, part: pd.DataFrame, settings: Settings, report: Report, m: int
) -> GroupPlan | None:
    """As many groups as go beyond surrogate tables, of the sizes at which they do; None: none."""
    search.set_params(random_state=FIXED)
    fixed = settings.group_size not in (None, TENTH)
    if fixed:
        search.set_params(group_size=check_size("group_size", settings.group_size, m) / m)
    counted = how_many(
        search, part, n_surrogates=min(settings.n_surrogates, _COUNTING), progress=report
    )
    sizes = [max(1, round(size / len(part) * m)) for size in counted.sizes]
    warn(f"How many groups: {counted.summary()}")
    if not sizes:
        warn(f"{_NO_GROUPS}{'of the size asked for.' if fixed else 'the worst-represented tenth.'}")
        return None
    several = counted if len(sizes) > 1 else None
    return GroupPlan(sizes, "given" if fixed else EVIDENCE, len(sizes), counted=several)


def find_groups(
    search: MaxDisparityPartition,
    search_problem: SearchProblem,
    X: pd.DataFrame,
    plan: GroupPlan,
    wide: bool,
) -> MaxDisparityPartition:
    """The groups of a plan, on all rows, from starts that are always the same.

    What is searched again and again from there on makes do with the solver that ``search`` names.
    """
    starts = _THOROUGH_STARTS if plan.n_groups == 1 and len(X) <= _CHEAP and not wide else None
    thorough = clone(search).set_params(random_state=FIXED, solver=Alternating(n_starts=starts))
    if plan.sizes is not None:
        thorough.set_params(min_group_size=None)
    if plan.n_groups > 1:
        thorough.set_params(n_groups=plan.n_groups, group_size=plan.sizes)
        return thorough.fit(X).set_params(solver=search.solver)
    smallest = None
    if plan.size is not None:
        thorough.set_params(group_size=plan.size)
        smallest, _ = group_sizes(None, plan.size, *X.shape)
    group = thorough._fit_problem(X, search_problem.resized(smallest, plan.size))
    return group.set_params(solver=search.solver)


def best_seen(
    found: MaxDisparityPartition, search_problem: SearchProblem, X: pd.DataFrame, runs: Stability
) -> MaxDisparityPartition:
    """The group, or a better one of the same size that a search from another start has found."""
    best = int(np.argmax(runs.disparities))
    disparity = float(runs.disparities[best])
    if disparity <= found.disparity_ + _BETTER * abs(found.disparity_):
        return found
    result = SearchResult(
        labels=runs.labels[best], history=as_history([disparity], [0]), stopped="another start"
    )  # fmt: skip
    size = found.left_out_.sought
    smallest, _ = group_sizes(None, size, *X.shape)
    return clone(found)._fit_problem(X, search_problem.resized(smallest, size), result)


def papers(
    search: MaxDisparityPartition, X: pd.DataFrame, n_restarts: int, report: Report
) -> tuple[MaxDisparityPartition, Stability | None]:
    """The best of the paper's runs, and how they agree; of fewer than two, nothing."""
    if n_restarts < 2:
        return clone(search).fit(X), None
    runs = fit_with_seeds(search, X, n_restarts, Steps(n_restarts, report))
    disparities = np.array([run.disparity_ for run in runs])
    labels = np.array([run.labels_ for run in runs], dtype=np.int8)
    return runs[int(np.argmax(disparities))], Stability(labels=labels, disparities=disparities)
