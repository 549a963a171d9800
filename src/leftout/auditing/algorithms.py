"""All algorithms side by side, each free to choose the sizes: the paper's table."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import clone

from leftout.auditing.group_selection import FEW_ROWS, few_of, on_fewer
from leftout.files import Serializable
from leftout.groups.partition import MaxDisparityPartition
from leftout.groups.problem_setup import SearchProblem
from leftout.running import Report, collected_warnings
from leftout.solvers import Greedy, Sorting

_SOLVERS: dict[str, Any] = {
    "alternating": "alternating",
    "greedy": Greedy(),
    "annealing": "annealing",
    "sorting": Sorting(split="half"),
    "sorting, best cut": Sorting(split="best"),
}


@dataclass(frozen=True)
class ComparedSolver(Serializable):
    """One solver's partition, where it may choose the sizes."""

    solver: str
    sizes: list[int]
    losses: list[float]
    disparity: float
    seconds: float


def compared(
    search: MaxDisparityPartition,
    posed: SearchProblem,
    X: pd.DataFrame,
    rows: NDArray[np.intp],
    report: Report,
) -> list[ComparedSolver]:
    """Search with each algorithm: all rows, or a few of ``rows`` where they are many."""
    search = clone(search).set_params(group_size=None)
    part = X
    if len(X) > FEW_ROWS:
        part = X.iloc[few_of(rows)].reset_index(drop=True)
        search = on_fewer(search, part, len(X))
    lines = []
    tiny = np.random.default_rng(0).random((40, 4))
    with collected_warnings():  # what they say of sizes, the audit says once
        posed = posed if part is X else search._pose(part.to_numpy())
        for done, (name, solver) in enumerate(_SOLVERS.items()):
            report(name, done, len(_SOLVERS))
            MaxDisparityPartition(2, solver=solver, min_group_size=5).fit(tiny)  # compiles
            began = time.perf_counter()
            found = clone(search).set_params(solver=solver)._fit_posed(part, posed)
            seconds = time.perf_counter() - began
            sizes, losses = found.sizes_.tolist(), found.losses_.tolist()
            lines.append(ComparedSolver(name, sizes, losses, found.disparity_, seconds))
    return lines
