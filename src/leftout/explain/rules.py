"""Rules: conditions on one or two raw columns under which rows are in a group.

A rule's conditions are bins of columns, and its counts those of two bins that meet
(:mod:`leftout.data.binning`): two matrix products have them all, on the diagonal those of one bin.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from leftout.checks import check_left_out
from leftout.data.binning import BinnedColumn, Indicators, Places, bin_column, starts_of
from leftout.data.columns import columns_of
from leftout.data.conditions import Condition, Mask
from leftout.files import Serializable

Counts = NDArray[np.int64]

# Intervals that a column of numbers is cut into at most.
_BINS = 5
# Rules that are listed; a pair must be this much surer than the surer of its halves.
LISTED, _SURER = 8, 0.1
# Of more rules, the surest are kept.
_MOST = 50_000


@dataclass(frozen=True, kw_only=True)
class Rule(Serializable):
    """If the antecedents hold, a row is in the group.

    ``covered`` rows satisfy the antecedents and ``count`` of them are in the group; ``support`` is
    count over all rows, ``confidence`` count over covered, ``lift`` confidence over the group's
    share of all rows.
    """

    also = ("text",)

    antecedents: tuple[Condition, ...]
    count: int
    covered: int
    support: float
    confidence: float
    lift: float

    @property
    def text(self) -> str:
        return " and ".join(condition.text for condition in self.antecedents)


@dataclass(frozen=True, kw_only=True, repr=False)
class Rules:
    """Rules by falling lift, as arrays; a rule is made when it is asked for.

    ``first`` and ``second`` number the bins of all columns; a rule with one condition has it twice.
    """

    columns: Sequence[BinnedColumn]
    group: Mask  # the rows that they are about
    first: Places
    second: Places
    count: Counts
    covered: Counts

    def __len__(self) -> int:
        return len(self.first)

    @property
    def single(self) -> Mask:
        """Which rules have one condition."""
        return self.first == self.second

    @property
    def support(self) -> NDArray[np.float64]:
        return self.count / len(self.group)

    @property
    def confidence(self) -> NDArray[np.float64]:
        return self.count / self.covered

    @property
    def lift(self) -> NDArray[np.float64]:
        return self.confidence / (self.group.sum() / len(self.group))

    def __getitem__(self, place: int) -> Rule:
        one = self.take(np.array([place]))
        numbers = ("count", "covered", "support", "confidence", "lift")
        return Rule(
            antecedents=tuple(binned.condition(code) for binned, code in self._bins(place)),
            **{name: getattr(one, name).item() for name in numbers},
        )

    def __iter__(self) -> Iterator[Rule]:
        return (self[place] for place in range(len(self)))

    def take(self, places: NDArray[Any]) -> Self:
        kept = {name: getattr(self, name)[places] for name in ("first", "second", "count")}
        return replace(self, covered=self.covered[places], **kept)

    def that_add(self, limit: int = LISTED) -> Self:
        """The rules that add most to those before: the ones to list.

        By falling lift, the next is the first of which at least half of the group's rows that it
        covers are new. A rule of two conditions must be surer than both of them, by 10 points of
        confidence: else the shorter one says it.
        """
        table = Indicators.of(self.columns)
        with np.errstate(invalid="ignore"):
            alone = table.counts(self.group) / table.counts()
        halves = np.maximum(alone[self.first], alone[self.second])
        found = self.take(self.single | (self.confidence >= halves + _SURER - 1e-9))
        used, places = np.unique([found.first, found.second], return_inverse=True)
        table, (at, beside) = table.only(used), places.reshape(2, -1)
        new, chosen = self.group.copy(), list[int]()
        while len(chosen) < limit:
            adds = 2 * table.pairs(new)[at, beside] >= found.count
            adds[: chosen[-1] + 1 if chosen else 0] = False  # what was new to them only falls
            if not adds.any():
                break
            chosen.append(int(adds.argmax()))
            new &= ~found.mask(chosen[-1])
        return found.take(np.array(chosen, dtype=np.intp))

    def mask(self, place: int) -> Mask:
        """The rows that satisfy a rule's antecedents."""
        return np.logical_and.reduce([binned.codes == code for binned, code in self._bins(place)])

    @cached_property
    def _starts(self) -> Places:
        return starts_of(self.columns)

    def _bin(self, item: int) -> tuple[BinnedColumn, int]:
        """The column of a bin, and which of its bins it is."""
        at = int(np.searchsorted(self._starts, item, side="right")) - 1
        return self.columns[at], int(item - self._starts[at])

    def _bins(self, place: int) -> list[tuple[BinnedColumn, int]]:
        """The columns of a rule, and the bin of each."""
        return [self._bin(item) for item in np.unique([self.first[place], self.second[place]])]


