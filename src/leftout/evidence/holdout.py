"""Does the group come back on rows that the search has not seen?

The rows are split in two halves, several times. The group is found on one half, the rows of the
other are assigned to it or to the rest as ``predict`` does, and their disparity is computed there
from the definition.

That a disparity is above zero on held-out rows does not yet make it more than chance: a group of
rare values in one column returns there too, and a small side fits its own PCA easily. So the same
is done on surrogate tables.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import stats

from leftout.checks import Refusal, check_choice, check_count, check_whole
from leftout.core.distinct import Distinct, IntArray, distinct_rows
from leftout.core.losses import Array, side_losses
from leftout.core.ranks import LEVEL, can_tell, p_value, told_p
from leftout.evidence.chance import Task, search_sizes
from leftout.evidence.repeats import split
from leftout.evidence.surrogates import SURROGATES, Surrogate
from leftout.running import Report, Steps, clean_interrupts, in_turn, one_thread
from leftout.search.known import measure
from leftout.search.partition import MaxDisparityPartition
from leftout.search.sizes import group_sizes
from leftout.solvers import Alternating, Means
from leftout.wording import number

# Starts of each of the many searches, on the table and on surrogates alike.
_STARTS = 60
_CONFIDENCE = 0.95


@dataclass(frozen=True, kw_only=True)
class HeldOut:
    """Disparities on rows that the search has not seen.

    Attributes
    ----------
    group_size : int
        Size of the group looked for, in half of the rows.
    disparities : array of shape (n_splits,)
        On the held-out half. Splits are passed over where half of the rows has too few dimensions.
    shares : array of shape (n_splits,)
        Share of the held-out rows that are assigned to the group.
    disparity, low, high : float
        Mean of ``disparities`` and its 95 % interval. Splits share rows, so their spread is
        corrected (Nadeau and Bengio 2003): variance ``(1 / n_splits + 1) s^2`` for halves.
    chance : array of shape (n_surrogates,)
        ``disparity`` on each surrogate.
    p_value : float or None
        How often chance reaches the table's; None without surrogates.
    """

    group_size: int
    disparities: Array
    shares: Array
    chance: Array

    @property
    def disparity(self) -> float:
        return float(self.disparities.mean())

    @property
    def low(self) -> float:
        return self.disparity - self._half_width

    @property
    def high(self) -> float:
        return self.disparity + self._half_width

    @property
    def p_value(self) -> float | None:
        return p_value(self.disparity, self.chance) if len(self.chance) else None

    @property
    def holds(self) -> bool | None:
        """Whether the disparity returns, above zero and beyond chance; None if nobody can tell."""
        if self.p_value is None or not can_tell(len(self.chance)) or len(self.disparities) < 2:
            return None
        return self.low > 0.0 and self.p_value <= LEVEL

    @property
    def told(self) -> str:
        text = (
            "Found on half of the rows, the group's disparity on the other half is "
            f"{number(self.disparity)}"
        )
        if len(self.disparities) == 1:
            return f"{text} (one split, so with no interval)."
        splits = f"{len(self.disparities)} splits"
        text += f" (95 % interval {number(self.low)} to {number(self.high)}, {splits})"
        if self.holds is None or self.p_value is None:
            return f"{text}."
        return (
            f"{text}; groups found in chance tables keep {number(self.chance.mean())} there "
            f"({told_p(self.p_value)})."
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "group_size": self.group_size,
            "splits": len(self.disparities),
            "disparity": self.disparity,
            "low": self.low if len(self.disparities) > 1 else None,
            "high": self.high if len(self.disparities) > 1 else None,
            "share": float(self.shares.mean()),
            "chance": {
                "surrogates": len(self.chance),
                "mean": float(self.chance.mean()) if len(self.chance) else None,
                "p_value": self.p_value,
            },
        }

    @property
    def _half_width(self) -> float:
        splits = len(self.disparities)
        if splits < 2:
            return float("nan")
        spread = self.disparities.std(ddof=1) * np.sqrt(1.0 / splits + 1.0)
        return float(stats.t.ppf(0.5 + _CONFIDENCE / 2.0, splits - 1) * spread)


@clean_interrupts()
def held_out(
    estimator: MaxDisparityPartition,
    X: Any,
    *,
    group_size: int | float,
    splits: int = 10,
    chance: int = 39,
    kind: str = "copula",
    progress: Report | bool | None = None,
) -> HeldOut:
    """Find a group on half of the rows and look for it in the other half, repeatedly.

    Parameters
    ----------
    estimator : MaxDisparityPartition
    X : table of shape (m, n)
    group_size : int or float
        Size of the group in the whole table; half as many are looked for in half of the rows.
    splits : int, default=10
    chance : int, default=39
        Surrogate tables of this ``kind`` on which the same is done.
    progress : callable, bool or None

    Examples
    --------
    >>> from leftout import MaxDisparityPartition, datasets, holdout
    >>> X, _ = datasets.make_planted(400, 8, 2, 80, random_state=0)
    >>> search = MaxDisparityPartition(2, random_state=0)
    >>> found = holdout.held_out(search, X, group_size=80, splits=5, chance=9)
    >>> found.low > 0, found.p_value
    (True, 0.1)
    """
    check_count("splits", splits)
    check_whole("chance", chance)
    check_choice("kind", kind, SURROGATES)
    task = Task.of(estimator, X)
    law = task.law(kind) if chance else None
    steps = Steps(1 + chance, progress)
    _, size = group_sizes(estimator.min_group_size, group_size, *task.X.shape)
    assert size is not None
    return judge(task, size, splits, law, chance, steps)


def judge(
    task: Task,
    group_size: int,
    splits: int,
    law: Surrogate | None,
    chance: int,
    steps: Steps,
) -> HeldOut:
    """:func:`held_out` on a task that is set up already."""
    half = len(task.X) // 2
    size = min(max(1, round(group_size * half / len(task.X))), half - 1)
    if isinstance(task.solver, Alternating) and task.solver.n_starts is None:
        task = replace(task, solver=replace(task.solver, n_starts=_STARTS))
    smallest = min(task.smallest, size, half - size)
    task = replace(task, posed=task.posed.resized(smallest, None))
    of_table, *of_chance = task.rngs[1].spawn(1 + chance)
    laws = [None, *(law for _ in of_chance)]
    rngs = [of_table, *of_chance]
    tasks = [(task, splits, size, *each) for each in zip(laws, rngs, strict=True)]
    with one_thread():
        n_jobs = task.estimator.n_jobs
        table, *others = in_turn(_over_splits, tasks, n_jobs, steps, "held-out rows")
    judged = np.isfinite(table[0])
    if not judged.any():
        raise Refusal(
            f"Half of the rows, {half}, have too few dimensions for {task.n_components} "
            "components. Use fewer components, or more rows."
        )
    at_chance = [np.nanmean(other[0]) for other in others if np.isfinite(other[0]).any()]
    return HeldOut(
        group_size=size,
        disparities=table[0][judged],
        shares=table[1][judged],
        chance=np.array(at_chance),
    )


def _over_splits(
    task: Task, splits: int, size: int, law: Surrogate | None, rng: np.random.Generator
) -> Array:
    """Disparity, and share of the group, on held-out rows: (2, splits)."""
    X = task.X if law is None else law.draw(rng)
    rows = distinct_rows(X) if task.rows_repeat else None
    half = len(X) // 2
    results = []
    for _ in range(splits):
        searched, judged = _halves(len(X), rows, rng)
        # Rows that occur very often may make halves unequal: the group keeps its share.
        k = min(max(1, round(size * len(searched) / half)), len(searched) - 1)
        try:
            results.append(_one_split(task, X[searched], X[judged], k, rng))
        except Refusal:  # rare values are all in the other half, and their dimensions with them
            results.append((np.nan, np.nan))
    return np.array(results).T


def _halves(m: int, rows: Distinct | None, rng: np.random.Generator) -> tuple[IntArray, IntArray]:
    """Rows to search and rows to judge; those of a table whose rows repeat keep equal together."""
    if rows is not None:
        return split(rows, rng)
    order = rng.permutation(m)
    return order[: m // 2], order[m // 2 :]


def _one_split(
    task: Task, searched: Array, held_out: Array, size: int, rng: np.random.Generator
) -> tuple[float, float]:
    posed = task.pose(searched)
    problem, table = posed.problem, posed.table
    (found,) = search_sizes(task.solver, problem, [size], Means(rng=rng))
    own = problem.losses(found.labels)[1] if found.own is None else found.own
    scores = problem.rank(own, size).scores
    cut = float(scores[size - 1] + scores[size]) / 2.0
    V, own = table.in_columns(problem.V), np.stack([table.in_columns(W) for W in own])
    rest, group = side_losses(problem.loss, held_out - table.mean, V, own)
    labels = (group + size / (len(searched) - size) * rest > cut).astype(np.intp)
    if labels.min() == labels.max():  # nobody of the group, or nobody else: no gap
        return 0.0, float(labels[0])
    e = task.estimator
    known = measure(held_out, labels, 2, task.n_components, e.loss, e.centering)
    rest_loss, group_loss = known.losses()
    return float(group_loss - rest_loss), float(labels.mean())
