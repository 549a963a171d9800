"""Searches for the partition with the largest gap, each by its method ``maximise``.

A solver may also have ``profile``, for groups of several sizes at once.
"""

from leftout.solvers.alternating import Alternating
from leftout.solvers.base import SearchResult, Solver, SolverContext, as_history
from leftout.solvers.paper import Annealing, Greedy, Sorting

SOLVERS = {
    "alternating": Alternating,
    "greedy": Greedy,
    "annealing": Annealing,
    "sorting": Sorting,
}


def takes_sizes(solver: Solver) -> bool:
    """Whether a search takes a group's size; the paper's choose it themselves."""
    if isinstance(solver, Sorting):
        return solver.split == "matched"
    return not isinstance(solver, Greedy | Annealing)


__all__ = [
    "SOLVERS",
    "Alternating",
    "Annealing",
    "Greedy",
    "SolverContext",
    "SearchResult",
    "Solver",
    "Sorting",
    "as_history",
    "takes_sizes",
]
