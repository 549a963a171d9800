"""The search for a short description of a group of rows.

All single conditions and all pairs of them are looked at: with ``C`` the counts of rows in which
two items meet and ``A`` the 0-1 matrix of the conditions that a column's items make up, the counts
for all pairs of conditions are ``A C A'``. Three conditions are looked for in two ways: a third is
added to the best pairs, and all pairs are put beside the best single ones. At last every threshold
is moved to where the distinct values of its column put it best.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from itertools import combinations_with_replacement
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import xlogy

from leftout.checks import Refusal
from leftout.explain.bits import Bits, meet, n_words, of_mask, pack
from leftout.explain.items import Condition, Cut, Items, Mask, cut
from leftout.tables.columns import Column

Array = NDArray[np.float64]

# What a further condition must add to F1: this much, or this many rows' worth.
_GAIN, _GAIN_ROWS = 0.01, 4
# What else makes a condition harder to read, in conditions.
_SECOND_BOUND, _NEGATION = 0.5, 0.1
# Cut points per column; columns, and categories of one: of more, those that tell most of the group.
_BINS, _COLUMNS, _CATEGORIES = 16, 64, 40
# Single conditions that pairs are put beside, and the columns of those pairs.
_OUTER, _TELLING = 6, 20
# Descriptions from which longer ones are searched, and whose thresholds are refined.
_BEAM, _REFINED, _ROUNDS = 100, 20, 10


class Description(NamedTuple):
    """Conditions and the words between them, read from the left, and what they cover.

    ``score`` is F1 less what the conditions cost.
    """

    score: float
    conditions: tuple[Condition, ...]
    words: tuple[str, ...]
    covered: int
    hits: int


def best_by_length(columns: list[Column], group: Mask, conditions: int) -> list[Description]:
    """The best description with one condition, with two, and so on."""
    search = _Search(columns, group)
    return [
        max((search.refined(plan) for plan in leading[:_REFINED]), key=lambda found: found.score)
        for leading in search.by_length(conditions)
    ]


def most_telling(columns: list[Column], group: Mask, limit: int) -> list[Column]:
    """The columns that tell most about the group, in their order; all, if there are no more."""
    if len(columns) <= limit:
        return columns
    told = np.array([_information(c, group) for c in Items(columns, _BINS, group).cuts])
    return [columns[place] for place in np.sort(np.argsort(-told, kind="stable")[:limit])]


def joined(masks: list[Mask], words: tuple[str, ...]) -> Mask:
    """Rows for which conditions hold that words join."""
    result = masks[0]
    for word, mask in zip(words, masks[1:], strict=True):
        result = result & mask if word == "and" else result | mask
    return result


class _Span(NamedTuple):
    """Bins of a column that one condition covers."""

    start: int
    stop: int
    all_but: bool = False  # every bin but this one

    def is_range(self, cut: Cut) -> bool:
        return cut.column.categories is None and not self.all_but and self.stop <= cut.n_known

    def condition(self, cut: Cut) -> Condition:
        return cut.other_than(self.start) if self.all_but else cut.condition(self.start, self.stop)


class _Plan(NamedTuple):
    """A description under construction: places of columns, spans of their bins, words between."""

    columns: tuple[int, ...]
    spans: tuple[_Span, ...]
    words: tuple[str, ...] = ()

    def then(self, word: str, column: int, span: _Span) -> _Plan:
        return _Plan((*self.columns, column), (*self.spans, span), (*self.words, word))


_Scored = tuple[float, _Plan]


class _Pool(NamedTuple):
    """A column's candidate conditions.

    ``A`` has one row a span and says which counts make up the span's: those of all rows (first),
    and of the column's items, which are at the places ``items`` among all items.
    """

    cut: Cut
    spans: list[_Span]
    A: Array
    items: NDArray[np.intp]
    cost: Array


class _Search:
    """What the search for one group shares."""

    def __init__(self, columns: list[Column], group: Mask) -> None:
        self.group, self.size = group, int(group.sum())
        self.gain = max(_GAIN, 0.5 * _GAIN_ROWS / self.size)
        cuts = [c for c in Items(columns, _BINS, group).cuts if c.n_bins > 1]
        if not cuts:
            raise Refusal(
                "No column takes more than one value, so none can tell the left-out group from the "
                "rest. Pass columns that vary."
            )
        told = np.array([_information(c, group) for c in cuts])
        kept = np.sort(np.argsort(-told, kind="stable")[:_COLUMNS])
        self.telling = np.sort(np.argsort(-told[kept], kind="stable")[:_TELLING]).tolist()
        everything = of_mask(np.ones(len(group), dtype=bool))
        bits, self.pools, n_items = [everything], [], 1
        for c in (cuts[place] for place in kept):
            bins = _kept(c, group)
            spans = list(_spans(c, bins))
            places = np.concatenate([[0], n_items + np.arange(len(bins))])
            cost = self.gain * np.array([_cost(*span, c) for span in spans])
            self.pools.append(_Pool(c, spans, _membership(spans, bins), places, cost))
            bits.append(_bits_of(c, bins))
            n_items += len(bins)
        self.bits, self.members = np.concatenate(bits), of_mask(group)
        self.fine: dict[int, Cut] = {}

    def by_length(self, conditions: int) -> Iterator[list[_Plan]]:
        """The leading descriptions with one condition, with two, and so on."""
        singles = self._singles()
        yield [plan for _, plan in singles]
        if conditions > 1:
            beam = _leading(self._pairs(range(len(self.pools)), self.bits[:1]))
            yield [plan for _, plan in beam]
        for length in range(3, conditions + 1):
            found = self._longer([plan for _, plan in beam])
            if length == 3:
                for _, outer in singles[:_OUTER]:
                    found += self._around(outer)
            beam = _leading(found)
            yield [plan for _, plan in beam]

    def _f1(self, covered: Array, count: Array) -> Array:
        return 2.0 * count / (covered + self.size)

    def _singles(self) -> list[_Scored]:
        total, within = meet(self.bits, self.bits[:1])[:, 0], meet(self.bits, self.members)[:, 0]
        found = []
        for place, pool in enumerate(self.pools):
            covered, count = (pool.A @ counts[pool.items] for counts in (total, within))
            score = self._f1(covered, count) - pool.cost
            best = int(np.argmax(score))
            found.append((float(score[best]), _Plan((place,), (pool.spans[best],))))
        return _leading(found)

    def _pairs(
        self, places: Iterable[int], rows: Bits, outer: _Plan | None = None, word: str = ""
    ) -> list[_Scored]:
        """The best pair of conditions on every two columns, joined by either word.

        With an ``outer`` condition that joins them by ``word``, only the ``rows`` count that it
        leaves undecided.
        """
        bits = self.bits & rows
        counted = meet(bits, self.bits), meet(bits & self.members, self.bits)
        base, spent = [0, 0], self.gain
        if outer is not None:
            spent = self._spent(outer.spans, self._cuts(outer)) + 2.0 * self.gain
            if word == "or":
                of_outer = self._bits(outer)
                base = [int(meet(of_outer, b)[0, 0]) for b in (self.bits[:1], self.members)]
        found = []
        for i, j in combinations_with_replacement(places, 2):
            a, b = self.pools[i], self.pools[j]
            cost = spent + a.cost[:, None] + b.cost
            both, either = [], []
            for C, more in zip(counted, base, strict=True):
                meeting = a.A @ C[np.ix_(a.items, b.items)] @ b.A.T
                both.append(more + meeting)
                apart = (a.A @ C[a.items, 0])[:, None] + b.A @ C[b.items, 0]
                either.append(more + apart - meeting)
            for inner, (covered, count) in (("and", both), ("or", either)):
                score = self._f1(covered, count) - cost
                best = int(np.argmax(score))
                first, second = divmod(best, len(b.spans))
                plan = _Plan((i, j), (a.spans[first], b.spans[second]), (inner,))
                if outer is not None:
                    plan = plan.then(word, outer.columns[0], outer.spans[0])
                found.append((float(score.flat[best]), plan))
        return found

    def _around(self, outer: _Plan) -> list[_Scored]:
        """The best pairs to put beside one condition: those that it does not decide already."""
        bits = self._bits(outer)
        return [
            scored
            for word, rows in (("and", bits), ("or", self.bits[:1] & ~bits))
            for scored in self._pairs(self.telling, rows, outer, word)
        ]

    def _longer(self, beam: list[_Plan]) -> list[_Scored]:
        """The best condition to add to every description of the beam, from every column."""
        D = np.concatenate([self._bits(plan) for plan in beam])
        everywhere, inside = meet(D, self.bits), meet(D & self.members, self.bits)
        total, within = meet(self.bits, self.bits[:1])[:, 0], meet(self.bits, self.members)[:, 0]
        spent = np.array([self._spent(p.spans, self._cuts(p)) for p in beam])[:, None] + self.gain
        found = []
        for place, pool in enumerate(self.pools):
            both, either = [], []
            for C, alone in ((everywhere, total), (inside, within)):
                meeting = C[:, pool.items] @ pool.A.T
                both.append(meeting)
                either.append(C[:, :1] + pool.A @ alone[pool.items] - meeting)
            for word, (covered, count) in (("and", both), ("or", either)):
                score = self._f1(covered, count) - pool.cost - spent
                for row, (plan, best) in enumerate(zip(beam, score.argmax(axis=1), strict=True)):
                    longer = plan.then(word, place, pool.spans[best])
                    found.append((float(score[row, best]), longer))
        return found

    def _spent(self, spans: Collection[_Span], cuts: Collection[Cut]) -> float:
        """What the conditions of a description cost."""
        each = (_cost(s.start, s.stop, s.all_but, c) for s, c in zip(spans, cuts, strict=True))
        return self.gain * (len(spans) - 1 + sum(each))

    def _cuts(self, plan: _Plan) -> list[Cut]:
        return [self.pools[place].cut for place in plan.columns]

    def _bits(self, plan: _Plan) -> Bits:
        result = None
        for place, span, word in zip(plan.columns, plan.spans, ("", *plan.words), strict=True):
            bits = of_mask(_rows(self.pools[place].cut, span))
            result = bits if result is None else result & bits if word == "and" else result | bits
        assert result is not None
        return result

    def refined(self, plan: _Plan) -> Description:
        """Move each threshold to its best place among the distinct values, the others held."""
        cuts, spans = [], []
        for place, span in zip(plan.columns, plan.spans, strict=True):
            coarse = self.pools[place].cut
            if span.is_range(coarse):
                if place not in self.fine:
                    self.fine[place] = cut(coarse.column, len(coarse.codes))
                fine = self.fine[place]
                ends = coarse.firsts[span.start], coarse.lasts[span.stop - 1]
                start, last = np.searchsorted(fine.firsts, ends)
                coarse, span = fine, _Span(int(start), int(last) + 1)
            cuts.append(coarse)
            spans.append(span)
        masks = [_rows(c, span) for c, span in zip(cuts, spans, strict=True)]
        for _ in range(_ROUNDS):
            before = list(spans)
            for place, (c, span) in enumerate(zip(cuts, spans, strict=True)):
                if span.is_range(c):
                    spans[place] = self._best_range(c, span, place, masks, plan.words)
                    masks[place] = _rows(c, spans[place])
            if spans == before:
                break
        covered = joined(masks, plan.words)
        n_covered, count = int(covered.sum()), int((covered & self.group).sum())
        return Description(
            2.0 * count / (n_covered + self.size) - self._spent(spans, cuts),
            tuple(span.condition(c) for span, c in zip(spans, cuts, strict=True)),
            plan.words,
            n_covered,
            count,
        )

    def _best_range(
        self, c: Cut, span: _Span, place: int, masks: list[Mask], words: tuple[str, ...]
    ) -> _Span:
        """One bound at a time; only rows that the condition decides matter."""
        with_it, without = (
            joined([*masks[:place], np.full(len(c.codes), truth), *masks[place + 1 :]], words)
            for truth in (True, False)
        )
        decided = with_it & ~without
        base = [int(rows.sum()) for rows in (without, without & self.group)]
        upto = [
            np.concatenate([[0], np.cumsum(np.bincount(c.codes[rows], minlength=c.n_bins))])
            for rows in (decided, decided & self.group)
        ]

        def score(start: Any, stop: Any) -> Array:
            covered, count = (b + u[stop] - u[start] for b, u in zip(base, upto, strict=True))
            everything = (start == 0) & (stop == c.n_known) & (not c.has_missing)
            penalty = self.gain * _cost(start, stop, False, c) + 2.0 * everything
            return self._f1(covered, count) - penalty

        start, stop = span.start, span.stop
        starts = np.arange(stop)
        start = int(starts[np.argmax(score(starts, stop))])
        stops = np.arange(start + 1, c.n_known + 1)
        stop = int(stops[np.argmax(score(start, stops))])
        return max(span, _Span(start, stop), key=lambda s: float(score(s.start, s.stop)))


def _cost(start: Any, stop: Any, all_but: bool, c: Cut) -> Any:
    """What makes a condition harder to read than ``age >= 40``, in conditions."""
    if c.column.categories is not None or all_but:
        return _NEGATION * all_but
    return _SECOND_BOUND * ((start > 0) & (stop < c.n_known) & (stop - start > 1))


def _leading(found: list[_Scored]) -> list[_Scored]:
    order = np.argsort([-score for score, _ in found], kind="stable")[:_BEAM]
    return [found[place] for place in order]


def _rows(c: Cut, span: _Span) -> Mask:
    rows = (c.codes >= span.start) & (c.codes < span.stop)
    return ~rows if span.all_but else rows


def _information(c: Cut, group: Mask) -> float:
    """What a column's bins tell of the group, in nats per row, less what chance gives (Miller)."""
    counts = [np.bincount(c.codes[side], minlength=c.n_bins) for side in (group, ~group)]
    shares = np.stack(counts) / len(group)
    independent = shares.sum(axis=1, keepdims=True) * shares.sum(axis=0)
    told = float(np.sum(xlogy(shares, shares) - xlogy(shares, independent)))
    return told - (np.count_nonzero(shares.sum(axis=0)) - 1) / (2 * len(group))


