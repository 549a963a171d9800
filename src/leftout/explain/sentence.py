"""Sentences: conditions that "and" or "or" join, and how well they describe a group."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from leftout.data.columns import columns_of
from leftout.data.conditions import Condition, Mask
from leftout.errors import InputError
from leftout.explain.alignment import Alignment
from leftout.files import Serializable
from leftout.text import as_name, listed, number

# A sentence below this F1 does not describe the group. Nor does one whose rows are in the group
# hardly more often than any: of what is missing to certainty, it must close this share.
_FITS, _TELLS = 0.5, 0.25
# A column that takes this much, in hundredths of the disparity, is said to.
_TAKES = 0.05


@dataclass(frozen=True, kw_only=True)
class Sentence(Serializable):
    """A short description of the left-out group, and how well it fits.

    Attributes
    ----------
    text : str
        For example ``age >= 40 and colour = red``.
    conditions : tuple of Condition
    joined : tuple of {"and", "or"}
        What stands between them; read from the left.
    f1, precision, recall : float
    covered, count, size, n_rows : int
        Rows that it covers, those of them in the group, the group's rows, and all rows.
    shorter : list of Sentence
        The best descriptions with fewer conditions.
    """

    also = ("text", "precision", "recall", "f1", "describes", "told")

    conditions: tuple[Condition, ...]
    joined: tuple[str, ...]
    covered: int
    count: int
    size: int
    n_rows: int
    shorter: tuple[Sentence, ...] = ()

    @property
    def text(self) -> str:
        text = self.conditions[0].text
        for place, (word, condition) in enumerate(
            zip(self.joined, self.conditions[1:], strict=True)
        ):
            mixed = place > 0 and word != self.joined[place - 1]
            text = f"{f'({text})' if mixed else text} {word} {condition.text}"
        return text

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns it speaks of, each once."""
        return tuple(dict.fromkeys(condition.column for condition in self.conditions))

    @property
    def precision(self) -> float:
        return self.count / self.covered if self.covered else 0.0

    @property
    def recall(self) -> float:
        return self.count / self.size

    @property
    def f1(self) -> float:
        return 2.0 * self.count / (self.covered + self.size)

    def covers(self, table: Any, *, categorical: Iterable[Any] | None = ()) -> Mask:
        """The rows of a table, this one or another with the same columns, that it describes."""
        by_name = {column.name: column for column in columns_of(table, categorical=categorical)}
        for name in self.columns:
            if name not in by_name:
                raise InputError(
                    f"The table has no column {name!r}, of which the sentence speaks; it has "
                    f"{', '.join(map(repr, list(by_name)[:5]))}. Pass a table that has it."
                )
        return joined([c.holds(by_name[c.column]) for c in self.conditions], self.joined)

    def __str__(self) -> str:
        return (
            f"{self.text}: covers {100 * self.recall:.0f} % of the group; "
            f"{100 * self.precision:.0f} % of the {self.covered:,} rows it covers are in it"
        )

    @property
    def describes(self) -> bool:
        """Whether it fits the group, and tells more than that the group is large."""
        share = self.size / self.n_rows
        return self.f1 >= _FITS and self.precision - share >= _TELLS * (1.0 - share)

    @property
    def told(self) -> str:
        """What to say of it: a description, or that there is none."""
        start = "The group, in a sentence"
        if not self.describes:
            start = "No short sentence describes the group; the closest"
        return f"{start}: {self} (F1 {self.f1:.2f})."

    def told_missing(self, alignment: list[Alignment]) -> str:
        """How often cells are missing, where the sentence speaks of that."""
        spoken = {c.column for c in self.conditions if c.op in ("missing", "known")}
        said = [f"{a}." for a in alignment if a.kind == "missing" and a.column in spoken]
        return " ".join(said)

    def told_parts(self, parts: Mapping[str, float]) -> str:
        """Which of its columns take something off the disparity, given every column's part."""
        off = self._off(parts)
        if not off:
            return ""
        verbs = (
            ("describes", "does", "it takes") if len(off) == 1 else ("describe", "do", "they take")
        )
        describe = f"{verbs[0]} them but " if self.describes else ""
        return (
            f"{listed(list(off))} {describe}{verbs[1]} not drive the loss: {verbs[2]} "
            f"{listed(list(off.values()))} off the disparity."
        )

    def told_off(self, parts: Mapping[str, float]) -> str:
        """The same in fewer words."""
        off = self._off(parts)
        if not off:
            return ""
        take = "takes" if len(off) == 1 else "take"
        return f"{listed(list(off))} {take} {listed(list(off.values()))} off the loss."

    def _off(self, parts: Mapping[str, float]) -> dict[str, str]:
        total = sum(parts.values())
        if not total > 0.0:
            return {}
        shares = {name: -100.0 * parts.get(name, 0.0) / total for name in self.columns}
        return {
            as_name(name): f"{number(share, digits=2)} %"
            for name, share in shares.items()
            if share >= _TAKES
        }


def joined(masks: list[Mask], words: tuple[str, ...]) -> Mask:
    """Rows for which conditions hold that words join."""
    result = masks[0]
    for word, mask in zip(words, masks[1:], strict=True):
        result = result & mask if word == "and" else result | mask
    return result
