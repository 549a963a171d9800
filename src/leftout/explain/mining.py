"""Counting rules: every one or two items of a raw table, against a group."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import combinations_with_replacement
from typing import Any, NamedTuple, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from leftout.checks import check_count, check_left_out
from leftout.explain.bits import Bits, adding, meet, of_mask, repeats
from leftout.explain.items import Counts, Items
from leftout.files import Told
from leftout.tables.conditions import Condition, Mask

Places = NDArray[np.intp]

REST, LEFT_OUT = 0, 1
GROUPS = ("rest", "left-out group")
_LINES = 20
# Rules that are listed; a pair must be this much surer than the surer of its halves.
LISTED, _SURER = 8, 0.1
_ARRAYS = ("first", "second", "group", "count", "covered")
# Pairs of items are counted in blocks of this many items.
_BLOCK = 1024
# Where rules are limited, this many of a block's pairs are kept at most.
_MANY = 50_000


@dataclass(frozen=True, kw_only=True)
class Rule(Told):
    """If the antecedents hold, a row is in the group.

    ``covered`` rows satisfy the antecedents and ``count`` of them are in the group; ``support`` is
    count over all rows, ``confidence`` count over covered, ``lift`` confidence over the group's
    share of all rows.
    """

    also = ("text",)

    antecedents: tuple[Condition, ...]
    group: int
    count: int
    covered: int
    support: float
    confidence: float
    lift: float

    @property
    def text(self) -> str:
        return " and ".join(condition.text for condition in self.antecedents)

    def to_dict(self) -> dict[str, Any]:
        data = super().to_dict()
        return {"if": data.pop("antecedents"), "then": GROUPS[data.pop("group")]} | data


@dataclass(frozen=True, kw_only=True, repr=False)
class Rules:
    """Rules by falling lift, as arrays; a rule is made when it is asked for.

    ``first`` and ``second`` number the items of a rule (``second`` is -1 where there is only one).
    """

    items: Items
    first: Places
    second: Places
    group: Places
    count: Counts
    covered: Counts
    sizes: tuple[int, int]  # rows of the rest and of the left-out group

    def __len__(self) -> int:
        return len(self.first)

    @property
    def support(self) -> NDArray[np.float64]:
        return self.count / sum(self.sizes)

    @property
    def confidence(self) -> NDArray[np.float64]:
        return self.count / self.covered

    @property
    def share(self) -> NDArray[np.float64]:
        """The group's share of all rows."""
        return np.array(self.sizes)[self.group] / sum(self.sizes)

    @property
    def lift(self) -> NDArray[np.float64]:
        return self.confidence / self.share

    @overload
    def __getitem__(self, place: int) -> Rule: ...

    @overload
    def __getitem__(self, place: slice) -> Rules: ...

    def __getitem__(self, place: int | slice) -> Rule | Rules:
        if isinstance(place, slice):
            return self.take(np.arange(len(self))[place])
        if not -len(self) <= place < len(self):
            raise IndexError(f"There are {len(self)} rules; {place} is not one of them.")
        one = self.take(np.array([place]))
        numbers = ("group", "count", "covered", "support", "confidence", "lift")
        return Rule(
            antecedents=tuple(self.items.condition(int(i)) for i in self._items_of(place)),
            **{name: getattr(one, name).item() for name in numbers},
        )

    def __str__(self) -> str:
        """The rules as a table, one line per rule."""
        lines = [f"{'rows':>9} {'share':>6} {'lift':>6}  then, if"]
        for rule in self[:_LINES]:
            lines.append(
                f"{rule.covered:>9,} {100 * rule.confidence:>4.0f} % {rule.lift:>6.2f}  "
                f"{GROUPS[rule.group]}, {rule.text}"
            )
        return "\n".join(lines + [f"and {len(self) - _LINES:,} more"] * (len(self) > _LINES))

    def __repr__(self) -> str:
        return f"<{len(self):,} rules>"

    def __iter__(self) -> Iterator[Rule]:
        return (self[place] for place in range(len(self)))

    def take(self, places: NDArray[Any]) -> Rules:
        """Some of the rules."""
        return replace(self, **{name: getattr(self, name)[places] for name in _ARRAYS})

    def of(self, group: int) -> Rules:
        """The rules of one group: 1 is the left-out group, 0 the rest."""
        return self.take(self.group == group)

    def leading(self, limit: int) -> Rules:
        """The ``limit`` rules of highest lift of each group."""
        first = [np.flatnonzero(self.group == group)[:limit] for group in (REST, LEFT_OUT)]
        return self.take(np.sort(np.concatenate(first)))

    def best(self, limit: int) -> Rules:
        """The ``limit`` rules of highest confidence; of equal ones, those of highest count."""
        if len(self) <= limit:
            return self
        key = self.confidence - 1e-9 / self.count
        return self.take(np.sort(np.argpartition(-key, limit)[:limit]))

    def that_add(self, labels: ArrayLike, limit: int = LISTED) -> Rules:
        """The rules of the left-out group that add most to those before: the ones to list.

        By falling lift, the next is the first of which at least half of the group's rows that it
        covers are new. A rule of two conditions must be surer than both of them, by 10 points of
        confidence: else the shorter one says it.

        Parameters
        ----------
        labels : array of shape (m,)
            Those that the rules were found for.
        limit : int, default=8

        Returns
        -------
        Rules
        """
        check_count("limit", limit)
        group = check_left_out(labels, self.items.n_rows)
        found = self.of(LEFT_OUT)
        with np.errstate(invalid="ignore"):
            alone = self.items.count(group) / self.items.count()
        second = np.where(found.second < 0, found.first, found.second)
        halves = np.maximum(alone[found.first], alone[second])
        surer = (found.second < 0) | (found.confidence >= halves + _SURER - 1e-9)
        found, second = found.take(surer), second[surer]
        used, places = np.unique(np.concatenate([found.first, second]), return_inverse=True)
        first, second = np.split(places.ravel(), 2)
        bits = self.items.bits(used)
        return found.take(adding(bits, first, second, found.count, of_mask(group)[0], limit))

    def variables(self, place: int) -> tuple[str, ...]:
        """Names of the columns that a rule speaks of, in the order of the table."""
        chosen = sorted(int(self.items.column_of[item]) for item in self._items_of(place))
        return tuple(self.items.cuts[column].column.name for column in chosen)

    def _items_of(self, place: int) -> list[int]:
        return [item for item in (self.first[place], self.second[place]) if item >= 0]


