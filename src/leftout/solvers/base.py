"""What every solver is given and what it returns."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from leftout.linalg.losses import Array
from leftout.linalg.moments import Moments
from leftout.linalg.problem import Labels, Problem

HISTORY = np.dtype([("disparity", np.float64), ("moves", np.int64)])


def silent(message: str) -> None:
    """Say nothing."""


@dataclass(frozen=True, kw_only=True)
class SolverContext:
    """How a search may run: its randomness, its threads, and whom to tell how it goes."""

    rng: np.random.Generator
    n_jobs: int | None = None
    tell: Callable[[str], None] = field(default=silent)


@dataclass(frozen=True, kw_only=True)
class SearchResult:
    """A partition, and how it was found."""

    labels: Labels  # 0 = rest, 1 = left out
    history: np.ndarray  # HISTORY: disparity after each sweep, rows that changed sides in it
    stopped: str
    own: Array | None = None  # components of rest and group, where a solver has them
    sides: Moments | None = None  # moments of rest and group, where it has them
    offset: float | None = None  # between the scores of group and rest, where it has it
    sweeps: np.ndarray | None = None  # labels after each sweep, where a solver keeps them


class Solver(Protocol):
    """Anything with this method can be passed as ``solver``."""

    def maximise(self, problem: Problem, means: SolverContext) -> SearchResult: ...


def as_history(disparities: Sequence[float], moves: Sequence[int]) -> np.ndarray:
    """Pair up disparities and moves."""
    return np.array(list(zip(disparities, moves, strict=True)), dtype=HISTORY)
