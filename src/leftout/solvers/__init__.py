"""Searches for the partition with the largest gap; each has one method, ``maximise``."""

from leftout.solvers.alternating import Alternating
from leftout.solvers.annealing import Annealing
from leftout.solvers.base import Means, SearchResult, Solver
from leftout.solvers.greedy import Greedy
from leftout.solvers.sorting import Sorting

SOLVERS = {
    "alternating": Alternating,
    "greedy": Greedy,
    "annealing": Annealing,
    "sorting": Sorting,
}

__all__ = [
    "SOLVERS",
    "Alternating",
    "Annealing",
    "Greedy",
    "Means",
    "SearchResult",
    "Solver",
    "Sorting",
]
