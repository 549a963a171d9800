"""The group that an audit is about: how many components, how many rows, and which.

The stages of an audit, as people read of them while they wait, and why some are left out.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import clone

from leftout.checks import generator
from leftout.evidence.assess import evidence_size
from leftout.evidence.stability import Stability
from leftout.groups.partition import MaxDisparityPartition
from leftout.groups.problem_setup import SearchProblem
from leftout.groups.sizes import check_size, default_smallest, group_sizes, worst_tenth
from leftout.running import Report, warn
from leftout.settings import EVIDENCE, TENTH, Settings
from leftout.solvers import Alternating, SearchResult
from leftout.solvers.base import as_history

# What would take long on many rows is done on so many.
FEW_ROWS = 5_000
# Climbs of the one search that the group comes from, where these are cheap.
_STARTS, _CHEAP = 600, 8_192
# The group does not depend on the seed of an audit: its search always starts from here.
FIXED = 0
# A disparity that is larger by less than this share is as large.
_BETTER = 1e-6
# Shares of the variance closer than this, as a share of the first, tie.
_TIE = 1e-9


@dataclass(frozen=True)
class Sized:
    """How many rows the group is to have (None: as the search likes), and how that came about.

    Where evidence chose among sizes: its p-value, how many sizes that covers, and on how many rows.
    """

    rows: int | None
    chosen: str  # "tenth", "evidence", "given", "free"
    p_value: float | None = None
    over_sizes: tuple[int, int] | None = None


def components(posed: SearchProblem, asked: int | float) -> int:
    """The number of components, settled once on all rows: not between two that tie.

    A share of the variance leaves a choice: the next number that parts them.
    """
    d, shares = posed.problem.d, posed.explained
    if not isinstance(asked, float):
        return d
    apart = np.flatnonzero(shares[:-1] - shares[1:] > _TIE * shares[0]) + 1
    apart = apart[apart < np.sum(shares > _TIE * shares[0])]  # something must be left out
    if not len(apart) or d in apart:
        return d
    other = int(apart[apart > d][0] if (apart > d).any() else apart[-1])
    warn(
        f"Components {d} and {d + 1} have equal variance, so which of them counts would be "
        f"arbitrary; {other} components are used."
    )
    return other


def few_of(rows: NDArray[np.intp]) -> NDArray[np.intp]:
    """Few enough of some rows, always the same ones."""
    if len(rows) <= FEW_ROWS:
        return rows
    chosen = np.random.default_rng(FIXED).choice(len(rows), FEW_ROWS, replace=False)
    return rows[np.sort(chosen)]


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


def sized(
    search: MaxDisparityPartition,
    d: int,
    X: pd.DataFrame,
    rows: NDArray[np.intp],
    settings: Settings,
    report: Report,
    n_rows: int | None = None,
) -> Sized:
    """How many rows the group is to have; ``rows`` are those that evidence rests on.

    ``X`` may be a sample of ``n_rows``; ``d`` is the number of components.
    """
    asked, m, smallest = settings.group_size, n_rows or len(X), search.min_group_size
    if asked is None:
        return Sized(None, "free")
    tenth = Sized(worst_tenth(smallest, m, d), "tenth")
    if asked == TENTH:
        return tenth
    if asked == EVIDENCE:
        part = X.iloc[few_of(rows)] if len(X) > FEW_ROWS else X
        search = on_fewer(search, part, m)
        found, why = evidence_size(search, part, settings.n_surrogates, report)
        warn(why)
        if found is None or found.evidence_size is None or found.main is None:
            return tenth
        size = round(found.evidence_size / len(part) * m)
        return Sized(size, EVIDENCE, found.main.p_value, (len(found.sizes), found.n_rows))
    _, sizes = group_sizes(smallest, asked, m, X.shape[1])
    assert sizes is not None
    return Sized(sizes[0], "given")


def found(
    search: MaxDisparityPartition,
    posed: SearchProblem,
    X: pd.DataFrame,
    size: int | None,
    wide: bool,
) -> MaxDisparityPartition:
    """The group of a size, on all rows, from starts that are always the same.

    What is searched again and again from there on makes do with the solver that ``search`` names.
    """
    starts = _STARTS if len(X) <= _CHEAP and not wide else None
    thorough = clone(search).set_params(random_state=FIXED, solver=Alternating(n_starts=starts))
    smallest = None
    if size is not None:
        thorough.set_params(group_size=size, min_group_size=None)
        smallest, _ = group_sizes(None, size, *X.shape)
    group = thorough._fit_posed(X, posed.resized(smallest, size))
    return group.set_params(solver=search.solver)


def best_seen(
    found: MaxDisparityPartition, posed: SearchProblem, X: pd.DataFrame, runs: Stability
) -> MaxDisparityPartition:
    """The group, or a better one of the same size that a search from another start has found."""
    best = int(np.argmax(runs.disparities))
    disparity = float(runs.disparities[best])
    if disparity <= found.disparity_ + _BETTER * abs(found.disparity_):
        return found
    result = SearchResult(
        labels=runs.labels[best], history=as_history([disparity], [0]), stopped="another start",
        agreed=False,
    )  # fmt: skip
    size = found.left_out_.size
    smallest, _ = group_sizes(None, size, *X.shape)
    return clone(found)._fit_known(X, posed.resized(smallest, size), result)


def papers(
    search: MaxDisparityPartition, X: pd.DataFrame, stability: Stability | None
) -> MaxDisparityPartition:
    """The best of the paper's runs."""
    search = clone(search)
    if stability is None:
        return search.fit(X)
    rngs = generator(search.random_state).spawn(len(stability.labels))
    return search.set_params(random_state=rngs[int(np.argmax(stability.disparities))]).fit(X)


# What people read while they wait, and the share of the time, more or less.
READ, FIND, EXPLAIN = "reading and encoding", "who is left out", "who are they"
MEND, NAME = "what can be done", "which groups have a name"
COST, TRUST = "what does it cost them", "why, and does it come back"
COMPARE = "comparing algorithms"
_STAGES = {
    READ: 2.0, FIND: 4.0, EXPLAIN: 5.0, MEND: 1.0, NAME: 45.0, COST: 3.0, TRUST: 30.0,
}  # fmt: skip
# Why an answer has no evidence.
NOT_IN_QUICK = "Not looked at in a quick audit. Audit again without it."
NOT_YET = "Not looked at yet."
PAPER = "The paper's preset does not look at this. Audit without it."


def stages(full: bool) -> dict[str, float]:
    """The stages of an audit; algorithms are compared on request."""
    return {**_STAGES, COMPARE: 10.0} if full else _STAGES
