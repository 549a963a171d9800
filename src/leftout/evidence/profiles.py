"""What a profile over sizes holds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leftout.files import Serializable
from leftout.linalg.bounds import certified_bound
from leftout.linalg.losses import Array
from leftout.linalg.problem import Problem

# Sizes have nearly as much evidence as the best when they lack less than this share of it.
_NEARLY = 0.1


@dataclass(frozen=True, kw_only=True)
class Chance(Serializable):
    """What the same search finds on chance tables of one kind.

    Attributes
    ----------
    kind : {"copula", "gaussian"}
    sizes : array of shape (n_sizes,)
        Sizes of groups that were looked for.
    curves : array of shape (n_surrogates, n_sizes)
        Best disparity on each surrogate, at each size; nan where it was not looked for.
    mean, low, high : arrays of shape (n_sizes,)
        Mean and 5 to 95 % band of the curves.
    p_values : array of shape (n_sizes,)
        How often comparison tables reach the table's disparity, size by size; nan at sizes that are
        only there for the picture.
    p_value : float
        The same for the table's profile as a whole, which accounts for the many sizes looked at;
        or at the one size that counts.
    miss : float
        Largest difference between a correlation of the table and its mean over the surrogates.
    residual : float
        Variance that ``d`` components leave of a surrogate, on average, over what they leave of the
        table. Far from 1, the comparison is not fair.
    ranks_miss : float
        How much larger rank correlations (Spearman's) are in the table, on average.
    by_feature : array of shape (n,) or None
        The mean disparity at the size that counts, split over features.
    """

    also = ("surrogates",)
    hidden = ("kind", "sizes", "curves", "p_values", "by_feature")  # size by size

    kind: str
    sizes: NDArray[np.intp]
    curves: Array
    p_values: Array
    p_value: float
    miss: float
    residual: float
    ranks_miss: float = 0.0
    by_feature: Array | None = None

    @property
    def mean(self) -> Array:
        return np.nanmean(self.curves, axis=0)

    @property
    def low(self) -> Array:
        return np.nanquantile(self.curves, 0.05, axis=0)

    @property
    def high(self) -> Array:
        return np.nanquantile(self.curves, 0.95, axis=0)

    @property
    def surrogates(self) -> int:
        return len(self.curves)

    def at(self, size: int) -> int:
        """The place of a size among those that were looked for."""
        return int(np.flatnonzero(self.sizes == size)[0])

    def mean_at(self, size: int) -> float:
        """The mean at a size; between sizes that were looked for, in proportion."""
        return float(np.interp(size, self.sizes, self.mean))


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
        The smallest size with about as much total loss beyond chance as any; None where that was
        not looked for.
    evidence : array of shape (n_sizes,) or None
        That total, ``k (D(k) - N(k))``, at each size; None with ``evidence_size``.
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

    @classmethod
    def at(
        cls,
        problem: Problem,
        sizes: NDArray[np.intp],
        disparities: Array,
        chance: dict[str, Chance],
        closely: bool = False,
    ) -> Profile:
        """Of a table that was searched at some sizes, and compared.

        Certified bounds are ``closely`` as low as they can be proved, or those that cost nothing.
        """
        bound = certified_bound if closely else Problem.bound
        return cls(
            sizes=sizes,
            disparities=disparities,
            bounds=np.array([bound(problem, int(k)) for k in sizes]),
            chance=chance,
            evidence_size=None,
            n_rows=len(problem.X),
            n_components=problem.d,
        )

    @property
    def main(self) -> Chance | None:
        """The chance that findings rest on: of the first kind asked for."""
        return next(iter(self.chance.values()), None)

    @property
    def evidence(self) -> Array | None:
        """Total loss beyond chance at each size, ``k (D(k) - N(k))``."""
        if self.main is None or self.evidence_size is None:
            return None
        return self.sizes * (self.disparities - self.main.mean)

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
                        "mean": float(c.mean[c.at(size)]),
                        "low": float(c.low[c.at(size)]),
                        "high": float(c.high[c.at(size)]),
                        "p_value": float(c.p_values[c.at(size)]),
                    }
                    for kind, c in self.chance.items()
                    if size in c.sizes
                },
            }
            for i, size in enumerate(self.sizes.tolist())
        ]