class Floors(NamedTuple):
    """The least support and confidence of a rule; None is the group's share of the rows."""

    support: float
    confidence: float | None

    def met(self, rules: Rules) -> Mask:
        floor = rules.share if self.confidence is None else self.confidence
        with np.errstate(invalid="ignore", divide="ignore"):
            enough = (rules.support >= self.support) & (rules.confidence >= floor)
        return (rules.count > 0) & enough


def mine(
    items: Items,
    masks: Mask,
    floors: Floors,
    antecedents: int = 2,
    *,
    groups: tuple[int, ...] = (REST, LEFT_OUT),
    prune: bool = True,
    limit: int | None = None,
) -> list[Rules]:
    """The rules of the groups asked for, for every run's labels in ``masks`` (n_runs, m).

    What does not depend on the labels is counted once for all runs. With a ``limit``, of very many
    pairs only the best are kept.
    """
    m = items.n_rows
    covered = items.count()
    chosen = np.flatnonzero((covered / m >= floors.support) & ((covered < m) | (not prune)))
    bits, covered = items.bits(chosen), covered[chosen]
    members = [of_mask(mask) for mask in masks]
    sizes = [int(mask.sum()) for mask in masks]
    counts = [meet(bits, inside)[:, 0] for inside in members]
    # A rule's support is at most that of each of its items.
    most = np.max([c if g == LEFT_OUT else covered - c for c in counts for g in groups], axis=0)
    kept = np.flatnonzero(most / m >= floors.support)
    chosen, bits, covered = chosen[kept], bits[kept], covered[kept]
    counts = [count[kept] for count in counts]
    alone = np.arange(len(chosen))

    def select(
        first: Places, second: Places, both: Counts, inside: Counts, size: int
    ) -> list[Rules]:
        """The rules that meet the floors, for each group."""
        found = []
        for group in groups:
            every = Rules(
                items=items,
                first=first,
                second=second,
                group=np.full(len(first), group),
                count=inside if group == LEFT_OUT else both - inside,
                covered=both,
                sizes=(m - size, size),
            )
            found.append(every.take(np.flatnonzero(floors.met(every))))
        return found

    parts = [
        select(alone, np.full(len(chosen), -1), covered, count, size)
        for count, size in zip(counts, sizes, strict=True)
    ]
    starts = range(0, len(chosen), _BLOCK) if antecedents == 2 else ()
    for a, b in combinations_with_replacement(starts, 2):
        left, right = bits[a : a + _BLOCK], bits[b : b + _BLOCK]
        both = meet(left, right, a == b)
        i, j = np.nonzero((both / m >= floors.support) & (both > 0))
        both = both[i, j]
        for run, (rows, count, size) in enumerate(zip(members, counts, sizes, strict=True)):
            inside = meet(left & rows, right, a == b)[i, j]
            found = select(i + a, j + b, both, inside, size)
            if prune:
                found = [_better_than_halves(part, covered, count) for part in found]
            if limit is not None:
                found = [part.best(max(_MANY, limit)) for part in found]
            parts[run] += found
    results = []
    for part in parts:
        made = _sorted(part)
        if prune:
            made = _distinct(made, bits)
        named = np.append(chosen, -1)  # -1 stays what it is
        results.append(replace(made, first=named[made.first], second=named[made.second]))
    return results


def _better_than_halves(found: Rules, covered: Counts, inside: Counts) -> Rules:
    """Pairs whose confidence exceeds that of both of their items; compared in whole numbers."""
    alone = np.stack([covered - inside, inside])
    better = [
        found.count * covered[half] > alone[found.group, half] * found.covered
        for half in (found.first, found.second)
    ]
    return found.take(better[0] & better[1])


def _sorted(parts: list[Rules]) -> Rules:
    """By falling lift, then count, then number of antecedents and place, in which they come."""
    joined: dict[str, Any]
    joined = {name: np.concatenate([getattr(part, name) for part in parts]) for name in _ARRAYS}
    found = replace(parts[0], **joined)
    return found.take(np.lexsort((-found.count, -found.lift)))


def _distinct(found: Rules, bits: Bits) -> Rules:
    """The rules that cover other rows than every rule of their group before them.

    Of rules that cover the same rows, those with one antecedent come first. Only rules with the
    same numbers can.
    """
    kin = (found.covered * (1 + int(found.count.max(initial=0))) + found.count) * 2 + found.group
    return found.take(np.flatnonzero(~repeats(bits, found.first, found.second, kin)))
