"""Counting rules: every one or two items of a raw table, against a group."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import combinations_with_replacement
from typing import Any, NamedTuple, overload

import numpy as np
from numpy.typing import NDArray

from leftout.checks import check_floor
from leftout.explain.bits import Bits, meet, of_mask, repeats
from leftout.explain.items import Condition, Counts, Items, Mask
from leftout.files import Told

REST, LEFT_OUT = 0, 1
GROUPS = ("rest", "left-out group")
_LINES = 20
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
    first: NDArray[np.intp]
    second: NDArray[np.intp]
    group: NDArray[np.intp]
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
    def lift(self) -> NDArray[np.float64]:
        return self.confidence / (np.array(self.sizes)[self.group] / sum(self.sizes))

    @overload
    def __getitem__(self, place: int) -> Rule: ...

    @overload
    def __getitem__(self, place: slice) -> Rules: ...

    def __getitem__(self, place: int | slice) -> Rule | Rules:
        if isinstance(place, slice):
            return self.take(np.arange(len(self))[place])
        if not -len(self) <= place < len(self):
            raise IndexError(f"There are {len(self)} rules; {place} is not one of them.")
        both = (self.first[place], self.second[place])
        count, covered, group = (
            int(part[place]) for part in (self.count, self.covered, self.group)
        )
        confidence = count / covered
        return Rule(
            antecedents=tuple(self.items.condition(int(item)) for item in both if item >= 0),
            group=group,
            count=count,
            covered=covered,
            support=count / sum(self.sizes),
            confidence=confidence,
            lift=confidence / (self.sizes[group] / sum(self.sizes)),
        )

    def __str__(self) -> str:
        """The rules as a table, a line a rule."""
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
        fields = ("first", "second", "group", "count", "covered")
        return replace(self, **{name: getattr(self, name)[places] for name in fields})

    def renumbered(self, names: NDArray[np.intp]) -> Rules:
        """The same rules, item ``i`` called ``names[i]``."""
        second = np.where(self.second < 0, -1, names[self.second])
        return replace(self, first=names[self.first], second=second)

    def of(self, group: int) -> Rules:
        """The rules of one group: 1 is the left-out group, 0 the rest."""
        return self.take(self.group == group)

    def leading(self, limit: int) -> Rules:
        """So many rules of each group, those of highest lift."""
        first = [np.flatnonzero(self.group == group)[:limit] for group in (REST, LEFT_OUT)]
        return self.take(np.sort(np.concatenate(first)))

    def variables(self, place: int) -> tuple[str, ...]:
        """Names of the columns that a rule speaks of, in the order of the table."""
        both = (self.first[place], self.second[place])
        chosen = sorted(int(self.items.column_of[item]) for item in both if item >= 0)
        return tuple(self.items.cuts[column].column.name for column in chosen)


class Floors(NamedTuple):
    """The least support and confidence of a rule; None is the group's share of the rows."""

    support: float
    confidence: float | None

    @classmethod
    def checked(cls, support: Any, confidence: Any) -> Floors:
        check_floor("min_support", support)
        if confidence is not None:
            check_floor("min_confidence", confidence)
        return cls(support, confidence)

    def met(self, count: Counts, covered: Counts, m: int, size: int) -> Mask:
        floor = size / m if self.confidence is None else self.confidence
        with np.errstate(invalid="ignore", divide="ignore"):
            return (count > 0) & (count / m >= self.support) & (count / covered >= floor)


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
    parts = [
        _select(alone, np.full(len(chosen), -1), covered, count, size, m, floors, groups)
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
            found = _select(i + a, j + b, both, inside, size, m, floors, groups)
            if prune:
                found = [_better_than_halves(part, covered, count) for part in found]
            if limit is not None:
                found = [part.best(max(_MANY, limit)) for part in found]
            parts[run] += found
    results = []
    for size, part in zip(sizes, parts, strict=True):
        made = _sorted(items, (m - size, size), part)
        if prune:
            made = _distinct(made, bits)
        results.append(made.renumbered(chosen))
    return results


class _Part(NamedTuple):
    """Rules of one group."""

    group: int
    first: NDArray[np.intp]
    second: NDArray[np.intp]
    covered: Counts
    hits: Counts

    def where(self, kept: NDArray[Any]) -> _Part:
        return self.where_at(np.flatnonzero(kept))

    def where_at(self, places: NDArray[np.intp]) -> _Part:
        return _Part(self.group, *(part[places] for part in self[1:]))

    def best(self, limit: int) -> _Part:
        if len(self.hits) <= limit:
            return self
        # by confidence, and of equals by count
        key = self.hits / self.covered - 1e-9 / self.hits
        return self.where_at(np.sort(np.argpartition(-key, limit)[:limit]))


def _select(
    first: NDArray[np.intp],
    second: NDArray[np.intp],
    covered: Counts,
    inside: Counts,
    size: int,
    m: int,
    floors: Floors,
    groups: tuple[int, ...],
) -> list[_Part]:
    """The rules that meet the floors, for each group."""
    found = []
    for group in groups:
        count, rows = (inside, size) if group == LEFT_OUT else (covered - inside, m - size)
        part = _Part(group, first, second, covered, count)
        found.append(part.where(floors.met(count, covered, m, rows)))
    return found


def _better_than_halves(part: _Part, covered: Counts, inside: Counts) -> _Part:
    """Pairs whose confidence exceeds that of both of their items; compared in whole numbers."""
    alone = inside if part.group == LEFT_OUT else covered - inside
    better = [
        part.hits * covered[half] > alone[half] * part.covered for half in (part.first, part.second)
    ]
    return part.where(better[0] & better[1])


def _sorted(items: Items, sizes: tuple[int, int], parts: list[_Part]) -> Rules:
    """By falling lift, then count, then number of antecedents and place, in which they come."""
    first, second, covered, count = (
        np.concatenate([part[field] for part in parts]) for field in (1, 2, 3, 4)
    )
    group = np.concatenate([np.full(len(part.first), part.group) for part in parts])
    found = Rules(
        items=items, first=first, second=second, group=group, count=count, covered=covered,
        sizes=sizes,
    )  # fmt: skip
    return found.take(np.lexsort((-count, -found.lift)))


def _distinct(found: Rules, bits: Bits) -> Rules:
    """The rules that cover other rows than every rule of their group before them.

    Of rules that cover the same rows, those with one antecedent come first. Only rules with the
    same numbers can.
    """
    kin = (found.covered * (1 + int(found.count.max(initial=0))) + found.count) * 2 + found.group
    return found.take(np.flatnonzero(~repeats(bits, found.first, found.second, kin)))
