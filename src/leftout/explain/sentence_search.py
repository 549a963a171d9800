"""One sentence: the short description of the left-out group that fits its rows best.

A description joins up to three conditions on raw columns by "and" or "or". It is judged by F1, the
harmonic mean of precision (the share of the rows it covers that are in the group) and recall (the
share of the group that it covers); every further condition must earn its place.

All single conditions and all pairs of them are looked at: with ``C`` the counts of rows in which
two items meet and ``A`` the 0-1 matrix of the conditions that a column's items make up, the counts
for all pairs of conditions are ``A C A'``; :mod:`leftout.explain.pairing` has them without the
product. Three conditions are looked for in two ways: a third is added to the best pairs, and all
pairs are put beside the best single ones. At last every threshold is moved to where the distinct
values of its column put it best.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace
from itertools import combinations_with_replacement
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from leftout.checks import Refusal, check_count, check_left_out
from leftout.explain.bits import Bits, meet, meet_each_other, of_mask
from leftout.explain.items import Items, largest
from leftout.explain.pairing import Stretches, best_pairs
from leftout.explain.sentence import Sentence, joined
from leftout.tables.columns import Column, columns_of
from leftout.tables.conditions import Mask
from leftout.tables.cuts import FINE, Cut, Span, cut

Array = NDArray[np.float64]

# What a further condition must add to F1: this much, or this many rows' worth.
_GAIN, _GAIN_ROWS = 0.01, 4
# What else makes a condition harder to read, in conditions.
_SECOND_BOUND, _NEGATION = 0.5, 0.1
# Columns, and categories of one: of more, those that tell most of the group.
_COLUMNS, _CATEGORIES = 64, 40
# Single conditions that pairs are put beside, and the columns of those pairs.
_OUTER, _TELLING = 6, 20
# Descriptions from which longer ones are searched, and whose thresholds are refined.
_BEAM, _REFINED, _ROUNDS = 100, 20, 10


def describe(
    table: Any,
    labels: ArrayLike,
    *,
    categorical: Iterable[Any] | None = (),
    drop: Iterable[Any] | None = (),
    conditions: int = 3,
) -> Sentence:
    """The short description with the best F1 for the left-out rows.

    Parameters
    ----------
    table : raw table of m rows
    labels : array of shape (m,)
        1 or True where a row is left out, else 0.
    categorical : names of columns of numbers that are codes
    drop : names of columns to leave aside (the target, for example)
    conditions : int, default=3
        At most. A further condition must add 0.01 to F1 (or what four rows make, if more),
        a second bound of an interval half of that.

    Returns
    -------
    Sentence

    Notes
    -----
    All conditions and pairs of them are looked at on 16 cut points per column; three are searched
    from the best. Of more than 64 columns, and of more than 40 categories of one, those take part
    that tell most about the group.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> table = np.column_stack([rng.integers(18, 80, 500), rng.integers(0, 3, 500)])
    >>> old = (table[:, 0] >= 60) & (table[:, 1] == 2)
    >>> describe(table, old).text
    'x0 >= 60 and x1 = 2'
    """
    check_count("conditions", conditions)
    columns = columns_of(table, categorical=categorical, drop=drop)
    group = check_left_out(labels, len(columns[0]))
    search = _Search(columns, group)
    # with one condition, with two, and so on
    found = [
        max((search.refined(plan) for plan in leading[:_REFINED]), key=lambda scored: scored[0])
        for leading in search.by_length(conditions)
    ]
    best = int(np.argmax([score for score, _ in found]))
    return replace(found[best][1], shorter=tuple(sentence for _, sentence in found[:best]))


class _Plan(NamedTuple):
    """A description under construction: places of columns, spans of their bins, words between."""

    columns: tuple[int, ...]
    spans: tuple[Span, ...]
    words: tuple[str, ...] = ()

    def then(self, word: str, column: int, span: Span) -> _Plan:
        return _Plan((*self.columns, column), (*self.spans, span), (*self.words, word))


_Scored = tuple[float, _Plan]


class _Pool(NamedTuple):
    """A column's candidate conditions.

    ``A`` has one row per span and says which counts make up the span's: those of all rows (first),
    and of the column's items, which are at the places ``items`` among all items. ``ends`` says the
    same by stretches of these items.
    """

    cut: Cut
    spans: list[Span]
    A: Array
    ends: NDArray[np.intp]
    items: NDArray[np.intp]
    cost: Array


class _Search:
    """What the search for one group shares."""

    def __init__(self, columns: list[Column], group: Mask) -> None:
        self.group, self.size = group, int(group.sum())
        self.gain = max(_GAIN, 0.5 * _GAIN_ROWS / self.size)
        items = Items(columns, FINE, group)
        varying = np.array([place for place, c in enumerate(items.cuts) if c.n_bins > 1])
        if not len(varying):
            raise Refusal(
                "No column takes more than one value, so none can tell the left-out group from the "
                "rest. Pass columns that vary."
            )
        told = np.array([items.cuts[place].tells(group) for place in varying])
        kept = largest(told, _COLUMNS)
        self.telling = largest(told[kept], _TELLING).tolist()
        self.pools: list[_Pool] = []
        chosen: list[int] = []
        for place in varying[kept]:
            c = items.cuts[place]
            bins = _kept(c, group)
            spans = list(_spans(c, bins))
            places = np.concatenate([[0], 1 + len(chosen) + np.arange(len(bins))])
            cost = self.gain * np.array([_cost(*span, c) for span in spans])
            which = _membership(spans, bins), _ends(spans, bins)
            self.pools.append(_Pool(c, spans, *which, places, cost))
            chosen += (items.starts[place] + bins).tolist()
        everything = of_mask(np.ones(len(group), dtype=bool))
        self.bits, self.members = np.concatenate([everything, items.bits(chosen)]), of_mask(group)
        self.alone = [meet(self.bits, rows)[:, 0] for rows in (everything, self.members)]
        self.fine: dict[int, Cut] = {}

    def by_length(self, conditions: int) -> Iterator[list[_Plan]]:
        """The leading descriptions with one condition, with two, and so on."""
        singles = beam = _leading(self._singles())
        yield beam
        if conditions > 1:
            beam = _leading(self._pairs(range(len(self.pools)), self.bits[:1]))
            yield beam
        for length in range(3, conditions + 1):
            found = self._longer(beam)
            if length == 3:
                for outer in singles[:_OUTER]:
                    found += self._around(outer)
            beam = _leading(found)
            yield beam

    def _f1(self, covered: Array, count: Array) -> Array:
        return 2.0 * count / (covered + self.size)

    def _singles(self) -> list[_Scored]:
        found = []
        for place, pool in enumerate(self.pools):
            covered, count = (pool.A @ counts[pool.items] for counts in self.alone)
            score = self._f1(covered, count) - pool.cost
            best = int(np.argmax(score))
            found.append((float(score[best]), _Plan((place,), (pool.spans[best],))))
        return found

    def _pairs(
        self, places: Iterable[int], rows: Bits, outer: _Plan | None = None, word: str = ""
    ) -> list[_Scored]:
        """The best pair of conditions on every two columns, joined by either word.

        With an ``outer`` condition that joins them by ``word``, only the ``rows`` count that it
        leaves undecided.
        """
        places = list(places)
        pools = [self.pools[place] for place in places]
        all_bits = self.bits[np.concatenate([[0], *(pool.items[1:] for pool in pools)])]
        bits = all_bits & rows
        counted = meet_each_other(bits), meet_each_other(bits & self.members)
        base, spent = [0, 0], self.gain
        if outer is not None:
            spent = self._spent(outer.spans, self._cuts(outer)) + 2.0 * self.gain
            if word == "or":
                of_outer = self._bits(outer)
                base = [int(meet(of_outer, b)[0, 0]) for b in (self.bits[:1], self.members)]
        conditions = _stretches(pools)
        best = best_pairs(*counted, conditions, self.size, spent, np.array(base, dtype=float))
        spans = [span for pool in pools for span in pool.spans]
        found = []
        for columns, scores, which in zip(
            combinations_with_replacement(places, 2), *(each.tolist() for each in best), strict=True
        ):
            for inner, score, (first, second) in zip(("and", "or"), scores, which, strict=True):
                plan = _Plan(columns, (spans[first], spans[second]), (inner,))
                if outer is not None:
                    plan = plan.then(word, outer.columns[0], outer.spans[0])
                found.append((score, plan))
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
        counted = meet(D, self.bits), meet(D & self.members, self.bits)
        spent = np.array([self._spent(p.spans, self._cuts(p)) for p in beam])[:, None] + self.gain
        found = []
        for place, pool in enumerate(self.pools):
            both, either = [], []
            for C, alone in zip(counted, self.alone, strict=True):
                meeting = C[:, pool.items] @ pool.A.T
                both.append(meeting)
                either.append(C[:, :1] + pool.A @ alone[pool.items] - meeting)
            for word, (covered, count) in (("and", both), ("or", either)):
                score = self._f1(covered, count) - pool.cost - spent
                for row, (plan, best) in enumerate(zip(beam, score.argmax(axis=1), strict=True)):
                    longer = plan.then(word, place, pool.spans[best])
                    found.append((float(score[row, best]), longer))
        return found

    def _spent(self, spans: Collection[Span], cuts: Collection[Cut]) -> float:
        """What the conditions of a description cost."""
        each = (_cost(s.start, s.stop, s.all_but, c) for s, c in zip(spans, cuts, strict=True))
        return self.gain * (len(spans) - 1 + sum(each))

    def _cuts(self, plan: _Plan) -> list[Cut]:
        return [self.pools[place].cut for place in plan.columns]

    def _bits(self, plan: _Plan) -> Bits:
        rows = [_rows(c, span) for c, span in zip(self._cuts(plan), plan.spans, strict=True)]
        return of_mask(joined(rows, plan.words))

    def refined(self, plan: _Plan) -> tuple[float, Sentence]:
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
                coarse, span = fine, Span(int(start), int(last) + 1)
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
        sentence = Sentence(
            conditions=tuple(span.condition(c) for span, c in zip(spans, cuts, strict=True)),
            joined=plan.words,
            covered=int(covered.sum()),
            count=int((covered & self.group).sum()),
            size=self.size,
            n_rows=len(self.group),
        )
        return sentence.f1 - self._spent(spans, cuts), sentence

    def _best_range(
        self, c: Cut, span: Span, place: int, masks: list[Mask], words: tuple[str, ...]
    ) -> Span:
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
        return max(span, Span(start, stop), key=lambda s: float(score(s.start, s.stop)))


def _cost(start: Any, stop: Any, all_but: bool, c: Cut) -> Any:
    """What makes a condition harder to read than ``age >= 40``, in conditions."""
    if c.column.categories is not None or all_but:
        return _NEGATION * all_but
    return _SECOND_BOUND * ((start > 0) & (stop < c.n_known) & (stop - start > 1))


def _leading(found: list[_Scored]) -> list[_Plan]:
    order = np.argsort([-score for score, _ in found], kind="stable")[:_BEAM]
    return [found[place][1] for place in order]


def _rows(c: Cut, span: Span) -> Mask:
    return span.holds(c.n_bins)[c.codes]


def _kept(c: Cut, group: Mask) -> NDArray[np.intp]:
    """The bins that conditions are made of: all, or of many categories the group's commonest."""
    if c.column.categories is None or c.n_bins <= _CATEGORIES:
        return np.arange(c.n_bins)
    inside = np.bincount(c.codes[group], minlength=c.n_bins)
    missing = np.arange(c.n_known, c.n_bins)
    return np.union1d(largest(inside, _CATEGORIES), missing)


