"""A left-out group beside the rest, as a value."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from leftout.files import Serializable
from leftout.text import number, part_of, percents

Number = TypeVar("Number", int, float)


class Both(NamedTuple, Generic[Number]):
    """A figure of the left-out group, and of the rest."""

    group: Number
    rest: Number


@dataclass(frozen=True, kw_only=True, eq=False)
class LeftOut(Serializable):
    """One left-out group: what evidence, explanation, findings and report know of it.

    Attributes
    ----------
    mask, beside : arrays of shape (m,)
        Which rows; and which are in the group or in the rest, that is in no other group.
    sizes : Both of int
    losses : Both of float
    retained, retained_own : Both of float
        Share of the variance kept by the shared projection, and by each side's own.
    disparity : float
        The group's loss minus the rest's.
    bound : float
        No group of this size has a larger disparity; computed when it is first read.
    shared : str
        What all rows share: ``PCA``, or the name of what was given.
    weights : Both of float, or None
        What each side weighs, in average rows, where rows have weights.
    """

    also = ("size", "share", "disparity", "bound")
    hidden = ("mask", "beside", "certified")

    mask: NDArray[np.bool_]
    beside: NDArray[np.bool_]
    sizes: Both[int]
    losses: Both[float]
    retained: Both[float]
    retained_own: Both[float]
    certified: Callable[[], float] = field(repr=False)
    shared: str = "PCA"
    weights: Both[float] | None = None

    @property
    def size(self) -> int:
        return self.sizes.group

    @property
    def n_rows(self) -> int:
        return len(self.mask)

    @property
    def share(self) -> float:
        """Of all rows; where these have weights, of all weight."""
        if self.weights is not None:
            return self.weights.group / (self.weights.group + self.weights.rest)
        return self.size / self.n_rows

    @property
    def sought(self) -> int:
        """The size to search for to find as large a group."""
        return self.size if self.weights is None else max(1, round(self.weights.group))

    @property
    def disparity(self) -> float:
        return self.losses.group - self.losses.rest

    @cached_property
    def bound(self) -> float:
        return self.certified()

    @property
    def fact_text(self) -> str:
        """What the representation keeps of the group and of the rest, whatever explains it."""
        rest, kept = percents(self.retained.rest, self.retained.group)
        (own,) = percents(self.retained_own.group)
        others = "most rows" if self.share < 0.5 else "the rest"
        return (
            f"The {self.shared} keeps {rest} of the variance of {others} but only {kept} of that "
            f"of {self.size:,} of {self.n_rows:,} rows, {part_of(self.share)}"
            f"{'' if self.weights is None else ' of the weight'}; their own PCA would keep {own}."
        )

    @property
    def text(self) -> str:
        gap = f"{'exceeds' if self.disparity >= 0.0 else 'is below'} the rest's by"
        return (
            f"Its loss {gap} {number(abs(self.disparity))}; no group of {self.size:,} rows"
            f"{'' if self.weights is None else ', or others of their weight,'} can exceed "
            f"{number(self.bound)} (certified)."
        )
