"""What is told of groups that have a name."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from leftout.data.binning import BinnedColumn
from leftout.data.conditions import Condition, Mask
from leftout.files import Serializable
from leftout.groups.greedy_cover import Key
from leftout.groups.left_out import LossDecomposition
from leftout.groups.outcome import Outcome
from leftout.linalg.effects import Interval
from leftout.linalg.monte_carlo import can_tell, describe_p
from leftout.text import counted, leading, number

if TYPE_CHECKING:
    import pandas as pd

# Names that are read first.
SIX = 6


@dataclass(frozen=True, kw_only=True, eq=False)
class NamedGroup(Serializable):
    """A group that conditions on raw columns name.

    Attributes
    ----------
    conditions : tuple of Condition
        Joined by "and".
    condition : str
        The same in words.
    mask : array of shape (m,)
        Its rows.
    size, share : int and float
        How many rows, and of all rows.
    loss, rest_loss : float
        Average loss of the group, and of all other rows.
    worth : float
        ``size ** weight * (loss - rest_loss)``, by which names are ranked.
    new : float
        Share of its rows that no group before it in the list covers.
    covers : float
        Share of the worst-represented tenth that it covers together with those before it.
    worst, ceiling : float
        Loss of the worst group of that size, of whatever rows; and what none can exceed, certified.
    random : float
        What random groups of that size lose on average.
    cross_fitted : Interval
        The loss on rows that neither its own nor the shared components have seen, and its 95 %
        interval. That does not cover that the name was chosen by its loss on these rows: of the
        first name it held the true loss in 90 % of 200 simulated tables (75 to 98 % by kind).
    outcome : Outcome or None
        How the target differs from the rest's.
    why : Why or None
        What comparison tables explain of its loss; None where there were none.
    """

    also = ("condition",)
    hidden = ("mask", "key")

    conditions: tuple[Condition, ...]
    mask: Mask
    size: int
    share: float
    loss: float
    rest_loss: float
    worth: float
    new: float
    covers: float
    worst: float
    ceiling: float
    random: float
    cross_fitted: Interval
    outcome: Outcome | None = None
    why: LossDecomposition | None = None
    key: Key  # how the search calls it

    @property
    def condition(self) -> str:
        return " and ".join(condition.text for condition in self.conditions)

    @property
    def difference(self) -> float:
        return self.loss - self.rest_loss

    @property
    def brief(self) -> str:
        """Its name, rows and loss, as in a list."""
        return f"{self.condition} ({counted(self.size, 'row')}, loss {number(self.loss)})"

    def __str__(self) -> str:
        return (
            f"{self.condition}: {counted(self.size, 'row')} {'loses' if self.size == 1 else 'lose'}"
            f" {number(self.loss)}, the rest "
            f"{number(self.rest_loss, self.loss)}; random groups of that size "
            f"{number(self.random)}, the worst of that size {number(self.worst)}"
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class NamedGroups(Serializable):
    """The groups with a name that are left out most, by what is new in each.

    Attributes
    ----------
    groups : list of NamedGroup
    table : DataFrame
        One line for each.
    covers : float
        Share of the worst-represented tenth that the first six cover together.
    smallest, depth : int
        Fewest rows of a group, and most conditions of a name.
    weight : float
    n_components : int
    names : int
        How many names were looked at.
    complete : bool
        Whether no name is missing: the list is certified. Otherwise the budget ended the search,
        and no name that was not looked at is worth more than ``left``.
    left : float or None
    """

    also = ("covers", "told", "told_beyond")
    hidden = ("columns",)

    groups: list[NamedGroup]
    smallest: int
    depth: int
    weight: float
    n_components: int
    names: int
    complete: bool
    left: float | None
    columns: list[BinnedColumn]

    def __len__(self) -> int:
        return len(self.groups)

    def __iter__(self) -> Iterator[NamedGroup]:
        return iter(self.groups)

    def __getitem__(self, place: int) -> NamedGroup:
        return self.groups[place]

    @property
    def covers(self) -> float:
        return self.groups[:SIX][-1].covers if self.groups else 0.0

    @property
    def conditions(self) -> list[Condition]:
        """Every single condition that was looked at."""
        return [binned.condition(*span) for binned in self.columns for span in binned.spans]

    @property
    def table(self) -> pd.DataFrame:
        import pandas as pd

        names = ("size", "share", "loss", "rest_loss", "random", "worst", "ceiling")
        lines = [
            {
                "condition": group.condition,
                **{name: getattr(group, name) for name in names},
                "cross_fitted": group.cross_fitted.value,
                "low": group.cross_fitted.low,
                "high": group.cross_fitted.high,
                "worth": group.worth,
                "new": group.new,
                "covers": group.covers,
                "outcome_gap": group.outcome.gap.value if group.outcome else np.nan,
            }
            for group in self.groups
        ]
        return pd.DataFrame(lines)

    @property
    def beyond(self) -> list[NamedGroup]:
        """The groups that stand out further than comparison tables' names."""
        return [group for group in self.groups if group.why is not None and group.why.beyond_cloud]

    @property
    def left_out(self) -> bool | None:
        """Whether any group is beyond comparison tables; None where too few were drawn to say."""
        if not self.groups:
            return False if self.names else None
        tables = max((group.why.tables for group in self.groups if group.why), default=0)
        return bool(self.beyond) if can_tell(tables) else None

    @property
    def told_covers(self) -> str:
        """What the leading names cover of those who are represented worst."""
        first = len(self.groups[:SIX])
        which = "The first " * (len(self.groups) > SIX) + counted(first, "name")
        if first == 1:
            which = "This name" if len(self.groups) == 1 else "The first name"
        verb = "covers" if first == 1 else "cover"
        return f"{which} {verb} {100 * self.covers:.0f} % of the worst-represented tenth."

    @property
    def told_beyond(self) -> str:
        """How many names are beyond comparison tables; nothing where that was not looked at."""
        if self.left_out is None or not self.groups:
            return ""
        least = min(group.why.p_cloud for group in self.groups if group.why)
        beyond = len(self.beyond)
        verb = f"{beyond or 'none'} {'stand' if beyond > 1 else 'stands'}"
        text = (
            f"Of {counted(len(self.groups), 'group')} with a name, {verb} out further than the "
            f"same search finds in bell-shaped comparison tables ({describe_p(least)} at the least)"
        )
        if beyond:
            further = sum(
                group.why is not None and group.why.beyond_values for group in self.beyond
            )
            text += f", {further or 'none'} of them also in ones with the same values"
        return f"{text}."

    @property
    def told_leading(self) -> str:
        """The leading names, whether they are beyond comparison tables, and what they cover."""
        if not self.groups:
            return self.told
        several = "names are" if len(self.groups) > 1 else "name is"
        head = f"The leading {several}"
        if self.beyond:
            head = f"{self.told_beyond.removesuffix('.')}:"
        elif self.told_beyond:
            head = f"{self.told_beyond} {head}"
        named = self.beyond or self.groups
        return f"{head} {leading([group.brief for group in named], '; ')}. {self.told_covers}"

    @property
    def told(self) -> str:
        """How far the list can be relied on, and what it covers."""
        looked = f"{counted(self.names, 'name')} of up to {counted(self.depth, 'condition')}"
        rows = counted(self.smallest, "row")
        looked += f" and at least {rows}"
        if not self.names:
            return f"No condition on a column holds for {rows} and not for as many."
        if self.complete and not self.groups:
            return f"None of {looked} loses more than the rest."
        were = "was" if self.names == 1 else "were"
        first = f", where the first is worth {number(self.groups[0].worth)}" if self.groups else ""
        found = self.told_covers if self.groups else "None loses more than the rest."
        if self.complete:
            every = "All of " * (self.names > 1) + looked
            return f"{found} {every} {were} weighed: the list is exact."
        return (
            f"{found} {looked} {were} weighed before the search had to end: one that was not might "
            f"be worth up to {number(self.left or 0.0)}{first}. Drop columns, or look for shorter "
            "names."
        )

    def summary(self) -> str:
        """The list in words, a line each."""
        return "\n".join([*map(str, self.groups), self.told])

    __str__ = summary