def _kept(c: Cut, group: Mask) -> NDArray[np.intp]:
    """The bins that conditions are made of: all, or of many categories the group's commonest."""
    if c.column.categories is None or c.n_bins <= _CATEGORIES:
        return np.arange(c.n_bins)
    inside = np.bincount(c.codes[group], minlength=c.n_bins)
    common = np.argsort(-inside, kind="stable")[:_CATEGORIES]
    return np.union1d(common, np.arange(c.n_known, c.n_bins))  # and what is missing


def _spans(c: Cut, kept: NDArray[np.intp]) -> Iterator[_Span]:
    """Simple ones first: of equals, the first is taken."""
    if c.column.categories is None:
        n = c.n_known
        ranges = [(i, j) for i in range(n) for j in range(i + 1, n + 1) if j - i < n]
        yield from (_Span(*r) for r in sorted(ranges, key=lambda r: 0 < r[0] and r[1] < n))
        if c.has_missing:
            yield _Span(n, n + 1)
            if n:
                yield _Span(n, n + 1, all_but=True)
        return
    yield from (_Span(code, code + 1) for code in kept.tolist())
    if c.n_bins > 2:
        yield from (_Span(code, code + 1, all_but=True) for code in kept.tolist())


def _membership(spans: list[_Span], kept: NDArray[np.intp]) -> Array:
    A = np.zeros((len(spans), 1 + len(kept)))
    for row, span in enumerate(spans):
        A[row, 1:] = (kept >= span.start) & (kept < span.stop)
        if span.all_but:
            A[row] *= -1.0
            A[row, 0] = 1.0
    return A


def _bits_of(c: Cut, kept: NDArray[np.intp]) -> Bits:
    place = np.full(c.n_bins, -1)
    place[kept] = np.arange(len(kept))
    bits = np.zeros((len(kept), n_words(len(c.codes))), dtype=np.uint64)
    pack(c.codes, place, bits)
    return bits
