"""The evidence in words: each fact, the threshold it rests on, and its sentence, once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from leftout.core.ranks import LEVEL, can_tell, told_p
from leftout.evidence import verdicts
from leftout.evidence.looks import drawing_interval
from leftout.files import Told
from leftout.search.sizes import TENTH
from leftout.wording import counted, number

if TYPE_CHECKING:
    from leftout.evidence.profiles import Profile

# What comparison tables of a kind are called.
CALLED = {
    "copula": "tables with the same values and correlations",
    "gaussian": "bell-shaped tables with the same correlations",
}
# A correlation, or the residual variance, that is further off makes a comparison doubtful.
_FAR = 0.1
# With fewer tables p cannot come down to the level.
FEWEST_TABLES = round(1 / LEVEL) - 1


class Weighed(Told):
    """What a :class:`leftout.Trust` says, from the numbers that it holds."""

    if TYPE_CHECKING:
        partition: Any
        group_size: int
        chosen: str
        profile: Profile
        parts: Any
        held_out: Any
        membership: Any
        stability: Any
        p_value: float | None
        p_cloud: float | None
        p_drawn_in: float | None
        notes: list[str]
        of_rows: int | None
        over_sizes: tuple[int, int] | None

    @property
    def disparity(self) -> float:
        """Best disparity at the group's size."""
        return float(self.partition.disparity_)

    @property
    def searched(self) -> float:
        """The table's disparity, searched with the effort that comparison tables are."""
        return float(np.interp(self.group_size, self.profile.sizes, self.profile.disparities))

    @property
    def by_chance(self) -> float | None:
        """What the same search finds in tables with the same values, on average."""
        main = self.profile.chance.get("copula")
        return None if main is None else main.mean_at(self.group_size)

    @property
    def beyond_chance(self) -> bool | None:
        main = self.profile.chance.get("copula")
        if self.p_value is None or main is None:
            return None
        if self.p_value <= LEVEL:
            return self.p_drawn_in is None or self.p_drawn_in <= LEVEL
        # few tables that all lose less cannot tell; few that lose more can
        return None if not can_tell(main.surrogates) and self.p_value < 0.25 else False

    @property
    def verdict(self) -> str | None:
        found = self._verdict
        return None if found is None else found.letter

    @property
    def _verdict(self) -> verdicts.Verdict | None:
        if self.beyond_chance is None:
            return None
        p_values = max(self.p_value or 0.0, self.p_drawn_in or 0.0)
        overlap = None if self.held_out is None else self.held_out.overlap
        cloud = self.profile.chance.get("gaussian")
        p_cloud = self.p_cloud
        if cloud is not None and p_cloud is not None and not can_tell(cloud.surrogates):
            p_cloud = None if p_cloud < 0.25 else p_cloud
        return verdicts.verdict(p_values, p_cloud, overlap)

    @property
    def told_verdict(self) -> str:
        """What explains the loss, in a sentence."""
        found = self._verdict
        if found is None:
            return (
                f"What explains the loss was not tested: that takes {FEWEST_TABLES} comparison "
                "tables of each kind, and halves of the rows."
            )
        shares = "" if self.parts is None else self.parts.told_shares
        return f"{found.says} {shares}".strip()

    @property
    def verdict_name(self) -> str | None:
        """A few words for it; with the share of the loss that it is about, where that is small."""
        found = self._verdict
        if found is None:
            return None
        if found.part is None or self.parts is None or self.parts.total <= 0.0:
            return found.name
        share = max(self.parts.each()[found.part].share, 0.0)
        return found.name if share > 0.5 else f"{found.name} ({100 * share:.0f} % of the loss)"

    def told_against(self, kind: str) -> str:
        """How far comparison tables of a kind come: how many, what they lose, the p-value."""
        main = self.profile.chance.get(kind)
        if main is None:
            return f"The table was not compared with {CALLED[kind]}."
        tables = f"{main.surrogates} {CALLED[kind]}"
        there = number(main.mean_at(self.group_size) or 0.0, self.searched)
        text = (
            f"One search of the table finds a loss {number(self.searched)} above the rest's; in "
            f"{tables} the same search finds {there} on average"
        )
        p = self.p_value if kind == "copula" else self.p_cloud
        if p is not None:
            text += f" ({told_p(p)}{self._how_exact(kind, p, main.surrogates)})"
        longer = number(self.disparity)
        if self.disparity > self.searched and longer != number(self.searched):
            text += f". The group's, from a longer search, is {longer}"
        return f"{text}."

    def _how_exact(self, kind: str, p: float, tables: int) -> str:
        """What else to know of a p-value: sizes, rows, and how exact it is."""
        more = ""
        if kind == "copula" and self.over_sizes is not None:
            sizes, rows = self.over_sizes
            on = f" on {rows:,} of the rows" if rows < self.profile.n_rows else ""
            more += f" over {counted(sizes, 'size')}{on}"
        elif tables >= 99:
            _, low, high = drawing_interval(round(p * (1 + tables)) - 1, tables)
            more += f", with ever more tables {number(low, digits=2)} to {number(high, digits=2)}"
        if self.chosen == "evidence" and (kind != "copula" or self.over_sizes is None):
            more += ", at this size alone"
        if self.of_rows is not None and self.of_rows > self.profile.n_rows:
            more += f", on {self.profile.n_rows:,} of the rows"
        return more

    @property
    def told_chance(self) -> str:
        """Do tables with the same values lose as much? With what that rests on."""
        main = self.profile.chance.get("copula")
        if main is None:
            return self.told_against("copula")
        if self.beyond_chance is None:
            return (
                f"To judge takes {FEWEST_TABLES} comparison tables, and there were "
                f"{main.surrogates}: p is never below "
                f"{number(1 / (1 + main.surrogates), digits=2)}."
            )
        text = self.told_against("copula")
        if self.p_drawn_in is not None:
            text += f" Columns have heavy tails; with these drawn in, {told_p(self.p_drawn_in)}."
        return text

    @property
    def told_returns(self) -> str:
        """Does it come back: on other rows, in halves, and who is sure to belong."""
        said = [] if self.held_out is None else [self.held_out.told]
        said += [] if self.membership is None else [self.membership.told]
        return " ".join(said) or "Whether it comes back on other rows was not tested."

    @property
    def told_size(self) -> str:
        """How large the group is, and why."""
        rows = self.profile.n_rows
        how = {
            "tenth": "the worst-represented tenth",
            "evidence": "the smallest size with about as much evidence as any",
            "given": "the size asked for",
            "free": "the size that the search chose",
        }[self.chosen]
        if self.chosen == "tenth" and self.group_size > round(TENTH * rows):
            how = "more than a tenth, since a group needs as many"
        return f"{self.group_size:,} of {rows:,} rows, {how}"

    def summary(self) -> str:
        """The evidence in plain words, a line for each question."""
        group = self.partition.left_out_
        lines = [
            f"Group: {self.told_size}. {group.told_fact} {group.told}",
            *([] if self.parts is None else [f"Why: {self.parts.told}"]),
            f"Verdict: {_capital(self.verdict_name or 'not tested')}. {self.told_verdict}",
            f"Comparison tables: {self.told_chance}",
            f"Other rows: {self.told_returns}",
        ]
        if self.stability is not None:
            lines.append(f"Other starts: {self.stability.told} {self.stability.told_several}")
        return "\n".join(lines + self.notes)


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def doubts(profile: Profile, heavy: bool) -> list[str]:
    """Where tables with the same values are not like the table in what they should share."""
    main = profile.chance.get("copula")
    if main is None:
        return []
    found = []
    if heavy:
        found.append(
            "Comparison tables: columns have heavy tails. Rank correlations are "
            f"{abs(main.ranks_miss):.2f} {'larger' if main.ranks_miss > 0.0 else 'smaller'} in the "
            "table on average, so what stands out may be how columns go together in the middle of "
            "their values."
        )
    if main.miss > _FAR:
        found.append(
            f"Comparison tables: a correlation is off by {main.miss:.2f} on average, so read the "
            "p-value with care."
        )
    if abs(main.residual - 1.0) > _FAR:
        found.append(
            f"Comparison tables: {profile.n_components} components leave {main.residual:.2f} times "
            "the variance that they leave of the table, so read the p-value with care."
        )
    return found
