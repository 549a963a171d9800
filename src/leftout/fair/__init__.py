"""Fair PCA: the projection under which the group that fares worst fares best."""

from leftout.fair.solve import OBJECTIVES, Mended, mend

__all__ = ["OBJECTIVES", "Mended", "mend"]