def _spans(c: Cut, kept: NDArray[np.intp]) -> Iterator[Span]:
    """Simple ones first: of equals, the first is taken."""
    if c.column.categories is None:
        n = c.n_known
        ranges = [(i, j) for i in range(n) for j in range(i + 1, n + 1) if j - i < n]
        yield from (Span(*r) for r in sorted(ranges, key=lambda r: 0 < r[0] and r[1] < n))
        if c.has_missing:
            yield Span(n, n + 1)
            if n:
                yield Span(n, n + 1, all_but=True)
        return
    yield from (Span(code, code + 1) for code in kept.tolist())
    if c.n_bins > 2:
        yield from (Span(code, code + 1, all_but=True) for code in kept.tolist())


def _stretches(pools: list[_Pool]) -> Stretches:
    """Conditions of some columns as stretches of their items."""
    start, stop, all_but = np.concatenate([pool.ends for pool in pools]).T
    return Stretches(
        np.ascontiguousarray(start),
        np.ascontiguousarray(stop),
        all_but.astype(bool),
        np.concatenate([pool.cost for pool in pools]),
        np.cumsum([0, *(len(pool.spans) for pool in pools)]),
        np.cumsum([0, *(len(pool.items) - 1 for pool in pools)]),
    )


def _ends(spans: list[Span], kept: NDArray[np.intp]) -> NDArray[np.intp]:
    """Where each span starts and stops among the bins that are kept, and whether it is all but."""
    start, stop, all_but = np.array(spans, dtype=np.intp).T
    return np.column_stack([np.searchsorted(kept, start), np.searchsorted(kept, stop), all_but])


def _membership(spans: list[Span], kept: NDArray[np.intp]) -> Array:
    start, stop, all_but = np.array(spans).T
    inside = (kept >= start[:, None]) & (kept < stop[:, None])
    return np.column_stack([all_but, inside * np.where(all_but, -1.0, 1.0)[:, None]])