def find_rules(
    table: Any,
    labels: ArrayLike,
    *,
    min_support: float = 0.01,
    min_confidence: float | None = None,
    prune: bool = True,
) -> Rules:
    """Find all rules "if this holds (and that), the row is in the group", by falling lift.

    Numbers are cut into at most five intervals, categories keep their names, and missing is a
    value. Rules have a ``min_support`` (share of all rows that satisfy the antecedents and are in
    the group) and a ``min_confidence`` (share of the former that are in the group; None: as in all
    rows, a lift of 1). ``prune`` drops what holds for all rows, a pair that is no better than one
    of its halves, and a rule that covers the same rows as one before it. Of more than 50,000 rules
    those of highest confidence are kept.

    With I items (a few per column) all pairs cost O(m I^2) multiplications, at the speed of BLAS,
    and memory for a block of rows (Agrawal, Imielinski and Swami 1993, Mining association rules
    between sets of items).

    Examples
    --------
    >>> import numpy as np
    >>> table = np.array([["red", 1], ["red", 9], ["blue", 9], ["blue", 1]], dtype=object)
    >>> best = find_rules(table, [0, 1, 0, 0])[0]
    >>> best.text, best.confidence, best.lift
    ('x0 = red and x1 = 9', 1.0, 4.0)
    """
    columns = [bin_column(column, _BINS) for column in columns_of(table)]
    group = check_left_out(labels, len(columns[0].codes))
    every, m = Indicators.of(columns), len(group)
    covered, inside = every.counts(), every.counts(group)
    # A rule's support is at most that of each of its items.
    frequent = (inside > 0) & (inside / m >= min_support)
    items = np.flatnonzero(frequent & (covered < m) if prune else frequent)
    few = 2 * len(items) < len(covered)  # else counting all pairs is faster than dropping bins
    pairs, among = (every.only(items), ...) if few else (every, np.ix_(items, items))
    both, held = pairs.pairs()[among], pairs.pairs(group)[among]
    i, j = np.nonzero(np.triu((held / m >= min_support) & (held > 0)))
    met, count = both[i, j], held[i, j]
    floor = int(group.sum()) / m if min_confidence is None else min_confidence
    kept = count / met >= floor
    if prune:  # a pair is surer than either half, compared in whole numbers
        surer = [count * both[at, at] > held[at, at] * met for at in (i, j)]
        kept &= (i == j) | surer[0] & surer[1]
    places = np.flatnonzero(kept)
    if len(places) > _MOST:  # single ones, then by confidence and count
        key = np.where(i == j, np.inf, count / met - 1e-9 / count)[places]
        places = np.sort(places[np.argpartition(-key, _MOST)[:_MOST]])
    made = Rules(
        columns=columns,
        group=group,
        first=items[i[places]],
        second=items[j[places]],
        count=count[places].astype(np.int64),
        covered=met[places].astype(np.int64),
    )
    made = made.take(np.lexsort((~made.single, -made.count, -made.lift)))
    return _distinct(made) if prune else made


def _distinct(found: Rules) -> Rules:
    """The rules that cover other rows than every rule before them.

    Of rules that cover the same rows, those with one antecedent come first. Only rules with the
    same numbers can.
    """
    kin = found.covered * (1 + int(found.count.max(initial=0))) + found.count
    _, place, times = np.unique(kin, return_inverse=True, return_counts=True)
    new, seen = np.ones(len(found), dtype=bool), set[tuple[int, bytes]]()
    some = np.flatnonzero(times[place] > 1)
    items, at = np.unique([found.first[some], found.second[some]], return_inverse=True)
    rows = [np.packbits(column.codes == code) for column, code in map(found._bin, items.tolist())]
    for rule, a, b in zip(some.tolist(), *at.reshape(2, -1).tolist(), strict=True):
        key = int(kin[rule]), (rows[a] & rows[b]).tobytes()
        new[rule] = key not in seen
        seen.add(key)
    return found.take(new)
