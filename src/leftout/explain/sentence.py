"""A sentence: a short description of the left-out group, and how well it fits.

Conditions on raw columns are joined by "and" and "or": those that a search for the group finds
(:mod:`leftout.explain.sentence_search`), or subgroups that cover it, whichever fit better. Fit is
F1, the harmonic mean of precision (the share of the rows it covers that are in the group) and
recall (the share of the group that it covers).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from leftout.data.columns import columns_of
from leftout.data.conditions import Condition, Mask
from leftout.errors import InputError
from leftout.files import Serializable
from leftout.groups.subgroups import NamedGroup, NamedGroups
from leftout.text import as_name, either, listed, number, percent

# A sentence below this F1 does not describe the group. Nor does one whose rows are in the group
# hardly more often than any: of what is missing to certainty, it must close this share.
_FITS, _TELLS = 0.5, 0.25
# What stands between alternatives of which any may hold.
ELSE = "or else"
# Subgroups that cover less of the group than this fail; so many are said.
_COVER, _MOST_NAMES = 0.5, 3
# Each further one must cover so much of the group anew, and each condition be worth this much of
# F1: shorter names are read more easily.
_NEW, _LENGTH = 0.05, 0.02
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
    joined : tuple of {"and", "or", "or else"}
        What stands between them; read from the left, each part between "or else" by itself.
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
    def _alternatives(self) -> list[tuple[list[Condition], list[str]]]:
        """What "or else" stands between: conditions, and the words that join them."""
        parts: list[tuple[list[Condition], list[str]]] = [([self.conditions[0]], [])]
        for word, condition in zip(self.joined, self.conditions[1:], strict=True):
            if word == ELSE:
                parts.append(([condition], []))
            else:
                parts[-1][0].append(condition)
                parts[-1][1].append(word)
        return parts

    @property
    def text(self) -> str:
        parts = self._alternatives
        texts = []
        for (first, *others), words in parts:
            text = first.text
            for place, (word, condition) in enumerate(zip(words, others, strict=True)):
                mixed = place > 0 and word != words[place - 1]
                text = f"{f'({text})' if mixed else text} {word} {condition.text}"
            texts.append(f"({text})" if others and len(parts) > 1 else text)
        return " or ".join(texts)

    @property
    def words(self) -> str:
        """The same as people would say it: clauses joined by "and", between them "or"."""
        every = []
        for (first, *others), words in self._alternatives:
            clauses = [first.words]
            for word, condition in zip(words, others, strict=True):
                if word == "or":
                    clauses.append(condition.words)
                elif len(clauses) == 1:
                    clauses[0] += f" and {condition.words}"
                else:
                    clauses = [f"{condition.words}, and {either(clauses)}"]
            every += clauses
        return either(every)

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
            f"{self.text}: covers {percent(self.recall)} of the group; "
            f"{percent(self.precision)} of the {self.covered:,} rows it covers are in it"
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

    def told_parts(self, parts: Mapping[str, float]) -> str:
        """Which of its columns take something off the disparity, given every column's part."""
        total = sum(parts.values())
        shares = {name: -100.0 * parts.get(name, 0.0) / total for name in self.columns if total > 0}
        off = {as_name(name): share for name, share in shares.items() if share >= _TAKES}
        if not off:
            return ""
        take = "takes" if len(off) == 1 else "take"
        much = listed([f"{number(share, digits=2)}%" for share in off.values()])
        return f"{listed(list(off))} {take} {much} off the loss."


def joined(masks: list[Mask], words: tuple[str, ...]) -> Mask:
    """Rows for which conditions hold that words join."""
    done, result = np.zeros_like(masks[0]), masks[0]
    for word, mask in zip(words, masks[1:], strict=True):
        if word == ELSE:
            done, result = done | result, mask
        else:
            result = result & mask if word == "and" else result | mask
    return done | result


def covering(named: NamedGroups | None, group: Mask) -> tuple[list[NamedGroup], Mask]:
    """The names that cover the group, most of it first, and all that they cover.

    In turn the name that adds most to the F1 of all of them together, while any does; of a name of
    several conditions it must be more.
    """
    chosen: list[NamedGroup] = []
    covered = np.zeros(len(group), dtype=bool)
    left = [] if named is None else list(named.groups)
    best = 0.0
    while left and len(chosen) < _MOST_NAMES:
        scored = [(_f1(covered | each.mask, group), each) for each in left]
        f1, name = max(scored, key=lambda one: one[0] - _LENGTH * len(one[1].conditions))
        if f1 <= best or np.sum(group & name.mask & ~covered) < _NEW * group.sum():
            break
        best, covered = f1, covered | name.mask
        chosen.append(name)
        left.remove(name)
    return sorted(chosen, key=lambda name: -int(np.sum(name.mask & group))), covered


def _f1(covered: Mask, group: Mask) -> float:
    return 2.0 * float(np.sum(covered & group)) / float(covered.sum() + group.sum())


def better_sentence(
    sentence: Sentence | None, named: NamedGroups | None, group: Mask
) -> Sentence | None:
    """A sentence, or the subgroups that cover half of the group or more, if these fit better."""
    names, covered = covering(named, group)
    if not names or np.sum(covered & group) < _COVER * group.sum():
        return sentence
    ands = [["and"] * (len(name.conditions) - 1) for name in names]
    by_names = Sentence(
        conditions=tuple(condition for name in names for condition in name.conditions),
        joined=tuple(word for words in ands for word in (ELSE, *words))[1:],
        covered=int(covered.sum()),
        count=int(np.sum(covered & group)),
        size=int(group.sum()),
        n_rows=len(group),
    )
    if sentence is None:
        return by_names
    shorter = (*sentence.shorter, replace(sentence, shorter=()))
    fewer = [one for one in shorter if len(one.conditions) < len(by_names.conditions)]
    return replace(by_names, shorter=tuple(fewer)) if by_names.f1 > sentence.f1 else sentence
