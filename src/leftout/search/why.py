"""Why a group loses what it loses: what comparison tables explain of it, in three parts."""

from __future__ import annotations

from dataclasses import dataclass

from leftout.core.ranks import LEVEL, told_p
from leftout.files import Told
from leftout.wording import number

_CLOUD = "any cloud of this spread"
_VALUES = "rare or uneven values of single columns"
_OWN = "a structure of their own"


@dataclass(frozen=True, kw_only=True)
class Why(Told):
    """The difference of a group's loss to the rest's, in parts that add up to it.

    The same group is looked for in comparison tables: bell-shaped ones with the same correlations,
    and ones that have the same values in every column as well.

    Attributes
    ----------
    cloud : float
        What bell-shaped tables show.
    values : float
        What rare and uneven values of single columns add to it.
    own : float
        What is left: a structure of their own.
    p_cloud, p_values : float
        How often the same search finds a name that stands out as far in bell-shaped tables, and in
        tables with the same values. For known groups: how often their loss is reached there.
    tables : int
        Comparison tables of each kind, at most: fewer are drawn where it is soon clear that no
        group goes beyond them.
    """

    also = ("told",)

    cloud: float
    values: float
    own: float
    p_cloud: float
    p_values: float
    tables: int

    @property
    def total(self) -> float:
        return self.cloud + self.values + self.own

    @property
    def parts(self) -> dict[str, float]:
        """What each part is called, and how much it is."""
        return {_CLOUD: self.cloud, _VALUES: self.values, _OWN: self.own}

    @property
    def beyond_cloud(self) -> bool:
        return self.p_cloud <= LEVEL

    @property
    def beyond_values(self) -> bool:
        return self.p_values <= LEVEL

    @property
    def told(self) -> str:
        parts = [f"{number(part, self.total)} {name}" for name, part in self.parts.items()]
        more = f"{number(self.total)} more than the rest"
        if self.total < 0.0:
            more = f"a difference of {number(self.total)} to the rest"
        return (
            f"Of {more}, {parts[0]} ({told_p(self.p_cloud)}), "
            f"{parts[1]}, {parts[2]} ({told_p(self.p_values)})."
        )
