"""Several groups, one after the other: each is searched among the rows that are left."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from leftout.core.problem import Labels, Problem
from leftout.core.several import among
from leftout.solvers.base import Means, Solver


def peel(
    solver: Solver, problem: Problem, n_groups: int, sizes: Sequence[int] | None, means: Means
) -> Labels:
    """Labels from 1 for the groups, in the order of ``sizes``; 0 for the rest.

    Large groups come first: a small one is easily found inside of a large one, whose most extreme
    rows lose more than a small group as a whole, but not the other way round. Where sizes are free,
    a group that leaves too few rows for the others is cut to its rows of highest scores.
    """
    labels = np.zeros(len(problem.X), dtype=np.int8)
    order = np.arange(n_groups) if sizes is None else np.argsort(-np.asarray(sizes), kind="stable")
    for done, group in enumerate(order):
        left = labels == 0
        size = None if sizes is None else int(sizes[group])
        task = among(problem, left, size)
        found = solver.maximise(task, means).labels
        most = task.n_rows - (n_groups - done) * problem.min_size
        if size is None and found.sum() > most:
            own = task.losses(found)[1]
            found = task.rank(own, most).labels(most, len(found))
        labels[np.flatnonzero(left)[found == 1]] = group + 1
        means.tell(f"group {done + 1} of {n_groups}: {int(found.sum())} rows")
    return labels


def searched_anew(
    solver: Solver,
    problem: Problem,
    labels: Labels,
    group: int,
    sizes: Sequence[int] | None,
    means: Means,
) -> Labels:
    """One group searched anew while the others keep their rows."""
    left = (labels == 0) | (labels == group)
    size = None if sizes is None else int(np.sum(labels == group))
    found = solver.maximise(among(problem, left, size), means).labels
    result = labels.copy()
    result[left] = np.where(found == 1, group, 0)
    return result
