"""The evidence for a left-out group: each fact, the threshold it rests on, and its sentence, once.

What surrogates and halves of the rows say together is one of four verdicts. What is lost is a fact
whatever the verdict: it says what explains the loss, not whether it is accident.
"""

from dataclasses import dataclass

from leftout.evidence.null_test import NullDistribution
from leftout.evidence.refit import SAME_GROUP
from leftout.evidence.replication import HeldOut, Membership, Stability
from leftout.evidence.sequential import p_value_interval
from leftout.files import Serializable
from leftout.groups.decomposition import LossParts
from leftout.groups.left_out import LeftOut
from leftout.groups.partition import MaxDisparityPartition
from leftout.linalg.significance import LEVEL, can_tell, describe_p
from leftout.text import counted, number, percent

# What surrogates of a kind are called.
SURROGATE_NAMES = {
    "copula": "copula surrogates (same values and correlations)",
    "gaussian": "Gaussian surrogates (same covariance)",
}
# A residual variance that is further off makes a comparison doubtful.
_FAR_OFF = 0.1
# With fewer tables p cannot come down to the level.
FEWEST_TABLES = round(1 / LEVEL) - 1
# A p-value above this is no "yes" even where drawing stopped early: three of 16 reach the table.
_CLEARLY_NOT = 0.2
_RARELY = "Copula surrogates (same values, same correlations) rarely lose as much"


@dataclass(frozen=True)
class Verdict:
    """One of four: its letter, its name, what it says, and the part of the loss it is about."""

    letter: str
    name: str
    says: str
    part: str | None = None


VERDICTS = {
    "A": Verdict(
        "A", "a distinct group",
        f"{_RARELY}, and halves of the table agree on most of the rows.", "own",
    ),
    "B": Verdict(
        "B", "structure without a sharp group",
        f"{_RARELY}, but halves of the table point to different rows.",
        "own",
    ),
    "C": Verdict(
        "C", "explained by rare or skewed values",
        "Copula surrogates lose as much, Gaussian ones do not: rare or skewed values "
        "make the difference.", "values",
    ),
    "D": Verdict(
        "D", "nothing beyond the covariance",
        "Gaussian surrogates with the same covariance lose as much: nothing marks a group.",
    ),
}  # fmt: skip


def verdict(
    p_values: float | None, p_gaussian: float | None, overlap: float | None
) -> Verdict | None:
    """Which of the four it is; None where that was not tested.

    By p-values against copula surrogates and against Gaussian ones, and by the Jaccard similarity
    of the groups that halves of the rows name.

    Examples
    --------
    >>> verdict(0.05, None, 0.5).name, verdict(0.06, 0.05, 0.9).name
    ('a distinct group', 'explained by rare or skewed values')
    """
    if p_values is None:
        return None
    if p_values <= LEVEL:
        return None if overlap is None else VERDICTS["A" if overlap >= SAME_GROUP else "B"]
    if p_gaussian is None:
        return None
    return VERDICTS["C" if p_gaussian <= LEVEL else "D"]


