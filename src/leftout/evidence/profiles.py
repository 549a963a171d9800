"""What a profile over sizes holds."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leftout.core.losses import Array
from leftout.files import Told

# Sizes have nearly as much evidence as the best when they lack less than this share of it.
_NEARLY = 0.1


@dataclass(frozen=True, kw_only=True)
class Chance(Told):
    """What the same search finds on chance tables of one kind.

    Attributes
    ----------
    kind : {"copula", "gaussian"}
    curves : array of shape (n_surrogates, n_sizes)
        Best disparity on each surrogate, at each size.
    mean, low, high : arrays of shape (n_sizes,)
        Mean and 5 to 95 % band of the curves.
    p_values : array of shape (n_sizes,)
        How often chance reaches the table's disparity, size by size.
    p_value : float
        The same for the table's profile as a whole: it accounts for the many sizes looked at.
    miss : float
        Largest difference between a correlation of the table and its mean over the surrogates.
    residual : float
        Variance that ``d`` components leave of a surrogate, on average, over what they leave of the
        table. Far from 1, chance is not a fair comparison.
    """

    kind: str
    curves: Array
    p_values: Array
    p_value: float
    miss: float
    residual: float

    @property
    def mean(self) -> Array:
        return self.curves.mean(axis=0)

    @property
    def low(self) -> Array:
        return np.quantile(self.curves, 0.05, axis=0)

    @property
    def high(self) -> Array:
        return np.quantile(self.curves, 0.95, axis=0)

    @property
    def surrogates(self) -> int:
        return len(self.curves)

    def to_dict(self) -> dict[str, Any]:
        """Plain data, without what is given size by size."""
        return {name: getattr(self, name) for name in ("surrogates", "p_value", "miss", "residual")}


@dataclass(frozen=True, kw_only=True)
class Profile:
    """Best disparity at several sizes of the left-out group, and at chance.

    Attributes
    ----------
    sizes : array of shape (n_sizes,)
    disparities : array of shape (n_sizes,)
    bounds : array of shape (n_sizes,)
        Certified: no group of that size has a larger disparity.
    chance : dict of Chance
        By kind.
    evidence_size : int or None
        The size with the largest total loss beyond chance; None without chance tables.
    evidence : array of shape (n_sizes,) or None
        That total, ``k (D(k) - N(k))``, at each size.
    evidence_range : (int, int) or None
        The smallest and the largest size within a tenth of the most evidence.
    n_rows, n_components : int
    """

    sizes: NDArray[np.intp]
    disparities: Array
    bounds: Array
    chance: dict[str, Chance]
    evidence_size: int | None
    n_rows: int
    n_components: int

    @property
    def main(self) -> Chance | None:
        """The chance that findings rest on: of the first kind asked for."""
        return next(iter(self.chance.values()), None)

    @property
    def evidence(self) -> Array | None:
        """Total loss beyond chance at each size, ``k (D(k) - N(k))``."""
        return None if self.main is None else self.sizes * (self.disparities - self.main.mean)

    @property
    def evidence_range(self) -> tuple[int, int] | None:
        """Smallest and largest size of the grid with nearly as much evidence as the most."""
        if self.evidence is None:
            return None
        most = self.evidence.max()
        near = [*self.sizes[self.evidence >= most - _NEARLY * abs(most)], self.evidence_size]
        return int(min(near)), int(max(near))

    def to_list(self) -> list[dict[str, Any]]:
        """Plain data, an entry for each size."""
        return [
            {
                "size": int(size),
                "disparity": float(self.disparities[i]),
                "bound": float(self.bounds[i]),
                "chance": {
                    kind: {
                        "mean": float(c.mean[i]),
                        "low": float(c.low[i]),
                        "high": float(c.high[i]),
                        "p_value": float(c.p_values[i]),
                    }
                    for kind, c in self.chance.items()
                },
            }
            for i, size in enumerate(self.sizes)
        ]
