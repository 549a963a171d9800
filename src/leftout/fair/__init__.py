"""Fair PCA: the projection under which the group that fares worst fares best."""

from leftout.fair.solve import Mended, mend

__all__ = ["Mended", "mend"]
