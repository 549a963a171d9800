"""A left-out group beside the rest, as a value."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from leftout.core.losses import Array
from leftout.wording import number

Number = TypeVar("Number", int, float)


def told_points(share: float) -> str:
    """A share of the variance in points, as fine as is worth reading: 25 points, 0.2 points."""
    text = f"{100 * share:.0f}"
    if share < 0.1:
        text = number(100 * share, scale=10.0, digits=1 if share < 0.01 else 2)
    return f"{text} point" + "s" * (text != "1")


class Both(NamedTuple, Generic[Number]):
    """A figure of the left-out group, and of the rest."""

    group: Number
    rest: Number


@dataclass(frozen=True, kw_only=True, eq=False)
class LeftOut:
    """One left-out group: what evidence, explanation, findings and report know of it.

    Attributes
    ----------
    mask : array of shape (m,)
        Which rows.
    sizes : Both of int
    losses : Both of float
    retained, retained_own : Both of float
        Share of the variance kept by the shared projection, and by each side's own.
    components : array of shape (d, n)
        The group's own.
    offset : float
        Rows whose score exceeds it belong to the group.
    disparity : float
        The group's loss minus the rest's.
    bound : float
        No group of this size has a larger disparity; computed when it is first read.
    shared : str
        What all rows share: ``PCA``, or the name of what was given.
    """

    mask: NDArray[np.bool_]
    sizes: Both[int]
    losses: Both[float]
    retained: Both[float]
    retained_own: Both[float]
    components: Array
    offset: float
    certified: Callable[[], float] = field(repr=False)
    shared: str = "PCA"

    @property
    def size(self) -> int:
        return self.sizes.group

    @property
    def n_rows(self) -> int:
        return len(self.mask)

    @property
    def share(self) -> float:
        """Of all rows."""
        return self.size / self.n_rows

    @property
    def disparity(self) -> float:
        return self.losses.group - self.losses.rest

    @cached_property
    def bound(self) -> float:
        return self.certified()

    @property
    def points(self) -> Both[float]:
        """Share of the variance that each side loses by sharing a PCA, beyond its own."""
        return Both(
            *(own - kept for own, kept in zip(self.retained_own, self.retained, strict=True))
        )

    @property
    def told_fact(self) -> str:
        """What is lost, whatever explains it."""
        group, rest = (told_points(max(share, 0.0)) for share in self.points)
        return (
            f"By sharing one {self.shared}, {self.sizes.group:,} rows lose {group} of their "
            f"variance, the rest {rest.split()[0]}."
        )

    @property
    def told(self) -> str:
        gap = f"{'exceeds' if self.disparity >= 0.0 else 'is below'} the rest's by"
        return (
            f"Its loss {gap} {number(abs(self.disparity))}; no group of {self.size:,} rows can "
            f"exceed {number(self.bound)} (certified)."
        )