@dataclass(frozen=True, kw_only=True)
class Trust(Serializable):
    """A left-out group and the evidence for it.

    Attributes
    ----------
    partition : MaxDisparityPartition
        Fitted at ``group_size``.
    left_out : LeftOut
        Its group that this is about, by its ``label``.
    group_size : int
    searched : float
        The table's disparity, searched with the effort that surrogates are: what these, and the
        parts, are held against. ``partition`` may come from a longer search.
    rows : int
        Rows that the evidence rests on.
    chance : dict of NullDistribution
        What the same search finds in surrogates, by their kind.
    parts : LossParts or None
        Why the group loses: what covariance alone explains, what rare values add, what is left.
        None without surrogates.
    verdict : {"A", "B", "C", "D"} or None
        What explains the loss (:func:`verdict`); None where that was not tested.
    p_value : float or None
        How often copula surrogates lose as much, by the same search: at the group's size or, with
        ``over_sizes``, over all sizes among which the evidence chose it. None without them.
    p_gaussian : float or None
        The same of Gaussian surrogates; None where it was not needed.
    p_winsorized : float or None
        ``p_value`` of winsorised columns; None where tails are not heavy.
    beyond_chance : bool or None
        Whether ``p_value``, and where there is one ``p_winsorized``, are at most 0.05. None with
        fewer than 19 tables, which cannot tell.
    held_out : HeldOut or None
        Halves of the rows, searched apart: the gap on rows not seen, and whether they agree.
    membership : Membership or None
        How surely each row belongs to the group.
    stability : Stability or None
        Searches from other starts.
    notes : list of str
        What could not be done, and why.
    of_rows : int or None
        Rows of the table that these were drawn from; None: these are all.
    over_sizes : int or None
        How many sizes ``p_value`` covers; None: it belongs to the group's size alone.
    """

    also = ("verdict", "verdict_name", "verdict_says", "beyond_chance", "disparity")
    hidden = ("partition", "label")

    partition: MaxDisparityPartition
    group_size: int
    searched: float
    rows: int
    chance: dict[str, NullDistribution]
    parts: LossParts | None
    held_out: HeldOut | None
    membership: Membership | None
    stability: Stability | None
    p_value: float | None
    p_gaussian: float | None
    p_winsorized: float | None
    notes: list[str]
    of_rows: int | None = None
    over_sizes: int | None = None
    label: int = 1

    @property
    def left_out(self) -> LeftOut:
        return self.partition.left_out_groups_[self.label - 1]

    @property
    def disparity(self) -> float:
        """Best disparity at the group's size."""
        return self.left_out.disparity

    @property
    def beyond_chance(self) -> bool | None:
        p = self._told_by("copula", self.p_value)
        return None if p is None else max(p, self.p_winsorized or 0.0) <= LEVEL

    def _told_by(self, kind: str, p: float | None) -> float | None:
        """A p-value, if there were tables enough: few that all lose less cannot tell."""
        tables = self.chance.get(kind)
        if p is None or tables is None:
            return None
        return p if p <= LEVEL or p > _CLEARLY_NOT or can_tell(tables.surrogates) else None

    @property
    def _verdict(self) -> Verdict | None:
        if self.beyond_chance is None:
            return None
        p_values = max(self.p_value or 0.0, self.p_winsorized or 0.0)
        overlap = None if self.held_out is None else self.held_out.overlap
        return verdict(p_values, self._told_by("gaussian", self.p_gaussian), overlap)

    @property
    def verdict(self) -> str | None:
        return None if self._verdict is None else self._verdict.letter

    @property
    def verdict_says(self) -> str:
        """What explains the loss, in a sentence."""
        found = self._verdict
        if found is None:
            return (
                f"What explains the loss was not tested: that takes {FEWEST_TABLES} surrogates of "
                "each kind, and halves of the rows."
            )
        shares = "" if self.parts is None else self.parts.text
        return f"{found.says} {shares}".strip()

    @property
    def verdict_name(self) -> str | None:
        """A few words for it, with the share of the loss that it is about."""
        found = self._verdict
        if found is None:
            return None
        if found.part is None or self.parts is None or self.parts.total <= 0.0:
            return found.name
        share = max(self.parts.each()[found.part].share, 0.0)
        return f"{found.name} ({percent(share)} of the loss)"

    def against_text(self, kind: str) -> str:
        """How far surrogates of a kind come: how many, what they lose, the p-value."""
        main = self.chance.get(kind)
        if main is None:
            return f"The table was not compared with {SURROGATE_NAMES[kind]}."
        text = (
            f"One search of the table finds a loss {number(self.searched)} above the rest's; in "
            f"{main.surrogates} {SURROGATE_NAMES[kind]} the same search finds "
            f"{number(main.mean, self.searched)} on average"
        )
        p = self.p_value if kind == "copula" else self.p_gaussian
        if p is not None:
            text += f" ({describe_p(p)}{self._how_exact(kind, p, main.surrogates)})"
        longer = number(self.disparity)
        if self.of_rows in (None, self.rows) and longer != number(self.searched):
            text += f". The group's, from a longer search, is {longer}"
        return f"{text}."

    def _how_exact(self, kind: str, p: float, tables: int) -> str:
        """What else to know of a p-value: sizes, rows, and how exact it is."""
        more = ""
        if kind == "copula" and self.over_sizes is not None:
            more += f" over {counted(self.over_sizes, 'size')}"
        elif tables >= 99:
            _, low, high = p_value_interval(round(p * (1 + tables)) - 1, tables)
            more += f", with ever more {number(low, digits=2)} to {number(high, digits=2)}"
        if self.of_rows is not None and self.of_rows > self.rows:
            more += f", on {self.rows:,} of the rows"
        return more

    @property
    def chance_text(self) -> str:
        """Do copula surrogates lose as much? With what that rests on."""
        main = self.chance.get("copula")
        if main is not None and self.beyond_chance is None:
            return (
                f"To judge takes {FEWEST_TABLES} surrogates, and there were {main.surrogates}: p "
                f"is never below {number(1 / (1 + main.surrogates), digits=2)}."
            )
        text = self.against_text("copula")
        if self.p_winsorized is not None:
            text += f" Columns have heavy tails; winsorised, {describe_p(self.p_winsorized)}."
        return text

    def summary(self) -> str:
        """The evidence in plain words, a line for each question."""
        group, name = self.left_out, self.verdict_name or "not tested"
        lines = [
            f"Group: {group.fact_text} {group.text}",
            f"Verdict: {name[0].upper()}{name[1:]}. {self.verdict_says}",
            f"Surrogates: {self.chance_text}",
        ]
        if self.held_out is not None:
            lines.append(f"Other rows: {self.held_out.gap_text} {self.held_out.overlap_text}")
        if self.membership is not None:
            lines.append(f"Members: {self.membership.text}")
        if self.stability is not None:
            lines.append(f"Other starts: {self.stability.text} {self.stability.several_text}")
        return "\n".join(lines + self.notes)


def doubts(chance: dict[str, NullDistribution], n_components: int) -> list[str]:
    """Where copula surrogates are not like the table in what they should share."""
    main = chance.get("copula")
    if main is None:
        return []
    found = []
    if main.heavy:
        found.append(
            "Surrogates: columns have heavy tails. Rank correlations are "
            f"{abs(main.ranks_miss):.2f} {'larger' if main.ranks_miss > 0.0 else 'smaller'} in the "
            "table on average, so what stands out may be how columns go together in the middle of "
            "their values."
        )
    if abs(main.residual - 1.0) > _FAR_OFF:
        found.append(
            f"Surrogates: {n_components} components leave {main.residual:.2f} times the variance "
            "that they leave of the table, so read the p-value with care."
        )
    return found
