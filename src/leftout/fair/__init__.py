"""Fair PCA: the projection under which the group that fares worst fares best."""

from leftout.fair.solve import FairSolution, solve_fair

__all__ = ["FairSolution", "solve_fair"]
